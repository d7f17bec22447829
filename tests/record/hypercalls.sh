#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Hypertrace calls are folded by a BPF program where that can be; else they stay events, with a
# reason.  (The folding itself needs a guest: the lab has one.)
. "$(dirname "$0")/../lib.sh"
. tests/record/common.sh
[ -e "$tracefs/events/kvm/kvm_hypercall" ] || skip "this kernel has no KVM events"

# Starts $sonde record with the options given, and waits until it records.
start() {
	rm -f "$scratch/err"
	"$sonde" record -o "$scratch/$1" "${@:2}" >"$scratch/out" 2>"$scratch/err" &
	pid=$!
	begun err
}

stop() {
	kill -INT $pid
	wait $pid || fail "exit status $?: $(cat "$scratch/err")"
}

filter() { # EVENT
	cat "$tracefs/instances/$(instance_of $pid)/events/kvm/$1/filter"
}

start raw --hypercalls raw
[ "$(filter kvm_hypercall)" = none ] || fail "raw, but filtered: $(filter kvm_hypercall)"
stop
if setpriv --bounding-set -bpf,-sys_admin --inh-caps -bpf,-sys_admin true 2>/dev/null; then
	run 0 setpriv --bounding-set -bpf,-sys_admin --inh-caps -bpf,-sys_admin \
		"$sonde" record -o "$scratch/unable" -- true
	says err "each hypertrace call of a guest is recorded as three events: the BPF program"
	[ -s "$scratch/unable/host0/trace.dat" ] || fail "nothing was recorded without BPF"
fi
start folded
grep -q "three events" "$scratch/err" && skip "$(grep -o 'recorded as three events.*' "$scratch/err")"
filter kvm_hypercall | grep -q '0x5348000000000000.*0x534dffffffffffff' ||
	fail "calls are not kept out: $(filter kvm_hypercall)"
# Until a place is known, nothing else is kept out.
[ "$(filter kvm_exit) $(filter kvm_entry)" = "none none" ] || fail "exits are kept out: $(filter kvm_exit)"
stop
[ ! -e "$scratch/folded/host0/hypercalls" ] || fail "a file for no calls"
