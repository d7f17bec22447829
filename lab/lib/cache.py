# SPDX-License-Identifier: Apache-2.0
"""Things that take long to make are made once for the same inputs.

An entry is a directory NAME-HASH; the hash is of everything that went into it.  It is filled under another
name and renamed when complete, so an interrupted build leaves no half entry behind.
"""
import contextlib
import fcntl
import hashlib
import shutil

from . import paths


def digest(*parts):
    """A short hash of texts, bytes and the contents of files (pathlib paths)."""
    total = hashlib.sha256()
    for part in parts:
        data = part.read_bytes() if hasattr(part, "read_bytes") else part
        data = data.encode() if isinstance(data, str) else data
        total.update(len(data).to_bytes(8, "little") + data)
    return total.hexdigest()[:16]


@contextlib.contextmanager
def lock(name=""):
    """Two runs that begin together do not build the same thing twice.  What takes many minutes has a lock with a name of
    its own, so that nobody else waits for it."""
    paths.CACHE.mkdir(parents=True, exist_ok=True)
    with open(paths.CACHE / (f"{name}.lock" if name else "lock"), "w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def entry(name, key, build):
    """The directory for `name` with this `key`; calls build(directory) when there is none.

    Entries of the same name with other keys are removed: their inputs are gone.
    """
    path = paths.CACHE / f"{name}-{key}"
    if path.is_dir():
        return path
    fresh = paths.CACHE / f"{name}.new"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    build(fresh)
    for old in paths.CACHE.glob(f"{name}-" + "[0-9a-f]" * 16):
        shutil.rmtree(old, ignore_errors=True)
    fresh.rename(path)
    return path
