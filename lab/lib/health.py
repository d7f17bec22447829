# SPDX-License-Identifier: Apache-2.0
"""Did a kernel complain?  Looks at each machine's kernel log and console."""
import re

COMPLAINTS = re.compile(
    r"BUG: |Oops: |WARNING: |Kernel panic|general protection fault|soft lockup"
    r"|possible (recursive locking|circular locking|irq lock inversion)|suspicious RCU usage"
    r"|rcu: INFO: .*stall")


def complaints(directory, machine):
    """The lines of one machine's logs that tell of a fault in its kernel."""
    found = []
    for file in (directory / machine / "meta/dmesg", directory / f"consoles/{machine}.log"):
        if file.is_file():
            lines = file.read_text(errors="replace").splitlines()
            found += [line.strip() for line in lines if COMPLAINTS.search(line)]
    return list(dict.fromkeys(found))


def of_run(scenario, directory):
    """{machine: complaints}, without machines that have none or that the scenario makes panic."""
    found = {machine.name: complaints(directory, machine.name) for machine in scenario.machine
             if scenario.ends(machine.name) != "panic"}
    return {name: lines for name, lines in found.items() if lines}
