#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 1500
# alone: lab
"""What a guest is told of the time that its vCPU was held up equals what its host's own trace says of the vCPU's thread, wait by wait; and
what /proc/stat says, in sum.

    tests/lab/stolen.py [6.12]     runs the lab: two VMs want one CPU, sonde share in L0, sonde stolen in one of them
    tests/lab/stolen.py RUN        compares in a lab run's directory that is there
    tests/lab/stolen.py --keep DIR [6.12]  the lab's run stays in DIR; other lab runs are waited for as long as it takes
"""
import bisect
import json
import re
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402
import live  # noqa: E402
from lab.lib import engine, guest_module, image, options, payload, scenario  # noqa: E402
from lab.lib.stopwatch import Stopwatch  # noqa: E402

HERE = Path(__file__).resolve().parent
STOLEN = {"host", "other_vm", "own_vm", "nobody"}
# The trace's probe and ours run one after the other, emulated: so far apart are their clocks' readings.
APART_NS = 400_000
# ... but for when milliseconds pass between the two in which nothing runs, as on a busy machine: of so many waits one.
ODD = 100
LEAST = 30  # waits, for a comparison to say anything
TICK_NS = 10_000_000  # of /proc/stat


class Given:
    """What the lab's options are when nothing is said."""
    kernel = tracer = None
    accel, qemu, tries, seed = "tcg", None, 3, 1
    limit, within, wait = 300, 300, 60
    line = "6.1"


HOST = """
case $1 in
begin)
    sonde share --vm vm-a --resolution 1ns >share.log 2>&1 &
    echo $! >share.pid
    for vm in /sys/kernel/debug/kvm/*-*/vcpu0; do echo "$vm $(cat $vm/pid) $(cat $vm/tsc-offset)"; done >vcpus
    grep -H . /run/vm/*/pid 2>/dev/null
    for t in /proc/[0-9]*/task/*; do echo "${t##*/} $(tr '\\0' ' ' <${t%/task/*}/cmdline)"; done 2>/dev/null | grep qemu >threads
    trace-cmd start -C x86-tsc -b 20000 -e sched:sched_switch -e sched:sched_wakeup >/dev/null
    ;;
end)
    trace-cmd stop
    trace-cmd extract -o host.dat >/dev/null
    kill -INT $(cat share.pid)
    sleep 1
    cat share.log
    ;;
esac
"""

GUEST = """
insmod $(command -v sonde_guest.ko) channel=memory,hypercall || exit 1
spin --id 1 --seconds 14 >/dev/null &
sleep 1
sonde stolen --list -d 6s --format json >list.json &
sonde stolen -d 6s --format json >sum.json
wait $!
sonde stolen -n 2 --delay 500ms
rmmod sonde_guest
for i in 1 2 3 4 5; do
    insmod $(command -v sonde_guest.ko) channel=memory,hypercall || exit 1
    sonde stolen -n 1 --delay 200ms >again.$i || exit 1
    rmmod sonde_guest || exit 1
done
dmesg | grep -c -E 'BUG|WARNING|Oops|does not answer' || true
"""


def run_lab(directory, scratch):
    put = []
    for name, text in (("stolen-host", HOST), ("stolen-guest", GUEST)):
        (scratch / name).write_text("#!/bin/sh" + text)
        (scratch / name).chmod(0o755)
        put.append(scratch / name)
    stopwatch = Stopwatch(False)
    chosen = scenario.load(str(HERE / "stolen.toml"))
    chosen.kernel = Given.line
    built = image.get(chosen.kernel, stopwatch)
    put.append(guest_module.get(chosen.kernel, built, stopwatch))
    payload.build_programs(stopwatch)
    commands = ["stolen-host begin", "vm-b:spin --id 2 --seconds 30 --busy-us 9000 --sleep-us 14000 >/dev/null &", "vm-a:stolen-guest",
                "stolen-host end"]
    report = engine.run(chosen, built, options.of_engine(directory, Given, stopwatch, put, commands), stopwatch)
    lib.check(not any(report["command_statuses"]), f"every step succeeded: {report['command_statuses']}")


# ---- what the host's trace says

SWITCH = re.compile(r"[\s\]](\d+): sched_switch: .*?prev_pid=(\d+) .*?prev_state=(\S+) ==> .*next_pid=(\d+)")
SWITCH_SHORT = re.compile(r"[\s\]](\d+): sched_switch: +.*?:(\d+) \[\d+\] (\S+) ==> .*:(\d+) \[\d+\]")
WAKEUP = re.compile(r"[\s\]](\d+): sched_wakeup: +.*?(?:pid=|:)(\d+) ")


def events(trace):
    for line in lib.run("trace-cmd", "report", "-t", "-i", trace).splitlines():
        found = SWITCH.search(line) or SWITCH_SHORT.search(line)
        if found:
            yield int(found[1]), "switch", int(found[2]), found[3], int(found[4])
            continue
        found = WAKEUP.search(line)
        if found:
            yield int(found[1]), "wakeup", int(found[2]), None, None


def waits_of(trace, tid):
    """[begin, end] in the host's cycles, of a thread that wanted to run."""
    out, since, asleep = [], None, False
    for when, what, first, state, then in events(trace):
        if what == "wakeup":
            if first == tid and asleep:
                since, asleep = when, False
            continue
        if then == tid:
            if since is not None:
                out.append([since, when])
            since, asleep = None, False
        if first == tid:
            asleep = not state.startswith("R")
            since = None if asleep else when
    return out


# ---- what the guest was told

def joined(stretches, hz):
    """Stretches of one wait follow each other without a gap: [begin, end] in the guest's cycles."""
    out = []
    for s in sorted(stretches, key=lambda s: s["begin_tsc"]):
        end = s["begin_tsc"] + s["length_ns"] * hz // 1_000_000_000
        if out and abs(s["begin_tsc"] - out[-1][1]) < hz // 1_000_000:
            out[-1][1] = end
        else:
            out.append([s["begin_tsc"], end])
    return out


def compare(told, traced, hz):
    """Each wait that was told is in the trace, and each of the trace's between them was told."""
    apart = APART_NS * hz // 1_000_000_000
    begins = [begin for begin, _ in traced]
    equal = missing = 0
    sums = [0, 0]
    first, last = told[0][0], told[-1][0]
    used = set()
    for begin, end in told:
        at = bisect.bisect_left(begins, begin - apart)
        near = [i for i in range(at, len(begins)) if begins[i] <= begin + apart and i not in used]
        best = min(near, key=lambda i: abs(begins[i] - begin) + abs(traced[i][1] - end), default=None)
        if best is None or abs(traced[best][1] - end) > apart:
            missing += 1
            continue
        used.add(best)
        equal += 1
        sums[0] += end - begin
        sums[1] += traced[best][1] - traced[best][0]
    untold = [i for i in range(len(traced)) if first + apart < begins[i] < last - apart and i not in used]
    return equal, missing, len(untold), [s * 1000 / hz for s in sums]


def vcpu_of(directory, name):
    """(thread, TSC offset) of the machine's first vCPU."""
    threads = dict(line.split(" ", 1) for line in (directory / "L0/threads").read_text().splitlines())
    for line in (directory / "L0/vcpus").read_text().splitlines():
        _, tid, offset = line.split()
        if re.search(rf"\b{name}\b", threads.get(tid, "")):
            return int(tid), int(offset)
    return None


def check_run(directory):
    directory = Path(directory)
    tid, offset = vcpu_of(directory, "vm-a")
    window, = json.loads((directory / "vm-a/sum.json").read_text())
    cpu, = window["cpus"]
    stretches = json.loads((directory / "vm-a/list.json").read_text())
    hz = round((cpu["until_tsc"] - cpu["begin_tsc"]) * 1e9 / cpu["span_ns"])
    print(f"sum: {cpu}")
    told = joined([s for s in stretches if s["by"] in STOLEN], hz)[1:-1]  # the list may begin and end in the midst of one
    lib.check(len(told) >= LEAST, f"{len(told)} waits are enough to compare")
    traced = [[b + offset, e + offset] for b, e in waits_of(directory / "L0/host.dat", tid)]
    equal, missing, untold, (said_ms, is_ms) = compare(told, traced, hz)
    print(f"{equal} waits equal ({said_ms:.3f} ms told, {is_ms:.3f} ms in the trace), {missing} told and not in the trace, {untold} not told")
    lib.check(max(missing, untold) <= len(told) // ODD, "each wait that was told is in the host's trace, and the other way round")
    lib.check(abs(said_ms - is_ms) <= is_ms / 100, "and as long")
    window_ms = sum(max(0, min(e, cpu["until_tsc"]) - max(b, cpu["begin_tsc"])) for b, e in traced) * 1000 / hz
    longest_ms = max(e - b for b, e in traced) * 1000 / hz
    print(f"in the summary's window: {cpu['stolen_ns'] / 1e6:.3f} ms told, {window_ms:.3f} ms in the trace")
    # A wait is told when it has ended: each end of the window may have cut one.
    lib.check(abs(window_ms - cpu["stolen_ns"] / 1e6) <= window_ms / 100 + 2 * longest_ms, "so does the summary")
    lib.check(cpu["other_vm"]["ns"] > cpu["stolen_ns"] / 2, "it was mostly the other VM")
    lib.check(not cpu["lost"] and not cpu["missed"], "nothing was lost")
    steal = cpu["proc_stat_steal_ns"]
    print(f"/proc/stat: {steal / 1e6:.0f} ms stolen, told {cpu['stolen_ns'] / 1e6:.1f} ms")
    lib.check(abs(steal - cpu["stolen_ns"]) <= 10 * TICK_NS + cpu["stolen_ns"] / 20, "/proc/stat says the same")
    again = [(directory / f"vm-a/again.{i}").read_text() for i in range(1, 6)]
    lib.check(all("nothing lost" in text for text in again), f"loaded and unloaded: {again}")
    said = "\n".join(p.read_text() for p in sorted((directory / "vm-a/exec").glob("*")))
    print(said)
    lib.check("another VM" in said, "sonde stolen shows it")
    lib.check(said.strip().endswith("\n0"), "no complaint of the guest's kernel, and the host gave back what it was lent")


def main():
    lib.need("qemu-system-x86_64", "trace-cmd", "make", "gcc", "clang-14", "bpftool")
    kept, words = None, sys.argv[1:]
    if words[:1] == ["--keep"]:
        kept, Given.wait, words = Path(words[1]), None, words[2:]
    if words[:1] in (["6.1"], ["6.12"]):
        Given.line, words = words[0], words[1:]
    if words:
        return check_run(words[0])
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        directory = kept or scratch / "lab"

        def attempt():
            run_lab(directory, scratch)
            check_run(directory)

        live.within_tries(1 if kept else 2, attempt)
    return None


main()
