#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The client that other people's trace viewers are made with, against `sonde serve`, for every output.
# time-limit: 900
. "$(dirname "$0")/../lib.sh"
. tests/web/common.sh
packages
"$build/sonde" analyze -q samples/lttng -o "$scratch/run.sonde"
"$build/sonde" analyze -q samples/ftrace -o "$scratch/second.sonde"
node tests/web/tsp.mjs "$build/sonde" "$scratch/run.sonde" "$scratch/second.sonde" samples/lttng
# A run whose "ns" are cycles of a counter of unknown rate.
cycles=${SONDE_TRACES:-../shared/traces}/lab-612-L0-trace.dat
[ -e "$cycles" ] || skip "$cycles is not there; the rest passed"
"$build/sonde" analyze -q "$cycles" -o "$scratch/cycles.sonde"
node tests/web/tsp.mjs "$build/sonde" "$scratch/cycles.sonde" "$scratch/second.sonde" "$cycles"
