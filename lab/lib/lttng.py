# SPDX-License-Identifier: Apache-2.0
"""LTTng for the lab's machines: its kernel modules, built from Debian's package against Debian's kernel.

Debian ships the modules as source for DKMS.  Built that way they lack the x86 KVM probes, whose headers are not
in the kernel's header packages: they are taken from the kernel's source package.  Debian 12's modules
(2.13.9) know kernels up to 6.1's line, not 6.12's.
"""
import os
import re
import shutil
import subprocess

from . import cache, command, headers, paths
from .failure import Failure

KERNELS = ("6.1",)
PROGRAMS = ("/usr/bin/lttng", "/usr/bin/lttng-sessiond",
            "/usr/lib/x86_64-linux-gnu/lttng/libexec/lttng-consumerd")
# Its daemon does not start without.
SCHEMA = "/usr/share/xml/lttng/session.xsd"
# Left out: file systems and devices that no machine of the lab has.
PROBES = ("block", "irq", "kvm", "kvm-x86", "kvm-x86-mmu", "napi", "net", "power", "printk", "sched", "signal",
          "skb", "statedump", "timer", "udp", "workqueue", "x86-exceptions", "x86-irq-vectors")
# Header-only parts of the kernel's source that the probes include.
KVM_HEADERS = ("arch/x86/kvm/*.h", "virt/kvm/*.h")
# Stable kernels since 6.1.1xx tell the tracepoint hrtimer_start whether the timer was armed; the modules do not know.
HRTIMER_FILE = "include/instrumentation/events/timer.h"
HRTIMER_WAS = "struct hrtimer *hrtimer, enum hrtimer_mode mode)"
HRTIMER_ARGUMENTS = "TP_ARGS(hrtimer, mode)"


def package_names(release):
    line = ".".join(release.split(".")[:2])
    return (*headers.package_names(release), f"linux-source-{line}", "lttng-modules-dkms")


def add_kvm_headers(source_package, tree):
    """Streams the headers out of the source archive within the package; the rest is not written."""
    done = subprocess.run(
        ["sh", "-c", 'dpkg-deb --fsys-tarfile "$0" | tar -xO --wildcards "./usr/src/linux-source-*.tar.xz" | '
         'tar -xJ --strip-components=1 -C "$1" --wildcards ' +
         " ".join(f"'*/{pattern}'" for pattern in KVM_HEADERS), source_package, tree],
        capture_output=True, text=True)
    if done.returncode or not (tree / "arch/x86/kvm/lapic.h").exists():
        raise Failure(f"no KVM headers in {source_package.name}: {done.stderr.strip()[-200:]}")


def teach_was_armed(source):
    """The one change that the modules need."""
    path = source / HRTIMER_FILE
    before, mark, after = path.read_text().partition("\ttimer_hrtimer_start,\n")
    if not mark or HRTIMER_WAS not in after:
        return
    after = after.replace(HRTIMER_WAS, HRTIMER_WAS[:-1] + ", bool was_armed)", 1)
    after = after.replace(HRTIMER_ARGUMENTS, HRTIMER_ARGUMENTS[:-1] + ", was_armed)", 1)
    path.write_text(before + mark + after)


def has_was_armed(tree):
    text = (tree / "include/trace/events/timer.h").read_text()
    start = text.index("TRACE_EVENT(hrtimer_start")
    return "was_armed" in text[start:start + 400]


def only_wanted_probes(source):
    """Keeps Kbuild from building the others: half of the time."""
    path = source / "src/probes/Kbuild"
    wanted = {f"lttng-probe-{name}.o" for name in PROBES}

    def keep(match):
        return match.group(0) if match.group(1) in wanted else f"# {match.group(1)} is not wanted"

    path.write_text(re.sub(r"obj-\S+\s*\+=\s*(lttng-probe-[\w-]+\.o)", keep, path.read_text()))


def in_order(modules):
    """Files such that each comes after those it needs, and the other modules they need."""
    names = {path.stem.replace("-", "_"): path for path in modules}
    needs = {name: [need for need in command.output("modinfo", "-F", "depends", path).strip().split(",") if need]
             for name, path in names.items()}
    order, foreign = [], []

    def add(name):
        for need in needs.get(name, []):
            add(need.replace("-", "_"))
        target = order if name in names else foreign
        if name not in target:
            target.append(name)

    for name in sorted(names):
        add(name)
    return [names[name] for name in order], foreign


def build(directory, debs, release, stopwatch):
    root = directory / "root"
    unpacked = [deb for deb in debs if not deb.name.startswith("linux-source")]
    tree = headers.unpack(unpacked, release, root, root, stopwatch)
    common = headers.common(tree)
    with stopwatch.step("KVM's headers from the kernel's source"):
        add_kvm_headers(next(deb for deb in debs if deb.name.startswith("linux-source")), common)
    [source] = (root / "usr/src").glob("lttng-modules-*")
    if has_was_armed(common):
        teach_was_armed(source)
    only_wanted_probes(source)
    with stopwatch.step("building LTTng's modules"):
        command.output("make", "-s", f"-j{os.cpu_count()}", f"KERNELDIR={tree}", cwd=source)
    built = [path for path in (source / "src").rglob("*.ko") if "tests" not in path.parts]
    order, foreign = in_order(built)
    modules = directory / "modules"
    modules.mkdir()
    for path in order:
        shutil.copy(path, modules)
        command.output("strip", "-g", modules / path.name)
    (modules / "order").write_text("".join(path.name + "\n" for path in order))
    (modules / "needs").write_text("".join(name + "\n" for name in foreign))
    shutil.rmtree(root)


def get(kernel_line, image, stopwatch):
    """A directory with the modules, the file `order` (one name a line, for insmod) and `needs` (for modprobe before)."""
    if kernel_line not in KERNELS:
        raise Failure(f"Debian 12's LTTng modules do not build for kernel {kernel_line}; use "
                      f"--kernel {KERNELS[0]}")
    with cache.lock():
        debs = headers.download(package_names(image.release), headers.image_version(kernel_line, stopwatch),
                                stopwatch, "kernel headers and LTTng's modules")
        key = cache.digest(*sorted(deb.name for deb in debs), paths.LAB / "lib/lttng.py",
                           paths.LAB / "lib/headers.py")
        place = cache.entry(f"lttng-{kernel_line}", key,
                            lambda directory: build(directory, debs, image.release, stopwatch))
        return place / "modules"
