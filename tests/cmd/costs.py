#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is lost, and how much there is, multiply no costs: both together take what each takes alone, and four times as much of
a thing takes about four times as long.

In instructions, counted by valgrind's callgrind: the answer is the same on any machine, however busy.
"""

import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402
from odd_traces import entry, leave, packet, switch, write  # noqa: E402

TIMES = 4
# What n log n comes to, with some room; the square of n comes to 16, less what every run costs.
TIMES_MAX = 6.5
VMS, GAPS = 1000, 6000
LEFT_OUT = 3  # exit status: a trace was
# Where each gap looked at each VM, both took 1.5 and 1.8 times what they take alone.
TOGETHER_MAX = 1.2
ITSELF = "the history"  # an operand: once more


def packets(cpu, events, first=0):
    return b"".join(packet(cpu, events[i:i + 500], first + i // 500) for i in range(0, len(events), 500))


def rounds_of_vms(nr, t=1000, rounds=2):
    """Each VM is a thread, and each of its rounds an entry and an exit."""
    events = []
    for i in range(nr * rounds):
        tid = 1000 + i % nr
        events += [switch(t, 0, tid), entry(t + 1), leave(t + 2), switch(t + 3, tid, 0)]
        t += 10
    return events


def seen(nr):
    return [packets(0, rounds_of_vms(nr))]


def gaps(cpu, nr, begin, step, tid=7):
    return b"".join(packet(cpu, [switch(begin + i * step, 0, tid), switch(begin + i * step + 1, tid, 0)], seq=i, discarded=3 * i)
                    for i in range(nr))


def waking(t, tid, cpu):
    return t, 5, struct.pack("<16siii", b"sleeper", tid, 20, cpu)


def silent_cpus(nr):
    """Wake-ups for CPUs that were never heard, beside many that were."""
    cpus = nr // 8
    wakes = [waking(10 ** 6 + 10 * i, 5000 + i % 64, 1000 + i % 3000) for i in range(4 * nr)]
    return [packets(0, [switch(1000, 0, 5)] + wakes)] + [
        packets(c, [switch(1000 + c, 0, 100 + c), switch(2000 + c, 100 + c, 0)]) for c in range(1, cpus)]


def attached(nr):
    """So many processes; the last one is put into other cgroups again and again."""
    begun = [(1000 + i, 6, struct.pack("<ii", 1000 + i, 1000 + i)) for i in range(nr)]
    put = [(10 ** 6 + i, 7, struct.pack("<iQi", 0, 100 + i % 7, 999 + nr)) for i in range(8 * nr)]
    return [packets(0, [switch(500, 0, 5)] + begun + put)]


STATE_LINES = """event { name = "lttng_logger"; id = 8; stream_id = 0; fields := struct { string _msg; }; };
"""
NESTING = """event { name = "kvm_x86_nested_vmenter"; id = 9; stream_id = 0; fields := struct { u64 _vmcb; u32 _event_inj; u32 _int_ctl;
 u64 _guest_pgd; u32 _isa; }; };
event { name = "kvm_x86_nested_vmexit"; id = 10; stream_id = 0; fields := struct { u32 _exit_code; u64 _rip; }; };
event { name = "kvm_x86_nested_vmexit_inject"; id = 11; stream_id = 0; fields := struct { u32 _exit_code; u32 _isa; }; };
"""


def statedump(lines, t, cause="start"):
    texts = [f"begin version=1 cause={cause} hostname=h cpus=1 online=0 hypervisor=none", *lines, f"end cause={cause} tasks=0"]
    return [(t + i, 8, f"sonde: {text}".encode() + b"\0") for i, text in enumerate(texts)]


def listed(nr):
    """So many VMs of three names, containers with a thread, CPUs with two readings of /proc/stat."""
    lines = []
    for i in range(nr):
        lines += [f"vm vm={i} pid={100000 + i} name=vm-{i % 3} uuid=00000000-0000-0000-0000-{i:012d} manager=qemu", f"vcpu vm={i} vcpu=0 tid={1000 + i}",
                  f"pidns inum={4026532000 + i} parent=0 level=1",
                  f"task tid={500000 + i} pid={500000 + i} ppid=1 state=S kthread=0 pidns={4026532000 + i} nstids={500000 + i},1 comm=c{i}"]
    stat = [f"stat cpu={i} hz=100 user={i} nice=0 system=0 idle=0 iowait=0 irq=0 softirq=0 steal=0 guest=0 guest_nice=0" for i in range(nr)]
    return [packets(0, [switch(500, 0, 5)] + statedump(lines + stat, 1000) + statedump(stat, 10 ** 9, "end"))]


def nesting(nr):
    """So many VMs, each of which runs a nested one that halts, and halts itself."""
    events = []
    for i in range(nr):
        t, tid, hlt = 1000 + 20 * i, 1000 + i, 0x78
        events += [switch(t, 0, tid), entry(t + 1), leave(t + 2, 0x80), (t + 3, 9, struct.pack("<QIIQI", 4096 * (1 + i), 0, 0, 0x77000 + i, 2)),
                   entry(t + 4), leave(t + 5, hlt), (t + 6, 10, struct.pack("<IQ", hlt, 0)), (t + 7, 11, struct.pack("<II", hlt, 2)),
                   entry(t + 8), leave(t + 9, hlt), switch(t + 10, tid, 0)]
    return [packets(0, events)]


def instructions(command, status=0):
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *map(str, command)],
                          capture_output=True, text=True, check=False)
    counted = re.search(r"Collected : (\d+)", done.stderr)
    lib.check(done.returncode == status and counted, f"{command}: exit status {done.returncode}: {done.stderr[-2000:]}")
    return int(counted[1])


def cost_of_trace(shape, *how, more=""):
    with tempfile.TemporaryDirectory() as scratch:
        trace = write(Path(scratch) / "trace", *shape(*how), more=more)
        return instructions([lib.SONDE, "analyze", "-q", "-j", "1", trace, "-o", Path(scratch) / "history"])


def cost_of_traces(nr):
    """Of machines of one name."""
    with tempfile.TemporaryDirectory() as scratch:
        for i in range(nr):
            write(Path(scratch) / f"traces/{i}", packets(0, [switch(1000, 0, 5), switch(2000, 5, 0)]))
        return instructions([lib.SONDE, "analyze", "-q", "-j", "1", Path(scratch) / "traces", "-o", Path(scratch) / "history"], LEFT_OUT)


def costs_of_answers(nr, commands, shape, more):
    with tempfile.TemporaryDirectory() as scratch:
        trace, history = write(Path(scratch) / "trace", *shape(nr), more=more), Path(scratch) / "history"
        subprocess.run([lib.SONDE, "analyze", "-q", trace, "-o", history], check=True)
        return [instructions([lib.SONDE, name, history, *(history if option is ITSELF else option for option in options)])
                for name, *options in commands]


def answers_about_vms():
    tree = [("tree",), ("tree", "--format", "json"), ("info",)]
    for nr, some, shape, more in (
            (VMS // 2, tree, seen, ""),
            (VMS, [("vms",)], seen, ""),  # below, vms compares each with all of a group
            (VMS // 4, [("compare", ITSELF)], seen, ""),
            (VMS // 2, [*tree, ("tree", "--threads")], listed, STATE_LINES),
            (VMS // 2, [("why",)], nesting, NESTING)):
        for command, *counts in zip(some, costs_of_answers(nr, some, shape, more), costs_of_answers(TIMES * nr, some, shape, more)):
            compare(f"VMs {shape.__name__}, sonde {' '.join(command)}", *counts)


def compare(name, few, many):
    print(f"{name}: {few / 1e6:.0f} million instructions; {TIMES} times as many: {many / 1e6:.0f} million")
    lib.check(many < TIMES_MAX * few, f"{name}: {TIMES} times as many, {many / few:.1f} times the cost")


def gaps_and_vms():
    vms = packets(0, rounds_of_vms(VMS))
    alone = cost_of_trace(lambda nr: [vms], VMS) + cost_of_trace(lambda nr: [gaps(0, nr, 1000, 10)], GAPS)
    for name, begin, step, tid in (("beside", 1000, 3, 7), ("after", 10 ** 6, 1000, 1000)):
        both = cost_of_trace(lambda nr, *how: [vms, gaps(1, nr, *how)], GAPS, begin, step, tid)
        print(f"{GAPS} gaps {name} {VMS} VMs: {both / 1e6:.0f} million instructions; each alone: {alone / 1e6:.0f} million")
        lib.check(both < TOGETHER_MAX * alone, f"gaps {name} VMs: {both / alone:.2f} times what each takes alone")


def main():
    lib.need("valgrind")
    gaps_and_vms()
    compare("silent CPUs", cost_of_trace(silent_cpus, 400), cost_of_trace(silent_cpus, TIMES * 400))
    compare("processes and cgroups", cost_of_trace(attached, 1000), cost_of_trace(attached, TIMES * 1000))
    for shape, nr, more in (listed, 500, STATE_LINES), (nesting, 2 * VMS, NESTING):
        compare(f"analyze, {shape.__name__}", cost_of_trace(shape, nr, more=more), cost_of_trace(shape, TIMES * nr, more=more))
    answers_about_vms()
    callers = lib.BUILD / "tests/test_callers"
    compare("traces of one name", cost_of_traces(100), cost_of_traces(TIMES * 100))
    throttle = lib.BUILD / "tests/test_model_throttle"
    compare("throttled cgroups and losses", instructions([throttle, 1000]), instructions([throttle, TIMES * 1000]))
    compare("threads that send", instructions([callers, 500]), instructions([callers, TIMES * 500]))


main()
