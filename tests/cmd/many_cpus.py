#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A trace's numbers of CPUs are its own word: one that says 4096 makes sonde check tell of those that are missing in one sentence, with
their number, as sonde events does.  Of a few it tells one by one."""
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402
import odd_traces  # noqa: E402

MS = 1000000


def stream(cpu, nr):
    return odd_traces.packet(cpu, [odd_traces.switch(i * MS, i % 2 * 5, (i + 1) % 2 * 5) for i in range(1, nr)])


def told(folder, *streams):
    trace = odd_traces.write(folder, *streams)
    checked = subprocess.run([lib.SONDE, "check", trace], capture_output=True, text=True)
    listed = subprocess.run([lib.SONDE, "events", trace], capture_output=True, text=True)
    print(checked.stdout)
    lib.check(checked.returncode == 3, f"not sound: {checked}")
    for line in checked.stdout.splitlines():
        lib.check(line.split(": ", 1)[1] in listed.stderr, f"{line}: events says {listed.stderr}")
    return checked.stdout.splitlines()


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = told(folder / "wide", stream(0, 900), stream(4096, 900))
        lib.check(len(lines) == 1 and "no stream of 4,095 CPUs (1-4095) that" in lines[0], lines)
        lines = told(folder / "cut", stream(0, 900), *(stream(3 * i, 9) for i in range(1, 30)))
        lib.check(len(lines) == 2 and "no stream of 58 CPUs (1-2, 4-5, 7-8, 10-11, 13-14, 16-17, ...) that" in lines[0], lines)
        lib.check("streams of 29 CPUs (3, 6, 9, 12, 15, 18, ...) end before the trace does, by up to 891.0 ms:" in lines[1], lines)
        lines = told(folder / "few", stream(0, 900), stream(1, 9), stream(4, 900))
        lib.check(len(lines) == 3 and "no stream of CPU 2 that" in lines[0] and "no stream of CPU 3 that" in lines[1], lines)
        lib.check("the stream of CPU 1 ends before the trace does, by 891.0 ms:" in lines[2], lines)


main()
