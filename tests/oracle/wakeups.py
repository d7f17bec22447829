#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 300
"""Wake-ups in L1 and L2 against what the programs themselves noted (lab/workloads/nap --list): for each time that one was due,
Sonde's wake-up of that thread must end after it was due and before the program was back in user space.  It begins
after it was due, too, but where it fell due while the interrupt of another timer was on its way into the guest: one interrupt is
one wake-up.

usage: wakeups.py [RUN...]: directories of lab runs; without any, those of the scenario "wakeups" among the shared sets and in
build/lab/runs (lab/run wakeups makes one, which is too large for samples/lab)."""

import bisect
import json
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402

sys.path[:0] = [str(lib.ROOT)]
import attribution  # noqa: E402
from lab.oracle.history import History  # noqa: E402

MARGIN_NS = 20_000          # the guest reads its clock and the counter one after the other
COVERED = 0.5               # of the lateness lies within Sonde's legs; the rest is the timer's own, and the way to user space
MATCHED = 0.9               # of the wake-ups that Sonde tells of are ones that the program noted
EARLY = (0, 0.02, 0.15)     # of them, by level, may have begun for something else: fell due on the way of another timer's interrupt
MOVED_NS = 5_000_000


def noted(truth, run):
    """{(machine, thread): [(due, back in user space) in L0's time]}"""
    found = {}
    for work in truth["works"].values():
        offset = truth["machines"][work["machine"]]["tsc_offset_to_l0"]
        wakes = [said for said in work["said"] if said.get("at") == "wake"]
        if not wakes or offset is None or work["machine"] == "L0":
            continue
        tid = next(said["pid"] for said in work["said"] if said["at"] == "begin")
        back = [(run.l0_time(wake["tsc"] - offset), wake["late_ns"]) for wake in wakes]
        found[work["machine"], tid] = [(t - late, t) for t, late in back]
    return found


def told_of(told, machine, tid):
    """(begin, running) of each wake-up of that thread, in order of when it ran: those of its vCPU, and those by an interrupt
    that came while another thread had it."""
    rows = [row for row in told["wakeup_list"] + told["wakeup_awake_list"]
            if row["thread"] and row["thread"]["tid"] == tid and row["thread"]["machine"].rsplit(".", 1)[-1] == machine]
    return sorted(((row["at"], row["at"] + row["total"]) for row in rows), key=lambda pair: pair[1])


def matches(naps, rows, shift=0):
    """(due, back, begin, running) of each nap whose thread Sonde saw to begin to run in that time."""
    runs = [running for _, running in rows]
    for due, back in naps:
        index = bisect.bisect_right(runs, back + shift + MARGIN_NS) - 1
        if index >= 0 and runs[index] >= due + shift:
            yield due + shift, back + shift, *rows[index]


def judge(title, level, naps, rows):
    """One program.  What is early or late is false; how much of the lateness the wake-ups cover."""
    pairs = list(matches(naps, rows))
    early = [begin - due for due, _, begin, _ in pairs if begin < due - MARGIN_NS]
    whole = sum(back - due for due, back, _, _ in pairs)
    covered = sum(running - begin for _, _, begin, running in pairs)
    before = sum(begin - due for due, _, begin, _ in pairs)
    print(f"{title}: {len(naps)} wake-ups noted, {len(pairs)} of {len(rows)} that Sonde tells of are of these; noted "
          f"{whole / 1e6:.3f} ms late in all, Sonde's legs {covered / 1e6:.3f} ms ({covered / max(whole, 1):.1%}), "
          f"before the timer's interrupt {before / 1e6:.3f} ms, from running to user space "
          f"{(whole - covered - before) / 1e6:.3f} ms; {len(early)} begin before they were due")
    lib.check(pairs, f"{title}: no wake-up is told of")
    lib.check(len(early) <= EARLY[level] * len(pairs), f"{title}: wake-ups begin before they were due: {early[:5]} ns")
    lib.check(len(pairs) >= MATCHED * len(rows), f"{title}: Sonde tells of wake-ups that the program did not note")
    lib.check(covered >= COVERED * whole, f"{title}: too little of the lateness is covered")
    moved = sum(len(list(matches(naps, rows, shift))) for shift in (-MOVED_NS, MOVED_NS)) / 2
    lib.check(moved < len(pairs) / 2, f"{title}: moved by 5 ms as many match ({moved}): this proves nothing")


def check_run(directory, scratch):
    truth = json.loads((directory / "truth.json").read_text())
    history, told = attribution.analyse(directory.name, [directory / "L0/run"], scratch)
    found = noted(truth, History(history))
    lib.check(found, f"{directory.name}: no program of a guest noted its wake-ups")
    for (machine, tid), naps in found.items():
        level = truth["machines"][machine]["level"]
        judge(f"{directory.name}: L{level} {machine}", level, naps, told_of(told, machine, tid))


def main():
    runs = [Path(argument) for argument in sys.argv[1:]] or [
        *(lib.unpacked(archive) for archive in sorted(lib.TRACES.glob("lab-run-wakeups*.tar.zst"))),
        *sorted((lib.BUILD / "lab/runs").glob("wakeups-*[0-9]"))]
    if not runs:
        lib.skip("there is no run of the scenario wakeups; lab/run wakeups makes one")
    with tempfile.TemporaryDirectory() as scratch:
        for directory in runs:
            check_run(directory, Path(scratch))


if __name__ == "__main__":
    main()
