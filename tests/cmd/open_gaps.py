#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gaps of which it is not known until when they last: where a file is cut off."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402


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
    return texts, fields, json.loads(sonde("report", "-s", "loss", history, "--format", "json"))["loss"], history


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
            lib.check(rows[0]["length"] == -1, f"{name}: {rows}")
            table = sonde("report", "-s", "loss", history)
            lib.check(re.search(r"^host0 +0 +[\d.]+ +- +-$", table, re.M), table)
        else:
            lib.check(rows[0]["length"] > 9e8, f"{name}: {rows}")


def cut_dat(scratch):
    trace = scratch / "cut.dat"
    data = (lib.ROOT / "samples/ftrace/host0.dat").read_bytes()
    trace.write_bytes(data[:len(data) * 3 // 4])
    texts, fields, rows, _ = gaps(trace)
    lib.check(texts == ["events=unknown length=unknown"] and fields == [None], f"{texts} {fields}")
    lib.check(len(rows) == 1 and rows[0]["length"] > 9e8, f"{rows}")


def main():
    with tempfile.TemporaryDirectory() as name:
        for test in (cut_ctf, cut_dat):
            test(Path(name))


if __name__ == "__main__":
    lib.need(str(lib.SONDE))
    main()
