# SPDX-License-Identifier: Apache-2.0
"""The marks of the workload `marks`, as the recorder of the host has them: each once, in order, and no exit of their
vCPU is missing.  Reads docs/formats/hypercalls.md by itself."""
import json
import re
import struct
import subprocess
from collections import Counter

MAGIC = b"SONDEHYC"
HEADER = struct.Struct("<8sII48x")
RECORD = struct.Struct("<HHIQQqIIIIIIQQ32sQ")
CALL, EXIT, ENTRY, CLOCK, LOST = range(1, 6)
MARK = 0x534d
EVENT = re.compile(r"\s(kvm_exit|kvm_entry|kvm_hypercall): ")


def made(directory):
    """How many marks each of the works made, as they say themselves."""
    counts = []
    for said in sorted(said for works in directory.glob("*/work") for said in works.iterdir()):
        for line in said.read_text(errors="replace").splitlines():
            if '"workload":"marks"' in line and '"at":"end"' in line:
                counts.append(json.loads(line)["marks"])
    return counts


def records(file):
    data = file.read_bytes()
    magic, version, size = HEADER.unpack_from(data)
    if magic != MAGIC or version != 1 or size < RECORD.size:
        raise ValueError(f"{file}: not a file of hypertrace calls, version 1")
    for at in range(HEADER.size, len(data) - size + 1, size):
        yield RECORD.unpack_from(data, at)


def event_counts(sonde, trace):
    """Of KVM's events in the trace: by name, and of kvm_hypercall those that are marks."""
    counts = Counter()
    with subprocess.Popen([sonde, "events", trace], stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            found = EVENT.search(line)
            counts[found.group(1) if found else "other"] += 1
    return counts


def check(sonde, directory):
    """(passed, text); None when there is no such work, or it was recorded in another way."""
    wanted = made(directory)
    host = directory / "L0/run/host0"
    if not wanted or not (host / "trace.dat").exists():
        return None
    if len(wanted) != 1:
        return False, f"{len(wanted)} works have made marks: one is checked"
    if not (host / "hypercalls").exists():
        return False, "the calls were not folded"
    found = list(records(host / "hypercalls"))
    kinds = Counter(record[0] for record in found)
    marks = [(record[13], record[14].rstrip(b"\0")) for record in found
             if record[0] == CALL and record[13] >> 48 == MARK]
    events = event_counts(sonde, host / "trace.dat")
    faults = []
    for number, (nr, text) in enumerate(marks):
        if nr & 0xffffffff != number or text != b"mark %d" % number:
            faults.append(f"mark {number} is {nr:#x} {text!r}")
            break
    if len(marks) != wanted[0]:
        faults.append(f"{wanted[0]} marks were made, {len(marks)} are there")
    if events["kvm_hypercall"] > 100:
        faults.append(f"{events['kvm_hypercall']} kvm_hypercall are in the trace")
    lost = sum(record[4] for record in found if record[0] == LOST)
    text = (f"{len(marks)} of {wanted[0]} marks in order, {lost} records lost, {dict(events)} in the trace, "
            f"{kinds[EXIT]} exits and {kinds[ENTRY]} entries beside it")
    # Recording began and ended at any moment: one exit or entry per vCPU may be alone.
    exits = events["kvm_exit"] + kinds[EXIT]
    entries = events["kvm_entry"] + kinds[ENTRY]
    if abs(exits - entries) > 8:
        faults.append(f"{exits} exits, but {entries} entries")
    return not faults, "\n".join([*faults, text])
