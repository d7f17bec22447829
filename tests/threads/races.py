#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time-limit: 900
"""Everything that runs in several threads, under the thread sanitizer: reading, clocks, merging,
writing, stopping, serving, recording, agents.  It reports a race that happened, however it ended."""

import concurrent.futures
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "agent")]
PLAIN = os.environ.get("SONDE_BUILD", "build")
os.environ["SONDE_BUILD"] = "build-tsan"
import lib  # noqa: E402
from lib import check  # noqa: E402
import agents  # noqa: E402

spec = importlib.util.spec_from_file_location("web_hostile", TESTS / "web/hostile.py")
web = importlib.util.module_from_spec(spec)
spec.loader.exec_module(web)

BYTES = 4_000_000
MACHINES = [lib.ROOT / "samples/lttng" / m for m in ("host0", "vm-a", "vm-a-n", "vm-b")]
QUESTIONS = ["api/model", "api/rows?begin=0&end=1000000000&px=800&attrs=1,2,3,4,5,6,7,8",
             "api/table?name=preemption&begin=0&end=1000000000&max=50", "api/load?begin=0&end=1000000000&nr=200",
             "api/at?kind=cpu&row=0&t=500000000", "api/events?t=500000000&nr=50",
             "api/table?name=wait&begin=0&end=1000000000&max=50&slot=a",
             "api/table?name=wakeup&begin=0&end=1000000000&max=50&slot=a"]


def analysis(scratch):
    """A run of all machines, in threads; then stopped in the middle."""
    traces, output = scratch / "big", scratch / "run.sonde"
    lib.run(lib.ROOT / "tools/replicate-trace", traces, BYTES, *MACHINES)
    lib.run(lib.SONDE, "analyze", "-q", "-j4", traces, "-o", output)
    lib.run(lib.SONDE, "check", output)
    for delay in 0.3, 1, 2:
        process = subprocess.Popen([lib.SONDE, "analyze", "-q", "-j4", traces, "-o", scratch / "cut.sonde"],
                                   stderr=subprocess.DEVNULL)
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        process.wait(120)
    return output


def events(_):
    """The merged stream is that of the plain program."""
    ours, plain = (subprocess.run([program, "events", lib.ROOT / "samples/lttng"], check=True,
                                  stdout=subprocess.PIPE).stdout
                   for program in (lib.SONDE, lib.ROOT / PLAIN / "sonde"))
    check(ours == plain, "other events than those of the plain program")


def serving(run):
    """Many ask at once, and it is ended while they do."""
    server = web.Server(run)

    def ask(n):
        try:
            return server.get(QUESTIONS[n % len(QUESTIONS)])[0]
        except OSError as error:
            return str(error)  # it has ended

    try:
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = set(pool.map(ask, range(6 * len(QUESTIONS))))
            check(answers <= {200, 409, 503}, answers)
            rest = pool.map(ask, range(40 * len(QUESTIONS)))
            time.sleep(0.2)
            server.process.send_signal(signal.SIGINT)
            list(rest)
        server.process.wait(120)
    finally:
        server.process.kill()


def recording(scratch):
    """This machine, where that can be."""
    if os.geteuid() or not Path("/sys/kernel/tracing/instances").exists():
        return
    lib.run(lib.SONDE, "record", "-q", "-o", scratch / "recorded", "--", "sleep", "1.5")
    lib.run(lib.SONDE, "record", "-q", "--for", "all", "--buffer-size", "64", "-o", scratch / "full",
            "--", "ls", "-R", "/proc/self")


def guests(_):
    """Two agents, and one in one of them; the parent of that one dies."""
    with agents.Place() as place:
        inner = place.agent("inner", pause_us=3000)
        a = place.agent("a", "--guest", inner.spec, pause_us=3000)
        b = place.agent("b", pause_us=3000)
        g = place.gather("run", a, b, depth=2).begin(2)
        g.note("vm")
        g.wait_for_pages("a", "b", "a.inner", pages=20)
        a.kill()
        g.wait_for_pages("b", pages=20)
        g.end()
        for agent in inner, b:
            agent.signal(signal.SIGTERM)
            agent.process.wait(60)


def main():
    lib.need(str(lib.SONDE), str(agents.AGENT), str(agents.GATHER), str(lib.ROOT / PLAIN / "sonde"))
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        reports = scratch / "reports"
        reports.mkdir()
        os.environ["TSAN_OPTIONS"] = f"log_path={reports}/race exitcode=0"
        run = None
        for part, what in (analysis, scratch), (events, None), (serving, None), (recording, scratch), \
                (guests, None):
            begin = time.monotonic()
            result = part(run if part is serving else what)
            run = run or result
            found = sorted(reports.iterdir())
            for report in found[:3]:
                print(report.read_text(errors="replace")[:5000])
            check(not found, f"{part.__name__}: {len(found)} processes had races")
            print(f"{part.__name__}: {time.monotonic() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    main()
