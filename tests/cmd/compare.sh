#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sonde compare: nothing changes from a run to itself; what a run shows to have changed is found.
. "$(dirname "$0")/../lib.sh"
. tests/cmd/common.sh
make_history

run 0 "$sonde" compare "$history" "$history"
not_says out "that changed"
not_says out "may have changed"
says out " measures are the same in both."
# What is missing in it is told once; of two windows, for each.
says out "both: "
not_says out "before: "
not_says out "after: "
run 0 "$sonde" compare "$history" "$history" --time2 0%,50%
says out "before: "
says out "after: "
run 0 "$sonde" compare "$history" "$history" --format json
json 'len(j["compare"]) > 50 and all(r["change"] == 0 for r in j["compare"])'

# The load of this run ends at about two thirds of it: vm-b then waits, and is preempted no more.
dir=$(shared_set lab-multi-ftrace-tsc) || { echo "$dir"; exit 77; }
"$sonde" analyze -q "$dir"/L*/trace.dat -o "$scratch/multi.sonde"
multi=$scratch/multi.sonde
run 0 "$sonde" compare "$multi" "$multi" --time 34%,55% --time2 70%,100%
says out "Shares of time that changed"
says out "vm-b vCPU 0: it waited for a timer"
says out "Rates that changed"
run 0 "$sonde" compare "$multi" "$multi" --time 34%,55% --time2 70%,100% --format json
json 'all(r["low"] <= r["change"] <= r["high"] for r in j["compare"])'
json '[r for r in j["compare"] if r["machine"] == "vm-b" and r["what"] == "it waited for a timer"
	and r["change"] > 500000 and r["chance"] < 10000]'
# Two windows of one steady load: nothing much.
run 0 "$sonde" compare "$multi" "$multi" --time 40%,50% --time2 50%,60% --format json
json 'sum(r["chance"] <= 10000 for r in j["compare"]) <= 3'
# How much of a difference that is, is said, too.
greatest=$(python3 -c 'import json, sys
rows = [r for r in json.load(open(sys.argv[1]))["compare"] if r["chance"] > 10000]
size = lambda share: max(r["size"] for r in rows if (r["unit"] == "ppm") == share)
print(f"shares by {size(True) / 1e4:.2f}% and rates by {size(False) / 1e3:.1f}/s at most.")' "$scratch/out")
run 0 "$sonde" compare "$multi" "$multi" --time 40%,50% --time2 50%,60%
says out "differ by no more than chance makes likely: $greatest"
# ... and how much it may be all the same.
run 0 "$sonde" compare "$multi" "$multi" --time 40%,50% --time2 50%,60%
says out "Shares of time that may have changed"
grep -q 'the change is -[0-9.]*% to +[0-9.]*%' "$scratch/out" || fail "no limits of what is not proven"
says out "not corrected for how many there are"
# The end of the load: some measures have so few independent parts that nothing is excluded.
run 0 "$sonde" compare "$multi" "$multi" --time 34%,50% --time2 50%,100% -n 300
says out "limits of the change are not known"
run 0 "$sonde" compare "$multi" "$multi" --time 40%,50% --time2 50%,60% --format json
# Limits that leave what is possible: no less than nothing afterwards, no more than all.
json 'all(-r["before"] <= r["low"] <= r["high"] <= (1000000 if r["cpu"] >= 0 else 4000000) - r["before"] + 1
	for r in j["compare"] if r["unit"] == "ppm" and r["chance"] >= 0)'
json 'any(r["low"] == -r["before"] < 0 for r in j["compare"])'
run 0 "$sonde" compare "$multi" "$multi" --time 40%,50% --format csv
[ "$(head -1 "$scratch/out")" = machine,cpu,what,unit,before,after,change,low,high,chance,size,known_before,known_after,absent,hidden ] || fail "CSV"
# A run without VMs.
"$sonde" analyze -q samples/lttng/vm-b -o "$scratch/one.sonde"
run 0 "$sonde" compare "$scratch/one.sonde" "$scratch/one.sonde"
says out "There is no VM in both of them"
not_says out "1 of 1 measures"

# What a gap hides may be all of a difference: then a run and a cut copy of it are not known to differ.
cp -r samples/lttng "$scratch/cut"
truncate -s "$(($(stat -c %s samples/lttng/host0/ch0_0) * 6 / 10))" "$scratch/cut/host0/ch0_0"
"$sonde" analyze -q samples/lttng -o "$scratch/uncut.sonde"
"$sonde" analyze -q "$scratch/cut" -o "$scratch/cut.sonde"
run 0 "$sonde" compare "$scratch/uncut.sonde" "$scratch/cut.sonde"
not_says out "changed"
says out "are not known to differ at all: gaps may explain the difference."
says out "known in 24 of 24 parts before, in 12 after"
run 0 "$sonde" compare "$scratch/cut.sonde" "$scratch/uncut.sonde" --format json
json 'len(j["compare"]) > 100 and all(r["hidden"] == (r["change"] != 0) for r in j["compare"])'
# ... and is none of what is known in all of both.
run 0 "$sonde" compare "$multi" "$multi" --time 40%,50% --time2 50%,60% --format json
json '[r for r in j["compare"] if r["change"] and r["known_before"] == r["known_after"] == 24] and not [
	r for r in j["compare"] if r["hidden"] and r["known_before"] == r["known_after"] == 24]'
# A vCPU that its VM's trace no longer claims is its VM's by wake-ups: neither it nor the VM is said to have changed.
command -v trace-cmd >/dev/null || { echo "trace-cmd is not installed"; exit 77; }
mkdir "$scratch/orphan"
cp samples/ftrace/*.dat "$scratch/orphan"
trace-cmd convert -i samples/ftrace/vm-a.dat -o "$scratch/orphan/vm-a.dat" --file-version 6 --compression none > "$scratch/out" 2>&1
python3 - "$scratch/orphan/vm-a.dat" <<'END'
import pathlib, struct, sys
path = pathlib.Path(sys.argv[1])
data = bytearray(path.read_bytes())
offset, size = struct.unpack_from("<QQ", data, data.index(b"flyrecord\0") + 10)
data[offset:offset + size] = bytes(size)
path.write_bytes(data)
END
"$sonde" analyze -q samples/ftrace -o "$scratch/uncut.sonde"
"$sonde" analyze -q "$scratch/orphan" -o "$scratch/orphan.sonde"
run 0 "$sonde" compare "$scratch/uncut.sonde" "$scratch/orphan.sonde"
not_says out "that changed"
not_says out "vm-a vCPU 0: absent"

# A VM that no name tells any more, for want of its trace, may be one that seems to be new: nothing of
# what they took from others came or went.
cp -r samples/lttng "$scratch/part"
chmod -R u+w "$scratch/part"
rm -r "$scratch/part/vm-a"
"$sonde" analyze -q samples/lttng -o "$scratch/all.sonde"
"$sonde" analyze -q "$scratch/part" -o "$scratch/part.sonde"
run 0 "$sonde" compare "$scratch/all.sonde" "$scratch/part.sonde"
not_says out "of vm-a: 0.00%"
says out 'among them "steal time, by'
run 0 "$sonde" compare "$scratch/part.sonde" "$scratch/all.sonde" --format json
json 'all(r["chance"] == -1 for r in j["compare"] if r["what"].endswith((" of vm-a", " of vm-137")))'

# Without its guests' traces a run does not know user from kernel: that is no change, nor none.
"$sonde" analyze -q samples/ftrace/host0.dat -o "$scratch/host.sonde"
"$sonde" analyze -q samples/ftrace/host0.dat --guest vm-tid156=samples/ftrace/vm-b.dat \
	samples/ftrace/vm-b.dat -o "$scratch/with.sonde"
run 0 "$sonde" compare "$scratch/with.sonde" "$scratch/host.sonde"
not_says out "that changed"
says out "it is not known whether they changed"
not_says out "vCPU 0: its user space ran: "
run 0 "$sonde" compare "$scratch/with.sonde" "$scratch/host.sonde" --format json
json '[r for r in j["compare"] if r["what"] == "its user space ran" and r["known_after"] == 0]'
json 'all(r["chance"] == -1 and r["change"] == 0 for r in j["compare"]
	if min(r["known_before"], r["known_after"]) < 6)'
# Seconds and cycles: shares compare, rates do not.
cycles=${SONDE_TRACES:-../shared/traces}/lab-612-L0-trace.dat
if [ -e "$cycles" ]; then
	"$sonde" analyze -q "$cycles" -o "$scratch/cycles.sonde"
	run 0 "$sonde" compare "$history" "$scratch/cycles.sonde" --format json
	json 'all(r["chance"] == -1 for r in j["compare"] if r["unit"] != "ppm")'
	json 'any(r["unit"] == "ppm" and r["chance"] >= 0 for r in j["compare"])'
	run 0 "$sonde" vms "$scratch/cycles.sonde" "$history" --format json
	json 'all((r["exits"] == -1) == ("cycles" in r["history"]) for r in j)'
	run 0 "$sonde" vms "$scratch/cycles.sonde" --format json
	json 'j and all(r["exits"] >= 0 and r["unit"] == "per 10^9 cycles" for r in j)'
fi

# Names differ where nobody tells them: the place of a machine does. It is said, and can be overruled.
"$sonde" analyze -q samples/lttng/host0 -o "$scratch/lone.sonde"
run 0 "$sonde" compare "$history" "$scratch/lone.sonde"
says out "vm-a is vm-"
# Of the nested VM's vCPUs the host's trace alone tells no numbers.
says out "vm-a-n vCPU 0: absent in $scratch/lone.sonde"
[ "$(grep -c "absent in" "$scratch/out")" = 1 ] || fail "$(cat "$scratch/out")"
run 0 "$sonde" compare "$history" "$scratch/lone.sonde" --format json
json '{m["before"]: m["by"] for m in j["matched"]} == {"host0": "outermost", "vm-a": "structure",
	"vm-b": "structure", "vm-a-n": "structure"}'
json '{r["machine"] for r in j["compare"]} == {"host0", "vm-a", "vm-b", "vm-a-n"}'
json '{(r["machine"], r["cpu"]) for r in j["compare"] if r["absent"]} == {("vm-a-n", 0)}'
inner=$(python3 -c 'import json,sys; print(next(m["after"] for m in json.load(open(sys.argv[1]))["matched"] if m["before"] == "vm-a-n"))' "$scratch/out")
run 0 "$sonde" compare "$history" "$scratch/lone.sonde" --match "vm-b=$inner" --format json
json '{m["before"]: m["by"] for m in j["matched"]}["vm-b"] == "given"'
json '{r["machine"] for r in j["compare"] if r["absent"] == "after" and r["cpu"] < 0} == {"vm-a-n"}'
run 2 "$sonde" compare "$history" "$scratch/lone.sonde" --match vm-b
says err 'is not like A=B'
run 2 "$sonde" compare "$history" "$scratch/lone.sonde" --match vm-z=vm-b
says err 'the first run has no machine "vm-z"'
run 2 "$sonde" compare "$history" "$history" --match vm-b=vm-a --match vm-a=vm-a
says err 'one has a match already'
# The outermost are each other's: who says so is right.
run 0 "$sonde" compare "$history" "$history" --match host0=host0
# What only one of them has is absent in the other, not 0.
"$sonde" analyze -q samples/lttng/vm-a samples/lttng/vm-a-n -o "$scratch/inner.sonde"
run 0 "$sonde" compare "$history" "$scratch/inner.sonde"
says out "In one of the histories only"
says out "vm-b: absent in $scratch/inner.sonde"
not_says out "vm-b vCPU 0"
run 0 "$sonde" compare "$scratch/inner.sonde" "$history" --format json
json 'all(r["chance"] == -1 and r["change"] == r["known_before"] == 0 for r in j["compare"] if r["absent"] == "before")'
json '({r["machine"] for r in j["compare"] if r["absent"]} == {"host0", "vm-b"} and
	{r["absent"] for r in j["compare"]} == {"", "before"})'
# ... and a VM whose host was recorded in one of them only is that VM in both, of which no time compares.
json '{m["before"]: m["by"] for m in j["matched"]} == {"vm-a": "name", "vm-a-n": "name"}'
json 'all(r["chance"] == -1 for r in j["compare"])'

run 2 "$sonde" compare "$history"
says err "two histories are expected: before and after"
run 1 "$sonde" compare "$history" /nonexistent.sonde
