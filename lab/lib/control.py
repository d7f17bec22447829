# SPDX-License-Identifier: Apache-2.0
"""Talks with the machines of a run (lab/guest/node lists the messages) and keeps what they say.

Everything comes from two places: L0's console, and the control port, over which the other machines' consoles
come as well.  Each machine's console goes to a file of its own as it arrives, so that it outlives a crash.
"""
import re
import selectors
import socket
import time
from collections import defaultdict

from .patience import LOOK_SECONDS, Patience
from .scenario import HOST

BREAKS = re.compile(r"Kernel panic|BUG: |soft lockup|Oops:|double fault|stack guard page")

SILENCE = 3.0   # seconds without a message, after which a message may have been lost
LINGER = 3.0    # seconds for the rest of a broken machine's words: the registers and the trace of its calls


class RunBroken(Exception):
    """The emulated machine failed: this try is lost, another may succeed."""


class Control:
    def __init__(self, emulator, directory, patience, may_break=(), show=None):
        """Keeps consoles in `directory`; what comes when `patience` has come to its end is too late."""
        self.emulator, self.directory, self.patience = emulator, directory, patience
        self.may_break, self.show = may_break, show
        self.heard = defaultdict(list)  # (machine, word) -> what followed, in order
        self.on = {}                    # word -> function(machine, what followed)
        self.broken = None
        self.last_sign = time.monotonic()
        self.rest = {"console": b"", "control": b""}
        directory.mkdir(parents=True, exist_ok=True)
        self.consoles = {}
        self.selector = selectors.DefaultSelector()
        self.selector.register(emulator.process.stdout, selectors.EVENT_READ, "console")
        self.port = self.connect()
        self.selector.register(self.port, selectors.EVENT_READ, "control")

    def connect(self):
        while True:
            port = socket.socket(socket.AF_UNIX)
            try:
                port.connect(str(self.emulator.control))
                return port
            except OSError:
                port.close()
                if self.emulator.process.poll() is not None or self.patience.left() <= 0:
                    raise RunBroken("the emulator did not start: " + self.only_words()) from None
                time.sleep(0.05)

    def only_words(self):
        """All that the emulator says; ends it, because its words end when it does."""
        self.emulator.process.kill()
        return self.emulator.process.stdout.read().decode(errors="replace").strip()[-500:]

    def send(self, machine, *words):
        self.write(" ".join(map(str, (machine, *words))))

    def write(self, line):
        try:
            self.port.sendall(f"{line}\n".encode())
        except ConnectionError as error:
            raise RunBroken(f"the emulator hears no more: {error}") from None

    def console(self, machine, line):
        if machine not in self.consoles:
            self.consoles[machine] = open(self.directory / f"{machine}.log", "w")
        self.consoles[machine].write(line + "\n")
        self.consoles[machine].flush()
        if BREAKS.search(line) and machine not in self.may_break and not self.broken:
            self.broken = f"{machine}: {line.strip()}"

    def message(self, line):
        machine, _, rest = line.partition(" ")
        word, _, rest = rest.partition(" ")
        if word == "|":
            self.console(machine, rest)
            return
        self.heard[machine, word].append(rest)
        if self.show:
            self.show(machine, word, rest)
        if word in self.on:
            self.on[word](machine, rest)

    def take(self, place, data):
        *lines, self.rest[place] = (self.rest[place] + data).split(b"\n")
        for line in lines:
            text = line.decode(errors="replace").rstrip("\r")
            if place == "console":
                self.console(HOST, text)
            else:
                self.message(text)

    @staticmethod
    def read(source, place):
        """What has come; nothing once the emulator has ended, in whatever way."""
        try:
            return source.recv(65536) if place == "control" else source.read1(65536)
        except ConnectionError:
            return b""

    def pump(self, seconds):
        """Takes what comes within so many seconds; returns as soon as something came."""
        for key, _ in self.selector.select(max(seconds, 0)):
            data = self.read(key.fileobj, key.data)
            if not data:
                self.selector.unregister(key.fileobj)
            self.last_sign = time.monotonic()
            self.take(key.data, data)
        if not self.selector.get_map():
            time.sleep(min(max(seconds, 0), 0.1))

    def alive(self):
        return self.emulator.process.poll() is None

    def poke(self):
        """An empty line: wakes who did not notice an earlier one."""
        if time.monotonic() - self.last_sign > SILENCE:
            self.write("")
            self.last_sign = time.monotonic()

    def wait(self, what, condition, seconds=None):
        """Until condition() holds; RunBroken when that cannot be any more, or takes too long."""
        patience = Patience(seconds or float("inf"))
        while not condition():
            if self.broken:
                self.hear_out()
                raise RunBroken(f"{self.broken} (waiting for {what})")
            if not self.alive() and not self.selector.get_map():
                raise RunBroken(f"the emulator ended with status {self.emulator.process.returncode} "
                                f"(waiting for {what})")
            left = min(self.patience.left(), patience.left())
            if left <= 0:
                raise RunBroken(f"time is up (waiting for {what})")
            self.pump(min(LOOK_SECONDS, left))
            self.poke()

    def said(self, machine, word):
        return (machine, word) in self.heard

    def last_words(self, lines=6):
        """The end of each console."""
        for console in self.consoles.values():
            console.flush()
        text = []
        for machine in self.consoles:
            log = (self.directory / f"{machine}.log").read_text(errors="replace")
            text += [f"  {machine}: {line}" for line in log.strip().splitlines()[-lines:]]
        return "\n".join(text)

    def hear_out(self):
        """What a broken machine still says, before it is ended."""
        limit = time.monotonic() + LINGER
        while self.alive() and time.monotonic() < limit and self.selector.get_map():
            self.pump(limit - time.monotonic())

    def close(self):
        self.selector.close()
        self.port.close()
        for console in self.consoles.values():
            console.close()
