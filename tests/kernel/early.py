#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 900
"""The patch that traces the boot applies, and what it touches builds without a warning, with the code for guests whose memory is encrypted.

    tests/kernel/early.py 6.1 6.12     by hand: the kernel's source is fetched, and unpacked for a minute

Of the refusal it is checked that it is compiled: boot.o asks the kernel whether memory is encrypted, and does not where the kernel cannot know.
"""
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402
from lab.kernels import guest, source  # noqa: E402
from lab.lib.stopwatch import Stopwatch  # noqa: E402

OBJECTS = ("init/hypertrace/", "init/main.o")
PLAIN = ("small.config", "early.config")


def unpack(line, tree):
    stopwatch = Stopwatch(False)
    deb, patches, _, _ = guest.inputs(f"{line}-early", stopwatch)
    with stopwatch.step("unpacking the kernel's source"):
        source.extract(deb, tree)
        source.apply(patches, tree)
    (tree / guest.CHANNEL_PLACE).mkdir()
    for file in guest.CHANNEL:
        shutil.copy(file, tree / guest.CHANNEL_PLACE)


def asks(tree, configs):
    """Builds; whether the object asks for encrypted memory."""
    guest.configure(tree, [guest.HERE / name for name in configs])
    done = subprocess.run(["nice", "make", "-s", "-C", tree, "W=1", *OBJECTS], capture_output=True, text=True, check=False)
    lib.check(not done.returncode and "warning" not in done.stderr, f"{configs} builds without a warning: {done.stderr[-400:]}")
    return "cc_platform_has" in lib.run("nm", "-u", tree / "init/hypertrace/boot.o")


def main():
    if not sys.argv[1:]:
        lib.skip("by hand only: the kernel's source, and two minutes: tests/kernel/early.py 6.1 6.12")
    lib.need("make", "gcc", "nm", "flex", "bison")
    for line in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as name:
            unpack(line, Path(name) / "tree")
            lib.check(not asks(Path(name) / "tree", PLAIN), f"{line}: no question where no memory can be encrypted")
            lib.check(asks(Path(name) / "tree", (*PLAIN, "encrypted.config")), f"{line}: an encrypted guest is asked for")
        print(f"{line}: builds, and refuses encrypted guests")


main()
