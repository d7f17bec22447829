# SPDX-License-Identifier: Apache-2.0
"""Agents with a fake recorder, recorders of guests, and what they must have written."""

import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402

AGENT = lib.BUILD / "agent/fake_agent"
GATHER = lib.BUILD / "agent/gather"
PAGE = 4096
WORDS = PAGE // 8
# Who is silent for so long has gone.  A machine with more to do than it can may leave an agent waiting
# for seconds; what a test waits for is there at once on an idle one.
TIMEOUT_MS = 5000
PATIENCE_S = 60


def need_programs():
    lib.need(str(AGENT), str(GATHER))


def check(right, what):
    if not right:
        raise AssertionError(what)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_until(true, what, seconds=PATIENCE_S):
    end = time.monotonic() + seconds
    while not true():
        check(time.monotonic() < end, f"waited {seconds} s for: {what}")
        time.sleep(0.02)


def page(cpu, number):
    first = (cpu << 56) + (number << 16)
    return struct.pack(f"<{WORDS}Q", *range(first, first + WORDS))


def check_pages(path, cpu, whole=True):
    """The file's pages are those of the CPU, from 0 on; returns how many."""
    size = path.stat().st_size
    if whole:
        check(size % PAGE == 0, f"{path}: {size} bytes are no whole pages")
    nr = size // PAGE
    with open(path, "rb") as f:
        for number in range(nr):
            data = f.read(PAGE)
            if number % 64 == 0 or number > nr - 64:
                check(data == page(cpu, number), f"{path}: page {number} is not as sent")
            else:
                check(data[:8] == struct.pack("<Q", (cpu << 56) + (number << 16)),
                      f"{path}: page {number} is out of place")
    return nr


class Place:
    """A scratch directory, the token, and everything that was started: ended with it."""

    def __enter__(self):
        need_programs()
        self.dir = tempfile.TemporaryDirectory()
        self.path = Path(self.dir.name)
        self.token = self.path / "token"
        self.token.write_text("a-token-for-tests-0123456789\n")
        self.started = []
        return self

    def __exit__(self, *_):
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.wait()
        self.dir.cleanup()

    def agent(self, name, *options, port=None, token=None, held=(), **settings):
        return Agent(self, name, options, port or free_port(), token or self.token, held, settings)

    def gather(self, out, *guests, token=None, timeout=TIMEOUT_MS, **settings):
        return Gather(self, self.path / out, guests, token or self.token, timeout, settings)


class Agent:
    def __init__(self, place, name, options, port, token, held, settings):
        self.name, self.port = name, port
        self.mark = place.path / f"{name}.tracing"
        self.log = place.path / f"{name}.log"
        self.spec = f"{name}=tcp:127.0.0.1:{port}"
        env = {"FAKE_" + key.upper(): str(value) for key, value in settings.items()}
        if not any(o in ("--virtio", "--tcp") for o in options):
            options = ("--tcp", str(port), "--token-file", token, *options)
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                [AGENT, *map(str, options)], stderr=log, pass_fds=held,
                env={**os.environ, "FAKE_MARK": str(self.mark), **env})
        place.started.append(self.process)
        if "--tcp" in options:
            wait_until(lambda: "listening" in self.said() or self.process.poll() is not None,
                       f"agent {name} listens")
        check(self.process.poll() is None, f"agent {name} ended: {self.said()}")

    def said(self):
        return self.log.read_text(errors="replace")

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def is_tracing(self):
        return self.mark.exists()


class Gather:
    def __init__(self, place, out, guests, token, timeout, settings):
        self.out = out
        words = [f"{key}={value}" for key, value in settings.items()]
        specs = [g if isinstance(g, str) else g.spec for g in guests]
        self.notices = out.with_suffix(".notices")
        self.process = subprocess.Popen(
            [GATHER, out, f"token={token}", f"timeout={timeout}", *words, *specs],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=open(self.notices, "w"))
        self.said = ""
        place.started.append(self.process)

    def line(self, seconds=PATIENCE_S):
        while "\n" not in self.said:
            ready, _, _ = select.select([self.process.stdout], [], [], seconds)
            check(ready, "the recorder says nothing")
            data = os.read(self.process.stdout.fileno(), 65536).decode()
            check(data, "the recorder has ended")
            self.said += data
        line, self.said = self.said.split("\n", 1)
        return line

    def begin(self, ready=None, started=None):
        """Until everything that can be traced is."""
        line = self.line()
        check(line.startswith("ready"), line)
        check(ready is None or line == f"ready {ready}", line)
        line = self.line()
        check(line.startswith("started"), line)
        check(started is None or line == f"started {started}", line)
        return self

    def note(self, text):
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()

    def end(self, seconds=2 * PATIENCE_S):
        """Stops; {path: machine}."""
        try:
            rest, _ = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the recorder did not end in {seconds} s") from None
        check(self.process.returncode == 0, f"exit status {self.process.returncode}")
        machines = [json.loads(line) for line in (self.said + rest.decode()).splitlines()]
        check(len({m["path"] for m in machines}) == len(machines), "two machines of one name")
        return {m["path"]: m for m in machines}

    def check_whole(self, machine, cpus=2, pages=None):
        """Complete, and every byte is there."""
        check(machine["complete"] and not machine["why"], f"not complete: {machine}")
        folder = self.out / machine["path"]
        nr = [check_pages(folder / f"cpu{cpu}.raw", cpu) for cpu in range(cpus)]
        tail = (folder / "tail0").read_text()
        check(tail == f"tail pages={sum(nr)}\n", f"{tail} for {nr} pages")
        check(pages is None or nr == [pages] * cpus, f"{nr} pages, not {pages}")
        check((folder / "head").read_text().startswith("head "), "no head")

    def check_partial(self, machine, why, cpus=2):
        """Not complete, for a reason with @why in it; what came before is there.  How many pages."""
        check(machine["recorded"] and not machine["complete"], f"complete: {machine}")
        check(why in machine["why"], f"not for the reason \"{why}\": {machine['why']}")
        folder = self.out / machine["path"]
        return sum(check_pages(folder / f"cpu{cpu}.raw", cpu, whole=False) for cpu in range(cpus)
                   if (folder / f"cpu{cpu}.raw").exists())

    def pages(self, path):
        folder = self.out / path
        return sum(f.stat().st_size for f in folder.glob("cpu*.raw")) // PAGE

    def wait_for_pages(self, *paths, pages=50):
        for path in paths:
            now = self.pages(path)
            wait_until(lambda: self.pages(path) >= now + pages, f"{pages} pages of {path}")


def run_tests(tests):
    """Runs each test in a place of its own; names the one that fails."""
    wanted = sys.argv[1:]
    for test in tests:
        if wanted and test.__name__ not in wanted:
            continue
        begin = time.monotonic()
        with Place() as place:
            try:
                test(place)
            except BaseException:
                print(f"FAILED in {test.__name__}: {test.__doc__}")
                for log in place.path.glob("*.log"):
                    print(f"--- {log.name}\n{log.read_text(errors='replace')[-2000:]}")
                raise
        print(f"{test.__name__}: {time.monotonic() - begin:.1f} s")


STOP, CONT, KILL = signal.SIGSTOP, signal.SIGCONT, signal.SIGKILL
