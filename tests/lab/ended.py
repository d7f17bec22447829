#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runners that are killed leave nothing running: tests/guardian ends their tests, and an emulator ends with lab/run."""

import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402

GRACE_S = 10
# What a test may be: a shell whose children are in process groups of their own.
TEST = "set -m; sleep 600 & sleep 601 & echo ready; wait"
# What lab/run does, but for the emulator.
RUNNER = f"""
import subprocess, sys, time
sys.path.insert(0, {str(lib.ROOT)!r})
from lab.lib import command
print(subprocess.Popen(["sleep", "600"], preexec_fn=command.die_with_parent).pid, flush=True)
time.sleep(600)
"""


def is_there(pid):
    """Not, when nobody has fetched its exit status yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def of_session(session):
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            fields = (path / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(int(path.name))
    return found


def ends(what):
    deadline = time.monotonic() + GRACE_S
    while what() and time.monotonic() < deadline:
        time.sleep(0.05)
    return not what()


def start_test():
    test = subprocess.Popen(["bash", "-c", TEST], stdout=subprocess.PIPE, text=True, start_new_session=True)
    lib.check(test.stdout.readline() == "ready\n", "it starts")
    lib.check(len(of_session(test.pid)) == 3, "a shell and two children")
    return test


def check_guardian():
    killed, ended = start_test(), start_test()
    guardian = subprocess.Popen([lib.ROOT / "tests/guardian"], stdin=subprocess.PIPE, text=True)
    guardian.stdin.write(f"+{killed.pid}\n+{ended.pid}\n-{ended.pid}\n")
    guardian.stdin.flush()
    time.sleep(0.3)
    lib.check(len(of_session(killed.pid)) == 3, "nothing is ended while the runner lives")
    guardian.stdin.close()
    lib.check(ends(lambda: of_session(killed.pid)), "what ran is ended")
    lib.check(len(of_session(ended.pid)) == 3, "what had ended is no business of its")
    for pid in of_session(ended.pid):
        subprocess.run(["kill", "-KILL", str(pid)], check=True)
    killed.wait(), ended.wait(), guardian.wait()


def check_emulator():
    runner = subprocess.Popen([sys.executable, "-c", RUNNER], stdout=subprocess.PIPE, text=True)
    emulator = int(runner.stdout.readline())
    lib.check(is_there(emulator), "it runs")
    runner.send_signal(signal.SIGKILL)
    runner.wait()
    lib.check(ends(lambda: is_there(emulator)), "the emulator ends with its runner")


check_guardian()
check_emulator()
