#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 600
"""Who is blamed, and for what: false attributions are counted, and the shares that are right are printed.

Preemption: while a vCPU is said to be ready and not running, the hardware's own samples (samples.json) must show the thread
that is said to have its CPU, and none of the vCPU's own; and who is pinned (truth.json: "cpus" of a work's threads; README of the
shared sets) can have had no other CPU.

Wake-ups: the thread that a vCPU is said to have been woken for must be the first that its guest's own trace switches to
after the vCPU's entry, at the time that is told; what a guest does before its trace begins is not known.  And no program may
be late by more than it noted itself (truth.json: "late_max_ns").

usage: attribution.py [RUN...]: directories of lab runs; without any, those in samples/lab and the shared sets."""

import bisect
import json
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402

sys.path[:0] = [str(lib.ROOT)]
import fused  # noqa: E402
import hardware  # noqa: E402
from lab.oracle import compare, names  # noqa: E402
from lab.oracle.history import History  # noqa: E402
from lab.oracle.judge import clock_of  # noqa: E402

SHARE_RIGHT = 0.99
SHOWN = 5
MOVED_NS, MOVED_RIGHT, ENOUGH = 3_000_000, 0.9, 20    # a comparison that still agreed would prove nothing
MARGIN_NS = 2000            # beside a clock's bound: the model's times are rounded
# Who is pinned to which CPU of the host, by README-lab.md: {set: ({vCPU: CPU}, {thread of the host: CPU})}
PINNED = {"lab-multi-ftrace-tsc": ({("vm-a", 0): 0, ("vm-a", 1): 1, ("vm-b", 0): 1}, {"h-burn": 1}),
          "lab-multi-lttng": ({("vm-a", 1): 1, ("vm-b", 0): 1}, {"h-burn": 1})}


# What is judged at least, of the runs in samples/lab, and with the shared sets: where less is, something went unseen.
LEAST = {"samples while a vCPU was ready: who is said to have the CPU": (100, 1500),
         "the same samples: that the vCPU did not run": (100, 1500),
         "works of the host that are blamed: on a CPU of theirs": (5000, 5000),
         "wake-ups: the thread that ran, and when": (800, 1800),
         "wake-ups of works: no longer than they noted themselves": (300, 300),
         "pinned vCPUs that were ready: for their CPU": (0, 100_000),
         "pinned culprits: on their CPU": (0, 50_000)}
JUDGED = Counter()


class Tally:
    """What was judged, what was right, and what was false."""

    def __init__(self, title, what):
        self.title, self.what, self.judged, self.right, self.false = title, what, 0, 0, []

    def add(self, right, sentence, weight=1):
        self.judged += weight
        self.right += weight if right else 0
        if not right:
            self.false.append(sentence)

    def close(self, least=SHARE_RIGHT):
        if not self.judged:
            print(f"{self.title}: {self.what}: nothing to judge")
            return
        share = self.right / self.judged
        JUDGED[self.what] += self.judged
        print(f"{self.title}: {self.what}: {share:.4%} of {self.judged} right, {len(self.false)} false")
        for sentence in self.false[:SHOWN]:
            print("  " + sentence)
        lib.check(share >= least, f"{self.title}: {self.what}: only {share:.2%} right")


def facts(history, *wanted):
    sections = [word for name in wanted for word in ("-t", name)]
    return json.loads(lib.run(lib.SONDE, "report", history, *sections, "--format", "json"))


def vcpu_of(cpu):
    return (cpu["machine"], cpu["cpu"])


def bounds_of(told):
    """How far each machine's times may be wrong."""
    return {clock["machine"]: max(clock["bound"], 0) for clock in told["clock"]}


# ---- preemption ------------------------------------------------------------------------------------------------


class Blames:
    """Pieces of preemptions by the CPU of the host that they are told of, in order of time."""

    def __init__(self, rows):
        self.of = {}
        for row in rows:
            if row["on"]:
                self.of.setdefault(row["on"]["cpu"], []).append(row)
        for found in self.of.values():
            found.sort(key=lambda row: row["at"])
        self.begins = {cpu: [row["at"] for row in found] for cpu, found in self.of.items()}
        self.longest = max((row["length"] for row in rows), default=0)

    def at(self, cpu, t, margin):
        """The pieces that surely hold that moment."""
        found = self.of.get(cpu, [])
        first = bisect.bisect_left(self.begins.get(cpu, []), t - self.longest)
        for row in found[first:bisect.bisect_right(self.begins.get(cpu, []), t)]:
            if row["at"] + margin <= t < row["at"] + row["length"] - margin:
                yield row


def lineage(told, machine):
    """The machine and all that it is in."""
    parents = {row["vm"]: row["parent"] for row in told["hypervisor"]}
    found = [machine]
    while found[-1] in parents and len(found) < 16:
        found.append(parents[found[-1]])
    return found


def has_one_vcpu(told, machine):
    """Code of a VM with several may run on one while another is ready."""
    return sum(state["vcpu"]["machine"] == machine for state in told["vcpu_state"]) == 1


def names_culprit(row, sample, traced):
    blamed = row["culprit"]
    if row["culprit_machine"] != sample.machine:
        return False
    return not traced or sample.tid is None or bool(blamed and blamed["tid"] == sample.tid)


def hold(title, told, samples, shift=0):
    """The samples, (time, Program) each, moved in time, against those who are blamed and those who did not run."""
    blames, bounds = Blames(told["preemption_list"]), bounds_of(told)
    culprits = Tally(title, "samples while a vCPU was ready: who is said to have the CPU")
    victims = Tally(title, "the same samples: that the vCPU did not run")
    for t, sample in samples:
        t, machine = t + shift, sample.machine
        margin, ran = max(bounds.values()) + MARGIN_NS, f"{machine} {sample.comm}[{sample.tid}] ran"
        for row in blames.at(sample.cpu, t, margin):
            blamed, victim = row["culprit"], row["vcpu"]["machine"]
            named = f"{row['culprit_machine']} {blamed['comm'] if blamed else row['mode']}"
            culprits.add(names_culprit(row, sample, machine in bounds), f"CPU {sample.cpu} at {t}: {named} is blamed, {ran}")
            victims.add(victim not in lineage(told, machine) or not has_one_vcpu(told, victim),
                        f"{victim} vCPU {row['vcpu']['cpu']} is said to be off the CPU at {t}, and {ran}")
    return culprits, victims


def sampled(title, history, told, programs):
    """What the emulated CPUs ran while others are said to have waited for them; programs: of the history → samples."""
    run = History(history)
    programs = programs(run)
    clock = clock_of(run, programs)
    samples = [(run.l0_time(getattr(program, clock)), program) for program in programs]
    for tally in hold(title, told, samples):
        tally.close()
    moved = [hold(title, told, samples, shift)[0] for shift in (-MOVED_NS, MOVED_NS)]
    right, judged = sum(tally.right for tally in moved), sum(tally.judged for tally in moved)
    if judged >= ENOUGH:
        print(f"{title}: the same, all samples moved by {MOVED_NS / 1e6:.0f} ms: {right / judged:.1%} of {judged}")
        lib.check(right / judged < MOVED_RIGHT, f"{title}: moving the samples makes no difference: this proves nothing")


def pinned_works(title, told, truth):
    """Threads of the host's works can have had those CPUs only that they may run on."""
    host = next(m["machine"] for m in told["machine_time"] if m["level"] == 0)
    allowed = {}
    for work in truth["works"].values():
        for thread in work["threads"] if work["machine"] == "L0" else []:
            first, _, last = str(thread["cpus"]).partition("-")
            allowed[thread["tid"]] = range(int(first), int(last or first) + 1)
    pinned = Tally(title, "works of the host that are blamed: on a CPU of theirs")
    for row in told["preemption_list"]:
        if row["on"] and row["culprit"] and row["culprit_machine"] == host and row["culprit"]["tid"] in allowed:
            pinned.add(row["on"]["cpu"] in allowed[row["culprit"]["tid"]], f"{row['culprit']['comm']} on CPU {row['on']['cpu']}")
    pinned.close(1)


def pinned_vcpus(title, told, vcpus, threads):
    """A vCPU that is pinned waits for its own CPU; code of a VM whose vCPUs all are runs on theirs."""
    host = next(m["machine"] for m in told["machine_time"] if m["level"] == 0)
    everywhere = {machine for machine, _ in vcpus
                  if all(vcpu_of(s["vcpu"]) in vcpus for s in told["vcpu_state"] if s["vcpu"]["machine"] == machine)}
    waits, culprits = Tally(title, "pinned vCPUs that were ready: for their CPU"), Tally(title, "pinned culprits: on their CPU")
    for row in told["preemption_list"]:
        if not row["on"]:
            continue
        on, victim, by = row["on"]["cpu"], vcpu_of(row["vcpu"]), row["culprit_machine"]
        if victim in vcpus:
            waits.add(on == vcpus[victim], f"{victim} waits for CPU {on}")
        if by in everywhere:
            culprits.add(on in {cpu for (machine, _), cpu in vcpus.items() if machine == by}, f"{by} on CPU {on}")
        if by == host and row["culprit"] and row["culprit"]["comm"] in threads:
            culprits.add(on == threads[row["culprit"]["comm"]], f"{row['culprit']['comm']} on CPU {on}")
    waits.close(1)
    culprits.close(1)


# ---- wake-ups --------------------------------------------------------------------------------------------------


def switches_of(traces):
    """Each CPU's times, and to which thread it switched then, by the traces themselves."""
    found = {}
    for line in lib.run(lib.SONDE, "events", "--format", "json", "-e", "sched_switch", *traces).splitlines():
        event = json.loads(line)
        if event["kind"] == "lost":
            continue
        to = re.search(r"next_(?:tid|pid)=(\d+)", event["fields"])
        times, threads = found.setdefault((event["machine"], event["cpu"]), ([], []))
        times.append(event["t"])
        threads.append(int(to[1]))
    return found


def woken(title, told, traces):
    """The thread is the first that the guest's own trace switches to, and then."""
    switches = switches_of(traces)
    tally = Tally(title, "wake-ups: the thread that ran, and when")
    for row in told["wakeup_list"]:
        if not row["thread"]:
            continue
        vcpu = vcpu_of(row["vcpu"])
        times, threads = switches.get(vcpu, ([], []))
        entry, runs = row["at"] + row["host_wakeup"] + row["run_delay"] + row["entry"], row["at"] + row["total"]
        says = f"{vcpu} at {row['at']}: {row['thread']['comm']}[{row['thread']['tid']}] after {row['total']} ns"
        if not times or times[0] > entry + MARGIN_NS:
            tally.add(False, f"{says}, but its trace begins later than the entry")
            continue
        index = bisect.bisect_left(times, entry - MARGIN_NS)
        while index < len(times) and not threads[index]:
            index += 1
        right = index < len(times) and abs(times[index] - runs) <= MARGIN_NS and threads[index] == row["thread"]["tid"]
        tally.add(right, f"{says}, but it switched to {threads[index] if index < len(times) else 'nobody'}")
    tally.close()


def lateness(title, history, told, truth):
    """No wake-up took longer than its program noted to be late at most; before it began it notes nothing (it is read from a disk)."""
    run = History(history)
    tally = Tally(title, "wake-ups of works: no longer than they noted themselves")
    for work in truth["works"].values():
        late = next((said["late_max_ns"] for said in work["said"] if "late_max_ns" in said), None)
        tids = {thread["tid"] for thread in work["threads"]}
        offset = truth["machines"][work["machine"]]["tsc_offset_to_l0"]
        begin = run.l0_time(work["tsc_begin"] - offset) if late and offset is not None else 0
        for row in told["wakeup_list"] + told["wakeup_awake_list"] if late else []:
            if row["thread"] and row["thread"]["tid"] in tids and row["thread"]["machine"].endswith(work["machine"]) and row["at"] >= begin:
                tally.add(row["total"] <= late + MARGIN_NS, f"{row['thread']['comm']}: {row['total']} ns, it noted {late}")
    tally.close(1)


# ---- runs ------------------------------------------------------------------------------------------------------

FACTS = ("preemption_list", "wakeup_list", "wakeup_awake_list", "clock", "hypervisor", "vcpu_state", "machine_time")


def analyse(title, traces, scratch):
    history = scratch / f"{title.replace(' ', '-')}.sonde"
    lib.run(lib.SONDE, "analyze", *traces, "-o", history, "--quiet")
    return history, facts(history, *FACTS)


def samples_of(made):
    """Of a run of the lab, by the names that a history has for its machines."""
    return lambda run: compare.programs_of(names.renamed(run, made["machines"], made["samples"]))


def check_run(name, directory, scratch):
    made = json.loads((directory / "samples.json").read_text())
    truth = json.loads((directory / "truth.json").read_text())
    gathered = directory / "L0/run"
    traces = [gathered] if gathered.is_dir() else sorted(directory.glob("*/trace.dat"))
    host = next(path for path in (gathered / "host0/trace.dat", gathered / "host0", directory / "L0/trace.dat") if path.exists())
    title = f"{name}, guests traced"
    history, told = analyse(title, traces, scratch)
    sampled(title, history, told, samples_of(made))
    pinned_works(title, told, truth)
    woken(title, told, traces)
    lateness(title, history, told, truth)
    title = f"{name}, host alone"
    history, told = analyse(title, [host], scratch)
    sampled(title, history, told, samples_of(made))
    pinned_works(title, told, truth)


def check_set(name, scratch):
    directory = lib.shared_set(name)
    machines = sorted(path for path in directory.iterdir() if path.is_dir())
    traces = [path / "trace.dat" if (path / "trace.dat").is_file() else path for path in machines]
    _, told = analyse(name, traces, scratch)
    pinned_vcpus(name, told, *PINNED[name])
    woken(name, told, traces)


def check_hardware(name, directory, scratch):
    """The sets whose samples hardware.py compares."""
    scratch = scratch / name
    scratch.mkdir()
    history = fused.analyse(directory, scratch)
    sampled(name, history, facts(history, *FACTS), lambda run: list(hardware.programs_of(directory)))


def check_enough(shared):
    """Nothing is right because nothing was judged; and a sentence that is false is not let through."""
    for what, least in LEAST.items():
        lib.check(JUDGED[what] >= least[shared], f"{what}: only {JUDGED[what]} judged, {least[shared]} are expected")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        for argument in sys.argv[1:]:
            check_run(Path(argument).name, Path(argument), scratch)
        if sys.argv[1:]:
            return
        for archive in lib.archives("lab-run-*"):
            check_run(lib.archive_name(archive), lib.unpacked(archive), scratch)
        for name, directory in lib.oracle_sets():
            check_hardware(name, directory, scratch)
        check_enough(False)
        for name in PINNED:
            check_set(name, scratch)
        for name in hardware.SETS:
            check_hardware(name, lib.shared_set(name), scratch)
        check_enough(True)


if __name__ == "__main__":
    main()
