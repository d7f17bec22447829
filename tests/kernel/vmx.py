#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 900
# alone: lab
"""The module for hosts with Intel's CPUs: it compiles without a warning for both kernels, and the lab's AMD CPU refuses it with a reason.

    tests/kernel/vmx.py [6.1|6.12]      in the lab with that kernel; default: 6.1

What it tells on VMX is tried in Bochs: lab/bochs."""
import subprocess
import sys
import tempfile
from pathlib import Path

# The lab's package before tests/lab.
sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402
import live  # noqa: E402
from lab.lib import engine, guest_module, headers, image, options, payload, scenario  # noqa: E402
from lab.lib.stopwatch import Stopwatch  # noqa: E402

KERNELS = ("6.1", "6.12")
REFUSED = ("! insmod $(command -v sonde_vmx.ko) 2>/dev/null && dmesg | grep 'sonde_vmx: an AMD CPU needs no such module' && "
           "dmesg -c >/dev/null")
COMMANDS = (REFUSED, "modprobe kvm-amd", REFUSED, "! dmesg | grep -E 'BUG|WARNING|Oops|Call Trace'")


class Given:
    """What the lab's options are when nothing is said."""
    tracer = None
    accel, qemu, tries, seed = "tcg", None, 2, 1
    limit, within, wait = 120, 120, 120


def check_build(kernel, stopwatch):
    tree = headers.get(kernel, image.get(kernel, stopwatch), stopwatch)
    with tempfile.TemporaryDirectory(prefix="sonde-vmx.") as fresh:
        made = subprocess.run(["make", "vmx-module", f"KDIR={tree}", f"B={fresh}", "W=1"], cwd=lib.ROOT, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        lib.check(not made.returncode and "warning" not in made.stdout, f"for {kernel}, without a warning:\n{made.stdout}")
        lib.check(list(Path(fresh).glob("vmx/*/sonde_vmx.ko")), f"for {kernel}, there is a module")


def check_refused(kernel, directory, stopwatch):
    chosen = scenario.load("l0")
    chosen.kernel = Given.kernel = kernel
    built = image.get(kernel, stopwatch)
    put = [guest_module.get(kernel, built, stopwatch, "vmx")]
    payload.build_programs(stopwatch)
    report = engine.run(chosen, built, options.of_engine(directory, Given, stopwatch, put, list(COMMANDS)), stopwatch)
    lib.check(not any(report["command_statuses"]), f"refused with the reason, before KVM is loaded and after: {report['command_statuses']}")


def main():
    lib.need("qemu-system-x86_64", "make", "gcc")
    stopwatch = Stopwatch(False)
    for kernel in KERNELS:
        check_build(kernel, stopwatch)
    with tempfile.TemporaryDirectory(prefix="sonde-vmx.") as place:
        live.within_tries(2, check_refused, sys.argv[1] if len(sys.argv) > 1 else KERNELS[0], Path(place) / "run", stopwatch)


main()
