#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 240
"""Less evidence makes an answer less specific, never different.

    tests/property/cuts.py [--cuts N] [--seed N] [--set NAME] [--kind KIND | --all] [--log FILE]

Each cut takes something away from a recording, anything from any stream of any layer, analyses what is
left, and lets less_specific compare the two histories, value by value and moment by moment.  Without
--all it does what is known to hold: these kinds, these tables.
"""

import argparse
import collections
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402
from property.damage import Recording, copy_linked  # noqa: E402

JUDGE = lib.BUILD / "property/less_specific"
LEFT_OUT = 3  # exit status: a trace was
# What nothing in the traces shows to be missing: held only where other evidence contradicts.
NOT_EVIDENT = {"pages, not said"}
# Of these nothing less, and nothing else, may be said.
HELD = ["packets", "packets, index", "packets zeroed", "pages", "pages zeroed", "truncated", "stream",
        "trace"]
# So short that nothing in it names a CPU twice: that a stream is missing cannot be seen.
TOO_SHORT = {("marks", "stream")}
LEAST_KEPT = 0.7  # of the time in which a state was known
MOST_REFUSED = 0.25
LEAST_MOMENTS = 20000  # per cut, on the mean
MOST_MORE = 0.001  # of these: the whole recording told less


def plain(folder, target):
    """trace.dat files of version 6, not packed, of those in a folder."""
    lib.need("trace-cmd")
    target.mkdir(parents=True)
    for file in sorted(folder.glob("*.dat")):
        lib.run("trace-cmd", "convert", "-i", file, "-o", target / file.name, "--file-version", "6",
                "--compression", "none")


def gather(name, target):
    """A recording by name, as plain files under @target."""
    if name.startswith("lab-"):
        unpacked = lib.unpacked(next(iter(lib.archives(name))))
        target.mkdir(parents=True)
        for file in sorted(unpacked.glob("**/L0/run/*/trace.dat")):
            (target / file.parent.name).mkdir()
            shutil.copy(file, target / file.parent.name)
    elif name == "lttng":
        shutil.copytree(lib.ROOT / "samples/lttng", target)
    else:
        plain(lib.ROOT / "samples" / name, target)


def analyse(folder, history):
    history.unlink(missing_ok=True)
    traces = sorted(p for p in folder.iterdir())
    return subprocess.run([str(lib.SONDE), "analyze", "-q", *map(str, traces), "-o", str(history)],
                          capture_output=True, text=True, timeout=60)


class Tally:
    def __init__(self):
        self.cuts = collections.Counter()
        self.bad_cuts = collections.Counter()
        self.wrong = collections.Counter()
        self.refused = collections.Counter()
        self.moments = self.known = self.kept = self.more = 0


class Runner:
    def __init__(self, scratch, name, every):
        self.scratch, self.name, self.every = scratch, name, ["all"] if every else []
        self.whole = scratch / "whole" / name
        gather(name, self.whole)
        self.recording = Recording.of(self.whole)
        self.history = scratch / f"{name}.sonde"
        done = analyse(self.whole, self.history)
        lib.check(done.returncode == 0, f"{name}: {done.stderr}")

    def compare(self, history, root="/cut/", *options):
        done = subprocess.run([str(JUDGE), str(self.history), str(history), "/whole/", root,
                               *(options or self.every)],
                              capture_output=True, text=True, errors="replace", timeout=120)
        lib.check(done.returncode in (0, 1, 2), f"{JUDGE}: {done.returncode}: {done.stderr}")
        return done.returncode, done.stdout.splitlines()

    def one(self, seed, kinds, tally, log):
        target = self.scratch / "cut" / self.name
        shutil.rmtree(target, ignore_errors=True)
        target.parent.mkdir(exist_ok=True)
        done = self.recording.damage(random.Random(f"{self.name} {seed}"), target, kinds)
        what = "+".join(sorted(kind for kind, *_ in done))
        words = "; ".join(" ".join(one) for one in done)
        tally.cuts[what] += 1
        cut = self.scratch / "cut.sonde"
        ran = analyse(target, cut)
        if ran.returncode < 0 or ran.returncode > LEFT_OUT:
            tally.bad_cuts[what] += 1
            tally.wrong["crash"] += 1
            log(f"{self.name} {seed}: {words}: CRASH {ran.returncode} {ran.stderr[-300:]}")
            return
        if ran.returncode not in (0, LEFT_OUT):
            tally.refused[what] += 1
            log(f"{self.name} {seed}: {words}: refused: {ran.stderr.strip()[-200:]}")
            return
        status, lines = self.compare(cut)
        if status == 2:
            tally.refused["another outermost machine"] += 1
            log(f"{self.name} {seed}: {words}: another outermost machine")
            return
        _, moments, known, kept, more = lines[-1].split("\t")
        tally.moments += int(moments)
        tally.known += int(known)
        tally.kept += int(kept)
        tally.more += int(more)
        share = 100 * int(kept) / max(1, int(known))
        kinds_of = collections.Counter(line.split("\t")[1] for line in lines[:-1])
        log(f"{self.name} {seed}: {words}: kept {share:.1f} %, "
            + (", ".join(f"{n} {k}" for k, n in kinds_of.items()) or "nothing wrong"))
        if kinds_of:
            tally.bad_cuts[what] += 1
            tally.wrong.update(kinds_of)
            for line in lines[:-1][:12]:
                log("   " + line)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cuts", type=int, default=48)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="this one cut")
    parser.add_argument("--set", action="append", dest="sets")
    parser.add_argument("--kind", action="append", dest="kinds")
    parser.add_argument("--all", action="store_true", dest="every")
    parser.add_argument("--log", type=argparse.FileType("w"))
    parser.add_argument("--keep", help="leave the last cut's files there")
    args = parser.parse_args()
    sets = args.sets or ["lttng", "ftrace", "boot", "marks"]
    tally = Tally()

    def log(text):
        if args.log:
            print(text, file=args.log, flush=True)

    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as tmp:
        runners = [Runner(Path(tmp), name, args.every) for name in sets]
        if not args.only:
            finds_a_planted_lie(runners, log)
            if not args.sets:
                finds_greater_sums(runners)
        for number in range(args.cuts):
            runner = runners[number % len(runners)]
            kinds = args.kinds or [k for k in runner.recording.kinds()
                                   if (k in HELD or (args.every and k not in NOT_EVIDENT))
                                   and (runner.name, k) not in TOO_SHORT]
            runner.one(args.only or args.seed + number, kinds, tally, log)
        if args.keep:
            shutil.rmtree(args.keep, ignore_errors=True)
            shutil.copytree(tmp, args.keep)
    report(tally)


def finds_a_planted_lie(runners, log):
    """Pages go, and nothing says so: the last state goes on through the hole, which is to be found."""
    for runner in runners:
        if not any("pages, not said" in trace.kinds() for trace in runner.recording.traces.values()):
            continue
        tally = Tally()
        for seed in range(12):
            runner.one(seed, ["pages, not said"], tally, log)
        lies = sum(tally.bad_cuts.values())
        lib.check(lies >= 3, f"{runner.name}: of 12 holes that nothing tells of, {lies} were found")
        return


# What has time or lengths of its own; each set has these.
SUMMED = {"cpu_time", "machine_time", "process_time", "thread_time", "thread_delay", "preemption",
          "preemption_victim", "preemption_list"}


def finds_greater_sums(runners):
    """A history that says a quarter more than itself, in each of these tables."""
    found = set()
    for runner in runners:
        _, lines = runner.compare(runner.history, "/whole/", "lie")
        found |= {line.split("\t")[1] for line in lines[:-1]}
        _, lines = runner.compare(runner.history, "/whole/")
        lib.check(len(lines) == 1, f"{runner.name}: its history is not what it is: {lines[0]}")
    lib.check(found >= SUMMED, f"not found to be greater: {SUMMED - found}")


def check_floors(tally):
    """An empty history is less specific than any."""
    cuts = sum(tally.cuts.values())
    compared = max(1, cuts - sum(tally.refused.values()))
    lib.check(sum(tally.refused.values()) <= MOST_REFUSED * cuts, "too many were refused")
    lib.check(tally.kept >= LEAST_KEPT * tally.known, "too little is still known")
    lib.check(tally.moments >= LEAST_MOMENTS * compared, "too few values were compared")
    lib.check(tally.more <= MOST_MORE * tally.moments, "too much is known that was not")


def report(tally):
    for what, nr in sorted(tally.cuts.items()):
        print(f"{nr:6} {what}: {tally.bad_cuts[what]} with something wrong, "
              f"{tally.refused[what]} refused")
    print(f"{sum(tally.cuts.values())} cuts, {sum(tally.bad_cuts.values())} with something wrong; "
          f"{tally.moments:,} values compared, "
          f"{100 * tally.kept / max(1, tally.known):.1f} % of known time is still known, "
          f"{tally.more} times known that were not")
    for kind, nr in tally.wrong.most_common():
        print(f"{nr:8} wrong: {kind}")
    if tally.wrong:
        sys.exit(1)
    check_floors(tally)


if __name__ == "__main__":
    main()
