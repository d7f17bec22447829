#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The client that other people's trace viewers are made with, against `sonde serve`, for every output.
# time-limit: 200
. "$(dirname "$0")/../lib.sh"
need node
need npm
if [ ! -d tests/web/node_modules/tsp-typescript-client ]; then
	(cd tests/web && timeout 120 npm ci --ignore-scripts --no-audit --no-fund --fetch-retries=1 \
		>"$scratch/npm" 2>&1) || skip "tsp-typescript-client could not be fetched"
fi
"$build/sonde" analyze -q samples/lttng -o "$scratch/run.sonde"
cp "$scratch/run.sonde" "$scratch/second.sonde"
node tests/web/tsp.mjs "$build/sonde" "$scratch/run.sonde" "$scratch/second.sonde" samples/lttng
