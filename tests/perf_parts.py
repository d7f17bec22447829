# SPDX-License-Identifier: Apache-2.0
"""For tests: perf.data files taken apart, and written otherwise, as `perf record -z` and `--threads` do.

    file = perf_parts.File(path)
    others, cpus = file.split()
    file.write(target, others + perf_parts.packed(b"".join(cpus)), features=perf_parts.ZSTD_FEATURE)
"""

import ctypes
import struct
import subprocess

HEADER = struct.Struct("<8sQQQQQQQQ")  # magic, size, attribute's size; sections of attributes, records, types
FLAGS_AT, FLAGS_BYTES = HEADER.size, 32
SAMPLE, FINISHED_ROUND, COMPRESSED, FINISHED_INIT = 9, 68, 81, 82
CPU_AT = 40
DIR_FORMAT, ZSTD = 24, 27
PIECE_BYTES = 60000


class File:
    """A perf.data file, in parts: what is in front of the records, the records, the features."""

    def __init__(self, path):
        data = path.read_bytes()
        *_, begin, length, _, _ = HEADER.unpack_from(data)
        self.head, self.records, self.features = data[:begin], data[begin:begin + length], {}
        flags, at = int.from_bytes(data[FLAGS_AT:FLAGS_AT + FLAGS_BYTES], "little"), begin + length
        for bit in (bit for bit in range(256) if flags >> bit & 1):
            place, size = struct.unpack_from("<QQ", data, at)
            self.features[bit] = data[place:place + size]
            at += 16

    def write(self, path, records, **more):
        features = self.features | more.get("features", {})
        head = bytearray(self.head)
        struct.pack_into("<Q", head, 48, len(records))
        head[FLAGS_AT:FLAGS_AT + FLAGS_BYTES] = sum(1 << bit for bit in features).to_bytes(FLAGS_BYTES, "little")
        place, table = len(head) + len(records) + 16 * len(features), b""
        for bit in sorted(features):
            table += struct.pack("<QQ", place, len(features[bit]))
            place += len(features[bit])
        path.write_bytes(bytes(head) + records + table + b"".join(features[bit] for bit in sorted(features)))

    def split(self):
        """Records that are no samples, and the samples of each CPU."""
        others, cpus, at = b"", {}, 0
        while at < len(self.records):
            kind, _, size = struct.unpack_from("<IHH", self.records, at)
            record = self.records[at:at + size]
            if kind == SAMPLE:
                cpu, = struct.unpack_from("<I", record, CPU_AT)
                cpus.setdefault(cpu, []).append(record)
            elif kind != FINISHED_ROUND:  # behind which perf takes nothing that is older
                others += record
            at += size
        return others, [b"".join(cpus[cpu]) for cpu in sorted(cpus)]


def pieces(data, size=PIECE_BYTES):
    return [data[at:at + size] for at in range(0, len(data), size)]


def zstd(data):
    return subprocess.run(["zstd", "-q", "-c"], input=data, capture_output=True, check=True).stdout


def in_records(parts):
    return b"".join(struct.pack("<IHH", COMPRESSED, 0, 8 + len(part)) + part for part in parts)


def packed(records):
    """What is in each record can be read with what was in those before, as perf itself needs it; events end anywhere."""
    return in_records(zstd(piece) for piece in pieces(records))


def one_stream(records, size=PIECE_BYTES):
    """Nothing is whole but all of it."""
    return in_records(pieces(zstd(records), size))


def record_places(data):
    """Where each record begins, and the end."""
    at = 0
    while at < len(data):
        yield at
        at += struct.unpack_from("<H", data, at + 6)[0]
    yield at


def in_turn(cpus, least=16000):
    """Whole records of each CPU in turn, as perf empties its buffers."""
    parts = []
    for nr, data in enumerate(cpus):
        places, begin = list(record_places(data)), 0
        for at in places[1:]:
            if at - begin >= least or at == places[-1]:
                parts.append((begin, nr, data[begin:at]))
                begin = at
    return [part for _, _, part in sorted(parts)]


class _Buffer(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t), ("at", ctypes.c_size_t)]


def flushed(parts):
    """Each part of one stream is whole, and repeats what was in those before it: so perf itself writes them."""
    lib, out = ctypes.CDLL("libzstd.so.1"), []
    lib.ZSTD_createCCtx.restype, lib.ZSTD_compressStream2.restype = ctypes.c_void_p, ctypes.c_size_t
    context = ctypes.c_void_p(lib.ZSTD_createCCtx())
    for part in parts:
        room = 2 * len(part) + 1024
        source, target = ctypes.create_string_buffer(part, len(part)), ctypes.create_string_buffer(room)
        given, made = _Buffer(ctypes.addressof(source), len(part), 0), _Buffer(ctypes.addressof(target), room, 0)
        left = lib.ZSTD_compressStream2(context, ctypes.byref(made), ctypes.byref(given), 1)  # ZSTD_e_flush
        assert left == 0 and given.at == len(part), (left, given.at, len(part))
        out.append(target.raw[:made.at])
    lib.ZSTD_freeCCtx(context)
    return out


ZSTD_FEATURE = {ZSTD: struct.pack("<5I", 0, 1, 1, 8, 528384)}
DIR_FEATURE = {DIR_FORMAT: struct.pack("<Q", 1)}
