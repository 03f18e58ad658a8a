# SPDX-License-Identifier: GPL-2.0-only
"""Machine files: published ones, and every way to get one wrong."""

import csv
from pathlib import Path

import pytest

from padlab.core.errors import LabError
from padlab.kernel import kconfig
from padlab.measure import compare
from padlab.vm import machine

GOOD = 'description = "d"\nkind = "odd"\n'
NODE = "[[node]]\nmib = 2048\ncpus = 1\n"


def published_rows() -> list[dict[str, str]]:
    with compare.PUBLISHED.open() as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("row", published_rows(), ids=lambda row: f"{row['machine']}-{row['node_pct']}")
def test_published_machines_are_as_published(row: dict[str, str]) -> None:
    loaded = machine.load(row["machine"])
    assert loaded.kind == "published"
    assert len(loaded.nodes) == int(row["nodes"])
    assert loaded.cores_per_node == int(row["cores_per_node"])
    assert loaded.threads_per_core == int(row["threads_per_core"])
    assert {node.mib for node in loaded.nodes} == {int(row["gib_per_node"]) * 1024}


def parse(folder: Path, text: str) -> machine.Machine:
    (folder / "x.toml").write_text(text)
    return machine.load("x", folder)


@pytest.mark.parametrize(
    ("more", "config"),
    [
        ("", kconfig.PERF),
        ('firmware = "ovmf"\n', kconfig.USERS),
        ('arch = "arm64"\n', kconfig.ARM64),
        ('arch = "s390x"\n', kconfig.S390X),
    ],
)
def test_which_kernel_it_boots(more: str, config: kconfig.Config, tmp_path: Path) -> None:
    assert parse(tmp_path, GOOD + more + NODE).config is config


FOREIGN = GOOD + 'arch = "arm64"\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (GOOD + NODE * 65, "node: expected `array` of length <= 64"),
        (GOOD + "colour = 3\n" + NODE, "unknown field `colour`"),
        (GOOD + NODE + "cores = 3\n", "node[0]: object contains unknown field `cores`"),
        (GOOD + "below_4g_mib = 4096\n" + NODE, "below_4g_mib: expected `int` <= 3584"),
        (GOOD + 'append = ["a", "a b"]\n' + NODE, "append[1]: expected `str` matching"),
        (GOOD + "[[node]]\ncpus = 1\n", "node[0]: object missing required field `mib`"),
        (GOOD + "threads_per_core = 2\n" + NODE, "node[0].cpus is 1"),
        (GOOD + NODE + "distances = [20]\n", "node[0].distances is [20]"),
        (GOOD + NODE + "distances = [9]\n", "node[0].distances[0]: expected `int` >= 10"),
        (GOOD + "[[node]]\nmib = 2048\n", "0 CPUs in all"),
        (GOOD + "[[node]]\nmib = 2048\ncpus = 200\n" * 2, "400 CPUs in all"),
        (GOOD + "[[node]]\nmib = 16\ncpus = 1\n", "16 MiB in all"),
        (GOOD + NODE + "[[dimm]]\nmib = 1031168\n", "1033216 MiB in all"),
        (GOOD + NODE + "[[dimm]]\n", "dimm[0]: object missing required field `mib`"),
        (GOOD + NODE + "[[dimm]]\nmib = 1024\nnode = 1\n", "dimm[0].node is 1"),
        (FOREIGN + "below_4g_mib = 1024\n" + NODE, "is of arm64"),
        (FOREIGN + 'firmware = "ovmf"\n' + NODE, "is of arm64"),
        (FOREIGN + "monitor = true\n" + NODE, "is of arm64"),
        (FOREIGN + NODE + "[[dimm]]\nmib = 1\n", "is of arm64"),
        (GOOD + 'arch = "s390x"\n' + NODE * 2, "has 2 nodes"),
    ],
)
def test_malformed_files_name_file_and_key(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(LabError) as err:
        parse(tmp_path, text)
    assert err.value.what.endswith("x.toml") and says in err.value.why
