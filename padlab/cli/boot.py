# SPDX-License-Identifier: GPL-2.0-only
"""The commands that boot, judge a boot again, and make packages of what is booted."""

import shlex
import time
from pathlib import Path

import click

from padlab.cli.shared import CONFIG, KERNEL, command, parse_threads
from padlab.core import progress
from padlab.kernel.kconfig import GDB, Config
from padlab.vm import machine as known
from padlab.vm.machine import Machine


def as_line(words: tuple[str, ...]) -> str:
    """One word is a line for the shell, as ssh and vng have it; several are words as they are."""
    return words[0] if len(words) == 1 else shlex.join(words)


def _check_boot(machine: Machine, config: Config | None, exact: bool, **more: object) -> None:
    from padlab.vm import boot as boots

    if more["json"] and (more["shell"] or more["dry_run"] or more["command"]):
        raise click.UsageError("--json is for the result of a boot: not with --shell, --dry-run or a command")
    if more["shell"] and more["command"]:
        raise click.UsageError("--shell is for a person at the terminal: not with a command")
    boots.check_config(machine, _config_of(machine, config, bool(more["gdb"])), exact)


def _config_of(machine: Machine, config: Config | None, gdb: bool) -> Config:
    return config or (GDB if gdb else machine.config)


@command(check=_check_boot)
@click.option(
    "--machine",
    metavar="M",
    type=known.load,
    default=known.SMALL,
    show_default=True,
    help="A machine of machines/.",
)
@KERNEL
@click.option(
    "--config",
    type=CONFIG,
    help="debug: lockdep and friends.  [default: perf, or that of its machine; with --gdb: gdb]",
)
@click.option(
    "--threads", metavar="N|N%", type=parse_threads, help="Most threads per node, or per cent of its CPUs."
)
@click.option("--exact", is_flag=True, help="One CPU, counting guest instructions: repeats to the digit.")
@click.option(
    "--append", metavar="ARGS", multiple=True, help="More kernel arguments; may be given several times."
)
@click.option("--shell", is_flag=True, help="A shell on the guest's console, here in the terminal.")
@click.option("--gdb", is_flag=True, help="Have QEMU wait for gdb; print what to type.")
@click.option("--json", is_flag=True, help="Print the result as JSON.")
@click.option("--dry-run", is_flag=True, help="Print the QEMU command line; build and start nothing.")
@click.option("--list", "list_only", is_flag=True, help="List the machines; boot nothing.")
@click.argument("command", nargs=-1, metavar="[-- CMD...]", callback=lambda _c, _p, words: as_line(words))
def boot(
    machine: Machine,
    kernel: str,
    config: Config | None,
    threads: str | None,
    exact: bool,
    append: tuple[str, ...],
    shell: bool,
    gdb: bool,
    json: bool,
    dry_run: bool,
    list_only: bool,
    command: str,
) -> int:
    """Boot once in QEMU; print the node lines and a summary.

    With CMD, run that in the guest instead, print what it prints, and exit with its status.
    The newest QEMU in PATH is used, or the one that PADLAB_QEMU names.

    \b
    Examples:
      ./lab boot
      ./lab boot --machine xeon-8167m --threads 50%
      ./lab boot --kernel stock --exact
      ./lab boot --append "page_owner=on loglevel=8" --config debug
      ./lab boot -- cat /proc/zoneinfo
      ./lab boot -- 'dmesg | grep initialised'
      ./lab boot --shell              'poweroff -f' or Ctrl-A X ends it
      ./lab boot --gdb                the kernel has lines and types for it
    """
    from padlab.vm import lab_boot
    from padlab.vm.spec import How

    if list_only:
        return lab_boot.machines()
    config = _config_of(machine, config, gdb)
    how: How = {"threads": threads, "exact": exact, "append": append, "gdb": gdb}
    return lab_boot.main(
        machine, kernel, config, how, shell=shell, command=command, json=json, dry_run=dry_run
    )


@command(locked=False)
@click.argument("folder", metavar="FOLDER", type=click.Path(path_type=Path))
@click.option("--json", is_flag=True, help="Print the result as JSON.")
def judge(folder: Path, json: bool) -> int:
    """Judge a kept boot again, from what it left in build/boots.

    Prints what ./lab boot printed at its end, without the host's times, and the results of tests that ran
    in the guest.  The exit status is 1 if one of them failed, if the kernel complained, or if the guest did
    not end well.

    \b
    Example:
      ./lab judge build/boots/20261130-081510-smt-numa-patched-debug
    """
    from padlab.vm import judge as judges

    return judges.main(folder, json)


def _check_package(directory: Path, **_more: object) -> None:
    from padlab.kernel import package as packaging

    packaging.check_directory(directory)


@command(check=_check_package)
@click.argument("directory", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--config",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A .config, .gz or .xz, too."
    "  [default: the running kernel's if it is Debian's, else configs/perf.config]",
)
def package(directory: Path, config: Path | None) -> None:
    """Make Debian packages of the patched kernel in DIR.

    One is the kernel, one its headers.  Their names end with -padata-mt and what Debian calls
    the configuration, so that they are installed beside Debian's kernels.  Each option that
    comes out different from the configuration is listed.  More in docs/packages.md.

    \b
    Examples:
      ./lab package /tmp/kernel
      ./lab package --config /usr/src/linux-config-6.12/config.amd64_none_cloud-amd64.xz /tmp/kernel
      apt-get install /tmp/kernel/linux-image-*.deb
    """
    from padlab.kernel import package as packaging

    start = time.monotonic()
    packages = packaging.make(directory, packaging.choose(config))
    progress.note(f"{packages.config}:")
    for line in packages.remarks:
        progress.note(f"  {line}")
    progress.note(f"took {progress.seconds(time.monotonic() - start)}")
    for path in packages.files:
        click.echo(path)
