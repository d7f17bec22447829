#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gaps of which something is not known: until when they last where a file is cut off, how many events each lacks."""

import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402
import perf_parts  # noqa: E402

PAGE = 4096
LOST_SAMPLES = 13


def sonde(*args):
    done = subprocess.run([lib.SONDE, *args], capture_output=True, text=True, check=False)
    lib.check(done.returncode in (0, 3), f"{args}: exit status {done.returncode}: {done.stderr}")
    return done.stdout


def gaps(trace):
    """What `events` prints of each gap, its length for a program, and rows of the table of losses."""
    texts = re.findall(r" lost: (.*)", sonde("events", "-q", trace, "-e", "lost"))
    fields = [json.loads(line)["fields"]["length"] for line in
              sonde("events", "-q", trace, "-e", "lost", "--format", "json", "--fields", "length").splitlines()]
    history = trace.with_suffix(".sonde")
    sonde("analyze", "-q", trace, "-o", history)
    return texts, fields, json.loads(sonde("report", "-t", "gap", history, "--format", "json"))["gap"], history


def cut_ctf(scratch):
    """The header of a packet that is cut off says when the packet ended, and not when the gap did."""
    for name, keep in (("end", -1000), ("middle", 700000)):
        trace = scratch / name
        shutil.copytree(lib.ROOT / "samples/lttng/host0", trace)
        stream = trace / "ch0_0"
        data = stream.read_bytes()
        stream.write_bytes(data[:keep])
        texts, fields, rows, history = gaps(trace)
        lib.check(texts == ["events=unknown length=unknown"] and fields == [None], f"{name}: {texts} {fields}")
        lib.check(len(rows) == 1, f"{name}: {rows}")
        if name == "end":  # behind it there is nothing
            lib.check(rows[0]["length"] == rows[0]["at_most"] == -1, f"{name}: {rows}")
            table = sonde("report", "-t", "gap", history)
            lib.check(re.search(r"^host0 +0 +[\d.]+ +- +- +-$", table, re.M), table)
        else:
            lib.check(rows[0]["length"] > 9e8, f"{name}: {rows}")


def cut_dat(scratch):
    trace = scratch / "cut.dat"
    data = (lib.ROOT / "samples/ftrace/host0.dat").read_bytes()
    trace.write_bytes(data[:len(data) * 3 // 4])
    texts, fields, rows, _ = gaps(trace)
    lib.check(texts == ["events=unknown length=unknown"] and fields == [None], f"{texts} {fields}")
    lib.check(len(rows) == 1 and rows[0]["length"] > 9e8, f"{rows}")


def cut_guest(scratch):
    """A VM's file that is cut off, beside its host's that goes on: until when its last gap lasts is not known either."""
    run = scratch / "guest"
    shutil.copytree(lib.ROOT / "samples/ftrace", run)
    (run / "vm-b.dat").unlink()
    lib.run("trace-cmd", "convert", "-i", lib.ROOT / "samples/ftrace/vm-b.dat", "-o", run / "vm-b.dat", "--file-version", "6", "--compression", "none")
    os.truncate(run / "vm-b.dat", (run / "vm-b.dat").stat().st_size * 3 // 4)
    sonde("analyze", "-q", run, "-o", scratch / "guest.sonde")
    rows = json.loads(sonde("report", "-t", "gap", scratch / "guest.sonde", "--format", "json"))["gap"]
    lib.check([(row["machine"], row["length"]) for row in rows] == [("vm-b", -1)], f"{rows}")
    told_as_open(scratch / "guest.sonde", rows[0])


def told_as_open(history, row):
    """A gap that may last to the end is no moment: all say so, and in a window behind its beginning, too."""
    begin, end = row["at"], json.loads(sonde("info", "--format", "json", history))["end"]
    lib.check(row["at_most"] == end - begin, f"{row}, the history ends at {end}")
    length = f"{(end - begin) / 1e6:.1f} ms"
    said = f"Events are missing on CPU 0 of vm-b from {begin / 1e9:.9f} on, at most to the end ({length})"
    later = ("--time", f"{(begin + 1000000) / 1e9:.9f}s,{(begin + 2000000) / 1e9:.9f}s")
    for args in (("report",), ("report", *later), ("why",)):
        lib.check(said in sonde(*args, history), f"{args}: not {said}: {sonde(*args, history)[:600]}")
    # A moment has the length of its state: the gap's beside it would be taken for another of that.
    state = sonde("state", "--at", f"{(begin + 1000000) / 1e9:.9f}s", history)
    lib.check(said.removesuffix(f" ({length})") + "\n" in state and f"({length})" not in state, f"state: {state}")
    lib.check("vm-b" in sonde("report", "-t", "gap", *later, history), "a window behind its beginning")
    lib.check(f"vm-b's trace has 1 gap of at most {length} on CPU 0 from" in sonde("why", history), f"why: {length}")
    lib.check(f"missing in 1 gap, of at most {length} of CPU time in all" in sonde("check", history), f"check: {length}")


def counted_dat(scratch):
    """A page of zeros: both its ends are known, and that the recorder counted the CPU's events says nothing of this gap."""
    run = lib.unpacked(lib.archives("lab-run-shutdown-*", places=[lib.SAMPLES])[0])
    trace = scratch / "counted.dat"
    data = bytearray(next(run.rglob("host0/trace.dat")).read_bytes())
    at = len(data) // 2 // PAGE * PAGE
    data[at:at + PAGE] = bytes(PAGE)
    trace.write_bytes(data)
    texts, fields, rows, history = gaps(trace)
    lib.check(len(texts) == 1 and fields[0] > 0 and texts[0] == f"events=unknown length={fields[0]}", f"{texts} {fields}")
    lib.check([(row["length"], row["events"]) for row in rows] == [(fields[0], -1)], f"{rows}")
    check, info = sonde("check", trace), sonde("info", history)
    for text in (check, info):
        counts = re.search(r"of (\d+) events that the recorder counted the file has (\d+); how many each gap lacks is not known", text)
        lib.check(counts, text)
    missing = int(counts[1]) - int(counts[2])
    lib.check(f"{missing} events are missing" in check and "nothing says how many events each of them lacks" in check, check)


def uncounted_perf(scratch):
    """perf counts what was lost in the end, of all CPUs together."""
    file = perf_parts.File(lib.unpacked(lib.archives("perf-data-*", places=[lib.SAMPLES])[0]) / "host.data")
    said = "events are lost, and no record says on which CPUs"
    for name, more in (("whole", b""), ("lost", struct.pack("<IHHQ", LOST_SAMPLES, 0, 16, 12))):
        trace = scratch / f"{name}.data"
        file.write(trace, file.records + more)
        texts, _, rows, history = gaps(trace)
        for text in (sonde("check", trace), sonde("info", history)):
            lib.check((f": 12 {said}" in text) == bool(more) and (said in text) == bool(more), f"{name}: {text}")
        lib.check(("events=unknown length=unknown" in texts) == bool(more), f"{name}: {texts}")
        lib.check(bool(rows) == bool(more) and all(row["events"] == -1 for row in rows), f"{name}: {rows}")


def main():
    with tempfile.TemporaryDirectory() as name:
        for test in (cut_ctf, cut_dat, cut_guest, counted_dat, uncounted_perf):
            test(Path(name))


if __name__ == "__main__":
    lib.need(str(lib.SONDE), "trace-cmd")
    main()
