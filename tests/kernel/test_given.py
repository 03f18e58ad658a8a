# SPDX-License-Identifier: GPL-2.0-only
"""Source that the user gives: tarballs, good and bad.  tar is the real one."""

import os
import subprocess
from pathlib import Path

import pytest

from padlab.core import paths
from padlab.core.errors import LabError
from padlab.kernel import given, source, state, tree

MAKEFILE = "# SPDX-License-Identifier: GPL-2.0\nVERSION = {}\nPATCHLEVEL = {}\nSUBLEVEL = {}\nEXTRAVERSION ={}\n\nall:\n"

pytestmark = pytest.mark.usefixtures("installed")


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "TREES", tmp_path / "trees")
    monkeypatch.setattr(paths, "LOGS", tmp_path / "logs")
    monkeypatch.setattr(paths, "BASE", "7.3")
    monkeypatch.setattr(given.packages, "ensure", lambda *groups: None)
    base = source.Base("linux-source-7.3", "7.3.4-1", "trixie-backports")
    monkeypatch.setattr(source, "base", lambda: base)
    source.warn_untested.cache_clear()
    return tmp_path


def kernel(place: Path, *numbers: object, code: str = "code\n") -> Path:
    (place / "mm").mkdir(parents=True)
    (place / "Makefile").write_text(MAKEFILE.format(*numbers))
    (place / "mm/Makefile").write_text("VERSION = 1\n")
    (place / "mm/x.c").write_text(code)
    return place


def tarball(lab: Path, *numbers: object, code: str = "code\n", name: str = "linux.tar.xz") -> Path:
    folder = lab / f"source-{len(list(lab.iterdir()))}"
    kernel(folder / "linux-x", *numbers, code=code)
    subprocess.run(["tar", "-C", folder, "-cJf", lab / name, "linux-x"], check=True)
    return lab / name


def made(source: Path) -> Path:
    return tree.ensure_tree("stock", given=given.look_at(source))


def fails(path: Path) -> str:
    with pytest.raises(LabError) as error:
        made(path)
    assert "\n" not in error.value.line() and not error.value.detail
    assert not (paths.TREES / "stock").exists()
    return error.value.line()


class TestTarball:
    def test_stays_stock_and_is_not_unpacked_twice(self, lab: Path) -> None:
        path = tarball(lab, 7, 3, 4, "")
        stock = made(path)
        assert (stock / "mm/x.c").read_text() == "code\n"
        assert tree.source_version().startswith("7.3.4 of linux.tar.xz (")
        (stock / "mark").touch()
        assert made(path) == tree.ensure_tree("stock") == stock
        assert (stock / "mark").exists()

    def test_one_with_other_content_is_unpacked(self, lab: Path) -> None:
        made(tarball(lab, 7, 3, 4, ""))
        before = tree.source_version()
        stock = made(tarball(lab, 7, 3, 4, "", code="other\n"))
        assert (stock / "mm/x.c").read_text() == "other\n"
        assert tree.source_version() != before


class TestBadTarball:
    def test_of_another_base(self, lab: Path) -> None:
        assert "Linux 6.12.9, and base 7.3 is for 7.3.N; base 6.12 is for that." in fails(
            tarball(lab, 6, 12, 9, "")
        )

    def test_leaves_the_tree_that_is_there(self, lab: Path) -> None:
        stock = made(tarball(lab, 7, 3, 4, ""))
        with pytest.raises(LabError):
            made(tarball(lab, 7, 2, 9, "", name="other.tar.xz"))
        assert (stock / "mm/x.c").exists() and tree.source_version().startswith("7.3.4 ")

    def test_not_there(self, lab: Path) -> None:
        assert f"kernel source {lab / 'no.tar.xz'}: it is not there." in fails(lab / "no.tar.xz")
        assert "it is no file." in fails(lab)

    def test_damaged(self, lab: Path) -> None:
        path = tarball(lab, 7, 3, 4, "", code=os.urandom(1 << 20).hex())
        path.write_bytes(path.read_bytes()[: 1 << 19])
        assert "it is no tarball, or damaged." in fails(path)
        assert state.read_state(paths.TREES / "stock") is None

    def test_no_kernel(self, lab: Path) -> None:
        (lab / "x").mkdir()
        (lab / "x/README").touch()
        subprocess.run(["tar", "-C", lab, "-cJf", lab / "x.tar.xz", "x"], check=True)
        assert "it is no kernel source: there is no Makefile in it." in fails(lab / "x.tar.xz")

    def test_a_makefile_without_a_version(self, lab: Path) -> None:
        assert "there is no version in its Makefile." in fails(tarball(lab, "", "", "", ""))
