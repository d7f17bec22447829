#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 300
"""The fused history against what the hardware did.

While the runs in the sets oracle-* were recorded, the registers of the emulated physical CPUs were
read at random moments; the workload keeps its own name and its last TSC reading in registers.  So
each sample says which process ran on which physical CPU at an exact L0 time.  The history, made
from the traces alone, must name that process: always, when the moment is further from the next
change of state than the clock's error bound; and with a bound worth having.
"""

import json
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402
from fused import LAYERS, analyse, ask, tables  # noqa: E402

SETS = ["oracle-ftrace-tsc-1", "oracle-lttng-1"]
USER_MODES = {"2", "9"}  # user space, or "a thread, user or kernel is not known"
NO_BOUND = 4294967295  # docs/formats/schema.md
WRONG_TIME_NS = 1_000_000
WRONG_TIME_AGREE_MAX = 0.75  # the hand check: 46 to 67 % at 1 ms


def times_of(samples, history):
    """When the samples were taken, in the time of the history: L0's clock model, applied to what
    L0's trace would have recorded."""
    lines = [{key: int(value) for key, value in row.items()}
             for row in tables(history)["tick"] if row["machine"] == "0"]
    # The trace's own clock: TSC for ftrace here, CLOCK_MONOTONIC for LTTng.
    key = "l0_tsc" if "ftrace" in history.parent.name else "l0_mono_ns"

    def to_ns(ticks):
        line = max((x for x in lines if x["from"] <= ticks), key=lambda x: x["from"],
                   default=lines[0])
        return line["at"] + ((ticks - line["from"]) * line["mult"] >> 32)

    return [to_ns(s[key]) for s in samples]


class Judgement:
    """One sample and what the history says about it."""

    def __init__(self, sample, truth, time, row):
        begin, end, machine, _, tid, comm, mode = row
        self.sample, self.truth, self.time = sample, truth[str(sample["id"])], time
        self.machine, self.tid, self.comm, self.mode = machine, int(tid), comm, mode
        self.distance = min(time - int(begin), int(end) - time)
        self.bound = -1

    def agrees(self):
        return self.machine == self.truth["vm"] and self.tid == self.truth["pid"]

    def says(self):
        return (f"CPU {self.sample['cpu']} at {self.time}: hardware {self.truth['vm']} "
                f"{self.truth['pid']} {self.truth['comm']}, history {self.machine} {self.tid} "
                f"{self.comm}, {self.distance} from the next change, bound {self.bound}")


def judge(history, samples, truth, times):
    """What the history says of each sample, with the error bound of the clock of the machine that
    truly ran."""
    text = "".join(f"{s['cpu']} {t}\n" for s, t in zip(samples, times))
    rows = ask(history, "state", text)
    lib.check(len(rows) == len(samples), "one answer per sample")
    judged = [Judgement(s, truth, t, row) for s, t, row in zip(samples, times, rows)]
    text = "".join(f"{j.truth['vm']} {j.time}\n" for j in judged)
    for j, row in zip(judged, ask(history, "bounds", text)):
        j.bound = int(row[0])
    return judged


def check_set(name, scratch):
    directory = lib.shared_set(name)
    scratch = scratch / name
    scratch.mkdir()
    history = analyse(directory, scratch)
    samples = json.loads((directory / "samples-l0.json").read_text())["samples"]
    truth = json.loads((directory / "truth.json").read_text())
    samples = [s for s in samples if all(s["in_window"].values())]
    times = times_of(samples, history)
    judged = judge(history, samples, truth, times)

    misses = [j for j in judged if not j.agrees()]
    outside = [j for j in misses if j.distance > j.bound]
    user = sum(j.mode in USER_MODES for j in judged if j.agrees())
    worst = max(j.bound for j in judged)
    print(f"{name}: {len(judged) - len(misses)} of {len(judged)} samples agree, "
          f"{len(misses)} do not, {len(outside)} of these outside the clock bound; "
          f"user space in {user}; worst bound {worst} ns")
    for layer in LAYERS:
        of = [j for j in judged if j.sample["layer"] == layer]
        print(f"  {layer}: {sum(j.agrees() for j in of)} of {len(of)}, "
              f"bound up to {max((j.bound for j in of), default=0)}")
    for j in misses:
        print("  miss:", j.says())

    shifted = judge(history, samples, truth, [t + WRONG_TIME_NS for t in times])
    share = sum(j.agrees() for j in shifted) / len(shifted)
    print(f"  1 ms later: {share:.0%} agree")
    lib.check(samples, "there are samples")
    lib.check(not outside, f"{name}: {len(outside)} misses outside the clock bound")
    lib.check(share < WRONG_TIME_AGREE_MAX, "a wrong time is noticed")
    lib.check(all(0 <= j.bound < NO_BOUND for j in judged), "every machine's clock has a bound")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        for name in SETS:
            check_set(name, Path(scratch))


if __name__ == "__main__":
    main()
