#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `check` finds missing without a word of the tracer, `analyze` does not go on through.

The one looks at all events, the other wants some kinds: a gap that only the others show is one, too.
"""

import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent), str(Path(__file__).resolve().parent)]
import lib  # noqa: E402
from damage import Recording  # noqa: E402

PLACES = re.compile(r"^(\S+): events are missing in (\d+) place", re.M)
CUTS = 12
KINDS = {"pages, not said nor counted", "records removed, not said"}
LEAST_FOUND = 3


def sonde(*args):
    done = subprocess.run([lib.SONDE, *args], capture_output=True, text=True)
    lib.check(done.returncode in (0, 3), f"{args}: exit status {done.returncode}: {done.stderr}")
    return done.stdout


def both(folder, scratch):
    """For each machine: places that check finds, and rows of the table of losses."""
    history = scratch / "history.sonde"
    history.unlink(missing_ok=True)
    sonde("analyze", "-q", folder, "-o", history)
    rows = json.loads(sonde("report", "-t", "gap", history, "--format", "json"))["gap"]
    found = {}
    for trace in sorted(p for p in folder.rglob("*") if p.suffix in (".dat", ".data")):
        places = sum(int(nr) for _, nr in PLACES.findall(sonde("check", trace)))
        found[trace.stem] = (places, sum(row["machine"] == trace.stem for row in rows))
    return found


def main():
    rng = random.Random(5)
    found = 0
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        whole = both(lib.ROOT / "samples/boot", scratch)
        print(f"boot: {whole}")
        lib.check(whole["vm-boot"] == (6, 6), f"boot, whole: {whole}")
        lib.check(whole["host0"] == (0, 0), f"boot, whole: {whole}")
        plain = scratch / "plain"
        plain.mkdir()
        for file in lib.unpacked(lib.archives("lab-run-shutdown-*", places=[lib.SAMPLES])[0]).rglob("trace.dat"):
            shutil.copy(file, plain / f"{file.parent.name.replace('host0', 'L0')}.dat")  # as the machine is called
        recording = Recording.of(plain)
        for nr in range(CUTS):
            target = scratch / "cut"
            done = recording.damage(rng, target, sorted(KINDS))
            for machine, (places, rows) in both(target, scratch).items():
                lib.check(places == 0 or rows > 0, f"{nr} {done}: {machine}: check finds {places} places, the history none")
                found += places > 0
            shutil.rmtree(target, ignore_errors=True)
    print(f"{CUTS} cuts, {found} times something was found")
    lib.check(found >= LEAST_FOUND, "too few to mean anything")


if __name__ == "__main__":
    lib.need(str(lib.SONDE))
    main()
