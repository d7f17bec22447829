# SPDX-License-Identifier: Apache-2.0
"""Checks of many scenarios, one after another: each is run, analysed, compared; the end is a table.

A run whose inputs are those of a run that is there already is not made again: only analysed and compared, which takes
seconds.  So a round that was interrupted, or that lost some runs to the emulator, goes on where it was.
"""
import json
from dataclasses import asdict, dataclass

from . import cache, engine, image, options, paths, payload, scenario, truth, verify
from .failure import Failure

OK, FAIL, LOST = "ok", "FAIL", "LOST"
STATUS = {OK: 0, FAIL: 1, LOST: 77}
COLUMNS = ("SCENARIO", "KERNEL", "RESULT", "PROGRAMS AGREE", "KERNELS, IDLE", "TRIES", "SECONDS")


@dataclass
class Outcome:
    scenario: str
    kernel: str
    result: str
    agreement: dict     # compare.py's; empty where there is nothing to compare
    tries: int
    seconds: float      # of all tries

    def cells(self):
        def share(agree, of):
            return f"{self.agreement[agree]} of {self.agreement[of]}" if self.agreement else "-"
        return (self.scenario, self.kernel, self.result, share("programs", "programs_of"),
                share("others", "others_of"), str(self.tries), f"{self.seconds:.0f}")


def all_scenarios(kernel):
    """Those that have work to do on it (None: on some kernel); the others are for trying things out."""
    names = sorted(path.stem for path in paths.SCENARIOS.glob("*.toml"))
    all_there_are = {name: scenario.load(name) for name in names}
    return [name for name, one in all_there_are.items() if one.work and (kernel or one.kernel) in one.kernels]


def inputs_of(chosen, built):
    """A digest of what makes a run what it is: the scenario, the image, the programs inside."""
    files = [*payload.programs(), *sorted(paths.GUEST.glob("*"))]
    return cache.digest(json.dumps(asdict(chosen), sort_keys=True), built.release, *files)


def kept(directory, inputs):
    """The report of a whole run made from these inputs; None when there is none."""
    file = directory / engine.MARK
    report = json.loads(file.read_text()) if file.is_file() else {}
    return report if report.get("inputs") == inputs else None


def result_of(verdicts):
    return OK if all(verdict.passed for verdict in verdicts) else FAIL


def show(name, kernel, verdicts, verbose):
    for verdict in verdicts:
        print(f"{'ok   ' if verdict.passed else 'FAIL '} {name} ({kernel}): {verdict.check}", flush=True)
        if verbose or not verdict.passed:
            print("\n".join("      " + line for line in verdict.text.splitlines()), flush=True)


def check(name, given, stopwatch):
    """Runs one scenario, unless it is to be resumed and is there; checks it.  Gives its Outcome."""
    chosen = options.choose(name, given)
    built = image.get(chosen.kernel, stopwatch)
    directory = options.directory(chosen, given)
    of_engine = options.of_engine(directory, given, stopwatch)
    of_engine.inputs = inputs_of(chosen, built)
    report = kept(directory, of_engine.inputs) if given.resume else None
    if report:
        stopwatch.say(f"{name} ({chosen.kernel}): the run that is there is taken")
        truth.write(chosen, built, directory)   # it is what today's lab makes of what the machines said
    else:
        begin = stopwatch.elapsed()
        try:
            report = engine.run(chosen, built, of_engine, stopwatch)
        except engine.NoTrySucceeded as failure:
            print(f"LOST  {name} ({chosen.kernel}): {failure}", flush=True)
            return Outcome(name, chosen.kernel, LOST, {}, failure.tries, stopwatch.elapsed() - begin)
        except Failure as failure:
            print(f"FAIL  {name} ({chosen.kernel}): {failure}", flush=True)
            return Outcome(name, chosen.kernel, FAIL, {}, 1, stopwatch.elapsed() - begin)
    verdicts = verify.run(chosen, directory, report)
    show(name, chosen.kernel, verdicts, given.verbose)
    compared = directory / verify.AGREEMENT
    return Outcome(name, chosen.kernel, result_of(verdicts),
                   json.loads(compared.read_text()) if compared.is_file() else {}, report["tries"],
                   report["took_s"])


def table(outcomes):
    """One line each, below a heading."""
    rows = [COLUMNS, *(outcome.cells() for outcome in outcomes)]
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
                     for row in rows)


def status(outcomes):
    """1 when a check failed, else 77 when a run was lost, else 0."""
    statuses = {STATUS[outcome.result] for outcome in outcomes}
    return 1 if 1 in statuses else max(statuses, default=0)
