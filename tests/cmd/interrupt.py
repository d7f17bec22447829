#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""^C during sonde analyze: exit status 4, and a sound history that ends early; or, when nothing was
fused yet, the history that stood there before."""

import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402

SONDE = lib.SONDE
BYTES = 60_000_000
MACHINES = ["host0", "vm-a", "vm-a-n", "vm-b"]


def interrupted_after(delay, traces, output):
    process = subprocess.Popen([SONDE, "analyze", "-q", "-j1", traces, "-o", output],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    text = process.communicate(timeout=120)[0]
    return process.returncode, text


def main():
    with tempfile.TemporaryDirectory() as scratch:
        traces = Path(scratch) / "big"
        subprocess.run([lib.ROOT / "tools/replicate-trace", traces, str(BYTES),
                        *(lib.ROOT / "samples/lttng" / m for m in MACHINES)],
                       check=True, stdout=subprocess.DEVNULL)
        output = Path(scratch) / "out.sonde"
        subprocess.run([SONDE, "analyze", "-q", traces, "-o", output], check=True)
        whole = json.loads(subprocess.check_output([SONDE, "info", output, "--format", "json"]))
        # Too early, and the signal meets a program that does not catch it yet; too late, and the
        # work is done.  Somewhere between it must hit.
        delay = 0.02
        while delay < 20:
            before = output.read_bytes()
            status, text = interrupted_after(delay, traces, output)
            if status == 4 and "is not written" not in text:
                break
            lib.check(output.read_bytes() == before or status == 0, f"{status}: not as it was")
            delay *= 1.3
        lib.check(status == 4, f"never interrupted: last exit status {status}: {text}")
        lib.check("interrupted" in text and "stopping" in text, text)
        lib.check(not list(Path(scratch).glob("*.part")), "a .part file is left")
        cut = json.loads(subprocess.check_output([SONDE, "info", output, "--format", "json"]))
        lib.check(cut["complete"], "the history is not complete")
        lib.check(cut["begin"] == whole["begin"] and cut["end"] < whole["end"],
                  f"{cut['begin']} to {cut['end']}, whole {whole['begin']} to {whole['end']}")
        subprocess.run([SONDE, "check", output], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    lib.need(str(SONDE))
    main()
