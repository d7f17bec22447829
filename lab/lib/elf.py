# SPDX-License-Identifier: Apache-2.0
"""Copies programs of this system together with the shared libraries they need."""
import re
import shutil
import subprocess
from pathlib import Path

from . import command

# Loaded by name while a program runs, so that ldd does not show it: pthread_exit() needs it.
LATE = ("/lib/x86_64-linux-gnu/libgcc_s.so.1",)


def libraries(program):
    """The files of the shared libraries of `program`; none for a static one."""
    done = subprocess.run([command.find("ldd"), str(program)], capture_output=True, text=True)
    return re.findall(r"(/\S+) \(0x", done.stdout)


def copy(root, path, source=None):
    """Copies the file `source` (default: `path` of this system) to `path` below `root`."""
    target = Path(root) / str(path).lstrip("/")
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source or path, target)
        target.chmod(Path(source or path).stat().st_mode & 0o777)


def copy_with_libraries(root, program):
    for path in (program, *libraries(program), *LATE):
        copy(root, path)
