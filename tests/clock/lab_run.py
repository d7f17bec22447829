#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lab_run.py RUN...: are the clocks of a run of the lab within the bounds that are stated?

The lab's witnesses read each machine's cycle counter and CLOCK_MONOTONIC together, before and after
the works, and KVM's offsets say how the counters stand to L0's (truth.json).  So the true L0 time of
any tick is known, but for the width of these readings.  Both the truth and a clock's model are
straight from one end of a piece to the other: who is right at the ends is right for every event.

Without arguments: the same for the runs of the lab that are kept.
"""

import argparse
import json
import re
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent), str(Path(__file__).resolve().parent)]
import lib  # noqa: E402
import truth  # noqa: E402

ROUNDING_NS = 2
LIE = 2  # the truth, moved by so many bounds, must be found outside


class Clock:
    """A machine's counter and CLOCK_MONOTONIC, as its witness read them."""

    def __init__(self, facts):
        readings = [min(facts[key], key=lambda c: c["tsc_after"] - c["tsc"])
                    for key in ("clocks_begin", "clocks_end")]
        self.pairs = [((c["tsc"] + c["tsc_after"]) // 2, c["mono_ns"]) for c in readings]
        self.width = max(c["tsc_after"] - c["tsc"] for c in readings)
        self.per_ns = (self.pairs[1][0] - self.pairs[0][0]) / (self.pairs[1][1] - self.pairs[0][1])
        self.offset = facts["tsc_offset_to_l0"]

    def tsc(self, mono):
        return truth.Truth.line(*[(m, t) for t, m in self.pairs], mono)

    def mono(self, tsc):
        return truth.Truth.line(*self.pairs, tsc)

    def unsure_ns(self, mono):
        """Half the width of a reading; more beyond the first and the last."""
        (_, a), (_, b) = self.pairs
        beyond = max(a - mono, mono - b, 0) / (b - a)
        return self.width / 2 / self.per_ns * (1 + 2 * beyond)


def traces(directory):
    """{machine: its trace}; of a gathered run, by the machines' folders."""
    found = {}
    for name in json.loads((directory / "truth.json").read_text())["machines"]:
        ends = ("*/lttng/*/kernel", "*/trace.dat", "*/lttng/kernel")
        own = [p for end in ends for p in directory.glob(end) if p.relative_to(directory).parts[0] == name]
        run = directory / "L0/run"
        if run.is_dir():
            folder = "host0" if name == "L0" else name
            own = [p if p.suffix else p.parent for p in run.rglob("*") if p.name in ("trace.dat", "metadata")
                   and p.relative_to(run).parts[0].split(".")[-1] == folder]
        if own:
            found[name] = str(own[0])
    return found


def true_at(clocks, l0, machine, name, tick):
    """The true L0 time of a machine's tick, and how far that may be off, in ns.

    L0's time is what its trace's clock shows: where that counts cycles, what the search makes of them.
    """
    own, host = clocks[name], clocks["L0"]
    is_tsc = machine["clock"] == "x86-tsc"
    tsc = tick if is_tsc else own.tsc(tick)
    unsure = 0 if is_tsc else own.unsure_ns(tick)
    if l0["clock"] == "x86-tsc":
        true, _ = truth.map_tick(l0["pieces"], int(tsc - own.offset))
    else:
        true = host.mono(tsc - own.offset)
        unsure += host.unsure_ns(true)
    return true, unsure


def error_at(clocks, l0, machine, name, tick):
    """How far the model is off, in ns; how far the truth may be; the bound."""
    true, unsure = true_at(clocks, l0, machine, name, tick)
    ns, bound = truth.map_tick(machine["pieces"], tick)
    return float(abs(ns - true)), unsure, bound


def check_machine(clocks, l0, machine, name):
    """A line of figures; the error that is furthest outside its bound must not be outside."""
    errors = [error_at(clocks, l0, machine, name, tick) for tick in truth.ticks_of(machine)]
    outside = [e for e in errors if e[0] > e[2] + e[1] + ROUNDING_NS]
    worst = max(e[0] for e in errors)
    usual = truth.median_bound(machine)
    print(f"  {name:7} {machine['method']:33} {machine['clock']:9} bound {usual:6}, at most "
          f"{max(e[2] for e in errors):6}, true error {worst:6.0f} (known within {max(e[1] for e in errors):.0f}), timers "
          f"{machine['timers']}, violations {machine['violations']}")
    lib.check(not outside, f"{name}: {len(outside)} of {len(errors)} ends of pieces are outside, as (error, "
              f"truth's own, bound): {outside[:3]}")
    lib.check(int(machine["violations"]) == 0, f"{name}: causality is violated")
    lied = [e for e in errors if LIE * e[2] + 2 * e[1] - e[0] > e[2] + e[1]]
    lib.check(len(lied) == len(errors) or not usual,
              f"{name}: a clock that is {LIE} bounds off would pass")


def check_run(directory, options):
    paths = traces(directory)
    facts = json.loads((directory / "truth.json").read_text())["machines"]
    clocks = {name: Clock(facts[name]) for name in paths
              if facts[name]["tsc_offset_to_l0"] is not None and facts[name]["clocks_end"]}
    if "L0" not in clocks or len(clocks) < 2:
        lib.skip(f"{directory}: no guest whose clock is known, or no trace of it")
    machines = truth.parse(lib.run(truth.SHOW, *options, *sorted(paths.values(), reverse=True)))
    name_of = {path: name for name, path in paths.items()}
    print(directory.name, *options)
    lib.check(len(machines) == len(paths), f"{len(machines)} of {len(paths)} machines were placed")
    for machine in machines:
        name = name_of[machine["path"]]
        if name in clocks and name != "L0":
            check_machine(clocks, next(m for m in machines if m["level"] == "0"), machine, name)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("runs", nargs="*", type=Path)
    parser.add_argument("--without-timers", action="store_true")
    given = parser.parse_args()
    runs = given.runs or [d for d in map(lib.unpacked, lib.archives("lab-run-*"))
                          if re.search(r"tsc_offset_to_l0", (d / "truth.json").read_text())
                          and len(traces(d)) > 1]
    for run in runs:
        check_run(run, ["-t"] if given.without_timers else [])


if __name__ == "__main__":
    main()
