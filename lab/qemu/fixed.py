# SPDX-License-Identifier: Apache-2.0
"""Builds qemu-system-x86_64 from Debian's source package with the patches in this directory, into the cache.

Only what the lab needs is configured, so it takes minutes, not the better part of an hour.  Firmware is that of
Debian's packages qemu-system-data and seabios, as with Debian's own binary.
"""
import os
import re
from pathlib import Path

from ..lib import cache, command, packages, paths
from ..lib.failure import Failure

HERE = Path(__file__).resolve().parent
SOURCE = "qemu"
LINE = "1:7.2"  # what Debian 12 has; its backports have others, which these patches may not fit
NEEDS = ("/usr/bin/meson", "/usr/bin/ninja", "/usr/bin/dpkg-source", "/usr/include/libfdt.h",
         "/usr/include/glib-2.0/glib.h", "/usr/include/pixman-1/pixman.h")
OPTIONS = ("--target-list=x86_64-softmmu", "--without-default-features",
           "--without-default-devices", "--with-devices-x86_64=lab", "--enable-tcg", "--enable-kvm",
           "--disable-install-blobs", "--with-git-submodules=ignore", "--with-pkgversion=sonde-lab",
           "--firmwarepath=/usr/share/qemu:/usr/share/seabios:/usr/lib/ipxe/qemu")
# QEMU's configure takes the first python3 of the path, which must be the one that has Debian's meson.
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": os.environ.get("HOME", "/"),
               "LC_ALL": "C"}


def patches():
    return sorted(HERE.glob("*.patch"))


def changes(patch):
    """What a patch changes, without its message: to say it better is no reason to build again."""
    return patch.read_text().split("\ndiff --git", 1)[1]


def key():
    return cache.digest(*map(changes, patches()), HERE / "devices.mak", *OPTIONS)


def program_in(directory):
    return directory / "qemu-system-x86_64"


def present():
    """The program, if it has been built; else None."""
    program = program_in(paths.CACHE / f"{SOURCE}-{key()}")
    return program if program.is_file() else None


def check_needs():
    missing = [path for path in NEEDS if not os.path.exists(path)]
    if missing:
        raise Failure(f"QEMU cannot be built without {', '.join(missing)}; "
                      "run: tools/install-deps qemu")


def download(directory):
    """The source package's .dsc, with what belongs to it beside it."""
    apt = packages.Apt(directory / "apt", "deb-src")
    apt.update()
    shown = command.output("apt-cache", *apt.options, "showsrc", SOURCE)
    versions = re.findall(rf"^Version: ({re.escape(LINE)}\S*)", shown, re.M)
    if not versions:
        raise Failure(f"Debian bookworm has no source of {SOURCE} {LINE}")
    command.output("apt-get", *apt.options, "-qq", "source", "--download-only",
                   f"{SOURCE}={versions[0]}", cwd=directory)
    [description] = directory.glob("*.dsc")
    return description


def compile_in(source, directory):
    """Gives the program, linked."""
    devices = source / "configs/devices/x86_64-softmmu/lab.mak"
    devices.write_bytes((HERE / "devices.mak").read_bytes())
    for patch in patches():
        command.output("patch", "-d", source, "-p1", "-i", patch)
    directory.mkdir()
    command.output(source / "configure", *OPTIONS, cwd=directory, env=ENVIRONMENT)
    command.output("nice", "-n", "10", "ninja", "-C", directory, "qemu-system-x86_64",
                   env=ENVIRONMENT)
    return directory / "qemu-system-x86_64"


def get(stopwatch):
    """The program: from the cache, or built."""
    def build(directory):
        check_needs()
        work = directory / "build"
        work.mkdir()
        with stopwatch.step("download of QEMU's source"):
            description = download(work)
        with stopwatch.step("building QEMU"):
            command.output("dpkg-source", "--no-check", "-x", description, work / "source")
            program = compile_in(work / "source", work / "objects")
            command.output("strip", "-o", program_in(directory), program)
        command.output("rm", "-rf", work)

    with cache.lock():
        return program_in(cache.entry(SOURCE, key(), build))


def describe(program):
    """What choose() gave, for people."""
    if program is None:
        return "Debian's QEMU; lab/qemu/build makes one that loses fewer runs"
    return f"{program}" + (", with the lab's patches" if program == present() else "")


def choose(word, stopwatch):
    """The program that `word` asks for, None for Debian's own: "stock", "fixed", a path, or None: the
    fixed one if it has been built."""
    if word is None:
        return present()
    if word == "stock":
        return None
    return get(stopwatch) if word == "fixed" else word
