#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 300
"""Steal, split by cause, against what each guest's own /proc/stat counted (its recorder read it at both ends): the causes add up to
what was found, and the guest counts no more than that and no less than that without the time right after a halt, which a kernel
whose CPU is idle counts as idle as often as not.

usage: steal.py [RUN...]: directories of lab runs; without any, those in samples/lab."""

import json
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402

CAUSES = ("queued", "slice", "wakeup", "class", "migrated", "throttled", "unknown")
MORE, LESS = 1.2, 0.95      # ticks of 10 ms are counted whole; what a guest's clock finds late goes to the next reading


def check_row(name, row):
    vcpu = f"{name}: {row['vcpu']['machine']}/{row['vcpu']['cpu']}"
    found, guest, unit = row["steal"], row["guest"], row["unit"]
    lib.check(sum(row[cause] for cause in CAUSES) == found, f"{vcpu}: the causes do not add up to {found}: {row}")
    if guest < 0:
        print(f"{vcpu}: its counters were not read twice; found {found / 1e6:.1f} ms")
        return False
    print(f"{vcpu}: /proc/stat {guest / 1e6:.0f} ms, found {found / 1e6:.1f} ms, of it right after a halt {row['queued'] / 1e6:.1f} ms")
    lib.check(guest <= MORE * found + unit, f"{vcpu}: the guest counts more than was found")
    lib.check(guest >= LESS * (found - row["queued"]) - unit, f"{vcpu}: the guest counts less than was found")
    return True


def main():
    runs = [Path(argument) for argument in sys.argv[1:]] or [
        lib.unpacked(archive) for archive in lib.archives("lab-run-*", places=[lib.SAMPLES])]
    checked = 0
    with tempfile.TemporaryDirectory() as scratch:
        for directory in runs:
            history = Path(scratch) / "run.sonde"
            lib.run(lib.SONDE, "analyze", "-q", directory / "L0/run", "-o", history)
            rows = json.loads(lib.run(lib.SONDE, "report", history, "-t", "steal", "--format", "json"))["steal"]
            checked += sum(check_row(directory.name, row) for row in rows)
    lib.check(checked, "no guest's counters were recorded")


if __name__ == "__main__":
    main()
