#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Agents that send what they must not.  Each has an honest agent beside it, which must not notice."""

import os
import struct
import time

import wire
from agents import PATIENCE_S, check, run_tests, wait_until
from wire import BLOCKS, CALLS, CPU, DONE, FILE, FILES, HEAD, HELLO, MACHINE, PART, PONG, STARTED, TAIL, frame, number, text


def beside_an_honest_one(place, behave, why, greet=True, started=None, recorded=True, token=None,
                         **settings):
    """Runs the hostile agent and an honest one; returns the hostile one's folder."""
    good = place.agent("good", pages=200)
    bad = wire.Agent("bad", token or place.token.read_bytes().strip(), behave, greet)
    g = place.gather("run", bad, good, **settings)
    g.begin(2 if greet and not token else 1, started)
    g.wait_for_pages("good", pages=0)
    machines = g.end()
    g.check_whole(machines["good"], pages=200)
    check(machines["bad"]["recorded"] == recorded, machines["bad"])
    check(not machines["bad"]["complete"], machines["bad"])
    check(why in machines["bad"]["why"], f"not \"{why}\": {machines['bad']['why']}")
    check(bad.cut.wait(PATIENCE_S), "its link was not cut")
    files = [p for p in g.out.rglob("*") if p.is_file()]
    check(all(p.parts[len(g.out.parts)].split(".")[0] in ("good", "bad") for p in files), files)
    return g.out / "bad", machines


def garbage_instead_of_an_answer(place):
    """More of it than any left-over."""
    def flood(agent):
        data = os.urandom(1 << 20)
        while True:
            agent.send(data)
    beside_an_honest_one(place, flood, "not a sonde agent", greet=False, recorded=False)


def a_hello_that_never_ends(place):
    """A byte now and then."""
    def dribble(agent):
        while True:
            agent.send(b"S")
            time.sleep(0.1)
    beside_an_honest_one(place, dribble, "answer", greet=False, recorded=False)


def silence(place):
    """Takes the call and says nothing."""
    beside_an_honest_one(place, lambda agent: None, "answer", greet=False,
                         recorded=False)


def a_wrong_proof(place):
    """Somebody else's agent."""
    def hello(agent):
        call = wire.receive(agent.sock, 32)
        agent.send(b"SONDEans" + struct.pack("<HHI", 1, 1, 0) + call[16:] + bytes(16))
        wire.receive_frame(agent.sock)
        agent.send(frame(HELLO, bytes(32) + agent.identity()))
    beside_an_honest_one(place, hello, "another token", greet=False, recorded=False)


def a_proof_given_back(place):
    """The recorder's own proof is not the agent's."""
    def hello(agent):
        call = wire.receive(agent.sock, 32)
        agent.send(b"SONDEans" + struct.pack("<HHI", 1, 1, 0) + call[16:] + bytes(16))
        theirs = wire.receive_frame(agent.sock)[2]
        agent.send(frame(HELLO, theirs + agent.identity()))
    beside_an_honest_one(place, hello, "another token", greet=False, recorded=False)


def no_token_at_all(place):
    """By TCP an agent without a token is nobody."""
    def hello(agent):
        call = wire.receive(agent.sock, 32)
        agent.send(b"SONDEans" + struct.pack("<HHI", 1, 0, 0) + call[16:] + bytes(16))
    beside_an_honest_one(place, hello, "has no token", greet=False, recorded=False)


def another_version(place):
    """Of the protocol."""
    def hello(agent):
        call = wire.receive(agent.sock, 32)
        agent.send(b"SONDEans" + struct.pack("<HHI", 7, 1, 0) + call[16:] + bytes(16))
    beside_an_honest_one(place, hello, "version 7", greet=False, recorded=False)


def garbage_after_the_start(place):
    """Random bytes in the middle of a recording: what came before stays."""
    def behave(agent):
        agent.started()
        agent.part(b"p" * 8192)
        agent.send(os.urandom(100000))
    folder, _ = beside_an_honest_one(place, behave, "no frame")
    check((folder / "cpu0.raw").read_bytes() == b"p" * 8192, "what came before is not kept")


def bytes_that_break_rules(place):
    """One frame that is wrong, of many kinds."""
    wrong = {
        "which there is not": frame(99), "sent a frame of type 25": frame(25),
        "sent a frame of type 1": frame(wire.AUTH),
        "PART frame of 4294967295 bytes": frame(PART, b"", CPU, length=0xFFFFFFFF),
        "PONG frame of 5000 bytes": frame(PONG, b"", length=5000),
        "machine 7": frame(PART, b"data", CPU, machine=7),
        "machine 65535": frame(PART, b"data", CPU, machine=65535),
        "part 0 of kind 9": frame(PART, b"data", 9),
        "part 4 of kind 1": frame(PART, b"data", CPU, number=4),
        "part 2 of kind 2": frame(PART, b"data", TAIL, number=2),
        "part 1 of kind 0": frame(PART, b"data", HEAD, number=1),
        "ends inside a field": frame(DONE, b"\x01\x00"),
        "field of 65535 bytes": frame(DONE, b"\x01\x00\xff\xff"),
        "a number of 3 bytes": frame(DONE, b"\x01\x00\x03\x00abc"),
        "not asked to": frame(STARTED) * 2,
        "HELLO that does not fit": frame(HELLO, bytes(200)),
        "announced machine 1": frame(STARTED) + frame(MACHINE, number(6, 1), machine=1),
        "DONE for machine 3": frame(DONE, number(7, 1), machine=3),
        "greeted twice": None,
    }
    del wrong["greeted twice"]
    for n, (why, data) in enumerate(wrong.items()):
        place.path = place.path / str(n)
        place.path.mkdir()
        beside_an_honest_one(place, lambda agent, data=data: agent.send(data), why)


def names_of_files(place):
    """That lead out of the folder, or are none."""
    bad = ["../evil", "/etc/evil", "a/../../evil", ".hidden", "a//b", "a/", "", "a/.b",
           "x" * 250, "new\nline", "a/b/c/d/e/f/g/h/i", "nul\\", "é"]
    for n, name in enumerate(bad):
        place.path = place.path / str(n)
        place.path.mkdir()
        beside_an_honest_one(
            place, lambda agent, name=name: agent.send(frame(FILE, text(1, name) if name else b"")),
            "named a file")


def files_that_were_not_announced(place):
    """Bytes for a file without a name."""
    def behave(agent):
        agent.started()
        agent.part(b"data", kind=FILES, number=3)
        agent.wait_for_stop()
        agent.done()
    folder, _ = beside_an_honest_one(place, behave, "")
    check(not [p for p in folder.rglob("*") if p.name.startswith("data")], "it was written")


def a_hundred_gigabytes(place):
    """Sends and sends: the limit holds, and the link is cut."""
    def flood(agent):
        agent.started()
        data = bytes(1 << 20)
        for _ in range(100 << 10):
            agent.send(frame(PART, data))
    limit = 50 << 20
    folder, machines = beside_an_honest_one(place, lambda a: flood(a), "limit", limit=limit)
    size = sum(p.stat().st_size for p in folder.iterdir() if p.name != "reserve")
    check(size <= limit, f"{size} bytes are on the disk, {limit} was the limit")
    check(machines["bad"]["bytes"] < 3 << 30, machines["bad"])


def too_much_but_honest(place):
    """Reaches the limit: told to stop, it ends in order."""
    a = place.agent("a", pause_us=50)
    limit = 4 << 20
    g = place.gather("run", a, limit=limit).begin(1, 1)
    wait_until(lambda: not a.is_tracing(), "it was told to stop")
    machines = g.end()
    nr = g.check_partial(machines["a"], f"it reached the limit of {limit} bytes")
    check(limit // 4096 - 40 < nr <= limit // 4096, f"{nr} pages")
    check((g.out / "a/tail0").exists(), "no tail")


def machines_without_end(place):
    """Announces more guests than a link can have, deeper than asked for, in no machine."""
    def many(agent):
        for n in range(1, 100):
            agent.send(frame(MACHINE, agent.identity(name=f"vm{n}"), machine=n))
    beside_an_honest_one(place, many, "frame for machine 64", depth=3)

    def deep(agent):
        for n in range(1, 9):
            agent.send(frame(MACHINE, agent.identity(name="vm") + number(8, n - 1), machine=n))
    place.path = place.path / "deep"
    place.path.mkdir()
    beside_an_honest_one(place, deep, "deeper than asked for", depth=3)

    def nowhere(agent):
        agent.send(frame(MACHINE, agent.identity(name="vm") + number(8, 5), machine=1))
    place.path = place.path / "nowhere"
    place.path.mkdir()
    beside_an_honest_one(place, nowhere, "announced machine 1 in 5", depth=3)


def machines_that_come_late(place):
    """While recording goes on only guests' memory may come, where it was asked for, and nothing else of it."""
    def memory(agent, content=1):
        return agent.identity(name="vm") + number(13, content)

    late = {
        "announced machine 1": lambda agent: frame(STARTED) + frame(MACHINE, agent.identity(name="vm"), machine=1),
        "a machine of kind 2": lambda agent: frame(STARTED) + frame(MACHINE, memory(agent, 2), machine=1),
        "announced machine 2": lambda agent: frame(STARTED) + frame(MACHINE, memory(agent), machine=2),
        "frame for machine 64": lambda agent: frame(STARTED) + b"".join(
            frame(MACHINE, memory(agent), machine=n) for n in range(1, 100)),
        "deeper than asked for": lambda agent: frame(STARTED) + b"".join(
            frame(MACHINE, memory(agent) + number(8, n - 1), machine=n) for n in range(1, 9)),
        "part 0 of kind 1": lambda agent: frame(STARTED) + frame(MACHINE, memory(agent), machine=1) + frame(
            PART, b"data", CPU, machine=1),
        "part 1 of kind 4": lambda agent: frame(STARTED) + frame(MACHINE, memory(agent), machine=1) + frame(
            PART, b"data", BLOCKS, machine=1, number=1),
        "part 0 of kind 5": lambda agent: frame(STARTED) + frame(PART, b"data", CALLS),
        "DONE for machine 1": lambda agent: frame(STARTED) + frame(MACHINE, memory(agent), machine=1) + frame(
            DONE, number(7, 1), machine=1) * 2,
    }

    def run(name, bytes_of, why, **settings):
        place.path = place.path / name
        place.path.mkdir()
        beside_an_honest_one(place, lambda agent: agent.send(bytes_of(agent)), why, depth=3, **settings)

    for n, (why, bytes_of) in enumerate(late.items()):
        run(str(n), bytes_of, why, rings=1)
    run("not-asked", lambda agent: frame(STARTED) + frame(MACHINE, memory(agent), machine=1), "announced machine 1")


def machines_after_the_end(place):
    """In one read with its own DONE: what they would begin nobody would end."""
    def behave(agent):
        vm = agent.identity(name="vm") + number(13, 1)
        agent.started()
        agent.wait_for_stop()
        agent.send(frame(DONE, text(8, "it said so")) + frame(MACHINE, vm, machine=1)
                   + frame(PART, bytes(4096), BLOCKS, machine=1))
    folder, machines = beside_an_honest_one(place, behave, "it said so", depth=3, rings=1)
    check(sorted(machines) == ["bad", "good"], sorted(machines))
    check(not [p for p in folder.parent.rglob("*") if "vm" in p.name], "it began")


def texts_for_a_terminal(place):
    """Escape sequences in what it says."""
    def behave(agent):
        agent.send(frame(wire.NOTICE, text(1, "\x1b[1mnotice")) * 1000)
        agent.send(frame(wire.ERROR, text(1, "\x1b[2Jgone \x07é")))
    folder, machines = beside_an_honest_one(place, behave, "?[2Jgone ???")
    notices = (folder.parent.with_suffix(".notices")).read_text()
    check(notices.count("?[1mnotice\n") == 32 and "\x1b" not in notices, notices[:200])
    check("\x1b" not in machines["bad"]["why"], "an escape came through")


def an_end_that_never_comes(place):
    """Alive, but never done: the recorder waits so long and no longer."""
    def behave(agent):
        agent.started()
        agent.wait_for_stop()
        agent.sock.settimeout(0.1)
        while True:
            agent.part(b"p" * 4096)
            time.sleep(0.1)
    begin = time.monotonic()
    beside_an_honest_one(place, behave, "waited", timeout=500)
    check(5 < time.monotonic() - begin < 60, f"{time.monotonic() - begin:.1f} s")


if __name__ == "__main__":
    run_tests([garbage_instead_of_an_answer, a_hello_that_never_ends, silence, a_wrong_proof,
               a_proof_given_back, no_token_at_all, another_version, garbage_after_the_start,
               bytes_that_break_rules, names_of_files, files_that_were_not_announced,
               a_hundred_gigabytes, too_much_but_honest, machines_without_end, machines_that_come_late,
               machines_after_the_end,
               texts_for_a_terminal, an_end_that_never_comes])
