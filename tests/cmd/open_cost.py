#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a small file says of itself is read in the time, and the memory, that its length justifies: many names that are looked up among
many."""

import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402

# Each takes a tenth of this, and took several times as much when each was looked up among all.
SECONDS_MAX, MEMORY_MAX_MB = 1.5, 300
HEAD = b"\x17\x08\x44tracing7\0\0\x08" + struct.pack("<I", 4096) + b"zstd\x001.0\0"
FIRST = len(HEAD) + 8
CPUSTAT, BUFFER = 2, 3


def option(number, data):
    return struct.pack("<HI", number, len(data)) + data


def dat(options, before=b""):
    """Version 7: sections, and one of options, which is not packed."""
    options += option(0, bytes(8))
    return HEAD + struct.pack("<Q", FIRST + len(before)) + before + struct.pack("<HHIQ", 0, 0, 0, len(options)) + options


def counters_of_buffers():
    cpus = b"".join(struct.pack("<IQQ", i, 0, 0) for i in range(8192))
    buffer = option(BUFFER, bytes(8) + b"x\0local\0" + struct.pack("<II", 4096, 8192) + cpus)
    return dat(buffer * 20 + option(CPUSTAT, b"Buffer: x\nCPU: 99999\n") + option(CPUSTAT, b"CPU: 99999\n") * 20000)


def files(folder):
    for make, told in ((counters_of_buffers, "no event format"),):
        path = folder / f"{make.__name__}.dat"
        path.write_bytes(make())
        yield path, told


def main():
    with tempfile.TemporaryDirectory() as scratch:
        for path, told in files(Path(scratch)):
            with subprocess.Popen([lib.SONDE, "check", "-q", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as run:
                said = run.stdout.read().decode()
                _, _, used = os.wait4(run.pid, 0)
                run.returncode = 0
            seconds, memory = used.ru_utime + used.ru_stime, used.ru_maxrss >> 10
            print(f"{path.name}: {seconds:.2f} s of CPU time, {memory} MB")
            lib.check(told in said, f"{path.name}: {said}")
            lib.check(seconds < SECONDS_MAX and memory < MEMORY_MAX_MB, f"{path.name}: {seconds:.2f} s, {memory} MB")


main()
