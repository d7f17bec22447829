#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Too small a buffer: lost events are counted, said by the recorder, and known to the analysis.
. "$(dirname "$0")/../lib.sh"
. tests/record/common.sh

# The recorder is kept from reading: it is stopped while a flood of events comes.
record_until run end --format json --for io --buffer-size 64
recorder=$!
kill -STOP "$recorder"
timeout 0.5 sh -c 'while :; do cat /proc/self/stat >/dev/null; done' || true
kill -CONT "$recorder"
touch "$scratch/end"
wait "$recorder"
lost=$(field "$scratch/run.out" events_lost)
[ "$lost" -gt 100 ] || fail "only $lost events were lost"

run 0 "$sonde" analyze --format json -o "$scratch/run.sonde" "$scratch/run"
run 0 "$sonde" info --format json "$scratch/run.sonde"
# The history has them at their times.  Where a page was too full to hold a count, the kernel only says
# that some were lost: -1, which may be so at each of them.
json "j['gap'] and all(l['events'] == -1 or l['events'] > 0 for l in j['gap'])"
json "sum(max(l['events'], 0) for l in j['gap']) <= $lost"
json "sum(l['events'] for l in j['gap']) == $lost or any(l['events'] < 0 for l in j['gap'])"
json "any('$lost lost events' in p['text'] for p in j['problem'])"
