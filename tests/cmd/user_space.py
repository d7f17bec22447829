#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""LTTng's user space and kernel traces of one machine are one machine: marks of the threads that ran there."""

import json
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "tools"))
import ctf  # noqa: E402
import ctf_parts  # noqa: E402
import lib  # noqa: E402

KERNEL = lib.ROOT / "samples/lttng/host0"
RECORDED = lib.ROOT / "samples/ust/lttng-ust-2.13.tar.xz"
PACKET_BYTES = 65536
SHORTEST_NS = 40000  # a thread that ran for less is not asked of


def sql(history, query):
    return json.loads(lib.run(lib.SONDE, "sql", "--format", "json", history, query))


def kernel_runs(history):
    """(cpu, tid, comm, begin, end) of each time that a thread ran, as the kernel's switches tell."""
    runs, last = [], {}
    for e in sql(history, "select time, cpu, fields from events where name = 'sched_switch'"):
        tid = int(re.search(r"next_[tp]id=(\d+)", e["fields"])[1])
        comm = re.search(r'next_comm="([^"]*)"', e["fields"])[1]
        if e["cpu"] in last:
            runs.append((e["cpu"], *last[e["cpu"]], e["time"]))
        last[e["cpu"]] = (tid, comm, e["time"])
    return [run for run in runs if run[1] and run[4] - run[3] >= SHORTEST_NS]


def own_numbers(history):
    """tid -> (vtid, vpid) as the thread knows itself: those of the innermost namespace."""
    known = {}
    for e in sql(history, "select fields from events where name = 'lttng_statedump_process_pid_ns'"):
        f = {k: int(v) for k, v in re.findall(r"(\w+)=(-?\d+)", e["fields"].partition("context=")[0])}
        known[f["tid"]] = max(known.get(f["tid"], (-1,)), (f["ns_level"], f["vtid"], f["vpid"]))
    return {tid: numbers[1:] for tid, numbers in known.items()}


class UserTrace:
    """A trace of LTTng-UST, as the recorded one is laid out: its metadata, with another machine's name and clock."""

    def __init__(self, hostname="host0", clock="8d1a7810-ce13-4918-81cf-abd83ae66eaf"):
        recorded = next(lib.unpacked(RECORDED).rglob("metadata"))
        text = ctf.metadata_text(recorded.read_bytes())
        text, nr = re.subn(r'hostname = "[^"]*"', f'hostname = "{hostname}"', text)
        text, more = re.subn(r'(clock \{.*?uuid = ")[^"]*"', rf'\g<1>{clock}"', text, flags=re.S)
        assert nr == 1 and more == 1 and text.startswith("/* CTF 1.8 */"), "the recorded metadata"
        self.text = text
        self.uuid = uuid.UUID(re.search(r'trace \{.*?uuid = "([^"]*)"', text, re.S)[1]).bytes
        self.events = {}

    def add(self, cpu, time, vpid, vtid, procname, number, what):
        body = struct.pack("<HIii17si", 0, time & 0xFFFFFFFF, vpid, vtid, procname.encode(), number)
        self.events.setdefault(cpu, []).append((time, body + what.encode() + b"\0"))

    def write(self, folder, discarded=0):
        folder.mkdir(parents=True)
        (folder / "metadata").write_text(self.text)
        for cpu, events in self.events.items():
            events.sort()
            body = b"".join(data for _, data in events)
            head = ctf_parts.HEADER.pack(ctf_parts.MAGIC, self.uuid, 0, cpu)
            content = len(head) + ctf_parts.CONTEXT.size + len(body)
            assert content <= PACKET_BYTES, "too many events for one packet"
            context = ctf_parts.CONTEXT.pack(events[0][0], events[-1][0], 8 * content, 8 * PACKET_BYTES, 0, discarded, cpu)
            (folder / f"ch0_{cpu}").write_bytes((head + context + body).ljust(PACKET_BYTES, b"\0"))


def session(root, user, **how):
    shutil.copytree(KERNEL, root / "kernel")
    user.write(root / "ust/uid/1000/64-bit", **how)
    return root


def marks(history):
    return sql(history, "select m.time, m.cpu, m.text, t.tid from marks m left join threads t on t.row = m.thread_row "
                        "where m.text like '%my_app%' order by m.time")


def check_threads(scratch, runs, numbers):
    """Every event is its thread's: in containers, too, and when the thread has left the CPU meanwhile."""
    user, expected, nested = UserTrace(), {}, 0
    chosen = runs[::max(1, len(runs) // 300)] + [r for r in runs if numbers.get(r[1], (r[1],))[0] != r[1]][:20]
    for i, (cpu, tid, comm, begin, end) in enumerate(sorted(set(chosen))):
        vtid, vpid = numbers.get(tid, (tid, 0))
        if tid not in numbers:
            continue
        nested += vtid != tid
        time = (begin + end) // 2
        user.add(cpu, time, vpid, vtid, comm, i, f"of {tid}")
        expected[i] = (time, tid)
        if vtid == tid and i % 5 == 0:  # it was moved between looking at the CPU and taking the time
            user.add(1 - cpu, time + 1, vpid, vtid, comm, i + 100000, f"moved {tid}")
            expected[i + 100000] = (time + 1, tid)
    history = scratch / "threads.sonde"
    lib.run(lib.SONDE, "analyze", "-q", session(scratch / "threads", user), "-o", history)
    lib.check(sql(history, "select count(*) as n from machines where traced and trace_path like '%/kernel'")[0]["n"] == 1, "one traced machine")
    read = sql(history, "select count(*) as n from events where name like '%my_app%'")[0]["n"]
    lib.check(read == len(expected), f"{read} events are read again, of {len(expected)}")
    found = marks(history)
    lib.check(len(found) == len(expected), f"{len(found)} marks of {len(expected)} events")
    lib.check(len(expected) > 200 and nested >= 5, f"only {len(expected)} events, {nested} of containers")
    wrong = []
    for m in found:
        number = int(re.search(r"id=(\d+)", m["text"])[1])
        if expected[number] != (m["time"], m["tid"]):
            wrong.append((m, expected[number]))
    lib.check(not wrong, f"{len(wrong)} of {len(found)} marks are wrong, the first: {wrong[:3]}")
    print(f"{len(found)} events of user space, {nested} of them of containers: all marks of their threads")
    return history, expected


def check_unknown(scratch, runs):
    """A number that no thread has: whose event it is is not known, and the text says what the event says."""
    user = UserTrace()
    cpu, tid, _, begin, end = runs[0]
    user.add(cpu, (begin + end) // 2, 99999, 99999, "nobody", 1, "x")
    user.add(1 - cpu, (begin + end) // 2 + 1, 99999, tid, "nobody", 2, "x")  # the number fits, the process and name do not
    history = scratch / "unknown.sonde"
    lib.run(lib.SONDE, "analyze", "-q", session(scratch / "unknown", user), "-o", history)
    found = [(m["tid"], m["text"]) for m in marks(history)]
    lib.check(found == [(None, 'nobody[99999] my_app:request id=1 what="x"'),
                        (None, f'nobody[{tid}] my_app:request id=2 what="x"')], f"marks {found}")


def check_nothing_else(scratch, history, expected):
    """What CPUs did, and every table, are the kernel's alone; the order of events is that of time."""
    alone = scratch / "alone.sonde"
    lib.run(lib.SONDE, "analyze", "-q", KERNEL, "-o", alone)
    for query in ("select * from cpu_time", "select * from thread_time", "select * from states where kind != 'directory' limit 20000",
                  "select * from gaps", "select * from clocks"):
        lib.check(sql(history, query) == sql(alone, query), f"user space's trace changes: {query}")
    text = lib.run(lib.SONDE, "events", "-q", scratch / "threads").splitlines()
    kernel = lib.run(lib.SONDE, "events", "-q", KERNEL).splitlines()
    lib.check(len(text) == len(kernel) + len(expected), f"{len(text)} events, not {len(kernel)} + {len(expected)}")
    lib.check([line for line in text if " my_app:request: " not in line] == kernel, "the kernel's events beside user space's")
    only = lib.run(lib.SONDE, "events", "-q", "-e", "my_app:*", scratch / "threads").splitlines()
    lib.check(only == [line for line in text if " my_app:request: " in line], "events by their name")
    whose = [re.search(r"\]\s+(-?\d+)  my_app.*of (\d+)\"", line) for line in only if "moved" not in line]
    known = [m for m in whose if m and m[1] != "-1"]
    lib.check(len(known) > 0.7 * len(whose) and all(m[1] == m[2] for m in known), "threads of events")
    report = lib.run(lib.SONDE, "report", history)
    lib.check("my_app:request" in report, f"report: {report[:300]}")


def check_critpath(scratch, runs, numbers):
    """From one mark to another of the same thread."""
    by_thread = {}
    for run in runs:
        by_thread.setdefault(run[1], []).append(run)
    tid, own = max(by_thread.items(), key=lambda item: len(item[1]))
    first, last = own[0], own[-1]
    user, (vtid, vpid) = UserTrace(), numbers[tid]
    user.add(first[0], first[3] + 20000, vpid, vtid, first[2], 7, "begin")
    user.add(first[0], first[3] + 20001, vpid, vtid, first[2], 8, "other")
    user.add(last[0], last[3] + 20000, vpid, vtid, last[2], 7, "end")
    history = scratch / "critpath.sonde"
    lib.run(lib.SONDE, "analyze", "-q", session(scratch / "critpath", user), "-o", history)
    for begin, end in (('my_app:request id=7 what="begin"', 'my_app:request id=7 what="end"'), ("my_app:request", "my_app:request")):
        text = lib.run(lib.SONDE, "critpath", history, "--from", begin, "--to", end)
        lib.check(f"[{tid}]" in text and "the only one" in text, f"critpath between two marks of thread {tid}: {text[:600]}")


def check_apart(scratch):
    """Without a kernel's trace it is sound, though it tells nothing of CPUs; beside another machine's, all of it is left out."""
    recorded = lib.unpacked(RECORDED)
    text = lib.run(lib.SONDE, "check", recorded)
    lib.check("sound" in text and "no stream of CPU" not in text, text)
    result = subprocess.run([lib.SONDE, "analyze", KERNEL, recorded, "-o", scratch / "apart.sonde"], capture_output=True, text=True)
    lib.check(result.returncode == 3 and result.stderr.count(") is left out: ") == 2, f"{result.returncode}: {result.stderr}")
    lib.check("it is of user space, and no kernel trace of its machine has the same clock" in result.stderr, result.stderr)
    lib.check("2 traces are left out" in result.stdout and "kernel is left out" not in result.stderr, result.stdout)


def check_loss(scratch, runs):
    """What processes lost is told, and is no loss of the kernel's."""
    user = UserTrace()
    for cpu, tid, comm, begin, end in runs[:20]:
        user.add(cpu, (begin + end) // 2, tid, tid, comm, 1, "x")
    history = scratch / "loss.sonde"
    lib.run(lib.SONDE, "analyze", "-q", session(scratch / "loss", user, discarded=7), "-o", history)
    told = [p["text"] for p in sql(history, "select text from problems")]
    lib.check(any(re.search(r"\b(7|14) events of user space were lost", t) for t in told), f"problems: {told}")
    lib.check(not sql(history, "select * from gaps"), "a loss of user space's is one of the kernel's")


def check_longer(scratch, runs, history):
    """User space was traced before the kernel was, and after: that makes no hole of the kernel's."""
    user = UserTrace()
    cpu, tid, comm, begin, _ = runs[0]
    for time in (begin - 800_000_000, runs[-1][4] + 800_000_000):
        user.add(cpu, time, tid, tid, comm, 1, "x")
    longer = scratch / "longer.sonde"
    lib.run(lib.SONDE, "analyze", "-q", session(scratch / "longer", user), "-o", longer)
    lib.check(len(marks(longer)) == 2, "marks before and after the kernel's trace")
    for query in ("select * from gaps", "select text from problems where text like '%missing%' or text like '%lost%'",
                  "select machine, thread, total, user, syscall from thread_time where thread is not null order by 1, 2, 3"):
        lib.check(sql(longer, query) == sql(history, query), f"user space's longer trace changes: {query}")


def check_strangers(scratch, runs):
    """Another boot, or another machine: none of its threads."""
    cpu, tid, comm, begin, end = runs[0]
    for what, other in (("boot", UserTrace(clock="11111111-2222-3333-4444-555555555555")), ("host", UserTrace(hostname="other"))):
        other.add(cpu, (begin + end) // 2, tid, tid, comm, 1, "x")
        history = scratch / f"{what}.sonde"
        done = subprocess.run([lib.SONDE, "analyze", "-q", session(scratch / what, other), "-o", history],
                                  capture_output=True, text=True, check=False)
        lib.check(done.returncode in (0, 3), f"another {what}: exit status {done.returncode}: {done.stderr}")
        found = [m for m in marks(history) if m["tid"] is not None]
        lib.check(not found, f"another {what}'s event is a mark of this one's thread: {found}")


def check_ftrace(scratch):
    """The kernel was traced by ftrace: the same boot, host and clock are one machine, and nothing less is."""
    recorded = next(lib.unpacked(lib.SAMPLES / "lab-run-shutdown-6.1.tar.xz").rglob("host0/trace.dat")).read_bytes()
    assert recorded.count(b"[x86-tsc]") == 1
    mono = scratch / "mono.dat"
    mono.write_bytes(recorded.replace(b"[x86-tsc]", b"[mono]   "))
    boot = re.search(rb"boot_id=([0-9a-f-]{36})", recorded)[1].decode()
    alone = scratch / "mono.sonde"
    lib.run(lib.SONDE, "analyze", "-q", mono, "-o", alone)
    processes = {t["tid"]: t["pid"] for t in sql(alone, "select tid, pid from threads where pid is not null")}
    runs = [run for run in kernel_runs(alone) if run[1] in processes][:200]

    def marked(name, kernel, clock=boot, hostname="L0"):
        user = UserTrace(hostname=hostname, clock=clock)
        for i, (cpu, tid, comm, begin, end) in enumerate(runs):
            user.add(cpu, (begin + end) // 2, processes[tid], tid, comm, i, f"of {tid}")
        user.write(scratch / name)
        history = scratch / f"{name}.sonde"
        done = subprocess.run([lib.SONDE, "analyze", kernel, scratch / name, "-o", history],
                              capture_output=True, text=True, check=False)
        lib.check(done.returncode in (0, 3), f"{name}: exit status {done.returncode}: {done.stderr}")
        return [m for m in marks(history) if m["tid"] is not None], done.stderr.count(" is left out: "), history

    found, left_out, history = marked("ftrace", mono)
    wrong = [m for m in found if f"of {m['tid']}\"" not in m["text"]]
    print(f"beside ftrace's trace: {len(found)} marks of {len(runs)} events of user space")
    lib.check(len(found) > 0.9 * len(runs) > 90 and not wrong and not left_out,
              f"{len(found)} marks of {len(runs)} events, wrong: {wrong[:3]}, left out: {left_out}")
    lib.check(sql(history, "select * from cpu_time") == sql(alone, "select * from cpu_time"), "user space's trace changes CPUs' times")
    plain = scratch / "tsc.dat"
    plain.write_bytes(recorded)
    for what, args in (("another-boot", (mono, "11111111-2222-3333-4444-555555555555")), ("another-host", (mono, boot, "other")),
                       ("another-clock", (plain, boot))):
        found, left_out, _ = marked(what, *args)
        lib.check(not found and left_out == 1, f"{what}: marks {found[:2]}, left out: {left_out}")


def check_recorded(scratch):
    """What LTTng-UST wrote: rotated, and snapshots that overlap; as many events as babeltrace2 finds."""
    root = lib.unpacked(RECORDED)
    for name, want in (("rotated", 50), ("snapshots", 210)):
        got = lib.run(lib.SONDE, "events", "-q", root / name).splitlines()
        lib.check(len(got) == want and not any(" lost: " in line for line in got), f"{name}: {len(got)} events, not {want}")
        if shutil.which("babeltrace2"):
            theirs = len(lib.run("babeltrace2", root / name).splitlines())
            print(f"ust/{name}: {len(got)} events, babeltrace2 {theirs}")
            lib.check(theirs == want, f"{name}: babeltrace2 has {theirs} events")
        history = scratch / f"{name}.sonde"
        lib.run(lib.SONDE, "analyze", "-q", root / name, "-o", history)
        found = marks(history)
        lib.check(len(found) == want, f"{name}: {len(found)} marks")
        lib.check(all(re.match(r"app\[\d+\] my_app:request id=\d+ what=", m["text"]) for m in found), f"{found[:2]}")
        (shown,) = sql(history, "select count(*) as nr from mark")  # the last of them is the run's end
        lib.check(shown["nr"] == want, f"{name}: report has {shown['nr']} marks of {want}")


def main():
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        alone = scratch / "kernel.sonde"
        lib.run(lib.SONDE, "analyze", "-q", KERNEL, "-o", alone)
        runs, numbers = kernel_runs(alone), own_numbers(alone)
        lib.check(len(runs) > 500, f"{len(runs)} runs of threads")
        history, expected = check_threads(scratch, runs, numbers)
        check_nothing_else(scratch, history, expected)
        check_unknown(scratch, runs)
        check_critpath(scratch, runs, numbers)
        check_apart(scratch)
        check_loss(scratch, runs)
        check_longer(scratch, runs, alone)
        check_strangers(scratch, runs)
        check_ftrace(scratch)
        check_recorded(scratch)


if __name__ == "__main__":
    lib.need(str(lib.SONDE))
    main()
