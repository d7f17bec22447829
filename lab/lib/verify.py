# SPDX-License-Identifier: Apache-2.0
"""After a run: what does Sonde make of it, and is that what happened?

Each check gives a Verdict.  The program is used as a user would use it; the truth is the lab's.
"""
import json
import re
import subprocess
import sys
from dataclasses import dataclass

from . import marks, paths
from .scenario import HOST

SONDE = paths.BUILD / "sonde"
HISTORY = "run.sonde"
VERDICTS = "verdicts.json"
AGREEMENT = "agreement.json"    # oracle/compare.py's numbers
ANALYZE_LIMIT_S = 120
FAULTS = ("panic", "quit", "kill-tracer")
NOTHING_TO_TEST = 77
TAIL_S = 0.6    # what a fault may cost of the time before it


@dataclass
class Verdict:
    check: str
    passed: bool
    text: str


def call(*arguments):
    """A CompletedProcess; what takes too long has failed."""
    try:
        return subprocess.run(list(map(str, arguments)), capture_output=True, text=True,
                              timeout=ANALYZE_LIMIT_S, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(arguments, 1, "", f"{arguments[0]} took more than {ANALYZE_LIMIT_S} s")


def said(done):
    return (done.stdout.strip() + "\n" + done.stderr.strip()).strip()


def inputs(directory):
    """What to analyse: the run that sonde record gathered, or what each machine's own tracer wrote."""
    run = directory / "L0/run"
    if run.is_dir():
        return [run]
    return sorted([*directory.glob("*/trace.dat"), *directory.glob("*/lttng/*/kernel")])


def analyze(scenario, directory):
    found = inputs(directory)
    if not found:
        return Verdict("analyze", not any(m.tracer != "none" for m in scenario.machine),
                       "there is no trace")
    (directory / HISTORY).unlink(missing_ok=True)
    done = call(SONDE, "analyze", "-o", directory / HISTORY, *found)
    return Verdict("analyze", done.returncode == 0, said(done))


def sound(scenario, directory):
    done = call(SONDE, "check", directory / HISTORY)
    return Verdict("check", done.returncode == 0, said(done))


def places(machine, parent=None):
    """{name: (parent's name, whether it was traced)} of each machine in what `sonde tree` shows; L0 by the lab's name, a
    nested machine without its parents' names before its own."""
    name = machine["name"].rsplit(".", 1)[-1] if parent else HOST
    found = {name: (parent, machine["traced"])}
    for vm in machine.get("vms", []):
        found |= places(vm, name)
    return found


def machine_tree(scenario, directory):
    """Every traced machine is found, in its place, with a trace of its own where one can be expected: not from one that
    began after the recorder."""
    done = call(SONDE, "tree", "--format", "json", directory / HISTORY)
    if done.returncode:
        return Verdict("machines", False, said(done))
    found = places(json.loads(done.stdout))
    expected = [machine for machine in scenario.machine
                if scenario.tracer_of(machine) != "none" and not scenario.ends(machine.name)]
    missing = [machine.name for machine in expected
               if found.get(machine.name, (None, None))[0] != machine.parent or machine.name not in found]
    mute = [machine.name for machine in expected if machine.name in found and machine.boot == "first"
            and not found[machine.name][1]]
    wrong = [f"{what}: {', '.join(names)}" for what, names in (("not found", missing), ("no trace of", mute))
             if names]
    return Verdict("machines", not wrong, "; ".join(wrong) or "all traced machines are in the tree")


def report_says(scenario, directory):
    """What the scenario expects to read in `sonde report`: regular expressions."""
    text = said(call(SONDE, "report", "--no-pager", "-i", directory / HISTORY))
    missing = [wanted for wanted in scenario.expect["says"] if not re.search(wanted, text)]
    return Verdict("report", not missing, "\n".join(f"does not say: {wanted}" for wanted in missing)
                   or "says what is expected")


def last_moment(scenario, directory):
    """L0's counter at which a fault of the scenario has not begun to cost anything; None without faults.

    What a recorder or a machine holds back when it dies is lost, so a little before the fault.
    """
    faults = [action.at for action in scenario.action if action.do in FAULTS]
    if not faults:
        return None
    host = json.loads((directory / "truth.json").read_text())["machines"][HOST]
    begin, end = host["clocks_begin"][0], host["clocks_end"][0]
    per_second = (end["tsc"] - begin["tsc"]) * 1e9 / (end["mono_ns"] - begin["mono_ns"])
    return begin["tsc"] + (min(faults) - TAIL_S) * per_second


def keep_until(moment, file):
    """Leaves only the samples before `moment`."""
    held = json.loads(file.read_text())
    held["samples"] = [sample for sample in held["samples"]
                       if max(sample.get("l0_tsc_range", [sample.get("l0_tsc")])) < moment]
    file.write_text(json.dumps(held))


def oracle(scenario, directory):
    """The emulated hardware's own word, sample by sample."""
    (directory / AGREEMENT).unlink(missing_ok=True)
    if not (directory / "samples-raw.json").is_file():
        return None
    compare = [sys.executable, paths.LAB / "oracle/compare.py", "--counts", directory / AGREEMENT]
    samples = call(sys.executable, paths.LAB / "oracle/samples.py", directory)
    if samples.returncode:
        return Verdict("oracle", False, said(samples))
    moment = last_moment(scenario, directory)
    if moment:
        keep_until(moment, directory / "samples.json")
    done = call(*compare, directory / HISTORY, directory / "samples.json")
    return Verdict("oracle", done.returncode == 0, said(samples) + "\n" + said(done))


def clocks(scenario, directory):
    """Every machine's clock, against what the witnesses read; not where machines come, go and move."""
    if scenario.action:
        return None
    done = call(sys.executable, paths.REPOSITORY / "tests/clock/lab_run.py", directory)
    return None if done.returncode == NOTHING_TO_TEST else Verdict("clocks", done.returncode == 0, said(done))


def folded(scenario, directory):
    """Marks of the workload of that name."""
    found = marks.check(SONDE, directory)
    return Verdict("marks", *found) if found else None


def answered(scenario, directory):
    """Who asks another machine gets an answer: else there was no network, and nothing waited for it."""
    works = json.loads((directory / "truth.json").read_text())["works"].values()
    asked = [(work["machine"], said["periods"]) for work in works for said in work["said"]
             if said.get("workload") == "net" and said["at"] == "end" and "--serve" not in work["program"]]
    silent = [machine for machine, answers in asked if not answers]
    return Verdict("network", not silent, f"no answer ever came to {', '.join(silent)}" if silent else
                   "; ".join(f"{machine}: {answers} answers" for machine, answers in asked)) if asked else None


def healthy(report):
    lines = [f"{machine}: {line}" for machine, some in report["complaints"].items() for line in some]
    return Verdict("kernels", not lines, "\n".join(lines) or "no complaint in any kernel's log")


def run(scenario, directory, report):
    """All checks that fit the scenario; those after a failed analysis are left out."""
    verdicts = [healthy(report), answered(scenario, directory), analyze(scenario, directory)]
    if verdicts[-1].passed and (directory / HISTORY).is_file():
        verdicts += [sound(scenario, directory), machine_tree(scenario, directory),
                     clocks(scenario, directory), oracle(scenario, directory), folded(scenario, directory)]
        if "says" in scenario.expect:
            verdicts.append(report_says(scenario, directory))
    verdicts = [verdict for verdict in verdicts if verdict]
    (directory / VERDICTS).write_text(json.dumps(
        [vars(verdict) for verdict in verdicts], indent=1) + "\n")
    return verdicts
