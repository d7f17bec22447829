#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A round of checks without an emulator: what is kept and what is run again, the table, the exit status; a try's limit
does not count what is built before it, and an emulator that does not answer is ended."""

import argparse
import contextlib
import io
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402

sys.path[:0] = [str(lib.ROOT)]
from lab.lib import engine, image, options, payload, rounds, scenario, verify  # noqa: E402
from lab.lib.control import Control, RunBroken  # noqa: E402
from lab.lib.patience import Patience  # noqa: E402
from lab.lib.failure import Failure  # noqa: E402
from lab.lib.stopwatch import Stopwatch  # noqa: E402

IMAGE = image.Image("6.1.0-test", Path("vmlinux"), Path("initramfs"), Path("root"))
AGREEMENT = {"faults": [], "programs": 98, "programs_of": 99, "silent": 3, "others": 7, "others_of": 7}


class Lab:
    """Stands for the engine, and for what looks at a run: counts the runs, ends them as it is told."""

    def __init__(self):
        self.runs, self.end = 0, None

    def run(self, chosen, built, options, stopwatch):
        self.runs += 1
        if self.end:
            raise self.end
        report = {"inputs": options.inputs, "tries": 2, "took_s": 61.4, "complaints": {}}
        options.directory.mkdir(exist_ok=True)
        (options.directory / engine.MARK).write_text(json.dumps(report))
        return report

    def verify(self, chosen, directory, report):
        (directory / verify.AGREEMENT).write_text(json.dumps(AGREEMENT))
        return [verify.Verdict("oracle", True, "as it was")]


def given(directory, resume):
    return argparse.Namespace(directory=directory, resume=resume, verbose=False, kernel="6.1", tracer=None,
                              qemu="stock", accel="tcg", kvm=None, guest_kernel=None, host_kernel=None, tries=3,
                              limit=None, within=None, wait=None, seed=1)


def check_kept(lab, directory):
    quiet, resumed, fresh = Stopwatch(quiet=True), given(directory, True), given(directory, False)
    first = rounds.check("two-vms-one-cpu", resumed, quiet)
    again = rounds.check("two-vms-one-cpu", resumed, quiet)
    lib.check(lab.runs == 1 and first == again, f"what is there is not run again: {first} {again}")
    rounds.check("two-vms-one-cpu", fresh, quiet)
    lib.check(lab.runs == 2, "but is, when not asked to resume")
    rounds.check("pause", resumed, quiet)
    lib.check(lab.runs == 3, "and another scenario is another run")
    payload.programs = lambda: [Path(__file__)]
    rounds.check("pause", resumed, quiet)
    lib.check(lab.runs == 4, "and so are other programs")
    return first


def check_options(directory):
    """What of_engine() gives stands in its place."""
    made = options.of_engine(directory, given(directory, False), Stopwatch(quiet=True), ["tool"], ["vm-a:true"])
    lib.check((made.put, made.commands, made.seed, made.inputs) == (["tool"], ["vm-a:true"], 1, ""), f"{made}")


def check_ends(lab, directory):
    quiet = Stopwatch(quiet=True)
    lab.end = engine.NoTrySucceeded("no try of 3 succeeded", 3)
    lost = rounds.check("pause", given(directory, False), quiet)
    lab.end = Failure("no such event")
    failed = rounds.check("pause", given(directory, False), quiet)
    lib.check((lost.result, lost.tries) == (rounds.LOST, 3) and failed.result == rounds.FAIL,
              f"the round goes on: {lost} {failed}")
    return lost, failed


def check_slow_emulator(directory):
    """Its socket never comes: its last words are asked for, which must not wait for it."""
    process = subprocess.Popen(["sh", "-c", "echo slow; exec sleep 600"], stdout=subprocess.PIPE)
    emulator = argparse.Namespace(process=process, control=directory / "nothing")
    begin = time.monotonic()
    try:
        Control(emulator, directory / "consoles", Patience(0.5))
        lib.check(False, "there is nothing to talk to")
    except RunBroken as reason:
        lib.check("slow" in str(reason) and time.monotonic() - begin < 60, f"{reason}")
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def main():
    lab = Lab()
    engine.run, verify.run, image.get = lab.run, lab.verify, lambda kernel, stopwatch: IMAGE
    payload.programs = lambda: []
    with tempfile.TemporaryDirectory() as scratch, contextlib.redirect_stdout(io.StringIO()):
        right = check_kept(lab, Path(scratch) / "run")
        lost, failed = check_ends(lab, Path(scratch) / "run")
        check_slow_emulator(Path(scratch))
        check_options(Path(scratch))
    lines = rounds.table([right, lost]).splitlines()
    lib.check(lines[1].split() == ["two-vms-one-cpu", "6.1", "ok", "98", "of", "99", "7", "of", "7", "2", "61"]
              and lines[2].split()[:5] == ["pause", "6.1", "LOST", "-", "-"], f"{lines}")
    lib.check([rounds.status(some) for some in ([right], [right, lost], [lost, failed], [])] == [0, 77, 1, 0],
              "a failure counts more than a lost run")
    limits = {name: scenario.load(name).limit for name in ("l0", "pause", "three-level", "l3", "cost")}
    lib.check(list(limits.values()) == [60, 180, 420, 900, 1500], f"{limits}")


main()
