#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The fused history of the shipped samples says what samples/README.md says is in them."""

import json
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402
from fused import ask, tables  # noqa: E402

# machine: parent, level, process of the VM in the parent, threads of the vCPUs
LTTNG = {"host0": (None, 0, -1, {}), "vm-a": ("host0", 1, 137, {0: 166, 1: 169}),
         "vm-b": ("host0", 1, 143, {0: 168}), "vm-a-n": ("vm-a", 2, 135, {0: 157})}
FTRACE = {"host0": (None, 0, -1, {}), "vm-a": ("host0", 1, 136, {0: 157, 1: 158}),
          "vm-b": ("host0", 1, 142, {0: 156}), "vm-a-n": ("vm-a", 2, 135, {0: 157})}
# machine, program: must have run in the container of that machine
CONTAINED = {("host0", "c0-nap"), ("host0", "wl-ping"), ("vm-a", "c1-nap"), ("vm-a", "wl-pong")}
BUSY = {("host0", "h-burn"), ("vm-a", "a-burn"), ("vm-a", "wl-io"), ("vm-b", "b-burn"),
        ("vm-a-n", "wl")}


def check_machines(rows, truth, processes_known):
    names = [row["name"] for row in rows["machine"]]
    lib.check(sorted(names) == sorted(truth), f"machines: {names}")
    for number, row in enumerate(rows["machine"]):
        parent, level, process, vcpus = truth[row["name"]]
        lib.check((names[int(row["parent"])] if int(row["parent"]) >= 0 else None) == parent
                  and int(row["level"]) == level, f"{row['name']}: parent and level")
        if processes_known:
            lib.check(int(row["vm_pid"]) == process, f"{row['name']}: process {row['vm_pid']}")
        found = {int(cpu["cpu"]): int(cpu["host_tid"]) for cpu in rows["cpu"]
                 if int(cpu["machine"]) == number and parent}
        lib.check(found == vcpus, f"{row['name']}: vCPU threads {found}")


def threads_of(rows):
    names = [row["name"] for row in rows["machine"]]
    return [(names[int(t["machine"])], t["comm"], int(t["pid_ns"])) for t in rows["thread"]]


def check_containers(rows):
    inside = {(machine, comm) for machine, comm, pid_ns in threads_of(rows)
              if pid_ns >= 0 and int(rows["pid_ns"][pid_ns]["level"]) > 0}
    lib.check(CONTAINED <= inside, f"in containers: {sorted(inside)}")
    lib.check(not inside & BUSY, f"in containers: {sorted(inside & BUSY)}")
    names = [row["name"] for row in rows["machine"]]
    for ns in rows["pid_ns"]:
        outer = rows["pid_ns"][int(ns["parent"])] if int(ns["parent"]) >= 0 else None
        lib.check((outer is None) == (ns["level"] == "0"), f"namespace {ns['inum']}: parent")
        lib.check(not outer or (outer["machine"], int(outer["level"]) + 1) ==
                  (ns["machine"], int(ns["level"])), f"namespace {ns['inum']}: wrong parent")
    contained = sorted(names[int(ns["machine"])] for ns in rows["pid_ns"] if ns["level"] != "0")
    lib.check(contained == ["host0", "vm-a"], f"machines with a container: {contained}")


def check_tree(history):
    """What a user sees: both containers, with their threads."""
    lines = [line for line in lib.run(lib.SONDE, "tree", history).splitlines()
             if "container" in line]
    lib.check(len(lines) == 2, f"containers in the tree: {lines}")


def check_run(history):
    rows = tables(history)
    threads = {(machine, comm) for machine, comm, _ in threads_of(rows)}
    lib.check(BUSY | CONTAINED <= threads, f"not seen: {sorted((BUSY | CONTAINED) - threads)}")
    ran = {(int(c["machine"]), int(c["thread"])) for c in rows["context"] if c["mode"] != "1"}
    machines = {machine for machine, _ in ran}
    lib.check(len(machines) == 4, "every machine ran on a physical CPU")
    for cpu, *modes, total in ask(history, "sums"):
        lib.check(sum(map(int, modes)) == int(total) > 1_000_000_000, f"{cpu}: times add up")
        # trace.dat's windows begin at a page, on one CPU later than on the other.
        lib.check(int(modes[0]) < int(total) // 20, f"{cpu}: unknown for {modes[0]} ns")
    return rows


def check_host_alone(scratch):
    """What a nested VM costs is then not known as a whole, and the report says so."""
    history = Path(scratch) / "alone.sonde"
    lib.run(lib.SONDE, "analyze", lib.ROOT / "samples/ftrace/host0.dat", "-o", history)
    report = json.loads(lib.run(lib.SONDE, "report", history, "-t", "hypervisor", "--format", "json"))
    notes = {bool(row["parent"] != "host0"): row["note"] for row in report["hypervisor"]}
    lib.check(notes.keys() == {False, True} and not notes[False], f"notes: {notes}")
    lib.check(notes[True].startswith("at least, unless host0 is a VM: ") and notes[True].endswith(" has no trace"),
              f"notes: {notes}")


def check_steal_notes(scratch):
    """Steal time of which nobody saw a part, its own or what a vCPU inherits, is not in its total, and the report says so."""
    ftrace, history = lib.ROOT / "samples/ftrace", Path(scratch) / "some.sonde"
    for traces, notes in ((("vm-a", "vm-a-n"), {"vm-a-n": "at least: the host of vm-a has no trace; other times hold what it ran"}),
                          (("host0", "vm-a-n"), {"vm-a-n": "at least: vm-tid157 has no trace"}),
                          (("host0", "vm-a", "vm-a-n"), {"vm-a-n": "at least: 20.36 ms are not known"})):
        lib.run(lib.SONDE, "analyze", *(ftrace / f"{name}.dat" for name in traces), "-o", history)
        report = json.loads(lib.run(lib.SONDE, "report", history, "-t", "vcpu_time", "--format", "json"))
        told = {row["vcpu"]["machine"]: row["note"] for row in report["vcpu_time"]}
        lib.check({vm: note for vm, note in told.items() if note} == notes, f"{traces}: {told}")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        for name, truth in (("lttng", LTTNG), ("ftrace", FTRACE)):
            history = Path(scratch) / f"{name}.sonde"
            print(lib.run(lib.SONDE, "analyze", lib.ROOT / "samples" / name, "-o", history))
            rows = check_run(history)
            check_machines(rows, truth, name == "lttng")
            if name == "lttng":
                check_containers(rows)
                check_tree(history)
            else:
                check_host_alone(scratch)
                check_steal_notes(scratch)


if __name__ == "__main__":
    main()
