#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 300
"""The critical path of who asks another VM over the network, in runs of the lab's scenarios net-*: the program counted its
answers (truth.json: "periods").  Each for which it slept already when the other program began to send (the traces' own events
say so) came from that program, through its VM's worker and then the asker's, and from nobody else in that VM.  One that was on
its way before it was waited for is on the path only as far as it had still to go.

usage: packets.py [RUN...]: directories of lab runs; without any, those of net-vhost in samples/lab."""

import json
import sys
import tempfile
from itertools import groupby
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402

SENDTO, RECVFROM = "id=44 ", "id=45 "       # x86-64
SLEEPS = "prev_state=1 "


def program(truth, serves):
    """(machine, thread, what it said at its end)"""
    for work in truth["works"].values():
        if work["program"].startswith("net ") and ("--serve" in work["program"]) == serves:
            return work["machine"], work["threads"][0]["tid"], work["said"][-1]
    lib.skip("nobody asks another machine")


def path_of(history, machine, thread):
    told = lib.run(lib.SONDE, "critpath", history, "--task", thread, "--vm", machine, "--format", "json")
    return json.loads(told)["critical_path"]


def visits(path):
    """Whose parts the path has, in order of time: (who, begin, end)."""
    steps = [((step["thread"]["machine"], step["thread"]["tid"], step["thread"]["comm"]), step["at"], step["length"])
             for step in path if step["thread"]]
    groups = [list(group) for _, group in groupby(steps, lambda step: step[0])]
    return [(group[0][0], group[0][1], group[-1][1] + group[-1][2]) for group in groups]


def events(directory, machine, tid, *names):
    """Of one thread: (when, event, fields), in order of time."""
    asked = [word for name in names for word in ("-e", name)]
    lines = lib.run(lib.SONDE, "events", directory / "L0/run", "-m", machine, *asked, "--format", "json").splitlines()
    return [(e["t"], e["name"], e["fields"]) for e in map(json.loads, lines) if e["tid"] == tid]


def sleeps(directory, machine, tid):
    """[begin, end) of each time in which it received and slept, until its next system call at the latest."""
    received, begin, found = False, None, []
    for t, name, fields in events(directory, machine, tid, "sys_enter", "sched_switch"):
        if name == "sys_enter":
            if begin is not None:
                found.append((begin, t))
            received, begin = fields.startswith(RECVFROM), None
        elif received and begin is None and SLEEPS in fields:
            begin = t
    return found


def slept_for(directory, asker, asks, server, serves):
    """When answers were sent for which it slept."""
    sent = [t for t, _, fields in events(directory, server, serves, "sys_enter") if fields.startswith(SENDTO)]
    slept = sleeps(directory, asker, asks)
    return [t for t in sent if any(begin < t < end for begin, end in slept)]


def check_run(directory, scratch):
    truth = json.loads((directory / "truth.json").read_text())
    asker, asks, end = program(truth, False)
    server, serves, _ = program(truth, True)
    history = Path(scratch) / "run.sonde"
    lib.run(lib.SONDE, "analyze", "-q", directory / "L0/run", "-o", history)
    steps = path_of(history, asker, f"net-{end['id']}[{asks}]")
    path = visits(steps)
    unfollowed = [step["at"] for step in steps if step["kind"] == "waits" and "NET_RX" in step["what"]]
    answers = [i for i, (who, _, _) in enumerate(path) if who[:2] == (server, serves)]
    others = {who for who, _, _ in path if who[0] == server and who[1] != serves}
    workers = [{name for (_, _, name), _, _ in path[i:i + 8] if name.startswith("vhost-")} for i in answers]
    both = sum(len(names) == 2 for names in workers)
    slept = slept_for(directory, asker, asks, server, serves)
    print(f"{directory.name}: {end['periods']} answers, {len(slept)} of them sent while it slept for them; "
          f"the path goes to {server}'s program for {len(answers)}, "
          f"back through both workers for {both}; through others of {server}: {sorted(others)}")
    lib.check(slept, "it slept for some answer")
    missed = [t for t in slept if not any(path[i][1] <= t < path[i][2] for i in answers)]
    lib.check(not missed, f"answers are not followed to who sent them: {missed}")
    lib.check(not unfollowed, f"packets are not followed at all: {unfollowed}")
    lib.check(len(answers) <= end["periods"], "more answers than there were")
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
