#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sonde share does not guess which of two VMs of one name, or of one UUID, may listen.
. "$(dirname "$0")/../lib.sh"
. tests/record/common.sh

make_vm_program
python3 "$scratch/qemu-test" 1 0 >/dev/null 2>&1 || skip "no VM can be made here"

pids=
trap 'kill $pids 2>/dev/null; rm -rf "$scratch"' EXIT
uuid=01234567-89ab-cdef-0123-456789abcdef
for i in 1 2; do
	python3 "$scratch/qemu-test" 1 60 -name guest=twin -uuid $uuid >"$scratch/vm$i" &
	pids="$pids $!"
	wait_for "VM $i is there" test -s "$scratch/vm$i"
	[ $i = 2 ] || "$sonde" share --vm twin -d 200ms 2>"$scratch/alone" || skip "it cannot run here: $(cat "$scratch/alone")"
done
for name in twin $uuid; do
	run 1 "$sonde" share --vm $name -d 200ms
	for pid in $pids; do
		grep -q "means VMs of two processes.* $pid" "$scratch/err" || fail "it does not say which: $(cat "$scratch/err")"
	done
done
for pid in $pids; do
	run 0 "$sonde" share -q --vm "pid:$pid" -d 200ms
done
