#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Options of sonde record and sonde share that few give: each does what its help says.
. "$(dirname "$0")/../lib.sh"
. tests/record/common.sh

# Guests' rings are listened for in an instance of their own; with --no-rings nobody listens.
ends() {
	"$sonde" record -q -o "$scratch/$1" "${@:2}" -- sh -c "ls '$tracefs/instances' | grep -c \"^sonde-\$PPID-\"" || true
}
if [ -e "$tracefs/events/kvm/kvm_hypercall" ]; then
	[ "$(ends rings)" = 2 ] || fail "nobody listens for guests' rings"
	[ "$(ends no-rings --no-rings)" = 1 ] || fail "--no-rings listens for guests' rings"
fi

# Processes of guests: who wants them hears why they cannot be had; who does not, nothing.
run 0 "$sonde" record -o "$scratch/off" --cr3 off -- true
not_says err "told apart"
run 0 "$sonde" record -o "$scratch/default" -- true
not_says err "told apart"
run 0 "$sonde" record -o "$scratch/on" --cr3 on -- true
grep -q "processes of guests without a tracer are not told apart: ." "$scratch/err" ||
	"$sonde" record --check | grep -qi "cr3" || fail "--cr3 on says nothing: $(cat "$scratch/err")"
run 2 "$sonde" record -o "$scratch/maybe" --cr3 maybe -- true

# How often guests are told: it sleeps so often.
run 2 "$sonde" share --all-vms -d 1s --period 501ms
says err "--period: at most 500ms"
"$sonde" share -q --all-vms -d 100ms 2>"$scratch/share" || skip "the rest passed; sharing cannot run here: $(cat "$scratch/share")"
pid=
trap 'kill $pid 2>/dev/null || :; rm -rf "$scratch"' EXIT
slept() {
	local before
	rm -f "$scratch/share"
	"$sonde" share --all-vms -d 60s --period "$1" --least 77us 2>"$scratch/share" &
	pid=$!
	wait_for "sharing begins" grep -qs "sharing with guests" "$scratch/share"
	before=$(sed -n 's/^voluntary_ctxt_switches:\s*//p' "/proc/$pid/status")
	sleep 2
	echo $(($(sed -n 's/^voluntary_ctxt_switches:\s*//p' "/proc/$pid/status") - before)) >"$scratch/slept"
	told_least
	kill -INT $pid
	wait $pid || true
}
# What the BPF program was told, in ns: what does not change in it is an array of its own.
told_least() {
	local bpftool id
	bpftool=$(PATH=$PATH:/usr/sbin command -v bpftool) || return 0
	"$bpftool" map show | sed -n 's/^\([0-9]*\): array .*name stolen.*rodata.*/\1/p' >"$scratch/maps"
	while read -r id; do
		"$bpftool" -j map dump id "$id" || true
	done <"$scratch/maps" >"$scratch/rodata" 2>/dev/null
}
slept 20ms
[ "$(cat "$scratch/slept")" -gt 20 ] || fail "--period 20ms slept $(cat "$scratch/slept") times in 2 s"
[ ! -e "$scratch/rodata" ] || grep -q '"least_ns": *77000\b' "$scratch/rodata" || fail "--least 77us is not what the program has: $(cat "$scratch/rodata")"
slept 500ms
[ "$(cat "$scratch/slept")" -lt 15 ] || fail "--period 500ms slept $(cat "$scratch/slept") times in 2 s"
