#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A history of which a part is damaged: what other parts say, too, is answered as before; what only it says is an error that names
the part, its time and what to do, of exit status 1."""
import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402

HEADER, PART = 64, 48
SLICE, GROUP, NAMES, SUMMARY, TOTALS, INDEX = 1, 2, 3, 4, 5, 6
ASKED = [["why"], ["report"], ["report", "-t", "process_time"], ["vms"], ["state", "--at", "50%"], ["timeline"],
         ["sql", "select count(*), sum(\"end\" - begin) from states"]]
EVERYWHERE = [["info"], ["report"], ["report", "-t", "vcpu_time"], ["state", "--at", "50%"], ["why"], ["vms"], ["timeline"], ["tree"], ["top"],
              ["compare"], ["critpath", "--task", "wl-io"], ["export", "--to", "chrome", "-o", "-"],
              ["sql", "select path, value from states where length > 0"]]
PLACES = 60


def parts(data):
    at = HEADER
    while data[at:at + 4] == b"PART":
        kind, _, length = struct.unpack_from("<HHQ", data, at + 4)
        yield kind & 0x7fff, at, length
        at += PART + (length + 7) // 8 * 8


def ask(words, history, *options):
    query = words[1:] if words[0] == "sql" else []
    given = [words[0], history, *(query or words[1:]), *options]
    return subprocess.run([lib.SONDE, *given], capture_output=True, text=True, stdin=subprocess.DEVNULL)


def asked(words, history, form):
    options = ["--format", form] if form else []
    if words[0] == "compare":
        options = [history.with_name("whole.sonde"), *options]
    return ask(words, history, *options)


def bytes_everywhere(history, whole):
    """Wherever a byte is wrong, what is answered is what the whole history answers; else nothing is, and a sentence says why."""
    forms = {tuple(words): [None] if words[0] == "export" else [None, "json"] for words in EVERYWHERE}
    history.with_name("whole.sonde").write_bytes(whole)
    history.write_bytes(whole)
    truth = {(tuple(words), form): asked(words, history, form) for words in EVERYWHERE for form in forms[tuple(words)]}
    for (words, form), done in truth.items():
        lib.check(done.returncode == 0 and (form != "json" or json.loads(done.stdout)), f"{words} {form}: {done.stderr}")
    hidden = [(at, at + PART + length) for kind, at, length in parts(whole) if kind == SUMMARY]
    answered = 0
    for nr in range(PLACES):
        at = (len(whole) - 1) * nr // (PLACES - 1)
        history.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1:])
        for words in EVERYWHERE[nr % 3::3] + [["state", "--at", "50%"]]:
            for form in forms[tuple(words)]:
                done = asked(words, history, form)
                where = f"{words} {form}, byte {at}: {done.returncode}, {done.stderr}"
                if done.returncode == 0:
                    answered += 1
                    pixels = words == ["timeline"] and any(a <= at < b for a, b in hidden)
                    lib.check(pixels or done.stdout == truth[tuple(words), form].stdout, f"{where} another answer")
                else:
                    lib.check(done.returncode == 1 and done.stderr and "Input/output" not in done.stderr and not (form and done.stdout), f"{where} {done.stdout[:200]}")
        done = asked(["check"], history, "json")
        found = json.loads(done.stdout)[0]
        lib.check(done.returncode in (1, 3) and (found["findings"] or found["error"]), f"check, byte {at}: {done.stdout}")
    lib.check(answered > PLACES, f"only {answered} answers")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        history = Path(scratch) / "run.sonde"
        lib.run(lib.SONDE, "analyze", "-q", lib.ROOT / "samples/ftrace", "-o", history)
        whole = history.read_bytes()
        bytes_everywhere(history, whole)
        history.write_bytes(whole)
        truth = {tuple(words): ask(words, history).stdout for words in ASKED}

        def hurt(at, length):
            history.write_bytes(whole[:at + PART + length // 2] + bytes([whole[at + PART + length // 2] ^ 0x55])
                                + whole[at + PART + length // 2 + 1:])

        for kind, at, length in parts(whole):
            if kind in (SUMMARY, TOTALS):
                hurt(at, length)
                for words in ASKED:
                    done = ask(words, history)
                    lib.check(done.returncode == 0 and not done.stderr, f"{words}, {kind} at {at}: {done.stderr}")
                    # Summaries know the value that held longest in nearly each pixel; changes in each.
                    same = done.stdout == truth[tuple(words)] or words == ["timeline"] and kind == SUMMARY
                    lib.check(same, f"{words}, {kind} at {at}: another answer")
            if kind in (SLICE, GROUP):
                hurt(at, length)
                for words in ASKED:
                    done = ask(words, history)
                    lib.check(done.returncode == 1 and f"is damaged at offset {at}: changes" in done.stderr
                              and "analyse the traces again" in done.stderr, f"{words}: {done.returncode} {done.stderr}")
                    # It is the only such part: no other time is left to ask for.
                    lib.check("all of its time" in done.stderr and "away from damage" not in done.stderr, f"{words}: {done.stderr}")
                # A file that is asked for twice is told of once, whatever its name.
                link = history.with_name("link.sonde")
                link.unlink(missing_ok=True)
                link.symlink_to(history)
                for other in (history, link):
                    done = ask(["compare", history], other)
                    lib.check(done.returncode == 1 and done.stderr.count("is damaged at") == 1
                              and done.stderr.count("analyse the traces again") == 1, done.stderr)
            if kind in (NAMES, INDEX):
                hurt(at, length)
                done = ask(["report"], history)
                what = "names at offset" if kind == NAMES else "index"
                lib.check(done.returncode == 1 and f"its {what}" in done.stderr and "analyse the traces again" in done.stderr, done.stderr)
        history.write_bytes(whole + b"x")
        for words in ASKED:
            done = ask(words, history)
            lib.check(done.returncode == 0 and not done.stderr and done.stdout == truth[tuple(words)], f"{words}, a byte more: {done.stderr}")
        done = ask(["check"], history)
        lib.check(done.returncode == 0 and "1 byte behind the end of the history is not used" in done.stdout, done.stdout)
        history.write_bytes(whole[:60_000])
        done = ask(["check"], history)
        lib.check(done.returncode == 3 and "0.000000000" not in done.stdout and "cut off before" in done.stdout, done.stdout)


main()
