# SPDX-License-Identifier: Apache-2.0
"""Asks a history, thousands of questions in one go (tests/oracle/ask_history.c)."""
import subprocess

from ..lib import paths
from ..lib.failure import Failure

ASK = paths.BUILD / "oracle/ask_history"
MODES = ("unknown", "idle", "user", "syscall", "irq", "softirq", "hypervisor", "guest", "kernel",
         "task")  # docs/formats/schema.md
NS_PER_TICK_BITS = 32


class State:
    """What one CPU of L0 runs from begin to end; the machine is the innermost one."""

    def __init__(self, begin, end, machine, cpu, tid, comm, mode):
        self.begin, self.end, self.tid, self.cpu = int(begin), int(end), int(tid), int(cpu)
        self.machine, self.comm, self.mode = machine, comm, MODES[int(mode)]

    def __str__(self):
        who = f" {self.tid} {self.comm}" if self.tid >= 0 else ""
        return f"{self.machine}{who} {self.mode} {self.begin}..{self.end}"


class History:
    def __init__(self, path):
        self.path = path
        self.tables = self.read_tables()

    def ask(self, what, text=""):
        if not ASK.exists():
            raise Failure(f"{ASK} is not there; run: make tests")
        done = subprocess.run([str(ASK), str(self.path), what], input=text, capture_output=True,
                              text=True)
        if done.returncode:
            raise Failure(f"{self.path}: {done.stderr.strip()}")
        return [line.split("\t") for line in done.stdout.splitlines()]

    def read_tables(self):
        """name -> list of rows, each a dictionary of texts."""
        found, rows, columns = {}, [], []
        for cells in self.ask("tables"):
            if cells[0] == "table":
                rows, columns = found.setdefault(cells[1], []), cells[2:]
            else:
                rows.append(dict(zip(columns, cells[1:])))
        return found

    def states(self, questions):
        """A State for each (CPU of L0, time)."""
        text = "".join(f"{cpu} {time}\n" for cpu, time in questions)
        return [State(*row) for row in self.ask("state", text)]

    def bounds(self, questions):
        """The error bound of a machine's clock for each (machine, time); -1 where there is none."""
        text = "".join(f"{machine} {time}\n" for machine, time in questions)
        return [int(row[0]) for row in self.ask("bounds", text)]

    def limits(self):
        """Its first and last moment."""
        meta = {row["key"]: row["value"] for row in self.tables["meta"]}
        return int(meta["begin_ns"]), int(meta["end_ns"])

    def losses(self):
        """(begin, end) of every place where events are missing."""
        return [(int(row["begin"]), int(row["end"])) for row in self.tables["loss"]]

    def incomplete(self):
        """Names of machines whose recording is not complete, as the history's problems say ("NAME: …")."""
        return {row["text"].split(":")[0] for row in self.tables["problem"]
                if "recording is not complete" in row["text"]}

    def l0_time(self, ticks):
        """The history's time for a value of the clock that L0's trace was recorded with."""
        lines = [{key: int(value) for key, value in row.items()}
                 for row in self.tables["tick"] if row["machine"] == "0"]
        line = max((x for x in lines if x["from"] <= ticks), key=lambda x: x["from"],
                   default=lines[0])
        return line["at"] + ((ticks - line["from"]) * line["mult"] >> NS_PER_TICK_BITS)
