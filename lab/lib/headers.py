# SPDX-License-Identifier: Apache-2.0
"""What modules for the lab's kernels are built against: Debian's header packages, unpacked, not installed."""
from . import cache, packages, paths
from .failure import Failure


def base(release):
    """6.1.0-56 of 6.1.0-56-amd64."""
    return release.rsplit("-", 1)[0]


def package_names(release):
    """Before 6.12, Kbuild's programs are one package for all kernels of a line."""
    line = ".".join(release.split(".")[:2])
    kbuild = line if line == "6.1" else base(release)
    return f"linux-headers-{release}", f"linux-headers-{base(release)}-common", f"linux-kbuild-{kbuild}"


def download(names, version, stopwatch, what):
    """These packages' files, of that version where there is one."""
    store = paths.CACHE / "packages"
    found = []
    missing = []
    for name in names:
        here = sorted(store.glob(f"{name}_*.deb"))
        (found if here else missing).append(here[-1] if here else name)
    if missing:
        with stopwatch.step(f"download of {what}"):
            apt = packages.Apt(paths.CACHE / "apt")
            apt.update()
            for name in missing:
                versions = [one for one, _ in apt.versions(name)]
                if not versions:
                    raise Failure(f"Debian's archive has no package {name}")
                apt.download(name, version if version in versions else versions[0], store)
                found.append(sorted(store.glob(f"{name}_*.deb"))[-1])
    return found


def image_version(kernel_line, stopwatch):
    """Of Debian's package that the image is made from."""
    return packages.kernel_package(kernel_line, stopwatch).name.split("_")[1]


def common(headers):
    """The part that all flavours of a kernel share; beside the headers of one."""
    return headers.parent / f"{base(headers.name)}-common"


def point_at(headers, root):
    """The packages' Makefile names absolute places: makes it name those below root."""
    makefile = headers / "Makefile"
    text = makefile.read_text()
    makefile.unlink()       # it may be a hard link
    makefile.write_text(text.replace("/usr/src/", f"{root}/usr/src/"))


def unpack(debs, release, root, final_root, stopwatch):
    """Puts a tree below root that will be used as final_root; gives the directory for KDIR."""
    for deb in debs:
        packages.unpack(deb, root, stopwatch)
    headers = root / f"usr/src/linux-headers-{release}"
    point_at(headers, final_root)
    return headers


def get(kernel_line, image, stopwatch):
    """The directory that `make -C` takes to build a module for the image's kernel."""
    with cache.lock():
        debs = download(package_names(image.release), image_version(kernel_line, stopwatch), stopwatch,
                        "kernel headers")
        name, key = f"headers-{kernel_line}", cache.digest(*sorted(deb.name for deb in debs),
                                                           paths.LAB / "lib/headers.py")
        final = paths.CACHE / f"{name}-{key}"
        place = cache.entry(name, key, lambda directory: unpack(debs, image.release, directory, final, stopwatch))
        return place / f"usr/src/linux-headers-{image.release}"
