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
from fused import LAYERS, History, analyse  # noqa: E402
from lab.oracle.judge import NO_BOUND, Program, judge, share  # noqa: E402

SETS = ["oracle-ftrace-tsc-1", "oracle-lttng-1"]
USER_MODES = {"user", "task"}  # "task": a thread, user or kernel is not known
WRONG_TIME_NS = 1_000_000
WRONG_TIME_AGREE_MAX = 0.75  # the hand check: 46 to 67 % at 1 ms


def programs_of(directory):
    truth = json.loads((directory / "truth.json").read_text())
    for sample in json.loads((directory / "samples-l0.json").read_text())["samples"]:
        if all(sample["in_window"].values()):
            who = truth[str(sample["id"])]
            yield Program(sample["cpu"], sample["l0_tsc"], sample["l0_mono_ns"], who["vm"],
                          who["pid"], who["comm"], sample["layer"])


def check_set(name, scratch):
    directory = lib.shared_set(name)
    scratch = scratch / name
    scratch.mkdir()
    history = History(analyse(directory, scratch))
    samples = list(programs_of(directory))
    judged = judge(history, samples)

    misses = [v for v in judged if not v.agrees()]
    outside = [v for v in misses if v.wrong()]
    user = sum(v.state.mode in USER_MODES for v in judged if v.agrees())
    worst = max(v.bound for v in judged)
    print(f"{name}: {len(judged) - len(misses)} of {len(judged)} samples agree, "
          f"{len(misses)} do not, {len(outside)} of these outside the clock bound; "
          f"user space in {user}; worst bound {worst} ns")
    for layer in LAYERS:
        of = [v for v in judged if v.sample.group == layer]
        print(f"  {layer}: {sum(v.agrees() for v in of)} of {len(of)}, "
              f"bound up to {max((v.bound for v in of), default=0)}")
    for v in misses:
        print("  miss:", v.says())

    wrong_time = share(judge(history, samples, WRONG_TIME_NS))
    print(f"  1 ms later: {wrong_time:.0%} agree")
    lib.check(samples, "there are samples")
    lib.check(not outside, f"{name}: {len(outside)} misses outside the clock bound")
    lib.check(wrong_time < WRONG_TIME_AGREE_MAX, "a wrong time is noticed")
    lib.check(all(0 <= v.bound < NO_BOUND for v in judged), "every machine's clock has a bound")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        for name in SETS:
            check_set(name, Path(scratch))


if __name__ == "__main__":
    main()
