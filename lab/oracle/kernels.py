# SPDX-License-Identifier: Apache-2.0
"""Which machine's kernel runs when no program can be seen, learnt from the readings themselves.

Identified programs teach which page tables (cr3) belong to which machine.  A kernel that runs on such page tables
teaches which per-CPU area (the base of gs) is that machine's; so does a halted CPU, which is L0's, because KVM lets
no guest halt it.  From then on the area tells the machine, whatever the page tables.  Where two machines have the
same addresses (the same memory size, say), nothing is said.
"""
from collections import defaultdict

HOST = "L0"
VOTES_MIN = 3


def owners(identified):
    """{cr3: machine} from (registers, machine) pairs, without page tables that two machines claim."""
    claims = defaultdict(set)
    for cpu, machine in identified:
        claims[cpu.cr3].add(machine)
    return {cr3: machines.pop() for cr3, machines in claims.items() if len(machines) == 1}


def areas(cpus, identified):
    """{gs base: machine} for the per-CPU areas of which all evidence names one machine."""
    tables = owners(identified)
    votes = defaultdict(lambda: defaultdict(int))
    for cpu in cpus:
        machine = HOST if cpu.hlt else tables.get(cpu.cr3)
        if cpu.in_kernel() and machine:
            votes[cpu.gs][machine] += 1
    return {gs: max(counts) for gs, counts in votes.items()
            if len(counts) == 1 and sum(counts.values()) >= VOTES_MIN}
