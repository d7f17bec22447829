#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sonde export: each format against what the run says, read by programs that are not Sonde.
. "$(dirname "$0")/../lib.sh"
. tests/cmd/common.sh
make_history

# ---- what it refuses
run 2 "$sonde" export "$history" -o "$scratch/x"
says err "--to FORMAT is missing"
run 2 "$sonde" export "$history" --to svg -o "$scratch/x"
run 2 "$sonde" export "$history" --to csv
says err "-o FILE is missing"
run 2 "$sonde" export "$history" --to ctf
says err "-o DIR is missing"
run 2 "$sonde" export "$history" --to ctf -o -
run 2 "$sonde" export "$history" --to csv -o "$scratch/x" --only cpus,planes
says err 'no list of cpus, vcpus, threads and values'
run 2 "$sonde" export "$history" --to csv -o "$scratch/x" --machine vm-z
says err 'there is no machine "vm-z"'
run 2 "$sonde" export "$history" --to chrome -o "$scratch/x" --table wait
run 2 "$sonde" export "$history" --to csv -o "$scratch/x" --time 5,4
run 1 "$sonde" export "$history" --to csv -o "$scratch/x" --table nonsense
run 1 "$sonde" export "$history" --to csv -o "$scratch/no/x"
[ -z "$(ls "$scratch" | grep '^x')" ] || fail "something was written"
echo mine >"$scratch/mine"
mkdir "$scratch/dir"
for to in perfetto chrome csv ctf; do
	for there in mine dir; do
		run 1 "$sonde" export "$history" --to $to -o "$scratch/$there"
		says err "it is not overwritten"
	done
done
[ "$(cat "$scratch/mine")" = mine ] || fail "a file was overwritten"

# ---- each format
for to in perfetto chrome csv ctf; do
	run 0 "$sonde" export "$history" --to $to -o "$scratch/run.$to"
	says out "run.$to: 1.500 s of 4 machines"
done
[ -z "$(ls "$scratch" | grep part)" ] || fail "a .part is left"
run 0 "$sonde" export "$history" --to csv -o - --table preemption
run 0 "$sonde" report "$history" --table preemption --format csv
"$sonde" export "$history" --to csv -o - --table preemption | cmp - "$scratch/out" || fail "facts"
run 0 python3 tests/cmd/exported.py "$sonde" "$history" "$scratch"

# A part of it, of one machine.
"$sonde" export "$history" --to csv -o - --time 60.1,60.2 --machine vm-a --only vcpus,threads \
	>"$scratch/part.csv"
awk -F, 'NR > 1 && ($3 < 60100000000 || $4 > 60200000000 || $2 !~ /^vm-a[\/:]/) { exit 1 }' \
	"$scratch/part.csv" || fail "what sticks out of the window or the machine"
grep -q '^vcpu,vm-a/1,60100000000,' "$scratch/part.csv" || fail "the begin of the window"
[ "$(cut -d, -f1 "$scratch/part.csv" | sort -u | tr '\n' ' ')" = "kind thread vcpu " ] || fail "--only"


# No room: nothing is left.
for to in perfetto chrome ctf csv; do
	run 1 bash -c 'trap "" XFSZ; ulimit -f 64; exec "$@"' bash \
		"$sonde" export "$history" --to $to -o "$scratch/cut"
	says err "cannot write $scratch/cut: File too large"
done
[ -z "$(ls "$scratch" | grep '^cut')" ] || fail "something is left of what found no room"
# A failed write says nothing of the history: a full device, and one that is broken, as address 0 is.
devices="/dev/full /proc/$$/mem"
(: >/proc/$$/mem) 2>/dev/null || { devices=/dev/full; echo "/proc/$$/mem cannot be opened: no broken device"; }
for to in perfetto chrome csv; do
	for device in $devices; do
		status=0
		: >"$scratch/err"
		"$sonde" export "$history" --to $to -o - >$device 2>"$scratch/err" || status=$?
		[ $status = 1 ] || fail "$to to $device: $status"
		says err "cannot write the answer"
		not_says err damaged
	done
done

# Stopped: nothing is left.  Too early, and the signal meets a program that does not catch it yet; too
# late, and the work is done.
status=0
delay=0.01
until [ $status = 4 ]; do
	rm -f "$scratch/cut"*
	status=0
	"$sonde" export "$history" --to chrome -o "$scratch/cut" >"$scratch/out" 2>"$scratch/err" &
	sleep $delay
	kill -TERM $! 2>/dev/null || true
	wait $! || status=$?
	delay=$(awk "BEGIN { print $delay * 1.2 }")
	awk "BEGIN { exit !($delay < 20) }" || fail "it was never interrupted"
done
says err "interrupted; $scratch/cut is not written"
[ -z "$(ls "$scratch" | grep '^cut')" ] || fail "something is left of what was interrupted"
