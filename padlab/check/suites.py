# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's own test suites: KUnit, under UML and in a guest, and the kselftests."""

from __future__ import annotations

from padlab.check import guests, ktap
from padlab.check.guests import KMEMLEAK_OFF, SMT
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome, judge
from padlab.core.paths import LOGS
from padlab.kernel import build as builds
from padlab.measure import hugepages
from padlab.vm import boot as boots
from padlab.vm import machine
from padlab.vm.boot import BootSpec

# Two CPUs, whose clock counts instructions.
TIME = "two-cpus"
TIME_LIMIT_S = 600

# A node without memory, and a DIMM for it.
LATE = "late-node"


def kunit_uml() -> Outcome:
    """The kernel's own runner builds and runs it; its log has the KTAP."""
    top = guests.patched_tree()
    results = top / "obj-uml/test.log"
    results.unlink(missing_ok=True)
    log = LOGS / "kunit-uml.log"
    builds.kunit_uml(
        "KUnit under UML",
        ["run", "--build_dir=obj-uml", "--raw_output=all"],
        "kunit-uml.config",
        log=log,
        ok=(0, 1),
    )
    if not results.exists():
        detail = builds.compiler_errors(log.read_text().splitlines())
        raise LabError("KUnit under UML", "it did not get to run", "see its log", log=log, detail=detail)
    outcome = ktap.parse(results.read_text(errors="replace").splitlines(), top)
    return outcome + Outcome(log=results)


def _in_guest(role: str, config: str, append: tuple[str, ...] = ()) -> Outcome:
    # Some cases want a CPU that is offline, some a pool of huge pages.
    given = ["maxcpus=7", "hugepages=64", *append]
    if config == "debug":
        # Threads lose their CPU anywhere.  The perf kernel is as distributions have it, and
        # the realtime kernel has no choice.
        given.append("preempt=full")
    result = guests.boot(SMT, "patched", config, role, tuple(given))
    outcome = guests.results(result)
    # A failed case also makes its guest's status one; say that once.
    if outcome.failures:
        return outcome
    return outcome + judge(guests.trouble(result), result.log)


def kunit(config: str) -> Outcome:
    return _in_guest("kunit", config)


def selftests(config: str) -> Outcome:
    # One of them looks at what the kernel made of its command line.
    threads = "abc" if config == "debug" else "50%"
    return _in_guest("selftest", config, (f"deferred_init_threads={threads}",))


def selftests_of_time(config: str) -> Outcome:
    """With a clock of instructions, to which the host's load is nothing.

    8 ns each: time then goes by about as fast as they are emulated.  A debug kernel
    executes so many more that the commands by which a test looks at its figures would
    take a tenth of the time that these are about: 2 ns each there.
    """
    build, initrd = guests.ready("patched", "selftest", config)
    spec = BootSpec(
        machine.load(TIME),
        "patched",
        config,
        exact=True,
        all_cpus=True,
        shift=1 if config == "debug" else 3,
        append=("loglevel=7", "padlab_tests=time", KMEMLEAK_OFF),
        initrd=initrd,
        time_limit_s=TIME_LIMIT_S,
    )
    result = boots.boot(spec, build)
    return guests.results(result) + judge(guests.trouble(result), result.log)


def selftests_of_reports() -> Outcome:
    """They look for reports themselves, of which no other boot may have any."""
    append = ("maxcpus=7", "padlab_tests=report", KMEMLEAK_OFF)
    return guests.results(guests.boot(SMT, "patched", "debug", "selftest", append))


def selftests_of_huge_pages(config: str) -> Outcome:
    """With memory for pages of 1 GiB; all of them, so that none is skipped unnoticed."""
    result = guests.boot(hugepages.MACHINE, "patched", config, "selftest", ("padlab_tests=huge",))
    outcome = guests.results(result)
    return outcome + judge([*outcome.skips, *guests.trouble(result)], result.log)


def selftests_of_nodes(config: str) -> Outcome:
    """With a node whose only memory can be taken away; none is skipped unnoticed."""
    result = guests.boot(LATE, "patched", config, "selftest", ("padlab_tests=nodes",))
    outcome = guests.results(result)
    return outcome + judge([*outcome.skips, *guests.trouble(result)], result.log)
