# SPDX-License-Identifier: GPL-2.0-only
"""./lab completion."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from padlab.cli.shared import COMPLETE_VAR, cli, command
from padlab.core.paths import ROOT


@command(locked=False, based=False)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print what makes a shell complete the lab's commands.

    Commands, options, and names of machines.

    \b
    Examples:
      eval "$(./lab completion bash)"     also for ~/.bashrc, with the whole path
      eval "$(./lab completion zsh)"      after compinit
      ./lab completion fish | source
    """
    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(cli, {}, "lab", COMPLETE_VAR).source()
    # Click's scripts look for a lab in PATH; bash's runs what was typed.
    script = script.replace("(( ! $+commands[lab] )) && return 1", "")
    click.echo(script.replace(" lab)", f" {ROOT / 'lab'})"))
