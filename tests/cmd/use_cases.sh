#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The examples of docs/use-cases.md still find what they show, and print what is printed there.
. "$(dirname "$0")/../lib.sh"
. tests/cmd/common.sh
make_history
SONDE=$(realpath "$sonde")
export SONDE
mkdir "$scratch/here"

# What a run's example prints is in the document, each command with its answer.
same_as_printed() {
	local question=$1 history=$2

	cp "$history" "$scratch/here/run.sonde"
	(cd "$scratch/here" && COLUMNS=110 "$OLDPWD/docs/examples/use_cases.py" run.sonde "$question") >"$scratch/printed" ||
		fail "$question ends with $?"
	python3 - "$scratch/printed" docs/use-cases.md <<'END' || fail "docs/use-cases.md: $question"
import sys
strip = lambda text: [line.rstrip() for line in text.splitlines()]
printed, document = (strip(open(path).read()) for path in sys.argv[1:])
at = [i for i, line in enumerate(printed) if line.startswith("$ ")]
assert at
for begin, end in zip(at, at[1:] + [len(printed)]):
    answer = "\n".join(line for line in printed[begin:end] if not line.startswith("# ")).rstrip("\n")
    assert f"\n{answer}\n" in "\n".join(document), answer
END
}

same_as_printed container "$history"
for question in boot request; do
	[ $question = boot ] && sample=samples/boot || sample=samples/marks
	"$sonde" analyze -q $sample -o "$scratch/$question.sonde"
	same_as_printed $question "$scratch/$question.sonde"
done
run 1 docs/examples/use_cases.py "$history" request
says err "there are no two marks"
run 1 docs/examples/use_cases.py "$history" nonsense
says err "no such question"

run 0 docs/examples/use_cases.py "$history" container
says out "in container c1-nap:[4026532268] of vm-a had a run-queue delay of"
says out "vm-a vCPU 1 was runnable, CPU 1 ran vm-b vCPU 0 (b-burn[162])"
# Who reads no further than the first line hears of no error.
{ docs/examples/use_cases.py "$history" container 2>"$scratch/err" || true; } | head -1 >/dev/null
[ ! -s "$scratch/err" ] || fail "into head: $(cat "$scratch/err")"
multi=$(shared_set lab-multi-ftrace-tsc) || { echo "$multi"; exit 77; }
"$sonde" analyze -q "$multi"/L*/trace.dat -o "$scratch/multi.sonde"
run 0 docs/examples/use_cases.py "$scratch/multi.sonde" wakeup
says out "vm-a-n      2  timer"
same_as_printed wakeup "$scratch/multi.sonde"
boot=$(shared_set lab-boot-ftrace) || { echo "$boot"; exit 77; }
"$sonde" analyze -q "$boot"/L0/trace.dat "$boot"/L1/trace.dat -o "$scratch/full.sonde"
run 0 docs/examples/use_cases.py "$scratch/full.sonde" interrupt
for step in "qemu-system-x86[138]" "CPU 0/KVM[152]=vm-boot/0  hypervisor" "irq 25 (virtio0-req.0)" "vm-boot sh[1]"; do
	says out "$step"
done
for leg in submit wake vmm disk inject deliver finish; do
	grep -Eq "^ +[0-9]+ .* $leg  " "$scratch/out" || fail "the request has no leg $leg"
done
same_as_printed interrupt "$scratch/full.sonde"
# From the outside in: VMM, then vCPU, then the guest's process.
python3 - "$scratch/out" <<'END' || fail "steps are not in that order"
import sys
steps = open(sys.argv[1]).read().split("Step by step")[1]
at = [steps.index(w) for w in ("syscall write", "HLT for vm-boot", "irq 25", "vm-boot sh[1]")]
assert at == sorted(at), at
END
