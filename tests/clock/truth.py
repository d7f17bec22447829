#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what the clock search finds in the lab's traces with the lab's ground truth.

The lab wrote down, for every machine, its TSC's offset to L0's and pairs of (TSC, CLOCK_MONOTONIC).
So the true L0 time of any tick is known to some hundred ns.  It must lie within the stated bound
everywhere in the trace, for all machines.

usage: truth.py SHOW_TOPOLOGY SET_DIR...      (a set holds groundtruth-clocks.json and machines)
"""
import json
import os
import re
import subprocess
import sys
from fractions import Fraction

# The lab read TSC and clock one after the other: the truth itself is this uncertain (ns).
TRUTH_NS = 400


def trace_path(directory):
    dat = os.path.join(directory, "trace.dat")
    return dat if os.path.exists(dat) else os.path.join(directory, "lttng", "kernel")


def parse(text):
    machines, current = [], None
    for line in text.splitlines():
        fields = dict(re.findall(r'(\w+)=("[^"]*"|\S+)', line))
        if line.startswith("machine "):
            current = dict(fields, pieces=[])
            machines.append(current)
        elif line.startswith("  piece "):
            current["pieces"].append({k: int(v) for k, v in fields.items()})
    return machines


def map_tick(pieces, tick):
    piece = pieces[0]
    for p in pieces:
        if p["from"] <= tick:
            piece = p
    return piece["at"] + ((tick - piece["from"]) * piece["mult"] >> 32), piece["bound"]


class Truth:
    """L0's CLOCK_MONOTONIC as a function of a layer's tick, in exact fractions."""

    def __init__(self, layers, name, clock):
        self.l0, self.layer, self.clock = layers["L0"], layers[name], clock

    @staticmethod
    def line(a, b, x):
        (x0, y0), (x1, y1) = a, b
        return y0 + Fraction(y1 - y0, x1 - x0) * (x - x0)

    def pairs(self, layer):
        return [(int(layer[p]["tsc"]), int(layer[p]["mono_ns"]))
                for p in ("pair_start", "pair_end")]

    def at(self, tick):
        tsc = tick
        if self.clock != "x86-tsc":
            swapped = [(mono, tsc) for tsc, mono in self.pairs(self.layer)]
            tsc = self.line(*swapped, tick)
        return self.line(*self.pairs(self.l0), tsc - self.layer["tsc_offset_vs_L0"])


def check_set(show, directory):
    with open(os.path.join(directory, "groundtruth-clocks.json"), encoding="utf-8") as f:
        layers = json.load(f)["layers"]
    paths = {trace_path(os.path.join(directory, name)): name for name in layers}
    text = subprocess.run([show, *paths], check=True, capture_output=True, text=True).stdout
    machines = parse(text)
    bad = 0
    print(os.path.basename(directory.rstrip("/")), text.splitlines()[0])
    for m in machines:
        name = paths[m["path"]]
        truth = Truth(layers, name, m["clock"])
        ticks = [p["from"] for p in m["pieces"]]
        ticks += [t - 1 for t in ticks[1:]] + [int(m["last"]), (ticks[-1] + int(m["last"])) // 2]
        worst, worst_bound, outside = 0, 0, 0
        for tick in ticks:
            ns, bound = map_tick(m["pieces"], tick)
            error = abs(ns - truth.at(tick))
            worst, worst_bound = max(worst, float(error)), max(worst_bound, bound)
            if name != "L0":
                outside += error > bound + TRUTH_NS
        parent = m["parent"]
        print(f"  {name:4} {m['name']:8} in {parent:6} {m['method']:34} bound {worst_bound:8} ns, "
              f"true error {worst:8.0f} ns, violations {m['violations']}")
        bad += outside > 0
        if name == "L0" and worst > 3000:
            print("  L0's own clock is off")
            bad += 1
    return bad + check_tree(machines, paths)


def check_tree(machines, paths):
    level = {"L0": 0, "L1a": 1, "L1b": 1, "L2": 2}
    parent = {"L0": "-", "L1a": "L0", "L1b": "L0", "L2": "L1a"}
    layer_of = {m["name"]: paths[m["path"]] for m in machines}
    bad = 0
    for m in machines:
        name = paths[m["path"]]
        right = int(m["level"]) == level[name] and layer_of.get(m["parent"], "-") == parent[name]
        if not right:
            print(f"  {name} is misplaced: level {m['level']}, parent {m['parent']}")
        bad += not right
    return bad


def main():
    show, sets = sys.argv[1], sys.argv[2:]
    sys.exit(1 if sum(check_set(show, s) for s in sets) else 0)


main()
