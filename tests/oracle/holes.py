#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 400
"""What the hardware did against histories of damaged traces: a hole may make a history silent, never wrong.

The sets oracle-* (see hardware.py) are damaged with a seed: packets taken out of an LTTng stream, a stretch of it filled with
zeros, its end or all of it missing; the same with the pages of a trace.dat file.  In each layer; streams each in turn.  A sample
of the hardware must then be named as before, or not at all, and no vCPU that it runs on be said to wait; and where nothing was
taken away, the history must still know.

usage: holes.py [SEEDS]: that many holes of each kind in each machine (default 1)
"""

import bisect
import csv
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402
from fused import LAYERS, History  # noqa: E402
from hardware import programs_of  # noqa: E402
from lab.oracle.judge import judge  # noqa: E402

PAGE = 4096
ZEROS = 240 << 10
CTF_CONTENT_SIZE = 48       # in an LTTng packet, in bytes: where its content's size stands ...
CTF_BODY = 32 + 52          # ... and where its events begin
L2_MIN = 8                  # samples of an L2 whose L1 has no trace; 12 of 34, and all 159 where addresses tell
KNOWN_MIN = 0.8             # of the samples, over all holes, are named all the same
WRONG_TIME_NS = 1_000_000   # see hardware.py
CPUS_MAX = 2                # of a machine, in these sets
OFF_CPU = {"waiting", "preempted"}
OFF_CPU_CONTROL = 100       # samples of each set; 1,900 and 1,600 of other machines' vCPUs are off the CPU


class Stream:
    """A CTF stream file and its index."""
    def __init__(self, path):
        self.path, self.index = path, path.parent / "index" / (path.name + ".idx")
        data = self.index.read_bytes()
        size = struct.unpack(">4I", data[:16])[3]
        self.head = data[:16]
        self.entries = [data[at:at + size] for at in range(16, len(data), size)]

    def place(self, nr):
        offset, bits = struct.unpack(">2Q", self.entries[nr][:16])
        return offset, bits // 8

    def remove(self, first, last):
        """Packets [first, last), from the file and from the index."""
        data, out, kept = self.path.read_bytes(), bytearray(), []
        for nr, entry in enumerate(self.entries):
            offset, length = self.place(nr)
            if not first <= nr < last:
                kept.append(struct.pack(">Q", len(out)) + entry[8:])
                out += data[offset:offset + length]
        self.path.write_bytes(out)
        self.index.write_bytes(self.head + b"".join(kept))


def zero(path, at, length):
    with path.open("r+b") as f:
        f.seek(at)
        f.write(bytes(length))


def streams_of(machine):
    return [Stream(path) for path in sorted((machine / "lttng/kernel").glob("ch0_*"))]


def lttng_packets(machine, rng):
    stream = rng.choice([s for s in streams_of(machine) if len(s.entries) > 1])
    nr = rng.randrange(0, len(stream.entries) - 1)
    stream.remove(nr, nr + 1)
    return f"packet {nr} of {stream.path.name} ({len(stream.entries)})"


def lttng_last_packets(machine, rng):
    stream = rng.choice([s for s in streams_of(machine) if len(s.entries) > 1])
    nr = rng.randrange(1, len(stream.entries))
    stream.remove(nr, len(stream.entries))
    return f"packets {nr}.. of {stream.path.name} ({len(stream.entries)})"


def lttng_zeros(machine, rng):
    stream = rng.choice(streams_of(machine))
    at = rng.randrange(0, stream.path.stat().st_size - ZEROS)
    zero(stream.path, at, ZEROS)
    return f"zeros at {at} of {stream.path.name}"


def lttng_stream(machine, rng, cpu):
    streams = streams_of(machine)
    if cpu >= len(streams):
        return None
    streams[cpu].path.unlink()
    streams[cpu].index.unlink()
    return f"{streams[cpu].path.name} missing"


def lttng_cut(machine, rng):
    stream = rng.choice(streams_of(machine))
    size = rng.randrange(stream.path.stat().st_size)
    with stream.path.open("r+b") as f:
        f.truncate(size)
    return f"{stream.path.name} cut to {size}"


def places_of(path):
    """Where a trace.dat has its CPUs' pages."""
    text = subprocess.run(["trace-cmd", "dump", "--flyrecord", "-i", path], capture_output=True, text=True, check=True).stdout
    lines = [line.split() for line in text.splitlines() if "[id, data offset and size]" in line]
    return [(int(line[1]), int(line[2])) for line in lines if int(line[2])]


def dat_zeros(machine, rng):
    path = machine / "trace.dat"
    offset, length = rng.choice(places_of(path))
    at = offset + rng.randrange(0, max(length - ZEROS, PAGE)) // PAGE * PAGE
    zero(path, at, min(ZEROS, offset + length - at))
    return f"zeros at {at} ({(at - offset) / length:.0%} of a CPU)"


def dat_tail(machine, rng):
    """As a disk that is full leaves it: the CPU's file has a hole to its end."""
    path = machine / "trace.dat"
    offset, length = rng.choice(places_of(path))
    at = offset + rng.randrange(length // 4, length) // PAGE * PAGE
    zero(path, at, offset + length - at)
    return f"zeros from {at} on ({(at - offset) / length:.0%} of a CPU)"


def dat_stream(machine, rng, cpu):
    path, places = machine / "trace.dat", places_of(machine / "trace.dat")
    if cpu >= len(places):
        return None
    zero(path, *places[cpu])
    return f"zeros over CPU {cpu}"


def dat_torn(machine, rng):
    """Half of a page was never written."""
    path = machine / "trace.dat"
    offset, length = rng.choice(places_of(path))
    at = offset + rng.randrange(0, length) // PAGE * PAGE
    zero(path, at + PAGE // 2, PAGE // 2)
    return f"half of the page at {at} is zero"


def lttng_unsaid(machine, rng):
    """A packet says that it is empty: nothing counts what is missing."""
    stream = rng.choice([s for s in streams_of(machine) if len(s.entries) > 1])
    stream.index.unlink()
    nr = rng.randrange(0, len(stream.entries))
    with stream.path.open("r+b") as f:
        f.seek(stream.place(nr)[0] + CTF_CONTENT_SIZE)
        f.write(struct.pack("<Q", CTF_BODY * 8))
    return f"packet {nr} of {stream.path.name} empty ({len(stream.entries)})"


def gone(machine, rng):
    """The VM in which another runs has no trace."""
    if machine.name != "L1a":
        return None
    shutil.rmtree(machine)
    return "all of it is missing"


def dat_unsaid(machine, rng):
    """Pages that say that they are empty: nothing counts what is missing."""
    path = machine / "trace.dat"
    offset, length = rng.choice(places_of(path))
    pages = length // PAGE
    first = rng.randrange(0, pages - 2)
    with path.open("r+b") as f:
        for page in range(first, min(first + ZEROS // PAGE, pages - 1)):
            f.seek(offset + page * PAGE + 8)
            f.write(bytes(8))
    return f"pages from {first} on empty ({first / pages:.0%} of a CPU)"


LTTNG = [gone, lttng_unsaid, lttng_packets, lttng_last_packets, lttng_zeros, lttng_stream, lttng_cut]
DAT = [gone, dat_unsaid, dat_zeros, dat_tail, dat_stream, dat_torn]
EACH_CPU = {lttng_stream: CPUS_MAX, dat_stream: CPUS_MAX}


def traces_of(directory):
    return [directory / layer / ("lttng/kernel" if (directory / layer / "lttng").exists() else "trace.dat")
            for layer in LAYERS if (directory / layer).exists()]


def damaged_copy(whole, scratch, layer, kind, rng):
    """A copy in which only the damaged machine is one."""
    directory = scratch / "damaged"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    for other in LAYERS:
        if other == layer:
            shutil.copytree(whole / other, directory / other)
        else:
            (directory / other).symlink_to(whole / other)
    return directory, kind(directory / layer, rng)


def judge_hole(directory, samples, scratch):
    history = scratch / "run.sonde"
    history.unlink(missing_ok=True)
    done = subprocess.run([lib.SONDE, "analyze", *traces_of(directory), "-o", history], capture_output=True, text=True)
    if not history.exists():    # another exit status may only say that something is left out
        return None, None, done.stderr.strip()
    history = History(history)
    return history, judge(history, samples), done.stderr.strip()


def says_sound(trace):
    return subprocess.run([lib.SONDE, "check", trace], capture_output=True, text=True).returncode == 0


def says_less(history, v):
    """Unknown; or a guest without a thread: the one, one around it, or one that nobody could name."""
    if v.outside() or v.state.mode == "unknown":
        return True
    nameless = any(re.match(r"vm-(tid)?[0-9]+$", part) for part in v.state.machine.split("."))
    return v.state.tid < 0 and (nameless or v.state.machine in ancestry(history, v.sample.machine))


def ancestry(history, name):
    """A machine and those it runs in, but for the outermost: that one has no host that could know it only as a guest."""
    machines = history.tables["machine"]
    by_name = {row["name"]: row for row in machines}
    found = []
    while name in by_name and int(by_name[name]["parent"]) >= 0:
        found.append(name)
        name = machines[int(by_name[name]["parent"])]["name"]
    return found


class Vcpus:
    """What the history says of vCPUs' states."""
    def __init__(self, history):
        self.machines = {row["name"]: row for row in history.tables["machine"]}
        self.tracks = {}
        query = "select machine, cpu, begin, end, text from states where kind = 'vcpu_state' order by begin"
        told = subprocess.run([lib.SONDE, "sql", "-i", history.path, "--format", "csv", query], capture_output=True, text=True,
                              check=True).stdout
        for machine, cpu, begin, end, state in list(csv.reader(told.splitlines()))[1:]:
            self.tracks.setdefault(machine, {}).setdefault(cpu, []).append((int(begin), int(end), state))

    def of(self, sample):
        """Machines that hold what the hardware ran: the sample's, known by its name or as the only nested one."""
        nested = {name for name, row in self.machines.items() if row["level"] == "2"}
        return {sample.machine} & self.tracks.keys() or (nested & self.tracks.keys() if sample.group == "L2" else set())

    def is_off(self, cpus, v):
        """All of them are said to be off the CPU, all around the moment."""
        for track in cpus.values():
            at = bisect.bisect_right(track, (v.time, 1 << 63, "")) - 1
            if at < 0:
                return False
            begin, end, state = track[at]
            if state not in OFF_CPU or min(v.time - begin, end - v.time) <= max(v.bound, 0):
                return False
        return True

    def denied(self, v):
        """Whether it says of all vCPUs that may run the sample that they do not."""
        of = self.of(v.sample)
        return bool(of) and all(self.is_off(self.tracks[name], v) for name in of)

    def others_off(self, v):
        return sum(self.is_off(self.tracks[name], v) for name in self.tracks.keys() - self.of(v.sample))


def wrong(history, v):
    return not v.agrees() and not says_less(history, v) and v.distance() > v.bound


def try_hole(what, damaged, trace, samples, scratch, sums):
    history, judged, told = judge_hole(damaged, samples, scratch)
    if judged is None:
        print(f"{what}: refused: {told.splitlines()[-1][:150]}")
        return
    misses = [v for v in judged if wrong(history, v)]
    found = {"named": sum(v.agrees() for v in judged), "wrong": len(misses)}
    found["unknown"] = len(judged) - sum(found.values())
    vcpus = Vcpus(history)
    found["vCPU off"] = len(denied := [v for v in judged if vcpus.denied(v)])
    for key, nr in found.items():
        sums[key] += nr
    sums["others off"] += sum(vcpus.others_off(v) for v in judged)
    sums["control"] += sum(wrong(history, v) for v in judge(history, samples, WRONG_TIME_NS))
    check = "nothing" if not trace else "sound" if says_sound(trace) else "not sound"
    print(f"{what}: {found}; check says {check}", flush=True)
    of_l2 = sum(v.agrees() for v in judged if v.sample.group == "L2")
    lib.check(trace or of_l2 > L2_MIN, f"of L2, whose L1 has no trace, {of_l2} samples are named")
    for v in misses[:3] + denied[:3]:
        print("   ", v.says())


def run_set(directory, kinds, seeds, scratch):
    samples = list(programs_of(directory))
    sums = {"named": 0, "unknown": 0, "wrong": 0, "control": 0, "vCPU off": 0, "others off": 0}
    for kind in kinds:
        for layer in LAYERS:
            for seed in range(EACH_CPU.get(kind, seeds)):
                rng = random.Random(f"{kind.__name__} {layer} {seed}")
                damaged, what = damaged_copy(directory, scratch, layer, partial(kind, cpu=seed) if kind in EACH_CPU else kind, rng)
                if what is None:
                    continue
                trace = next((t for t in traces_of(damaged) if layer in t.parts), None)
                try_hole(f"{kind.__name__} {layer}: {what}", damaged, trace, samples, scratch, sums)
    print(sums)
    return sums


def plain_set(directory, scratch):
    """The same with pages that are not compressed, so that single ones can be damaged."""
    if not shutil.which("trace-cmd"):
        lib.skip("no trace-cmd to write plain pages with")
    plain = scratch / "plain"
    for layer in LAYERS:
        (plain / layer).mkdir(parents=True)
        subprocess.run(["trace-cmd", "convert", "-i", directory / layer / "trace.dat", "-o", plain / layer / "trace.dat",
                        "--compression", "none"], capture_output=True, check=True)
    for name in ("truth.json", "samples-l0.json"):
        shutil.copy(directory / name, plain)
    return plain


def main():
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        lttng = run_set(lib.shared_set("oracle-lttng-1"), LTTNG, seeds, scratch)
        plain = run_set(plain_set(lib.shared_set("oracle-ftrace-tsc-1"), scratch), DAT, seeds, scratch)
    for sums in (lttng, plain):
        lib.check(not sums["wrong"], f"{sums['wrong']} samples are told wrongly")
        lib.check(not sums["vCPU off"], f"{sums['vCPU off']} samples ran on a vCPU that is said not to run")
        lib.check(sums["others off"] > OFF_CPU_CONTROL, f"hardly any vCPU is said not to run: {sums}")
        lib.check(sums["named"] > KNOWN_MIN * (sums["named"] + sums["unknown"]), f"too little is known: {sums}")
        lib.check(sums["control"] > sums["named"] / 4, "a wrong time is noticed")


if __name__ == "__main__":
    main()
