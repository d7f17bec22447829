#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sonde why on the LTTng sample: who lost time to whom, asked in every way.
. "$(dirname "$0")/../lib.sh"
. tests/cmd/common.sh
make_history

run 0 "$sonde" why "$history"
says out "most costly first"
says out "vm-a vCPU 1 had a steal time of"
says out "h-burn[519] of host0"
says out "more that cost less"
run 0 "$sonde" why "$history" -n 1000
not_says out "more that cost less"
# A number and its unit stand in one line.
COLUMNS=60 run 0 "$sonde" why "$history" -n 1000
! grep -Pzoq "[0-9]\n +(s|ms|us|ns)\b" "$scratch/out" || fail "a line ends between a number and its unit"

# Each begins with one short sentence on a line of its own; the detail stands below.
COLUMNS=250 run 0 "$sonde" why "$history" -n 1000
python3 - "$scratch/out" <<'END' || fail "the first sentence of a verdict"
import re, sys
found = open(sys.argv[1]).read().split("\nWhat cannot be known")[0].split("\n\n")[1:]
heads = [v.split("\n")[0].split("  ", 2)[-1] for v in found if v.startswith(" ")]
assert len(heads) > 20, len(heads)
for head in heads:
    assert head.endswith(".") and not re.search(r"\. [A-Z]", head) and len(head.split()) <= 25, head
assert sum(v.count("\n") > 1 for v in found) > 20, found
END

# Those told together have more causes than the greatest.
run 0 "$sonde" why "$history" --slower-than 1ms -n 1000
grep -Eq "of vm-a(-n)? was runnable but did not run for" "$scratch/out" || fail "words for threads"
says out "with the same main cause"

# The sentence's numbers are those of the other facts; costs come in order, places lie in the run.
run 0 "$sonde" report "$history" -t vcpu_time -t hypervisor --format json
cp "$scratch/out" "$scratch/report"
run 0 "$sonde" why "$history" --format json
python3 - "$scratch/out" "$scratch/report" <<'END' || fail "verdicts and tables differ"
import json, sys
why, report = (json.load(open(p)) for p in sys.argv[1:])
rows = why["why"]
costs = [r["cost"] for r in rows]
assert costs == sorted(costs, reverse=True)
assert all(why["begin"] <= r["begin"] < why["end"] for r in rows if r["cost"])
lost = {(v["vcpu"]["machine"], v["vcpu"]["cpu"]): v["steal"] for v in report["vcpu_time"]}
told = {(r["vcpu"]["machine"], r["vcpu"]["cpu"]): r["cost"] for r in rows if r["kind"] == "vcpu"}
assert told == {k: v for k, v in lost.items() if v}, (told, lost)
cost = {h["vm"]: h["hypervisor"] for h in report["hypervisor"]}
assert {r["machine"]: r["cost"] for r in rows if r["kind"] == "hypervisor"} == cost
assert all(r["culprit_time"] <= r["cost"] for r in rows if r["cost"])
END

# "Ready but not running" is one number, wherever it stands; and all of a kind with one cause are one
# verdict.
run 0 "$sonde" report "$history" -t vcpu_time -t vcpu_state -t preemption -t steal --format json
python3 - "$scratch/out" <<'END' || fail "two numbers for one thing"
import json, sys
j = json.load(open(sys.argv[1]))
def per_vcpu(fact, value):
    sums = {}
    for r in j[fact]:
        key = (r["vcpu"]["machine"], r["vcpu"]["cpu"])
        sums[key] = sums.get(key, 0) + value(r)
    return {k: v for k, v in sums.items() if v}
times = per_vcpu("vcpu_time", lambda r: r["steal"])
assert times and times == per_vcpu("preemption", lambda r: r["total"])
assert times == per_vcpu("vcpu_state", lambda r: r["queued"] + r["preempted"] + r["throttled"] + r["steal_unknown"])
assert times == per_vcpu("steal", lambda r: r["steal"])
END
run 0 "$sonde" why "$history" --slower-than 1ms
says out "It is the longest of "
says out "delays of 1.000 ms or more, longest first"
says out "Only the 1000 longest delays of the window are looked at, the shortest of them 1."
run 0 "$sonde" why "$history" --slower-than 1.2ms
not_says out "longest delays of the window are looked at"
run 0 "$sonde" why "$history" --time 0s,100000s
says err "the rest of \"0s,100000s\" is left out"
run 0 "$sonde" why "$history" -q --time 0s,100000s
not_says err "left out"
run 0 "$sonde" why "$history" --time 10%,
not_says err "left out"

# Two stays with a time between of which nothing is known count once, and it is told that they may be two.
run 0 "$sonde" report "$history" -t exit_reason
says out "MAYBE MORE"
run 0 "$sonde" report "$history" -t exit_reason --format json
json '[(r["count"], r["maybe_more"]) for r in j["exit_reason"] if (r["vm"], r["by"], r["name"]) == ("vm-a-n", "vm-a", "MSR")] == [(142, 1)]'
json 'sum(r["maybe_more"] for r in j["exit_reason"]) < len(j["exit_reason"])'

# "most" is said of more than half only.
run 0 "$sonde" report "$history" -t wakeup --format json
cp "$scratch/out" "$scratch/report"
run 0 "$sonde" why "$history" --format json
python3 - "$scratch/out" "$scratch/report" <<'END' || fail "said too much"
import json, sys
why, report = (json.load(open(p)) for p in sys.argv[1:])
said = [r["text"] for r in why["why"] if r["kind"] == "wakeup"]
halves = [2 * max(w[c] for c in ("host_wakeup", "run_delay", "entry", "guest", "guest_run_delay")) > w["mean"]
          for w in report["wakeup"]]
assert sum(" Most of that" in t for t in said) == sum(halves) > 0, said
assert sum(" The largest part of that" in t for t in said) == len(halves) - sum(halves) > 0, said
END

# guesses HISTORY FACTS GUESSES: guesses are told as such, and nothing else is; there are that many verdicts of either at least.
guesses() {
	run 0 "$sonde" report "$1" -t wait --format json
	cp "$scratch/out" "$scratch/report"
	run 0 "$sonde" why "$1" -n 1000 --format json
	python3 - "$scratch/out" "$scratch/report" "$2" "$3" <<'END' || fail "$1: said too much"
import json, sys
why, report = (json.load(open(p)) for p in sys.argv[1:3])
GUESSES = ("the interrupt followed", "what a thread of the VMM's pool", "what came before")
waits = [r for r in why["why"] if r["kind"] == "wait"]
guessed = {(w["vcpu"]["machine"], w["vcpu"]["cpu"], w["total"]) for w in report["wait"]
           if w["evidence"].startswith(GUESSES)}
told = [(r["vcpu"]["machine"], r["vcpu"]["cpu"], r["cost"]) in guessed for r in waits]
for r, guess in zip(waits, told):
    assert (", probably for" in r["text"]) == guess, r["text"]
    assert (" That is inferred: " in r["text"]) == guess, r["text"]
assert len(told) - sum(told) >= int(sys.argv[3]) and sum(told) >= int(sys.argv[4]), told
END
}
guesses "$history" 1 0
tar -C "$scratch" -xf samples/lab/lab-run-net-vhost-6.1.tar.xz
"$sonde" analyze -q "$scratch/net-vhost-6.1/L0/run" -o "$scratch/vhost.sonde"
guesses "$scratch/vhost.sonde" 4 5
rm -r "$scratch/net-vhost-6.1"
run 0 "$sonde" why "$history" --vm vm-a --format json
json 'j["why"] and all(r["machine"] in ("vm-a", "vm-a-n") for r in j["why"])'
run 0 "$sonde" why "$history" --task b-burn --format json
json '{r["thread"]["comm"] for r in j["why"] if r["kind"] == "thread"} == {"b-burn"}'
# ... and of what cannot be known what concerns it: not the system calls of machines that it is not in.
run 0 "$sonde" why "$history" --task b-burn
not_says out "- host0's trace has no system calls"
not_says out "- vm-a"
run 0 "$sonde" why "$history" --task "b-burn[162]" --slower-than 10ms --format json
json 'len(j["why"]) > 3 and all(r["cost"] >= 10**7 for r in j["why"])'
# A place that one verdict names can be asked about.
place=$("$sonde" why "$history" -n 1 | sed -n 's/^ *--time //p')
run 0 "$sonde" why "$history" --time "$place"
says out "most costly first"
run 0 "$sonde" why "$history" --slower-than 100s
says out "As far as the traces show, nothing was delayed that long."

# A VM in a VM, from the outermost host's trace alone: who would know what it waited for.
tar -C "$scratch" -xf samples/lab/lab-run-containers-6.1.tar.xz
"$sonde" analyze -q "$scratch"/containers-6.1/L0/run/host0/trace.dat -o "$scratch/outermost.sonde"
run 0 "$sonde" why "$scratch/outermost.sonde"
tr -s '\n ' ' ' <"$scratch/out" >"$scratch/line"
says line "only the kernel of vm-a knows"
# ... and of waits that end by an interrupt: it was recorded without these.
grep -Eq "What vm-a's vCPUs waited for is not known for [0-9.]+ m?s \([0-9.]+% of their waits\): .* does not show its guests' interrupts" "$scratch/line" ||
	fail "waits without interrupts: $(cat "$scratch/out")"
says line "(sonde record --for wait)"
run 0 "$sonde" why "$history" -n 1000
not_says out "does not show its guests' interrupts"
run 0 "$sonde" why "$history"
not_says out "only the kernel of"

# Processes that page tables tell apart are no threads whose names are known; of other VMs neither is said.
tar -C "$scratch" -xf samples/lab/bochs-vmx-6.1.tar.xz
run 0 "$sonde" analyze -q "$scratch/vmx-6.1/L0/run/host0" -o "$scratch/spaces.sonde"
run 0 "$sonde" why "$scratch/spaces.sonde"
says out "process 1 of vm-a had a run-queue delay"
says out "vm-a has no trace of its own: its processes are told apart by their page tables"
not_says out "which of its threads ran"
"$sonde" analyze -q samples/ftrace/host0.dat -o "$scratch/alone.sonde"
run 0 "$sonde" why "$scratch/alone.sonde"
says out " has no trace of its own: which of its threads ran"
# For whatever reason something is not known, the reason is told once, and of all that it is so of.
[ "$(grep -c "Next time run sonde-agent in it" "$scratch/out")" = 1 ] || fail "a reason is told over and over"
unknown=$(COLUMNS=1000 "$sonde" why "$scratch/alone.sonde" --format json |
	python3 -c 'import json, sys; print(*[r["machine"] for r in json.load(sys.stdin)["why"] if r["cause"] == "trace"])')
[ "$(wc -w <<<"$unknown")" -gt 1 ] || fail "just one VM without a trace: nothing to tell together"
for vm in $unknown; do says out "$vm"; done
# Events that are missing, and nobody knows how many, are not "at least 0".
head -c 100000 samples/ftrace/host0.dat >"$scratch/cut.dat"
"$sonde" analyze -q "$scratch/cut.dat" -o "$scratch/cut.sonde" 2>"$scratch/err"
run 0 "$sonde" why "$scratch/cut.sonde"
says out "1 gap of"
not_says out "arger buffers" # a file that is cut off has none

# Threads of which it is mostly not known who kept them from running have no culprit in common.
"$sonde" analyze -q samples/lttng/host0 samples/lttng/vm-a-n -o "$scratch/apart.sonde" 2>"$scratch/err"
for asked in "" "--slower-than 1ms"; do
	# shellcheck disable=SC2086 # no or two words
	COLUMNS=1000 run 0 "$sonde" why "$scratch/apart.sonde" -n 1000 $asked
	python3 - "$scratch/out" <<'END' || fail "what nobody knows is told as one culprit"
import re, sys
unit = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1}
def time(words, verdict):
    found = re.search(words.replace("TIME", "([0-9.]+) (s|ms|us|ns)"), verdict)
    return float(found[1]) * unit[found[2]] if found else 0
groups = 0
for verdict in open(sys.argv[1]).read().split("\n\n"):
    unknown = time("or TIME (?:of that )?it is not known who had", verdict)
    if " main c" in verdict and 2 * unknown > time("did not run for TIME", verdict):
        groups += 1
        assert re.search("whose main (culprit|cause) is not known", verdict), verdict
assert groups >= 2, groups
END
done

run 2 "$sonde" why "$history" --vm vm-c
says err 'there is no machine "vm-c"; sonde tree lists them'
run 2 "$sonde" why "$history" --task nobody
says err 'no thread is called "nobody"'
run 2 "$sonde" why "$history" --slower-than soon
says err '"soon" is no length of time'

for columns in 80 100; do
	COLUMNS=$columns run 0 "$sonde" why "$history"
	awk -v w=$columns 'length($0) > w' "$scratch/out" >"$scratch/wide"
	[ ! -s "$scratch/wide" ] || fail "why at $columns: $(cat "$scratch/wide")"
done
