#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which emulator the lab takes, without building one; and that a build that cannot succeed says why."""

import os
import sys
import tempfile
from pathlib import Path

scratch = tempfile.TemporaryDirectory()
os.environ["SONDE_LAB_CACHE"] = scratch.name
sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402

sys.path[:0] = [str(lib.ROOT)]
from lab.lib.failure import Failure  # noqa: E402
from lab.lib.stopwatch import Stopwatch  # noqa: E402
from lab.qemu import fixed  # noqa: E402


def main():
    quiet = Stopwatch(quiet=True)
    lib.check(fixed.choose(None, quiet) is None, "Debian's, where none was built")
    fixed.NEEDS = ("/usr/bin/env", "/nowhere/meson")
    try:
        fixed.choose("fixed", quiet)
        lib.check(False, "a build without meson fails")
    except Failure as failure:
        lib.check("/nowhere/meson" in str(failure) and "/usr/bin/env" not in str(failure)
                  and "install-deps qemu" in str(failure), f"it says what is missing: {failure}")
    lib.check(fixed.present() is None, "a failed build leaves nothing")

    place = Path(scratch.name) / f"qemu-{fixed.key()}"
    place.mkdir()
    program = place / "qemu-system-x86_64"
    program.write_text("")
    lib.check(fixed.choose(None, quiet) == fixed.choose("fixed", quiet) == program, "the one built")
    lib.check(fixed.choose("stock", quiet) is None, "Debian's, when asked for")
    lib.check(fixed.choose("/opt/qemu", quiet) == "/opt/qemu", "any other")

    patches = [patch.read_text() for patch in fixed.patches()]
    lib.check(patches and all(text.startswith("From ") and "\nSubject: [PATCH" in text
                              and "\nSigned-off-by: " in text for text in patches), "fit for git am")
    fixed.OPTIONS += ("--other",)
    lib.check(fixed.present() is None, "other options are another build")


main()
