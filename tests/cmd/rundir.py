#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sonde analyze RUN: the manifest says which machine is which; what it says went wrong, and what is
missing, is told; and it is not trusted further than that."""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402

SAMPLES = {"iron": "host0", "iron.a": "vm-a", "iron.b": "vm-b", "iron.a.n": "vm-a-n"}
PARENTS = {"iron": None, "iron.a": "iron", "iron.b": "iron", "iron.a.n": "iron.a"}


def make_run(path, **changes):
    """A run directory of the shipped samples, and its manifest."""
    machines = []
    for name, sample in SAMPLES.items():
        (path / name).mkdir(parents=True)
        shutil.copy(lib.ROOT / f"samples/ftrace/{sample}.dat", path / name / "trace.dat")
        machines.append({"name": name, "parent": PARENTS[name], "folder": name, "tracer": "ftrace",
                         "clock": "x86-tsc", "clock_reason": "", "complete": True,
                         "cost": {"events_lost": 0}})
    manifest = {"version": 1, "state": "complete", "machines": machines, **changes}
    save(path, manifest)
    return manifest


def save(path, manifest):
    (path / "run.json").write_text(json.dumps(manifest))


LEFT_OUT = 3  # what analyze exits with when it did not take all traces


def analyze(path, status=0, options=()):
    done = subprocess.run([lib.SONDE, "analyze", path, "-o", path.parent / "out.sonde", *options],
                          capture_output=True, text=True)
    lib.check(done.returncode == status, f"exit status {done.returncode}: {done.stderr}")
    if status not in (0, LEFT_OUT):
        return done.stderr
    info = json.loads(lib.run(lib.SONDE, "info", "--format", "json", path.parent / "out.sonde"))
    info["parents"] = {m["name"]: m["parent"] for m in info["machines"] if m["traced"]}
    info["problems"] = [p["text"] for p in info["problem"]]
    return info


def verdicts_on_problems(path):
    told = json.loads(lib.run(lib.SONDE, "why", "--format", "json", path.parent / "out.sonde"))["why"]
    return [row["text"] for row in told if row["cause"] == "problems"]


def has(info, *parts):
    for part in parts:
        lib.check(any(part in text for text in info["problems"]),
                  f'no problem says "{part}": {info["problems"]}')


def whole(path):
    make_run(path)
    info = analyze(path)
    lib.check(info["parents"] == PARENTS, info["parents"])
    # CPU 1's part of the sample ends some ms before the guests' do.
    told = verdicts_on_problems(path)
    lib.check(not told, f"problems are told where there are none: {told}")
    texts = {m["name"]: m["evidence"] for m in info["machines"]}
    lib.check("recorded through that machine" in texts["iron.a"], texts)
    lib.check(not any("recorded with" in text or "its record" in text for text in info["problems"]), info["problems"])


def the_user_counts_more(path):
    make_run(path)
    info = analyze(path, options=["--guest", f"rust={path / 'iron.a'}", "--parent", "rust=iron"])
    lib.check(info["parents"] == {"iron": None, "rust": "iron", "iron.b": "iron",
                                  "iron.a.n": "rust"}, info["parents"])


def each_by_itself(path):
    """Recorders that did not know of each other: each says that its machine is the outermost."""
    runs = []
    for machine in make_run(path)["machines"]:
        run = path.parent / f"of-{machine['name']}"
        run.mkdir()
        shutil.move(path / machine["name"], run)
        save(run, {"version": 1, "state": "complete", "machines": [{**machine, "parent": None}]})
        runs.append(run)
    info = analyze(runs[0], options=runs[1:])
    lib.check(info["parents"] == PARENTS, info["parents"])


def partial(path):
    manifest = make_run(path, state="partial")
    guest = manifest["machines"][2]
    guest.update(complete=False, why="its agent went silent", clock="mono",
                 clock_reason="its TSC is not in step")
    guest["cost"]["events_lost"] = 17
    shutil.rmtree(path / "iron.b")
    save(path, manifest)
    info = analyze(path, LEFT_OUT)
    lib.check("iron.b" not in info["parents"], info["parents"])
    lib.check([t["name"] for t in info["left_out"]] == ["iron.b"], info["left_out"])
    has(info, "iron.b: its recording is not complete: its agent went silent",
        "iron.b: its recorder counted 17 lost events", "iron.b: cannot open",
        "iron.b: recorded with clock mono: its TSC is not in step")
    # Which clock it was is only good to know: three problems.
    told = verdicts_on_problems(path)
    lib.check(len(told) == 1 and "met 3 problems" in told[0] and "The first: iron.b: its recording is not complete: its agent went silent." in told[0], told)


def without_the_middle(path):
    """The nested VM was reached through one that left no trace: the host saw it run, and the manifest names what it runs in."""
    make_run(path)
    shutil.rmtree(path / "iron.a")
    info = analyze(path, LEFT_OUT)
    lib.check(info["parents"] == {"iron": None, "iron.b": "iron", "iron.a.n": "iron.a"}, info["parents"])
    lib.check([t["name"] for t in info["left_out"]] == ["iron.a"], info["left_out"])
    between = [m for m in info["machines"] if not m["traced"]]
    lib.check([(m["name"], m["parent"]) for m in between] == [("iron.a", "iron")], between)


def without_host_and_middle(path):
    """Nobody saw it run."""
    make_run(path)
    for name in ("iron", "iron.a"):
        shutil.rmtree(path / name)
    info = analyze(path, LEFT_OUT)
    lib.check(len(info["parents"]) == 1, info["parents"])
    has(info, "of which there is no trace")
    texts = [m["evidence"] for m in info["machines"] if m["traced"]]
    lib.check("it was recorded through" in texts[0], texts)


def in_what_another_recorded(path):
    """What one manifest misses, another one has under another name."""
    manifest = make_run(path)
    inner = path.parent / "inner"
    inner.mkdir()
    shutil.move(path / "iron.a.n", inner / "n")
    nested = {**manifest["machines"][3], "name": "n", "parent": "vm-a", "folder": "n"}
    save(inner, {"version": 1, "state": "complete", "machines": [nested]})
    save(path, {**manifest, "machines": manifest["machines"][:3]})
    info = analyze(path, options=[inner])
    lib.check(info["parents"] == {"iron": None, "iron.a": "iron", "iron.b": "iron", "n": "iron.a"}, info["parents"])


def killed(path):
    """Raw parts that cannot be joined."""
    manifest = make_run(path, state="recording")
    # A head begins like a trace.dat, and must not be taken for one.
    (path / "iron.b/trace.dat").rename(path / "iron.b/head")
    (path / "iron.b/tail0").write_text("tail")
    save(path, manifest)
    info = analyze(path, LEFT_OUT)
    lib.check("iron.b" not in info["parents"], info["parents"])
    has(info, "iron.b: its recording is not complete", "sonde record --recover")
    lib.check([Path(t["path"]) for t in info["left_out"]] == [path / "iron.b"], info["left_out"])
    (path / "iron.b/head").unlink()
    save(path, {**manifest, "state": "recording"})
    has(analyze(path, LEFT_OUT), "was not ended in order")


def hostile(path):
    manifest = make_run(path)
    manifest["machines"][1]["folder"] = "../elsewhere"
    manifest["machines"][2]["folder"] = "/etc"
    manifest["machines"] += [5, {}, {"name": "x", "folder": ".."}]
    manifest["machines"][3].update(complete=False, why="\033[2J gone")
    save(path, manifest)
    done = subprocess.run([lib.SONDE, "analyze", path, "-o", path.parent / "out.sonde"],
                          capture_output=True, text=True)
    lib.check("gone" in done.stderr and "\033" not in done.stderr, done.stderr)
    info = analyze(path, LEFT_OUT)
    lib.check([Path(t["path"]) for t in info["left_out"]] == [path / f"iron.{n}/trace.dat" for n in "ab"], info["left_out"])
    lib.check(set(info["parents"]) == {"iron", "iron.a.n"} and info["parents"]["iron.a.n"] != "iron", info["parents"])
    has(info, "without name or folder is left out")
    for text in ("", "{", '{"version": 2, "machines": []}', "\0" * 100):
        (path / "run.json").write_text(text)
        info = analyze(path)
        lib.check(len(info["parents"]) == 4, info["parents"])
        has(info, "run.json is no manifest")
    (path / "run.json").write_text('{"of": "another program"}')
    lib.check(not any("run.json" in text for text in analyze(path)["problems"]), "not ours")


def below(path):
    """A recording among other things; and a trace that its manifest does not know."""
    make_run(path / "of/monday")
    as_given = analyze(path / "of/monday")
    found = analyze(path)
    for what in ("parents", "problems"):
        lib.check(found[what] == as_given[what], (found[what], as_given[what]))
    stray = path / "of/monday/stray.dat"
    shutil.copy(lib.ROOT / "samples/marks/vm-boot.dat", stray)
    for where in (path, path / "of/monday"):
        info = analyze(where, LEFT_OUT)
        lib.check(info["parents"] == as_given["parents"], info["parents"])
        lib.check([Path(t["path"]) for t in info["left_out"]] == [stray], info["left_out"])
        has(info, "is in no folder that the manifest beside it lists")
    info = analyze(path / "of/monday", LEFT_OUT, [stray])
    lib.check("manifest" not in info["left_out"][0]["reason"], "one that the user names is looked at")


def nothing(path):
    manifest = make_run(path)
    for name in SAMPLES:
        shutil.rmtree(path / name)
    lib.check("no trace could be opened" in analyze(path, status=1), "says so")
    save(path, {**manifest, "machines": []})
    lib.check("no trace could be opened" in analyze(path, status=1), "says so")


def main():
    for test in (whole, the_user_counts_more, each_by_itself, partial, without_the_middle, without_host_and_middle, in_what_another_recorded,
                 killed, hostile, below, nothing):
        with tempfile.TemporaryDirectory() as scratch:
            test(Path(scratch) / "run")
        print(f"{test.__name__}: ok")


if __name__ == "__main__":
    main()
