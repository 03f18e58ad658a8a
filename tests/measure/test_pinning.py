# SPDX-License-Identifier: GPL-2.0-only
"""What a guest says of pinning."""

from padlab.measure import pinning


def test_the_last_of_a_kind_counts() -> None:
    assert pinning.parse(["there 500 1", "there 300 2", "thp 100 1"]) == {"there": 300, "thp": 100}
