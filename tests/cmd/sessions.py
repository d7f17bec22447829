#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""LTTng sessions of many parts: rotated, size-limited, snapshots, being written.  n parts tell what the whole tells."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import ctf_parts as ctf  # noqa: E402
import lib  # noqa: E402

HOST = lib.ROOT / "samples/lttng/host0"
MACHINES = sorted(p for p in (lib.ROOT / "samples/lttng").iterdir() if p.is_dir())


def events(path):
    return lib.run(lib.SONDE, "events", "-q", path).splitlines()


def with_messages(path, status=0):
    done = subprocess.run([lib.SONDE, "events", path], capture_output=True, text=True, check=False)
    lib.check(done.returncode == status, f"{path}: exit status {done.returncode}: {done.stderr}")
    return done.stdout.splitlines(), done.stderr


def analyzed(path, history):
    """The history, and the report without what names files."""
    lib.run(lib.SONDE, "analyze", "-q", path, "-o", history)
    return history.read_bytes(), lib.run(lib.SONDE, "report", history).partition("\nProblems")[0]


def common_len(a, b):
    return next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))


def same_history(whole, other, what):
    """Paths stand behind everything else, at the end of a history."""
    lib.check(other[1] == whole[1], f"{what}: another report")
    same = common_len(whole[0], other[0])
    lib.check(same > 0.7 * len(whole[0]), f"{what}: histories differ from byte {same} of {len(whole[0])}")


def part(folder, trace, index=False, metadata=None, **streams):
    """A part of @trace: streams by name, each a list of packets."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "metadata").write_bytes(metadata or (trace / "metadata").read_bytes())
    for name, packets in streams.items():
        if packets:
            ctf.write_stream(folder / name, packets, index)
        else:
            (folder / name).touch()


def read_all(trace):
    return {path.name: ctf.read_stream(path) for path in ctf.streams_of(trace)}


def rotated(root, trace, parts, index=False):
    """As `lttng rotate` leaves it: the last part is where the session is."""
    streams = read_all(trace)
    for i in range(parts):
        folder = root / "kernel" if i == parts - 1 else root / f"archives/2026112{i}T101112+0000-{i + 1}/kernel"
        part(folder, trace, index and i % 2 == 0, **{
            name: packets[slice(*ctf.ranges(len(packets), parts)[i])] for name, packets in streams.items()})


def check_rotated(scratch, want, whole):
    for parts in (2, 3, 7):
        root = scratch / f"rotated{parts}"
        rotated(root, HOST, parts, index=parts != 3)
        lib.check(events(root) == want, f"{parts} parts have other events than the whole")
        same_history(whole, analyzed(root, scratch / "parts.sonde"), f"{parts} parts")
        counted = lib.run(lib.SONDE, "sql", scratch / "parts.sonde", "select count(*) as n from events", "--format", "csv")
        lib.check(counted.split()[-1] == str(len(want)), f"{parts} parts, found again by the history: {counted}")
    # In any order of arguments.
    folders = sorted(p.parent for p in (scratch / "rotated3").rglob("metadata"))
    for order in (folders, folders[::-1], folders[1:] + folders[:1]):
        lib.check(lib.run(lib.SONDE, "events", "-q", *order).splitlines() == want, f"order {order}")


def check_all_machines(scratch):
    whole = analyzed(lib.ROOT / "samples/lttng", scratch / "whole.sonde")
    for machine in MACHINES:
        rotated(scratch / "session" / machine.name, machine, 3, index=True)
    same_history(whole, analyzed(scratch / "session", scratch / "parts.sonde"), "four machines, three parts each")


def check_lost_part(scratch):
    """A part in the middle is gone: check says so, as analyze does; it reads the parts as one trace."""
    kernel, user = scratch / "lost", scratch / "lost-user"
    rotated(kernel, HOST, 3)
    with tarfile.open(lib.ROOT / "samples/ust/lttng-ust-2.13.tar.xz") as archive:
        archive.extractall(user, filter="data")
    user /= "ust/rotated"
    for root, parts in ((kernel, sorted((kernel / "archives").iterdir())), (user, sorted((user / "archives").iterdir()))):
        done = subprocess.run([lib.SONDE, "check", root], capture_output=True, text=True, check=False)
        lib.check(done.returncode == 0 and "missing" not in done.stdout, f"{root}, whole: {done}")
        shutil.copytree(root, headless := scratch / f"{root.name}-headless")
        shutil.rmtree(headless / "archives" / parts[0].name)
        done = subprocess.run([lib.SONDE, "check", headless], capture_output=True, text=True, check=False)
        lib.check(done.returncode == 0 and re.search(r": note: .* not begin with the first packet: ", done.stdout), f"without the first part: {done}")
        os.mkfifo(pipe := next(headless.rglob("metadata")).parent / "ch0_9")
        done = subprocess.run([lib.SONDE, "check", headless], capture_output=True, text=True, check=False)
        lib.check(done.returncode == 3 and f"{pipe.name} is no regular file: it is left out" in done.stdout, f"a pipe: {done}")
        shutil.rmtree(parts[1])
        done = subprocess.run([lib.SONDE, "check", root], capture_output=True, text=True, check=False)
        lib.check(done.returncode == 3 and "packets are missing" in done.stdout, f"{root}, without a part: {done}")
        lib.check(("report -t gap" in done.stdout) == (root == kernel), f"{root}, where its gaps are listed: {done}")
        told = json.loads(lib.run(lib.SONDE, "analyze", root, "-o", scratch / "lost.sonde", "--format", "json"))
        said = json.loads(lib.run(lib.SONDE, "report", scratch / "lost.sonde", "-t", "gap", "-t", "problem", "--format", "json"))
        lib.check(said["gap"] if root == kernel else told["problems"], f"{root}: {told}, {said}")
        # What is lost is no event.
        lib.check(root == kernel or told["events"] == sum(len(events(parts[i])) for i in (0, 2)), f"{root}: {told}")


def check_size_rotated(scratch, want, whole):
    """tracefile-size: ch0_CPU_N, side by side."""
    for index in (False, True):
        root = scratch / f"sized{index}"
        streams = {f"{name}_{i}": [packet] for name, packets in read_all(HOST).items() for i, packet in enumerate(packets)}
        part(root, HOST, index, **streams)
        lib.check(events(root) == want, f"size-rotated files (index: {index}) have other events")
        same_history(whole, analyzed(root, scratch / "parts.sonde"), "size-rotated files")


def check_snapshots(scratch, want, whole):
    """Each has what the ring had at that moment: much of it is in two."""
    for i, (begin, end) in enumerate([(0, 3), (1, 4), (1, 5), (3, 6)]):
        part(scratch / f"snaps/snapshot-{i}-20261123-101112-{i}/kernel", HOST, i % 2 == 0,
             **{name: packets[begin:end] for name, packets in read_all(HOST).items()})
    lib.check(events(scratch / "snaps") == want, "four snapshots that overlap have other events")
    same_history(whole, analyzed(scratch / "snaps", scratch / "parts.sonde"), "four snapshots")


def check_being_written(scratch, want):
    """The last packet is there in part; the index does not have it yet; a packet is open."""
    streams = read_all(HOST)
    root = scratch / "written"
    part(root / "archives/a-1/kernel", HOST, True, **{name: p[:2] for name, p in streams.items()})
    part(root / "kernel", HOST, True, **{name: p[2:] for name, p in streams.items()})
    cut = root / "kernel/ch0_0"
    cut.write_bytes(cut.read_bytes()[:-streams["ch0_0"][-1].packet_bits // 16])
    got, messages = with_messages(root)
    lib.check("ends at offset" in messages, f"a cut file is not told: {messages}")
    known = set(want)
    left = [line for line in got if " lost: " not in line]
    lib.check(all(line in known for line in left), "a file cut short has events that the whole has not")
    lib.check(len(want) > len(left) > 0.8 * len(want), f"{len(left)} of {len(want)} events of a cut file")
    # The same packet, whole, in a snapshot: nothing is missing any more.
    part(root / "snapshot-1/kernel", HOST, ch0_0=streams["ch0_0"][-1:])
    got, messages = with_messages(root)
    lib.check(got == want and "ends at offset" not in messages, f"a packet that another part has whole: {messages}")
    # What LTTng has in a sub-buffer's header until it is closed.
    opened = streams["ch0_1"][-1].changed(end=0, content_bits=2**64 - 1, packet_bits=2**64 - 1)
    ctf.write_stream(root / "kernel/ch0_1", streams["ch0_1"][2:] + [opened])
    got, messages = with_messages(root)
    left = [line for line in got if " lost: " not in line]
    lib.check(left == want, "an open packet changes the others' events")
    lib.check("is impossible" in messages, f"an open packet is not told: {messages}")


def check_missing(scratch, want):
    """A part that is not there is a loss, not a silence."""
    root = scratch / "missing"
    rotated(root, HOST, 5)
    shutil.rmtree(root / "archives/20261122T101112+0000-3")
    got = events(root)
    lib.check(sum(" lost: " in line for line in got) == 2, "a missing part is a loss on each of two CPUs")
    known = set(want)
    left = [line for line in got if " lost: " not in line]
    lib.check(all(line in known for line in left) and len(left) > 0.5 * len(want), "events around a missing part")
    said = lib.run(lib.SONDE, "analyze", root, "-o", scratch / "missing.sonde")
    lib.check("Events are missing on CPU" in said and "in 1 more gap" in said, f"analyze of a missing part: {said}")


def check_strangers(scratch, want):
    """Event classes that differ: one of both is left out, the other is read."""
    root = scratch / "strangers"
    rotated(root, HOST, 3)
    metadata = root / "kernel/metadata"
    text = metadata.read_bytes()
    lib.check(text.count(b"_prev_prio") > 0, "the sample has no field _prev_prio")
    metadata.write_bytes(text.replace(b"_prev_prio", b"_prev_quiz"))
    got, messages = with_messages(root, 3)
    lib.check("says to be of the same trace as" in messages, f"messages: {messages}")
    lib.check(0 < len(got) < len(want), f"{len(got)} events beside a part with other classes")


def check_empty(scratch, want):
    """Chunks in which nothing happened are alike, and are no copies of each other."""
    root = scratch / "empty"
    streams = read_all(HOST)
    part(root / "kernel", HOST, True, **streams)
    for i in range(2):
        part(root / f"archives/2026112{i}T101112+0000-{i + 1}/kernel", HOST, False, **dict.fromkeys(streams, []))
    got, messages = with_messages(root)
    lib.check(got == want and "same trace" not in messages, f"{len(got)} events, messages: {messages}")
    copied = scratch / "copied"
    for name in ("one", "two"):  # of which a CPU has no events
        part(copied / name, HOST, False, ch0_0=streams["ch0_0"], ch0_1=[])
    got, messages = with_messages(copied)
    lib.check("are the same trace; the first is used" in messages, f"messages: {messages}")


def check_peer(scratch, folders):
    """As many events as babeltrace2 finds, where no packet is there twice."""
    if not shutil.which("babeltrace2"):
        print("babeltrace2 is not installed: its counts are not compared")
        return
    for folder in folders:
        theirs = len(lib.run("babeltrace2", scratch / folder).splitlines())
        ours = len(events(scratch / folder))
        print(f"{folder}: {ours} events, babeltrace2 {theirs}")
        lib.check(ours == theirs, f"{folder}: {ours} events, babeltrace2 has {theirs}")


def main():
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        want = events(HOST)
        whole = analyzed(HOST, scratch / "whole.sonde")
        lib.check(len(want) > 40000, f"{len(want)} events in the sample")
        check_rotated(scratch, want, whole)
        check_lost_part(scratch)
        check_size_rotated(scratch, want, whole)
        check_snapshots(scratch, want, whole)
        check_being_written(scratch, want)
        check_missing(scratch, want)
        check_strangers(scratch, want)
        check_empty(scratch, want)
        check_all_machines(scratch)
        check_peer(scratch, ["rotated2", "rotated3", "rotated7", "sizedTrue"])


if __name__ == "__main__":
    lib.need(str(lib.SONDE))
    main()
