#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# time-limit: 600
# sonde top on a terminal: through a run, and live where we may.
. "$(dirname "$0")/../lib.sh"
. tests/cmd/common.sh
. tests/term/common.sh
make_history

# ---- through a run
terminal 80 24 "$sonde top $history -d 500ms"
sees "run.sonde  from 59.599906000 (+0) for 500.0 ms"
screen_has "STOLEN BY" || fail "no VMs"
screen_has "HYPERV NESTIN HOST I  STEAL" || fail "titles run into each other"
keys Right
sees "(+250.0 ms) for 500.0 ms"
keys S-Right
sees "(+750.0 ms)"
keys End
sees "(+999.9 ms)"
keys Home
sees "(+0)"
keys +
sees "(+125.0 ms) for 250.0 ms"
keys 0
sees "(+0) for 1.500 s"
keys Down Down Down Down
sees " vm-a/1:  blocked on 8.3% timer"
keys t
sees_no_longer "STOLEN BY"
keys o
sees "DELAYED BY"
keys t
sees "STOLEN BY"
keys '?'
sees "sonde top: keys"
screen_has "something else ran; BY says what" || fail "the help is cut at 80 columns"
keys x
sees "run.sonde  from"
keys - Home + + + Space
sees_no_longer "(+0)"
on_terminal resize-window -t t -x 30 -y 6
on_terminal resize-window -t t -x 150 -y 50
sees "DELAYED BY"
keys q
ends 0
terminal 80 24 "TERM=vt100 $sonde top $history"
sees "host0/0"
keys C-c
ends 0

# ---- live
[ "$(id -u)" = 0 ] || skip "the live part needs root"
"$sonde" record --check >/dev/null 2>&1 || skip "this machine cannot record: sonde record --check tells why"
terminal 80 24 "$sonde top -d 200ms"
sees "watched"
screen_has "host0/0" || fail "no CPUs"
sees "of a CPU"
keys Space
sleep 1
keys Down
sees " host0/"
keys Space
keys C-c
ends 0
