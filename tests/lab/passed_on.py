#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 1500
# alone: lab
"""What a guest's module keeps in a device's memory arrives at its host on four ways at once: the host reads the rings there
(ivshmem), and agents pass them on by vsock, a virtio port and TCP. All of it equals the guest's own ftrace record, event by
event; and the module takes the channels in the order that it is given.

    tests/lab/passed_on.py                       runs the lab
    tests/lab/passed_on.py RUN                   compares in a run directory that is there
    tests/lab/passed_on.py --keep DIR [KERNEL]   the lab's run stays in DIR; other lab runs are waited for as long as it takes
"""
import json
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402
import live  # noqa: E402
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
insmod $module channel=auto ivshmem=0000:00:1e.0 || exit 1
grep -qx "ivshmem: there is no such device" $tried && grep -qx "memory: in use" $tried || exit 1
rmmod sonde_guest
insmod $module channel=ivshmem,nothing && exit 1
insmod $module channel=device && [ -e /dev/sonde_guest ] && rmmod sonde_guest || exit 1
insmod $module channel=ivshmem events=sched,irq,task,softirq,syscall
"""
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


class Given(sent.Given):
    kernel = None


def check_run(run):
    machines, losses = sent.events_of(run)
    manifest = json.loads((Path(run) / "run.json").read_text())["machines"]
    own = next(m["name"] for m in manifest if m["parent"] and m["tracer"] == "ftrace")
    senders = [m["name"] for m in manifest if m["tracer"] == "hypertrace"]
    lib.check(len(senders) == 1 + len(LINKS), f"the host read the rings, and agents passed them on: {senders}")
    for name in senders:
        # The module was loaded before ftrace recorded, so its probes run first: the other way round than in sent.py.
        equal, missing, extra = sent.compare(name, machines[name], machines[own])
        lib.check(equal >= sent.LEAST, f"{name}: {equal} events are enough to compare")
        lib.check(not losses[name], f"{name}: nothing that it sent was lost")
        lib.check(not missing and not extra, f"{name}: what it sent is what ftrace recorded")


def check_file(file):
    """What the guest left in the device's memory when it was gone is a trace by itself."""
    machines, _ = sent.events_of(file)
    nr = sum(len(events) for machine in machines.values() for events in machine.values())
    print(f"{file.name}: {nr} events in the device's memory")
    lib.check(nr >= sent.LEAST, f"{nr} events in the device's memory")


def check_all(directory):
    check_run(directory / "L0/run")
    check_file(directory / "L0/shared")


def scripts(scratch):
    for name, text in (("load", LOAD), ("agents", AGENTS), ("work", WORK)):
        script = scratch / name
        script.write_text("#!/bin/sh" + text)
        script.chmod(0o755)
        yield script


def run_lab(directory, scratch):
    stopwatch = Stopwatch(False)
    chosen = scenario.load("l1")
    chosen.kernel = Given.kernel or chosen.kernel
    chosen.machines()["L0"].cpus = 1  # why: tests/kernel/ends.toml
    guest = chosen.machines()["vm-a"]
    guest.port, guest.shared, guest.network = True, 8, "virtio"
    built = image.get(chosen.kernel, stopwatch)
    put = [guest_module.get(chosen.kernel, built, stopwatch), *scripts(scratch)]
    payload.build_programs(stopwatch)
    links = " ".join(f"--guest {name}={link}" for name, link in LINKS.items())
    commands = ["vm-a:load", "vm-a:agents &", f"echo {TOKEN} >token", "sleep 8",
                f"sonde record -o run -e raw_syscalls --guest-timeout 30 --guest vm-a=vsock:3 {links} --token-file token --duration 30 &",
                "sleep 8", "vm-a:work",
                "for i in $(seq 600); do [ -e run/host0/trace.dat ] && break; usleep 200000; done; sleep 1; [ -e run/host0/trace.dat ]",
                f"cp {FILE} shared"]
    report = engine.run(chosen, built, options.of_engine(directory, Given, stopwatch, put, commands), stopwatch)
    lib.check(not any(report["command_statuses"]), f"every step succeeded: {report['command_statuses']}")
    return directory


def main():
    lib.need("qemu-system-x86_64", "make", "gcc")
    kept = None
    if sys.argv[1:2] == ["--keep"]:
        kept, Given.wait = Path(sys.argv[2]), None
        Given.kernel = (sys.argv[3:] or [None])[0]
    elif len(sys.argv) > 1:
        return check_run(sys.argv[1])
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        live.within_tries(1 if kept else 2, lambda: check_all(run_lab(kept or scratch / "lab", scratch)))
    return None


if __name__ == "__main__":
    main()
