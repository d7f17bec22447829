#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 120
"""Compressed perf.data files and directories of several: the events are those of the plain file.

The files are made here of a recorded one, as `perf record -z` and `--threads` write them; where there is a
perf, it reads as many events of each.
"""

import json
import os
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402
from perf_parts import (DIR_FEATURE, FINISHED_INIT, FINISHED_ROUND, HEADER, PIECE_BYTES, ZSTD_FEATURE, File, flushed,  # noqa: E402
                        in_records, in_turn, one_stream, packed, pieces, record_places, zstd)

RATIO_MAX = 100  # see source/perf/join.c
BACK = 6  # see source/perf/parts.h


def made(file, folder):
    """Name -> path, of each way to write the same records."""
    others, cpus = file.split()
    paths = {name: folder / name for name in ("packed", "one stream", "directory", "packed directory")}
    middle = struct.pack("<IHH", FINISHED_INIT, 0, 8)
    file.write(paths["packed"], others + packed(cpus[0]) + middle + packed(b"".join(cpus[1:])), features=ZSTD_FEATURE)
    file.write(paths["one stream"], others + one_stream(b"".join(cpus)), features=ZSTD_FEATURE)
    for name, pack, features in (("directory", bytes, DIR_FEATURE), ("packed directory", packed, DIR_FEATURE | ZSTD_FEATURE)):
        paths[name].mkdir()
        file.write(paths[name] / "data", others, features=features)
        for nr, records in enumerate(cpus):
            (paths[name] / f"data.{nr}").write_bytes(pack(records))
    file.write(folder / "plain", others + b"".join(cpus))
    return paths


def events(path):
    return sorted(lib.run(lib.SONDE, "events", "-q", path).splitlines())


def counted_by_perf(path):
    done = subprocess.run(["perf", "script", "-i", path, "-F", "event"], capture_output=True, text=True, check=False)
    return Counter(re.findall(r"([\w-]+:\w+):", done.stdout))


def checked(path):
    return subprocess.run([lib.SONDE, "check", path], capture_output=True, text=True, check=False, timeout=60)


def check_same(paths, plain):
    want = events(plain)
    lib.check(len(want) > 5000, f"only {len(want)} events")
    for name, path in paths.items():
        got = events(path)
        lib.check(got == want, f"{name}: {len(got)} events, {len(want)} of the plain file")
        if shutil.which("perf") and name != "one stream":
            theirs, of_plain = counted_by_perf(path), counted_by_perf(plain)
            print(f"{name}: {len(got)} events; perf reads {sum(theirs.values())}, of the plain file {sum(of_plain.values())}")
            lib.check(theirs == of_plain and sum(theirs.values()) > 5000, f"{name}: perf reads other events: {theirs - of_plain}")


def check_damaged(file, folder):
    """What is behind damage is a gap, up to the end; what is in front of it is as it was, but for the part next to it."""
    others, cpus = file.split()
    size = PIECE_BYTES // 10
    stream = bytearray(one_stream(b"".join(cpus), size))
    at = len(stream) * 3 // 4
    lib.check(at > 4 * size, f"{len(stream)} bytes are few records")
    stream[at:at + 64] = bytes(64)
    path = folder / "damaged"
    file.write(path, others + bytes(stream), features=ZSTD_FEATURE)
    done = checked(path)
    lib.check(done.returncode == 3 and "compressed records are damaged" in done.stdout, f"{done.returncode}: {done.stdout}")
    whole = [line for line in events(folder / "plain") if " lost " not in line]
    got = [line for line in events(path) if " lost" not in line]
    lib.check(0 < len(got) < len(whole) and not Counter(got) - Counter(whole), f"{len(got)} events of {len(whole)}")


def check_cut(paths):
    """A file of a directory that ends within a record costs the others nothing, and no record is made of two files' bytes."""
    for name in ("directory", "packed directory"):
        whole = Counter(events(paths[name]))
        data = (paths[name] / "data.0").read_bytes()
        (paths[name] / "data.0").write_bytes(data[:len(data) // 2 + 13])  # on no boundary of any kind
        done = checked(paths[name])
        got = Counter(line for line in events(paths[name]) if " lost: " not in line)
        (paths[name] / "data.0").write_bytes(data)
        lib.check(not got - whole, f"{name}: events that are not there: {got - whole}")
        lost = [line for line in (whole - got).elements() if " L0 [001] " in line]
        lib.check(not lost and got != whole, f"{name}: {len(lost)} events of another file's CPU are gone: {lost[:2]}")
        lib.check(done.returncode == 3 and "the stream of CPU 0 ends before" in done.stdout, f"{name}: {done.stdout}")
        lib.check("CPU 1" not in done.stdout, f"{name}: {done.stdout}")


def check_cut_between(paths):
    """No record says that a directory's file is whole: its CPU is known up to its last record."""
    file = paths["directory"] / "data.0"
    lib.check(checked(paths["directory"]).returncode == 0, "all of it is there")
    data = file.read_bytes()
    places = list(record_places(data))
    file.write_bytes(data[:places[len(places) // 2]])
    done = checked(paths["directory"])
    file.write_bytes(data)
    lib.check(done.returncode == 3 and "the stream of CPU 0 ends before the trace does" in done.stdout, done.stdout)
    lib.check("CPU 1" not in done.stdout and "no records" not in done.stdout, done.stdout)


def check_damaged_place(paths):
    """What is no record is named by the file that it is in."""
    file = paths["directory"] / "data.1"
    data = file.read_bytes()
    places = list(record_places(data))
    begin, end = places[len(places) // 2], places[len(places) // 2 + 7]
    file.write_bytes(data[:begin] + bytes(end - begin) + data[end:])
    done = checked(paths["directory"])
    file.write_bytes(data)
    lib.check(done.returncode == 3 and f"data.1, offset {begin}: {end - begin} bytes are no records" in done.stdout, done.stdout)


def check_links(paths):
    """A file counts once, by whatever names: else links fill the disk."""
    folder = paths["directory"]
    for make, words in ((os.symlink, "data.2 is a link"), (os.link, "data.2 is the same file as another")):
        for target, told in ((folder / "data.0", words), (folder / "data", words)):
            make(target, folder / "data.2")
            done = checked(folder)
            (folder / "data.2").unlink()
            lib.check(done.returncode and told in done.stdout + done.stderr, f"{make.__name__}: {done.stdout}")
    check_links_elsewhere(folder)
    os.symlink("nowhere", folder / "data.2")
    done = checked(folder)
    (folder / "data.2").unlink()
    lib.check(done.returncode and "data.2 is a link" in done.stdout + done.stderr, done.stdout)


def check_links_elsewhere(folder):
    """The header's file may be on another file system than the others, which are still each a file of its own."""
    other = Path("/dev/shm")
    if not os.access(other, os.W_OK) or other.stat().st_dev == folder.stat().st_dev:
        print("no other file system: links beside a header that is elsewhere are not tried")
        return
    with tempfile.TemporaryDirectory(dir=other) as elsewhere:
        away = Path(shutil.move(folder / "data", elsewhere))
        os.symlink(away, folder / "data")
        whole = checked(folder)
        os.link(folder / "data.0", folder / "data.2")
        done = checked(folder)
        (folder / "data.2").unlink()
        (folder / "data").unlink()
        shutil.move(away, folder / "data")
    lib.check(whole.returncode == 0, f"a link to the header's file: {whole.stdout} {whole.stderr}")
    lib.check(done.returncode and "data.2 is the same file as another" in done.stdout + done.stderr, f"elsewhere: {done.stdout}")


def check_silent_damage(file, folder):
    """perf's stream has no checksum: what comes out of a damaged part is not what went in, as records that make no sense show."""
    others, cpus = file.split()
    parts = pieces(b"".join(cpus))
    name, half = b"nap-33\0", PIECE_BYTES // 2
    nr = next(nr for nr in range(len(parts) // 4, len(parts)) if name in parts[nr][:half])
    parts[nr] = parts[nr][:half].replace(name, b"nap-44\0") + bytes([255] * 400) + parts[nr][half + 400:]
    path = folder / "silent damage"
    file.write(path, others + in_records(zstd(part) for part in parts), features=ZSTD_FEATURE)
    done = checked(path)
    lib.check(done.returncode == 3 and "compressed records are damaged" in done.stdout, f"{done.returncode}: {done.stdout}")
    whole = [line for line in events(folder / "plain") if " lost " not in line]
    got = [line for line in events(path) if " lost" not in line]
    lib.check(len(whole) // 5 < len(got) < len(whole) and not Counter(got) - Counter(whole), f"{len(got)} events of {len(whole)}")


def check_other_place(file, folder):
    """A part that is missing, there twice, or in another's place: the next ones repeat what is not there, and look like records."""
    others, cpus = file.split()
    parts, path = flushed(in_turn(cpus)), folder / "other place"

    def read(some):
        file.write(path, others + in_records(some), features=ZSTD_FEATURE)
        return Counter(line for line in events(path) if " lost" not in line and " comm: " not in line)  # perf's own have the first time

    whole = read(parts)
    lib.check(len(parts) > 80 and whole == Counter(line for line in events(folder / "plain") if " lost" not in line and " comm: " not in line),
              f"{len(parts)} parts, {sum(whole.values())} events")
    for at in (22, 26, 32, 43, 44, 62, 70, 89, 90, 91, 94, 98):
        for damaged in (parts[:at] + parts[at + 1:], parts[:at + 1] + parts[at:],
                        parts[:at] + [parts[at + 1], parts[at]] + parts[at + 2:]):
            got = read(damaged)
            lib.check(not got - whole, f"part {at}: {list((got - whole).elements())[:3]}")
            done = checked(path)
            lib.check(done.returncode == 3 and "compressed records are damaged" in done.stdout, f"part {at}: {done.stdout}")
            lib.check(sum(got.values()) > sum(whole.values()) * (at - BACK) // len(parts) // 2, f"part {at}: {sum(got.values())} events")
    # Of five that are there twice nothing but their bytes tells: what is made of the second ones is in order, too.
    for nr in (1, 2, 5):
        got = read(parts[:71 + nr] + parts[71:])
        lib.check(not got - whole, f"{nr} parts twice: {list((got - whole).elements())[:3]}")
        lib.check(sum(got.values()) == sum(read(parts[:71 + nr - BACK]).values()), f"{nr} parts twice: {sum(got.values())} events")
    # What is made of others' bytes shows as late as five parts behind where that begins, or only in times that go back.
    for damaged in (parts[:40] + parts[42:], parts[:43] + parts[45:], parts[:68] + parts[70:], parts[:77] + parts[82:],
                    *(parts[:at] + parts[at + 2:at + 4] + parts[at:at + 2] + parts[at + 4:] for at in (42, 43, 56, 70, 71))):
        lib.check(not (wrong := read(damaged) - whole), f"{len(damaged)} parts: {list(wrong.elements())[:3]}")


def check_copied(file, folder):
    """What perf copied twice from a buffer is there twice, and goes back in time: nothing is damaged."""
    others, cpus = file.split()
    packed_one, plain = folder / "copied", folder / "copied, plain"
    places = list(record_places(cpus[1]))
    copied = cpus[1][:places[400]] + cpus[1][places[370]:]
    file.write(packed_one, others + in_records(flushed(in_turn([cpus[0], copied]))), features=ZSTD_FEATURE)
    file.write(plain, others + cpus[0] + copied)
    lib.check(events(packed_one) == events(plain), "what is there twice is read as in a plain file")
    lib.check("compressed records are damaged" not in (done := checked(packed_one)).stdout, done.stdout)


def check_expansion(file, folder):
    """What becomes far longer than events do is told, and does not fill the disk; what stands before it is read."""
    others, cpus = file.split()
    path = folder / "expands"
    rounds = struct.pack("<IHH", FINISHED_ROUND, 0, 8) * (32 << 17)
    file.write(path, others + packed(b"".join(cpus)) + packed(rounds), features=ZSTD_FEATURE)
    most = RATIO_MAX * path.stat().st_size + (4 << 20)
    lib.check(most < len(rounds), f"{len(rounds)} bytes are not more than {most}")
    done = subprocess.run([lib.SONDE, "check", path], capture_output=True, text=True, check=False, timeout=60,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)))
    lib.check(done.returncode == 3 and "far longer when decompressed than recorded events are" in done.stdout,
              f"{done.returncode}: {done.stdout} {done.stderr}")
    got = [line for line in events(path) if " lost" not in line]
    lib.check(got == [line for line in events(folder / "plain") if " lost" not in line], f"{len(got)} events in front")


def check_expansion_of_one(file, folder):
    """Of several files, one is that, and another one is damaged: each is told as what it is."""
    others, cpus = file.split()
    place = folder / "one expands"
    place.mkdir()
    rounds = struct.pack("<IHH", FINISHED_ROUND, 0, 8) * (32 << 17)
    file.write(place / "data", others, features=ZSTD_FEATURE | DIR_FEATURE)
    (place / "data.0").write_bytes(packed(rounds))
    (place / "data.1").write_bytes(in_records([b"no zstd"]))
    (place / "data.2").write_bytes(packed(cpus[1]))
    done = checked(place)
    lib.check(done.returncode == 3 and re.search(r"data\.0, offset \d+: compressed records are far longer", done.stdout)
              and re.search(r"data\.1, offset \d+: compressed records are damaged", done.stdout), f"{done.returncode}: {done.stdout}")


def check_missing_between(folder):
    """Those behind one that is missing are read, and it is named: no CPU of theirs is blamed."""
    want = events(folder)
    for to, told in ((2, "data.0 is missing (and 1 more)"), (1, "data.0 is missing:")):
        (folder / "data.0").rename(folder / f"data.{to}")
        got, done = events(folder), checked(folder)
        (folder / f"data.{to}").rename(folder / "data.0")
        lib.check(got == want, f"data.{to}: {len(got)} events, {len(want)} of the same file in its place")
        lib.check(done.returncode == 3 and told in done.stdout and "CPU 0" not in done.stdout, f"{done.returncode}: {done.stdout}")


def check_missing(file, paths, folder):
    """A file that is not there is a CPU that is not known; none of them is a refusal."""
    (paths["directory"] / "data.1").unlink()
    done = checked(paths["directory"])
    lib.check(done.returncode == 3 and "there is no stream of CPU 1" in done.stdout, f"{done.returncode}: {done.stdout}")
    check_missing_between(paths["directory"])
    (paths["directory"] / "data.0").unlink()
    done = checked(paths["directory"])
    lib.check(done.returncode == 1 and "are not beside it" in done.stderr, f"{done.returncode}: {done.stdout} {done.stderr}")
    # Compressed records of a file that does not say so.
    file.write(folder / "silent", packed(file.records))
    lib.check("its header does not say" in checked(folder / "silent").stderr, "a header that says nothing")


def check_pipe(paths):
    """A pipe where a file should be is refused, and nobody waits for what comes out of it."""
    os.mkfifo(paths["packed directory"] / "data.2")
    done = checked(paths["packed directory"])
    lib.check(done.returncode and "data.2 is not a regular file" in done.stdout + done.stderr, f"{done.returncode}: {done.stdout}")


def check_one_cpu(file, folder):
    """Of `perf record -a -C 0` each event has one number, and the other CPUs are not known, rather than idle."""
    others, cpus = file.split()
    head = bytearray(file.head)
    _, _, each, attrs, length, *_ = HEADER.unpack_from(head)
    for at in range(attrs, attrs + length, each):
        assert struct.unpack_from("<Q", head, at + each - 8)[0] == 8 * len(cpus), "numbers of each event"
        struct.pack_into("<Q", head, at + each - 8, 8)
    file.head, whole = bytes(head), file.head
    file.write(folder / "one-cpu", others + cpus[0])
    file.head = whole
    done = checked(folder / "one-cpu")
    lib.check(done.returncode == 3 and "there is no stream of CPU 1" in done.stdout, f"{done.returncode}: {done.stdout}")
    history = folder / "one-cpu.sonde"
    lib.run(lib.SONDE, "analyze", "-q", folder / "one-cpu", "-o", history)
    rows = json.loads(lib.run(lib.SONDE, "sql", "--format", "json", history, "select cpu, total, unknown from cpu_time"))
    unknown = {row["cpu"].rpartition("/")[2]: row["unknown"] / row["total"] for row in rows}
    lib.check(unknown["1"] == 1 and unknown["0"] < 0.5, f"of the CPU that was not recorded: {rows}")


def main():
    lib.need("zstd")
    recorded = next(lib.unpacked(lib.SAMPLES / "perf-data-6.1.tar.xz").rglob("host.data"))
    with tempfile.TemporaryDirectory() as name:
        folder, file = Path(name), File(recorded)
        paths = made(file, folder)
        check_same(paths, folder / "plain")
        check_one_cpu(file, folder)
        check_damaged(file, folder)
        check_cut(paths)
        check_cut_between(paths)
        check_damaged_place(paths)
        check_links(paths)
        check_pipe(paths)
        check_silent_damage(file, folder)
        check_other_place(file, folder)
        check_copied(file, folder)
        check_expansion_of_one(file, folder)
        check_expansion(file, folder)
        check_missing(file, paths, folder)


if __name__ == "__main__":
    main()
