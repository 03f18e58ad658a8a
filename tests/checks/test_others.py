# SPDX-License-Identifier: GPL-2.0-only
"""Test programs of others on two kernels: what is run again, and what is worse."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from checks import guests
from checks.selftests import others
from checks.selftests.others import Ran
from padlab.core.errors import LabError
from padlab.vm import channel, initramfs, machine

COMMAND_LINE = 2048  # characters that the kernel takes

GUEST = """\
running mm/cow
ktap mm/cow ok 1 a
ktap mm/cow not ok 2 b
ktap mm/cow ok 3 c # SKIP no memory
ktap mm/cow # ok 4 d
status mm/cow 1
jobs mm/cow 3
running mm/thuge-gen
status mm/thuge-gen 4
jobs mm/thuge-gen 0
done 0
"""
GOOD, FEWER, SKIPPED, BAD = Ran(2, 3), Ran(2, 2), Ran(1, 3), Ran(0, 3)


def test_what_a_guest_said_by_program() -> None:
    guest = channel.Guest(GUEST)
    assert others.read(guest) == {"mm/cow": Ran(0, 2), "mm/thuge-gen": Ran(1, 0)}
    assert others.jobs(guest) == 3
    assert GOOD > FEWER > SKIPPED > BAD


def test_all_programs_fit_on_a_command_line() -> None:
    own = " ".join(machine.load(others.MACHINE).append)
    for suite, names in others.suites().items():
        chosen = " ".join(others.arguments("patched", names))
        assert len(own) + len(chosen) < COMMAND_LINE - 512, suite
        assert "threshold" in chosen and "threshold" not in str(others.arguments("stock", ["mm/cow"]))


@pytest.fixture
def tries(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], list[Ran]]:
    """By kernel and program, what comes of its tries, the last of them again and again."""
    given: dict[tuple[str, str], list[Ran]] = {}

    def boot(kernel: str, chosen: Sequence[str]) -> SimpleNamespace:
        ran = {}
        for name in chosen:
            left = given[kernel, name]
            ran[name] = left.pop(0) if len(left) > 1 else left[0]
        return SimpleNamespace(guest=ran, guest_log=Path("x"), trouble=())

    monkeypatch.setattr(others, "_boot", boot)
    monkeypatch.setattr(others, "read", lambda guest: guest)
    monkeypatch.setattr(others, "jobs", len)
    names = lambda: list({name: 0 for _, name in given})  # noqa: E731
    monkeypatch.setattr(others, "suites", lambda: dict.fromkeys(("mm", "cgroup"), names()))
    return given


@pytest.mark.parametrize(
    ("stock", "patched", "again"),
    [
        ([GOOD], [GOOD], 0),
        ([GOOD], [BAD, GOOD], 1),
        ([BAD, GOOD], [BAD], 0),
        ([GOOD], [FEWER, FEWER, GOOD], 2),
        ([SKIPPED], [GOOD], 0),
    ],
)
def test_only_what_is_worse_runs_again(
    tries: dict[tuple[str, str], list[Ran]], stock: list[Ran], patched: list[Ran], again: int
) -> None:
    tries["stock", "a"], tries["patched", "a"] = [*stock], [*patched]
    tries["stock", "b"] = [GOOD, BAD, BAD]
    tries["patched", "b"] = [GOOD, BAD, BAD]
    outcome = others.check("mm")
    assert not outcome.failures and tries["patched", "b"] == [BAD, BAD]
    assert len(tries["patched", "a"]) == max(len(patched) - again, 1)


def test_what_is_never_as_good_is_worse(tries: dict[tuple[str, str], list[Ran]]) -> None:
    tries["stock", "a"], tries["patched", "a"] = [GOOD, BAD], [FEWER, BAD, BAD]
    tries["stock", "b"], tries["patched", "b"] = [BAD], [BAD]
    outcome = others.check("mm")
    assert outcome.failures == ("a: passes, 3 cases pass on stock; passes, 2 cases pass on patched",)
    assert outcome.skips == ("b: fails, 3 cases pass on stock",) and not outcome.passed


def test_jobs_and_reports_count(
    tries: dict[tuple[str, str], list[Ran]], monkeypatch: pytest.MonkeyPatch
) -> None:
    tries["stock", "a"], tries["patched", "a"] = [GOOD], [GOOD]
    monkeypatch.setattr(others, "jobs", lambda _guest: 0)
    assert "no helper" in others.check("mm").failures[0] and not others.check("cgroup").failures
    quiet = others._boot

    def boot(kernel: str, chosen: Sequence[str]) -> SimpleNamespace:
        return SimpleNamespace(**vars(quiet(kernel, chosen)) | {"trouble": (f"{kernel}: BUG 1",)})

    monkeypatch.setattr(others, "_boot", boot)
    assert others.check("cgroup").failures == ("patched: BUG 1",)


def test_a_program_that_did_not_run_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    result = SimpleNamespace(guest=channel.Guest(GUEST), guest_log=Path("x"))
    monkeypatch.setattr(guests, "boot", lambda *args, **how: result)
    with pytest.raises(LabError, match="did not run"):
        others.check("mm")


def test_reports_are_compared_without_their_numbers() -> None:
    stock = ["WARNING: CPU: 1 PID: 20 at mm/memory.c:100 zap+0x10/0x20"]
    same = "WARNING: CPU: 3 PID: 7 at mm/memory.c:102 zap+0x14/0x20"
    new = "WARNING: CPU: 1 PID: 20 at mm/folio_zero.c:10 zero+0x1/0x2"
    assert guests.new_reports(stock, [same, new, new]) == [new]
    bad = "BUG: Bad page state in process init  pfn:{}"
    assert guests.new_reports([bad.format("11b240")], [bad.format("1a2c0f")]) == []


WELL = {str(nr): 0 for nr in range(others.STRESSORS)}


def test_all_have_to_run_and_to_pass() -> None:
    assert others.stress_problems(WELL, WELL) == []
    assert others.stress_problems(WELL, WELL | {"1": 2}) == [
        "1: patched: failed (status 2), and passes on stock"
    ]
    assert others.stress_problems(WELL | {"1": 3}, WELL | {"1": 3}) == ["1: stock: no resources (status 3)"]
    some = dict(list(WELL.items())[:-1])
    assert others.stress_problems(WELL, some) == [
        f"patched: {others.STRESSORS - 1} of {others.STRESSORS} stressors ran"
    ]


def test_the_role_has_as_many_stressors() -> None:
    script = (initramfs.GUEST / "stress.sh").read_text()
    assert sum(line.startswith("stress ") for line in script.splitlines()) == others.STRESSORS
    assert script.count("|| stress ") == 1
