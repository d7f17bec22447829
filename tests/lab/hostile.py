#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 1500
# alone: lab
"""Nobody forges a kernel: a process of user 1000 in a guest forges events, panics, ring buffers and announcements, slowly and
then without end, while the guest's own module sends by hypercall and then in memory, and the kernel of a neighbour calls itself
by the guest's name. Nothing forged is in the history, what the module sent equals the guest's own ftrace record, what was
refused is reported, and the host spends a bounded part of its CPU time.

With --nested all this is in a guest's guest. Without RUN the lab is run. With -o that run stays.
"""
import argparse
import collections
import datetime
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402
import sent  # noqa: E402
from lab.lib import engine, guest_module, image, options, payload  # noqa: E402
from lab.lib.stopwatch import Stopwatch  # noqa: E402

FORGED = "forged"
HOST_CPU_MOST = 0.5     # of one CPU, emulated and therefore slow, for the recorder
STEPS = """
module=$(command -v sonde_guest.ko)
for channel in hypercall memory; do
    insmod $module channel=$channel events=sched,irq,task,softirq,syscall || exit 1
    [ "$(cat /sys/kernel/sonde_guest/channel)" = $channel ] || exit 1
    sleep 1
    forge --id 1 --seconds 6 --pause-us 20000 &
    for i in 1 2 3 4 5 6 7 8; do cat /proc/stat >/dev/null; sleep 0.05; done
    wait
    sleep 6
    rmmod sonde_guest
    sleep 2
done
forge --id 2 --seconds 3 --pause-us 0
"""
# A kernel may say of itself what it likes.
NEIGHBOUR = """
hostname vm-a
for channel in hypercall memory; do
    insmod $(command -v sonde_guest.ko) channel=$channel || exit 1
    for i in 1 2 3 4 5 6 7 8; do sleep 1; done
    rmmod sonde_guest
done
"""


def ask(*command):
    return json.loads(subprocess.run([lib.SONDE, *command, "--format", "json"], check=True, capture_output=True).stdout)


def history_of(run, manifest, place):
    """Of what the modules sent alone: a guest's own trace would count in its stead."""
    alone, history = Path(place) / "run", Path(place) / "run.sonde"
    kept = [m for m in manifest["machines"] if m["tracer"] != "ftrace" or any(o["parent"] == m["name"] for o in manifest["machines"])]
    dropped = {m["folder"] for m in manifest["machines"] if m not in kept}
    shutil.copytree(run, alone, ignore=lambda _, names: [name for name in names if name in dropped])
    (alone / "run.json").write_text(json.dumps({**manifest, "machines": kept}))
    subprocess.run([lib.SONDE, "analyze", alone, "-q", "-o", history], check=True)
    return history


def calls_made(run, own):
    """How many the process says that it made; 0 of a run that has been moved away from its lab."""
    said = (line for file in (Path(run).parents[1] / own / "exec").glob("*") for line in file.read_text().splitlines())
    made = [json.loads(line) for line in said if line.startswith("{") and '"workload":"forge"' in line]
    return sum(line.get("calls", 0) for line in made)


def check_history(run, manifest, own):
    """No forged row, and the attempts of that machine are reported."""
    with tempfile.TemporaryDirectory() as place:
        history = history_of(run, manifest, place)
        threads = ask("sql", history, "select machine, comm from threads")
        machines = list(sent.machines_of(ask("tree", history)))
        refused = ask("report", "-t", "refused", history)["refused"]
        verdicts = [v["text"] for v in ask("why", history)["why"]]
        marks = ask("sql", history, "select count(*) as nr from marks where text = 'mark'")[0]["nr"]
    show = collections.Counter(t["machine"] for t in threads)
    releases = {m["name"]: m["release"] for m in machines}
    print(f"threads {dict(show)}, kernels {releases}, {marks} marks")
    for row in refused:
        print("refused:", row)
    short = own.rsplit(".", maxsplit=1)[-1]    # a guest that was found within its host's trace has no path
    lib.check(sum(nr for name, nr in show.items() if short in name) >= 10, f"what {own}'s kernel sent is there")
    lib.check(not [t for t in threads if FORGED in t["comm"]], "no thread was made up")
    lib.check(not [r for r in releases.values() if FORGED in r], f"no machine calls itself by a forged release: {releases}")
    lib.check(not [v for v in verdicts if "panic" in v], "no panic was made up")
    lib.check(marks, "a process may make marks")
    told = {row["what"] for row in refused if row["origin"] == "user"}
    lib.check({"events", "rings", "board"} <= told, f"what {own}'s process sent was refused and counted: {told}")
    counted, made = marks + sum(row["count"] for row in refused if row["origin"] == "user"), calls_made(run, short)
    print(f"{counted} calls of processes refused or kept, {made or 'an unknown number of'} made")
    lib.check(made in (0, counted), "each of them was counted, also those that the recorder did not write")
    lib.check([v for v in verdicts if v.startswith("User code in ") and short in v], f"why reports it: {verdicts}")


def check_run(run):
    machines, losses, _ = sent.events_of(run)
    manifest = json.loads((Path(run) / "run.json").read_text())
    traced = {m["name"]: m["parent"] for m in manifest["machines"] if m["tracer"] == "ftrace"}
    own = max(traced, key=lambda name: (name.count("."), name.endswith("vm-a")))
    level = own.count(".") + 1
    senders = [name for name in machines if name not in traced]
    print(f"{own} and its neighbour sent as {senders}")
    lib.check(len(senders) >= 2, f"{own} sent by hypercall and in memory")
    for name in senders:
        who = own if level > 1 else max((t for t in traced if name.startswith(t)), key=len)
        equal, missing, extra = sent.compare(name, machines[who], machines[name], level)
        lib.check(equal >= sent.LEAST, f"{name}: {equal} events are enough to compare")
        lib.check(not sent.lost_inside(losses[name], machines[name], level), f"{name}: nothing that it sent was lost")
        lib.check(not missing and not extra, f"{name}: what it sent is what ftrace recorded")
    check_history(run, manifest, own)
    host = next(m for m in manifest["machines"] if not m["parent"])
    begin, end = (datetime.datetime.fromisoformat(manifest[at]) for at in ("begin", "end"))
    used = host["cost"]["cpu_ns"] / 1e9 / (end - begin).total_seconds()
    print(f"the recorder used {100 * used:.1f} % of one CPU")
    lib.check(used < HOST_CPU_MOST, "the host's cost is bounded")


def commands(chosen):
    guests = [name for name in chosen.machines() if name != "L0"]
    own = guests[-1] if len(guests) > 1 and "vm-a-n" in guests else "vm-a"
    for name in guests:
        yield f"{name}:sonde-agent --vsock 21327 &"
    yield "sleep 8"
    yield "sonde record -o run --guest all -e raw_syscalls --guest-timeout 30 -- sh -c '>began; until [ -e sent ]; do sleep 1; done' &"
    yield "until [ -e began ]; do sleep 1; done; sleep 2"   # all guests trace
    if "vm-b" in guests:
        yield "vm-b:neighbour &"
    yield f"{own}:steps"
    yield f"touch sent; {sent.until_recorded('run')}"


def run_lab(given, directory, scratch):
    stopwatch = Stopwatch(False)
    chosen = options.choose("l2" if given.nested else "hostile-user", given)
    chosen.machines()["L0"].cpus = 1  # why: tests/kernel/ends.toml
    built = image.get(chosen.kernel, stopwatch)
    put = [guest_module.get(chosen.kernel, built, stopwatch), sent.script(scratch, "steps", STEPS),
           sent.script(scratch, "neighbour", NEIGHBOUR)]
    payload.build_programs(stopwatch)
    report = engine.run(chosen, built, options.of_engine(directory, given, stopwatch, put, list(commands(chosen))), stopwatch)
    lib.check(not any(report["command_statuses"]), f"every step succeeded: {report['command_statuses']}")
    return directory / "L0/run"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--nested", action="store_true", help="the guest is a guest's guest")
    given = sent.options_of(parser, lambda given: 1200 if given.nested else 400)
    sent.run_or_compare(given, lambda directory, scratch: run_lab(given, directory, scratch), check_run)


if __name__ == "__main__":
    main()
