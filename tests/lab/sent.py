#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 1500
# alone: lab
"""What a guest sent to its host equals its own ftrace record of the same run, event by event, as Sonde reads both.

Without RUN the lab is run: an agent records the guest while its module sends, by hypercall and in memory. With -o that run
stays, and other lab runs are waited for as long as it takes.
"""
import argparse
import bisect
import collections
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402
import live  # noqa: E402
from lab.lib import engine, guest_module, image, options, payload  # noqa: E402
from lab.lib.stopwatch import Stopwatch  # noqa: E402

HERE = Path(__file__).resolve().parent
# The fields that tell an event from another of its name; of both traces, by ftrace's names.
FIELDS = {
    "sched_switch": ("prev_pid", "next_pid"),
    "sched_waking": ("pid", "target_cpu"),
    "sched_wakeup_new": ("pid", "target_cpu"),
    "sched_process_exit": ("pid",),
    "sys_enter": ("id",),
    "sys_exit": ("id", "ret"),
    "irq_handler_entry": ("irq",),
    "irq_handler_exit": ("irq",),
    "softirq_entry": ("vec",),
    "softirq_exit": ("vec",),
}
# Probes of one tracepoint run one after the other; an interrupt may come between them, and another machine get the CPU.
# Of a guest's guest more machines can, and each of its exits costs it many of its host's.
APART_TICKS = {1: 500_000_000, 2: 4_000_000_000}
# A module that is loaded or unloaded has some of its probes only, for seconds on a busy machine: what must have been
# sent is what lies between the first and the last event of its own name, and, whatever its name, what is far from both
# ends. The CPUs of a guest begin to see a probe one after the other. (In an L2 the last probe came 2.3 s after the first.)
EDGE_TICKS = {1: 5_000_000_000, 2: 15_000_000_000}
OWN_EDGE_TICKS = 50_000_000
LEAST = 200  # events, for a comparison to say anything


def fields(text):
    out, rest = {}, text
    while "=" in rest:
        name, _, rest = rest.partition("=")
        if rest.startswith('"'):
            value, _, rest = rest[1:].partition('" ')
        else:
            value, _, rest = rest.partition(" ")
        out[name.strip()] = value
    return out


def events_of(run):
    """Per machine, CPU and name: (ticks, fields), in order; when events were lost, by machine; hypercalls that went past their own host."""
    command = [lib.SONDE, "events", run, "--format", "json"]
    machines = collections.defaultdict(lambda: collections.defaultdict(list))
    losses, past = collections.defaultdict(list), 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            e = json.loads(line)
            if e["name"] == "lost":
                losses[e["machine"]].append(e["ticks"])
            elif e["name"] in FIELDS:
                found = fields(e["fields"])
                key = tuple(found.get(f) for f in FIELDS[e["name"]])
                machines[e["machine"]][e["cpu"], e["name"]].append((e["ticks"], key))
            past += e["name"] == "kvm_nested_hypercall"
    lib.check(process.returncode == 0, "sonde events reads the run")
    return machines, losses, past


def spans(ticks):
    """From the first to the last of these times, without silences of a second and more (the sender was not loaded)."""
    out = []
    for t in sorted(ticks):
        if out and t - out[-1][1] < 2_500_000_000:
            out[-1][1] = t
        else:
            out.append([t, t])
    return out


class Sending:
    """When a sender must have sent an event of a name."""

    def __init__(self, sent, level):
        self.edge = EDGE_TICKS[level]
        self.whole = spans(t for events in sent.values() for t, _ in events)
        self.of_name = {wanted: spans(t for (_, name), events in sent.items() if name == wanted for t, _ in events)
                        for wanted in {name for _, name in sent}}

    def must(self, name, ticks):
        return any(first + edge < ticks < last - edge
                   for parts, edge in ((self.whole, self.edge), (self.of_name[name], OWN_EDGE_TICKS)) for first, last in parts)


def lost_inside(losses, sent, level=1):
    """Those at times at which all probes were there: of a module that is unloaded it is not known for a moment who runs."""
    sending = Sending(sent, level)
    return [ticks for ticks in losses if sending.must("sched_switch", ticks)]


def by_fields(events):
    out = collections.defaultdict(list)
    for ticks, what in events:
        out[what].append(ticks)
    return out


def partners(mine, theirs, most):
    """For events with the same fields on one CPU: how far apart those are that are equal, and what only ftrace, only the
    sender has. ftrace's probe was there first and runs first, so an event that was sent is the last one before it that
    ftrace recorded."""
    apart, missing, extra = [], [], []
    i = 0
    for ticks in theirs:
        end = bisect.bisect_right(mine, ticks)
        if end > i and ticks - mine[end - 1] < most:
            missing += mine[i:end - 1]
            apart.append(ticks - mine[end - 1])
        else:
            missing += mine[i:end]
            extra.append(ticks)
        i = end
    return apart, missing + mine[i:], extra


def compare(name, own, sent, level=1):
    """Counts of equal events, and what only one side has, inside what was sent."""
    sending = Sending(sent, level)
    apart, missing, extra = [], [], []
    names = {name for _, name in own} & {name for _, name in sent}
    for key in sorted((key for key in set(own) | set(sent) if key[1] in names), key=str):
        mine, theirs = by_fields(own.get(key, [])), by_fields(sent.get(key, []))
        for what in sorted(set(mine) | set(theirs), key=str):
            same, not_sent, only_sent = partners(mine[what], theirs[what], APART_TICKS[level])
            apart += same
            missing += [(key, ticks, what) for ticks in not_sent if sending.must(key[1], ticks)]
            extra += [(key, ticks, what) for ticks in only_sent]
    recorded = sorted(ticks for events in own.values() for ticks, _ in events)
    extra = [row for row in extra if recorded[0] < row[1] < recorded[-1]]
    equal = len(apart)
    print(f"{name}: {equal} events equal (half of them within {sorted(apart)[equal // 2] if equal else 0} ticks, all within"
          f" {max(apart, default=0)}), {len(missing)} not sent, {len(extra)} sent and not in its own record")
    for what, rows in (("not sent", missing), ("only sent", extra)):
        for row in rows[:5]:
            print(f"  {what}: {row}")
    return equal, missing, extra


def machines_of(tree):
    yield tree
    for vm in tree["vms"]:
        yield from machines_of(vm)


def check_alone(run, manifest, own, name):
    """The inside of the guest is there without a trace of its own: as if it had no agent."""
    with tempfile.TemporaryDirectory() as place:
        alone, history = Path(place) / "run", Path(place) / "run.sonde"
        shutil.copytree(run, alone, ignore=lambda _, names: [own] if own in names else [])
        kept = [m for m in manifest["machines"] if m["name"] != own]
        (alone / "run.json").write_text(json.dumps({**manifest, "machines": kept}))
        subprocess.run([lib.SONDE, "analyze", alone, "-q", "-o", history], check=True)
        tree = json.loads(subprocess.run([lib.SONDE, "tree", history, "--format", "json"], check=True, capture_output=True).stdout)
    shown = [m for m in machines_of(tree) if m["name"] == name]
    threads = shown[0]["threads"] if shown else 0
    print(f"{name} without {own}'s own trace: {threads} threads at level {shown and shown[0]['level']}")
    lib.check(threads >= 10 and shown[0]["level"] == own.count(".") + 1 and shown[0]["traced"], f"{name} alone shows its inside")


def check_run(run, patched=False):
    machines, losses, past = events_of(run)
    manifest = json.loads((Path(run) / "run.json").read_text())
    traced = {m["name"]: m["parent"] for m in manifest["machines"] if m["tracer"] == "ftrace"}
    own = next(name for name in traced if name not in traced.values())   # the innermost
    level = own.count(".") + 1
    sent = [name for name in machines if name not in traced]
    told = [m["name"] for m in manifest["machines"] if m["tracer"] == "hypertrace"]
    print(f"{own}: what it sent is {', '.join(sent)}; {past} hypercalls went past their own host")
    lib.check(not patched or past, f"{own}: the host's host took its hypercalls")
    lib.check(sent and set(told) <= set(sent), f"{own} sent something, {told} at least: {sorted(machines)}")
    lib.check(level == 1 or len(sent) == 2, f"{own} sent by hypercall and in memory: {sorted(machines)}")
    for name in sent:
        equal, missing, extra = compare(name, machines[own], machines[name], level)
        lib.check(equal >= LEAST, f"{name}: {equal} events are enough to compare")
        lib.check(not lost_inside(losses[name], machines[name], level), f"{name}: nothing that it sent was lost")
        lib.check(not missing and not extra, f"{name}: what it sent is what ftrace recorded")
    if level > 1:
        check_alone(run, manifest, own, *told)


STEPS = """
module=$(command -v sonde_guest.ko)
for channel in hypercall memory; do
    insmod $module channel=$channel events=sched,irq,task,softirq,syscall || exit 1
    [ "$(cat /sys/kernel/sonde_guest/channel)" = $channel ] || exit 1
    sleep 1
    sonde mark $channel -- sleep 0.2
    for i in 1 2 3 4 5 6 7 8; do cat /proc/stat >/dev/null; sleep 0.05; done
    sleep 12
    rmmod sonde_guest
    sleep 2
done
"""


# Two minutes at most: where the recording failed there is no such file.
def until_recorded(run):
    return f"for i in $(seq 600); do [ -e {run}/host0/trace.dat ] && break; usleep 200000; done; sleep 1; [ -e {run}/host0/trace.dat ]"


def commands(chosen):
    """Every guest has an agent; the innermost sends."""
    guests = [name for name in chosen.machines() if name != "L0"]
    if chosen.kvm == "nested":
        yield f"{guests[0]}:insmod /lab/kvm/msr.ko"
        yield f"{guests[0]}:hypercalls leave 0x5348 0x534d"
    for name in guests:
        yield f"{name}:sonde-agent --vsock 21327 &"
    yield "sleep 8"
    yield "sonde record -o run --guest all -e raw_syscalls --guest-timeout 30 -- sh -c '>began; until [ -e sent ]; do sleep 1; done' &"
    yield "until [ -e began ]; do sleep 1; done; sleep 2"   # all guests trace
    yield f"{guests[-1]}:steps"
    yield f"touch sent; {until_recorded('run')}"


def script(scratch, name, text):
    """A file for the machines' bin/."""
    path = scratch / name
    path.write_text("#!/bin/sh" + text)
    path.chmod(0o755)
    return path


def run_lab(given, directory, scratch):
    stopwatch = Stopwatch(False)
    chosen = options.choose("l2" if given.nested else "l1", given)
    chosen.machines()["L0"].cpus = 1  # why: tests/kernel/ends.toml
    built = image.get(chosen.kernel, stopwatch)
    put = [guest_module.get(chosen.kernel, built, stopwatch), script(scratch, "steps", STEPS)]
    payload.build_programs(stopwatch)
    report = engine.run(chosen, built, options.of_engine(directory, given, stopwatch, put, list(commands(chosen))), stopwatch)
    lib.check(not any(report["command_statuses"]), f"every step succeeded: {report['command_statuses']}")
    return directory / "L0/run"


def options_of(parser, limit):
    """What is given on the command line, where it is also said in which directories there is a run to compare in."""
    parser.add_argument("runs", nargs="*", metavar="RUN", type=Path, help="compare in these directories, which are there")
    options.add_to(parser)
    given = parser.parse_args()
    if not given.directory:     # nobody asked for just this run
        given.wait = given.wait or 60
    given.limit = given.limit or limit(given)
    given.within = given.within or given.limit
    return given


def run_or_compare(given, run, check):
    """check() of each directory given, or else of the one that run(directory, scratch) made."""
    if given.runs:
        for directory in given.runs:
            check(directory)
        return
    lib.need("qemu-system-x86_64", "make", "gcc")
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        live.within_tries(1 if given.directory else 2, lambda: check(run(given.directory or scratch / "lab", scratch)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--nested", action="store_true", help="the guest is a guest's guest")
    given = options_of(parser, lambda given: 600 if given.nested else 300)
    run_or_compare(given, lambda directory, scratch: run_lab(given, directory, scratch),
                   lambda run: check_run(run, given.kvm == "nested"))


if __name__ == "__main__":
    main()
