# SPDX-License-Identifier: GPL-2.0-only
"""What checks share that run the kernel's own tests; and KUnit under User-mode Linux."""

from checks import guests
from padlab.core import paths
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome, judge
from padlab.kernel import build as builds
from padlab.kernel import tree
from padlab.kernel.kconfig import Config
from padlab.vm import ktap
from padlab.vm.boot import BootResult

# Some cases want a CPU that is offline, some a pool of huge pages.
GIVEN = ("maxcpus=7", "hugepages=64")
UML_LIMIT_S = 300  # the kernel's own default


def preempt(config: Config) -> tuple[str, ...]:
    """In a kernel that checks threads lose their CPU anywhere.

    The perf kernel is as distributions have it, and the realtime kernel has no choice.
    """
    return ("preempt=full",) if config.checks else ()


def run(config: Config, role: str, *append: str) -> Outcome:
    """In a guest with eight CPUs."""
    append = (*GIVEN, *append, *preempt(config))
    return judged(guests.boot(guests.machine_of(config), "patched", config, role, append=append))


def judged(result: BootResult) -> Outcome:
    """A failed case also makes its guest's status one: that is said once."""
    outcome = guests.results(result)
    return outcome if outcome.failures else outcome + judge(guests.trouble(result), result.log)


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
