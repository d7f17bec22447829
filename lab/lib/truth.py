# SPDX-License-Identifier: Apache-2.0
"""truth.json: what a run consisted of, from what was started and what the machines' witnesses saw.

Nothing here is computed from a trace.  Times are cycles of the counter of the machine they belong to, and
nanoseconds of its CLOCK_MONOTONIC; tsc_offset_to_l0 is what to subtract from a machine's counter to have L0's.
"""
import json
import re

from .plan import program_line
from .scenario import HOST


def lines(file):
    return file.read_text(errors="replace").splitlines() if file.is_file() else []


def pairs(line):
    """"key value key value …" → {key: value}, numbers as numbers."""
    words = line.split()
    return {key: int(value) if re.fullmatch(r"-?\d+", value) else value
            for key, value in zip(words[::2], words[1::2])}


def tasks(directory):
    """What `witness tasks` said, one dictionary per thread: the last that was seen of it."""
    found = {}
    for line in lines(directory / "truth/tasks"):
        head, _, comm = line.partition(" comm ")
        task = pairs(head)
        task["comm"] = comm
        for key in ("nspid", "nstgid"):
            task[key] = [int(number) for number in str(task[key]).split(",")]
        found[task["tid"]] = task
    return list(found.values())


def vcpus(directory, pid):
    """{number: facts} of the virtual CPUs whose emulator has this process id, as first seen (guest/vms says why).

    KVM knows a virtual CPU's thread once it has run; until then the emulator may still set the counter."""
    found = {}
    for line in lines(directory / "truth/vcpus"):
        match = re.match(r"vm (\d+)-\d+ vcpu(\d+) (.*)", line)
        if match and int(match[1]) == pid:
            facts = pairs(match[3])
            if not facts["pid"]:
                continue
            found.setdefault(int(match[2]), {
                "thread": facts["pid"], "tsc_offset": facts["tsc-offset"],
                "tsc_scaling_ratio": facts["tsc-scaling-ratio"],
                "tsc_scaling_ratio_frac_bits": facts["tsc-scaling-ratio-frac-bits"]})
    return found


def machine_facts(scenario, machine, directory):
    own = directory / machine.name
    facts = {"level": machine.level, "parent": machine.parent, "cpus": machine.cpus,
             "tracer": scenario.tracer_of(machine), "containers": {}, "tsc_offset_to_l0": None,
             "clocks_begin": [pairs(line) for line in lines(own / "truth/clocks-begin")],
             "clocks_end": [pairs(line) for line in lines(own / "truth/clocks-end")],
             "boot_id": "".join(lines(own / "meta/boot_id")) or None}
    if machine.name == HOST:
        facts["tsc_offset_to_l0"] = 0
    else:
        facts["uuid"] = machine.uuid
        for line in lines(directory / machine.parent / "truth/vms"):
            name, pid, *_ = line.split()
            if name == machine.name:
                facts["emulator_pid"] = int(pid)
                facts["vcpus"] = vcpus(directory / machine.parent, int(pid))
    for container in machine.containers:
        members = [task for task in tasks(own) if task["cgroup"] == f"0::/{container}"]
        inner = [task for task in members if len(task["nspid"]) > 1]
        facts["containers"][container] = {"pid_ns": inner[0]["pid_ns"] if inner else None,
                                          "first_pid": inner[0]["pid"] if inner else None}
    return facts


def add_offsets(machines):
    """A guest's counter is its parent's plus its offset, so offsets add up along the way to L0."""
    for facts in machines.values():     # parents stand before their guests
        parent = machines.get(facts["parent"])
        offsets = {vcpu["tsc_offset"] for vcpu in facts.get("vcpus", {}).values()}
        if parent and parent["tsc_offset_to_l0"] is not None and len(offsets) == 1:
            facts["tsc_offset_to_l0"] = parent["tsc_offset_to_l0"] + offsets.pop()


def said_by(work, directory):
    """The lines that a workload printed; those of lab/workloads are JSON."""
    found = []
    for line in lines(directory / work.machine / f"work/{work.id}"):
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            found.append({"at": "text", "text": line})
    return found


def work_facts(scenario, work, directory):
    said = said_by(work, directory)
    moments = {line["at"]: line.get("tsc") for line in said if "at" in line}
    waits = next((line["waits"] for line in said if "waits" in line), [])
    facts = {"machine": work.machine, "container": work.container or None,
             "program": program_line(work, scenario), "affinity": work.cpu or None,
             "start_s": work.start, "seconds": work.seconds,
             "tsc_begin": moments.get("begin"), "tsc_end": moments.get("end"),
             "causes": [work.cause] if work.cause else waits, "threads": [], "said": said}
    for task in tasks(directory / work.machine):
        if task["work"] == work.id:
            facts["threads"].append({key: task[key] for key in (
                "pid", "tid", "ppid", "nspid", "nstgid", "pid_ns", "comm", "cpus")})
    return facts


def actions(scenario, directory):
    """When each action began and ended, on the clock of the machine that carried it out."""
    found = []
    for machine in scenario.machine:
        for line in lines(directory / machine.name / "truth/actions"):
            match = re.match(r"(begin|end) tsc (\d+) mono_ns (\d+) (.*)", line)
            found.append({"by": machine.name, "moment": match[1], "tsc": int(match[2]),
                          "mono_ns": int(match[3]), "action": match[4]})
    return found


def limits(scenario, directory):
    """{machine: what the kernel of its parent counted (cpu.stat) while its virtual CPUs had a quota}"""
    found = {}
    for machine in scenario.machine:
        for line in lines(directory / machine.name / "truth/limits"):
            name, _, counts = line.partition(" ")
            found[name] = pairs(counts)
    return found


def collect(scenario, image, directory):
    machines = {machine.name: machine_facts(scenario, machine, directory)
                for machine in scenario.machine}
    add_offsets(machines)
    return {"scenario": scenario.name, "title": scenario.title, "kernel": image.release,
            "accel": scenario.accel, "machines": machines,
            "works": {work.id: work_facts(scenario, work, directory) for work in scenario.work},
            "actions": actions(scenario, directory), "limits": limits(scenario, directory)}


def write(scenario, image, directory):
    facts = collect(scenario, image, directory)
    (directory / "truth.json").write_text(json.dumps(facts, indent=1) + "\n")
    return facts
