#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who has no business with `sonde serve` learns nothing, and nothing brings it down: wrong keys,
names rebound to this machine, other origins, paths, bodies, huge and broken requests, crowds.  The same
of the Trace Server Protocol, with and without the key."""

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
    def __init__(self, run, *options):
        self.process = subprocess.Popen([lib.SONDE, "serve", "-q", *options, run],
                                        stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        match = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})/", self.url)
        check(match, f"the URL is {self.url!r}")
        self.port, self.key = int(match[1]), match[2]

    def cpu_seconds(self):
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def threads(self):
        return len(list(Path(f"/proc/{self.process.pid}/task").iterdir()))

    def get(self, path, headers=None, method="GET", body=None, key=True):
        """Status, headers and body; @path is behind the key."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        link.request(method, f"/{self.key}/{path}" if key else f"/{path}", body, headers or {})
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
                 "api/", "api/nothing", "app.js", "app.js/", "./app.js", "app.js%00.html", "index.html/..", "api/model/",
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
           "step?attr=999999&t=0", "step?attr=1", "time", "time?text=nonsense", "table?begin=0&end=9&max=1",
           "table?name=nonsense&begin=0&end=1000&max=5", "table?name=machine_time&begin=-9&end=-5&max=5",
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


def test_drip(s):
    """Links that go on saying a little, without the key, keep nobody out for ever."""
    links = []
    for _ in range(100):  # as many as there may be
        link = socket.create_connection(("127.0.0.1", s.port))
        link.sendall(b"GET /")
        links.append(link)
    begin = time.monotonic()
    with socket.create_connection(("127.0.0.1", s.port), timeout=1) as honest:
        honest.sendall(f"GET /{s.key}/api/model HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        answered = False
        while not answered and time.monotonic() - begin < 40:
            for link in links:
                try:
                    link.send(b"a")
                except OSError:
                    pass
            try:
                answered = honest.recv(12) == b"HTTP/1.1 200"
            except TimeoutError:
                pass
    check(answered, "links that drip keep others out")
    for link in links:
        link.close()
    s.is_well("links that drip")


def test_idle_queue(s):
    """Far more idle links than there may be, opened before a visitor comes, do not keep it waiting."""
    links = [socket.create_connection(("127.0.0.1", s.port), timeout=5) for _ in range(CROWD)]
    begin = time.monotonic()
    s.is_well("a queue of idle links")
    took = time.monotonic() - begin
    check(took < 3, f"{took:.1f} s behind {CROWD} idle links")
    for link in links:
        link.close()


def test_deaf(s):
    """Who asks for much and does not read it has no effect on others, and none on the end."""
    links = []
    length = json.loads(s.get("api/model")[2])["length"]
    attrs = ",".join(map(str, range(1, 300)))
    for question in (f"api/rows?begin=0&end={length}&px=8192&attrs={attrs}", "", "api/threads?first=0&nr=16384") * 10:
        link = socket.socket()
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        link.connect(("127.0.0.1", s.port))
        link.sendall(f"GET /{s.key}/{question} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() * 3)
        links.append(link)
    s.is_well("links that do not read")
    for link in links:
        link.close()
    s.is_well("links that did not read")


def test_text(s):
    """Bytes that are no UTF-8, and words of HTTP in parameters."""
    for text in (b"%ff%fe", b"%c0%af", b"%ed%a0%80", b"%f4%90%80%80", b"%00", b"%0d%0aX-Evil:%20yes", b"\xff\xfe", b"%", b"%zz", b"%25%73"):
        for question in (b"api/time?text=", b"api/table?begin=0&end=1000&max=5&name=", b"api/events?t=1000&nr=10&named=", b"api/rows?slot="):
            answer = s.raw(b"GET /" + s.key.encode() + b"/" + question + text + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            head, _, body = answer.partition(b"\r\n\r\n")
            check(b"X-Evil" not in head, f"{text}: a header of its own")
            check(body.decode() is not None, "it is UTF-8")
    s.is_well("text that is none")


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
    for path in ("", "api/model", "app.js", "api/table?name=preemption&begin=0&end=1000&max=5", "api/nothing"):
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
        link.sendall(f"GET /{s.key}/api/table?name=preemption&begin=0&end=1000000000&max=5 HTTP/1.1\r\n"
                     "Host: localhost\r\n\r\n".encode())
        link.close()
    s.is_well("links that vanished")


def test_address(s):
    """On 127.0.0.1 only."""
    listening = Path("/proc/net/tcp").read_text() + Path("/proc/net/tcp6").read_text()
    own = re.findall(rf"^ *\d+: ([0-9A-F]+):{s.port:04X} 0+:0000 0A", listening, re.M)
    check(own == ["0100007F"], f"listens on {own}")


ALLOWED = "http://localhost:3000"
TSP_OPTIONS = ("--tsp", "--tsp-origin", ALLOWED, "--tsp-origin", "vscode-webview://")


def post(s, path, body, headers=None, key=True):
    if not isinstance(body, (bytes, str)):
        body = json.dumps(body)
    return s.get("tsp/api/" + path, {"Content-Type": "application/json", **(headers or {})}, "POST", body, key)


def experiment(s):
    return "experiments/" + json.loads(s.get("tsp/api/experiments")[2])[0]["UUID"]


def tsp_is_closed(s):
    """Without --tsp and --tsp-origin: with the key, and for no page but its own."""
    check(s.get("tsp/api/health")[0] == 200, "behind the key")
    for path in ("tsp/api/health", "tsp/api/experiments", "tsp/api/"):
        status, _, body = s.get(path, key=False)
        check(status == 404 and b"UP" not in body, f"{path} without the key: {status}")
    for origin in (ALLOWED, "null", "vscode-webview://a", f"https://127.0.0.1:{s.port}"):
        for method in ("GET", "OPTIONS", "DELETE"):
            status, headers, _ = s.get("tsp/api/experiments", {"Origin": origin}, method)
            check(status == 403, f"{origin} {method}: {status}")
            check("Access-Control-Allow-Origin" not in headers, f"{origin} is let in")


def tsp_who(s):
    for key in (True, False):
        for headers in ({"Origin": ALLOWED}, {"Origin": "vscode-webview://0a1b2c"}, {},
                        {"Origin": ALLOWED, "Sec-Fetch-Site": "cross-site"},
                        {"Origin": f"http://127.0.0.1:{s.port}"}):
            status, got, _ = s.get("tsp/api/health", headers, key=key)
            check(status == 200, f"{headers}: {status}")
            check(got["Content-Type"] == "application/json", got["Content-Type"])
            listed = headers.get("Origin") if "localhost" in headers.get("Origin", "") or \
                "vscode" in headers.get("Origin", "") else None
            check(got.get("Access-Control-Allow-Origin") == listed, f"{headers}: {got}")
        for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": ALLOWED + "0"},
                        {"Origin": ALLOWED + ".evil.example"}, {"Origin": "https://localhost:3000"},
                        {"Origin": "vscode-webview:"}, {"Origin": "http://x/vscode-webview://"},
                        {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"},
                        {"Origin": ALLOWED, "Host": "evil.example"}, {"Host": "evil.example"}):
            for method in ("GET", "POST", "DELETE", "OPTIONS"):
                status, got, body = s.get("tsp/api/experiments", headers, method, key=key)
                check(status == 403 and b"UUID" not in body, f"{headers} {method}: {status}")
                check("Access-Control-Allow-Origin" not in got, f"{headers} is let in")


def tsp_preflight(s):
    status, headers, body = s.get("tsp/api/experiments", {
        "Origin": ALLOWED, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type",
        "Access-Control-Request-Private-Network": "true"}, "OPTIONS", key=False)
    check(status == 204 and not body, f"preflight: {status}")
    check(headers["Access-Control-Allow-Origin"] == ALLOWED, "origin")
    check("POST" in headers["Access-Control-Allow-Methods"], "methods")
    check("Content-Type" in headers["Access-Control-Allow-Headers"], "headers")
    check(headers["Access-Control-Allow-Private-Network"] == "true", "private network")


def tsp_page_is_kept(s):
    """The origins are let in to the protocol, not to the page; nor is the page without the key."""
    check(s.get("api/model", {"Origin": ALLOWED})[0] == 403, "the page's answers")
    check(s.get("", {"Origin": ALLOWED})[0] == 403, "the page")
    for path in ("", "api/model", "app.js", "tsp/api/../../api/model", "tsp/api"):
        check(s.get(path, key=False)[0] == 404, f"{path} without the key")


def tsp_bodies(s):
    states = experiment(s) + "/outputs/timeGraph/fused/states"
    whole = {"requested_timerange": {"start": 0, "end": 1, "nbTimes": 5}, "requested_items": [1]}
    check(post(s, states, {"parameters": whole})[0] == 200, "a good one")
    bad = [b"", b"{", b"[]", b"7", b'"x"', b"null", b"{}", b'{"parameters": 5}', b'{"parameters": []}',
           b'{"parameters": {}} x', b'{"parameters": {}, "parameters": {}}', b"\xff\xfe", b'{"parameters": {"x": "\\u0000"}}',
           b"[" * 100000, b'{"parameters":' * 10000, b'{"parameters": {"requested_items": ' + b"[" * 3000]
    ranges = [5, [], {}, {"start": 0}, {"start": 5, "end": 5}, {"start": 5, "end": 1}, {"start": 0.5, "end": 2},
              {"start": "0", "end": "1"}, {"start": 0, "end": 10**19}, {"start": 0, "end": 1, "nbTimes": 0},
              {"start": 0, "end": 1, "nbTimes": 65537}, {"start": 0, "end": 1, "nbTimes": -1},
              {"start": None, "end": 1}, {"start": 0, "end": 1, "nbTimes": 1e3}]
    bad += [json.dumps({"parameters": {**whole, "requested_timerange": r}}).encode() for r in ranges]
    bad += [json.dumps({"parameters": {**whole, "requested_items": i}}).encode()
            for i in (5, {}, "1", ["1"], [1.5], [None], [[1]], [10**30], [0] * 16385)]
    for body in bad:
        status, headers, answer = post(s, states, body)
        check(status == 400, f"{body[:60]}: {status}")
        check(json.loads(answer)["title"], f"{body[:60]} is not explained")
    strange = [{**whole, "requested_items": [-1, 2**31, 2**62, 99999]},
               {**whole, "requested_timerange": {"start": -2**63, "end": 2**63 - 1, "nbTimes": 65536}},
               {**whole, "requested_timerange": {"start": 2**63 - 2, "end": 2**63 - 1}},
               {**whole, "requested_timerange": {"start": -2**63, "end": -2**63 + 1}}]
    for outputs in ("timeGraph/fused/states", "timeGraph/vcpus/states", "timeGraph/threads/states",
                    "timeGraph/vcpus/arrows", "timeGraph/threads/tree", "XY/cpu-use/xy", "XY/exit-rate/xy",
                    "fused/annotations", "data/statistics.machine_time/tree"):
        for parameters in strange:
            status, _, answer = post(s, f"{experiment(s)}/outputs/{outputs}", {"parameters": parameters})
            check(status == 200 and json.loads(answer)["status"], f"{outputs} {parameters}: {status}")
    for where in ("table/events/lines", "table/table.why/lines"):
        for parameters in ({"requested_table_index": 2**63 - 1, "requested_table_count": 2**31 - 1},
                           {"requested_times": [-2**63], "requested_table_count": 1},
                           {"requested_times": [2**63 - 1], "requested_table_count": 1}):
            status, _, answer = post(s, f"{experiment(s)}/outputs/{where}", {"parameters": parameters})
            check(status == 200 and json.loads(answer)["model"]["size"] >= 0, f"{where} {parameters}: {status}")
        for parameters in ({}, {"requested_table_count": -1}, {"requested_table_count": 1, "requested_table_index": -1},
                           {"requested_table_count": 1, "table_search_expressions": {"77": "x"}}):
            check(post(s, f"{experiment(s)}/outputs/{where}", {"parameters": parameters})[0] == 400, str(parameters))


def tsp_patterns(s):
    """Regular expressions: those that are too much, or none, are told from those that cost a lot elsewhere."""
    lines = experiment(s) + "/outputs/table/events/lines"
    search = {"requested_table_index": 0, "requested_table_count": 1, "table_search_direction": "NEXT"}
    for pattern in ("(" * 5000, "(" * 33 + "a" + ")" * 33, "a{1000}", "((a{50}){50}){50}", "a" * 60000, "[a]" * 5000,
                    "|" * 20000, "(", ")", "[", "*", "a**", "\\", "(?=a)", "(a)\\1"):
        status, _, answer = post(s, lines, {"parameters": {**search, "table_search_expressions": {"1": pattern}}})
        check(status == 400, f"{pattern[:30]}: {status}")
        check(json.loads(answer)["title"].startswith("regular expression: "), f"{pattern[:30]}: {answer[:200]}")
    for pattern in ("(a*)*b", "(a|aa)+$", "(.*)(.*)(.*)(.*)x{9}", "((((a?){9})*)*)*b"):
        before = s.cpu_seconds()
        status, _, answer = post(s, lines, {"parameters": {**search, "table_search_expressions": {"1": pattern}}})
        check(status == 200 and json.loads(answer)["model"]["size"] >= 0, f"{pattern}: {status}")
        check(s.cpu_seconds() - before < 5, f"{pattern}: {s.cpu_seconds() - before:.1f} s of CPU")


def tsp_sizes(s):
    path = f"/{s.key}/tsp/api/traces"
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    for length in ("262145", "99999999999999999999", "18446744073709551616", "-1", "1e9"):
        status = s.status_of((head + f"Content-Length: {length}\r\n\r\n").encode() + b"x" * 1000)
        check(status in (0, 400, 413), f"length {length}: {status}")
    chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
    got = s.raw((head + "Transfer-Encoding: chunked\r\n\r\n").encode() + chunk * 100 + b"0\r\n\r\n")
    check(b" 200 " not in got[:20], "a body without an end is taken")
    check(post(s, "traces", b" " * 262144)[0] == 400, "the largest that is read")
    s.is_well("large bodies")


def tsp_paths(s):
    for path in ("/etc/passwd", "../../etc/passwd", "file:///etc/passwd", "", "x" * 5000, "http://evil.example/",
                 "/proc/self/mem", "/dev/zero"):
        status, _, answer = post(s, "traces", {"parameters": {"uri": path, "name": path}})
        check(status == 404 and b"root:" not in answer, f"{path[:40]}: {status}")
    for path in ("traces/" + "a" * 100, "experiments/..", "experiments/%2e%2e/outputs", "experiments//outputs",
                 experiment(s) + "/outputs/timeGraph/" + "b" * 64 + "/tree", experiment(s) + "/outputs/table./style"):
        status, headers, _ = s.get("tsp/api/" + path)
        check(status in (404, 405) and headers["Content-Type"] == "application/json", f"{path[:60]}: {status}")
    for method in ("PUT", "PATCH", "TRACE", "HEAD"):
        check(s.get("tsp/api/experiments", method=method)[0] == 405, method)


def tsp_session(s):
    """Viewers make experiments, but not without end; what they unmake is not the files."""
    trace = json.loads(s.get("tsp/api/traces")[2])[0]
    first = experiment(s)
    made = []
    for i in range(100):
        status, _, answer = post(s, "experiments", {"parameters": {"name": f"x{i}", "traces": [trace["UUID"]]}})
        if status != 200:
            break
        made.append(json.loads(answer)["UUID"])
    check(len(made) == 63 and status == 500, f"{len(made)} experiments, then {status}")
    for uuid in made:
        check(s.get("tsp/api/experiments/" + uuid, method="DELETE")[0] == 200, "removed")
    for name in ("", "n" * 200, 5, None):
        body = {"parameters": {"name": name, "traces": [trace["UUID"]]}}
        check(post(s, "experiments", body)[0] == 400, f"name {name!r}")
    for traces in ([], [trace["UUID"]] * 2, ["x"], [5], "x", [trace["UUID"]] * 20):
        check(post(s, "experiments", {"parameters": {"name": "y", "traces": traces}})[0] in (400, 404), str(traces)[:40])
    check(s.get("tsp/api/traces/" + trace["UUID"], method="DELETE")[0] == 409, "it is used")
    check(s.get("tsp/api/" + first, method="DELETE")[0] == 200, "removed")
    check(s.get("tsp/api/traces/" + trace["UUID"], method="DELETE")[0] == 200, "closed")
    check(Path(trace["path"]).exists(), "the file is gone")
    check(json.loads(s.get("tsp/api/traces")[2]) == [], "still open")
    check(post(s, "traces", {"parameters": {"uri": trace["path"]}})[0] == 200, "open again")
    body = {"parameters": {"name": "again", "traces": [trace["UUID"]]}}
    check(post(s, "experiments", body)[0] == 200, "made again")


def tsp_garbage(s):
    random.seed(7)
    body = json.dumps({"parameters": {"requested_timerange": {"start": 0, "end": 10**10, "nbTimes": 100},
                                      "requested_items": [0, 4, 5, 6]}}).encode()
    path = f"/{s.key}/tsp/api/{experiment(s)}/outputs/timeGraph/fused/states"
    good = (f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n").encode() + body
    check(post(s, path.split("api/", 1)[1], body)[0] == 200, "what is to become garbage")
    for _ in range(300):
        data = bytearray(good)
        for _ in range(random.randint(1, 8)):
            data[random.randrange(len(data))] = random.randrange(256)
        s.throw(bytes(data[:random.randint(0, len(data))]))
    s.is_well("garbage")


def end_while_asked(run):
    """Links that are open when the server is told to end go on asking."""
    for _ in range(5):
        s = Server(run)
        line = (f"GET /{s.key}/api/table?name=preemption&begin=0&end=1000000000&max=5&slot=a HTTP/1.1\r\n"
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


def viewers(run):
    s = Server(run)
    try:
        tsp_is_closed(s)
    finally:
        s.process.terminate()
        status = s.process.wait(20)
    check(status == 0, f"exit status {status}")
    for origin in ("http://", "https://", "file://", "x", "http://a/b", "http://a,http://b", "*", "http://*", "",
                   "http://a b"):
        got = subprocess.run([lib.SONDE, "serve", "-q", "--tsp-origin", origin, run], stdin=subprocess.DEVNULL,
                             capture_output=True, timeout=20, check=False)
        check(got.returncode == 2, f"--tsp-origin {origin}: {got.returncode}")
    s = Server(run, *TSP_OPTIONS)
    try:
        for name, test in list(globals().items()):
            if name.startswith("tsp_") and test is not tsp_is_closed:
                test(s)
                s.is_well(name)
    finally:
        s.process.terminate()
        status = s.process.wait(20)
    check(status == 0, f"exit status {status}")


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
        viewers(run)
        end_while_asked(run)
        again = Server(run)
        again.process.terminate()
        again.process.wait(20)
        check(again.key != s.key, "the key is the same again")


if __name__ == "__main__":
    main()
