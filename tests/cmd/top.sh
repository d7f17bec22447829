#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sonde top in batch mode: on a run, where all of it is in the reports, too; and live, where we may.
. "$(dirname "$0")/../lib.sh"
. tests/cmd/common.sh
make_history

# ---- a run: text
run 0 "$sonde" top "$history"
says out "from 59.599906000 (+0) for 1.500 s, <0.1% unknown, no lost events"
says out "host0/0"
grep -qE '^[^ ]*vm-b/0 .* timer +[0-9.]+% h-burn\[519\]' "$scratch/out" || fail "vm-b/0: $(cat "$scratch/out")"
grep -qE '^h-burn\[519\] ' "$scratch/out" || fail "no threads"
grep -qE '^vm-b: b-burn\[162\] ' "$scratch/out" || fail "a guest's thread without its machine"
says out "more"
run 0 "$sonde" top "$history" -d 1s
[ "$(grep -c 'run.sonde  from' "$scratch/out")" = 2 ] || fail "windows"
run 0 "$sonde" top "$history" -d 100ms -n 3 --time +0.5s,+1s
[ "$(grep -c 'for 100.0 ms' "$scratch/out")" = 3 ] || fail "-n 3"

# Where nobody knows who had the CPU, there is no machine to name.
run 0 "$sonde" top "$history" --threads 500 -d 100ms
says out "% unknown"
! grep -q "unknown on" "$scratch/out" || fail "a machine that nobody knows"

# ---- a run: numbers.  Every moment is somewhere, and the reports say the same.
run 0 "$sonde" top "$history" --format json
json 'len(j) == 1 and len(j[0]["cpus"]) == 2 and len(j[0]["vcpus"]) == 4'
json 'all(c["all"] == sum(c[k] for k in ("run", "guest", "hypervisor", "irq", "idle", "unknown")) for c in j[0]["cpus"])'
json 'all(c["all"] == sum(c[k] for k in ("run", "hypervisor", "nesting", "host_irq", "total_steal", "wait", "unknown")) for c in j[0]["vcpus"] + j[0]["vms"])'
json '[v["name"] for v in j[0]["vms"]] == ["vm-a", "vm-b", "vm-a-n"]'
json '[v["name"] for v in j[0]["vcpus"]] == ["vm-a/0", "vm-a/1", "vm-b/0", "vm-a-n/0"]'
json 'j[0]["vms"][0]["total_steal"] == sum(v["total_steal"] for v in j[0]["vcpus"][:2])'
cp "$scratch/out" "$scratch/top"
run 0 "$sonde" report "$history" --format json -t thread_time -t vcpu_time -t preemption
python3 - "$scratch/top" "$scratch/out" <<'END' || fail "top and report differ"
import json, sys
top, report = json.load(open(sys.argv[1]))[0], json.load(open(sys.argv[2]))
times = {(t["thread"] or {}).get("row"): t["total"] for t in report["thread_time"]}
for t in top["threads"]:
    if t["thread"]["tid"] and t["run"]:
        assert t["run"] + t["hypervisor"] + t["irq"] == times[t["thread"]["row"]], t
for v in top["vcpus"]:
    worst = max((p["total"] for p in report["preemption"] if p["vcpu"] == v["cpu"]), default=0)
    assert v["stolen_by"]["ns"] == worst, v
END
run 0 "$sonde" top "$history" --format json --sort delay --threads 5
json '(lambda kept: len(kept) == 5 and kept == sorted(kept, reverse=True) and kept[0] > 0)([t["run_delay"] for t in j[0]["threads"]])'
json 'j[0]["threads"][0]["delayed_by"]["ns"] <= j[0]["threads"][0]["run_delay"]'

# ---- what it refuses
run 2 "$sonde" top "$history" -d soon
says err '--delay: "soon" is not a time such as'
run 2 "$sonde" top --time 1s,2s
says err "--time is for a history"
run 2 "$sonde" top "$history" --time 12,13
says err "outside the history"
run 2 "$sonde" top "$history" "$history"
run 1 "$sonde" top "$scratch/nothing.sonde"
says err "nothing.sonde"
if [ "$(id -u)" != 0 ]; then
	run 1 "$sonde" top -b -n 1
	says err "for which one has to be root"
	skip "the live part needs root"
fi
if command -v setpriv >/dev/null; then
	chmod 755 "$scratch"
	cp "$sonde" "$scratch/sonde"
	run 1 setpriv --reuid 65534 --regid 65534 --clear-groups "$scratch/sonde" top -b -n 1
	says err "for which one has to be root; a history can be looked at"
fi

# ---- live: a thread that has a CPU for itself is seen, and so are our cost and what was watched
"$sonde" record --check >/dev/null 2>&1 || skip "this machine cannot record: sonde record --check tells why"
left() {
	ls -d /dev/shm/sonde-top.* /tmp/sonde-top.* 2>/dev/null || true
}
before=$(left)
(exec -a sonde-test-burner bash -c 'while :; do :; done') &
burner=$!
trap 'kill $burner 2>/dev/null; rm -rf "$scratch"' EXIT
run 0 "$sonde" top -b -n 2 -d 300ms --format json --threads 1000
json 'len(j) == 2 and all(w["live"]["cpu_ns"] > 0 and w["live"]["bytes"] > 0 for w in j)'
json 'all(0 < w["live"]["watched_ns"] <= w["live"]["elapsed_ns"] for w in j)'
json 'all(w["end"] - w["begin"] == w["live"]["watched_ns"] for w in j)'
json 'all(c["all"] == w["live"]["watched_ns"] for w in j for c in w["cpus"])'
json "all(any(t['thread']['tid'] == $burner and t['run'] + t['run_delay'] > 0 for t in w['threads']) for w in j)"
run 0 "$sonde" top -b -n 1 -d 200ms
says out "watched"
says out "of a CPU"
[ "$(left)" = "$before" ] || fail "left in memory: $(left)"
# ^C ends it in order: the instance goes, and so does the memory.
"$sonde" top -b >"$scratch/out" 2>"$scratch/err" &
top=$!
for n in $(seq 300); do
	ls -d /sys/kernel/tracing/instances/sonde-$top-* >/dev/null 2>&1 && break
	sleep 0.1
done
kill -INT "$top"
status=0
wait "$top" || status=$?
[ "$status" = 0 ] || fail "exit status $status after ^C: $(cat "$scratch/err")"
! ls -d /sys/kernel/tracing/instances/sonde-$top-* >/dev/null 2>&1 || fail "the instance is left"
[ "$(left)" = "$before" ] || fail "left in memory after ^C: $(left)"
