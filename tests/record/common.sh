# SPDX-License-Identifier: Apache-2.0
# For tests of `sonde record`: . tests/record/common.sh, after tests/lib.sh.  Skips where a kernel
# cannot be traced; $tracefs is where it can.
. tests/cmd/common.sh

tracefs=$(awk '$3 == "tracefs" { print $2; exit }' /proc/mounts)
[ "$(id -u)" = 0 ] || skip "only root can trace a kernel"
[ -n "$tracefs" ] || skip "tracefs is not mounted here"
[ -w "$tracefs/instances" ] || skip "no tracing instances can be made here"
[ -e "$tracefs/events/sched/sched_switch/enable" ] || skip "this kernel has no event sched_switch"

# Instances of recorders whose process is $1.
instances_of() {
	ls "$tracefs/instances" | grep "^sonde-$1-" || true
}

# The one of them that records; another may listen for the rings of guests.
instance_of() {
	local name
	for name in $(instances_of "$1"); do
		[ "$(cat "$tracefs/instances/$name/events/sched/sched_switch/enable")" != 1 ] || echo "$name"
	done
}

# wait_for WHAT COMMAND...: until the command succeeds.
wait_for() {
	local i
	for i in $(seq 600); do
		! "${@:2}" || return 0
		sleep 0.1
	done
	fail "waited 60 s for: $1"
}

# begun FILE: waits until the recorder that writes its messages into FILE records.  (With a command
# or a --duration it does not say so.  FILE must be new: in the background nobody knows when the
# shell empties an old one.)
begun() {
	wait_for "a recording, by $scratch/$1" grep -qsF "recording into" "$scratch/$1"
}

# record_until RUN END OPTION...: records in the background, as $!, until the file END is there; on
# return it records.
record_until() {
	"$sonde" record -o "$scratch/$1" "${@:3}" -- sh -c 'echo >"$1"; until [ -e "$2" ]; do sleep 0.1; done' \
		- "$scratch/$1.began" "$scratch/$2" >"$scratch/$1.out" 2>"$scratch/$1.err" &
	wait_for "the command of $1 runs" test -e "$scratch/$1.began"
}

# ended PID: a process is gone, or nothing but its exit status is left.  (The first thread of one
# that was killed can be a zombie while another one still writes to a slow disk, with all files open.)
ended() {
	! grep -qE '^(State:[[:space:]]*[^ZX[:space:]]|Threads:[[:space:]]*([2-9]|1[0-9]))' "/proc/$1/status" 2>/dev/null
}

# sound_but_for_losses TRACE: lost events are a fault of the trace; anything else would be one of ours.
sound_but_for_losses() {
	local status=0
	"$sonde" check "$1" >"$scratch/out" || status=$?
	[ "$status" = 0 ] || [ "$status" = 3 ] || fail "exit status $status: $(cat "$scratch/out")"
	! grep -qiE "broken|cut|beyond|cannot" "$scratch/out" || fail "$(cat "$scratch/out")"
}

# field FILE KEY: a number or word from `sonde record --format json`.
field() {
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$1" "$2"
}

# state_lines TRACE: its state lines, without what stands before them.
state_lines() {
	"$sonde" events "$1" | sed -n 's/.*\(sonde: [a-z]* .*\)/\1/p'
}

# qemu-test VCPUS SECONDS: a VM without a VMM, what KVM itself gives to any program.
make_vm_program() {
	cat >"$scratch/qemu-test" <<'END'
import fcntl, os, sys, time
KVM_CREATE_VM, KVM_CREATE_VCPU = 0xAE01, 0xAE41
kvm = os.open("/dev/kvm", os.O_RDWR)
vm = fcntl.ioctl(kvm, KVM_CREATE_VM, 0)
vcpus = [fcntl.ioctl(vm, KVM_CREATE_VCPU, i) for i in range(int(sys.argv[1]))]
print(os.getpid(), flush=True)
time.sleep(float(sys.argv[2]))
END
}
