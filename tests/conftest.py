# SPDX-License-Identifier: GPL-2.0-only
"""What several test files share."""

from __future__ import annotations

import pytest

from padlab import accel


@pytest.fixture
def no_qemu(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that may not depend on the host's QEMU or KVM."""
    monkeypatch.setattr(accel, "choose", lambda: "tcg")
    monkeypatch.setattr(accel, "qemu_version", lambda: "7.2.22")
