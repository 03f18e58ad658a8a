# SPDX-License-Identifier: GPL-2.0-only
"""./lab boot and ./lab machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from padlab.cli.shared import CONFIG, DEFAULT_MACHINE, KERNEL, command, machine_named, threads_of
from padlab.kernel.kconfig import GDB, Config

if TYPE_CHECKING:
    from padlab.vm.machine import Machine


@command()
@click.option(
    "--machine",
    metavar="M",
    type=machine_named,
    default=DEFAULT_MACHINE,
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
    "--threads", metavar="N|N%", type=threads_of, help="Most threads per node, or per cent of its CPUs."
)
@click.option("--exact", is_flag=True, help="One CPU, counting guest instructions: repeats to the digit.")
@click.option(
    "--append", metavar="ARGS", multiple=True, help="More kernel arguments; may be given several times."
)
@click.option("--shell", is_flag=True, help="A shell on the guest's console, here in the terminal.")
@click.option("--gdb", is_flag=True, help="Have QEMU wait for gdb; print what to type.")
@click.option("--json", is_flag=True, help="Print the result as JSON.")
@click.option("--dry-run", is_flag=True, help="Print the QEMU command line; build and start nothing.")
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
) -> int:
    """Boot once in QEMU; print the node lines and a summary.

    The newest QEMU in PATH is used, or the one that PADLAB_QEMU names.

    \b
    Examples:
      ./lab boot
      ./lab boot --machine xeon-8167m --threads 50%
      ./lab boot --kernel stock --exact
      ./lab boot --append "page_owner=on loglevel=8" --config debug
      ./lab boot --shell              'poweroff -f' or Ctrl-A X ends it
      ./lab boot --gdb                the kernel has lines and types for it
    """
    from padlab.vm import lab_boot
    from padlab.vm.boot import BootSpec

    if json and (shell or dry_run):
        raise click.UsageError("--json is for the result of a boot: not with --shell, nor with --dry-run")
    config = config or (GDB if gdb else machine.config)
    spec = BootSpec(machine, kernel, config, threads, exact, sync=exact, append=append, gdb=gdb)
    return lab_boot.main(spec, shell, json, dry_run)


@command(locked=False, based=False)
def machines() -> int:
    """List the machines that can be booted.

    Each with its nodes, CPUs and memory, and the memory that it takes of the host.

    \b
    Example:
      ./lab machines
    """
    from padlab.vm import lab_boot

    return lab_boot.machines()
