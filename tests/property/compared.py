#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A run is compared with what is left of it after a cut: nothing has changed where all of it is known.

What a gap hides is unknown, and no 0: a measure that counts in each part of both runs is the same in both,
but for what a part may lack and still count.
"""

import json
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent), str(Path(__file__).resolve().parent)]
import lib  # noqa: E402
import property.cuts as cuts  # noqa: E402

SETS = {"lttng": 14, "ftrace": 10, "lab-run-containers-6.1": 6}  # cuts of each
FOUND_ONCE = {"lttng": [6, 10, 13, 14], "lab-run-containers-6.1": [12]}
LACKING = 20000  # ppm of a part that may be unknown: analysis/compare/known_slices.c
PARTS = 24


def sonde(*args):
    return json.loads(subprocess.run([lib.SONDE, *args, "--format", "json"], capture_output=True, check=True).stdout)


def window(*histories):
    """In which all of them were recorded, in seconds."""
    infos = [sonde("info", history) for history in histories]
    begin, end = max(i["traced_begin"] for i in infos), min(i["traced_end"] for i in infos)
    return f"{begin // 10**9}.{begin % 10**9:09},{end // 10**9}.{end % 10**9:09}" if end - begin > PARTS * 1000 else None


def changed(whole, cut, *times):
    """Of measures that are known throughout: how many there are, and those that are not the same."""
    if not times:
        if not (both := window(whole, cut)):
            return 0, []
        times = ["--time", both]
    rows = [r for r in sonde("compare", whole, cut, *times)["compare"]
            if r["known_before"] == r["known_after"] == PARTS and r["chance"] >= 0]
    return len(rows), [r for r in rows if r["size"] > 2 * (LACKING if r["unit"] == "ppm" else r["before"] * LACKING / 1e6)]


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    wrong = held = cut_runs = differing = 0
    with tempfile.TemporaryDirectory() as name:
        target, cut = Path(name) / "cut", Path(name) / "cut.sonde"
        for runner in (cuts.Runner(Path(name), s) for s in SETS):
            differing += len(changed(runner.history, runner.history, "--time", "0%,50%", "--time2", "50%,100%")[1])
            kinds = runner.evident()
            for number in [*FOUND_ONCE.get(runner.name, []), *range(seed, seed + SETS[runner.name])]:
                shutil.rmtree(target, ignore_errors=True)
                done = runner.recording.damage(random.Random(f"{runner.name} {number}"), target, kinds)
                if cuts.analyse(target, cut).returncode not in (0, cuts.LEFT_OUT):
                    continue
                nr, rows = changed(runner.history, cut)
                held += nr
                cut_runs += nr > 0
                wrong += bool(rows)
                for row in rows:
                    print(f"{runner.name} {number} {done}: {row}")
    print(f"{held} measures of {cut_runs} cuts held, {wrong} cuts with a change that is none")
    lib.check(differing >= 5, f"what differs from one half of a run to the other is not found: {differing}")
    lib.check(held >= 150 and cut_runs >= 10, "too few to mean anything")
    lib.check(not wrong, f"{wrong} cuts")


if __name__ == "__main__":
    main()
