#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does a history say what the hardware did?  compare.py RUN.sonde samples.json [--counts FILE]

Prints, per machine, how many samples agree, and every miss with what the history shows around it.  Then the same
with all samples moved in time: a comparison that still agreed would prove nothing.  Exit status 1 when a miss is further
from the next change of state than the clock's bound, when there are no samples, when less than a third of
them lie where something was recorded, when fewer than 19 in 20 of these agree, when a clock's bound is so large that it
would excuse anything, or when a shift by 1 ms goes unnoticed.
"""
import argparse
import json
import sys
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from lab.lib.failure import Failure  # noqa: E402
from lab.oracle import names, ranges  # noqa: E402
from lab.oracle.history import History  # noqa: E402
from lab.oracle.judge import Program, clock_of, judge, neighbours, share  # noqa: E402

SHIFTS_NS = (-1_000_000, -100_000, 100_000, 1_000_000)
HEARD = 1 / 3  # of the samples must lie where something was recorded; a recorder killed half-way leaves about half
NOTICED = 0.02  # of the samples must be lost by a shift of 1 ms
AGREE = 0.95    # of the samples that say something must agree, whatever bound excuses the others
BOUND_NS = 200_000  # no clock of a run may be less well known: a bound of a second would excuse any miss
MISSES_SHOWN = 20


@dataclass
class Agreement:
    """How far samples and history agree; `of` counts those that say something, without the silent ones."""
    faults: list        # sentences about what is wrong, empty when nothing is
    programs: int = 0   # agree
    programs_of: int = 0
    silent: int = 0
    others: int = 0     # idle CPUs and kernels that agree
    others_of: int = 0


def by_group(verdicts):
    groups = defaultdict(list)
    for verdict in verdicts:
        groups[verdict.sample.group].append(verdict)
    return sorted(groups.items())


def print_programs(history, verdicts):
    for group, of in by_group(verdicts):
        misses = [v for v in of if v.missed()]
        silent = sum(v.silent() for v in of)
        print(f"  {group}: {sum(v.agrees() for v in of)} of {len(of) - silent} agree "
              f"({share(of):.2%}), {sum(v.wrong() for v in misses)} misses outside the clock bound, "
              f"bound up to {max(v.bound for v in of)}"
              + (f"; {silent} more where events were lost or nothing was recorded" if silent else ""))
    misses = [v for v in verdicts if v.missed()]
    for verdict in misses[:MISSES_SHOWN]:
        print("  miss:", verdict.says())
        for state in neighbours(history, verdict):
            print("       ", state)
    if len(misses) > MISSES_SHOWN:
        print(f"  … {len(misses) - MISSES_SHOWN} more misses")


def print_shifts(history, samples):
    """Gives the share that still agrees after 1 ms, the mean of both directions."""
    shares = {shift: share(judge(history, samples, shift)) for shift in SHIFTS_NS}
    print("  moved in time: " + ", ".join(f"{shift // 1000:+d} µs {part:.1%}"
                                         for shift, part in shares.items()))
    return (shares[SHIFTS_NS[0]] + shares[SHIFTS_NS[-1]]) / 2


def print_ranges(judged):
    """Gives how many agree, and of how many."""
    agree, of_all = 0, 0
    for kind in ("idle", "kernel"):
        of = [r for r in judged if r.sample["is"] == kind]
        sure = [r for r in of if r.state]
        entering = [r for r in sure if r.entering()]
        silent = [r for r in sure if r.silent()]
        sure = [r for r in sure if not r.entering() and not r.silent()]
        misses = [r for r in sure if not r.agrees()]
        agree, of_all = agree + len(sure) - len(misses), of_all + len(sure)
        print(f"  {kind}: {len(sure) - len(misses)} of {len(sure)} agree; {len(entering)} more were "
              f"at the door of a guest; the history shows changes while {sum(not r.state for r in of)} were read"
              + (f"; {len(silent)} more where events were lost" if silent else ""))
        for miss in misses[:MISSES_SHOWN]:
            print("  miss:", miss.says())
    return agree, of_all


def programs_of(samples):
    return [Program(s["cpu"], s["l0_tsc"], s["l0_mono_ns"], s["machine"], s["tid"], s["comm"],
                    s["machine"]) for s in samples if s["is"] == "program"]


def compare(history, samples):
    """Prints everything; gives an Agreement."""
    programs = programs_of(samples)
    if not programs:
        return Agreement(["there are no samples of programs"])
    verdicts = judge(history, programs)
    agreeing = share(verdicts)
    heard = sum(not v.silent() for v in verdicts)
    print(f"{history.path}: {agreeing:.2%} of {heard} samples agree")
    print_programs(history, verdicts)
    others = [s for s in samples if s["is"] != "program"]
    right, of_others = print_ranges(ranges.judge(history, others, clock_of(history, programs)))
    moved = print_shifts(history, programs)
    faults = []
    if heard < HEARD * len(verdicts):
        faults.append(f"only {heard} of {len(verdicts)} samples lie where something was recorded")
    if any(v.wrong() for v in verdicts):
        faults.append(f"{sum(v.wrong() for v in verdicts)} misses outside the clock bound")
    if agreeing < AGREE:
        faults.append(f"only {agreeing:.2%} of the samples agree")
    loose = [v.bound for v in verdicts if v.traced and not 0 <= v.bound <= BOUND_NS and not v.silent()]
    if loose:
        faults.append(f"{len(loose)} samples under a clock bound beyond {BOUND_NS} ns, or without one: {max(loose)}")
    if right < of_others:
        faults.append(f"{of_others - right} readings of idle CPUs or kernels do not agree")
    if moved > agreeing - NOTICED:
        faults.append("moving the samples by 1 ms makes no difference: this comparison proves nothing")
    return Agreement(faults, sum(v.agrees() and not v.silent() for v in verdicts), heard, len(verdicts) - heard, right,
                     of_others)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("history", type=Path)
    parser.add_argument("samples", type=Path)
    parser.add_argument("--counts", type=Path, metavar="FILE", help="also writes the numbers, as JSON")
    options = parser.parse_args()
    made, history = json.loads(options.samples.read_text()), History(options.history)
    agreement = compare(history, names.renamed(history, made["machines"], made["samples"]))
    for fault in agreement.faults:
        print(f"compare.py: {fault}", file=sys.stderr)
    if options.counts:
        options.counts.write_text(json.dumps(asdict(agreement), indent=1) + "\n")
    return 1 if agreement.faults else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        sys.exit(f"compare.py: {failure}")
