#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""samples.py RUN: from RUN/samples-raw.json and RUN/truth.json to RUN/samples.json.

samples.json has a list of samples, each about one physical CPU at one reading:

    n, cpu       number of the reading, CPU of L0
    is           "program": a program of the lab named itself; exact
                 "idle": the CPU was halted
                 "kernel": some machine's kernel (or hypervisor) ran, known by its per-CPU area
    l0_tsc       for "program": L0's cycle counter at the moment, and
    l0_mono_ns   L0's CLOCK_MONOTONIC then
    l0_tsc_range, l0_mono_range
                 for the others: two limits, the moment lies between them
    machine      whose program or kernel it was
    work, level, container, tid (in the machine's first namespace, null: not known), vtid (as the thread sees it),
    comm         for "program"

"machines", with each one's parent and the threads there that are its virtual CPUs, and "statistics": what became
of all readings, the unknown ones too.  Everything follows from registers, from what
the lab started, and from KVM's own offsets of the counters; nothing from a trace.
"""
import bisect
import itertools
import json
import sys
from collections import Counter
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from lab.oracle import kernels  # noqa: E402
from lab.oracle.identity import Cpu  # noqa: E402

FOLLOWING = 30  # samples, of which one at least is fresh
RATE_SLACK = 30e-6  # by how much L0's idea of its counter's rate may differ from this system's


def read_raw(path):
    """The header and the readings; a last line that was cut short is left out."""
    rows = []
    with open(path) as file:
        for line in file:
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError:
                break
    return (rows[0], rows[1:]) if rows else ({}, [])


def comm_of(work):
    """What the program said its name is, in its first line."""
    return next((line["comm"] for line in work["said"] if "comm" in line), None)


class Truth:
    """What the lab started, looked up the way samples need it."""

    def __init__(self, facts):
        self.machines, self.works = facts["machines"], facts["works"]
        clocks = [min(self.machines["L0"][key], key=lambda c: c["tsc_after"] - c["tsc"])
                  for key in ("clocks_begin", "clocks_end")]
        (self.tsc, self.mono), (tsc, mono) = (
            ((c["tsc"] + c["tsc_after"]) // 2, c["mono_ns"]) for c in clocks)
        self.ns_per_tsc = (mono - self.mono) / (tsc - self.tsc)

    def mono_of(self, l0_tsc):
        return self.mono + round((l0_tsc - self.tsc) * self.ns_per_tsc)

    def machine_of(self, cpu):
        """Whose program is in these registers; None when the lab did not start it."""
        work = self.works.get(str(cpu.work())) if cpu.marked() else None
        return work and work["machine"]

    def program(self, cpu):
        """What is known of the program in these registers; None when the lab did not start it."""
        work = self.works.get(str(cpu.work()))
        offset = work and self.machines[work["machine"]]["tsc_offset_to_l0"]
        if offset is None:
            return None
        l0_tsc = cpu.r14 - offset
        sample = {"is": "program", "l0_tsc": l0_tsc, "l0_mono_ns": self.mono_of(l0_tsc),
                  "machine": work["machine"], "work": cpu.work(),
                  "level": self.machines[work["machine"]]["level"],
                  "container": work["container"], "tid": None, "vtid": cpu.r13,
                  "comm": comm_of(work)}
        for thread in work["threads"]:
            if thread["nspid"][-1] == cpu.r13:
                sample.update(tid=thread["tid"], comm=thread["comm"])
        # Outside of containers a thread has one number only; the lab may have noted it too early or late.
        if sample["tid"] is None and not work["container"]:
            sample["tid"] = cpu.r13
        return sample


class HostTime:
    """Limits for L0's counter at moments of this system's clock, from the programs' samples.

    The emulator's counter keeps this system's time, but for small jumps ahead when several CPUs read it at once: what
    it is ahead never shrinks.  What a program read from it was not in the future at the end of the reading it was found
    in: each sample before a moment is a lower limit.  It may have been old, if this system let the emulated CPU
    wait, but not all samples of several readings are: the newest of those that follow is an upper limit.
    """

    def __init__(self, rows, tsc_per_ns):
        """`rows`: (begin_ns, end_ns, l0_tsc) of the programs' samples, in order; `tsc_per_ns` as L0 sees it."""
        self.rate = tsc_per_ns * (1 - RATE_SLACK)
        self.ends = [end for _, end, _ in rows]
        self.begins = [begin for begin, _, _ in rows]
        self.ahead = list(itertools.accumulate((tsc - self.rate * end for _, end, tsc in rows), max))
        self.at_most = [tsc - self.rate * begin for begin, _, tsc in rows]

    def range(self, reading):
        """(lowest, highest) value of L0's counter during a reading; None too near to the first or last sample."""
        before = bisect.bisect_right(self.ends, reading["begin_ns"])
        after = bisect.bisect_left(self.begins, reading["end_ns"])
        if before < 1 or after + FOLLOWING > len(self.begins):
            return None
        low = self.ahead[before - 1]
        high = max(low, *self.at_most[after:after + FOLLOWING])
        return (round(low + self.rate * reading["begin_ns"]),
                round(high + self.rate * reading["end_ns"]))


def quantiles(values):
    values = sorted(values)
    if not values:
        return None
    return {name: values[min(len(values) - 1, int(len(values) * share))]
            for name, share in (("median", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1))}


def programs_in(readings, truth, counts):
    """(reading, registers, sample) of every program that named itself; counts the rest of the marked ones."""
    found = []
    for reading in readings:
        for raw in reading["cpus"]:
            cpu = Cpu.of(raw)
            if not cpu or not cpu.marked():
                continue
            sample = truth.program(cpu)
            if cpu.cpl != 3:
                counts["on its way into or out of a kernel"] += 1
            elif cpu.torn():
                counts["read while it changed"] += 1
            elif not sample:
                counts["marked, but not of this run"] += 1
            else:
                found.append((reading, cpu, sample))
    return found


def others_in(readings, areas, host_time, truth, counts):
    """Samples of CPUs that were halted or in a known kernel."""
    for reading in readings:
        for raw in reading["cpus"]:
            cpu = Cpu.of(raw)
            if cpu and cpu.marked():
                continue
            machine = areas.get(cpu.gs) if cpu and cpu.in_kernel() else None
            limits = host_time.range(reading)
            if not limits or not cpu or not (cpu.hlt or machine):
                counts["unknown"] += 1
                continue
            yield {"is": "idle" if cpu.hlt else "kernel", "n": reading["n"], "cpu": cpu.number,
                   "machine": "L0" if cpu.hlt else machine, "l0_tsc_range": limits,
                   "l0_mono_range": [truth.mono_of(limit) for limit in limits]}


def make(raw_path, facts):
    """The contents of samples.json."""
    header, readings = read_raw(raw_path)
    truth, counts = Truth(facts), Counter()
    programs = programs_in(readings, truth, counts)
    host_time = HostTime([(reading["begin_ns"], reading["end_ns"], sample["l0_tsc"])
                          for reading, _, sample in programs], 1 / truth.ns_per_tsc)
    cpus = [cpu for reading in readings for cpu in map(Cpu.of, reading["cpus"]) if cpu]
    areas = kernels.areas(cpus, [(cpu, truth.machine_of(cpu)) for cpu in cpus
                                 if truth.machine_of(cpu) and cpu.cpl == 3 and not cpu.torn()])
    samples = [{"n": reading["n"], "cpu": cpu.number, **sample} for reading, cpu, sample in programs]
    widths = [high - low for low, high in filter(None, map(host_time.range, readings))]
    if facts.get("accel") != "count":   # there this system's clock tells nothing of L0's counter
        samples += others_in(readings, areas, host_time, truth, counts)
    samples.sort(key=lambda sample: (sample["n"], sample["cpu"]))
    for sample in samples:
        counts[sample["is"]] += 1
    statistics = {
        "readings": len(readings), "cpu_readings": sum(len(r["cpus"]) for r in readings),
        "became": dict(sorted(counts.items())),
        "programs_by_machine": dict(Counter(s["machine"] for s in samples if s["is"] == "program")),
        "programs_by_work": dict(Counter(s["work"] for s in samples if s["is"] == "program")),
        "kernels_by_machine": dict(Counter(s["machine"] for s in samples if s["is"] == "kernel")),
        "reading_took_ns": quantiles([r["end_ns"] - r["begin_ns"] for r in readings]),
        "range_tsc": quantiles(widths),
        "per_cpu_areas": {f"{gs:x}": machine for gs, machine in areas.items()}}
    machines = {name: {"parent": machine["parent"],
                       "vcpu_threads": [vcpu["thread"] for vcpu in machine.get("vcpus", {}).values()]}
                for name, machine in facts["machines"].items()}
    return {"sampler": header, "statistics": statistics, "machines": machines, "samples": samples}


def write(directory):
    """Makes directory/samples.json; gives its statistics."""
    directory = Path(directory)
    facts = json.loads((directory / "truth.json").read_text())
    made = make(directory / "samples-raw.json", facts)
    (directory / "samples.json").write_text(json.dumps(made) + "\n")
    return made["statistics"]


if __name__ == "__main__":
    print(json.dumps(write(sys.argv[1]), indent=1))
