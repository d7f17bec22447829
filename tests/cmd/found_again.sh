#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The traces of a history are found again: from another directory, and moved along with it; with what stands beside them.
. "$(dirname "$0")/../lib.sh"
. tests/cmd/common.sh

program=$(realpath "$sonde")
count() { (cd / && "$program" sql --format csv "$1" "select count(*) from events" 2>"$scratch/err" | tail -n +2); }

mkdir "$scratch/work" "$scratch/work/out"
cp -r samples/lttng "$scratch/work/traces"
(cd "$scratch/work" && "$program" analyze -q traces -o out/run.sonde && cp out/run.sonde .)
all=$("$program" events "$scratch/work/traces" --format json | grep -vc "\"name\": *\"lost\"")
[ "$(count "$scratch/work/out/run.sonde")" = "$all" ] || fail "from /: $(count "$scratch/work/out/run.sonde"), not $all; $(cat "$scratch/err")"

mv "$scratch/work" "$scratch/moved"
[ "$(count "$scratch/moved/run.sonde")" = "$all" ] || fail "beside the history: $(cat "$scratch/err")"
[ -z "$(count "$scratch/moved/out/run.sonde")" ] || fail "events of no trace"
says err "is not at traces/"

# Another recording where they were does not hide them.
mkdir -p "$scratch/work/traces"
cp -r samples/lttng/host0 "$scratch/work/traces"
[ "$(count "$scratch/moved/run.sonde")" = "$all" ] || fail "another recording at the old place: $(cat "$scratch/err")"
cp -r samples/lttng/vm-a "$scratch/work/traces/vm-b"
[ "$(count "$scratch/moved/run.sonde")" = "$all" ] || fail "another trace at the old place: $(cat "$scratch/err")"
rm -r "$scratch/work"

# Another trace of that name is not what the history was made of.
truncate -s -4096 "$(find "$scratch/moved/traces/vm-b" -name ch0_0)"
[ -z "$(count "$scratch/moved/run.sonde")" ] || fail "events of another trace"
says err "vm-b is not the trace of vm-b that was analysed: it has changed since; analyse it again"

# Nor is one whose events are described in another way.
cp -r samples/lttng/host0 "$scratch/one"
"$sonde" analyze -q "$scratch/one" -o "$scratch/one.sonde"
[ -n "$(count "$scratch/one.sonde")" ] || fail "one trace: $(cat "$scratch/err")"
LC_ALL=C sed -i 's/sched_wakeup/sched_makeup/' "$scratch/one/metadata"
[ -z "$(count "$scratch/one.sonde")" ] || fail "events that another metadata describes"
says err "host0 that was analysed: it has changed since"

# A recorder that folds calls keeps some events beside the trace.
command -v xz >/dev/null || { echo "xz is not installed"; exit 77; }
tar -xf samples/lab/lab-run-net-vhost-6.1.tar.xz -C "$scratch"
"$sonde" analyze -q "$scratch"/net-vhost-6.1/L0/run -o "$scratch/net.sonde"
all=$("$sonde" events "$scratch"/net-vhost-6.1/L0/run --format json | grep -c guest_cr3)
[ "$all" -gt 0 ] || fail "the sample has no folded events"
[ "$("$sonde" sql --format csv "$scratch/net.sonde" "select count(*) from events where name = 'guest_cr3'" | tail -1)" = "$all" ] ||
	fail "folded events: not $all"

# Several traces of user space are one machine's.
tar -xf samples/ust/lttng-ust-2.13.tar.xz -C "$scratch"
"$sonde" analyze -q "$scratch/ust" -o "$scratch/user.sonde"
all=$("$program" events "$scratch/ust" --format json | grep -vc "\"name\": *\"lost\"")
[ "$(count "$scratch/user.sonde")" = "$all" ] || fail "user space: $(count "$scratch/user.sonde"), not $all; $(cat "$scratch/err")"
