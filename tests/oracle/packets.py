#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 300
"""The critical path of who asks another VM over the network, in runs of the lab's scenarios net-*: each answer that the program
counted (truth.json: "periods") came from the program that serves, through its VM's worker and then the asker's, and from nobody
else in that VM.

usage: packets.py [RUN...]: directories of lab runs; without any, those of net-vhost in samples/lab."""

import json
import sys
import tempfile
from itertools import groupby
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402

ANSWERS_FOUND = 0.85        # an answer that is there before it is waited for is on no critical path


def program(truth, serves):
    """(machine, thread, what it said at its end)"""
    for work in truth["works"].values():
        if work["program"].startswith("net ") and ("--serve" in work["program"]) == serves:
            return work["machine"], work["threads"][0]["tid"], work["said"][-1]
    lib.skip("nobody asks another machine")


def visits(history, machine, thread):
    """Whose parts the path has, in order of time, each once."""
    told = json.loads(lib.run(lib.SONDE, "critpath", history, "--task", thread, "--vm", machine, "--format", "json"))
    steps = [(step["thread"]["machine"], step["thread"]["tid"], step["thread"]["comm"])
             for step in told["critical_path"] if step["thread"]]
    return [who for who, _ in groupby(steps)]


def check_run(directory, scratch):
    truth = json.loads((directory / "truth.json").read_text())
    asker, asks, end = program(truth, False)
    server, serves, _ = program(truth, True)
    history = Path(scratch) / "run.sonde"
    lib.run(lib.SONDE, "analyze", "-q", directory / "L0/run", "-o", history)
    path = visits(history, asker, f"net-{end['id']}[{asks}]")
    answers = [i for i, who in enumerate(path) if who[:2] == (server, serves)]
    others = {who for who in path if who[0] == server and who[1] != serves}
    workers = [{name for machine, _, name in path[i:i + 8] if name.startswith("vhost-")} for i in answers]
    both = sum(len(names) == 2 for names in workers)
    print(f"{directory.name}: {end['periods']} answers; the path goes to {server}'s program for {len(answers)}, "
          f"back through both workers for {both}; through others of {server}: {sorted(others)}")
    lib.check(len(answers) >= ANSWERS_FOUND * end["periods"], "too few answers are followed to who sent them")
    lib.check(len(answers) <= end["periods"] + 5, "more answers than there were")
    lib.check(both >= 0.95 * len(answers), "packets go through both VMs' workers")
    lib.check(not others, "threads that sent nothing are on the path")


def main():
    runs = [Path(argument) for argument in sys.argv[1:]] or [
        lib.unpacked(archive) for archive in sorted((lib.ROOT / "samples/lab").glob("lab-run-net-vhost*.tar.zst"))]
    lib.check(runs, "a run of the scenario net-vhost is in samples/lab")
    with tempfile.TemporaryDirectory() as scratch:
        for directory in runs:
            check_run(directory, scratch)


if __name__ == "__main__":
    main()
