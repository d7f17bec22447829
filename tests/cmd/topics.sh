#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Topics of sonde report, as text, JSON and CSV; how a VM started, on a machine that really did.
. "$(dirname "$0")/../lib.sh"
. tests/cmd/common.sh
make_history

run 0 "$sonde" report exits "$history"
says out "Exits by reason"
says out "What nesting multiplies"
not_says out "CPU time by machine"
# What is said of a VM's exits is the same everywhere; a nested one's are told by all around it.
run 0 "$sonde" report exits "$history" --format json
json 'all(h["exits"] == max(sum(e["count"] for e in j["exits"] if (e["from"], e["by"]) == (h["vm"], by))
	for by in ("host0", "vm-a")) > 0 for h in j["hypervisor"])'
json '([n["exits"] for n in j["nesting"] if n["by"] == "host0"] ==
	[h["exits"] for h in j["hypervisor"] if h["vm"] == "vm-a-n"])'
# Where there is nothing, a line says so; what is no report, too.
run 0 "$sonde" report boot "$history"
says out "no VM was started in this history"
run 0 "$sonde" report shutdown "$history"
says out "no VM ended in this history"
run 0 "$sonde" report -t mark "$history"
says out "Marks: none in this history"
run 0 "$sonde" report -t gap "$history" --time +0s,+1s
says out "Gaps: none in this history's window"
# What no tracer counted is no lost event, but it is not kept quiet.
mkdir "$scratch/shutdown"
tar -C "$scratch/shutdown" -xf samples/lab/lab-run-shutdown-6.1.tar.xz
"$sonde" analyze -q "$scratch"/shutdown/*/L0/run -o "$scratch/shutdown.sonde"
run 0 "$sonde" report -t gap "$scratch/shutdown.sonde"
says out "Gaps: none in this history that a tracer counted; what else is missing: --table problem"
# A topic is one, whatever else is called so here.
mkdir -p "$scratch/here/boot"
cp "$history" "$scratch/here/run.sonde"
bin=$(realpath "$sonde")
(cd "$scratch/here" && "$bin" report preempt run.sonde && "$bin" report boot run.sonde && "$bin" report boot) >"$scratch/out" 2>&1 ||
	fail "a directory with the name of a topic: $(cat "$scratch/out")"
run 2 "$sonde" report foo "$history"
says err 'no report "foo"; reports are wait, wakeup'
# The help has the same ones.
topics=$(sed -n 's/.*reports are //p' "$scratch/err" | sed 's/,\| and / /g')
run 0 "$sonde" report --help
help=$(tr '\n' ' ' <"$scratch/out" | sed -n 's/.*Reports of one question: \([^.]*\)\..*/\1/p' | tr -d ,)
[ "$(echo $topics)" = "$(echo $help)" ] || fail "topics are $topics, and help has $help"
run 0 "$sonde" report wait "$history"
says out "What vCPUs were blocked on"
run 0 "$sonde" report preempt "$history" -n 2
says out "Run-queue delay of threads, by culprit"
run 0 "$sonde" report exits "$history" --format json
json 'set(j) == {"begin", "end", "complete", "ticks_are_ns", "hypervisor", "exits", "exit_cause", "nesting"}'
# Each exit has one cause at most; what nesting multiplies is a part of the exits.
json 'all(sum(c["count"] for c in j["exit_cause"] if c["machine"] == m) <=
	sum(e["count"] for e in j["exits"] if e["from"] == m) for m in ("vm-a", "vm-b", "vm-a-n"))'
json 'j["nesting"][0]["exits"] == sum(e["count"] for e in j["exits"]
	if e["from"] == "vm-a-n" and e["by"] == "host0")'
json 'all(e["min"] <= e["median"] <= e["p99"] <= e["max"] and e["user"] <= e["total"]
	for e in j["exits"])'

# No two rows look alike: registers have names of their own, and idle threads are one.
"$sonde" analyze -q samples/boot -o "$scratch/starts.sonde"
run 0 "$sonde" report exits "$scratch/starts.sonde" --format json
json '{"CR0_READ", "CR4_READ", "CR0_WRITE", "CR4_WRITE"} <= {e["name"] for e in j["exits"]}'
for run in "$history" "$scratch/starts.sonde"; do
	run 0 "$sonde" report exits "$run" --format json
	json 'len(j["exits"]) == len({(e["vm"], e["by"], e["from"], e["name"]) for e in j["exits"]}) > 9'
	json '(lambda idle: len(idle) == len(set(idle)) > 2)(
		[(c["machine"], c["name"]) for c in j["exit_cause"] if c["thread"]["tid"] == 0])'
done

run 0 "$sonde" report exits "$history" --format csv
python3 - "$scratch/out" <<'END' || fail "CSV"
import csv, sys
tables = open(sys.argv[1]).read().split("\n\n")
assert len(tables) == 4, len(tables)
for table in tables:
    rows = list(csv.reader(table.strip().split("\n")))
    assert len(rows) > 1 and all(len(r) == len(rows[0]) for r in rows)
names = [r["name"] for r in csv.DictReader(tables[1].split("\n"))]
assert "HLT" in names and "VMRUN" in names
END
# Of one machine and those inside it.
for topic in "" wait wakeup preempt exits vms; do
	run 0 "$sonde" report $topic "$history" --vm vm-a --format json
	cp "$scratch/out" "$scratch/some"
	run 0 "$sonde" report $topic "$history" --format json
	python3 - "$scratch/some" "$scratch/out" <<'END' || fail "report $topic --vm"
import json, sys
some, whole = (json.load(open(name)) for name in sys.argv[1:])
WHOSE = ("vm", "vcpu", "machine")
def of(row):
    name = next(row[c] for c in WHOSE if c in row)
    return (name["machine"] if isinstance(name, dict) else name) in ("vm-a", "vm-a-n")
assert some.keys() == whole.keys()
tables = [name for name in whole if isinstance(whole[name], list)]
for name in tables:
    assert some[name] == [row for row in whole[name] if of(row)], name
assert tables and any(some[name] for name in tables)
assert sum(len(some[name]) for name in tables) < sum(len(whole[name]) for name in tables)
END
done
run 0 "$sonde" report "$history" --vm vm-a-n
says out "vm-a-n/0: "
not_says out "vm-b"
not_says out "vm-a/1: "
run 0 "$sonde" report wait "$history" --vm host0 -n 1
says out "What vCPUs were blocked on"
run 0 "$sonde" report boot "$history" --vm vm-b
says out "vm-b: no VM was started in this history"
run 0 "$sonde" report exits "$history" --vm vm-b --svg -
grep -q "vm-b" "$scratch/out" || fail "no picture of vm-b"
run 2 "$sonde" report "$history" --vm nobody
says err 'there is no machine "nobody"'
run 2 "$sonde" report "$history" --vm vm-b --html "$scratch/page.html"
run 2 "$sonde" report nonsense "$history"
says err 'no report'
run 2 "$sonde" report "$history" wait
says err "the name of the report stands before the file: sonde report wait $history"

# What took longest can be looked at.
run 0 "$sonde" report wakeup "$history"
place=$(sed -n 's/^the slowest of them: --time //p' "$scratch/out")
run 0 "$sonde" report "$history" -t wakeup_list --time "$place" --format json
slowest=$("$sonde" report "$history" -t wakeup_list --format json | python3 -c 'import json, sys
print(json.load(sys.stdin)["wakeup_list"][0]["at"])')
json "any(r['at'] == $slowest for r in j['wakeup_list'])"

# Requests to disks: the sample has block events in every machine, at every level.
# Who recorded requests is not told to record them because a window has none.
run 0 "$sonde" report io "$history" --vm vm-a --time 0%,0.0001%
says out "no request to a device was seen in this history's window"
not_says out "sonde record --for io"
run 0 "$sonde" report io "$history"
says out "Requests to devices"
says out "until vm-a vCPU"
# On a narrow screen the legs go below, and nothing is left out.
for columns in 80 100; do
	COLUMNS=$columns run 0 "$sonde" report "$history" -t io -t io_list
	for leg in QUEUE SUBMIT WAKE VMM DISK INJECT DELIVER FINISH; do
		[ "$(grep -cw "$leg" "$scratch/out")" = 2 ] || fail "io at $columns columns: no $leg"
	done
	not_says out "no room for"
	# In the order of the way.
	tr -s ' ' '\n' <"$scratch/out" | grep -xE 'QUEUE|SUBMIT|WAKE|VMM|DISK|INJECT|DELIVER|FINISH' >"$scratch/legs"
	[ "$(tr '\n' ' ' <"$scratch/legs")" = "$(printf '%s ' QUEUE SUBMIT WAKE VMM DISK INJECT DELIVER FINISH \
		QUEUE SUBMIT WAKE VMM DISK INJECT DELIVER FINISH)" ] || fail "io at $columns columns: legs out of order"
	COLUMNS=$columns run 0 "$sonde" report "$history" -t vcpu_state -t wakeup -t wakeup_list -t vms
	says out "... the same rows:"
	not_says out "no room for"
	awk -v max=$columns 'length > max { exit 1 }' "$scratch/out" || fail "a line of more than $columns columns"
done
# A report explains its columns, those that are there, in the words of --table help.
run 0 "$sonde" report wait "$history"
says out "; POLLED: "
COLUMNS=80 run 0 "$sonde" report wait "$history"
not_says out "POLLED: "
says out "(BLOCKED ON: what ended it: timer, disk,"
run 0 "$sonde" report "$history" --table wait
not_says out "BLOCKED ON: "
run 0 "$sonde" report "$history"
says out "TASK: in a thread, user or kernel not known; GUEST: in guest mode: user, kernel, handler or idle, not known which; UNKNOWN: "
run 0 "$sonde" report io "$history" --format json
python3 - "$scratch/out" <<'END' || fail "io"
import json, sys
j = json.load(open(sys.argv[1]))
legs = ("queue", "submit", "wake", "vmm", "disk", "inject", "deliver", "finish")
assert {r["vm"] for r in j["io_list"]} >= {"host0", "vm-a", "vm-a-n"}
for r in j["io_list"]:  # what is known and what is not divided is all of it
    assert sum(max(r[leg], 0) for leg in legs) + r["undivided"] == r["total"], r
    assert r["undivided"] == 0 or any(r[leg] == -1 for leg in legs), r
# All that was recorded at both ends is divided.
whole = [r for r in j["io_list"] if r["vm"] == "vm-a" and r["undivided"] == 0]
assert len(whole) >= 0.9 * sum(r["vm"] == "vm-a" for r in j["io_list"]) > 10, len(whole)
# A VM's disk that is a disk of the host: its disk's time is what the host counts there.
host = {r["kind"]: r for r in j["io"] if r["device"] == "254:80"}
mine = {r["kind"]: r for r in j["io"] if r["vm"] == "vm-a" and r["device"].endswith(" 254:48")}
for kind in ("read", "write"):
    assert host[kind]["count"] == mine[kind]["count"] > 5, (host[kind], mine[kind])
    assert abs(host[kind]["disk"] - mine[kind]["disk"]) <= 1000, (host[kind], mine[kind])
# Steps follow each other and add up.
for number in {s["request"] for s in j["io_step"]}:
    steps = [s for s in j["io_step"] if s["request"] == number]
    whole = next(r for r in j["io_list"] if r["request"] == number)
    assert steps[0]["at"] == whole["at"] and sum(s["length"] for s in steps) == whole["total"]
    assert all(a["at"] + a["length"] == b["at"] for a, b in zip(steps, steps[1:])), steps
for leg in j["io_stage"]:
    assert leg["unknown"] <= 0 or leg["count"] == 0 or leg["median"] <= leg["p99"] <= leg["longest"]
END
run 0 "$sonde" report "$history" -t io -t io_histogram --format json
json '{(r["vm"], r["device"], r["kind"]): r["count"] for r in j["io"]} == {
	k: sum(r["count"] for r in j["io_histogram"] if (r["vm"], r["device"], r["kind"]) == k)
	for k in {(r["vm"], r["device"], r["kind"]) for r in j["io_histogram"]}}'
run 0 "$sonde" report io "$history" --svg -
grep -q "vm-a virtio3 254:48 write" "$scratch/out" || fail "no distribution of requests"
# The host's trace alone: the guest's legs are unknown, and it says what shows them.
"$sonde" analyze -q samples/lttng/host0 -o "$scratch/alone.sonde"
run 0 "$sonde" report io "$scratch/alone.sonde"
not_says out "-0.000000001"
says out "the VM's own block events: record it, too, with --for io"

# Of the columns below a table no row is told that has nothing there.
"$sonde" analyze -q samples/boot -o "$scratch/levels.sonde"
COLUMNS=110 run 0 "$sonde" report boot "$scratch/levels.sonde"
sed -n '/^\.\.\. the same rows, where these are not 0:/,/^(/p' "$scratch/out" | grep -c '^vm-boot .* [1-9][0-9.]* [mu]s$' >"$scratch/told" || true
[ "$(cat "$scratch/told")" = 2 ] || fail "stages with doubt: $(cat "$scratch/told")"
[ "$(grep -c '^vm-boot  kernel: pure ' "$scratch/out")" = 1 ] || fail "a stage without doubt"

dir=$(shared_set lab-boot-ftrace) || { echo "$dir"; exit 77; }
"$sonde" analyze -q "$dir"/L0/trace.dat "$dir"/L1/trace.dat -o "$scratch/boot.sonde"
run 0 "$sonde" report boot "$scratch/boot.sonde" --format json
python3 - "$scratch/out" <<'END' || fail "boot"
import json, sys
rows = json.load(open(sys.argv[1]))["boot"]
names = [r["stage"] for r in rows]
assert names[:3] == ["VMM starts", "VM is set up", "firmware"], names
levels = [n.removeprefix("kernel: ") for n in names if n.startswith("kernel: ")]
assert levels == ["start", "console", "early", "pure", "core", "postcore", "arch", "subsys", "fs",
                  "device", "late"], levels
assert names[-1] == "user space, and what followed"  # it is never done
calls = json.load(open(sys.argv[1]))["initcall"]
assert len(calls) == 680 and calls[0]["name"] == "acpi_init" and calls[0]["level"] == "subsys"
assert all(c["length"] >= 0 for c in calls)
phase = {r["stage"]: r for r in rows}
for c in calls:  # each lies in the phase of its level; names of modules' are not made up
    if c["level"] == "module":
        assert c["name"].startswith("0xffffffffc"), c
        continue
    of = phase["kernel: " + c["level"]]
    assert of["begin"] <= c["at"] and c["at"] + c["length"] <= of["begin"] + of["length"], c
at = rows[0]["begin"]
for r in rows:  # one after the other, each accounted for to the nanosecond (one vCPU)
    assert r["begin"] == at, r
    at += r["length"]
    parts = sum(r[c] for c in ("guest_mode", "kvm", "vmm", "host", "waits", "unknown"))
    assert parts == r["length"], (r, parts)
    assert r["blocked_on_time"] <= r["waits"]
END
run 0 "$sonde" report shutdown "$scratch/boot.sonde"
says out "vCPUs end"
# As pictures.
for topic in boot shutdown; do
	run 0 "$sonde" report $topic "$scratch/boot.sonde" --svg "$scratch/$topic.svg"
	python3 -c 'import sys, xml.dom.minidom as m; d = m.parse(sys.argv[1])
assert len(d.getElementsByTagName("rect")) > 6' "$scratch/$topic.svg" || fail "$topic.svg"
done
run 0 "$sonde" report exits "$history" --svg -
grep -q "<title>.* to .*: [0-9,]*</title>" "$scratch/out" || fail "no distribution of exits"
run 0 "$sonde" report wakeup "$history" --svg "$scratch/wakeup.svg"
run 2 "$sonde" report vms "$history" --svg -
says err "there is no picture of that"
run 1 "$sonde" report boot "$history" --svg "$scratch/none.svg"
says err "there is nothing to draw"
[ ! -e "$scratch/none.svg" ] || fail "an empty picture"
# From the host's trace alone.
"$sonde" analyze -q "$dir"/L0/trace.dat -o "$scratch/host.sonde"
run 0 "$sonde" report boot "$scratch/host.sonde" --format json
json '[r["stage"] for r in j["boot"]] == ["VMM starts", "VM is set up", "firmware", "kernel", "user space, and what followed"]'
