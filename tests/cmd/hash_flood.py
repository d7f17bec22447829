#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who writes a file cannot choose numbers that all fall on one slot of a hash table.

A perf.data lists as many event numbers as fit: chosen for one slot of a hash that is known, or in steps of a power of two. It is
read about as fast as one with random numbers.
"""

import random
import resource
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402

NR = 40000      # the square of it, in look-ups, takes 2 s
RUNS = 3        # the least of so many: others use this machine, too
TIMES_MAX = 4
LEAST_S = 0.05
GOLDEN = 0x9e3779b97f4a7c15     # the factor that most multiplicative hashes have
MASK = (1 << 64) - 1
ENTRY, IDS = 144, 128           # bytes of an attribute's entry, and where in it the place of its numbers is


def numbers():
    inverse = pow(GOLDEN, -1, 1 << 64)
    yield "random", random.Random(1).sample(range(100, 1 << 63), NR)
    yield "of one slot", [inverse * (i + 1) & MASK for i in range(NR)]
    yield "in order", [i + 100 for i in range(NR)]
    for bits in (16, 32, 40):
        yield f"in steps of 2^{bits}", [(i + 1) << bits & MASK for i in range(NR)]


def write(path, ids):
    data = bytearray((lib.ROOT / "tests/fuzz/corpus/perf/file").read_bytes())
    table, length = struct.unpack_from("<QQ", data, 24)
    last = table + length - ENTRY
    at, own = struct.unpack_from("<QQ", data, last + IDS)
    all_ids = data[at:at + own] + struct.pack(f"<{len(ids)}Q", *ids)
    struct.pack_into("<QQ", data, last + IDS, len(data), len(all_ids))
    path.write_bytes(data + all_ids)


def cost(path):
    def used():
        now = resource.getrusage(resource.RUSAGE_CHILDREN)
        return now.ru_utime + now.ru_stime

    least = None
    for _ in range(RUNS):
        before = used()
        done = subprocess.run([lib.SONDE, "events", "-q", path], capture_output=True, text=True, check=False)
        least = min(least or 1e9, used() - before)
        lib.check(not done.returncode and len(done.stdout.splitlines()) >= 5, f"its events are read: {done.stdout}{done.stderr}")
    return least


def main():
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "perf.data"
        costs = {}
        for name, ids in numbers():
            write(path, ids)
            costs[name] = cost(path)
    for name, seconds in costs.items():
        print(f"{NR} numbers {name}: {seconds:.3f} s of CPU time")
    most = TIMES_MAX * max(costs["random"], LEAST_S)
    lib.check(all(seconds < most for seconds in costs.values()), f"none takes more than {most:.2f} s")


main()
