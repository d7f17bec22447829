#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Histories whose writer was killed, cut at many places: what is left of one says that it is not
complete, and says of the time it covers what the whole history says; or it is refused."""

import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402

BYTES = 30_000_000
MACHINES = ["host0", "vm-a", "vm-a-n", "vm-b"]
HEADER_BYTES = 64
PART_HEADER_BYTES = 48
PART_NAMES = 3


def ask(history, command, *options):
    """Exit status, the JSON answer (None without one), and the messages."""
    done = subprocess.run([lib.SONDE, command, history, "--format", "json", *options],
                          capture_output=True, text=True, timeout=60)
    lib.check(done.returncode in (0, 1, 3),
              f"{command} {' '.join(options)}: exit status {done.returncode}: {done.stderr}")
    lib.check("(null)" not in done.stdout, f"{command}: {done.stdout[:2000]}")
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


def seconds(ns):
    return f"{ns // 10**9}.{ns % 10**9:09}"


def ends_of_groups(data):
    """Where the parts end that a file can be read up to."""
    at = HEADER_BYTES
    while data[at:at + 4] == b"PART":
        kind, _, length = struct.unpack_from("<HHQ", data, at + 4)
        at += PART_HEADER_BYTES + (length + 7 & ~7)
        if kind == PART_NAMES:
            yield at


def where(cpu):
    """What of a CPU's state may not depend on what came later: a thread's name may."""
    return (cpu["cpu"], cpu["mode"], cpu["detail"],
            [(layer["cpu"], layer["thread"] and (layer["thread"]["row"], layer["thread"]["tid"]))
             for layer in cpu["stack"]])


def same_states(cut, whole, info):
    begin, end = info["begin"], info["end"]
    for t in (begin, begin + (end - begin) // 3, (begin + end) // 2, end - 1):
        states = [ask(h, "state", "--at", seconds(t)) for h in (cut, whole)]
        lib.check(all(status == 0 for status, _, _ in states), f"state at {t}: {states}")
        cpus = [[where(c) for c in state["cpus"]] for _, state, _ in states]
        lib.check(cpus[0] == cpus[1], f"state at {t}: {cpus}")


def times(report, named):
    """Sums of time, with the names of machines when they are not what only the end shows."""
    machines = [{k: v for k, v in row.items() if named or k != "machine"}
                for row in report["machine_time"]]
    vcpus = [{k: v for k, v in row.items() if named or k != "vcpu"} for row in report["vcpu_time"]]
    return sorted(map(str, machines)), sorted(map(str, vcpus))


def same_report(cut, whole, info, named):
    status, left, _ = ask(cut, "report")
    lib.check(status == 0, "report")
    _, right, _ = ask(whole, "report", "--time", f"{seconds(info['begin'])},{seconds(info['end'])}")
    lib.check(times(left, named) == times(right, named),
              f"until {info['end']}: {times(left, named)}, whole {times(right, named)}")
    cpus = sum(c["machine"] == info["machines"][0]["name"] for c in info["cpus"])
    total = sum(row["total"] for row in left["machine_time"])
    lib.check(total == cpus * (info["end"] - info["begin"]), f"machines have {total} in all")


def refused(cut):
    """Every command says why; none answers."""
    for command in ("info", "tree", "state", "report"):
        status, answer, text = ask(cut, command)
        lib.check(status == 1 and not answer and "holds no machine" in text,
                  f"{command}: {status} {answer} {text}")
    status, answer, _ = ask(cut, "check")
    lib.check(status == 3 and not answer[0]["sound"], f"check: {status} {answer}")


def says_so(cut, info):
    """Each answer says that the history is not complete."""
    for command, *options in (["report"], ["why"], ["tree"], ["state", "--at", seconds(info["begin"])], ["timeline"]):
        lib.check(ask(cut, command, *options)[1]["complete"] is False, f"{command} says that it is complete")
    lib.check(ask(cut, "compare", str(cut))[1]["after"]["complete"] is False, "compare says that it is complete")
    problems = ask(cut, "report", "-t", "problem")[1]["problem"]
    lib.check(any("not complete" in p["text"] for p in problems), f"problems: {problems}")
    # What has no place for it, docs/formats/json.md.
    for words in (["vms", cut, "--format", "json"], ["vms", cut, "--format", "csv"], ["report", cut, "-t", "vms", "--format", "csv"],
                  ["sql", cut, "select complete from history", "--format", "json"], ["export", cut, "--to", "chrome", "-o", "-"]):
        done = subprocess.run([lib.SONDE, *words], capture_output=True, text=True, check=False)
        lib.check(done.returncode == 0 and "is not complete" in done.stderr, f"{words}: {done.returncode} {done.stderr}")
        lib.check(words[0] != "sql" or json.loads(done.stdout) == [{"complete": 0}], done.stdout)
    lib.check(ask(cut, "info")[1]["complete"] is False, "info says that it is complete")
    for words in (["report", cut], ["report", "wakeup", cut], ["why", cut], ["timeline", cut, "--svg", "-"]):
        text = lib.run(lib.SONDE, *words)
        lib.check("not complete" in text, f"{words}: {text[:500]}")


def usable(cut, whole, named):
    """The time up to which it goes."""
    _, info, text = ask(cut, "info")
    lib.check("not complete" in text and not info["complete"], f"info: {text}")
    status, _, text = ask(cut, "tree")
    lib.check(status == 0 and "not complete" in text, f"tree: {text}")
    lib.check(all(m["name"] for m in info["machines"]), f"machines: {info['machines']}")
    checked = subprocess.run([lib.SONDE, "check", "-q", cut], capture_output=True, text=True)
    lib.check(checked.returncode == 3 and "not complete" in checked.stdout
              and len(checked.stdout.splitlines()) == 1, f"check: {checked}")
    same_states(cut, whole, info)
    same_report(cut, whole, info, named)
    says_so(cut, info)
    return info["end"]


def cut_everywhere(scratch, whole, named):
    data = whole.read_bytes()
    _, info, _ = ask(whole, "info")
    groups = list(ends_of_groups(data))
    lib.check(len(groups) >= 4, f"only {len(groups)} groups")
    places = sorted({HEADER_BYTES, groups[0] - 8, *groups, groups[1] - 8, len(data) - 1,
                     *(len(data) * percent // 100 for percent in range(5, 100, 15))})
    cut = scratch / "cut.sonde"
    ends = {}
    for at in places:
        cut.write_bytes(data[:at])
        if at < groups[0]:
            refused(cut)
        else:
            ends[at] = usable(cut, whole, named)
    lib.check(list(ends.values()) == sorted(ends.values()) and ends[len(data) - 1] == info["end"],
              f"until {ends}, whole until {info['end']}")
    left = {at: (end - info["begin"]) / (info["end"] - info["begin"]) for at, end in ends.items()}
    lib.check(all(share > 0.5 * at / len(data) for at, share in left.items() if at > groups[1]),
              f"of {len(data)} bytes so many leave this share of the time: {left}")
    print(f"{len(places)} cuts:", *(f"{at / len(data):.0%}->{left[at]:.0%}" for at in left))


def ends_with_its_trace(scratch):
    """A guest's trace goes on for 51 ms behind its host's: cut there, the history does not say when
    that one ended, but nothing more is known of its CPUs, and commands tell of no more."""
    whole, cut = scratch / "ftrace.sonde", scratch / "tail.sonde"
    lib.run(lib.SONDE, "analyze", "-q", *sorted((lib.ROOT / "samples/ftrace").glob("*.dat")), "-o", whole)
    data = whole.read_bytes()
    cut.write_bytes(data[:len(data) * 95 // 100])
    (_, left, text), (_, right, _) = ask(cut, "report"), ask(whole, "report")
    lib.check("not complete" in text, text)
    # It ends with the last event, and what is known of its CPUs right behind that.
    lib.check(left["begin"] == right["begin"] and 0 <= left["end"] - right["end"] <= 1,
              f"traced from {left['begin']} to {left['end']}, whole {right['begin']} to {right['end']}")
    lib.check(ask(cut, "info")[1]["end"] > left["end"], "no guest's trace is longer")


def main():
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        ends_with_its_trace(scratch)
        for machines in (MACHINES, MACHINES[:1]):
            traces = scratch / f"{len(machines)}"
            whole = scratch / f"{len(machines)}.sonde"
            lib.run(lib.ROOT / "tools/replicate-trace", traces, BYTES,
                    *(lib.ROOT / "samples/lttng" / m for m in machines))
            lib.run(lib.SONDE, "analyze", "-q", traces, "-o", whole)
            cut_everywhere(scratch, whole, named=len(machines) > 1)


if __name__ == "__main__":
    lib.need(str(lib.SONDE))
    main()
