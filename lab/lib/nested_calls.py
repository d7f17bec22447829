# SPDX-License-Identifier: Apache-2.0
"""What an ftrace of L0, or of L1, tells about the hypercalls of a nested guest; for lab/nested."""
import re

LINE = re.compile(r"^\s*(.+)-(\d+)\s+\[\d+\].*?: (kvm_\w+): (.*)$")
HYPERCALL = re.compile(r"reason:? (VMCALL|hypercall) ")     # Intel's, AMD's


def events(file):
    """(thread, event, text) of each line of KVM's."""
    for line in file.read_text(errors="replace").splitlines():
        match = LINE.match(line)
        if match:
            yield match[2], match[3], match[4]


def exits_per_call(file):
    """From each exit with a hypercall of L2 to the next, in the thread that runs it: how many exits L0 had."""
    count, last, found = {}, {}, []
    for thread, event, text in events(file):
        if event == "kvm_exit":
            count[thread] = count.get(thread, 0) + 1
        elif event == "kvm_nested_vmexit" and HYPERCALL.search(text):
            if thread in last:
                found.append(count[thread] - last[thread])
            last[thread] = count[thread]
    return found


def seen(file, event, nr):
    """How many of these events show a hypercall with that number."""
    wanted = f"nr 0x{nr:x} "
    return sum(1 for _, name, text in events(file) if name == event and wanted in text)


def handed_to_l1(file):
    """How many exits with a hypercall L0 reflected."""
    return sum(1 for _, name, text in events(file)
               if name == "kvm_nested_vmexit_inject" and HYPERCALL.search(text))


def named(file, event):
    """The nested guests that these events name: where L1 has the VMCBs or VMCSs that they run with."""
    return sorted({f"0x{int(match[1], 16):x}" for _, name, text in events(file) if name == event
                   for match in re.finditer(r"vmc[bs]:? 0x([0-9a-f]+)", text)})


def faults(row):
    """What is not as it is to be: every call is seen, by the one whom it is for, and by nobody else."""
    calls = row["calls"]
    taken = row["phase"] == "enabled by L1" and row["kind"] == "trace"
    expected = {"l0_nested_hypercall": calls if taken else 0, "l1_hypercall": 0 if taken else calls,
                "handed_to_l1": 0 if taken else calls, "l0_hypercall": 0}
    for key, value in expected.items():
        if row[key] != value:
            yield f"{row['phase']}, {row['kind']}: {key} is {row[key]}, not {value}"
    if taken and len(row["named"]) != 1:
        yield f"{row['phase']}: the calls name {len(row['named'])} nested guests, not one"
    if taken and row["entered"] and not set(row["named"]) <= set(row["entered"]):
        yield f"{row['phase']}: {row['named']} is not a nested guest that L1 entered: {row['entered']}"
