#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 300
"""docs/lost-time.md: a word has one number, whichever command tells it, and they add up."""

import json
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402

RUNS = ("user", "kernel", "guest", "nested")
HYPERVISOR = ("kvm", "vmm", "halting")
STEAL = ("queued", "preempted", "throttled", "steal_unknown")
WAITS = ("wait_timer", "wait_disk", "wait_network", "wait_ipi", "wait_device", "wait_vmm", "wait_host", "wait_unknown")
UNKNOWN = ("unknown", "gone")
FACTS = ("vcpu_state", "vcpu_time", "hypervisor", "exit_reason", "exits", "preemption", "steal", "machine_time")


def name_of(cpu):
    return f"{cpu['machine']}/{cpu['cpu']}"


def total(row, columns):
    return sum(row[c] for c in columns)


def close(a, b, ppm):
    return abs(a - b) <= max(abs(a), abs(b)) * ppm / 1e6 + 1


def ask(command, history, *options):
    return json.loads(lib.run(lib.SONDE, command, history, *options, "--format", "json"))


def words_of(state):
    """The words of docs/lost-time.md, of one vCPU."""
    return {"run": total(state, RUNS), "hypervisor": total(state, HYPERVISOR), "nesting": state["nesting"],
            "host_irq": state["host_irq"], "total_steal": total(state, STEAL) + state["inherited_steal"],
            "wait": total(state, WAITS), "unknown": total(state, UNKNOWN)}


def check_vcpus(told, top, run, history, window):
    for state in told["vcpu_state"]:
        name, words = name_of(state["vcpu"]), words_of(state)
        lib.check(sum(words.values()) == window, f"{name}: {words} do not add up to {window}")
        seen = next(v for v in top["vcpus"] if v["name"] == name)
        lib.check({w: seen[w] for w in words} == words, f"{name}: top has {seen}, report {words}")
        time = next(t for t in told["vcpu_time"] if t["vcpu"] == state["vcpu"])
        ready = total(state, STEAL)
        culprits = sum(p["total"] for p in told["preemption"] if p["vcpu"] == state["vcpu"])
        steal = next(s for s in told["steal"] if s["vcpu"] == state["vcpu"])
        lib.check(time["steal"] == ready == culprits, f"{name}: ready {ready}, {time}, culprits {culprits}")
        lib.check(steal["length"] != window or steal["steal"] == ready, f"{name}: ready {ready}, {steal}")
        lib.check(time["inherited_steal"] == state["inherited_steal"], f"{name}: {time} {state}")
        lib.check(time["total_steal"] == words["total_steal"], f"{name}: {time} {words}")
        lib.check(close(time["total_steal_share"] / 1e6 * window, words["total_steal"], 100), f"{name}: {time}")
        sql = lib.run(lib.SONDE, "sql", history, f"select steal, inherited_steal, total_steal from vcpu_time where vcpu = '{name}'",
                      "--format", "csv").split()
        lib.check(sql[1] == f"{ready},{state['inherited_steal']},{words['total_steal']}", f"{name}: SQL has {sql}")
        why = next((w for w in run["why"] if w["kind"] == "vcpu" and w["vcpu"] == state["vcpu"]), None)
        lib.check(not ready or (why and why["cost"] == ready), f"{name}: why has {why}")
        lib.check(bool(why and "its total steal is" in why["text"]) == bool(ready and state["inherited_steal"]), f"{name}: {why}")


def check_vms(told, top, profiles, window):
    for vm in profiles:
        vcpus = [s for s in told["vcpu_state"] if s["vcpu"]["machine"] == vm["vm"]]
        words = [words_of(s) for s in vcpus]
        for column, parts in (("guest_mode", ("run",)), ("total_steal", ("total_steal",)), ("nesting", ("nesting",)),
                              ("host_irq", ("host_irq",)), ("unknown", ("unknown",))):
            want = sum(total(w, parts) for w in words) / (window * len(vcpus)) * 1e6
            lib.check(abs(vm[column] - want) <= 2, f"{vm['vm']}: {column} is {vm[column]} ppm, not {want}")
        hypervisor = sum(w["hypervisor"] for w in words)
        share = total(vm, HYPERVISOR)
        lib.check(abs(share - hypervisor / (window * len(vcpus)) * 1e6) <= 4, f"{vm}: hypervisor {hypervisor}")
        seen = next(v for v in top["vms"] if v["name"] == vm["vm"])
        lib.check(seen["hypervisor"] == hypervisor, f"{vm['vm']}: top has {seen}")
        cost = next(h for h in told["hypervisor"] if h["vm"] == vm["vm"])["hypervisor"]
        lib.check(close(cost, hypervisor, 2000), f"{vm['vm']}: report has {cost} of hypervisors, its vCPUs {hypervisor}")
        reasons = sum(e["total"] for e in told["exit_reason"] if e["vm"] == vm["vm"])
        lib.check(reasons == cost, f"{vm['vm']}: {reasons} by reason, {cost} in all")


def check_run(name, traces, scratch):
    history = scratch / f"{name}.sonde"
    lib.run(lib.SONDE, "analyze", *traces, "-o", history, "--quiet")
    options = [o for fact in FACTS for o in ("-t", fact)]
    told = ask("report", history, *options)
    window = told["end"] - told["begin"]
    top = ask("top", history)[0]
    check_vcpus(told, top, ask("why", history), history, window)
    check_vms(told, top, ask("vms", history), window)
    by_machine = sum(m["hypervisor"] for m in told["machine_time"])
    by_vm = sum(h["hypervisor"] for h in told["hypervisor"])
    of_none = sum(e["total"] for e in told["exit_reason"] if e["vm"] is None)
    lib.check(by_machine == by_vm + of_none, f"hypervisors: {by_machine} by machine, {by_vm} by VM, {of_none} of a nested VM")
    lib.check(of_none * 100 <= by_machine, f"{of_none} of {by_machine} are of a nested VM, not known which")
    print(f"{name}: {len(told['vcpu_state'])} vCPUs, every word one number")
    return told


def main():
    with tempfile.TemporaryDirectory() as scratch:
        told = check_run("lttng", [lib.ROOT / "samples/lttng"], Path(scratch))
        check_run("ftrace", [lib.ROOT / "samples/ftrace"], Path(scratch))
    inherited = [s for s in told["vcpu_state"] if s["inherited_steal"]]
    lib.check([name_of(s["vcpu"]) for s in inherited] == ["vm-a-n/0"], f"inherited by {inherited}")


if __name__ == "__main__":
    main()
