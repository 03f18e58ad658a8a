# SPDX-License-Identifier: GPL-2.0-only
"""The command line.  Commands import what they need when they run, so that --help is quick."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn

import click

from padlab import lock, paths, progress, run
from padlab.errors import LabError

DEFAULT_MACHINE = "epyc-7551-kvm-small"

_KERNEL = click.Choice(["patched", "stock"])
_CONFIG = click.Choice(["perf", "debug"])


class Commands(click.Group):
    """Commands in the order a newcomer meets them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def cli() -> None:
    """Build, boot, prove and measure multithreaded padata jobs on Linux 6.12.

    Each command does its own set-up: packages, kernel source, series, build.

    \b
    Begin with:
      ./lab boot                      our kernel, on the published 16 GiB machine
      ./lab boot --kernel stock       the same with Linux as it is
      ./lab compare --exact           both, in guest instructions
      ./lab test --quick              the tests that need neither build nor boot

    \b
    Change the kernel side:
      edit linux/ or build/trees/patched, then
      ./lab build                     only what changed is compiled
      ./lab refresh                   edits made in the tree go to linux/ and patches/
    """


@cli.command()
@click.option(
    "--machine", metavar="M", default=DEFAULT_MACHINE, show_default=True, help="A machine of machines/."
)
@click.option("--kernel", type=_KERNEL, default="patched", show_default=True)
@click.option("--config", type=_CONFIG, default="perf", show_default=True, help="debug: lockdep and friends.")
@click.option("--threads", metavar="N|N%", help="Most threads per node, or per cent of its CPUs.")
@click.option("--exact", is_flag=True, help="One CPU, counting guest instructions: repeats to the digit.")
@click.option("--json", is_flag=True, help="Print the result as JSON.")
@click.option("--dry-run", is_flag=True, help="Print the QEMU command line and stop.")
def boot(**options: Any) -> int:
    """Boot once in QEMU; print the node lines and a summary.

    \b
    Examples:
      ./lab boot
      ./lab boot --machine xeon-8167m --threads 50%
      ./lab boot --kernel stock --exact
    """
    from padlab import boot as boots
    from padlab import machine as machines

    # Bad input is answered at once, not after another run has ended.
    boots.parse_threads(options["threads"])
    machines.load(options["machine"])
    with lock.held("./lab boot"):
        return boots.main_boot(**options)


@cli.command()
@click.option("--quick", is_flag=True, help="Only what needs no kernel build and no boot.")
@click.option("--full", is_flag=True, help="Also each command line on each machine, and KASAN: an hour.")
def test(quick: bool, full: bool) -> int:
    """Run every test: lab, engine in userspace, KUnit, kselftests, memmap oracle.

    \b
    Examples:
      ./lab test --quick              before each commit, under a minute
      ./lab test                      what CI runs
      ./lab test --full               everything
    """
    from padlab import testrun

    if quick and full:
        raise click.UsageError("--quick and --full exclude each other")

    with lock.held("./lab test"):
        return testrun.main(quick=quick, full=full)


@cli.command()
@click.option("--machine", "machines", metavar="M", multiple=True, help="May be given several times.")
@click.option("--exact", is_flag=True, help="Only exact mode: instructions per page.")
@click.option("--runs", type=int, metavar="N", help="Boots of each kernel.  [default: 5; exact: 2]")
@click.option("--json", is_flag=True, help="Print the result as JSON.")
def compare(machines: tuple[str, ...], exact: bool, runs: int | None, json: bool) -> int:
    """Boot stock and patched in turn; print medians, spread and ratios.

    \b
    Examples:
      ./lab compare
      ./lab compare --exact --machine epyc-7551-kvm-small --machine one-cpu
    """
    from padlab import compare as compares
    from padlab import machine as known

    names = machines or (DEFAULT_MACHINE,)
    for name in names:
        known.load(name)
    with lock.held("./lab compare"):
        return compares.main(machines=names, exact=exact, runs=runs, json=json)


@cli.command()
@click.option("--machine", metavar="M", required=True, help="A machine of machines/.")
@click.option("--runs", type=int, metavar="N", help="Boots of each row.  [default: 3]")
def sweep(machine: str, runs: int | None) -> int:
    """Boot with more and more threads; print the table as the published ones are.

    \b
    Example:
      ./lab sweep --machine epyc-7551-kvm
    """
    from padlab import machine as machines
    from padlab import sweep as sweeps

    machines.load(machine)
    with lock.held("./lab sweep"):
        return sweeps.main(machine=machine, runs=runs)


@cli.command()
@click.option("--large", is_flag=True, help="With 768 GiB, too: takes 14 GiB of the host's memory.")
@click.option("--json", is_flag=True, help="Print the result as JSON.")
def growth(large: bool, json: bool) -> int:
    """Count what a boot costs for each GiB of memory, part by part, and check it.

    Boots stock and patched on one CPU with 64 and with 256 GiB, and with more
    and with less of their memory below 4 GiB, counting guest instructions: the
    figures repeat to the digit.  The exit status is 1 if one of the goals is not
    reached.  The result is recorded in results/growth.json.

    \b
    Examples:
      ./lab growth
      ./lab growth --large
    """
    from padlab import growth as growths

    with lock.held("./lab growth"):
        return growths.main(large=large, json=json)


@cli.command()
@click.option("--machine", "machines", metavar="M", multiple=True, help="May be given several times.")
@click.option("--json", is_flag=True, help="Print the result as JSON.")
def starts(machines: tuple[str, ...], json: bool) -> int:
    """Trace how the helpers of deferred init come to work, stock's and ours.

    By default on machines of 4, 16 and 64 CPUs, recorded in results/starts.json.
    The exit status is 1 if ours had to make a thread for a helper.

    \b
    Examples:
      ./lab starts
      ./lab starts --machine smt-numa
    """
    from padlab import machine as known
    from padlab import starts as helpers

    for name in machines:
        known.load(name)
    with lock.held("./lab starts"):
        return helpers.main(names=machines, json=json)


@cli.command()
@click.argument("what", type=click.Choice(["memmap", "hugepages"]), default="memmap")
@click.option("--quick", is_flag=True, help="A few rounds; nothing is recorded.")
@click.option("--json", is_flag=True, help="Print the result as JSON.")
def bench(what: str, quick: bool, json: bool) -> int:
    """Time struct page init or the zeroing of huge pages natively, stock's way beside ours.

    The code of the kernel runs at native speed on real memory.  memmap (the
    default): struct pages, under User-mode Linux with the kernel's own functions
    on one CPU, and compiled in userspace, on 1 to all CPUs of this host.
    hugepages: pages of 512 KiB to 1 GiB in userspace on 1 to all CPUs, then the
    whole page fault in a guest, and what a job costs before the first byte is
    zeroed.  The ways take turns in one run.  What each can show, and what not,
    is printed below the table.  Results go to results/bench.json and .csv, and to
    results/hugepages.json.  Nothing else should run on the host meanwhile.

    \b
    Examples:
      ./lab bench
      ./lab bench --quick             is it about right?
      ./lab bench hugepages
    """
    from padlab import bench as benches
    from padlab import hugepages

    with lock.held("./lab bench"):
        main = {"memmap": benches.main, "hugepages": hugepages.main}[what]
        return main(quick=quick, json=json)


@cli.command()
@click.option("--machine", metavar="M", help="Only this one: a published machine, or 1tib to 24tib.")
@click.option("--json", is_flag=True, help="Print the result as JSON.")
def predict(machine: str | None, json: bool) -> int:
    """Predict deferred init, stock's and ours, on machines that are not here.

    A model of threads, chunks, memory bandwidth and locks is fitted to the
    published thread sweeps of six machines.  It shows its errors on them,
    points left out included, then predicts those machines and larger ones, of 1
    to 24 TiB with up to 512 CPUs.  Nothing is booted and nothing is measured:
    all of it is labelled as predicted.  Without --machine, tables and plots are
    recorded in results/.  What it takes for given about the two kernels is in
    padlab/data/engines.toml.

    \b
    Examples:
      ./lab predict
      ./lab predict --machine 12tib
      ./lab predict --machine xeon-8167m --json
    """
    from padlab import predict as predictions

    return predictions.main(only=machine, json=json)


@cli.command()
@click.option("--kernel", type=_KERNEL, default="patched", show_default=True)
@click.option("--update", is_flag=True, help="Look for a newer 6.12.N in the package index.")
@click.option("--discard", is_flag=True, help="Drop edits made in the tree.")
def tree(kernel: str, update: bool, discard: bool) -> None:
    """Prepare a kernel tree, up to date with linux/ and patches/; print its path last.

    \b
    Examples:
      ./lab tree
      ./lab tree --update             move on to the newest 6.12.N
      ./lab tree --discard            forget edits made in build/trees/patched
    """
    from padlab import tree as trees

    with lock.held("./lab tree"):
        path = trees.ensure_tree(kernel, discard=discard, update=update)
        progress.note(f"Linux {trees.source_version()}, {kernel}:")
        click.echo(path)


@cli.command()
def refresh() -> None:
    """Write edits made in build/trees/patched back to linux/ and patches/.

    Owned files go to linux/, hooked ones through quilt to the patch that edits
    them.  To hook another file, let quilt know before you edit it (it finds the
    series by itself in the tree):

    \b
      cd build/trees/patched
      quilt new mm-my-hook.patch      or go on with the patch on top
      quilt add mm/some_file.c
      ... edit ...
      cd ../../.. && ./lab refresh
    """
    from padlab import tree as trees

    with lock.held("./lab refresh"):
        written = trees.refresh()
        for name in written:
            click.echo(f"written: {name}")
        if not written:
            click.echo("nothing to write: the tree has no edits")
        for name in trees.strays():
            click.echo(
                f"left alone: {name} belongs to nobody (a new file: copy it to linux/{name}; "
                "an edited one: quilt add it first)"
            )


@cli.command()
@click.option("--kernel", type=_KERNEL, default="patched", show_default=True)
@click.option("--config", type=_CONFIG, default="perf", show_default=True)
def build(kernel: str, config: str) -> None:
    """Build a kernel; print the image's path last.

    \b
    Examples:
      ./lab build
      ./lab build --kernel stock --config debug
    """
    from padlab import build as builds

    with lock.held("./lab build"):
        built = builds.ensure_build(kernel, config)
        progress.note(f"Linux {built.source_version}, {kernel}, {config}:")
        click.echo(built.bzimage)


@cli.command()
@click.argument("directory", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option("--check", is_flag=True, help="Also apply it with git am, compare, and run checkpatch.")
def series(directory: Path, check: bool) -> None:
    """Export the mailable series to DIR: a cover letter and one patch per step.

    \b
    Examples:
      ./lab series /tmp/padata
      ./lab series /tmp/padata --check
      git am /tmp/padata/000[1-9]-*.patch       in a tree of the same version
    """
    from padlab import series as exports

    with lock.held("./lab series"):
        for path in exports.export(directory):
            click.echo(path)
        if check:
            exports.check(directory)


def show(error: LabError) -> None:
    """A failure as the user sees it: one line, what belongs below it, and the log."""
    sentence = f"lab: {error.what}: {error.why}. {error.todo[:1].upper()}{error.todo[1:]}."
    print(" ".join(sentence.split()), file=sys.stderr)
    for line in error.detail:
        print(f"  {line}", file=sys.stderr)
    if error.log:
        print(f"log: {_short(error.log)}", file=sys.stderr)


def _short(path: Path) -> str:
    return os.path.relpath(path, Path.cwd()) if path.is_relative_to(paths.ROOT) else str(path)


def _interrupt(_signum: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


def main(args: list[str] | None = None) -> NoReturn:
    """Run a command; the process ends here, with its status."""
    # A closed terminal or a CI's time limit ends children just as Ctrl-C does.
    for signum in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(signum) is not signal.SIG_IGN:  # nohup
            signal.signal(signum, _interrupt)
    sys.exit(_run(args))


def _run(args: list[str] | None) -> int:
    try:
        return cli.main(args, prog_name="./lab", standalone_mode=False) or 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except LabError as error:
        show(error)
        return 1
    except (KeyboardInterrupt, click.Abort):
        run.kill_all()
        print("lab: interrupted", file=sys.stderr)  # click has ended the line with ^C
        return 130
    except BrokenPipeError:
        # The reader of our output has left (head, a pager): not worth a message.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        if error.errno is None:
            raise
        show(LabError("files", str(error), "check the room on disk and who owns the files"))
        return 1
