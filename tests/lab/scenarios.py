#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The lab without an emulator: every scenario can be read and planned, wrong ones are refused with a reason, and
truth is read from what machines leave behind."""

import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent), str(Path(__file__).resolve().parents[2])]
import lib  # noqa: E402
from lab.lib import health, paths, plan, scenario, truth  # noqa: E402
from lab.lib.failure import Failure  # noqa: E402

VM = '[[machine]]\nname = "vm-a"\nparent = "L0"\n'
REFUSED = {
    'colour = "red"': "colour",
    'kernel = "5.10"': "kernel must be one of",
    "title": "Expected '='",
    '[[machine]]\nname = "vm-a"': "needs a parent",
    '[[machine]]\nname = "vm-a"\nparent = "vm-x"': "its parent vm-x must stand before it",
    VM + VM: "two machines have one name",
    VM + 'network = "wifi"': "no such network",
    VM + "disk-per-second = 4": "no disk that could be slow",
    'accel = "fast"': "accel must be one of",
    'accel = "count"\n' + VM: "L0 has one CPU",
    '[[work]]\nmachine = "vm-b"\nrun = "spin"': "there is no machine vm-b",
    '[[work]]\nmachine = "L0"\ncontainer = "c"\nrun = "spin"': "has no container c",
    '[[action]]\nat = 1\ndo = "explode"\nmachine = "L0"': 'no action "explode"',
    '[[action]]\ndo = "panic"\nmachine = "L0"': "action 1",
}


def read(text, directory):
    file = Path(directory) / "some.toml"
    file.write_text(text)
    return scenario.load(str(file))


def check_refusals(directory):
    for text, reason in REFUSED.items():
        try:
            read(text, directory)
        except Failure as failure:
            lib.check(reason in str(failure), f"{text!r} is refused with: {failure}")
        else:
            lib.check(False, f"{text!r} is refused")


def check_shipped():
    """All scenarios that are shipped; what their plans hand down reaches every machine."""
    names = [path.stem for path in paths.SCENARIOS.glob("*.toml")]
    lib.check(len(names) >= 12, f"there are {len(names)} scenarios")
    for name in names:
        shipped = scenario.load(name)
        plans = {machine.name: plan.text(shipped, machine) for machine in shipped.machine}
        for machine in shipped.machine:
            lib.check("{" not in plans[machine.name], f"{name}, {machine.name}: a field is left open")
            if machine.parent:
                ancestors = [machine.parent]
                while ancestors[-1] != "L0":
                    ancestors.append(shipped.machines()[ancestors[-1]].parent)
                for ancestor in ancestors:
                    lib.check(f"route {machine.name} " in plans[ancestor],
                              f"{name}: {ancestor} knows the way to {machine.name}")
                    lib.check(f" out-{machine.index}\n" in plans[ancestor],
                              f"{name}: {ancestor} hands on the disk of {machine.name}")


def check_slow_disk(directory):
    """Only L0 makes a nested machine's disk slow."""
    text = VM + "disk = 8\n" + VM.replace("vm-a", "vm-a-n").replace("L0", "vm-a") + "disk = 8\ndisk-per-second = 4\n"
    made = read(text, directory)
    host, guest, _ = (plan.text(made, machine).splitlines() for machine in made.machine)
    lib.check([line for line in host + guest if line.startswith("slow")] == ["slow vm-a scratch-2 4"], f"{host} {guest}")
    lib.check("disk vm-a scratch-2" in host and "disk vm-a-n scratch-2" in guest, f"it is handed on: {host} {guest}")


def check_plan(directory):
    text = VM + ('cpus = 2\npin = { 1 = 0 }\nnetwork = "vhost"\n'
                 '[[work]]\nmachine = "vm-a"\nrun = "spin --id {id} --seconds {seconds}"\nstart = 1\n'
                 '[[action]]\nat = 2\ndo = "pause"\nmachine = "vm-a"\nseconds = 1.5\n'
                 '[[action]]\nat = 3\ndo = "limit"\nmachine = "vm-a"\nquota = 20000\nseconds = 2\n')
    made = read("seconds = 4\n" + text, directory)
    host, guest = (plan.text(made, machine).splitlines() for machine in made.machine)
    lib.check(f"vm vm-a 2 528 {made.machine[1].uuid} 3 vhost first" in host, f"the machine: {host}")
    lib.check("pin vm-a 1 0" in host and "bridge 10.9.0.1" in host, f"pin and bridge: {host}")
    lib.check("act 2 pause vm-a 1.5" in host, f"a pause is the parent's to do: {host}")
    lib.check("act 3 limit vm-a 20000 100000 2" in host, f"so is a quota: {host}")
    lib.check("work 1 - - 1 spin --id 1 --seconds 3" in guest, f"the work: {guest}")
    lib.check("address 10.9.0.11" in guest, f"the address: {guest}")


def check_truth(directory):
    """Offsets add up through the levels; a thread is found by the work it belongs to."""
    made = read(VM + '[[machine]]\nname = "vm-n"\nparent = "vm-a"\n'
                '[[work]]\nmachine = "vm-n"\nrun = "spin"\n', directory)
    files = {"L0/truth/vms": "vm-a 100 uuid 3\n", "vm-a/truth/vms": "vm-n 200 uuid 4\n",
             "L0/truth/vcpus": "vm 100-12 vcpu0 pid 107 tsc-offset -1000 tsc-scaling-ratio - "
                               "tsc-scaling-ratio-frac-bits -\n",
             "vm-a/truth/vcpus": "vm 200-12 vcpu0 pid 209 tsc-offset -30 tsc-scaling-ratio - "
                                 "tsc-scaling-ratio-frac-bits -\n",
             "vm-n/truth/tasks": "work 1 pid 50 tid 50 ppid 1 nspid 50,3 nstgid 50,3 pid_ns 9 mnt_ns 8 "
                                 "cpus 0 cgroup 0::/ comm a name\n",
             "vm-n/work/1": '{"at":"begin","tsc":5,"waits":["timer"]}\nnot JSON\n{"at":"end","tsc":9}\n',
             "vm-n/meta/dmesg": "[ 1.0] fine\n[ 2.0] BUG: soft lockup\n"}
    for name, text in files.items():
        file = Path(directory) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    class Image:
        release = "6.1"
    facts = truth.collect(made, Image, Path(directory))
    lib.check(facts["machines"]["vm-n"]["tsc_offset_to_l0"] == -1030, "offsets add up")
    lib.check(facts["machines"]["vm-n"]["vcpus"][0]["thread"] == 209, "the thread of a virtual CPU")
    work = facts["works"][1]
    lib.check(work["threads"][0]["nspid"] == [50, 3], "a thread's numbers at every level")
    lib.check(work["threads"][0]["comm"] == "a name", "a name with a blank in it")
    lib.check((work["tsc_begin"], work["tsc_end"], work["causes"]) == (5, 9, ["timer"]), "its own words")
    lib.check(list(health.of_run(made, Path(directory))) == ["vm-n"], "which kernel complained")


def main():
    check_shipped()
    for check in (check_refusals, check_plan, check_slow_disk, check_truth):
        with tempfile.TemporaryDirectory() as directory:
            check(directory)


main()
