#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The exits that a report counts for the host are the kvm_exit events of the host's trace.

Per exit reason the two numbers are equal, but for exits that the begin or the end of the trace
cuts: at most one per vCPU.  And each reason's time is what states have for it, but for what ran
before the reason was known: a vCPU that goes on elsewhere in an exit takes it along.
"""

import collections
import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402

HOST = "host0"


def sonde(*arguments):
    return subprocess.check_output([lib.SONDE, *map(str, arguments)], text=True)


def events_of(traces):
    """Per exit reason, how many kvm_exit events the host's trace has."""
    counts = collections.Counter()
    for line in sonde("events", "-q", traces, "-m", HOST, "-e", "kvm_exit", "--fields",
                      "exit_reason", "--format", "json").splitlines():
        counts[json.loads(line)["fields"]["exit_reason"]] += 1
    return counts


NAMED = """select u.machine, c.machine, coalesce(c.detail, -1), sum(s.length)
    from states s join contexts c on c.row = s.value join cpus u on u.row = c.serves_row
    where s.kind = 'runs' and c.mode = 'hypervisor' group by 1, 2, 3"""


def check_times(name, report, history):
    """What hypervisors worked for each reason, as states tell it."""
    states = {(vm, by, int(reason)): int(ns) for vm, by, reason, ns in
              csv.reader(sonde("sql", "-i", history, "--format", "csv", NAMED).splitlines()[1:])}
    for row in report["exit_reason"]:
        vm, by, reason = row["vm"], row["by"], row["reason"]
        if vm is None or reason < 0:
            continue
        named, nameless = states[vm, by, reason], states.get((vm, by, -1), 0)
        lib.check(named <= row["total"] <= named + nameless,
                  f"{name}: {row}: states have {named}, and {nameless} without a reason")


def check_set(name, traces, scratch):
    history = Path(scratch) / "run.sonde"
    sonde("analyze", "-q", traces, "-o", history)
    report = json.loads(sonde("report", history, "-t", "exit_reason", "-t", "vcpu_time",
                              "--format", "json"))
    counted = collections.Counter()
    for row in report["exit_reason"]:
        if row["by"] == HOST:
            counted[row["reason"]] += row["count"]
    expected = events_of(traces)
    check_times(name, report, history)
    vcpus = len(report["vcpu_time"])
    lib.check(sum(expected.values()) > 1000, f"{name}: only {sum(expected.values())} exits")
    difference = sum(abs(counted[r] - expected[r]) for r in expected.keys() | counted.keys())
    print(f"{name}: {sum(expected.values())} exits, {difference} counted otherwise")
    lib.check(difference <= vcpus, f"{name}: counted {dict(counted)}, events {dict(expected)}")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        check_set("samples/lttng", lib.ROOT / "samples/lttng", scratch)
        check_set("samples/ftrace", lib.ROOT / "samples/ftrace", scratch)


if __name__ == "__main__":
    lib.need(str(lib.SONDE))
    main()
