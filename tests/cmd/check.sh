#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sonde check: sound, damaged, cut, unreadable; and that damage never becomes a wrong answer.
. "$(dirname "$0")/../lib.sh"
. tests/cmd/common.sh
make_history

run 0 "$sonde" check "$history" samples/ftrace
says out "$history: sound: history"
says out "samples/ftrace: sound: 4 traces"
run 0 "$sonde" check "$history" --format json
json 'j[0]["sound"] and j[0]["findings"] == [] and j[0]["items"] > 10000'
run 0 "$sonde" check samples/lttng # its kvm_entry has a pointer for a vcpu_id: no fault
says out "samples/lttng: note: "
says out "vcpu_id"
says out "samples/lttng: sound: 4 traces"
run 0 "$sonde" check samples/lttng --format json
json 'j[0]["sound"] and not j[0]["findings"] and any("vcpu_id" in n for n in j[0]["notes"])'

# A byte flipped anywhere: found, or in padding and without effect, but never another answer.
truth=$("$sonde" report "$history" -t process_time --format json | sha256sum)
size=$(stat -c %s "$history")
found=0
for i in $(seq 1 40); do
	cp "$history" "$scratch/bad.sonde"
	python3 - "$scratch/bad.sonde" $((size * i / 41)) <<'END'
import sys
with open(sys.argv[1], "r+b") as f:
    f.seek(int(sys.argv[2]))
    byte = f.read(1)[0]
    f.seek(int(sys.argv[2]))
    f.write(bytes([byte ^ 0x55]))
END
	status=0
	"$sonde" check -q "$scratch/bad.sonde" >"$scratch/out" 2>"$scratch/err" || status=$?
	case $status in
	1 | 3) found=$((found + 1)) ;;
	0) ;;
	*) fail "exit status $status at byte $((size * i / 41))" ;;
	esac
	if answer=$("$sonde" report -q "$scratch/bad.sonde" -t process_time --format json 2>/dev/null); then
		[ "$(printf '%s\n' "$answer" | sha256sum)" = "$truth" ] || [ $status != 0 ] ||
			fail "a wrong answer from a file that check calls sound, byte $((size * i / 41))"
	fi
done
[ $found -ge 35 ] || fail "only $found of 40 flipped bytes were found"

# Damage is told by place, once; and what it means is told by others.
python3 - "$history" "$scratch/bad.sonde" <<'END'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[2000:2008] = b"damaged!"
open(sys.argv[2], "wb").write(data)
END
run 3 "$sonde" check "$scratch/bad.sonde"
says out "damaged at offset 64: the checksum of"
says out "tracks cannot be read whole because of it"
[ "$(wc -l <"$scratch/out")" -le 8 ] || fail "one damage, many lines"
run 1 "$sonde" report "$scratch/bad.sonde"
says err "which is all of its time"
says err "analyse the traces again"

# Cut short: recognised.
head -c $((size / 2)) "$history" >"$scratch/cut.sonde"
status=0
"$sonde" check "$scratch/cut.sonde" >"$scratch/out" 2>"$scratch/err" || status=$?
[ $status = 1 ] || [ $status = 3 ] || fail "a file cut in half: exit status $status"

# A trace cut short.
head -c 200000 samples/ftrace/host0.dat >"$scratch/cut.dat"
status=0
"$sonde" check "$scratch/cut.dat" >"$scratch/out" 2>"$scratch/err" || status=$?
[ $status = 1 ] || [ $status = 3 ] || fail "a trace cut short: exit status $status"

# What it names are no numbers of the format's, and no offsets that no file has.
python3 - samples/ftrace/vm-a.dat "$scratch/astray.dat" <<'END'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
at = data.index(b"\0", data.index(b"zstd\0") + 5) + 1
data[at:at + 8] = bytes.fromhex("aaaaaaaa0000ffff")
open(sys.argv[2], "wb").write(data)
END
run 3 "$sonde" check "$scratch/astray.dat"
says out "astray.dat ends before its section of options begins: it is cut off, or damaged"

# What claims to be a terabyte of metadata is too large, not more than there is memory for.
cp -r samples/lttng/vm-b "$scratch/vast"
chmod -R u+w "$scratch/vast"
truncate -s 1T "$scratch/vast/metadata"
(ulimit -v 2000000; run 1 "$sonde" check "$scratch/vast"; says err "vast/metadata: it is larger than 67108864 bytes") || exit 1

# A file that ends inside a packet ends with the last event that is there, not where the packet's
# header says: as the history has it.
cp -r samples/lttng/host0 "$scratch/short"
chmod -R u+w "$scratch/short"
truncate -s 845414 "$scratch/short/ch0_0"
run 3 "$sonde" check "$scratch/short"
says out "the stream of CPU 0 ends before the trace does, by 728.1 ms"
run 0 "$sonde" analyze "$scratch/short" -o "$scratch/short.sonde"
run 0 "$sonde" report "$scratch/short.sonde" -t gap
says out "60.370571767  728.1 ms"
not_says out "538.7 ms"

# The same of a cycle counter, whose rate only the analysis measures: check says cycles,
# and what share of the trace they are.
head -c 240000 samples/ftrace/host0.dat >"$scratch/cycles.dat"
run 3 "$sonde" check "$scratch/cycles.dat"
cycles=$(sed -n 's/.*the stream of CPU 1 ends before the trace does, by \([0-9]*\) cycles, [0-9.]*% of it: .*/\1/p' "$scratch/out")
run 0 "$sonde" analyze "$scratch/cycles.dat" -o "$scratch/cycles.sonde"
run 0 "$sonde" sql --format csv "$scratch/cycles.sonde" \
	"select iif(abs(length * 2.3 / $cycles - 1) < 0.001, 'agrees', 'differs') from gap where cpu = 1"
says out "agrees"

# What looks like a trace but is none is said, by analyze before it gives up for want of it.
mkdir "$scratch/t"
cp samples/ftrace/vm-a.dat samples/ftrace/vm-b.dat "$scratch/t"
: >"$scratch/t/host0.dat"
run 3 "$sonde" check "$scratch/t"
says out "$scratch/t/host0.dat is empty; it is left out"
run 3 "$sonde" analyze "$scratch/t" -o "$scratch/t.sonde"
says err "host0.dat is empty; it is left out"
echo "something else" >"$scratch/t/host0.dat"
run 3 "$sonde" check "$scratch/t"
says out "host0.dat does not begin like a trace.dat file"
# Nor does a stray file make of a folder a trace that hides those in it.
cp -r samples/ftrace "$scratch/stray"
chmod -R u+w "$scratch/stray"
for stray in "" "recorded on Monday"; do
	printf '%s' "$stray" >"$scratch/stray/metadata"
	run 3 "$sonde" check "$scratch/stray"
	says out "cannot read the metadata $scratch/stray/metadata: "
	says out "$scratch/stray/vm-b.dat: of 23461 events"
	run 3 "$sonde" analyze "$scratch/stray" -o "$scratch/stray.sonde"
	says err "cannot read the metadata"
	run 0 "$sonde" tree "$scratch/stray.sonde"
	says out "vm-a-n"
done
cp -r samples/lttng "$scratch/l"
chmod -R u+w "$scratch/l"
rm "$scratch/l/host0/metadata"
run 3 "$sonde" check "$scratch/l"
says out "$scratch/l/host0 has CTF streams"
run 3 "$sonde" analyze "$scratch/l" -o "$scratch/l.sonde"
says err "$scratch/l/host0 has CTF streams"
# A stream that is missing or cut is said when the rest is analysed.
cp samples/lttng/host0/metadata "$scratch/l/host0"
rm "$scratch"/l/host0/*_0
run 0 "$sonde" analyze "$scratch/l" -o "$scratch/l.sonde"
says err "is missing: nothing is known of that CPU"

run 1 "$sonde" check "$scratch/nothing"
says err "$scratch/nothing"
: >"$scratch/empty.sonde"
run 1 "$sonde" check "$scratch/empty.sonde"
says err "empty.sonde"
run 2 "$sonde" check
says err "which trace or history?"

# Nothing could be read: 1 as of analyze, whatever it is that is not there; and each reason once.
mkdir "$scratch/void" "$scratch/void/some"
head -c 5000 /dev/zero >"$scratch/void/zero.dat"
head -c 300 samples/ftrace/vm-a.dat >"$scratch/void/head.dat"
cp "$scratch/void/zero.dat" "$scratch/void/head.dat" "$scratch/void/some"
mkdir "$scratch/void/ctf"
head -c 200 samples/lttng/host0/metadata >"$scratch/void/ctf/metadata"
for path in zero.dat head.dat ctf some .; do
	for command in check "analyze -o $scratch/none.sonde"; do
		run 1 "$sonde" $command "$scratch/void/$path"
		twice=$(cat "$scratch/out" "$scratch/err" | grep -Eo "[a-z./]+\.dat (does not begin|has no event format)" | sort | uniq -d || true)
		[ -z "$twice" ] || fail "$path: said twice: $(cat "$scratch/out" "$scratch/err")"
		[ -s "$scratch/err" ] || fail "$path: no reason"
	done
done
run 1 "$sonde" check "$scratch/void/zero.dat"
[ ! -s "$scratch/out" ] || fail "a reason and a finding"
says err "sonde check: $scratch/void/zero.dat does not begin like a trace.dat file"
run 1 "$sonde" analyze "$scratch/void/zero.dat" "$scratch/void/head.dat" -o "$scratch/none.sonde"
# Something could be read, but not all: 3.
run 3 "$sonde" check "$scratch/void/zero.dat" "$history"
cp samples/ftrace/vm-a.dat "$scratch/void/some"
run 3 "$sonde" check "$scratch/void/some"
says out "zero.dat does not begin like"
says out "head.dat has no event format"
run 3 "$sonde" analyze "$scratch/void/some" -o "$scratch/none.sonde"
says err "zero.dat does not begin like"
says err "head.dat has no event format"

# A stream of no CPU is of no use to analyze: not sound.
cp -r samples/lttng/host0 "$scratch/nameless"
rm -r "$scratch/nameless/index"
sed -i 's/cpu_id/cpu_ix/' "$scratch/nameless/metadata"
mv "$scratch/nameless/ch0_0" "$scratch/nameless/first"
mv "$scratch/nameless/ch0_1" "$scratch/nameless/other"
run 3 "$sonde" check "$scratch/nameless"
says out "nameless/first: its CPU is not known"
