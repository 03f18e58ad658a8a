# SPDX-License-Identifier: GPL-2.0-only
"""The commands about the kernel tree, the series and the documents."""

from pathlib import Path

import click

from padlab.cli.shared import CONFIG, KERNEL, command
from padlab.core import progress
from padlab.kernel.kconfig import PERF, Config


def _check_tree(update: bool, source: Path | None, **_more: object) -> None:
    if update and source:
        raise click.UsageError("--update is for Debian's package: not with --source")


@command(check=_check_tree)
@KERNEL
@click.option("--update", is_flag=True, help="Look for a newer version of the base in the package index.")
@click.option(
    "--source",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Take this tarball instead of Debian's package.",
)
@click.option("--discard", is_flag=True, help="Drop edits made in the tree.")
def tree(kernel: str, update: bool, source: Path | None, discard: bool) -> None:
    """Prepare a kernel tree with linux/ and patches/; print its path.

    \b
    Examples:
      ./lab tree
      ./lab tree --update             move on to the newest 6.12.N
      ./lab tree --discard            forget edits made in build/trees/patched
      ./lab tree --base 7.3           the series on the other base: build/7.3/trees/patched
      ./lab tree --base 7.3 --source linux-7.3.5.tar.xz     until the next --update or --source
    """
    from padlab.kernel import source as sources
    from padlab.kernel import tree as trees

    given = sources.look_at(source) if source else None
    path = trees.ensure_tree(kernel, discard=discard, update=update, given=given)
    progress.note(f"Linux {trees.source_version()}, {kernel}:")
    click.echo(path)


@command()
@click.option(
    "--own",
    metavar="NAME.patch",
    default="",
    help="Edits of owned files are for this base alone: they go to that patch of bases/NAME/owned.",
)
def refresh(own: str) -> None:
    """Write edits of the tree back to linux/ and patches/.

    The tree is build/trees/patched; the table of docs/core-edits.md is written, too.  Owned files
    go to linux/, others through quilt to the patch that edits them.  To edit another
    file, let quilt know before you edit it (it finds the series by itself in the tree):

    \b
      cd build/trees/patched
      quilt new mm-my-edit.patch      or go on with the patch on top
      quilt add mm/some_file.c
      ... edit ...
      cd ../../.. && ./lab refresh

    With --base it is build/NAME/trees/patched, and core edits go to bases/NAME/patches.  Owned
    files are shared by all bases: an edit goes to linux/, unless the base already has a
    patch for that file, or --own names one.
    """
    from padlab.docs import tables
    from padlab.kernel import refresh as edits

    written = [*edits.refresh(own), *tables.renew()]
    for name in written:
        click.echo(f"written: {name}")
    if not written:
        click.echo("nothing to write: the tree has no edits")
    for name in edits.strays():
        click.echo(
            f"left alone: {name} is neither owned nor in a patch (a new file: copy it to linux/{name}; "
            "an edited one: quilt add it first)"
        )


@command()
@KERNEL
@click.option(
    "--config",
    type=CONFIG,
    default=PERF,
    show_default=True,
    help="debug has lockdep and kmemleak, gdb lines and types for a debugger.",
)
def build(kernel: str, config: Config) -> None:
    """Build a kernel; print the path of its image.

    \b
    Examples:
      ./lab build
      ./lab build --kernel stock --config debug
    """
    from padlab.kernel import build as builds

    built = builds.ensure_build(kernel, config)
    progress.note(f"Linux {built.source_version}, {kernel}, {config}:")
    click.echo(built.image)


@command()
@click.argument("directory", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option("--check", is_flag=True, help="Also apply it with git am, compare, and run checkpatch.")
def series(directory: Path, check: bool) -> None:
    """Export the mailable series to DIR.

    That is a cover letter and one patch per step.  The series of a base that has it in parts
    has a folder for each of them, to be applied in the order of their numbers.  An earlier
    export in DIR is deleted; a folder with other patches is refused.

    \b
    Examples:
      ./lab series /tmp/padata
      ./lab series /tmp/padata --check
      git am /tmp/padata/000[1-9]-* /tmp/padata/001*    in a git tree of 6.12.N
      ./lab series /tmp/padata --base 7.3
      git am /tmp/padata/*/000[1-9]-*           all parts, in a git tree of 7.3.N
    """
    from padlab.kernel import mailseries as exports

    for path in exports.export(directory):
        click.echo(path)
    if check:
        exports.check(directory)


@command(locked=False)
@click.option("--check", is_flag=True, help="Only say which documents are not up to date.")
def docs(check: bool) -> int:
    """Renew the tables of documents and messages.

    Figures are put from results/ into README, docs/ and the messages of the series.

    A table is between two lines that name it: see padlab/docs/tables.py for the names.  With
    --check nothing is written, and the exit status is 1 if a table is not up to date.

    \b
    Example:
      ./lab docs
    """
    from padlab.docs import tables

    return tables.main(check=check)
