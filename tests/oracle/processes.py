#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 300
"""Which process a vCPU runs, from its host's trace alone (by the page table at its exits), against its guest's own trace.

Judged at random moments at which the vCPU executes its guest and the guest's trace says that a user process runs: precision
is the share of those at which a process is named that are right, recall the share of all. A name of the host's ("process 3")
means the process of the guest's that it mostly goes with: several may mean one, for an exec changes the page table.  While
kernel threads and the idle task run, the page table is borrowed: told apart, and not judged.
And switches from one process to another: how many of the guest's the host's trace shows, how much too early, and
how many of those it shows there were.  Last, at random moments of the physical CPUs, in which nested guests show up as well.

usage: processes.py [RUN...]: directories of lab runs (L0/run); without any, those in samples/lab and the shared sets."""

import bisect
import json
import random
import shutil
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402

MOMENTS = 20000             # of each vCPU
NEAR_NS = 2000              # one moment in two histories, and in two clocks
SWITCHING_NS = 50_000       # a kernel tells of a switch, and then, if it is a hypervisor, puts its guest away, which exits, and
                            # only then writes the page table
RIGHT = 0.75                # of the moments; 0.59 where a page table counts only from the exit that shows it
SHOWN_RIGHT = 0.60          # of the switches that are shown; pages that are used again by other processes make them wrong
KERNEL = -1                 # kernel threads and the idle task


def ask(history, query):
    return [list(row.values()) for row in json.loads(lib.run(lib.SONDE, "sql", "--format", "json", "-i", history, query))]


class Line:
    """Intervals of one row, by time: what held at a moment?"""

    def __init__(self):
        self.begins, self.values = [], []

    def add(self, begin, value):
        if not self.values or self.values[-1] != value:
            self.begins.append(begin)
            self.values.append(value)

    def index(self, time):
        return bisect.bisect_right(self.begins, time) - 1

    def at(self, time):
        index = self.index(time)
        return self.values[index] if index >= 0 else None

    def end(self, index):
        return self.begins[index + 1] if index + 1 < len(self.begins) else 1 << 62


def lines(history, kind, value_of):
    """The rows of that kind, by vCPU."""
    found = defaultdict(Line)
    for cpu, begin, value in ask(history, f"select cpu, begin, value from states where kind = '{kind}' order by path, begin"):
        found[cpu].add(begin, value_of(value))
    return found


def processes_of(history):
    """What makes of a row of `threads` (None: unknown) its process; KERNEL; None where that is not known."""
    threads = {row: (tid, pid, ppid) for row, tid, pid, ppid in ask(history, "select row, tid, pid, ppid from threads")}

    def process(row):
        tid, pid, ppid = threads[row] if row is not None else (None, None, None)
        if tid == 0 or tid == 2 or ppid == 2:
            return KERNEL
        return pid
    return process


def truth_of(history):
    """What the guests say: by vCPU, the process that runs."""
    return lines(history, "task", processes_of(history))


def runs_of(history, process):
    """What physical CPUs run, by CPU's number: (machine, process)."""
    contexts = {row: (machine, process(thread)) for row, machine, thread in
                ask(history, "select row, machine, thread_row from contexts")}
    found = defaultdict(Line)
    for cpu, line in lines(history, "runs", contexts.get).items():
        found[cpu.rsplit("/", 1)[1]] = line
    return found


def judge_machines(both, numbers):
    """{machine: [moments in its user processes, those named rightly]} over all guests, nested ones too."""
    truth, told = runs_of(both[0], processes_of(both[0])), runs_of(both[1], lambda row: row)
    outermost = ask(both[0], "select name from machines where level = 0")[0][0]
    pairs = Counter()
    for cpu, line in truth.items():
        for _ in range(MOMENTS if cpu in told else 0):
            time = numbers.randrange(line.begins[0], line.begins[-1])
            pairs[told[cpu].at(time) or (None, None), line.at(time) or (None, None)] += 1
    guests = {pair: n for pair, n in pairs.items() if pair[1][0] not in (None, outermost)
              and pair[1][1] not in (None, KERNEL)}
    together = defaultdict(Counter)
    for (name, process), count in guests.items():
        together[name][process] += count
    machines = defaultdict(lambda: [0, 0])
    for (name, process), count in guests.items():
        right = name[1] is not None and together[name].most_common(1)[0][0] == process
        machines[process[0]][0] += count
        machines[process[0]][1] += count if right else 0
    return machines


def executing(history):
    """By vCPU, whether it is on a CPU and in guest mode: a list of (begin, end)."""
    out = lines(history, "exit", lambda value: value is not None)
    on = lines(history, "on", lambda value: value is not None)
    stretches = {}
    for cpu, line in out.items():
        stretches[cpu] = [(begin, line.end(i)) for i, begin in enumerate(line.begins)
                          if not line.values[i] and i + 1 < len(line.begins) and on[cpu].at(begin)]
    return stretches


def moments(stretches, begin, random_numbers):
    """Random moments in them, every one as likely as any other."""
    ends, total = [], 0
    stretches = [(b, e) for b, e in stretches if b >= begin]
    for b, e in stretches:
        total += e - b
        ends.append(total)
    for _ in range(MOMENTS if total else 0):
        at = random_numbers.randrange(total)
        index = bisect.bisect_right(ends, at)
        yield stretches[index][1] - (ends[index] - at)


def meanings(pairs):
    """{name of the host's: process of the guest's} by what goes together most."""
    together = defaultdict(Counter)
    for (name, process), count in pairs.items():
        if name is not None and process not in (None, KERNEL):
            together[name][process] += count
    return {name: counts.most_common(1)[0][0] for name, counts in together.items()}


def switches(line, skip):
    """(time, process) of the changes from process to process."""
    before = None
    for begin, value in zip(line.begins, line.values):
        if value in skip:
            continue
        if before not in (None, value):
            yield begin, value
        before = value


def judge_switches(truth, told, means, stretches, known):
    """How many of the guest's switches were shown, and the other way round; and how much too early each is shown."""
    meant, early = Line(), []
    for begin, name in zip(told.begins, told.values):
        meant.add(begin, means.get(name))
    true = [(begin, process) for begin, process in switches(truth, {None, KERNEL}) if begin >= told.begins[0]]
    begins, found, nr = [begin for begin, _ in true], set(), 0
    for shown, process in switches(meant, {None}):
        # It took place between the entry that follows and the exit after that.
        inside = bisect.bisect_left(stretches, (shown - NEAR_NS,))
        end = stretches[inside][1] if inside < len(stretches) else shown
        if shown < known or (truth.at(shown) is None and truth.at(end) is None):
            continue    # the guest's own trace has not begun, or has ended
        nr += 1
        # ... or its kernel was in the midst of it at the exit before.
        before = stretches[inside - 1] if inside else (shown, shown)
        first = min(max(before[0], before[1] - SWITCHING_NS), shown - NEAR_NS)
        for index in range(bisect.bisect_left(begins, first), bisect.bisect_right(begins, end + NEAR_NS)):
            if true[index][1] == process and index not in found:
                found.add(index)
                early.append(max(begins[index] - stretches[inside][0], 0))
                break
    return Counter(switches=len(true), found=len(found), shown=nr), early


def judge_vcpu(truth, told, stretches, numbers):
    known = next((b for b, v in zip(truth.begins, truth.values) if v is not None), None)
    if known is None or not told.begins:
        return None
    pairs = Counter((told.at(t), truth.at(t)) for t in moments(stretches, max(known, told.begins[0]), numbers))
    means = meanings(pairs)
    sums = Counter()
    for (name, process), count in pairs.items():
        if process is None:
            continue
        if process == KERNEL:
            sums["borrowed"] += count
            continue
        sums["user"] += count
        sums["named"] += count if name in means else 0
        sums["right"] += count if means.get(name) == process else 0
    more, early = judge_switches(truth, told, means, stretches, known)
    return sums + more, early


def check(title, everything, host, scratch):
    both = []
    for name, traces in (("all", everything), ("host", host)):
        both.append(scratch / f"{title}-{name}.sonde")
        lib.run(lib.SONDE, "analyze", traces, "-o", both[-1], "--quiet")
    truth, told = truth_of(both[0]), lines(both[1], "task", lambda value: value)
    stretches = executing(both[0])
    sums, early, numbers = Counter(), [], random.Random(1)
    for vcpu in sorted(set(truth) & set(told)):
        found = judge_vcpu(truth[vcpu], told[vcpu], stretches.get(vcpu, []), numbers)
        if found:
            sums += found[0]
            early += found[1]
    lib.check(sums["user"], f"{title}: no process of a guest was known at any moment")
    precision, recall = sums["right"] / max(sums["named"], 1), sums["right"] / sums["user"]
    print(f"{title}: which process runs, {sums['user']} moments in user processes: precision {precision:.2%}, recall "
          f"{recall:.2%}; {sums['borrowed']} more in kernel threads or idle")
    early.sort()
    print(f"{title}: {sums['found']} of {sums['switches']} switches between processes shown "
          f"({sums['found'] / max(sums['switches'], 1):.2%}), of {sums['shown']} that are shown as many were there "
          f"({sums['found'] / max(sums['shown'], 1):.2%})"
          + (f"; too early by {early[len(early) // 2] / 1e3:.0f} µs of guest time in the median, "
             f"{early[len(early) * 9 // 10] / 1e3:.0f} µs at 90 %" if early else ""))
    for machine, (moments_in, right) in sorted(judge_machines(both, numbers).items()):
        print(f"{title}: on physical CPUs, {moments_in} moments in user processes of {machine}: {right / moments_in:.2%} right")
    lib.check(precision >= RIGHT, f"{title}: precision is {precision:.2%}")
    lib.check(recall >= RIGHT, f"{title}: recall is {recall:.2%}")
    lib.check(sums["found"] >= SHOWN_RIGHT * sums["shown"], f"{title}: switches are shown that there were not")


def check_run(run, scratch):
    gathered = run / "L0/run"
    folder = gathered / json.loads((gathered / "run.json").read_text()).get("host", "host0")
    if not (folder / "hypercalls").is_file():
        lib.skip(f"{run.name} does not have the guests' page tables")
    alone = scratch / f"{run.name}-alone" / folder.name
    shutil.copytree(folder, alone)
    check(run.name, gathered, alone.parent, scratch)


def main():
    runs = [Path(argument) for argument in sys.argv[1:]]
    runs = runs or [lib.unpacked(archive) for archive in lib.archives("lab-run-processes-*", "bochs-*")]
    if not runs:
        lib.skip("there is no run of the lab's scenario \"processes\"")
    with tempfile.TemporaryDirectory() as scratch:
        for run in runs:
            check_run(run, Path(scratch))


if __name__ == "__main__":
    main()
