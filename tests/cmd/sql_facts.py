#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 900
"""sonde sql says what other commands say: every table of facts is the report's, row by row; each ready
query's answer follows from the fact, report or state that it mirrors; docs/sql.md has every column."""

import collections
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402

SIGNED = {"rate_ppb"}  # columns in which -1 is a number


def sonde(*arguments):
    return json.loads(lib.run(lib.SONDE, *arguments, "--format", "json"))


class Run:
    def __init__(self, path):
        self.path = path
        self.facts = {name: what["columns"] for name, what in
                      sonde("report", "--table", "help").items()}
        sections = [word for name in self.facts for word in ("-t", name)]
        self.report = sonde("report", path, *sections)

    def sql(self, query, *options):
        return sonde("sql", *options, self.path, query)

    def ready(self, name):
        return sonde("sql", self.path, "--ready", name)


# ---- facts -----------------------------------------------------------------------------------------


def expected(value, column, kind, run):
    """The value that SQL has for one of the report's."""
    if column not in SIGNED and kind in ("int", "ns") and value < 0:
        return None
    if kind == "time" and not run.report["begin"] <= value <= run.report["end"]:
        return None
    if kind == "bool":
        return int(value)
    if kind == "cpu" and value:
        return f"{value['machine']}/{value['cpu'] if value['cpu'] >= 0 else '?'}"
    if kind == "thread" and value:
        return value["row"]
    if kind == "pid_ns" and value:
        return value["row"]
    return value


def check_fact(run, name, columns):
    # By their labels threads cannot be told apart.
    words = [f'"{c}_row" as "{c}"' if what["type"] in ("thread", "pid_ns") else f'"{c}"'
             for c, what in columns.items()]
    rows = run.sql(f"select {', '.join(words)} from {name}")
    wanted = [{c: expected(row[c], c, what["type"], run) for c, what in columns.items()}
              for row in run.report[name]]
    lib.check(len(rows) == len(wanted), f"{name}: {len(rows)} rows, not {len(wanted)}")
    for row, want in zip(rows, wanted):
        for column in columns:
            lib.check(row[column] == want[column],
                      f"{name}.{column}: {row[column]!r}, not {want[column]!r}")
    return len(rows)


def check_facts(run):
    rows = {name: check_fact(run, name, columns) for name, columns in run.facts.items()}
    print(f"{sum(rows.values())} rows of {sum(1 for n in rows.values() if n)} facts")
    return rows


# ---- ready queries ---------------------------------------------------------------------------------

# Query -> the fact that it mirrors, the column that it is sorted by (greatest first, unless None), its
# greatest number of rows, and in which unit it tells which of the fact's numbers.
MS, US, PERCENT, THOUSAND, SAME = 1e6, 1e3, 1e4, 1e3, 1
MIRRORS = {
    "why": ("why", "cost", None, {"ms": ("cost", MS), "percent": ("share", PERCENT),
                                  "text": ("text", SAME)}),
    "stolen": ("preemption", "total", 30, {"ms": ("total", MS), "percent": ("share", PERCENT),
                                           "count": ("count", SAME), "longest_ms": ("longest", MS),
                                           "mode": ("mode", SAME)}),
    "victims": ("preemption_victim", "total", 30, {"ms": ("total", MS), "count": ("count", SAME),
                                                   "longest_ms": ("longest", MS)}),
    "total-steal": ("vcpu_time", "total_steal", None, {
        "on_cpu_ms": ("on_cpu", MS), "steal_ms": ("steal", MS), "inherited_ms": ("inherited_steal", MS),
        "total_ms": ("total_steal", MS), "total_percent": ("total_steal_share", PERCENT),
        "waiting_ms": ("waiting", MS), "unknown_ms": ("unknown", MS), "note": ("note", SAME)}),
    "steal": ("steal", "steal", None, {
        "steal_ms": ("steal", MS), "queued_ms": ("queued", MS), "slice_ms": ("slice", MS),
        "wakeup_ms": ("wakeup", MS), "realtime_ms": ("class", MS), "throttled_ms": ("throttled", MS),
        "unknown_ms": ("unknown", MS)}),
    "machines": ("machine_time", "total", None, {
        "machine": ("machine", SAME), "level": ("level", SAME), "ms": ("total", MS),
        "percent": ("share", PERCENT), "user_ms": ("user", MS),
        "kernel_ms": (("syscall", "kernel", "task"), MS), "irq_ms": (("irq", "softirq"), MS),
        "hypervisor_ms": ("hypervisor", MS), "idle_ms": ("idle", MS), "unknown_ms": ("unknown", MS)}),
    "containers": ("container_time", "total", None, {
        "machine": ("machine", SAME), "ms": ("total", MS), "percent": ("share", PERCENT),
        "user_ms": ("user", MS), "syscall_ms": ("syscall", MS)}),
    "processes": ("process_time", "total", 30, {
        "machine": ("machine", SAME), "comm": ("comm", SAME), "ms": ("total", MS),
        "percent": ("share", PERCENT), "hypervisor_ms": ("hypervisor", MS)}),
    "cpus": ("cpu_time", None, None, {
        "threads_ms": (("guest", "user", "syscall", "kernel", "task"), MS),
        "irq_ms": (("irq", "softirq"), MS), "hypervisor_ms": ("hypervisor", MS),
        "idle_ms": ("idle", MS), "unknown_ms": ("unknown", MS)}),
    "overhead": ("hypervisor", "hypervisor", None, {
        "vm": ("vm", SAME), "guest_ms": ("guest", MS), "hypervisor_ms": ("hypervisor", MS),
        "overhead_percent": ("share", PERCENT), "exits": ("exits", SAME), "note": ("note", SAME)}),
    "exits": ("exits", "total", 30, {
        "vm": ("vm", SAME), "by": ("by", SAME), "code_of": ("from", SAME), "name": ("name", SAME),
        "count": ("count", SAME), "ms": ("total", MS), "mean_us": ("mean", US), "p99_us": ("p99", US),
        "max_us": ("max", US), "in_vmm": ("user_count", SAME)}),
    "exit-threads": ("exit_cause", "total", 30, {
        "machine": ("machine", SAME), "name": ("name", SAME), "count": ("count", SAME),
        "ms": ("total", MS), "mean_us": ("mean", US), "max_us": ("max", US)}),
    "nesting": ("nesting", "total", None, {
        "vm": ("vm", SAME), "host": ("host", SAME), "exits": ("exits", SAME),
        "reflected": ("reflected", SAME), "follow": ("follow", SAME), "mean_us": ("mean", US),
        "exits_per_exit": ("per_thousand", THOUSAND), "ms": ("total", MS)}),
    "waits": ("wait", "total", 30, {
        "cause": ("cause", SAME), "irq": ("irq", SAME), "ms": ("total", MS),
        "percent": ("share", PERCENT), "count": ("count", SAME), "mean_us": ("mean", US),
        "longest_ms": ("longest", MS)}),
    "long-waits": ("wait_list", "length", 20, {"ms": ("length", MS), "cause": ("cause", SAME),
                                               "evidence": ("evidence", SAME)}),
    "slow-wakeups": ("wakeup_list", "total", 20, {
        "ms": ("total", MS), "cause": ("cause", SAME), "run_delay_ms": ("run_delay", MS),
        "entry_ms": ("entry", MS), "guest_ms": ("guest", MS), "guest_run_delay_ms": ("guest_run_delay", MS)}),
    "slow-io": ("io_list", "total", 20, {
        "device": ("device", SAME), "kind": ("kind", SAME), "ms": ("total", MS), "bytes": ("bytes", SAME),
        "depth": ("depth", SAME)}),
    "delays": ("delay", "cost", 20, {"ms": ("cost", MS), "text": ("text", SAME)}),
    "clocks": ("clock", None, None, {
        "machine": ("machine", SAME), "method": ("method", SAME), "bound_us": ("bound", US),
        "pieces": ("pieces", SAME), "violations": ("violations", SAME), "rate_ppb": ("rate_ppb", SAME)}),
}
# Sorted otherwise than by one number: compared as sets of rows.
UNSORTED = {
    "io": ("io", {
        "vm": ("vm", SAME), "device": ("device", SAME), "kind": ("kind", SAME), "count": ("count", SAME),
        "mean_us": ("mean", US), "p99_us": ("p99", US)}),
    "wakeups": ("wakeup", {
        "vm": ("vm", SAME), "level": ("level", SAME), "cause": ("cause", SAME), "count": ("count", SAME),
        "median_us": ("median", US), "p99_us": ("p99", US), "longest_us": ("longest", US),
        "host_wakeup_us": ("host_wakeup", US), "run_delay_us": ("run_delay", US), "entry_us": ("entry", US),
        "guest_us": ("guest", US), "guest_run_delay_us": ("guest_run_delay", US)}),
    "boot": ("boot", {"vm": ("vm", SAME), "stage": ("stage", SAME), "ms": ("length", MS),
                      "guest_mode_ms": ("guest_mode", MS), "waits_ms": ("waits", MS)}),
    "shutdown": ("shutdown", {"vm": ("vm", SAME), "stage": ("stage", SAME), "ms": ("length", MS),
                              "guest_mode_ms": ("guest_mode", MS), "waits_ms": ("waits", MS)}),
}
DIGITS = {MS: 3, PERCENT: 1, US: 3, SAME: 0}


def told(row, column, unit):
    columns = column if isinstance(column, tuple) else (column,)
    if not isinstance(row[columns[0]], int):
        return row[columns[0]]
    number = sum(row[c] for c in columns)
    return number if unit == SAME else number / unit


def same(value, wanted, unit):
    if wanted is None or isinstance(wanted, str) or unit == SAME:
        return value == wanted
    return abs(value - wanted) <= 0.51 * 10 ** -DIGITS[unit]


def check_mirror(run, name, fact, sorted_by, limit, columns):
    rows = run.ready(name)
    facts = run.report[fact]
    if sorted_by:
        facts = sorted(facts, key=lambda row: -row[sorted_by])
    facts = facts[:limit]
    lib.check(len(rows) == len(facts), f"{name}: {len(rows)} rows, not {len(facts)}")
    for column, (source, unit) in columns.items():
        got = [row[column] for row in rows]
        want = [told(row, source, unit) for row in facts]
        # Rows that are equal in the order may stand in any.
        if sorted_by and source != sorted_by:
            got, want = sorted(got, key=str), sorted(want, key=str)
            if any(isinstance(w, float) for w in want):
                got, want = sorted(got), sorted(want)
        if len(facts) == limit and source != sorted_by:
            continue  # which of the equal ones are the last is open
        for g, w in zip(got, want):
            lib.check(same(g, w, unit), f"{name}.{column}: {g!r}, not {w!r}")
    return len(rows)


def check_set(run, name, fact, columns):
    def key(values):
        return tuple("" if v is None else round(v, 2) if isinstance(v, float) else v for v in values)
    got = collections.Counter(key(row[c] for c in columns) for row in run.ready(name))
    want = collections.Counter(key(told(row, s, u) for s, u in columns.values())
                               for row in run.report[fact])
    strays = [g for g in got if not any(
        all(a == b if not isinstance(a, float) else abs(a - b) < 0.02 for a, b in zip(g, w))
        for w in want)]
    lib.check(not strays and got.total() == want.total(), f"{name}: {strays or got}, not {want}")
    return got.total()


def sums(rows, key, column="ms"):
    out = collections.Counter()
    for row in rows:
        out[tuple(row[k] for k in key)] += row[column]
    return out


def check_neighbours(run):
    want = collections.Counter()
    for row in run.report["preemption"]:
        if row["culprit_machine"] and row["culprit_machine"] != row["vcpu"]["machine"]:
            want[row["vcpu"]["machine"], row["culprit_machine"]] += row["total"]
    got = sums(run.ready("neighbours"), ("loser", "taker"))
    lib.check(got.keys() == want.keys(), f"neighbours: {got.keys()}, not {want.keys()}")
    for pair, ns in want.items():
        lib.check(abs(got[pair] - ns / 1e6) < 0.001, f"neighbours: {pair}: {got[pair]}, not {ns} ns")


def check_running(run):
    rows = run.ready("running")
    state = sonde("state", run.path, "--at", "+0s")["cpus"]
    lib.check(len(rows) == len(state), f"running: {rows}")
    for row, cpu in zip(rows, state):
        lib.check(row["mode"] == (None if cpu["mode"] == "unknown" and row["mode"] is None
                                  else cpu["mode"]), f"running: {row}, not {cpu}")
        lib.check(abs(row["ms"] - (cpu["end"] - cpu["begin"]) / 1e6) < 0.001, f"running: {row}, {cpu}")


def all_of(run, ready, modes, limit=1000000):
    """What a query cut off after some rows would have told: its SQL without the limit."""
    text = next(q["sql"] for q in sonde("sql", "--ready") if q["name"] == ready)
    rows = run.sql(text.rsplit("limit", 1)[0])
    lib.check(run.ready(ready) == rows[:30], f"{ready}: not the first 30 of all")
    want = {row["machine"]: sum(row[m] for m in modes) for row in run.report["machine_time"]}
    got = sums(rows, ("machine",))
    for machine, ns in want.items():
        # As many roundings as rows.
        lib.check(abs(got[(machine,)] - ns / 1e6) <= 0.0006 * len(rows) + 0.001,
                  f"{ready}: {machine}: {got[(machine,)]} ms, not {ns} ns")


def check_migrations(run):
    want = collections.defaultdict(list)
    for vcpu in sonde("sql", run.path, "select name, machine from cpus where machine_row > 0"):
        rows = run.sql(f"select value from states where cpu = '{vcpu['name']}' and kind = 'on' "
                       "order by begin")
        want[vcpu["name"]] = [r["value"] for r in rows if r["value"] is not None]
    got = {row["vcpu"]: row for row in run.ready("migrations")}
    for vcpu, on in want.items():
        if not on:
            continue
        moves = sum(a != b for a, b in zip(on, on[1:]))
        row = got[vcpu]
        lib.check((row["intervals"], row["cpus"]) == (len(on), len(set(on))) and
                  (row["moves"] or 0) == moves, f"migrations: {row}, not {moves} of {len(on)}")


def check_gaps(run):
    want = collections.Counter()
    for row in run.report["gap"]:
        want[row["machine"], None if row["cpu"] < 0 else row["cpu"]] += row["length"]
    got = sums(run.ready("gaps"), ("machine", "cpu"))
    lib.check(got.keys() == want.keys(), f"gaps: {got}, not {want}")
    for place, ns in want.items():
        lib.check(abs(got[place] - ns / 1e6) < 0.001, f"gaps: {got[place]}, not {ns} ns")


OTHERS = {
    "neighbours": check_neighbours,
    "running": check_running,
    "syscalls": lambda run: all_of(run, "syscalls", ("syscall",)),
    "interrupts": lambda run: all_of(run, "interrupts", ("irq", "softirq")),
    "migrations": check_migrations,
    "gaps": check_gaps,
}


def check_ready(run, seen):
    for name, (fact, sorted_by, limit, columns) in MIRRORS.items():
        seen[name] += check_mirror(run, name, fact, sorted_by, limit, columns)
    for name, (fact, columns) in UNSORTED.items():
        seen[name] += check_set(run, name, fact, columns)
    for name, check in OTHERS.items():
        check(run)
        seen[name] += len(run.ready(name))


# ---- the document ----------------------------------------------------------------------------------


def check_document(run):
    text = (lib.ROOT / "docs/sql.md").read_text()
    of_reports = (lib.ROOT / "docs/formats/json.md").read_text()
    for name, table in sonde("sql", "--schema").items():
        if name in run.facts:
            lib.check(f"\n### {name}\n" in of_reports, f"docs/formats/json.md lacks {name}")
            continue
        section = text.split(f"\n### {name}\n", 1)
        lib.check(len(section) == 2, f"docs/sql.md has no section {name}")
        section = section[1].split("\n### ")[0].split("\n## ")[0]
        lib.check(table["help"][1:] in section, f"docs/sql.md: {name}: {table['help']}")
        for column, what in table["columns"].items():
            row = f"| `{column}` | {what['type']}{', hidden' if what['hidden'] else ''} | {what['help']} |"
            lib.check(row in section, f"docs/sql.md: {name}: {row}")
    for query in sonde("sql", "--ready"):
        lib.check(f"| `{query['name']}` | {query['question']} |" in text,
                  f"docs/sql.md lacks {query['name']}")


def runs(scratch):
    yield "samples/lttng", lib.ROOT / "samples/lttng"
    for name in ("lab-run-shutdown-6.1", "lab-run-containers-6.1"):
        yield name, lib.unpacked(lib.SAMPLES / f"{name}.tar.xz") / "L0/run"


def main():
    seen = collections.Counter()
    with tempfile.TemporaryDirectory() as scratch:
        for name, traces in runs(scratch):
            history = Path(scratch) / f"{Path(name).name}.sonde"
            lib.run(lib.SONDE, "analyze", "-q", traces, "-o", history)
            print(name, end=": ")
            run = Run(history)
            check_facts(run)
            check_ready(run, seen)
        check_document(run)
    names = {q["name"] for q in sonde("sql", "--ready")}
    tested = MIRRORS.keys() | UNSORTED.keys() | OTHERS.keys()
    lib.check(names == tested, f"not tested: {names - tested}, not there: {tested - names}")
    lib.check(len(names) >= 20, f"{len(names)} ready queries")
    print("rows of ready queries:", dict(seen))


if __name__ == "__main__":
    lib.need(str(lib.SONDE))
    main()
