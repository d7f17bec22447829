#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares exports with each other and with what sonde report says: exported.py SONDE RUN DIR

DIR has run.perfetto, run.chrome, run.csv and run.ctf.  Perfetto's is read by protoc, with the field
numbers of perfetto.proto beside this file; the CTF trace by babeltrace2 and by sonde itself.  Where a
program is not installed, that part is left out, and said.
"""

import collections
import csv
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

SONDE, RUN, DIR = sys.argv[1], sys.argv[2], Path(sys.argv[3])
BEGIN_PHASES = {"B": "begin", "E": "end", "i": "moment", "C": "value"}


def check(condition, what):
    if not condition:
        sys.exit(f"exported.py: {what}")


def report(*args):
    return json.loads(subprocess.check_output([SONDE, *args, "--format", "json"]))


# ---- CSV

def read_csv():
    rows = collections.defaultdict(list)
    with open(DIR / "run.csv", newline="") as file:
        for line in csv.DictReader(file):
            for column in ("begin", "end", "length"):
                line[column] = int(line[column])
            check(line["length"] == line["end"] - line["begin"] > 0, f"length of {line}")
            rows[line["kind"], line["row"]].append(line)
    for name, lines in rows.items():
        for a, b in zip(lines, lines[1:]):
            check(a["end"] <= b["begin"], f"{name} overlaps at {b['begin']}")
    return rows


def check_csv(rows, info):
    """Physical CPUs are accounted for in full, and machines' sums are the report's."""
    times = collections.Counter()
    for cpu in (0, 1):
        lines = rows["cpu", f"host0/{cpu}"]
        check(lines[0]["begin"] == info["begin"] and lines[-1]["end"] == info["end"], "the ends")
        check(sum(x["length"] for x in lines) == info["end"] - info["begin"], "gaps")
        for line in lines:
            times[line["machine"] or "host0"] += line["length"]
    # A machine's first PID namespace is no container.
    told = {x["container"].split(":")[0] for lines in rows.values() for x in lines} - {""}
    check(told == {"wl-ping", "c1-nap"}, f"containers: {told}")
    for row in report("report", RUN, "-t", "machine_time")["machine_time"]:
        check(times[row["machine"]] == row["total"], f"{row['machine']}: {times[row['machine']]}")
    preempted = sum(x["length"] for x in rows["vcpu", "vm-a/1"] if x["state"] == "preempted")
    for row in report("report", RUN, "-t", "vcpu_time")["vcpu_time"]:
        if row["vcpu"] == {"machine": "vm-a", "cpu": 1}:
            check(row["steal"] == preempted, f"{preempted} is not {row['steal']}")


def check_rows(rows):
    """Each line is an interval that SQL has, and all are there."""
    kinds = {"cpu": "runs", "vcpu": "vcpu_state", "thread": "thread_state"}
    told = report("sql", RUN, f"select * from states where kind in {tuple(kinds.values())} "
                  "and value is not null and text not in ('', 'dead')")
    names = {v: k for k, v in kinds.items()}
    wanted = collections.defaultdict(list)
    for x in sorted(told, key=lambda x: x["begin"]):
        row = f"{x['machine']}: {x['thread']}" if x["kind"] == "thread_state" else x["cpu"]
        wanted[names[x["kind"]], row].append((x["begin"], x["end"], x["text"]))
    check(set(wanted) == set(rows), f"rows: {sorted(set(wanted) ^ set(rows))[:5]}")
    for name, lines in rows.items():
        if name[0] == "cpu":
            # An unknown stretch has no context; of idle CPUs the thread is not told twice.
            lines = [x for x in lines if x["machine"]]
            for x, (begin, end, text) in zip(lines, wanted[name]):
                words = (x["machine"], x["thread"] or "unknown", x["state"], x["detail"])
                both = " ".join(w for w in words if w)
                check((x["begin"], x["end"]) == (begin, end) and
                      text in (both, both.replace("idle idle", "idle")), f"{x}, not {text}")
            check(len(lines) == len(wanted[name]), f"lines of {name}")
            continue
        check([(x["begin"], x["end"], x["state"]) for x in lines] == wanted[name], f"lines of {name}")
    if not shutil.which("sqlite3"):
        print("sqlite3 is not installed: it has not imported the CSV file")
        return
    # As another program reads it: quotes, numbers and all.
    out = subprocess.check_output(
        ["sqlite3", ":memory:", "-cmd", f".import --csv {DIR / 'run.csv'} t", "-cmd", ".mode json",
         "select kind, row, count(*) as nr, sum(length) as length from t group by 1, 2"])
    for x in json.loads(out):
        lines = rows[x["kind"], x["row"]]
        check((x["nr"], x["length"]) == (len(lines), sum(y["length"] for y in lines)), f"sqlite3: {x}")


# ---- time lines

class Tracks:
    """What is drawn on tracks, whatever the format: begins and ends, checked and made slices."""

    def __init__(self):
        self.names, self.open, self.slices = {}, collections.defaultdict(list), []
        self.moments, self.values = [], collections.defaultdict(list)
        self.flow_begins, self.flow_ends = {}, {}
        self.events = []

    def add(self, what, track, t, name="", flow=None, flow_ends=None):
        check(track in self.names, f"track {track} was not declared")
        self.events.append((t, len(self.events), what, track, name))
        for flows, one in ((self.flow_begins, flow), (self.flow_ends, flow_ends)):
            if one is not None:
                check(one not in flows, f"flow {one} twice")
                flows[one] = t

    def finish(self, info):
        """As a viewer does it: by time, and at one time as they came."""
        for t, _, what, track, name in sorted(self.events):
            check(info["begin"] <= t <= info["end"], f"{t} is outside")
            if what == "begin":
                self.open[track].append((t, name))
            elif what == "end":
                check(self.open[track], f"an end on {self.names[track]} at {t}, without begin")
                begin, name = self.open[track].pop()
                depth = len(self.open[track])
                # One of no length is a moment, where arrows can hold on to slices only.
                if t > begin:
                    self.slices.append((self.names[track], depth, name, begin, t))
        check(not any(self.open.values()), "slices that do not end")
        check(self.flow_begins == self.flow_ends, "arrows that lead nowhere")
        check(len(self.flow_begins) > 100, f"{len(self.flow_begins)} arrows")


def check_slices(tracks, rows):
    """Innermost slices of CPUs and the slices of vCPUs are CSV's intervals."""
    by_track = collections.defaultdict(list)
    for track, depth, name, begin, end in tracks.slices:
        by_track[track].append((depth, name, begin, end))
    for cpu in (0, 1):
        slices = by_track[f"CPU {cpu}"]
        check(sum(end - begin for depth, _, begin, end in slices if depth == 0) ==
              sum(x["length"] for x in rows["cpu", f"host0/{cpu}"]), "layers do not fill the CPU")
        idle = sum(end - begin for _, name, begin, end in slices if name == "idle")
        check(idle == sum(x["length"] for x in rows["cpu", f"host0/{cpu}"]
                          if x["state"] == "idle"), "idle time")
        check(max(depth for depth, *_ in slices) >= 3, "a nested VM is three layers deep")
    drawn = [(name, begin, end) for _, name, begin, end in by_track["vm-a/1"]]
    check(drawn == [(x["state"], x["begin"], x["end"]) for x in rows["vcpu", "vm-a/1"]], "vm-a/1")
    check({name for _, name, *_ in by_track["vm-a/0 waits for"]} >= {"timer", "ipi"}, "waits")
    kept = sum(end - begin for _, _, begin, end in by_track["vm-a/1 is preempted by"])
    check(kept == sum(x["length"] for x in rows["vcpu", "vm-a/1"] if x["state"] == "preempted"),
          "who kept vm-a/1 off the CPU is not all of the time it was")


def scalar(text):
    if text.startswith('"'):
        return json.loads(re.sub(r"\\([0-7]{3})|\\'", lambda m: "?" if m[1] else "'", text))
    try:
        return int(text)
    except ValueError:
        return text


def text_format(lines):
    """protoc's text format as nested dicts of lists, one top-level message at a time."""
    stack = [{}]
    for line in lines:
        line = line.strip()
        if line.endswith("{"):
            stack.append({})
        elif line == "}":
            done = stack.pop()
            if len(stack) == 1:
                yield done
                continue
            stack[-1].setdefault(opened[len(stack)], []).append(done)
        else:
            key, _, value = line.partition(": ")
            stack[-1].setdefault(key, []).append(scalar(value))
        if line.endswith("{"):
            opened[len(stack) - 1] = line[:-2]


opened = {}


def read_perfetto():
    with open(DIR / "run.perfetto", "rb") as trace:
        text = subprocess.run(["protoc", "--proto_path=tests/cmd", "--decode=Trace",
                               "perfetto.proto"], stdin=trace, capture_output=True, check=True)
    lines = text.stdout.decode().splitlines()
    unknown = [x for x in lines if re.match(r" *\d+[: ]", x)]
    check(not unknown, f"fields that perfetto.proto does not have: {unknown[:3]}")
    tracks, names, categories, parents = Tracks(), {}, {}, {}
    kinds = {"TYPE_SLICE_BEGIN": "begin", "TYPE_SLICE_END": "end", "TYPE_INSTANT": "moment",
             "TYPE_COUNTER": "value"}
    for packet in text_format(lines):
        check(packet["trusted_packet_sequence_id"] == [1], "another sequence")
        # Of two in one packet, the importer takes the last alone; protoc joins them.
        check(len(packet.get("interned_data", [])) <= 1, "interned data twice in a packet")
        for data in packet.get("interned_data", []):
            for known, key in ((names, "event_names"), (categories, "event_categories")):
                for entry in data.get(key, []):
                    check(entry["iid"][0] not in known, f"{key} {entry['iid']} twice")
                    known[entry["iid"][0]] = entry["name"][0]
        for track in packet.get("track_descriptor", []):
            parent = track.get("parent_uuid", [0])[0]
            check(not parent or parent in tracks.names, "a parent comes after its child")
            check(track["uuid"][0] not in tracks.names, "a track twice")
            tracks.names[track["uuid"][0]] = track["name"][0]
            parents[track["uuid"][0]] = parent
        for event in packet.get("track_event", []):
            name = names[event["name_iid"][0]] if "name_iid" in event else ""
            short = event["type"][0] in ("TYPE_SLICE_END", "TYPE_COUNTER")
            check(name or short, "no name")
            check(short or categories[event["category_iids"][0]], "no category")
            check(short == ("sequence_flags" not in packet), "what needs the interned data says so")
            tracks.add(kinds[event["type"][0]], event["track_uuid"][0], packet["timestamp"][0],
                       name, event.get("flow_ids", [None])[0],
                       event.get("terminating_flow_ids", [None])[0])
    return tracks, parents


def check_tree(tracks, parents):
    def path(track):
        return path(parents[track]) + [tracks.names[track]] if track else []
    paths = {"/".join(path(t)) for t in tracks.names}
    for wanted in ("host0/CPUs/CPU 1", "host0/vm-a/vCPUs/vm-a/0", "host0/vm-a/vm-a-n/CPU use",
                   "host0/vm-a/exits", "host0/vm-b/clock error at most", "about this run"):
        check(wanted in paths, f"there is no track {wanted}: {sorted(paths)[:20]}")


def read_chrome(info):
    trace = json.load(open(DIR / "run.chrome"))
    check(trace["otherData"]["origin_ns"] == 0, "times were moved")
    tracks = Tracks()
    for event in trace["traceEvents"]:
        place = event["pid"], event["tid"]
        if event["ph"] == "M":
            if event["name"] == "thread_name":
                tracks.names[place] = event["args"]["name"]
            continue
        t = round(event["ts"] * 1000)
        if event["ph"] == "C":
            tracks.values[event["name"]].append((t, event["args"]["value"]))
        elif event["ph"] in "sf":
            flows = tracks.flow_begins if event["ph"] == "s" else tracks.flow_ends
            check(event["id"] not in flows, "an arrow twice")
            flows[event["id"]] = t
        else:
            tracks.add(BEGIN_PHASES[event["ph"]], place, t, event.get("name", ""))
    return tracks


def check_values(tracks, info):
    """The mean of a machine's CPU use is what the report says it used."""
    use = tracks.values["CPU use (% of a CPU)"]
    for row in report("report", RUN, "-t", "machine_time")["machine_time"]:
        used = row["total"] - row["idle"] - row["unknown"]
        of_all = used * 100 / (info["end"] - info["begin"])
        means = [sum(v for _, v in use[i:i + 1000]) / 1000 for i in range(0, len(use), 1000)]
        check(any(abs(mean - of_all) < 0.05 for mean in means), f"{row['machine']}: {means}")


# ---- CTF

def check_ctf(rows):
    counts = report("events", str(DIR / "run.ctf"), "--count")
    counts = {x["name"]: x["count"] for x in counts}
    runs = sum(len(x) for (kind, _), x in rows.items() if kind == "cpu")
    check(counts["runs"] == runs, f"{counts} events, {runs} intervals")
    if not shutil.which("babeltrace2"):
        print("babeltrace2 is not installed: it has not read the CTF trace")
        return
    lines = subprocess.run(["babeltrace2", "--clock-cycles", "--no-delta", DIR / "run.ctf"],
                           capture_output=True, text=True)
    check(lines.returncode == 0 and not lines.stderr, lines.stderr)
    seen = collections.defaultdict(list)
    for line in lines.stdout.splitlines():
        m = re.match(r'\[0*(\d+)\] runs: \{ cpu_id = (\d+) \}, \{ machine = "(.*?)", .* '
                     r'mode = \( "(\w+)"', line)
        if m:
            seen[f"host0/{m[2]}"].append((int(m[1]), m[3], m[4]))
    for cpu in (0, 1):
        wanted = [(x["begin"], x["machine"], x["state"]) for x in rows["cpu", f"host0/{cpu}"]]
        check(seen[f"host0/{cpu}"] == wanted, f"CPU {cpu} of the CTF trace")


def main():
    info = report("info", RUN)
    rows = read_csv()
    check_csv(rows, info)
    check_rows(rows)
    chrome = read_chrome(info)
    chrome.finish(info)
    check_slices(chrome, rows)
    check_values(chrome, info)
    check_ctf(rows)
    if not shutil.which("protoc"):
        print("protoc is not installed: the Perfetto trace has not been read")
        return
    perfetto, parents = read_perfetto()
    perfetto.finish(info)
    check_slices(perfetto, rows)
    check_tree(perfetto, parents)
    check(sorted(perfetto.slices) == sorted(chrome.slices), "Perfetto and Chrome differ")


main()
