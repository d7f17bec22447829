#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What README.md shows is what is printed: each line of its transcript begins a line of the command's output, in that order; and the
commands and options of its lists are there."""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402

COLUMNS = "110"
LINES_MIN, COMMANDS_MIN = 60, 30


def blocks(text):
    """(language, lines) of each block of code."""
    for language, body in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S):
        yield language, body.splitlines()


def transcript(lines):
    """[command, its lines]"""
    found = []
    for line in lines:
        if line.startswith("$ "):
            found.append((line[2:].split("#")[0].strip(), []))
        elif line.strip() and found:
            found[-1][1].append(line.rstrip())
    return found


def lacking(shown, printed):
    """The first line that does not come, in its turn."""
    lines = iter(printed.splitlines())
    return next((line for line in shown if not any(one.startswith(line) for one in lines)), None)


def check_transcript(lines, scratch):
    history, shown_lines = scratch / "demo.sonde", 0
    lib.run(lib.SONDE, "analyze", "-q", lib.ROOT / "samples/lttng", "-o", history)
    for command, shown in transcript(lines):
        words = [str(history) if word == "build/demo.sonde" else word for word in shlex.split(command)[1:]]
        printed = lib.run(lib.SONDE, *words, env={**os.environ, "COLUMNS": COLUMNS})
        lib.check(lacking(shown, printed) is None, f"$ {command}: this is not printed there: {lacking(shown, printed)}\n{printed}")
        lib.check(lacking([*shown, "what nobody prints"], printed), f"$ {command}: anything passes")
        shown_lines += len(shown)
    lib.check(shown_lines >= LINES_MIN, f"only {shown_lines} lines are shown")


def check_command(line):
    """Its options are in its help."""
    words = shlex.split(line, comments=True)
    words = words[words.index("sonde") + 1:]
    if words[0].startswith("-"):
        return
    done = subprocess.run([lib.SONDE, words[0], "--help"], capture_output=True, text=True)
    lib.check(done.returncode == 0, f"{line}: there is no {words[0]}")
    for word in words[1:words.index("--") if "--" in words else None]:
        if re.match(r"--?[a-z]", word):
            lib.check(re.search(rf"{re.escape(word)}\b", done.stdout), f"{line}: there is no {word}")


def main():
    commands = 0
    with tempfile.TemporaryDirectory() as scratch:
        for language, lines in blocks((lib.ROOT / "README.md").read_text()):
            if not language:
                check_transcript(lines, Path(scratch))
            for line in lines if language == "sh" else []:
                if re.match(r"(sudo )?sonde ", line):
                    check_command(line)
                    commands += 1
    lib.check(commands >= COMMANDS_MIN, f"only {commands} commands are named")


if __name__ == "__main__":
    main()
