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

# begun FILE: waits until the recorder that writes FILE says that it records.
begun() {
	local i
	for i in $(seq 300); do
		! grep -qF "recording into" "$scratch/$1" || return 0
		sleep 0.1
	done
	cat "$scratch/$1"
	fail "no recording began within 30 s"
}

# field FILE KEY: a number or word from `sonde record --format json`.
field() {
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$1" "$2"
}

# state_lines TRACE: its state lines, without what stands before them.
state_lines() {
	"$sonde" events "$1" | sed -n 's/.*\(sonde: [a-z]* .*\)/\1/p'
}
