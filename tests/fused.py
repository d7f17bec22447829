# SPDX-License-Identifier: Apache-2.0
"""For tests of the fused history: making one from the traces of a set, and asking it."""

import random
import sys

import lib

sys.path[:0] = [str(lib.ROOT)]
from lab.oracle.history import History  # noqa: E402

LAYERS = ["L0", "L1a", "L1b", "L2"]


def trace_of(directory, layer):
    """Nothing but the trace itself: not the directory with the truth beside it."""
    for name in ("trace.dat", "lttng/kernel"):
        if (directory / layer / name).exists():
            return (directory / layer / name).resolve()
    return lib.check(False, f"no trace of {layer} in {directory}")


def analyse(directory, scratch, layers=tuple(LAYERS)):
    """Runs sonde on links to the traces, in an order and under names that say nothing."""
    traces = [trace_of(directory, layer) for layer in layers]
    random.Random(7).shuffle(traces)
    links = []
    for number, trace in enumerate(traces):
        link = scratch / f"trace-{number}{trace.suffix}"
        link.symlink_to(trace)
        links.append(link)
    history = scratch / "run.sonde"
    lib.run(lib.SONDE, "analyze", *links, "-o", history)
    return history


def ask(history, what, text=""):
    return History(history).ask(what, text)


def tables(history):
    """name -> list of rows, each a dictionary of texts."""
    return History(history).tables
