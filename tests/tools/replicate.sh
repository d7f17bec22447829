#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tools/replicate-trace makes a long run that is still a sound one: every event as often as there are
# copies, in order of time; and Sonde still finds the same machines and clocks in it.
. "$(dirname "$0")/../lib.sh"
need babeltrace2

machines="host0 vm-a vm-b vm-a-n"
paths=
for machine in $machines; do
	paths="$paths samples/lttng/$machine"
done
# shellcheck disable=SC2086
tools/replicate-trace "$scratch/long" 12e6 $paths >"$scratch/said"
copies=$(sed -n 's/.*: \([0-9]*\) copies.*/\1/p' "$scratch/said")
[ "$copies" -gt 1 ] || fail "not replicated: $(cat "$scratch/said")"

number=0
for machine in $machines; do
	number=$((number + 1))
	babeltrace2 --clock-cycles "samples/lttng/$machine" >"$scratch/one"
	babeltrace2 --clock-cycles "$scratch/long/$number" >"$scratch/many" 2>"$scratch/complaints"
	[ ! -s "$scratch/complaints" ] || fail "babeltrace2: $(head -3 "$scratch/complaints")"
	[ "$(wc -l <"$scratch/many")" = $((copies * $(wc -l <"$scratch/one"))) ] ||
		fail "$machine: number of events"
	sort -c -s -k1,1 "$scratch/many" || fail "$machine: order of time"
done

"$build/sonde" analyze -q samples/lttng -o "$scratch/one.sonde"
"$build/sonde" analyze -q "$scratch/long" -o "$scratch/long.sonde"
for run in one long; do
	"$build/oracle/ask_history" "$scratch/$run.sonde" tables |
		awk -F'\t' '$1 == "table" { name = $2 }
			name == "machine" && $1 == "" { print $2, $3, $4 }
			name == "cpu" && $1 == "" { print "cpu", $2, $3, $4 }' |
		sort >"$scratch/$run.machines"
done
grep -q vm-a-n "$scratch/one.machines" || fail "no machines found"
diff "$scratch/one.machines" "$scratch/long.machines" || fail "other machines in the long run"
