# SPDX-License-Identifier: Apache-2.0
"""A kernel module of ours, built for a kernel of the lab: the guest's, sonde_guest.ko (kernel/guest), or the host's,
sonde_vmx.ko (kernel/vmx), to be --put."""
import re
import shutil

from . import cache, command, headers, paths


def get(kernel_line, image, stopwatch, which="guest"):
    return of_tree(headers.get(kernel_line, image, stopwatch), stopwatch, which)


def release_of(tree):
    """The kernel that a tree of headers is of."""
    text = (tree / "include/generated/utsrelease.h").read_text()
    return re.search(r'UTS_RELEASE "(.*)"', text)[1]


def of_tree(tree, stopwatch, which="guest"):
    """For the kernel whose headers these are: Debian's, or those of lab/kernels."""
    release = release_of(tree)
    with stopwatch.step(f"building sonde_{which}.ko"), cache.lock():   # two tests need it
        command.output("make", "-s", "-j2", f"{which}-module", f"KDIR={tree}", cwd=paths.REPOSITORY)
    built = paths.BUILD / which / release / f"sonde_{which}.ko"
    stripped = built.parent / "stripped" / built.name
    stripped.parent.mkdir(exist_ok=True)
    shutil.copy(built, stripped)
    command.output("strip", "-g", stripped)
    return stripped
