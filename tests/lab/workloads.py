#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The lab's workloads: the lines they print, and the identity they show in their registers, read here
with ptrace at random moments as the lab reads it from the emulated CPU."""

import ctypes
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402

PTRACE_GETREGS, PTRACE_ATTACH, PTRACE_DETACH = 12, 16, 17
PTRACE_READINGS = 300
NR_REGISTERS = 27  # struct user_regs_struct: r15, r14, r13, r12, …
MAGIC = 0x534F4E44
WORKLOADS = lib.BUILD / "lab"


def start(*command):
    return subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, text=True)


def lines_of(process):
    """The first and the last line of a workload that ended well."""
    text = process.communicate()[0]
    lib.check(process.returncode == 0, f"{process.args}: exit status {process.returncode}")
    lines = [json.loads(line) for line in text.splitlines()]
    lib.check([line["at"] for line in lines] == ["begin", "end"], f"two lines, not {text!r}")
    lib.check(lines[0]["tsc"] < lines[1]["tsc"], "it ends after it begins")
    return lines


class Registers:
    """ptrace of one process."""

    def __init__(self, pid):
        self.libc, self.pid = ctypes.CDLL(None, use_errno=True), pid

    def call(self, request, data=None):
        done = self.libc.ptrace(request, self.pid, None, data)
        lib.check(done == 0, f"ptrace({request}): {os.strerror(ctypes.get_errno())}")

    def read(self):
        """(r15, r14, r13, r12) at the moment it was stopped; None when it cannot be traced, or has ended."""
        registers = (ctypes.c_uint64 * NR_REGISTERS)()
        if self.libc.ptrace(PTRACE_ATTACH, self.pid, None, None):
            return None
        os.waitpid(self.pid, 0)
        self.call(PTRACE_GETREGS, ctypes.byref(registers))
        self.call(PTRACE_DETACH)
        return tuple(registers[:4])


def check_identity():
    """Whenever r15 carries the mark, the other registers are this thread's; and it does so often."""
    spin = start(WORKLOADS / "spin", "--id", 77, "--seconds", "2", "--busy-us", 2000,
                 "--sleep-us", 1000)
    time.sleep(0.1)
    registers, seen, chance = Registers(spin.pid), [], random.Random(1)
    if not registers.read():
        lib.skip("ptrace is not allowed here")
    for number in range(PTRACE_READINGS):
        read = registers.read()
        if not read:
            break  # its time is up: this system is busy
        r15, r14, r13, r12 = read
        if r15 >> 32 == MAGIC:
            lib.check(r15 & 0xFFFFFFFF == 77 and r13 == spin.pid, f"id {r15:x}, thread {r13}")
            if r14:  # else: before its first reading of the TSC
                # Within an instruction or two of it: here, unlike in the emulator, a reading may fall
                # between the instructions that set them.
                lib.check(r12 == r14 or abs((r12 ^ r15) - r14) < 100000, f"r12 {r12:x} r14 {r14:x}")
                seen.append(r14)
        time.sleep(chance.uniform(0, 0.004))
    begin, end = lines_of(spin)
    print(f"spin: marked in {len(seen)} of {number} readings")
    lib.check(len(seen) > number / 10, "its identity is seen")
    lib.check(len(seen) < number, "it is not seen while it sleeps")
    lib.check(seen == sorted(seen), "its TSC readings rise")
    took = (end["tsc"] - begin["tsc"]) / begin["tsc_hz"]
    lib.check(2 <= took < 4, f"--seconds 2 took {took:.1f} s")
    lib.check(begin["tsc"] < seen[0] and seen[-1] < end["tsc"], "TSC within begin and end")


def check_lines(scratch):
    disk = scratch / "disk"
    disk.write_bytes(bytes(1 << 20))
    cases = {
        ("spin",): [],
        ("spin", "--sleep-us", "500"): ["timer"],
        ("nap", "--every-us", "5000"): ["timer"],
        ("disk", "--device", disk): ["disk", "timer"],
        ("disk", "--device", disk, "--gap-us", "0"): ["disk"],
        ("pingpong",): ["task"],
        ("pingpong", "--by", "futex"): ["task"],
        ("forks",): ["task"],
    }
    for number, ((kind, *options), waits) in enumerate(cases.items(), 100):
        begin, end = lines_of(start(WORKLOADS / kind, "--id", number, "--seconds", "0.25", *options))
        lib.check(begin["waits"] == waits, f"{kind} {options}: {begin}")
        lib.check(begin["id"] == end["id"] == number, f"{kind}: its id in {begin} and {end}")
        lib.check(begin["comm"] == f"{kind}-{number}", f"{kind}: its name in {begin}")
        lib.check(end["periods"] > 0, f"{kind} {options} did something: {end}")
        print(kind, *options, end["periods"], "periods")

def check_net():
    port = 20000 + os.getpid() % 20000
    for over in ("udp", "tcp"):
        options = ("--port", port, "--over", over)
        server = start(WORKLOADS / "net", "--serve", 1, "--seconds", "0.7", *options)
        client = start(WORKLOADS / "net", "--address", "127.0.0.1", "--seconds", "0.4", *options)
        [asks, asked], [serves, served] = lines_of(client), lines_of(server)
        lib.check(asks["waits"] == ["network", "timer"] and serves["waits"] == ["network"], "waits")
        lib.check(0 < asked["periods"] <= served["periods"], f"{over}: {asked} {served}")
        print("net", over, asked["periods"], "periods")


def check_wrong_options():
    for command in (["spin", "--bogus", "1"], ["spin", "--id"], ["spin", "--id", "x"],
                    ["spin", "--comm", "a-name-of-16-byte"], ["nap", "--every-us", "-5"],
                    ["spin", "--seconds", "1.x"], ["spin", "--seconds", "0"]):
        done = subprocess.run([WORKLOADS / command[0], *command[1:]], capture_output=True)
        lib.check(done.returncode == 2 and b"usage" in done.stderr, f"{command} is refused")


def check_container():
    """A container's processes see its name, and their own numbers only; one inside another works."""
    script = "hostname; for p in /proc/[0-9]*; do read -r c < $p/comm; echo $c; done"
    done = subprocess.run(
        [WORKLOADS / "container", "outer", "--", "sh", "-c", "exit 0", "--",
         WORKLOADS / "container", "inner", "+", "sh", "-c", script], capture_output=True, text=True)
    if "it needs root" in done.stderr:
        print("container: not tried, it needs root")
        return
    lines = done.stdout.splitlines()
    lib.check(done.returncode == 0, f"container: {done.stderr}")
    lib.check([json.loads(line)["container"] for line in lines[:2]] == ["outer", "inner"],
              f"two containers: {lines}")
    lib.check(lines[2:] == ["inner", "init", "sh"], f"what the inner one sees: {lines}")
    failed = subprocess.run([WORKLOADS / "container", "c", "--", "sh", "-c", "exit 3"],
                            stdout=subprocess.DEVNULL)
    lib.check(failed.returncode == 1, "a program's failure is the container's")


def main():
    signal.alarm(100)
    lib.run("make", "-C", lib.ROOT, f"B={lib.BUILD}", "lab-workloads")
    with tempfile.TemporaryDirectory() as scratch:
        check_wrong_options()
        check_identity()
        check_lines(Path(scratch))
        check_net()
        check_container()


if __name__ == "__main__":
    main()
