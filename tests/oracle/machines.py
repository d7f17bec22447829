#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 300
"""The machines, VMs and vCPU threads that a history names, against those that really were there
(the lab's notes of every QEMU, its process and its vCPU threads); and times that must add up."""

import re
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402
from fused import LAYERS, analyse, ask, tables  # noqa: E402

SETS = ["lab-multi-lttng", "lab-multi-ftrace-tsc", "oracle-ftrace-tsc-1", "oracle-lttng-1"]
HOSTS = {"L0": "host0", "L1a": "vm-a"}
QEMU = re.compile(r"QEMU pid=(\d+) name=(\S+)")
VCPU = re.compile(r"tid=(\d+) comm='CPU (\d+)/KVM'")


def truth_of(directory, layers):
    """(parent, VM, process of the VM, {vCPU: thread}) of every VM."""
    vms = []
    for layer in layers:
        text = (directory / layer / "meta/kvm/vms_end.txt").read_text()
        for line in text.splitlines():
            qemu, vcpu = QEMU.search(line), VCPU.search(line)
            if qemu:
                vms.append((HOSTS[layer], qemu.group(2), int(qemu.group(1)), {}))
            elif vcpu:
                vms[-1][3][int(vcpu.group(2))] = int(vcpu.group(1))
    return sorted(vms, key=lambda vm: vm[1])


def found_in(history):
    rows = tables(history)
    names = [row["name"] for row in rows["machine"]]
    vms = []
    for number, row in enumerate(rows["machine"]):
        vcpus = {int(cpu["cpu"]): int(cpu["host_tid"]) for cpu in rows["cpu"]
                 if int(cpu["machine"]) == number}
        if int(row["parent"]) >= 0:
            # ftrace does not record which process a thread belongs to.
            pid = int(row["vm_pid"]) if row["pid_known"] != "0" else None
            vms.append((names[int(row["parent"])], row["name"], pid, vcpus))
    return sorted(vms, key=lambda vm: vm[1])


def same(found, expected, processes_known):
    """Equal; a process nobody could know may be missing, but never be wrong."""
    if len(found) != len(expected):
        return False
    unknown = [] if processes_known else [None]
    return all(f[0] == e[0] and f[1] == e[1] and f[2] in [e[2], *unknown] and f[3] == e[3]
               for f, e in zip(found, expected))


def threads_of(vms):
    return sorted((tid, vcpu) for _, _, _, vcpus in vms for vcpu, tid in vcpus.items())


def processes_of(vms):
    return sorted((pid, sorted(vcpus.items())) for _, _, pid, vcpus in vms)


def check_sums(name, history):
    """Every nanosecond of every physical CPU is in exactly one state."""
    rows = ask(history, "sums")
    lib.check(len(rows) == 2, f"{name}: two physical CPUs")
    for cpu, *modes, total in rows:
        lib.check(sum(map(int, modes)) == int(total) > 0,
                  f"{name}: {cpu}: {sum(map(int, modes))} ns in all states, {total} ns in the run")


def check_set(name, directory, scratch):
    fused = scratch / f"{name}-all"
    fused.mkdir()
    history = analyse(directory, fused)
    expected, found = truth_of(directory, HOSTS), found_in(history)
    print(f"{name}: {found}")
    lib.check(same(found, expected, "lttng" in name),
              f"{name}: the truth is {expected}")
    check_sums(name, history)

    # With the host's trace alone: the same vCPU threads.  Nobody says the VMs' names; and ftrace
    # does not record which threads are of one process, so there each vCPU may stand alone.
    alone = scratch / f"{name}-host"
    alone.mkdir()
    history = analyse(directory, alone, LAYERS[:1])
    expected = truth_of(directory, ["L0"])
    found = [vm for vm in found_in(history) if vm[0] == "host0"]
    print(f"{name}, host alone: {found}")
    lib.check(threads_of(found) == threads_of(expected),
              f"{name}, host alone: the truth is {expected}")
    if "lttng" in name:
        lib.check(processes_of(found) == processes_of(expected),
                  f"{name}, host alone: the truth is {expected}")
    check_sums(name, history)


def main():
    with tempfile.TemporaryDirectory() as scratch:
        for name, directory in lib.oracle_sets(*SETS):
            check_set(name, directory, Path(scratch))


if __name__ == "__main__":
    main()
