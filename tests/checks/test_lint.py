# SPDX-License-Identifier: GPL-2.0-only
"""The lab's lint and tests as checks: each finds what is wrong, and a missing tool is a failure."""

from pathlib import Path

import pytest

from checks.source import test_lint as lab
from padlab.core import paths
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome
from tests.conftest import set_base, write_all

JUNIT = """<?xml version="1.0"?><testsuites><testsuite>
<testcase classname="tests.test_a" name="test_good"/>
<testcase classname="tests.test_a" name="test_bad"><failure message="assert 1 == 2">E</failure></testcase>
<testcase classname="tests.test_b" name="test_broken"><error message="no fixture">E</error></testcase>
<testcase classname="tests.test_b" name="test_later"><skipped message="only on Fridays"/></testcase>
</testsuite></testsuites>"""


def test_junit_report() -> None:
    assert lab.junit(JUNIT, Path("/log")) == Outcome(
        1,
        ("tests.test_a.test_bad: assert 1 == 2", "tests.test_b.test_broken: no fixture"),
        ("tests.test_b.test_later: only on Fridays",),
        Path("/log"),
    )


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of one file for each tool, good."""
    monkeypatch.setattr(lab, "ROOT", tmp_path)
    monkeypatch.setattr(lab, "GUEST", tmp_path / "guest")
    set_base(monkeypatch, build=tmp_path / "build")
    monkeypatch.setattr(lab, "CACHES", tmp_path / "build/lint")
    (tmp_path / "pyproject.toml").write_text((paths.ROOT / "pyproject.toml").read_text())
    for folder in ("padlab", "checks"):
        (tmp_path / folder).mkdir()
    (tmp_path / "checks/__init__.py").touch()
    (tmp_path / "padlab/good.py").write_text('"""Good."""\n\nVALUE: int = 1\n')
    (tmp_path / "good").write_text('#!/bin/bash\necho "${1:-}"\n')
    return tmp_path


@pytest.mark.parametrize(
    ("tool", "name", "text", "says"),
    [
        ("ruff format", "padlab/bad.py", "VALUE=1\n", "padlab/bad.py"),
        ("ruff check", "padlab/bad.py", "import os\n", "padlab/bad.py:1:8: "),
        ("mypy", "padlab/bad.py", 'VALUE: int = "1"\n', "padlab/bad.py:1: error: "),
        ("shellcheck", "bad.sh", "#!/bin/sh\necho $1\n", "bad.sh:2:6: "),
        ("shellcheck", "bad.sh", "#!/bin/sh\nf() { local x; x=1; echo $x; }\nf\n", "SC3043"),
    ],
)
def test_each_tool_finds_what_is_wrong(clone: Path, tool: str, name: str, text: str, says: str) -> None:
    assert lab.LINT[f"lint: {tool}"]().failures == ()
    (clone / name).write_text(text)
    (failure,) = lab.LINT[f"lint: {tool}"]().failures
    assert says in failure


@pytest.mark.parametrize("name", lab.LINT)
def test_a_missing_tool_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    (tmp_path / "python").write_text("#!/bin/sh\nexit 1\n")  # without modules
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setattr(lab.sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(lab.environment, "program", lambda *_args: tmp_path / "shellcheck")
    try:
        assert lab.LINT[name]().failures
    except LabError as err:
        assert "shellcheck is not installed" in err.why


def test_shell_scripts_are_found_by_suffix_and_first_line(tmp_path: Path) -> None:
    files = {
        "lab": "#!/bin/bash\n",
        ".ci/run": "#!/usr/bin/env bash\n",
        "guest/init": "#!/bin/busybox sh\n",
        "guest/role.sh": "echo\n",
        "a/b/dash": "#!/bin/dash -e\n",
        "a/tool": "#!/usr/bin/python3\n",
        "a/short": "#!/usr/bin/fish\n",
        "a/text": "bash\n",
        "build/x.sh": "#!/bin/sh\n",
        ".git/hooks/x": "#!/bin/sh\n",
    }
    write_all(tmp_path, files)
    (tmp_path / "loop").symlink_to(tmp_path)
    scripts = {str(path.relative_to(tmp_path)) for path in lab.shell_scripts(tmp_path)}
    assert scripts == {"lab", ".ci/run", "guest/init", "guest/role.sh", "a/b/dash"}


def test_our_scripts_have_their_own_dialects() -> None:
    dialects = {
        str(path.relative_to(paths.ROOT)): lab.dialect(path) for path in lab.shell_scripts(paths.ROOT)
    }
    assert dialects["lab"] == dialects[".ci/run"] == "bash"
    assert dialects["padlab/guest/init"] == dialects["padlab/guest/oracle.sh"] == "busybox"
    assert dialects["linux/tools/testing/selftests/padata/functions.sh"] == "sh"
