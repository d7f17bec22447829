# SPDX-License-Identifier: Apache-2.0
"""The second disk of every machine, /lab there: what is the project's own and this run's plans.

    bin/    sonde, sonde-agent, the workloads, what --put names      lib/    their shared libraries
    guest/  the scripts that carry out the plans                     plan/   one file per machine
    lttng/  LTTng's modules, where the scenario needs them (lttng.py)
    kvm/    KVM's modules for L0, where they are not to be the kernel's own (lab/kernels/kvm.py)
    boot/   the guests' kernel, where it is not to be L0's (lab/kernels/guest.py)
"""
import os
import shutil
import subprocess
from pathlib import Path

from . import command, elf, image, lttng, paths, plan
from .failure import Failure


def build_programs(stopwatch):
    """Brings the lab's own programs up to date; make knows how."""
    with stopwatch.step("building the lab's programs"):
        done = subprocess.run([command.find("make"), "-s", "-j2", "lab-programs"],
                              cwd=paths.REPOSITORY, capture_output=True, text=True)
    if done.returncode:
        raise Failure("make lab-programs failed:\n" + done.stderr[-2000:])


def programs():
    own = [paths.BUILD / "sonde", paths.BUILD / "sonde-agent", *sorted(paths.PROGRAMS.glob("*"))]
    return [path for path in own if path.is_file() and os.access(path, os.X_OK)]


def add_program(root, program):
    shutil.copy(program, root / "bin")
    for library in elf.libraries(program):
        if "/ld-linux" not in library:
            shutil.copy(library, root / "lib")


def add_lttng(root, modules):
    shutil.copytree(modules, root / "lttng")
    shutil.copy(lttng.SCHEMA, root / "lttng")
    for program in lttng.PROGRAMS:
        if not Path(program).exists():
            raise Failure(f"{program} is not installed; run: tools/install-deps lab")
        add_program(root, program)


def make(scenario, put, directory, extras):
    """The payload's file system for one run; `put` are more files for its bin/, `extras` directories by the
    name of the folder that they become, of those that not every run has."""
    root = directory / "payload"
    for folder in ("bin", "lib", "plan"):
        (root / folder).mkdir(parents=True)
    shutil.copytree(paths.GUEST, root / "guest")
    for program in [*programs(), *map(Path, put)]:
        add_program(root, program)
    for name, extra in extras.items():
        if name == "lttng":
            add_lttng(root, extra)
        else:
            shutil.copytree(extra, root / name)
    for machine in scenario.machine:
        (root / "plan" / machine.name).write_text(plan.text(scenario, machine))
    image.make_ext4(root, directory / "payload.ext4", 8)
    return directory / "payload.ext4"
