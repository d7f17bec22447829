# SPDX-License-Identifier: Apache-2.0
"""The kernel's source as Debian packages it, of the version that the lab's kernel has, with patches of ours."""
import subprocess

from ..lib import command, headers, paths
from ..lib.failure import Failure

PATCHES = paths.REPOSITORY / "kernel/patches"


def package(kernel_line, stopwatch):
    """The .deb with the source of the very kernel that the lab's machines run."""
    version = headers.image_version(kernel_line, stopwatch)
    return headers.download([f"linux-source-{kernel_line}"], version, stopwatch, "the kernel's source")[0]


def patches(kernel_line, series):
    """The patches of a series, in their order: those of kernel/patches/6.1/nested and so on."""
    found = sorted((PATCHES / kernel_line / series).glob("[0-9]*.patch"))
    found = [path for path in found if not path.name.startswith("0000")]   # the cover letter
    if not found:
        raise Failure(f"no patches in {PATCHES / kernel_line / series}")
    return found


def changes(patch):
    """What a patch changes, without its message: to say it better is no reason to build again."""
    return patch.read_text().split("\ndiff --git", 1)[1]


def touched(patch_files):
    """The files that the patches change or add."""
    return sorted({line[6:].split("\t")[0] for patch in patch_files for line in patch.read_text().splitlines()
                   if line.startswith("+++ b/")})


def extract(deb, directory, patterns=()):
    """Unpacks the source, or only the files that match, below `directory`; nothing else is written."""
    directory.mkdir(parents=True, exist_ok=True)
    words = " ".join(f"'*/{pattern}'" for pattern in patterns)
    done = subprocess.run(
        ["sh", "-c", 'dpkg-deb --fsys-tarfile "$0" | tar -xO --wildcards "./usr/src/linux-source-*.tar.xz" | '
         f'tar -xJ --strip-components=1 -C "$1" {"--wildcards " + words if words else ""}', deb, directory],
        capture_output=True, text=True)
    # tar complains about names that it did not find: those that a patch adds.
    if done.returncode and not (patterns and any(directory.iterdir())):
        raise Failure(f"cannot unpack {deb.name}: {done.stderr.strip()[-200:]}")


def apply(patch_files, directory):
    for patch in patch_files:
        command.output("patch", "-d", directory, "-p1", "-s", "-i", patch)
