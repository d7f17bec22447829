#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What sonde why says, of whole and of damaged recordings: short sentences, and first what is missing."""

import collections
import importlib.machinery
import importlib.util
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.dont_write_bytecode = True
import lib  # noqa: E402
from property.cuts import gather  # noqa: E402
from property.damage import Recording  # noqa: E402

LOADER = importlib.machinery.SourceFileLoader("check_words", str(lib.ROOT / "tools/check-words"))
WORDS = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_words", LOADER))
LOADER.exec_module(WORDS)
WORDS_MAX = WORDS.WORDS_MAX
SENTENCES_MIN = 2000
SEEDS = range(4)
# Damage of which every reader knows that something is gone.
KINDS = {"ftrace": ["bytes zeroed", "truncated"], "lttng": ["packets zeroed", "truncated", "trace"]}


def analyse(history, *traces):
    done = subprocess.run([lib.SONDE, "analyze", "-q", *traces, "-o", history], capture_output=True, text=True)
    lib.check(done.returncode in (0, 3), f"{traces}: exit status {done.returncode}: {done.stderr}")
    return history


def sentences(text):
    return re.split(r"(?<=[.?!]) (?=\S)", text)


def verdicts(history, *options):
    return json.loads(lib.run(lib.SONDE, "why", "--format", "json", *options, history))["why"]


def check_input(history):
    """What is said of the input: traces left out, problems, evidence of clocks and waits."""
    nr = 0
    for table, columns in (("left_out", ["reason"]), ("problem", ["text"]), ("wait", ["evidence"])):
        for row in json.loads(lib.run(lib.SONDE, "report", "-t", table, "--format", "json", history))[table]:
            for sentence in (s for c in columns for s in sentences(row[c])):
                nr += 1
                lib.check(len(sentence.split()) <= WORDS_MAX, f"{history}: {table}: {len(sentence.split())} words: {sentence}")
    return nr


def check_short(history):
    """Returns how many there are."""
    nr = check_input(history)
    for v in verdicts(history) + verdicts(history, "--slower-than", "1ms")[:200]:
        for sentence in sentences(v["text"]):
            nr += 1
            lib.check(len(sentence.split()) <= WORDS_MAX, f"{history}: {len(sentence.split())} words: {sentence}")
            lib.check(not WORDS.gone(sentence), f"{history}: {WORDS.gone(sentence)}: {sentence}")
        lib.check(v["text"].endswith(".") and ".." not in v["text"], f"{history}: {v['text']}")
        lib.check(not re.search(r"with the input\. [a-z]", v["text"]), f"{history}: a sentence begins small: {v['text']}")
    return nr


def check_gaps(history):
    """Each gap is one row, and the longest stands in the first lines; returns how many there are."""
    gaps = json.loads(lib.run(lib.SONDE, "report", "-t", "gap", "--format", "json", history))["gap"]
    rows = collections.Counter((g["machine"], g["cpu"], g["at"], (g["events"] or 0) > 0) for g in gaps)
    lib.check(all(nr == 1 for nr in rows.values()), f"{history}: one gap, several rows: {rows.most_common(2)}")
    left_out = json.loads(lib.run(lib.SONDE, "report", "-t", "left_out", "--format", "json", history))["left_out"]
    for command in ("why", "report"):
        first = lib.run(lib.SONDE, command, history).split("\n\n")[0]
        told = re.findall(r"^(?:Events are missing|[\d,]+ events? (?:was|were) lost) on CPU \d+ of \S+ (?:from [\d.]+ (?:on, at most )?to|at) (?:[\d.]+|the end)", first, re.M)
        inside = [g for g in gaps if g["at"] < until(history)]
        lib.check(len(told) == bool(inside), f"{history}: {command}: {len(inside)} gaps in the window: {first}")
        lib.check((f"{len(left_out)} trace" in first) == bool(left_out), f"{history}: {command}: {left_out}: {first}")
    return len(gaps)


def until(history):
    answer = json.loads(lib.run(lib.SONDE, "why", "--format", "json", history))
    return answer["end"]


def check_moment(history):
    """The moment in the middle of the host's longest gap."""
    gaps = json.loads(lib.run(lib.SONDE, "report", "-t", "gap", "--format", "json", history))["gap"]
    longest = max(gaps, key=lambda g: g["length"])
    at = longest["at"] + longest["length"] // 2
    inside = f"Events are missing on CPU {longest['cpu']} of {longest['machine']} from "
    lines = [lib.run(lib.SONDE, "state", "--at", f"{t / 1e9:.9f}s", history) for t in (at, longest["at"] - 1)]
    lib.check(inside in lines[0] and inside not in lines[1], f"{history}: {longest}: {lines}")


def damaged(name, seed, scratch):
    whole, target = scratch / "whole" / name, scratch / f"{name}-{seed}"
    if not whole.exists():
        gather(name, whole)
    kind = KINDS[name][seed % len(KINDS[name])]
    what = Recording.of(whole).damage(random.Random(f"{name} {seed}"), target, [kind])
    print(f"{name} {seed}: {what}")
    return analyse(scratch / f"{name}-{seed}.sonde", *sorted(target.iterdir()))


def check_whole(scratch):
    nr = 0
    for name in ("ftrace", "lttng", "boot", "marks"):
        history = analyse(scratch / f"{name}.sonde", *sorted((lib.ROOT / "samples" / name).iterdir()))
        nr += check_short(history)
        check_gaps(history)
    perf = lib.unpacked(lib.ROOT / "samples/lab/perf-data-6.1.tar.xz")
    return nr + check_short(analyse(scratch / "perf.sonde", next(perf.glob("**/host.data")).parent))


def check_user_space(scratch):
    """Processes' own events say nothing of CPUs: neither that all went well nor that it did not."""
    history = analyse(scratch / "ust.sonde", lib.unpacked(lib.ROOT / "samples/ust/lttng-ust-2.13.tar.xz"))
    check_short(history)
    for options in ([], ["--slower-than", "1ms"]):
        text = " ".join(lib.run(lib.SONDE, "why", *options, history).split())
        lib.check("Nothing was delayed" not in text, text)
        lib.check("Steal time and run-queue delay are not known: no trace shows what CPUs ran." in text, text)
    check_input(analyse(scratch / "mixed.sonde", lib.ROOT / "samples/lttng", lib.unpacked(lib.ROOT / "samples/ust/lttng-ust-2.13.tar.xz")))
    text = " ".join(lib.run(lib.SONDE, "why", history).split())
    lib.check("is of user space only" in text and "Record its kernel, too" in text, text)


def main():
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        nr = check_whole(scratch)
        gaps = 0
        for seed in SEEDS:
            for name in KINDS:
                history = damaged(name, seed, scratch)
                nr += check_short(history)
                gaps += check_gaps(history)
                if name == "ftrace" and seed == 0:
                    check_moment(history)
        check_user_space(scratch)
        lib.check(nr > SENTENCES_MIN and gaps >= len(SEEDS), f"only {nr} sentences, {gaps} gaps")
        print(f"{nr} sentences of at most {WORDS_MAX} words, {gaps} gaps")


if __name__ == "__main__":
    lib.need(str(lib.SONDE))
    main()
