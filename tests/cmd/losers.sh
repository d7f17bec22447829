#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sonde report: who was kept off the CPU, who lost most first, each once.
. "$(dirname "$0")/../lib.sh"
. tests/cmd/common.sh
make_history

run 0 "$sonde" report "$history" --format json
python3 - "$scratch/out" >"$scratch/expected" <<'END'
import json, sys
rows = json.load(open(sys.argv[1]))["vcpu_time"]
name = lambda cpu: f"{cpu['machine']}/{cpu['cpu']}"
lost = [(row["steal"] + row["inherited_steal"], name(row["vcpu"])) for row in rows]
print(*[name for ns, name in sorted(lost, reverse=True) if ns], sep="\n")
END
run 0 "$sonde" report "$history"
sed -n '/^Steal time of vCPUs/,/^$/p' "$scratch/out" | sed -n 's/^\([^ ]*\/[0-9]*\): .*/\1/p' >"$scratch/told"
[ "$(wc -l <"$scratch/told")" -ge 3 ] || fail "fewer than three vCPUs lost anything: nothing to sort"
head -n "$(wc -l <"$scratch/told")" "$scratch/expected" | diff - "$scratch/told" || fail "not in the order of what they lost"

# Without the stream of a CPU of the host it is not known who had that.
cp -r samples/lttng "$scratch/half"
chmod -R u+w "$scratch/half"
rm "$scratch/half/host0/ch0_1"
run 3 "$sonde" analyze -q "$scratch/half" -o "$scratch/half.sonde"
run 0 "$sonde" report "$scratch/half.sonde"
grep -q "^ *[0-9.]* [mu]*s  unknown$" "$scratch/out" || fail "nothing is unknown"
! grep -q "unknown on" "$scratch/out" || fail "a machine that nobody knows"
