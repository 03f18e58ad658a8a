# SPDX-License-Identifier: GPL-2.0-only
"""A file out of a Debian package of another architecture, which is not installed.

The package comes from the host's own sources, by an index and a list of packages in a
folder of the lab's: the host's apt and dpkg do not get to know the architecture.  What
was downloaded is kept in the user's cache: with it the network is not needed again.
"""

import shutil
import tempfile
from pathlib import Path

from padlab.core import exclusive, packages, paths, process, progress
from padlab.core.errors import LabError

_TODO = "check the network, and that the mirror in /etc/apt/sources.list has that architecture"


def extract(package: str, architecture: str, file: str) -> bytes:
    """The content of ``file`` in ``package``, such as "bin/busybox"."""
    deb = _ensure(package, architecture)
    what = f"unpacking {deb.name}"
    with tempfile.TemporaryDirectory(prefix="padlab-deb-") as tmp:
        todo = f"if it is damaged, delete it and try again: {deb}"
        process.run(["dpkg-deb", "--extract", deb, tmp], what=what, todo=todo)
        # Since Debian 13, /bin and the like are links, and packages have files below /usr only.
        files = [path for path in (Path(tmp, file), Path(tmp, "usr", file)) if path.is_file()]
        if not files:
            raise LabError(what, f"it has no {file}", todo)
        return files[0].read_bytes()


def _ensure(package: str, architecture: str) -> Path:
    """The package's file in the cache."""
    pattern = f"{package}_*_{architecture}.deb"
    with exclusive.alone(paths.DOWNLOADS / ".lock"):
        kept = sorted(paths.DOWNLOADS.glob(pattern))
        return kept[-1] if kept else _download(package, architecture, pattern)


def _download(package: str, architecture: str, pattern: str) -> Path:
    what = f"downloading {package} for {architecture}"
    if shutil.which("apt-get") is None:
        raise LabError(what, "this is not a Debian system (no apt-get)", "run this on Debian 12 or 13")
    place = Path(tempfile.mkdtemp(prefix=".part-", dir=paths.DOWNLOADS))
    log = paths.LOGS / f"apt-{architecture}.log"
    apt = ["apt-get", *options(place, architecture)]
    try:
        with progress.step(what):
            # A source that does not have the architecture is no reason to stop.
            process.run([*apt, "update"], what=what, log=log, ok=range(256))
            process.run([*apt, "download", package], what=what, cwd=place, log=log, todo=_TODO)
        debs = list(place.glob(pattern))
        if len(debs) != 1:
            raise LabError(what, "apt-get download left no package", _TODO, log=log)
        return debs[0].rename(paths.DOWNLOADS / debs[0].name)
    except LabError as err:
        if err.log is None:
            raise
        why = packages.reason(err.log.read_text(errors="replace"))
        raise LabError(what, why, _TODO, log=err.log, detail=err.detail) from None
    finally:
        shutil.rmtree(place, ignore_errors=True)


def options(place: Path, architecture: str) -> list[str]:
    """What has apt-get work in ``place`` and for ``architecture``, with the host's sources and keys."""
    settings = {
        "Dir::State": place / "state",
        "Dir::State::status": "/dev/null",
        "Dir::Cache": place / "cache",
        "APT::Architecture": architecture,
        "APT::Architectures::": architecture,
        "APT::Sandbox::User": "root",
        "Acquire::Languages": "none",
    }
    for folder in ("state/lists/partial", "cache/archives/partial"):
        (place / folder).mkdir(parents=True, exist_ok=True)
    return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
