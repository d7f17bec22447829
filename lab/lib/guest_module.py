# SPDX-License-Identifier: Apache-2.0
"""The guest's kernel module (kernel/guest), built for a kernel of the lab: sonde_guest.ko, to be --put."""
import shutil

from . import cache, command, headers, paths


# Newer header packages make the module's BTF as well, for which they want a program that nothing else here needs.
NO_BTF = ("PAHOLE=true", "RESOLVE_BTFIDS=true")


def get(kernel_line, image, stopwatch):
    tree = headers.get(kernel_line, image, stopwatch)
    with stopwatch.step("building the guest's module"), cache.lock():   # two tests need it
        command.output("make", "-s", "-j2", "guest-module", f"KDIR={tree}", *NO_BTF, cwd=paths.REPOSITORY)
    built = paths.BUILD / "guest" / image.release / "sonde_guest.ko"
    stripped = paths.BUILD / "guest" / image.release / "stripped" / built.name
    stripped.parent.mkdir(exist_ok=True)
    shutil.copy(built, stripped)
    command.output("strip", "-g", stripped)
    return stripped
