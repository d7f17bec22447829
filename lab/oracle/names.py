# SPDX-License-Identifier: Apache-2.0
"""What a history calls the lab's machines.

A machine that was traced has its own name there.  One that was not has a name that the history gave it, and is known
by the threads of its parent that are its virtual CPUs; or, where nobody traced the parent either, by being its only
guest.
"""

NOBODY, UNKNOWN = -1, -2    # as a parent's row


def guests_of(parent, rows):
    return [number for number, row in enumerate(rows) if int(row["parent"]) == parent]


def vcpu_threads(history):
    """{machine: threads of its parent} by row."""
    threads = {}
    for cpu in history.tables["cpu"]:
        threads.setdefault(int(cpu["machine"]), set()).add(int(cpu["host_tid"]))
    return threads


def match(history, machines):
    """{name in the lab: row in the history}; `machines` as in samples.json, parents before their guests."""
    rows, threads = history.tables["machine"], vcpu_threads(history)
    by_name = {row["name"]: number for number, row in enumerate(rows)}
    found = {}
    for name, machine in machines.items():
        here = guests_of(found.get(machine["parent"], UNKNOWN) if machine["parent"] else NOBODY, rows)
        known = [number for number in here
                 if threads.get(number, set()) & set(machine["vcpu_threads"])]
        siblings = [other for other in machines.values() if other["parent"] == machine["parent"]]
        if name in by_name:
            found[name] = by_name[name]
        elif known:
            found[name] = known[0]
        elif len(here) == len(siblings) == 1:
            found[name] = here[0]
    return found


def renamed(history, machines, samples):
    """The samples, with the machines called as the history calls them."""
    rows = history.tables["machine"]
    names = {name: rows[number]["name"] for name, number in match(history, machines).items()}
    return [{**sample, "machine": names.get(sample["machine"], sample["machine"])}
            for sample in samples]
