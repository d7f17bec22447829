#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A CPU goes and comes back while it is recorded: its events before and after are there.
. "$(dirname "$0")/../lib.sh"
. tests/record/common.sh

online=/sys/devices/system/cpu/cpu1/online
[ -w "$online" ] || skip "CPU 1 cannot be taken offline here"
[ "$(cat "$online")" = 1 ] || skip "CPU 1 is offline"
trap 'echo 1 >"$online"; rm -rf "$scratch"' EXIT

# A recorder that loses a CPU, and one that begins with it away; then it is back for both.
record_until lost end --for cpu,boot
lost=$!
echo 0 >"$online" 2>/dev/null || {
	touch "$scratch/end"
	wait "$lost"
	skip "CPU 1 cannot be taken offline here"
}
record_until late end
late=$!
echo 1 >"$online"
sleep 2
touch "$scratch/end"
wait "$late"
wait "$lost"
for which in lost late; do
	run 0 "$sonde" check "$scratch/$which/host0/trace.dat"
	"$sonde" events "$scratch/$which/host0/trace.dat" >"$scratch/events"
	grep -q '\[001\]' "$scratch/events" || fail "$which: nothing of CPU 1"
	run 0 "$sonde" analyze -q -o "$scratch/$which.sonde" "$scratch/$which"
	run 0 "$sonde" check "$scratch/$which.sonde"
done
