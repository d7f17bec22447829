#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# time-limit: 300
# Every record of the samples' trace.dat files, and of every shared one, field by field, as libtracecmd reads it.
. "$(dirname "$0")/../lib.sh"

[ -x "$build/differential/dat_compare" ] || skip "libtracecmd-dev is not installed"

# plain7 FILE: version 7 that is not compressed
plain7() {
	command -v trace-cmd >/dev/null || return 0
	trace-cmd convert -i "$1" -o "$scratch/plain7.dat" --compression none >/dev/null
	files+=("$scratch/plain7.dat")
}

# Several buffers, and losses, which the other traces have not; version 6.
files=(tests/fuzz/corpus/dat/v7-two-buffers tests/fuzz/corpus/dat/v6-two-buffers)
files+=(samples/*/*.dat)
tar -C "$scratch" -xf samples/lab/oracle-ftrace-tsc.tar.xz
files+=("$scratch"/oracle-ftrace-tsc/*/trace.dat)
plain7 samples/ftrace/vm-a.dat
"$build/differential/dat_compare" "${files[@]}"

files=()
for set in lab-multi-ftrace-tsc lab-boot-ftrace oracle-ftrace-tsc-1; do
	dir=$(shared_set "$set") || { echo "$dir"; exit 77; }
	while IFS= read -r file; do
		files+=("$file")
	done < <(find "$dir" -name '*.dat' | sort)
done
plain7 "${files[0]}"
for file in "${SONDE_TRACES:-../shared/traces}"/*.dat; do
	[ -e "$file" ] && files+=("$file")
done
"$build/differential/dat_compare" "${files[@]}"
