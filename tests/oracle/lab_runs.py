#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 600
"""Runs of the lab that were kept (lab-run-SCENARIO-KERNEL: traces, truth.json, samples.json; small ones in samples/lab, others
among the shared sets), held against what the hardware did: as sonde record gathered them; or trace-cmd's traces of all machines, and then the host's alone, where
machines are known but not their threads."""

import json
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402

sys.path[:0] = [str(lib.ROOT)]
from lab.oracle import compare, names  # noqa: E402
from lab.oracle.history import History  # noqa: E402


def check(title, traces, made, scratch):
    history = scratch / f"{title}.sonde"
    lib.run(lib.SONDE, "analyze", *traces, "-o", history)
    history = History(history)
    agreement = compare.compare(history, names.renamed(history, made["machines"], made["samples"]))
    lib.check(not agreement.faults, f"{title}: {'; '.join(agreement.faults)}")


def main():
    archives = lib.archives("lab-run-*")
    lib.check(archives, "there are runs of the lab in samples/lab")
    with tempfile.TemporaryDirectory() as scratch:
        for archive in archives:
            name, directory = lib.archive_name(archive), lib.unpacked(archive)
            made = json.loads((directory / "samples.json").read_text())
            gathered = directory / "L0/run"
            if gathered.is_dir():
                check(name, [gathered], made, Path(scratch))
                continue
            check(name, sorted(directory.glob("*/trace.dat")), made, Path(scratch))
            check(f"{name}-host-alone", [directory / "L0/trace.dat"], made, Path(scratch))


if __name__ == "__main__":
    main()
