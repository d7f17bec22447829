#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sonde compare: nothing changes from a run to itself; what a run shows to have changed is found.
. "$(dirname "$0")/../lib.sh"
. tests/cmd/common.sh
make_history

run 0 "$sonde" compare "$history" "$history"
not_says out "that changed"
says out "differ by no more than chance makes likely"
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
run 0 "$sonde" compare "$multi" "$multi" --time 40%,50% --format csv
[ "$(head -1 "$scratch/out")" = machine,cpu,what,unit,before,after,change,low,high,chance,size,known_before,known_after ] || fail "CSV"

# Without its guests' traces a run does not know user from kernel: that is no change, nor none.
"$sonde" analyze -q samples/ftrace/host0.dat -o "$scratch/host.sonde"
"$sonde" analyze -q samples/ftrace/host0.dat --guest vm-tid156=samples/ftrace/vm-b.dat \
	samples/ftrace/vm-b.dat -o "$scratch/with.sonde"
run 0 "$sonde" compare "$scratch/with.sonde" "$scratch/host.sonde"
not_says out "that changed"
says out "it cannot be told whether they changed"
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
	json 'all((r["exits"] == -1) == ("cycles" in r["run"]) for r in j)'
	run 0 "$sonde" vms "$scratch/cycles.sonde" --format json
	json 'j and all(r["exits"] >= 0 and r["unit"] == "per 10^9 cycles" for r in j)'
fi

run 2 "$sonde" compare "$history"
says err "two histories are expected: before and after"
run 1 "$sonde" compare "$history" /nonexistent.sonde
