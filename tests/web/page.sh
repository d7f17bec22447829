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
node tests/web/overlays.mjs "$build/sonde" "$scratch/run.sonde" "$scratch/end.sonde"
"$build/sonde" report --html "$scratch/report.html" --time +480ms,+500ms "$scratch/run.sonde"
node tests/web/carried.mjs "$build/sonde" "$scratch/run.sonde" "$scratch/report.html"
