#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The lab's oracle without the lab: a monitor that answers, stalls and dies; registers of every kind; a history
held against samples that are right, wrong, and moved."""

import contextlib
import io
import json
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402

sys.path[:0] = [str(lib.ROOT)]
from lab.oracle import compare, names, ranges, sampler, samples  # noqa: E402
from lab.oracle.history import State  # noqa: E402
from lab.oracle.judge import Program, judge, share  # noqa: E402

MAGIC = 0x534F4E44
# As QEMU 7.2 prints it, without the lines nobody reads.
LONG_MODE = """
CPU#0
RAX=0000000000000000 RBX=0000000000000000 RCX=00000000000000a0 RDX=0000000000000034
R8 =0000000000000000 R9 =0000000000000000 R10=0000000000000000 R11=0000000000000246
R12=534f4e708c124619 R13=000000000000016e R14=000000348c12461a R15=534f4e4400000003
RIP=00000000004019c8 RFL=00000283 [--S---C] CPL=3 II=0 A20=1 SMM=0 HLT=0
ES =0000 0000000000000000 ffffffff 00cff300 DPL=3 DS   [-WA]
GS =0000 00007f0000000000 00000000 00000000
CR0=80050033 CR2=00007f42a3f5e3c8 CR3=0000000005fd0000 CR4=000006f0
EFER=0000000000001d01

CPU#1
EAX=000f49f6 EBX=00000000 ECX=000002ff EDX=00000001
EIP=000fd09a EFL=00000002 [-------] CPL=0 II=0 A20=1 SMM=0 HLT=1
"""


class FakeMonitor(threading.Thread):
    """Answers so many questions, in pieces; then says nothing (stall) or closes the connection."""

    def __init__(self, path, answers, stall):
        super().__init__(daemon=True)
        self.answers, self.stall = answers, stall
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(str(path))
        self.server.listen()
        self.start()

    def run(self):
        connection, _ = self.server.accept()
        connection.sendall(b"QEMU 7.2 monitor\r\n(qemu) ")
        for _ in range(self.answers):
            command = connection.recv(1000).decode()
            text = "7.2.0\r\n" if "version" in command else LONG_MODE
            answer = (command + text + "(qemu) ").encode()
            connection.sendall(answer[:300])
            connection.sendall(answer[300:])
        connection.recv(1000)
        connection.sendall(b"CPU#0\r\nRAX=00")
        while self.stall.is_set():
            time.sleep(0.01)
        connection.close()


def check_sampler(scratch):
    lib.check(sampler.cpus_of(LONG_MODE)[1] == {"cpu": 1}, "a CPU that boots has its number only")
    stall = threading.Event()
    FakeMonitor(scratch / "dies", 41, stall)
    begin = time.monotonic()
    read = sampler.sample_live(scratch / "dies", lambda: False, scratch / "raw", 1, (0, 0.001))
    header, rows = samples.read_raw(scratch / "raw")
    lib.check(read == len(rows) == 40, f"40 readings before it died: {read}, {len(rows)} in the file")
    lib.check(header["seed"] == 1 and header["emulator"] == "7.2.0", f"header {header}")
    cpu = rows[7]["cpus"][0]
    lib.check(cpu["r15"] == "534f4e4400000003" and cpu["cpl"] == 3 and cpu["hlt"] == 0
              and cpu["gs"] == "00007f0000000000" and cpu["cr3"] == "0000000005fd0000", f"{cpu}")

    stall.set()
    FakeMonitor(scratch / "stalls", 11, stall)
    stop = time.monotonic() + 1
    read = sampler.sample_live(scratch / "stalls", lambda: time.monotonic() > stop, scratch / "raw", 1,
                               (0, 0.001))
    lib.check(read == 10, f"10 readings before it hung: {read}")
    read = sampler.sample_live(scratch / "nobody", lambda: time.monotonic() > stop, scratch / "raw", 1)
    lib.check(read == 0, "none where no emulator ever was")
    lib.check(time.monotonic() - begin < 10, "it stops when it is told to")


def registers(number=0, work=None, tid=5, tsc=0, cpl=3, hlt=0, cr3=0x1000, gs=0, torn=False):
    r15 = MAGIC << 32 | work if work is not None else 0
    r12 = (tsc ^ r15) + torn
    return {"cpu": number, "r12": f"{r12:x}", "r13": f"{tid:x}", "r14": f"{tsc:x}", "r15": f"{r15:x}",
            "rip": "0", "rflags": "2", "cpl": cpl, "ii": 0, "hlt": hlt, "gs": f"{gs:x}",
            "cr3": f"{cr3:x}", "efer": "d01"}


def truth():
    clocks = [{"cpu": 0, "tsc": 0, "tsc_after": 0, "mono_ns": 0},
              {"cpu": 0, "tsc": 20_000_000, "tsc_after": 20_000_000, "mono_ns": 10_000_000}]
    machine = {"level": 0, "parent": None, "tsc_offset_to_l0": 0, "vcpus": {},
               "clocks_begin": clocks[:1], "clocks_end": clocks[1:]}
    guest = {**machine, "level": 1, "parent": "L0", "tsc_offset_to_l0": -500,
             "vcpus": {"0": {"thread": 77}}}
    thread = {"tid": 900, "nspid": [900, 5], "comm": "spin-2"}
    work = {"machine": "L0", "container": None, "threads": [], "said": [{"comm": "spin-1"}]}
    return {"machines": {"L0": machine, "vm-a": guest, "gone": {**guest, "tsc_offset_to_l0": None}},
            "works": {"1": work, "3": {**work, "machine": "gone"},
                      "2": {**work, "machine": "vm-a", "container": "c", "threads": [thread]}}}


def readings():
    """100 readings of two CPUs, 1 µs long and 10 µs apart, 2 cycles per ns; a program of the guest on one, other
    things on the other."""
    kernel = 0xFFFF888000000000
    for n in range(100):
        begin = 10_000 * n
        tsc = 2 * begin + 1000
        other = [registers(1, 1, 33, tsc), registers(1, 1, 33, tsc, torn=True),
                 registers(1, 9, 33, tsc), registers(1, 3, 33, tsc), registers(1, 1, 33, tsc, cpl=0),
                 registers(1, cpl=0, hlt=1, gs=kernel, cr3=0x5000),
                 registers(1, cpl=0, gs=kernel, cr3=0x7000),
                 registers(1, cpl=0, gs=kernel + 4096, cr3=0x2000), registers(1, cpl=3)][n % 9]
        yield {"n": n, "begin_ns": begin, "end_ns": begin + 1000,
               "cpus": [registers(0, 2, 5, tsc - 500, cr3=0x2000), other]}


def check_samples(scratch):
    raw = scratch / "raw"
    raw.write_text("".join(json.dumps(row) + "\n" for row in [{"seed": 1}, *readings()]) + '{"n": 10')
    made = samples.make(raw, truth())
    became = made["statistics"]["became"]
    lib.check(became["read while it changed"] == 11 and became["marked, but not of this run"] == 22
              and became["on its way into or out of a kernel"] == 11, f"{became}")
    lib.check(sum(became.values()) == 200, f"every CPU of every reading is accounted for: {became}")
    of = {kind: [s for s in made["samples"] if s["is"] == kind] for kind in ("program", "idle", "kernel")}
    inner = next(s for s in of["program"] if s["work"] == 2)
    lib.check(inner["tid"] == 900 and inner["vtid"] == 5 and inner["comm"] == "spin-2"
              and inner["machine"] == "vm-a" and inner["container"] == "c", f"in a container: {inner}")
    lib.check(inner["l0_tsc"] == 1000 and inner["l0_mono_ns"] == 500, f"offset and time: {inner}")
    outer = next(s for s in of["program"] if s["work"] == 1)
    lib.check(outer["tid"] == 33 and outer["comm"] == "spin-1", f"no note of its thread: {outer}")
    lib.check({s["machine"] for s in of["kernel"]} == {"L0", "vm-a"}, "both kernels are told apart")
    for sample in of["idle"] + of["kernel"]:
        low, high = sample["l0_tsc_range"]
        moment = 20_000 * sample["n"] + 1000
        lib.check(low <= moment <= high and high - low < 10_000, f"limits of {sample}")
    lib.check(of["idle"] and all(s["machine"] == "L0" for s in of["idle"]), "halted: L0's")


class FakeHistory:
    """vm-a's thread 900 from 1000 to 2000, L0 idle to 3000, then unknown beside a loss; time is the counter's."""

    STATES = [State(1000, 2000, "vm-a", 0, 900, "spin-2", 9), State(2000, 3000, "L0", 0, 0, "swapper", 1),
              State(3000, 3900, "-", 0, -1, "-", 0),
              State(3900, 4000, "cut", 0, -1, "-", 7), State(0, 0, "-", -1, -1, "-", 0)]
    path = "fake"
    tables = {"machine": [{"name": "L0", "parent": "-1", "traced": "1"},
                          {"name": "vm-a", "parent": "0", "traced": "1"},
                          {"name": "vm-tid66", "parent": "0", "traced": "0"}],
              "cpu": [{"machine": "1", "host_tid": "77"}, {"machine": "2", "host_tid": "66"}]}

    def states(self, questions):
        return [next((s for s in self.STATES if s.begin <= time < s.end), self.STATES[-1])
                for _, time in questions]

    def bounds(self, questions):
        return [20 for _ in questions]

    def losses(self):
        return [(3500, 3600)]

    def incomplete(self):
        return {"cut"}

    def limits(self):
        return 1000, 4000

    def l0_time(self, ticks):
        return ticks


def program(time, tid=900, machine="vm-a"):
    return Program(0, time, -1, machine, tid, "spin-2", machine)


def check_judge():
    history = FakeHistory()
    right, wrong = program(1500), program(1500, 901)
    near, elsewhere = program(2010), program(1500, machine="vm-b")
    lost, by_name = program(3700), program(1500, None)
    verdicts = judge(history, [right, wrong, near, elsewhere, lost, by_name, program(5000)])
    lib.check([v.agrees() for v in verdicts] == [True, False, False, False, False, True, False],
              "who agrees")
    lib.check([v.wrong() for v in verdicts] == [False, True, False, True, False, False, False],
              "near a change the clock may be wrong; beside a loss the history may be silent")
    lib.check([v.silent() for v in verdicts] == [False, False, False, False, True, False, True],
              "who is silent: beside a loss, after the end")
    lib.check(share(verdicts) == 2 / 5, "silent ones do not count")
    cut, other = judge(history, [program(3950, machine="cut"), program(3950)])
    lib.check(cut.silent() and not cut.wrong() and other.wrong(),
              "a recording that was cut short excuses that its machine's threads are not known")
    lib.check(share(judge(history, [right], 700)) == 0, "moved in time, it does not agree")


def check_compare():
    """Samples of a time when nothing was recorded agree with everything."""
    def sample(time):
        return {"is": "program", "cpu": 0, "l0_tsc": time, "l0_mono_ns": -1, "machine": "vm-a", "tid": 900,
                "comm": "spin-2"}

    heard = [sample(1500)] * 2
    with contextlib.redirect_stdout(io.StringIO()):
        enough = compare.compare(FakeHistory(), heard + [sample(5000)] * 4)
        too_few = compare.compare(FakeHistory(), heard + [sample(5000)] * 5)
    lib.check(not enough.faults and (enough.programs, enough.programs_of, enough.silent) == (2, 2, 4),
              f"{enough}")
    for bound, tid in ((4 * 10**9, 901), (4 * 10**9, 900), (-1, 900), (20_000, 901)):
        lying = FakeHistory()
        lying.bounds = lambda questions, bound=bound: [bound for _ in questions]
        with contextlib.redirect_stdout(io.StringIO()):
            lied = compare.compare(lying, [{**sample(1500), "tid": tid}] * 4)
        lib.check(lied.faults, f"thread {tid} under a bound of {bound} passes")
    lib.check(too_few.faults == ["only 2 of 7 samples lie where something was recorded"], f"{too_few}")


def check_ranges():
    def at(kind, low, high, machine="L0"):
        return {"is": kind, "n": 0, "cpu": 0, "machine": machine, "l0_tsc_range": [low, high]}
    cases = [at("idle", 2100, 2900), at("idle", 1100, 1200), at("idle", 1900, 2100),
             at("idle", 1100, 1990), at("kernel", 1100, 1200, "vm-a"), at("kernel", 1100, 1200),
             at("kernel", 2100, 2200, "vm-a"), at("idle", 5000, 5100)]
    judged = ranges.judge(FakeHistory(), cases, "l0_tsc")
    lib.check([r.state is not None for r in judged] == [True, True, False, False, True, True, True, True],
              "a change between the limits, or within the bound of them, settles nothing")
    lib.check([r.agrees() for r in judged if r.state] == [True, False, True, False, False, False], "who agrees")
    lib.check([r.entering() for r in judged if r.state] == [False, False, False, True, False, False],
              "a host that is about to enter the guest the history shows")
    lib.check([r.silent() for r in judged if r.state] == [False] * 5 + [True], "nothing is known of the last one")


def check_names():
    machines = {"L0": {"parent": None, "vcpu_threads": []},
                "vm-a": {"parent": "L0", "vcpu_threads": [77]},
                "vm-b": {"parent": "L0", "vcpu_threads": [66]}}
    renamed = names.renamed(FakeHistory(), machines, [{"machine": "vm-a"}, {"machine": "vm-b"}])
    lib.check([s["machine"] for s in renamed] == ["vm-a", "vm-tid66"], f"{renamed}")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        check_sampler(Path(scratch))
        check_samples(Path(scratch))
    check_judge()
    check_compare()
    check_ranges()
    check_names()


if __name__ == "__main__":
    main()
