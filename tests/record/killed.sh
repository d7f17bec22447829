#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SIGKILL: tracing goes off by itself, what was written is made good, and the next recorder cleans up.
. "$(dirname "$0")/../lib.sh"
. tests/record/common.sh

"$sonde" record --for all -o "$scratch/run" >"$scratch/run.out" 2>"$scratch/run.err" &
recorder=$!
begun run.err
timeout 2 sh -c 'while :; do /bin/true; done' || true
run 1 "$sonde" record --recover "$scratch/run"
says err "it is still being recorded"
instance=$tracefs/instances/$(instance_of $recorder)
[ "$(cat "$instance/tracing_on")" = 1 ] || fail "it does not trace"
kill -KILL "$recorder"
wait "$recorder" || true
# (The file goes with the instance.)
is_off() {
	[ "$(cat "$instance/tracing_on" 2>/dev/null || echo 0)" = 0 ]
}
wait_for "tracing goes off after the recorder's death" is_off
grep -q '"state": "recording"' "$scratch/run/run.json" || fail "the manifest does not say that it was being recorded"

run 0 "$sonde" record --recover "$scratch/run"
says out "1 machine recovered"
run 0 cat "$scratch/run/run.json"
json 'j["state"] == "partial" and not j["machines"][0]["complete"] and j["machines"][0]["why"]'
sound_but_for_losses "$scratch/run/host0/trace.dat"
state_lines "$scratch/run/host0/trace.dat" >"$scratch/state"
grep -q "cause=start" "$scratch/state" || fail "no state at the start"
[ "$(grep -c "^sonde: clock tsc=" "$scratch/state")" -ge 2 ] || fail "one look at the clocks only"
run 0 "$sonde" analyze -q -o "$scratch/run.sonde" "$scratch/run"
run 0 "$sonde" info "$scratch/run.sonde"
run 0 "$sonde" record --recover "$scratch/run"
says out "nothing to recover"

# In its first second, when one reading of the clocks is all there is: the rate is in the trace, too.
"$sonde" record --for cpu --buffer-size 64 -o "$scratch/early" 2>"$scratch/early.err" >"$scratch/early.out" &
recorder=$!
begun early.err
timeout 30 sh -c 'until [ -s "$1" ]; do /bin/true; done' - "$scratch/early/host0/cpu0.raw"
kill -KILL "$recorder"
wait "$recorder" || true
run 0 "$sonde" record --recover "$scratch/early"
run 0 "$sonde" analyze "$scratch/early" -o "$scratch/early.sonde"
! grep -q "times are cycles" "$scratch/out" "$scratch/err" || fail "nobody knows how long a cycle was"

run 0 "$sonde" record -q -o "$scratch/next" -- true
[ ! -d "$instance" ] || fail "the dead recorder's instance is still there"

# Its parent has not asked for its status.
sh -c '"$0" record -o "$1" 2>"$3" & echo $! >"$2"; exec sleep 1000' "$sonde" "$scratch/zombie" "$scratch/pid" \
	"$scratch/zombie.err" &
parent=$!
begun zombie.err
recorder=$(cat "$scratch/pid")
instance=$tracefs/instances/$(instance_of "$recorder")
[ -n "$(instances_of "$recorder")" ] || fail "it has no instance"
kill -KILL "$recorder"
wait_for "the recorder is dead" ended "$recorder"
run 0 "$sonde" record -q -o "$scratch/after" -- true
kill "$parent" # before anything fails: it would hold the test's output open
[ ! -d "$instance" ] || fail "the instance of a recorder that is a zombie is still there"

# A later version's manifest is left as it is.
mkdir "$scratch/later"
echo '{"version": 2, "state": "recording"}' >"$scratch/later/run.json"
run 1 "$sonde" record --recover "$scratch/later"
says err "has version 2"
grep -qx '{"version": 2, "state": "recording"}' "$scratch/later/run.json" || fail "it was rewritten"

# A folder that is a link to another one, and a file with another name: neither is touched.
mkdir "$scratch/linked" "$scratch/elsewhere"
echo '{"version": 1, "state": "recording"}' >"$scratch/linked/run.json"
echo parts >"$scratch/elsewhere/head"
ln -s ../elsewhere "$scratch/linked/host0"
echo mine >"$scratch/mine"
ln "$scratch/mine" "$scratch/linked/other"
run 0 env SUDO_UID=65534 SUDO_GID=65534 "$sonde" record --recover "$scratch/linked"
says out "nothing to recover"
[ "$(stat -c %u "$scratch/linked/run.json" "$scratch/mine" "$scratch/elsewhere/head" | tr '\n' ' ')" = "65534 0 0 " ] ||
	fail "not given away, or too much: $(ls -lR "$scratch")"

mkdir "$scratch/no-run"
run 1 "$sonde" record --recover "$scratch/no-run"
says err "is no recording"
[ -z "$(ls "$scratch/no-run")" ] || fail "something was written into a directory that is no run"
run 1 "$sonde" record --recover "$scratch/nowhere"
