#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who has no business with `sonde serve` learns nothing, and nothing brings it down: wrong keys,
names rebound to this machine, other origins, paths, bodies, huge and broken requests, crowds."""

import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lib  # noqa: E402
from lib import check  # noqa: E402

CROWD = 1000


class Server:
    def __init__(self, run):
        self.process = subprocess.Popen([lib.SONDE, "serve", "-q", run], stdout=subprocess.PIPE,
                                        text=True)
        self.url = self.process.stdout.readline().strip()
        match = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})/", self.url)
        check(match, f"the URL is {self.url!r}")
        self.port, self.key = int(match[1]), match[2]

    def cpu_seconds(self):
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def threads(self):
        return len(list(Path(f"/proc/{self.process.pid}/task").iterdir()))

    def get(self, path, headers=None, method="GET", body=None):
        """Status, headers and body; @path is behind the key."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        link.request(method, f"/{self.key}/{path}", body, headers or {})
        answer = link.getresponse()
        data = answer.read()
        link.close()
        return answer.status, dict(answer.getheaders()), data

    def raw(self, data, wait=5):
        """What is answered to bytes as they are; b"" when the link is just closed."""
        got = b""
        with socket.create_connection(("127.0.0.1", self.port), timeout=wait) as link:
            try:
                link.sendall(data)
                link.shutdown(socket.SHUT_WR)
                while part := link.recv(65536):
                    got += part
            except OSError:
                pass
            return got

    def throw(self, data):
        """Sends, and is gone."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as link:
            try:
                link.sendall(data)
            except OSError:
                pass

    def status_of(self, data):
        got = self.raw(data)
        match = re.match(rb"HTTP/1\.[01] (\d+)", got)
        return int(match[1]) if match else 0

    def is_well(self, after):
        status, _, body = self.get("api/model")
        check(status == 200 and json.loads(body)["machines"], f"no answer after {after}")
        check(self.process.poll() is None, f"ended after {after}")


def test_key(s):
    for path in ("/", f"/{'0' * 32}/", f"/{s.key[:-1]}/", f"/{s.key}", f"/{s.key.upper()}/api/model",
                 f"//{s.key}/", f"/x{s.key}/", "*"):
        if path == f"/{s.key.upper()}/api/model" and s.key.upper() == s.key:
            continue
        status = s.status_of(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        check(status in (400, 404), f"{path}: {status}")


def test_who(s):
    refused = [
        {"Host": "evil.example"}, {"Host": f"evil.example:{s.port}"}, {"Host": "127.0.0.1.evil.example"},
        {"Host": "localhost.evil.example"}, {"Host": "localhost:80a"}, {"Host": "127.0.0.1:"},
        {"Host": "127.0.0.1:123456"}, {"Host": "[::1"}, {"Host": "0.0.0.0"}, {"Host": ""},
        {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": f"https://127.0.0.1:{s.port}"},
        {"Origin": "http://127.0.0.1:1"}, {"Origin": f"http://127.0.0.1:{s.port}.evil.example"},
        {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"},
    ]
    for headers in refused:
        status, _, body = s.get("api/model", headers)
        check(status in (400, 403) and b"machines" not in body, f"{headers}: {status}")
    for headers in ({"Host": f"localhost:{s.port}"}, {"Host": "127.0.0.1:8080"}, {"Host": "[::1]:9"},
                    {"Origin": f"http://127.0.0.1:{s.port}"}, {"Sec-Fetch-Site": "same-origin"},
                    {"Sec-Fetch-Site": "none"}):
        status, _, _ = s.get("api/model", headers)
        check(status == 200, f"{headers}: {status}")
    line = f"GET /{s.key}/api/model HTTP/1.1\r\n"
    two = line + "Host: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    check(s.status_of(two.encode()) in (400, 403), "two hosts")
    check(s.status_of((line + "Connection: close\r\n\r\n").encode()) in (400, 403), "no host")


def test_methods(s):
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"):
        status, _, _ = s.get("api/model", method=method)
        check(status == 405, f"{method}: {status}")
    check(s.get("api/model", method="POST", body=b"x" * 100000)[0] == 413, "a body")
    check(s.get("", method="HEAD")[0] == 200, "HEAD")


def test_paths(s):
    for path in ("../../etc/passwd", "%2e%2e/%2e%2e/etc/passwd", "..%2f..%2fetc%2fpasswd", "api/../model",
                 "api/", "api/nothing", "app.js/", "./app.js", "app.js%00.html", "index.html/..", "api/model/",
                 "//etc/passwd", "\\..\\x", "%", "%zz"):
        status, _, body = s.get(path)
        check(status == 404 and b"root:" not in body, f"{path}: {status}")


def test_headers(s):
    for path, kind in (("", "text/html"), ("api/model", "application/json")):
        status, headers, _ = s.get(path)
        check(status == 200 and headers["Content-Type"].startswith(kind), f"{path}: {headers}")
        check(headers["Cache-Control"] == "no-store", "caching")
        check("default-src 'none'" in headers["Content-Security-Policy"], "policy")
        check("unsafe" not in headers["Content-Security-Policy"], "policy allows what is unsafe")
        check(headers["X-Content-Type-Options"] == "nosniff", "sniffing")
        check(headers["Referrer-Policy"] == "no-referrer", "referrer")
        check("Access-Control-Allow-Origin" not in headers, "other origins are let in")


def test_questions(s):
    bad = ["rows", "rows?begin=0&end=0&px=1&attrs=1", "rows?begin=5&end=1&px=1&attrs=1",
           "rows?begin=0&end=1000&px=0&attrs=1", "rows?begin=0&end=1000&px=999999&attrs=1",
           "rows?begin=0&end=1000&px=10&attrs=4294967295", "rows?begin=0&end=1000&px=10&attrs=1,,2",
           "rows?begin=0&end=99999999999999999999&px=10&attrs=1", "rows?begin=a&end=1&px=1&attrs=1",
           "rows?begin=-9223372036854775808&end=9223372036854775807&px=10&attrs=1",
           f"rows?begin=0&end=1000&px=10&attrs={','.join(['1'] * 1025)}",
           "contexts?first=-1&nr=5", "contexts?first=0&nr=1000000", "threads?first=0",
           "at?kind=cpu&row=99999&t=0", "at?kind=x&row=0&t=0", "at?kind=vcpu&row=0&t=0", "at?kind=cpu&row=0&t=-1",
           "step?attr=999999&t=0", "step?attr=1", "time", "time?text=nonsense", "facts?begin=0&end=9&max=1",
           "facts?name=nonsense&begin=0&end=1000&max=5", "facts?name=machine_time&begin=-9&end=-5&max=5",
           "path?begin=0&end=1000&max=5", "path?thread=999999&begin=0&end=1000&max=5",
           "path?thread=-1&begin=0&end=1000&max=5", "exits?begin=0&end=1000&nr=0", "exits?nr=5",
           "changes?begin=0&end=1000", "changes?begin=0&end=1000&attrs=4294967294",
           "load?begin=0&end=1000&nr=601", "events?t=0&nr=1", "events?t=-1&nr=100"]
    for question in bad:
        status, _, body = s.get("api/" + question)
        check(400 <= status < 500, f"{question}: {status}")
        check(json.loads(body)["error"], f"{question} is not explained")


def test_sizes(s):
    line = f"GET /{s.key}/api/model HTTP/1.1\r\nHost: localhost\r\n".encode()
    check(s.status_of(line + b"X: " + b"a" * 200000 + b"\r\n\r\n") in (0, 400, 413, 431), "a huge header")
    check(s.status_of(line + b"X: y\r\n" * 20000 + b"\r\n") in (0, 400, 413, 431), "many headers")
    check(s.status_of(b"GET /" + b"a" * 500000 + b" HTTP/1.1\r\n\r\n") in (0, 400, 404, 414), "a huge path")
    check(s.get("api/rows?attrs=" + "1," * 9000)[0] in (400, 413, 414, 431), "a huge list")
    check(s.get("api/model?" + "&".join(f"p{i}=1" for i in range(200)))[0] == 413, "many parameters")
    s.is_well("huge requests")


def test_garbage(s):
    random.seed(6)
    good = f"GET /{s.key}/api/rows?begin=0&end=1000&px=10&attrs=1 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    for _ in range(300):
        data = bytearray(good)
        for _ in range(random.randint(1, 8)):
            data[random.randrange(len(data))] = random.randrange(256)
        s.throw(bytes(data[:random.randint(0, len(data))]))
    s.throw(os.urandom(100000))
    s.is_well("garbage")


def test_crowd(s):
    """Links that say nothing, or never finish, and nobody is kept out for long."""
    links = []
    for i in range(CROWD):
        link = socket.socket()
        link.setblocking(False)
        link.connect_ex(("127.0.0.1", s.port))
        links.append(link)
    time.sleep(0.5)
    for link in links[::2]:
        try:
            link.send(b"GET / HTTP/1.1\r\n")
        except OSError:
            pass
    before = s.cpu_seconds()
    time.sleep(3)
    used = s.cpu_seconds() - before
    check(used < 0.6, f"{used:.2f} s of CPU in 3 s while {CROWD} links are idle")
    check(s.threads() < 12, f"{s.threads()} threads")
    for link in links:
        link.close()
    s.is_well("a crowd")


def test_quiet(s):
    time.sleep(0.5)
    before = s.cpu_seconds()
    time.sleep(2)
    check(s.cpu_seconds() - before < 0.1, "uses the CPU while nobody asks")


def test_keeps_links(s):
    """Questions and files come over one link; who is refused has it closed."""
    link = http.client.HTTPConnection("127.0.0.1", s.port, timeout=30)
    link.connect()
    own = link.sock.getsockname()
    for path in ("", "api/model", "app.js", "api/facts?name=preemption&begin=0&end=1000&max=5", "api/nothing"):
        link.request("GET", f"/{s.key}/{path}")
        answer = link.getresponse()
        answer.read()
        check(link.sock and link.sock.getsockname() == own, f"the link was closed by {path!r}")
    link.request("POST", f"/{s.key}/api/model", b"x" * 100)
    answer = link.getresponse()
    answer.read()
    check(answer.status == 413 and answer.will_close, "a body does not end the link")
    link.close()


def test_vanish(s):
    """Links that are gone before their answer is there."""
    for _ in range(200):
        link = socket.create_connection(("127.0.0.1", s.port))
        link.sendall(f"GET /{s.key}/api/facts?name=preemption&begin=0&end=1000000000&max=5 HTTP/1.1\r\n"
                     "Host: localhost\r\n\r\n".encode())
        link.close()
    s.is_well("links that vanished")


def test_address(s):
    """On 127.0.0.1 only."""
    listening = Path("/proc/net/tcp").read_text() + Path("/proc/net/tcp6").read_text()
    own = re.findall(rf"^ *\d+: ([0-9A-F]+):{s.port:04X} 0+:0000 0A", listening, re.M)
    check(own == ["0100007F"], f"listens on {own}")


def end_while_asked(run):
    """Links that are open when the server is told to end go on asking."""
    for _ in range(5):
        s = Server(run)
        line = (f"GET /{s.key}/api/facts?name=preemption&begin=0&end=1000000000&max=5&slot=a HTTP/1.1\r\n"
                "Host: localhost\r\n").encode()
        links = [socket.create_connection(("127.0.0.1", s.port), timeout=5) for _ in range(90)]
        for link in links:
            link.sendall(line)
        s.is_well("half questions")
        for i, link in enumerate(links):
            if i == 20:
                s.process.terminate()
            try:
                link.sendall(b"\r\n")
            except OSError:
                pass
        status = s.process.wait(20)
        for link in links:
            link.close()
        check(status == 0, f"exit status {status} when asked while it ends")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        run = f"{scratch}/run.sonde"
        lib.run(lib.SONDE, "analyze", "-q", lib.ROOT / "samples/lttng", "-o", run)
        s = Server(run)
        try:
            for name, test in list(globals().items()):
                if name.startswith("test_"):
                    test(s)
                    s.is_well(name)
        finally:
            s.process.send_signal(signal.SIGTERM)
            status = s.process.wait(20)
        check(status == 0, f"exit status {status}")
        end_while_asked(run)
        again = Server(run)
        again.process.terminate()
        again.process.wait(20)
        check(again.key != s.key, "the key is the same again")


if __name__ == "__main__":
    main()
