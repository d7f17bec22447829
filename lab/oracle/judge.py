# SPDX-License-Identifier: Apache-2.0
"""Holds samples of the hardware against a history.

A sample of a program agrees when the history names its machine and its thread at that moment.  Where the history says
that it does not know, beside a place where events were lost or for a machine whose recording was cut short, and before
its beginning and after its end, it is silent: neither right nor wrong.  Anything else is a miss; a miss nearer to a change of state than the clock's error bound is
the clock's, any other is wrong.

A sample whose moment is only known between two limits counts where the history shows one state throughout.
"""
from dataclasses import dataclass

NO_BOUND = 4294967295  # docs/formats/schema.md


@dataclass
class Program:
    """A program of the lab that named itself, at one moment."""
    cpu: int
    l0_tsc: int
    l0_mono_ns: int
    machine: str
    tid: int | None     # None: only its name is known
    comm: str
    group: str          # by what results are counted: the layer, say

    def name(self):
        return f"{self.machine} {'?' if self.tid is None else self.tid} {self.comm}"


@dataclass
class Verdict:
    sample: Program
    time: int
    state: object
    bound: int = -1
    traced: bool = True
    lossy: bool = False     # events were lost at this state, its beginning or its end
    cut: bool = False       # the recording of the sample's machine is not complete

    def outside(self):
        return self.state.begin == self.state.end

    def silent(self):
        nobody = self.state.mode == "unknown" or self.state.tid < 0
        excused = self.lossy or self.cut and self.state.machine == self.sample.machine
        return self.outside() or excused and nobody and not self.agrees()

    def agrees(self):
        """A machine without a trace of its own shows no threads."""
        if self.state.machine != self.sample.machine:
            return False
        if not self.traced:
            return True
        if self.sample.tid is None:
            return self.state.comm == self.sample.comm
        return self.state.tid == self.sample.tid

    def distance(self):
        return min(self.time - self.state.begin, self.state.end - self.time)

    def missed(self):
        return not self.agrees() and not self.silent()

    def wrong(self):
        return self.missed() and self.distance() > self.bound

    def says(self):
        return (f"CPU {self.sample.cpu} at {self.time}: hardware {self.sample.name()}, history "
                f"{self.state}, {self.distance()} from the next change, bound {self.bound}")


def clock_of(history, samples):
    """"l0_tsc" or "l0_mono_ns": the clock that L0 was traced with, the one that puts the samples into the run."""
    begin, end = history.limits()

    def inside(clock):
        return sum(begin <= history.l0_time(getattr(s, clock)) <= end for s in samples)
    return max(("l0_tsc", "l0_mono_ns"), key=inside)


def judge(history, samples, shift_ns=0):
    """A Verdict for each sample, as if it had been taken shift_ns later."""
    clock = clock_of(history, samples)
    traced = {row["name"]: row["traced"] == "1" for row in history.tables["machine"]}
    times = [history.l0_time(getattr(s, clock)) + shift_ns for s in samples]
    states = history.states([(s.cpu, time) for s, time in zip(samples, times)])
    bounds = history.bounds([(s.machine, time) for s, time in zip(samples, times)])
    losses, cut = history.losses(), history.incomplete()
    return [Verdict(sample, time, state, bound, traced.get(sample.machine, True),
                    any(state.begin <= end and begin <= state.end for begin, end in losses),
                    sample.machine in cut)
            for sample, time, state, bound in zip(samples, times, states, bounds)]


def share(verdicts):
    """How many of them agree, of 1; silent ones do not count."""
    heard = [v for v in verdicts if not v.silent()]
    return sum(v.agrees() for v in heard) / len(heard) if heard else 0.0


def neighbours(history, verdict, count=2):
    """The states around a miss, in order, the one at its moment included."""
    before, after = [], []
    cpu, state = verdict.sample.cpu, verdict.state
    for _ in range(count):
        state = history.states([(cpu, state.begin - 1)])[0]
        before.insert(0, state)
    state = verdict.state
    for _ in range(count):
        state = history.states([(cpu, state.end)])[0]
        after.append(state)
    return [*before, verdict.state, *after]
