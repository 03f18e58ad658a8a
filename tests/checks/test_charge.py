# SPDX-License-Identifier: GPL-2.0-only
"""The check of helpers' CPU time in userspace: each part that its program checks counts."""

from pathlib import Path

import pytest

from checks.engine import charge
from padlab.core.errors import LabError
from tests.measure.test_tools import program


def test_each_part_counts(tmp_path: Path) -> None:
    lines = ["checked 10 steps, seed 1", "checked 9 places", "ok"]
    said = "\n".join(f"echo 'charge_check: {line}'" for line in lines)
    assert charge.check_program(program(tmp_path, said, "charge_check")).passed == 2
    with pytest.raises(LabError, match="no result"):
        charge.check_program(program(tmp_path, said.rpartition("\n")[0], "charge_check"))
