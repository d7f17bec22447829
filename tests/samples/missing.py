#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One stream of the host is missing or cut short: that CPU is unknown, in the table of losses, and
no reason to say that a guest's events contradict the host's trace."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402
from fused import ask, tables  # noqa: E402


def check_without(traces, history, at_least):
    lib.run(lib.SONDE, "analyze", traces, "-o", history)
    rows = tables(history)
    losses = [row for row in rows["loss"] if row["cpu"] == "0" and
              rows["machine"][int(row["machine"])]["name"] == "host0"]
    lib.check(losses, "the missing stream is in the table of losses")
    lib.check(all(row["violations"] == "0" for row in rows["machine"]), "nobody is contradicted")
    sums = {cpu: (int(modes[0]), int(modes[-1])) for cpu, *modes in ask(history, "sums")}
    lib.check(len(sums) == 2, f"physical CPUs: {sorted(sums)}")
    unknown, total = max(sums.values())
    lib.check(unknown > total * at_least, f"unknown for {unknown} of {total} ns")
    lib.check(min(sums.values())[0] < total // 20, "the other CPU is known")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        traces = Path(scratch) / "lttng"
        shutil.copytree(lib.ROOT / "samples/lttng", traces)
        stream = traces / "host0/ch0_0"
        os.truncate(stream, stream.stat().st_size // 2)
        check_without(traces, Path(scratch) / "short.sonde", 0.3)
        stream.unlink()
        check_without(traces, Path(scratch) / "missing.sonde", 0.99)


if __name__ == "__main__":
    main()
