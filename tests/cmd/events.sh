#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sonde events: order, filters, windows, counting.
. "$(dirname "$0")/../lib.sh"
. tests/cmd/common.sh

run 0 "$sonde" events -q samples/lttng
cp "$scratch/out" "$scratch/all"
sort -s -n -k1,1 "$scratch/all" | cmp -s - "$scratch/all" || fail "not in the order of time"
total=$(wc -l <"$scratch/all")
[ "$total" -gt 30000 ] || fail "only $total events"

# Each filter gives exactly the lines that it should.
run 0 "$sonde" events -q samples/lttng -m vm-a
awk '$2 == "vm-a"' "$scratch/all" | cmp -s - "$scratch/out" || fail "-m"
run 0 "$sonde" events -q samples/lttng -m vm-a --machine vm-b --cpu 1
awk '($2 == "vm-a" || $2 == "vm-b") && $3 == "[001]"' "$scratch/all" | cmp -s - "$scratch/out" ||
	fail "-m with --cpu"
run 0 "$sonde" events -q samples/lttng -e 'sched_*'
awk '$5 ~ /^sched_/' "$scratch/all" | cmp -s - "$scratch/out" || fail "-e"
run 0 "$sonde" events -q samples/lttng -e kvm_exit # Sonde's name for LTTng's kvm_x86_exit
awk '$5 == "kvm_x86_exit:"' "$scratch/all" | cmp -s - "$scratch/out" || fail "-e by kind"

# What cannot be read is said, and the exit status says that it is not all.
printf 'PERFILE2 and nothing more' >"$scratch/torn.data"
run 3 "$sonde" events samples/ftrace/host0.dat "$scratch/torn.data" --count
says err "torn.data"
run 0 "$sonde" events -q samples/ftrace/host0.dat samples/ftrace/vm-b.dat --count

# A window without events: that is said.
from=$(awk 'NR > 20000 && last != "" && $1 - last > 1e-6 {print last; exit} {last = $1}' "$scratch/all")
run 0 "$sonde" events samples/lttng --time "$(python3 -c "
from decimal import Decimal as D
print(D('$from') + D('1e-9'), D('$from') + D('2e-9'), sep=',')")"
says err "no event in that window"
[ ! -s "$scratch/out" ] || fail "events between $from and the next"

# A window, from well into the streams (packets before it are skipped).
from=$(awk 'NR == 20000 {print $1}' "$scratch/all")
to=$(awk 'NR == 25000 {print $1}' "$scratch/all")
run 0 "$sonde" events -q samples/lttng --time "$from,$to"
awk -v a="$from" -v b="$to" '$1 "" >= a "" && $1 "" < b ""' "$scratch/all" |
	cmp -s - "$scratch/out" || fail "--time $from,$to"

run 0 "$sonde" events -q samples/lttng -n 7
[ "$(wc -l <"$scratch/out")" = 7 ] || fail "-n"
run 0 "$sonde" events -q samples/lttng -n 1 --ticks
grep -qE '^[0-9.]+ \([0-9]+\) ' "$scratch/out" || fail "--ticks"
run 0 "$sonde" events -q samples/lttng -e sched_switch --fields next_tid --fields prev_tid -n 3
grep -qE 'sched_switch: next_tid=[0-9]+ prev_tid=[0-9]+$' "$scratch/out" || fail "--fields"

run 0 "$sonde" events -q samples/lttng --count --format json
json "sum(r['count'] for r in j) == $total"
run 0 "$sonde" events -q samples/lttng --count
says out "sched_switch"
run 0 "$sonde" events -q samples/ftrace -e sched_switch -n 200 --format json
python3 - "$scratch/out" <<'END'
import json, sys
last = 0
for line in open(sys.argv[1]):
    event = json.loads(line)
    assert event["kind"] == "sched_switch" and "next_pid=" in event["fields"], event
    assert event["t"] >= last
    last = event["t"]
END

# Where events were lost a line says so whatever is asked for; how many is unknown, not 0.
cp -r samples/lttng "$scratch/lost"
size=$(stat -c %s "$scratch/lost/host0/ch0_0")
head -c 300 /dev/zero | tr '\0' '\377' |
	dd of="$scratch/lost/host0/ch0_0" bs=1 seek=$((size / 2)) conv=notrunc status=none
run 0 "$sonde" events -q "$scratch/lost" -e sched_switch
says out "lost: events=unknown"
says out "sched_switch:"
# ... and for how long, as the table of losses has it.
"$sonde" analyze -q "$scratch/lost" -o "$scratch/lost.sonde"
grep -E "lost: events=unknown length=[1-9][0-9]*$" "$scratch/out" | sed 's/.*=//' | sort >"$scratch/lengths"
"$sonde" report "$scratch/lost.sonde" -t gap --format json |
	python3 -c 'import json, sys; print(*[r["length"] for r in json.load(sys.stdin)["gap"]], sep="\n")' | sort >"$scratch/told"
[ -s "$scratch/told" ] && cmp "$scratch/lengths" "$scratch/told" || fail "lengths: $(paste "$scratch/lengths" "$scratch/told")"
run 0 "$sonde" events -q "$scratch/lost" -e lost --format json --fields events
grep -q '"fields": *{ *"events": *null *}' "$scratch/out" || fail "$(cat "$scratch/out")"
not_says out sched_switch
run 0 "$sonde" events -q samples/ftrace -e lost # none, which is an answer

# A reader that goes away early ends the program without a word.
{ "$sonde" events -q samples/lttng 2>"$scratch/err" || true; } | head -n 1 >/dev/null
[ ! -s "$scratch/err" ] || fail "$(cat "$scratch/err")"

run 1 "$sonde" events -q samples/lttng -e no_such_event
says err 'no trace has an event called "no_such_event"'
run 1 "$sonde" events -q samples/lttng -m vm-z
says err 'there is no machine called "vm-z"'
run 2 "$sonde" events -q samples/lttng --cpu x
says err '"x" is not a CPU'"'"'s number'
run 1 "$sonde" events -q samples/lttng --cpu 99
says err "no trace has a CPU 99"
run 1 "$sonde" events -q samples/lttng -e sched_switch -n 3 --fields zz
says err 'none of these events has an integer field "zz"'
run 2 "$sonde" events -q samples/lttng -j 0
says err "--threads: a number from 1 on is expected"
run 2 "$sonde" events
says err "which traces?"
