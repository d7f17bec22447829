#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A trace that somebody cuts short while it is mapped: a message and exit status 1, no crash."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402


def main():
    with tempfile.TemporaryDirectory() as scratch:
        traces = Path(scratch) / "lttng"
        shutil.copytree(lib.ROOT / "samples/lttng", traces)
        # The program stands still as soon as the pipe is full: long before the end.
        process = subprocess.Popen([lib.SONDE, "events", "-q", "-j1", traces],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.read(1000)
        for stream in traces.glob("*/ch0_*"):
            os.truncate(stream, 4096)
        _, err = process.communicate(timeout=60)
        lib.check(process.returncode == 1, f"exit status {process.returncode}: {err}")
        lib.check(b"became shorter while it was being read" in err, f"stderr: {err}")


if __name__ == "__main__":
    lib.need(str(lib.SONDE))
    main()
