#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Three levels on arm64, whose kernel has no event of nesting that Sonde knows: L0 does not say when the L2 ran, but it ran only while its
L1 did.  Its clock is bound by that, the truth lies within, and nothing is said to contradict it."""
import csv
import io
import json
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent), str(Path(__file__).resolve().parent)]
import fused  # noqa: E402
import lib  # noqa: E402

BOUND_NS = 30000  # without L0's word, at most 160000


def main():
    folder = lib.shared_set("arm64-nested")
    truth = json.loads((folder / "groundtruth-clocks.json").read_text())["machines"]
    with tempfile.TemporaryDirectory() as name:
        run = Path(name) / "run.sonde"
        lib.run(lib.SONDE, "analyze", "-q", *(folder / m for m in truth), "-o", run)
        history = fused.History(run)
        names = [row["name"] for row in history.tables["machine"]]
        clocks = list(csv.DictReader(io.StringIO(lib.run(lib.SONDE, "sql", run, "select * from clocks", "--format", "csv"))))
        for m in ("L1", "L2"):
            low, high = truth[m]["L0_minus_this_ns"]
            lines = [row for row in history.tables["tick"] if names[int(row["machine"])] == m]
            pieces = [row for row in clocks if row["machine"] == m]
            lib.check(len(lines) == len(pieces) > 0, f"{m}: {len(lines)} lines, {len(pieces)} pieces")
            errors = [abs(int(t["at"]) - int(t["from"]) - (low + high) / 2) for t in lines]
            bounds = [int(p["bound"]) for p in pieces]
            print(f"{m}: bound {min(bounds)} to {max(bounds)} ns, error at most {max(errors):.0f} ns, {pieces[0]['violations']} violations")
            lib.check(all(e <= b + (high - low) / 2 for e, b in zip(errors, bounds)), f"{m}: the truth is outside: {errors}, {bounds}")
            lib.check(0 <= max(bounds) <= BOUND_NS, f"{m}: within {max(bounds)} ns")
            lib.check(all(p["violations"] == "0" for p in pieces), f"{m}: {pieces[0]['violations']} violations")
        problems = json.loads(lib.run(lib.SONDE, "report", run, "-t", "problem", "--format", "json"))["problem"]
        lib.check(not problems, problems)


main()
