#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# ^C is the usual end without a command, and an early one with it; the command is ended, too.
. "$(dirname "$0")/../lib.sh"
. tests/record/common.sh

# In the background a shell's children ignore SIGINT; SIGTERM ends it in the same way.
"$sonde" record -o "$scratch/free" >"$scratch/free.out" 2>"$scratch/free.err" &
recorder=$!
begun free.err
kill -TERM "$recorder"
wait "$recorder" || fail "exit status $?"
says free.err "^C ends it"
run 0 "$sonde" check "$scratch/free/host0/trace.dat"

status=0
"$sonde" record -o "$scratch/bound" -- sh -c 'echo $$ >"$0"; exec sleep 100' "$scratch/pid" 2>"$scratch/err" >"$scratch/out" &
recorder=$!
wait_for "the command runs" test -s "$scratch/pid"
kill -TERM "$recorder"
wait "$recorder" || status=$?
[ "$status" = 4 ] || fail "exit status $status, not 4"
says err "interrupted: $scratch/bound ends there"
! kill -0 "$(cat "$scratch/pid")" 2>/dev/null || fail "the command still runs"
run 0 "$sonde" check "$scratch/bound/host0/trace.dat"

# The connection to the terminal breaks: SIGHUP comes twice then.
env --default-signal=HUP "$sonde" record -o "$scratch/hangup" >"$scratch/hangup.out" 2>"$scratch/hangup.err" &
recorder=$!
begun hangup.err
kill -HUP "$recorder"
kill -HUP "$recorder" 2>/dev/null || true
wait "$recorder" || fail "exit status $? after SIGHUP"
run 0 "$sonde" check "$scratch/hangup/host0/trace.dat"

# Not under nohup.
nohup "$sonde" record -o "$scratch/nohup" >"$scratch/nohup.out" 2>"$scratch/nohup.err" &
recorder=$!
begun nohup.err
kill -HUP "$recorder"
sleep 0.5
! ended "$recorder" || fail "SIGHUP ended it under nohup"
kill -TERM "$recorder"
wait "$recorder" || fail "exit status $?"

# A command that does not end when it is told to.
"$sonde" record -q --duration 0.5 -o "$scratch/deaf" -- sh -c 'trap "" TERM; exec sleep 100' >"$scratch/out" 2>"$scratch/err" &
recorder=$!
wait_for "a recorder whose command takes no SIGTERM" ended "$recorder"
wait "$recorder" || fail "exit status $?"
run 0 "$sonde" check "$scratch/deaf/host0/trace.dat"

# Files go back to who called sudo.
run 0 env SUDO_UID=65534 SUDO_GID=65534 "$sonde" record -q -o "$scratch/given" -- true
[ "$(find "$scratch/given" ! -uid 65534 | wc -l)" = 0 ] || fail "not given away: $(ls -lR "$scratch/given")"
