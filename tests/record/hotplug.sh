#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A CPU goes and comes back while it is recorded: its events before and after are there.
. "$(dirname "$0")/../lib.sh"
. tests/record/common.sh

online=/sys/devices/system/cpu/cpu1/online
[ -w "$online" ] || skip "CPU 1 cannot be taken offline here"
[ "$(cat "$online")" = 1 ] || skip "CPU 1 is offline"
trap 'echo 1 >"$online"; rm -rf "$scratch"' EXIT

# A recorder that begins with the CPU away, and one that loses it.
"$sonde" record -q --for cpu,boot -o "$scratch/lost" -- sleep 4 &
lost=$!
sleep 1
echo 0 >"$online" 2>/dev/null || {
	wait "$lost"
	skip "CPU 1 cannot be taken offline here"
}
"$sonde" record -q -o "$scratch/late" -- sleep 3 &
late=$!
sleep 1
echo 1 >"$online"
wait "$late"
wait "$lost"
for which in lost late; do
	run 0 "$sonde" check "$scratch/$which/host0/trace.dat"
	"$sonde" events "$scratch/$which/host0/trace.dat" >"$scratch/events"
	grep -q '\[001\]' "$scratch/events" || fail "$which: nothing of CPU 1"
	run 0 "$sonde" analyze -q -o "$scratch/$which.sonde" "$scratch/$which"
	run 0 "$sonde" check "$scratch/$which.sonde"
done
