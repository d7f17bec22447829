#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# VMs are found: one that is there, one that comes and goes while it is recorded.
. "$(dirname "$0")/../lib.sh"
. tests/record/common.sh

make_vm_program
python3 "$scratch/qemu-test" 1 0 >/dev/null 2>&1 || skip "no VM can be made here"

python3 "$scratch/qemu-test" 2 60 -name guest=alpha,debug-threads=on -uuid 01234567-89ab-cdef-0123-456789abcdef >"$scratch/alpha" &
alpha=$!
trap 'kill $alpha 2>/dev/null; rm -rf "$scratch"' EXIT
wait_for "the VM is there" test -s "$scratch/alpha"
run 0 "$sonde" record -q -o "$scratch/run" -- sh -c "sleep 1; python3 '$scratch/qemu-test' 1 2 >'$scratch/beta'; sleep 2"
beta=$(cat "$scratch/beta")
state_lines "$scratch/run/host0/trace.dat" >"$scratch/state"
start() {
	sed '/end cause=start/,$d' "$scratch/state"
}

vm=$(start | sed -n "s/^sonde: vm vm=\([0-9]*\) pid=$alpha name=alpha uuid=01234567-89ab-cdef-0123-456789abcdef.*/\1/p")
[ -n "$vm" ] || fail "the VM that was there is not told: $(grep 'sonde: vm' "$scratch/state")"
[ "$(start | grep -c "^sonde: vcpu vm=$vm vcpu=[01]")" = 2 ] || fail "its vCPUs are not"
[ "$(start | grep -c "pid=$beta ")" = 0 ] || fail "a VM is told before it was there"
"$sonde" record --check >"$scratch/check" || true
if grep -qE "^ok +debugfs .*KVM" "$scratch/check"; then
	[ "$(start | grep -cE "^sonde: vcpu vm=$vm vcpu=0.* tsc_offset=-?[0-9]+")" = 1 ] || fail "no TSC offset"
	grep -q "^sonde: begin version=1 cause=vm" "$scratch/state" || fail "nobody saw the second VM"
	grep -qE "^sonde: vm vm=[0-9]+ pid=$beta" "$scratch/state" || fail "the second VM is not told"
	[ "$(sed '1,/begin version=1 cause=end/d' "$scratch/state" | grep -c "pid=$beta ")" = 0 ] ||
		fail "a VM is told after it was gone"
fi

# Where debugfs cannot be had, open files tell of the VM; nothing tells of its TSC.
cat >"$scratch/hide" <<'END'
awk '$3 == "debugfs" { print $2 }' /proc/mounts | sort -r | xargs -r umount -l || exit 99
exec setpriv --bounding-set=-sys_admin "$@"
END
if unshare --mount sh "$scratch/hide" true 2>/dev/null; then
	run 0 unshare --mount sh "$scratch/hide" "$sonde" record -q -o "$scratch/plain" -- sleep 1.5
	state_lines "$scratch/plain/host0/trace.dat" >"$scratch/state"
	vm=$(start | sed -n "s/^sonde: vm vm=\([0-9]*\) pid=$alpha name=alpha .*/\1/p")
	[ -n "$vm" ] || fail "the VM is not found by its files: $(grep 'sonde: vm' "$scratch/state")"
	[ "$(start | grep -c "^sonde: vcpu vm=$vm vcpu=[01]\b")" = 2 ] || fail "its vCPUs are not"
fi
