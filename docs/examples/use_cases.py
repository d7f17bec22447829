#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Three questions of "Fine-grained multilayer virtualized systems analysis" (Biancheri & Dagenais, 2016),
and two more, asked of any history:

    docs/examples/use_cases.py RUN.sonde [container|wakeup|interrupt|boot|request]

Each prints the commands that it asks with, and their answers; docs/use-cases.md shows them.
SONDE names the program (default: the one that was built in this repository, else sonde).
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

BUILT = Path(__file__).resolve().parents[2] / "build" / "sonde"
SONDE = os.environ.get("SONDE", str(BUILT) if BUILT.exists() else "sonde")


def ask(*words):
    """Facts as JSON."""
    done = subprocess.run([SONDE, *words, "--format", "json"], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def show(*words):
    print("$ sonde", " ".join(f"'{w}'" if "[" in w or " " in w else w for w in words), flush=True)
    subprocess.run([SONDE, *words], check=True)
    print()


def name_of(thread):
    return f"{thread['comm']}[{thread['tid']}]"


def seconds(ns):
    return f"{ns // 10**9}.{ns % 10**9:09}"


def container(run):
    """Who kept a process in a container in a VM from running?"""
    inside = {(r["machine"], r["comm"]) for r in ask("report", run, "-t", "process_time")["process_time"]
              if r["pid_ns"] and r["pid_ns"]["level"] > 0}
    vms = {r["vm"] for r in ask("report", run, "-t", "hypervisor")["hypervisor"]}
    for verdict in ask("why", run)["why"]:
        who = verdict["thread"]
        if verdict["kind"] == "thread" and who["machine"] in vms and \
                (who["machine"], who["comm"]) in inside:
            break
    else:
        sys.exit("no process in a container in a VM was kept from running")
    show("why", run, "--task", name_of(who), "--vm", who["machine"], "-n", "1")
    show("why", run, "--task", name_of(who), "--vm", who["machine"], "--slower-than", "1ms", "-n", "1")
    longest = ask("why", run, "--task", name_of(who), "--vm", who["machine"], "--slower-than",
                  "1ms")["why"][0]
    show("critpath", run, "--task", name_of(who), "--vm", who["machine"], "-n", "12", "--time",
         f"{seconds(longest['begin'])},{seconds(longest['end'])}")


def wakeup(run):
    """How much longer does a wake-up take in a VM inside a VM?"""
    show("report", run, "-t", "wakeup")
    slowest = [r for r in ask("report", run, "-t", "wakeup_list")["wakeup_list"] if r["level"] > 1]
    if not slowest:
        sys.exit("no vCPU of a nested VM was woken")
    middle = slowest[len(slowest) // 2]
    print(f"# one of them, of the middle: {middle['vcpu']['machine']}, {middle['total'] / 1000:.1f} us")
    show("report", run, "-t", "wakeup_list", "--time",
         f"{seconds(middle['at'])},{seconds(middle['at'] + middle['total'] + 1)}", "-n", "3")


def interrupt(run):
    """What happens, step by step, from a request to a disk to the process that waited for it?"""
    rows = [r for r in ask("report", run, "-t", "wakeup_list")["wakeup_list"]
            if r["cause"] == "disk" and r["thread"] and r["guest_run_delay"]]
    waits = {w["until"]: w for w in ask("report", run, "-t", "wait_list")["wait_list"]}
    found = None
    for row in rows:
        wait = next((w for until, w in sorted(waits.items()) if until >= row["at"]
                     and w["vcpu"] == row["vcpu"]), None)
        if not wait or wait["cause"] != "disk":
            continue
        window = f"{seconds(wait['at'])},{seconds(row['at'] + row['total'] + 1000)}"
        legs = {step["stage"] for step in ask("report", run, "-t", "io_step", "--time", window)["io_step"]}
        if not found or "disk" in legs:
            found = row["thread"], window, legs
        if "disk" in legs:      # the host's disk had to work for it, too
            break
    if not found:
        sys.exit("no wait for a disk that ended with a process")
    who, window, legs = found
    if legs:
        show("report", run, "-t", "io_step", "--time", window)
    show("critpath", run, "--task", name_of(who), "--vm", who["machine"], "-n", "40", "--time", window)


def boot(run):
    """Where did the time of a VM's start go?"""
    show("report", "boot", run)


def request(run):
    """What did a request between two marks wait for?"""
    marks = ask("report", run, "-t", "mark")["mark"]
    if len(marks) < 2:
        sys.exit("there are no two marks")
    show("report", run, "-t", "mark")
    show("critpath", run, "--from", marks[0]["text"], "--to", marks[1]["text"], "-n", "8")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)   # who reads no further ends this, as any command
    questions = {f.__name__: f for f in (container, wakeup, interrupt, boot, request)}
    for question in sys.argv[2:] or ["container", "wakeup", "interrupt"]:
        if question not in questions:
            sys.exit(f"{question}: no such question; there are {', '.join(questions)}")
        function = questions[question]
        print(f"# {function.__doc__}\n")
        function(sys.argv[1])


try:
    main()
except subprocess.CalledProcessError as failed:     # it has said why, or nobody wanted to read it
    sys.exit(failed.returncode if failed.returncode > 0 else 128 - failed.returncode)
