# SPDX-License-Identifier: Apache-2.0
"""Compiles a scenario into one plan per machine, which guest/node there carries out.

A plan is lines of words; the first word says what the line is:

    level N             0 is the outermost machine
    vm NAME CPUS MIB UUID CID NETWORK BOOT
                        a machine to run inside this one; CID is its vsock address
    cmdline NAME WORD…  more for its kernel's command line
    port NAME           it has a virtio port for an agent
    shared NAME MIB     it has an ivshmem device
    disk NAME SERIAL    one of this machine's disks that it hands on to NAME
    slow NAME SERIAL N  that disk does N requests in a second
    pin NAME VCPU CPU   thread of a virtual CPU to a CPU of this machine
    route NAME CHILD    messages for NAME go through the machine CHILD
    container NAME
    address IP          of its network card, and of the bridge for its own guests
    bridge IP
    tracer NAME KIB     which, with how much buffer per CPU
    record WORD…        more options of sonde record
    events WORD…        what trace-cmd records
    lttng NAME,…        what LTTng records
    work ID CONTAINER CPU START PROGRAM ARGUMENT…
    act AT VERB ARGUMENT…
"-" stands for an empty word.
"""
from . import events
from .scenario import HOST

# KiB of buffer per CPU: L0 sees the exits of all levels.
BUFFER_BY_LEVEL = (131072, 65536, 24576)
FIRST_CID = 3
# A nested machine in emulation on a busy day answers late.
GUEST_TIMEOUT_S = 90
# Actions on a machine's virtual hardware are carried out by its parent, the others inside it.
BY_PARENT = ("start", "pause", "limit", "move", "quit")
QUOTA_PERIOD_US = 100_000


def buffer_kib(machine):
    return machine.buffer or BUFFER_BY_LEVEL[min(machine.level, len(BUFFER_BY_LEVEL) - 1)]


def disks_of(machine):
    """Serial numbers of the disks of one machine's own."""
    return [f"out-{machine.index}"] + ([f"scratch-{machine.index}"] if machine.disk else [])


def subnet(parent, host_part):
    """Each machine that has guests with network cards has a network of its own: 10.9.INDEX.0/24."""
    return f"10.9.{parent.index}.{host_part}"


def vm_lines(scenario, machine):
    for child in scenario.children(machine.name):
        yield ("vm", child.name, child.cpus, child.memory, child.uuid, FIRST_CID + child.index - 1,
               child.network or "-", child.boot)
        if child.command_line:
            yield ("cmdline", child.name, child.command_line)
        if child.port:
            yield ("port", child.name)
        if child.shared:
            yield ("shared", child.name, child.shared)
        for owner in (child, *scenario.descendants(child.name)):
            for serial in disks_of(owner):
                yield ("disk", child.name, serial)
            # Who is furthest out makes it slow: so all around the one that asks wait for it, too.
            if owner.disk_per_second and machine.name == HOST:
                yield ("slow", child.name, f"scratch-{owner.index}", owner.disk_per_second)
            yield ("route", owner.name, child.name)
        for vcpu, cpu in child.pin.items():
            yield ("pin", child.name, vcpu, cpu)


def network_lines(scenario, machine):
    if any(child.network for child in scenario.children(machine.name)):
        yield ("bridge", subnet(machine, 1))
    if machine.network:
        parent = scenario.machines()[machine.parent]
        yield ("address", subnet(parent, 10 + machine.index))


def program_line(work, scenario):
    """What `run` says, with its fields filled in; addresses of machines as {address[NAME]}."""
    machines = scenario.machines()
    words = {"id": work.id, "seconds": f"{work.seconds:g}"}
    text = work.run.format(**words, address={
        m.name: subnet(machines[m.parent], 10 + m.index) for m in scenario.machine if m.network})
    return text


def action_line(action):
    arguments = {"start": (action.machine,), "pause": (action.machine, f"{action.seconds:g}"),
                 "limit": (action.machine, action.quota, QUOTA_PERIOD_US, f"{action.seconds:g}"),
                 "move": (action.machine, action.vcpu, action.cpu), "quit": (action.machine,),
                 "unplug": (action.cpu,), "plug": (action.cpu,), "run": (action.command,)}
    return ("act", f"{action.at:g}", action.do, *arguments.get(action.do, ()))


def action_lines(scenario, machine):
    for action in scenario.action:
        doer = action.machine
        if action.do in BY_PARENT:
            doer = scenario.machines()[action.machine].parent or HOST
        if doer == machine.name:
            yield action_line(action)


def record_options(scenario, machine):
    """Of sonde record in L0."""
    guests = any(scenario.tracer_of(other) == "agent" for other in scenario.machine)
    words = ["--guest", "all", "--guest-timeout", GUEST_TIMEOUT_S] if guests else []
    words += ["--buffer-size", machine.buffer] if machine.buffer else []
    return (*words, *scenario.record.split()) or ("-",)


def lines(scenario, machine):
    yield ("level", machine.level)
    for name in machine.containers:
        yield ("container", name)
    yield from vm_lines(scenario, machine)
    yield from network_lines(scenario, machine)
    yield ("tracer", scenario.tracer_of(machine), buffer_kib(machine))
    yield ("record", *record_options(scenario, machine))
    yield ("events", *events.chosen(machine, bool(scenario.children(machine.name))))
    yield ("lttng", ",".join(events.LTTNG))
    for work in scenario.work:
        if work.machine == machine.name:
            yield ("work", work.id, work.container or "-", work.cpu or "-", f"{work.start:g}",
                   program_line(work, scenario))
    yield from action_lines(scenario, machine)


def text(scenario, machine):
    """The plan of one machine, as the file that guest/node reads."""
    return "".join(" ".join(map(str, line)) + "\n" for line in lines(scenario, machine))
