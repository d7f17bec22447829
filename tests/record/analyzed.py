#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What sonde record found on this machine is what sonde analyze knows from the first moment on."""

import json
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402


def tracefs():
    for path in ("/sys/kernel/tracing", "/sys/kernel/debug/tracing"):
        if os.access(f"{path}/instances", os.W_OK):
            return path
    return None


def rows(history, text):
    return json.loads(lib.run(lib.SONDE, *text.split(), "--format", "json", history))


def check_identity(info):
    known = {row["key"]: row["value"] for row in info["identities"] if row["machine"] == "host0"}
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    lib.check(known["boot_id"] == boot_id, known)
    lib.check(known["release"] == os.uname().release and known["hostname"] == os.uname().nodename,
              known)


def check_clock(info, began):
    lib.check(info["ticks_are_ns"] and info["wall_offset_ns"], "L0's time is in ns")
    wall = (info["begin"] + info["wall_offset_ns"]) / 1e9
    lib.check(began - 1 < wall < time.time(), f"it began at {wall}, not at {began}")


def check_cpu_times(info):
    """Two readings of every CPU, and the later ones are not less."""
    times = {}
    for row in info["cpu_times"]:
        times.setdefault(row["cpu"], []).append(row)
    lib.check(len(times) == len(os.sched_getaffinity(0)), sorted(times))
    for cpu, (first, last) in times.items():
        lib.check(first["cause"] == "start" and last["cause"] == "end", (cpu, first, last))
        lib.check(last["t"] > first["t"] and last["user"] >= first["user"], (cpu, first, last))


def check_problems(info):
    texts = [row["text"] for row in info["problem"]]
    for bad in "lines of statedumps are not used", "is not complete", "only":
        lib.check(not any(bad in text for text in texts), texts)


def check_threads(history):
    """This very process sleeps all the while: no event may ever have told of it."""
    tree = lib.run(lib.SONDE, "tree", "--threads", history)
    comm = Path("/proc/self/comm").read_text().strip()
    line = next((x for x in tree.splitlines() if f"{comm}[{os.getpid()}]" in x), "")
    lib.check(f"process {os.getpid()}" in line, f"this process is not known: {line}")


def main():
    if os.geteuid() or not tracefs():
        lib.skip("recording needs root and tracefs")
    with tempfile.TemporaryDirectory() as scratch:
        run, history = Path(scratch) / "run", Path(scratch) / "run.sonde"
        began = time.time()
        lib.run(lib.SONDE, "record", "-q", "-o", run, "--", "sleep", "0.5")
        lib.run(lib.SONDE, "analyze", "-q", run, "-o", history)
        info = rows(history, "info")
        lib.check([m["name"] for m in info["machines"]][0] == "host0", info["machines"])
        check_identity(info)
        check_clock(info, began)
        check_cpu_times(info)
        check_problems(info)
        check_threads(history)
    print("ok")


if __name__ == "__main__":
    main()
