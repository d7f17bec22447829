# SPDX-License-Identifier: Apache-2.0
"""Programs of the system that the lab needs, run with an error that can be read."""
import ctypes
import os
import shutil
import signal
import subprocess

from .failure import Failure

PATH = os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/sbin:/sbin"


def find(program):
    """The path of `program`; sbin is searched as well, because users have it not in their path."""
    path = shutil.which(program, path=PATH)
    if not path:
        raise Failure(f"{program} is not installed; run: tools/install-deps lab")
    return path


def die_with_parent():
    """For preexec_fn: whatever ends the thread that starts an emulator, SIGKILL, too, ends the emulator."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


def output(*arguments, **keywords):
    """Runs a program to its end and gives its standard output as text."""
    arguments = [find(arguments[0]), *map(str, arguments[1:])]
    done = subprocess.run(arguments, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          **keywords)
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or "it said nothing").splitlines()[-1]
        raise Failure(f"{' '.join(arguments[:3])} … failed ({done.returncode}): {last}")
    return done.stdout
