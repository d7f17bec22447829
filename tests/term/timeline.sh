#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# time-limit: 600
# sonde timeline on a terminal: keys, filter, search, sizes, ways to leave.
. "$(dirname "$0")/../lib.sh"
. tests/cmd/common.sh
. tests/term/common.sh
make_history
timeline="$sonde timeline $history"

# ---- what there is at first
terminal 80 24 "$timeline"
sees "CPUs of host0 what really ran"
sees "59.599906000, 1.500 s"
sees "? help"
screen_has "host0 host" || fail "no machine"
screen_has "lines 1-14 of 37" || fail "lines"
screen_has "q leave" || fail "how to leave is cut off"
# The moment under the cursor is what sonde state says of it.
at=$(screen | sed -n 's/^ at \([0-9.]*\).*/\1/p')
run 0 "$sonde" state "$history" --at "$at" --cpu 0 --format json
mode=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["cpus"][0]["mode"])' "$scratch/out")
screen | grep -q "L0 host0/0 .*$mode" || fail "at $at: $(screen | sed -n 18,19p), not $mode"

# ---- zoom and pan, and back
keys w
sees ", 1.050 s"
keys + +
sees ", 514.5 ms"
from=$(screen | sed -n '1s/.*  \([0-9.]*\), .*/\1/p')
keys d
sees_no_longer "$from"
keys a
sees "$from, 514.5 ms"
keys u u u
sees "59.599906000, 1.500 s"
keys u
sees "there is nothing to undo"
keys c
sees "+0.000000000, 1.500 s"
keys c

# ---- the cursor, and steps from change to change
keys Home
sees " at 59.599906000"
keys .
sees_no_longer " at 59.599906000"
first=$(screen | sed -n 's/^ at \([0-9.]*\).*/\1/p')
keys .
sees_no_longer " at $first"
keys ,
sees " at $first"
"$sonde" state "$history" --at "$first" --cpu 0 --format json >"$scratch/out"
json 'j["cpus"][0]["begin"] == j["at"]'
keys Home ,
sees "nothing more until the start of the history"
keys Up .
sees "a group does not change"

# ---- groups
keys Down Down Down
sees "CPU 0  host0"
keys Enter
sees "▸ host0"
screen_lacks "vm-a VM" || fail "a closed machine shows what is in it"
keys Enter
sees "▾ vm-a VM"

# ---- search: a thread, whose group opens; nothing; a time
keys /
sees "find a thread"
keys h-burn Enter
sees "h-burn[519] on host0 is"
sees "process 519"
keys / nobody-of-this-name Enter
sees "nothing of that name is in this history"
keys / 60.083s Enter
sees " at 60.083000000"
keys / vm-b/0 Enter
sees " vm-b/0 is on a CPU"
# vm-b's vCPU is on a CPU then, with all that is around and in it.
sees "b-burn[162]"
keys /
keys -l "wl-ping:["
keys Enter Enter
sees "▾ wl-ping:[4026532324] container"

# ---- filter: at once, kept, taken back
keys 0 f
sees "highlight (machine:"
keys -l "machine:vm-b"
sees "filter: machine:vm-b"
sees "░"
keys Enter
sees "? help"
screen_has "filter: machine:vm-b" || fail "the filter is gone"
keys f BSpace a
sees "filter: machine:vm-a"
keys Escape
sees "filter: machine:vm-b"
sees "? help"
keys Escape
sees_no_longer "filter:"
sees_no_longer "░"
keys f C-u
keys -l "state:nothing-like-it"
keys Enter
sees "░"
keys Escape Escape
keys / b-burn Enter
sees "b-burn[162] on vm-b is"
keys x
sees "filter: thread=b-burn[162]"
keys x
sees_no_longer "filter:"

# ---- a range
keys [ d d ]
sees "range "
keys Escape
sees_no_longer "range "

# ---- exits: bars, and how many they stand for
keys Escape Escape 0 / vm-a/0 Enter
sees " vm-a/0 is"
screen | grep -q 'vCPU 0 exits .*[▁▂▃▄▅▆▇█]' || fail "no bars: $(screen)"
keys Down
sees " exits in "
keys .
sees "bars have no changes"
screen | grep -q "[0-9] exits in [0-9.]* ms; the highest bar is [1-9]" || fail "no count: $(screen)"

# ---- pins: on top whatever is shown below, once more: gone
keys p
sees "vm-a vCPU 0 exits"
keys PPage PPage PPage PPage
sees "CPUs of host0 what"
screen_has "vm-a vCPU 0 exits" || fail "a pinned line is scrolled away"
keys P
sees_no_longer "vm-a vCPU 0 exits"
keys p
sees "a group cannot be pinned"

# ---- bookmarks: kept with their notes, found again, removed
keys / 60.083s Enter
sees " at 60.083000000"
keys b
sees "bookmark, with a note:"
keys -l "here it waits"
keys Enter
sees "bookmark here it waits"
keys Home M
sees "⚑"
sees "no bookmark before the cursor"
keys m
sees " at 60.083000000   bookmark here it waits"
keys m
sees "no bookmark after the cursor"
keys b
sees "the bookmark is gone"
keys Home
sees_no_longer "⚑"
keys / 60.2s Enter b
sees "bookmark, with a note:"
keys Enter
keys / 60.1s Enter b
sees "bookmark, with a note:"
keys -l "the first of two"
keys Enter
keys / b-burn Enter

# ---- letters; help
keys T T
sees "letters: u user"
keys T
sees "the usual colours"
keys '?'
sees "sonde timeline: keys"
sees "zoom in at the cursor"
keys x
sees "b-burn[162] on vm-b"

# ---- sizes: smaller than anything is made for, and back
for size in "20 5" "1 1" "200 60" "80 24"; do
	set -- $size
	on_terminal resize-window -t t -x "$1" -y "$2"
	sleep 0.3
done
keys Home PPage PPage PPage PPage PPage PPage
sees "CPUs of host0"
sees "? help"

# ---- ways to leave; bookmarks are told
keys q
ends 0
[ "$(screen | grep -A2 '^Bookmarks$' | tr '\n' ';')" = "Bookmarks;60.100000000  the first of two;60.200000000;" ] ||
	fail "bookmarks when one leaves: $(screen)"
screen_lacks "CPUs of host0" || fail "the picture is left on the screen"
terminal 80 24 "$timeline"
sees "? help"
keys C-c
ends 0
terminal 80 24 "sh -c 'echo \$\$ >$scratch/pid; exec $timeline'"
sees "? help"
kill -TERM "$(cat "$scratch/pid")"
ends 0

# ---- colours: for all eyes from the begin; none; a terminal without any
terminal 80 24 "$timeline --palette safe"
sees "? help"
on_terminal capture-pane -p -e -t t | grep -q '8;5;36m' || fail "--palette safe"
terminal 80 24 "TERM=vt100 $timeline --filter state:user"
sees "filter: state:user"
screen | sed -n 4p | grep -q 'CPU 0 .*u' || fail "no letters: $(screen | sed -n 4p)"
screen | sed -n 4p | grep -q 'CPU 0 .*:' || fail "nothing is faded: $(screen | sed -n 4p)"
keys q
ends 0
terminal 80 24 "LC_ALL=C NO_COLOR=1 $timeline"
sees "- CPUs of host0"
keys q
ends 0

# ---- a thread that is not there yet: n leads to where it runs first; and from there to the next time.
terminal 80 24 "$timeline"
sees "? help"
keys /
keys -l "sleep[166]"
keys Enter
sees "sleep[166] on vm-b"
keys Home
sees "sleep[166] on vm-b is not there"
keys n
sees "sleep[166] on vm-b is running"
screen_lacks "nothing more" || fail "n finds nothing: $(screen)"

# ---- the ruler: a number that the cursor would break is left out, and comes again
keys Home
for ((i = 0; i < 24; i++)); do
	keys Right
	# The mark stands alone, or right before a number: never behind or within one.
	! screen | sed -n 2p | grep -q '[0-9.] *▼[0-9. ]*s' || fail "the cursor is in a number: $(screen | sed -n 2p)"
done
keys q
ends 0

# ---- a lab run: its outermost machine has said that it is a VM, in the tree and on the screen
tar -C "$scratch" -xf samples/lab/lab-run-shutdown-6.1.tar.xz
"$sonde" analyze -q "$scratch"/*/L0/run -o "$scratch/lab.sonde"
run 0 "$sonde" tree "$scratch/lab.sonde"
says out "outermost machine with a trace, itself a VM (tcg)"
terminal 80 24 "$sonde timeline $scratch/lab.sonde"
sees "host0 itself a VM (tcg)"
keys q
ends 0

# ---- not on a terminal, or not wanted: the picture
run 0 "$sonde" timeline "$history" --width 60
says out "host0: what really ran"
# The filter holds for it, too: what it does not match is not drawn.
run 0 "$sonde" timeline "$history" --width 60 --filter state:preempted
! grep -qE 'cpu [01] +[a-z.]' "$scratch/out" || fail "CPUs are drawn that are no preempted vCPU"
grep -qE 'vcpu [01] [ !]*![ !]*$' "$scratch/out" || fail "no preempted vCPU"
terminal 80 60 "$timeline --plain"
sees "host0: what really ran"
ends 0
terminal 80 24 "$sonde timeline $scratch/nothing.sonde"
sees "nothing.sonde"
ends 1
terminal 80 24 "TERM=no-such-terminal $timeline"
sees "this terminal (TERM=no-such-terminal) cannot be used"
ends 1
