#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sonde critpath on the LTTng sample: paths partition their windows, and leave the guest.
. "$(dirname "$0")/../lib.sh"
. tests/cmd/common.sh
make_history

run 0 "$sonde" critpath "$history" --task "b-burn[162]" --time 20%,40%
says out "What the time went into"
says out "vm-b b-burn[162]"
says out "h-burn[519] of host0"
run 0 "$sonde" critpath "$history" --task "b-burn[162]" --time 20%,40% -n 3
says out "shorter steps"
# A line says what the words for its steps mean, and no others.
says out "steal: its kernel took it for running"
run 0 "$sonde" critpath "$history" --vm vm-a --task "wl-ping[389]" --time 59.868,59.877
says out "(queued: runnable, it waited for a CPU of its machine)"

# Of every thread: steps follow each other without a gap, and none is longer than the window.
"$sonde" report "$history" -t thread_time --format json >"$scratch/threads"
python3 - "$sonde" "$history" "$scratch/threads" <<'END' || fail "a path is no partition"
import json, subprocess, sys
sonde, history, threads = sys.argv[1:]
rows = [r["thread"] for r in json.load(open(threads))["thread_time"] if r["thread"]]
rows = [t for t in rows if t["tid"]][:60]
deepest = 0
left = False
for t in rows:
    done = subprocess.run([sonde, "critpath", history, "--vm", t["machine"], "--task",
                           f"{t['comm']}[{t['tid']}]", "--time", "10%,60%", "--format", "json"],
                          capture_output=True, text=True)
    if done.returncode == 2:  # another of that number, or not then
        continue
    assert not done.returncode, (t, done.stderr)
    j = json.loads(done.stdout)
    at = j["begin"]
    for step in j["critical_path"]:
        assert step["at"] == at and step["length"] > 0, (t, step, at)
        at += step["length"]
        deepest = max(deepest, step["depth"])
        left |= step["machine"] != t["machine"]
    assert at == j["end"], t
assert deepest >= 2 and left, "no path was followed through a wake-up"
END

run 0 "$sonde" critpath "$history" --task "b-burn[162]" --time 20%,40% --folded
awk '{ sum += $NF } END { exit sum > 0 ? 0 : 1 }' "$scratch/out" || fail "folded"
[ "$(awk '{ sum += $NF } END { print sum }' "$scratch/out")" = \
	"$("$sonde" critpath "$history" --task "b-burn[162]" --time 20%,40% --format json |
		python3 -c 'import json,sys; j=json.load(sys.stdin); print(j["end"]-j["begin"])')" ] ||
	fail "folded lines do not add up to the window"

# A path ends with its thread.
run 0 "$sonde" report "$history" -t thread_time --format json
ended=$(python3 - "$sonde" "$history" "$scratch/out" <<'END'
import json, subprocess, sys
sonde, history, threads = sys.argv[1:]
for row in json.load(open(threads))["thread_time"]:
    t = row["thread"]
    if not t or not t["tid"]:
        continue
    name = f"{t['comm']}[{t['tid']}]"
    done = subprocess.run([sonde, "critpath", history, "--vm", t["machine"], "--task", name,
                           "--format", "json"], capture_output=True, text=True)
    if done.returncode or not json.loads(done.stdout)["ended"]:
        continue
    j = json.loads(done.stdout)
    last = j["critical_path"][-1]
    assert last["at"] + last["length"] == j["end"], name
    assert last["kind"] != "unknown", (name, last)
    print(t["machine"], name)
    break
END
)
[ "$ended" ] || fail "no thread of the sample ends, or its path is unknown there"
run 0 "$sonde" critpath "$history" --vm "${ended%% *}" --task "${ended#* }"
says out " to its end, "

# A VM's CPU that is ready and does not run handles no interrupt: a wait for one says so, and names
# who ran instead.
run 0 "$sonde" critpath "$history" --vm vm-a --task "c1-nap[387]" --format json
says out "for irq local_timer on vm-a vCPU 1; vm-a vCPU 1 was runnable, CPU 1 ran h-burn[519] of host0"
says out "vm-a vCPU 1 was runnable, CPU 1 ran vm-b vCPU 0 (b-burn[162])"
# Its thread's part of the path says the same.
json 'any(s["what"] == "runnable, CPU 1 ran h-burn[519] of host0" and s["kind"] == "queued"
	and s["thread"]["tid"] == 169 and s["runnable_vcpu"] is None for s in j["critical_path"])'
"$sonde" report "$history" -t preemption_list --format json >"$scratch/list"
for who in "vm-a c1-nap[387]" "vm-a wl-ping[389]"; do
	"$sonde" critpath "$history" --vm "${who% *}" --task "${who#* }" --format json >"$scratch/out"
	python3 - "$scratch/out" "$scratch/list" <<'END' || fail "$who: a wait hides a preemption"
import json, re, sys
steps = json.load(open(sys.argv[1]))["critical_path"]
lost = {}
for row in json.load(open(sys.argv[2]))["preemption_list"]:
    lost.setdefault((row["vcpu"]["machine"], row["vcpu"]["cpu"]), []).append(row)
named = 0
for step in steps:
    what = re.match(r"for .* on (\S+) vCPU (\d+)", step["what"]) if step["kind"] == "waits" else None
    if not what:
        continue
    vcpu = (what[1], int(what[2]))
    begin, end = step["at"], step["at"] + step["length"]
    under = [r for r in lost.get(vcpu, []) if r["at"] < end and r["at"] + r["length"] > begin]
    ready = step["runnable_vcpu"] and (step["runnable_vcpu"]["machine"], step["runnable_vcpu"]["cpu"])
    assert bool(under) == (ready == vcpu), (step, under)
    if under:
        same = all((r["culprit_machine"], r["on"]) == (step["by_machine"], step["on"]) and
                   (r["culprit"] == step["by"] or step["mode"] in ("irq", "softirq")) for r in under)
        assert same, (step, under)
        named += step["length"]
assert named > 10**6, named
END
done

run 2 "$sonde" critpath "$history"
says err "--task NAME is missing"
run 2 "$sonde" critpath "$history" --task nobody
says err 'no thread was called "nobody"'
run 2 "$sonde" critpath "$history" --task CPU --vm vm-z
says err 'there is no machine "vm-z"'
run 2 "$sonde" critpath "$history" --task "CPU 0/KVM"
says err "several threads are called so"

# Requests between marks: those of one id pair, the longest is taken, and the path is that of who
# made the second mark.
compiler=${CC:-gcc}
need "$compiler"
case $build in
*san*) exit 0 ;; # a program that is not built like its library
esac
$compiler -std=gnu17 -I. -Ilibsonde/include tests/cmd/marked.c "$build/libsonde.a" -lzstd -lz -lxxhash -ljansson \
	-lpthread -lm -o "$scratch/marked"
marked=$("$scratch/marked")
mv "$marked" "$scratch/marked.sonde"
marked=$scratch/marked.sonde
run 0 "$sonde" critpath "$marked" --from asked --to answered
says out '"asked" to "answered": the longest of 2, 130.0 us; the median is 30.00 us'
says out 'vm-a app[60]: the 130.0 us from'
run 0 "$sonde" critpath "$marked" --from asked --to answered --format json
json 'j["begin"] == 1160000 and j["end"] == 1290000 and j["request"]["requests"] == 2'
json 'j["request"]["from"]["id"] == j["request"]["to"]["id"] == 7 and j["thread"]["comm"] == "app"'
json 'sum(s["length"] for s in j["critical_path"]) == 130000'
run 0 "$sonde" critpath "$marked" --from asked --to answered --nth 2 --format json
json 'j["begin"] == 1170000 and j["end"] == 1200000 and j["request"]["nth"] == 2'
run 2 "$sonde" critpath "$marked" --from asked --to answered --nth 3
says err "there are only 2"
# Another machine's path over the same time.
run 0 "$sonde" critpath "$marked" --from asked --to answered --task "burn" --format json
json 'j["begin"] == 1160000 and j["thread"]["comm"] == "burn"'
# A span; of a VM that has no trace it is the vCPU's thread of its host.
run 0 "$sonde" critpath "$marked" --from work --format json
json 'j["begin"] == 1510000 and j["end"] == 1690000 and j["thread"]["machine"] == "vm-a-n"'
run 0 "$sonde" critpath "$marked" --from alone --format json
json 'j["thread"]["machine"] == "host0" and j["thread"]["tid"] == 200'
# What cannot be.
run 2 "$sonde" critpath "$marked" --from asked
says err 'no span "asked" begins'
run 2 "$sonde" critpath "$marked" --from nonsense --to answered
says err 'nothing marked "nonsense"'
run 2 "$sonde" critpath "$marked" --from answered --to asked
says err 'no mark "asked" follows a mark "answered"'
run 2 "$sonde" critpath "$marked" --to answered
says err "--from MARK is missing"
# Marks outside of the window do not count.
run 0 "$sonde" critpath "$marked" --from asked --to answered --time ,+250us --format json
json 'j["begin"] == 1170000 and j["request"]["requests"] == 1'
