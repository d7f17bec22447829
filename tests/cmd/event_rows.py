#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 600
"""Every row of events/kinds.def counts, from recorded bytes to the history.

For each kind that has a handler, a run is analysed as it is, and again with that kind's names made
unreadable in its files.  What is told must differ: a row that nobody reads, wants or handles leaves
all as it was.
"""

import re
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402

FOLDERS = ["boot", "ftrace", "lttng", "marks"]
ARCHIVES = ["lab-run-containers-6.1", "lab-run-net-vhost-6.1"]
FRAME = bytes.fromhex("28b52ffd")  # of zstd
SKIPPED = 0x184d2a50
# No sample in the repository has them, or none in which they alone tell something.  These unit tests fail
# without their handlers, and test_dialect holds that tracers' names lead to them.
IN_UNIT_TESTS = {
    "model_throttle": ["CPU_THROTTLE", "CPU_UNTHROTTLE", "CGROUP_MKDIR", "CGROUP_ATTACH"],
    "model_cpu": ["CPUHP_ENTER", "CPUHP_EXIT", "FREE", "STATEDUMP_PID_NS", "NEW_TASK"],
    "model_calls": ["KVM_NESTED_HYPERCALL"],
    "model_wake": ["KVM_MSI_SET_IRQ", "KVM_SET_IRQ", "KVM_APIC_IPI"],
    "model_request": ["KVM_MMIO", "KVM_PIO", "KVM_INJ_VIRQ"],
    "model_vcpu": ["KVM_MMU_GET_PAGE", "KVM_HALT_POLL", "KVM_NESTED_ERET", "KVM_NESTED_EXCEPTION"],
}
# Beside states: what tables say that no state does.
TABLES = ["mark", "boot", "wait_list", "thread"]


def kinds():
    """{kind: names in traces} of the rows with a handler."""
    text = (lib.ROOT / "events/kinds.def").read_text()
    found = {}
    for row in re.split(r"\n(?=EVENT\()", text)[1:]:
        kind, handler = re.match(r'EVENT\((\w+), "\w+", (\w+),', row).groups()
        reads = row[row.index("READS("):row.index("\tRECORDS(")]
        names = re.findall(r'(?<!KVM_)(?<!VECTOR_)READ\(\w+, "([^"]+)"', reads)
        names += [f"{p}{n}" for n in re.findall(r'KVM_READ\("([^"]+)"', reads) for p in ("kvm_", "kvm_x86_")]
        names += [f"{p}{n}" for n in re.findall(r'VECTOR_READ\("([^"]+)"', reads)
                  for p in ("", "x86_irq_vectors_")]
        if handler != "nothing" and names:
            found[kind] = names
    return found


def zstd(data, *options):
    return subprocess.run(["zstd", "-c", "-q", *options], input=data, capture_output=True, check=True).stdout


def formats_of(data):
    """(begin, end, text) of the part of a file that has the names; a packed one is one chunk."""
    at = -1
    while (at := data.find(FRAME, at + 1)) > 0:
        packed, plain = struct.unpack_from("<II", data, at - 8)
        text = zstd(data[at:at + packed], "-d") if packed < len(data) - at < plain * 999 else b""
        if b"name: sched_switch" in text:
            return at - 8, at + packed, text
    return 0, len(data), data


def hide_in_file(data, names):
    begin, end, text = formats_of(data)
    hidden = hide(text, names)
    if hidden == text or not begin:
        return data[:begin] + (data[begin:end] if hidden == text else hidden) + data[end:]
    packed = zstd(hidden, "--ultra", "-22")
    room = end - begin - 8 - len(packed) - 8  # the rest is a frame that is to be skipped
    assert room >= 0, "the names do not fit any more"
    frame = packed + struct.pack("<II", SKIPPED, room) + bytes(room)
    return data[:begin] + struct.pack("<II", len(frame), len(hidden)) + frame + data[end:]


def hide(data, names):
    """The same bytes, in which no event has one of these names."""
    for name in names:
        stem = name.rstrip("*").encode()
        for before in (rb"name: ", rb'name = "'):
            data = re.sub(before + re.escape(stem) + (rb"(?=[\n\"])" if not name.endswith("*") else b""),
                          before + b"~" + stem[1:], data)
    return data


def files_with_names(folder):
    for path in sorted(folder.rglob("*")):
        if path.is_file() and (path.name == "metadata" or path.suffix in (".dat", ".data")):
            yield path


def sonde(*args):
    return subprocess.run([lib.SONDE, *args], capture_output=True, text=True)


def told(folder, scratch):
    """All that a history says, provenance aside; None when there is none."""
    out = scratch / "told.sonde"
    out.unlink(missing_ok=True)
    if sonde("analyze", folder, "-o", out).returncode not in (0, 3):
        return None
    queries = ["select path, kind, begin, end, text from states", *(f"select * from {t}" for t in TABLES)]
    return [sonde("sql", out, q, "--format", "csv").stdout for q in queries]


def changes(folder, whole, data, names, scratch):
    """Whether without events of these @names something else is told."""
    altered = {path: hide_in_file(bytes, names) for path, bytes in data.items()}
    if altered == data:
        return False
    for path, bytes in altered.items():
        path.write_bytes(bytes)
    differs = told(folder, scratch) != whole
    for path, bytes in data.items():
        path.write_bytes(bytes)
    return differs


def main():
    lib.need("zstd")
    wanted = kinds()
    left = dict(wanted)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        for name in FOLDERS + ARCHIVES:
            folder = scratch / "run"
            shutil.copytree(lib.unpacked(lib.SAMPLES / f"{name}.tar.xz") if name in ARCHIVES else lib.ROOT / "samples" / name, folder)
            whole = told(folder, scratch)
            lib.check(whole and whole == told(folder, scratch), f"{name}: cannot be compared")
            data = {p: p.read_bytes() for p in files_with_names(folder)}
            found = [k for k in left if changes(folder, whole, data, left[k], scratch)]
            for kind in found:
                del left[kind]
            print(f"{name}: {' '.join(found) or 'none more'}")
            shutil.rmtree(folder)
    elsewhere = {kind for kinds_ in IN_UNIT_TESTS.values() for kind in kinds_}
    print(f"{len(wanted) - len(left)} of {len(wanted)} kinds change what is told, {len(elsewhere)} are left to unit tests")
    lib.check(set(left) == elsewhere, f"of no effect, or of one by now: {sorted(set(left) ^ elsewhere)}")


if __name__ == "__main__":
    main()
