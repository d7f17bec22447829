#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# All C files are as .clang-format says, and as "make format" leaves them.
. "$(dirname "$0")/../lib.sh"
need clang-format-14 # other versions format otherwise
need git
git rev-parse HEAD >/dev/null 2>&1 || skip "this is no clone"
git ls-files -z '*.[ch]' >"$scratch/files"
[ "$(tr -cd '\0' <"$scratch/files" | wc -c)" -gt 500 ] || fail "there are more C files than that"
xargs -0 -n 100 -P 2 clang-format-14 --dry-run -Werror <"$scratch/files" 2>"$scratch/said" ||
	fail "make format: $(grep -c 'code should be clang-formatted' "$scratch/said") places, first $(head -1 "$scratch/said")"

# Negative control: it does find one.
printf 'int  x;\n' >"$scratch/x.c"
cp .clang-format "$scratch"
! clang-format-14 --dry-run -Werror "$scratch/x.c" 2>/dev/null || fail "a badly formatted file passes"
