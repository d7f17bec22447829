#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# This machine is recorded; trace-cmd and Sonde read the same events; nothing is left behind.
. "$(dirname "$0")/../lib.sh"
. tests/record/common.sh

run 0 "$sonde" record --format json -o "$scratch/run" -- sh -c 'for i in 1 2 3; do /bin/true; done; exit 3'
cp "$scratch/out" "$scratch/cost"
says err "exit status 3"
[ "$(field "$scratch/cost" complete)" = True ] || fail "not complete"
[ "$(field "$scratch/cost" bytes)" -gt 4096 ] || fail "too few bytes"
trace=$scratch/run/host0/trace.dat
[ "$(ls "$scratch/run" "$scratch/run/host0" | sort | tr '\n' ' ')" = " $scratch/run/host0: $scratch/run: host0 run.json trace.dat " ] ||
	[ "$(find "$scratch/run" -type f | wc -l)" = 2 ] || fail "parts are left: $(find "$scratch/run")"

run 0 "$sonde" check "$trace"
"$sonde" events "$trace" >"$scratch/events"
count=$(grep -vc " lost: events=" "$scratch/events") # where a kernel leaves switches out, that shows as a gap
[ "$count" -gt 100 ] || fail "only $count events"
if command -v trace-cmd >/dev/null; then
	theirs=$(trace-cmd report -N -i "$trace" 2>/dev/null | grep -vcE '^(cpus=|CPU [0-9]+ is empty)')
	[ "$theirs" = "$count" ] || fail "trace-cmd reads $theirs events, sonde $count"
fi
grep -q "sched_switch" "$scratch/events" || fail "no sched_switch"
grep -q "sched_process_exec" "$scratch/events" || fail "the command did not run while recording"

# What was there already is told: this shell, with its parent and namespace.
state_lines "$trace" >"$scratch/state"
[ "$(grep -c "^sonde: begin version=1 cause=start" "$scratch/state")" = 1 ] || fail "no block at the start"
[ "$(grep -c "^sonde: end cause=end" "$scratch/state")" = 1 ] || fail "no block at the end"
grep -qE "^sonde: task tid=$$ pid=$$ ppid=$PPID .*comm=host.sh" "$scratch/state" || fail "this shell is not in it"
told=$(sed -n 's/^sonde: end cause=start tasks=\([0-9]*\).*/\1/p' "$scratch/state")
listed=$(sed '/cause=end/,$d' "$scratch/state" | grep -c "^sonde: task")
[ "$told" = "$listed" ] || fail "$told threads told, $listed listed"
grep -qE "^sonde: clock tsc=[0-9]+ mono=[0-9]+ boot=[0-9]+ real=[0-9]+ width=[0-9]+" "$scratch/state" || fail "no clock"
# Of the CPUs that were online then: others may have come or gone by now.
online=$(sed -n 's/^sonde: begin .*cause=start .*online=\([-0-9,]*\).*/\1/p' "$scratch/state")
cpus=$(python3 -c 'import sys
for part in sys.argv[1].split(","):
	first, _, last = part.partition("-")
	print(*range(int(first), int(last or first) + 1), sep="\n")' "$online")
stats=$(sed '/cause=end/,$d' "$scratch/state" | sed -n 's/^sonde: stat cpu=\([0-9]*\).*/\1/p')
[ -n "$cpus" ] && [ "$stats" = "$cpus" ] ||
	fail "CPUs $online were online, stat lines are of:" $stats "; lost: $(field "$scratch/cost" events_lost)"

run 0 "$sonde" analyze -o "$scratch/run.sonde" "$scratch/run"
run 0 "$sonde" check "$scratch/run.sonde"
run 0 "$sonde" info --format json "$scratch/run.sonde"
json 'j["machines"][0]["tracer"] == "sonde"'
json 'j["ticks_are_ns"]' # the clock lines tell the counter's rate

run 0 cat "$scratch/run/run.json"
json 'j["state"] == "complete" and j["version"] == 1 and j["sonde"] and "record" in j["command"]'
json 'j["machines"][0]["folder"] == "host0" and j["machines"][0]["parent"] is None'
json 'j["machines"][0]["complete"] and j["machines"][0]["cost"]["events_lost"] >= 0'
json 'j["machines"][0]["clock"] == "x86-tsc" or j["machines"][0]["clock_reason"]'

# What anybody writes into the machine's own trace_marker is in the run, where the kernel can copy it.
if [ -e /sys/kernel/tracing/options/copy_trace_marker ]; then
	run 0 "$sonde" record -o "$scratch/marked" -- sh -c 'echo "a mark of host.sh" >/sys/kernel/tracing/trace_marker'
	run 0 "$sonde" analyze -o "$scratch/marked.sonde" "$scratch/marked"
	run 0 "$sonde" report "$scratch/marked.sonde" -t mark
	says out "a mark of host.sh"
fi

# What bounds guests' clocks is recorded where the clock is timers' own: of MSRs the deadlines only.
# events_of OPTION...: what is on of timers and MSRs, and which of them.
events_of() {
	rm -f "$scratch/told"
	record_until "clock" told "$@"
	local events=$tracefs/instances/$(instance_of $!)/events
	(cd "$events" && cat timer/hrtimer_start/enable kvm/kvm_msr/enable kvm/kvm_msr/filter) 2>&1 | tr '\n' ' '
	touch "$scratch/told"
	wait $!
	rm -r "$scratch/clock" "$scratch/clock.began"
}
if [ -e "$tracefs/events/kvm/kvm_msr/filter" ]; then
	[ "$(events_of --clock x86-tsc)" = "0 0 none " ] || fail "timers are recorded beside a cycle counter: $(events_of)"
	[ "$(events_of --clock mono)" = "1 1 write == 1 && ecx == 1760 " ] || fail "no deadlines: $(events_of --clock mono)"
	[ "$(events_of --clock mono -e kvm:kvm_msr)" = "1 1 none " ] || fail "-e kvm:kvm_msr was not heard"
fi

# Another clock, other events, to the end of a time.
run 0 "$sonde" record --clock mono -e sched:sched_stat_runtime --for cpu,io --duration 300ms -o "$scratch/mono"
says out "clock mono (it was asked for)"
says out " ms of this machine"
"$sonde" events "$scratch/mono/host0/trace.dat" >"$scratch/events"
grep -q sched_stat_runtime "$scratch/events" || fail "-e was not heard"
grep -q sys_enter "$scratch/events" || fail "--for io records no system calls"
now=$(python3 -c 'import time; print(int(time.clock_gettime(time.CLOCK_MONOTONIC) * 1e9))')
first=$(awk '{ print $1; exit }' "$scratch/events" | tr -d .)
python3 -c "import sys; sys.exit(not 0 < $now - $first < 60e9)" || fail "$first is not CLOCK_MONOTONIC, now $now"
