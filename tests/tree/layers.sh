#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The folders keep their order, and the check that says so sees it when they do not.
. "$(dirname "$0")/../lib.sh"

tools/check-layers

expect_offence() { # FILE TEXT WHAT
	mkdir -p "$scratch/tree/$(dirname "$1")"
	printf '%b' "$2" >"$scratch/tree/$1"
	tools/check-layers "$scratch/tree" >"$scratch/out" && fail "not noticed: $3"
	grep -q "^$1:" "$scratch/out" || fail "not named: $3"
	rm -r "$scratch/tree"
}

expect_offence base/a.c '#include "clock/model.h"\n' "a lower folder that includes a higher one"
expect_offence source/ctf/a.c '#include "source/dat/b.h"\n' "folders side by side"
expect_offence model/a.c 'void f(void)\n{\n\tprintf("x");\n}\n' "a library that prints"
expect_offence history/a.c 'void f(void)\n{\n\texit(1);\n}\n' "a library that exits"

mkdir -p "$scratch/tree/cmd" "$scratch/tree/report"
echo '/* printf("x") */ static const char *a = "exit(1)";' >"$scratch/tree/report/a.c"
echo 'void f(void) { printf("x"); }' >"$scratch/tree/cmd/a.c"
tools/check-layers "$scratch/tree" || fail "comments, texts and cmd/ are free"
