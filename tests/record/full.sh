#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The disk fills up while recording, and after that there is no room for a copy: what was recorded
# until then is whole, joined, and said to end early.
. "$(dirname "$0")/../lib.sh"
. tests/record/common.sh

mkdir "$scratch/disk"
mount -t tmpfs -o size=12m tmpfs "$scratch/disk" 2>/dev/null || skip "a small file system cannot be mounted here"
trap 'umount -l "$scratch/disk"; rm -rf "$scratch"' EXIT

# More than fits, within the time that a test has.
run 1 timeout 200 "$sonde" record --for all -o "$scratch/disk/run" -- \
	sh -c 'while :; do cat /proc/self/stat >/dev/null; done'
says err "the disk is full"
says out "not complete: the disk is full"
! grep -q "no event was lost" "$scratch/out" || fail "$(cat "$scratch/out")"
says err "what was recorded until then is in"
[ "$(find "$scratch/disk/run" -type f | wc -l)" = 2 ] || fail "not joined: $(find "$scratch/disk/run")"
run 0 cat "$scratch/disk/run/run.json"
json 'j["state"] == "partial" and not j["machines"][0]["complete"]'
json '"the disk is full" in j["machines"][0]["why"]'
size=$(stat -c %s "$scratch/disk/run/host0/trace.dat")
[ "$size" -gt $((6 << 20)) ] || fail "only $size bytes were kept"
sound_but_for_losses "$scratch/disk/run/host0/trace.dat"
says out "recording ended before its last"
run 0 "$sonde" analyze -q -o "$scratch/run.sonde" "$scratch/disk/run"
run 0 "$sonde" check "$scratch/run.sonde"
# CPUs whose last pages were not saved are not known to the end of the run.
run 0 "$sonde" report "$scratch/run.sonde" -t gap --format json
json 'any(l["at"] + l["length"] >= j["end"] - 1 for l in j["gap"])'
