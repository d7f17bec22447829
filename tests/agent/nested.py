#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Agents of nested VMs are reached through their parents' agents, over one link per VM."""

import re
import time

from agents import STOP, CONT, check, free_port, run_tests, wait_until

STEADY = {"pause_us": 300}


def guests(*agents):
    return [word for agent in agents for word in ("--guest", agent.spec)]


def tower(place, **settings):
    """vm-a with vm-a-n and vm-a-m in it, vm-a-n with deep in it; vm-b beside vm-a."""
    deep = place.agent("deep", **settings)
    n = place.agent("vm-a-n", *guests(deep), **settings)
    m = place.agent("vm-a-m", **settings)
    a = place.agent("vm-a", *guests(n, m), **settings)
    b = place.agent("vm-b", **settings)
    return a, b, n, m, deep


ALL = ["vm-a", "vm-a.vm-a-m", "vm-a.vm-a-n", "vm-a.vm-a-n.deep", "vm-b"]


def four_levels(place):
    """All at once, all whole."""
    a, b, *_ = tower(place, pages=500)
    g = place.gather("run", a, b, depth=8).begin(2)
    machines = g.end()
    check(sorted(machines) == ALL, sorted(machines))
    for machine in machines.values():
        g.check_whole(machine, pages=500)


def order_of_start_and_stop(place):
    """A parent traces before its guests begin and until they have ended."""
    a, b, n, m, deep = tower(place, **STEADY)
    g = place.gather("run", a, b, depth=8).begin(2)
    begun = {x.name: x.mark.stat().st_mtime_ns for x in (a, n, deep)}
    check(begun["vm-a"] <= begun["vm-a-n"] <= begun["deep"], begun)
    g.wait_for_pages(*ALL)
    n.signal(STOP)  # so its guest, which has to be told by it, goes on, and so must its parent
    g.process.stdin.close()
    wait_until(lambda: not b.is_tracing(), "it does not wait for another machine's guest")
    time.sleep(0.3)
    check(deep.is_tracing() and a.is_tracing(), "ended before its guest")
    n.signal(CONT)
    g.process.stdin = None
    machines = g.end()
    for machine in machines.values():
        g.check_whole(machine)


def no_deeper_than_asked_for(place):
    """depth=0: the guests alone; depth=1: theirs too."""
    a, b, *_ = tower(place, pages=20)
    check(sorted(place.gather("run0", a, b).begin(2).end()) == ["vm-a", "vm-b"], "depth 0")
    g = place.gather("run1", a, b, depth=1).begin(2)
    check(sorted(g.end()) == [p for p in ALL if "deep" not in p], "depth 1")


def a_nested_agent_dies(place):
    """Only its tail is missing."""
    a, b, n, m, deep = tower(place, **STEADY)
    g = place.gather("run", a, b, depth=8).begin(2)
    g.wait_for_pages(*ALL)
    deep.kill()
    g.wait_for_pages("vm-a.vm-a-n")
    machines = g.end()
    check(g.check_partial(machines["vm-a.vm-a-n.deep"], "the link to its agent was lost") >= 50,
          "pages lost")
    for path in ALL:
        if "deep" not in path:
            g.check_whole(machines[path])


def an_agent_in_between_dies(place):
    """What is behind it is lost from then on; and stops tracing."""
    a, b, n, m, deep = tower(place, **STEADY)
    g = place.gather("run", a, b, depth=8).begin(2)
    g.wait_for_pages(*ALL)
    n.kill()
    wait_until(lambda: not deep.is_tracing(), "the guest behind it stops tracing")
    machines = g.end()
    for path in "vm-a.vm-a-n", "vm-a.vm-a-n.deep":
        check(g.check_partial(machines[path], "link to its agent was lost") >= 50, path)
    for path in "vm-a", "vm-b", "vm-a.vm-a-m":
        g.check_whole(machines[path])


def a_nested_agent_hangs(place):
    """It is given up by its parent, before the parent is by its own."""
    a, b, n, m, deep = tower(place, **STEADY)
    g = place.gather("run", a, b, depth=8).begin(2)
    g.wait_for_pages(*ALL)
    deep.signal(STOP)
    machines = g.end()
    g.check_partial(machines["vm-a.vm-a-n.deep"], "silent")
    for path in ALL:
        if "deep" not in path:
            g.check_whole(machines[path])


def the_recorder_dies(place):
    """Every level stops tracing."""
    agents = tower(place, **STEADY)
    g = place.gather("run", *agents[:2], depth=8).begin(2)
    g.wait_for_pages(*ALL)
    g.process.kill()
    for agent in agents:
        wait_until(lambda: not agent.is_tracing(), f"{agent.name} stops tracing")
    g = place.gather("again", *agents[:2], depth=8).begin(2)
    for machine in g.end().values():
        g.check_whole(machine)


def the_limit_holds_for_each(place):
    """A guest's guest with too much ends in order; the machines around it are whole."""
    limit = 4 << 20
    n = place.agent("n", pause_us=50)
    a = place.agent("a", *guests(n), pages=20)
    g = place.gather("run", a, depth=2, limit=limit).begin(1)
    wait_until(lambda: not n.is_tracing(), "it was told to stop")
    machines = g.end()
    nr = g.check_partial(machines["a.n"], f"it reached the limit of {limit} bytes")
    check(limit // 4096 - 40 < nr <= limit // 4096, f"{nr} pages")
    g.check_whole(machines["a"], pages=20)


def a_guest_without_an_agent(place):
    """Is told of, with the reason."""
    a = place.agent("a", "--guest", f"none=tcp:127.0.0.1:{free_port()}", pages=20)
    g = place.gather("run", a, depth=2).begin(1)
    machines = g.end()
    g.check_whole(machines["a"], pages=20)
    check(not machines["a.none"]["recorded"], machines["a.none"])
    check(re.search("cannot connect.*refused", machines["a.none"]["why"]), machines["a.none"])


def notes_reach_all(place):
    """A note goes to every level."""
    a, b, *_ = tower(place, **STEADY)
    g = place.gather("run", a, b, depth=8).begin(2)
    g.note("vm")
    for path in ALL:
        wait_until(lambda: (g.out / path / "tail1").exists(), f"the note of {path}")
    for machine in g.end().values():
        g.check_whole(machine)


def notices_come_from_all(place):
    """What recorders have to say arrives from every level, once."""
    a, b, *_ = tower(place, pages=20, notice="this kernel lacks something")
    g = place.gather("run", a, b, depth=8).begin(2)
    g.end()
    said = sorted(g.notices.read_text().splitlines())
    wanted = sorted(f"notice of {path.split('.')[-1]}: this kernel lacks something" for path in ALL)
    check(said == wanted, said)


def more_than_a_link_can_name(place):
    """Of guests beyond its numbers a notice tells."""
    nobody = free_port()
    names = [f"n{i:02}" for i in range(66)]
    a = place.agent("a", *[word for name in names
                           for word in ("--guest", f"{name}=tcp:127.0.0.1:{nobody}")], pages=10)
    g = place.gather("run", a, depth=8).begin(1)
    machines = g.end()
    g.check_whole(machines["a"], pages=10)
    told = re.findall(r"its guest (n\d\d) is not recorded: more than 64 machines", g.notices.read_text())
    check(len(machines) == 64 and len(told) == 3, f"{len(machines)} machines, told of {told}")
    check(sorted(told + [m.split(".")[1] for m in machines if m != "a"]) == names, "not all")


def lines_of(path):
    """What a guest's rings gave: a line for each tick, all of them."""
    lines = path.read_text().splitlines()
    name = path.parent.name.split(".")[-1]
    check(lines == [f"{name} {n}" for n in range(len(lines))], f"{path}: {lines}")
    return len(lines)


def rings_of_guests_guests(place):
    """What a guest's guest keeps in its memory comes through the guest's agent, found while recording goes on: one
    more level, no agent."""
    n = place.agent("vm-a-n", rings="deep", **STEADY)
    a = place.agent("vm-a", *guests(n), rings="vm-a-m,vm-a-o", **STEADY)
    g = place.gather("run", a, depth=8, rings=1).begin(1, 2)
    paths = ["vm-a.vm-a-m", "vm-a.vm-a-n.deep", "vm-a.vm-a-o"]
    files = [g.out / path / "hypertrace" for path in paths]
    for file in files:
        wait_until(lambda file=file: file.exists() and lines_of(file) > 3, f"{file} grows")
    machines = g.end()
    check(sorted(machines) == ["vm-a", *paths[:1], "vm-a.vm-a-n", *paths[1:]], sorted(machines))
    for path, file in zip(paths, files):
        machine = machines[path]
        check(machine["complete"] and not machine["why"], machine)
        check(machine["bytes"] == file.stat().st_size and machine["events_lost"] == 3, machine)
        check(sorted(p.name for p in file.parent.iterdir()) == ["hypertrace"], "there is more in its folder")
    for path in "vm-a", "vm-a.vm-a-n":
        g.check_whole(machines[path])


def rings_nobody_asked_for(place):
    """A recorder that does not know of them, or wants none, or no guests' guests."""
    for number, settings in enumerate(({"depth": 8}, {"depth": 0, "rings": 1}, {"depth": 8, "rings": 0})):
        a = place.agent("vm-a", rings="vm-a-m", **STEADY)
        g = place.gather(f"run{number}", a, **settings).begin(1, 1)
        time.sleep(1.5)
        machines = g.end()
        check(list(machines) == ["vm-a"], f"{settings}: {machines}")
        g.check_whole(machines["vm-a"])


def rings_of_an_agent_that_dies(place):
    """What came until then is kept."""
    a = place.agent("vm-a", rings="vm-a-m", **STEADY)
    g = place.gather("run", a, depth=1, rings=1).begin(1, 1)
    file = g.out / "vm-a.vm-a-m/hypertrace"
    wait_until(lambda: file.exists() and lines_of(file) > 3, "it grows")
    a.kill()
    machines = g.end()
    check("link to its agent was lost" in machines["vm-a.vm-a-m"]["why"], machines)
    lines_of(file)


def rings_with_too_much(place):
    """The limit holds for what is in memory, too."""
    limit = 1 << 20
    a = place.agent("vm-a", rings="vm-a-m", rings_bytes=300000, pages=20)
    g = place.gather("run", a, depth=1, rings=1, limit=limit).begin(1, 1)
    file = g.out / "vm-a.vm-a-m/hypertrace"
    wait_until(lambda: file.exists() and file.stat().st_size > limit // 2, "it grows")
    time.sleep(1)
    machines = g.end()
    check(f"limit of {limit} bytes" in machines["vm-a.vm-a-m"]["why"], machines)
    check(file.stat().st_size <= limit, f"{file.stat().st_size} bytes")
    g.check_whole(machines["vm-a"], pages=20)


def more_rings_than_a_link_can_name(place):
    """Of the first that has no number a notice tells."""
    names = [f"m{i:02}" for i in range(66)]
    a = place.agent("a", rings=",".join(names), **STEADY)
    g = place.gather("run", a, depth=8, rings=1).begin(1)
    wait_until(lambda: (g.out / "a.m62").exists(), "the last one is there")
    machines = g.end()
    check(len(machines) == 64, len(machines))
    told = re.findall(r"its guest (m\d\d) keeps in memory is not read: more than 64 machines", g.notices.read_text())
    check(told == ["m63"], told)


if __name__ == "__main__":
    run_tests([four_levels, order_of_start_and_stop, no_deeper_than_asked_for,
               a_nested_agent_dies, an_agent_in_between_dies, a_nested_agent_hangs,
               the_recorder_dies, the_limit_holds_for_each, a_guest_without_an_agent,
               notes_reach_all, notices_come_from_all, more_than_a_link_can_name, rings_of_guests_guests,
               rings_nobody_asked_for, rings_of_an_agent_that_dies, rings_with_too_much, more_rings_than_a_link_can_name])
