#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The folders keep their order and their size, and the check that says so sees it when they do not.
. "$(dirname "$0")/../lib.sh"

tools/check-layers --objects "$build"

expect_offence() { # FILE TEXT WHAT
	mkdir -p "$scratch/tree/$(dirname "$1")"
	printf '%b' "$2" >"$scratch/tree/$1"
	tools/check-layers "$scratch/tree" >"$scratch/out" && fail "not noticed: $3"
	grep -q "^$1:" "$scratch/out" || fail "not named: $3"
	rm -r "$scratch/tree"
}

expect_offence base/a.c '#include "clock/fit/model.h"\n' "a lower folder that includes a higher one"
expect_offence source/ctf/a.c '#include "source/dat/b.h"\n' "folders side by side"
expect_offence query/a.c '#include "analysis/sched/b.h"\n' "a lower folder that includes one inside a higher one"
expect_offence query/in/a.c '#include "analysis/b.h"\n' "a folder that no row names"
expect_offence base/a.c '#include "sonde/sonde.h"\n' "a lower folder that includes libsonde's headers"
expect_offence model/a.c 'void f(void)\n{\n\tprintf("x");\n}\n' "a library that prints"
expect_offence history/a.c 'void f(void)\n{\n\texit(1);\n}\n' "a library that exits"

mkdir -p "$scratch/tree/cmd" "$scratch/tree/report"
echo '/* printf("x") */ static const char *a = "exit(1)";' >"$scratch/tree/report/a.c"
echo 'void f(void) { printf("x"); }' >"$scratch/tree/cmd/a.c"
tools/check-layers "$scratch/tree" || fail "comments, texts and cmd/ are free"
rm -r "$scratch/tree"

# $1 files of which each needs the next one, and the last one the first.
ring() {
	rm -rf "$scratch/tree"
	mkdir -p "$scratch/tree/sql" "$scratch/tree/build/sql"
	for i in $(seq "$1"); do
		echo "void f$((i % $1))(void); void f$((i - 1))(void) { f$((i % $1))(); }" >"$scratch/tree/sql/a$i.c"
		cc -c -o "$scratch/tree/build/sql/a$i.o" "$scratch/tree/sql/a$i.c"
	done
}

ring 12
tools/check-layers "$scratch/tree" --objects "$scratch/tree/build" || fail "12 files may need each other"
ring 13
if tools/check-layers "$scratch/tree" --objects "$scratch/tree/build" >"$scratch/out"; then fail "13 files need each other"; fi
grep -q '^sql/a1.c: 13 files need each other' "$scratch/out" || fail "the files that need each other are not named"
grep -q '^sql/a13.c: needs sql/a1.c (f0)' "$scratch/out" || fail "what a file needs of another is not named"
rm -r "$scratch/tree/build"
seq 14 40 | while read -r i; do : >"$scratch/tree/sql/a$i.c"; done
tools/check-layers "$scratch/tree" || fail "40 files are not too many"
: >"$scratch/tree/sql/a41.h"
if tools/check-layers "$scratch/tree" >"$scratch/out"; then fail "41 files are too many"; fi
grep -q '^sql: 41 files' "$scratch/out" || fail "the folder with too many files is not named"
