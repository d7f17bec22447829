#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What differs between processors stands in arch/, and the check that says so sees it when it does not.
. "$(dirname "$0")/../lib.sh"

tools/check-arch

expect_offence() { # FILE TEXT WHAT
	mkdir -p "$scratch/tree/$(dirname "$1")"
	printf '%b' "$2" >"$scratch/tree/$1"
	tools/check-arch "$scratch/tree" >"$scratch/out" && fail "not noticed: $3"
	grep -q "^$1:2: " "$scratch/out" || fail "not named: $3"
	rm -r "$scratch/tree"
}

expect_offence model/kvm/a.c '\n#define CR3_PAGE 0xfffull\n' "a register"
expect_offence analysis/exits/a.c '\nif (reason == EXIT_REASON_HLT)\n' "a number of an exit reason"
expect_offence clock/a.h '\nlong f(void) { return __rdtsc(); }\n' "an instruction"
expect_offence source/ctf/a.c '/* a comment\n*/ int x = MSR_TSC_DEADLINE;\n' "an MSR behind a comment"

mkdir -p "$scratch/tree/model" "$scratch/tree/arch/x86" "$scratch/tree/record/host"
echo '/* VMX_A is rdtsc */ static const char *a = "wrmsr";' >"$scratch/tree/model/a.c"
echo 'long f(void) { return __rdtsc(); }' | tee "$scratch/tree/arch/x86/a.c" >"$scratch/tree/record/host/a.c"
tools/check-arch "$scratch/tree" || fail "comments, texts, arch/ and record/ are free"
