#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A trace.dat of which nothing can be read costs what its length says, not the square of it.

Chunks of zeros, which unpack to 16 MB each, make a CPU of many packets without one event.
"""

import resource
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402

CHUNK_BYTES = 16 << 20
BLOCK_BYTES = 128 << 10
FEW, MANY = 12, 60
TIMES_MAX = 14  # linear: 5; each packet's cost times those before it: 22 and more


def zeros():
    """A frame of zstd's: its length, and blocks of one byte repeated."""
    frame = struct.pack("<IBI", 0xFD2FB528, 0xA0, CHUNK_BYTES)
    blocks = CHUNK_BYTES // BLOCK_BYTES
    for i in range(blocks):
        frame += struct.pack("<I", BLOCK_BYTES << 3 | 1 << 1 | (i + 1 == blocks))[:3] + b"\0"
    return frame


def damaged(path, chunks):
    data = bytearray((lib.ROOT / "tests/fuzz/corpus/dat/v7-zstd").read_bytes())
    place = data.index(struct.pack("<IQQ", 1, 0x800, 0x5c))  # CPU 1's data
    at = (len(data) + 4095) // 4096 * 4096
    frame = zeros()
    body = struct.pack("<II", len(frame), CHUNK_BYTES) + frame
    struct.pack_into("<IQQ", data, place, 1, at, len(body) * chunks)
    path.write_bytes(data + bytes(at - len(data)) + struct.pack("<I", chunks) + body * chunks)


def cost(path):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([lib.SONDE, "check", "-q", path], capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    lib.check(done.returncode == 3 and "pages of zeros" in done.stdout, f"{done.returncode}: {done.stdout}{done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    with tempfile.TemporaryDirectory() as scratch:
        costs = {}
        for chunks in (FEW, MANY):
            path = Path(scratch) / f"{chunks}.dat"
            damaged(path, chunks)
            costs[chunks] = cost(path)
    print(f"{FEW} packets: {costs[FEW]:.2f} s; {MANY}: {costs[MANY]:.2f} s of CPU time")
    lib.check(costs[MANY] < TIMES_MAX * costs[FEW], f"{MANY // FEW} times as long, {costs[MANY] / costs[FEW]:.0f} times the cost")


main()
