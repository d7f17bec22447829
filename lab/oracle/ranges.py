# SPDX-License-Identifier: Apache-2.0
"""Samples of halted CPUs and of kernels, whose moment is known between two limits only.

Such a sample is held against the history where that shows one state from the lower limit to the upper one, each
widened by the clock's bound; elsewhere it says nothing.

A hypervisor traces that it enters its guest some instructions before it does, and there the emulator often waits, for
milliseconds on a busy system: an interrupt is pending that will end the guest's run at once.  And it loads its guest's
segments before it enters and some time after it left.  So a hypervisor's kernel where the history already shows its
guest, and a guest's segments where it shows the hypervisor (or a machine without a trace, which may be at that), are
counted apart.
"""
from dataclasses import dataclass


HYPERVISORS = ("hypervisor", "guest")


@dataclass
class Range:
    sample: dict
    state: object   # None: the history shows a change between the limits
    inside: dict    # {machine: set of the machines inside it, at any depth}

    def entering(self):
        if self.sample["is"] != "kernel":
            return False
        hardware, shown = self.sample["machine"], self.state.machine
        return (shown in self.inside.get(hardware, ())
                or self.state.mode in HYPERVISORS and hardware in self.inside.get(shown, ()))

    def silent(self):
        """Events were lost, and the history says nothing."""
        return self.state.mode == "unknown"

    def agrees(self):
        if self.sample["is"] == "idle":
            return self.state.mode == "idle"
        # A guest's kernel is seen in the guest; its hypervisor's, and that of a halted CPU, at home.
        return self.state.machine == self.sample["machine"]

    def says(self):
        halted = " halted" if self.sample["is"] == "idle" else "'s kernel"
        return (f"CPU {self.sample['cpu']} in reading {self.sample['n']}: hardware "
                f"{self.sample['machine']}{halted}, history {self.state}")


def machines_inside(history):
    """{machine: set of the machines inside it, at any depth}"""
    rows = history.tables["machine"]
    inside = {row["name"]: set() for row in rows}
    for row in rows:
        parent = int(row["parent"])
        while parent >= 0:
            inside[rows[parent]["name"]].add(row["name"])
            parent = int(rows[parent]["parent"])
    return inside


def judge(history, samples, clock):
    """A Range for each sample; `clock` is what judge.clock_of() said."""
    key = clock.replace("tsc", "tsc_range").replace("mono_ns", "mono_range")
    limits = [[history.l0_time(limit) for limit in sample[key]] for sample in samples]
    slack = [max(bound, 0) for bound in history.bounds(
        [(sample["machine"], low) for sample, (low, _) in zip(samples, limits)])]
    questions = [(sample["cpu"], time) for sample, (low, high), more in zip(samples, limits, slack)
                 for time in (low - more, high + more)]
    states, inside = history.states(questions), machines_inside(history)
    return [Range(sample, low if (low.begin, low.end) == (high.begin, high.end) else None,
                  inside)
            for sample, low, high in zip(samples, states[::2], states[1::2])]
