#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sonde top of this host says of a thread what the kernel's own accounting says: how long it ran, and how
long it was ready and did not.  /proc/PID/schedstat is read all the while.  Its clock is not that of the
trace: there must be one difference of the two with which all of top's numbers are the kernel's."""

import bisect
import json
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402

WINDOW_MS, WINDOWS = 400, 3
STEP_NS = 1000000  # differences of the clocks that are tried
# A reading is of some moment while it was read, and a running thread's is as old as its last tick.
TOLERANCE = 0.03
TRIES = 3


def burn(nap_s):
    """Busy, with naps: a share that is neither all nor nothing.  Ahead of others: the kernel counts a
    wait when it ends, so that long ones could not be compared."""
    os.setpriority(os.PRIO_PROCESS, 0, -16)
    while True:
        end = time.monotonic() + 0.013
        while time.monotonic() < end:
            pass
        time.sleep(nap_s)


def schedstat(pid):
    ran, waited, _ = Path(f"/proc/{pid}/schedstat").read_text().split()
    return int(ran), int(waited)


class Sampler(threading.Thread):
    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.samples, self.stop = pid, [], False

    def run(self):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), -18)
        while not self.stop:
            before = time.monotonic_ns()
            values = schedstat(self.pid)
            self.samples.append(((before + time.monotonic_ns()) // 2, *values))
            time.sleep(0.004)

    def at(self, t):
        """How long it had run, and waited, by then."""
        i = bisect.bisect(self.samples, (t,))
        (t0, *a), (t1, *b) = self.samples[i - 1], self.samples[i]
        return [x + (y - x) * (t - t0) / (t1 - t0) for x, y in zip(a, b)]


def shares_told(told, pid):
    for window in told:
        row = next(t for t in window["threads"] if t["thread"]["tid"] == pid)
        yield (row["run"] + row["irq"]) / row["all"], row["run_delay"] / row["all"]


def worst(told, samplers, offset):
    """How far the most different number is from the kernel's."""
    most = 0
    for sampler in samplers:
        for window, shares in zip(told, shares_told(told, sampler.pid)):
            begin, end = sampler.at(window["begin"] + offset), sampler.at(window["end"] + offset)
            for share, x, y in zip(shares, begin, end):
                most = max(most, abs(share - (y - x) / (window["end"] - window["begin"])))
    return most


def compare():
    workers = [multiprocessing.Process(target=burn, args=(nap,), daemon=True) for nap in (0.004, 0.02)]
    for worker in workers:
        worker.start()
        os.sched_setaffinity(worker.pid, {0})  # they wait for each other
    samplers = [Sampler(worker.pid) for worker in workers]
    for sampler in samplers:
        sampler.start()
    time.sleep(0.5)
    told = json.loads(lib.run(lib.SONDE, "top", "-b", "-n", WINDOWS, "-d", f"{WINDOW_MS}ms",
                              "--format", "json", "--threads", 5000))
    time.sleep(0.5)
    for worker, sampler in zip(workers, samplers):
        sampler.stop = True
        sampler.join()
        worker.kill()
    first = max(s.samples[0][0] for s in samplers) - told[0]["begin"]
    last = min(s.samples[-1][0] for s in samplers) - told[-1]["end"]
    best = min(worst(told, samplers, offset) for offset in range(first + 1, last, STEP_NS))
    for sampler in samplers:
        text = ", ".join(f"ran {ran:.1%} and was kept {kept:.1%}" for ran, kept in shares_told(told, sampler.pid))
        print(f"{sampler.pid}: {text}")
    print(f"differs from the kernel's by {best:.2%} of the time at most")
    return best


def main():
    # A machine that is busy otherwise can spoil a reading.
    lib.check(any(compare() <= TOLERANCE for _ in range(TRIES)), "top and the kernel's accounting differ")


if __name__ == "__main__":
    lib.need(str(lib.SONDE))
    if os.geteuid():
        lib.skip("the live part needs root")
    if subprocess.run([str(lib.SONDE), "record", "--check"], capture_output=True).returncode:
        lib.skip("this machine cannot record: sonde record --check tells why")
    main()
