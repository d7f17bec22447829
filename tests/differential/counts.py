#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 180
"""How many events of each trace Sonde reads, beside the format's own reader: babeltrace2, trace-cmd, perf.

Without options: the samples, and sessions made of them as LTTng leaves them behind (rotated, limited
in size, snapshots).  --all: also every shared set.  PATH...: these.  --markdown: as a table for
bench/results.  Counts must be equal, but for traces that the other reader is known to give up.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent), str(Path(__file__).resolve().parent.parent / "cmd")]
import lib  # noqa: E402
import sessions  # noqa: E402
from ctf_parts import read_stream  # noqa: E402

SHARED = ("lab-multi-lttng", "oracle-lttng-1", "public-ctf", "lab-multi-ftrace-tsc", "oracle-ftrace-tsc-1",
          "lab-boot-ftrace", "arm64-two-level", "arm64-nested")
# What trace-cmd prints beside events.
NOT_EVENTS = re.compile(rb"^(cpus=\d+|CPU \d+ is empty|CPU:\d+ \[.*|.*\[\d+ EVENTS DROPPED\].*|version = .*|)$")
# perf script leaves samples out that were taken while a guest ran; its dump has all.
SAMPLE = re.compile(rb".*: PERF_RECORD_SAMPLE\(")
# Not of events, but of what else traces have: losses, names of threads.
OURS_ALONE = ("lost", "comm")
# Where the counts differ, and why.
KNOWN = {
    r"CTF2-": "babeltrace2 2.0.4 does not read CTF 2",
    r"funky_trace": "babeltrace2 refuses a clock's offset beyond 64 bits of ns",
    r"apt-get-tree-k|synctraces": "babeltrace2 stops where a time steps back",
    r"four snapshots": "babeltrace2 does not read snapshots that overlap",
}


@dataclass
class Row:
    name: str
    path: Path
    reader: str
    ours: int
    lost: int
    theirs: int | None

    def reason(self):
        return next((why for where, why in KNOWN.items() if re.search(where, f"{self.name} {self.path}")), "")


def ours(path):
    """Events, and places where events were lost."""
    done = subprocess.run([lib.SONDE, "events", "-q", "-c", "--format", "json", path], capture_output=True, text=True)
    lib.check(done.returncode == 0, f"{path}: {done.stderr}")
    counts = json.loads(done.stdout)
    lost = sum(row["count"] for row in counts if row["name"] == "lost")
    return sum(row["count"] for row in counts if row["name"] not in OURS_ALONE), lost


def lines_of(is_event, *command):
    """How many of them are events; None: the reader gave up, or is not there."""
    if not shutil.which(command[0]):
        return None
    with subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        nr = sum(bool(is_event(line)) for line in process.stdout)
    return nr if process.returncode == 0 else None


def any_line(line):
    return not NOT_EVENTS.match(line.rstrip(b"\n"))


def reader_of(path):
    if path.is_dir():
        return any_line, "babeltrace2", path
    with path.open("rb") as file:
        if file.read(8) == b"PERFILE2":
            return SAMPLE.match, "perf", "report", "-D", "-i", path
    return any_line, "trace-cmd", "report", "-N", "-i", path


def count(name, path):
    is_event, *command = reader_of(path)
    return Row(name, path, command[0], *ours(path), lines_of(is_event, *command))


def traces_under(directory):
    """Each that stands alone: a directory with metadata, or a file."""
    found = [p.parent for p in directory.rglob("metadata")]
    found += [p for p in directory.rglob("*.dat*") if p.is_file() and p.suffix in (".dat", ".data")]
    return sorted(found)


def samples():
    for path in traces_under(lib.ROOT / "samples"):
        yield str(path.relative_to(lib.ROOT)), path
    for archive in lib.archives("*", places=(lib.SAMPLES, lib.ROOT / "samples/ust")):
        directory = lib.unpacked(archive)
        found = traces_under(directory)
        if archive.parent.name == "ust":
            found = sorted({p.parents[-len(directory.parts) - 2] for p in found})
        for path in found:
            yield f"{lib.archive_name(archive)}/{path.relative_to(directory)}", path


def shared():
    for name in SHARED:
        directory = lib.shared_set(name)
        for path in traces_under(directory):
            yield f"{name}/{path.relative_to(directory)}", path
    for path in sorted(lib.TRACES.glob("*.dat")):
        yield path.name, path


def made(scratch):
    """Sessions as LTTng leaves them, of the sample's host."""
    for parts in (2, 3, 7):
        sessions.rotated(scratch / f"rotated{parts}", sessions.HOST, parts, index=parts != 3)
        yield f"samples/lttng/host0, rotated into {parts}", scratch / f"rotated{parts}"
    for i, (begin, end) in enumerate([(0, 3), (1, 4), (1, 5), (3, 6)]):
        sessions.part(scratch / f"snapshots/snapshot-{i}-20261123-101112-{i}/kernel", sessions.HOST, i % 2 == 0, **{
            p.name: read_stream(p)[begin:end] for p in sessions.HOST.iterdir() if p.is_file() and p.name != "metadata"})
    yield "samples/lttng/host0, four snapshots that overlap", scratch / "snapshots"


def show(rows, markdown):
    if markdown:
        print("| trace | Sonde | lost | its own reader | |\n|---|---|---|---|---|")
    for row in rows:
        theirs = "-" if row.theirs is None else f"{row.theirs:,}"
        why = row.reason() if row.theirs != row.ours else "the same"
        line = (row.name, f"{row.ours:,}", str(row.lost or ""), f"{row.reader}: {theirs}", why)
        print("| " + " | ".join(line) + " |" if markdown else "  ".join(filter(None, line)))


def judge(rows):
    compared = [row for row in rows if shutil.which(row.reader)]
    if not compared:
        lib.skip("no reader of these formats is installed")
    for row in compared:
        lib.check(row.ours == row.theirs or row.theirs is None and row.reason(),
                  f"{row.name}: {row.ours} events, {row.reader} {row.theirs}")
        lib.check(row.ours > 0, f"{row.name}: no event")
    print(f"{len(compared)} traces compared, {sum(row.ours for row in compared):,} events")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        todo = [(str(p), p) for p in given.paths] or [
            *samples(), *made(Path(name)), *(shared() if given.all else ())]
        rows = [count(*one) for one in todo]
        show(rows, given.markdown)
        judge(rows)


if __name__ == "__main__":
    lib.need(str(lib.SONDE))
    main()
