# SPDX-License-Identifier: GPL-2.0-only
"""What the commands share: the group, one run at a time, and arguments checked as they are read."""

import functools
import re
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import click

from padlab.core import exclusive, paths
from padlab.core.errors import LabError
from padlab.kernel import kconfig

P = ParamSpec("P")
R = TypeVar("R")


# Options of several commands.
KERNEL = click.option(
    "--kernel",
    type=click.Choice(["patched", "stock"]),
    default="patched",
    show_default=True,
    help="patched has the series, stock is Linux as it is.",
)
CONFIG = click.Choice([kconfig.PERF, kconfig.DEBUG, kconfig.GDB, kconfig.USERS, kconfig.ARM64, kconfig.S390X])


def parse_threads(text: str) -> str:
    """Check a thread count, N or N%, as the kernel parameter takes it."""
    match = re.fullmatch(r"([0-9]{1,9})(%?)", text)
    number, percent = (int(match[1]), match[2]) if match else (0, "")
    if number < 1 or (percent and number > 100):
        todo = "give 1 or more threads per node, or 1% to 100% of a node's CPUs"
        raise LabError(f"--threads {text}", "not a number of threads", todo)
    return f"{number}{percent}"


# As ./lab --help lists them: in the order in which a newcomer meets them.
GROUPS = {
    "Boot and try": ("boot", "judge", "package"),
    "Change the kernel": ("tree", "build", "refresh", "series"),
    "Test": ("test", "mutants"),
    "Measure": ("compare", "bench", "record", "kit"),
    "Documents": ("docs",),
}


class Commands(click.Group):
    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, self.commands))
        for title, group in GROUPS.items():
            with formatter.section(title):
                there = [name for name in group if name in self.commands]
                short = (self.commands[name].get_short_help_str(formatter.width) for name in there)
                formatter.write_dl(
                    [(name.ljust(width), text) for name, text in zip(there, short, strict=True)]
                )


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def cli() -> None:
    """Build, boot, check and measure multithreaded padata jobs on Linux 6.12 and 7.3.

    Each command does its own set-up: packages, kernel source, series, build.

    \b
    Begin with:
      ./lab boot                      our kernel, on the published 16 GiB machine
      ./lab boot --kernel stock       the same with Linux as it is
      ./lab boot -- cat /proc/zoneinfo        a command in the guest
      ./lab compare --exact           both, in guest instructions
      ./lab test --quick              the tests that need neither build nor boot
      ./lab boot --base 7.3           the series on Linux 7.3
      ./lab package /tmp/kernel       Debian packages of our kernel

    \b
    Change the kernel side:
      edit linux/ or build/trees/patched, then
      ./lab build                     only what changed is compiled
      ./lab refresh                   edits made in the tree go to linux/ and patches/
    """


# Eager: read before any other option, whatever the order in which they are given.
_BASE = click.option(
    "--base",
    metavar="|".join(paths.bases()),
    default=paths.DEFAULT_BASE,
    envvar=paths.BASE_VARIABLE,
    show_default=True,
    is_eager=True,
    expose_value=False,
    callback=lambda _ctx, _param, name: paths.choose_base(name),
    help="The Linux that is built, or that the series is for.",
)


def command(
    *,
    locked: bool = True,
    check: Callable[..., object] | None = None,
    context_settings: dict[str, Any] | None = None,
) -> Callable[[Callable[P, R]], click.Command]:
    """Make a function a command of that name; ``locked`` ones run one at a time in a clone.

    Arguments are checked before the lock is waited for, so that bad ones are answered at once; ``check`` is
    given all of them, for what click does not see by itself.
    """

    def add(function: Callable[P, R]) -> click.Command:
        @functools.wraps(function)
        def run(*args: P.args, **options: P.kwargs) -> R:
            if check:
                check(*args, **options)
            # A dry run leaves everything as it is, and so does a list of names.
            if not locked or options.get("dry_run") or options.get("list_only"):
                return function(*args, **options)
            with exclusive.held(paths.command(function.__name__)):
                return function(*args, **options)

        return cli.command(context_settings=context_settings)(_BASE(run))

    return add
