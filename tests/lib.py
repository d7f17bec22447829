#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""For script tests in Python: sys.path.insert(0, ".../tests"); import lib

Also a command: tests/lib.py SET prints where the set of shared traces SET is unpacked.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / os.environ.get("SONDE_BUILD", "build")
SONDE = BUILD / "sonde"
TRACES = Path(os.environ.get("SONDE_TRACES", ROOT.parent / "shared/traces"))
SAMPLES = ROOT / "samples/lab"
CACHE = ROOT / "build/traces"
SMALL_ORACLE = "oracle-ftrace-tsc"
SKIP = 77


def skip(reason):
    print(reason)
    sys.exit(SKIP)


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            skip(f"{program} is not installed")


def shared_set(name):
    """The directory of the unpacked set."""
    archive = TRACES / f"{name}.tar.zst"
    if not archive.exists():
        skip(f"the shared trace set {name} is not in {TRACES}")
    return unpacked(archive)


def oracle_sets(*names):
    """(name, directory) of the small set in samples/lab, and then of shared ones: what a test can prove anywhere, it does."""
    yield SMALL_ORACLE, unpacked(SAMPLES / f"{SMALL_ORACLE}.tar.xz")
    for name in names:
        yield name, shared_set(name)


def archives(*patterns, places=(SAMPLES, TRACES)):
    """Packed runs of these names: place by place, in each pattern by pattern.  Those in samples are NAME.tar.xz, which is smaller."""
    return [archive for place in places for pattern in patterns
            for archive in sorted(place.glob(f"{pattern}.tar.*"))]


def archive_name(archive):
    return archive.name.partition(".tar.")[0]


def unpacked(archive):
    """The directory of what is in an archive; unpacks it once, however many tests ask at a time."""
    name = archive_name(archive)
    target = CACHE / name
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / f".{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = CACHE / f".{name}.stamp"
        mark = f"{archive.stat().st_size} {archive.stat().st_mtime_ns}"
        if not stamp.exists() or stamp.read_text() != mark:
            shutil.rmtree(target, ignore_errors=True)
            target.mkdir()
            need({".xz": "xz", ".zst": "zstd"}[archive.suffix])
            subprocess.run(["tar", "-xf", archive, "-C", target], check=True)
            stamp.write_text(mark)
    inside = [p for p in target.iterdir() if p.is_dir()]
    return inside[0] if len(inside) == 1 else target


def run(*command, **options):
    """Runs a command, returns its standard output; a failure ends the test with its messages."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    if done.returncode:
        print(f"FAILED: {' '.join(str(c) for c in command)}: exit status {done.returncode}")
        print(done.stdout[-4000:], done.stderr[-4000:], sep="\n")
        sys.exit(1)
    return done.stdout


def check(condition, message):
    if not condition:
        print(f"FAILED: {message}")
        sys.exit(1)


if __name__ == "__main__":
    print(shared_set(sys.argv[1]))
