#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 120
"""A history takes at most a tenth of the bytes of the LTTng traces it was made of.

Of all the shared ones that say what CPUs do; the smallest events are those of many-threads.
"""

import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402

LAYERS = ["L0", "L1a", "L1b", "L2"]
PUBLIC = ["many-threads", "giraldeau/apt-get-tree-k/kernel", "synctraces/scp_dest",
          "synctraces/scp_src"]
MOST = 0.10


def runs():
    for name in ("lab-multi-lttng", "oracle-lttng-1"):
        base = lib.shared_set(name)
        yield name, [base / layer / "lttng/kernel" for layer in LAYERS]
    base = lib.shared_set("public-ctf")
    for name in PUBLIC:
        yield name, [base / name]


def stream_bytes(trace):
    return sum(f.stat().st_size for f in trace.rglob("*")
               if f.is_file() and f.name != "metadata" and f.suffix != ".idx")


def main():
    large = []
    with tempfile.TemporaryDirectory() as scratch:
        for number, (name, traces) in enumerate(runs()):
            history = Path(scratch) / f"{number}.sonde"
            lib.run(lib.SONDE, "analyze", "-q", "-o", history, *traces)
            part = history.stat().st_size / sum(stream_bytes(t) for t in traces)
            print(f"{name}: {part:.2%}")
            if part > MOST:
                large.append(name)
    if large:
        print("FAILED: too large:", *large)
        sys.exit(1)


main()
