# SPDX-License-Identifier: Apache-2.0
"""The options that lab/run and lab/check share, and what follows from them."""
from pathlib import Path

from lab.qemu import fixed

from . import engine, paths, scenario


def add_to(parser):
    parser.add_argument("-o", dest="directory", type=Path,
                        help="default: build/lab/runs/SCENARIO-KERNEL")
    parser.add_argument("--kernel", choices=scenario.KERNELS)
    parser.add_argument("--kvm", choices=scenario.KVMS,
                        help="L0's KVM: the kernel's own (stock), or with the patches of kernel/patches")
    parser.add_argument("--guest-kernel", choices=scenario.OWN_KERNELS,
                        help="what guests boot, when it is not to be Debian's kernel (lab/kernels/README.md)")
    parser.add_argument("--host-kernel", choices=scenario.OWN_KERNELS,
                        help="what L0 boots: such a kernel as the outermost machine, several times as fast as inside one")
    parser.add_argument("--tracer", choices=scenario.TRACERS, help="instead of the scenario's")
    parser.add_argument("--accel", choices=scenario.ACCELERATORS,
                        help="instead of the scenario's: tcg emulates; count does it counting instructions, on one CPU; kvm needs nested virtualization that works")
    parser.add_argument("--qemu", metavar="fixed|stock|PROGRAM",
                        help="the outermost emulator: the one of lab/qemu/build, Debian's, or another;"
                             " default: fixed if it has been built, else stock")
    parser.add_argument("--tries", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--limit", type=int, help="seconds for one try, of this machine's share: beside other work they last longer")
    parser.add_argument("--within", type=int, metavar="SECONDS",
                        help="no other try begins when so much time is gone")
    parser.add_argument("--wait", type=int, metavar="SECONDS",
                        help="how long to wait for another lab run on this machine (default: as long as"
                             " it takes)")
    parser.add_argument("--seed", type=int, default=1, help="of the sampler's random moments")
    parser.add_argument("-q", dest="quiet", action="store_true", help="no progress")


def choose(name, given):
    """The scenario, with what the options change."""
    chosen = scenario.load(name)
    chosen.kernel = given.kernel or chosen.kernel
    chosen.kvm = given.kvm or chosen.kvm
    chosen.guest_kernel = given.guest_kernel or chosen.guest_kernel
    chosen.host_kernel = given.host_kernel or chosen.host_kernel
    chosen.tracer = given.tracer or chosen.tracer
    chosen.accel = given.accel or chosen.accel
    return chosen


def directory(chosen, given):
    return given.directory or paths.BUILD / "lab/runs" / f"{chosen.name}-{chosen.kernel}"


def of_engine(where, given, stopwatch, put=(), commands=()):
    return engine.Options(where, fixed.choose(given.qemu, stopwatch), given.tries,
                          given.limit, given.within, given.wait, given.seed, put=list(put),
                          commands=list(commands))
