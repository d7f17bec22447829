#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 300
"""The bounds of clocks that users are told, of the finished history: each is the one that its times have.

At every machine and moment the same bound stands in the table of clocks (SQL, report, info), in what state says of that
moment, and in the lines by which ticks become times; it is worth having; and what is known of the true time lies within:
a hypercall's host event between what its guest wrote before and after it, and, of the lab's sets, the ground truth."""

import json
import re
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent), str(Path(__file__).resolve().parent)]
import lib  # noqa: E402
import fused  # noqa: E402
import truth as ground  # noqa: E402

LIMIT_NS = ground.BOUND_NS
TRUTH_NS = ground.TRUTH_NS
PAIRS_MIN, MOMENTS_MIN = 20, 10


def line_time(line, tick):
    return line["at"] + ((tick - line["from"]) * line["mult"] >> 32)


def tick_of(line, time):
    return line["from"] + ((time - line["at"]) << 32) // line["mult"]


class Told:
    """What a history tells of its clocks: (machine, moment) -> the bound, by every way."""

    def __init__(self, history, scale=1):
        self.history, self.run, self.scale = history, fused.History(history), scale
        self.names = [row["name"] for row in self.run.tables["machine"]]
        self.traced = [row["traced"] == "1" for row in self.run.tables["machine"]]
        self.lines = {}
        for row in self.run.tables["tick"]:
            self.lines.setdefault(self.names[int(row["machine"])], []).append({k: int(v) for k, v in row.items()})
        clocks = lib.run(lib.SONDE, "sql", history, "select machine, begin, end, bound from clocks", "--format", "csv")
        self.pieces = {}
        for row in clocks.splitlines()[1:]:
            name, begin, end, bound = row.split(",")
            self.pieces.setdefault(name, []).append((int(begin), int(end), int(bound) * scale))
        self.reported = {}
        for command in (("report", "-t", "clock", "--time", "0%,100%"), ("info",)):
            rows = json.loads(lib.run(lib.SONDE, *command[:1], history, *command[1:], "--format", "json"))["clock"]
            self.reported[command[0]] = {row["machine"]: row["bound"] * scale for row in rows}

    def guests(self):
        return [name for name, traced in zip(self.names, self.traced) if traced and name != self.names[0]]

    def moments(self, name):
        """In the midst of each line, and shortly after its beginning, as far as they are in the run."""
        begin, end = self.run.limits()
        lines = self.lines[name]
        for line, following in zip(lines, [*lines[1:], None]):
            last = following["at"] if following else end
            for time in (line["at"] + 10_000, (line["at"] + last) // 2):
                if begin < time < min(last, end):
                    yield line, time

    def bound_at(self, name, time):
        return next((bound for begin, end, bound in self.pieces[name] if begin <= time < end), -1)


def same_everywhere(told):
    """Faults: a bound that is another one elsewhere, or not worth having."""
    faults, moments = [], 0
    for name in told.guests():
        for line, time in told.moments(name):
            moments += 1
            bound = told.bound_at(name, time)
            ways = {"the line of its ticks": line["bound"], "state": told.run.bounds([(name, time)])[0]}
            faults += [f"{name} at {time}: bound {bound} in the table of clocks, {other} by {way}"
                       for way, other in ways.items() if other != bound]
            if not 0 < bound <= LIMIT_NS:
                faults.append(f"{name} at {time}: bound {bound}")
        worst = max(bound for _, _, bound in told.pieces[name])
        faults += [f"{name}: {command} says {of.get(name)}, the worst of the table is {worst}"
                   for command, of in told.reported.items() if of.get(name) != worst]
    if moments < MOMENTS_MIN:
        faults.append(f"only {moments} moments")
    return faults, moments


def state_says(told):
    """What sonde state says of a CPU that runs a guest."""
    begin, end = told.run.limits()
    faults, seen = [], set()
    for step in range(1, 200):
        time = begin + (end - begin) * step // 200
        for state in told.run.states([(0, time)]):
            if state.machine in seen or state.machine not in told.guests():
                continue
            seen.add(state.machine)
            at = f"{time // 10**9}.{time % 10**9:09}"
            cpu = json.loads(lib.run(lib.SONDE, "state", told.history, "--at", at, "--cpu", "0", "--format", "json"))["cpus"][0]
            bound = max(told.bound_at(layer["machine"], time) for layer in cpu["stack"][1:])
            if cpu["bound_ns"] != bound:
                faults.append(f"state at {time}: bound {cpu['bound_ns']}, not {bound}")
    return faults + ([] if seen else ["state was asked of no guest"])


# ---- what is known of the true time ---------------------------------------------------------------

def number(fields, name):
    return int(re.search(rf"\b{name}=(0x[0-9a-f]+|-?\d+)", fields)[1], 0)


def hypercalls(told, traces):
    """(machine, before, host's event, after) of each hypercall of host0's own guests, as the events' times are told."""
    found, host = {}, {}
    for text in lib.run(lib.SONDE, "events", "-q", "--format", "json", "-e", "hypersync_*", "-e", "kvm_*hypercall", traces).splitlines():
        event = json.loads(text)
        if event["kind"] == "lost":
            continue
        key = number(event["fields"], "a0"), number(event["fields"], "a3")
        if event["machine"] == told.names[0]:
            host.setdefault(key, event["t"])
        elif event["name"].startswith("hypersync_"):
            found.setdefault((event["machine"], key), {})[event["name"].removeprefix("hypersync_")] = event["t"]
    for (machine, key), seen in found.items():
        if key in host and len(seen) == 2:
            yield machine, seen["req"], host[key], seen["ack"]


def by_hypercalls(told, traces):
    faults, pairs = [], 0
    for machine, before, at, after in hypercalls(told, traces):
        bound = told.bound_at(machine, at)
        if bound < 0:
            continue
        pairs += 1
        if before - bound > at or after + bound < at:
            faults.append(f"{machine}: a hypercall at {at} between {before} and {after}, bound {bound}")
    return faults + ([f"only {pairs} hypercalls"] if pairs < PAIRS_MIN else []), pairs


def by_truth(told, directory):
    """The lab wrote down what every machine's clock showed."""
    layers = json.loads((directory / "groundtruth-clocks.json").read_text())["layers"]
    layer_of = {"vm-a": "L1a", "vm-b": "L1b", "vm-a-n": "L2"}
    faults, worst = [], 0
    for name in told.guests():
        is_tsc = told.lines[name][0]["mult"] != 1 << 32 and (fused.trace_of(directory, "L0").suffix == ".dat")
        clock = ground.Truth(layers, layer_of[name], "x86-tsc" if is_tsc else "mono")
        for line, time in told.moments(name):
            error, bound = abs(float(line_time(line, tick_of(line, time)) - clock.at(tick_of(line, time)))), told.bound_at(name, time)
            worst = max(worst, error)
            if error > bound + TRUTH_NS:
                faults.append(f"{name} at {time}: {error:.0f} ns off, bound {bound}")
    return faults, worst


# ---- all of it ------------------------------------------------------------------------------------

def check(title, history, traces=None, directory=None):
    told = Told(history)
    faults, moments = same_everywhere(told)
    faults += state_says(told)
    said = f"{title}: {moments} moments"
    if traces:
        more, pairs = by_hypercalls(told, traces)
        faults += more
        said += f", {pairs} hypercalls within the bounds"
    if directory:
        more, worst = by_truth(told, directory)
        faults += more
        said += f", true error {worst:.0f} ns at most"
    print(f"{said}; bounds up to " + ", ".join(f"{n} {b} ns" for n, b in told.reported["report"].items()))
    lib.check(not faults, "\n".join(faults[:20]))
    for scale in (10, 0.1):
        lied, _ = same_everywhere(Told(history, scale))
        lib.check(lied, f"{title}: bounds times {scale} pass")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        for name in ("lttng", "ftrace"):
            history = scratch / f"{name}.sonde"
            lib.run(lib.SONDE, "analyze", "-q", lib.ROOT / "samples" / name, "-o", history)
            check(f"samples/{name}", history, lib.ROOT / "samples" / name)
        for name, directory in lib.oracle_sets(*ground.SETS):
            (scratch / name).mkdir()
            check(name, fused.analyse(directory, scratch / name), directory=directory)


if __name__ == "__main__":
    main()
