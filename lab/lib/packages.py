# SPDX-License-Identifier: Apache-2.0
"""Debian's kernel packages, downloaded and unpacked without being installed.

apt works in directories of our own, with its own list of sources: the user's apt is not touched, and no root
is needed.  SONDE_LAB_MIRROR names another mirror.
"""
import os
import re

from . import command, paths
from .failure import Failure

MIRROR = os.environ.get("SONDE_LAB_MIRROR", "http://deb.debian.org/")
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
SUITES = (("debian", "bookworm"), ("debian", "bookworm-updates"),
          ("debian-security", "bookworm-security"), ("debian", "bookworm-backports"))


class Apt:
    """apt with a state of its own below `home`; `kind` is "deb", or "deb-src" for sources."""

    def __init__(self, home, kind="deb"):
        self.home = home
        for part in ("state/lists/partial", "cache/archives/partial"):
            (home / part).mkdir(parents=True, exist_ok=True)
        sources = home / "sources.list"
        sources.write_text("".join(
            f"{kind} [signed-by={KEYRING}] {MIRROR.rstrip('/')}/{archive} {suite} main\n"
            for archive, suite in SUITES))
        settings = {"Dir::State": home / "state", "Dir::Cache": home / "cache",
                    "Dir::State::Status": "/var/lib/dpkg/status",
                    "Dir::Etc::SourceList": sources, "Dir::Etc::SourceParts": "/dev/null",
                    "Acquire::Languages": "none", "APT::Sandbox::User": "root",
                    "APT::Architecture": "amd64"}
        self.options = [f"-o{key}={value}" for key, value in settings.items()]

    def update(self):
        command.output("apt-get", *self.options, "-qq", "update")

    def versions(self, package):
        """(version, depends) of each version there is, newest first."""
        text = command.output("apt-cache", *self.options, "show", package)
        found = []
        for block in text.split("\n\n"):
            fields = dict(re.findall(r"^([A-Za-z-]+): (.*)$", block, re.M))
            if "Version" in fields:
                found.append((fields["Version"], fields.get("Depends", "")))
        return found

    def download(self, package, version, into):
        command.output("apt-get", *self.options, "-qq", "download", f"{package}={version}", cwd=into)


def kernel_package(kernel, stopwatch, update=False):
    """The .deb of Debian's newest kernel of the line `kernel`, such as "6.1".

    One that is here already is taken without asking the archive, unless `update` is set.
    """
    store = paths.CACHE / "packages"
    store.mkdir(parents=True, exist_ok=True)
    here = sorted(store.glob(f"linux-image-{kernel}.*.deb"), key=lambda path: path.stat().st_mtime)
    if here and not update:
        return here[-1]
    with stopwatch.step(f"download of Debian's kernel {kernel}"):
        apt = Apt(paths.CACHE / "apt")
        apt.update()
        for version, depends in apt.versions("linux-image-amd64"):
            if version.startswith(kernel + "."):
                break
        else:
            raise Failure(f"Debian bookworm and its backports have no kernel {kernel}")
        apt.download(depends.split()[0], version, store)
    here = sorted(store.glob(f"{depends.split()[0]}_*.deb"))
    if not here:
        raise Failure(f"apt-get downloaded {depends.split()[0]}, but it is not in {store}")
    return here[-1]


def unpack(package, directory, stopwatch):
    """Puts the package's files below `directory`."""
    with stopwatch.step(f"unpacking {package.name}"):
        command.output("dpkg-deb", "-x", package, directory)


def installed_versions(*names):
    """Which versions of these packages this machine has, as text for a cache key."""
    return command.output("dpkg-query", "-W", "-f", "${Package} ${Version} ${db:Status-Status}\n",
                          *names)
