# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's own test suites: KUnit, under UML and in a guest, and the kselftests."""

from checks import expected, guests
from checks.guests import KMEMLEAK_OFF, SMT
from padlab.core import paths
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome, judge
from padlab.kernel import build as builds
from padlab.kernel import tree
from padlab.kernel.kconfig import DEBUG, KASAN, Config
from padlab.measure import hugepages
from padlab.vm import boot as boots
from padlab.vm import ktap

# Two CPUs, whose clock counts instructions.
TIME = "two-cpus"
TIME_LIMIT_S = 600

# Nodes with more than one last-level cache.
CACHES = "caches"

UML_LIMIT_S = 300  # the kernel's own default

# What only a debug kernel has: faults of allocations, a disk in memory, core scheduling.
DEBUGGING = ("test_no_memory", "test_core_sched")

# Some cases want a CPU that is offline, some a pool of huge pages.
GIVEN = ("maxcpus=7", "hugepages=64")
# Suites that are part of a kernel run at boot, but only if asked for.
KUNIT = "kunit.enable=1"


def kunit_uml(do: str = "run") -> Outcome:
    """The kernel's own runner builds and runs it, or with "exec" runs it; its log has the KTAP."""
    other = guests.instead_of("patched")
    kernel, given, limit_s = (
        (other.other, other.args, other.limit_s) if other else ("patched", (), UML_LIMIT_S)
    )
    top = tree.ensure_tree(kernel)
    results = top / "obj-uml/test.log"
    results.unlink(missing_ok=True)
    log = paths.base().logs / "kunit-uml.log"
    args = [do, "--build_dir=obj-uml", "--raw_output=all", f"--timeout={int(limit_s)}"]
    args += [f"--kernel_args={argument}" for argument in given]
    builds.kunit_uml("KUnit under UML", args, "kunit-uml.config", log=log, ok=(0, 1), kernel=kernel)
    if not results.exists():
        detail = builds.compiler_errors(log.read_text().splitlines())
        raise LabError("KUnit under UML", "it did not get to run", "see its log", log=log, detail=detail)
    outcome = ktap.parse(results.read_text(errors="replace").splitlines(), top)
    return outcome + Outcome(log=results)


def _selftests(config: Config, *append: str) -> Outcome:
    append = (*GIVEN, *append, *preempt(config))
    return _judged(guests.boot(guests.machine_of(config), "patched", config, "selftest", append=append))


def preempt(config: Config, role: str = "") -> tuple[str, ...]:
    """In a kernel that checks threads lose their CPU anywhere; for KUnit in any, on some bases.

    The perf kernel is as distributions have it, and the realtime kernel has no choice.
    """
    always = role == "kunit" and expected.table().kunit_preempts
    return ("preempt=full",) if config.checks or always else ()


def _judged(result: boots.BootResult) -> Outcome:
    outcome = guests.results(result)
    # A failed case also makes its guest's status one; say that once.
    if outcome.failures:
        return outcome
    return outcome + judge(guests.trouble(result), result.log)


def _whole(result: boots.BootResult) -> Outcome:
    """The guest has all that its tests need, so none is skipped unnoticed."""
    outcome = guests.results(result)
    return outcome + judge([*outcome.skips, *guests.trouble(result)], result.log)


def selftests(config: Config, only: tuple[str, ...] = ()) -> Outcome:
    if only:
        return _selftests(config, f"padlab_only={','.join(only)}")
    # They would bring the last CPU online, which the arm64 kernel cannot.
    online = ("maxcpus=8",) if config.arch.foreign else ()
    return _selftests(config, *online)


def kasan() -> Outcome:
    """Deferred init, then jobs that zero huge pages."""
    return _judged(
        guests.boot(SMT, "patched", KASAN, "selftest", append=(*GIVEN, "padlab_only=test_huge_pages"))
    )


def _timed(config: Config, tests: str) -> Outcome:
    """With a clock of instructions, to which the host's load is nothing.

    8 ns each: time then goes by about as fast as they are emulated.  A debug kernel
    executes so many more that the commands by which a test looks at its figures would
    take a tenth of the time that these are about: 2 ns each there.
    """
    append, shift = ("loglevel=7", tests, KMEMLEAK_OFF), 1 if config.checks else 3
    return _judged(
        guests.boot(
            TIME,
            "patched",
            config,
            "selftest",
            append=append,
            time_limit_s=TIME_LIMIT_S,
            exact=True,
            all_cpus=True,
            shift=shift,
        )
    )


def selftests_of(kind: str, config: Config, only: str = "") -> Outcome:
    """Those of a kind that has a machine or arguments of its own, or ``only`` that one of them."""
    tests = f"padlab_only={only}" if only else f"padlab_tests={kind}"
    if kind == "time":
        return _timed(config, tests)
    if kind in REPORTING:  # they look for reports themselves, of which no other boot may have any
        append = ("maxcpus=7", tests, KMEMLEAK_OFF)
        return guests.results(guests.boot(SMT, "patched", config, "selftest", append=append))
    # With memory for pages of 1 GiB, or caches in a node.
    name = {"huge": hugepages.MACHINE, "caches": CACHES}[kind]
    return _whole(guests.boot(name, "patched", config, "selftest", append=(tests,)))


def selftest(name: str, config: Config) -> Outcome:
    """``name`` is that of its file without the ending; its first word may say what kind it is."""
    kind = kind_of(name)
    if kind in ("time", "huge", *REPORTING):
        return selftests_of(kind, config, name)
    return _selftests(config, f"padlab_only={name}")


def kunit(config: Config) -> Outcome:
    append = (*GIVEN, KUNIT, *preempt(config, "kunit"))
    return _judged(guests.boot(guests.machine_of(config), "patched", config, "kunit", append=append))


# What the kernel says of a page that it does not take back.
REFUSED = "BUG: Bad page state"


def kunit_refused() -> Outcome:
    """In a boot of its own: such a page taints the kernel, and switches lockdep off."""
    append = (KUNIT, "kunit.filter_glob=memmap_bulk", "memmap_bulk_kunit.refused=1")
    result = guests.boot(SMT, "patched", DEBUG, "kunit", append=append)
    outcome, reports = guests.results(result), result.dmesg.trouble
    problems = [line for line in reports if not line.startswith(REFUSED)]
    problems += [line for line in outcome.skips if "refused" in line]
    if not reports:
        problems.append("no page was refused")
    return outcome + judge(problems, result.log)


TESTS = paths.LINUX / "tools/testing/selftests/padata"
REPORTING = ("report", "contract")
# Each in a boot of its own: lockdep makes one report.
CONTRACTS = sorted(path.stem for path in TESTS.glob("test_contract_*.sh"))


def kind_of(name: str) -> str:
    """Of a test: the first word of its name, which may say where it runs (selftest())."""
    return name.split("_")[1]
