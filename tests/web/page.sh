#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every hand and key of the page of `sonde serve`, in Chromium without a window.
# time-limit: 600
. "$(dirname "$0")/../lib.sh"
need node
need npm
if [ ! -e build/web/app.js ]; then
	[ "${CI:-}" != true ] || fail "the page was left out although npm is here: build/web/log has why"
	skip "the page is not built"
fi
need chromium
if [ ! -d tests/web/node_modules/playwright-core ]; then
	(cd tests/web && timeout 120 npm ci --ignore-scripts --no-audit --no-fund --fetch-retries=1 \
		>"$scratch/npm" 2>&1) || skip "playwright-core could not be fetched"
fi
"$build/sonde" analyze -q samples/lttng -o "$scratch/run.sonde"
node tests/web/interact.mjs "$build/sonde" "$scratch/run.sonde"
# A run in which a VM ends; its traces are somewhere else afterwards.
tar -C "$scratch" -xf samples/lab/lab-run-shutdown-6.1.tar.zst
"$build/sonde" analyze -q "$(find "$scratch" -name run.json -printf '%h\n' | head -1)" -o "$scratch/end.sonde"
node tests/web/overlays.mjs "$build/sonde" "$scratch/run.sonde" "$scratch/end.sonde"
"$build/sonde" report --html "$scratch/report.html" --time +480ms,+500ms "$scratch/run.sonde"
node tests/web/carried.mjs "$build/sonde" "$scratch/run.sonde" "$scratch/report.html"
