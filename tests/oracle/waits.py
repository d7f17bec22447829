#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 600
"""What Sonde says that vCPUs waited for, against the interrupts that the guests themselves handled next (as their own
traces have them), with the guests' traces, from the host's trace alone, and without those of nested guests; and, in runs of
the lab's scenario "waits", against the causes that its workloads planted.

usage: waits.py [RUN...]: directories of lab runs (truth.json, L0/run); without any, the shared sets."""

import bisect
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402

SETS = ["lab-multi-ftrace-tsc", "lab-multi-lttng"]
NEAR_NS = 2000              # one wait in two histories: their clocks are fitted anew each time
NAMED = {"timer", "disk", "network", "ipi"}
PLANTED = {"timer": "timer", "disk": "disk", "network": "network", "task": "ipi"}
SHARE_RIGHT = 0.99
WAITS_MIN, JUDGED_MIN_NS = 200, 10**9
PLANTED_MIN_NS = 10_000_000
STORED = "lab-run-net-vhost-6.1"  # in samples/lab: timers and the network, planted in two VMs
PARTS = (("-req.", "disk"), ("-request", "disk"), ("-input.", "network"), ("-output.", "network"))


def records(text):
    return [json.loads(line) for line in text.splitlines()]


def cause_of(event):
    """What the guest's own interrupt was for; None for other events."""
    name = event["name"].removeprefix("x86_irq_vectors_")
    if name == "irq_handler_entry":
        return next((cause for part, cause in PARTS if part in event["fields"]), "device")
    if name == "local_timer_entry":
        return "timer"
    return "ipi" if name.startswith(("reschedule", "call_function")) and name.endswith("_entry") else None


class Guests:
    """Each vCPU's interrupts and switches, by time."""

    def __init__(self, traces):
        self.events = {}
        found = lib.run(lib.SONDE, "events", "--format", "json", "-e", "irq_handler_entry", "-e", "*local_timer_entry",
                        "-e", "*reschedule_entry", "-e", "*call_function*_entry", "-e", "sched_switch", *traces)
        for event in records(found):
            times, causes = self.events.setdefault((event["machine"], event["cpu"]), ([], []))
            times.append(event["t"])
            causes.append(cause_of(event))

    def handled(self, vcpu, begin, end):
        """The causes of the interrupts from begin on, until the first switch between threads, or end."""
        times, causes = self.events.get(vcpu, ([], []))
        found = set()
        if not times or times[0] >= begin - NEAR_NS:
            return found    # its kernel was not recorded yet
        for index in range(bisect.bisect_left(times, begin - NEAR_NS), len(times)):
            if times[index] >= end or (causes[index] is None and found):
                break
            found.add(causes[index])
        return found - {None}


def waits_of(history, *options):
    told = lib.run(lib.SONDE, "report", history, "--table", "wait_list", "--format", "json", *options)
    waits = {}
    for wait in json.loads(told)["wait_list"]:
        waits.setdefault((wait["vcpu"]["machine"], wait["vcpu"]["cpu"]), []).append(wait)
    return waits


def analyse(traces, scratch, name):
    history = scratch / f"{name}.sonde"
    lib.run(lib.SONDE, "analyze", *traces, "-o", history, "--quiet")
    return history


def found_again(waits, other):
    """How many of a vCPU's waits are among others: they begin at the same time; or, where the other history has no trace
    of the machine around a nested vCPU, they lie within one, which begins and ends in that machine's host."""
    its = sorted((wait["at"], wait["until"]) for wait in other)
    begins = [at for at, _ in its]
    same = sum(bisect.bisect_left(begins, wait["at"] - NEAR_NS) < bisect.bisect_right(begins, wait["at"] + NEAR_NS) for wait in waits)
    within = 0
    for wait in waits:
        index = bisect.bisect_right(begins, wait["at"] + NEAR_NS) - 1
        within += index >= 0 and wait["until"] <= its[index][1] + NEAR_NS
    return max(same, within if 2 * within > len(waits) else 0)


def same_vcpus(waits, alone):
    """The same vCPUs' waits in the history of the host alone, where machines have other names: who has most of them, each
    vCPU once.  A nested one that is seen only while it sleeps may seem to lie within the waits of any other."""
    pairs = sorted(((found_again(its, others), vcpu, other) for vcpu, its in waits.items()
                    for other, others in alone.items() if vcpu[1] == other[1]), reverse=True)
    names, taken = {}, set()
    for hits, vcpu, other in pairs:
        if hits and vcpu not in names and other not in taken:
            names[vcpu] = alone[other]
            taken.add(other)
    return names


def judge(waits, guests, vcpu):
    """(time judged, time right, false attributions) of one vCPU's waits."""
    sums, false = Counter(), []
    for index, wait in enumerate(waits):
        end = waits[index + 1]["at"] if index + 1 < len(waits) else wait["until"] + 10**9
        handled = guests.handled(vcpu, wait["until"], end)
        if not handled or (wait["cause"] == "ipi" and wait["vector"] < 0):
            continue        # a vCPU that is woken for a spinlock gets no interrupt
        cause = wait["cause"]
        sums["judged"] += wait["length"]
        sums["right"] += wait["length"] if cause in handled else 0
        if len(handled) == 1:
            sums[("ended by", *handled)] += wait["length"]
            sums[("told", *handled)] += wait["length"] if cause in handled else 0
        if cause in NAMED and cause not in handled:
            false.append((wait, handled))
    return sums, false


def compare(title, guests, names):
    """Holds waits, by vCPU, against what the guests handled; names: vCPU in the guests' events → its waits."""
    sums, false, nr = Counter(), [], 0
    for vcpu, found in names.items():
        one, wrong = judge(found, guests, vcpu)
        sums += one
        false += wrong
        nr += len(found)
    share = sums["right"] / sums["judged"] if sums["judged"] else 0
    print(f"{title}: {nr} waits, {sums['judged'] / 1e9:.3f} s with an interrupt of the guest's: "
          f"{share:.4%} of the time rightly attributed, {len(false)} false")
    for cause in sorted(NAMED):
        whole = sums["ended by", cause]
        if whole:
            print(f"  ended by {cause} alone: {sums['told', cause] / whole:.4%} of {whole / 1e9:.3f} s told")
    for wait, handled in false[:5]:
        print(f"  {wait['vcpu']} at {wait['at']} for {wait['length']} ns: {wait['cause']} "
              f"({wait['evidence']}), but its guest handled {sorted(handled)}")
    lib.check(nr >= WAITS_MIN and sums["judged"] >= JUDGED_MIN_NS,
              f"{title}: only {nr} waits, {sums['judged'] / 1e9:.3f} s of them judged")
    lib.check(not false, f"{title}: {len(false)} waits are put down to something else than what ended them")
    return share


def lacking(causes, found):
    """Those that were planted and are not told."""
    return [cause for cause in causes if found[PLANTED.get(cause, cause)] < PLANTED_MIN_NS]


def planted(run, history):
    """What the machines waited for while their workloads planted causes: all of these are told."""
    judged = 0
    truth = json.loads((run / "truth.json").read_text())
    for work in truth["works"].values():
        offset = truth["machines"][work["machine"]]["tsc_offset_to_l0"]
        if not work["causes"] or work["machine"] == "L0" or offset is None or not work["tsc_end"]:
            continue
        window = f"tsc:{work['tsc_begin'] - offset},tsc:{work['tsc_end'] - offset}"
        found = Counter()
        for (machine, _), waits in waits_of(history, "--time", window).items():
            for wait in waits if machine.rsplit(".", 1)[-1] == work["machine"] else []:
                found[wait["cause"]] += wait["length"]
        planted_here = ", ".join(PLANTED.get(cause, cause) for cause in work["causes"])
        told = ", ".join(f"{cause} {ns / 1e6:.1f} ms" for cause, ns in found.most_common())
        print(f"{run.name}: {work['machine']}, planted {planted_here}: {told}")
        lib.check(not lacking(work["causes"], found), f"{run.name}: {work['machine']}: {lacking(work['causes'], found)} not told")
        lib.check(lacking(["nothing", "ipi"], found), f"{run.name}: what nobody planted is told, too")
        judged += 1
    lib.check(judged, f"{run.name}: no workload of a guest planted a cause")


WINDOWS = {"": ("--time", "0%,100%"), " in the host's time": ()}


def check(title, traces, hidden, scratch):
    """hidden: what a history is made of, by its name, while all traces tell what the guests handled."""
    guests = Guests(traces)
    whole = analyse(traces, scratch, f"{title}-all")
    others = {name: analyse(seen, scratch, f"{title}-{name.replace(' ', '-')}") for name, seen in hidden.items()}
    for when, window in WINDOWS.items():
        waits = waits_of(whole, *window)
        shares = [compare(f"{title}, guests traced{when}", guests, waits)]
        for name, history in others.items():
            names = same_vcpus(waits, waits_of(history, *window))
            shares.append(compare(f"{title}, {name}{when}", guests, names))
        for share in shares:
            lib.check(share >= SHARE_RIGHT, f"{title}: only {share:.2%} of the time is rightly attributed")


def check_run(run, scratch):
    gathered = run / "L0/run"
    host = json.loads((gathered / "run.json").read_text()).get("host", "host0")
    folders = [path for path in gathered.iterdir() if path.is_dir()]
    hidden = {"host alone": [gathered / host]}
    if any("." in path.name for path in folders):
        hidden["nested guests not traced"] = [path for path in folders if "." not in path.name]
    check(run.name, [gathered], hidden, scratch)
    planted(run, scratch / f"{run.name}-all.sonde")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        for argument in sys.argv[1:]:
            check_run(Path(argument), Path(scratch))
        if sys.argv[1:]:
            return
        for archive in lib.archives(STORED, places=(lib.SAMPLES,)):
            check_run(lib.unpacked(archive), Path(scratch))
        for name in SETS:
            directory = lib.shared_set(name)
            machines = sorted(path for path in directory.iterdir() if path.is_dir())
            traces = [path / "trace.dat" if (path / "trace.dat").is_file() else path for path in machines]
            check(name, traces, {"host alone": [traces[machines.index(directory / "L0")]]}, Path(scratch))
        for path in sorted(lib.TRACES.glob("lab-run-waits*.tar.zst")):
            check_run(lib.shared_set(path.name.removesuffix(".tar.zst")), Path(scratch))


if __name__ == "__main__":
    main()
