#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole pages of a trace.dat are missing, and only the recorder's count tells: all that read it say so, with the same gaps."""

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402
from property.cuts import plain  # noqa: E402
from property.damage import Dat  # noqa: E402

SAID = "between which of its pages the others were is not known"


def said(*args):
    done = subprocess.run([lib.SONDE, *args], capture_output=True, text=True, check=False)
    lib.check(done.returncode in (0, 3), f"{args}: exit status {done.returncode}: {done.stderr}")
    return done.stdout, done.stderr


def gaps_listed(out):
    return sum(" lost: " in line for line in out.splitlines())


def compare(trace, is_whole):
    """How many gaps there are."""
    history = trace.with_suffix(".sonde")
    told = {"events": said("events", trace), "analyze": said("analyze", trace, "-o", history)}
    for command, (_, err) in told.items():
        lib.check((SAID in err) != is_whole, f"{command}: {err}")
    lib.check((SAID in said("check", trace)[0]) != is_whole, "check")
    losses = json.loads(lib.run(lib.SONDE, "report", "-t", "gap", "--time", "0%,100%", "--format", "json", history))["gap"]
    gaps = gaps_listed(told["events"][0])
    print(f"{trace.name}: {gaps} gaps in the events, {len(losses)} in the history")
    return gaps, len(losses)


def main():
    lib.need("trace-cmd")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "ftrace"
        plain(lib.ROOT / "samples/ftrace", folder, "host0.dat")
        whole = Dat(folder / "host0.dat")
        whole.count_whole()
        lib.check(compare(whole.file, True) == (0, 0), "gaps in what is whole")
        data = bytearray(whole.file.read_bytes())
        print(whole.cut_pages(random.Random(3), data, 1, "pages, not said"))
        cut = folder / "cut.dat"
        cut.write_bytes(data)
        gaps, losses = compare(cut, False)
        said = subprocess.run([lib.SONDE, "check", cut], capture_output=True, text=True).stdout
        lib.check("as its tracer or recorder counted" in said and "tracer lost" not in said, f"check: {said}")
        # What is behind a CPU's last event is a gap of the history, and no event of the list.
        lib.check(gaps > 100 and gaps <= losses <= gaps + 1, f"{gaps} gaps in the events, {losses} in the history")


if __name__ == "__main__":
    lib.need(str(lib.SONDE))
    main()
