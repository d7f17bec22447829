# SPDX-License-Identifier: Apache-2.0
"""A limit in seconds of one's share of the machine, instead of seconds on the wall: beside four busy loops on two CPUs a
second counts a third, at least a tenth.  So what is slow because others run is waited for, and what hangs is not."""
import os
import re
import time
from pathlib import Path

SHARE_MIN = 0.1
LOOK_SECONDS = 0.5  # how often to look at left(), at least: the share is that of the moment of the look


def share_of_machine():
    """Of the processors, what each of those that want one gets at this moment."""
    try:
        wanted = re.search(r"^procs_running (\d+)", Path("/proc/stat").read_text(), re.M)
    except OSError:
        return 1.0
    others = int(wanted[1]) - 1 if wanted else 0    # without this look itself
    return max(min((os.cpu_count() or 1) / max(others, 1), 1.0), SHARE_MIN)


class Patience:
    """How much of a limit is left; infinite ones are, too."""

    def __init__(self, seconds):
        self.seconds, self.looked = seconds, time.monotonic()

    def left(self):
        """Seconds that are left; none, or below, when the limit is reached."""
        now = time.monotonic()
        self.seconds -= (now - self.looked) * share_of_machine()
        self.looked = now
        return self.seconds
