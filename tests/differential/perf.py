#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 120
"""Every sample of a perf.data, field by field, as perf itself reads it; and the same from perf's CTF.

perf script hands each tracepoint's fields to perf_fields.py.  It leaves out samples that were taken
while a guest ran (it wants the guest's symbols first): those are counted in its dump.

usage: perf.py [PERF.DATA...]; without any, those of samples/lab.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
import lib  # noqa: E402

FIELD = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\[[^]]*\]|\S+)(?: |$)')
SAMPLES_MIN = 3000  # fewer would say little


def perf(*arguments, **keywords):
    return subprocess.run(["perf", *map(str, arguments)], capture_output=True, text=True, errors="replace", **keywords).stdout


def perfs_events(path, scratch):
    """[time, cpu, tid, system, event, fields] of each sample that was not taken in a guest."""
    out = perf("script", "-i", path, "-s", HERE / "perf_fields.py", cwd=scratch)
    return [json.loads(line) for line in out.splitlines() if line.startswith("[")]


def guests_samples(path):
    """How many samples perf script leaves out: PERF_RECORD_MISC_GUEST_KERNEL is 4, _USER 5."""
    dump = perf("report", "-D", "-i", path)
    return len(re.findall(r"PERF_RECORD_SAMPLE\(IP, 0x[45]\)", dump)), len(re.findall(r"PERF_RECORD_SAMPLE\(", dump))


def own_events(path):
    out = lib.run(lib.SONDE, "events", path, "--format", "json")
    return [e for e in map(json.loads, out.splitlines()) if e["name"] not in ("comm", "lost")]


def value_of(text):
    if text[0] == '"':
        return json.loads(text)
    return json.loads(text) if text[0] == "[" else int(text)


def fields_of(event):
    return {k: value_of(v) for k, v in FIELD.findall(event["fields"])}


def same(theirs, ours):
    """perf gives arrays of numbers as bytes, text with something behind its NUL, too; and signs some numbers that have none."""
    if isinstance(theirs, list) and isinstance(ours, str):
        return bytes(theirs).split(b"\0")[0] == ours.encode()
    if isinstance(theirs, list) and isinstance(ours, list):
        size = len(theirs) // len(ours) if ours else 1
        mine = b"".join((n % (1 << 8 * size)).to_bytes(size, "little") for n in ours)
        return list(mine) == theirs[:len(mine)]
    if isinstance(theirs, int) and isinstance(ours, int):
        return (theirs - ours) % (1 << 64) == 0
    return theirs == ours


def key(time, cpu, tid, name):
    return (time, cpu, tid, name)


def compare_perf(path, scratch):
    theirs, ours = perfs_events(path, scratch), own_events(path)
    left_out, samples = guests_samples(path)
    lib.check(samples >= SAMPLES_MIN, f"{path}: only {samples} samples")
    lib.check(len(ours) == samples, f"{path}: perf dumps {samples} samples, Sonde reads {len(ours)}")
    lib.check(len(theirs) == samples - left_out, f"{path}: perf script shows {len(theirs)} of {samples} samples, {left_out} of guests")
    # Several of one kind may have the same time: they are told apart by their order.
    nth, by_key, fields = Counter(), {}, 0
    for e in ours:
        k = key(e["ticks"], e["cpu"], e["tid"], e["name"])
        by_key[k, nth[k]] = e
        nth[k] += 1
    nth.clear()
    for time, cpu, tid, _, name, own in theirs:
        k = key(time, cpu, tid, name)
        e = by_key.get((k, nth[k]))
        nth[k] += 1
        lib.check(e, f"{path}: Sonde has no {name} at {time} on CPU {cpu} of thread {tid}")
        mine = fields_of(e)
        for field, value in own.items():
            fields += 1
            lib.check(field in mine and same(value, mine[field]),
                      f"{path}: {name} at {time}: {field}: perf {value}, Sonde {mine.get(field)}")
    print(f"{path.name}: {len(ours)} samples, {len(theirs)} shown by perf script: {fields} fields equal")


def compare_ctf(path, scratch):
    """The CTF that perf makes of it has the same events; those of guests included."""
    ctf = scratch / "ctf"
    done = subprocess.run(["perf", "data", "convert", "--force", "--to-ctf", ctf, "-i", path], capture_output=True, text=True)
    if not (ctf / "metadata").exists():
        print(f"this perf writes no CTF: {done.stderr.strip()[-200:]}")
        return
    ours, theirs = own_events(path), own_events(ctf)
    lib.check(len(ours) == len(theirs), f"{path}: {len(ours)} events, {len(theirs)} in its CTF")
    # perf sorts within two rounds; what is older than that stands at a wrong place in its CTF.
    late = re.search(r"(\d+) out of order", done.stderr + done.stdout)
    late = int(late[1]) if late else 0
    in_ctf = {key(e["t"], e["cpu"], e["tid"], e["name"]): e for e in theirs}
    missing = 0
    for e in ours:
        other = in_ctf.get(key(e["t"], e["cpu"], e["tid"], e["name"]))
        missing += other is None
        mine, others = fields_of(e), fields_of(other) if other else {}
        lib.check(not other or other["kind"] == e["kind"], f"{path}: {e} is {other} in its CTF")
        for field, value in mine.items() if other else ():
            lib.check(same_in_ctf(value, others.get(field)), f"{path}: {e['name']} at {e['t']}: {field}: {value}, in its CTF {others.get(field)}")
    lib.check(missing <= late, f"{path}: {missing} events are not in its CTF; perf told of {late}")
    print(f"{path.name}: {len(theirs) - missing} events equal in its CTF, {missing} at a wrong time there")
    if not late:
        same_report(path, ctf, scratch)


def same_in_ctf(ours, theirs):
    return theirs is None or isinstance(ours, (list, str)) or same(ours, theirs)


def same_report(path, ctf, scratch):
    """The CPU time of each machine, from the one and from the other."""
    sums = []
    for source in (path, ctf):
        lib.run(lib.SONDE, "analyze", "-q", "-o", scratch / "run.sonde", source)
        rows = json.loads(lib.run(lib.SONDE, "report", scratch / "run.sonde", "-t", "machine_time", "--format", "json"))
        sums.append(rows["machine_time"])
    lib.check(sums[0] and sums[0] == sums[1], f"{path}: CPU time is {sums[0]}, from its CTF {sums[1]}")


def placed(scratch, *sources):
    """Where the guest is found to be, and how well its clock is known."""
    lib.run(lib.SONDE, "analyze", "-q", "-o", scratch / "run.sonde", *sources)
    clocks = json.loads(lib.run(lib.SONDE, "report", scratch / "run.sonde", "-t", "clock", "--format", "json"))["clock"]
    tree = lib.run(lib.SONDE, "tree", scratch / "run.sonde")
    return re.search(r"found by: (.*)", tree)[1], [clock for clock in clocks if clock["machine"] != "L0"]


def compare_mixtures(host, guest, scratch):
    """perf.data beside perf's CTF: what is known does not depend on what it is stored in."""
    ctf = {}
    for path in (host, guest):
        ctf[path] = scratch / path.stem
        subprocess.run(["perf", "data", "convert", "--force", "--to-ctf", ctf[path], "-i", path], capture_output=True, check=False)
        if not (ctf[path] / "metadata").exists():
            return
    want = placed(scratch, host, guest)
    lib.check(want[1], "no guest is placed")
    for mixture in ((host, ctf[guest]), (ctf[host], guest), (ctf[guest], ctf[host])):
        lib.check(placed(scratch, *mixture) == want, f"{mixture}: {placed(scratch, *mixture)}, of two perf.data {want}")
    print(f"{host.name} and {guest.name}, each as perf.data and as CTF: the guest is placed alike: {want[0]}")


def main():
    lib.need("perf")
    files = [Path(p) for p in sys.argv[1:]]
    for archive in [] if files else lib.archives("perf-data-*"):
        files += sorted(lib.unpacked(archive).glob("*.data"))
    lib.check(files, "there is no perf.data")
    for path in files:
        with tempfile.TemporaryDirectory() as scratch:
            compare_perf(path, Path(scratch))
            compare_ctf(path, Path(scratch))
    pair = {path.name: path for path in files}
    if not sys.argv[1:] and {"host.data", "guest.data"} <= set(pair):
        with tempfile.TemporaryDirectory() as scratch:
            compare_mixtures(pair["host.data"], pair["guest.data"], Path(scratch))


main()
