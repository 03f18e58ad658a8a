# SPDX-License-Identifier: GPL-2.0-only
"""Medians, spreads, and when a ratio means nothing."""

import pytest

from padlab.core import stats


def test_summary() -> None:
    s = stats.summarize([4.0, 1.0, 10.0, 3.0])
    assert (s.n, s.median, s.low, s.high) == (4, 3.5, 1.0, 10.0)


@pytest.mark.parametrize("runs", [1, 2])
def test_too_few_runs_mean_nothing(runs: int) -> None:
    found = stats.ratio(stats.summarize([100] * runs), stats.summarize([50] * 5))
    assert found.noise is not None and "no spread" in found.noise


class TestPaired:
    def test_median_of_the_rounds(self) -> None:
        found = stats.paired([100, 200, 100], [50, 100, 300])
        assert (found.value, found.low, found.high) == (0.5, 0.5, 3.0)

    @pytest.mark.parametrize(
        ("n", "outside"), [(7, 0), (8, 0), (10, 0), (11, 0), (12, 1), (25, 5), (100, 36)]
    )
    def test_interval_leaves_out_few(self, n: int, outside: int) -> None:
        """The interval of 25 is from the 6th on: below it the median is in 0.4 % of all cases."""
        ours = [float(100 + i) for i in range(n)]
        found = stats.paired([100.0] * n, ours)
        assert (found.low, found.high) == (ours[outside] / 100, ours[n - 1 - outside] / 100)
