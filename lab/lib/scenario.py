# SPDX-License-Identifier: Apache-2.0
"""Scenarios: what a lab run consists of, read from lab/scenarios/NAME.toml.

The tables and their fields are the data classes below; lab/README.md explains them with an example.
Everything unknown or contradictory in a file is refused with its name.
"""
import dataclasses
import tomllib
import uuid
from dataclasses import dataclass, field

from . import paths
from .failure import Failure

KERNELS = ("6.1", "6.12")
KVMS = ("stock", "nested")      # of L0: the kernel's own, or with kernel/patches/*/nested
OWN_KERNELS = tuple(f"{line}-{variant}" for line in KERNELS for variant in ("small", "debug", "early", "early-debug"))
ACCELERATORS = ("tcg", "count", "kvm")
TRACERS = ("sonde", "agent", "trace-cmd", "lttng", "none")
HOST = "L0"
# Verbs of actions, and what they need besides `machine` and `at`.
VERBS = {
    "start": (),                # a machine with boot = "later" begins
    "pause": ("seconds",),      # its hypervisor stops its virtual CPUs for so long
    "limit": ("quota", "seconds"),  # its virtual CPUs' threads, all together, get quota µs of every 100 ms
    "move": ("vcpu", "cpu"),    # a virtual CPU's thread goes to another CPU of the parent
    "unplug": ("cpu",),         # CPU goes offline, inside the machine
    "plug": ("cpu",),
    "kill-tracer": (),          # SIGKILL to the recorder of that machine
    "panic": (),                # the machine's kernel panics
    "poweroff": (),             # orderly shutdown
    "quit": (),                 # its emulator ends at once, as if killed
    "run": ("command",),        # a shell command inside the machine
}
ENDS = ("panic", "poweroff", "quit")
# Seconds for one try, by its deepest level: three times what a good one takes on two busy CPUs.
LIMIT_S = (60, 180, 420, 900)


@dataclass
class Machine:
    name: str
    parent: str | None = None
    cpus: int = 1
    memory: int = 0             # MiB; 0: about 512, or for L0 what its guests need and more
    uuid: str = ""              # made from the name when empty
    pin: dict = field(default_factory=dict)     # virtual CPU -> CPU of the parent
    tracer: str = ""            # default: see Scenario.tracer_of
    buffer: int = 0             # KiB of trace buffer per CPU; 0: by level
    events: list = field(default_factory=list)  # trace-cmd's -e; empty: the lab's set
    containers: list = field(default_factory=list)
    network: str = ""           # "", "virtio" or "vhost": a card on the parent's bridge
    disk: int = 0               # MiB of a scratch disk, /run/disk/scratch
    disk_per_second: int = 0    # requests that it does in a second; 0: all it can
    port: bool = False          # a virtio port for an agent; on the parent /run/vm/NAME/agent
    shared: int = 0             # MiB of memory shared with the parent: an ivshmem device; there /run/vm/NAME/shared
    boot: str = "first"         # or "later": started by an action
    command_line: str = ""      # more words for its kernel
    level: int = 0              # these are computed
    index: int = 0


@dataclass
class Work:
    machine: str
    run: str                    # {id}, {seconds} are filled in
    id: int = 0
    container: str = ""
    cpu: str = ""               # affinity, as taskset -c takes it
    start: float = 0.0          # seconds after the start of the machine's work
    seconds: float = 0.0        # default: until the scenario's end
    cause: str = ""             # what it waits for, where the program does not say so itself


@dataclass
class Action:
    at: float
    do: str
    machine: str
    seconds: float = 0.0
    vcpu: int = 0
    cpu: int = 0
    command: str = ""
    quota: int = 0


@dataclass
class Scenario:
    name: str
    title: str = ""
    kernel: str = "6.1"
    kvm: str = "stock"          # of L0
    guest_kernel: str = ""      # of all machines but L0; empty: Debian's
    host_kernel: str = ""       # of L0; empty: Debian's
    seconds: float = 6.0        # how long the work lasts
    tracer: str = "sonde"       # sonde record in L0 and an agent in each guest; or trace-cmd, or none
    record: str = ""            # more options for sonde record
    kernels: list = field(default_factory=lambda: list(KERNELS))   # that have what it needs
    accel: str = "tcg"          # or "count": L0 has one CPU, its time is the instructions that it executed
    sample: bool = True         # read the emulated CPUs' registers meanwhile
    limit: int = 0              # seconds for one try, as patience.py counts them; 0: by the deepest level
    machine: list = field(default_factory=list)
    work: list = field(default_factory=list)
    action: list = field(default_factory=list)
    expect: dict = field(default_factory=dict)  # "says": what sonde report is to say, as patterns

    def machines(self):
        return {machine.name: machine for machine in self.machine}

    def children(self, name):
        return [machine for machine in self.machine if machine.parent == name]

    def descendants(self, name):
        """All machines below `name`, children before their children."""
        found = []
        for child in self.children(name):
            found += [child, *self.descendants(child.name)]
        return found

    def tracer_of(self, machine):
        """The tracer of one machine: its own choice, else the scenario's."""
        if machine.tracer:
            return machine.tracer
        if self.tracer == "sonde" and machine.level > 0:
            return "agent"
        return self.tracer

    def uses_lttng(self):
        return (any(self.tracer_of(machine) == "lttng" for machine in self.machine)
                or "lttng" in self.record.split())

    def ends(self, name):
        """The verb with which the machine ends during the run, or None."""
        return next((a.do for a in self.action if a.machine == name and a.do in ENDS), None)


def build(kind, table, where):
    """One data class from one TOML table."""
    known = {item.name: item for item in dataclasses.fields(kind)}
    table = {key.replace("-", "_"): value for key, value in table.items()}
    for key in table:
        if key not in known:
            raise Failure(f"{where}: there is no \"{key}\"; it may have: {', '.join(known)}")
    try:
        return kind(**table)
    except TypeError as error:
        raise Failure(f"{where}: {error}") from None


def check(scenario, file):
    """Refuses what cannot work; fills in what is computed."""
    def refuse(condition, text):
        if condition:
            raise Failure(f"{file}: {text}")

    machines = scenario.machines()
    refuse(len(machines) != len(scenario.machine), "two machines have one name")
    refuse(scenario.kernel not in KERNELS, f"kernel must be one of {', '.join(KERNELS)}")
    refuse(scenario.accel not in ACCELERATORS, f"accel must be one of {', '.join(ACCELERATORS)}")
    refuse(scenario.accel == "count" and scenario.machine[0].cpus != 1, f"{HOST} has one CPU where instructions are counted")
    refuse(scenario.kvm not in KVMS, f"kvm must be one of {', '.join(KVMS)}")
    for own in (scenario.guest_kernel, scenario.host_kernel):
        refuse(own and own not in OWN_KERNELS, f"guest-kernel and host-kernel must be of {', '.join(OWN_KERNELS)}")
    refuse(scenario.machine[0].name != HOST, f"the first machine must be {HOST}")
    for index, machine in enumerate(scenario.machine):
        machine.index = index
        refuse((machine.parent is None) != (machine.name == HOST), f"{machine.name} needs a parent")
        if machine.parent:
            earlier = [m.name for m in scenario.machine[:index]]
            refuse(machine.parent not in earlier,
                   f"{machine.name}: its parent {machine.parent} must stand before it")
            machine.level = machines[machine.parent].level + 1
            # No two alike: where a kernel keeps its per-CPU data, by which the oracle knows it, follows from
            # the size of its memory.
            machine.memory = machine.memory or 512 + 16 * index
        machine.uuid = machine.uuid or str(uuid.uuid5(uuid.NAMESPACE_DNS, machine.name))
        refuse(scenario.tracer_of(machine) not in TRACERS, f"{machine.name}: no such tracer")
        refuse(machine.boot not in ("first", "later"), f"{machine.name}: boot is first or later")
        refuse(machine.level and machine.memory in [m.memory for m in scenario.machine[:index]],
               f"{machine.name}: another machine has as much memory; the oracle could not tell them apart")
        refuse(machine.disk_per_second and not machine.disk, f"{machine.name}: it has no disk that could be slow")
        refuse(machine.network not in ("", "virtio", "vhost"), f"{machine.name}: no such network")
    for number, work in enumerate(scenario.work):
        machine = machines.get(work.machine)
        refuse(not machine, f"work \"{work.run}\": there is no machine {work.machine}")
        refuse(work.container and work.container not in machine.containers,
               f"work \"{work.run}\": {work.machine} has no container {work.container}")
        work.id = work.id or number + 1
        work.seconds = work.seconds or scenario.seconds - work.start
    scenario.limit = scenario.limit or LIMIT_S[min(max(machine.level for machine in scenario.machine),
                                                   len(LIMIT_S) - 1)]
    ids = [work.id for work in scenario.work]
    refuse(len(set(ids)) != len(ids), "two works have one id")
    refuse(set(scenario.expect) - {"says"}, "expect has only \"says\"")
    for action in scenario.action:
        refuse(action.do not in VERBS, f"no action \"{action.do}\"; there are: {', '.join(VERBS)}")
        refuse(action.machine not in machines, f"{action.do}: no machine {action.machine}")
    return scenario


def find(name):
    """A file given by path, or by its name in lab/scenarios."""
    for path in (paths.SCENARIOS / f"{name}.toml", paths.REPOSITORY / name):
        if path.is_file():
            return path
    raise Failure(f"no scenario {name}; there are: "
                  + " ".join(sorted(path.stem for path in paths.SCENARIOS.glob("*.toml"))))


def load(name):
    file = find(name)
    try:
        table = tomllib.loads(file.read_text())
    except tomllib.TOMLDecodeError as error:
        raise Failure(f"{file}: {error}") from None
    for key, kind in (("machine", Machine), ("work", Work), ("action", Action)):
        table[key] = [build(kind, row, f"{file.name}, {key} {number + 1}")
                      for number, row in enumerate(table.get(key, []))]
    if not any(machine.name == HOST for machine in table["machine"]):
        table["machine"].insert(0, Machine(HOST, cpus=2))
    scenario = build(Scenario, {"name": file.stem, **table}, file.name)
    host = check(scenario, file.name).machine[0]
    # Room for the guests, their traces on the way through, and the host's own.
    host.memory = host.memory or 3072 + sum(m.memory for m in scenario.children(HOST))
    return scenario
