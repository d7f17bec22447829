#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 120
"""perf.data files of a host and its VM, from the files to what a user reads.

What the report says is held against the files' own bytes, read here by a few lines of Python: exits
and switches counted, who ran.  Then the same with bytes damaged, and with the host's file alone.
"""

import json
import re
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402

SAMPLE, IDENTIFIER_AT, TID_AT, CPU_AT = 9, 8, 28, 40  # of samples with number, address, thread, time, CPU, period, record
BOUND_MAX_NS = 1_000_000


class File:
    """Records of a perf.data whose samples all have the same form."""

    def __init__(self, path):
        self.data = path.read_bytes()
        _, _, _, _, self.begin, self.length = struct.unpack_from("<6Q", self.data, 8)

    def samples(self):
        """(offset, CPU, common_type, common_pid, the tracepoint's record) in the order of the file."""
        at = self.begin
        while at < self.begin + self.length:
            kind, _, size = struct.unpack_from("<IHH", self.data, at)
            if kind == SAMPLE:
                cpu, = struct.unpack_from("<I", self.data, at + CPU_AT)
                raw = self.data[at + 60:at + size]
                yield at, cpu, struct.unpack_from("<H", raw)[0], struct.unpack_from("<i", raw, 4)[0], raw
            at += size

    def number(self, event):
        return int(re.search(rb"name: " + event.encode() + rb"\nID: (\d+)\n", self.data)[1])

    def count(self, event):
        number = self.number(event)
        return sum(1 for _, _, kind, _, _ in self.samples() if kind == number)


def analyzed(scratch, *paths, status=0):
    done = subprocess.run([lib.SONDE, "analyze", "-q", "-o", scratch / "run.sonde", *paths], capture_output=True, text=True)
    lib.check(done.returncode == status, f"analyze {paths}: {done.returncode}: {done.stderr}")
    return scratch / "run.sonde"


def rows(run, section):
    return json.loads(lib.run(lib.SONDE, "report", run, "-t", section, "--format", "json"))[section]


def both(host, guest, scratch):
    run = analyzed(scratch, host, guest)
    tree = lib.run(lib.SONDE, "tree", run)
    lib.check(re.search(r"vm-a +\d+ +VM, process 179, .*its CPU 0 is active only while thread 368 of L0 runs a guest", tree),
              f"the guest's place is found from what both did: {tree}")
    lib.check("thread CPU 0/KVM[368]" in tree, f"the vCPU's thread has its name: {tree}")
    clock = {row["machine"]: row for row in rows(run, "clock")}
    lib.check(clock["vm-a"]["violations"] == 0 and 0 < clock["vm-a"]["bound"] < BOUND_MAX_NS, f"its clock is bounded: {clock}")
    times = rows(run, "machine_time")
    span = json.loads(lib.run(lib.SONDE, "report", run, "-t", "machine_time", "--format", "json"))
    total = (span["end"] - span["begin"]) * 2
    lib.check(sum(row["total"] for row in times) == total, f"{times} are not {total} ns")
    threads = {(row["machine"], t["comm"]): (t["pid"], t["tid"]) for row in rows(run, "thread_time") for t in [row["thread"]] if t}
    lib.check(threads["L0", "CPU 0/KVM"] == (179, 368) and threads["L0", "spin-32"] == (678, 678) and threads["vm-a", "spin"] == (452, 452),
              f"threads, their names and processes: {threads}")
    exits = sum(row["count"] for row in rows(run, "exits"))
    counted = File(host).count("kvm_exit")
    lib.check(abs(exits - counted) <= 2, f"{exits} exits, {counted} in the file: at most one at each end has no entry")
    lib.check("sound" in lib.run(lib.SONDE, "check", run), "the history is sound")
    return {row["machine"]: row for row in times}


def events_counted(path):
    """What `events` prints is what the file has, and each CPU's switches follow from each other."""
    file = File(path)
    names = Counter(json.loads(line)["name"] for line in lib.run(lib.SONDE, "events", path, "--format", "json").splitlines())
    for event in ("sched_switch", "sys_enter", "hrtimer_start"):
        lib.check(names[event] == file.count(event) > 20, f"{path}: {names[event]} of {event}, {file.count(event)} in the file")


def host_alone(host, scratch):
    run = analyzed(scratch, host)
    tree = lib.run(lib.SONDE, "tree", run)
    lib.check("not traced" in tree and "thread CPU 0/KVM[368]" in tree, f"the VM is seen from the host alone: {tree}")


def damaged(host, guest, whole, scratch):
    """200 samples zeroed: their time is unknown, and no machine has more of anything that is known."""
    file = File(host)
    places = [at for at, *_ in file.samples()]
    broken = scratch / "broken.data"
    data = bytearray(file.data)
    data[places[3000]:places[3200]] = bytes(places[3200] - places[3000])
    broken.write_bytes(data)
    run = analyzed(scratch, broken, guest)
    lost = [row for row in rows(run, "gap") if row["machine"] == "L0"]
    lib.check(lost, "the report tells of the loss")
    lib.check("are no records" in lib.run(lib.SONDE, "info", run), "and of the bytes")
    times = {row["machine"]: row for row in rows(run, "machine_time")}
    lib.check(times["L0"]["unknown"] > whole["L0"]["unknown"], f"unknown: {times['L0']}, whole: {whole['L0']}")


def another_thread(host, scratch):
    """A sample's thread is another than its record's: that one is damaged, wherever it stands; names stay."""
    def names(path):
        return len(lib.run(lib.SONDE, "sql", analyzed(scratch, path), "select distinct comm from threads", "--format", "csv").splitlines())

    whole, file = names(host), File(host)
    threads = [at for at, _, _, tid, _ in file.samples() if tid > 0]
    for at in (threads[0], threads[50]):
        data = bytearray(file.data)
        tid, = struct.unpack_from("<I", data, at + TID_AT)
        struct.pack_into("<I", data, at + TID_AT, tid + 1000)
        (scratch / "other.data").write_bytes(data)
        part = names(scratch / "other.data")
        print(f"{part} of {whole} names with one thread's number altered")
        lib.check(whole > 20 and part >= whole - 1, f"{part} of {whole} names of threads")


def killed(host, scratch):
    """perf record that was killed has not written how many bytes there are."""
    data = bytearray(host.read_bytes())
    data[48:56] = bytes(8)
    (scratch / "killed.data").write_bytes(data)
    done = subprocess.run([lib.SONDE, "analyze", "-o", scratch / "x", scratch / "killed.data"], capture_output=True, text=True)
    lib.check(done.returncode and "was not finished" in done.stderr, f"a killed recording is told: {done.stderr}")


def main():
    archives = lib.archives("perf-data-*", places=[lib.SAMPLES])
    lib.check(archives, "there are perf.data files in samples/lab")
    folder = lib.unpacked(archives[0])
    host, guest = folder / "host.data", folder / "guest.data"
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        whole = both(host, guest, scratch)
        for path in (host, guest):
            events_counted(path)
        host_alone(host, scratch)
        damaged(host, guest, whole, scratch)
        killed(host, scratch)
        another_thread(host, scratch)


main()
