#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 400
# alone: lab
"""sonde-agent in a guest that has nothing else: busybox, no /etc, no udev, no network; over its
virtio-serial port, into a run of `sonde record` on this machine."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from agents import check, lib, wait_until

sys.path.insert(0, str(lib.ROOT))
from lab.lib import engine, paths, stopwatch  # noqa: E402

TRIES = 2

INIT = """#!/bin/sh
/bin/busybox mount -t proc none /proc
/bin/busybox mount -t sysfs none /sys
/bin/busybox mount -t tracefs none /sys/kernel/tracing
/bin/busybox mount -t devtmpfs none /dev
while read module; do insmod /modules/$module; done </modules/order
insmod /virtio_console.ko
echo up >/dev/console
while :; do cat /proc/version >/dev/null; usleep 20000; done &
/sonde-agent --once >/dev/console 2>&1
echo "agent ended with $?" >/dev/console
poweroff -f
"""


def find_image():
    """The lab's image of 6.1, whose modules are not packed, if it has been made; this test is not worth making it."""
    images = sorted(paths.CACHE.glob("image-6.1-*"), key=lambda p: p.stat().st_mtime)
    if not images:
        lib.skip("the lab's image has not been made yet (make lab)")
    return images[-1]


def make_initramfs(image, directory):
    root = directory / "root"
    root.mkdir()
    release = (image / "release").read_text()
    module = f"/lib/modules/{release}/kernel/virtio_console.ko"
    lib.run("/sbin/debugfs", "-R", f"dump {module} {root}/virtio_console.ko", image / "root.ext4")
    check((root / "virtio_console.ko").stat().st_size > 0, f"{module} is not in the image")
    (root / "init").write_text(INIT)
    (root / "init").chmod(0o755)
    (root / "sonde-agent").write_bytes((lib.BUILD / "sonde-agent").read_bytes())
    (root / "sonde-agent").chmod(0o755)
    names = "init\nsonde-agent\nvirtio_console.ko\n"
    more = subprocess.run(["cpio", "--quiet", "-o", "-H", "newc", "-R", "0:0"], cwd=root, check=True,
                          input=names.encode(), stdout=subprocess.PIPE).stdout
    # The kernel unpacks one archive after the other: the second one's init is the one that runs.
    (directory / "initramfs").write_bytes((image / "initramfs.cpio").read_bytes() + more)


def boot(image, directory):
    return subprocess.Popen(
        ["qemu-system-x86_64", "-accel", "tcg", "-cpu", "max", "-m", "512", "-smp", "2",
         "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
         "-kernel", image / "vmlinux", "-initrd", directory / "initramfs",
         "-append", "console=ttyS0 quiet mitigations=off panic=-1 random.trust_cpu=on",
         "-serial", f"file:{directory}/console", "-device", "virtio-serial-pci",
         "-chardev", f"socket,id=sonde,path={directory}/port,server=on,wait=off",
         "-device", "virtserialport,chardev=sonde,name=org.sonde.agent"],
        stdin=subprocess.DEVNULL)


def attempt(image, directory):
    qemu = boot(image, directory)
    console = directory / "console"
    try:
        wait_until(lambda: console.exists() and "up" in console.read_text(errors="replace"),
                   "the guest is up", 60)
        done = subprocess.run(
            [lib.SONDE, "record", "-q", "-o", directory / "run", "--format", "json",
             "--guest", f"vm=unix:{directory}/port", "--guest-timeout", "30", "--", "sleep", "2"],
            stdout=subprocess.PIPE, timeout=150, check=False)
        check(done.returncode == 0, f"sonde record: exit status {done.returncode}")
        [guest] = json.loads(done.stdout)["guests"]
        check(guest["complete"] and guest["bytes"] > 100_000, guest)
        lib.run(lib.SONDE, "check", directory / "run")
        wait_until(lambda: "agent ended with 0" in console.read_text(errors="replace"),
                   "the agent ends", 20)
        qemu.wait(20)
    finally:
        if qemu.poll() is None:
            qemu.kill()
            qemu.wait()
        print(console.read_text(errors="replace")[-1500:])


def main():
    lib.need("qemu-system-x86_64", "cpio", "/sbin/debugfs", str(lib.BUILD / "sonde-agent"))
    if os.geteuid() or not Path("/sys/kernel/tracing/instances").exists():
        lib.skip("sonde record needs root and tracefs")
    image = find_image()
    for left in reversed(range(TRIES)):
        with tempfile.TemporaryDirectory() as scratch:
            directory = Path(scratch)
            make_initramfs(image, directory)
            begin = time.monotonic()
            try:
                with engine.alone(stopwatch.Stopwatch(quiet=True), 60):
                    attempt(image, directory)
            except engine.NoTrySucceeded as error:
                lib.skip(str(error))
            except AssertionError as error:
                if not left:
                    raise
                print(f"again, after: {error}")
                continue
            print(f"{time.monotonic() - begin:.1f} s")
            return


if __name__ == "__main__":
    main()
