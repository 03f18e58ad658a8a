# SPDX-License-Identifier: GPL-2.0-only
"""The commands that measure."""

from pathlib import Path

import click

from padlab.cli.shared import command, parse_threads
from padlab.vm import machine as known
from padlab.vm.machine import Machine


def counts(text: str | None) -> tuple[str, ...]:
    return tuple(parse_threads(word) for word in text.split(",")) if text else ()


def _check_compare(exact: bool, threads: tuple[str, ...], **_more: object) -> None:
    if threads and exact:
        raise click.UsageError("--exact is with one CPU: not with --threads")


@command(check=_check_compare)
@click.option(
    "--machine", "machines", metavar="M", type=known.load, multiple=True, help="May be given several times."
)
@click.option("--exact", is_flag=True, help="Count instructions; recorded in results/.")
@click.option(
    "--threads", metavar="N,...", callback=lambda _c, _p, text: counts(text), help="A row for each."
)
@click.option("--json", "as_json", is_flag=True, help="Print the comparisons as JSON.")
def compare(machines: tuple[Machine, ...], exact: bool, threads: tuple[str, ...], as_json: bool) -> int:
    """Boot stock and patched in turn; print how they compare.

    Medians of times, their spread and ratios; with --exact, of instructions, which repeat to
    the digit: the exit status is 1 if they do not.  With --threads, ours has so many threads a
    node, in turn, and on a published machine the times of 2020 are beside ours.

    \b
    Examples:
      ./lab compare
      ./lab compare --exact --machine epyc-7551-kvm-small --machine one-cpu
      ./lab compare --machine epyc-7551-kvm --threads 1,2,4,8,16
    """
    from padlab.measure import compare as compares

    return compares.main(machines or (known.load(known.SMALL),), exact, as_json, threads)


@command()
@click.argument("what", type=click.Choice(["memmap", "hugepages"]), required=False)
@click.option("--check", is_flag=True, help="Is ours as fast as it has to be?  Nothing is recorded.")
@click.option("--quick", is_flag=True, help="A few rounds; nothing is recorded.")
def bench(what: str | None, check: bool, quick: bool) -> int:
    """Time struct page init, or huge page zeroing.

    Stock's way beside ours: at native speed on real memory, struct pages (memmap, the default), or pages
    of 512 KiB to 1 GiB (hugepages).  What each can show, and what not, is in docs/measuring.md.  Results
    go to bench.json or hugepages.json in the folder of this CPU in results/.  Nothing else should run on
    the host meanwhile.

    With --check, ours is compared with the machine's limit, with stock and with the best way of
    this CPU.  For each ratio there is a bound and a verdict.  The exit status is 1 if a bound is
    exceeded, and 3 if none is, but the host was too busy, or the bound too close, to say so of all.

    \b
    Examples:
      ./lab bench
      ./lab bench --quick             is it about right?
      ./lab bench hugepages
      ./lab bench --check             all bounds, a few minutes
    """
    from padlab.measure import bench as benches
    from padlab.measure import hugepages

    if check:
        return benches.check(what, quick)
    return hugepages.main(quick) if what == "hugepages" else benches.main(quick)


def _check_record(what: str, large: bool) -> None:
    if large and what != "growth":
        raise click.UsageError(f"--large is for growth: not with {what}")


@command(check=_check_record)
@click.argument("what", type=click.Choice(["growth", "parts", "starts", "accept"]))
@click.option("--large", is_flag=True, help="With 768 GiB, too: takes 14 GiB of the host's memory.")
def record(what: str, large: bool) -> int:
    """Count what a boot costs, or how helpers start; check and record it.

    \b
    growth   what a boot costs for each GiB: stock and patched, on one CPU with 64 and with 256 GiB,
             counting guest instructions; with --large, recorded in results/growth.json
    parts    the same after each part of the series, for a base that has it in parts; recorded in
             parts.json of results/ and the base
    starts   how the helpers of deferred init start, traced on machines of 4, 16 and 64 CPUs;
             recorded in starts.json of results/ and the CPU
    accept   how long a guest takes that has to accept its memory, by a fake of the hardware, with
             1 to 8 CPUs; recorded in results/accept.json

    The exit status is 1 if a goal of growth is not reached, or if ours had to make a thread for a helper.

    \b
    Examples:
      ./lab record growth --large
      ./lab record parts --base 7.3
    """
    from padlab.measure import accept, growth, parts, starts

    if what == "growth":
        return growth.main(large)
    return {"parts": parts.main, "starts": starts.main, "accept": accept.main}[what]()


def _check_kit(folder: Path | None, file: Path | None) -> None:
    if bool(folder) == bool(file):
        raise click.UsageError("give either DIR, for a new kit, or --import FILE")


@command(check=_check_kit)
@click.argument("folder", metavar="[DIR]", type=click.Path(path_type=Path), required=False)
@click.option("--import", "file", metavar="FILE", type=click.Path(path_type=Path), help="Of a kit's run.")
def kit(folder: Path | None, file: Path | None) -> int:
    """Measure on a machine where nothing is installed.

    Makes a folder of at most 40 MiB that runs on any x86-64 Linux, without root and network: native
    benches of all bases, kernels of the base in use, and a QEMU to boot them.  On the other machine,
    its script DIR/run takes as long as it is given, and writes one text file.

    With --import, such a file is checked, its times are recorded in the folder of its CPU in results/,
    and its memory maps, stock's and ours, are compared.  The exit status is 1 if they differ.

    \b
    Examples:
      ./lab kit /tmp/kit              then copy it, and there: kit/run --minutes 8
      ./lab kit --import padata-kit-big-20261127T213000Z.txt
    """
    from checks.install import verdict
    from padlab.kit import importing
    from padlab.kit import make as making

    if folder:
        return making.main(folder)
    assert file
    return verdict.show(importing.main(file).file)
