# SPDX-License-Identifier: GPL-2.0-only
"""The Python environment: which interpreter it is made with, when it is made anew, what a failure says."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from padlab.core import environment, paths
from padlab.core.errors import LabError
from tests.conftest import set_base, write

REQUIREMENTS = sorted(environment.REQUIREMENTS.glob("*.txt"))


def test_requirements_name_no_index() -> None:
    assert {path.stem for path in REQUIREMENTS} == set(environment.SETS)
    for path in REQUIREMENTS:
        assert "://" not in path.read_text() + path.with_suffix(".in").read_text()


def test_a_package_of_several_sets_has_one_version() -> None:
    versions: dict[str, set[str]] = {}
    for path in REQUIREMENTS:
        for name, version in re.findall(r"^(\S+)==(\S+)", path.read_text(), re.MULTILINE):
            versions.setdefault(name, set()).add(version)
    assert {name: found for name, found in versions.items() if len(found) > 1} == {}


@pytest.mark.parametrize(
    "text, why",
    [
        ("OSError: [Errno 28] No space left on device\nERROR: x", "no room on disk"),
        ("WARNING: ... ProxyError('...')\nERROR: No a==1", "the Python package index cannot be reached"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES.\n", "THESE PACKAGES DO NOT MATCH THE HASHES"),
        ("", "it failed"),
    ],
)
def test_a_failure_names_the_reason(text: str, why: str) -> None:
    assert environment.failure(text) == why


@pytest.fixture
def venv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment without packages, which this process seems to run in; pip only makes a folder."""
    place = tmp_path / "build/venv"
    monkeypatch.setattr(paths, "SHARED", place.parent)
    set_base(monkeypatch, build=place.parent)
    monkeypatch.setattr(environment, "VENV", place)
    monkeypatch.setattr(environment, "REQUIREMENTS", tmp_path)
    monkeypatch.setattr(sys, "prefix", str(place))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(environment, "_pip", lambda _name, target, _what: target.mkdir(parents=True))
    for name in environment.SETS:
        (tmp_path / f"{name}.txt").write_text(f"{name}==1\n")
    (place / "lib/python3.11/site-packages").mkdir(parents=True)
    return place


class TestNeed:
    def test_installs_once_and_anew_what_has_changed(
        self, venv: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        environment.need("base")
        assert str(venv / "sets/base") in sys.path
        (venv / "sets/base/old").touch()
        environment.need("base")
        assert (venv / "sets/base/old").exists()
        (environment.REQUIREMENTS / "base.txt").write_text("base==2\n")
        environment.need("base")
        assert not (venv / "sets/base/old").exists()

    def test_programs_of_the_environment_find_a_set_that_it_did_not_know_when_made(self, venv: Path) -> None:
        packages = venv / "lib/python3.11/site-packages"
        (packages / "sets.pth").write_text("../../../sets/base\n")
        environment.need("base")
        listed = (packages / "sets.pth").read_text().split()
        assert [(packages / line).resolve() for line in listed] == [
            venv.resolve() / "sets" / name for name in environment.SETS
        ]

    @pytest.mark.parametrize("end", [LabError("pip", "no network", "try again"), KeyboardInterrupt()])
    def test_leaves_nothing_of_what_was_cut_off(
        self, venv: Path, monkeypatch: pytest.MonkeyPatch, end: BaseException
    ) -> None:
        def half(_name: str, target: Path, _what: str) -> None:
            target.mkdir(parents=True)
            (target / "half").touch()
            raise end

        monkeypatch.setattr(environment, "_pip", half)
        with pytest.raises(type(end)):
            environment.need("base")
        assert list((venv / "sets").iterdir()) == []

    def test_leaves_the_packages_of_another_python_alone(
        self, venv: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys, "prefix", "/usr")
        environment.need("base")
        assert not (venv / "sets").exists()

    def test_a_full_disk(self, venv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        usage = shutil.disk_usage(venv)._replace(free=1 << 20)
        monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage)
        with pytest.raises(LabError, match="no room on disk: 0.0 GiB free"):
            environment.need("base")


FAKE_PYTHON = """\
#!/bin/sh
case "$*" in
*ensurepip*) {venv} && exit {old} ;;
*"-m padlab.core.environment"*) echo "made with $0"; exit 3 ;;
esac
"""


class TestLab:
    """./lab, up to where it has the environment made."""

    @pytest.fixture
    def clone(self, tmp_path: Path) -> Path:
        clone = tmp_path / "clone"
        (clone / "requirements").mkdir(parents=True)
        shutil.copy(paths.ROOT / "lab", clone)
        shutil.copy(environment.REQUIREMENTS / "base.txt", clone / "requirements")
        # The host's own Python is not to be found, whatever it can do.
        script = (clone / "lab").read_text()
        assert "echo /usr/bin/python3;" in script
        (clone / "lab").write_text(script.replace("/usr/bin/python3", "/nonexistent/python3"))
        return clone

    def run(self, clone: Path, *folders: Path) -> subprocess.CompletedProcess[str]:
        tools = clone.parent / "tools"
        tools.mkdir(exist_ok=True)
        for name in ("bash", "dirname", "readlink", "cat", "cmp", "id"):
            link = tools / name
            if not link.exists():
                link.symlink_to(str(shutil.which(name)))
        env = {"PATH": os.pathsep.join(map(str, [*folders, tools]))}
        return subprocess.run([clone / "lab"], env=env, capture_output=True, text=True, check=False)

    def python(self, folder: Path, *, old: bool = False, venv: bool = True, name: str = "python3") -> Path:
        write(folder / name, FAKE_PYTHON.format(venv=str(venv).lower(), old=int(old)), 0o755)
        return folder

    @pytest.mark.parametrize("name", ["python3", "python3.12"])
    def test_takes_a_python_that_is_new_and_makes_environments(
        self, clone: Path, tmp_path: Path, name: str
    ) -> None:
        old = self.python(tmp_path / "old", old=True)
        bare = self.python(tmp_path / "bare", venv=False)
        good = self.python(tmp_path / "good", name=name)
        done = self.run(clone, old, bare, good)
        assert (done.returncode, done.stdout) == (3, f"made with {good}/{name}\n")

    def test_says_what_to_install_when_there_is_none(self, clone: Path, tmp_path: Path) -> None:
        done = self.run(clone, self.python(tmp_path / "bare", venv=False))
        assert done.returncode == 1
        assert done.stderr == (
            "lab: installing python3 and python3-venv: this is not a Debian system (no apt-get). "
            "Install Python 3.11 or later with venv.\n"
        )

    def environment(self, clone: Path, says: str) -> None:
        """A made environment, whose Python says that it is ``says``."""
        venv = clone / "build/venv"
        write(venv / "made", "3.11 /usr/bin/python3\n")
        write(venv / "sets/base/made", (clone / "requirements/base.txt").read_text())
        write(venv / "bin/python", f'#!/bin/sh\ncase "$1" in -I) echo "{says}";; *) echo ran; esac\n', 0o755)

    def test_a_good_environment_is_used(self, clone: Path) -> None:
        self.environment(clone, "3.11 /usr/bin/python3")
        assert self.run(clone).stdout == "ran\n"

    @pytest.mark.parametrize("change", ["upgraded", "removed", "requirements"])
    def test_one_that_is_not_good_any_more_is_made_anew(
        self, clone: Path, tmp_path: Path, change: str
    ) -> None:
        self.environment(clone, "3.13 /usr/bin/python3" if change == "upgraded" else "3.11 /usr/bin/python3")
        if change == "removed":
            (clone / "build/venv/bin/python").unlink()
            (clone / "build/venv/bin/python").symlink_to("/nonexistent/python3")
        elif change == "requirements":
            (clone / "requirements/base.txt").write_text("click==99\n")
        done = self.run(clone, self.python(tmp_path / "good"))
        assert (done.returncode, done.stdout) == (3, f"made with {tmp_path}/good/python3\n")
