# SPDX-License-Identifier: GPL-2.0-only
"""Fingerprints: what decides whether something is made again."""

from pathlib import Path

from padlab.kernel.content import digest, fingerprint


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
