# SPDX-License-Identifier: GPL-2.0-only
"""The checks of ``./lab test``, quickest first.

Builds are checks of their own, made when first needed.  What depends on one that
failed fails at once and says so.
"""

from __future__ import annotations

import os
import sys
import xml.etree.ElementTree as xml
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

from padlab import boot as boots
from padlab import build as builds
from padlab import (
    bench,
    growth,
    hugepages,
    initramfs,
    ktap,
    locks,
    machine,
    matrix,
    oracle,
    placement,
    progress,
    run,
    starts,
    tree,
    userspace,
)
from padlab.boot import BootResult, BootSpec
from padlab.errors import LabError
from padlab.outcome import Outcome, judge
from padlab.paths import LOGS, ROOT, TESTS
from padlab.testrun import Check

# Four CPUs on one node; and eight on two, which the rest of the checks use.
SMALL = "epyc-7551-kvm-small"
SMT = "smt-numa"
# Two CPUs, whose clock counts instructions.
TIME = "two-cpus"
DEBUG_MACHINES = (SMALL, SMT, "three-nodes", "node-without-cpus")
PLACEMENT_MACHINES = (SMALL, SMT, "three-nodes", "node-without-cpus")
START_MACHINES = (SMALL, "epyc-7551-kvm")
TEST_ROLES = ("kunit", "selftest", "ptlocks")
TESTS_TAKE = 8  # times the limit of a boot: one that hangs is ended by its own limit
# What a broken build does wrong, and what the oracle has to say of it.
FAULTS = {
    "skip-section": "uninitialised 65536",  # one section on each of two nodes
    "free-twice": "broken rule: overlap",
    "wrong-type": "types=22",
}

# The memmap is the same without it, and a boot a good deal shorter.
KMEMLEAK_OFF = "kmemleak=off"

# A tree of its own, so that no other build is disturbed by the faults.
tree.VARIANTS["faulty"] = tree.Variant(
    extra=tuple(sorted((TESTS / "faults").glob("*.patch"))), linked=True
)


# Random jobs for the engine in userspace.
QUICK_JOBS = 200_000
FULL_JOBS = {"asan": 1_500_000, "tsan": 1_000_000}


def quick() -> list[Check]:
    return [
        Check("tests of the lab", lab_tests),
        *_userspace_checks(dict.fromkeys(userspace.SANITIZERS, QUICK_JOBS)),
        Check("struct pages in userspace, all ways", bench.check_stores),
        Check("huge pages in userspace are zeroed", hugepages.check_zeroed),
    ]


def full(everything: bool = False) -> list[Check]:
    """``./lab test``; ``everything`` adds what takes long: see matrix.py."""
    return [
        Check("tests of the lab", lab_tests),
        *_userspace_checks(FULL_JOBS),
        *(
            Check(f"engine in userspace finds {name}", partial(userspace.find, bug))
            for name, bug in userspace.bugs().items()
        ),
        Check("struct pages in userspace, all ways", bench.check_stores),
        Check("huge pages in userspace are zeroed", hugepages.check_zeroed),
        Check(
            f"native time per page: at most {bench.MAX_RATIO} of stock's on one CPU, {bench.MAX_RATIO_MANY} on all",
            bench.time_gate,
        ),
        Check(
            f"native time to zero 1 GiB: two threads at most {hugepages.MAX_RATIO} of one, which is no slower than stock",
            hugepages.time_gate,
        ),
        Check("native time to zero a folio and to use it: no more than stock's", hugepages.first_use_gate),
        Check("KUnit, one CPU (UML)", kunit_uml),
        *_build_checks(everything),
        *(Check(f"KUnit, {SMT} ({config})", partial(kunit, config)) for config in ("perf", "debug")),
        *(Check(f"kselftests, {SMT} ({config})", partial(selftests, config)) for config in ("perf", "debug")),
        *(
            Check(f"kselftests that measure time, {TIME} ({config})", partial(selftests_of_time, config))
            for config in ("perf", "debug")
        ),
        Check(f"kselftests that provoke reports, {SMT} (debug)", selftests_of_reports),
        *(
            Check(f"kselftests of huge pages, {hugepages.MACHINE} ({config})", partial(selftests_of_huge_pages, config))
            for config in ("perf", "debug")
        ),
        Check("page table locks are split", split_locks),
        *(Check(f"boot, {name} (debug)", partial(debug_boot, name)) for name in DEBUG_MACHINES),
        *(Check(f"placement, {name}", partial(placed, name)) for name in PLACEMENT_MACHINES),
        *(Check(f"helpers start by a wake-up, {name}", partial(woken, name)) for name in START_MACHINES),
        *(Check(f"memmap oracle, {name}", partial(same_memmap, name)) for name in _small_machines()),
        Check("memmap oracle, a zone that grew on demand", grown_memmap),
        *(Check(case.title, partial(matrix_case, case)) for case in matrix.cases(everything)),
        Check("memmap oracle, allocation in interrupts meanwhile", interrupted),
        Check("zone->lock, 64 GiB", zone_lock),
        Check("memmap oracle, no fault in the faulty kernel", partial(fault, "")),
        *(Check(f"memmap oracle catches {name}", partial(fault, name)) for name in FAULTS),
        *(Check(f"deferred_init_threads={v}", partial(parameter, v, n)) for v, n in PARAMETERS),
        Check("one thread costs no more instructions than stock", exact_cost),
        Check("what grows with memory", growing),
        Check("a job of 1 GiB costs its caller little", job_cost),
        *(Check(name, check) for name, check in ENDINGS.items()),
    ]


def _userspace_checks(jobs: dict[str, int]) -> Iterator[Check]:
    for sanitizer, name in userspace.SANITIZERS.items():
        yield Check(f"engine in userspace, {name}", partial(userspace.fuzz, sanitizer, jobs[sanitizer]))


def _small_machines() -> list[str]:
    return [name for name in machine.names() if machine.load(name).small]


# The lab itself


def lab_tests() -> Outcome:
    report = LOGS / "pytest.xml"
    report.unlink(missing_ok=True)
    log = LOGS / "pytest.log"
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "--color=no", "-p", "no:cacheprovider"]
    with progress.step("tests of the lab") as step:
        run.stream(
            [*command, f"--junitxml={report}", str(TESTS)],
            step.update,
            what="tests of the lab",
            cwd=ROOT,
            log=log,
            ok=(0, 1),
        )
    return junit(report.read_text(), log)


def junit(text: str, log: Path) -> Outcome:
    """The outcome of a pytest run, from its JUnit report."""
    passed, failures, skips = 0, [], []
    for case in xml.fromstring(text).iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        bad = case.find("failure") if case.find("failure") is not None else case.find("error")
        skipped = case.find("skipped")
        if bad is not None:
            failures.append(f"{name}: {(bad.get('message') or 'error').strip()}")
        elif skipped is not None:
            skips.append(f"{name}: {skipped.get('message') or 'no reason given'}")
        else:
            passed += 1
    return Outcome(passed, tuple(failures), tuple(skips), log)


# Builds


@cache
def _build(kernel: str, config: str) -> builds.Build | LabError:
    try:
        return builds.ensure_build(kernel, config)
    except LabError as err:
        return err


def _built(kernel: str, config: str) -> builds.Build:
    build = _build(kernel, config)
    if isinstance(build, LabError):
        raise LabError(
            f"{kernel} ({config})", f"its build failed: {build.why}", build.todo, log=build.log
        )
    return build


def _build_checks(everything: bool) -> Iterator[Check]:
    some = [("patched", "perf"), ("stock", "perf"), ("patched", "debug"), ("stock", "debug")]
    some += [("faulty", "perf"), ("patched", "nosplit")]
    more = [(kernel, config) for config in matrix.MORE_CONFIGS for kernel in ("stock", "patched")]
    for kernel, config in some + (more if everything else []):
        yield Check(f"build {kernel} ({config})", partial(build_check, kernel, config))


def build_check(kernel: str, config: str) -> Outcome:
    build = _build(kernel, config)
    if isinstance(build, LabError):
        raise build
    return Outcome(1)


# Guests


def _ready(kernel: str, role: str) -> tuple[builds.Build, Path]:
    """What boot.prepare() gives, of builds that failed only once."""
    build = _built(kernel, "perf")
    return build, initramfs.ensure(build, role)


def _boot(
    name: str, kernel: str, config: str = "perf", role: str = "boot", append: tuple[str, ...] = ()
) -> BootResult:
    build = _built(kernel, config)
    target = machine.load(name)
    # Tests go on for some minutes after the boot.
    limit = boots.default_limit_s(target, config) * TESTS_TAKE if role in TEST_ROLES else None
    spec = BootSpec(
        target, kernel, config, append=append, initrd=initramfs.ensure(build, role), time_limit_s=limit
    )
    return boots.boot(spec, build)


def _trouble(result: BootResult) -> list[str]:
    """What no boot may have: kernel reports, and roles that did not end well."""
    found = list(result.dmesg.trouble)
    found += [f"the guest says: {value}" for key, value in result.dmesg.padlab if key == "trouble"]
    if "debug.config" in builds.CONFIGS[result.spec.config]:
        checked = {value for key, value in result.dmesg.padlab if key == "checked"}
        wanted = {"kmemleak", "lockdep"} - ({"kmemleak"} if KMEMLEAK_OFF in result.spec.append else set())
        found += [f"the guest did not check {what}" for what in sorted(wanted - checked)]
    if result.exit != "0" and not found:
        found.append(f"what ran in the guest ended with status {result.exit}")
    return found


def _ktap(result: BootResult) -> Outcome:
    """All KTAP that a guest printed, under "ktap-<name of the test>"."""
    # A test that was run and printed nothing is to be missed.
    outputs: dict[str, list[str]] = {
        value: [] for key, value in result.dmesg.padlab if key == "running"
    }
    for line in result.console:
        _, found, text = line.partition("PADLAB: ktap-")
        if found:
            name, _, rest = text.partition(" ")
            outputs.setdefault(name, []).append(rest)
    total = Outcome(log=result.log)
    for name, lines in outputs.items():
        outcome = ktap.parse(lines, tree.ensure_tree("patched"))
        total += Outcome(
            outcome.passed,
            tuple(f"{name}: {failure}" for failure in outcome.failures),
            tuple(f"{name}: {skip}" for skip in outcome.skips),
        )
    return total


def _tests_in_guest(role: str, config: str, append: tuple[str, ...] = ()) -> Outcome:
    # Some cases want a CPU that is offline, some a pool of huge pages.
    result = _boot(SMT, "patched", config, role, ("maxcpus=7", "hugepages=64", *append))
    outcome = _ktap(result)
    # A failed case also makes its guest's status one; say that once.
    if outcome.failures:
        return outcome
    return outcome + judge(_trouble(result), result.log)


def kunit(config: str) -> Outcome:
    return _tests_in_guest("kunit", config)


def selftests(config: str) -> Outcome:
    # One of them looks at what the kernel made of its command line.
    threads = {"perf": "50%", "debug": "abc"}[config]
    return _tests_in_guest("selftest", config, (f"deferred_init_threads={threads}",))


def selftests_of_time(config: str) -> Outcome:
    """With a clock of instructions, to which the host's load is nothing.

    8 ns each: time then goes by about as fast as they are emulated.  A debug kernel
    executes so many more that the commands by which a test looks at its figures would
    take a tenth of the time that these are about: 2 ns each there.
    """
    build = _built("patched", config)
    spec = BootSpec(
        machine.load(TIME),
        "patched",
        config,
        exact=True,
        all_cpus=True,
        shift=1 if config == "debug" else 3,
        append=("loglevel=7", "padlab_tests=time", KMEMLEAK_OFF),
        initrd=initramfs.ensure(build, "selftest"),
        time_limit_s=600,
    )
    result = boots.boot(spec, build)
    return _ktap(result) + judge(_trouble(result), result.log)


def selftests_of_reports() -> Outcome:
    """They look for reports themselves, of which no other boot may have any."""
    append = ("maxcpus=7", "padlab_tests=report", KMEMLEAK_OFF)
    return _ktap(_boot(SMT, "patched", "debug", "selftest", append))


def selftests_of_huge_pages(config: str) -> Outcome:
    """With memory for pages of 1 GiB; all of them, so that none is skipped unnoticed."""
    result = _boot(hugepages.MACHINE, "patched", config, "selftest", ("padlab_tests=huge",))
    outcome = _ktap(result)
    return outcome + judge([*outcome.skips, *_trouble(result)], result.log)


def split_locks() -> Outcome:
    """Threads that map huge pages in page tables of their own do not wait for each other."""
    configs = {"split": locks.CONFIG, "not split": "nosplit"}
    results = {
        what: _boot(locks.PTLOCK_MACHINE, "patched", config, "ptlocks", (KMEMLEAK_OFF,))
        for what, config in configs.items()
    }
    waits = {what: locks.waits(result.dmesg.padlab) for what, result in results.items()}
    for what, found in waits.items():
        progress.note(f"{what}: waited {sum(found.values())} times, {found}")
    trouble = [problem for result in results.values() for problem in _trouble(result)]
    return judge(trouble + locks.split_problems(waits["split"], waits["not split"]), results["split"].log)


def kunit_uml() -> Outcome:
    """The kernel's own runner builds and runs it; its log has the KTAP."""
    top = tree.ensure_tree("patched")
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


def debug_boot(name: str) -> Outcome:
    """Nothing to report on a kernel that reports everything, and all pages there."""
    result = _boot(name, "patched", "debug")
    return judge(_trouble(result), result.log)


def placed(name: str) -> Outcome:
    result = _boot(name, "patched", role="trace", append=("trace_event=padata:*",))
    trace = placement.parse(result.console)
    problems = _trouble(result) + placement.problems(trace)
    if not any(job.node is not None for job in trace.jobs.values()):
        problems.append("the trace has no job of deferred init")
    return judge(problems, result.log)


def woken(name: str) -> Outcome:
    """No thread has to be made for a helper: that is a fact also where times mean nothing."""
    found = starts.measure(machine.load(name), "patched", _ready("patched", "trace"))
    problems = [] if found.started else ["no helper started"]
    if found.made:
        problems.append(f"{found.made} threads were made while {found.started} helpers started")
    return judge(problems)


# The memmap


@cache
def _memmap_boot(name: str, kernel: str, config: str, append: tuple[str, ...]) -> BootResult:
    return _boot(name, kernel, config, "oracle", append)


def _memmap(name: str, kernel: str, config: str = "perf", append: tuple[str, ...] = ()) -> oracle.Report:
    result = _memmap_boot(name, kernel, config, append)
    if trouble := _trouble(result):
        raise LabError(
            f"memmap of {name} ({kernel})", trouble[0], "see the console", log=result.log, detail=trouble
        )
    return oracle.parse(result.console)


def same_memmap(name: str) -> Outcome:
    found = oracle.compare(_memmap(name, "stock"), _memmap(name, "patched"))
    return judge(found, _memmap_boot(name, "patched", "perf", ()).log)


def grown_memmap() -> Outcome:
    """Before SMP, something wants more than the node's first section: the zone has to grow.

    On one CPU, where it is the same memory every time.
    """
    name = "one-cpu"
    append = ("trace_event=padata:*", "trace_buf_size=300M")
    problems = oracle.compare(_memmap(name, "stock", append=append), _memmap(name, "patched", append=append))
    grown, plain = (
        sum(node.pages for node in _memmap_boot(name, "patched", "perf", args).dmesg.nodes)
        for args in (append, ())
    )
    if grown >= plain:
        problems.append(f"the zone did not grow: {grown} pages were left to initialise, {plain} else")
    return judge(problems)


def matrix_case(case: matrix.Case) -> Outcome:
    """Stock and patched agree, and the patched one went the way that it should."""
    need, free = boots.host_mib(machine.load(case.machine)), boots.available_mib()
    if need > free:
        return Outcome(skips=(f"needs {need} MiB of host memory for the memmap, {free} are free",))
    append = (*case.append, KMEMLEAK_OFF) if case.config == "debug" else case.append
    stock, patched = (_memmap(case.machine, kernel, case.config, append) for kernel in ("stock", "patched"))
    result = _memmap_boot(case.machine, "patched", case.config, append)
    found = oracle.compare(stock, patched, case.allowance, case.stock_breaks)
    return judge(found + matrix.problems(case, result), result.log)


def interrupted() -> Outcome:
    """Zones grow on demand, in interrupts, while the jobs of their own and other nodes run."""
    append = ("deferred_init_irq",)
    stock, ours = _memmap(SMT, "stock"), _memmap(SMT, "faulty", append=append)
    found = oracle.compare(stock, ours, matrix.IRQ_ALLOWANCE)
    result = _memmap_boot(SMT, "faulty", "perf", append)
    return judge(found + matrix.irq_problems(result.dmesg.text), result.log)


def zone_lock() -> Outcome:
    results = {
        kernel: _boot(locks.MACHINE, kernel, locks.CONFIG, "locks", (*locks.APPEND, KMEMLEAK_OFF))
        for kernel in ("stock", "patched")
    }
    stock, patched = (locks.taken(result) for result in results.values())
    progress.note(f"zone->lock taken during deferred init: stock {stock} times, patched {patched}")
    trouble = [problem for result in results.values() for problem in _trouble(result)]
    return judge(trouble + locks.problems(stock, patched), results["patched"].log)


def fault(name: str) -> Outcome:
    """The oracle is silent without a fault, and names the one that there is."""
    append = (f"deferred_init_fault={name}",) if name else ()
    found = oracle.compare(_memmap(SMT, "stock"), _memmap(SMT, "faulty", append=append))
    if not name:
        return judge(found)
    if any(FAULTS[name] in line for line in found):
        return Outcome(1)
    return judge([f"the oracle does not say '{FAULTS[name]}' but {found or 'nothing'}"])


# The kernel parameter: value, and the threads it gives on a node of four CPUs

PARAMETERS = (("1", 1), ("50%", 2), ("100", 4), ("0", None), ("1000%", None), ("abc", None))
DEFAULT_THREADS = 4


def parameter(value: str, threads: int | None) -> Outcome:
    result = _boot(SMALL, "patched", append=(f"deferred_init_threads={value}",))
    warned = f"deferred_init_threads: '{value}' is not a number of threads" in result.dmesg.text
    problems = _trouble(result)
    if warned != (threads is None):
        problems.append("the kernel warned" if warned else "the kernel did not warn")
    for node in result.dmesg.nodes:
        if node.threads != (threads or DEFAULT_THREADS):
            problems.append(f"node {node.node} had {node.threads} threads: {node.text}")
    if not result.dmesg.nodes:
        problems.append("the kernel printed no line for the node")
    return judge(problems, result.log)


# Cost

MAX_COST = 1.01  # of stock's


def exact_cost() -> Outcome:
    """Deferred init with one thread against stock, in guest instructions; and twice the same."""

    def once(kernel: str) -> BootResult:
        build = _built(kernel, "perf")
        spec = BootSpec(
            machine.load(SMALL),
            kernel,
            threads=None if kernel == "stock" else "1",
            exact=True,
            initrd=initramfs.ensure(build, "boot"),
        )
        return boots.boot(spec, build)

    stock, ours, again = once("stock"), once("patched"), once("patched")
    costs = [result.dmesg.deferred_ms for result in (stock, ours, again)]
    if not all(costs):
        return judge(["no time for deferred init on the console"], ours.log)
    progress.note(f"deferred init: stock {costs[0]} ms, patched {costs[1]} ms of a million instructions")
    problems = []
    if costs[1] > costs[0] * MAX_COST:
        problems.append(f"stock takes {costs[0]} million instructions, patched {costs[1]}")
    if costs[1] != costs[2]:
        problems.append(f"two runs differ: {costs[1]} and {costs[2]}")
    return judge(problems, ours.log)


def growing() -> Outcome:
    """The goals of ``./lab growth``, each a test."""
    ready = {kernel: _ready(kernel, "boot") for kernel in growth.KERNELS}
    goals = growth.goals(growth.measure(ready))
    failures = tuple(
        f"{goal.name}: {goal.patched:.4g} {goal.unit}, at most {goal.limit:.4g}" for goal in goals if not goal.ok
    )
    for goal in goals:
        progress.note(f"{goal.name}: stock {goal.stock:.4g}, patched {goal.patched:.4g} {goal.unit}")
    return Outcome(len(goals) - len(failures), failures)


def job_cost() -> Outcome:
    return hugepages.cost_gate(_built("patched", "perf"))


# How boots end that do not end well


def _fails(what: str, expected: str, action: Callable[[], object]) -> Outcome:
    """``action`` must raise a LabError that says ``expected`` and has a log to read."""
    try:
        action()
    except LabError as err:
        problems = [] if expected in err.why else [f"{what} is told as: {err}"]
        if not err.todo:
            problems.append("it does not say what to do")
        if err.log is not None and not err.log.exists():
            problems.append(f"its log is not there: {err.log}")
        return judge(problems, err.log)
    return judge([f"{what} goes unnoticed"])


def _tiny(*append: str, limit_s: float | None = None) -> Callable[[], BootResult]:
    """A boot of the smallest machine, prepared and not begun."""
    build = _built("patched", "perf")
    spec = BootSpec(
        machine.load("tiny"),
        "patched",
        append=append,
        initrd=initramfs.ensure(build, "boot"),
        time_limit_s=limit_s,
    )
    return partial(boots.boot, spec, build)


def hang() -> Outcome:
    # Its first process sleeps for ever.
    action = _tiny("rdinit=/bin/sleep", "--", "1000000", limit_s=12)
    return _fails("a guest that hangs", "was not done within", action)


def panic() -> Outcome:
    return _fails("a guest that panics", "the kernel panicked", _tiny("rdinit=/bin/false"))


def no_qemu() -> Outcome:
    """Neither QEMU nor apt-get, which would install it."""
    action = _tiny()
    path = os.environ["PATH"]
    os.environ["PATH"] = "/nonexistent"
    try:
        return _fails("a missing QEMU", "no apt-get", action)
    finally:
        os.environ["PATH"] = path


ENDINGS = {
    "a guest that hangs is ended and told": hang,
    "a guest that panics is told": panic,
    "a missing QEMU is told": no_qemu,
}
