#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A virtio-serial port: one line that is never hung up, with a unix socket on the host's side."""

import os
import pty
import select
import signal
import socket
import threading
import time
import tty

from agents import KILL, check, free_port, run_tests, wait_until


class Port(threading.Thread):
    """What QEMU is between a chardev's socket and a guest's port: one client at a time; what a
    client left unread stays in the line.  (A terminal stands for the guest's device.)"""

    def __init__(self, place):
        super().__init__(daemon=True)
        self.line, guest = pty.openpty()
        tty.setraw(guest)
        tty.setraw(self.line)
        self.device = os.ttyname(guest)
        self.held = guest  # somebody has it open all the time: no hang-up when the agent closes
        self.socket = place.path / "port.sock"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.socket))
        self.listener.listen(1)
        self.spec = f"a=unix:{self.socket}"
        self.start()

    def run(self):
        while True:
            client = self.listener.accept()[0]
            self.serve(client)
            client.close()

    def serve(self, client):
        while True:
            ready, _, _ = select.select([client, self.line], [], [])
            try:
                if client in ready:
                    data = client.recv(1024)
                    if not data:
                        return
                    os.write(self.line, data)
                if self.line in ready:
                    client.sendall(os.read(self.line, 65536))
            except OSError:
                return


def agent_on(place, port, **settings):
    return place.agent("a", "--virtio", port.device, **settings)


def a_recording(place):
    """Twice by the same port, without a token: who is at its other end is the hypervisor."""
    port = Port(place)
    a = agent_on(place, port, pages=300)
    for turn in range(2):
        g = place.gather(f"run{turn}", port, timeout=8000).begin(1, 1)
        g.check_whole(g.end()["a"], pages=300)
        check(not a.is_tracing(), "still tracing")


def the_first_caller_dies(place):
    """The next one calls over what the first left in the line, in both directions."""
    port = Port(place)
    a = agent_on(place, port, pause_us=300)
    g = place.gather("run", port, timeout=8000).begin(1, 1)
    g.wait_for_pages("a")
    g.process.send_signal(KILL)
    g = place.gather("again", port, timeout=8000).begin(1, 1)
    g.wait_for_pages("a")
    g.check_whole(g.end()["a"])
    wait_until(lambda: not a.is_tracing(), "it stops tracing")


def call_silently(tcp):
    """Does not wait: a stopped agent's backlog may be full."""
    caller = socket.socket()
    caller.setblocking(False)
    caller.connect_ex(("127.0.0.1", tcp))
    return caller


def silent_callers_elsewhere(place):
    """However many there are on TCP, the port keeps its place, also when it is opened anew."""
    port = Port(place)
    tcp = free_port()
    a = place.agent("a", "--virtio", port.device, "--tcp", tcp, "--token-file", place.token, pages=10)
    place.gather("run0", port, timeout=8000).begin(1, 1).end()
    idle = [call_silently(tcp) for _ in range(12)]
    a.signal(signal.SIGSTOP)  # the port ends, and others call: both at once
    idle += [call_silently(tcp) for _ in range(4)]
    g = place.gather("run1", port, timeout=4000)
    time.sleep(0.5)
    a.signal(signal.SIGCONT)
    g.begin(1, 1)
    g.check_whole(g.end()["a"], pages=10)
    for s in idle:
        s.close()


def nobody_answers(place):
    """The guest has the device, and no agent."""
    port = Port(place)
    g = place.gather("run", port, timeout=1000).begin(0, 0)
    machines = g.end()
    check("answer" in machines["a"]["why"], machines["a"])


if __name__ == "__main__":
    run_tests([a_recording, the_first_caller_dies, silent_callers_elsewhere, nobody_answers])
