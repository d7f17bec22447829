#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sonde vms: profiles of VMs, of one run and of several.
. "$(dirname "$0")/../lib.sh"
. tests/cmd/common.sh
make_history

run 0 "$sonde" vms "$history" --format json
json '[r["vm"] for r in j] == ["vm-a", "vm-b", "vm-a-n"]'
# The parts are of all of a VM's time.
json 'all(abs(sum(r[c] for c in ("guest_mode", "kvm", "vmm", "halting", "nesting", "host_irq", "total_steal", "timer", "disk",
	"network", "ipi", "device", "other", "unknown")) - 10**6) <= 10 for r in j)'
json 'all(r["group"] >= 1 for r in j)'
cp "$scratch/out" "$scratch/one"
# A run seen twice: each VM is like itself.
cp "$history" "$scratch/again.sonde"
run 0 "$sonde" vms "$history" "$scratch/again.sonde" --format json
json 'len(j) == 6 and all(a["group"] == b["group"] and a["guest_mode"] == b["guest_mode"] for a, b in zip(j[:3], j[3:]))'
json 'len({r["group"] for r in j}) >= 2'
# On a narrow screen the group stays: it is what is asked for.
for columns in 80 100; do
	COLUMNS=$columns run 0 "$sonde" vms "$history" "$history"
	grep -qE '^VM +HISTORY +GROUP +FIT ' "$scratch/out" || fail "no groups at $columns: $(cat "$scratch/out")"
done
run 0 "$sonde" report vms "$history"
says out "What VMs are like"
run 0 "$sonde" vms "$history" --format csv
[ "$(wc -l <"$scratch/out")" = 4 ] || fail "CSV"
"$sonde" analyze -q samples/ftrace/vm-b.dat -o "$scratch/alone.sonde"
run 0 "$sonde" vms "$scratch/alone.sonde"
says out "there was no VM in this history"
run 2 "$sonde" vms
says err "one history or more are expected"
run 1 "$sonde" vms "$history" /nonexistent.sonde
