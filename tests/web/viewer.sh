#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The component that the trace viewers of Theia and VS Code show traces with, over sonde serve --tsp.
# It is in no npm registry: SONDE_VIEWER is a checkout of https://github.com/eclipse-cdt-cloud/traceviewer-libs
# time-limit: 900
. "$(dirname "$0")/../lib.sh"
[ -n "${SONDE_VIEWER:-}" ] || skip "SONDE_VIEWER names no sources of the trace viewer"
. tests/web/common.sh
need chromium
packages
"$build/sonde" analyze -q samples/lttng -o "$scratch/run.sonde"
here=$PWD
cp tests/web/viewer/* "$scratch"
cd "$scratch"
npm install --ignore-scripts --legacy-peer-deps --no-audit --no-fund >npm.log 2>&1 ||
	skip "npm cannot fetch what tests/web/viewer/package.json names: $(tail -1 npm.log)"
node build.mjs "$SONDE_VIEWER" "$scratch/app.js"
cd "$here"
node tests/web/viewer.mjs "$build/sonde" "$scratch/run.sonde" "$scratch" samples/lttng
