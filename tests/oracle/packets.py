#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 300
"""The critical path of who asks another VM over the network, in runs of the lab's scenarios net-*: the program counted its
answers (truth.json: "periods").  Each for which it slept already when the other program began to send (the traces' own events
say so) came from that program, through its VM's worker (vhost's, or its VMM) and then the asker's, and from nobody else in that
VM (its kernel may have answered who asked for its address, while any thread of its ran).  One that was on its way before it was
waited for is on the path only as far as it had still to go.

usage: packets.py [RUN...]: directories of lab runs; without any, those of net-vhost in samples/lab."""

import json
import sys
import tempfile
from itertools import groupby
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402

UNFOLLOWED_MAX = 0.4         # steps per answer; where none is followed there are more than two
SENDTO, RECVFROM = "id=44 ", "id=45 "       # x86-64
SLEEPS = "prev_state=1 "
WAY_BACK = 8                # steps from who sent the answer to who asked


def program(truth, serves):
    """The work that serves, or that asks."""
    for work in truth["works"].values():
        if work["program"].startswith("net ") and ("--serve" in work["program"]) == serves:
            return work
    lib.skip("nobody asks another machine")


def visits(history, truth, work):
    """Whose parts the path of a work's first thread has, from its begin to its end, in order of time: (who, begin, end), where who is
    (machine, process, thread, name); those of them that ran code of their own there, not only their kernel's soft interrupts; and
    when packets were not followed."""
    thread, offset = work["threads"][0], truth["machines"][work["machine"]]["tsc_offset_to_l0"]
    window = ",".join(f"tsc:{work[moment] - offset}" for moment in ("tsc_begin", "tsc_end"))
    told = json.loads(lib.run(lib.SONDE, "critpath", history, "--task", f"{thread['comm']}[{thread['tid']}]", "--vm", work["machine"],
                              "--time", window, "--format", "json"))["critical_path"]
    steps = [(tuple(step["thread"][key] for key in ("machine", "pid", "tid", "comm")), step) for step in told if step["thread"]]
    groups = [(who, [step for _, step in group]) for who, group in groupby(steps, lambda step: step[0])]
    path = [(who, group[0]["at"], group[-1]["at"] + group[-1]["length"]) for who, group in groups]
    ran = {who for who, step in steps if step["kind"] == "runs"}
    return path, ran, [step["at"] for step in told if step["kind"] == "waits" and "NET_RX" in step["what"]]


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
    asking, serving = (work["threads"][0]["tid"] for work in (asks, serves))
    history = Path(scratch) / "run.sonde"
    lib.run(lib.SONDE, "analyze", "-q", directory / "L0/run", "-o", history)
    path, ran, unfollowed = visits(history, truth, asks)
    answers = [i for i, (who, _, _) in enumerate(path) if who[0] == server and who[2] == serving]
    others = {who for who in ran if who[0] == server and who[2] != serving}
    workers = [{worker_of(truth, who) for who, _, _ in path[i:i + WAY_BACK]} for i in answers]
    both = sum({asker, server} <= machines for machines in workers)
    slept = [t for t in slept_for(directory, asker, asking, server, serving) if path[0][1] <= t < path[-1][2]]
    print(f"{directory.name}: {periods} answers, {len(slept)} of them sent while it slept for them; "
          f"the path goes to {server}'s program for {len(answers)}, "
          f"back through both workers for {both}; through others of {server}: {sorted(others)}")
    lib.check(slept, "it slept for some answer")
    missed = [t for t in slept if not any(path[i][1] <= t < path[i][2] for i in answers)]
    lib.check(not missed, f"answers are not followed to who sent them: {missed}")
    # A packet that a poll found, with no interrupt of its own, leads nowhere.
    lib.check(len(unfollowed) < UNFOLLOWED_MAX * periods, f"packets are not followed at all: {unfollowed}")
    lib.check(len(answers) <= periods + 5, "more answers than there were")
    lib.check(both >= 0.95 * len(answers), "packets go through both VMs' workers")
    lib.check(not others, "threads that sent nothing are on the path")


def main():
    runs = [Path(argument) for argument in sys.argv[1:]] or [
        lib.unpacked(archive) for archive in lib.archives("lab-run-net-vhost*", places=[lib.SAMPLES])]
    lib.check(runs, "a run of the scenario net-vhost is in samples/lab")
    with tempfile.TemporaryDirectory() as scratch:
        for directory in runs:
            check_run(directory, scratch)


if __name__ == "__main__":
    main()
