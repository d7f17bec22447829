#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What guests' timers rest on (docs/clocks.md, section 8), held against this machine's own kernel.

A kernel that programs a timer of its own does what a guest's does: from expires and the deadline, as
hrtimer_start and write_msr show them, follows its gap, from reading CLOCK_MONOTONIC to reading the TSC.
And KVM starts a timer for each deadline of a vCPU that never runs: from the deadline and expires
follow its advance and its gap.  This machine's clocks were read together before and after, so both
are known to some ten ns.  Nothing of Sonde is asked but which advance and gaps it allows for.

    tests/clock/gaps.py here    by hand: tens of ns of a machine that has nothing else to do
"""

import os
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402

TRACING = Path("/sys/kernel/tracing")
CLOCKSOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
START = lib.BUILD / "clock/start_timers"
GROUP = 9                   # clock/bounds/timers.c takes the median of so many
LEAST = 100                 # timers, for less proves nothing
LEFT_NS = 10_000            # as there: who is late programs another moment
TIMERS = 800
EVENT = re.compile(r"\[(\d+)\] \S+ +(\d+): (\w+): (.*)")


def allowed(name):
    return int(re.search(rf"#define {name} (\d+)", (lib.ROOT / "clock/bounds/timers.h").read_text())[1])


def needs():
    if len(sys.argv) < 2:
        lib.skip("by hand only: it measures this machine to the ns: tests/clock/gaps.py here")
    if os.geteuid() or not (TRACING / "events/msr/write_msr/filter").exists():
        lib.skip("needs root and ftrace with its events of MSRs")
    if CLOCKSOURCE.read_text().strip() != "tsc" or "lapic-deadline" not in Path("/proc/timer_list").read_text():
        lib.skip("this kernel's clock is not the TSC, or its timers are not TSC deadlines")


@contextmanager
def instance(*events):
    """An ftrace instance that records these; a filter may follow in brackets."""
    place = TRACING / f"instances/sonde-test-gaps-{os.getpid()}"
    place.mkdir()
    try:
        (place / "trace_clock").write_text("x86-tsc")
        (place / "buffer_size_kb").write_text("4096")
        for event, condition in events:
            (place / "events" / event / "filter").write_text(condition)
            (place / "events" / event / "enable").write_text("1")
        yield place
    finally:
        place.rmdir()


class Clocks:
    """CLOCK_MONOTONIC as a function of the TSC, between two readings of both."""

    def __init__(self, text):
        (self.tsc, self.mono, _), (tsc, mono, _) = self.readings = [
            tuple(map(int, line.split()[1:])) for line in text.splitlines() if line.startswith("clocks")]
        self.per_cycle = (mono - self.mono) / (tsc - self.tsc)

    def at(self, tsc):
        return self.mono + (tsc - self.tsc) * self.per_cycle

    def unsure_ns(self):
        return max(width for *_, width in self.readings) * self.per_cycle / 2


def record(count, *events):
    with instance(*events) as place:
        done = subprocess.run([START, str(count)], capture_output=True, text=True)
        trace = (place / "trace").read_text()
    if done.returncode == lib.SKIP:
        return None
    lib.check(done.returncode == 0, done.stdout + done.stderr)
    return Clocks(done.stdout), done.stdout, [(int(m[1]), int(m[2]), m[3], m[4]) for m in EVENT.finditer(trace)]


def guests_gaps():
    """Of this kernel as a guest: each deadline less the moment of the timer, of the one that it fits best."""
    clocks, _, events = record(0, ("timer/hrtimer_start", "0"), ("msr/write_msr", "msr == 0x6e0"))
    started, found = {}, []
    for cpu, tsc, name, fields in events:
        own = started.setdefault(cpu, [])
        if name == "hrtimer_start":
            own.append(int(re.search(r" expires=(\d+)", fields)[1]))
            continue
        deadline = int(re.search(r"value (\w+)", fields)[1], 16)
        if own and (deadline - tsc) * clocks.per_cycle >= LEFT_NS:
            gap = min((clocks.at(deadline) - expires for expires in own), key=abs)
            found += [gap] if abs(gap) < LEFT_NS else []
    return clocks, found


def hosts_gaps():
    """Of this kernel as a host: the advance and the gap, in one."""
    recorded = record(TIMERS, ("timer/hrtimer_start", "0"))
    if not recorded:
        return None
    clocks, said, events = recorded
    deadlines = [int(line) for line in said.splitlines() if line.isdigit()]
    expires = [int(re.search(r" expires=(\d+)", fields)[1]) for *_, fields in events if "function=apic_timer_fn" in fields]
    if not expires:
        return None  # the CPU's own timer serves guests
    lib.check(len(expires) == len(deadlines), f"{len(expires)} timers for {len(deadlines)} deadlines")
    return clocks, [clocks.at(deadline) - moment for deadline, moment in zip(deadlines, expires)]


def medians(gaps):
    """Of so many in a row, as constraints are made of."""
    return [sorted(gaps[i:i + GROUP])[GROUP // 2] for i in range(0, len(gaps) - GROUP + 1, 3)]


def judge(who, clocks, gaps, most):
    """Gaps are at least 0, but for a few that are another timer's; medians are at most what is allowed for."""
    lib.check(len(gaps) >= LEAST, f"{who}: only {len(gaps)} timers")
    groups, each, unsure = medians(gaps), sorted(gaps), clocks.unsure_ns()
    print(f"{who}: {len(gaps)} timers, {each[0]:.0f} to {each[-1]:.0f} ns, median {each[len(each) // 2]:.0f}, 99 of "
          f"100 at most {each[len(each) * 99 // 100]:.0f}; medians of {GROUP}: {min(groups):.0f} to "
          f"{max(groups):.0f}; known within {unsure:.0f}")
    negative = sum(gap < -unsure for gap in gaps)
    return negative <= len(gaps) / 100 and min(groups) >= -unsure and max(groups) <= most + unsure


def main():
    needs()
    gap, advance = allowed("TIMERS_GAP_NS"), allowed("TIMERS_ADVANCE_NS")
    clocks, guests = guests_gaps()
    lib.check(judge("as a guest, gap", clocks, guests, gap), "a guest's gaps are not what is assumed")
    lib.check(not judge("the same, 100 ns early", clocks, [g - 100 for g in guests], gap),
              "a gap that cannot be is not noticed")
    lib.check(not judge("the same, 1 us late", clocks, [g + 1000 for g in guests], gap), "a long gap is not noticed")
    host = hosts_gaps()
    if not host:
        print("no KVM here that starts timers")
        return
    lib.check(judge("as a host, advance and gap", *host, advance + gap), "a host's timers are not what is assumed")


if __name__ == "__main__":
    main()
