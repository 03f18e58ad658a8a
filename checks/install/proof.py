# SPDX-License-Identifier: GPL-2.0-only
"""A check of ./lab test --full: a kit does its work in a root that has nothing else, without a network."""

import os

from checks.install import bareroot, verdict
from padlab.core import process
from padlab.core.outcome import Outcome, judge
from padlab.kit import importing, make

MINUTES = 3
ROOM = 2 << 30
_OUT = "/root/out.txt"
_FOLDERS = ("bin", "dev", "kit", "proc", "root", "sys", "tmp", "usr/bin")
_BUSYBOX = "/kit/busybox"


def check() -> Outcome:
    """How much it gets done in its time is up to the host; what it says has to be whole, and right."""
    bareroot.prepared(ROOM)
    with bareroot.folder("kit") as place:
        make.main(place / "made")
        root = bareroot.Root(place / "root", {place / "made": "/kit"})
        for name in _FOLDERS:
            root.inside(name).mkdir(parents=True)
        for name in ("bin/sh", "usr/bin/env"):  # by which a root is entered
            root.inside(name).symlink_to(_BUSYBOX)
        root.inside("root/.host-environment").touch()
        return _judged(_run(root))


def _run(root: bareroot.Root) -> importing.Run:
    entered = root.command("/root", [_BUSYBOX, "ash", "/kit/run", "--minutes", str(MINUTES), "--out", _OUT])
    spaces = bareroot.namespaces()
    cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))[:2]))
    command = ["taskset", "-c", cpus, *spaces, "unshare", "--net", *entered[len(spaces) :]]
    process.run(command, what="a kit in a root of its own", timeout=MINUTES * 120)
    return importing.read(root.inside(_OUT))


def _judged(run: importing.Run) -> Outcome:
    total = judge([] if run.file.ended else ["the run did not come to its end"])
    total += Outcome(len(list(importing.records(run))), skips=tuple(importing.missing(run)))
    for name, outcome in verdict.outcomes(run.file):
        total += outcome.named(name)
    return total
