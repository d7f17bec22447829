#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A guest's trace lies about who it is, and takes nothing of its neighbour: it has the neighbour's UUID or name, or claims the
neighbour's hypercalls, or to be its host's or its neighbour's kernel.  Two VMs of a host, each with a vCPU, which run at times of their own; what the host saw says whose thread is whose."""
import json
import random
import struct
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cmd"))
import lib  # noqa: E402
import odd_traces  # noqa: E402

MS, US = 1000000, 1000
BEGIN, ROUNDS = 10000 * MS, 300
THREADS, PROCESSES, OFFSETS = (100, 200), (90, 190), (7000 * MS, 3000 * MS)  # of vm-a, vm-b; offsets: the host's clock less the guest's
UUIDS = ("aaaaaaaa-0000-0000-0000-00000000000a", "bbbbbbbb-0000-0000-0000-00000000000b")
EVENTS = """
event {{ name = "hypersync_req"; id = 20; stream_id = 0; fields := struct {{ u64 _a0; u64 _a1; u64 _a2; u64 _a3; }}; }};
event {{ name = "hypersync_ack"; id = 21; stream_id = 0; fields := struct {{ u64 _a0; u64 _a1; u64 _a2; u64 _a3; }}; }};
event {{ name = "kvm_x86_hypercall"; id = 22; stream_id = 0; fields := struct {{ u64 _nr; u64 _a0; u64 _a1; u64 _a2; u64 _a3; }}; }};
event {{ name = "lttng_logger"; id = 23; stream_id = 0; fields := struct {{ string _msg; }}; }};
"""
VMMCALL, HLT = 0x81, 0x78
clocks, found_by = {}, {}  # of the machines of the run that fused() made last; found_by: the evidence


def call(t, kind, number, *start):
    return t, kind, struct.pack(f"<{len(start) + 4}Q", *start, number, 7, number * 31, 5)


def lines(t, host, uuid, vms=()):
    text = [f"begin version=1 cause=start hostname={host} boot_id={host} product_uuid={uuid} cpus=2 online=0-1"]
    for vm, name in enumerate(vms):
        text += [f"vm vm={vm} pid={PROCESSES[vm]} name={name} uuid={UUIDS[vm]} manager=qemu", f"vcpu vm={vm} vcpu=0 tid={THREADS[vm]}"]
    text.append("end cause=start tasks=0")
    return [(t + i, 23, f"sonde: {line}".encode() + b"\0") for i, line in enumerate(text)]


def live(vm):
    """What the host records of the VM on a CPU of its own, and what the VM does."""
    dice, host, guest, t = random.Random(vm), [], [], BEGIN + vm * 137 * US
    for i in range(ROUNDS):
        number, run = vm * 10000 + i, dice.randrange(200, 900) * US
        at = t + 10 * US + run
        host += [odd_traces.switch(t, 0, THREADS[vm]), odd_traces.entry(t + 5 * US), odd_traces.leave(at + 2 * US, VMMCALL),
                 call(at + 3 * US, 22, number, 1000), odd_traces.entry(at + 6 * US), odd_traces.leave(at + 60 * US, HLT),
                 odd_traces.switch(at + 63 * US, THREADS[vm], 0)]
        guest += [odd_traces.switch(t + 10 * US, 0, 5), call(at, 20, number), call(at + 10 * US, 21, number),
                  odd_traces.switch(at + 50 * US, 5, 0)]
        t = at + dice.randrange(300, 3000) * US
    return host, guest


def moved(events, by):
    return [(t + by, kind, data) for t, kind, data in events]


def write(folder, name, *streams, clock=None):
    before = odd_traces.METADATA
    odd_traces.METADATA = before.replace('"odd"', f'"{name}"').replace("sched_process_exec", "other") + EVENTS
    if clock:
        odd_traces.METADATA = odd_traces.METADATA.replace('clock {{', f'clock {{{{ uuid = "{clock}";')
    try:
        return odd_traces.write(folder / name, *(odd_traces.packet(i, s) for i, s in enumerate(streams)))
    finally:
        odd_traces.METADATA = before


def fused(folder, *traces):
    run = folder / "run.sonde"
    lib.run(lib.SONDE, "analyze", *traces, "-o", run)

    def rows(table):
        return json.loads(lib.run(lib.SONDE, "sql", run, f"SELECT * FROM {table}", "--format", "json"))

    threads = {(c["machine"]): c["host_tid"] for c in rows("cpus") if c["host_tid"] is not None}
    clocks.clear()
    clocks.update({c["machine"]: (c["method"], c["bound"]) for c in rows("clocks")})
    found_by.clear()
    found_by.update({m["name"]: m["evidence"] for m in rows("machines")})
    return threads, " ".join(row["text"] for row in rows("problems"))


def check(what, got, wanted, words=""):
    threads, problems = got
    print(f"{what}: {threads}; {problems}")
    lib.check(all(threads.get(name) == tid for name, tid in wanted.items()), f"{what}: {threads}, not {wanted}: {problems}")
    lib.check(words in problems and (words or not problems), f"{what}: told: {problems}")


def main():
    (host_a, a), (host_b, b) = live(0), live(1)
    a, b = moved(a, -OFFSETS[0]), moved(b, -OFFSETS[1])
    calls_a = moved([e for e in a if e[1] in (20, 21)], OFFSETS[0] - OFFSETS[1])  # as b's clock would have shown them
    own_b = [e for e in b if e[1] not in (20, 21)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        listed = write(folder, "host", lines(BEGIN - MS, "host", "c" * 8, ("vm-a", "vm-b")) + host_a, host_b)
        plain = write(folder, "plain", host_a, host_b)
        true_a, true_b = write(folder, "true-a", a), write(folder, "true-b", b)
        check("nobody lies", fused(folder, listed, true_a, true_b), {"true-a": 100, "true-b": 200})

        start = lines(b[0][0] - MS, "false-b", UUIDS[0])
        with_calls, without = write(folder, "false-b", start + b), write(folder, "mute-b", start + own_b)
        check("its UUID is its neighbour's", fused(folder, listed, with_calls), {"false-b": 200}, "made its hypercalls")
        check("... and it made no calls", fused(folder, listed, without), {"mute-b": 200}, "it is active only while")
        check("... in a host that the user names", fused(folder, listed, without, "--parent", "mute-b=host"), {"mute-b": 200},
              "it is active only while")
        lib.check(found_by["mute-b"].startswith("given by the user"), f"what was refuted is no evidence: {found_by}")

        copy = write(folder, "copied", sorted(own_b + calls_a))
        for host in (listed, plain):
            check("it claims its neighbour's calls", fused(folder, host, true_a, copy), {"true-a": 100, "copied": None},
                  "its events are not where")
        bare = write(folder, "bare", calls_a)  # nothing of its own can be held against it
        for host in (listed, plain):
            check("... and does nothing else", fused(folder, host, true_a, bare), {"true-a": None, "bare": None}, "nobody knows")
        claims_a_kernel(folder, (host_a, host_b), (a, b))
        claims_a_name(folder, listed, plain, (a, b))


def claims_a_name(folder, listed, plain, guests):
    """A host name is its machine's own word: against it stand the user's, the host's name, and what the host's list has."""
    def guest(vm, name):
        at = folder / f"named-{vm}"
        return at / name if (at / name).exists() else write(at, name, guests[vm])

    def named(what, traces, wanted, words="", all_of=()):
        for order in (traces, traces[::-1]):
            check(what, fused(folder, *order), wanted, words)
            lib.check(not all_of or set(found_by) == set(all_of), f"{what}: machines are {sorted(found_by)}")

    said = "vm-a: its trace says that its host name is {}, but host lists it as vm-a"
    named("its name is its neighbour's", (listed, guest(0, "vm-b")), {"vm-a": 100, "vm-b": 200}, said.format("vm-b"), ("host", "vm-a", "vm-b"))
    named("... which has a trace", (listed, guest(0, "vm-b"), guest(1, "vm-b")), {"vm-a": 100, "vm-b": 200}, said.format("vm-b"))
    named("... and another host name", (listed, guest(0, "vm-b"), guest(1, "web")), {"vm-a": 100, "web": 200}, said.format("vm-b"))
    named("its name is its host's", (listed, guest(0, "host")), {"vm-a": 100}, said.format("host"), ("host", "vm-a", "vm-b"))
    named("... which has no list", (plain, guest(0, "plain"), guest(1, "web")), {"plain-2": 100, "web": 200}, "", ("plain", "plain-2", "web"))
    named("two have one host name", (listed, guest(0, "web"), guest(1, "web")), {"vm-a": 100, "vm-b": 200}, said.format("web"))
    named("they have each other's", (listed, guest(0, "vm-b"), guest(1, "vm-a")), {"vm-a": 100, "vm-b": 200}, said.format("vm-b"))
    named("nobody else has it", (listed, guest(0, "web")), {"web": 100, "vm-b": 200}, "", ("host", "web", "vm-b"))
    liar = guest(0, "vm-b")
    check("the user calls it so", fused(folder, listed, liar, "--guest", f"vm-b={liar}"), {"vm-b": 100})
    check("the user says where it runs", fused(folder, listed, liar, "--parent", "vm-b=host"), {"vm-a": 100}, said.format("vm-b"))


def claims_a_kernel(folder, hosts, guests):
    """A kernel's clock has the UUID of its boot, which guests repeat; events bear it out or not."""
    (a, b), one, other = guests, UUIDS[0], UUIDS[1]
    own_b = [e for e in b if e[1] not in (20, 21)]
    host = write(folder, "iron", *hosts, clock=one)
    more = write(folder, "iron-more", *(moved([e for e in h if e[1] == 0], 300) for h in hosts), clock=one)
    check("two traces of the host", fused(folder, host, more), {})
    lib.check(clocks["iron-more"] == ("same clock", 0), f"two traces of one kernel: {clocks}")

    near = 2900 * MS  # 100 ms from the host's clock, so that both have the same times; else 3 s
    for name, events, words in (("calls-far", b, "no thread switch bears out"), ("quiet-far", own_b, "no thread switch bears out"), ("calls-near", moved(b, near), "contradict that"),
                                ("quiet-near", moved(own_b, near), "contradict that")):
        liar = write(folder, name, events, clock=one)
        for traces in ((host, liar), (liar, host)):
            check("it has its host's clock", fused(folder, *traces), {name: 200}, words)
            lib.check(clocks[name][0] != "same clock" and clocks[name][1] > 0, f"{name}, its host's clock: {clocks}")

    plain, neighbour = write(folder, "plain-iron", *hosts), write(folder, "honest-a", a, clock=other)
    for name, by, words in (("like-a-far", 0, "no thread switch bears out"), ("like-a-near", OFFSETS[1] - OFFSETS[0] + 20 * MS, "contradict that")):
        liar = write(folder, name, moved(own_b, by), clock=other)
        for traces in ((plain, neighbour, liar), (liar, neighbour, plain)):
            check("it has its neighbour's clock", fused(folder, *traces), {"honest-a": 100, name: 200}, words)
            lib.check(all(clocks[n][0] != "same clock" for n in ("honest-a", name)), f"its neighbour's clock: {clocks}")


if __name__ == "__main__":
    main()
