# SPDX-License-Identifier: GPL-2.0-only
"""What a kit's run has written, whole and damaged: read, recorded and judged; and the script that writes it."""

import hashlib
import os
import shlex
import shutil
import signal
import subprocess
import tarfile
import time
from pathlib import Path

import pytest

from checks import guests
from padlab.check.kit import form, importing, make, times
from padlab.core import paths
from padlab.core.errors import LabError
from padlab.docs import boots, native
from padlab.kernel import tree
from tests.checks.test_oracle import REPORT
from tests.conftest import is_gone, write
from tests.vm.test_ktap import KSELFTEST

SLUG = "intel-family-6-model-207-16cpus"
KIT = """commit 1234567
run 2026-11-27
base 6.12
source-6.12 linux-source-6.12 6.12.117-1
config perf
qemu 10.0.2
compiler gcc 12.2.0
phases natives,boots,tests,oracle
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
    sections = [
        section("kit", KIT),
        section("host", HOST),
        section("natives base=6.12 program=zero_bench", zeroed(3), 137, "zero_bench --rounds=5"),
        section("natives base=6.12 program=memmap_bench", initialised(), 0, "memmap_bench --rounds=5"),
        *(
            section(
                f"boots gib=16 kernel={kernel} round={nr}",
                booted(kernel),
                0,
                "qemu -accel tcg,thread=multi -m 16G",
            )
            for nr in (1, 2, 3)
            for kernel in times.KERNELS
        ),
        section("boots gib=64 kernel=stock round=1", booted("stock")),
        section("sweep gib=16 threads=4 round=1", booted("patched")),
        *more,
    ]
    return b"padata-kit 2\n" + b"".join(sections) + (section("end", "done\n") if end else b"")


def guest_of(kind: str, words: str, guest: str, console: str = "") -> bytes:
    return section(f"{kind} {words} of=console", console) + section(f"{kind} {words} of=guest", guest)


def maps(machine: str, patched: str = REPORT) -> bytes:
    return b"".join(
        guest_of("oracle", f"machine={machine} kernel={kernel}", said)
        for kernel, said in (("stock", REPORT), ("patched", patched))
    )


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "RECORDED", tmp_path / "results")
    return tmp_path / "results"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "ran.txt"


def imported(file: Path, data: bytes, capsys: pytest.CaptureFixture) -> tuple[int, str]:
    file.write_bytes(data)
    return importing.main(file), capsys.readouterr().out


class TestForm:
    @pytest.mark.parametrize(
        ("old", "new", "says"),
        [
            (
                b"initialised, 900",
                b"initialised, 901",
                "the body of section 'boots gib=16 kernel=patched round=1'",
            ),
            (b"bytes: ", b"bytes: 9", "the head of section 'kit'"),
            (b"status: 137", b"status: x", "the head of section 'natives base=6.12 program=zero_bench'"),
            (b"\n", b"\r\n", "no file of a kit's run"),
            (b"padata-kit 2", b"padata-kit 1", "it has format 1, and this commit reads format 2"),
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
            left = len(data[:length]) - len(b"padata-kit 2\n")
            assert bool(file.cut) == (left != sum(len(_as_written(one)) for one in file.sections))
        assert whole.ended and not whole.cut

    def test_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(LabError, match="No such file"):
            form.read(tmp_path / "none")


def _as_written(one: form.Section) -> bytes:
    return section(one.name, one.body, one.status, one.command)


class TestImport:
    def test_records_are_what_tables_are_made_of(
        self, file: Path, results: Path, capsys: pytest.CaptureFixture
    ) -> None:
        status, said = imported(file, ran(), capsys)
        assert status == 0 and said.count(": recorded\n") == 3 and "note: this commit is " in said
        assert "nothing is there of: tests, oracle" in said
        rows = boots.timed("6.12", SLUG).rows
        assert rows[0] == ["16 GiB, the node's line", "24 (24 to 24)", "12 (12 to 12)", "0.50"]
        assert len(rows) == 2  # of 64 GiB only stock was booted
        assert boots.by_threads("6.12", SLUG).rows == [["16 GiB, ms", "12 (12 to 12)"]]
        # Of three rounds, the last one was cut.
        assert native.sizes("6.12", SLUG).rows == [["1 GiB", "300,000", "0.50", "0.10", "0.00"]]
        assert native.struct_pages("6.12").rows[0][2:5] == ["20.00", "5.00", "0.25"]
        record = (results / "cpus" / SLUG / "hugepages.json").read_text()
        assert '"commit": "1234567"' in record and '"n": 2' in record

    def test_twice(self, file: Path, results: Path, capsys: pytest.CaptureFixture) -> None:
        imported(file, ran(), capsys)
        before = {path: path.stat().st_mtime_ns for path in results.rglob("*.json")}
        _, said = imported(file, ran(), capsys)
        assert said.count("imported before, nothing is changed") == 3
        assert {path: path.stat().st_mtime_ns for path in results.rglob("*.json")} == before

    def test_what_the_lab_has_recorded_stays(
        self, file: Path, results: Path, capsys: pytest.CaptureFixture
    ) -> None:
        write(results / "cpus" / SLUG / "bench.json", '{"command": "./lab bench"}')
        _, said = imported(file, ran(), capsys)
        assert "bench.json: not replaced, it is of ./lab bench; remove it" in said

    def test_of_a_killed_run(self, file: Path, results: Path, capsys: pytest.CaptureFixture) -> None:
        cut = ran(guest_of("tests", "role=kunit", "ktap a ok"), end=False)[:-5]
        status, said = imported(file, cut, capsys)
        assert status == 0 and "section tests role=kunit of=guest" in said
        assert "kunit: not complete" in said and "the run was ended before its end" in said

    def test_verdicts(self, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(guests, "patched_tree", lambda: tree.ensure_tree("stock"))
        ktap = "".join(f"ktap test_jobs {line}\n" for line in KSELFTEST.strip().splitlines())
        bad = ktap.replace("ok 1 jobs", "not ok 1 jobs")
        file.write_bytes(
            ran(
                guest_of("tests", "role=kunit", f"{ktap}done 0\n"),
                guest_of("tests", "role=selftest", f"{bad}done 1\n"),
                guest_of("tests", "role=other", f"{ktap}done 0\n", "[ 1.000000] WARNING: CPU: 1\n"),
                maps("same"),
                maps("other", REPORT.replace("hash=5963", "hash=5964")),
                maps("cut", REPORT.replace("done 0\n", "")),
                section("natives base=6.12 program=zero_bench", "zero_bench: FAILED: not zero\n", 1),
            )
        )
        outcomes = dict(importing.outcomes(form.read(file)))
        found = {name: (one.passed > 0, len(one.failures)) for name, one in outcomes.items()}
        assert found == {
            "natives base=6.12 program=zero_bench": (False, 1),
            "kunit": (True, 0),
            "selftest": (True, 1),
            "other": (True, 1),
            "memory map, same": (True, 0),
            "memory map, other": (False, 1),
            "memory map, cut": (False, 0),
        }
        assert importing.show(list(outcomes.items())) == 1


# The script, in a kit whose programs are scripts


@pytest.fixture
def kit(tmp_path: Path, installed: None) -> Path:
    """Its benches say what the ones above do; memmap_bench waits for ever before."""
    inside, place = tmp_path / "inside", tmp_path / "kit"
    place.mkdir()
    write(inside / "oracle/machines", "")
    write(inside / "zero_bench-6.12", f"#!/bin/sh\necho {shlex.quote(zeroed(3))}\n", 0o755)
    waits = '#!/bin/sh\n[ "$1" = --help ] || { echo $$ >pid-of-bench; exec sleep 1000; }\n'
    write(inside / "memmap_bench-6.12", waits, 0o755)
    with tarfile.open(place / make.ARCHIVE, "w:xz") as tar:
        tar.add(inside, ".")
    digest = hashlib.sha256((place / make.ARCHIVE).read_bytes()).hexdigest()
    conf = "FORMAT=2 COMMIT=1234567 BASE=6.12 BASES=6.12 MOST_CPUS=255 UNPACKED_MIB=1"
    write(place / "conf", f"{conf} ARCHIVE_SHA256={digest}\n")
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
        (["--phases", "natives,fly"], "there is no phase 'fly'."),
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


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_what_is_complete(kit: Path, signum: int) -> None:
    out, work = kit.parent / "out.txt", kit.parent / f"padata-kit-{os.getuid()}"
    run = started(kit, "--phases", "natives", "--out", str(out))
    while not (bench := work / "here/pid-of-bench").exists() or not bench.read_text():
        assert run.poll() is None
        time.sleep(0.1)
    pid = int(bench.read_text())
    other, _ = started(kit, "--out", "second.txt").communicate(timeout=60)
    assert "is using it" in other and not (kit.parent / "second.txt").exists()
    run.send_signal(signum)
    said, _ = run.communicate(timeout=60) if signum == signal.SIGTERM else ("", run.wait(60))
    file = form.read(out)
    kinds = [section.kind for section in file.sections]
    assert kinds == ["kit", "host", "natives", "natives"] and not file.ended
    assert [section.body for section in file.sections[2:]] == [zeroed(3) + "\n"] * 2
    assert "--copy" in file.sections[3].command
    if signum == signal.SIGTERM:
        assert f"What is complete is in {out}" in said and is_gone(pid) and not work.exists()
    else:
        os.kill(pid, signal.SIGKILL)
        third = started(kit, "--phases", "oracle", "--minutes", "1", "--out", "third.txt")
        assert "which a killed run has left behind" in third.communicate(timeout=60)[0]
        assert third.returncode == 0 and form.read(kit.parent / "third.txt").ended and not work.exists()
