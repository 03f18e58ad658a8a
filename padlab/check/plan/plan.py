# SPDX-License-Identifier: GPL-2.0-only
"""The checks of ``./lab test``, quickest first, with what each may take.

Builds are checks of their own, made when first needed.  What depends on one that failed fails at once and
says so.  Checks that are to be alone come before those that boot, which run at the same time.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

from padlab.check.base import expected, guests
from padlab.check.base.guests import ARM64, S390X, SMALL, SMT
from padlab.check.base.runner import Check
from padlab.check.deferred import deferred, nextkernel
from padlab.check.fresh import fresh
from padlab.check.guest import costs, endings, races, suites
from padlab.check.kit import proof
from padlab.check.memmap import matrix, memmap, soak
from padlab.check.others import outside
from padlab.check.source import building, fences, lab, robot
from padlab.check.users import used
from padlab.check.userspace import charge, fuzz, memblock, spin
from padlab.core import aptsuite
from padlab.core.outcome import Outcome
from padlab.kernel import kconfig
from padlab.kernel.kconfig import DEBUG, KASAN, PERF, RT, Config
from padlab.measure import growth, hugepages, structpages, zeroing
from padlab.vm import boot as boots
from padlab.vm import machine

# Seconds, several times what two slow cores need.
LINT_LIMIT_S = 300
TESTS_LIMIT_S = 900
FUZZ_LIMIT_S = 1200
BUGS_LIMIT_S = 1200
MODELS_LIMIT_S = 900
MODELS_MIB = 512
NATIVE_MIB = 2048
NATIVE_LIMIT_S = 300
FRESH_LIMIT_S = 3 * 3600
MAKING_S = 120  # an image for a guest, and its modules
OTHERS_MAKING_S = 300  # programs that others wrote
SET_UP_LIMIT_S = 1800
RANDOM_MACHINES = 40
RANDOM_LIMIT_S = 60

# The engine in userspace, with random jobs.
BUGS = "engine in userspace finds every seeded fault"
QUICK_JOBS = 200_000
FULL_JOBS = {"asan": 1_500_000, "tsan": 1_000_000}


def quick() -> list[Check]:
    jobs = dict.fromkeys(fuzz.SANITIZERS, QUICK_JOBS)
    return _of_base([*_lab(), *building.sources(), *_native(), *_userspace(jobs)])


def full(everything: bool = False) -> list[Check]:
    """``./lab test``; ``everything`` adds what takes long: see matrix.py."""
    return _of_base(of_any_base(everything))


def _of_base(checks: list[Check]) -> list[Check]:
    """Without what the base in use has not: see expected.py."""
    return [check for check in checks if not expected.why_left_out(check.name)]


def of_any_base(everything: bool = False) -> list[Check]:
    """The same with what the base in use has not."""
    return [
        *_lab(),
        *building.sources(everything),
        *_native(),
        *_models(everything),
        *_userspace(FULL_JOBS),
        Check(BUGS, fuzz.find_all, BUGS_LIMIT_S, alone=True, sees=fuzz.seen_by_find),
        Check("memblock in userspace", memblock.check, building.BUILD_LIMIT_S, alone=True),
        Check("KUnit, one CPU (UML)", suites.kunit_uml, building.BUILD_LIMIT_S, alone=True),
        *building.kernels(everything),
        *building.shared(),
        *building.compilers(everything),
        *(robot.checks() if everything else ()),
        *building.installing(everything),
        # It changes the environment, which all threads share.
        Check("a missing QEMU is reported", endings.no_qemu, MAKING_S, alone=True),
        *_suites(everything),
        *_debug_kernel(everything),
        *_deferred(everything),
        *_memmap(everything),
        *_costs(everything),
        *(_others() if everything else ()),
        *_users(everything),
        _guest("a guest that hangs is ended and reported", endings.hang, endings.MACHINE),
        _guest("a guest that panics is reported", endings.panic, endings.MACHINE),
        *(_fresh() if everything else ()),
    ]


def _lab() -> Iterator[Check]:
    for name, run in lab.LINT.items():
        yield Check(name, run, LINT_LIMIT_S)
    for part in lab.PARTS:
        yield Check(part, partial(lab.tests, part), TESTS_LIMIT_S)


def _fresh() -> Iterator[Check]:
    for suite in aptsuite.SUITES:
        run = partial(fresh.proof, suite)
        yield Check(f"the README's commands on a bare {suite}", run, FRESH_LIMIT_S, alone=True)
    yield Check("a kit where nothing is installed", proof.check, SET_UP_LIMIT_S, alone=True)


def _userspace(jobs: dict[str, int]) -> Iterator[Check]:
    for sanitizer, name in fuzz.SANITIZERS.items():
        run = partial(fuzz.fuzz, sanitizer, jobs[sanitizer])
        yield Check(f"engine in userspace, {name}", run, FUZZ_LIMIT_S, alone=True)


def _models(everything: bool) -> Iterator[Check]:
    for kind, name in {
        spin.MEMORY: "models: what the model of memory allows",
        spin.JOBS: "models: all that the threads of a job may do",
        spin.LEFT_OUT: "models: each piece of the handshakes is needed",
    }.items():
        run, sees = partial(spin.check, kind, everything), partial(spin.seen, kind, everything)
        yield Check(name, run, MODELS_LIMIT_S, mib=MODELS_MIB, sees=sees)


def _native() -> Iterator[Check]:
    for name, run in {
        "struct pages in userspace, all ways": structpages.check_stores,
        "huge pages in userspace are zeroed": zeroing.check,
        "CPU time of helpers in userspace": charge.check,
    }.items():
        yield Check(name, run, NATIVE_LIMIT_S, mib=NATIVE_MIB)


def _guest(
    name: str,
    run: Callable[[], Outcome],
    *machines: str,
    config: Config = PERF,
    role: str = "boot",
    boots_each: int = 1,
    exact: bool = False,
    mib: int = 0,
) -> Check:
    """A check that boots ``machines``, one after the other; ``mib`` if that takes more than their memmaps."""
    booted = [machine.load(name) for name in machines]
    boots_s = boots_each * sum(guests.limit_s(target, config, role, exact) for target in booted)
    mib = mib or max(map(boots.host_mib, booted))
    cpus = 1 if exact else max(target.cpus for target in booted)
    return Check(name, run, MAKING_S + boots_s, mib=mib, cpus=cpus)


def _suites(everything: bool) -> Iterator[Check]:
    """The longest first, so that none is left to run by itself at the end."""
    for config in (RT, DEBUG) if everything else ():
        yield _selftests("kselftests", partial(suites.selftests, config), SMT, config)
    if everything:
        yield from _selftests_elsewhere(DEBUG)
        yield _kunit(RT)
    yield _selftests("kselftests", partial(suites.selftests, PERF), SMT, PERF)
    yield from _selftests_elsewhere(PERF)
    yield from map(_kunit, (PERF, DEBUG))
    yield _guest(
        "KUnit, pages that are refused (debug)", suites.kunit_refused, SMT, config=DEBUG, role="kunit"
    )
    name = "kselftests that need a debug kernel"
    yield _selftests(name, partial(suites.selftests, DEBUG, suites.DEBUGGING), SMT, DEBUG)
    yield _selftests(
        "kselftests that provoke reports", partial(suites.selftests_of, "report", DEBUG), SMT, DEBUG
    )
    for name in suites.CONTRACTS:
        run = partial(suites.selftests_of, "contract", DEBUG, only=name)
        yield _selftests(f"kselftest that provokes a report, {name}", run, SMT, DEBUG)
    yield _guest("KUnit, arm64", partial(suites.kunit, kconfig.ARM64), ARM64, role="kunit")
    if everything:
        yield _guest("KUnit, s390x", partial(suites.kunit, kconfig.S390X), S390X, role="kunit")
        yield _guest("kselftests, arm64", partial(suites.selftests, kconfig.ARM64), ARM64, role="selftest")


def _kunit(config: Config) -> Check:
    run = partial(suites.kunit, config)
    return _guest(f"KUnit, {SMT} ({config})", run, SMT, config=config, role="kunit")


def _selftests_elsewhere(config: Config) -> Iterator[Check]:
    """Those that want a machine of their own."""
    run = partial(suites.selftests_of, "huge", config)
    mib = _whole(hugepages.MACHINE)
    yield _selftests("kselftests of huge pages", run, hugepages.MACHINE, config, mib)
    run = partial(suites.selftests_of, "caches", config, only="test_helper_cpus")
    yield _selftests("kselftests of where helpers go", run, suites.CACHES, config)
    title = f"kselftests that measure time, {suites.TIME} ({config})"
    run, mib = partial(suites.selftests_of, "time", config), boots.host_mib(machine.load(suites.TIME))
    yield Check(title, run, MAKING_S + suites.TIME_LIMIT_S, mib=mib)


def _selftests(title: str, run: Callable[[], Outcome], name: str, config: Config, mib: int = 0) -> Check:
    return _guest(f"{title}, {name} ({config})", run, name, config=config, role="selftest", mib=mib)


def _whole(name: str) -> int:
    """Of the host's memory, for a guest that touches all of its own."""
    loaded = machine.load(name)
    return boots.host_mib(loaded) + loaded.mib


def _debug_kernel(everything: bool) -> Iterator[Check]:
    for name, config in product(deferred.MACHINES, (DEBUG, RT)) if everything else ((SMT, DEBUG),):
        run = partial(deferred.debug_boot, name, config)
        yield _guest(f"boot, {name} ({config})", run, name, config=config)
    if everything:
        yield _guest(f"huge pages, {SMT} (kasan)", suites.kasan, SMT, config=KASAN, role="selftest")
    for title, name, role, check in races.checks() if everything else ():
        mib = _whole(name) if role == "selftest" else 0
        yield _guest(f"{title}, {name} (kcsan)", check, name, config=races.CONFIG, role=role, mib=mib)


def _deferred(everything: bool) -> Iterator[Check]:
    for name in deferred.MACHINES:
        yield _guest(f"placement, {name}", partial(deferred.placed, name), name)
    for name in deferred.START_MACHINES:
        yield _guest(f"helpers start by a wake-up, {name}", partial(deferred.woken, name), name)
    for value in deferred.PARAMETERS:
        yield _guest(value.title, partial(deferred.parameter, value), value.machine, config=value.config)
    if everything and expected.table().handover:
        name, config, boots_each = nextkernel.MACHINE, nextkernel.CONFIG, nextkernel.BOOTS
        yield _guest(nextkernel.TITLE, nextkernel.restores, name, config=config, boots_each=boots_each)


def _memmap(everything: bool) -> Iterator[Check]:
    yield _guest("memmap oracle, a zone that grew on demand", memmap.grown, memmap.GROWN, boots_each=4)
    for case in matrix.cases(everything):
        run, mib = partial(memmap.case, case), case.host_mib()
        yield _guest(case.title, run, case.machine, config=case.config, boots_each=2, mib=mib)
    if everything:
        limit_s = MAKING_S + RANDOM_MACHINES * 2 * RANDOM_LIMIT_S
        run = partial(soak.check, RANDOM_MACHINES)
        yield Check("memmap oracle, random machines", run, limit_s, mib=soak.MAX_MIB // 8)
    yield _guest("memmap oracle, no page left for the jobs", memmap.none_left, SMT, boots_each=2)
    for name in ("", *memmap.FAULTS):
        title = f" catches {name}" if name else ", no fault in the faulty kernel"
        yield _guest(f"memmap oracle{title}", partial(memmap.fault, name), SMT, boots_each=2)


def _users(everything: bool) -> Iterator[Check]:
    """Users' kernels (configs/users.config) on both sides; ``everything`` adds what uses them."""
    guest = partial(_guest, config=used.CONFIG)
    for case in used.CASES:
        yield guest(case.title, partial(memmap.case, case), case.machine, boots_each=2)
    if everything:
        title = "what users' kernels have is used, as in stock"
        yield guest(title, used.check, used.MACHINE, boots_each=2 * used.KERNELS)


def _costs(everything: bool) -> Iterator[Check]:
    exact = partial(_guest, exact=True)
    yield Check("weakly ordered stores are fenced", fences.check, building.BUILD_LIMIT_S, alone=True)
    name, config = costs.LOCK_MACHINE, costs.LOCK_CONFIG
    yield _guest("zone->lock, 64 GiB", costs.zone_lock, name, config=config, boots_each=2)
    title = "one thread costs no more instructions than stock"
    yield exact(title, costs.one_thread, SMALL, boots_each=3)
    low = [f"low-memory-{gib}" for gib in growth.LOW_GIB]
    sizes = [f"memory-{gib}" for gib in growth.SIZES_GIB]
    kernels = len(growth.KERNELS)
    yield exact("what grows with memory", costs.growing, *sizes, *low, boots_each=kernels)
    for config in (*matrix.OTHER_CONFIGS, *matrix.MORE_CONFIGS) if everything else ():
        title = f"no page costs more instructions than stock's ({config})"
        run = partial(costs.never_slower, config)
        mib = _whole(low[-1]) // 4  # KASAN has a byte for each eight
        yield exact(title, run, *low, config=config, boots_each=kernels, mib=mib)
    if everything:
        title, config = "a struct page of a device costs less than half of stock's", kconfig.FEATURES
        yield exact(title, costs.device, costs.DEVICE_MACHINE, config=config, boots_each=2)
        title = "memory that is added costs less than a third of stock's"
        yield exact(title, costs.added, costs.ADDED_MACHINE, boots_each=4)
    title = "a job of 1 GiB costs its caller little, and a helper for each chunk"
    yield exact(title, costs.job, hugepages.MACHINE, boots_each=2, mib=_whole(hugepages.MACHINE))


def _others() -> Iterator[Check]:
    mib, cpus = _whole(outside.MACHINE), machine.load(outside.MACHINE).cpus
    for suite in outside.suites():
        limit_s = OTHERS_MAKING_S + 2 * outside.TRIES * outside.limit_s(outside.names(suite))
        title = f"kselftests of others, {suite}: as in stock ({outside.CONFIG})"
        yield Check(title, partial(outside.check, suite), limit_s, mib=mib, cpus=cpus)
    limit_s = OTHERS_MAKING_S + 2 * outside.STRESS_LIMIT_S
    yield Check("stress-ng (debug)", outside.stress, limit_s, mib=_whole(outside.STRESS_MACHINE))
