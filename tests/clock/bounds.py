#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bounds.py [--before SHOW_TOPOLOGY] [RUN...]: a table of what is known of clocks, for bench/results.

Of each stored set whose truth is known, and of each RUN of the lab: the bound that a machine has most
of its time, and the largest true error; of another version's show_topology, without timers and with
them; and how much more than what all constraints leave the bound to the parent is, at most.
"""

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent), str(Path(__file__).resolve().parent)]
import lab_run  # noqa: E402
import lib  # noqa: E402
import timers  # noqa: E402
import truth  # noqa: E402


@dataclass
class Set:
    name: str
    paths: dict       # machine's trace: its name
    true_at: object   # (L0, machine, name, tick) -> the true time, and how well it is known


def sample():
    names = {path: Path(path).name for path in timers.PATHS}
    return Set("samples/lttng", names, lambda l0, m, name, tick: (timers.true_time(name, tick), truth.TRUTH_NS))


def shared(name):
    directory = lib.shared_set(name)
    layers = json.loads((directory / "groundtruth-clocks.json").read_text())["layers"]
    paths = {truth.trace_path(directory / layer): layer for layer in layers}
    return Set(name, paths, lambda l0, m, layer, tick: (
        truth.Truth(layers, layer, m["clock"]).at(tick), truth.TRUTH_NS))


def run(directory):
    facts = json.loads((directory / "truth.json").read_text())["machines"]
    names = {path: name for name, path in lab_run.traces(directory).items()}
    clocks = {name: lab_run.Clock(facts[name]) for name in names.values()}
    return Set(directory.name, names, lambda l0, m, name, tick: lab_run.true_at(clocks, l0, m, name, tick))


def measure(a_set, show, *options):
    """{machine: (bound, largest error, whether all errors are within)}; {} where it finds less."""
    done = subprocess.run([show, *options, *sorted(a_set.paths, reverse=True)], capture_output=True, text=True)
    machines = truth.parse(done.stdout)
    found = {}
    for m in machines:
        if m["parent"] == "-" or m["method"] in ('"none"', '"reference"'):
            continue
        l0, name, errors = next(x for x in machines if x["parent"] == "-"), a_set.paths[m["path"]], []
        for tick in truth.ticks_of(m):
            ns, bound = truth.map_tick(m["pieces"], tick)
            true, unsure = a_set.true_at(l0, m, name, tick)
            errors.append((float(abs(ns - true)), bound + unsure))
        found[m["name"]] = truth.median_bound(m), max(e for e, _ in errors), all(e <= b for e, b in errors)
    return found


def cell(found, name):
    if name not in found:
        return "-"
    bound, error, within = found[name]
    return f"{bound / 1000:.2f} ({error / 1000:.2f}{'' if within else ', OUTSIDE'})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("runs", nargs="*", type=Path)
    parser.add_argument("--before", type=Path)
    given = parser.parse_args()
    print("| set | machine | before | without timers | now | of all constraints, at most |\n|---|---|---|---|---|---|")
    for a_set in [sample(), *map(shared, truth.SETS), *map(run, given.runs)]:
        before = measure(a_set, given.before) if given.before else {}
        without, now = measure(a_set, truth.SHOW, "-t"), measure(a_set, truth.SHOW)
        times = truth.limits(sorted(a_set.paths))
        for name in sorted(now):
            print(f"| {a_set.name} | {name} | {cell(before, name)} | {cell(without, name)} | {cell(now, name)} "
                  f"| {max(times[name]):.2f} |", flush=True)


if __name__ == "__main__":
    main()
