# SPDX-License-Identifier: GPL-2.0-only
"""Boot one kernel on one machine in QEMU and tell how it ended.

Each boot has a folder under build/boots: ``command`` (the QEMU line),
``console.log`` (the serial console), ``qemu.log`` (QEMU's own messages), and
for ``./lab boot`` ``result.json``.  The console is a file that is read while it
grows, not a pipe: nothing here can slow the guest down, and the log is whole
whatever ends the run.

A guest ends well by printing "PADLAB: done N" and powering off.  Whatever else
it does (panic, hang, reset) is a LabError with the end of the console.
"""

from __future__ import annotations

import contextlib
import json as jsonlib
import re
import shlex
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from padlab import accel as accels
from padlab import build as builds
from padlab import dmesg as console_log
from padlab import hostpkgs, initramfs, paths, progress, qemu, report, run
from padlab import machine as machines
from padlab.errors import LabError
from padlab.hostclock import HostClock
from padlab.machine import Machine

TAIL_LINES = 20
# Short, since lines are timed by when they are seen (see hostclock.py).
_POLL_S = 0.004
# From the guest's last word to QEMU's exit.
_EXIT_GRACE_S = 15.0
_DONE = re.compile(rb"PADLAB: done \d+\s")
_PANIC = b"Kernel panic - not syncing"

# struct page per page, and room for QEMU, its code cache and the rest of the guest.
_MEMMAP_SHARE = 64 / 4096
_HOST_EXTRA_MIB = 1024


@dataclass(frozen=True)
class BootSpec:
    """What to boot.  ``threads`` is a value of deferred_init_threads=, checked before."""

    machine: Machine
    kernel: str
    config: str = "perf"
    threads: str | None = None
    exact: bool = False
    all_cpus: bool = False  # in exact mode: see qemu.command()
    shift: int = 0  # as well
    append: tuple[str, ...] = ()
    initrd: Path | None = None
    time_limit_s: float | None = None

    @property
    def name(self) -> str:
        exact = "-exact" if self.exact else ""
        return f"{self.machine.name}-{self.kernel}-{self.config}{exact}"

    @property
    def limit_s(self) -> float:
        return self.time_limit_s or default_limit_s(self.machine, self.config, self.exact)

    def kernel_args(self) -> list[str]:
        threads = [f"deferred_init_threads={self.threads}"] if self.threads else []
        return [*threads, *self.append]


@dataclass(frozen=True)
class BootResult:
    """A boot that came to its end; ``exit`` is the guest's status, "0" when all went well."""

    spec: BootSpec
    dmesg: console_log.Dmesg
    console: list[str]
    log: Path
    wall_s: float
    accel: str
    exit: str
    clock: HostClock


def parse_threads(text: str | None) -> str | None:
    """Check a thread count, N or N%, as the kernel parameter takes it."""
    if text is None:
        return None
    match = re.fullmatch(r"([0-9]{1,9})(%?)", text)
    number, percent = (int(match[1]), match[2]) if match else (0, "")
    if number < 1 or (percent and number > 100):
        raise LabError(
            f"--threads {text}",
            "not a number of threads",
            "give 1 or more threads per node, or 1% to 100% of a node's CPUs",
        )
    return f"{number}{percent}"


def default_limit_s(machine: Machine, config: str = "perf", exact: bool = False) -> float:
    """How long a boot may take, generously: several times what two slow cores need under TCG."""
    limit = 60 + machine.mib / 1024 * 0.4 + machine.cpus * 3
    if config == "debug":
        limit *= 4
    if exact:
        limit *= 2
    return limit


def boot(spec: BootSpec, build: builds.Build, label: str = "") -> BootResult:
    """Boot ``build`` as ``spec`` says and wait for its end, no longer than the time limit.

    ``label`` tells this boot from the others of a series.
    """
    hostpkgs.ensure("qemu")
    check_memory(spec.machine, available_mib())
    accel: qemu.Accel = "tcg" if spec.exact else accels.choose()
    folder = _folder(spec)
    log = folder / "console.log"
    log.touch()
    cmd = _command(spec, build, accel, log)
    (folder / "command").write_text(shlex.join(cmd) + "\n")

    what = f"booting {spec.kernel} on {spec.machine.name}"
    start = time.monotonic()
    clock = HostClock()
    with progress.step(f"{what} ({label})" if label else what) as step:
        ended = _watch(cmd, what, folder, spec.limit_s, step, clock)
        text = log.read_text(encoding="utf-8", errors="replace")
        dmesg = console_log.parse(text)
        _check_end(what, spec, dmesg, ended, folder)
    return BootResult(
        spec=spec,
        dmesg=dmesg,
        console=dmesg.text.splitlines(),
        log=log,
        wall_s=time.monotonic() - start,
        accel=accel,
        exit=str(dmesg.done),
        clock=clock,
    )


def _command(spec: BootSpec, build: builds.Build, accel: qemu.Accel, log: Path | None) -> list[str]:
    return qemu.command(
        spec.machine,
        kernel=build.bzimage,
        initrd=spec.initrd,
        append=spec.kernel_args(),
        accel=accel,
        tcg_threads=accels.tcg_threads(),
        exact=spec.exact,
        all_cpus=spec.all_cpus,
        shift=spec.shift,
        serial=log,
    )


def available_mib() -> int:
    """Memory of the host that is free or can be freed."""
    with Path("/proc/meminfo").open() as file:
        fields = dict(line.split(":") for line in file)
    return int(fields["MemAvailable"].split()[0]) // 1024


def host_mib(machine: Machine) -> int:
    """What a guest takes: its memmap is all of its memory that is touched."""
    return int(machine.mib * _MEMMAP_SHARE) + _HOST_EXTRA_MIB


def check_memory(machine: Machine, available: int) -> None:
    """Stop if that does not fit into ``available`` MiB."""
    need = host_mib(machine)
    if available < need:
        raise LabError(
            f"booting {machine.name}",
            f"its memmap needs {need / 1024:.1f} GiB of host memory and {available / 1024:.1f} GiB are free",
            "end other programs, or choose a smaller machine",
        )


def _folder(spec: BootSpec) -> Path:
    """A new folder for this boot."""
    stem = f"{time.strftime('%Y%m%d-%H%M%S')}-{spec.name}"
    for n in range(1, 1000):
        folder = paths.BOOTS / (stem if n == 1 else f"{stem}-{n}")
        with contextlib.suppress(FileExistsError):
            folder.mkdir(parents=True)
            return folder
    raise LabError("boot log", f"{paths.BOOTS}/{stem} is taken", "remove old boots")


@dataclass(frozen=True)
class _End:
    """How QEMU's run ended: by itself with ``status``, or (None) by being stopped."""

    status: int | None
    timed_out: bool


def _watch(
    cmd: list[str], what: str, folder: Path, limit_s: float, step: progress.Step, clock: HostClock
) -> _End:
    """Run QEMU until it exits, is done but does not exit, or reaches the time limit."""
    deadline = time.monotonic() + limit_s
    last_word: float | None = None
    tail, last_line = b"", "starting"
    with (
        (folder / "qemu.log").open("w") as qemu_log,
        (folder / "console.log").open("rb") as console,
        # A lab that is killed outright must not leave gigabytes of QEMU behind.
        run.spawn(["setpriv", "--pdeathsig", "KILL", *cmd], what=what, stdout=qemu_log) as proc,
    ):
        while True:
            status = proc.poll()
            new, now = console.read(), time.monotonic()
            if new:
                clock.feed(new, now)
                tail = tail[-4096:] + new
                last_line = _last_line(tail)
                if last_word is None and (_DONE.search(tail) or _PANIC in tail):
                    last_word = now
            step.update(last_line)
            if status is not None:
                return _End(status, False)
            if last_word is not None and now > last_word + _EXIT_GRACE_S:
                return _End(None, False)
            if now > deadline:
                return _End(None, True)
            time.sleep(_POLL_S)


def _last_line(tail: bytes) -> str:
    """The console's last line that says something."""
    lines = map(console_log.interesting, reversed(tail.decode(errors="replace").splitlines()))
    return next((line[:60] for line in lines if line), "")


def _check_end(what: str, spec: BootSpec, dmesg: console_log.Dmesg, end: _End, folder: Path) -> None:
    """Nothing to say if the guest came to its end; else a LabError with the end of its console."""
    if dmesg.done is not None and dmesg.panic is None:
        return
    log = folder / "console.log"
    lines = [line for line in dmesg.text.splitlines() if line.strip()][-TAIL_LINES:]
    todo = "the end of its console is below"
    if dmesg.panic is not None:
        why = f"the kernel panicked: {dmesg.panic.rstrip('.')}"
    elif end.timed_out:
        why = f"the guest was not done within {progress.seconds(spec.limit_s)}, and was ended"
    elif end.status:
        log = folder / "qemu.log"
        own = log.read_text(errors="replace").splitlines()
        why = f"{run.describe_status([qemu.BINARY], end.status)}: {own[-1] if own else 'no message'}"
        todo = "the QEMU command is in the log's folder"
    else:
        why = "the guest stopped before it was done"
    if not lines:
        todo = "its console is empty: no kernel message came"
    raise LabError(what, why, todo, log=log, detail=lines)


def prepare(kernel: str, config: str = "perf", role: str = "boot") -> tuple[builds.Build, Path]:
    """A built kernel and its initramfs: everything a boot needs."""
    build = builds.ensure_build(kernel, config)
    return build, initramfs.ensure(build, role)


def main_boot(
    machine: str,
    kernel: str = "patched",
    config: str = "perf",
    threads: str | None = None,
    exact: bool = False,
    json: bool = False,
    dry_run: bool = False,
) -> int:
    """``./lab boot``: the exit status is 0 if all threads and pages are accounted for."""
    threads = parse_threads(threads)
    target = machines.load(machine)
    with quiet_stdout():
        build, initrd = prepare(kernel, config)
        spec = BootSpec(target, kernel, config, threads, exact, initrd=initrd)
        if dry_run:
            hostpkgs.ensure("qemu")
            accel: qemu.Accel = "tcg" if exact else accels.choose()
        else:
            result = boot(spec, build)
    if dry_run:
        print(shlex.join(_command(spec, build, accel, None)))
        return 0

    told = report.describe(result, build)
    data = jsonlib.dumps(told.as_dict(), indent=2)
    (result.log.parent / "result.json").write_text(data + "\n")
    if json:
        print(data)
    else:
        report.show(told)
    return 0 if told.ok else 1


@contextlib.contextmanager
def quiet_stdout() -> Iterator[None]:
    """stdout is for results: what steps print on the way goes to stderr."""
    with contextlib.redirect_stdout(sys.stderr):
        yield
