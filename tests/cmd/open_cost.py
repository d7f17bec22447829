#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a small file says of itself is read in the time, and the memory, that its length justifies: many names that are looked up among
many, one place that many point at, one long list beside many empty ones."""

import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402

# Each takes a tenth of this (many files: a half), and took several times as much when each was looked up among all.
SECONDS_MAX, MEMORY_MAX_MB = 1.5, 300
HEAD = b"\x17\x08\x44tracing7\0\0\x08" + struct.pack("<I", 4096) + b"zstd\x001.0\0"
FIRST = len(HEAD) + 8
CPUSTAT, BUFFER, TIME_SHIFT, HEADER_INFO = 2, 3, 12, 16


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


def lengths_of_time():
    return dat(option(TIME_SHIFT, struct.pack("<QII", 1, 0, 2001) + struct.pack("<I", 10000) + bytes(240000) + bytes(4 * 2000)))


def pointed_at():
    """A frame of zstd's: a million empty blocks, of which none is the last; and tables that all are there."""
    frame = struct.pack("<IBB", 0xFD2FB528, 0, 0x58) + bytes(3 << 20)
    section = struct.pack("<HHIQII", HEADER_INFO, 1, 0, 8 + len(frame), len(frame), 16) + frame
    return dat(option(HEADER_INFO, struct.pack("<Q", FIRST)) * 5000, section)


def more_than_fits():
    """A sound file, in front of whose options others lead to sections that claim 64 MB each."""
    data = bytearray((lib.ROOT / "tests/fuzz/corpus/dat/v7-zstd").read_bytes())
    at = data.index(b"\0", data.index(b"\0", 18) + 1) + 1
    options = b""
    for _ in range(10):
        options += option(HEADER_INFO, struct.pack("<Q", len(data)))
        data += struct.pack("<HHIQII", HEADER_INFO, 1, 0, 12, 4, 64 << 20) + b"none"
    options += option(0, data[at:at + 8])
    data[at:at + 8] = struct.pack("<Q", len(data))
    return data + struct.pack("<HHIQ", 0, 0, 0, len(options)) + options


METADATA = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := u8;
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := u64c;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u32 magic; u32 stream_id; }; };
clock { name = monotonic; freq = 1000000000; offset = 0; };
stream { id = 0; packet.context := struct { u64c timestamp_begin; u64c timestamp_end; u32 content_size; u32 packet_size; u32 cpu_id; };
 event.header := struct { u32 id; u64c timestamp; }; };
event { name = "x"; id = 0; stream_id = 0; fields := struct { %s }; };
"""
FIELDS, FILES = 20000, 40000


def lengths_among_many():
    """Of the first field, and of the last."""
    return "".join(f"u8 a{i};" for i in range(FIELDS)) + "".join(f"u8 s{i}[a{(FIELDS - 1) * (i % 2)}];" for i in range(FIELDS))


def lengths_in_options():
    options = "".join(f"struct {{ u8 a; }} L{i};" for i in range(FIELDS))
    return f"enum : u32 {{ L0 = 0 }} tag; variant <tag> {{ {options} }} v;" + "".join(f"u8 s{i}[v.a];" for i in range(FIELDS))


def write_ctf(folder, fields):
    """One event, all of whose fields are 0."""
    folder.mkdir()
    (folder / "metadata").write_text(METADATA % fields)
    event = struct.pack("<IQ", 0, 50) + bytes(FIELDS)
    bits = 8 * (36 + len(event))
    (folder / "ch0").write_bytes(struct.pack("<IIQQIII", 0xC1FC1FC1, 0, 1, 100, bits, bits, 0) + event)
    return folder


JSON = """{"type": "preamble", "version": 2}
{"type": "event-record-class", "id": 1, "name": "x", "data-stream-class-id": 0}
%s
"""


def write_json(folder, fragment):
    """No stream: it is the metadata that is read."""
    folder.mkdir()
    (folder / "metadata").write_text("\x1e".join(["", *(JSON % fragment).splitlines(True)]))
    (folder / "ch0").write_bytes(bytes(16))
    return folder


def many_values():
    """Each is three bytes of text, and some two hundred of memory."""
    return '{"type": "event-record-class", "id": 2, "x": [' + "{}," * (2 << 20) + "{}]}"


def many_files(folder):
    """Each a stream of its own, of one packet without events."""
    write_ctf(folder, "u8 x;")
    (folder / "ch0").write_bytes(struct.pack("<IIQQIII", 0xC1FC1FC1, 0, 1, 100, 8 * 36, 8 * 36, 0))
    for i in range(1, FILES):
        os.link(folder / "ch0", folder / f"ch{i}")
    return folder


def files(folder):
    for make, told in ((counters_of_buffers, "no event format"), (lengths_of_time, "no event format"), (pointed_at, "no event format"),
                       (more_than_fits, "more than is sensible: some of it is not used")):
        path = folder / f"{make.__name__}.dat"
        path.write_bytes(make())
        yield path, told
    yield write_ctf(folder / "lengths_among_many", lengths_among_many()), "sound"
    yield many_files(folder / "many_files"), "sound"
    yield write_ctf(folder / "lengths_in_options", lengths_in_options()), "lead through too many options"
    yield write_json(folder / "many_values", many_values()), "is longer than"


def main():
    with tempfile.TemporaryDirectory() as scratch:
        for path, told in files(Path(scratch)):
            with subprocess.Popen([lib.SONDE, "check", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as run:
                said = run.stdout.read()
                _, _, used = os.wait4(run.pid, 0)
                run.returncode = 0
            seconds, memory = used.ru_utime, used.ru_maxrss >> 10  # what the kernel takes for many files is its own
            print(f"{path.name}: {seconds:.2f} s of CPU time, {memory} MB")
            lib.check(told in said, f"{path.name}: {said}")
            lib.check(seconds < SECONDS_MAX and memory < MEMORY_MAX_MB, f"{path.name}: {seconds:.2f} s, {memory} MB")


main()
