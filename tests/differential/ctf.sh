#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# time-limit: 300
# Every event of every shared CTF trace, field by field, as libbabeltrace2 reads it.
. "$(dirname "$0")/../lib.sh"

[ -x "$build/differential/ctf_compare" ] || skip "libbabeltrace2-dev is not installed"

traces=()
for set in lab-multi-lttng oracle-lttng-1 public-ctf; do
	dir=$(shared_set "$set") || { echo "$dir" && exit 77; }
	while IFS= read -r metadata; do
		traces+=("$(dirname "$metadata")")
	done < <(find "$dir" -name metadata | sort)
done
[ ${#traces[@]} -gt 0 ] || fail "no CTF trace in the shared sets"

# What babeltrace2 2.0.4 refuses is read by Sonde alone: CTF 2, which it does not know, and
# funky_trace, whose clock's offset in nanoseconds needs more than 64 bits.
both=() alone=()
for trace in "${traces[@]}"; do
	case "$trace" in
	*/funky_trace | */CTF2-*) alone+=("$trace") ;;
	*) both+=("$trace") ;;
	esac
done
"$build/differential/ctf_compare" "${both[@]}"
"$build/differential/ctf_compare" -n "${alone[@]}"
