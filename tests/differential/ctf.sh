#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# time-limit: 300
# Every event of the samples' CTF traces, and of every shared one, field by field, as libbabeltrace2 reads it.
. "$(dirname "$0")/../lib.sh"

[ -x "$build/differential/ctf_compare" ] || skip "libbabeltrace2-dev is not installed"

# What babeltrace2 2.0.4 refuses is read by Sonde alone: CTF 2, which it does not know, and
# funky_trace, whose clock's offset in nanoseconds needs more than 64 bits.
# compare FOLDER...: all traces in them
compare() {
	local both=() alone=() metadata
	while IFS= read -r metadata; do
		case "$metadata" in
		*/funky_trace/* | */CTF2-*) alone+=("$(dirname "$metadata")") ;;
		*) both+=("$(dirname "$metadata")") ;;
		esac
	done < <(find "$@" -name metadata | sort)
	[ ${#both[@]} -gt 0 ] || fail "no CTF trace in $*"
	"$build/differential/ctf_compare" "${both[@]}"
	[ ${#alone[@]} = 0 ] || "$build/differential/ctf_compare" -n "${alone[@]}"
}

compare samples/lttng
sets=()
for set in lab-multi-lttng oracle-lttng-1 public-ctf; do
	dir=$(shared_set "$set") || { echo "$dir" && exit 77; }
	sets+=("$dir")
done
compare "${sets[@]}"
