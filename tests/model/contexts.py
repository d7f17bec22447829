#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 60
"""Containers follow from fields in the context of LTTng's events, where nothing of a state dump is there.

The dump is taken out of a recording by giving its events another name; then the contexts, too: what
is left names no container, which shows that it is the contexts that do.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402
from fused import tables  # noqa: E402

JUDGE = lib.BUILD / "property/less_specific"
DUMP = (b"lttng_statedump_process", b"lttng_no_longer_process")
CONTEXT = (b" _pid_ns;", b" _pid_no;")


def damaged(folder, target, *names):
    shutil.copytree(folder, target)
    for metadata in target.glob("*/metadata"):
        data = metadata.read_bytes()
        for name, other in names:
            lib.check(name in data and len(name) == len(other), f"{metadata} has {name}")
            data = data.replace(name, other)
        metadata.write_bytes(data)
    return target


def analysed(folder, history):
    lib.run(str(lib.SONDE), "analyze", "-q", *map(str, sorted(folder.iterdir())), "-o", str(history))
    return history


def containers(history):
    """(machine, number of the namespace) -> TIDs of those in it that ran."""
    rows = tables(history)
    ran = {row["thread"] for row in rows["context"] if row["thread"] != "-1"}
    found = {}
    for number, ns in enumerate(rows["pid_ns"]):
        if int(ns["level"]) > 0:
            key = rows["machine"][int(ns["machine"])]["name"], ns["inum"]
            found[key] = {row["tid"] for at, row in enumerate(rows["thread"])
                          if int(row["pid_ns"]) == number and str(at) in ran}
    return found


def judged(whole, cut):
    done = subprocess.run([str(JUDGE), str(whole), str(cut), "/whole/", "/cut/"],
                          capture_output=True, text=True, errors="replace")
    lib.check(done.returncode == 0, f"not less specific: {done.stdout[:2000]}{done.stderr}")


def main():
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        shutil.copytree(lib.ROOT / "samples/lttng", scratch / "whole/lttng")
        damaged(scratch / "whole/lttng", scratch / "cut/lttng", DUMP)
        whole = analysed(scratch / "whole/lttng", scratch / "whole.sonde")
        cut = analysed(scratch / "cut/lttng", scratch / "cut.sonde")
        expected, found = containers(whole), containers(cut)
        lib.check(len(expected) >= 2, f"the recording has containers: {expected}")
        lib.check(found == expected, f"{found}, not {expected}")
        judged(whole, cut)
        shutil.rmtree(scratch / "cut/lttng")
        damaged(scratch / "whole/lttng", scratch / "cut/lttng", DUMP, CONTEXT)
        cut = analysed(scratch / "cut/lttng", scratch / "cut.sonde")
        lib.check(not containers(cut), f"told by something else: {containers(cut)}")
        judged(whole, cut)
    print(f"{len(found)} containers, {sum(map(len, found.values()))} threads in them, from contexts alone")


if __name__ == "__main__":
    main()
