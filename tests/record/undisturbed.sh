#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Other tracers go on as they were: the top buffer, another instance, and a second recorder.
. "$(dirname "$0")/../lib.sh"
. tests/record/common.sh

other=$tracefs/instances/sonde-test-other-$$
mkdir "$other"
trap 'echo "-:sonde_test_$$/other" >>"${probes:-/dev/null}"; echo 0 >"$other/tracing_on"; rmdir "$other" 2>/dev/null; rm -rf "$scratch"' EXIT
echo mono >"$other/trace_clock"
echo 700 >"$other/buffer_size_kb"
echo 1 >"$other/events/sched/sched_process_exit/enable"

settings() {
	local dir
	for dir in "$tracefs" "$other"; do
		for file in tracing_on trace_clock buffer_size_kb buffer_percent current_tracer trace_options \
			set_event set_event_pid tracing_cpumask; do
			echo "$dir/$file: $(tr '\n' ' ' <"$dir/$file" 2>/dev/null)"
		done
		# Who enables events elsewhere at the same time is not our business.
	done
	echo "saved_cmdlines_size: $(cat "$tracefs/saved_cmdlines_size")"
	# Ours are there while we record (those of a recorder elsewhere may be, too).
	echo "probes: $(grep -v ':sonde/' "$probes")"
}

exits() {
	grep -c sched_process_exit "$other/trace" || true
}

probes=$tracefs/kprobe_events
[ -e "$probes" ] || probes=/dev/null
echo "p:sonde_test_$$/other vfs_read" >>"$probes"
settings >"$scratch/before"
"$sonde" record -o "$scratch/first" >"$scratch/out" 2>"$scratch/err" &
first=$!
begun err
[ -n "$(instances_of $first)" ] || fail "the recorder has no instance of its own"
before=$(exits)
run 0 "$sonde" record -q -o "$scratch/second" -- sh -c '/bin/true; /bin/true; sleep 0.3'
settings >"$scratch/during"
kill -TERM "$first"
wait "$first"
settings >"$scratch/after"
[ "$(exits)" -ge $((before + 2)) ] || fail "the other instance lost its events"
diff "$scratch/before" "$scratch/during" || fail "settings of others were changed while recording"
diff "$scratch/before" "$scratch/after" || fail "settings of others were changed"
[ -z "$(instances_of $first)" ] || fail "an instance was left behind"
for which in first second; do
	run 0 "$sonde" check "$scratch/$which/host0/trace.dat"
done
