# SPDX-License-Identifier: Apache-2.0
"""Samples of halted CPUs and of kernels, whose moment is known between two limits only.

Such a sample is held against the history where that shows one state from the lower limit to the upper one, each
widened by the clock's bound; elsewhere it says nothing.
"""
from dataclasses import dataclass


@dataclass
class Range:
    sample: dict
    state: object   # None: the history shows a change between the limits

    def agrees(self):
        if self.sample["is"] == "idle":
            return self.state.mode == "idle"
        # A guest's kernel is seen in the guest; its hypervisor's, and that of a halted CPU, at home.
        return self.state.machine == self.sample["machine"]

    def says(self):
        halted = " halted" if self.sample["is"] == "idle" else "'s kernel"
        return (f"CPU {self.sample['cpu']} in reading {self.sample['n']}: hardware "
                f"{self.sample['machine']}{halted}, history {self.state}")


def judge(history, samples, clock):
    """A Range for each sample; `clock` is what judge.clock_of() said."""
    key = clock.replace("tsc", "tsc_range").replace("mono_ns", "mono_range")
    limits = [[history.l0_time(limit) for limit in sample[key]] for sample in samples]
    slack = [max(bound, 0) for bound in history.bounds(
        [(sample["machine"], low) for sample, (low, _) in zip(samples, limits)])]
    questions = [(sample["cpu"], time) for sample, (low, high), more in zip(samples, limits, slack)
                 for time in (low - more, high + more)]
    states = history.states(questions)
    return [Range(sample, low if (low.begin, low.end) == (high.begin, high.end) else None)
            for sample, low, high in zip(samples, states[::2], states[1::2])]
