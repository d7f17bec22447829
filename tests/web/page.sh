#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every hand and key of the page of `sonde serve`, in Chromium without a window.
# time-limit: 400
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
"$build/sonde" report --html "$scratch/report.html" --time +480ms,+500ms "$scratch/run.sonde"
node tests/web/carried.mjs "$build/sonde" "$scratch/run.sonde" "$scratch/report.html"
