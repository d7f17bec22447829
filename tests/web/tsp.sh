#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The client that other people's trace viewers are made with, against `sonde serve`, for every output.
# time-limit: 200
. "$(dirname "$0")/../lib.sh"
. tests/web/common.sh
packages
"$build/sonde" analyze -q samples/lttng -o "$scratch/run.sonde"
cp "$scratch/run.sonde" "$scratch/second.sonde"
node tests/web/tsp.mjs "$build/sonde" "$scratch/run.sonde" "$scratch/second.sonde" samples/lttng
