#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 240
"""Any mixture of traces.

The same traces give the same history, byte for byte up to the provenance: whatever the order of the
arguments, the number of threads, and, for trace.dat, the version of the file.  Traces that cannot be
placed change nothing of what is found without them, are listed with the reason, and are in the list of
all events.
"""

import itertools
import json
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402

SAMPLES = lib.ROOT / "samples"
SETS = {"lttng": ["host0", "vm-a", "vm-a-n", "vm-b"],
        "ftrace": ["host0.dat", "vm-a.dat", "vm-a-n.dat", "vm-b.dat"]}
ORACLE = "oracle-ftrace-tsc-1"
BETWEEN = [ORACLE, "lab-multi-ftrace-tsc"]
LEFT_OUT = 3
NAMES_PART = 3
HEADER, PART = 64, 48


def before_provenance(path):
    """All bytes of a history before its last names part, which says where and when it was made."""
    data, at, last = path.read_bytes(), HEADER, None
    while data[at:at + 4] == b"PART":
        kind, _, length = struct.unpack_from("<HHQ", data, at + 4)
        if kind & 0x7fff == NAMES_PART:
            last = at
        at += PART + (length + 7) // 8 * 8
    lib.check(last, f"{path} has no names part")
    return data[:last]


class Bench:
    def __init__(self, scratch):
        self.scratch, self.runs = Path(scratch), 0

    def analyze(self, traces, *options, status=0, where=None):
        self.runs += 1
        output = self.scratch / f"{self.runs}.sonde"
        done = subprocess.run([lib.SONDE, "analyze", "-q", *options, "-o", output, *traces],
                              cwd=where, capture_output=True, text=True)
        lib.check(done.returncode == status, f"exit status {done.returncode}: {done.stderr}")
        return output


def orders(bench, name, threads=("1", "2", "5")):
    traces = [SAMPLES / name / t for t in SETS[name]]
    bodies, whole = set(), set()
    for i, order in enumerate(itertools.permutations(traces)):
        output = bench.analyze(order, "-j", threads[i % len(threads)])
        bodies.add(before_provenance(output))
        whole.add(output.read_bytes())
        output.unlink()
    lib.check(len(bodies) == 1, f"{name}: {len(bodies)} different histories of one set")
    # The command line is in them: were nothing compared, these would be one, too.
    lib.check(len(whole) == 24, f"{name}: only {len(whole)} different files")
    fewer = before_provenance(bench.analyze(traces[:-1]))
    lib.check(fewer not in bodies, f"{name}: one trace less, and nothing differs")
    print(f"{name}: 24 orders, {len(threads)} numbers of threads, 1 history of {len(bodies.pop())} bytes")


def many(bench, seed):
    """Both sets at once: one of them is placed, always the same."""
    traces = [SAMPLES / name / t for name, ts in SETS.items() for t in ts]
    bodies = set()
    for i in range(4):
        random.Random(seed + i).shuffle(traces)
        bodies.add(before_provenance(bench.analyze(traces, status=LEFT_OUT)))
    lib.check(len(bodies) == 1, f"{len(bodies)} different histories of two sets")


def versions(bench):
    if not shutil.which("trace-cmd"):
        print("trace-cmd is not installed: versions are not compared")
        return
    bodies = {}
    for version in ("6", "7"):
        folder = bench.scratch / f"v{version}"
        folder.mkdir()
        for t in SETS["ftrace"]:
            if version == "7":
                shutil.copy(SAMPLES / "ftrace" / t, folder)
                continue
            subprocess.run(["trace-cmd", "convert", "-i", SAMPLES / "ftrace" / t, "-o", folder / t,
                            "--file-version", version], check=True, capture_output=True)
        sizes = [(folder / t).stat().st_size for t in SETS["ftrace"]]
        bodies[version] = before_provenance(bench.analyze(SETS["ftrace"], where=folder)), sizes
    lib.check(bodies["6"][1] != bodies["7"][1], "the versions are one")
    lib.check(bodies["6"][0] == bodies["7"][0], "versions 6 and 7 give different histories")
    print("trace.dat 6 and 7: the same")


def tables(path, *left):
    """What a history says, without what is said of traces left out."""
    info = json.loads(lib.run(lib.SONDE, "info", "--format", "json", path))
    for key in ("meta", "left_out", "problem", *left):
        info.pop(key)
    states = lib.run(lib.SONDE, "sql", "--format", "csv", path,
                     "select * from states order by 1, 2, 3")
    return info, states


def apart(bench, name, given, placed, reason):
    """@placed of what is @given are analysed as if they were alone."""
    path = {t.removesuffix(".dat"): SAMPLES / name / t for t in SETS[name]}
    alone = bench.analyze([path[t] for t in placed])
    mixed = bench.analyze([path[t] for t in given], status=LEFT_OUT)
    lib.check(tables(alone) == tables(mixed), f"{name}: {given} differs from {placed} alone")
    out = [t for t in given if t not in placed]
    tree = json.loads(lib.run(lib.SONDE, "tree", "--format", "json", mixed))
    info = json.loads(lib.run(lib.SONDE, "info", "--format", "json", mixed))
    lib.check([t["name"] for t in tree["left_out"]] == out, tree["left_out"])
    lib.check(info["left_out"] == tree["left_out"], info["left_out"])
    lib.check(reason in tree["left_out"][0]["reason"], tree["left_out"])
    lib.check(Path(tree["left_out"][0]["path"]) == path[out[0]], tree["left_out"])
    for command in (["tree"], ["report", "-t", "left_out"], ["check"]):
        lib.check(out[0] in lib.run(lib.SONDE, *command, mixed), f"{command} does not name {out[0]}")
    if len(placed) > 1:  # of one alone nothing is read but what is fused
        text = lib.run(lib.SONDE, "tree", mixed)
        lib.check("itself a VM" in text and "physical" not in text, f"guests only: {text}")
    print(f"{name}: {', '.join(given)}: {', '.join(out)} left out")


def strangers(bench):
    """A vCPU that is in guest mode nearly all the time is no home to every trace: that of another day fits into
    its stays only with a clock that jumps."""
    host = next(lib.unpacked(SAMPLES / "lab/bochs-vmx-6.1.tar.xz").glob("**/host0/trace.dat"))
    history = bench.analyze([host, SAMPLES / "boot/vm-boot.dat"], status=LEFT_OUT)
    tree = json.loads(lib.run(lib.SONDE, "tree", "--format", "json", history))
    lib.check([t["name"] for t in tree["left_out"]] == ["vm-boot"], tree)
    net, containers = (lib.unpacked(SAMPLES / f"lab/lab-run-{run}-6.1.tar.xz") for run in ("net-vhost", "containers"))
    for here, guest in ((net, containers), (containers, net)):
        history = bench.analyze([*here.glob("**/host0/trace.dat"), *guest.glob("**/vm-a/trace.dat")], status=LEFT_OUT)
        tree = json.loads(lib.run(lib.SONDE, "tree", "--format", "json", history))
        lib.check([t["name"] for t in tree["left_out"]] == ["vm-a"], tree)
        lib.check(re.match("only its UUID, which a VM keeps, relates it to .*, and by the wall clocks it was recorded "
                           "about 14 hours (before|after) that one", tree["left_out"][0]["reason"]), tree["left_out"])
    print("strangers beside a busy VM, and of another boot: left out")


def within_untraced(bench, name):
    """A guest of a VM without a trace is in the history, and shown where it is certain that it runs."""
    path = {t.removesuffix(".dat"): SAMPLES / name / t for t in SETS[name]}
    whole = bench.analyze(path.values())
    fewer = bench.analyze([path["host0"], path["vm-a-n"]])
    again = bench.analyze([path["vm-a-n"], path["host0"]])
    lib.check(before_provenance(fewer) == before_provenance(again), f"{name}: the order of arguments counts")
    machines = json.loads(lib.run(lib.SONDE, "info", "--format", "json", fewer))["machines"]
    guest = next(m for m in machines if m["name"] == "vm-a-n")
    around = next(m for m in machines if m["name"] == guest["parent"])
    lib.check(around["parent"] == "host0" and not around["traced"], machines)
    # One machine, one name: what stands for entries that name nobody is no VM with a number.
    lib.check(not any("nested" in m["name"].split(".")[-1] and m["name"][-1].isdigit() for m in machines), machines)
    shown = []
    for history in (whole, fewer):
        rows = json.loads(lib.run(lib.SONDE, "sql", "--format", "json", history,
                                  "select total - guest ns from machine_time where machine = 'vm-a-n'"))
        shown.append(rows[0]["ns"])
    least = 0.99 if name == "ftrace" else 0.2
    lib.check(least * shown[0] < shown[1] < 1.01 * shown[0], f"{name}: {shown[1]} of {shown[0]} ns")
    same_everywhere(name, fewer, around["name"])
    print(f"{name}: vm-a-n without vm-a: {shown[1] / shown[0]:.1%} of its time is shown")


def query(history, text):
    return json.loads(lib.run(lib.SONDE, "sql", "--format", "json", history, text))


def same_everywhere(name, history, around):
    """What is known of when the guest ran is the same in machines' times, vCPUs' states and layers of a moment."""
    ran = query(history, "select total - guest - unknown ns from machine_time where machine = 'vm-a-n'")[0]["ns"]
    states = query(history, "select user + kernel + guest ns, total, unknown from vcpu_state where vcpu = 'vm-a-n/0'")[0]
    share = states["ns"] / ran
    lib.check((0.8 if name == "ftrace" else 0.99) < share < 1.1, f"{name}: states tell {share:.1%} of the machine's time")
    lib.check(states["unknown"] < states["total"], f"{name}: all of its vCPU's time is unknown")
    on_cpu = query(history, "select on_cpu ns from vcpu_time where vcpu = 'vm-a-n/0'")[0]["ns"]
    lib.check(on_cpu >= states["ns"], f"{name}: on a CPU for {on_cpu}, ran for {states['ns']}")
    top = json.loads(lib.run(lib.SONDE, "top", "--batch", "--format", "json", history))
    vcpu = next(v for v in (top[0] if isinstance(top, list) else top)["vcpus"] if v["name"] == "vm-a-n/0")
    lib.check(vcpu["run"] == states["ns"], f"top: {vcpu}, states: {states}")
    at = query(history, "select begin + length / 2 t from states where kind = 'runs' and text like 'vm-a-n %' "
                        "and text not like '%guest' order by length desc limit 1")[0]["t"]
    state = json.loads(lib.run(lib.SONDE, "state", "--format", "json", "--at", f"{at / 1e9:.9f}", history))
    layers = next(c["stack"] for c in state["cpus"] if c["stack"][-1]["machine"] == "vm-a-n")
    lib.check([layer["machine"] for layer in layers] == ["host0", around, "vm-a-n"], layers)
    lib.check("KVM" in json.dumps(layers[0]) and layers[1]["cpu"] is not None, layers)


def said_clocks(text):
    """What sonde events says of each machine's clock."""
    return dict(line.split("clock of ", 1)[1].split(": ", 1) for line in text.splitlines() if "clock of " in line)


def events(name, given, method):
    """All events of all, in order, and by which clock is said."""
    paths = [SAMPLES / name / t for t in SETS[name] if t.removesuffix(".dat") in given]
    counts = json.loads(lib.run(lib.SONDE, "events", "-q", "--count", "--format", "json", *paths))
    for path in paths:
        own = json.loads(lib.run(lib.SONDE, "events", "-q", "--count", "--format", "json", path))
        machine = own[0]["machine"]
        lib.check([c for c in counts if c["machine"] == machine] == own, f"{path} in {given}")
    done = subprocess.run([lib.SONDE, "events", "--format", "json", *paths], capture_output=True,
                          text=True, check=True)
    times = [json.loads(line)["t"] for line in done.stdout.splitlines()]
    lib.check(times == sorted(times) and len(times) > 1000, "not in order")
    said = said_clocks(done.stderr)
    lib.check(sorted(said) == sorted(given), said)
    last = said[given[-1]]
    lib.check(last.startswith("containment, within" if method == "containment" else "none; nothing bounds")
              and method in last, last)
    lib.check("within" in said[given[0]], said)
    print(f"{name}: events of {' and '.join(given)}: {sum(c['count'] for c in counts)}, {method}")


def between():
    """An L2 without its L1: by what L0 saw of it its events are within the bound; a foreign one's place is not known."""
    if not all((lib.TRACES / f"{name}.tar.zst").exists() for name in BETWEEN):
        print(f"{BETWEEN} are not in {lib.TRACES}: no L2 is placed")
        return
    folders = [lib.shared_set(name) for name in BETWEEN]
    for host, other in (folders, folders[::-1]):
        foreign = subprocess.run([lib.SONDE, "events", "-n", "1", host / "L0/trace.dat", other / "L2/trace.dat"],
                                 capture_output=True, text=True, check=True)
        lib.check(said_clocks(foreign.stderr)["vm-a-n"].startswith("none"), foreign.stderr)
        done = subprocess.run([lib.SONDE, "events", "--ticks", "--format", "json", "-e", "sched_switch",
                               host / "L0/trace.dat", host / "L2/trace.dat"], capture_output=True, text=True, check=True)
        words = said_clocks(done.stderr)["vm-a-n"]
        bound = float(words.split("within ")[1].split(" us")[0]) * 1000
        seen = {"host0": [], "vm-a-n": []}
        for event in map(json.loads, done.stdout.splitlines()):
            seen[event["machine"]].append((event["ticks"], event["t"]))
        layers = json.loads((host / "groundtruth-clocks.json").read_text())["layers"]
        first, last = seen["host0"][0], seen["host0"][-1]
        rate = (last[1] - first[1]) / (last[0] - first[0])
        errors = [abs(first[1] + (ticks - layers["L2"]["tsc_offset_vs_L0"] - first[0]) * rate - t)
                  for ticks, t in seen["vm-a-n"]]
        lib.check(len(errors) > 500 and max(errors) <= bound <= 40_000, f"{host}: {max(errors)} of {bound} ns")
        print(f"{host.name}: L2 without L1: {words}; {len(errors)} times are at most {max(errors):.0f} ns wrong")


def told(bench):
    """A TSC offset that the user says is off by so much: an error, or a bound that holds."""
    if not (lib.TRACES / f"{ORACLE}.tar.zst").exists():
        print(f"{ORACLE} is not in {lib.TRACES}: no offsets are told")
        return
    directory = lib.shared_set(ORACLE)
    layers = json.loads((directory / "groundtruth-clocks.json").read_text())["layers"]
    true, khz = layers["L1b"]["tsc_offset_vs_L0"], layers["L0"]["khz"]
    traces = [directory / m / "trace.dat" for m in ("L0", "L1b")]
    refused = []
    for off_us in (0, -8, 8, 20, -100, 1000):
        offset = true + round(off_us * khz / 1000)
        output = bench.scratch / "told.sonde"
        done = subprocess.run([lib.SONDE, "analyze", "-q", *traces, "-o", output, "--tsc-offset", f"vm-b={offset}"],
                              capture_output=True, text=True)
        if done.returncode:
            lib.check("contradicts its events" in done.stderr, done.stderr)
            refused.append(off_us)
            continue
        info = json.loads(lib.run(lib.SONDE, "info", "--format", "json", output))
        bound = next(c["bound"] for c in info["clock"] if c["machine"] == "vm-b")
        lib.check(abs(off_us) * 1000 <= bound <= 40_000, f"off by {off_us} us: bound {bound} ns")
    lib.check(refused == [20, -100, 1000], f"refused: {refused}")
    print(f"told offsets: off by {refused} us are refused")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        told(Bench(scratch))
        between()
        bench = Bench(scratch)
        for name in SETS:
            orders(bench, name)
        many(bench, 7)
        versions(bench)
        strangers(bench)
        for name in SETS:
            within_untraced(bench, name)
            apart(bench, name, ["vm-b", "vm-a-n", "vm-a"], ["vm-a", "vm-a-n"], "vm-a")
        apart(bench, "lttng", ["vm-b", "vm-a"], ["vm-a"], "--parent")
        for name, method in (("lttng", "by the wall clocks"), ("ftrace", "as if it began")):
            events(name, ["host0", "vm-a-n"], "containment")
            events(name, ["vm-a", "vm-b"], method)


main()
