#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sonde analyze: what it says, what it refuses, what it names its output.
. "$(dirname "$0")/../lib.sh"
. tests/cmd/common.sh
root=$PWD

run 0 "$sonde" analyze samples/lttng -o "$scratch/a.sonde"
says out "4 traced machines over 1.500 s"
says out "sonde info $scratch/a.sonde lists them"
says out "of events in"
run 0 "$sonde" analyze -q samples/lttng -o "$scratch/a.sonde" # a history may be overwritten
[ ! -s "$scratch/out" ] && [ ! -s "$scratch/err" ] || fail "-q is not quiet"
run 0 "$sonde" analyze samples/ftrace -o "$scratch/b.sonde" --format json
json 'j["machines"] == 4 and j["traces"] == 4 and j["events"] > 30000 and not j["interrupted"]'
json 'j["output_bytes"] == __import__("os").path.getsize(j["output"])'

# A guest of a vCPU that nothing names is not that vCPU.
run 0 "$sonde" state "$scratch/b.sonde" --at 76302590000ns --cpu 1
says out "hypervisor MSR for a nested guest, not known which"

# Names made from what is given.
cd "$scratch"
name() {
	local want=$1
	shift
	rm -f ./*.sonde
	run 0 "$root/$sonde" analyze "$@"
	[ -s "$want" ] || fail "no $want, but $(ls ./*.sonde)"
}
name lttng.sonde "$root/samples/lttng"
name lttng.sonde "$root/samples/lttng/"
name host0.sonde "$root/samples/ftrace/host0.dat"
name ftrace.sonde "$root/samples/ftrace/host0.dat" "$root/samples/ftrace/vm-a.dat"
cd "$root"

# Two copies of one trace: one of them is used, and said to be.
mkdir "$scratch/twice"
cp samples/ftrace/host0.dat "$scratch/twice/trace.dat"
cp samples/ftrace/host0.dat "$scratch/twice/trace-copy.dat"
run 0 "$sonde" analyze "$scratch/twice" -o "$scratch/t.sonde" --format json
says err "trace.dat and $scratch/twice/trace-copy.dat are the same trace; the first is used"
json 'j["traces"] == 1 and j["problems"] == 1'
run 0 "$sonde" info "$scratch/t.sonde"
says out "trace-copy.dat are the same trace; the first is used"
# Not only that something was wrong, but what.
run 0 "$sonde" analyze "$scratch/twice" -o "$scratch/t.sonde"
says out "first: $scratch/twice/trace.dat and $scratch/twice/trace-copy.dat are the same trace"
# What is no trace refuses nothing beside a trace; alone, or mistyped, it is an error.
mkdir "$scratch/none"
run 3 "$sonde" analyze samples/ftrace/host0.dat "$scratch/none" -o "$scratch/t.sonde"
says err "no trace under $scratch/none"
run 0 "$sonde" report "$scratch/t.sonde" -t left_out
says out "no trace under"
run 1 "$sonde" analyze "$scratch/none" "$scratch/none" -o "$scratch/none.sonde"
run 1 "$sonde" analyze samples/ftrace/host0.dat "$scratch/nowhere" -o "$scratch/none.sonde"
[ ! -e "$scratch/none.sonde" ] || fail "a history of nothing"
cp -r samples/lttng "$scratch/again"
run 0 "$sonde" analyze samples/lttng "$scratch/again" -o "$scratch/t.sonde" --format json
json 'j["traces"] == 4 and j["problems"] >= 4'

# Parts of one trace are no copies: together they are it.
mkdir "$scratch/parts"
cp -r samples/lttng/host0 "$scratch/parts/one"
cp -r samples/lttng/host0 "$scratch/parts/two"
rm "$scratch"/parts/one/{ch0_1,index/ch0_1.idx} "$scratch"/parts/two/{ch0_0,index/ch0_0.idx}
run 0 "$sonde" analyze samples/lttng/host0 -o "$scratch/p.sonde"
run 0 "$sonde" report "$scratch/p.sonde"
sed '/^Problems/,$d' "$scratch/out" >"$scratch/whole"
run 0 "$sonde" analyze "$scratch/parts" -o "$scratch/p.sonde" --format json
json 'j["traces"] == 1 and j["machines"] == 1'
run 0 "$sonde" report "$scratch/p.sonde"
sed -i '/^Problems/,$d' "$scratch/out"
cmp -s "$scratch/out" "$scratch/whole" || fail "$(diff "$scratch/out" "$scratch/whole")"
run 0 "$sonde" info "$scratch/p.sonde"
says out "are parts of one trace: used together"
cp -r "$scratch/parts/two" "$scratch/parts/three" # a copy of one part
run 0 "$sonde" analyze "$scratch/parts" -o "$scratch/p.sonde"
says err "are the same trace; the first is used"
cp -r samples/lttng/host0 "$scratch/parts/all" # in which they both are: a packet counts once
run 0 "$sonde" analyze "$scratch/parts" -o "$scratch/p.sonde"
run 0 "$sonde" report "$scratch/p.sonde"
sed -i '/^Problems/,$d' "$scratch/out"
cmp -s "$scratch/out" "$scratch/whole" || fail "$(diff "$scratch/out" "$scratch/whole")"

# One trace that cannot be opened does not stop the others, and is remembered.
printf 'this is not a trace' >"$scratch/twice/broken.dat"
printf '\027\010\104tracing7' >"$scratch/twice/cut.dat"
run 3 "$sonde" analyze "$scratch/twice" -o "$scratch/t.sonde"
says err "cut.dat"
says err "this trace is left out"
run 0 "$sonde" info "$scratch/t.sonde"
says out "this trace is left out"

# So for what only looks like a trace, and where a place is missing for want of what was damaged.
cp -r samples/ftrace "$scratch/void"
chmod -R u+w "$scratch/void"
: >"$scratch/void/vm-b.dat"
run 3 "$sonde" analyze "$scratch/void" --guest "web=$scratch/void/vm-a.dat" -o "$scratch/t.sonde"
says out "1 trace is left out"
run 0 "$sonde" report "$scratch/t.sonde" -t left_out
says out "vm-b.dat  is empty"
run 0 "$sonde" tree "$scratch/t.sonde"
grep -q "^unknown  *left out, $scratch/void/vm-b.dat: is empty" "$scratch/out" || fail "tree: $(cat "$scratch/out")"
cp -r samples/lttng "$scratch/torn"
chmod -R u+w "$scratch/torn"
head -c 20000 samples/lttng/vm-b/metadata >"$scratch/torn/vm-b/metadata"
run 3 "$sonde" analyze "$scratch/torn" -o "$scratch/t.sonde"
says err "torn/vm-b) is left out"
says err "torn/vm-b: metadata ends within its packet at offset 16384"

# A directory with another machine's metadata is no part of that one's trace.
cp -r samples/lttng "$scratch/mixed"
chmod -R u+w "$scratch/mixed"
cp "$scratch"/mixed/{vm-b,vm-a}/metadata
run 3 "$sonde" analyze "$scratch/mixed" -o "$scratch/t.sonde"
says out "3 traced machines"
says err "mixed/vm-a/ch0_0 and 1 more file are of another trace than their metadata"
run 0 "$sonde" info "$scratch/t.sonde"
says out "mixed/vm-a  has metadata, but no stream file that can be used"
! grep -q "are parts of one trace" "$scratch/out" || fail "vm-a was used"

# A stream that does not say which CPU it is of is left out, is said to be, and is not counted.
cp -r samples/lttng/host0 "$scratch/nameless"
rm -r "$scratch/nameless/index"
sed -i 's/cpu_id/cpu_ix/' "$scratch/nameless/metadata"
mv "$scratch/nameless/ch0_1" "$scratch/nameless/other"
run 0 "$sonde" analyze "$scratch/nameless" -o "$scratch/t.sonde" --format json
says err "nameless/other: its CPU is not known; $(stat -c %s "$scratch/nameless/other") bytes are left out"
cp "$scratch/out" "$scratch/with"
rm "$scratch/nameless/other"
run 0 "$sonde" analyze "$scratch/nameless" -o "$scratch/t.sonde" --format json
[ "$(grep '"events"' "$scratch/out")" = "$(grep '"events"' "$scratch/with")" ] ||
	fail "events of a stream that was left out are counted"
mv "$scratch/nameless/ch0_0" "$scratch/nameless/first"
run 1 "$sonde" analyze "$scratch/nameless" -o "$scratch/none.sonde"
says err "no stream of $scratch/nameless says which CPU it is of"

# What cannot be.
printf 'precious' >"$scratch/precious"
run 1 "$sonde" analyze samples/lttng -o "$scratch/precious"
says err "exists and is no history: it is not overwritten"
[ "$(cat "$scratch/precious")" = precious ] || fail "overwritten"
# A history that this version cannot read is a history all the same.
printf 'SONDEHIS of another version' >"$scratch/old.sonde"
run 0 "$sonde" analyze samples/lttng -o "$scratch/old.sonde"
run 1 "$sonde" analyze "$scratch/nowhere" -o "$scratch/x.sonde"
says err "cannot open $scratch/nowhere: No such file or directory"
run 1 "$sonde" analyze tests/cmd -o "$scratch/x.sonde"
says err "no trace under tests/cmd"
run 1 "$sonde" analyze README.md -o "$scratch/x.sonde"
says err "README.md is not a trace"
# What else it may be is named, with what can be done.
gzip -c samples/ftrace/vm-a.dat >"$scratch/packed.gz"
mkfifo "$scratch/pipe"
for what in "packed.gz is not a trace but packed with gzip" "pipe is a pipe, not a trace" "old.sonde is a history, not a trace"; do
	run 1 "$sonde" analyze "$scratch/${what%% *}" -o "$scratch/x.sonde"
	says err "$what"
	run 1 "$sonde" events "$scratch/${what%% *}"
	says err "$what"
done
# The memory of a guest that has not loaded its module.
truncate -s 16M "$scratch/empty-shm"
run 1 "$sonde" analyze "$scratch/empty-shm" -o "$scratch/none.sonde"
says err "no ring of the module sonde_guest is in it"
run 1 "$sonde" analyze samples/lttng -o "$scratch/no/such/dir.sonde"
says err "$scratch/no/such/dir.sonde"
run 2 "$sonde" analyze
says err "which traces?"
run 2 "$sonde" analyze --tsc-khz fast samples/lttng
says err '--tsc-khz: "fast" is not a number'
run 1 "$sonde" analyze samples/lttng --parent nobody=host0 -o "$scratch/x.sonde"
says err "--parent nobody=host0: no trace has that name"
run 1 "$sonde" analyze samples/lttng --parent vm-a=vm-tid9 -o "$scratch/x.sonde"
says err 'no trace is named "vm-tid9"'
says err "there are host0, vm-a-n, vm-b"
# What the events contradict, the user is told.
run 1 "$sonde" analyze samples/lttng --parent vm-b=vm-a -o "$scratch/x.sonde"
says err "--parent says that vm-b runs in vm-a, but at least"
says err "of its hypercalls are in the trace of host0, and none elsewhere"
run 1 "$sonde" analyze samples/lttng --parent vm-a=- -o "$scratch/x.sonde"
says err "--parent says that vm-a runs in no other, but at least"
# The user's two words, or word and events, cannot both be true.
run 1 "$sonde" analyze samples/lttng --parent host0=vm-a -o "$scratch/x.sonde"
says err "--parent says that host0 runs in vm-a, but that one runs inside it"
run 1 "$sonde" analyze samples/lttng --parent vm-a=vm-a -o "$scratch/x.sonde"
says err "--parent says that vm-a runs in itself"
for wrong in host0 -; do
	run 1 "$sonde" analyze samples/ftrace/host0.dat samples/ftrace/vm-a-n.dat --parent vm-a-n=$wrong -o "$scratch/x.sonde"
	says err "but it is active only while host0 runs a guest of a VM that has no trace"
done
# Where nothing speaks against it, and nothing bounds a clock, the answer says so.
run 0 "$sonde" analyze samples/lttng/vm-a samples/lttng/vm-b --parent vm-b=vm-a -o "$scratch/x.sonde"
run 0 "$sonde" why "$scratch/x.sonde"
says out "vm-b's clock is not tied to its host's: nothing bounds how wrong the times of its threads are."
run 0 "$sonde" report "$scratch/x.sonde"
says out "Nothing bounds the clock of vm-b, which runs in vm-a: given by the user; nothing in the traces bears it out"
says out "Guests may also have been traced outside that: nothing bounds the clock of vm-b."
not_says out "Guests were also traced"
# A stranger is not advised to be made a guest; and made one, it is told of.
cp -r samples/lttng/vm-b "$scratch/vm-b"
chmod -R u+w "$scratch/vm-b"
LC_ALL=C sed -i 's/offset = 17951734/offset = 17949142/' "$scratch/vm-b/metadata"
run 3 "$sonde" analyze samples/lttng/vm-a "$scratch/vm-b" -o "$scratch/x.sonde"
says err "by the wall clocks it was recorded about 2 days before that one. Analyse it apart"
not_says err "--parent"
run 0 "$sonde" analyze samples/lttng/vm-a "$scratch/vm-b" --parent vm-b=vm-a -o "$scratch/x.sonde"
run 0 "$sonde" report "$scratch/x.sonde" -t problem
says out "the clock of vm-b is placed by its first event only"
says out "By the wall clocks it was not recorded while its host was"
# A VM that is not known to have run is not known to have cost nothing.
run 0 "$sonde" analyze samples/ftrace/vm-b.dat samples/ftrace/vm-a.dat --parent vm-a=vm-b -o "$scratch/x.sonde"
run 0 "$sonde" report "$scratch/x.sonde" -t hypervisor --format json
json 'len(j["hypervisor"]) > 1 and all(r["guest"] == r["share"] == -1 and "not known: nothing bounds the clock of vm-a" == r["note"] for r in j["hypervisor"])'
# Of a hypervisor that has no trace the work looks like the VM's.
run 0 "$sonde" analyze samples/ftrace/vm-a.dat samples/ftrace/vm-a-n.dat -o "$scratch/x.sonde"
run 0 "$sonde" report "$scratch/x.sonde" -t hypervisor --format json
json 'j["hypervisor"][0]["share"] > 0 and j["hypervisor"][0]["note"] == "no bound: times hold what the host of vm-a ran, which has no trace"'
run 0 "$sonde" why "$scratch/x.sonde" --vm vm-a-n
not_says out "Hypervisors used at least"
says out "An untraced host ran meanwhile, too: these times hold that, and have no bound."
# A wrong command line is one before anything is read.
for wrong in "--parent vm-a" "--parent =host0" "--parent vm-a=" "--tsc-offset vm-a"; do
	# shellcheck disable=SC2086
	run 2 "$sonde" analyze samples/lttng $wrong -o "$scratch/x.sonde"
	says err "${wrong%% *}: \"${wrong#* }\" is not like "
	# shellcheck disable=SC2086
	run 2 "$sonde" events samples/lttng $wrong
done
run 2 "$sonde" analyze samples/lttng --tsc-offset vm-a=far -o "$scratch/x.sonde"
says err '--tsc-offset: "vm-a=far" is not like NAME=N'
run 2 "$sonde" analyze samples/lttng --guest vm-a -o "$scratch/x.sonde"
says err '--guest: "vm-a" is not like NAME=PATH'

# The user's word about names and parents is taken.
run 0 "$sonde" analyze samples/lttng --guest left=samples/lttng/vm-a --parent left=host0 \
	-o "$scratch/n.sonde"
run 0 "$sonde" tree "$scratch/n.sonde" --format json
json '{"left", "vm-b"} == {v["name"] for v in j["vms"]}'

# A run that fails, or is stopped before there is anything, leaves what stood there, and no rest.
sum=$(sha256sum <"$scratch/n.sonde")
(
	ulimit -f 64 # kB: as good as a full disk
	trap '' XFSZ
	run 1 "$sonde" analyze samples/lttng -o "$scratch/n.sonde"
	says err "File too large"
	run 1 "$sonde" analyze samples/lttng -o "$scratch/new.sonde"
) || exit 1
[ "$(sha256sum <"$scratch/n.sonde")" = "$sum" ] || fail "the old history is gone"
[ ! -e "$scratch/new.sonde" ] || fail "a part of a history is left"
! ls "$scratch"/*.part 2>/dev/null || fail "a .part file is left"
ln -s n.sonde "$scratch/link.sonde"
run 0 "$sonde" analyze -q samples/ftrace -o "$scratch/link.sonde"
[ -L "$scratch/link.sonde" ] || fail "the link was replaced"
[ "$(sha256sum <"$scratch/n.sonde")" != "$sum" ] || fail "the link was not followed"

# Links that lead around are followed once: three of them are more paths than anybody can walk.
mkdir "$scratch/around"
cp samples/marks/host0.dat "$scratch/around"
for link in a b c; do ln -s . "$scratch/around/$link"; done
run 0 timeout 20 "$sonde" analyze "$scratch/around" -o "$scratch/around.sonde"
says err "are the same trace; the first is used"

# A link may lead to a whole machine's files: it is not walked to its end, and that is said.
mkdir "$scratch/outside" "$scratch/inside"
(cd "$scratch/outside" && seq 12000 | xargs touch)
cp samples/marks/host0.dat "$scratch/inside"
ln -s ../outside "$scratch/inside/outside"
run 3 "$sonde" analyze "$scratch/inside" -o "$scratch/inside.sonde"
says err "inside/outside: links lead to more than 10000 files; name the folders"

# A pipe is no history, and nobody waits for who would write to it.
mkfifo "$scratch/pipe.sonde"
run 1 timeout 20 "$sonde" analyze samples/marks -o "$scratch/pipe.sonde"
says err "pipe.sonde exists and is no history"
mkdir "$scratch/piped"
mkfifo "$scratch/piped/run.json"
run 1 timeout 20 "$sonde" record --recover "$scratch/piped"
says err "is no recording: it has no run.json"

# A folder's name is somebody else's: a terminal is not told what to do by it.
named=$'folder\e[2J'
run 0 "$sonde" analyze samples/marks -o "$scratch/$named.sonde"
says out "folder?[2J.sonde: "
! grep -q $'\e' "$scratch/out" || fail "an escape sequence is printed"
