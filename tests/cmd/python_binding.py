#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bindings/python/sonde.py says what the program says: each table's columns are the report's CSV, cell by cell;
broken input and a stopped call are exceptions."""

import csv
import io
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402

if lib.BUILD.name != "build":
    lib.skip("a library with sanitizers is not loaded into another program")
os.environ["SONDE_LIBRARY"] = str(lib.BUILD / "libsonde.so.0")
sys.path.insert(0, str(lib.ROOT / "bindings/python"))
import sonde  # noqa: E402


def text_of(value):
    """As CSV has it: what is unknown is empty."""
    if value is None or value == -1:
        return ""
    return str(int(value) if isinstance(value, bool) else value)


def compare(history, path, name):
    """How many cells are the same."""
    rows = list(csv.reader(io.StringIO(lib.run(lib.SONDE, "report", "-t", name, "--format", "csv", path))))
    columns = history.table(name)
    assert list(columns) == rows[0], (name, list(columns), rows[0])
    same = 0
    for at, (column, values) in enumerate(columns.items()):
        expected = [row[at] for row in rows[1:]]
        got = [text_of(value) for value in values]
        assert len(got) == len(expected), f"{name}: {len(got)} rows, CSV has {len(expected)}"
        for mine, its in zip(got, expected):
            # A signed number may well be -1; and a namespace that is no container is a dash in reports.
            assert mine == its or its in ("-1", "-"), f"{name}.{column}: {mine!r}, CSV has {its!r}"
        same += len(got)
    return same


def fails(error, call, word):
    try:
        call()
    except error as e:
        assert e.errno and word in str(e), e
        return
    raise AssertionError(f"no {error.__name__}")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        path = f"{scratch}/run.sonde"
        phases = set()
        sonde.analyze([lib.ROOT / "samples/lttng"], path, progress=lambda phase, share: phases.add(phase))
        assert "fusing" in phases, phases
        assert sonde.version() in lib.run(lib.SONDE, "--version")
        with sonde.History(path) as history:
            assert history.begin <= history.traced[0] < history.traced[1] <= history.end
            assert history.complete and history.ticks_are_ns
            tables = history.tables()
            cells = sum(compare(history, path, name) for name in tables)
            assert len(tables) > 40 and cells > 5000, (len(tables), cells)
            assert list(history.table("cpu_time")) == list(tables["cpu_time"]["columns"])
            assert set(history.table("preemption", raw=True)["mode"]) <= set(range(10))
            half = history.window("50%,")
            assert sum(history.table("machine_time", *half)["total"]) < sum(history.table("machine_time")["total"])

            runs = history.intervals("host0/cpu0/runs")
            assert runs["begin"][1:] == runs["end"][:-1] and runs["end"][-1] == history.end

            asked = []
            fails(sonde.Stopped, lambda: history.table("why", *half,
                                                       progress=lambda *what: asked.append(what) or False), "stopped")
            assert asked == [("why", -1)], asked
            fails(sonde.Error, lambda: history.table("no_such_table"), "no_such_table")
            fails(sonde.Error, lambda: history.intervals("no/such/attribute"), "No such")
        fails(sonde.Error, lambda: sonde.History(lib.ROOT / "README.md"), "README.md")
        fails(sonde.Error, lambda: sonde.analyze([scratch], f"{scratch}/none.sonde"), "")
        try:
            history.table("why")
        except ValueError:
            pass
        else:
            raise AssertionError("a closed history answers")
    print(f"{len(tables)} tables, {cells} cells")


if __name__ == "__main__":
    main()
