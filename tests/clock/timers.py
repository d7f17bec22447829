#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Guests' timers bound their clocks in the sample of LTTng's, which is in the repository.

The lab wrote down what the clocks showed in the run that the sample is cut from, so the true L0 time
of each guest's ticks is known.  With the writes of deadlines hidden the bounds are those that exits
and hypercalls leave.
"""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent), str(Path(__file__).resolve().parent)]
import lib  # noqa: E402
import truth  # noqa: E402

PATHS = [str(lib.ROOT / "samples/lttng" / name) for name in ("vm-a-n", "vm-b", "host0", "vm-a")]
# L0's CLOCK_MONOTONIC less the guest's, when L0's showed so much (ns).
AT = (52103515298, 73246903087)
AHEAD = {"vm-a": (9616895746, 9616895508),
         "vm-b": (9006212245, 9006212013),
         "vm-a-n": (28057210466, 28057208848)}
# Usual bounds, with timers, by level; without them, and how many timers there are at least.
WITH_NS = {1: 5_500, 2: 11_000}
WITHOUT_NS = 20_000
TIMERS = {"vm-a": 100, "vm-b": 50, "vm-a-n": 30}


def true_time(name, tick):
    a, b = AHEAD[name]
    return tick + a + (b - a) * (tick + a - AT[0]) / (AT[1] - AT[0])


def machines(*options):
    return {m["name"]: m for m in truth.parse(lib.run(truth.SHOW, *options, *PATHS))}


def check(m, timed):
    name = m["name"]
    for tick in truth.ticks_of(m):
        ns, bound = truth.map_tick(m["pieces"], tick)
        error = abs(ns - true_time(name, tick))
        lib.check(error <= bound + truth.TRUTH_NS,
                  f"{name} at tick {tick}: {error:.0f} ns off, bound {bound} ns")
    usual = truth.median_bound(m)
    print(f"{name}: timers {m['timers']}, bound {usual} ns")
    lib.check(int(m["violations"]) == 0, f"{name}: causality is violated")
    told = "timers that it programmed bound its clock" in m["evidence"]
    if timed:
        lib.check(int(m["timers"]) >= TIMERS[name] and told, f"{name}: too few timers were used")
        lib.check(usual <= WITH_NS[int(m["level"])], f"{name}: timers left a bound of {usual} ns")
    else:
        lib.check(int(m["timers"]) == 0 and not told, f"{name}: timers were used though hidden")
        lib.check(usual >= WITHOUT_NS, f"{name}: {usual} ns without timers: what do they test?")


def main():
    for options in ([], ["-t"]):
        for name, m in machines(*options).items():
            if name in AHEAD:
                check(m, not options)
    truth.check_limits(PATHS)
    for name in ("ftrace", "boot", "marks"):
        truth.check_limits(sorted(map(str, (lib.ROOT / "samples" / name).glob("*.dat"))))


if __name__ == "__main__":
    main()
