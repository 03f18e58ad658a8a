# SPDX-License-Identifier: GPL-2.0-only
"""``./lab judge``: a boot judged again by the folder that it left.

Its logs and QEMU's command line are there; the host's times, and which version QEMU had, are not.
"""

import json
import re
import shlex
from itertools import pairwise
from pathlib import Path

from padlab.core import paths
from padlab.core.errors import LabError
from padlab.kernel.build import Build
from padlab.kernel.kconfig import Config
from padlab.vm import boot, ktap, machine, summary
from padlab.vm.accel import Accel
from padlab.vm.spec import BootSpec

_KERNEL = re.compile(r"/trees/(?P<kernel>[^/]+)/obj-(?P<config>[^/]+)/")
_THREADS = re.compile(r"deferred_init_threads=(100%|[1-9]\d?%|[1-9]\d*(?![\d%]))")  # others are none


def main(folder: Path, as_json: bool = False) -> int:
    """The exit status is 0 if the guest ended well, without complaints, and all of its tests passed."""
    result = read(folder)
    told = summary.describe(result)
    tests = ktap.of_guest(result.guest, paths.base().trees / "patched")
    if as_json:
        results = {"passed": tests.passed, "failures": tests.failures, "skips": tests.skips}
        print(json.dumps({**told.as_dict(), "tests": results if result.guest.ktap else None}, indent=2))
    else:
        for line in result.guest.values("out"):
            print(line)
        summary.show(told)
        if result.guest.ktap:
            print(f"tests: {tests.passed} passed, {len(tests.failures)} failed, {len(tests.skips)} skipped")
        for kind, cases in (("failed", tests.failures), ("skipped", tests.skips)):
            print("".join(f"  {kind}: {case}\n" for case in cases), end="")
    return int(not told.ok or bool(result.trouble or tests.failures))


def read(folder: Path) -> boot.BootResult:
    folder, what = folder.resolve(), f"judging {folder}"
    try:
        words = shlex.split((folder / "command").read_text())
        return boot.read(folder, what, *_booted(folder, what, words))
    except OSError as err:
        why = f"{Path(err.filename).name} cannot be read: {err.strerror}"
        raise LabError(what, why, "give a folder of build/boots") from None


def _booted(folder: Path, what: str, words: list[str]) -> tuple[BootSpec, Build, Accel]:
    """By QEMU's command line, and the folder's name."""
    options = dict(pairwise(words))
    match = _KERNEL.search(options.get("-kernel", ""))
    if not match:
        raise LabError(what, "its command does not boot a kernel of build/trees", "give another folder")
    kernel, config = match["kernel"], Config(match["config"])
    name = re.sub(r"^[\d-]{16}", "", folder.name).partition(f"-{kernel}-{config}")[0]
    threads = _THREADS.search(options.get("-append", ""))
    spec = BootSpec(
        machine.load(name),
        kernel,
        config,
        threads[1] if threads else None,
        exact="-icount" in words,
        initrd=Path(options.get("-initrd", "")),
    )
    kvm = options.get("-accel") == "kvm"
    why = "KVM" if kvm else "TCG, exact" if spec.exact else "TCG"
    accel = Accel("kvm" if kvm else "tcg", why, words[0], exact=spec.exact)
    return spec, Build(kernel, config, folder, folder, Path(options["-kernel"]), "", ""), accel
