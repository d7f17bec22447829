#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One file among others costs nobody else: a cut copy beside the whole trace, and metadata that asks for more than is sensible, are left
out with a reason, and the history is that of the others.  Whichever comes first."""
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402

REPORTS = (["tree"], ["report"], ["why"])


def analyze(out, *traces):
    done = subprocess.run([lib.SONDE, "analyze", "-o", out, *traces], capture_output=True, text=True)
    said = [subprocess.run([lib.SONDE, *words, out], capture_output=True, text=True).stdout for words in REPORTS]
    return done, said


def lines(text):
    """Without the widths of columns."""
    return {" ".join(line.split()) for line in text.splitlines()}


def expect_left_out(folder, whole, odd, why):
    """What is reported of all with @odd beside them is what is reported without it, but for the line that says so."""
    intact, tables = analyze(folder / "whole.sonde", *whole)
    lib.check(intact.returncode == 0, intact)
    for traces in ([*whole, odd], [odd, *whole]):
        done, mixed = analyze(folder / "mixed.sonde", *traces)
        print(done.stderr)
        lib.check(done.returncode == 3 and why in done.stderr and "left out" in done.stderr, done)
        for a, b in zip(tables, mixed):
            missing = lines(a) - lines(b)
            lib.check(not missing, f"no longer said: {missing}")


def cut_copies(folder):
    ftrace = lib.ROOT / "samples/ftrace"
    for name, size in (("host0", 200000), ("host0", 250000), ("host0", 290000), ("vm-a", 60000)):
        odd = folder / f"{name}-{size}.dat"
        odd.write_bytes((ftrace / f"{name}.dat").read_bytes()[:size])
        expect_left_out(folder, [ftrace], odd, "it is a copy of a part")


def too_much_metadata(folder):
    odd = folder / "large"
    odd.mkdir()
    chain = "".join(f"typealias struct {{ t{i} a; t{i} b; }} := t{i + 1};\n" for i in range(30))
    (odd / "metadata").write_text(
        "/* CTF 1.8 */\ntypealias integer { size = 8; align = 8; signed = false; } := t0;\n" + chain +
        "trace { major = 1; minor = 8; byte_order = le; };\n"
        "event { name = \"x\"; id = 0; fields := struct { t30 a; }; };\n")
    (odd / "stream_0").write_bytes(bytes(4096))
    lttng = lib.ROOT / "samples/lttng"
    expect_left_out(folder, [lttng / "host0", lttng / "vm-b"], odd, "more memory than is sensible")


def main():
    with tempfile.TemporaryDirectory() as name:
        cut_copies(Path(name))
        too_much_metadata(Path(name))


main()
