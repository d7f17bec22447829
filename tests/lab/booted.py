#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 900
# alone: lab
"""A stock kernel that was told to (sonde agent --boot-line) records its boot, and a recorder that comes later finds it: each initcall that the
kernel's own log has (initcall_debug) is in the run, with its result and as long.  From the host's trace alone, without anything
in the guest, the boot has its phases.

    tests/lab/booted.py [--keep DIR] [6.12]    runs the lab
    tests/lab/booted.py RUN                    looks at a lab run's directory that is there
"""
import json
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

# The lab's package before tests/lab.
sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402
import live  # noqa: E402
from lab.lib import engine, image, options, payload, scenario  # noqa: E402
from lab.lib.stopwatch import Stopwatch  # noqa: E402

HERE = Path(__file__).resolve().parent
RETURNED = re.compile(r"initcall ([^\s+]+)(?:\+\S+)?(?: (\[\w+\]))? returned (-?\d+) after (\d+) usecs")
LEVELS = ["early", "pure", "core", "postcore", "arch", "subsys", "fs", "device", "late"]
# The log's clock is the timer tick until the kernel has a better one, late; ticks that a slow machine lost are missing in it.
TICK_US = 4000
HOST_PHASES = ["VMM starts", "VM is set up", "firmware", "kernel", "user space"]


class Given:
    """What the lab's options are when nothing is said."""
    accel, qemu, tries, seed = "tcg", None, 2, 1
    limit, within, wait = 300, 300, 60
    line = "6.1"


def run_lab(directory):
    stopwatch = Stopwatch(False)
    payload.build_programs(stopwatch)
    chosen = scenario.load(str(HERE / "booted.toml"))
    chosen.kernel = Given.line
    guest = chosen.machines()["vm-a"]
    guest.command_line += " " + lib.run(lib.SONDE, "agent", "--boot-line").strip()
    engine.run(chosen, image.get(chosen.kernel, stopwatch), options.of_engine(directory, Given, stopwatch), stopwatch)


def analysed(where, *traces):
    lib.run(lib.SONDE, "analyze", "-q", "-o", where, *traces)
    tables = {table: json.loads(lib.run(lib.SONDE, "report", "-q", "-t", table, "--format", "json", where))[table]
              for table in ("boot", "initcall")}
    return tables["boot"], tables["initcall"]


def check_host_only(rows):
    phases = [row["stage"] for row in rows]
    print("from the host's trace alone:", ", ".join(f"{row['stage']} {row['length'] / 1e6:.1f} ms" for row in rows))
    known = [phase.removesuffix(", and what followed") for phase in phases]     # it may never settle
    lib.check(known == HOST_PHASES, f"the phases in their order: {phases}")
    lib.check(all(row["length"] > 0 for row in rows), "each takes its time")


def check_phases(rows):
    kernel = [row["stage"].removeprefix("kernel: ") for row in rows if row["stage"].startswith("kernel: ")]
    print("with what the guest's kernel recorded:", ", ".join(f"{row['stage']} {row['length'] / 1e6:.1f} ms" for row in rows))
    lib.check([name for name in kernel if name in LEVELS] == LEVELS, f"the levels in their order: {kernel}")
    lib.check(all(name in kernel for name in LEVELS), "all of them")


def check_initcalls(rows, log):
    """The rows are of the initcalls that the log has, in its order, and none took less time than there."""
    rows = sorted(rows, key=lambda row: row["at"] + row["length"])
    told = [(row["name"], row["result"]) for row in rows]
    logged = [(module or name, int(result)) for name, module, result, _ in RETURNED.findall(log)]
    # The log begins when its option has been read; modules that are loaded after the recorder came are not asked for.
    told_too = [call for call in told if call in set(logged)]
    print(f"{sum(row['level'] != 'module' for row in rows)} initcalls of the kernel, {sum(row['level'] == 'module' for row in rows)} of "
          f"modules; {len(logged)} in its log, {len(told) - len(told_too)} only recorded")
    lib.check(len(logged) > 300, "enough to compare")
    lib.check(not set(logged) - set(told), f"each of the log's was recorded: {sorted(set(logged) - set(told))[:5]}")
    lib.check(told_too == logged, "in the log's order, with its results")
    lib.check(len(told) - len(told_too) <= len(told) // 20, f"and the other way round: {sorted(set(told) - set(logged))[:5]}")
    us = {row["name"]: row["length"] / 1000 for row in rows}
    short = [(name, us[module or name], said) for name, module, _, said in RETURNED.findall(log)
             if Counter(told_too)[(module or name, 0)] == 1 and us[module or name] + 1.1 * TICK_US < int(said)]
    lib.check(not short, f"none took less time than the log has: {short[:5]}")


def check_run(directory, scratch):
    directory = Path(directory)
    host, guest = directory / "L0/run", directory / "vm-a/own"  # run directories of two recorders, neither of which knew the other
    phases, none = analysed(scratch / "host.sonde", host)
    check_host_only(phases)
    lib.check(not none, "no initcalls without the guest's trace")
    phases, initcalls = analysed(scratch / "both.sonde", host, guest)
    check_phases(phases)
    check_initcalls(initcalls, (directory / "vm-a/meta/dmesg").read_text())


def attempt(directory, scratch):
    run_lab(directory)
    check_run(directory, scratch)


def main():
    given = sys.argv[1:]
    keep = None
    if given[:1] == ["--keep"]:
        keep, Given.wait, given = Path(given[1]), None, given[2:]
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        if given and given[0] not in scenario.KERNELS:
            check_run(given[0], scratch)
            return
        lib.need("qemu-system-x86_64", "make", "gcc")
        Given.line = given[0] if given else Given.line
        live.within_tries(1 if keep else 2, attempt, keep or scratch / "run", scratch)


main()
