#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 1800
# alone: lab
"""Kernels that look for faults (lockdep, KASAN, debug objects) find none in the guest's module, nor in what traces the boot from start_kernel on.

    tests/kernel/debug.py [--times TIMES] KERNEL…     of lab/kernels; default: 5 times

The kernel is the outermost machine (channel=device) where the module is loaded TIMES times, each time under load, with functions watched and a CPU
that goes and comes; with the patch, it also boots as a guest, which sends its steps.  What is found stays in build/lab/runs/debug-KERNEL.
"""
import argparse
import re
import sys
from pathlib import Path

# The lab's package before tests/lab.
sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402
import live  # noqa: E402
from lab.kernels import guest  # noqa: E402
from lab.lib import engine, guest_module, image, options, payload, paths, scenario  # noqa: E402
from lab.lib.stopwatch import Stopwatch  # noqa: E402

HERE = Path(__file__).resolve().parent
# What such a kernel says of itself: its checks are there, and none has given up (lockdep does after the first fault).
LOOKS = ("dmesg | grep -c 'KernelAddressSanitizer initialized'", "grep -c 'debug_locks: *1' /proc/lockdep_stats")
LEVELS = list(range(18))    # docs/formats/hypertrace.md: start_kernel() first, the first program last


class Given:
    """What the lab's options are when nothing is said."""
    accel, qemu, tries, seed = "tcg", None, 3, 1
    limit = within = wait = None


def run_lab(chosen, directory, put, commands, stopwatch):
    built = image.get(chosen.kernel, stopwatch)
    report = engine.run(chosen, built, options.of_engine(directory, Given, stopwatch, put, list(commands)), stopwatch)
    lib.check(not report["complaints"], f"no complaint of a kernel: {report['complaints']}")
    lib.check(not any(report["command_statuses"]), f"every step succeeded: {report['command_statuses']}")


def check_module(name, times, directory, stopwatch):
    chosen = scenario.load(str(HERE / "debug.toml"))
    chosen.kernel, chosen.host_kernel = name.partition("-")[0], name
    put = [guest_module.of_tree(guest.get(name, stopwatch) / "headers", stopwatch), HERE / "guest-steps"]
    payload.build_programs(stopwatch)
    run_lab(chosen, directory, put, [f"guest-steps stress {times} device", *LOOKS], stopwatch)
    said = [path.read_text() for path in sorted((directory / "L0/exec").glob("*"), key=lambda path: int(path.name))]
    print("".join(said), end="")
    lib.check(re.search(rf"stressed {times} times, CPU 1 went and came [1-9]", said[0]), f"the module was loaded {times} times")
    lib.check(int(re.search(r"totals: (\d+)", said[0])[1]) > 1000, "it had events to send")
    lib.check([int(text) for text in said[1:]] == [1, 1], "the kernel looked for faults until the end")


def check_boot(name, directory, stopwatch):
    chosen = scenario.load(str(paths.LAB / "kernels/early.toml"))
    chosen.kernel, chosen.guest_kernel = name.partition("-")[0], name
    # Such a kernel boots slowly, for two minutes of it in ACPI's byte code.  (Without that, acpi=noirq, it has no MSI and complains.)
    chosen.seconds, chosen.limit = 240, 1100
    payload.build_programs(stopwatch)
    run_lab(chosen, directory, [], [], stopwatch)
    words = [line.split() for line in lib.run(paths.BUILD / "sonde", "events", directory / "L0/trace.dat").splitlines()]
    levels = [int(line[-1].removeprefix("level=")) for line in words if "boot_level:" in line]
    started, finished = (sum(f"initcall_{what}:" in line for line in words) for what in ("start", "finish"))
    print(f"boot levels {levels}, {started} initcalls")
    lib.check(levels == LEVELS, f"the boot's steps arrived in their order: {levels}")
    lib.check(started == finished > 100, f"initcalls begin and end: {started}, {finished}")


def check(name, times, place):
    stopwatch = Stopwatch(False)
    live.within_tries(1, check_module, name, times, place / "module", stopwatch)
    if "early" in name:
        live.within_tries(1, check_boot, name, place / "boot", stopwatch)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kernels", nargs="*", metavar="KERNEL")
    parser.add_argument("--times", type=int, default=5)
    given = parser.parse_args()
    lib.need("qemu-system-x86_64", "make", "gcc")
    if not given.kernels:
        lib.skip("by hand only: a kernel to be built, and ten minutes: tests/kernel/debug.py 6.1-early-debug")
    for name in given.kernels:
        check(name, given.times, lib.BUILD / f"lab/runs/debug-{name}")


main()
