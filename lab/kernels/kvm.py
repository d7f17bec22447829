# SPDX-License-Identifier: Apache-2.0
"""KVM with the patches of kernel/patches/*/nested, as modules for Debian's own kernel.

Only KVM is built, against the headers and the symbol versions of the stock kernel, so that everything else in the
machine stays what Debian ships.  With it come the selftest of the series, and Debian's module msr.
"""
import os
import shutil

from ..lib import cache, command, headers, kernel, packages, paths
from . import source

SERIES = "nested"
MODULES = ("kvm.ko", "kvm-amd.ko", "kvm-intel.ko")
PARAMETERS = "nested_hypercall=1"
# What KVM and its selftests are made of, and what exporting the kernel's headers to these takes.
PARTS = ("arch/x86/*", "include/*", "virt/kvm/*", "scripts/*", "usr/*", "Makefile", "tools/arch/x86/include/*",
         "tools/build/*", "tools/include/*", "tools/lib/*.c", "tools/scripts/*", "tools/testing/selftests/kvm/*",
         "tools/testing/selftests/kselftest*.h", "tools/testing/selftests/lib.mk", "tools/testing/selftests/rseq/*")
TEST = "nested_hypercall_test"


def make(*arguments):
    command.output("nice", "-n", "10", "make", "-s", f"-j{os.cpu_count()}", *arguments)


def build_modules(tree, kernel_headers, destination):
    """The patched KVM takes the place of its headers among the stock kernel's."""
    common = headers.common(kernel_headers)
    for part in ("arch/x86/kvm", "arch/x86/include", "include", "virt/kvm"):
        shutil.copytree(tree / part, common / part, dirs_exist_ok=True)
    # 6.12 makes BTF for modules, which needs pahole; nothing here needs the BTF.
    without = [] if shutil.which("pahole") else ["CONFIG_DEBUG_INFO_BTF_MODULES="]
    make("-C", kernel_headers, f"M={common / 'arch/x86/kvm'}", *without, "modules")
    for name in MODULES:
        command.output("strip", "-g", "-o", destination / name, common / "arch/x86/kvm" / name)


def write_notes(directory):
    """For guest/node: what to load before, and the parameters of kvm.ko."""
    needs = {need for name in MODULES
             for need in command.output("modinfo", "-F", "depends", directory / name).strip().split(",") if need}
    (directory / "needs").write_text("".join(f"{need}\n" for need in sorted(needs - {"kvm"})))
    (directory / "parameters").write_text(PARAMETERS + "\n")


def add_msr(kernel_package, directory, stopwatch):
    """Debian's driver with which user space in L1 writes an MSR; the images do not have it."""
    package = directory / "package"
    packages.unpack(kernel_package, package, stopwatch)
    kernel.prepare_modules(package)
    for path in kernel.module_files(package, ["msr"]):
        kernel.copy_module(path, directory)
    shutil.rmtree(package)


def build_test(tree, destination):
    make("-C", tree, "headers")
    directory = tree / "tools/testing/selftests/kvm"
    make("-C", directory, "ARCH=x86", directory / "x86_64" / TEST)
    command.output("strip", "-o", destination / TEST, directory / "x86_64" / TEST)


def build(directory, debs, deb, patches, kernel_line, release, stopwatch):
    tree, root = directory / "tree", directory / "root"
    with stopwatch.step("unpacking KVM's source"):
        source.extract(deb, tree, [*PARTS, *source.touched(patches)])
        source.apply(patches, tree)
    kernel_headers = headers.unpack(debs, release, root, root, stopwatch)
    with stopwatch.step("building KVM"):
        build_modules(tree, kernel_headers, directory)
        build_test(tree, directory)
    add_msr(packages.kernel_package(kernel_line, stopwatch), directory, stopwatch)
    write_notes(directory)
    shutil.rmtree(tree)
    shutil.rmtree(root)


def get(kernel_line, image, stopwatch):
    """A directory with the modules, and the selftest."""
    with cache.lock():
        deb = source.package(kernel_line, stopwatch)
        debs = headers.download(headers.package_names(image.release), headers.image_version(kernel_line, stopwatch),
                                stopwatch, "kernel headers")
        patches = source.patches(kernel_line, SERIES)
        key = cache.digest(deb.name, *sorted(path.name for path in debs), *map(source.changes, patches),
                           paths.LAB / "kernels/kvm.py")
        return cache.entry(f"kvm-{kernel_line}", key, lambda directory: build(
            directory, debs, deb, patches, kernel_line, image.release, stopwatch))
