#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 300
"""The critical path of who asks another VM over the network, in runs of the lab's scenarios net-*: each answer that the program
counted (truth.json: "periods") came from the program that serves, through its VM's worker (vhost's, or its VMM) and then the asker's,
and from nobody else in that VM (its kernel may have answered who asked for its address, while any thread of its ran).

usage: packets.py [RUN...]: directories of lab runs; without any, those of net-vhost in samples/lab."""

import json
import sys
import tempfile
from itertools import groupby
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402

ANSWERS_FOUND = 0.85        # an answer that is there before it is waited for is on no critical path
WAY_BACK = 8                # steps from who sent the answer to who asked


def program(truth, serves):
    """The work that serves, or that asks."""
    for work in truth["works"].values():
        if work["program"].startswith("net ") and ("--serve" in work["program"]) == serves:
            return work
    lib.skip("nobody asks another machine")


def visits(history, truth, work):
    """Whose parts the path of a work's first thread has, from its begin to its end, in order of time: (machine, process, thread, name)
    once for each visit; and those of them that ran code of their own there, not only their kernel's soft interrupts."""
    thread, offset = work["threads"][0], truth["machines"][work["machine"]]["tsc_offset_to_l0"]
    window = ",".join(f"tsc:{work[moment] - offset}" for moment in ("tsc_begin", "tsc_end"))
    told = json.loads(lib.run(lib.SONDE, "critpath", history, "--task", f"{thread['comm']}[{thread['tid']}]", "--vm", work["machine"],
                              "--time", window, "--format", "json"))
    steps = [(tuple(step["thread"][key] for key in ("machine", "pid", "tid", "comm")), step["kind"])
             for step in told["critical_path"] if step["thread"]]
    return [who for who, _ in groupby(who for who, _ in steps)], {who for who, kind in steps if kind == "runs"}


def worker_of(truth, who):
    """The machine whose packets that thread hands on: its vhost worker, or a thread of its VMM that is no vCPU's."""
    machine, pid, tid, name = who
    guests = {guest: facts for guest, facts in truth["machines"].items() if facts["level"]}
    for guest, facts in guests.items() if machine not in guests else []:
        vmm = facts["emulator_pid"]
        if name == f"vhost-{vmm}" or (pid == vmm and tid not in {vcpu["thread"] for vcpu in facts["vcpus"].values()}):
            return guest
    return None


def check_run(directory, scratch):
    truth = json.loads((directory / "truth.json").read_text())
    asks, serves = program(truth, False), program(truth, True)
    asker, server, periods = asks["machine"], serves["machine"], asks["said"][-1]["periods"]
    history = Path(scratch) / "run.sonde"
    lib.run(lib.SONDE, "analyze", "-q", directory / "L0/run", "-o", history)
    path, ran = visits(history, truth, asks)
    answers = [i for i, who in enumerate(path) if who[0] == server and who[2] == serves["threads"][0]["tid"]]
    others = {who for who in ran if who[0] == server and who[2] != serves["threads"][0]["tid"]}
    workers = [{worker_of(truth, who) for who in path[i:i + WAY_BACK]} for i in answers]
    both = sum({asker, server} <= machines for machines in workers)
    print(f"{directory.name}: {periods} answers; the path goes to {server}'s program for {len(answers)}, "
          f"back through both workers for {both}; through others of {server}: {sorted(others)}")
    lib.check(len(answers) >= ANSWERS_FOUND * periods, "too few answers are followed to who sent them")
    lib.check(len(answers) <= periods + 5, "more answers than there were")
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
