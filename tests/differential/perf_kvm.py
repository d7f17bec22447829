#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 240
"""The table of exits equals the one that `perf kvm stat report` makes of the same events.

perf_data writes the KVM events of a trace.dat, as libtracecmd reads them, into a perf.data; perf
itself computes its table.  Counts have to be the same; shortest, longest and mean to all the digits
that perf prints.  perf takes ticks for nanoseconds: a trace with a cycle counter is compared by
the one ratio that all its times have in common.

perf tells the maker's exit codes by names of its own and all VMs in one row: AMD's are below.

usage: perf_kvm.py [RUN...]: directories of lab runs (L0/run), each host and guest in it that has guests; without any, the shared sets.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402

TOOL = lib.BUILD / "differential/perf_data"
# From the kernel's arch/x86/include/uapi/asm/svm.h, SVM_EXIT_REASONS.
NAMES = {
    0x60: "interrupt", 0x61: "nmi", 0x64: "vintr", 0x65: "cr0_sel_write", 0x6e: "rdtsc",
    0x72: "cpuid", 0x73: "rsm", 0x77: "pause", 0x78: "hlt", 0x7b: "io", 0x7c: "msr",
    0x7f: "shutdown", 0x80: "vmrun", 0x81: "hypercall", 0x82: "vmload", 0x83: "vmsave",
    0x84: "stgi", 0x85: "clgi", 0x89: "wbinvd", 0x8d: "xsetbv", 0x400: "npf",
} | {base + n: f"{name}{n}" for base, name in
     ((0, "read_cr"), (0x10, "write_cr"), (0x20, "read_dr"), (0x30, "write_dr"))
     for n in range(16)} | {0x40 + n: f"excp_{n}" for n in range(32)}
NAMES |= {0x40 + 1: "DB excp", 0x40 + 6: "UD excp", 0x40 + 13: "GP excp", 0x40 + 14: "PF excp"}

ROW = re.compile(r"^\s*(\S.*?)\s+(\d+)\s+[\d.]+%\s+[\d.]+%\s+([\d.]+)us\s+([\d.]+)us\s+([\d.]+)us")
# Half a unit of the last digit perf prints, and what a TSC's rounding to ns adds.
ROUNDING_NS = 8


def perf_table(trace, scratch):
    """{name: (count, min, max, mean)} in perf's ns."""
    plain = scratch / "v6.dat"
    data = scratch / "perf.data"
    lib.run("trace-cmd", "convert", "-i", trace, "-o", plain, "--file-version", 6,
            "--compression", "none")
    lib.run(TOOL, plain, data)
    done = subprocess.run(["perf", "kvm", "-i", data, "stat", "report"], capture_output=True,
                          text=True, cwd=scratch)
    table = {}
    for line in (done.stdout + done.stderr).splitlines():
        found = ROW.match(line)
        if found:
            name, count, *times = found.groups()
            table[name] = (int(count), *(float(t) * 1000 for t in times))
    lib.check(table, f"perf kvm stat report says nothing of {trace}: {done.stderr[-500:]}")
    return table


def own_table(rows):
    """The same of our rows, and the names of codes that have none here."""
    table = {}
    for row in rows:
        name = NAMES.get(row["reason"], f"code {row['reason']}")
        count, least, most, total = table.get(name, (0, 1 << 62, 0, 0))
        table[name] = (count + row["count"], min(least, row["min"]), max(most, row["max"]),
                       total + row["total"])
    return {name: (n, least, most, total / n) for name, (n, least, most, total) in table.items()}


def unpaired(directory, machine):
    """How many exits of each name perf does not count: a thread is a vCPU's for it from its first entry on, and a recording
    may begin between an exit and an entry."""
    seen, found = set(), Counter()
    events = lib.run(lib.SONDE, "events", directory / "L0/run", "-m", machine, "-e", "kvm_exit", "-e", "kvm_entry", "--format", "json")
    for event in map(json.loads, events.splitlines()):
        if event["tid"] not in seen and event["name"] == "kvm_exit":
            found[NAMES[int(re.search(r"exit_reason=(\d+)", event["fields"])[1])]] += 1
        seen.add(event["tid"])
    return found


def compare(label, perf, own, early=Counter()):
    # By the longest: of that perf's digits say most.
    theirs, ours = (max(most for name, (_, _, most, _) in table.items() if not early[name]) for table in (perf, own))
    rate = theirs / ours
    lib.check(set(perf) == set(own), f"{label}: perf has {sorted(perf)}, Sonde {sorted(own)}")
    for name, theirs in sorted(perf.items()):
        ours = own[name]
        lib.check(theirs[0] == ours[0] - early[name],
                  f"{label}: {name}: perf counts {theirs[0]}, Sonde {ours[0]}, {early[name]} of them before the first entry")
        if early[name]:
            continue
        for what, a, b in zip(("min", "max", "mean"), theirs[1:], ours[1:]):
            # A guest's clock is a line of its own: up to 10 ppm beside the common ratio.
            lib.check(abs(a / rate - b) <= ROUNDING_NS + a / rate * 1e-5,
                      f"{label}: {name}: {what}: perf {a / rate:.0f} ns, Sonde {b} ns")
    print(f"{label}: {sum(n for n, *_ in own.values())} exits, {len(own)} reasons, "
          f"{rate:.4f} ticks per ns: equal")


def check_run(directory, scratch):
    gathered, run = directory / "L0/run", scratch / "run.sonde"
    lib.run(lib.SONDE, "analyze", "-q", "-o", run, gathered)
    rows = json.loads(lib.run(lib.SONDE, "report", run, "-t", "exits", "--time", "0%,100%", "--format", "json"))["exits"]
    lib.check(rows, f"{directory.name}: there are exits")
    for machine in sorted({row["by"] for row in rows}):
        perf = perf_table(gathered / machine / "trace.dat", scratch)
        own = own_table([r for r in rows if r["by"] == machine])
        compare(f"{directory.name} {machine}", perf, own, unpaired(directory, machine))


def main():
    lib.need("perf", "trace-cmd")
    if not TOOL.exists():
        lib.skip("libtracecmd-dev is not installed")
    if sys.argv[1:]:
        with tempfile.TemporaryDirectory() as scratch:
            for argument in sys.argv[1:]:
                check_run(Path(argument), Path(scratch))
        return
    sets = [("lab-boot-ftrace", ["L0", "L1"], {"host0": "L0"}),
            ("lab-multi-ftrace-tsc", ["L0", "L1a", "L1b", "L2"], {"host0": "L0", "vm-a": "L1a"}),
            ("oracle-ftrace-tsc-1", ["L0", "L1a", "L1b", "L2"], {"host0": "L0", "vm-a": "L1a"})]
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        for name, layers, hosts in sets:
            base = lib.shared_set(name)
            run = scratch / "run.sonde"
            lib.run(lib.SONDE, "analyze", "-q", "-o", run, *(base / i / "trace.dat" for i in layers))
            rows = json.loads(lib.run(lib.SONDE, "report", run, "-t", "exits", "--time", "0%,100%", "--format",
                                      "json"))["exits"]
            for machine, layer in hosts.items():
                perf = perf_table(base / layer / "trace.dat", scratch)
                compare(f"{name} {layer}", perf,
                        own_table([r for r in rows if r["by"] == machine]))


main()
