# SPDX-License-Identifier: Apache-2.0
"""Takes what the machines left on their output disks: each wrote one tar archive from its first byte on."""
import subprocess

from . import command


def unpack(disk, directory):
    """Gives False for a disk that nothing complete was written to."""
    directory.mkdir(parents=True, exist_ok=True)
    done = subprocess.run([command.find("tar"), "-xf", disk, "-C", directory], capture_output=True)
    return done.returncode == 0


def everything(emulator, directory):
    """Unpacks each machine's output into directory/MACHINE; gives the names of those that left nothing."""
    return [name for name, disk in emulator.outputs.items() if not unpack(disk, directory / name)]
