#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""^C during sonde analyze: exit status 4, and a sound history that ends early; or, when nothing was
fused yet, the history that stood there before, and that at once."""

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


def hide_calls(traces):
    """Without hypercalls that both sides show, the clocks are found the long way."""
    for metadata in traces.glob("*/metadata"):
        text = metadata.read_bytes()
        metadata.write_bytes(text.replace(b'"hypersync_', b'"hypersynk_')
                                 .replace(b'_hypercall"', b'_hyperkall"'))


def clock_search(scratch, traces):
    """^C while clocks are aligned ends the program at once."""
    hide_calls(traces)
    output = Path(scratch) / "late.sonde"
    whole = [SONDE, "analyze", "-q", "-j1", traces, "-o", output]
    begin = time.monotonic()
    subprocess.run(whole, stderr=subprocess.DEVNULL)
    whole_s = time.monotonic() - begin
    output.unlink(missing_ok=True)
    for share in (0.3, 0.5, 0.7):
        process = subprocess.Popen(whole, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True)
        time.sleep(whole_s * share)
        process.send_signal(signal.SIGINT)
        begin = time.monotonic()
        text = process.communicate(timeout=120)[0]
        took_s = time.monotonic() - begin
        if process.returncode == 4 and "clocks were being aligned" in text:
            lib.check(took_s < max(0.1, whole_s * (1 - share) / 3),
                      f"it took {took_s:.2f} s to stop a search of {whole_s:.2f} s at {share}")
            lib.check(not output.exists(), "a history is left")
            return
    lib.check(False, f"the search was never interrupted: {process.returncode}: {text}")


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
        clock_search(scratch, traces)


if __name__ == "__main__":
    lib.need(str(SONDE))
    main()
