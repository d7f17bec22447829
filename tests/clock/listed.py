#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 300
"""Clocks by what a recorder wrote into the traces: TSC offsets of vCPUs and readings of clocks.

The lab's traces have no state lines, but the lab wrote down what they would have said.  So they are
added here, the hypercalls are hidden, and what is found is held against the ground truth.  Then the
lines lie in several ways, and must not be believed.
"""

import json
import re
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent), str(Path(__file__).resolve().parent)]
import lib  # noqa: E402
import truth  # noqa: E402

PARENT = {"L1a": "L0", "L1b": "L0", "L2": "L1a"}
UUID = {name: uuid.uuid5(uuid.NAMESPACE_DNS, name) for name in ("L0", "L1a", "L1b", "L2")}
# Both clocks were read one after the other by a program of the lab's, in an emulated machine.
WIDTH = 2000
NO_BOUND = 2**63 - 1
# What composing an exact line with L0's own, in pieces, may leave by rounding (ns).
ROUNDING_NS = 20


class Set:
    def __init__(self, directory, scratch):
        self.directory, self.scratch = directory, scratch
        self.layers = json.loads((directory / "groundtruth-clocks.json").read_text())["layers"]
        self.paths = {name: truth.trace_path(directory / name) for name in self.layers}
        self.plain = self.show([], {})
        self.by_name = {name: next(m for m in self.plain if m["path"] == path)
                        for name, path in self.paths.items()}

    def show(self, options, lines):
        """@lines: what the trace of each machine is to say, as (tick, text)."""
        args = []
        for name, path in reversed(self.paths.items()):
            if name in lines:
                told = self.scratch / name
                told.write_text("".join(f"{int(tick)} {text}\n" for tick, text in lines[name]))
                path = f"{path}+{told}"
            args.append(path)
        text = lib.run(truth.SHOW, *options, *args)
        machines, current = truth.parse(text), None
        for line in text.splitlines():
            if line.startswith("machine "):
                path = re.search(r" path=(\S+)", line).group(1)
                current = next(m for m in machines if m["path"] == path)
                current["threads"] = {}
            vcpu = re.match(r"  vcpu (\d+) tid (\d+)", line)
            if vcpu:
                current["threads"][int(vcpu.group(1))] = int(vcpu.group(2))
        self.problems = [line for line in text.splitlines() if line.startswith("problem ")]
        return machines

    def offset(self, name):
        layers = self.layers
        return layers[name]["tsc_offset_vs_L0"] - layers[PARENT[name]]["tsc_offset_vs_L0"]

    def ticks(self, name):
        """Two ticks of the trace, near its begin and its end."""
        machine = self.by_name[name]
        return int(machine["first"]), int(machine["last"])

    def reading(self, name, pair):
        """A clock line.  The truth is a straight line, from which any moment can be taken."""
        layer, (first, last) = self.layers[name], self.ticks(name)
        tick = first if pair == "pair_start" else last
        (t0, m0), (t1, m1) = [(int(layer[p]["tsc"]), int(layer[p]["mono_ns"]))
                              for p in ("pair_start", "pair_end")]
        if self.by_name[name]["clock"] == "x86-tsc":
            tsc, mono = tick, m0 + (tick - t0) * (m1 - m0) // (t1 - t0)
        else:
            tsc, mono = t0 + (tick - m0) * (t1 - t0) // (m1 - m0), tick
        return tick, f"sonde: clock tsc={tsc} mono={mono} width={WIDTH}"

    def vms(self, name, offset_of):
        """The VMs of @name; @offset_of(child, vCPU) is what is said of its offset."""
        out = []
        for number, child in enumerate(c for c, p in PARENT.items() if p == name):
            out.append(f"sonde: vm vm={number} pid={1000 + number} name={child} uuid={UUID[child]}")
            for vcpu, tid in self.by_name[child]["threads"].items():
                offset = offset_of(child, vcpu)
                said = "" if offset is None else f" tsc_offset={offset}"
                out.append(f"sonde: vcpu vm={number} vcpu={vcpu} tid={tid}{said}")
        return out

    def lines(self, name, offset_of, with_clocks=True):
        out = []
        for cause, pair in (("start", "pair_start"), ("end", "pair_end")):
            tick, clock = self.reading(name, pair)
            block = [f"sonde: begin version=1 cause={cause} hostname={name} "
                     f"hypervisor={'none' if name == 'L0' else 'kvm'} product_uuid={UUID[name]}"]
            block += [clock] if with_clocks else []
            block += self.vms(name, offset_of)
            block.append(f"sonde: end cause={cause}")
            out += [(tick, text) for text in block]
        return out

    def all_lines(self, offset_of=None, **kwargs):
        offset_of = offset_of or (lambda child, vcpu: self.offset(child))
        return {name: self.lines(name, offset_of, **kwargs) for name in self.layers}

    def check(self, machines, name, method, bound, violations=0):
        machine = next(m for m in machines if m["path"] == self.paths[name])
        reality = truth.Truth(self.layers, name, machine["clock"])
        worst, worst_bound = 0, 0
        for tick in truth.ticks_of(machine):
            ns, limit = truth.map_tick(machine["pieces"], tick)
            error = float(abs(ns - reality.at(tick)))
            worst, worst_bound = max(worst, error), max(worst_bound, limit)
            lib.check(error <= limit + truth.TRUTH_NS,
                      f"{name} at {tick}: {error:.0f} ns off, bound {limit} ns")
            # Searched whole, a trace may be too long, and is more so with a stream of lines.
            if limit == NO_BOUND and any("too long" in p and machine["name"] in p
                                         for p in self.problems):
                continue
            lib.check(limit <= bound, f"{name}: the bound is {limit} ns, not within {bound} ns")
        print(f"  {name:4} {machine['method']:36} bound {worst_bound} ns, true error {worst:.0f} ns, "
              f"violations {machine['violations']}")
        lib.check(machine["method"].startswith(f'"{method}'), f"{name}: method {machine['method']}")
        lib.check(int(machine["violations"]) <= violations, f"{name}: causality is violated")
        return machine


def check_exact(lab):
    """The offsets are right: the clocks are exact, whether or not there are hypercalls."""
    for options in [], ["-n"]:
        machines = lab.show(options, lab.all_lines())
        for name in PARENT:
            machine = lab.check(machines, name, "tsc offset", ROUNDING_NS)
            lib.check("system UUID" in machine["evidence"], f"{name}: {machine['evidence']}")
            lib.check("agrees with" in machine["evidence"], f"{name}: {machine['evidence']}")
    lib.check(not lab.problems, lab.problems)


def check_wrong(lab):
    """An offset that is wrong by 1 ms is refuted by what the guest did."""
    wrong = lab.all_lines(lambda child, vcpu: lab.offset(child) + 2_300_000)
    for options, method in ([], "hypercall pairs"), (["-n"], "containment"):
        machines = lab.show(options, wrong)
        for name in PARENT:
            lab.check(machines, name, method, truth.BOUND_NS)
        lib.check(sum("contradicts" in p for p in lab.problems) == len(PARENT), lab.problems)


def check_nested_offset(lab):
    """While an L1 runs its L2, KVM shows the L2's offset as that of the L1's vCPU."""
    def offset_of(child, vcpu):
        nested = lab.offset("L2") if child == "L1a" and vcpu == 0 else 0
        return lab.offset(child) + nested
    machines = lab.show(["-n"], lab.all_lines(offset_of))
    for name in PARENT:
        lab.check(machines, name, "tsc offset", ROUNDING_NS)


def check_orphan(lab):
    """The nested machine without the one in between: it is a VM's, as itself or L0's trace says."""
    lines, args = lab.all_lines(), []
    for name in ("L0", "L2"):
        told = lab.scratch / name
        told.write_text("".join(f"{int(tick)} {text}\n" for tick, text in lines[name]))
        args.append(f"{lab.paths[name]}+{told}")
    done = subprocess.run([truth.SHOW, "-n", *args], capture_output=True, text=True)
    lib.check(done.returncode == 1 and re.search("^apart vm-a-n: .*it runs in a VM", done.stderr, re.M),
              done.stderr)


def check_readings(lab):
    """Clocks in ns, by readings of them and of the cycle counter."""
    machines = lab.show(["-n"], lab.all_lines())
    for name in PARENT:
        lab.check(machines, name, "clock readings", 40_000)
    machines = lab.show([], lab.all_lines())
    for name in PARENT:
        lab.check(machines, name, "hypercall pairs", 40_000)


def main():
    for _, directory in lib.oracle_sets(*truth.SETS):
        with tempfile.TemporaryDirectory() as scratch:
            lab = Set(directory, Path(scratch))
            print(directory.name)
            if lab.by_name["L0"]["clock"] == "x86-tsc":
                check_exact(lab)
                check_wrong(lab)
                check_nested_offset(lab)
                check_orphan(lab)
            else:
                check_readings(lab)


if __name__ == "__main__":
    main()
