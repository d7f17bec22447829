#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Callers that an agent must send away, and stay ready for the right one."""

import os
import resource
import signal
import socket
import struct
import time
from pathlib import Path

import wire
from agents import PATIENCE_S, check, run_tests, wait_until
from wire import AUTH, HELLO, START, frame


def still_serves(place, agent):
    g = place.gather(f"run{time.monotonic()}", agent).begin(1, 1)
    g.check_whole(g.end()["a"], pages=10)


def caller(place, agent, token=None):
    return wire.Caller(agent.port, token or place.token.read_bytes().strip())


def cpu_ticks(agent):
    return sum(map(int, Path(f"/proc/{agent.process.pid}/stat").read_text().split()[13:15]))


def garbage(place):
    """Before and after a greeting."""
    a = place.agent("a", pages=10)
    with caller(place, a).sock as s:
        s.sendall(os.urandom(100000))
    c = caller(place, a).call()
    c.send(os.urandom(100000))
    check("no frame" in c.error(), "it was told nothing")
    still_serves(place, a)


def wrong_proofs(place):
    """Of another token, of nothing, of the other role, of an earlier session."""
    a = place.agent("a", pages=10)
    what, payload = caller(place, a, b"some other token").call().prove()
    check(what == wire.ERROR and b"wrong token" in payload, "another token")
    what, _ = caller(place, a).call().prove(role=b"sonde agent")
    check(what == wire.ERROR, "the other role")
    for proof in b"", bytes(32), bytes(31), bytes(4096):
        c = caller(place, a).call()
        c.send(frame(AUTH, proof))
        check("wrong token" in c.error(), f"{len(proof)} bytes")
    first = caller(place, a).call()
    check(first.prove()[0] == HELLO, "the right one")
    old = frame(AUTH, wire.proof(first.token, b"sonde caller", first.flags, first.nonce,
                                 first.agent_nonce))
    first.sock.close()
    c = caller(place, a).call()
    c.send(old)
    check("wrong token" in c.error(), "a proof of an earlier session")
    still_serves(place, a)


def orders_before_the_proof(place):
    """START, STOP, NOTE, PING."""
    a = place.agent("a", pages=10)
    for what in range(wire.START, wire.PING + 1):
        c = caller(place, a).call()
        c.send(frame(what))
        check("before it proved" in c.error(), f"frame {what}")
    check(not a.is_tracing(), "it traces")
    still_serves(place, a)


def frames_that_break_rules(place):
    """After the proof."""
    a = place.agent("a", pages=10)
    for data, why in [(frame(wire.PART, b"x"), "type 19"), (frame(START, length=5000), "5000"),
                      (frame(START, b"\x01\x00\xff\xff"), "65535"), (frame(0), "type 0"),
                      (frame(AUTH, bytes(32)), "second AUTH"),
                      (frame(START) + frame(START), "second recording")]:
        c = caller(place, a).call()
        check(c.prove()[0] == HELLO, "the right one")
        c.send(data)
        check(why in c.error(), why)
        c.sock.close()
    still_serves(place, a)


def many_at_once(place):
    """More idle callers than there is room for; they are sent away in time."""
    a = place.agent("a", pages=10)
    idle = [socket.create_connection(("127.0.0.1", a.port)) for _ in range(30)]
    begin = time.monotonic()
    for s in idle:
        s.settimeout(20)
        try:
            check(s.recv(1) == b"", "it says something")
        except ConnectionResetError:
            pass
    check(time.monotonic() - begin < PATIENCE_S, "idle callers were not sent away")
    still_serves(place, a)


def those_who_hang_up_fill_no_log(place):
    """As often as they like: no more than 20 lines in 10 s."""
    a = place.agent("a", pages=10)
    for _ in range(100):
        socket.create_connection(("127.0.0.1", a.port)).close()
    still_serves(place, a)
    check(0 < a.said().count("sent ") <= 40, a.said())  # a slow machine takes longer


def a_busy_agent_keeps_sending_them_away(place):
    """While it records."""
    a = place.agent("a", pause_us=300)
    g = place.gather("run", a).begin(1, 1)
    for _ in range(20):
        with caller(place, a).sock as s:
            s.sendall(os.urandom(1000))
    what, payload = caller(place, a).call().prove()
    check(what == wire.ERROR and b"another recorder" in payload, payload)
    g.wait_for_pages("a")
    g.check_whole(g.end()["a"])


def versions(place):
    """A newer caller is answered with what the agent knows."""
    a = place.agent("a", pages=10)
    c = caller(place, a).call(version=9)
    check(c.version == 1, f"version {c.version}")
    check(c.prove()[0] == HELLO, "it may go on with version 1")


def a_silent_caller_in_a_recording(place):
    """Its data is not taken: the kernel's buffers fill, and the agent just waits."""
    a = place.agent("a")
    c = caller(place, a).call()
    check(c.prove()[0] == HELLO, "the right one")
    c.send(frame(START))
    wait_until(a.is_tracing, "it traces")
    time.sleep(0.5)
    size = int(open(f"/proc/{a.process.pid}/statm").read().split()[1]) * 4096
    check(size < 30 << 20, f"{size} bytes of memory")
    before = cpu_ticks(a)
    time.sleep(0.5)
    used = cpu_ticks(a) - before
    check(used <= 2, f"{used} ticks of CPU while it waits")
    c.sock.close()
    wait_until(lambda: not a.is_tracing(), "it traces no more")


def told_to_end_while_it_is_asked(place):
    """Signs of life that it does not read any more cost nothing of what it sent before."""
    a = place.agent("a")
    c = caller(place, a).call()
    check(c.prove()[0] == HELLO, "the right one")
    c.send(frame(START))
    wait_until(a.is_tracing, "it traces")
    a.signal(signal.SIGTERM)
    for _ in range(50):  # some of them when it waits for us to take what it has recorded
        c.send(frame(wire.PING, wire.number(1, 1)))
        time.sleep(0.02)
    kinds = []
    try:
        while True:
            kinds.append(wire.receive_frame(c.sock)[0])
    except EOFError:
        pass
    c.sock.close()
    check(kinds[-1] == wire.DONE, kinds[-10:])
    check(a.process.wait(PATIENCE_S) == 0, "exit status")


def no_descriptor_is_left(place):
    """Who calls then is taken later; the agent waits meanwhile, and does not try all the time."""
    held = [os.dup(0) for _ in range(9)]
    a = place.agent("a", held=held, pages=10)
    # All that poll() needs; with what it was given, one less than a full house and one more caller.
    soft, hard = resource.prlimit(a.process.pid, resource.RLIMIT_NOFILE)
    check(soft == hard, "the agent has not raised its limit")
    resource.prlimit(a.process.pid, resource.RLIMIT_NOFILE, (22, hard))
    idle = [socket.create_connection(("127.0.0.1", a.port)) for _ in range(12)]
    wait_until(lambda: "cannot take a call now" in a.said(), "it says so")
    before = cpu_ticks(a)
    time.sleep(1)
    check(cpu_ticks(a) - before <= 5, f"{cpu_ticks(a) - before} ticks of CPU while it waits")
    check(a.said().count("cannot take a call now") < 6, a.said())
    for s in idle:
        s.close()
    for fd in held:
        os.close(fd)
    resource.prlimit(a.process.pid, resource.RLIMIT_NOFILE, (hard, hard))
    still_serves(place, a)


if __name__ == "__main__":
    run_tests([garbage, wrong_proofs, orders_before_the_proof, frames_that_break_rules,
               many_at_once, those_who_hang_up_fill_no_log, a_busy_agent_keeps_sending_them_away, versions,
               a_silent_caller_in_a_recording, told_to_end_while_it_is_asked, no_descriptor_is_left])
