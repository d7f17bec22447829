#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a user says of a run is an error where the events, or the user, say otherwise, and no clock is made of it: that a host
runs in its guest, by whatever way around; two parents of one machine; two machines of one name.  A host name yields to a name
that is told.  A guest that fits two hosts is neither's.  An offset that nothing can be done with is a problem."""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cmd"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import forged  # noqa: E402
import lib  # noqa: E402


def mute(events):
    return [e for e in events if e[1] not in (20, 21)]


def main():
    (host_a, a), (host_b, b) = forged.live(0), forged.live(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        traces = [forged.write(folder, "iron", host_a, host_b)]
        traces += [forged.write(folder, f"vm-{c}", forged.moved(mute(e), -forged.OFFSETS[i])) for i, (c, e) in enumerate((("a", a), ("b", b)))]

        def analyze(*options):
            return subprocess.run([lib.SONDE, "analyze", *traces, *options, "-o", folder / "run.sonde"], capture_output=True, text=True)

        def refused(words, *claims, option="--parent"):
            done = analyze(*(word for claim in claims for word in (option, claim)))
            print(*claims, done.stderr)
            lib.check(done.returncode == 1 and words in done.stderr, f"{claims}: exit status {done.returncode}, {done.stderr}")

        lib.check(analyze("--parent", "vm-a=iron").returncode == 0, "what is true is no error")
        found = "CPU 0 of vm-a is active only while thread 100 of iron runs a guest"
        refused(found, "iron=vm-a")
        refused(found, "iron=vm-a", "vm-a=-")
        refused(found, "iron=vm-b", "vm-b=vm-a")
        refused("its CPU 0 is active only while thread 100 of iron", "vm-a=vm-b")
        refused("its CPU 0 is active only while thread 100 of iron", "vm-a=-")
        refused("vm-a runs in itself", "vm-a=vm-a")
        refused("iron was given before", "vm-a=iron", "vm-a=vm-b")
        refused("5 was given before", "vm-a=5", "vm-a=6", option="--tsc-offset")
        refused("was given that name before", f"web={traces[1]}", f"web={traces[2]}", option="--guest")
        refused("are both there; each machine needs a name of its own", f"web={folder}", option="--guest")
        called = analyze("--guest", f"iron={traces[1]}", "--guest", f"vm-a={traces[2]}", "--parent", "vm-a=iron-2")
        rows = json.loads(lib.run(lib.SONDE, "report", folder / "run.sonde", "-t", "clock", "--format", "json"))["clock"]
        names = [row["machine"] for row in rows]
        lib.check(called.returncode == 0 and names == ["iron-2", "iron", "vm-a"], f"the user's names win: {names} {called.stderr}")
        # Of two hosts that saw the same, nothing says whose guest it is.
        twin = forged.write(folder, "steel", host_a, host_b)
        both = analyze(twin)
        print(both.stderr)
        lib.check(both.returncode == 3 and "left out: what it did fits a guest of iron, and one of steel as well" in both.stderr, f"two hosts: {both}")
        lib.check(analyze("--tsc-offset", "iron=5").returncode == 0, "an offset that is of no use is no error")
        problems = json.loads(lib.run(lib.SONDE, "report", folder / "run.sonde", "-t", "problem", "--format", "json"))["problem"]
        lib.check(any("offset given for iron is not used" in row["text"] for row in problems), f"told: {problems}")


if __name__ == "__main__":
    main()
