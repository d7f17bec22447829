#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 900
"""The causes that the lab's scenarios plant, and what Sonde makes of them: one table, with the guests' traces and from the
host's trace alone, side by side.

  waits    what a vCPU waited for; planted by works (truth.json: "causes"), judged by the interrupt that the guest's own
           kernel handled next (waits.py); the time between the first work's begin and the last one's end
  steal    who has the CPU while a vCPU is ready; judged by the emulated hardware's registers (attribution.py), sample by sample
  held up  a work that never sleeps, on a vCPU that is pinned, as is all around it: whenever another program has its CPU, it
           is held up by that one, or what is around it is; by the machine of that program
  pause    a machine that its VMM stops: the time that was asked for
  quota    virtual CPUs in a cgroup with cpu.max: the time for which the kernel says (cpu.stat) that it was used up

"Right" is the share of the planted time (or samples) that is put down to its cause, "false" what is put down to something else;
what Sonde calls unknown is neither.  The goal is 99 %, and no false one.

usage: planted.py [RUN...]: directories of lab runs (truth.json, L0/run); without any, those in samples/lab, among the shared sets
and in build/lab/runs.  The exit status is 1 where the goal is missed."""

import json
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402

sys.path[:0] = [str(lib.ROOT)]
import attribution  # noqa: E402
import waits  # noqa: E402
from lab.lib import scenario  # noqa: E402
from lab.lib.failure import Failure  # noqa: E402
from lab.oracle import names  # noqa: E402
from lab.oracle.history import History  # noqa: E402
from lab.oracle.judge import clock_of  # noqa: E402

GOAL = 0.99
LATE_NS = 200_000_000       # a VMM that was told to go on does so when it gets a CPU
HEAD = ("run", "planted", "in", "guests traced: right", "false", "host alone: right", "false")


@dataclass
class Found:
    """What one history says of one planted cause."""
    planted: int = 0        # ns or samples
    right: int = 0
    false: int = 0
    nothing: str = "none"   # what stands there when there is nothing to judge

    def cells(self, of_time):
        if not self.planted:
            return self.nothing, "-"
        amount = f"{self.planted / 1e9:.3f} s" if of_time else f"{self.planted} samples"
        return f"{100 * self.right / self.planted:.2f} % of {amount}", str(self.false)

    def misses(self):
        return self.false or self.right < GOAL * self.planted


@dataclass
class Row:
    run: str
    planted: str
    machine: str
    of_time: bool
    sides: list             # Found, Found: guests traced, host alone

    def cells(self):
        return (self.run, self.planted, self.machine, *(cell for side in self.sides for cell in side.cells(self.of_time)))


class Side:
    """One history of a run: of all its traces, or of the host's alone."""

    def __init__(self, title, traces, scratch):
        self.path, self.told = attribution.analyse(title, traces, scratch)
        self.run = History(self.path)
        self.waits = waits.waits_of(self.path, "--time", "0%,100%")


class Run:
    """A kept run: what was planted, what its guests' own kernels recorded, and both histories."""

    def __init__(self, directory, scratch):
        self.name = directory.name
        self.truth = json.loads((directory / "truth.json").read_text())
        samples = directory / "samples.json"
        self.samples = json.loads(samples.read_text()) if samples.is_file() else None
        gathered = directory / "L0/run"
        host = next(path for path in (gathered / "host0/trace.dat", gathered / "host0", gathered / "L0/trace.dat") if path.exists())
        self.all = Side(f"{self.name}-all", [gathered], scratch)
        self.alone = Side(f"{self.name}-host", [host], scratch)
        self.guests = waits.Guests([gathered])
        self.clocks = [self.truth["machines"]["L0"][moment][0] for moment in ("clocks_begin", "clocks_end")]

    def l0_time(self, tsc):
        """The history's time for L0's cycle counter, whichever clock L0 was recorded with."""
        begin, end = self.all.run.limits()
        first, last = self.clocks
        if begin <= self.all.run.l0_time(first["tsc"]) <= end:
            return self.all.run.l0_time(tsc)
        ns_per_tick = (last["mono_ns"] - first["mono_ns"]) / (last["tsc"] - first["tsc"])
        return self.all.run.l0_time(first["mono_ns"] + round((tsc - first["tsc"]) * ns_per_tick))

    def works(self):
        """(work, begin, end) in L0's time, of those that came to their end."""
        for work in self.truth["works"].values():
            offset = self.truth["machines"][work["machine"]]["tsc_offset_to_l0"]
            if offset is not None and work["tsc_begin"] and work["tsc_end"]:
                yield work, *(self.l0_time(work[moment] - offset) for moment in ("tsc_begin", "tsc_end"))

    def level(self, machine):
        return self.truth["machines"][machine]["level"]


def is_machine(name, machine):
    """A nested machine's name in a history may have its parents' before it."""
    return name.rsplit(".", 1)[-1] == machine


# ---- what vCPUs waited for ----------------------------------------------------------------------------------------


def planted_waits(run):
    """{machine: (its planted causes, begin, end)}"""
    found = {}
    for work, begin, end in run.works():
        if run.level(work["machine"]) and work["causes"]:
            causes, first, last = found.get(work["machine"], (set(), begin, end))
            causes = causes | {waits.PLANTED.get(cause, cause) for cause in work["causes"]}
            causes -= {"ipi"} if run.truth["machines"][work["machine"]]["cpus"] == 1 else set()
            found[work["machine"]] = (causes, min(first, begin), max(last, end))
    return found


def unplugged(run, machine):
    """{CPU: (since, until)} of those that the machine took down and up again."""
    found = {}
    for action in run.truth["actions"]:
        verb, cpu, *_ = action["action"].split() + [None]
        if action["by"] == machine and verb in ("unplug", "plug"):
            at = run.l0_time(action["tsc"] - run.truth["machines"][machine]["tsc_offset_to_l0"])
            since, _ = found.get(int(cpu), (at, None))
            found[int(cpu)] = (since, at)
    return found


def judge_waits(run, machine, of_vcpu, begin, end):
    """What was planted and what was told, by cause, of the waits of some vCPUs; and the false ones.  One that is unplugged
    waits for nothing of that, whatever it handles first when it is back."""
    sums, false, away = Counter(), [], unplugged(run, machine)
    for vcpu, its in of_vcpu.items():
        since, until = away.get(vcpu[1], (end, end))
        its = [wait for wait in its if begin <= wait["at"] and wait["until"] <= end
               and (wait["until"] <= since or wait["at"] >= until)]
        one, wrong = waits.judge(its, run.guests, vcpu)
        sums += one
        false += wrong
    return sums, false


def found_waits(judged, cause, nothing):
    sums, false = judged
    return Found(sums["ended by", cause], sums["told", cause], sum(cause in handled for _, handled in false), nothing)


def why_no_waits(run, machine):
    """What stands where a machine has no wait that can be judged."""
    if not any(is_machine(name, machine) for name, _ in run.guests.events):
        return "no trace"
    busy = any(work["machine"] == machine and not work["causes"] for work, *_ in run.works())
    return "never idle" if busy and run.truth["machines"][machine]["cpus"] == 1 else "none"


def rows_of_waits(run):
    for machine, (causes, begin, end) in planted_waits(run).items():
        its = {vcpu: found for vcpu, found in run.all.waits.items() if is_machine(vcpu[0], machine)}
        names = waits.same_vcpus(run.all.waits, run.alone.waits)
        alone = {vcpu: names[vcpu] for vcpu in its if vcpu in names}
        judged = [judge_waits(run, machine, of, begin, end) for of in (its, alone)]
        nothing = why_no_waits(run, machine)
        for cause in sorted(causes):
            sides = [found_waits(side, cause, nothing) for side in judged]
            yield Row(run.name, f"waits for {cause}", machine, True, sides)


# ---- who has the CPU ----------------------------------------------------------------------------------------------


def samples_in(run, side):
    """(time, Program) by the names that the history has."""
    programs = attribution.samples_of(run.samples)(side.run)
    if not programs:
        return []
    clock = clock_of(side.run, programs)
    return [(side.run.l0_time(getattr(program, clock)), program) for program in programs]


def found_steal(run, side):
    culprits, victims = attribution.hold(run.name, side.told, samples_in(run, side))
    false = len(culprits.false) + len(victims.false)
    return Found(culprits.judged, culprits.judged - false, false)


def rows_of_steal(run):
    if run.samples:
        yield Row(run.name, "steal", "all", False, [found_steal(run, side) for side in (run.all, run.alone)])


def around(run, machine):
    """The machines that it is in, but L0; the innermost first."""
    parent = run.truth["machines"][machine]["parent"]
    return [parent, *around(run, parent)] if run.level(machine) > 1 else []


def always_ready(run):
    """(machine, its CPU of the host, begin, end) of works that never sleep where they can go nowhere else."""
    try:
        machines = scenario.load(run.truth["scenario"]).machines()
    except Failure:
        return
    acted = {word for action in run.truth["actions"] for word in action["action"].split()[1:2]}
    for work, begin, end in run.works():
        chain = [work["machine"], *around(run, work["machine"])] if run.level(work["machine"]) and not work["causes"] else []
        fixed = [machines[name].cpus == 1 and machines[name].pin and name not in acted for name in chain if name in machines]
        if chain and len(fixed) == len(chain) and all(fixed):
            pin = machines[chain[-1]].pin
            yield work["machine"], pin.get("0", pin.get(0)), begin, end


def names_in(run, side):
    """{name in the lab: name in that history}"""
    rows = side.run.tables["machine"]
    return {name: rows[number]["name"] for name, number in names.match(side.run, run.samples["machines"]).items()}


def found_held_up(run, side, machine, cpu, begin, end):
    """{whose program had the CPU: Found}"""
    called = names_in(run, side)
    lab = {name: in_lab for in_lab, name in called.items()}
    chain = {called.get(name) for name in (machine, *around(run, machine))}
    blames, bounds = attribution.Blames(side.told["preemption_list"]), attribution.bounds_of(side.told)
    margin, found = max(bounds.values()) + attribution.MARGIN_NS, {}
    for t, sample in samples_in(run, side):
        by = lab.get(sample.machine, sample.machine)
        if sample.cpu != cpu or machine in (by, *around(run, by)) or not begin < t < end:
            continue
        rows = [row for row in blames.at(cpu, t, -margin) if row["vcpu"]["machine"] in chain]
        right = any(attribution.names_culprit(row, sample, sample.machine in bounds) for row in rows)
        one = found.setdefault(by, Found())
        one.planted += 1
        one.right += right
        one.false += bool(rows) and not right
    return found


def seen(run, machine, by, found):
    """What is around it has no trace in the host's alone: whether it, or somebody there, was ready is no event of the host's."""
    silent = by in around(run, machine) and not found.right and not found.false
    return Found(nothing="not seen") if silent else found


def rows_of_held_up(run):
    for machine, cpu, begin, end in always_ready(run) if run.samples else []:
        sides = [found_held_up(run, side, machine, cpu, begin, end) for side in (run.all, run.alone)]
        for by in sorted({by for side in sides for by in side}):
            traced, alone = (side.get(by, Found()) for side in sides)
            yield Row(run.name, f"held up by {by}", machine, False, [traced, seen(run, machine, by, alone)])


# ---- what happened to a machine -----------------------------------------------------------------------------------


def pauses(run):
    """(machine, begin, end, ns that were asked for)"""
    began = {}
    for action in run.truth["actions"]:
        verb, *words = action["action"].split()
        if verb == "pause":
            at = run.l0_time(action["tsc"])
            if action["moment"] == "begin":
                began[words[0]] = at
            elif words[0] in began:
                yield words[0], began[words[0]], at, int(float(words[1]) * 1e9)


def found_pause(side, machine, begin, end, asked):
    told = Counter()
    for vcpu, its in side.waits.items():
        for wait in its if is_machine(vcpu[0], machine) else []:
            told[wait["cause"]] += max(0, min(wait["until"], end + LATE_NS) - max(wait["at"], begin))
    return Found(asked, min(told["host"], asked), sum(ns > asked // 10 for cause, ns in told.items() if cause in waits.NAMED))


def rows_of_pause(run):
    for machine, begin, end, asked in pauses(run):
        yield Row(run.name, "pause", machine, True,
                  [found_pause(side, machine, begin, end, asked) for side in (run.all, run.alone)])


def limits(run):
    """(machine, begin, end, ns for which its quota was used up, by its parent's kernel)"""
    began = {}
    for action in run.truth["actions"]:
        verb, *words = action["action"].split()
        if verb == "limit":
            at = run.l0_time(action["tsc"])
            if action["moment"] == "begin":
                began[words[0]] = at
            elif words[0] in began:
                yield words[0], began[words[0]], at, run.truth["limits"][words[0]]["throttled_usec"] * 1000


def found_quota(side, machine, begin, end, planted):
    """More than that by a hundredth is false."""
    told = 0
    for row in side.told["preemption_list"]:
        if row["why"] == "throttled":
            ns = min(row["at"] + row["length"], end) - max(row["at"], begin)
            told += max(ns, 0) if is_machine(row["vcpu"]["machine"], machine) else 0
    return Found(planted, min(told, planted), int(told > (2 - GOAL) * planted))


def rows_of_quota(run):
    of_all = list(limits(run))
    for machine, begin, end, planted in of_all:
        yield Row(run.name, "quota", machine, True,
                  [found_quota(side, machine, begin, end, planted) for side in (run.all, run.alone)])
    for side in (run.all, run.alone):
        limited = [machine for machine, *_ in of_all]
        others = [row for row in side.told["preemption_list"] if row["why"] == "throttled"
                  and not any(is_machine(row["vcpu"]["machine"], machine) for machine in limited)]
        lib.check(not others, f"{run.name}: a quota is told of vCPUs that have none: {others[:3]}")


KINDS = (rows_of_waits, rows_of_steal, rows_of_held_up, rows_of_pause, rows_of_quota)


def kept_runs():
    for archive in lib.archives("lab-run-*"):
        yield lib.unpacked(archive)
    for directory in sorted((lib.BUILD / "lab/runs").glob("*")):
        if (directory / "truth.json").is_file() and (directory / "L0/run/run.json").is_file():
            yield directory


def table(rows):
    lines = [HEAD, ["---"] * len(HEAD), *(row.cells() for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main():
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for directory in [Path(argument) for argument in sys.argv[1:]] or kept_runs():
            run = Run(directory, Path(scratch))
            rows += [row for kind in KINDS for row in kind(run)]
    print(table(rows))
    missed = [" ".join(row.cells()) for row in rows if any(side.misses() for side in row.sides)]
    lib.check(rows, "there is a planted cause")
    # A row may have nothing to judge, but a side that sees nothing anywhere is blind.
    for side, name in enumerate(("with guests' traces", "from the host alone")):
        for of_time, what in ((True, "waits and pauses"), (False, "who had the CPU")):
            of_kind = [row.sides[side] for row in rows if row.of_time == of_time]
            lib.check(not of_kind or any(found.planted for found in of_kind), f"{what} were judged {name}")
    lib.check(not missed, "the goal is missed: " + "; ".join(missed))


if __name__ == "__main__":
    main()
