#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No name that a trace has reaches the terminal as a control sequence, whatever command prints it: names of threads, machines, kernels
and events are replaced by such sequences in a copy of a sample, and every command is looked at, byte by byte, in two locales."""
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402

EVIL = b"\x1b]0;\n\xc2\x9bx\x07\r\x7f\x08\xe2\x80\xae\x1b[2J\xff"  # a title, a new line, C1's CSI, a line turned round, an erased screen, no UTF-8
SEEN = re.compile(r"\?\]0;")  # what is left of it
COMMS = (b"worker", b"b-burn", b"CPU 0/KVM", b"CPU 1/KVM", b"wl-io", b"qemu-system-x86", b"ksoftirqd", b"kworker/0:1")
IN_METADATA = ("host0", "vm-a", "6.1.0-56-amd64", "lttng-modules", "sched_waking", "syscall_entry_read")
PACKET_MAGIC, PACKET_HEADER = 0x75D11D57, 37


def sequence(length):
    return (EVIL * 3)[:length]


def put_into_metadata(path):
    """Its packets become plain text, in which a text may have any length."""
    data, text, at = path.read_bytes(), b"", 0
    while at < len(data):
        magic, content, packet = struct.unpack_from("<I20xII", data, at)
        lib.check(magic == PACKET_MAGIC, "a packet of metadata")
        text += data[at + PACKET_HEADER:at + content // 8]
        at += packet // 8
    for name in IN_METADATA:
        text = text.replace(f'"{name}"'.encode(), b'"' + sequence(40).replace(b"\n", b"\\n") + name[:3].encode() + b'"')
    path.write_bytes(b"/* CTF 1.8 */\n" + text)


def spoil(source, to):
    shutil.copytree(source, to)
    for path in (p for p in sorted(to.rglob("*")) if p.is_file() and p.suffix != ".idx"):
        data = path.read_bytes()
        for comm in COMMS:
            data = data.replace(comm, sequence(len(comm)))
        path.write_bytes(data)
        if path.name == "metadata":
            put_into_metadata(path)


def offence(output):
    """The first character that a terminal obeys, or a name's line feed, with what stands before it; None: there is none."""
    text = output.decode("utf-8", "surrogateescape")
    found = re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\udc80-\udcff]|]0;\n", text)
    return found and text[max(0, found.start() - 60):found.end()]


def look_at(locale, *arguments):
    """What the command prints, on both ways; no control character is in it."""
    done = subprocess.run([lib.SONDE, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=120,
                          env={**os.environ, "LC_ALL": locale})
    for output in (done.stdout, done.stderr):
        lib.check(not offence(output), f"sonde {' '.join(map(str, arguments))}: {offence(output)!r}")
    lib.check(done.returncode in (0, 2), f"sonde {' '.join(map(str, arguments))}: {done.returncode} {done.stderr[-200:]}")
    return (done.stdout + done.stderr).decode("utf-8", "replace")


def look_at_thread(locale, run):
    rows = json.loads(lib.run(lib.SONDE, "report", run, "-t", "thread_time", "--format", "json"))["thread_time"]
    thread = next(r["thread"] for r in rows if re.match(r"\x1b]0;[^\ufffd]*$", r["thread"]["comm"]) and r["thread"]["machine"] == "vm-b")
    for form in ((), ("--folded",), ("--format", "json")):
        text = look_at(locale, "critpath", run, "--vm", "vm-b", "--task", f"{thread['comm']}[{thread['tid']}]", *form)
        lib.check("]0" in text, f"sonde critpath {form} says the name: {text[:300]}")


def look_at_all(locale, run, traces):
    text = [("analyze", *traces, "-o", run), ("check", *traces), ("check", run), ("events", "-n", "20000", *traces), ("events", "-c", *traces),
            ("report", run), ("why", run), ("info", run), ("tree", "--threads", run), ("state", run, "--at", "50%"),
            ("timeline", "--plain", "--rows", "cpus,machines,vcpus", run), ("top", "-b", run), ("vms", run), ("compare", run, run),
            ("why", "--slower-than", "500us", run), ("sql", run, "SELECT * FROM threads"), ("sql", run, "SELECT * FROM machines")]
    seen = [t[0] for t in text if SEEN.search(look_at(locale, *t))]
    for command in ("events", "report", "why", "tree", "state", "timeline", "top", "sql"):
        lib.check(command in seen, f"sonde {command} says the names: {seen}")
    for section in ("preemption_list", "wakeup_list", "process_time", "lock", "io_list"):
        look_at(locale, "report", run, "-t", section)
        look_at(locale, "report", run, "-t", section, "--format", "csv")
    for t in (("report", run), ("why", run), ("info", run), ("tree", "--threads", run), ("state", run), ("top", "-b", run), ("compare", run, run),
              ("sql", run, "SELECT * FROM threads"), ("events", "-n", "20000", *traces)):
        look_at(locale, *t, "--format", "json")
    look_at_thread(locale, run)
    complaint = look_at(locale, "critpath", run, "--task", "kthreadd")
    lib.check("several threads" in complaint and SEEN.search(complaint), f"a complaint says the names: {complaint}")


def main():
    lib.check(offence(b"a\x1b[1m") and offence(b"\xc2\x9b1m") and offence(b"\xff") and offence(b"\xe2\x80\xae") and not offence("ä\tb\n".encode()), "what is looked for is seen")
    with tempfile.TemporaryDirectory() as name:
        spoil(lib.ROOT / "samples/lttng", Path(name) / "traces")
        for locale in ("C.UTF-8", "C"):
            look_at_all(locale, Path(name) / "run.sonde", sorted((Path(name) / "traces").iterdir()))


main()
