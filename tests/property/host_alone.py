#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 120
"""What a host's trace alone tells of its VMs, against the traces of all of them.

Of a VM's requests its host sees kicks and interrupts.  Whatever is made of them must be among what the
VM's own trace says (less_specific), and there must be something.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402
from property import cuts  # noqa: E402

# The host's part of each set, and how many requests are known from its trace alone, at least.
SETS = {"lttng": ("host0", 45), "ftrace": ("host0.dat", 6), "perf": ("host.data", 4),
        "lab-multi-lttng": ("L0", 560), "lab-multi-ftrace-tsc": ("L0", 430)}
COUNT = "select count(*) from io_list where kind = 'unknown'"


def check(name, host, least, scratch):
    runner = cuts.Runner(scratch, name)
    alone, history = scratch / "cut" / name, scratch / "cut.sonde"
    cuts.copy_linked(runner.whole, alone)
    for part in alone.iterdir():
        if part.name != host:
            shutil.rmtree(part) if part.is_dir() else part.unlink()
    done = cuts.analyse(alone, history)
    lib.check(done.returncode == 0, f"{name}: {done.stderr}")
    wrong, _ = runner.compare(history)
    lib.check(not wrong, f"{name}: {len(wrong)} wrong: {wrong[:3]}")
    told = subprocess.run([str(lib.SONDE), "sql", "--format", "csv", str(history), COUNT], check=True,
                          capture_output=True, text=True).stdout.split()[-1]
    lib.check(int(told) >= least, f"{name}: only {told} requests are known")
    more = {line.split("\t")[1] for line in runner.compare(history, swapped=True)[0]}
    lib.check("io_list" in more, f"{name}: that the whole run knows more of requests was not found")
    print(f"{name}: {told} requests known from the host's trace alone")


def main():
    left_out = []
    for name, (host, least) in SETS.items():
        if name.startswith("lab-") and not lib.archives(name):
            left_out.append(name)
            continue
        with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as tmp:
            check(name, host, least, Path(tmp))
    if left_out:
        print(f"not there: {' '.join(left_out)}")


if __name__ == "__main__":
    main()
