#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is missing is named where a reader looks first, by each command in the same figures; and what has ended is said to
have ended."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402
from odd_traces import packet, switch, write  # noqa: E402

LTTNG = lib.ROOT / "samples/lttng"


def sonde(*args, status=0):
    done = subprocess.run([lib.SONDE, *args], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    lib.check(done.returncode == status, f"{args}: exit status {done.returncode}: {done.stderr}")
    return done


def answer(*args):
    return json.loads(sonde(*args, "--format", "json").stdout)


def check_quiet(scratch):
    """A trace is left out: status 3 has a reason, also with -q; returns the history."""
    out = scratch / "left-out.sonde"
    shutil.copytree(LTTNG, scratch / "part")
    for name in ("ch0_1", "index/ch0_1.idx"):
        (scratch / "part/host0" / name).unlink()
    err = sonde("analyze", "-q", scratch / "part", "-o", out, status=3).stderr
    lib.check(err == f"sonde analyze: 1 trace is left out; sonde report {out} -t left_out says why\n", err)
    whole = sonde("analyze", "-q", LTTNG, "-o", scratch / "whole.sonde")
    lib.check(not whole.stdout and not whole.stderr, whole)
    return out


def check_head_lines(history, whole):
    """Of top and timeline, beside that of why; nothing is said of a run that has all of its traces."""
    said = sonde("why", history).stdout.split("\n\n")[0]
    share = re.search(r"^([\d.]+%) of the CPU time is not known", said, re.M)[1]
    top = sonde("top", history).stdout.split("\n")[0]
    lib.check(top.endswith(", 1 trace left out") and f" {share} unknown, " in top, f"{top}\n{said}")
    picture = sonde("timeline", history).stdout
    for line in said.split("\n")[1:]:
        lib.check(line in picture, f"{line}\n{picture}")
    lib.check(answer("top", history)[0]["left_out"] == answer("timeline", history)["left_out"] == 1, "JSON")
    lib.check(answer("timeline", history)["gaps"] >= 1, "gaps")
    steal = re.compile(r"^Steal time not known: .* for [\d.]+% of the window|: at least .* of its time is not known", re.M)
    lib.check(steal.search(sonde("report", history).stdout), "steal time that may be more")
    lib.check(not steal.search(sonde("report", whole).stdout), "steal time of the whole run")
    for topic in ("wait", "wakeup", "preempt", "exits", "io", "boot", "vms"):
        told = sonde("report", topic, history).stdout
        lib.check(told.startswith(f"{share} of the CPU time is not known") and "left out" in told, f"report {topic}: {told[:300]}")
        lib.check("is not known" not in sonde("report", topic, whole).stdout.split("\n")[0], f"report {topic} of the whole run")
    for command in ("top", "timeline"):
        lib.check("left out" not in sonde(command, whole).stdout, f"{command} of the whole run")
    lib.check(answer("top", whole)[0]["left_out"] == answer("timeline", whole)["left_out"] == 0, "JSON of the whole run")


def check_events(scratch):
    """A stream that is missing, or cut off, is nobody's event: events says it beside its list, once, and of a whole trace nothing."""
    path = scratch / "cut"
    shutil.copytree(LTTNG, path)
    stream = path / "host0/ch0_0"
    with open(stream, "r+b") as f:
        f.truncate(stream.stat().st_size * 6 // 10)
    for traces, said in ((path, r"the stream of CPU 0 ends before the trace does, by 728\.1 ms: nothing is known of it there"),
                         (scratch / "part", r"there is no stream of CPU 1 that can be read: nothing is known of it|CPU 1 has no stream")):
        lines = [line for line in sonde("events", traces).stderr.split("\n") if re.search(said, line)]
        lib.check(len(lines) == 1, f"{traces}: {lines}")
    lib.check("stream" not in sonde("events", LTTNG).stderr, "a whole recording")


def check_ended(scratch):
    """vm-a's only vCPU ends in the run, vm-b's does not."""
    traces = lib.unpacked(lib.ROOT / "samples/lab/lab-run-shutdown-6.1.tar.xz")
    history = scratch / "end.sonde"
    sonde("analyze", "-q", next(traces.glob("**/run.json")).parent, "-o", history)
    run = answer("info", history)
    gone = {f"{s['vcpu']['machine']}/{s['vcpu']['cpu']}": s["gone"] for s in answer("report", "-t", "vcpu_state", history)["vcpu_state"]}
    ended = run["end"] - gone["vm-a/0"]
    lib.check(0 < gone["vm-a/0"] and gone["vm-b/0"] == 0, gone)

    waits = answer("report", "-t", "wait_list", history)["wait_list"]
    last = {w["vcpu"]["machine"]: (w["evidence"], w["until"]) for w in waits}
    lib.check(last["vm-a"] == ("it waited until its thread exited", ended), last)
    lib.check(last["vm-b"] == ("it goes on at the end of the history", run["end"]), last)

    tree = sonde("tree", history).stdout
    lib.check(re.findall(r"ended at ([\d.]+)", tree) == [f"{ended / 1e9:.9f}"], f"{ended}: {tree}")
    top = {v["name"]: v for v in answer("top", "--time", f"{ended / 1e9:.9f}s,", history)[0]["vcpus"]}
    lib.check(top["vm-a/0"]["gone"] == top["vm-a/0"]["all"] and top["vm-b/0"]["gone"] == 0, top)
    text = sonde("top", "--time", f"{ended / 1e9:.9f}s,", history).stdout
    lib.check(re.search(r"vm-a/0 .* 100\.0% ended", text) and not re.search(r"vm-b/0.*ended", text), text)
    legend = sonde("timeline", history).stdout.rstrip("\n").split("\n")[-1]
    lib.check("- gone" in legend and "? unknown" in legend, legend)


def check_guests_only(scratch):
    """A machine that makes hypercalls is a VM, alone, too; none is called physical where nothing says so."""
    history = scratch / "guests.sonde"
    for traces, is_called, is_in in ((["vm-a-n"], "itself a VM", None), (["vm-a", "vm-a-n"], "itself a VM", "VM"), (["host0"], "host", "VM")):
        sonde("analyze", "-q", *(LTTNG / t for t in traces), "-o", history)
        tree = sonde("tree", history).stdout
        top = next(line for line in tree.split("\n") if line.startswith(traces[0]))
        lib.check(is_called in top and "physical" not in tree + sonde("report", "-t", "machine_time", history).stdout, tree)
        lib.check(is_in is None or f"  {is_in}, process" in tree, tree)
        for words in (["report"], ["report", "exits"], ["why"], ["timeline"]):
            told = "is itself a VM, and its host has no trace" in " ".join(sonde(*words, history).stdout.split())
            lib.check(told == (is_called == "itself a VM"), f"{words} of {traces}")
        # ... and what that host kept from a nested VM is not in its steal time, which says so.
        steal = " ".join(sonde("report", history).stdout.partition("Steal time of vCPUs\n")[2].partition("\n\n")[0].split())
        told = "; what it inherited from the host of vm-a is not known" in steal
        lib.check(told == (traces[-1] == "vm-a-n" and traces[0] == "vm-a"), f"{traces}: {steal}")


def check_first_known(scratch):
    """state opens where something is known, when the host's trace begins with nothing that is; an answer from then on is the same."""
    history = scratch / "late.sonde"
    sonde("analyze", "-q", lib.ROOT / "samples/marks", "-o", history)
    run = answer("info", history)
    first = answer("state", history, "--at", run["traced_begin"] if isinstance(run["traced_begin"], str) else str(run["traced_begin"]))
    lib.check({c["mode"] for c in first["cpus"]} == {"unknown"}, f"the control: {first}")
    opened = answer("state", history)
    known = [c["cpu"] for c in opened["cpus"] if c["mode"] != "unknown"]
    lib.check(known and opened["at"] == min(c["end"] for c in first["cpus"] if c["cpu"] in known), opened)
    lib.check(opened == answer("state", history, "--at", str(opened["at"])), "beside --at")
    # ... which is said only of a moment that nobody asked for.
    head = sonde("state", history).stdout.split("\n")[0]
    lib.check(re.fullmatch(r"at \S+, \S+ \S+ after the start: nothing is known of any CPU before that", head), head)
    lib.check("known" not in sonde("state", history, "--at", str(opened["at"])).stdout.split("\n")[0], "--at")
    other = next(c["cpu"] for c in opened["cpus"] if c["cpu"] not in known)
    lib.check(answer("state", history, "--cpu", str(other))["at"] > opened["at"], "of a CPU that is known later")


def check_missing_stream_once(scratch):
    """check says of a stream that is missing what tells of it, once, whatever the trace is called."""
    trace = scratch / "a: CPU 1 has no stream"
    shutil.copytree(LTTNG / "host0", trace)
    for name in ("ch0_1", "index/ch0_1.idx"):
        (trace / name).unlink()
    found = answer_of_check(trace)
    lib.check(sum("CPU 1 " in f for f in found) == 1, found)


def check_counts(scratch):
    """analyze, info and why count the same problems, and notes apart; check of a history tells its gaps as the report does."""
    history = scratch / "counted.sonde"
    path = scratch / "damaged"
    shutil.copytree(LTTNG, path)
    with open(path / "host0/ch0_0", "r+b") as f:
        f.truncate(700001)
    (path / "vm-a/ch0_1").write_bytes(b"")
    told = answer("analyze", path, "-o", history)
    info = answer("info", history)
    kinds = [p["kind"] for p in info["problem"]]
    met = re.search(r"Sonde met (\d+) problems", sonde("why", history).stdout)
    lib.check(told["problems"] == kinds.count("problem") == int(met[1]) >= 3 and told["notes"] == kinds.count("note") >= 2, f"{told}: {info['problem']}, {met}")
    found, = json.loads(sonde("check", history, "--format", "json").stdout)
    length = sum(row["length"] for row in info["gap"])
    lib.check(len(info["gap"]) == 2 and found["sound"] and
              f"missing in 2 gaps, of {length / 1e9:.3f} s of CPU time" in " ".join(found["notes"]), f"{info['gap']}: {found}")
    check_gap_in_window(history)
    nothing = [v for v in answer("why", history)["why"] if not v["cost"] and v["kind"] == "thread"]
    lib.check(nothing, "a thread that waited only where who ran is unknown")
    shown = sonde("why", "-n", "1000", history).stdout
    lib.check(not re.search(r"^ +0 ns ", shown, re.M), f"verdicts that cost nothing are listed: {shown}")
    sonde("analyze", "-q", LTTNG, "-o", history)
    lib.check(not any("missing" in n for n in json.loads(sonde("check", history, "--format", "json").stdout)[0]["notes"]), "a whole recording")


def check_unseen(scratch):
    """Of switches that a kernel leaves out, check counts as many as the table of problems: all of them, and each once."""
    history = scratch / "unseen.sonde"
    events = [switch(1000, 0, 7)] + [switch(2000 + 100 * i, 0, 7) for i in range(9)]
    trace = write(scratch / "mute", packet(0, events), packet(1, [switch(1000, 0, 8), switch(4000, 8, 0)]))
    found, = json.loads(sonde("check", trace, "--format", "json").stdout)
    sonde("analyze", "-q", trace, "-o", history)
    unseen = [row["count"] for row in answer("report", "-t", "problem", history)["problem"] if "no recorded switch" in row["text"]]
    lib.check(" 9 of 12: " in " ".join(found["notes"]) and unseen == [9], f"{found}: {unseen}")


def check_gap_in_window(history):
    """A gap is told whole and alike in the head and the verdict of why, and in the table, whatever part of it the window has; of one
    that ends where the window begins none says anything.  @history: check_counts() left it, with two gaps."""
    row, = [r for r in answer("report", "-t", "gap", history)["gap"] if r["machine"] == "host0"]
    window = (row["at"] + row["length"] // 4, row["at"] + row["length"] // 2)
    at = ["--time", ",".join(f"{t}ns" for t in window)]
    shown = [answer("report", "-t", "gap", history, *at)["gap"], answer("why", history, *at)]
    text = " ".join(sonde("why", history, *at).stdout.split())
    lib.check(row in shown[0] and shown[1]["gaps"] == len(shown[0]), f"{shown}")
    length = re.search(r" on CPU (\d+) of (\S+) from (\S+) to \S+ \((.*?)\)", text)
    lib.check(f"of {length[4]} on CPU {length[1]} from {length[3]}." in text, text)
    verdict = next(v for v in shown[1]["why"] if v["cause"] in ("cpus", "lost"))
    lib.check((verdict["begin"], verdict["end"]) == window, f"{verdict}: {window}")
    end = row["at"] + row["length"]
    behind = ["--time", f"{end}ns,"]
    lib.check(answer("why", history, *behind)["gaps"] == len(answer("report", "-t", "gap", history, *behind)["gap"]), "behind it")
    lib.check(row not in answer("report", "-t", "gap", history, *behind)["gap"], "a gap that ends where the window begins")


def check_larger_is_kept(scratch):
    """Of two traces that nothing relates, the one that tells more, in whichever order they are given."""
    history = scratch / "apart.sonde"
    traces = [LTTNG / "host0", lib.ROOT / "samples/marks/host0.dat"]
    for given in (traces, traces[::-1]):
        sonde("analyze", "-q", *given, "-o", history, status=3)
        out, = answer("report", "-t", "left_out", history)["left_out"]
        lib.check(out["path"] == str(traces[1]) and "which is larger" in out["reason"], out)


def check_undecodable(scratch):
    """A trace whose metadata ends early is left out because hardly anything of it can be read, and the reason says so."""
    path, history = scratch / "no-metadata", scratch / "no-metadata.sonde"
    shutil.copytree(LTTNG, path)
    metadata = path / "vm-b/metadata"
    metadata.write_bytes(metadata.read_bytes()[:metadata.stat().st_size // 2])
    sonde("analyze", "-q", path, "-o", history, status=3)
    out, = answer("report", "-t", "left_out", history)["left_out"]
    lib.check(out["name"] == "vm-b" and out["reason"].startswith("most of its data is cut off or damaged, "), out)
    lib.check("bytes could not be decoded" in " ".join(answer_of_check(path / "vm-b")), "check")


def check_shares(whole, cut):
    """The gaps of the whole trace lie in one initcall, so that they hide none; those of the cut one hide many."""
    total = sum(row["share"] for row in whole if row["level"] != "module")
    lib.check(abs(total - 1_000_000) < 400 and not any(row["note"] for row in whole), f"shares of all: {total}")
    most = {row["name"]: row["share"] for row in reversed(whole)}  # the slowest one of a name
    for row in cut:
        has_share = row["level"] != "module" and row["length"] >= 0
        lib.check((row["share"] >= 0) == has_share == (row["note"] == "at least"), f"{row}")
        lib.check(row["share"] <= most[row["name"]], f"a share that is too great: {row}")
    lib.check(cut[0]["name"] == "acpi_init" and cut[0]["share"] > 0.9 * most["acpi_init"], "a share that says nothing")


def boot_without(scratch, pages):
    """The initcalls of samples/boot without some pages of the VM's trace."""
    path, history = scratch / "boot-without", scratch / "boot-without.sonde"
    shutil.copytree(scratch / "boot", path)
    data = bytearray((path / "vm-boot.dat").read_bytes())
    begin, end = (len(data) - 70 * 4096 + page * 4096 for page in pages)
    data[begin:end] = bytes(end - begin)
    (path / "vm-boot.dat").write_bytes(data)
    sonde("analyze", "-q", path, "-o", history)
    shutil.rmtree(path)
    return table(history, "initcall")


def check_calls_without(scratch, pages, whole, note):
    """What is said of initcalls when pages are missing is what was said, or less: levels, shares; that one was called, when it returned.
    Returns the levels that are told otherwise, as pairs, and how many were not seen to be called."""
    def keys(row):
        return row["name"], row["thread"] and row["thread"]["tid"]

    was, levels, shares = {}, set(), []
    for row in whole:
        was.setdefault(keys(row), []).append(row)
    told = boot_without(scratch, pages)
    for row in told:
        before = min(was[keys(row)], key=lambda other: abs(other["until"] - row["until"]))
        lib.check(row["at"] >= 0 or row["length"] == row["share"] == -1 and row["note"] == "its call was not seen", row)
        lib.check(row["until"] < 0 or abs(row["until"] - before["until"]) < 1_000_000, f"{row}: {before}")
        levels |= {(row["level"], before["level"])} - {(before["level"],) * 2}
        if row["share"] >= 0:
            shares.append((row["share"], before["share"]))
            lib.check(re.fullmatch(note, row["note"]), row)
    lib.check(len(shares) > 100, shares)
    lib.check(all(share >= other - 400 if note.startswith("at most") else share <= other + 400 for share, other in shares), f"{note}: {shares}")
    return levels, sum(row["at"] < 0 for row in told)


def check_levels(scratch, whole):
    """A level whose begin a gap may hide is no other level, nor a module's; a share of a boot's part is no share of the boot."""
    levels, unseen = check_calls_without(scratch, (8, 12), whole, "at least")
    lib.check(unseen == 1 and levels and all(told == "early or later" for told, _ in levels) and {"subsys"} <= {was for _, was in levels}, levels)
    levels, unseen = check_calls_without(scratch, (0, 8), whole, r"at most: the trace has the boot from 14\.\d{9} on")
    lib.check(unseen == 1 and all(told == "unknown" for told, _ in levels) and {"postcore"} == {was for _, was in levels}, levels)
    levels, unseen = check_calls_without(scratch, (35, 70), whole, r"at most: the trace has the boot until 15\.\d{9}")
    lib.check(not levels and not unseen, levels)
    levels, _ = check_calls_without(scratch, (60, 64), whole, "")
    lib.check(not levels, levels)


def check_unseen_start(scratch):
    """Of a VM whose start is in a gap of its host's trace nobody says that it was not started."""
    path, history = scratch / "no-start", scratch / "no-start.sonde"
    path.mkdir()
    lib.run("trace-cmd", "convert", "-i", scratch / "boot/host0.dat", "-o", path / "host0.dat", "--file-version", "6", "--compression", "none")
    data = bytearray((path / "host0.dat").read_bytes())
    for part in ((4, 12), (31, 58)):  # of the streams of both CPUs
        begin, end = (len(data) * percent // 100 // 4096 * 4096 for percent in part)
        data[begin:end] = bytes(end - begin)
    (path / "host0.dat").write_bytes(data)
    sonde("analyze", "-q", path, "-o", history)
    lib.check(not table(history, "boot") and table(history, "exits"), "a VM, and its start in a gap")
    lib.check("\nas far as the traces show, no VM was started in this history\n" in sonde("report", "boot", history).stdout, "report boot")
    lib.check(sonde("report", "-t", "boot", history).stdout.endswith(": as far as the traces show, none in this history\n"), "-t boot")


def check_boot(scratch):
    """Of a VM's trace that lacks a part of its boot: a stage that goes on over levels nobody saw says so, an initcall's share
    is one that it has at least, and all else is as it was."""
    whole, cut, history = scratch / "boot", scratch / "boot-cut", scratch / "boot.sonde"
    whole.mkdir()
    shutil.copy(lib.ROOT / "samples/boot/host0.dat", whole)
    lib.run("trace-cmd", "convert", "-i", lib.ROOT / "samples/boot/vm-boot.dat", "-o", whole / "vm-boot.dat",
            "--file-version", "6", "--compression", "none")
    shutil.copytree(whole, cut)
    data = bytearray((whole / "vm-boot.dat").read_bytes())
    begin, end = (len(data) * part // 5 // 4096 * 4096 for part in (3, 4))
    data[begin:end] = bytes(end - begin)
    (cut / "vm-boot.dat").write_bytes(data)
    stages, calls = [], []
    for traces in (whole, cut):
        sonde("analyze", "-q", traces, "-o", history)
        told = answer("report", "boot", history)
        calls.append(told["initcall"])
        unended = [row["until"] == -1 for row in told["initcall"]]
        lib.check(any(unended) and unended == [row["result"] is None for row in told["initcall"]], "a result that nobody saw")
        stages.append({row["stage"]: row for row in told["boot"]})
    count = lib.run(lib.SONDE, "sql", "--format", "csv", history, "select count(*) from initcall where result is null")
    lib.check(count.split()[-1] == str(sum(unended)), f"SQL: {count}, {sum(unended)}")
    check_shares(*calls)
    check_levels(scratch, calls[0])
    vague, = stages[1].keys() - stages[0].keys()
    last = stages[0]["kernel: late"]
    lib.check(vague == "kernel: device, and what followed" and stages[1][vague]["doubt"] > last["length"], stages[1])
    lib.check(stages[0].keys() - stages[1].keys() == {"kernel: device", "kernel: late"}, stages)
    text = sonde("report", "boot", history).stdout
    lib.check("DOUBT: the end may have been this much earlier" in text and "NOTE: \"at least\": events are missing" in text, text)


def table(history, name, *args):
    return answer("report", "-t", name, history, *args)[name]


def check_costs(whole, cut, notes):
    """What hypervisors cost is no more than it was, and where it is less a note says why."""
    was = {row["vm"]: row for row in table(whole, "hypervisor")}
    for row in table(cut, "hypervisor"):
        before = was.get(row["vm"])
        wanted = notes.get(row["vm"], "" if before else row["note"])
        lib.check(re.fullmatch(wanted, row["note"]), f"{row}: {wanted}")
        if before and row["note"]:
            lib.check(all(row[of] <= before[of] for of in ("hypervisor", "guest", "exits")), f"{row}: {before}")


def check_beside(history, vcpus):
    """What vcpu_state and vms have of steal, and exit_reason of costs, is noted as in vcpu_time (of these @vcpus) and hypervisor."""
    states = {f"{row['vcpu']['machine']}/{row['vcpu']['cpu']}": row["note"] for row in table(history, "vcpu_state")}
    lib.check({vcpu for vcpu, note in states.items() if note} == vcpus, states)
    lib.check(all(re.fullmatch(r"at least: .+", note) for note in states.values() if note), states)
    vms = {row["vm"]: row["note"] for row in table(history, "vms")}
    lib.check({vm for vm, note in vms.items() if note} == {vcpu.split("/")[0] for vcpu in vcpus} & vms.keys(), vms)
    costs = {row["vm"]: row["note"] for row in table(history, "hypervisor")}
    for row in table(history, "exit_reason"):
        lib.check(row["note"] == costs.get(row["vm"], ""), f"{row}: {costs}")


def check_lower_bounds(scratch, whole):
    """Figures of a VM whose hosts' traces lack a part are lower bounds, and say so, with what is missing."""
    ftrace, cut, history = scratch / "all.sonde", scratch / "short", scratch / "short.sonde"
    sonde("analyze", "-q", lib.ROOT / "samples/ftrace", "-o", ftrace)
    shutil.copytree(lib.ROOT / "samples/ftrace", cut)
    with open(cut / "vm-a.dat", "r+b") as f:
        f.truncate((cut / "vm-a.dat").stat().st_size * 3 // 10)
    sonde("analyze", "-q", cut, "-o", history)
    own = "at least, unless host0 is a VM: host0's trace has gaps"
    check_costs(ftrace, history, {"vm-a-n": r"at least, unless host0 is a VM: vm-a's trace ends at 76\.\d{9}", "vm-a": "", "vm-b": ""})
    said = " ".join(sonde("why", "-n", "1000", history).stdout.split())
    lib.check(re.search(r"Hypervisors used at least \S+ ms of CPU time for vm-a-n in \d+ exits, \S+% of its known time on a CPU\.", said), said)
    check_beside(history, {"vm-a-n/0"})
    for run, is_whole in ((ftrace, False), (whole, True)):  # of vm-a-n's vCPU 14 ms are not known, and 0.3 ms
        said = " ".join(sonde("why", "-n", "1000", run).stdout.split())
        lib.check(re.search(r"inherited from the vCPU that it was on, its total steal is (at least )?\d", said)[1] == (None if is_whole else "at least "), said)

    for stream, costs, steals in (("vm-a/ch0_1", {"vm-a-n": "at least, unless host0 is a VM: vm-a's trace has gaps"}, {"vm-a-n/0"}),
                                  ("host0/ch0_1", {"vm-a": own, "vm-a-n": own}, {"vm-a/0", "vm-a/1", "vm-a-n/0"})):
        path = scratch / stream.replace("/", "-")
        shutil.copytree(LTTNG, path)
        (path / stream).unlink()
        (path / stream.replace("/", "/index/")).with_suffix(".idx").unlink()
        subprocess.run([lib.SONDE, "analyze", "-q", path, "-o", history], stderr=subprocess.DEVNULL)
        check_costs(whole, history, costs)
        rows = {f"{row['vcpu']['machine']}/{row['vcpu']['cpu']}": row for row in table(history, "vcpu_time")}
        lib.check({vcpu for vcpu, row in rows.items() if row["note"]} == steals, rows)
        lib.check(all(re.fullmatch(r"at least: [\d.]+ m?s are not known", rows[vcpu]["note"]) for vcpu in steals), rows)
        check_beside(history, steals)
    lib.check("host0, whose trace has no events of CPU 1: it may have run there" in table(history, "left_out")[0]["reason"], "vm-b ran there")
    lib.check(rows["vm-a/0"]["steal"] == 0 and rows["vm-a/0"]["note"] == f"at least: {rows['vm-a/0']['unknown'] / 1e6:.1f} ms are not known", rows)
    for name in ("hypervisor", "vcpu_time", "vcpu_state", "vms", "exit_reason"):
        lib.check(not any(row["note"] for row in table(whole, name)), f"{name} of the whole run")


def answer_of_check(path):
    return json.loads(sonde("check", path, "--format", "json", status=3).stdout)[0]["findings"]


def main():
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        history = check_quiet(scratch)
        check_head_lines(history, scratch / "whole.sonde")
        check_events(scratch)
        check_lower_bounds(scratch, scratch / "whole.sonde")
        check_ended(scratch)
        check_guests_only(scratch)
        check_first_known(scratch)
        check_missing_stream_once(scratch)
        check_counts(scratch)
        check_unseen(scratch)
        check_larger_is_kept(scratch)
        check_undecodable(scratch)
        check_boot(scratch)
        check_unseen_start(scratch)


if __name__ == "__main__":
    lib.need(str(lib.SONDE))
    lib.need("trace-cmd")
    main()
