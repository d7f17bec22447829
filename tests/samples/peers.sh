#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The shipped samples are sound files: other readers read them without a complaint, and find the
# number of events that samples/README.md states.
. "$(dirname "$0")/../lib.sh"
need babeltrace2
need trace-cmd

stated() { # ROW-NUMBER: the numbers of that column of the table's last row
	awk -F'|' -v column="$1" '/^\| events/ { gsub(/[ ,]/, "", $column); print $column }' \
		samples/README.md
}

lttng= ftrace=
for machine in host0 vm-a vm-b vm-a-n; do
	babeltrace2 "samples/lttng/$machine" >"$scratch/text" 2>"$scratch/complaints" ||
		fail "babeltrace2 does not read samples/lttng/$machine"
	[ ! -s "$scratch/complaints" ] || fail "babeltrace2: $(head -3 "$scratch/complaints")"
	lttng="$lttng+$(wc -l <"$scratch/text")"
	trace-cmd report -i "samples/ftrace/$machine.dat" >"$scratch/text" 2>"$scratch/complaints" ||
		fail "trace-cmd does not read samples/ftrace/$machine.dat"
	grep -q 'EVENTS DROPPED' "$scratch/text" && fail "lost events in samples/ftrace/$machine.dat"
	ftrace="$ftrace+$(grep -vc '^cpus=' "$scratch/text")"
done

[ "${lttng#+}" = "$(stated 3)" ] || fail "lttng: ${lttng#+} events, samples/README.md says $(stated 3)"
[ "${ftrace#+}" = "$(stated 4)" ] || fail "ftrace: ${ftrace#+} events, samples/README.md says $(stated 4)"
