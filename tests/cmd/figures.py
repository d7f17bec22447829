#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 300
"""No figure is printed that cannot be.

Traces that are tiny, damaged, lost most of what they had, or count times from the ends of 64 bits; every command that
tells of the history made of them, in every format.  No share is negative or more than all CPUs together, no length is
negative or longer than the run on all of its CPUs and threads, nothing is NaN or infinite or a number that went round
zero, and nothing crashes."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent), str(Path(__file__).resolve().parent)]
import lib  # noqa: E402
import odd_traces as odd  # noqa: E402

S = 10**9
TOPICS = ("wait", "wakeup", "preempt", "exits", "io", "boot", "shutdown", "vms")
WINDOWS = ((), ("--time", "0%,100%"), ("--time", "0,999999999s"), ("--time", "99.9999%,100%"))
TABLES = ("why", "delay", "vcpu_time", "vms", "wait", "io_list", "gap", "clock", "history", "gaps", "clocks", "marks")
# 2^63 and 2^64, less what a little is; as ns, as a share in percent, and as seconds.
ROUND_ZERO = re.compile(r"-?\b(?:922337203685477[456]\d{3}|1844674407370955[01]\d{3,4}|922337203685477\.\d|9223372036\.85\d*|"
                        r"1844674407370955\.\d|18446744073\.7\d*|9\.223\d*e\+?18|1\.844\d*e\+?19)")
NOT_A_NUMBER = re.compile(r"(?<![\w.@/-])-?(?:nan|inf)(?:inity)?(?:\s*%|\s|\"|,|$)", re.I)
SHARE = re.compile(r"(?<![\w.])([-+]?\d+(?:\.\d+)?) ?%")
LENGTH = re.compile(r"(?<![\w.])(-?\d+(?:\.\d+)?) (ns|us|ms|s)\b(?!:)")
EVENT_FIELDS = re.compile(r'"\w+=[^"]*"')  # as the kernel writes them, all 64 bits of them
UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


# ---- traces ---------------------------------------------------------------------------------------

def vm_events(at, step=1000):
    """A vCPU's thread, with what a VM does, on one CPU."""
    return [odd.switch(at, 0, 100), odd.entry(at + step), odd.leave(at + 3 * step), odd.entry(at + 4 * step),
            odd.irq(at + 5 * step), odd.irq_end(at + 6 * step), odd.leave(at + 7 * step, 0x60),
            odd.switch(at + 8 * step, 100, 200, 0), odd.waking(at + 9 * step, 100),
            odd.switch(at + 10 * step, 200, 100, 0), odd.entry(at + 11 * step), odd.leave(at + 12 * step),
            odd.switch(at + 13 * step, 100, 0)]


def of_one_trace():
    """name -> streams, and what write() takes beside them."""
    two = [odd.switch(S, 0, 100), odd.switch(S + 1, 100, 0)]
    vm = vm_events(S)
    far = 3 * 10**18
    yield "one-event", [odd.packet(0, two[:1])], {}
    yield "twice-at-once", [odd.packet(0, [two[0], odd.switch(S, 100, 0)])], {}
    yield "one-ns", [odd.packet(0, two)], {}
    yield "a-cpu-of-one-event", [odd.packet(0, vm), odd.packet(1, two[:1])], {}
    yield "exits-only", [odd.packet(0, [e for e in vm if e[1] in (1, 2)])], {}
    yield "at-2^63", [odd.packet(0, vm_events(2**63 - 5000))], {}
    yield "at-2^64", [odd.packet(0, vm_events(2**64 - 14000))], {}
    yield "over-2^64", [odd.packet(0, vm_events(2**64 - 5000))], {}
    yield "far-apart", [odd.packet(0, [*vm_events(0), *vm_events(far)])], {}
    yield "very-far-apart", [odd.packet(0, [*vm_events(0), *vm_events(4_100_000_000_000_000_000)])], {}
    yield "one-event-far-beyond", [odd.packet(0, [*vm, odd.switch(2**63 - 5, 0, 100)])], {}
    yield "offset-2^63", [odd.packet(0, vm)], {"offset": 2**63 - 2 * S}
    yield "offset-to-2^62", [odd.packet(0, vm)], {"offset": 2**62 - 2 * S}
    yield "offset-negative", [odd.packet(0, vm)], {"offset_s": -5}
    yield "offset-very-negative", [odd.packet(0, vm)], {"offset_s": -2**33}
    for name, count in (("minus-one", -1), ("2^63", 2**63), ("fewer-than-before", 5)):
        yield f"discarded-{name}", [odd.packet(0, vm, discarded=10) + odd.packet(0, vm_events(2 * S), 1, discarded=count)], {}
    yield "discarded-minus-one-at-first", [odd.packet(0, vm, discarded=-1)], {}
    yield "packets-missing", [odd.packet(0, vm, 2**64 - 1) + odd.packet(0, vm_events(3 * S), 7)], {}
    yield "packet-ends-before-it-begins", [odd.packet(0, vm, begin=2 * S, end=S - 5) + odd.packet(0, vm_events(4 * S), 1)], {}
    yield "back-in-time", [odd.packet(0, vm_events(5 * S)) + odd.packet(0, vm_events(S), 1), odd.packet(1, vm_events(3 * S))], {}
    yield "packet-of-all-times", [odd.packet(0, vm, begin=0, end=2**64 - 1)], {}


def cut_samples(scratch):
    """Parts of samples/lttng that do not fit each other, and damaged ones."""
    whole, cut = lib.ROOT / "samples/lttng", lib.ROOT / "tools/cut-ctf"

    def copy(name, *machines):
        for machine in machines:
            shutil.copytree(whole / machine, scratch / name / machine)
        return scratch / name

    folder = copy("host-for-a-moment", "vm-a", "vm-a-n", "vm-b")
    lib.run(sys.executable, cut, whole / "host0", folder / "host0", 60_100_000_000, 60_100_300_000)
    yield folder
    folder = copy("host-before-its-guest", "vm-b")
    lib.run(sys.executable, cut, whole / "host0", folder / "host0", 59_600_000_000, 59_800_000_000)
    yield folder
    folder = copy("streams-cut-off", "host0", "vm-a")
    for i, stream in enumerate(sorted(folder.glob("*/ch0_*"))):
        os.truncate(stream, stream.stat().st_size * (i % 4 + 2) // 6)
    yield folder
    folder = copy("without-a-cpu", "host0", "vm-a")
    (folder / "host0/ch0_0").unlink()
    yield folder
    folder = scratch / "boot-cut-off"
    shutil.copytree(lib.ROOT / "samples/boot", folder)
    os.truncate(folder / "host0.dat", (folder / "host0.dat").stat().st_size * 2 // 3)
    yield folder


def killed(history, scratch):
    """A history whose writer was killed, and one that lost its end."""
    data = history.read_bytes()
    for share in (55, 85):
        part = scratch / f"killed-at-{share}.sonde"
        part.write_bytes(data[:len(data) * share // 100])
        yield part


# ---- what is said of them -------------------------------------------------------------------------

class Judge:
    """What figures of one history can be."""

    def __init__(self, history, info):
        self.history, self.counted, self.faults = history, 0, []
        self.length = info["end"] - info["begin"]
        self.cpus = max(1, len(info["cpus"]))
        self.each = info["threads"] + len(info["cpus"]) + 1

    def fault(self, what, where):
        self.faults.append(f"{self.history.stem}: {' '.join(map(str, where))}: {what}")

    def text(self, said, where, signed=False):
        for pattern in (ROUND_ZERO, NOT_A_NUMBER):
            for match in pattern.finditer(said):
                self.fault(said[max(0, match.start() - 60):match.end() + 20].replace("\n", "|"), where)
        for match in SHARE.finditer(said):
            self.counted += 1
            share = float(match.group(1))
            if not signed and not (0 <= share <= 100.05 * self.cpus):
                self.fault(f"{match.group(0)} in {said[max(0, match.start() - 60):match.end()]!r}", where)
        for match in LENGTH.finditer(said):
            self.counted += 1
            length = float(match.group(1)) * UNITS[match.group(2)]
            most = max(self.length * self.each, 4e9) * 1.001
            if (length < 0 and not signed) or length > most:
                self.fault(f"{match.group(0)} of a run of {self.length} ns", where)

    def cell(self, kind, name, value, where):
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            return
        self.counted += 1
        if kind == "ppm" and not -1 <= value <= 1_000_001 * self.cpus:
            self.fault(f"{name}: {value} ppm", where)
        if kind == "ns" and name not in ("bound", "worst_violation") and not -1 <= value <= self.length * self.each:
            self.fault(f"{name}: {value} ns of a run of {self.length}", where)
        if abs(value) >= 2**63 - 2**20 or (kind == "int" and name in ("count", "times", "exits", "events") and value < -1):
            self.fault(f"{name}: {value}", where)

    def facts(self, told, columns, where):
        for name, rows in told.items():
            for row in rows if isinstance(rows, list) and name in columns else ():
                for key, value in row.items():
                    self.cell(columns[name].get(key, ""), f"{name}.{key}" if key not in ("bound", "worst_violation") else key,
                              value, where)


def ask(judge, *command, may_fail=True):
    done = subprocess.run([str(c) for c in (lib.SONDE, *command)], capture_output=True, timeout=60,
                          env={**os.environ, "COLUMNS": "200"}, cwd=judge.history.parent)
    if done.returncode not in (0, 1, 2, 3) or (done.returncode and not may_fail):
        judge.fault(f"exit status {done.returncode}: {done.stderr[-500:]}", command)
    said = done.stdout.decode("utf-8", "replace")
    judge.text(done.stderr.decode("utf-8", "replace"), command)
    return said


def ask_json(judge, *command):
    said = ask(judge, *command, "--format", "json")
    judge.text(said, command, signed=True)
    return json.loads(said) if said else {}


def judge_tables(judge, history, columns, window):
    sections = [option for name in columns for option in ("-t", name)]
    where = ("report", "--format json", *window)
    judge.facts(ask_json(judge, "report", history, *sections, *window), columns, where)
    judge.text(ask(judge, "report", history, *window), where)
    judge.text(ask(judge, "report", history, *sections, "--format", "csv", *window), where)
    why = ask_json(judge, "why", history, *window)
    judge.facts(why, columns, ("why", *window))
    for command in ("why", "top", "timeline"):
        judge.text(ask(judge, command, history, *window), (command, *window))
    for top in ask_json(judge, "top", history, *window) or ():
        for kind in ("cpus", "vms", "vcpus", "threads"):
            for row in top[kind]:
                for key, value in row.items():
                    if key not in ("machine", "cpu", "thread", "number", "kind"):
                        judge.cell("ns", f"{kind}.{key}", value, ("top", *window))


def judge_whole(judge, history, columns):
    for topic in TOPICS:
        judge.text(ask(judge, "report", topic, history), (topic,))
    for command in ("info", "tree", "state", "check", "vms"):
        judge.text(ask(judge, command, history), (command,))
        if command != "check":
            ask_json(judge, command, history)
    judge.text(ask(judge, "compare", history, history), ("compare",), signed=True)
    for query in (*(f"select * from {table}" for table in TABLES), "select path, sum(length) from states group by 1"):
        judge.text(ask(judge, "sql", history, query, "--format", "csv"), ("sql", query), signed=True)
    for form in ("csv", "chrome"):
        judge.text(ask(judge, "export", history, "--to", form, "-o", "-"), ("export", form), signed=True)


def judge_history(history, columns):
    judge = Judge(history, {"begin": 0, "end": 2**62, "cpus": [], "threads": 0})
    info = ask_json(judge, "info", history)
    if not info:
        return judge
    judge = Judge(history, info)
    for window in WINDOWS:
        judge_tables(judge, history, columns, window)
    judge_whole(judge, history, columns)
    if judge.length < 2 * S:
        page = history.with_suffix(".html")
        ask(judge, "report", history, "--html", page)
        if page.exists():
            text = EVENT_FIELDS.sub("", page.read_text())
            text = text[text.rindex("<script type=\"application/json\""):] if "application/json" in text else ""
            judge.text(text, ("html",), signed=True)
    return judge


# ---- all of it ------------------------------------------------------------------------------------

def histories(scratch):
    """(name, history or None, what analyze said): of every odd trace."""
    for name, streams, options in of_one_trace():
        yield analyse(odd.write(scratch / name, *streams, **options))
    for folder in cut_samples(scratch):
        yield analyse(folder)


def analyse(traces):
    history = traces.parent / f"{traces.name}.sonde"
    done = subprocess.run([lib.SONDE, "analyze", "-q", traces, "-o", history], capture_output=True, text=True, timeout=60)
    lib.check(done.returncode in (0, 1, 3), f"{traces.name}: exit status {done.returncode}: {done.stderr}")
    lib.check(done.returncode != 1 or done.stderr.startswith("sonde"), f"{traces.name}: refused without a word")
    lib.check(not ROUND_ZERO.search(done.stderr), f"{traces.name}: {done.stderr}")
    return traces.name, history if done.returncode != 1 else None, done.stderr.strip()


def seen_to_be_wrong():
    """The judge finds what it looks for."""
    info = {"begin": 0, "end": 10 * S, "cpus": [0, 1], "threads": 3}
    for said in ("-922337203685477.6%", "18446744073709551615 events", "nan%", "inf ms", "300.0%", "-0.1%", "-3.000 ms",
                 "lost 65.01 s", "-9223372036854775808"):
        judge = Judge(Path("planted"), info)
        judge.text(f"vm-a  {said} of it\n", ("planted",))
        lib.check(judge.faults, f"\"{said}\" passes")
    judge = Judge(Path("planted"), info)
    judge.text("vm-a/0 12.3% 1.234 ms, 100.0%, information, -inf.dat 199.9%\n", ("planted",))
    lib.check(not judge.faults, f"a judge that finds what is not there: {judge.faults}")


def main():
    seen_to_be_wrong()
    columns = {name: {key: c["type"] for key, c in section["columns"].items()}
               for name, section in json.loads(lib.run(lib.SONDE, "report", "-t", "help", "--format", "json")).items()}
    lib.check(len(columns) > 30, f"{len(columns)} tables")
    faults, counted, read = [], 0, []
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        for name, history, said in histories(scratch):
            if not history:
                print(f"{name}: refused: {said.splitlines()[0][:150]}")
                continue
            read.append(name)
            parts = killed(history, scratch) if name == "without-a-cpu" else ()
            for each in (history, *parts):
                judge = judge_history(each, columns)
                faults += judge.faults
                counted += judge.counted
    print(f"{len(read)} histories, {counted} figures, {len(faults)} that cannot be: {' '.join(read)}")
    lib.check(not faults, "\n".join(dict.fromkeys(faults[:60])))
    lib.check(len(read) >= 15 and counted > 50_000, "too little was looked at")


if __name__ == "__main__":
    main()
