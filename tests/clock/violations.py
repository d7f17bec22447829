#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A guest's hypercalls bound its clock, and some of its events are at times at which its vCPU did not run: no clock has them all where
they can be.  Then the clock breaks them, and says so, in its row, among the problems, in JSON, and in sonde check; without them it breaks none."""
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cmd"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import forged  # noqa: E402
import lib  # noqa: E402
import odd_traces  # noqa: E402

LATE, EACH = 120 * forged.US, 20  # 58 us after its vCPU's exit for the last time in a round; in every such round


def table(run, name):
    return json.loads(lib.run(lib.SONDE, "report", run, "-t", name, "--format", "json"))[name]


def clock_of(folder, name, host, guest):
    run = folder / f"{name}.sonde"
    said = lib.run(lib.SONDE, "analyze", host, guest, "-o", run)
    clock = next(row for row in table(run, "clock") if row["machine"] == name)
    return clock, [row["text"] for row in table(run, "problem")], said + lib.run(lib.SONDE, "info", run), lib.run(lib.SONDE, "check", run)


def main():
    host, guest = forged.live(0)
    late = [odd_traces.switch(call[0] + LATE, 0, 9) for call in [e for e in guest if e[1] == 20][::EACH]]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        iron = forged.write(folder, "iron", host)
        for name, events in (("sound", guest), ("torn", sorted(guest + late))):
            clock, problems, said, checked = clock_of(folder, name, iron, forged.write(folder, name, forged.moved(events, -forged.OFFSETS[0])))
            print(clock, problems, checked)
            broken = len(late) if name == "torn" else 0
            told = f"the clock of {name} contradicts {broken} observations"
            lib.check(clock["violations"] == broken, f"{name}: {clock['violations']} violations, not {broken}")
            lib.check((clock["worst_violation"] > 0) == bool(broken), f"{name}: by {clock['worst_violation']}")
            for where, text in (("problems", " ".join(problems)), ("analyze and info", said), ("check", checked)):
                lib.check((told in text) == bool(broken), f"{name}, {where}: {text}")


main()
