#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Without -o: several recorders of one second have a directory each, and say what comes next.
. "$(dirname "$0")/../lib.sh"
. tests/record/common.sh
sonde=$PWD/$sonde
cd "$scratch"

for i in 1 2 3 4; do
	"$sonde" record -- true >"said$i" 2>&1 &
done
for i in 1 2 3 4; do
	wait -n || fail "a recorder failed: $(cat said*)"
done
[ "$(ls -d sonde-2* | wc -l)" = 4 ] || fail "not four directories: $(ls)"
for dir in sonde-2*; do
	[ -s "$dir/host0/trace.dat" ] || fail "$dir has no trace"
	grep -qx "next: sonde analyze $dir" said* || fail "nobody says what to do with $dir: $(cat said*)"
done
