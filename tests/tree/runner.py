#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The test runner counts what passed, failed and was skipped, says why, and cannot be fooled."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]
import lib  # noqa: E402

TAP = """#!/bin/sh
cat <<END
1..{planned}
{lines}
END
{last}
"""


class Project:
    """A project with nothing but tests/run and what a case puts into it."""

    def __init__(self, directory):
        self.root = Path(directory)
        for name in ("tests/run", "tests/guardian", "tests/may-skip", "lab/lib/patience.py"):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(lib.ROOT / name, self.root / name)

    def program(self, path, text):
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def unit(self, name, lines, planned=None, last="exit 0"):
        (self.root / "tests/unit").mkdir(exist_ok=True)
        (self.root / f"tests/unit/test_{name}.c").touch()
        planned = len(lines) if planned is None else planned
        text = TAP.format(planned=planned, lines="\n".join(lines), last=last)
        self.program(f"build/tests/test_{name}", text)
        self.program(f"build-san/tests/test_{name}", text)

    def run(self, *options):
        done = subprocess.run([self.root / "tests/run", "--no-build", "-j", "3", *options], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout


def expect(status, last, fill, *texts, options=()):
    with tempfile.TemporaryDirectory() as directory:
        project = Project(directory)
        fill(project)
        got, output = project.run(*options)
        lib.check(got == status, f"exit status {got} instead of {status}:\n{output}")
        lib.check(output.splitlines()[-1] == last, f"last line is not '{last}':\n{output}")
        for text in texts:
            lib.check(text in output, f"'{text}' is not in:\n{output}")


def all_is_well(p):
    p.unit("a", ["ok 1 - one", "ok 2 - two"])
    p.program("tests/area/fine.sh", "#!/bin/sh\nexit 0\n")


def one_case_fails(p):
    p.unit("a", ["ok 1 - one", "not ok 2 - two", "# 0x1 != 0x2"], planned=2, last="exit 1")


def cases_are_missing(p):
    p.unit("a", ["ok 1 - one"], planned=3)


def it_dies_after_the_last_case(p):
    p.unit("a", ["ok 1 - one"], last="kill -SEGV $$")


def it_says_nothing(p):
    p.unit("a", [], planned=0)


def a_case_is_skipped(p):
    p.unit("a", ["ok 1 - one", "not ok 2 # SKIP two"])


def a_script_is_skipped(p):
    p.program("tests/area/a.sh", "#!/bin/sh\nexit 0\n")
    p.program("tests/area/b.sh", "#!/bin/sh\necho no such hardware\nexit 77\n")


def a_skip_that_is_allowed(p):
    p.program("tests/area/a.sh", "#!/bin/sh\nexit 0\n")
    p.program("tests/area/b.sh", "#!/bin/sh\necho by hand only: it takes an hour\nexit 77\n")
    (p.root / "tests/may-skip").write_text("# why\n\narea/b  by hand only\n")


def a_reason_of_another_test(p):
    a_skip_that_is_allowed(p)
    p.program("tests/area/c.sh", "#!/bin/sh\necho by hand only: it takes an hour\nexit 77\n")


def a_script_hangs(p):
    p.program("tests/area/a.sh", "#!/bin/sh\n# time-limit: 1\nsleep 50\n")


def it_waits_beside_busy_loops(p):
    """More than its limit by the clock, less by what it can have of the machine."""
    loops = 4 * (os.cpu_count() or 1)
    p.program("tests/area/a.sh", f"""#!/bin/bash
# time-limit: 2
for i in {{1..{loops}}}; do timeout 20 sh -c 'while :; do :; done' & done
sleep 3.5
kill $(jobs -p)
""")


def two_that_must_not_meet(p):
    for name in "ab":
        p.program(f"tests/area/{name}.sh", """#!/bin/sh
# alone: lab
mkdir here || exit 1
sleep 0.3
rmdir here
""")


def a_failure_says_why(p):
    p.program("tests/area/a.sh", "#!/bin/sh\necho the last word\nexit 1\n")


def a_program_is_not_built(p):
    p.unit("a", ["ok 1 - one"])
    (p.root / "build-san/tests/test_a").unlink()


def main():
    expect(0, "5 passed, 0 failed", all_is_well)
    expect(1, "2 passed, 2 failed", one_case_fails, "FAIL unit/a:two", "# 0x1 != 0x2")
    expect(1, "2 passed, 2 failed", cases_are_missing, "1 of 3 cases")
    expect(1, "2 passed, 2 failed", it_dies_after_the_last_case, "SIGSEGV")
    expect(1, "0 passed, 2 failed", it_says_nothing)
    expect(0, "2 passed, 0 failed, 2 skipped", a_case_is_skipped, "SKIP unit/a:two")
    expect(0, "1 passed, 0 failed, 1 skipped", a_script_is_skipped, "no such hardware")
    expect(1, "1 passed, 1 failed", a_script_is_skipped, "FAIL area/b  (skipped: no such hardware)", options=["--no-skips"])
    expect(1, "2 passed, 2 failed", a_case_is_skipped, "FAIL unit/a:two", options=["--no-skips"])
    expect(0, "1 passed, 0 failed, 1 skipped", a_skip_that_is_allowed, options=["--no-skips"])
    expect(1, "1 passed, 1 failed, 1 skipped", a_reason_of_another_test, "FAIL area/c", options=["--no-skips"])
    expect(0, "1 passed, 0 failed", it_waits_beside_busy_loops)
    expect(1, "0 passed, 1 failed", a_script_hangs, "stopped after 1 s")
    expect(1, "1 passed, 1 failed", a_program_is_not_built, "cannot run")
    expect(0, "2 passed, 0 failed", two_that_must_not_meet)
    expect(1, "0 passed, 1 failed", a_failure_says_why, "FAIL area/a", "     | the last word", "---- area/a")
    expect(1, "0 passed, 0 failed", lambda p: None)


if __name__ == "__main__":
    main()
