# SPDX-License-Identifier: GPL-2.0-only
"""Fingerprints and stamps: what decides whether something is made again."""

from __future__ import annotations

from pathlib import Path

import pytest

from padlab.kernel.content import Stamp, digest, fingerprint


def test_fingerprints_are_of_content_mode_and_kind(tmp_path: Path) -> None:
    file = tmp_path / "f"
    assert fingerprint(file) is None
    file.write_text("a")
    plain = fingerprint(file)
    file.chmod(0o755)
    executable = fingerprint(file)
    (tmp_path / "link").symlink_to("f")
    assert len({plain, executable, fingerprint(tmp_path / "link"), None}) == 4
    file.chmod(0o600)
    assert fingerprint(file) == plain
    assert fingerprint(file / "below-a-file") is None


def test_digests_tell_parts_apart() -> None:
    assert len({digest(parts) for parts in (["ab"], ["a", "b"], ["b", "a"], [])}) == 4


class TestStamp:
    def test_matches_what_it_was_made_from_alone(self, tmp_path: Path) -> None:
        stamp = Stamp(tmp_path / "made/.stamp", ["a", "b"])
        assert not stamp.matches()
        with stamp.renewed():
            pass
        assert Stamp(stamp.path, ["a", "b"]).matches()
        assert not Stamp(stamp.path, ["a", "c"]).matches()

    def test_what_was_interrupted_is_not_made(self, tmp_path: Path) -> None:
        stamp = Stamp(tmp_path / ".stamp", ["a"])
        with stamp.renewed():
            pass
        with pytest.raises(KeyboardInterrupt), stamp.renewed():
            raise KeyboardInterrupt
        assert not stamp.matches()
