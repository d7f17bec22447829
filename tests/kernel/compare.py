#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare.py TRACE.DAT SENT.TXT: the guest's ftrace and what its module sent, event by event.

Both recorded the same tracepoints at the same time, with the same clock.  SENT.TXT is what tests/kernel/hypertrace
printed.  Per CPU the two must be the same sequence between the marks "compare-begin" and "compare-end", which
were written while both recorded everything; one is allowed to be missing only where the module said that it dropped
it.  Exit status 1: they differ.
"""
import collections
import re
import statistics
import subprocess
import sys

# How ftrace's prev_state says what the format says; it is a bit, or 0x100 for "preempted".
STATES = {0: 0, 0x100: 0, 1: 1, 2: 2, 4: 3, 8: 3, 0x10: 4, 0x20: 4, 0x40: 6, 0x80: 5}
LOOK_AHEAD = 64
# An interrupt's length, with the softirqs and the task that it lets in, in an emulator that has to share its CPUs: 55 M were seen.
MOVED_CYCLES = 1_000_000_000
EDGE_CYCLES = 5_000_000
LINE = re.compile(r"^.{16,}?-(\d+)\s+\[(\d+)\]\s*(\d+): (\w+):\s*(.*)$")


def number(text):
    return int(text, 16) if text.startswith("0x") else int(text)


def fields_of(text):
    return dict(re.findall(r"(\w+)=(.*?)(?= \w+=|$)", text))


def sector(value):
    return 0 if value in (-1, 2 ** 64 - 1) else value


# name in ftrace → name in the format, arguments from ftrace's fields
FTRACE = {
    "sched_switch": ("switch", lambda f: (STATES[number(f["prev_state"])], number(f["prev_pid"]),
                                          number(f["next_pid"]))),
    **{f"sched_{name}": (name, lambda f: (number(f["pid"]), number(f["target_cpu"])))
       for name in ("waking", "wakeup", "wakeup_new")},
    "sched_migrate_task": ("migrate", lambda f: (number(f["pid"]), number(f["orig_cpu"]), number(f["dest_cpu"]))),
    "sched_process_fork": ("fork", lambda f: (number(f["parent_pid"]), number(f["child_pid"]))),
    "sched_process_exec": ("exec", lambda f: (number(f["pid"]), f["filename"])),
    "sched_process_exit": ("exit", lambda f: (number(f["pid"]),)),
    "task_rename": ("rename", lambda f: (number(f["pid"]), f["newcomm"])),
    "sys_enter": ("syscall_entry", lambda f: (number(f["id"]),)),
    "sys_exit": ("syscall_exit", lambda f: (number(f["id"]), number(f["ret"]))),
    "irq_handler_entry": ("irq_entry", lambda f: (number(f["irq"]),)),
    "irq_handler_exit": ("irq_exit", lambda f: (number(f["irq"]),)),
    **{name: (name, lambda f: (number(f["vec"]),)) for name in ("softirq_raise", "softirq_entry", "softirq_exit")},
    **{f"{name}_{end}": (f"vector_{end}", lambda f: (number(f["vector"]),))
       for name in ("local_timer", "reschedule", "call_function", "call_function_single", "irq_work")
       for end in ("entry", "exit")},
    **{f"hrtimer_{name}": (f"hrtimer_{name}", lambda f: (number(f["hrtimer"]),))
       for name in ("start", "cancel", "expire_entry", "expire_exit")},
    "block_rq_issue": ("block_issue", lambda f: (number(f["dev"]), sector(number(f["sector"])),
                                                 number(f["bytes"]) >> 9, "W" in f["rwbs"])),
    "block_rq_complete": ("block_complete", lambda f: (number(f["dev"]), sector(number(f["sector"])),
                                                       number(f["nr_sector"]), "W" in f["rwbs"])),
    "net_dev_xmit": ("net_send", lambda f: (number(f["len"]),)),
    "netif_receive_skb": ("net_receive", lambda f: (number(f["len"]),)),
}


def signed(value):
    return value - 2 ** 64 if value >= 2 ** 63 else value


def sent_arguments(name, words):
    """What a line of ours says, as far as ftrace says it as well."""
    if name in ("exec", "rename"):
        return (int(words[0]), " ".join(words[1:]))
    numbers = tuple(map(int, words))
    if name.startswith("hrtimer_"):
        return (numbers[0] % 2 ** 64,)
    if name == "fork":
        return numbers[:2]
    if name.startswith("block_"):
        return (numbers[0], sector(numbers[1]), numbers[2] >> 9, bool(numbers[3]))
    if name.startswith("net_"):
        return numbers[1:]
    return numbers


def read_ftrace(path):
    cpus = collections.defaultdict(list)
    text = subprocess.run(["trace-cmd", "report", "-R", "-i", path], capture_output=True, text=True, check=True).stdout
    for line in text.splitlines():
        match = LINE.match(line)
        if not match or match[4] not in FTRACE:
            continue
        name, arguments = FTRACE[match[4]]
        values = tuple(signed(v) if isinstance(v, int) and name == "syscall_exit" else v
                       for v in arguments(fields_of(match[5])))
        cpus[int(match[2])].append((int(match[3]), name, values))
    return cpus


def read_sent(path):
    cpus = collections.defaultdict(list)
    counts, window = {}, {}
    known = {name for name, _ in FTRACE.values()}
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            words = line.split()
            if words and words[0] == "#":
                counts = dict(zip(words[1::2], map(int, words[2::2])))
            elif words and words[2] == "mark" and words[-1].startswith("compare-"):
                window.setdefault(words[-1].removeprefix("compare-"), int(words[1]))
            elif words and words[2] in known:
                cpus[int(words[0])].append((int(words[1]), words[2], sent_arguments(words[2], words[3:])))
    return cpus, counts, window


def align(theirs, ours):
    """Pairs of equal events, and those that only one has."""
    pairs, missing, extra = [], [], []
    i = j = 0
    while i < len(theirs) and j < len(ours):
        if theirs[i][1:] == ours[j][1:]:
            pairs.append((theirs[i], ours[j]))
            i, j = i + 1, j + 1
            continue
        for step in range(1, LOOK_AHEAD):
            if i + step < len(theirs) and theirs[i + step][1:] == ours[j][1:]:
                missing += theirs[i:i + step]
                i += step
                break
            if j + step < len(ours) and theirs[i][1:] == ours[j + step][1:]:
                extra += ours[j:j + step]
                j += step
                break
        else:
            missing.append(theirs[i])
            extra.append(ours[j])
            i, j = i + 1, j + 1
    return pairs, missing + theirs[i:], extra + ours[j:]


def match_moved(missing, extra, within=MOVED_CYCLES):
    """Both recorded it, but an interrupt came between the two probes of one tracepoint: its events stand before one's
    and behind the other's.  Gives what is left of both, and the number of pairs."""
    left = list(extra)
    still_missing = []
    for event in missing:
        twin = next((one for one in left if one[1:] == event[1:] and abs(one[0] - event[0]) < within), None)
        if twin:
            left.remove(twin)
        else:
            still_missing.append(event)
    return still_missing, left, len(missing) - len(still_missing)


def without_edge(events, other_side):
    """Without those that the other recorded as well, but on the other side of a mark: another CPU's mark falls between the
    two probes."""
    return match_moved(events, other_side, EDGE_CYCLES)[0]


def compare_cpu(cpu, theirs, ours, window):
    def inside(events, wanted=True):
        return [event for event in events if (window["begin"] < event[0] < window["end"]) == wanted]

    pairs, missing, extra = align(inside(theirs), inside(ours))
    missing, extra, moved = match_moved(missing, extra)
    missing, extra = without_edge(missing, inside(ours, False)), without_edge(extra, inside(theirs, False))
    kinds = collections.Counter(ours_one[1] for _, ours_one in pairs)
    print(f"CPU {cpu}: {len(pairs)} equal, {moved} more in another order, {len(missing)} only in ftrace, {len(extra)} only sent; " +
          " ".join(f"{name} {nr}" for name, nr in sorted(kinds.items())))
    for word, events in (("only in ftrace", missing), ("only sent", extra)):
        for event in events[:5]:
            print(f"  {word}: {event}")
    if pairs:
        apart = [abs(a[0] - b[0]) for a, b in pairs]
        print(f"  clocks apart by {statistics.median(apart):.0f} cycles in the median, {max(apart)} at most")
    return len(pairs) + moved, len(missing), len(extra)


def main():
    theirs, (ours, counts, window) = read_ftrace(sys.argv[1]), read_sent(sys.argv[2])
    if len(window) < 2:
        sys.exit("the marks were not sent")
    results = [compare_cpu(cpu, theirs.get(cpu, []), events, window) for cpu, events in sorted(ours.items())]
    equal, missing, extra = map(sum, zip(*results))
    print(f"{equal} equal, {missing} missing, {extra} extra; {counts}")
    allowed = counts.get("dropped", 0)
    sys.exit(0 if equal and missing <= allowed and not extra and not counts.get("broken") else 1)


main()
