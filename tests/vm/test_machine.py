# SPDX-License-Identifier: GPL-2.0-only
"""Machine files: the ones that are there, and every way to get one wrong."""

import csv
import tomllib
from pathlib import Path

import pytest

from padlab.core.errors import LabError
from padlab.core.paths import MACHINES
from padlab.measure import published
from padlab.vm import machine

GOOD = 'description = "d"\nkind = "odd"\n'
NODE = "[[node]]\ngib = 2\ncores = 1\n"


def published_rows() -> list[dict[str, str]]:
    with published.TABLE.open() as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", machine.names())
def test_all_machines_load(name: str) -> None:
    loaded = machine.load(name)
    told = tomllib.loads((MACHINES / f"{name}.toml").read_text())
    cores = sum(node.get("cores", 0) for node in told["node"])
    mib = sum(node["mib"] if "mib" in node else 1024 * node["gib"] for node in told["node"])
    assert (loaded.name, loaded.description, loaded.kind) == (name, told["description"], told["kind"])
    assert len(loaded.nodes) == len(told["node"])
    assert loaded.cpus == cores * told.get("threads_per_core", 1)
    assert loaded.mib == mib
    assert loaded.small == told.get("small", False)
    assert loaded.arch.name == told.get("arch", "x86_64")


@pytest.mark.parametrize("row", published_rows(), ids=lambda row: f"{row['machine']}-{row['node_pct']}")
def test_published_machines_are_as_published(row: dict[str, str]) -> None:
    loaded = machine.load(row["machine"])
    assert loaded.kind == "published"
    assert len(loaded.nodes) == int(row["nodes"])
    assert loaded.cores_per_node == int(row["cores_per_node"])
    assert loaded.threads_per_core == int(row["threads_per_core"])
    assert {node.mib for node in loaded.nodes} == {int(row["gib_per_node"]) * 1024}


def test_odd_machines() -> None:
    one = machine.load("one-cpu")
    assert one.cpus == 1
    assert [node.cpus for node in machine.load("node-without-cpus").nodes] == [2, 0]
    three = machine.load("three-nodes")
    assert [(node.mib, node.cpus) for node in three.nodes] == [(1281, 2), (2049, 1), (775, 1)]
    assert three.cores_per_node is None
    assert machine.load("tiny").mib < 128
    assert any(arg.startswith("memmap=") for arg in machine.load("holes").append)


@pytest.mark.parametrize(
    "more",
    [
        "below_4g_mib = 1024\n" + NODE,
        'firmware = "ovmf"\n' + NODE,
        "monitor = true\n" + NODE,
        NODE + "[[dimm]]\ngib = 1\n",
    ],
)
def test_what_arm64_cannot_have(more: str) -> None:
    machine.parse("x", GOOD + 'arch = "arm64"\n' + NODE)
    with pytest.raises(LabError, match=r"is of arm64; .* for x86_64"):
        machine.parse("x", GOOD + 'arch = "arm64"\n' + more)


def test_with_efi_it_boots_users_kernels() -> None:
    assert machine.parse("x", GOOD + NODE).config == "perf"
    assert machine.parse("x", GOOD + 'firmware = "ovmf"\n' + NODE).config == "users"
    assert machine.load("arm64").config == "arm64"
    with pytest.raises(LabError, match="firmware"):
        machine.parse("x", GOOD + 'firmware = "coreboot"\n' + NODE)


def test_summary() -> None:
    assert machine.load("xeon-8167m").summary() == "2 nodes, 104 CPUs (2 threads a core), 768 GiB"
    assert machine.load("three-nodes").summary() == "3 nodes, 4 CPUs (2/1/1 by node), 4105 MiB"


def test_mib_and_smt() -> None:
    made = machine.parse("x", GOOD + "threads_per_core = 2\n[[node]]\nmib = 775\ncores = 3\n")
    assert made.nodes == (machine.Node(775, 6),)
    assert made.pages == 775 * 256
    assert not made.small


def test_dimms() -> None:
    made = machine.parse("x", GOOD + NODE * 2 + "[[dimm]]\ngib = 1\n[[dimm]]\nmib = 640\nnode = 1\n")
    assert made.dimms == (machine.Dimm(1024, 0), machine.Dimm(640, 1))
    assert (made.mib, made.dimm_mib) == (4096, 1664)


def test_unknown_machine_lists_the_known() -> None:
    with pytest.raises(LabError) as err:
        machine.load("no-such")
    assert "'no-such'" in str(err.value)
    assert "epyc-7551-kvm-small" in err.value.todo and "three-nodes" in err.value.todo


@pytest.mark.parametrize("name", ["", "../machines/tiny", "/etc/passwd", "tiny.toml", "TINY"])
def test_names_are_no_paths(name: str) -> None:
    with pytest.raises(LabError):
        machine.load(name)


@pytest.mark.parametrize(
    ("text", "says", "todo"),
    [
        ("description = \n", "line 1", "correct"),
        (GOOD + "[[node]\n", "line 3", "correct"),
        (GOOD, "key 'node' is missing", "a list of 1 to 64, each a table with gib, mib, cores"),
        (GOOD + "node = []\n", "node is []", "a list of 1 to 64"),
        (GOOD + "node = 3\n", "node is 3", "a list of 1 to 64"),
        (GOOD + "node = [3]\n", "node[0] is 3", "a table with gib, mib, cores"),
        (GOOD + NODE * 65, "node is a list of 65", "a list of 1 to 64"),
        ('kind = "odd"\n' + NODE, "key 'description' is missing", "a string"),
        ('description = 5\nkind = "odd"\n' + NODE, "description is 5", "a string"),
        ('description = "d"\nkind = "even"\n' + NODE, 'kind is "even"', '"odd" or "published"'),
        (GOOD + "colour = 3\n" + NODE, "unknown key 'colour'", "append, arch, below_4g_mib, description"),
        (GOOD + NODE + "cpus = 3\n", "node[0]: unknown key 'cpus'", "cores, distances, gib, mib"),
        (GOOD + 'small = "yes"\n' + NODE, 'small is "yes"', "true or false"),
        (GOOD + "small = 1\n" + NODE, "small is 1", "true or false"),
        (GOOD + "threads_per_core = 0\n" + NODE, "threads_per_core is 0", "from 1 to 255"),
        (GOOD + "threads_per_core = true\n" + NODE, "threads_per_core is true", "a whole number"),
        (GOOD + "below_4g_mib = 4096\n" + NODE, "below_4g_mib is 4096", "from 64 to 3584"),
        (GOOD + 'append = "quiet"\n' + NODE, 'append is "quiet"', "a list, each one kernel argument"),
        (GOOD + "append = [3]\n" + NODE, "append[0] is 3", "one kernel argument"),
        (GOOD + 'append = ["a", "a b"]\n' + NODE, 'append[1] is "a b"', "without spaces"),
        (GOOD + 'append = ["a\\n"]\n' + NODE, 'append[0] is "a\\n"', "without spaces"),
        (GOOD + 'append = [""]\n' + NODE, 'append[0] is ""', "one kernel argument"),
        (GOOD + NODE + "[[node]]\ngib = 0\n", "node[1].gib is 0", "from 1 to 1008"),
        (GOOD + "[[node]]\ngib = -3\ncores = 1\n", "node[0].gib is -3", "from 1 to 1008"),
        (GOOD + "[[node]]\ngib = 1.5\ncores = 1\n", "node[0].gib is 1.5", "a whole number"),
        (GOOD + '[[node]]\nmib = "many"\ncores = 1\n', 'node[0].mib is "many"', "from 0 to 1032192"),
        (GOOD + "[[node]]\ngib = 1\nmib = 1024\ncores = 1\n", "node[0]: needs its memory once", "gib or mib"),
        (GOOD + "[[node]]\ncores = 1\n", "node[0]: needs its memory once", "gib or mib"),
        (GOOD + NODE + "distances = [10, 20]\n", "node[0].distances is [10, 20]", "each of 1 nodes"),
        (GOOD + NODE + "distances = [20]\n", "node[0].distances is [20]", "10 to itself"),
        (GOOD + NODE + "distances = [9]\n", "node[0].distances[0] is 9", "from 10 to 254"),
        (GOOD + "[[node]]\ngib = 2\ncores = -1\n", "node[0].cores is -1", "from 0 to 255"),
        (GOOD + "[[node]]\ngib = 2\n", "0 CPUs in all", "1 to 255"),
        (GOOD + "[[node]]\ngib = 2\ncores = 256\n", "node[0].cores is 256", "from 0 to 255"),
        (GOOD + "[[node]]\ngib = 2\ncores = 200\n" * 2, "400 CPUs in all", "1 to 255"),
        (GOOD + "[[node]]\nmib = 16\ncores = 1\n", "16 MiB in all", "64 to 1032192 MiB"),
        (GOOD + "[[node]]\ngib = 1000\ncores = 1\n" * 2, "2048000 MiB in all", "40 physical address bits"),
        (GOOD + NODE + "[[dimm]]\ngib = 1007\n", "1033216 MiB in all", "DIMMs included"),
        (GOOD + NODE + "[[dimm]]\n", "dimm[0]: needs its memory once", "gib or mib"),
        (GOOD + NODE + "[[dimm]]\ngib = 1\nnode = 1\n", "dimm[0].node is 1", "nodes 0 to 0"),
        (GOOD + NODE + "[[dimm]]\ngib = 1\ncores = 1\n", "dimm[0]: unknown key 'cores'", "gib, mib, node"),
        (GOOD + "dimm = [3]\n" + NODE, "dimm[0] is 3", "a table with gib, mib, node"),
        (GOOD + NODE + "[[dimm]]\ngib = 1\n" * 17, "dimm is a list of 17", "a list of 0 to 16"),
    ],
)
def test_malformed_files_name_file_key_and_value(text: str, says: str, todo: str) -> None:
    with pytest.raises(LabError) as err:
        machine.parse("bad", text)
    assert err.value.what == "machines/bad.toml"
    assert says in err.value.why
    assert todo in err.value.todo
    assert "\n" not in str(err.value)


def test_unreadable_file(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe\n")
    with pytest.raises(LabError, match="bad.toml: cannot be read: .*; write it in UTF-8"):
        machine.load("bad", tmp_path)
