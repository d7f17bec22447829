#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What cannot be recorded: says what is wrong and what to do, and leaves nothing behind.
. "$(dirname "$0")/../lib.sh"
. tests/record/common.sh
sonde=$PWD/$sonde
cd "$scratch"

# refused STATUS TEXT ARGUMENTS...
refused() {
	local status=$1 text=$2
	shift 2
	run "$status" "$sonde" record -o "$scratch/none" "$@"
	says err "$text"
	[ ! -e "$scratch/none" ] || fail "a run directory was left behind by: $*"
}

refused 1 'cannot start "/nonexistent/program": No such file' -- /nonexistent/program
refused 1 'this kernel has no event "sched:no_such_event"' -e sched:no_such_event -- true
refused 1 'this kernel has no event "no_such_system"' -e no_such_system -- true
refused 2 'is not like SYSTEM:EVENT' -e ../../sched -- true
refused 1 'ftrace has no clock "sundial" here; it has:' --clock sundial -- true
refused 2 '--for: "tea" is not one of cpu, wait, io, boot, all' --for cpu,tea -- true
refused 2 '"soon" is not a time' --duration soon
refused 2 '"0" is not a time' --duration 0
refused 1 "cannot write" --buffer-size 999999999 -- true
refused 2 "--buffer-size: 99999999999 KB for each CPU is more than" --buffer-size 99999999999 -- true
refused 1 'no guest is recorded: --guest-tracer is for guests' --guest-tracer hypertrace -- true
run 0 "$sonde" record -q -o "$scratch/alone" --guest all --guest-tracer hypertrace --guest none -- true
# Nothing is overwritten.
mkdir there
touch there/file
run 1 "$sonde" record -o there -- true
says err "there is there already and is not empty"
[ "$(ls there)" = file ] || fail "something was changed in a directory that was there"
mkdir empty
run 0 "$sonde" record -q -o empty -- true
[ -s empty/host0/trace.dat ] || fail "an empty directory was not taken"

# Another user than root.
if command -v setpriv >/dev/null; then
	chmod 755 "$scratch"
	mkdir -m 777 open
	as_nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"
	if $as_nobody test -x "$sonde"; then
		run 1 $as_nobody "$sonde" record -o open/run -- true
		grep -qE "root|sudo" err || fail "no advice: $(cat err)"
		[ ! -e open/run ] || fail "a run directory was left behind"
		run 3 $as_nobody "$sonde" record --check
		says out "MISSING  permissions"
		says out "do:  run it with sudo"
		run 1 $as_nobody "$sonde" share --all-vms --duration 1
		says err "one has to be root"
	fi
fi

# No tracefs, neither by itself nor in debugfs.
cat >hide <<'END'
awk '$3 == "tracefs" || $3 == "debugfs" { print $2 }' /proc/mounts | sort -r | xargs -r umount -l || exit 99
exec "$@"
END
if unshare --mount sh hide true 2>/dev/null; then
	run 1 unshare --mount sh hide "$sonde" record -o none -- true
	says err "tracefs is not mounted; as root: mount -t tracefs tracefs /sys/kernel/tracing"
	[ ! -e none ] || fail "a run directory was left behind"
	run 3 unshare --mount sh hide "$sonde" record --check --format json
	json '[r["state"] for r in j if r["name"] == "tracefs"] == ["missing"]'
	json '[r["mend"] for r in j if r["name"] == "tracefs"] == ["as root: mount -t tracefs tracefs /sys/kernel/tracing"]'
fi

run 0 "$sonde" record --check --format json
json '{"permissions", "tracefs", "events", "kvm", "debugfs", "clock", "vsock"} <= {r["name"] for r in j}'
json 'all(r["state"] in ("ok", "note", "missing") and r["what"] and r["why"] for r in j)'
json 'all(r["mend"] for r in j if r["state"] == "missing")'
