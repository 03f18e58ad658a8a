# SPDX-License-Identifier: GPL-2.0-only
"""``./lab judge``: a boot judged again by the folder that it left, without the host's times."""

import json
from pathlib import Path

import msgspec

from padlab.core import paths
from padlab.core.errors import LabError
from padlab.vm import boot, ktap, summary


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
        return boot.read(folder, what, *boot.noted(folder))
    except OSError as err:
        why = f"{Path(err.filename).name} cannot be read: {err.strerror}"
    except msgspec.MsgspecError:
        why = f"{boot.BOOTED} is of another version of the lab"
    raise LabError(what, why, "give a folder of build/boots")
