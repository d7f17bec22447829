#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Three levels on arm64.  The clocks of L1 and L2 are bound, the truth lies within, and nothing is said to contradict it.  Without L1's
trace L2 is a nested VM of a VM that has none, as the host's events of nesting tell: no guest of L0, whatever the user says."""
import csv
import io
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent), str(Path(__file__).resolve().parent)]
import fused  # noqa: E402
import lib  # noqa: E402

BOUND_NS = 30000  # without L0's word, at most 160000
VALUES_MIN = 50000  # that two histories are compared by


def check_clocks(run, truth, machines):
    history = fused.History(run)
    names = [row["name"] for row in history.tables["machine"]]
    clocks = list(csv.DictReader(io.StringIO(lib.run(lib.SONDE, "sql", run, "select * from clocks", "--format", "csv"))))
    for m in machines:
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


def check_without(folder, truth, whole, run):
    """L0 and L2."""
    told = [folder / "L0", folder / "L2"]
    lib.run(lib.SONDE, "analyze", "-q", *told, "-o", run)
    rows = json.loads(lib.run(lib.SONDE, "sql", run, "select name, parent, traced, level from machines", "--format", "json"))
    place = {row["name"]: row for row in rows}
    lib.check(place["L2"]["level"] == 2 and place["L2"]["parent"] == "vm-tid241" and not place["vm-tid241"]["traced"], f"L2's place: {rows}")
    check_clocks(run, truth, ["L2"])
    done = subprocess.run([lib.BUILD / "property/less_specific", whole, run, folder, folder], capture_output=True, text=True)
    last = done.stdout.splitlines()[-1].split("\t")
    lib.check(done.returncode == 0 and int(last[1]) > VALUES_MIN, f"other than with L1's trace: {done.stdout[:600]}")
    done = subprocess.run([lib.SONDE, "analyze", *told, "--parent", "L2=L0", "-o", run], capture_output=True, text=True)
    lib.check(done.returncode == 1 and "only while L0 runs a guest of a VM that has no trace" in done.stderr, f"L2 in L0: {done}")


def main():
    folder = lib.shared_set("arm64-nested")
    truth = json.loads((folder / "groundtruth-clocks.json").read_text())["machines"]
    with tempfile.TemporaryDirectory() as name:
        whole = Path(name) / "whole.sonde"
        lib.run(lib.SONDE, "analyze", "-q", *(folder / m for m in truth), "-o", whole)
        check_clocks(whole, truth, ["L1", "L2"])
        check_without(folder, truth, whole, Path(name) / "run.sonde")


main()
