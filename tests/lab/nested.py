#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What lab/nested makes of traces: exits are counted from hypercall to hypercall in one thread, and calls that were
seen by the wrong one, or by nobody, are found."""
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent), str(Path(__file__).resolve().parents[2])]
import lib  # noqa: E402
from lab.kernels import guest, source  # noqa: E402
from lab.lib import nested_calls, scenario  # noqa: E402

NR = 0x534d_0000_0000_1234
# As ftrace shows it: two hypercalls of L2, the second one taken by L0; another vCPU's exits do not count.
TRACE = """\
# tracer: nop
     CPU 0/KVM-170     [001] d....  100: kvm_exit: vcpu 0 reason hypercall rip 0x401 info1 0x0000000000000000
     CPU 0/KVM-170     [001] d....  101: kvm_nested_vmexit: vcpu 0 reason hypercall rip 0x401 info1 0x0000000000000000
     CPU 0/KVM-170     [001] d....  102: kvm_nested_vmexit_inject: reason: hypercall info1: 0x0 info2: 0x0 intr_info: 0x0
     CPU 0/KVM-170     [001] d....  103: kvm_exit: vcpu 0 reason vmload rip 0xffffffffc0a1 info1 0x0000000000000000
     CPU 0/KVM-175     [000] d....  104: kvm_exit: vcpu 0 reason hlt rip 0xffffffffc0a1 info1 0x0000000000000000
     CPU 0/KVM-170     [001] d....  105: kvm_exit: vcpu 0 reason vmrun rip 0xffffffffc0a1 info1 0x0000000000000000
     CPU 0/KVM-170     [001] .....  106: kvm_nested_vmenter: rip: 0x00000000c0a1 vmcb: 0x0000000004e5a000 nested_rip: 0x1
     CPU 0/KVM-170     [001] d....  107: kvm_exit: vcpu 0 reason hypercall rip 0x401 info1 0x0000000000000000
     CPU 0/KVM-170     [001] d....  108: kvm_nested_vmexit: vcpu 0 reason hypercall rip 0x401 info1 0x0000000000000000
     CPU 0/KVM-170     [001] .....  109: kvm_nested_hypercall: vcpu 0 rip 0x401 vmcb 0x4e5a000 nested_cr3 0x1000 nr \
0x534d000000001234 a0 0x1 a1 0x1 a2 0x2 a3 0x3
"""


def check_counts(directory):
    file = Path(directory) / "trace"
    file.write_text(TRACE)
    lib.check(nested_calls.exits_per_call(file) == [3], "three exits from one hypercall to the next")
    lib.check(nested_calls.seen(file, "kvm_nested_hypercall", NR) == 1, "one of them is L0's")
    lib.check(nested_calls.seen(file, "kvm_nested_hypercall", 0x1234) == 0, "a number is compared as a whole")
    lib.check(nested_calls.handed_to_l1(file) == 1, "one of them is L1's")
    lib.check(nested_calls.named(file, "kvm_nested_hypercall") == nested_calls.named(file, "kvm_nested_vmenter"),
              "the hypercall names the guest that L1 entered")


def check_faults():
    good = {"phase": "enabled by L1", "kind": "trace", "calls": 5, "l0_nested_hypercall": 5, "l1_hypercall": 0,
            "handed_to_l1": 0, "l0_hypercall": 0, "named": ["0x1000"], "entered": ["0x1000", "0x2000"]}
    lib.check(not list(nested_calls.faults(good)), "nothing is wrong with what is right")
    for key, value in (("l0_nested_hypercall", 4), ("l1_hypercall", 1), ("handed_to_l1", 5), ("l0_hypercall", 5),
                       ("named", ["0x3000"]), ("named", []), ("kind", "other")):
        lib.check(list(nested_calls.faults({**good, key: value})), f"{key} {value} is found out")


def check_series():
    for line in scenario.KERNELS:
        for series in ("nested", "early"):
            names = [path.name for path in source.patches(line, series)]
            numbers = [int(name[:4]) for name in names]
            lib.check(numbers == list(range(1, len(names) + 1)), f"{line}, {series}: no patch is missing: {names}")
        cover = (source.PATCHES / line / "nested/0000-cover-letter.patch").read_text()
        lib.check("***" not in cover, f"{line}: the cover letter is written")
    for name in scenario.OWN_KERNELS:
        lib.check(name.partition("-")[2] in guest.VARIANTS, f"{name} is a kernel that can be built")


with tempfile.TemporaryDirectory() as place:
    check_counts(place)
check_faults()
check_series()
