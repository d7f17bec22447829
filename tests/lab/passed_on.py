#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 1500
# alone: lab
"""What a guest's module keeps in a device's memory arrives at its host on four ways at once: the host reads the rings there
(ivshmem), and agents pass them on by vsock, a virtio port and TCP. All of it equals the guest's own ftrace record, event by
event; the module takes the channels in the order that it is given; a host finds rings that come while it records; and what a
guest that panicked did last is in the file behind the device. A guest whose rings the host writes over, and whose device is
removed, goes on under load, and its kernel complains of nothing.

Without RUN the lab is run. With -o that run stays, and other lab runs are waited for as long as it takes.
"""
import argparse
import json
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402
import sent  # noqa: E402
from lab.lib import engine, guest_module, image, options, payload, scenario  # noqa: E402
from lab.lib.stopwatch import Stopwatch  # noqa: E402

TOKEN = "of-guest-and-host-0123456789"
LINKS = {"by-vsock": "vsock:3:21328", "by-port": "unix:/run/vm/vm-a/agent", "by-tcp": "tcp:10.9.0.11:5000"}
FILE = "/run/vm/vm-a/shared"    # behind the ivshmem device
LOAD = """
module=$(command -v sonde_guest.ko)
tried=/sys/kernel/sonde_guest/channels_tried
insmod $module channel=auto || exit 1
grep -qx "ivshmem: in use" $tried || exit 1
rmmod sonde_guest
insmod $module channel=auto || exit 1
grep -qx "ivshmem: the device's memory is not all zero, and ivshmem= does not name it" $tried || exit 1
rmmod sonde_guest
insmod $module channel=auto ivshmem=0000:00:1e.0 || exit 1
grep -qx "ivshmem: there is no such device without a driver" $tried && grep -qx "memory: in use" $tried || exit 1
rmmod sonde_guest
insmod $module channel=ivshmem,nothing && exit 1
insmod $module channel=device && [ -e /dev/sonde_guest ] && rmmod sonde_guest || exit 1
insmod $module channel=ivshmem ivshmem=$(guest-steps shared) events=sched,irq,task,softirq,syscall
"""
AGAIN = """
insmod $(command -v sonde_guest.ko) channel=ivshmem ivshmem=$(guest-steps shared)
"""
# Under load, until the module is gone.
STIR = """
touch /data/stir
while [ -e /data/stir ]; do cat /proc/stat >/dev/null; usleep 1000; done &
cat /dev/sonde_guest >/dev/null &
reader=$!
until [ -e /data/stirred ]; do usleep 100000; done
kill $reader
wait $reader
rmmod sonde_guest
rm /data/stir /data/stirred
"""
# Over the region, and every 512 KiB over the beginning of a ring or of a slot.
SCRIBBLE = f"""
head -c 64 /dev/zero >zeros
tr '\\0' '\\377' <zeros >ones
for round in 1 2 3 4 5 6; do
    head -c 64 /dev/urandom >noise
    for what in ones zeros noise; do
        for place in 0 1 64 8256 16448 24640 32832 41024 49216; do
            dd if=$what of={FILE} bs=64 seek=$place conv=notrunc 2>/dev/null || exit 1
        done
    done
done
"""
CLEAR = f"dd if=/dev/zero of={FILE} bs=1M count=8 conv=notrunc"
REMOVE = """
total() { cat /sys/kernel/sonde_guest/total_$1; }
insmod $(command -v sonde_guest.ko) channel=ivshmem events=all || exit 1    # all zero: it needs no name
device=$(guest-steps shared)
stir &
sleep 1
[ $(total events) -gt 0 ] || exit 1
echo 1 >/sys/bus/pci/devices/$device/remove
events=$(total events) dropped=$(total dropped)
sleep 1
[ $(total events) = $events ] && [ $(total dropped) -gt $dropped ] || exit 1
echo 1 >/sys/bus/pci/rescan
[ $(guest-steps shared) = $device ] || exit 1
touch /data/stirred
wait
[ ! -e /sys/module/sonde_guest ] || exit 1
"""
COMPLAINTS = "! dmesg | grep -E 'BUG|WARNING|Oops|lockup|scheduling while|divide error|Call Trace'"
AGENTS = f"""
sonde-agent --vsock 21327 &
sonde-agent --vsock 21328 --tracer hypertrace &
sonde-agent --virtio /dev/virtio-ports/org.sonde.agent --tracer hypertrace &
echo {TOKEN} >/data/token
sonde-agent --tcp 0.0.0.0:5000 --token-file /data/token --tracer hypertrace &
wait
"""
WORK = """
for i in 1 2 3 4 5 6 7 8; do cat /proc/stat >/dev/null; sleep 0.05; done
sleep 12
"""


def check_run(run):
    machines, losses, _ = sent.events_of(run)
    manifest = json.loads((Path(run) / "run.json").read_text())["machines"]
    own = next(m["name"] for m in manifest if m["parent"] and m["tracer"] == "ftrace")
    senders = [m["name"] for m in manifest if m["tracer"] == "hypertrace"]
    lib.check(len(senders) == 1 + len(LINKS), f"the host read the rings, and agents passed them on: {senders}")
    for name in senders:
        # The module was loaded before ftrace recorded, so its probes run first: the other way round than in sent.py.
        equal, missing, extra = sent.compare(name, machines[name], machines[own])
        lib.check(equal >= sent.LEAST, f"{name}: {equal} events are enough to compare")
        lib.check(not sent.lost_inside(losses[name], machines[name]), f"{name}: nothing that it sent was lost")
        lib.check(not missing and not extra, f"{name}: what it sent is what ftrace recorded")


def check_late(run):
    """The module was loaded while the host recorded, and nobody told it."""
    machines, losses, _ = sent.events_of(run)
    [name] = [m["name"] for m in json.loads((run / "run.json").read_text())["machines"] if m["tracer"] == "hypertrace"]
    nr = sum(map(len, machines[name].values()))
    lost = sent.lost_inside(losses[name], machines[name])
    lib.check(nr >= sent.LEAST and not lost, f"{name}: {nr} events of rings that came late, {len(lost)} losses")


def check_file(file):
    """The device's memory is a trace by itself; the guest's last word is in it."""
    lines = [line for line in lib.run(lib.SONDE, "events", file).splitlines() if " hypertrace_sen" not in line]
    print(f"{file.name}: {len(lines)} events, the last: {lines[-1]}")
    lib.check(len(lines) >= sent.LEAST and "sysrq triggered crash" in lines[-1], "the panic is the last event in the device's memory")


def check_all(directory):
    check_run(directory / "L0/run")
    check_late(directory / "L0/late")
    check_file(directory / "L0/shared")


def run_lab(given, directory, scratch):
    stopwatch = Stopwatch(False)
    chosen = options.choose("l1", given)
    chosen.machines()["L0"].cpus = 1  # why: tests/kernel/ends.toml
    guest = chosen.machines()["vm-a"]
    guest.port, guest.shared, guest.network = True, 8, "virtio"
    chosen.action.append(scenario.Action(at=0.5, do="panic", machine="vm-a"))   # a command does it; this says that it is no failure
    built = image.get(chosen.kernel, stopwatch)
    scripts = (("load", LOAD), ("agents", AGENTS), ("work", WORK), ("again", AGAIN), ("stir", STIR), ("scribble", SCRIBBLE),
               ("remove", REMOVE))
    steps = lib.ROOT / "tests/kernel/guest-steps"
    put = [guest_module.get(chosen.kernel, built, stopwatch), steps, *(sent.script(scratch, name, text) for name, text in scripts)]
    payload.build_programs(stopwatch)
    links = " ".join(f"--guest {name}={link}" for name, link in LINKS.items())
    commands = ["vm-a:load", "vm-a:agents &", f"echo {TOKEN} >token", "sleep 8",
                f"sonde record -o run -e raw_syscalls --guest-timeout 30 --guest vm-a=vsock:3 {links} --token-file token --duration 30 &",
                "sleep 8", "vm-a:work",
                sent.until_recorded("run"), "vm-a:rmmod sonde_guest", "sonde record -o late --duration 10 &", "sleep 2", "vm-a:again",
                sent.until_recorded("late"),
                "vm-a:stir &", "sleep 1", "scribble", "vm-a:touch /data/stirred",
                "vm-a:while [ -e /data/stir ]; do usleep 100000; done; [ ! -e /sys/module/sonde_guest ]",
                CLEAR, "vm-a:remove", f"vm-a:{COMPLAINTS}", "vm-a:again", "vm-a:sleep 0.5; echo c >/proc/sysrq-trigger &",
                "while [ -e /run/vm/vm-a/control.in ]; do usleep 100000; done", f"cp {FILE} shared"]
    report = engine.run(chosen, built, options.of_engine(directory, given, stopwatch, put, commands), stopwatch)
    lib.check(not any(report["command_statuses"]), f"every step succeeded: {report['command_statuses']}")
    return directory


def main():
    given = sent.options_of(argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0]), lambda given: 300)
    sent.run_or_compare(given, lambda directory, scratch: run_lab(given, directory, scratch),
                        check_run if given.runs else check_all)


main()
