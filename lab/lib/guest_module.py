# SPDX-License-Identifier: Apache-2.0
"""The guest's kernel module (kernel/guest), built for a kernel of the lab: sonde_guest.ko, to be --put."""
import re
import shutil

from . import cache, command, headers, paths


def get(kernel_line, image, stopwatch):
    return of_tree(headers.get(kernel_line, image, stopwatch), stopwatch)


def release_of(tree):
    """The kernel that a tree of headers is of."""
    text = (tree / "include/generated/utsrelease.h").read_text()
    return re.search(r'UTS_RELEASE "(.*)"', text)[1]


def of_tree(tree, stopwatch):
    """For the kernel whose headers these are: Debian's, or those of lab/kernels."""
    release = release_of(tree)
    with stopwatch.step("building the guest's module"), cache.lock():   # two tests need it
        command.output("make", "-s", "-j2", "guest-module", f"KDIR={tree}", cwd=paths.REPOSITORY)
    built = paths.BUILD / "guest" / release / "sonde_guest.ko"
    stripped = paths.BUILD / "guest" / release / "stripped" / built.name
    stripped.parent.mkdir(exist_ok=True)
    shutil.copy(built, stripped)
    command.output("strip", "-g", stripped)
    return stripped
