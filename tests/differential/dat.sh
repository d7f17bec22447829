#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# time-limit: 300
# Every record of every shared trace.dat, field by field, as libtracecmd reads it.
. "$(dirname "$0")/../lib.sh"

[ -x "$build/differential/dat_compare" ] || skip "libtracecmd-dev is not installed"

files=()
for set in lab-multi-ftrace-tsc lab-boot-ftrace oracle-ftrace-tsc-1; do
	dir=$(shared_set "$set") || { echo "$dir" && exit 77; }
	while IFS= read -r file; do
		files+=("$file")
	done < <(find "$dir" -name '*.dat' | sort)
done
for file in "${SONDE_TRACES:-../shared/traces}"/*.dat; do
	[ -e "$file" ] && files+=("$file")
done
[ ${#files[@]} -gt 0 ] || fail "no trace.dat in the shared sets"
"$build/differential/dat_compare" "${files[@]}"
