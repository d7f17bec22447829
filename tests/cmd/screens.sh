#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# info, tree, report, state and timeline on the LTTng sample: text and JSON, and what they refuse.
. "$(dirname "$0")/../lib.sh"
. tests/cmd/common.sh
make_history

# ---- info
run 0 "$sonde" info "$history"
says out "length     1.500 s"
says out "command    $sonde analyze -q samples/lttng"
says out "hypercall pairs"
# On a narrow screen nothing is wider than it, and no sentence is cut.
for columns in 80 100 120; do
	for command in info report; do
		COLUMNS=$columns run 0 "$sonde" $command "$history"
		awk -v w=$columns 'length($0) > w' "$scratch/out" | grep -vE '^(command|sum) ' >"$scratch/wide" || true
		[ ! -s "$scratch/wide" ] || fail "$command at $columns: $(cat "$scratch/wide")"
		tr -d ' \n' <"$scratch/out" | grep -q "theycountasunknown" || fail "$command at $columns: a problem is cut"
	done
done
# Lines end between words; only a word longer than its column is broken.
COLUMNS=100 run 0 "$sonde" info "$history"
grep -qE ' of its hypercalls$' "$scratch/out" && grep -qE '^ +are in the trace of host0; [0-9]+$' "$scratch/out" || fail "a line ends within a word"
COLUMNS=80 run 0 "$sonde" tree "$history"
grep -qE '; found by: at$' "$scratch/out" && grep -qE ' its clock$' "$scratch/out" || fail "the tree is cut"
# A bound of nothing is told, not left out.
"$sonde" analyze -q samples/ftrace/host0.dat -o "$scratch/host.sonde"
run 0 "$sonde" info "$scratch/host.sonde"
grep -qE '^MACHINE +METHOD +BOUND ' "$scratch/out" || fail "no column of bounds"
grep -qE '^host0 +reference +0 ns ' "$scratch/out" || fail "a bound of 0 ns is not told"
run 0 "$sonde" info -i "$history" --format json
json 'j["complete"] and j["ticks_are_ns"] and j["end"] > j["begin"]'
json '[m["name"] for m in j["machines"]][0] == "host0"'
json 'all(c["machine"] in {m["name"] for m in j["machines"]} for c in j["clock"])'
json 'j["meta"]["version"]'
# Provenance: the directory of the traces and what was wrong with them.
json 'any("samples/lttng" in m["trace_path"] for m in j["machines"])'
json 'any("vcpu_id" in p["text"] for p in j["problem"])'

# ---- tree
run 0 "$sonde" tree "$history" --format json
json 'j["name"] == "host0" and len(j["cpus"]) == 2'
json '{v["name"]: [n["name"] for n in v["vms"]] for v in j["vms"]} == {"vm-a": ["vm-a-n"], "vm-b": []}'
json 'all(c["host_tid"] for v in j["vms"] for c in v["cpus"])'
LC_ALL=C.UTF-8 run 0 "$sonde" tree "$history"
says out "└─vm-b"
run 0 "$sonde" tree --threads "$history"
says out "h-burn[519]"

# ---- report: what is said adds up, in text and in JSON, for any window.
run 0 "$sonde" report "$history"
says out "Steal time of vCPUs"
says out "CPU time by machine"
says out "Steal time of vCPUs, by culprit"
not_says out "IS NOT"
# The sentences and the table behind them name the same times.
"$sonde" report "$history" >"$scratch/out"
python3 - "$scratch/out" <<'END' || fail "the sentences differ from the table"
import re, sys
text = open(sys.argv[1]).read()
sentence = re.compile(r"^([^\s:]+)(?:: (\S+ \S+) total steal \((\S+)\), (\S+ \S+) of it inherited;\n )?"
                      r":? (\S+ \S+) steal time \((\S+)\)", re.M)
table = text.split("Time of vCPUs\n")[1].split("\n\n")[0].split("\n")
assert "STEAL SHARE" in table[0] and "TOTAL STEAL" in table[0], table[0]
rows = {line.split()[0]: line for line in table[1:]}
told = sentence.findall(text)
assert len(told) == 4 and sum(bool(t[1]) for t in told) == 1, told
for name, *numbers in told:
    for number in filter(None, numbers):
        assert re.search(rf" {re.escape(number)}( |$)", rows[name]), (name, number, rows[name])
END
run 0 "$sonde" report "$history" --time 25%,75% --table machine_time
says out " x 2 CPUs"
not_says out "IS NOT"
run 0 "$sonde" report "$history" --format json --time 10%,30%
json 'sum(r["total"] for r in j["machine_time"]) == 2 * (j["end"] - j["begin"])'
json 'sum(r["total"] for r in j["process_time"]) == 2 * (j["end"] - j["begin"])'
json 'all(sum(r[k] for k in ("on_cpu", "steal", "waiting", "gone", "unknown")) == j["end"] - j["begin"] for r in j["vcpu_time"])'
# Each vCPU's culprits account for all of its preempted time.
json 'all(sum(p["total"] for p in j["preemption"] if p["vcpu"] == v["vcpu"]) == v["steal"] for v in j["vcpu_time"])'
json 'sum(p["total"] for p in j["preemption"]) == sum(p["total"] for p in j["preemption_victim"])'
json 'any(p["culprit"] and p["culprit"]["comm"] == "h-burn" and p["vcpu"]["machine"] == "vm-b" for p in j["preemption"])'
run 0 "$sonde" analyze -q samples/lttng/host0 -o "$scratch/host.sonde"
run 0 "$sonde" report "$scratch/host.sonde"
says out "Steal time of vCPUs, by culprit"
not_says out "Steal time of guest threads, by culprit"
rm "$scratch/host.sonde"
run 0 "$sonde" report --table help
says out "preemption_victim"
run 1 "$sonde" report samples/ftrace/host0.dat
says err "is a trace; sonde report reads a history"
run 2 "$sonde" report --table nonsense "$history"
says err 'there is no table "nonsense"'
run 0 "$sonde" report -n 2 -t exit_reason "$history"
[ "$(grep -c host0 "$scratch/out")" -le 2 ] || fail "-n 2 shows more"
says out "more"
# -n cuts all tables alike, those that are short, too.
run 0 "$sonde" report -n 1 "$history"
awk '/^$/ { rows = 0 } /^(host0|vm-[a-n-]*) / && ++rows > 1 { print }' "$scratch/out" >"$scratch/rows"
[ ! -s "$scratch/rows" ] || fail "-n 1 shows more than one row: $(head -3 "$scratch/rows")"

# ---- state
run 0 "$sonde" state "$history" --at 50%
says out "750.0 ms after the start"
says out "L0 host0"
run 0 "$sonde" state "$history" --at +1s --format json
json 'len(j["cpus"]) == 2 and all(c["begin"] <= j["at"] < c["end"] for c in j["cpus"])'
json 'all(c["stack"][0]["machine"] == "host0" for c in j["cpus"])'
run 0 "$sonde" state "$history" --cpu 1 --format json
json '[c["cpu"] for c in j["cpus"]] == [1]'
run 2 "$sonde" state "$history" --cpu 9
says err 'the host has no CPU "9"'
run 2 "$sonde" state "$history" --at +9s
says err "lies outside the history"
run 2 "$sonde" state "$history" --at soon
says err '"soon" is no time'

# A raw time stamp of L0's trace leads to the moment of its event.
stamp=$("$sonde" events -q samples/lttng -m host0 -e sched_switch -n 400 --format json | tail -n 1)
t=$(python3 -c 'import json, sys; print(json.loads(sys.argv[1])["t"])' "$stamp")
ticks=$(python3 -c 'import json, sys; print(json.loads(sys.argv[1])["ticks"])' "$stamp")
run 0 "$sonde" state "$history" --at "tsc:$ticks" --format json
json "j['at'] == $t"

COLUMNS=80 run 0 "$sonde" state "$history" --at 65%
LC_ALL=C sed 's/[^ -~]\{3\}/x/g' "$scratch/out" | awk 'length($0) > 80' >"$scratch/wide" # lines are UTF-8
[ ! -s "$scratch/wide" ] || fail "state is wider than the screen: $(cat "$scratch/wide")"

# ---- timeline
run 0 "$sonde" timeline "$history" --width 60
says out "host0: what really ran"
not_says out "$(printf '\033')"
run 0 "$sonde" timeline "$history" --width 60 --color always
says out "$(printf '\033[38;5;')"
run 0 "$sonde" timeline "$history" --rows cpus --format json --width 200
json '[r["kind"] for r in j["rows"]] == ["cpu", "cpu"] and j["width"] == 200'
json 'all(sum(x["nr"] for x in r["runs"]) <= 200 for r in j["rows"])'
run 2 "$sonde" timeline "$history" --rows cpus,planes
says err "--rows"
run 0 "$sonde" timeline "$history" --svg "$scratch/t.svg"
python3 -c 'import sys, xml.dom.minidom as x; x.parse(sys.argv[1])' "$scratch/t.svg" || fail "not XML"
run 1 "$sonde" timeline "$history" --svg "$scratch/no/t.svg"
says err "cannot write $scratch/no/t.svg: No such file or directory"

# ---- all of them
for command in info tree report state timeline; do
	run 1 "$sonde" $command "$scratch/nothing.sonde"
	says err "sonde $command: "
	says err "$scratch/nothing.sonde"
	run 1 "$sonde" $command README.md
	says err "README.md is not a history: it does not begin like one; sonde analyze makes histories of traces"
	: >"$scratch/empty.sonde"
	run 1 "$sonde" $command "$scratch/empty.sonde"
	says err "empty.sonde is empty; sonde $command reads a history, which sonde analyze makes"
	[ -p "$scratch/pipe" ] || mkfifo "$scratch/pipe"
	run 1 "$sonde" $command "$scratch/pipe"
	says err "pipe is a pipe; sonde $command reads a history, which is a file"
	run 1 "$sonde" $command help
	says err "there is no file \"help\"; sonde help $command explains"
	run 2 "$sonde" $command "$history" "$history"
	says err "one history is expected"
	run 1 "$sonde" $command samples
	says err "sonde analyze samples -o run.sonde"
	head -c 70000 "$history" >"$scratch/part.sonde"
	run 1 "$sonde" $command "$scratch/part.sonde"
	says err "part.sonde holds no machine: it was cut off at 70,000 bytes"
	rm "$scratch/part.sonde" "$scratch/empty.sonde"
done
for command in report timeline; do
	run 2 "$sonde" $command "$history" --time 12,13
	says err "outside the history"
	run 2 "$sonde" $command "$history" --time +1s,+0.5s
	says err "ends before it begins"
done
# The only history of the directory is taken; of several, none.
here=$PWD
cd "$scratch"
run 0 "$here/$sonde" tree
cp run.sonde another.sonde
run 1 "$here/$sonde" tree
says err "several .sonde files here; name one: another.sonde, run.sonde"
rm ./*.sonde
run 1 "$here/$sonde" tree
says err "there is no .sonde file here"
