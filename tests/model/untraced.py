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


def bounds_of(history, machines, samples):
    """How wrong the time of each sample may be: the bound of the traced machine it is judged by."""
    text = "".join(f"{m} {s['l0_mono_ns']}\n" for m, s in zip(machines, samples))
    return [max(2_000, int(row[0])) for row in ask(history, "bounds", text)]


def is_right(row, layer, process, traced, levels, machine_of):
    _, _, machine, _, tid, _, mode = row
    if levels[machine] != LEVELS[layer] or machine_of.setdefault(layer, machine) != machine:
        return False
    return int(tid) == process["pid"] if layer in traced else mode == GUEST


def check(name, traced, scratch):
    directory = lib.shared_set(name)
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
    agree = 0
    for sample, row, bound in zip(samples, rows, bounds):
        process, time = truth[str(sample["id"])], sample["l0_mono_ns"]
        right = is_right(row, sample["layer"], process, traced, levels, machine_of)
        lib.check(right or min(time - int(row[0]), int(row[1]) - time) <= bound,
                  f"{name}: CPU {sample['cpu']} at {time}: {process['vm']} ran, not {row}")
        agree += right
    print(f"{name}, traces of {' and '.join(traced)}: {agree} of {len(samples)} samples agree: "
          f"{machine_of}")
    lib.check(set(machine_of) == set(LEVELS), "samples of every layer")
    lib.check(machine_of["L1a"] != machine_of["L1b"], "two VMs are two")
    lib.check(parents[machine_of["L2"]] == machine_of["L1a"], "the nested VM is in its VM")


def main():
    for name in SETS:
        for traced in TRACED:
            with tempfile.TemporaryDirectory() as scratch:
                check(name, traced, Path(scratch))


if __name__ == "__main__":
    main()
