# SPDX-License-Identifier: GPL-2.0-only
"""The list of checks, and what those that need a build do when it failed."""

from functools import partial

import pytest

from padlab.check.base import guests
from padlab.check.base.runner import Check
from padlab.check.guest import suites
from padlab.check.memmap import matrix
from padlab.check.plan import plan
from padlab.core import paths
from padlab.core.errors import LabError
from padlab.core.threads import once
from padlab.kernel import kconfig
from padlab.kernel.kconfig import PERF, Config

SETS = {"quick": plan.quick, "full": plan.full, "everything": partial(plan.full, True)}


@pytest.mark.parametrize("name", SETS)
def test_names_are_of_one_check_each(name: str) -> None:
    names = [check.name for check in SETS[name]()]
    assert len(set(names)) == len(names)


def test_each_set_has_what_a_smaller_one_has() -> None:
    quick, full, everything = ({check.name for check in checks()} for checks in SETS.values())
    assert quick < full < everything
    assert "build stock (kasan)" in everything - full


def test_what_takes_all_cores_is_alone() -> None:
    alone = {check.name for check in plan.full() if check.alone}
    for part in ("build ", "KUnit, one CPU (UML)", "engine in userspace"):
        of_kind = {check.name for check in plan.full() if part in check.name}
        assert of_kind and of_kind <= alone, part
    others = ("memmap", "boot,", "kselftests", "placement", "struct pages", "huge pages")
    assert not {name for name in alone if name.startswith(others)}


def test_builds_come_before_what_boots() -> None:
    checks = plan.full(True)
    builds = [nr for nr, check in enumerate(checks) if check.name.startswith("build ")]
    boots = [
        nr for nr, check in enumerate(checks) if check.mib > plan.NATIVE_MIB or check.name.startswith("boot,")
    ]
    assert max(builds) < min(boots)


def test_all_that_boots_says_what_it_takes() -> None:
    checks = {check.name: check for check in plan.full(True)}
    for name, check in checks.items():
        no_boot = (
            "lint",
            "tests of",
            "models",
            "kernel-doc",
            "Coccinelle",
            "Sphinx",
            "stock and patched",
        )
        if not check.alone and not name.startswith(no_boot):
            assert check.mib > 1000, name
    by_name = {check.name: check for check in plan.of_any_base(True)}
    for case in matrix.cases(True):
        assert by_name[case.title].mib == case.host_mib()


def test_limits_leave_room_for_a_childs_own() -> None:
    """A limit of a boot or a program says more than one of its check."""

    def named(part: str) -> Check:
        return next(check for check in plan.full() if part in check.name)

    assert named("kselftests that measure time").limit_s > suites.TIME_LIMIT_S
    small = guests.machine.load(guests.SMALL)
    assert named(f"placement, {guests.SMALL}").limit_s > guests.limit_s(small, PERF, "trace")


def test_a_kselftest_that_hangs_is_ended_before_its_guest() -> None:
    settings = paths.ROOT / "linux/tools/testing/selftests/padata/settings"
    assert settings.read_text() == f"timeout={kconfig.TEST_S}\n"
    target = guests.machine.load(guests.SMT)
    for config in (PERF, kconfig.RT, kconfig.KCSAN):
        assert guests.limit_s(target, config, "selftest") > config.test_s >= kconfig.TEST_S


def test_a_failed_build_fails_what_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def broken(kernel: str, config: Config) -> None:
        tried.append((kernel, config))
        raise LabError("building", "it does not compile", "fix it")

    monkeypatch.setattr(guests.builds, "ensure_build", broken)
    # One that has not built anything yet.
    monkeypatch.setattr(guests, "build", once(lambda *args: guests.builds.ensure_build(*args)))
    check = next(check for check in plan.full() if check.name == "build patched (perf)")
    with pytest.raises(LabError, match="building: it does not compile"):
        check.run()
    for action in (suites.kunit, suites.selftests):
        with pytest.raises(LabError, match="its build failed: it does not compile"):
            action(PERF)
    assert tried == [("patched", PERF)]
