# SPDX-License-Identifier: Apache-2.0
"""Bochs, and the disks of the machine that it emulates: a CD with kernel and initramfs (Bochs starts no kernel by itself), the
lab's root, what this run needs, and one for what it leaves behind.
"""
import os
import pty
import re
import shutil
import subprocess
import threading
import time
from pathlib import Path

from ..lib import cache, command, image, kernel, packages, paths
from ..lib.failure import Failure

HERE = Path(__file__).resolve().parent
HOST_MODULES = ("ata_piix", "sd_mod", "ext4")
GUEST_MODULES = ("virtio_pci", "virtio_blk", "ext4", "vmw_vsock_virtio_transport")
# What one second of the emulated machine is, in instructions; its counter counts them.
INSTRUCTIONS_PER_SECOND = 100_000_000
KERNEL_WORDS = ("console=ttyS0 quiet mitigations=off nokaslr no_timer_check tsc=reliable random.trust_cpu=on oops=panic panic=-1 "
                f"nox2apic tsc_early_khz={INSTRUCTIONS_PER_SECOND // 1000}")
GRUB = f"""\
set timeout=0
linux /boot/vmlinuz {KERNEL_WORDS}
initrd /boot/initramfs.cpio
boot
"""
GRUB_MODULES = "linux normal iso9660 biosdisk"
CYLINDER_BYTES = 16 * 63 * 512      # a disk is a whole number of them
OUT_BYTES = 400 * CYLINDER_BYTES
CONFIGURATION = """\
cpu: model=corei7_skylake_x, count=1, ips={rate}, reset_on_triple_fault=0, ignore_bad_msrs=1
megs: 1024
romimage: file={bios}
vgaromimage: file={vga}
display_library: {display}
ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14
ata1: enabled=1, ioaddr1=0x170, ioaddr2=0x370, irq=15
ata0-master: type=cdrom, path={cd}, status=inserted
ata0-slave: type=disk, mode=flat, path={root}
ata1-master: type=disk, mode=flat, path={payload}
ata1-slave: type=disk, mode=flat, path={out}
boot: cdrom
com1: enabled=1, mode=file, dev={serial}
clock: sync=none, time0=utc
log: {log}
info: action=ignore
"""


def initramfs(modules, init, destination, programs=()):
    """busybox, these modules, `init`, and `programs` without libraries."""
    root = destination.with_suffix(".files")
    for folder in ("bin", "proc", "sys", "dev", "root", "tmp", "modules"):
        (root / folder).mkdir(parents=True)
    image.busybox_links(root)
    for program in programs:
        shutil.copy(program, root / "bin")
    for name in (modules / "order").read_text().split():
        shutil.copy(modules / name, root / "modules")
    shutil.copy(modules / "order", root / "modules")
    shutil.copy(init, root / "init")
    command.output("sh", "-c", 'find . | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0 > "$0"', destination, cwd=root)
    shutil.rmtree(root)


def take_modules(package, names, directory):
    directory.mkdir()
    taken = [kernel.copy_module(path, directory) for path in kernel.module_files(package, names)]
    (directory / "order").write_text("\n".join(taken) + "\n")


def make_cd(package, directory, destination):
    tree = directory / "cd"
    (tree / "boot/grub").mkdir(parents=True)
    [compressed] = (package / "boot").glob("vmlinuz-*")
    shutil.copy(compressed, tree / "boot/vmlinuz")
    initramfs(directory / "host-modules", HERE / "init", tree / "boot/initramfs.cpio")
    (tree / "boot/grub/grub.cfg").write_text(GRUB)
    command.output("grub-mkrescue", "-d", "/usr/lib/grub/i386-pc", f"--install-modules={GRUB_MODULES}", "-o", destination, tree)
    shutil.rmtree(tree)


def boot_files(kernel_line, stopwatch):
    """A directory with boot.iso, and the guest's modules."""
    with cache.lock():
        package_file = packages.kernel_package(kernel_line, stopwatch)
        key = cache.digest(package_file.name, packages.installed_versions("busybox-static", "grub-pc-bin"), HERE / "init",
                           HERE / "machine.py")

        def build(directory):
            package = directory / "package"
            packages.unpack(package_file, package, stopwatch)
            with stopwatch.step("making the CD"):
                kernel.prepare_modules(package)
                take_modules(package, HOST_MODULES, directory / "host-modules")
                take_modules(package, GUEST_MODULES, directory / "guest-modules")
                make_cd(package, directory, directory / "boot.iso")
            shutil.rmtree(package)

        return cache.entry(f"bochs-{kernel_line}", key, build)


def pad(file):
    size = file.stat().st_size
    os.truncate(file, -(-size // CYLINDER_BYTES) * CYLINDER_BYTES)


def drain(terminal):
    """Reads what nobody needs: the kernel speaks over the serial line.  Bochs with a debugger has its screen on a terminal of
    its own, and stands still when that is full."""
    told = b""
    try:
        while chunk := os.read(terminal, 4096):
            told = (told + chunk)[-8192:]
            screen = re.search(rb'connected to screen "([^"]+)"', told)
            if screen:
                told = b""
                threading.Thread(target=drain, args=(os.open(screen[1], os.O_RDONLY | os.O_NOCTTY),), daemon=True).start()
    except OSError:     # its other end is closed
        pass


class Bochs:
    """One Bochs in `directory`, which is the caller's: bochsrc, serial, log, and the disk "out"."""

    def __init__(self, directory, cd, root, payload, program):
        self.directory = directory
        self.serial, self.out = directory / "serial", directory / "out"
        shutil.copy(root, directory / "root")
        for file in (directory / "root", payload):
            pad(file)
        with open(self.out, "wb") as out:
            out.truncate(OUT_BYTES)
        share = Path(os.environ.get("BXSHARE", "/usr/share/bochs"))
        configuration = directory / "bochsrc"
        configuration.write_text(CONFIGURATION.format(
            rate=INSTRUCTIONS_PER_SECOND, bios=share / "BIOS-bochs-latest", vga=share / "VGABIOS-lgpl-latest", cd=cd,
            display=os.environ.get("SONDE_BOCHS_DISPLAY", "term"), root=directory / "root", payload=payload, out=self.out,
            serial=self.serial, log=directory / "log"))
        # With Debian's one a debugger asks what to do before the first instruction.
        (directory / "commands").write_text("continue\n")
        debugger = [] if program else ["-rc", directory / "commands"]
        terminal, end = pty.openpty()
        self.process = subprocess.Popen(
            [str(word) for word in (program or command.find("bochs-bin"), "-q", "-f", configuration, *debugger)],
            stdin=end, stdout=end, stderr=end, env={**os.environ, "TERM": "xterm", "LINES": "25", "COLUMNS": "80"},
            preexec_fn=command.die_with_parent)
        os.close(end)
        threading.Thread(target=drain, args=(terminal,), daemon=True).start()

    def follow(self, limit_s, say):
        """Until it ends: says each line of the serial line as it comes."""
        shown, deadline = 0, time.monotonic() + limit_s
        while True:
            ended = self.process.poll() is not None
            text = self.serial.read_text(errors="replace") if self.serial.exists() else ""
            *lines, _ = text[shown:].split("\n")
            for line in lines:
                say(line)
            shown += sum(len(line) + 1 for line in lines)
            if ended:
                return text
            if time.monotonic() > deadline:
                self.process.kill()
                raise Failure(f"Bochs was stopped after {limit_s} s; see {self.directory}")
            time.sleep(1)
