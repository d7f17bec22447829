#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""64 machines, each in the one before: all are found where they are, the truth is within each one's bound, and no clock contradicts what
was recorded."""
import csv
import io
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cmd"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import forged  # noqa: E402
import fused  # noqa: E402
import lib  # noqa: E402
import odd_traces as odd  # noqa: E402

US, MS = forged.US, forged.MS
DEPTH, ROUNDS, LATER = 64, 60, 50 * MS  # each machine's clock began so much later than its host's
THREAD = 100


def live():
    """What each records: in a round, one after the other enters its guest, which makes a call; then they all leave."""
    events = [[] for _ in range(DEPTH)]
    for i in range(ROUNDS):
        begin = forged.BEGIN + i * 20 * MS
        for k in range(1, DEPTH):
            t, number = begin + k * 40 * US, k * 1000 + i
            events[k - 1] += [odd.switch(t, 0, THREAD), odd.entry(t + 2 * US), odd.leave(t + 14 * US, forged.VMMCALL),
                              forged.call(t + 15 * US, 22, number, 1000), odd.entry(t + 18 * US)]
            events[k] += [forged.call(t + 10 * US, 20, number), forged.call(t + 24 * US, 21, number)]
        end = begin + DEPTH * 40 * US + 200 * US
        events[-1] += [odd.switch(end - 100 * US, 0, 7), odd.switch(end - 50 * US, 7, 0)]
        for k in range(DEPTH - 1, 0, -1):
            t = end + (DEPTH - k) * 10 * US
            events[k - 1] += [odd.leave(t, forged.HLT), odd.switch(t + 3 * US, THREAD, 0)]
    return events


def main():
    with tempfile.TemporaryDirectory() as name:
        folder, run = Path(name), Path(name) / "run.sonde"
        traces = [forged.write(folder, f"m{k:02}", forged.moved(e, -k * LATER)) for k, e in enumerate(live())]
        lib.run(lib.SONDE, "analyze", "-q", *reversed(traces), "-o", run)
        history = fused.History(run)
        machines = history.tables["machine"]
        lib.check([row["name"] for row in machines] == [f"m{k:02}" for k in range(DEPTH)], [row["name"] for row in machines])
        lib.check(all(int(row["level"]) == k for k, row in enumerate(machines)), [row["level"] for row in machines])
        clocks = list(csv.DictReader(io.StringIO(lib.run(lib.SONDE, "sql", run, "select * from clocks", "--format", "csv"))))
        lib.check(len(clocks) == len(history.tables["tick"]) >= DEPTH, len(clocks))
        for tick, piece in zip(history.tables["tick"], clocks):
            k, bound = int(tick["machine"]), int(piece["bound"])
            off = abs(int(tick["at"]) - int(tick["from"]) - k * LATER)
            lib.check(off <= bound <= k * 10 * US, f"m{k:02}: off by {off} ns, within {bound}")
            lib.check(piece["violations"] == "0", f"m{k:02}: {piece}")
        print(f"m{DEPTH - 1}: within {clocks[-1]['bound']} ns")
        for command in ("info", "tree", "report", "why", "check"):
            lib.run(lib.SONDE, command, run)
        lib.check(not json.loads(lib.run(lib.SONDE, "report", run, "-t", "problem", "--format", "json"))["problem"], "problems")


main()
