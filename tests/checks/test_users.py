# SPDX-License-Identifier: GPL-2.0-only
"""What users' kernels have is used: what a guest says of it is read, and all of it has to be there."""

import re

import pytest

from checks.memmap import matrix
from checks.memmap import test_users as users
from padlab.kernel import kconfig
from padlab.vm import machine
from padlab.vm.initramfs import GUEST

TOLD = [f"{name} {value}" for name, value in users.EXPECTED.items()]


def test_all_as_expected() -> None:
    assert users.problems(TOLD) == []


@pytest.mark.parametrize("name", users.EXPECTED)
def test_what_is_other_or_missing_is_a_problem(name: str) -> None:
    others = [line for line in TOLD if not line.startswith(f"{name} ")]
    assert users.problems(others) == [f"{name}: not tried, not {users.EXPECTED[name]}"]
    assert users.problems([*others, f"{name} 12345"]) == [f"{name}: 12345, not {users.EXPECTED[name]}"]


def test_the_guest_says_all_that_is_expected_and_no_more() -> None:
    script = (GUEST / "users.sh").read_text()
    assert set(re.findall(r"^\s*(?:did|settled) ([a-z-]+) ", script, re.MULTILINE)) == set(users.EXPECTED)


def test_efi_is_booted_with_much_and_little_memory() -> None:
    loaded = [machine.load(case.machine) for case in matrix.USERS if case.says]
    assert [efi.mib for efi in loaded] == [512, 2048, 3072, 6144]
    assert all(efi.firmware for efi in loaded)


def test_struct_pages_are_poisoned() -> None:
    """Of the command line nothing turns it off, and the kernel has it."""
    texts = [path.read_text() for path in users.CONFIG.files(series=True)]
    options = kconfig.parse_config("\n".join(texts))
    assert options["CONFIG_DEBUG_VM"] == options["CONFIG_DEBUG_VM_PGFLAGS"] == "y"
