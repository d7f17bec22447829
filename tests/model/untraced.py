#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 200
"""What is known of guests without a trace of their own, against what the hardware did.

The registers of the emulated physical CPUs tell at random moments which process ran, and so in
which layer.  From the traces of other layers nobody can name that process; but whether the host
itself ran, a VM, or a VM inside that VM, they must say: by nested entry events (ftrace) or by the
reasons of exits (LTTng, whose probe for these events is stale), and always the same VM for the same.
"""

import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402
from fused import analyse, ask, tables  # noqa: E402

SETS = ["oracle-ftrace-tsc-1", "oracle-lttng-1"]
TRACED = [["L0"], ["L0", "L1a"], ["L0", "L1b"]]
LEVELS = {"L0": 0, "L1a": 1, "L1b": 1, "L2": 2}
GUEST = "7"
# All samples of these sets agree, under bounds of 25 us at most.
SAMPLES_MIN, AGREE_MIN, BOUND_MAX_NS = 1000, 0.995, 40_000
SMALL_MIN, SMALL_LAYERS = 70, {"L0", "L1a", "L2"}  # vm-b's program had ended


def bounds_of(history, machines, samples):
    """How wrong the time of each sample may be: the bound of the traced machine it is judged by."""
    text = "".join(f"{m} {s['l0_mono_ns']}\n" for m, s in zip(machines, samples))
    return [max(2_000, int(row[0])) for row in ask(history, "bounds", text)]


def is_right(row, layer, process, traced, levels, machine_of):
    _, _, machine, _, tid, _, mode = row
    if levels[machine] != LEVELS[layer] or machine_of.setdefault(layer, machine) != machine:
        return False
    return int(tid) == process["pid"] if layer in traced else mode == GUEST


def check(name, directory, traced, scratch):
    small = name == lib.SMALL_ORACLE
    truth = json.loads((directory / "truth.json").read_text())
    samples = json.loads((directory / "samples-l0.json").read_text())["samples"]
    samples = [s for s in samples if all(s["in_window"].values())]
    history = analyse(directory, scratch, traced)
    machines = tables(history)["machine"]
    levels = {row["name"]: int(row["level"]) for row in machines}
    parents = {row["name"]: machines[int(row["parent"])]["name"] for row in machines[1:]}
    rows = ask(history, "state", "".join(f"{s['cpu']} {s['l0_mono_ns']}\n" for s in samples))
    bounds = bounds_of(history, [row[2] for row in rows], samples)
    machine_of = {}

    def judged(rows, bounds):
        """How many agree, and what is wrong."""
        agree, faults = 0, [f"a bound of {bound} ns" for bound in bounds if bound > BOUND_MAX_NS]
        for sample, row, bound in zip(samples, rows, bounds):
            process, time = truth[str(sample["id"])], sample["l0_mono_ns"]
            right = is_right(row, sample["layer"], process, traced, levels, machine_of)
            if not right and min(time - int(row[0]), int(row[1]) - time) > bound:
                faults.append(f"{name}: CPU {sample['cpu']} at {time}: {process['vm']} ran, not {row}")
            agree += right
        if agree < AGREE_MIN * len(samples) or len(samples) < (SMALL_MIN if small else SAMPLES_MIN):
            faults.append(f"{name}: only {agree} of {len(samples)} samples agree")
        return agree, faults

    agree, faults = judged(rows, bounds)
    lib.check(not faults, "; ".join(faults[:5]))
    always_host = [[*row[:2], machines[0]["name"], *row[3:]] for row in rows]
    lib.check(judged(always_host, [4 * 10**9] * len(rows))[1], f"{name}: a history that names the host alone passes")
    lib.check(judged(always_host, [BOUND_MAX_NS] * len(rows))[1], f"{name}: the same under a small bound passes")
    print(f"{name}, traces of {' and '.join(traced)}: {agree} of {len(samples)} samples agree: "
          f"{machine_of}")
    lib.check(set(machine_of) == (SMALL_LAYERS if small else set(LEVELS)), "samples of every layer")
    lib.check(small or machine_of["L1a"] != machine_of["L1b"], "two VMs are two")
    lib.check(parents[machine_of["L2"]] == machine_of["L1a"], "the nested VM is in its VM")


def main():
    for name, directory in lib.oracle_sets(*SETS):
        for traced in TRACED:
            with tempfile.TemporaryDirectory() as scratch:
                check(name, directory, traced, Path(scratch))


if __name__ == "__main__":
    main()
