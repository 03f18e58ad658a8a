# SPDX-License-Identifier: GPL-2.0-only
"""./lab package."""

import json
import time
from dataclasses import asdict
from pathlib import Path

import click

from padlab.cli.shared import command


@command()
@click.argument("directory", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--config",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A .config, .gz or .xz, too."
    "  [default: the running kernel's if it is Debian's, else configs/perf.config]",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")
def package(directory: Path, config: Path | None, as_json: bool) -> None:
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
    from padlab.core import progress
    from padlab.kernel import package as packaging

    start = time.monotonic()
    packaging.check_directory(directory)
    packages = packaging.make(directory, packaging.choose(config))
    if as_json:
        click.echo(json.dumps(asdict(packages), default=str, indent=2))
        return
    progress.note(f"{packages.config}:")
    for line in packages.remarks:
        progress.note(f"  {line}")
    progress.note(f"took {progress.seconds(time.monotonic() - start)}")
    for path in packages.files:
        click.echo(path)
