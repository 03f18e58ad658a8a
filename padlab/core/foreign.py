# SPDX-License-Identifier: GPL-2.0-only
"""A file out of a Debian package of another architecture, which is not installed.

The package comes from the host's own sources, by an index and a list of packages in a
folder of the lab's: the host's apt and dpkg do not get to know the architecture.  What
was downloaded is kept in the user's cache: with it the network is not needed again.
"""

import tempfile
from pathlib import Path

from padlab.core import aptsuite, exclusive, packages, paths, process, progress
from padlab.core.errors import LabError

_TODO = "check the network, and that the mirror in /etc/apt/sources.list has that architecture"


def extract(package: str, architecture: str, file: str) -> bytes:
    """The content of ``file`` in ``package``, such as "bin/busybox"."""
    pattern = f"{package}_*_{architecture}.deb"
    with exclusive.alone(paths.DOWNLOADS / ".lock"):
        if not any(paths.DOWNLOADS.glob(pattern)):
            _download(package, architecture)
        deb = sorted(paths.DOWNLOADS.glob(pattern))[-1]
    what = f"unpacking {deb.name}"
    with tempfile.TemporaryDirectory(prefix="padlab-deb-") as tmp:
        todo = f"if it is damaged, delete it and try again: {deb}"
        process.run(["dpkg-deb", "--extract", deb, tmp], what=what, todo=todo)
        # Since Debian 13, /bin and the like are links, and packages have files below /usr only.
        files = [path for path in (Path(tmp, file), Path(tmp, "usr", file)) if path.is_file()]
        if not files:
            raise LabError(what, f"it has no {file}", todo)
        return files[0].read_bytes()


def _download(package: str, architecture: str) -> None:
    what = f"downloading {package} for {architecture}"
    packages.need_apt(what)
    log = paths.base().logs / f"apt-{architecture}.log"
    with progress.step(what), tempfile.TemporaryDirectory(prefix=".part-", dir=paths.DOWNLOADS) as place:
        settings = aptsuite.own_state(Path(place), architecture) | {"APT::Architectures::": architecture}
        options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
        try:
            # A source that does not have the architecture is no reason to stop.
            process.run(["apt-get", *options, "update"], what=what, log=log, ok=range(256))
            packages.download(package, what, log, options)
        except LabError as err:
            why = packages.reason(log.read_text(errors="replace"))
            raise LabError(what, why, _TODO, log=log, detail=err.detail) from None
