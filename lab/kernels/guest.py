# SPDX-License-Identifier: Apache-2.0
"""Kernels for the lab's guests, of Debian's source: small ones, with options or patches that Debian's own lacks.

A name such as "6.1-debug" is a kernel line and a variant.  All drivers that a guest needs are built in, so that no
modules belong to a kernel; those of others can be built against the directory `headers` and loaded.
"""
import os
import re
import shutil
from dataclasses import dataclass

from ..lib import cache, command, image, kernel, paths
from ..lib.failure import Failure
from . import source

HERE = paths.LAB / "kernels"


@dataclass(frozen=True)
class Variant:
    configs: tuple              # files here, later ones win
    series: tuple = ()          # of kernel/patches
    channel: bool = False       # the patches want the files of channel/
    make: tuple = ()            # more words for make


# QEMU enters a vmlinux by PVH, which runs (and compares strings) before there is shadow memory for KASAN to look into: a
# triple fault. It leaves these files alone.
DEBUG_MAKE = ("KASAN_SANITIZE_enlighten.o=n", "KASAN_SANITIZE_string.o=n")
VARIANTS = {"small": Variant(("small.config",)),
            "debug": Variant(("small.config", "debug.config"), make=DEBUG_MAKE),
            "early": Variant(("small.config", "early.config"), ("early",), channel=True),
            "early-debug": Variant(("small.config", "debug.config", "early.config"), ("early",), channel=True, make=DEBUG_MAKE)}
# The part of channel/ that writes, and where the patches look for it.
CHANNEL = tuple(paths.REPOSITORY / "channel" / name
                for name in ("hypertrace.h", "port.h", "records.c", "writer.c", "writer.h"))
CHANNEL_PLACE = "init/hypertrace/channel"
# What building a module takes, of a built tree.
HEADERS = ("Makefile", ".config", "Module.symvers", "include", "scripts", "arch/x86/Makefile", "arch/x86/include",
           "tools/objtool/objtool")


def wanted_options(files):
    """The options that the files set, as the lines of a .config by name."""
    options = {}
    for file in files:
        for line in file.read_text().splitlines():
            match = re.match(r"(CONFIG_\w+)=(.*)", line)
            if match:
                options[match[1]] = match[2]
    return options


def configure(tree, files):
    """allnoconfig and these options; an option that does not come out as wanted has a dependency that is off."""
    options = wanted_options(files)
    (tree / "wanted.config").write_text("".join(f"{name}={value}\n" for name, value in options.items()))
    command.output("make", "-s", "-C", tree, "KCONFIG_ALLCONFIG=wanted.config", "allnoconfig")
    got = wanted_options([tree / ".config"])
    lost = [name for name, value in options.items() if got.get(name, "n") != value]
    if lost:
        raise Failure(f"the kernel does not take {', '.join(lost)} of {', '.join(file.name for file in files)}")


def keep_headers(tree, destination):
    for name in HEADERS:
        target = destination / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (tree / name).is_dir():
            shutil.copytree(tree / name, target, symlinks=True, ignore=shutil.ignore_patterns("*.o", "*.cmd"))
        else:
            shutil.copy(tree / name, target)


def install(tree, package):
    """Lays the kernel out as a package of Debian's is, for lab/lib/image.py; its modules are all built in."""
    command.output("make", "-s", "-C", tree, f"INSTALL_MOD_PATH={package}", "modules_install")
    release = (tree / "include/config/kernel.release").read_text().strip()
    (package / "boot").mkdir()
    (package / f"boot/vmlinuz-{release}").symlink_to(tree / "vmlinux")
    kernel.prepare_modules(package)


def build(directory, deb, patches, variant, name, stopwatch):
    tree, package, boot = directory / "tree", directory / "package", directory / "boot"
    boot.mkdir()
    with stopwatch.step("unpacking the kernel's source"):
        source.extract(deb, tree)
        source.apply(patches, tree)
        if variant.channel:
            (tree / CHANNEL_PLACE).mkdir()
            for file in CHANNEL:
                shutil.copy(file, tree / CHANNEL_PLACE)
    with stopwatch.step(f"building the kernel {name}"):
        configure(tree, [HERE / file for file in variant.configs])
        command.output("nice", "-n", "10", "make", "-s", f"-j{os.cpu_count()}", "-C", tree, "KBUILD_BUILD_TIMESTAMP=@1",
                       f"LOCALVERSION=-{name.partition('-')[2]}", *variant.make, "vmlinux", "modules")
    command.output("strip", "-g", "-o", boot / "vmlinux", tree / "vmlinux")
    install(tree, package)
    image.build_initramfs(package, directory, boot / "initramfs.cpio")
    keep_headers(tree, directory / "headers")
    shutil.rmtree(package)
    shutil.rmtree(tree)


def inputs(name, stopwatch):
    """What the kernel `name` is made of: Debian's package, patches, variant, and a digest of it all."""
    line, _, kind = name.partition("-")
    variant = VARIANTS[kind]
    with cache.lock():
        deb = source.package(line, stopwatch)
    patches = [patch for series in variant.series for patch in source.patches(line, series)]
    key = cache.digest(deb.name, image.INIT, HERE / "guest.py", *(HERE / file for file in variant.configs),
                       *map(source.changes, patches), *(CHANNEL if variant.channel else ()))
    return deb, patches, variant, key


def get(name, stopwatch):
    """The directory of the kernel `name`: boot/vmlinux and boot/initramfs.cpio, and headers/."""
    deb, patches, variant, key = inputs(name, stopwatch)
    with cache.lock(f"guest-kernel-{name}"):
        return cache.entry(f"guest-kernel-{name}", key,
                           lambda directory: build(directory, deb, patches, variant, name, stopwatch))
