#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each line of the threat model names a test, and each test that docs/security.md names is there; the check sees when not."""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
NAMED = re.compile(r"`((?:agent|clock|cmd|fuzz|kernel|lab|record|tree|unit|web)/[a-z0-9_]+)(?::(\w+))?`")


def is_there(name, case):
    area, test = name.split("/")
    if area == "unit":
        source = ROOT / f"tests/unit/test_{test}.c"
        return source.is_file() and (not case or re.search(rf"cmocka_unit_test\w*\({case}\b", source.read_text()) is not None)
    if area == "fuzz":
        return (ROOT / f"tests/fuzz/fuzz_{test}.c").is_file()
    return any((ROOT / f"tests/{area}/{test}{end}").is_file() for end in (".py", ".sh"))


def offences(text):
    threats = [line for line in text.split("## Threats")[1].split("\n## ")[0].splitlines() if line.startswith("|")][2:]
    yield from (f"no test: {line}" for line in threats if not NAMED.search(line.split("|")[-2]))
    yield from (f"not there: {name}{':' + case if case else ''}" for name, case in NAMED.findall(text)
                if not is_there(name, case) and name != "unit/NAME")
    if len(threats) < 20:
        yield f"only {len(threats)} threats"


def main():
    text = (ROOT / "docs/security.md").read_text()
    found = list(offences(text))
    lib.check(not found, "\n".join(found))
    for wrong in (text.replace("unit/origin:test_exits", "unit/origin:test_nothing"), text.replace("`fuzz/wire`", "`fuzz/wires`"),
                  text.replace(" `record/refused` |", " |"), text.replace("`lab/hostile`", "`lab/bought`")):
        lib.check(wrong != text and list(offences(wrong)), "what is not there is seen")


main()
