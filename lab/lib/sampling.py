# SPDX-License-Identifier: Apache-2.0
"""Reads the emulated CPUs' registers beside the run, where the oracle is there (lab/oracle/sampler.py)."""
import importlib
import importlib.util
import threading


class Sampler:
    """Samples from start() to stop() into `file`; does nothing where there is no sampler."""

    def __init__(self, monitor, file, seed):
        self.monitor, self.file, self.seed = monitor, file, seed
        self.over = threading.Event()
        self.thread = None
        self.error = None

    def start(self):
        if not importlib.util.find_spec("lab.oracle.sampler"):
            return
        module = importlib.import_module("lab.oracle.sampler")

        def body():
            try:
                module.sample_live(str(self.monitor), self.over.is_set, str(self.file), self.seed)
            except OSError as error:    # the emulator went away: the run says so itself
                self.error = str(error)
        self.thread = threading.Thread(target=body, daemon=True)
        self.thread.start()

    def stop(self):
        self.over.set()
        if self.thread:
            self.thread.join(timeout=20)
