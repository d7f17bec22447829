# SPDX-License-Identifier: Apache-2.0
"""The protocol of docs/formats/agent.md, written a second time: to speak it right, and wrong."""

import hashlib
import hmac
import os
import socket
import struct
import threading

MAGIC = 0x5E0D
AUTH, START, STOP, NOTE, PING = range(1, 6)
HELLO, MACHINE, STARTED, PART, FILE, DONE, PONG, ERROR, NOTICE = range(16, 25)
HEAD, CPU, TAIL, FILES, BLOCKS, CALLS = range(6)
NEEDS_TOKEN = 1


def frame(kind_of_frame, payload=b"", kind=0, machine=0, number=0, length=None):
    return struct.pack("<HBBHHII", MAGIC, kind_of_frame, kind, machine, 0, number,
                       len(payload) if length is None else length) + payload


def number(tag, value):
    return struct.pack("<HHQ", tag, 8, value)


def text(tag, value):
    value = value.encode() if isinstance(value, str) else value
    return struct.pack("<HH", tag, len(value)) + value


def fields(payload):
    found = {}
    while payload:
        tag, length = struct.unpack_from("<HH", payload)
        found[tag] = payload[4:4 + length]
        payload = payload[4 + length:]
    return found


def proof(token, role, flags, caller_nonce, agent_nonce, version=1):
    said = role.ljust(16, b"\0") + struct.pack("<HH", version, flags) + caller_nonce + agent_nonce
    return hmac.new(token, said, hashlib.sha256).digest()


def receive(sock, length):
    data = b""
    while len(data) < length:
        piece = sock.recv(length - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


def receive_frame(sock):
    magic, what, _, machine, _, _, length = struct.unpack("<HBBHHII", receive(sock, 16))
    assert magic == MAGIC
    return what, machine, receive(sock, length)


class Agent(threading.Thread):
    """An agent that behaves until it is asked to start; behave(self) is what it does then.  With
    greet=False behave() has the bare link."""

    def __init__(self, name, token, behave, greet=True, cpus=4):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.name, self.token, self.behave, self.greet = name, token, behave, greet
        self.spec = f"{name}=tcp:127.0.0.1:{self.listener.getsockname()[1]}"
        self.cpus = cpus
        self.cut = threading.Event()  # the recorder ended the link
        self.start()

    def run(self):
        self.sock = self.listener.accept()[0]
        try:
            if self.greet:
                self.hello()
                while receive_frame(self.sock)[0] != START:
                    pass
            self.behave(self)
            while self.sock.recv(65536):
                pass
        except (OSError, EOFError):
            pass
        self.cut.set()
        self.sock.close()

    def hello(self):
        call = receive(self.sock, 32)
        caller, own = call[16:32], os.urandom(16)
        self.send(b"SONDEans" + struct.pack("<HHI", 1, NEEDS_TOKEN, 0) + caller + own)
        what, _, theirs = receive_frame(self.sock)
        assert what == AUTH and theirs == proof(self.token, b"sonde caller", NEEDS_TOKEN, caller,
                                                own)
        self.send(frame(HELLO, proof(self.token, b"sonde agent", NEEDS_TOKEN, caller, own)
                        + self.identity()))

    def identity(self, **more):
        return text(1, "hostile") + number(6, self.cpus) + b"".join(
            text({"name": 7, "no_agent": 10}[key], value) for key, value in more.items())

    def send(self, data):
        self.sock.sendall(data)

    def started(self):
        self.send(frame(STARTED))

    def part(self, data, kind=CPU, machine=0, number=0):
        for at in range(0, len(data), 1 << 20):
            self.send(frame(PART, data[at:at + (1 << 20)], kind, machine, number))

    def done(self, machine=0):
        self.send(frame(DONE, number(7, 1), machine=machine))

    def wait_for_stop(self):
        while receive_frame(self.sock)[0] != STOP:
            pass


class Caller:
    """A recorder's end of a link."""

    def __init__(self, port, token):
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.token = token

    def send(self, data):
        self.sock.sendall(data)

    def call(self, version=1):
        self.nonce = os.urandom(16)
        self.send(b"SONDEcal" + struct.pack("<HHI", version, 0, 0) + self.nonce)
        answer = receive(self.sock, 48)
        assert answer[:8] == b"SONDEans" and answer[16:32] == self.nonce
        self.version, self.flags = struct.unpack_from("<HH", answer, 8)
        self.agent_nonce = answer[32:]
        return self

    def prove(self, role=b"sonde caller"):
        self.send(frame(AUTH, proof(self.token, role, self.flags, self.nonce, self.agent_nonce,
                                    self.version)))
        what, _, payload = receive_frame(self.sock)
        assert what in (HELLO, ERROR)
        if what == HELLO:
            assert payload[:32] == proof(self.token, b"sonde agent", self.flags, self.nonce,
                                         self.agent_nonce, self.version)
        return what, payload

    def error(self):
        """The sentence with which the agent ends the link; "" when it says nothing."""
        try:
            while True:
                what, _, payload = receive_frame(self.sock)
                if what == ERROR:
                    return fields(payload)[1].decode()
        except (EOFError, ConnectionError):
            return ""
