#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A history of which a part is damaged: what other parts say, too, is answered as before; what only it says is an error that names
the part, its time and what to do, of exit status 1."""
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


def main():
    with tempfile.TemporaryDirectory() as scratch:
        history = Path(scratch) / "run.sonde"
        lib.run(lib.SONDE, "analyze", "-q", lib.ROOT / "samples/ftrace", "-o", history)
        whole = history.read_bytes()
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
        history.write_bytes(whole[:60_000])
        done = ask(["check"], history)
        lib.check(done.returncode == 3 and "0.000000000" not in done.stdout and "cut off before" in done.stdout, done.stdout)


main()
