#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A trace of which hardly anything can be read costs what its length says, not the square of it.

Chunks of zeros, with so few bytes that are none that the file is no shorter than it may be, make a CPU of a
trace.dat of many packets without one event; and chunks of nothing but zeros cost no more than their file.
LTTng's packets that each claim the rest of the file are beside an index that does not fit them.
"""

import resource
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402

CHUNK_BYTES, CHUNK_MAX = 256 << 10, 16 << 20
BLOCK_BYTES, RAW_BYTES = 128 << 10, 4 << 10
FEW, MANY = 160, 800
HOLLOW, HOLLOW_SECONDS = 2000, 2  # 33 GB that a megabyte claims; to unpack them takes 7 s
TIMES_MAX = 14  # linear: 5; each packet's cost times those before it: 22 and more
PACKETS = 20000  # to each of FEW
INDEX_ROW, PACKET_HEAD = struct.Struct(">9Q"), struct.Struct("<5Q")
HEAD_AT, HEAD_BYTES = 32, 84  # of the samples' packets: begin, end, content, size, number; all


def zeros(nr, raw):
    """A frame of zstd's: its length, a block of bytes as they are, and blocks of one byte repeated."""
    frame = struct.pack("<IBI", 0xFD2FB528, 0xA0, nr)
    frame += struct.pack("<I", raw << 3)[:3] + b"\xff" * raw
    for left in range(nr - raw, 0, -BLOCK_BYTES):
        last = left <= BLOCK_BYTES
        frame += struct.pack("<I", (left if last else BLOCK_BYTES) << 3 | 1 << 1 | last)[:3] + b"\0"
    return frame


def put_chunks(path, chunks, frame, unpacked):
    data = bytearray((lib.ROOT / "tests/fuzz/corpus/dat/v7-zstd").read_bytes())
    place = data.index(struct.pack("<IQQ", 1, 0x800, 0x5c))  # CPU 1's data
    at = (len(data) + 4095) // 4096 * 4096
    body = struct.pack("<II", len(frame), unpacked) + frame
    struct.pack_into("<IQQ", data, place, 1, at, len(body) * chunks)
    path.write_bytes(data + bytes(at - len(data)) + struct.pack("<I", chunks) + body * chunks)


def damaged(path, chunks):
    put_chunks(path, chunks, zeros(CHUNK_BYTES, RAW_BYTES), CHUNK_BYTES)


def claiming(folder, times):
    """The first packet as it was, and so many heads, each of which says that all behind it is its own."""
    shutil.copytree(lib.ROOT / "samples/lttng/vm-b", folder)
    stream, index = folder / "ch0_0", folder / "index/ch0_0.idx"
    data, rows = stream.read_bytes(), index.read_bytes()
    first = INDEX_ROW.unpack_from(rows, 16)
    head, heads = bytearray(data[:HEAD_BYTES]), bytearray()
    nr = PACKETS * times // FEW
    for i in range(1, nr + 1):
        PACKET_HEAD.pack_into(head, HEAD_AT, first[4] + 10 * i, first[4] + 10 * i + 5, 8 * HEAD_BYTES, 1 << 40, i)
        heads += head
    stream.write_bytes(data[:first[1] // 8] + heads)
    index.write_bytes(rows[:16] + INDEX_ROW.pack(1 << 50, *first[1:]) * nr + INDEX_ROW.pack(*first) * 3)


def cost(path, told):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([lib.SONDE, "check", "-q", path], capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    lib.check(done.returncode == 3 and told in done.stdout, f"{done.returncode}: {done.stdout}{done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(make, told):
    with tempfile.TemporaryDirectory() as scratch:
        costs = {}
        for times in (FEW, MANY):
            make(Path(scratch) / f"{times}.dat", times)
            costs[times] = cost(Path(scratch) / f"{times}.dat", told)
    print(f"{make.__name__}: {costs[FEW]:.2f} s; {MANY // FEW} times as many packets: {costs[MANY]:.2f} s of CPU time")
    lib.check(costs[MANY] < TIMES_MAX * costs[FEW], f"{MANY // FEW} times as long, {costs[MANY] / costs[FEW]:.0f} times the cost")


def hollow():
    with tempfile.TemporaryDirectory() as scratch:
        put_chunks(Path(scratch) / "hollow.dat", HOLLOW, zeros(CHUNK_MAX, 0), CHUNK_MAX)
        seconds = cost(Path(scratch) / "hollow.dat", "CPU 1's chunks unpack to pages without events")
    print(f"hollow: {seconds:.2f} s of CPU time")
    lib.check(seconds < HOLLOW_SECONDS, f"a megabyte takes {seconds:.1f} s")


def main():
    hollow()
    compare(damaged, "pages of zeros")
    compare(claiming, "does not fit it")


main()
