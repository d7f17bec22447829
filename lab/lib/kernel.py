# SPDX-License-Identifier: Apache-2.0
"""From a kernel package: the plain kernel and the modules a machine of the lab loads.

QEMU starts a plain ELF kernel directly (PVH); decompressing it here saves each machine seconds in emulation.
"""
import lzma
import shutil
import struct
import subprocess
import zlib

from . import command
from .failure import Failure

# What each machine may load; modprobe adds what these need.
MODULES = ("virtio_pci", "virtio_blk", "ext4", "virtio_net", "virtio_console", "kvm-amd", "kvm-intel", "tun",
           "bridge", "vhost_net", "vhost_vsock", "vmw_vsock_virtio_transport", "veth")
# The first of them, loaded before there is a root file system.
BOOT_MODULES = ("virtio_pci", "virtio_blk", "ext4")


def payload(image):
    """The compressed kernel inside a bzImage.

    Its place is in the header that the boot protocol defines (Documentation/arch/x86/boot.rst of Linux):
    setup_sects at 0x1f1, payload_offset at 0x248 from the end of the setup sectors, payload_length at 0x24c.
    """
    if image[0x202:0x206] != b"HdrS":
        raise Failure("not a bzImage")
    begin = (image[0x1f1] + 1) * 512 + struct.unpack_from("<I", image, 0x248)[0]
    return image[begin:begin + struct.unpack_from("<I", image, 0x24c)[0]]


def decompress(data):
    """A kernel image's payload is one compressed stream and then four bytes of its length."""
    if data.startswith(b"\xfd7zXZ\0"):
        return lzma.LZMADecompressor().decompress(data)
    if data.startswith(b"\x1f\x8b"):
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data)
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        done = subprocess.run([command.find("zstd"), "-dcq"], input=data[:-4], capture_output=True)
        return done.stdout
    raise Failure(f"a kernel compressed in an unknown way (it begins with {data[:6].hex()})")


def extract_vmlinux(package, destination):
    [image] = (package / "boot").glob("vmlinuz-*")
    kernel = decompress(payload(image.read_bytes()))
    if not kernel.startswith(b"\x7fELF"):
        raise Failure(f"{image.name} does not hold an ELF kernel")
    destination.write_bytes(kernel)


def release(package):
    """What uname -r says under this kernel."""
    [image] = (package / "boot").glob("vmlinuz-*")
    return image.name.removeprefix("vmlinuz-")


def prepare_modules(package):
    """modprobe finds modules through these indexes; a package that is not installed lacks them."""
    command.output("depmod", "-b", package, release(package))


def module_files(package, names):
    """The files of these modules and of what they need, in an order that insmod can follow."""
    files = []
    for name in names:
        text = command.output("modprobe", "-d", package, "-S", release(package), "--show-depends", name)
        for line in text.splitlines():
            path = line.split()[1] if line.startswith("insmod ") else None
            if path and path not in files:
                files.append(path)
    return files


def copy_module(path, directory):
    """Copies one module, decompressed and without debug information; gives its new name."""
    directory.mkdir(parents=True, exist_ok=True)
    name = path.rsplit("/", 1)[1]
    target = directory / name.removesuffix(".xz")
    if name.endswith(".xz"):
        with lzma.open(path) as source:
            target.write_bytes(source.read())
    else:
        shutil.copyfile(path, target)
    command.output("strip", "-g", target)
    return target.name
