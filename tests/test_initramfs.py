# SPDX-License-Identifier: GPL-2.0-only
"""The archive writer, held against cpio(1)."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from padlab import initramfs
from padlab.errors import LabError

ENTRIES = [
    initramfs.regular("init", b"#!/bin/sh\n", executable=True),
    initramfs.regular("lib/modules/a.ko", b"\x7fELF odd length"),
    initramfs.symlink("bin/sh", "busybox"),
    initramfs.directory("proc"),
]


def unpack(archive: bytes, where: Path) -> Path:
    subprocess.run(
        ["cpio", "--quiet", "-i", "-m", "--no-absolute-filenames"],
        input=archive,
        cwd=where,
        check=True,
    )
    return where


def test_cpio_unpacks_what_was_packed(tmp_path: Path) -> None:
    root = unpack(initramfs.cpio(ENTRIES), tmp_path)
    assert (root / "init").read_bytes() == b"#!/bin/sh\n"
    assert os.access(root / "init", os.X_OK)
    assert (root / "lib/modules/a.ko").read_bytes() == b"\x7fELF odd length"
    assert os.readlink(root / "bin/sh") == "busybox"
    assert (root / "proc").is_dir()


def test_equal_input_gives_equal_bytes() -> None:
    assert initramfs.cpio(ENTRIES) == initramfs.cpio(list(ENTRIES))


def test_parents_come_before_their_members() -> None:
    listing = subprocess.run(
        ["cpio", "--quiet", "-it"], input=initramfs.cpio(ENTRIES), capture_output=True, check=True
    ).stdout.decode()
    names = listing.split()
    assert names.index("lib") < names.index("lib/modules") < names.index("lib/modules/a.ko")
    assert len(names) == len(set(names))


def test_device_nodes_carry_their_numbers() -> None:
    entry = initramfs.char_device("dev/console", 5, 1)
    assert stat.S_ISCHR(entry.mode)
    listing = subprocess.run(
        ["cpio", "--quiet", "-itv"],
        input=initramfs.cpio([entry]),
        capture_output=True,
        check=True,
    ).stdout.decode()
    assert "5,   1" in listing


def test_unknown_role_is_refused() -> None:
    with pytest.raises(LabError, match="no role 'x'.*boot, kunit"):
        initramfs.ensure(None, "x")  # type: ignore[arg-type]


@pytest.mark.parametrize("role", initramfs.ROLES)
def test_every_role_has_a_script_without_syntax_errors(role: str) -> None:
    script = initramfs.GUEST / f"{role}.sh"
    subprocess.run(["busybox", "sh", "-n", script], check=True)


def test_words_of_a_kselftest_makefile() -> None:
    makefile = """
TEST_PROGS := a.sh b.sh \\
	c.sh
TEST_PROGS += d.sh
TEST_PROGS_EXTENDED := e.sh
TEST_FILES = functions.sh
"""
    assert initramfs.make_words(makefile, "TEST_PROGS") == ["a.sh", "b.sh", "c.sh", "d.sh"]
    assert initramfs.make_words(makefile, "TEST_FILES") == ["functions.sh"]
    assert initramfs.make_words(makefile, "TEST_GEN") == []
