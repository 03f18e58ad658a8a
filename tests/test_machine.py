# SPDX-License-Identifier: GPL-2.0-only
"""Machine files: the ones that are there, and every way to get one wrong."""

import csv
from pathlib import Path

import pytest

from padlab import machine, published
from padlab.errors import LabError

GOOD = 'description = "d"\nkind = "odd"\n'
NODE = "[[node]]\ngib = 2\ncores = 1\n"


def published_rows() -> list[dict[str, str]]:
    with published.TABLE.open() as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", machine.names())
def test_all_machines_load(name: str) -> None:
    loaded = machine.load(name)
    assert loaded.name == name
    assert loaded.description
    assert name.split("-")[0] in loaded.summary() or loaded.memory() in loaded.summary()


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
    assert [(node.mib, node.cpus) for node in three.nodes] == [(1283, 2), (2049, 1), (775, 1)]
    assert three.cores_per_node is None
    assert machine.load("tiny").mib < 128
    assert any(arg.startswith("memmap=") for arg in machine.load("holes").append)


def test_summary() -> None:
    assert machine.load("xeon-8167m").summary() == "2 nodes, 104 CPUs (2 threads a core), 768 GiB"
    assert machine.load("three-nodes").summary() == "3 nodes, 4 CPUs (2/1/1 by node), 4107 MiB"


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
    ("text", "says"),
    [
        ("description = \n", "line 1"),
        (GOOD + "[[node]\n", "line 3"),
        (GOOD, "'node' is missing"),
        (GOOD + "node = []\n", "0 nodes"),
        (GOOD + "node = 3\n", "node is 3"),
        (GOOD + "node = [3]\n", "node 0: is 3"),
        (GOOD + NODE * 65, "65 nodes"),
        ('kind = "odd"\n' + NODE, "'description' is missing"),
        ('description = 5\nkind = "odd"\n' + NODE, "description is 5"),
        ('description = "d"\nkind = "even"\n' + NODE, "kind is 'even'"),
        (GOOD + "colour = 3\n" + NODE, "unknown key 'colour'"),
        (GOOD + NODE + "cpus = 3\n", "node 0: unknown key 'cpus'"),
        (GOOD + 'small = "yes"\n' + NODE, "small is 'yes'"),
        (GOOD + "threads_per_core = 0\n" + NODE, "threads_per_core is 0"),
        (GOOD + "threads_per_core = true\n" + NODE, "threads_per_core is True"),
        (GOOD + 'append = "quiet"\n' + NODE, "append is 'quiet'"),
        (GOOD + "append = [3]\n" + NODE, "append has 3"),
        (GOOD + 'append = ["a b"]\n' + NODE, "append has 'a b'"),
        (GOOD + NODE + "[[node]]\ngib = 0\n", "node 1: gib is 0"),
        (GOOD + "[[node]]\ngib = -3\ncores = 1\n", "node 0: gib is -3"),
        (GOOD + "[[node]]\ngib = 1.5\ncores = 1\n", "node 0: gib is 1.5"),
        (GOOD + '[[node]]\nmib = "many"\ncores = 1\n', "node 0: mib is 'many'"),
        (GOOD + "[[node]]\ngib = 1\nmib = 1024\ncores = 1\n", "memory once"),
        (GOOD + "[[node]]\ncores = 1\n", "memory once"),
        (GOOD + "[[node]]\ngib = 2\ncores = -1\n", "cores is -1"),
        (GOOD + "[[node]]\ngib = 2\n", "0 CPUs in all"),
        (GOOD + "[[node]]\ngib = 2\ncores = 256\n", "cores is 256"),
        (GOOD + "[[node]]\ngib = 2\ncores = 200\n" * 2, "400 CPUs in all"),
        (GOOD + "[[node]]\nmib = 16\ncores = 1\n", "16 MiB in all"),
        (GOOD + "[[node]]\ngib = 1000\ncores = 1\n" * 2, "2048000 MiB in all"),
        (GOOD + NODE + "[[dimm]]\n", "dimm 0: needs its memory once"),
        (GOOD + NODE + "[[dimm]]\ngib = 1\nnode = 1\n", "dimm 0: node is 1"),
        (GOOD + NODE + "[[dimm]]\ngib = 1\ncores = 1\n", "dimm 0: unknown key 'cores'"),
        (GOOD + "dimm = [3]\n" + NODE, "dimm 0: is 3"),
        (GOOD + NODE + "[[dimm]]\ngib = 1\n" * 17, "17 DIMMs"),
    ],
)
def test_malformed_files_name_file_key_and_value(text: str, says: str) -> None:
    with pytest.raises(LabError) as err:
        machine.parse("bad", text)
    assert err.value.what == "machines/bad.toml"
    assert says in err.value.why
    assert err.value.todo


def test_unreadable_file(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe\n")
    with pytest.raises(LabError, match="cannot be read"):
        machine.load("bad", tmp_path)
