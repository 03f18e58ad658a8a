# SPDX-License-Identifier: GPL-2.0-only
"""The README's commands on a bare Debian, as a newcomer's machine has them.

HEAD is cloned into a bare root and the commands run there one after another.  Of the host they have the
network, the devices, and the lab's cache of downloads and compiler results.
"""

import contextlib
import re
import shlex
import shutil
from collections.abc import Sequence

from checks.install import bareroot
from padlab.core import paths, process, progress
from padlab.core.outcome import Outcome

_CLONE = "/root/padata-mt"
_CACHE = "/root/.cache/padata-mt"
_SHOWN_LINES = 20  # of a command that failed
_SUM = re.compile(r"(\d+) passed, (\d+) failed(?:, (\d+) skipped)?")
# Reasons to skip a test that only a machine without its packages, trees or tools has.
_WANT = re.compile(
    r"not installed|not found|no such file|no module|could not import|cannot import|missing"
    r"|no (?:kernel )?(?:tree|source|build)",
    re.IGNORECASE,
)


def proof(suite: str) -> Outcome:
    """Both commands on a bare ``suite``."""
    host = bareroot.prepared(bareroot.ROOM)
    paths.CACHE.mkdir(parents=True, exist_ok=True)
    total = Outcome()
    with bareroot.made(suite, host, {paths.CACHE: _CACHE}) as root:
        _clone(root)
        for command in (paths.command(words).split() for words in ("boot", "test --quick")):
            total += _run(root, suite, command)
            if total.failures:
                _keep_logs(root, suite)
                break
    return total


def _clone(root: bareroot.Root) -> None:
    what = "cloning HEAD"
    git = ["git", "-C", paths.ROOT]
    if process.run([*git, "status", "--porcelain"], what=what, todo="run it in a git clone").strip():
        progress.note("uncommitted changes are left out: a bare root gets what is committed")
    clone = ["git", "clone", "--quiet", "--no-local", paths.ROOT, root.inside(_CLONE)]
    process.run(clone, what=what, log=paths.base().logs / "fresh-clone.log")


def _run(root: bareroot.Root, suite: str, command: list[str]) -> Outcome:
    what = f"{suite}: {shlex.join(command)}"
    name = re.sub(r"[^\w.=-]+", "-", " ".join(command)).strip("-.")[:60]
    log = paths.base().logs / f"fresh-{suite}-{name}.log"
    with progress.step(what) as step:
        entered = root.command(_CLONE, command)
        status = process.stream(entered, step.update, what=what, log=log, ok=process.ANY)
    lines = log.read_text(errors="replace").splitlines()[1:]
    outcome = judge(command, status, lines)
    if outcome.failures:
        last = "\n".join([outcome.failures[0], *lines[-_SHOWN_LINES:]])
        return Outcome(outcome.passed, (last, *outcome.failures[1:]), outcome.skips, log)
    return outcome


def judge(command: Sequence[str], status: int, lines: Sequence[str]) -> Outcome:
    """What a command's output says; ``./lab test`` prints sums, any other command is one case."""
    shown = shlex.join(command)
    ended = f"{shown} ended with status {status}"
    if list(command[:2]) != ["./lab", "test"]:
        return Outcome(failures=(ended,)) if status else Outcome(1)
    sums = _SUM.fullmatch(lines[-1].strip()) if lines else None
    if sums is None:
        return Outcome(failures=(f"{ended}, without a sum of its tests",))
    passed, failed, skipped = (int(number or 0) for number in sums.groups())
    skips = [line.strip() for line in lines if line.strip().startswith("skipped: ")]
    unfit = [line for line in skips if _WANT.search(line)]
    failures = [f"{shown}: a test failed"] * failed
    failures += [f"{shown}: a bare machine must not make a test be skipped: {line}" for line in unfit]
    if status and not failures:
        failures = [ended]
    rest = [line for line in skips if line not in unfit]
    rest += ["a skip without a reason"] * (skipped - len(skips))
    return Outcome(passed, tuple(failures), tuple(rest))


def _keep_logs(root: bareroot.Root, suite: str) -> None:
    """The lab's own logs in the root are wanted after it is gone."""
    kept = paths.base().logs / f"fresh-{suite}"
    shutil.rmtree(kept, ignore_errors=True)
    with contextlib.suppress(OSError):
        shutil.copytree(root.inside(f"{_CLONE}/build/logs"), kept)
        progress.result(f"    logs of the run: {kept}")
