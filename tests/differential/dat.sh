#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# time-limit: 300
# Every record of every shared trace.dat, field by field, as libtracecmd reads it.
. "$(dirname "$0")/../lib.sh"

[ -x "$build/differential/dat_compare" ] || skip "libtracecmd-dev is not installed"

# Several buffers, and losses, which the shared traces have not.
files=(tests/fuzz/corpus/dat/v7-two-buffers tests/fuzz/corpus/dat/v6-two-buffers)
for set in lab-multi-ftrace-tsc lab-boot-ftrace oracle-ftrace-tsc-1; do
	dir=$(shared_set "$set") || { echo "$dir"; exit 77; }
	while IFS= read -r file; do
		files+=("$file")
	done < <(find "$dir" -name '*.dat' | sort)
done
if command -v trace-cmd >/dev/null; then # version 7 that is not compressed
	trace-cmd convert -i "${files[2]}" -o "$scratch/plain7.dat" --compression none >/dev/null
	files+=("$scratch/plain7.dat")
fi
for file in "${SONDE_TRACES:-../shared/traces}"/*.dat; do
	[ -e "$file" ] && files+=("$file")
done
"$build/differential/dat_compare" "${files[@]}"
