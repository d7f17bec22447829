#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 120
"""A host that was traced for a third of the time that its guests were: every command tells of that third, says so, and
adds up to the nanosecond; --time 0%,100% is all of it."""

import json
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402

# On the clock of host0 in samples/lttng, which was traced from 59.6 s to 61.1 s.
BEGIN, END = 60_100_000_000, 60_600_000_000
SLACK_NS = 5_000_000  # no event need stand at its very ends
GUESTS = ("vm-a", "vm-a-n", "vm-b")


def make(scratch):
    traces = Path(scratch) / "traces"
    traces.mkdir()
    for name in GUESTS:
        shutil.copytree(lib.ROOT / "samples/lttng" / name, traces / name)
    lib.run(sys.executable, lib.ROOT / "tools/cut-ctf", lib.ROOT / "samples/lttng/host0", traces / "host0", BEGIN, END)
    history = Path(scratch) / "short-host.sonde"
    lib.run(lib.SONDE, "analyze", "-q", traces, "-o", history)
    return history


def text(*command):
    return lib.run(lib.SONDE, *command)


def ask(*command):
    return json.loads(text(*command, "--format", "json"))


def total(report):
    return sum(row["total"] for row in report["machine_time"])


def unknown(report):
    return sum(row["unknown"] for row in report["machine_time"]) / total(report)


def sql(history, query, *options):
    return [int(x) for x in text("sql", *options, history, query, "--format", "csv").splitlines()[1].split(",")]


def same_window(history, begin, end):
    """Commands that tell what they are of, each without --time."""
    window = (begin, end)
    for command in ("report", "why", "timeline"):
        told = ask(command, history)
        lib.check((told["begin"], told["end"]) == window, f"{command}: {told['begin']}, {told['end']}, not {window}")
    top = ask("top", history)
    lib.check((top[0]["begin"], top[-1]["end"]) == window, f"top: {top[0]['begin']}, {top[-1]['end']}")
    opened, first = ask("state", history), ask("state", history, "--at", str(begin))
    known = [c for c in opened["cpus"] if c["mode"] != "unknown"]
    lib.check(begin <= opened["at"] < end and (known or opened == first), "state: not where the host is traced, and known")
    lib.check(opened["at"] == begin or all(c["mode"] == "unknown" for c in first["cpus"]), "state: later than it has to be")
    lib.check(tuple(sql(history, "select window_begin, window_end from history")) == window, "sql: another window")
    compared = text("compare", history, history)
    lib.check(f"{(end - begin) / 1e6:.1f} ms" in compared, f"compare: {compared[:300]}")


def sums(history, begin, end):
    report, length = ask("report", history), end - begin
    lib.check(total(report) == 2 * length, f"{total(report)} is not twice {length}")
    states = "select sum(length) from states where path glob 'host0/cpu*/runs'"
    lib.check(sql(history, states) == [2 * length], f"states add up to {sql(history, states)}")
    for row in report["vcpu_time"]:
        lib.check(abs(row["steal_share"] / 1e6 * length - row["steal"]) < length / 1e5, f"{row} of {length}")
    lib.check(unknown(report) < 0.05, f"{unknown(report):.1%} unknown where the host was traced")
    whole = ask("report", history, "--time", "0%,100%")
    run = whole["end"] - whole["begin"]
    lib.check(run > 2.5 * length and total(whole) == 2 * run, f"{total(whole)}, {run}, {length}")
    lib.check(unknown(whole) > 0.5, f"{unknown(whole):.1%} unknown where the host was not traced for long")
    lib.check(sql(history, "select window_end - window_begin from history", "--time", "0%,100%") == [run], "sql --time")
    return run


def words(history):
    said = text("report", history)
    for expected in (" traced from ", "Guests were also traced ", " before and ", "--time 0%,100% has all"):
        lib.check(expected in said, f"\"{expected}\" is missing: {said[:300]}")
    said = text("report", history, "--time", "0%,100%")
    lib.check("host0 was not traced in the first " in said and " and the last " in said, said[:300])
    lib.check(" traced from " not in said, said[:300])
    lib.check("traced     " in text("info", history), "info does not say what was traced")
    said = text("why", history)
    lib.check(" traced from " in said.split("\n")[0], said[:200])
    said = text("top", history, "--time", "0%,100%")
    lib.check("% unknown, " in said.split("\n")[0], said[:200])


def whole_run(history, run):
    """What is no share of anything is not cut off."""
    events, = sql(history, "select count(*) from events")
    inside, = sql(history, "select count(*) from events", "--time", "50%,60%")
    lib.check(0 < inside < events / 5, f"{inside} of {events} events")
    first, last = sql(history, "select min(time), max(time) from events")
    lib.check(abs(last - first - run) < SLACK_NS, f"events from {first} to {last}, a run of {run}")
    done = subprocess.run([lib.SONDE, "export", history, "--to", "csv", "-o", "-"], capture_output=True, text=True)
    lib.check(done.returncode == 0, done.stderr)
    header, *lines = done.stdout.splitlines()
    at = header.split(",").index("begin")
    least = min(int(line.split(",")[at]) for line in lines if line.split(",")[at].isdigit())
    lib.check(abs(least - first) < SLACK_NS, f"export begins at {least}, the run at {first}")


def page(history, begin, end, run):
    """What the page opens on, and its analyses are of; and what viewers are told of, unless they ask for a range."""
    server = subprocess.Popen([lib.SONDE, "serve", "--format", "json", history], stdout=subprocess.PIPE, text=True)
    try:
        said = ""
        while not said.rstrip().endswith("}"):
            said += server.stdout.readline() or lib.check(False, "serve ended")
        url = json.loads(said)["url"]
        model = json.load(urllib.request.urlopen(f"{url}api/model", timeout=20))
        first = int(model["begin"])
        lib.check((first + model["traced"][0], first + model["traced"][1]) == (begin, end), f"{model['traced']} from {first}")
        lib.check(model["length"] == run, f"the page has {model['length']} of {run}")
    finally:
        server.kill()
        server.wait()


def main():
    with tempfile.TemporaryDirectory() as scratch:
        history = make(scratch)
        info = ask("info", history)
        begin, end = info["traced_begin"], info["traced_end"]
        lib.check(abs(begin - BEGIN) < SLACK_NS and abs(end - END) < SLACK_NS, f"traced from {begin} to {end}")
        same_window(history, begin, end)
        run = sums(history, begin, end)
        words(history)
        whole_run(history, run)
        page(history, begin, end, run)
        print(f"{(end - begin) / 1e9:.3f} s traced of {run / 1e9:.3f} s")


if __name__ == "__main__":
    main()
