#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A malformed value of any option of any command is an error of usage: exit code 2, one sentence that names the option, and
nothing is done.  The options are those that --help lists, and what their values are called there says what is malformed."""

import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402

LTTNG = lib.ROOT / "samples/lttng"

NUMBER = ("", "abc", "1x", "-1", "1.5", "99999999999999999999999")
TIME = ("", "abc", "-1s", "1x", "1s,2s", "nans", "1e99s")

# What values are called, and what is none; an empty list: any text may be one.
MALFORMED = {
    "N": NUMBER, "KB": NUMBER, "MB": NUMBER, "SECONDS": NUMBER, "PORT": NUMBER,
    "[ADDRESS:]PORT": ("", "abc", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:99999"),
    "TIME": TIME,
    "T": ("abc", "1x", "1s,2s"),
    "A,B": ("abc", "1", "1,2,3", "1x,2", "2s,x"),
    "NAME=PATH": ("", "abc", "=abc", "abc="), "CHILD=PARENT": ("", "abc", "=abc", "abc="),
    "NAME=N": ("", "abc", "=1", "abc=", "host0=abc", "nobody=abc", "nobody=1x"),
    "A=B": ("", "abc", "=abc", "abc="),
    "GUEST": ("", "abc=", "=tcp:1.2.3.4:5", "abc=udp:1", "abc=tcp:", "abc=tcp:1.2.3.4:x", "abc=vsock:x"),
    "NAME=LINK": ("", "abc", "=tcp:1.2.3.4:5", "abc=", "abc=udp:1", "abc=tcp:", "abc=tcp:1.2.3.4:x", "abc=vsock:x", "abc=vsock:"),
    "SYSTEM:EVENT": ("", ":abc", "abc:", "a/b"),
    "NAME|UUID|pid:N": ("", "pid:", "pid:x", "pid:0", "pid:-1"),
    "HOW": ("", "abc"), "FORMAT": ("", "abc"), "WHEN": ("", "abc"), "WHAT": ("", "abc"),
    "LIST": ("", "abc"), "TERMS": (),
    "ORIGIN": ("", "abc"),
    "FILE": (), "PATH": (), "DIR": (), "NAME": (), "PATTERN": (), "MARK": (),
}

# What a command does not begin without.
NEEDS = {"critpath": ["--task", "nobody"], "export": ["--to", "chrome"], "share": ["--all-vms"], "agent": ["--token-file", "/dev/null"]}
OPERANDS = {
    "analyze": ["traces"], "events": ["traces"], "check": ["traces"], "compare": ["history", "history"], "mark": ["word"],
    "sql": ["history", "SELECT 1"], "record": [], "agent": [], "share": [], "stolen": [],
}


def options(command):
    """[(option, what its value is called)] of those that take one."""
    text = lib.run(lib.SONDE, command, "--help")
    return re.findall(r"^  (?:-\w, |    )--([\w-]+) (\S+)  ", text, re.M)


def refused(place, command, option, value):
    """None, or what is wrong."""
    words = [place.get(w, w) for w in OPERANDS.get(command, ["history"])]
    output = ["-o", str(place["scratch"] / f"out-{command}-{option}")] if command in ("analyze", "record", "export") and option != "output" else []
    # With = an empty value is one, too.
    line = [str(lib.SONDE), command, *output, *NEEDS.get(command, []), f"--{option}={value}", *words]
    try:
        done = subprocess.run(line, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60, cwd=place["scratch"], check=False)
    except subprocess.TimeoutExpired:
        return f"{command} --{option}={value!r}: does not end"
    said = done.stderr.strip()
    if done.returncode != 2:
        return f"{command} --{option}={value!r}: exit status {done.returncode}: {said}"
    if f"--{option}" not in said:
        return f"{command} --{option}={value!r}: the option is not named: {said}"
    if done.stdout:
        return f"{command} --{option}={value!r}: an answer besides: {done.stdout[:80]}"
    return None


def main():
    commands = re.findall(r"^  ([a-z]+)  ", lib.run(lib.SONDE, "--help").split("First steps")[0], re.M)
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        place = {"scratch": scratch, "traces": str(LTTNG), "history": str(scratch / "run.sonde"), "word": "begin"}
        lib.run(lib.SONDE, "analyze", "-q", LTTNG, "-o", place["history"])
        tries = []
        for command in commands:
            for option, called in options(command):
                lib.check(called in MALFORMED, f"{command} --{option}: what is a malformed {called}?")
                tries += [(place, command, option, value) for value in MALFORMED[called]]
        lib.check(len(tries) > 300, f"{len(tries)} tries")
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            wrong = [w for w in pool.map(lambda t: refused(*t), tries) if w]
        lib.check(not wrong, f"{len(wrong)} of {len(tries)}:\n" + "\n".join(wrong))


if __name__ == "__main__":
    lib.need(str(lib.SONDE))
    main()
