#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 240
"""Less evidence makes an answer less specific, never different.

    tests/property/cuts.py [--cuts N] [--seed N] [--set NAME] [--kind KIND] [--log FILE]

Each cut takes something away from a recording, anything from any stream of any layer, analyses what is
left, and lets less_specific compare the two histories, value by value and moment by moment.  The log has a
line per cut; a summary by set and by kind ends it.
"""

import argparse
import collections
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402
import perf_parts  # noqa: E402
from property.damage import Dat, Recording, copy_linked  # noqa: E402

JUDGE = lib.BUILD / "property/less_specific"
LEFT_OUT = 3  # exit status: a trace was
REPORTED = 97  # exit status of whatever a sanitizer stops
ENV = os.environ | {"ASAN_OPTIONS": f"exitcode={REPORTED}", "UBSAN_OPTIONS": f"exitcode={REPORTED}"}
# What nothing in the traces shows to be missing: held only where other evidence contradicts.
NOT_EVIDENT = {"pages, not said nor counted", "records removed, not said", "pages of another CPU", "pages of another trace",
               "pages torn", "stamps altered", "compressed records removed", "compressed records swapped"}
# A cut may leave nothing that can be told; all else is to be analysed.
MAY_REFUSE = ["the traces hold no event that says what a CPU does", "holds no events"]
# Cuts that found something once.
FOUND_ONCE = {"lttng": [100560, 101410, 1003070, 10001074, 10003264], "ftrace": [101826, 97000100, 97002514, 97002549, 400000331], "boot": [103487, 120007, 5200377],
              "marks": [55038, 100323, 111658, 120763], "perf": [120944, 91001000, 98001204]}
# ... of what is there and says another time or stands elsewhere, and these kinds.
FOUND_ASTRAY = {"perf": [50000216, 50000298, 50000338, 61000013, 61000060, 61000221, 61000238]}
ASTRAY = ["times altered", "records swapped"]
# ... of all kinds of that.
FOUND_MISPLACED = {"perf": [98000448]}
# ... of a packet that says another begin.
FOUND_STAMPS = {"lttng": [1004, 1017, 1040, 1041]}
ALL_MISPLACED = ["CPUs altered", "numbers altered", "records swapped", "times altered"]
# ... of a page of another CPU, as long as its threads did not tell (source/dat/page.h): a dozen cuts of that kind
# come near the ceiling below with or without that, these do not.
FOUND_FOREIGN = {"ftrace": [102, 112, 114, 126, 128, 138]}
# ... of compressed records that are there twice, missing or elsewhere: what follows repeats others' bytes.
FOUND_PACKED = {"doubled": [91000161], "removed": [92100043], "swapped": [92100066, 92100199]}
TABLES_THAT_MUST_FAIL = ["wait", "wait_list", "wakeup", "wakeup_list", "wakeup_histogram", "wakeup_awake",
                         "wakeup_awake_list", "io", "io_stage", "io_list", "io_histogram"]
LEAST_KEPT = 0.7  # of the time in which a state was known
LEAST_ROWS = 0.5  # of the rows of tables
MOST_REFUSED = 0.05
LEAST_COMPARED = 0.6  # of the values that a whole recording has, on the mean
LEAST_VALUES = 3000  # that it has
# Of cuts of kinds of which only contradictions tell, so many are wrong: measured were 0 to 4 %.
MOST_WRONG = {"pages of another CPU": 0.2, "pages of another trace": 0.2, "pages torn": 0.2, "stamps altered": 0.1,
              "compressed records removed": 0.05, "compressed records swapped": 0.05}
MOST_MORE = 0.001  # of these: a true gain, see order.c


def plain(folder, target, pattern="*.dat"):
    """trace.dat files of version 6, not packed, of those in a folder."""
    lib.need("trace-cmd")
    target.mkdir(parents=True)
    for file in sorted(folder.glob(pattern)):
        lib.run("trace-cmd", "convert", "-i", file, "-o", target / file.name, "--file-version", "6",
                "--compression", "none")


def gather_layers(unpacked, target):
    """A packed run has a folder for each machine, L0 and what is in it, or those of its recorder."""
    target.mkdir(parents=True)
    for place in sorted([*unpacked.glob("**/L0/run/*/"), *unpacked.glob("**/L[0-9]*/")]):
        if (place / "lttng").is_dir():
            shutil.copytree(place / "lttng", target / place.name)
        elif (place / "trace.dat").exists():
            plain(place, target / place.name, "trace.dat")


def gather(name, target):
    """A recording by name, as plain files under @target: a sample's, or a packed run's."""
    if lib.archives(name):
        gather_layers(lib.unpacked(lib.archives(name)[0]), target)
    elif name == "perf":
        unpacked = lib.unpacked(lib.ROOT / "samples/lab/perf-data-6.1.tar.xz")
        shutil.copytree(next(unpacked.glob("**/host.data")).parent, target)
    elif name == "perf -z":
        target.mkdir(parents=True)
        for path in lib.unpacked(lib.ROOT / "samples/lab/perf-data-6.1.tar.xz").rglob("*.data"):
            file = perf_parts.File(path)
            others, cpus = file.split()
            file.write(target / path.name, others + perf_parts.in_records(perf_parts.flushed(perf_parts.in_turn(cpus))), features=perf_parts.ZSTD_FEATURE)
    elif name == "lttng":
        shutil.copytree(lib.ROOT / "samples/lttng", target)
    else:
        plain(lib.ROOT / "samples" / name, target)
        # Excerpts: what their recorder counted is put right, as if there had never been more.
        for file in target.glob("*.dat"):
            Dat(file).count_whole()


def analyse(folder, history, rng=None, *options):
    """Its traces in any order, by the seed."""
    history.unlink(missing_ok=True)
    traces = sorted(p for p in folder.iterdir())
    if rng:
        rng.shuffle(traces)
    return subprocess.run([str(lib.SONDE), "analyze", "-q", *options, *map(str, traces), "-o", str(history)],
                          capture_output=True, text=True, errors="replace", timeout=60, env=ENV)


class Tally:
    """What came of cuts: all of them, those of a set, those of a kind."""

    def __init__(self):
        self.cuts = self.bad = self.moments = self.known = self.kept = self.more = 0
        self.rows = self.rows_kept = self.whole = 0
        self.wrong, self.refused = collections.Counter(), collections.Counter()

    def compared(self, figures, whole):
        """Of the @whole, as many values as it has, so much was compared."""
        self.whole += whole
        moments, known, kept, more, rows, rows_kept, _ = map(int, figures)
        self.moments += moments
        self.known += known
        self.kept += kept
        self.more += more
        self.rows += rows
        self.rows_kept += rows_kept

    def words(self):
        return (f"{self.cuts} cuts, {self.bad} with something wrong, "
                f"{sum(self.refused.values())} refused; {self.moments:,} values compared, "
                f"{share(self.kept, self.known)} of known time and "
                f"{share(self.rows_kept, self.rows)} of rows still known, "
                f"{self.more} times known that were not")


def share(part, of):
    return f"{100 * part / of:.1f} %" if of else "-"


class Log:
    """All tallies, and the lines of what is told."""

    def __init__(self, file):
        self.file, self.begin = file, time.monotonic()
        self.all, self.sets, self.kinds = Tally(), {}, {}

    def line(self, text):
        if self.file:
            print(text, file=self.file, flush=True)

    def of(self, name, kind):
        return [self.all, self.sets.setdefault(name, Tally()), self.kinds.setdefault(kind, Tally())]

    def summary(self):
        yield from (f"set {name}: {tally.words()}" for name, tally in sorted(self.sets.items()))
        yield from (f"kind {kind}: {tally.words()}" for kind, tally in sorted(self.kinds.items()))
        yield f"all: {self.all.words()}; {time.monotonic() - self.begin:.0f} s"
        yield from (f"{nr:8} refused: {why}" for why, nr in self.all.refused.most_common())
        yield from (f"{nr:8} wrong: {kind}" for kind, nr in self.all.wrong.most_common())


class Runner:
    def __init__(self, scratch, name):
        self.scratch, self.name = scratch, name
        self.whole = scratch / "whole" / name
        gather(name, self.whole)
        self.recording = Recording.of(self.whole)
        self.history = scratch / f"{name}.sonde"
        done = analyse(self.whole, self.history)
        lib.check(done.returncode == 0, f"{name}: {done.stderr}")
        self.values = int(self.compare(self.history, "/whole/")[1][0])
        lib.check(self.values >= LEAST_VALUES, f"{name}: {self.values} values are there to compare")

    def evident(self):
        """The kinds of damage that something in the traces shows."""
        return [kind for kind in self.recording.kinds() if kind not in NOT_EVIDENT]

    def compare(self, history, root="/cut/", *options, swapped=False):
        """What is wrong of a history, as lines, and the figures of what was compared."""
        sides = [(str(self.history), "/whole/"), (str(history), root)]
        files, roots = zip(*(sides[::-1] if swapped else sides))
        done = subprocess.run([str(JUDGE), *files, *roots, *options], env=ENV,
                              capture_output=True, text=True, errors="replace", timeout=120)
        lib.check(done.returncode in (0, 1), f"{JUDGE}: {done.returncode}: {done.stderr}")
        *lines, last = done.stdout.splitlines()
        lib.check(last.startswith("compared\t"), f"{JUDGE} did not end: {last}")
        return lines, last.split("\t")[1:]

    def judge(self, target, rng=None):
        """What is wrong, why it was refused, and the figures."""
        cut = self.scratch / "cut.sonde"
        try:
            ran = analyse(target, cut, rng)
        except subprocess.TimeoutExpired:
            return ["wrong\ttoo slow"], None, None
        nothing_left = [why for why in MAY_REFUSE if ran.returncode == 1 and why in ran.stderr]
        if nothing_left:
            return [], nothing_left[0], None
        if ran.returncode not in (0, LEFT_OUT):
            kind = "refused" if ran.returncode in (1, 2) else "crash"
            return [f"wrong\t{kind}\texit status {ran.returncode}: {ran.stderr[-500:]}"], None, None
        lines, figures = self.compare(cut)
        # What is left may not tell the rate of a counter, as a user can.
        if of_unit := [line for line in lines if line.startswith("wrong\tunit\t")]:
            analyse(target, cut, rng, "--tsc-khz", of_unit[0].split("\t")[-1].split()[0])
            lines, figures = self.compare(cut)
        return lines + self.verdict(target, int(figures[-1])), None, figures

    def verdict(self, target, gaps):
        """What sonde check says of traces in which the history has gaps."""
        done = subprocess.run([str(lib.SONDE), "check", "-q", str(target)], capture_output=True,
                              text=True, errors="replace", timeout=60, env=ENV)
        if done.returncode not in (0, LEFT_OUT):
            return [f"wrong\tcheck\texit status {done.returncode}: {done.stderr[-300:]}"]
        return [f"wrong\tcheck\tsound\t{gaps} gaps"] if gaps > 0 and not done.returncode else []

    def one(self, seed, kinds, log):
        target = self.scratch / "cut" / self.name
        shutil.rmtree(target, ignore_errors=True)
        target.parent.mkdir(exist_ok=True)
        rng = random.Random(f"{self.name} {seed}")
        session = rng.choice(sessions) if (sessions := [k for k in kinds if k in self.recording.sessions()]) else None
        done = self.recording.given(rng, target, session) if session else self.recording.damage(rng, target, kinds)
        lines, refused, figures = self.judge(target, rng)
        wrong = collections.Counter(line.split("\t")[1] for line in lines)
        for tally in log.of(self.name, "+".join(sorted(kind for kind, *_ in done))):
            tally.cuts += 1
            tally.bad += bool(wrong)
            tally.wrong.update(wrong)
            if refused:
                tally.refused[refused] += 1
            if figures:
                tally.compared(figures, self.values)
        what = "; ".join(" ".join(one) for one in done)
        kept = f"kept {share(int(figures[2]), int(figures[1]))}, " if figures else ""
        log.line(f"{self.name} {seed}: {what}: {kept}" + (f"refused: {refused}" if refused else
                 ", ".join(f"{n} {k}" for k, n in wrong.items()) or "nothing wrong"))
        for line in lines[:12]:
            log.line("   " + line)


def misplaced(runner):
    return [kind for kind in runner.recording.misplaced() if kind not in NOT_EVIDENT]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cuts", type=int, default=48)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="this one cut")
    parser.add_argument("--set", action="append", dest="sets")
    parser.add_argument("--kind", action="append", dest="kinds")
    parser.add_argument("--log", type=argparse.FileType("w"))
    parser.add_argument("--keep", help="leave the last cut's files there")
    args = parser.parse_args()
    sets = args.sets or ["lttng", "ftrace", "boot", "marks", "perf", "perf -z"]
    log = Log(args.log)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as tmp:
        runners = [Runner(Path(tmp), name) for name in sets]
        for runner in runners:
            runner.recording.strangers = [other.whole / trace for other in runners if other.name != runner.name
                                          for trace in other.recording.traces]
        if args.only is None:
            finds_a_planted_lie(runners, log)
            knows_nothing(runners)
            if not args.sets:
                says_more(runners)
                finds_greater_sums(runners)
                finds_planted(runners, Path(tmp))
                lies_seldom(runners, log)
        if args.only is None and not args.sets and not args.kinds:
            for runner in runners:
                for number in FOUND_ONCE.get(runner.name, []):
                    runner.one(number, runner.evident(), log)
                for number in FOUND_ASTRAY.get(runner.name, []):
                    runner.one(number, ASTRAY, log)
                for number in FOUND_MISPLACED.get(runner.name, []):
                    runner.one(number, ALL_MISPLACED, log)
                for number in FOUND_STAMPS.get(runner.name, []):
                    runner.one(number, ["stamps altered"], log)
                for number in FOUND_FOREIGN.get(runner.name, []):
                    runner.one(number, ["pages of another CPU"], log)
                for how, numbers in FOUND_PACKED.items() if runner.name == "perf -z" else ():
                    for number in numbers:
                        runner.one(number, [f"compressed records {how}"], log)
        numbers = [args.only] if args.only is not None else range(args.seed, args.seed + args.cuts)
        for at, number in enumerate(numbers):
            runner = runners[at % len(runners)]
            kinds = args.kinds or runner.evident()
            if set(kinds) & runner.recording.all_kinds():
                runner.one(number, kinds, log)
        if args.only is None and not args.kinds:
            for at in range(max(args.cuts // 8, len(runners))):
                runner = runners[at % len(runners)]
                runner.one(args.seed + at, runner.recording.sessions(), log)
                if kinds := misplaced(runner):
                    runner.one(args.seed + at, kinds, log)
        if args.keep:
            shutil.rmtree(args.keep, ignore_errors=True)
            shutil.copytree(tmp, args.keep)
    for line in log.summary():
        print(line)
        log.line(line)
    if log.all.wrong:
        sys.exit(1)
    if args.only is None:
        lib.check(not (broken := broken_floors(log.all)), "; ".join(broken))


def finds_a_planted_lie(runners, log):
    """Pages go, and nothing says so: the last state goes on through the hole, which is to be found."""
    able = [r for r in runners if "pages, not said nor counted" in r.recording.kinds()]
    if not able:
        print("no lie was planted: of these sets only those of ftrace can have one")
        return
    own = Log(log.file)
    for seed in range(12):
        able[0].one(seed, ["pages, not said nor counted"], own)
    lib.check(own.all.bad >= 3, f"of 12 holes that nothing tells of, {own.all.bad} were found")


def lies_seldom(runners, log):
    """What nothing tells of is told where other evidence contradicts: mostly."""
    for kind, most in MOST_WRONG.items():
        own = Log(log.file)
        able = [r for r in runners if kind in r.recording.misplaced()]
        for at in range(12 if able else 0):
            able[at % len(able)].one(at, [kind], own)
        lib.check(own.all.bad <= most * own.all.cuts, f"{kind}: of {own.all.cuts} cuts {own.all.bad} are told wrong")


def says_more(runners):
    """A whole recording says more than one from which something is missing: held against that, each of these tables is wrong."""
    found = set()
    for runner in runners:
        kinds = [kind for kind in runner.recording.kinds() if kind not in NOT_EVIDENT | {"trace"}]
        for seed in range(11):
            target = runner.scratch / "cut" / runner.name
            shutil.rmtree(target, ignore_errors=True)
            target.parent.mkdir(exist_ok=True)
            runner.recording.damage(random.Random(f"{runner.name} {seed}"), target, kinds)
            cut = runner.scratch / "cut.sonde"
            if not analyse(target, cut).returncode:
                found |= {line.split("\t")[1] for line in runner.compare(cut, swapped=True)[0]}
    missed = sorted(set(TABLES_THAT_MUST_FAIL) - found)
    lib.check(not missed, f"that more is told than is known was not found of {missed}")


# What has time or lengths of its own; each set has these.
SUMMED = {"cpu_time", "machine_time", "process_time", "thread_time", "thread_delay", "preemption",
          "preemption_victim", "preemption_list", "steal"}


def finds_greater_sums(runners):
    """A history that says a quarter more than itself, in each of these tables."""
    found = set()
    for runner in runners:
        lines, _ = runner.compare(runner.history, "/whole/", "greater")
        found |= {line.split("\t")[1] for line in lines}
        lines, _ = runner.compare(runner.history, "/whole/")
        lib.check(not lines, f"{runner.name}: its history is not what it is: {lines[:1]}")
    lib.check(found >= SUMMED, f"not found to be greater: {SUMMED - found}")


# What is taken away of a set, what is planted in the rest (less_specific.h), and where it is to be found.
PLANTED = [("ftrace", None, "modes", "runs"), ("ftrace", "vm-a.dat", "exits", "hypervisor"),
           ("lab-run-containers-6.1", "host0/trace.dat", "gains", "more of thread"),
           ("ftrace", "host0.dat", "neighbours", "more of task"), ("ftrace", "vm-a.dat", "neighbours", "more of runs"),
           ("lttng", "host0", "neighbours", "more of thread"), ("lttng", "host0", "bounds", "hypervisor"),
           ("lab-run-containers-6.1", "vm-a/trace.dat", "waits", "wakeup_list"),
           ("lab-run-containers-6.1", "vm-a/trace.dat", "waits", "wakeup"),
           ("lab-run-containers-6.1", "vm-a.vm-a-n/trace.dat", "waits", "wakeup")]


def finds_planted(runners, scratch):
    """A falsehood of each kind that could pass for less; and without it nothing is wrong."""
    runners = {runner.name: runner for runner in runners}
    for name, gone, lie, where in PLANTED:
        runner = runners[name] = runners.get(name) or Runner(scratch, name)
        target, cut = runner.scratch / "cut" / name, runner.scratch / "cut.sonde"
        shutil.rmtree(target, ignore_errors=True)
        copy_linked(runner.whole, target)
        if gone and (target / gone).is_dir():
            shutil.rmtree(target / gone)
        elif gone:
            (target / gone).unlink()
        lib.check((done := analyse(target, cut)).returncode in (0, LEFT_OUT), f"{name} without {gone}: {done.stderr}")
        lines, _ = runner.compare(cut)
        lib.check(not lines, f"{name} without {gone}: {lines[:1]}")
        found = {line.split("\t")[1] for line in runner.compare(cut, "/cut/", lie)[0]}
        lib.check(where in found, f"{name} without {gone}: {lie} planted, found in {sorted(found)}")


def knows_nothing(runners):
    """Where hardly a trace is left nothing can be wrong; but the floors are to see it."""
    for runner in runners:
        tally = Tally()
        target = runner.scratch / "cut" / runner.name
        shutil.rmtree(target, ignore_errors=True)
        target.parent.mkdir(exist_ok=True)
        runner.recording.keep_hardly_any(target)
        lines, refused, figures = runner.judge(target)
        tally.cuts += 1
        if figures:
            tally.compared(figures, runner.values)
        lib.check(broken_floors(tally),
                  f"{runner.name}: hardly anything is left of it, and no floor was broken: {tally.words()}")


def broken_floors(tally):
    """An empty history is less specific than any."""
    floors = {
        "too many were refused": sum(tally.refused.values()) <= MOST_REFUSED * tally.cuts,
        "too little is still known": tally.known and tally.kept >= LEAST_KEPT * tally.known,
        "too few rows are left": tally.rows and tally.rows_kept >= LEAST_ROWS * tally.rows,
        "too few values were compared": tally.whole and tally.moments >= LEAST_COMPARED * tally.whole,
        "too much is known that was not": tally.more <= MOST_MORE * tally.moments,
    }
    return [words for words, holds in floors.items() if not holds]


if __name__ == "__main__":
    main()
