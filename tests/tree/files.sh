#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every file has its licence line and no rubbish, and the check that says so sees it.
. "$(dirname "$0")/../lib.sh"
need git
git rev-parse --git-dir >/dev/null 2>&1 || skip "not a git checkout"

tools/check-tree

git init -q "$scratch/tree"
expect_offence() { # NAME TEXT WHAT
	printf '%b' "$2" >"$scratch/tree/$1"
	tools/check-tree "$scratch/tree" >"$scratch/out" && fail "not noticed: $3"
	grep -q "^$1:" "$scratch/out" || fail "not named: $3"
	rm "$scratch/tree/$1"
}

spdx='/* SPDX-License-Identifier: Apache-2.0 */\n'
expect_offence a.c 'int x;\n' "no licence"
expect_offence b.c "${spdx}int x; \n" "blank at the end"
expect_offence c.c "${spdx}int x;" "no newline at the end"
expect_offence d.md 'see /''home/someone/notes\n' "a machine's path"
printf '%b' "${spdx}int x;\n" >"$scratch/tree/fine.c"
tools/check-tree "$scratch/tree" || fail "a good file is called bad"
