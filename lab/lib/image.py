# SPDX-License-Identifier: Apache-2.0
"""The image that every machine of the lab starts from, at every level: kernel, initramfs, root file system.

The root holds what comes from Debian.  What is the project's own is in the payload (payload.py), so that a new
build of Sonde needs no new image.  All machines use the same root, read-only: an L1 machine starts its L2
from the kernel and initramfs in /boot of that root.
"""
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from . import cache, command, elf, kernel, packages, paths

PACKAGES = ("busybox-static", "qemu-system-x86", "qemu-system-data", "seabios", "trace-cmd",
            "util-linux", "libc6", "libtracefs1", "libtraceevent1", "libglib2.0-0")
PROGRAMS = ("/usr/bin/qemu-system-x86_64", "/usr/bin/trace-cmd", "/usr/bin/taskset",
            "/usr/bin/unshare", "/usr/bin/nsenter")
# Firmware of a "pc" machine without display: BIOS, and the loaders of -kernel.
FIRMWARE = ("/usr/share/seabios/bios-256k.bin", "/usr/share/qemu/pvh.bin",
            "/usr/share/qemu/linuxboot.bin", "/usr/share/qemu/linuxboot_dma.bin",
            "/usr/share/qemu/kvmvapic.bin")
FOLDERS = ("bin", "sbin", "proc", "sys", "dev", "tmp", "run", "mnt", "etc", "root", "data", "lab",
           "boot", "usr/bin", "usr/sbin", "usr/share/qemu", "var")
# Here the programs of util-linux can do more than busybox's of the same name.
NOT_BUSYBOX = ("busybox", "taskset", "unshare", "nsenter", "init")
INIT = paths.GUEST / "init"


@dataclass
class Image:
    """Files of one kernel's image, on this machine."""
    release: str
    vmlinux: Path
    initramfs: Path
    root: Path


def busybox_links(root):
    shutil.copy("/bin/busybox", root / "bin/busybox")
    for applet in command.output("/bin/busybox", "--list").split():
        if applet not in NOT_BUSYBOX:
            (root / "bin" / applet).symlink_to("busybox")


def build_initramfs(package, directory, destination):
    """busybox, the modules for a virtio disk with ext4, and guest/init."""
    root = directory / "initramfs"
    for folder in ("bin", "proc", "sys", "dev", "root", "modules"):
        (root / folder).mkdir(parents=True)
    busybox_links(root)
    names = [kernel.copy_module(path, root / "modules")
             for path in kernel.module_files(package, kernel.BOOT_MODULES)]
    (root / "modules/order").write_text("\n".join(names) + "\n")
    shutil.copy(INIT, root / "init")
    (root / "init").chmod(0o755)
    command.output("sh", "-c", 'find . | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0 > "$0"',
                   destination, cwd=root)
    shutil.rmtree(root)


def install_modules(package, root):
    release = kernel.release(package)
    directory = root / "lib/modules" / release
    for path in kernel.module_files(package, kernel.MODULES):
        kernel.copy_module(path, directory / "kernel")
    for name in ("modules.builtin", "modules.builtin.modinfo", "modules.order"):
        shutil.copy(package / "lib/modules" / release / name, directory)
    command.output("depmod", "-b", root, release)


def fill_root(package, root, boot_files):
    for folder in FOLDERS:
        (root / folder).mkdir(parents=True)
    busybox_links(root)
    for program in PROGRAMS:
        elf.copy_with_libraries(root, program)
    for path in FIRMWARE:
        elf.copy(root, path)
    (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (root / "etc/group").write_text("root:x:0:\n")
    (root / "etc/hosts").write_text("127.0.0.1 localhost\n")
    for link in ("var/run", "var/tmp"):
        (root / link).symlink_to("/run" if link.endswith("run") else "/tmp")
    (root / "etc/mtab").symlink_to("/proc/mounts")
    install_modules(package, root)
    for path in boot_files:
        os.link(path, root / "boot" / path.name)


def make_ext4(directory, file, spare_mib):
    """An ext4 file system with the files of `directory`; made without mounting, so without root."""
    used = sum(path.lstat().st_size + 4096 for path in directory.rglob("*"))
    size_mib = used // (1 << 20) + used // (20 << 20) + spare_mib
    command.output("mkfs.ext4", "-q", "-O", "^has_journal", "-m", "0", "-E", "root_owner=0:0",
                   "-d", directory, file, f"{size_mib}M")


def get(kernel_line, stopwatch, update=False):
    """The image for a kernel such as "6.1": from the cache, or built."""
    with cache.lock():
        package_file = packages.kernel_package(kernel_line, stopwatch, update)
        sources = sorted(Path(__file__).parent.glob("*.py"))
        recipe = [path for path in sources
                  if path.stem in ("image", "kernel", "elf")]
        key = cache.digest(package_file.name, packages.installed_versions(*PACKAGES), INIT, *recipe)

        def build(directory):
            package = directory / "package"
            packages.unpack(package_file, package, stopwatch)
            with stopwatch.step(f"building the image for kernel {kernel_line}"):
                kernel.prepare_modules(package)
                kernel.extract_vmlinux(package, directory / "vmlinux")
                build_initramfs(package, directory, directory / "initramfs.cpio")
                root = directory / "root"
                fill_root(package, root, (directory / "vmlinux", directory / "initramfs.cpio"))
                make_ext4(root, directory / "root.ext4", 16)
                shutil.rmtree(root)
                (directory / "release").write_text(kernel.release(package))
                shutil.rmtree(package)

        place = cache.entry(f"image-{kernel_line}", key, build)
        return Image((place / "release").read_text(), place / "vmlinux", place / "initramfs.cpio",
                     place / "root.ext4")
