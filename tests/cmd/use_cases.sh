#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The examples of docs/use-cases.md still find what they show.
. "$(dirname "$0")/../lib.sh"
. tests/cmd/common.sh
make_history
export SONDE=$sonde

run 0 docs/examples/use_cases.py "$history" container
says out "in container c1-nap:[4026532268] of vm-a wanted to run but did not"
says out "vm-a vCPU 1 was ready, CPU 1 ran vm-b vCPU 0 (b-burn[162])"
# Who reads no further than the first line hears of no error.
{ docs/examples/use_cases.py "$history" container 2>"$scratch/err" || true; } | head -1 >/dev/null
[ ! -s "$scratch/err" ] || fail "into head: $(cat "$scratch/err")"
multi=$(shared_set lab-multi-ftrace-tsc) || { echo "$multi"; exit 77; }
"$sonde" analyze -q "$multi"/L*/trace.dat -o "$scratch/multi.sonde"
run 0 docs/examples/use_cases.py "$scratch/multi.sonde" wakeup
says out "vm-a-n      2  timer"
boot=$(shared_set lab-boot-ftrace) || { echo "$boot"; exit 77; }
"$sonde" analyze -q "$boot"/L0/trace.dat "$boot"/L1/trace.dat -o "$scratch/boot.sonde"
run 0 docs/examples/use_cases.py "$scratch/boot.sonde" interrupt
for step in "qemu-system-x86[138]" "CPU 0/KVM[152]=vm-boot/0  hypervisor" "irq 25 (virtio0-req.0)" "vm-boot sh[1]"; do
	says out "$step"
done
for leg in submit wake vmm disk inject deliver finish; do
	grep -Eq "^ +[0-9]+ .* $leg  " "$scratch/out" || fail "the request has no leg $leg"
done
# From the outside in: VMM, then vCPU, then the guest's process.
python3 - "$scratch/out" <<'END' || fail "steps are not in that order"
import sys
steps = open(sys.argv[1]).read().split("Step by step")[1]
at = [steps.index(w) for w in ("syscall write", "HLT for vm-boot", "irq 25", "vm-boot sh[1]")]
assert at == sorted(at), at
END
