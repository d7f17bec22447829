# SPDX-License-Identifier: Apache-2.0
"""For tests: LTTng's stream files, taken apart into packets and put together otherwise.

    packets = ctf_parts.read_stream(trace / "ch0_0")
    ctf_parts.write_stream(folder / "ch0_0", packets[:7], index=True)
"""

import struct
from dataclasses import dataclass, replace
from pathlib import Path

MAGIC = 0xC1FC1FC1
INDEX_MAGIC = 0xC1F1DCC1
HEADER = struct.Struct("<I16sIQ")     # magic, uuid, stream class, stream instance
CONTEXT = struct.Struct("<QQQQQQI")   # begin, end, content bits, packet bits, number, discarded, CPU


@dataclass(frozen=True)
class Packet:
    data: bytes
    stream: int
    instance: int
    begin: int
    end: int
    content_bits: int
    packet_bits: int
    number: int
    discarded: int
    cpu: int

    def changed(self, **fields):
        """The same packet, whose context says something else."""
        new = replace(self, **fields)
        context = CONTEXT.pack(new.begin, new.end, new.content_bits, new.packet_bits, new.number, new.discarded, new.cpu)
        at = HEADER.size
        return replace(new, data=self.data[:at] + context + self.data[at + len(context):])


def read_stream(path):
    data = Path(path).read_bytes()
    packets, at = [], 0
    while at < len(data):
        magic, _, stream, instance = HEADER.unpack_from(data, at)
        context = CONTEXT.unpack_from(data, at + HEADER.size)
        assert magic == MAGIC and context[3] % 8 == 0, f"{path}: no packet at {at}"
        packets.append(Packet(data[at:at + context[3] // 8], stream, instance, *context))
        at += context[3] // 8
    return packets


def index_bytes(packets, minor=1):
    words = 9 if minor else 7
    out = [struct.pack(">IIII", INDEX_MAGIC, 1, minor, 8 * words)]
    at = 0
    for p in packets:
        entry = (at, p.packet_bits, p.content_bits, p.begin, p.end, p.discarded, p.stream, p.instance, p.number)
        out.append(struct.pack(f">{words}Q", *entry[:words]))
        at += len(p.data)
    return b"".join(out)


def write_stream(path, packets, index=False):
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(p.data for p in packets))
    if index:
        (path.parent / "index").mkdir(exist_ok=True)
        (path.parent / "index" / f"{path.name}.idx").write_bytes(index_bytes(packets))


def streams_of(trace):
    return sorted(p for p in Path(trace).iterdir() if p.is_file() and p.name != "metadata")


def ranges(nr, parts):
    """@nr packets in so many runs of about the same length."""
    return [(nr * i // parts, nr * (i + 1) // parts) for i in range(parts)]
