# SPDX-License-Identifier: Apache-2.0
"""Reads the registers of all CPUs of a running emulator at random moments.

The emulator is asked over its monitor's socket ("-monitor unix:PATH,server=on,wait=off") for "info registers -a",
which it answers without stopping its CPUs; stopping them makes nested guests lose wake-ups.  So each register is
what it was at some moment between the question and the answer, and the CPUs of one reading are not of one moment.
The emulator writes registers back at the end of every block of translated code.

File: one JSON object per line.  The first describes the run; each other one is a reading:

    n            number of the reading
    begin_ns     CLOCK_MONOTONIC of this system before the question …
    end_ns       … and after the answer
    cpus         per CPU: its number "cpu", and in long mode r12 to r15, rip, rflags, cr3, efer and gs (the base of
                 the segment) as hexadecimal text, cpl, ii (interrupts inhibited) and hlt (halted) as numbers

Lines are complete as they are written: when the emulator dies, what was read so far is there.
"""
import json
import random
import re
import socket
import time

REGISTERS = re.compile(
    r"R12=(?P<r12>\w+) R13=(?P<r13>\w+) R14=(?P<r14>\w+) R15=(?P<r15>\w+)\s+"
    r"RIP=(?P<rip>\w+) RFL=(?P<rflags>\w+) \S+ CPL=(?P<cpl>\d) II=(?P<ii>\d) .*?HLT=(?P<hlt>\d)"
    r".*?\nGS =\w+ (?P<gs>\w+).*?CR3=(?P<cr3>\w+).*?EFER=(?P<efer>\w+)", re.S)
NUMBERS = ("cpl", "ii", "hlt")
ANSWER_LIMIT_S = 20  # an emulator silent for longer is as good as dead
CHECK_STOP_S = 0.5


class EmulatorGone(Exception):
    """It died, hangs, or was never there; or we were told to stop while waiting for it."""


class Monitor:
    """The connection to one emulator's monitor, as a person would use it: commands and text."""

    PROMPT = b"(qemu) "

    def __init__(self, path, should_stop):
        self.should_stop = should_stop
        self.socket = self.connect(str(path))
        self.socket.settimeout(CHECK_STOP_S)
        self.answer()

    def connect(self, path):
        while not self.should_stop():
            connection = socket.socket(socket.AF_UNIX)
            try:
                connection.connect(path)
                return connection
            except (FileNotFoundError, ConnectionRefusedError):
                connection.close()
                time.sleep(0.1)
        raise EmulatorGone

    def answer(self):
        """All it says until it waits for the next command."""
        limit, text = time.monotonic() + ANSWER_LIMIT_S, b""
        while not text.endswith(self.PROMPT):
            try:
                data = self.socket.recv(1 << 18)
            except TimeoutError:
                if self.should_stop() or time.monotonic() > limit:
                    raise EmulatorGone from None
                continue
            except OSError as error:
                raise EmulatorGone from error
            if not data:
                raise EmulatorGone
            text += data
        return text.removesuffix(self.PROMPT).decode(errors="replace")

    def call(self, command):
        try:
            self.socket.sendall(command.encode() + b"\n")
        except OSError as error:
            raise EmulatorGone from error
        return self.answer()


def cpus_of(text):
    """The CPUs in what "info registers -a" prints.  One that is not in long mode yet has only its number."""
    cpus = []
    for block in re.split(r"^\s*CPU#", text, flags=re.M)[1:]:
        cpu = {"cpu": int(block.split(None, 1)[0])}
        found = REGISTERS.search(block)
        if found:
            cpu.update({name: int(value) if name in NUMBERS else value
                        for name, value in found.groupdict().items()})
        cpus.append(cpu)
    return cpus


def read_until(monitor, should_stop, out, chance, spacing):
    readings = 0
    while not should_stop():
        begin = time.monotonic_ns()
        text = monitor.call("info registers -a")
        end = time.monotonic_ns()
        reading = {"n": readings, "begin_ns": begin, "end_ns": end, "cpus": cpus_of(text)}
        out.write(json.dumps(reading, separators=(",", ":")) + "\n")
        readings += 1
        time.sleep(chance.uniform(*spacing))
    return readings


def sample_live(monitor_path, should_stop, out_path, seed, spacing=(0.001, 0.02)):
    """Reads until should_stop() is true or the emulator is gone.

    `spacing` are the bounds, in seconds, of the random pause between two readings; `seed` makes the pauses
    repeatable.  Gives how many readings there are in `out_path`.
    """
    readings = 0
    with open(out_path, "w", buffering=1) as out:
        try:
            monitor = Monitor(monitor_path, should_stop)
            header = {"seed": seed, "spacing_s": spacing, "emulator": monitor.call("info version").split()[-1]}
            out.write(json.dumps(header) + "\n")
            readings = read_until(monitor, should_stop, out, random.Random(seed), spacing)
        except EmulatorGone:
            readings = max(0, count_lines(out_path) - 1)
    return readings


def count_lines(path):
    with open(path) as file:
        return sum(1 for _ in file)
