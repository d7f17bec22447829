#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 1500
# alone: lab
"""What a guest sent to its host equals its own ftrace record of the same run, event by event, as Sonde reads both.

    tests/lab/sent.py            runs the lab: an agent records the guest while its module sends: by hypercall, in memory and
                                 in a device's memory; then to agents that pass it on by vsock, a virtio port and TCP
    tests/lab/sent.py RUN…       compares in run directories that are there
    tests/lab/sent.py --keep DIR the lab's run stays in DIR; other lab runs are waited for as long as it takes
"""
import bisect
import collections
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402
import live  # noqa: E402
from lab.lib import engine, guest_module, image, options, payload, scenario  # noqa: E402
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
APART_TICKS = 500_000_000
# A module that is loaded or unloaded has some of its probes only, for seconds on a busy machine: what must have been
# sent is what lies between the first and the last event of its own name, and, whatever its name, what is far from both
# ends. The CPUs of a guest begin to see a probe one after the other.
EDGE_TICKS = 5_000_000_000
OWN_EDGE_TICKS = 50_000_000
LEAST = 200  # events, for a comparison to say anything


class Given:
    """What the lab's options are when nothing is said."""
    kernel = tracer = None
    accel, qemu, tries, seed = "tcg", None, 3, 1
    limit, within, wait = 300, 300, 60


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
    """Per machine, CPU and name: (ticks, fields), in order."""
    command = [lib.SONDE, "events", run, "--format", "json"]
    machines = collections.defaultdict(lambda: collections.defaultdict(list))
    losses = collections.Counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            e = json.loads(line)
            if e["name"] == "lost":
                losses[e["machine"]] += 1
            elif e["name"] in FIELDS:
                found = fields(e["fields"])
                key = tuple(found.get(f) for f in FIELDS[e["name"]])
                machines[e["machine"]][e["cpu"], e["name"]].append((e["ticks"], key))
    lib.check(process.returncode == 0, "sonde events reads the run")
    return machines, losses


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

    def __init__(self, sent):
        self.whole = spans(t for events in sent.values() for t, _ in events)
        self.of_name = {wanted: spans(t for (_, name), events in sent.items() if name == wanted for t, _ in events)
                        for wanted in {name for _, name in sent}}

    def must(self, name, ticks):
        return any(first + edge < ticks < last - edge
                   for parts, edge in ((self.whole, EDGE_TICKS), (self.of_name[name], OWN_EDGE_TICKS)) for first, last in parts)


def by_fields(events):
    out = collections.defaultdict(list)
    for ticks, what in events:
        out[what].append(ticks)
    return out


def partners(mine, theirs):
    """For events with the same fields on one CPU: how many are equal, and what only ftrace, only the sender has. ftrace's
    probe was there first and runs first, so an event that was sent is the last one before it that ftrace recorded."""
    equal, missing, extra = 0, [], []
    i = 0
    for ticks in theirs:
        end = bisect.bisect_right(mine, ticks)
        if end > i and ticks - mine[end - 1] < APART_TICKS:
            missing += mine[i:end - 1]
            equal += 1
        else:
            missing += mine[i:end]
            extra.append(ticks)
        i = end
    return equal, missing + mine[i:], extra


def compare(name, own, sent):
    """Counts of equal events, and what only one side has, inside what was sent."""
    sending = Sending(sent)
    equal, missing, extra = 0, [], []
    names = {name for _, name in own} & {name for _, name in sent}
    for key in sorted((key for key in set(own) | set(sent) if key[1] in names), key=str):
        mine, theirs = by_fields(own.get(key, [])), by_fields(sent.get(key, []))
        for what in sorted(set(mine) | set(theirs), key=str):
            same, not_sent, only_sent = partners(mine[what], theirs[what])
            equal += same
            missing += [(key, ticks, what) for ticks in not_sent if sending.must(key[1], ticks)]
            extra += [(key, ticks, what) for ticks in only_sent]
    recorded = sorted(ticks for events in own.values() for ticks, _ in events)
    extra = [row for row in extra if recorded[0] < row[1] < recorded[-1]]
    print(f"{name}: {equal} events equal, {len(missing)} not sent, {len(extra)} sent and not in its own record")
    for what, rows in (("not sent", missing), ("only sent", extra)):
        for row in rows[:5]:
            print(f"  {what}: {row}")
    return equal, missing, extra


def check_run(run):
    machines, losses = events_of(run)
    manifest = json.loads((Path(run) / "run.json").read_text())
    own = next(m["name"] for m in manifest["machines"] if m["parent"] and m["tracer"] == "ftrace")
    hosts = [m["name"] for m in manifest["machines"] if not m["parent"]]
    sent = [name for name in machines if name != own and name not in hosts]
    told = [m["name"] for m in manifest["machines"] if m["tracer"] == "hypertrace"]
    lib.check(sent and set(told) <= set(sent), f"{own} sent something, {told} at least: {sorted(machines)}")
    for name in sent:
        equal, missing, extra = compare(name, machines[own], machines[name])
        lib.check(equal >= LEAST, f"{name}: {equal} events are enough to compare")
        lib.check(not losses[name], f"{name}: nothing that it sent was lost")
        lib.check(not missing and not extra, f"{name}: what it sent is what ftrace recorded")


def check_runs(runs):
    for run in runs:
        check_run(run)


EVENTS = "events=sched,irq,task,softirq,syscall"
DIRECT = ("hypercall", "memory", "ivshmem")    # channels that the module serves by itself
STEPS = f"""
module=$(command -v sonde_guest.ko)
for channel in {' '.join(DIRECT)}; do
    insmod $module channel=$channel {EVENTS} || exit 1
    [ "$(cat /sys/kernel/sonde_guest/channel)" = $channel ] || exit 1
    sleep 1
    sonde mark $channel -- sleep 0.2
    for i in 1 2 3 4 5 6 7 8; do cat /proc/stat >/dev/null; sleep 0.05; done
    sleep 12
    rmmod sonde_guest
    sleep 2
done
"""
# What agents pass on: three of them, beside the one that records with ftrace.
TOKEN = "of-guest-and-host-0123456789"
AGENTS = f"""
module=$(command -v sonde_guest.ko)
tried=/sys/kernel/sonde_guest/channels_tried
insmod $module channel=auto || exit 1
grep -qx "ivshmem: in use" $tried || exit 1
rmmod sonde_guest
insmod $module channel=auto ivshmem=0000:00:1e.0 || exit 1
grep -qx "ivshmem: there is no such device" $tried && grep -qx "memory: in use" $tried || exit 1
rmmod sonde_guest
insmod $module channel=ivshmem,nothing && exit 1
insmod $module channel=device {EVENTS} || exit 1
echo {TOKEN} >/data/token
sonde-agent --vsock 21328 --tracer hypertrace &
sonde-agent --virtio /dev/virtio-ports/org.sonde.agent --tracer hypertrace &
sonde-agent --tcp 0.0.0.0:5000 --token-file /data/token --tracer hypertrace &
wait
"""
LINKS = {"by-vsock": "vsock:3:21328", "by-port": "unix:/run/vm/vm-a/agent", "by-tcp": "tcp:10.9.0.11:5000"}
WORK = """
for i in 1 2 3 4 5 6 7 8; do cat /proc/stat >/dev/null; sleep 0.05; done
sleep 12
"""


def run_lab(directory, scratch):
    stopwatch = Stopwatch(False)
    chosen = scenario.load("l1")
    chosen.machines()["L0"].cpus = 1  # why: tests/kernel/ends.toml
    guest = chosen.machines()["vm-a"]
    guest.port, guest.shared, guest.network = True, 8, "virtio"
    built = image.get(chosen.kernel, stopwatch)
    put = [guest_module.get(chosen.kernel, built, stopwatch)]
    for name, text in (("steps", STEPS), ("agents", AGENTS), ("work", WORK)):
        put.append(scratch / name)
        put[-1].write_text("#!/bin/sh" + text)
        put[-1].chmod(0o755)
    payload.build_programs(stopwatch)
    links = " ".join(f"--guest {name}={link}" for name, link in LINKS.items())
    record = "sonde record -e raw_syscalls --guest-timeout 30"
    end = "for i in $(seq 600); do [ -e {0}/host0/trace.dat ] && break; usleep 200000; done; sleep 1; [ -e {0}/host0/trace.dat ]"
    commands = ["vm-a:sonde-agent --vsock 21327 &", "sleep 8",
                f"{record} -o run --guest all --duration 80 &", "sleep 8", "vm-a:steps", end.format("run"),
                "vm-a:agents &", f"echo {TOKEN} >token", "sleep 6",
                f"{record} -o passed-on --guest vm-a=vsock:3 {links} --token-file token --duration 30 &", "sleep 8", "vm-a:work",
                end.format("passed-on")]
    report = engine.run(chosen, built, options.of_engine(directory, Given, stopwatch, put, commands), stopwatch)
    lib.check(not any(report["command_statuses"]), f"every step succeeded: {report['command_statuses']}")
    return [directory / "L0/run", directory / "L0/passed-on"]


def main():
    lib.need("qemu-system-x86_64", "make", "gcc")
    kept = None
    if sys.argv[1:2] == ["--keep"]:
        kept, Given.wait = Path(sys.argv[2]), None
    elif len(sys.argv) > 1:
        return check_runs(sys.argv[1:])
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        live.within_tries(1 if kept else 2, lambda: check_runs(run_lab(kept or scratch / "lab", scratch)))
    return None


main()
