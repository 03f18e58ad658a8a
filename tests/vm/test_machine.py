# SPDX-License-Identifier: GPL-2.0-only
"""Machine files: the ones that are there, and every way to get one wrong."""

import csv
import tomllib
from pathlib import Path

import pytest

from padlab.core.errors import LabError
from padlab.core.paths import MACHINES
from padlab.kernel import kconfig
from padlab.measure import compare
from padlab.vm import machine

GOOD = 'description = "d"\nkind = "odd"\n'
NODE = "[[node]]\nmib = 2048\ncpus = 1\n"


def published_rows() -> list[dict[str, str]]:
    with compare.PUBLISHED.open() as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", machine.names())
def test_all_machines_load(name: str) -> None:
    loaded = machine.load(name)
    told = tomllib.loads((MACHINES / f"{name}.toml").read_text())
    assert len(loaded.nodes) == len(told["node"])
    assert loaded.cpus == sum(node.get("cpus", 0) for node in told["node"])
    assert loaded.mib == sum(node["mib"] for node in told["node"])


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
    "more", ["below_4g_mib = 1024\n", 'firmware = "ovmf"\n', "monitor = true\n", "dimm = [{ mib = 1 }]\n"]
)
def test_what_arm64_cannot_have(more: str, tmp_path: Path) -> None:
    parse(tmp_path, GOOD + 'arch = "arm64"\n' + NODE)
    with pytest.raises(LabError, match=r"is of arm64; .* for x86_64"):
        parse(tmp_path, GOOD + 'arch = "arm64"\n' + more + NODE)


def test_s390x_has_one_node(tmp_path: Path) -> None:
    parse(tmp_path, GOOD + 'arch = "s390x"\n' + NODE)
    with pytest.raises(LabError, match=r"has 2 nodes; QEMU's s390x has one"):
        parse(tmp_path, GOOD + 'arch = "s390x"\n' + NODE * 2)


def test_with_efi_it_boots_users_kernels(tmp_path: Path) -> None:
    assert parse(tmp_path, GOOD + NODE).config is kconfig.PERF
    assert parse(tmp_path, GOOD + 'firmware = "ovmf"\n' + NODE).config is kconfig.USERS
    assert machine.load("arm64").config is kconfig.ARM64
    assert machine.load("s390x").config is kconfig.S390X


def test_dimms(tmp_path: Path) -> None:
    loaded = parse(tmp_path, GOOD + NODE * 2 + "[[dimm]]\nmib = 1024\n[[dimm]]\nmib = 640\nnode = 1\n")
    assert loaded.dimms == (machine.Dimm(1024, 0), machine.Dimm(640, 1))
    assert (loaded.mib, loaded.dimm_mib) == (4096, 1664)


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
    ],
)
def test_malformed_files_name_file_and_key(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(LabError) as err:
        parse(tmp_path, text)
    assert err.value.what.endswith("x.toml") and says in err.value.why
