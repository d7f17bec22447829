# SPDX-License-Identifier: Apache-2.0
"""What tests share that make a run of the lab themselves."""
from lab.lib import engine
from lab.lib.failure import Failure

import lib


def within_tries(tries, attempt, *arguments):
    """An emulator that runs one instruction wrong makes a machine misbehave, but not twice in the same way; a fault of ours
    does.  Where no run can be made at all, the test is skipped."""
    for left in reversed(range(tries)):
        try:
            return attempt(*arguments)
        except SystemExit as end:
            if end.code == lib.SKIP or not left:
                raise
            print("ONCE MORE", flush=True)
        except engine.NoTrySucceeded as failure:
            lib.skip(f"NO LIVE RUN: {failure}".replace("\n", " "))
        except Failure as failure:
            lib.skip(f"the lab cannot run: {failure}".replace("\n", " "))
