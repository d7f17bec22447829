# SPDX-License-Identifier: Apache-2.0
"""Where the time went, and progress while it goes."""
import contextlib
import sys
import time


class Stopwatch:
    """Measures named steps; says each one as it begins, on standard error unless it is quiet."""

    def __init__(self, quiet=False):
        self.quiet = quiet
        self.started = time.monotonic()
        self.steps = []

    def elapsed(self):
        return time.monotonic() - self.started

    def say(self, text):
        if not self.quiet:
            print(f"[{self.elapsed():6.1f}] {text}", file=sys.stderr, flush=True)

    @contextlib.contextmanager
    def step(self, name):
        self.say(name)
        begin = time.monotonic()
        try:
            yield
        finally:
            self.steps.append((name, time.monotonic() - begin))

    def table(self):
        """The steps and the total, one line each; a step that took no time to speak of is left out."""
        lines = [f"  {seconds:7.1f} s  {name}" for name, seconds in self.steps if seconds >= 0.05]
        return "\n".join(lines + [f"  {self.elapsed():7.1f} s  in all"])
