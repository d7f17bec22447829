# SPDX-License-Identifier: Apache-2.0
"""One scenario, run until a try succeeds: boot, phases, gathering, truth."""
import contextlib
import dataclasses
import fcntl
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from lab.kernels import guest, kvm
from lab.qemu import fixed

from . import commands, gather, health, lttng, payload, truth
from .control import Control, RunBroken
from .emulator import Emulator
from .failure import Failure
from .patience import Patience
from .phases import Run
from .sampling import Sampler

MARK = "run.json"       # a directory that holds it is ours to replace


class NoTrySucceeded(Failure):
    """The emulator let no try through; its text ends in its last words."""

    def __init__(self, text, tries=0):
        super().__init__(text)
        self.tries = tries


@dataclass
class Options:
    directory: Path
    emulator: str | None = None
    tries: int = 3
    limit: int | None = None    # seconds for one try, of this machine's share as patience.py counts them
    within: int | None = None   # no other try begins after so many of these seconds
    wait: int | None = None     # seconds for which another run is waited for
    seed: int = 1
    put: list = field(default_factory=list)
    commands: list = field(default_factory=list)
    inputs: str = ""            # a digest of what the run is made of, kept in run.json


@contextlib.contextmanager
def alone(stopwatch, wait):
    """One emulated machine at a time on this machine: two would be too slow for their own time limits.
    Without a limit, in the order in which they ask; NoTrySucceeded when another is still there after `wait` seconds."""
    file = Path(tempfile.gettempdir()) / f"sonde-lab-{os.getuid()}.lock"
    handle = os.open(file, os.O_RDONLY | os.O_CREAT, 0o644)
    begin = time.monotonic()
    try:
        if wait is None:
            fcntl.flock(handle, fcntl.LOCK_EX)
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() - begin > wait:
                    raise NoTrySucceeded("another lab run on this machine does not end") from None
                time.sleep(1)
        if time.monotonic() - begin > 2:
            stopwatch.say("another lab run was waited for")
        yield
    finally:
        os.close(handle)


def clear(directory):
    if directory.exists() and any(directory.iterdir()):
        if not (directory / MARK).exists():
            raise Failure(f"{directory} is not empty and not a lab run's; name another with -o")
        shutil.rmtree(directory)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / MARK).write_text("{}\n")


def keep_words(directory, number):
    """What the machines of a lost try said goes beside the directory: the next try clears that."""
    kept = directory.with_name(f"{directory.name}.lost-{number}")
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(directory / "consoles", kept, dirs_exist_ok=True)


def extras_of(scenario, image, stopwatch):
    """What the payload gets beside the usual (payload.py)."""
    extras = {}
    if scenario.uses_lttng():
        extras["lttng"] = lttng.get(scenario.kernel, image, stopwatch)
    if scenario.kvm == "nested":
        extras["kvm"] = kvm.get(scenario.kernel, image, stopwatch)
    if scenario.guest_kernel:
        extras["boot"] = guest.get(scenario.guest_kernel, stopwatch) / "boot"
    return extras


def image_of_host(scenario, image, stopwatch):
    """What L0 boots: the image, or a kernel of our own with the image's root."""
    if not scenario.host_kernel:
        return image
    boot = guest.get(scenario.host_kernel, stopwatch) / "boot"
    return dataclasses.replace(image, release=scenario.host_kernel, vmlinux=boot / "vmlinux",
                               initramfs=boot / "initramfs.cpio")


def attempt(scenario, image, options, stopwatch, place, extras, patience):
    """One try.  Gives what it found out; RunBroken when the emulated machines failed."""
    disk = payload.make(scenario, options.put, place, extras)
    emulator = Emulator(scenario, image, disk, place, options.emulator)
    control = None
    try:
        may_break = [name for name in scenario.machines() if scenario.ends(name)]
        control = Control(emulator, options.directory / "consoles", patience, may_break, commands.show)
        found = follow(scenario, options, stopwatch, control)
        emulator.process.wait(timeout=10)
    except RunBroken as reason:
        words = control.last_words() if control else ""
        raise RunBroken(f"{reason}\n{words}") from None
    finally:
        if control:
            control.close()
        emulator.stop()
    with stopwatch.step("gathering"):
        found["nothing_from"] = gather.everything(emulator, options.directory)
    return found


def follow(scenario, options, stopwatch, control):
    """The phases of one run, with samples and commands beside the work."""
    run = Run(scenario, control, stopwatch)
    sampler = Sampler(control.emulator.monitor, options.directory / "samples-raw.json", options.seed)
    given = commands.Commands(options.commands, scenario)
    run.boot()
    run.arm()
    if scenario.sample and not given.list:
        sampler.start()
    try:
        statuses = given.run(control) if given.list else run.work()
    finally:
        sampler.stop()
    run.finish()
    run.save()
    return {"troubles": run.troubles, "command_statuses": statuses or []}


def try_until_done(scenario, image, options, stopwatch, extras):
    """Gives what the successful try found out, and why the ones before it were lost."""
    lost, left, limit = [], options.within or float("inf"), options.limit or scenario.limit
    for number in range(1, options.tries + 1):
        clear(options.directory)
        patience = Patience(limit)
        with tempfile.TemporaryDirectory(prefix="sonde-lab.") as place:
            try:
                return attempt(scenario, image, options, stopwatch, Path(place), extras, patience), lost
            except RunBroken as reason:
                lost.append(str(reason))
                stopwatch.say(f"try {number} of {options.tries} failed: {reason}")
                keep_words(options.directory, number)
        left -= limit - patience.left()
        if left <= 0:
            break
    raise NoTrySucceeded(f"no try of {len(lost)} succeeded; the last one: {lost[-1]}", len(lost))


def run(scenario, image, options, stopwatch):
    """Runs until a try succeeds.  Gives the report that is also in run.json; NoTrySucceeded when none did."""
    # Asked to end, it ends the emulator, too, and takes its files away.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    stopwatch.say(f"the emulator: {fixed.describe(options.emulator)}")
    extras = extras_of(scenario, image, stopwatch)  # minutes, in which others may run
    image = image_of_host(scenario, image, stopwatch)
    with alone(stopwatch, options.wait):
        begin = stopwatch.elapsed()
        found, lost = try_until_done(scenario, image, options, stopwatch, extras)
        took_s = stopwatch.elapsed() - begin
    report = {"scenario": scenario.name, "kernel": image.release, "tries": len(lost) + 1,
              "lost_tries": [text.splitlines()[0] for text in lost], "inputs": options.inputs,
              "took_s": round(took_s, 1),
              "emulator": str(options.emulator or "stock"), **found,
              "complaints": health.of_run(scenario, options.directory),
              "seconds": {name: round(seconds, 1) for name, seconds in stopwatch.steps}}
    truth.write(scenario, image, options.directory)
    (options.directory / MARK).write_text(json.dumps(report, indent=1) + "\n")
    return report
