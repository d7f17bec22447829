# SPDX-License-Identifier: Apache-2.0
"""The outermost machine: QEMU, emulating the CPUs (or, if asked, with KVM).

Its control port is a virtio port behind a socket; its monitor is another socket, for the sampler.
"""
import subprocess
from pathlib import Path

from . import command, counter, plan

# nokaslr and mitigations=off keep addresses and costs alike between runs; the emulated timers are too coarse
# for the kernel's check of them, and its counter is good.
KERNEL_WORDS = ("console=ttyS0 quiet mitigations=off nokaslr no_timer_check tsc=reliable "
                "random.trust_cpu=on oops=panic panic=-1")
# An AMD CPU with SVM.  Left out is what QEMU 7.2 cannot emulate, so that it does not say so, and XSAVE with AVX: in
# guests, what the emulated XSAVE stores and what CPUID says of its size differ.
EPYC = ("EPYC,+svm,-rdseed,-sha-ni,-fxsr-opt,-misalignsse,-3dnowprefetch,-osvw,-topoext,-nrip-save,"
        "-xsave,-xsavec,-xsaveopt,-xsaves,-xgetbv1,-avx,-avx2,-fma,-f16c")
ACCELERATORS = {"tcg": ["-accel", "tcg,thread=multi", "-cpu", EPYC],
                # One CPU that executes one instruction per nanosecond, and skips idle time: lab/cost counts with it.
                "count": ["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off", "-cpu", EPYC],
                "kvm": ["-accel", "kvm", "-cpu", "host"]}
DISK_BYTES = 8 << 30    # sparse


def disk(number, serial, file, options="cache=unsafe"):
    return ["-drive", f"if=none,format=raw,id=d{number},file={file},{options}",
            "-device", f"virtio-blk-pci,drive=d{number},serial={serial}"]


class Emulator:
    """One QEMU process.  `directory` holds its sockets and disks and is the caller's."""

    def __init__(self, scenario, image, payload, directory, program=None):
        self.directory = Path(directory)
        self.control = self.directory / "control"
        self.monitor = self.directory / "monitor"
        self.outputs = {}
        host = scenario.machine[0]
        rate = f"tsc_early_khz={counter.khz()}" if scenario.accel == "tcg" else ""
        arguments = [program or command.find("qemu-system-x86_64"), *ACCELERATORS[scenario.accel],
                     "-machine", "pc", "-smp", str(host.cpus), "-m", str(host.memory),
                     "-nodefaults", "-display", "none", "-no-reboot",
                     "-kernel", image.vmlinux, "-initrd", image.initramfs,
                     "-serial", "stdio",
                     "-device", "virtio-serial-pci",
                     "-chardev", f"socket,id=control,path={self.control},server=on,wait=off",
                     "-device", "virtserialport,chardev=control,name=control",
                     "-monitor", f"unix:{self.monitor},server=on,wait=off",
                     "-append", f"{KERNEL_WORDS} {rate} {host.command_line} "
                                f"lab.machine={host.name} lab.index=0",
                     *disk("0", "root", image.root, "readonly=on,cache=unsafe"),
                     *disk("1", "payload", payload, "readonly=on,cache=unsafe")]
        for number, (serial, file) in enumerate(self.make_disks(scenario)):
            arguments += disk(number + 2, serial, file)
        self.process = subprocess.Popen(list(map(str, arguments)), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        preexec_fn=command.die_with_parent)

    def make_disks(self, scenario):
        for machine in scenario.machine:
            for serial in plan.disks_of(machine):
                file = self.directory / serial
                scratch = serial.startswith("scratch")
                with open(file, "wb") as handle:
                    handle.truncate(machine.disk << 20 if scratch else DISK_BYTES)
                if not scratch:
                    self.outputs[machine.name] = file
                yield serial, file

    def stop(self):
        """Ends it, however it is."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
