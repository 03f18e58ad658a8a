# SPDX-License-Identifier: GPL-2.0-only
"""The archive writer, held against cpio(1)."""

import os
import subprocess
from pathlib import Path

import pytest

from padlab.core.errors import LabError
from padlab.kernel.arch import ARM64, X86_64
from padlab.vm import initramfs

pytestmark = pytest.mark.usefixtures("installed")

ENTRIES = [
    initramfs.regular("init", b"#!/bin/sh\n", executable=True),
    initramfs.regular("lib/modules/a.ko", b"\x7fELF odd length"),
    initramfs.symlink("bin/sh", "busybox"),
    initramfs.directory("proc"),
]


def test_cpio_unpacks_what_was_packed(tmp_path: Path) -> None:
    command = ["cpio", "--quiet", "-i", "-m", "--no-absolute-filenames"]
    subprocess.run(command, input=initramfs.cpio(ENTRIES), cwd=tmp_path, check=True)
    assert (tmp_path / "init").read_bytes() == b"#!/bin/sh\n"
    assert os.access(tmp_path / "init", os.X_OK)
    assert (tmp_path / "lib/modules/a.ko").read_bytes() == b"\x7fELF odd length"
    assert os.readlink(tmp_path / "bin/sh") == "busybox"
    assert (tmp_path / "proc").is_dir()


def test_device_nodes_carry_their_numbers() -> None:
    archive = initramfs.cpio([initramfs.char_device("dev/console", 5, 1)])
    listed = subprocess.run(
        ["cpio", "--quiet", "-itv"], input=archive, capture_output=True, check=True
    ).stdout
    assert b"\ncrw-------" in listed and b"5,   1" in listed


def test_another_architecture_has_its_own_busybox(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def extract(package: str, architecture: str, file: str) -> bytes:
        asked.append((package, architecture, file))
        return b"arm64"

    monkeypatch.setattr(initramfs.foreign, "extract", extract)
    ours, theirs = (
        {entry.name: entry.data for entry in initramfs._base("boot", arch)} for arch in (X86_64, ARM64)
    )
    assert asked == [("busybox-static", "arm64", "bin/busybox")]
    assert theirs.pop("bin/busybox") == b"arm64" and ours.pop("bin/busybox").startswith(b"\x7fELF")
    assert ours == theirs and "bin/sh" in ours


def test_unknown_role_is_refused() -> None:
    with pytest.raises(LabError, match="no role 'x'.*boot, .*shell"):
        initramfs.ensure(None, "x")  # type: ignore[arg-type]


def test_lines_said_under_a_key_keep_their_blanks_and_have_an_end(tmp_path: Path) -> None:
    text = (initramfs.GUEST / "init").read_text()
    function = next(line for line in text.splitlines() if line.startswith("say_lines()"))
    said = tmp_path / "said"
    said.write_text("TAP version 13\n  # Subtest: a\n\nok 1 - cut")
    for script in (f"{function}; say_lines 'ktap x' {said}", f"{function}; cat {said} | say_lines 'ktap x'"):
        done = subprocess.run(["busybox", "sh", "-c", script], capture_output=True, text=True, check=True)
        assert done.stdout == "ktap x TAP version 13\nktap x   # Subtest: a\nktap x \nktap x ok 1 - cut\n"


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


def test_libraries_are_read_from_ldd() -> None:
    said = (
        "\tlinux-vdso.so.1 (0x00007ffd)\n"
        "\tlibtinfo.so.6 => /lib/x86_64-linux-gnu/libtinfo.so.6 (0x00007f31)\n"
        "\t/lib64/ld-linux-x86-64.so.2 (0x00007f32)\n"
    )
    assert initramfs.libraries(said) == ["/lib/x86_64-linux-gnu/libtinfo.so.6", "/lib64/ld-linux-x86-64.so.2"]
