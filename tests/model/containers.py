#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 120
"""The PID namespaces that a history names, and the TID of each process in them, against what the
processes of a real run read about themselves (/proc/self/status and /proc/self/ns/pid).

Only LTTng records namespaces: in its state dump, and with each fork.
"""

import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402
from fused import analyse, tables  # noqa: E402

SET = "oracle-lttng-1"


def chain_of(rows, thread):
    """[(TID, namespace's inum)] of a thread, from its machine inwards; checks the nesting, too."""
    chain = sorted((int(v["level"]), int(v["vtid"]), int(v["pid_ns"]))
                   for v in rows["vtid"] if int(v["thread"]) == thread)
    for (_, _, outer), (_, _, inner) in zip(chain, chain[1:]):
        lib.check(int(rows["pid_ns"][inner]["parent"]) == outer, "a namespace's parent is around it")
    return [(vtid, int(rows["pid_ns"][ns]["inum"])) for _, vtid, ns in chain]


def main():
    directory = lib.shared_set(SET)
    truth = json.loads((directory / "truth.json").read_text())
    with tempfile.TemporaryDirectory() as scratch:
        rows = tables(analyse(directory, Path(scratch)))
    names = [row["name"] for row in rows["machine"]]
    compared = contained = 0
    for process in truth.values():
        found = [number for number, row in enumerate(rows["thread"])
                 if names[int(row["machine"])] == process["vm"] and
                 int(row["tid"]) == process["pid"] and row["comm"] == process["comm"]]
        lib.check(len(found) == 1, f"{process['vm']} {process['comm']} {process['pid']}: one thread")
        chain = chain_of(rows, found[0])
        lib.check([vtid for vtid, _ in chain] == process["nspid"],
                  f"{process['comm']}: TIDs are {process['nspid']}, not {chain}")
        lib.check(process["pid_ns"] in (None, chain[-1][1]),
                  f"{process['comm']}: its namespace is {process['pid_ns']}, not {chain}")
        compared += 1
        contained += len(chain) > 1
    print(f"{SET}: {compared} processes, {contained} of them in containers: "
          f"TIDs and namespaces as they themselves saw them")
    lib.check(compared == len(truth) and contained > 0, "there are processes, some in containers")


if __name__ == "__main__":
    main()
