#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# ^C is the usual end without a command, and an early one with it; the command is ended, too.
. "$(dirname "$0")/../lib.sh"
. tests/record/common.sh

# In the background a shell's children ignore SIGINT; SIGTERM ends it in the same way.
"$sonde" record -o "$scratch/free" >"$scratch/out" 2>"$scratch/err" &
recorder=$!
begun err
sleep 0.2
kill -TERM "$recorder"
wait "$recorder" || fail "exit status $?"
says err "^C ends it"
run 0 "$sonde" check "$scratch/free/host0/trace.dat"

status=0
"$sonde" record -o "$scratch/bound" -- sh -c 'echo $$ >"$0"; exec sleep 100' "$scratch/pid" 2>"$scratch/err" >"$scratch/out" &
recorder=$!
until [ -s "$scratch/pid" ]; do sleep 0.1; done
kill -TERM "$recorder"
wait "$recorder" || status=$?
[ "$status" = 4 ] || fail "exit status $status, not 4"
says err "interrupted: $scratch/bound ends there"
! kill -0 "$(cat "$scratch/pid")" 2>/dev/null || fail "the command still runs"
run 0 "$sonde" check "$scratch/bound/host0/trace.dat"

# The connection to the terminal breaks: SIGHUP comes twice then.
env --default-signal=HUP "$sonde" record -o "$scratch/hangup" >"$scratch/out" 2>"$scratch/err" &
recorder=$!
begun err
kill -HUP "$recorder"
kill -HUP "$recorder" 2>/dev/null || true
wait "$recorder" || fail "exit status $? after SIGHUP"
run 0 "$sonde" check "$scratch/hangup/host0/trace.dat"

# Not under nohup.
nohup "$sonde" record -q --duration 1.5 -o "$scratch/nohup" >"$scratch/out" 2>"$scratch/err" &
recorder=$!
sleep 0.7
kill -HUP "$recorder"
wait "$recorder" || fail "exit status $? after SIGHUP under nohup"

# A command that does not end when it is told to.
"$sonde" record -q --duration 0.5 -o "$scratch/deaf" -- sh -c 'trap "" TERM; exec sleep 100' >"$scratch/out" 2>"$scratch/err" &
recorder=$!
for i in $(seq 150); do
	kill -0 "$recorder" 2>/dev/null || break
	sleep 0.1
done
! kill -KILL "$recorder" 2>/dev/null || fail "the recorder waits for a command that takes no SIGTERM"
wait "$recorder" || fail "exit status $?"
run 0 "$sonde" check "$scratch/deaf/host0/trace.dat"

# Files go back to who called sudo.
run 0 env SUDO_UID=65534 SUDO_GID=65534 "$sonde" record -q -o "$scratch/given" -- true
[ "$(find "$scratch/given" ! -uid 65534 | wc -l)" = 0 ] || fail "not given away: $(ls -lR "$scratch/given")"
