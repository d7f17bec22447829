#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sonde stolen shows what a host tells, out of a file that stands for the guest's device: sums, stretches one by one, JSON; and says what is
wrong when the device is something else, or nobody tells. sonde share tells nobody who is not named."""
import json
import re
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402

PAGE, RING, RINGS, NONCE = 4096, 4096, 2, 0x1234
HZ = 1_000_000_000
HOST, VM, OWN, NOBODY, HYPERVISOR = range(5)
LAST_WORD = 2**64 - 1


class FakeHost:
    """Tells of CPU 0, ten times a second: 5 ms of another VM, 1 ms of a task of the host."""

    def __init__(self, path):
        self.file = open(path, "w+b", buffering=0)
        self.put(0, struct.pack("<8sIIQIIQ3Q", b"SONDESTL", 1, RINGS, NONCE, RING, 0, PAGE + RINGS * RING, 0, 0, 0))
        for cpu in range(RINGS):
            self.put(PAGE + cpu * RING, struct.pack("<8sIIQII4Q", b"SONDESTR", 1, cpu, NONCE, cpu, RING, 0, 0, 0, 0))
        self.file.truncate(PAGE + RINGS * RING)
        self.tellings = self.written = self.tsc = 0
        self.totals = [[0, 0, 0] for _ in range(5)]
        self.stop = threading.Event()

    def put(self, at, data):
        self.file.seek(at)
        self.file.write(data)

    def stretch(self, kind, length, reason=2**32 - 1):
        slot = self.written % ((RING - 256) // 32)
        self.written += 1
        self.put(PAGE + 256 + slot * 32, struct.pack("<QQQBBHI", self.written, self.tsc, length, kind, kind == VM, 0, reason))
        total = self.totals[kind]
        total[:] = total[0] + length, total[1] + 1, max(total[2], length)

    def tell(self, begun=None):
        self.tellings += 1
        ended = begun or self.tellings
        self.put(PAGE + 64, struct.pack("<Q", ended))
        self.stretch(VM, 5_000_000)
        self.stretch(HOST, 1_000_000)
        self.stretch(HYPERVISOR, 30_000, 0x78)
        self.tsc += HZ // 10
        self.put(PAGE + 72, struct.pack("<QQQQII", self.written, self.tsc, 0, HZ, 400, 0) +
                 b"".join(struct.pack("<3Q", *total) for total in self.totals))
        self.put(PAGE + 232, struct.pack("<Q", ended))

    def run(self):
        while not self.stop.is_set():
            self.tell()
            time.sleep(0.1)


def sonde(*arguments, code=0):
    done = subprocess.run([lib.SONDE, "stolen", *map(str, arguments)], capture_output=True, text=True)
    lib.check(done.returncode == code, f"sonde stolen {arguments}: exit code {done.returncode}, {done.stderr}")
    return done.stdout if not code else done.stderr


def check_sums(device):
    window, = json.loads(sonde("--device", device, "-d", "1s", "--format", "json"))
    cpu, = window["cpus"]
    tellings = cpu["other_vm"]["count"]
    lib.check(cpu["cpu"] == 0 and 6 <= tellings <= 14, f"CPU 0 was told of, CPU 1 was not: {window}")
    lib.check(cpu["span_ns"] == tellings * 100_000_000, f"the time that was told of: {cpu}")
    lib.check([cpu[k]["ns"] for k in ("host", "other_vm", "own_vm", "nobody", "hypervisor")] ==
              [tellings * 1_000_000, tellings * 5_000_000, 0, 0, tellings * 30_000], f"its classes: {cpu}")
    lib.check(cpu["stolen_ns"] == tellings * 6_000_000 and not cpu["missed"], f"their sum: {cpu}")
    lib.check((cpu["longest_ns"], cpu["longest_by"]) == (5_000_000, "other_vm"), f"the longest: {cpu}")
    lib.check(isinstance(cpu["proc_stat_steal_ns"], int), f"what /proc/stat says: {cpu}")
    text = sonde("--device", device, "-n", "2", "--delay", "300ms")
    rows = re.findall(r"^ *0 +60\.0 ms/s +10\.0 ms/s +50\.0 ms/s +0\.0 ms/s +0\.0 ms/s +0\.3 ms/s +5\.000 ms another VM", text, re.M)
    lib.check(len(rows) == 2, f"two windows of the same: {text}")
    lib.check("nothing lost" in text and "/proc/stat" not in text, text)
    lib.check("/proc/stat" in sonde("--device", device, "-d", "300ms"), "a summary is beside /proc/stat")


def check_list(device):
    stretches = json.loads(sonde("--device", device, "--list", "-d", "1s", "--format", "json"))
    lib.check(len(stretches) >= 15, f"{len(stretches)} stretches")
    lib.check({s["by"] for s in stretches} == {"host", "other_vm", "hypervisor"}, "of all classes")
    lib.check(all(s["migrated"] == (s["by"] == "other_vm") for s in stretches), "which of them migrated")
    lib.check([s["begin_tsc"] for s in stretches] == sorted(s["begin_tsc"] for s in stretches), "in order of time")
    text = sonde("--device", device, "--list", "-d", "600ms")
    lib.check(re.search(r"^\d\d:\d\d:\d\d\.\d{6}  cpu 0  30\.00 us  hypervisor \(.*hlt.*\)$", text, re.M | re.I), f"an exit with its name: {text}")
    lib.check("another VM, then on another physical CPU" in text, text)


def check_restart(device, host):
    """Another host tells from the beginning: totals that fall are no time."""
    host.stop.set()
    time.sleep(0.3)
    host.tell(LAST_WORD)
    timer = threading.Timer(0.7, lambda: (setattr(host, "tellings", 0), setattr(host, "written", 0),
                                          setattr(host, "totals", [[0, 0, 0] for _ in range(5)]), host.tell(), host.tell()))
    timer.start()
    window, = json.loads(sonde("--device", device, "-d", "1s", "--format", "json"))
    timer.join()
    cpu, = window["cpus"]
    lib.check(cpu["other_vm"]["ns"] <= 10_000_000, f"two tellings since it began anew: {cpu}")


def check_who_may_listen():
    """Nobody whom the operator does not name."""
    for arguments, said in (((), "who may listen?"), (("--vm", "a", "--resolution", "2s"), "at most 1s"),
                            (("--vm", "a", "--resolution", "0"), "not a time")):
        done = subprocess.run([lib.SONDE, "share", *arguments], capture_output=True, text=True)
        lib.check(done.returncode == 2 and said in done.stderr, f"sonde share {arguments}: {done.returncode}, {done.stderr}")


def main():
    check_who_may_listen()
    with tempfile.TemporaryDirectory() as name:
        device = Path(name) / "device"
        lib.check("module sonde_guest" in sonde("--device", device, code=1), "there is no device")
        device.write_bytes(b"x" * 8192)
        lib.check("is not the memory of sonde_guest" in sonde("--device", device, code=1), "some other file")
        host = FakeHost(device)
        lib.check("the host tells nothing" in sonde("--device", device, code=1), "nobody tells")
        thread = threading.Thread(target=host.run)
        thread.start()
        try:
            check_sums(device)
            check_list(device)
            check_restart(device, host)
        finally:
            host.stop.set()
            thread.join()
        sonde("--device", device, "-d", "soon", code=2)
        sonde("what", code=2)


main()
