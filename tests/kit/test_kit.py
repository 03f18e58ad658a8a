# SPDX-License-Identifier: GPL-2.0-only
"""What a kit's run has written, whole and damaged: read, recorded and judged; and the script that writes it."""

import contextlib
import hashlib
import io
import itertools
import os
import shlex
import shutil
import signal
import subprocess
import tarfile
import time
from pathlib import Path

import pytest

from checks.install import verdict
from padlab.core import paths
from padlab.core.errors import LabError
from padlab.docs import native
from padlab.kit import form, importing, make
from padlab.vm import qemu
from tests.checks.test_oracle import REPORT
from tests.conftest import is_gone, write

SLUG = "intel-family-6-model-207-16cpus"
KIT = """commit 1234567
base 6.12
source-6.12 linux-source-6.12 6.12.117-1
config perf
qemu 10.0.2
compiler gcc 12.2.0
run 2026-11-27
phases natives,boots,oracle
"""
HOST = """cpus 16
nodes 2
total-mib 131000
vendor_id	: GenuineIntel
cpu family	: 6
model		: 207
model name	: Intel(R) Xeon(R) Processor
"""
NODE = {
    "stock": "deferred pages initialised in 24ms",
    "patched": "initialised, 900 pages in 12ms, 16 threads",
}


def zeroed(rounds: int) -> str:
    ways = (("stock", 1, 300), ("ours", 1, 150), ("ours", 16, 30))
    lines = ["work: 5 rounds, 9 bytes"]
    for nr in range(1, rounds + 1):
        lines.append(f"round {nr} reference 1000 ns")
        lines += [f"round {nr} kib 1048576 threads {n} {way} {ms}000000 ns cpu 7 ns" for way, n, ms in ways]
    return "".join(f"zero_bench: {line}\n" for line in lines)


def initialised() -> str:
    lines = ["memory: 1000 pages, 1 MiB of struct pages"]
    for nr in (1, 2, 3):
        lines += [f"round {nr} reference 1000 ns", f"round {nr} threads 1 ran 1 stock 20000 ns"]
        lines += [f"round {nr} threads 1 ran 1 movnti 5000 ns"]
    return "".join(f"memmap_bench: {line}\n" for line in [*lines, "ok"])


def booted(kernel: str) -> str:
    said = ("smp: Brought up 1 node, 16 CPUs", f"node 0 {NODE[kernel]}", "Run /init as init process")
    return "".join(f"[    1.{at}00000] {line}\r\n" for at, line in enumerate(said))


def section(name: str, body: str, status: int = 0, command: str = "it") -> bytes:
    data = body.encode()
    head = f"== {name}\ncommand: {command}\nstatus: {status}\nbytes: {len(data)}\n"
    return f"{head}sha256: {hashlib.sha256(data).hexdigest()}\n".encode() + data + b"\n"


def ran(*more: bytes, end: bool = True) -> bytes:
    qemu = "qemu -accel tcg,thread=multi -m 16G"
    sections = [
        section("kit", KIT),
        section("host", HOST),
        section("natives base=6.12 program=zero_bench", zeroed(3), 137, "zero_bench --rounds=5"),
        section("natives base=6.12 program=memmap_bench", initialised(), 0, "memmap_bench --rounds=5"),
    ]
    for nr, kernel in itertools.product((1, 2, 3), importing.KERNELS):
        sections.append(section(f"boots gib=16 kernel={kernel} round={nr}", booted(kernel), 0, qemu))
    sections.append(section("boots gib=64 kernel=stock round=1", booted("stock")))
    sections += [section("sweep gib=16 threads=4 round=1", booted("patched")), *more]
    return b"padata-kit 2\n" + b"".join(sections) + (section("end", "done\n") if end else b"")


def maps(machine: str, patched: str = REPORT) -> bytes:
    return b"".join(
        section(f"oracle machine={machine} kernel={kernel} of={of}", text)
        for kernel, guest in (("stock", REPORT), ("patched", patched))
        for of, text in (("console", ""), ("guest", guest))
    )


@pytest.fixture(autouse=True)
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "RECORDED", tmp_path / "results")
    return tmp_path / "results/cpus" / SLUG


def imported(top: Path, data: bytes) -> tuple[int, str]:
    """The exit status, and what is said."""
    (top / "ran.txt").write_bytes(data)
    with contextlib.redirect_stdout(io.StringIO()) as said:
        status = verdict.show(importing.main(top / "ran.txt").file)
    return status, said.getvalue()


class TestForm:
    @pytest.mark.parametrize(
        ("old", "new", "says"),
        [
            (b"ised, 900", b"ised, 901", "the body of section 'boots gib=16 kernel=patched round=1'"),
            (b"bytes: ", b"bytes: 9", "no head of a section is at byte 13"),
            (b"status: 137", b"status: x", "no head of a section is at byte "),
            (b"\n", b"\r\n", "no file of a kit's run"),
            (b"padata-kit 2", b"padata-kit 1", "or has another format than 2"),
            (b"== kit", b"== tik", "it does not begin with section 'kit'"),
        ],
    )
    def test_what_is_damaged_is_refused(self, old: bytes, new: bytes, says: str) -> None:
        with pytest.raises(LabError, match=says.replace("(", "\\(")):
            form.parse(ran().replace(old, new), "importing x")

    def test_what_ends_early_has_all_that_is_complete(self) -> None:
        data, whole = ran(), form.parse(ran(), "x")
        for length in range(len(b"padata-kit 2\n") + len(section("kit", KIT)), len(data), 17):
            file = form.parse(data[:length], "x")
            assert file.sections == whole.sections[: len(file.sections)] and not file.ended
        assert whole.ended

    def test_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(LabError, match="No such file"):
            form.read(tmp_path / "none")


class TestImport:
    def test_records_are_what_tables_are_made_of(self, tmp_path: Path, results: Path) -> None:
        copied = section("natives base=6.12 program=zero_bench", zeroed(2), 0, "zero_bench --copy")
        ended = section("boots gib=16 kernel=stock round=4", booted("stock"), 137)
        panic = f"{booted('stock')}[    9.100000] Kernel panic - not syncing: x\r\n"
        panicked = section("boots gib=16 kernel=stock round=5", panic)
        data = ran(copied, ended, panicked)
        status, said = imported(tmp_path, data)
        assert status == 0 and said.count(": recorded\n") == 3 and "note: this commit is " in said
        assert "nothing is there of: oracle" in said
        rows = native.boots("6.12", SLUG).rows
        assert rows[0] == ["16 GiB, the node's line", "24 (24 to 24)", "12 (12 to 12)", "0.50"]
        assert len(rows) == 2  # of 64 GiB only stock was booted
        assert native.boots_by_threads("6.12", SLUG).rows == [["16 GiB, ms", "12 (12 to 12)"]]
        # Of three rounds, the last one was cut.
        assert native.sizes("6.12", SLUG).rows == [["1 GiB", "300,000", "0.50", "0.10", "0.00"]]
        assert native.struct_pages("6.12").rows[0][2:5] == ["20.00", "5.00", "0.25"]
        record = (results / "hugepages.json").read_text()
        assert all(text in record for text in ('"commit": "1234567"', '"n": 2', '"native_copies": ['))
        assert (results / "boots.json").read_text().count('"runs": 3') == 2
        # What a kit has recorded, it may record again.
        assert imported(tmp_path, data)[1] == said

    def test_what_the_lab_has_recorded_stays(self, tmp_path: Path, results: Path) -> None:
        write(results / "bench.json", '{"command": "./lab bench"}')
        _, said = imported(tmp_path, ran())
        assert "bench.json: not replaced, it is of ./lab bench; remove it" in said

    def test_of_a_killed_run(self, tmp_path: Path) -> None:
        tests = section(
            "tests role=kunit of=guest", "ktap a not ok"
        )  # of an older kit: no longer of interest
        status, said = imported(tmp_path, ran(tests, maps("cut"), end=False)[:-5])
        assert status == 0 and "memory map, cut: a guest was ended before its end" in said
        assert "the run was ended before its end" in said and said.count(": recorded\n") == 3

    def test_verdicts(self, tmp_path: Path) -> None:
        data = ran(
            maps("same"),
            maps("other", REPORT.replace("hash=5963", "hash=5964")),
            maps("cut", REPORT.replace("done 0\n", "")),
            maps("warned"),
            section("oracle machine=warned kernel=stock of=console", "[ 1.000000] WARNING: CPU: 1\n"),
            section("natives base=6.12 program=zero_bench", "zero_bench: FAILED: not zero\n", 1),
        )
        outcomes = verdict.outcomes(form.parse(data, "x"))
        assert {name: (one.passed, len(one.failures)) for name, one in outcomes} == {
            "natives base=6.12 program=zero_bench": (0, 1),
            "memory map, same": (1, 0),
            "memory map, other": (0, 1),
            "memory map, cut": (0, 0),
            "memory map, warned": (0, 1),
        }
        status, said = imported(tmp_path, data)
        assert status == 1 and "memory maps that are as stock's: 1\n" in said


@pytest.mark.parametrize(
    ("name", "crowded"), [("few-stock-tcg", False), ("many-stock-tcg", True), ("many-stock-kvm", False)]
)
def test_a_guest_as_large_as_its_host(tmp_path: Path, name: str, crowded: bool) -> None:
    """QEMU's command lines are written with the kit: nothing in the script says what a guest has."""
    make.write_guests(tmp_path)
    words = (tmp_path / f"qemu/boot-{name}").read_text().splitlines()
    assert "@CPUS@,sockets=1,cores=@CPUS@,threads=1" in words and "@MIB@M" in words
    assert f"memory-backend-ram,id=mem0,size=@MIB@M,{qemu.PREALLOC}" in words
    assert words[-1].endswith(" @MORE@") and ("nolapic_timer" in words[-1]) == crowded


def test_machines_of_the_oracle(tmp_path: Path) -> None:
    make.write_guests(tmp_path)
    listed = (tmp_path / "oracle").read_text()
    assert " smt-numa\n" in listed and not any(name in listed for name in ("efi", "arm64", "memory-768"))
    words = (tmp_path / "qemu/oracle-smt-numa-patched-kvm").read_text().splitlines()
    assert {"../kit/patched", "../kit/oracle-patched.cpio", "kvm"} <= set(words)


# The script, in a kit whose programs are scripts


WAITS = "echo $$ >pid-of-bench; exec sleep 1000"
# Its first argument is the kernel.
QEMU = """cat "../kit/$1.txt" >"$1.console"
echo "oracle $*" >"$1.guest"
"""


@pytest.fixture
def kit(tmp_path: Path, installed: None) -> Path:
    """Its benches say what the ones above do; memmap_bench waits for ever."""
    return made(tmp_path, WAITS)


def made(top: Path, memmap_bench: str) -> Path:
    inside, place = top / "inside", top / "kit"
    place.mkdir()
    write(inside / "zero_bench-6.12", f"#!/bin/sh\necho {shlex.quote(zeroed(3))}\n", 0o755)
    write(inside / "memmap_bench-6.12", f'#!/bin/sh\n[ "$1" = --help ] || {{ {memmap_bench}; }}\n', 0o755)
    write(inside / "qemu.sh", QEMU)
    write(inside / "oracle", "1 tiny\n1000000000 large\n")
    for kernel, accel in itertools.product(importing.KERNELS, ("kvm", "tcg")):
        write(inside / f"{kernel}.txt", booted(kernel))
        write(inside / f"qemu/oracle-tiny-{kernel}-{accel}", f"{kernel}\n")
        for size in make.SIZES:
            write(inside / f"qemu/boot-{size}-{kernel}-{accel}", f"{kernel}\n@CPUS@ of @MIB@M\n@MORE@\n")
    with tarfile.open(place / make.ARCHIVE, "w:xz") as tar:
        tar.add(inside, ".")
    digest = hashlib.sha256((place / make.ARCHIVE).read_bytes()).hexdigest()
    conf = "FORMAT=2 BASES=6.12 QEMU='sh ../kit/qemu.sh' MOST_CPUS=3 UNPACKED_MIB=1"
    write(place / "conf", f"{conf} ARCHIVE_SHA256={digest}\n")
    write(place / "made", KIT.partition("run ")[0])
    shutil.copy(make.SCRIPT, place / "run")
    shutil.copy("/bin/busybox", place / "busybox")
    return place


def started(kit: Path, *args: str) -> subprocess.Popen[str]:
    env = {**os.environ, "TMPDIR": str(kit.parent)}
    command = ["sh", kit / "run", *args]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, env=env, cwd=kit.parent, stdout=pipe, stderr=subprocess.STDOUT, text=True
    )


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--minutes", "x"], "--minutes x: it is no number of minutes from 1 on."),
        (["--fly"], "--fly: there is no such option."),
        (["--out"], "--out: its value is missing."),
        (["--out", "none/x.txt"], "none/x.txt: it is there already, or cannot be written."),
    ],
)
def test_bad_input_is_answered_in_a_line(kit: Path, args: list[str], says: str) -> None:
    run = started(kit, *args)
    said, _ = run.communicate(timeout=60)
    assert run.returncode == 1 and said.startswith("run: ") and says in said and said.count("\n") == 1
    assert not list(kit.parent.glob("padata-kit-*"))


def test_a_run_that_is_ended_leaves_what_is_complete(kit: Path) -> None:
    out = kit.parent / "out.txt"
    run, pid = started(kit, "--out", str(out)), 0
    while not pid:
        assert run.poll() is None
        time.sleep(0.1)
        pid = int(
            "".join(bench.read_text() for bench in kit.parent.glob("padata-kit-*/here/pid-of-bench")) or 0
        )
    run.send_signal(signal.SIGTERM)
    said, _ = run.communicate(timeout=60)
    file = form.read(out)
    assert [section.kind for section in file.sections] == ["kit", "host", "natives", "natives"]
    assert [section.body for section in file.sections[2:]] == [zeroed(3) + "\n"] * 2
    assert "--copy" in file.sections[3].command and not file.ended
    assert f"what is complete is in {out}" in said and is_gone(pid)
    assert not list(kit.parent.glob("padata-kit-*"))


def test_a_whole_run(tmp_path: Path, installed: None) -> None:
    place, out = made(tmp_path, f"echo {shlex.quote(initialised())}"), tmp_path / "out.txt"
    said, _ = started(place, "--out", str(out)).communicate(timeout=300)
    run = importing.read(out)
    assert run.file.ended and not list(importing.missing(run)), said
    assert not list(tmp_path.glob("padata-kit-*"))
    assert [name for _, name, _ in importing.records(run)] == ["bench.json", "hugepages.json", "boots.json"]
    first, cpus = run.file.of("boots")[0], min(len(os.sched_getaffinity(0)), 3)
    assert f" stock {cpus} of {int(first.words['gib']) * 1024}M" in first.command
    threads = [section.words["threads"] for section in run.file.of("sweep") if "round=1" in section.name]
    assert threads == ["1", "2", "3"][:cpus]
    assert "deferred_init_threads=1" in run.file.of("sweep")[0].command
    assert {section.words["machine"] for section in run.file.of("oracle")} == {"tiny"}
    assert "oracle: large: left out" in said
    bodies = {section.words["kernel"]: section.body for section in run.file.of("oracle")}
    assert bodies == {kernel: f"oracle {kernel}\n" for kernel in importing.KERNELS}
