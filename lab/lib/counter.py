# SPDX-License-Identifier: Apache-2.0
"""The rate of this machine's cycle counter, which is that of the emulated CPUs as well.

A kernel that measures it itself, in emulation, on a busy machine, is wrong by up to a half; so L0 is told.
"""
import re
import time

from . import command, paths

SPAN_S = 0.3


def now():
    """(cycles, nanoseconds)"""
    text = command.output(paths.PROGRAMS / "witness", "now")
    return tuple(map(int, re.fullmatch(r"tsc (\d+) mono_ns (\d+)\s*", text).groups()))


def khz():
    tsc, ns = now()
    time.sleep(SPAN_S)
    later_tsc, later_ns = now()
    return round((later_tsc - tsc) * 1_000_000 / (later_ns - ns))
