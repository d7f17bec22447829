#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 200
"""Who is blamed for a preemption is what its physical CPU ran: interrupts are told as interrupts, threads as threads.

Each piece of each preemption is held against the states of the physical CPU that it is told of, and the sums that reports
show against the pieces.  Planted: the pieces of interrupts, told as of the thread that they interrupted."""

import bisect
import csv
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402

OF_A_THREAD = {"user", "syscall", "kernel", "task"}  # one word where who is blamed is told
IRQ_MIN_NS = 50_000_000


def sql(history, query):
    return list(csv.DictReader(lib.run(lib.SONDE, "sql", history, query, "--format", "csv").splitlines()))


def word_of(mode):
    return "task" if mode in OF_A_THREAD else mode


class Runs:
    """What each physical CPU ran, when."""

    def __init__(self, history):
        self.contexts = {int(c["row"]): c for c in sql(history, "select * from contexts")}
        self.of = {}
        for state in sql(history, "select path, begin, end, value from states where path glob 'host0/cpu*/runs'"):
            cpu = int(state["path"].split("/")[1].removeprefix("cpu"))
            self.of.setdefault(cpu, []).append((int(state["begin"]), int(state["end"]), int(state["value"])))
        self.begins = {cpu: [begin for begin, _, _ in runs] for cpu, runs in self.of.items()}

    def between(self, cpu, begin, end):
        """(machine, mode, length) of all that it ran then."""
        for i in range(bisect.bisect_right(self.begins[cpu], begin) - 1, len(self.of[cpu])):
            from_, to, value = self.of[cpu][i]
            if from_ >= end:
                return
            context = self.contexts.get(value, {"machine": "", "mode": "unknown"})
            yield context["machine"], word_of(context["mode"]), min(to, end) - max(from_, begin)


def wrong(pieces, runs):
    """How long something else ran than who is blamed; and for how long interrupts are."""
    false, irq = Counter(), 0
    for piece in pieces:
        if not piece["on"] or piece["on"]["machine"] != "host0":
            continue
        irq += piece["length"] if piece["mode"] == "irq" else 0
        for machine, mode, length in runs.between(piece["on"]["cpu"], piece["at"], piece["at"] + piece["length"]):
            if (machine, mode) != (piece["culprit_machine"], word_of(piece["mode"])):
                false[machine, mode, piece["culprit_machine"], piece["mode"]] += length
        if piece["mode"] in ("irq", "softirq") and piece["culprit"]:
            false["an interrupt", "of", piece["culprit"]["comm"], ""] += piece["length"]
    return false, irq


def sums(rows, length):
    found = Counter()
    for row in rows:
        found[row["vcpu"]["machine"], row["vcpu"]["cpu"], row["culprit_machine"], word_of(row["mode"])] += row[length]
    return found


def check(name, history):
    told = json.loads(lib.run(lib.SONDE, "report", history, "-t", "preemption_list", "-t", "preemption",
                              "-t", "preemption_victim", "--format", "json"))
    pieces, runs = told["preemption_list"], Runs(history)
    false, irq = wrong(pieces, runs)
    print(f"{name}: {len(pieces)} pieces, {irq / 1e6:.1f} ms of interrupts, {sum(false.values())} ns wrongly blamed")
    lib.check(not false, f"{name}: {false.most_common(5)}")
    lib.check(irq > IRQ_MIN_NS, f"{name}: interrupts are blamed for {irq} ns")
    for table in ("preemption", "preemption_victim"):
        other = sums(told[table], "total") - sums(pieces, "length")
        other += sums(pieces, "length") - sums(told[table], "total")
        lib.check(not other, f"{name}: {table} says else than its pieces: {other.most_common(5)}")
    planted = [{**piece, "mode": "task"} if piece["mode"] == "irq" else piece for piece in pieces]
    lib.check(sum(wrong(planted, runs)[0].values()) >= irq * 0.9, f"{name}: interrupts that are blamed on threads pass")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        for name in ("lttng", "ftrace"):
            history = Path(scratch) / f"{name}.sonde"
            lib.run(lib.SONDE, "analyze", "-q", lib.ROOT / "samples" / name, "-o", history)
            check(name, history)


if __name__ == "__main__":
    main()
