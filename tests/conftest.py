# SPDX-License-Identifier: GPL-2.0-only
"""What several test files share."""

import dataclasses
import functools
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from padlab.core import packages, paths
from padlab.kernel import state
from padlab.vm import accel, emulator

EMULATED = accel.Accel("tcg", "TCG, emulated (a test)", "10.0.2", "multi")
EXACT = accel.Accel("tcg", "TCG, exact (a test)", "10.0.2", "single", exact=True)


def write(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def write_all(top: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        write(top / name, text)


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def is_gone(pid: int) -> bool:
    """Whether there is no such process, once it has had time to end; or a zombie, not collected yet."""
    stat = Path(f"/proc/{pid}/stat")
    for _ in range(300):
        try:
            if stat.read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.1)
    return False


def set_base(monkeypatch: pytest.MonkeyPatch, known: str = "", **fields: object) -> None:
    """Have a test work on the base ``known``, that in use if none is named, with other values of some fields."""
    of_it = dataclasses.replace(paths.Base.named(known) if known else paths.base(), **fields)
    monkeypatch.setattr(paths, "base", lambda: of_it)


@pytest.fixture
def default_base(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of what only base 6.12 has, and in made-up clones, where no other base has a folder."""
    monkeypatch.setenv(paths.BASE_VARIABLE, paths.DEFAULT_BASE)
    monkeypatch.setattr(paths, "base", functools.partial(paths.Base.named, paths.DEFAULT_BASE))


@pytest.fixture
def no_qemu(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that may not depend on the host's QEMU or KVM."""
    monkeypatch.setattr(emulator, "ensure", lambda _arch=None: Path("qemu"))
    monkeypatch.setattr(accel, "choose", lambda _qemu, exact=False, _arch=None: EXACT if exact else EMULATED)


@pytest.fixture(scope="session")
def installed() -> None:
    """For tests that run Debian's programs: ./lab test installs them, and a test that skips proves nothing."""
    missing = packages.missing("build", "quilt", "git", "guest")
    assert not missing, f"not installed: {', '.join(missing)}; run ./lab test, which does it"


@pytest.fixture(scope="session")
def kernel_tree(installed: None) -> None:
    assert state.read_state(paths.base().trees / "patched"), (
        "there is no kernel tree; run ./lab test, which makes it"
    )
