#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every hand and key of the page of `sonde serve`, in Chromium without a window.
# time-limit: 600
. "$(dirname "$0")/../lib.sh"
. tests/web/common.sh
if [ ! -e build/web/app.js ]; then
	[ "${CI:-}" != true ] || fail "the page was left out although npm is here: build/web/log has why"
	skip "the page is not built"
fi
need chromium
packages
"$build/sonde" analyze -q samples/lttng -o "$scratch/run.sonde"
node tests/web/interact.mjs "$build/sonde" "$scratch/run.sonde"
# A run in which a VM ends; its traces are somewhere else afterwards.
tar -C "$scratch" -xf samples/lab/lab-run-shutdown-6.1.tar.xz
"$build/sonde" analyze -q "$(find "$scratch" -name run.json -printf '%h\n' | head -1)" -o "$scratch/end.sonde"
# One of the host's CPUs has no stream, and so a VM that ran there alone cannot be placed.
cp -r samples/lttng "$scratch/part"
rm "$scratch"/part/host0/ch0_1 "$scratch"/part/host0/index/ch0_1.idx
status=0
"$build/sonde" analyze -q "$scratch/part" -o "$scratch/part.sonde" 2>"$scratch/said" || status=$?
[ $status = 3 ] || fail "analyze ended with $status: $(cat "$scratch/said")"
node tests/web/overlays.mjs "$build/sonde" "$scratch/run.sonde" "$scratch/end.sonde" "$scratch/part.sonde"
"$build/sonde" report --html "$scratch/report.html" --time +480ms,+500ms "$scratch/run.sonde"
node tests/web/carried.mjs "$build/sonde" "$scratch/run.sonde" "$scratch/report.html"
