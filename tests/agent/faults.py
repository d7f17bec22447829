#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What dies, hangs or is cut off costs its own tail, and nobody else anything."""

import signal
import socket
import threading
import time

from agents import CONT, KILL, PATIENCE_S, STOP, TIMEOUT_MS, check, free_port, run_tests, wait_until

STEADY = {"pause_us": 300}


def an_agent_is_killed(place):
    """Mid-run; the other one is whole."""
    a, b = place.agent("a", **STEADY), place.agent("b", **STEADY)
    g = place.gather("run", a, b).begin(2, 2)
    g.wait_for_pages("a", "b")
    a.kill()
    g.wait_for_pages("b")
    machines = g.end()
    check(g.check_partial(machines["a"], "the link to its agent was lost") >= 50, "pages lost")
    g.check_whole(machines["b"])


def an_agent_hangs(place):
    """It is given up when it does not end, and not before."""
    a, b = place.agent("a", **STEADY), place.agent("b", **STEADY)
    g = place.gather("run", a, b).begin(2, 2)
    g.wait_for_pages("a", "b")
    a.signal(STOP)
    g.wait_for_pages("b")
    begin = time.monotonic()
    machines = g.end()
    took = time.monotonic() - begin
    check(0.75 < took * 1000 / TIMEOUT_MS < 5, f"ended after {took:.1f} s")
    check(g.check_partial(machines["a"], "silent") >= 50, "pages lost")
    g.check_whole(machines["b"])
    # It finds its recorder gone, and is ready for the next.
    a.signal(CONT)
    wait_until(lambda: not a.is_tracing(), "it stops tracing")
    g = place.gather("again", a).begin(1, 1)
    g.wait_for_pages("a")
    g.check_whole(g.end()["a"])


def an_agent_hangs_at_the_start(place):
    """Before it answers: the others begin without it."""
    a, b = place.agent("a", pages=10), place.agent("b", pages=10)
    a.signal(STOP)
    g = place.gather("run", a, b).begin(1, 1)
    machines = g.end()
    check(not machines["a"]["recorded"] and "answer" in machines["a"]["why"], machines["a"])
    g.check_whole(machines["b"], pages=10)


def a_guest_is_paused(place):
    """For longer than any time limit, while it records: nothing is lost."""
    a, b = place.agent("a", **STEADY), place.agent("b", **STEADY)
    g = place.gather("run", a, b, timeout=1000).begin(2, 2)
    g.wait_for_pages("a", "b")
    a.signal(STOP)
    time.sleep(3)
    a.signal(CONT)
    g.wait_for_pages("a", "b")
    for machine in g.end().values():
        g.check_whole(machine)


class Wire(threading.Thread):
    """Passes bytes between a recorder and an agent until it is cut."""

    def __init__(self, agent):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.spec = f"{agent.name}=tcp:127.0.0.1:{self.port}"
        self.target = agent.port
        self.ends = []
        self.start()

    def run(self):
        near = self.listener.accept()[0]
        far = socket.create_connection(("127.0.0.1", self.target))
        self.ends = [near, far]
        threading.Thread(target=self.copy, args=(near, far), daemon=True).start()
        self.copy(far, near)

    @staticmethod
    def copy(source, target):
        try:
            while data := source.recv(65536):
                target.sendall(data)
        except OSError:
            pass

    def cut(self):
        for end in self.ends:
            end.shutdown(socket.SHUT_RDWR)


def a_link_is_lost(place):
    """Both ends notice: what came is kept, and the agent stops tracing."""
    a, b = place.agent("a", **STEADY), place.agent("b", **STEADY)
    wire = Wire(a)
    g = place.gather("run", wire, b).begin(2, 2)
    g.wait_for_pages("a", "b")
    wire.cut()
    wait_until(lambda: not a.is_tracing(), "the agent stops tracing")
    g.wait_for_pages("b")
    machines = g.end()
    check(g.check_partial(machines["a"], "the link to its agent was lost") >= 50, "pages lost")
    g.check_whole(machines["b"])


def two_recorders_at_once(place):
    """The second is refused with words, and does not disturb the first."""
    a = place.agent("a", **STEADY)
    first = place.gather("first", a).begin(1, 1)
    second = place.gather("second", a).begin(0, 0)
    machines = second.end()
    check("another recorder" in machines["a"]["why"], machines["a"])
    check(not machines["a"]["recorded"], "recorded twice")
    first.wait_for_pages("a")
    first.check_whole(first.end()["a"])
    third = place.gather("third", a).begin(1, 1)
    third.wait_for_pages("a")
    third.check_whole(third.end()["a"])


def a_recorder_is_killed(place):
    """Its agents stop tracing by themselves, and are ready for the next."""
    agents = [place.agent("a", **STEADY), place.agent("b", **STEADY)]
    g = place.gather("run", *agents).begin(2, 2)
    g.wait_for_pages("a", "b")
    g.process.send_signal(KILL)
    for agent in agents:
        wait_until(lambda: not agent.is_tracing(), f"{agent.name} stops tracing")
    g = place.gather("again", *agents).begin(2, 2)
    g.wait_for_pages("a", "b")
    for machine in g.end().values():
        g.check_whole(machine)


def an_agent_is_told_to_end(place):
    """SIGTERM during a recording (its machine shuts down): everything until then is there."""
    a = place.agent("a", **STEADY)
    g = place.gather("run", a).begin(1, 1)
    g.wait_for_pages("a")
    a.signal(signal.SIGTERM)
    check(a.process.wait(PATIENCE_S) == 0, "exit status")
    check(not a.is_tracing(), "still tracing")
    nr = g.check_partial(g.end()["a"], "its agent was asked to end")
    tail = (g.out / "a/tail0").read_text()
    check(tail == f"tail pages={nr}\n", f"{tail} for {nr} pages")


def one_recording_and_no_more(place):
    """--once"""
    port = free_port()
    a = place.agent("a", "--tcp", port, "--token-file", place.token, "--once", port=port, pages=10)
    g = place.gather("run", a).begin(1, 1)
    g.check_whole(g.end()["a"], pages=10)
    check(a.process.wait(PATIENCE_S) == 0, "exit status")


if __name__ == "__main__":
    run_tests([an_agent_is_killed, an_agent_hangs, an_agent_hangs_at_the_start, a_guest_is_paused,
               a_link_is_lost, two_recorders_at_once, a_recorder_is_killed,
               an_agent_is_told_to_end, one_recording_and_no_more])
