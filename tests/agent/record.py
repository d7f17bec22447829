#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Guests are recorded through their agents: everything arrives, in order, whole."""

import subprocess

from agents import AGENT, check, free_port, run_tests, wait_until


def everything_arrives(place):
    """Three guests, all bytes of all parts; agents are ready for the next recording."""
    agents = [place.agent(f"vm-{n}", pages=3000, cpus=1 + n % 2) for n in range(3)]
    for turn in range(2):
        g = place.gather(f"run{turn}", *agents).begin(3, 3)
        wait_until(lambda: all(a.is_tracing() for a in agents), "all trace")
        machines = g.end()
        for n, agent in enumerate(agents):
            g.check_whole(machines[agent.name], cpus=1 + n % 2, pages=3000)
            check(machines[agent.name]["events_lost"] == 7, "cost did not arrive")
            check(machines[agent.name]["clock"] == "x86-tsc", "clock did not arrive")
            check(not agent.is_tracing(), "still tracing")


def an_endless_recording_ends(place):
    """Stopped in the middle of a stream: whole all the same."""
    agents = [place.agent("a", pause_us=200), place.agent("b", pause_us=500)]
    g = place.gather("run", *agents).begin(2, 2)
    g.wait_for_pages("a", "b")
    for machine in g.end().values():
        g.check_whole(machine)


def requests_arrive(place):
    """Options, notes, names of files."""
    a = place.agent("a", pages=1, files="metadata,kernel/ch0_0,kernel/ch0_1")
    g = place.gather("run", a, events="sched:sched_switch,kvm").begin(1, 1)
    g.note("vm")
    wait_until(lambda: (g.out / "a/tail1").exists(), "the note")
    g.check_whole(g.end()["a"], pages=1)
    check((g.out / "a/tail1").read_text() == "note vm\n", "another note")
    head = (g.out / "a/head").read_text()
    check("events=2:sched:sched_switch kvm" in head, head)
    for name in "metadata", "kernel/ch0_0", "kernel/ch0_1":
        check((g.out / "a/lttng" / name).read_text() == name, name)


def what_cannot_be_recorded_is_said(place):
    """No agent, a recorder that fails, a link of no kind: the rest goes on."""
    good = place.agent("good", pages=100)
    bad = place.agent("bad", fail="there is no tracefs here")
    g = place.gather("run", good, bad, f"none=tcp:127.0.0.1:{free_port()}",
                     "far=unix:/nonexistent").begin(2, 1)
    machines = g.end()
    g.check_whole(machines["good"], pages=100)
    check(machines["bad"]["why"] == "there is no tracefs here", machines["bad"])
    check(not machines["none"]["recorded"] and "refused" in machines["none"]["why"],
          machines["none"])
    check(not machines["far"]["recorded"] and "/nonexistent" in machines["far"]["why"],
          machines["far"])


def a_recorder_that_ends_by_itself(place):
    """Its buffer is gone, say: what it has is there, and the reason."""
    a, b = place.agent("a", pause_us=300, **{"break": 100}), place.agent("b", pause_us=300)
    g = place.gather("run", a, b).begin(2, 2)
    wait_until(lambda: not a.is_tracing(), "it ends by itself")
    machines = g.end()
    check(g.check_partial(machines["a"], "somebody removed its buffer") > 100, "pages")
    g.check_whole(machines["b"])


def names_are_made_fit(place):
    """Names of guests that would be no folders, or the same folder."""
    a, b = place.agent("a", pages=10), place.agent("b", pages=10)
    g = place.gather("run", f"../x y=tcp:127.0.0.1:{a.port}",
                     f".._x.y=tcp:127.0.0.1:{b.port}").begin(2, 2)
    machines = g.end()
    check(sorted(machines) == ["___x_y", "___x_y-2"], sorted(machines))
    for machine in machines.values():
        g.check_whole(machine, pages=10)


def wrong_tokens_are_refused(place):
    """The recorder's, the agent's, and none at all."""
    other = place.path / "other"
    other.write_text("another-token-0123456789\n")
    good, bad = place.agent("good", pages=10), place.agent("bad", pages=10, token=other)
    g = place.gather("run", good, bad).begin(1, 1)
    machines = g.end()
    g.check_whole(machines["good"], pages=10)
    check("wrong token" in machines["bad"]["why"], machines["bad"])
    check(not bad.is_tracing() and not (g.out / "bad").exists(), "it was recorded")
    short = place.path / "short"
    short.write_text("short\n")
    for options, status in (["--tcp", "1"], 2), (["--tcp", "1", "--token-file", short], 1):
        done = subprocess.run([AGENT, *options], capture_output=True, text=True, timeout=10)
        check(done.returncode == status and "token" in done.stderr, f"{options}: {done.stderr}")


if __name__ == "__main__":
    run_tests([everything_arrives, an_endless_recording_ends, requests_arrive,
               what_cannot_be_recorded_is_said,
               a_recorder_that_ends_by_itself, names_are_made_fit, wrong_tokens_are_refused])
