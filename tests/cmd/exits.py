#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The exits that a report counts for the host are the kvm_exit events of the host's trace.

Per exit reason the two numbers are equal, but for exits that the begin or the end of the trace
cuts: at most one per vCPU.
"""

import collections
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


def check_set(name, traces, scratch):
    history = Path(scratch) / "run.sonde"
    sonde("analyze", "-q", traces, "-o", history)
    report = json.loads(sonde("report", history, "-s", "exit_reason", "-s", "vcpu_time",
                              "--format", "json"))
    counted = collections.Counter()
    for row in report["exit_reason"]:
        if row["by"] == HOST:
            counted[row["reason"]] += row["count"]
    expected = events_of(traces)
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
