#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 1200
# alone: lab
"""The guest's module in the lab: by hypercall, in memory and through its device, what it sent equals ftrace's own record of the same time;
it can be loaded and unloaded under load; shutdown and panic arrive to their last steps; no kernel complains.

    tests/kernel/guest.py [6.1|6.12] [TIMES] [--read]     TIMES it is loaded and unloaded; default: 6.1 8

By hand, it waits for other lab runs as long as it takes, and what it finds stays in build/lab/runs/guest-KERNEL; --read
makes only runs that are not there.
"""
import collections
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

# The lab's package before tests/lab.
sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402
import live  # noqa: E402
from lab.lib import engine, guest_module, image, options, payload, scenario  # noqa: E402
from lab.lib.stopwatch import Stopwatch  # noqa: E402

HERE = Path(__file__).resolve().parent
TOOL = lib.BUILD / "kernel/hypertrace"
CALL = re.compile(r"-(\d+)\s+\[\d+\].* kvm_hypercall: +nr (\S+) a0 (\S+) a1 (\S+) a2 (\S+) a3 (\S+)")
MODULE = "$(command -v sonde_guest.ko)"
CHANNELS = ("hypercall", "memory", "device")
WAIT_S, LIMIT_S = 120, 420


def equality_commands(times):
    yield f"! insmod {MODULE} channel=memory,hypercall 2>/dev/null"  # L0 is nobody's guest
    yield "host-steps record"
    for channel in CHANNELS:
        yield f"vm-a:guest-steps record {channel}"
        if channel == "memory":
            yield "host-steps rings vm-a"
        yield "vm-a:guest-steps load"
        yield f"vm-a:guest-steps stop {channel}"
    yield "host-steps rings-end"
    yield f"vm-a:guest-steps reload {times}"
    yield "vm-a:guest-steps functions"
    yield "host-steps stop"
    yield "vm-a:dmesg | grep -c -E 'BUG|WARNING|Oops|lockup|scheduling while' || true"


def end_commands():
    yield "host-steps record"
    yield f"vm-a:insmod {MODULE} events=sched,irq"
    yield f"vm-b:insmod {MODULE} events=sched,irq,syscall"
    yield "vm-b:switches --id 1 --rounds 100000000 --cpu 1 >/dev/null &"
    yield "vm-a:sleep 0.3; poweroff -f &"
    yield "vm-b:sleep 0.5; echo c >/proc/sysrq-trigger &"
    yield "while [ -e /run/vm/vm-a/control.in ] || [ -e /run/vm/vm-b/control.in ]; do usleep 100000; done"
    yield "host-steps stop"


class Given:
    """What the lab's options are when nothing is said."""
    kernel = tracer = None
    accel, qemu, tries, seed = "tcg", None, 3, 1
    limit, within, wait = LIMIT_S, LIMIT_S, WAIT_S
    read = False


def is_whole(directory):
    report = directory / engine.MARK
    return report.is_file() and "command_statuses" in json.loads(report.read_text())


def run_lab(name, kernel, commands, directory):
    if Given.read and is_whole(directory):
        return
    stopwatch = Stopwatch(False)
    chosen = scenario.load(str(HERE / f"{name}.toml"))
    chosen.kernel = kernel
    built = image.get(kernel, stopwatch)
    put = [guest_module.get(kernel, built, stopwatch), TOOL, HERE / "guest-steps", HERE / "host-steps"]
    payload.build_programs(stopwatch)
    report = engine.run(chosen, built, options.of_engine(directory, Given, stopwatch, put, list(commands)), stopwatch)
    lib.check(not any(report["command_statuses"]), f"{name}: every step succeeded: {report['command_statuses']}")


def said(directory, machine):
    files = sorted((directory / machine / "exec").glob("*"), key=lambda path: int(path.name))
    return "\n".join(path.read_text() for path in files)


def decode(arguments, to, text=None):
    done = subprocess.run([TOOL, *arguments], input=text, capture_output=True, text=True)
    lib.check(done.returncode == 0, f"hypertrace {arguments}: {done.stderr}")
    to.write_text(done.stdout)
    return done.stdout


def calls_of(trace):
    """Its hypercalls, as hypertrace takes them."""
    text = lib.run("trace-cmd", "report", "-i", trace)
    return "".join(" ".join(match.groups()) + "\n" for match in map(CALL.search, text.splitlines()) if match)


def compare(channel, directory, sent):
    done = subprocess.run([sys.executable, HERE / "compare.py", directory / "vm-a" / f"{channel}.dat", sent], capture_output=True,
                          text=True)
    print(f"{channel}: {done.stdout}{done.stderr}")
    lib.check(done.returncode == 0, f"{channel}: what was sent is what ftrace recorded")


def sent_functions(text):
    """(when it was called, name) in order of that, of the calls that began between the last two marks.  Each load of the
    module numbers its functions anew, and a name may come after the first call: of the last load all are there at the end."""
    symbols, calls, marks = {}, [], {}
    for words in map(str.split, text.splitlines()):
        if words[2] == "symbol":
            symbols[words[3]] = words[5]
        elif words[2] == "mark":
            marks[words[-1]] = int(words[1])
        elif words[2] == "function":
            calls.append((int(words[1]) - int(words[4]), words[3]))
    begin, end = marks["compare-begin"], marks["compare-end"]
    return begin, end, sorted((when, symbols[which]) for when, which in calls if begin < when < end)


def check_functions(directory, sent, said_text):
    begin, end, ours = sent_functions(sent.read_text())
    text = lib.run("trace-cmd", "report", "-R", "-i", directory / "vm-a/functions.dat")
    theirs = collections.Counter(
        match[2] for match in re.finditer(r"\[\d+\]\s*(\d+): function: +(?:ip=)?(\w+)", text) if begin < int(match[1]) < end)
    print(f"functions: {len(ours)} calls; {theirs}")
    lib.check(len(ours) > 20 and theirs == collections.Counter(name for _, name in ours),
              f"the calls that ftrace saw: {theirs}, {collections.Counter(name for _, name in ours)}")
    lib.check(re.search(r"functions:.* hot", said_text), "a function that is called too often is switched off")


def check_equality(kernel, times, scratch):
    directory = scratch / "equality"
    run_lab("guest", kernel, equality_commands(times), directory)
    text = said(directory, "vm-a")
    lib.check(f"reloaded {times} times" in text, f"loaded and unloaded {times} times under load")
    lib.check(text.count("overrun: 0") == len(CHANNELS), "ftrace lost nothing")
    lib.check(text.strip().endswith("\n0"), "no complaint of the guest's kernel")
    totals = [list(map(int, line.split()[1:])) for line in text.splitlines() if line.startswith("totals:")]
    lib.check([calls > 0 for _, _, calls, _ in totals] == [True, False, False], f"hypercalls by hypercall only: {totals}")
    sent = calls_of(directory / "L0/host.dat")
    decode(["calls"], scratch / "hypercall", sent)
    compare("hypercall", directory, scratch / "hypercall")
    check_functions(directory, scratch / "hypercall", text)
    decode(["stream", directory / "L0/rings.ht"], scratch / "memory")
    compare("memory", directory, scratch / "memory")
    decode(["stream", directory / "vm-a/device.ht"], scratch / "device")
    compare("device", directory, scratch / "device")
    lib.check("lost blocks 0 events 0" in said(directory, "L0"), "the host read every block")


def phases(text):
    return [int(line.split()[3]) for line in text.splitlines() if " shutdown_phase " in line]


def names(text, record):
    return [line.split()[3:] for line in text.splitlines() if line.split()[2:3] == [record]]


def check_ends(kernel, scratch):
    directory = scratch / "ends"
    run_lab("ends", kernel, end_commands(), directory)
    text = decode(["calls"], scratch / "sent", calls_of(directory / "L0/host.dat"))
    print("\n".join(line for line in text.splitlines()
                    if re.search("shutdown|notifier|panic", line) or line.startswith("#")))
    lib.check(phases(text) == [0, 1, 2, 3, 4, 5], f"every phase down to power off, in order: {phases(text)}")
    entered, left = names(text, "notifier_entry"), names(text, "notifier_exit")
    lib.check(entered and entered == left, f"{len(entered)} reboot notifiers begin and end")
    entered, left = names(text, "device_shutdown_entry"), names(text, "device_shutdown_exit")
    lib.check(len(entered) > 3 and sorted(entered) == sorted(left), f"{len(entered)} devices begin and end")
    lib.check(names(text, "panic") == [["sysrq", "triggered", "crash"]], f"the panic's message: {names(text, 'panic')}")


def everything(kernel, times, place):
    place.mkdir(parents=True, exist_ok=True)
    tries = 1 if Given.read else 2
    live.within_tries(tries, check_equality, kernel, times, place)
    live.within_tries(tries, check_ends, kernel, place)


def main():
    lib.need("qemu-system-x86_64", "trace-cmd", "make", "gcc")
    Given.read = "--read" in sys.argv
    words = [word for word in sys.argv[1:] if word != "--read"]
    kernel = words[0] if words else "6.1"
    times = int(words[1]) if len(words) > 1 else 8
    if len(sys.argv) > 1:
        Given.wait = None
        Given.limit = LIMIT_S + 4 * times
        everything(kernel, times, lib.BUILD / f"lab/runs/guest-{kernel}")
        return
    with tempfile.TemporaryDirectory(prefix="sonde-guest.") as place:
        everything(kernel, times, Path(place))


main()
