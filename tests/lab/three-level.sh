#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# time-limit: 1200
# alone: lab
# A live run of the lab: host, virtual machines, a nested one, containers, traced at every level; analysed, and compared with
# what the emulated hardware did.  An emulator that fails every time makes this a skip, not a failure: the stored traces
# are what the other tests rest on.
. "$(dirname "$0")/../lib.sh"

for program in qemu-system-x86_64 busybox trace-cmd mkfs.ext4 depmod cpio; do
	PATH=$PATH:/usr/sbin:/sbin need "$program"
done
image=$(lab/image 6.1 2>&1) || skip "no image can be built: $(tail -1 <<<"$image")"

status=0
lab/check three-level --kernel 6.1 --tries 3 --limit 600 --within 240 --wait 60 -o "$scratch/run" \
	>"$scratch/said" 2>"$scratch/progress" || status=$?
cat "$scratch/said"
case $status in
0) ;;
77)
	tail -40 "$scratch/progress"
	skip "NO LIVE RUN: the emulator failed each time, its last words are above"
	;;
*)
	# What disagrees goes last: of a failed test, the end is shown.
	tail -40 "$scratch/progress"
	grep -A 12 '^FAIL' "$scratch/said" | tail -25
	fail "the three-level run does not agree with what happened"
	;;
esac
