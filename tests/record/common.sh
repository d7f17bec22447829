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

# field FILE KEY: a number or word from `sonde record --format json`.
field() {
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$1" "$2"
}

# state_lines TRACE: its state lines, without what stands before them.
state_lines() {
	"$sonde" events "$1" | sed -n 's/.*\(sonde: [a-z]* .*\)/\1/p'
}
