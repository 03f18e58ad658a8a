# SPDX-License-Identifier: GPL-2.0-only
"""The mailable series, generated: linux/ and patches/ cut into logical steps.

``series/NN-name.msg`` describes one step, in the order of the numbers: its
subject, the files of linux/ and the hooks of patches/ that belong to it, and
its message::

    Subject: padata: ...
    Owns: kernel/padata_mt.c
    Hook: padata-mt-engine.patch

    The problem, the approach, the figures.

An Owns line that ends in / means every file below.  ``series/00-cover.msg`` is
the cover letter: a subject and a text.  Lines before the subject that begin
with # are comments.  Every owned file and every hook is in exactly one step.  What
another base says instead is in its own folder (see messages()).

The series is made in a small git repository that holds only the files it
touches, as they are in stock; ``check`` applies it to such a repository again
and compares the outcome with the patched tree.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from padlab.core import packages, paths, process, progress
from padlab.core.errors import LabError
from padlab.kernel import checkpatch, hooks, source, state, tree
from padlab.kernel.content import fingerprint
from padlab.kernel.owned import owned_files

STEPS = paths.ROOT / "series"
COVER = "00-cover.msg"
_WORK = paths.BUILD / "series"
_FALLBACK = ("padata-mt maintainers", "padata-mt@localhost.localdomain")
_COMMENTS = re.compile(r"^#.*\n?|^\s*\n", re.MULTILINE)
_HEADERS = ("Subject", "Owns", "Hook")


@dataclass(frozen=True)
class Step:
    """One patch of the series."""

    name: str
    subject: str
    owns: tuple[str, ...]
    hooks: tuple[str, ...]
    body: str


@dataclass(frozen=True)
class Identity:
    """The author and date of the patches."""

    name: str
    email: str
    date: int

    def environment(self, minutes: int = 0) -> dict[str, str]:
        stamp = f"{self.date + 60 * minutes} +0000"
        roles = ("AUTHOR", "COMMITTER")
        names = {f"GIT_{role}_NAME": self.name for role in roles}
        mails = {f"GIT_{role}_EMAIL": self.email for role in roles}
        return names | mails | {f"GIT_{role}_DATE": stamp for role in roles}


def parse_step(name: str, text: str) -> Step:
    """Read one description."""
    head, _, body = text.partition("\n\n")
    fields: dict[str, list[str]] = {header: [] for header in _HEADERS}
    for line in head.splitlines():
        if line.startswith("#"):
            continue
        key, colon, value = line.partition(":")
        if not colon or key not in fields or not value.strip():
            raise _bad(name, f"cannot read the line {line!r}", f"give {', '.join(_HEADERS)} and a value")
        fields[key].append(value.strip())
    if len(fields["Subject"]) != 1:
        raise _bad(name, "it needs one Subject", "add a Subject line")
    if not body.strip():
        raise _bad(name, "it has no message", "say what problem it solves, and how")
    return Step(name, fields["Subject"][0], tuple(fields["Owns"]), tuple(fields["Hook"]), body.strip() + "\n")


def _bad(name: str, why: str, todo: str) -> LabError:
    return LabError(f"series/{name}", why, todo)


def messages() -> dict[str, Path]:
    """The messages by name: those of series/, or what the base in use has under the same name.

    One that has only comments there says that the base does not have the step.
    """
    own = paths.OWN / "series" if paths.OWN else None
    found = {path.name: path for folder in (STEPS, own) if folder for path in folder.glob("*.msg")}
    return {name: found[name] for name in sorted(found) if _COMMENTS.sub("", found[name].read_text())}


def read_steps() -> list[Step]:
    """The steps in order, checked: everything is in exactly one of them."""
    found = [path for name, path in messages().items() if name != COVER]
    owned = owned_files()
    steps = [expand(parse_step(path.name, path.read_text()), owned) for path in found]
    problems = coverage(steps, set(owned), set(hooks.read_series(paths.PATCHES)))
    if problems:
        raise LabError(
            "the series' steps",
            f"{len(problems)} files or hooks are not in exactly one step",
            "correct the Owns and Hook lines of series/*.msg",
            detail=problems,
        )
    return steps


def expand(step: Step, owned: Iterable[str]) -> Step:
    """Replace the folders that a step owns with their files."""
    names: list[str] = []
    for name in step.owns:
        below = [file for file in owned if name.endswith("/") and file.startswith(name)]
        names += below or [name]
    return replace(step, owns=tuple(names))


def coverage(steps: list[Step], owned: set[str], hooked: set[str]) -> list[str]:
    """Files and hooks that are in no step, in several, or in a step but missing."""
    problems = []
    for label, names, there in (
        ("linux", [name for step in steps for name in step.owns], owned),
        ("patches", [name for step in steps for name in step.hooks], hooked),
    ):
        count = Counter(names)
        problems += [f"{label}/{name}: in no step" for name in sorted(there - set(count))]
        problems += [f"{label}/{name}: does not exist" for name in sorted(set(count) - there)]
        problems += [f"{label}/{name}: in {n} steps" for name, n in sorted(count.items()) if n > 1]
    return problems


# Exporting


def export(directory: Path) -> list[Path]:
    """Write the series to ``directory`` and return its files, the cover letter first."""
    packages.ensure("git", "quilt")
    stock = tree.ensure_tree("stock")
    steps = read_steps()
    cover = parse_step(COVER, _cover_text())
    identity = find_identity()
    repo = _base_repository(stock, _WORK / "export", identity)
    for number, step in enumerate(steps, 1):
        _commit_step(repo, step, identity, number)

    fresh = _WORK / "mails"
    shutil.rmtree(fresh, ignore_errors=True)
    _git(
        repo,
        ["format-patch", "--cover-letter", "--no-signature", "--no-renames", "-o", str(fresh), "base..HEAD"],
        identity.environment(len(steps) + 1),
    )
    letter = fresh / "0000-cover-letter.patch"
    base = f"This series is against {_against(tree.source_version())}."
    letter.write_text(
        letter.read_text()
        .replace("*** SUBJECT HERE ***", cover.subject)
        .replace("*** BLURB HERE ***", f"{cover.body}\n{base}")
    )
    return _deliver(fresh, directory)


def _against(version: str) -> str:
    name, _, number = source.name_of(version).partition(" ")
    return f"Linux {number}" if name == "Linux" else f"Debian's {name}, version {number}"


def _cover_text() -> str:
    path = messages().get(COVER)
    if path is None:
        raise _bad(COVER, "there is no cover letter", "write one")
    return path.read_text()


def _deliver(fresh: Path, directory: Path) -> list[Path]:
    """Move the series to where the user wants it; an older one is deleted, other files stay."""
    directory.mkdir(parents=True, exist_ok=True)
    for old in directory.glob("[0-9][0-9][0-9][0-9]-*.patch"):
        old.unlink()
    return [Path(shutil.copy(path, directory / path.name)) for path in sorted(fresh.iterdir())]


def find_identity() -> Identity:
    """The user's git identity, and the time of the clone's last commit: two exports are equal."""

    def ask(*args: str) -> str:
        answer = subprocess.run(
            ["git", "-C", str(paths.ROOT), *args], capture_output=True, text=True, check=False
        )
        return answer.stdout.strip()

    name, email = ask("config", "user.name"), ask("config", "user.email")
    if not (name and email):
        name, email = _FALLBACK
    date = ask("log", "-1", "--format=%ct")
    return Identity(name, email, int(date) if date.isdigit() else int(time.time()))


def _git(repo: Path, args: list[str], env: dict[str, str], what: str = "exporting the series") -> str:
    """Run git, untouched by the user's own settings: these change diffs."""
    clean = {
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_SYSTEM": "/dev/null",
        "GIT_DIR": str(repo / ".git"),
    }
    settings = ["-c", "core.autocrlf=false", "-c", "core.abbrev=12", "-c", "gc.auto=0"]
    command = ["git", *settings, "--work-tree", str(repo), *args]
    return process.run(command, what=what, cwd=repo, env=clean | env)


def touched_files() -> set[str]:
    """Every file the series adds, edits or removes."""
    return set(owned_files()) | set(hooks.touched(paths.PATCHES))


def _base_repository(stock: Path, repo: Path, identity: Identity) -> Path:
    """A repository with stock's version of the touched files, tagged ``base``."""
    shutil.rmtree(repo, ignore_errors=True)
    repo.mkdir(parents=True)
    env = identity.environment()
    _git(repo, ["init", "--quiet", "--initial-branch=main"], env)
    for name in touched_files():
        if (stock / name).exists():
            (repo / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(stock / name, repo / name)
    _git(repo, ["add", "--all", "--force"], env)
    _git(repo, ["commit", "--quiet", "--allow-empty", "-m", f"Linux {tree.source_version()}"], env)
    _git(repo, ["tag", "base"], env)
    return repo


def _commit_step(repo: Path, step: Step, identity: Identity, number: int) -> None:
    owned = owned_files()
    for name in step.owns:
        place = repo / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(owned[name], place)
    for name in step.hooks:
        hooks.apply_patch(paths.PATCHES / name, repo)
    env = identity.environment(number)
    message = f"{step.subject}\n\n{step.body}"
    _git(repo, ["add", "--all", "--force"], env)
    _git(repo, ["commit", "--quiet", "--signoff", "-m", message], env)


# Checking


def check(directory: Path) -> None:
    """Apply the series with git am and compare with the patched tree; run checkpatch on it."""
    patched, stock = tree.ensure_tree("patched"), tree.ensure_tree("stock")
    mails = sorted(directory.glob("[0-9][0-9][0-9][0-9]-*.patch"))[1:]
    identity = find_identity()
    what = "checking the series"
    with progress.step(what):
        repo = _base_repository(stock, _WORK / "check", identity)
        _git(
            repo,
            ["am", "--quiet", *map(str, (mail.resolve() for mail in mails))],
            identity.environment(),
            what,
        )
        differing = [
            name
            for name in sorted(touched_files())
            if fingerprint(repo / name) != fingerprint(patched / name)
        ]
        extra = sorted(set(differing_files(stock, patched)) - touched_files())
    if differing or extra:
        raise LabError(
            what,
            "git am does not give the patched tree",
            "drop edits with ./lab tree --discard, or write them back with ./lab refresh",
            detail=[f"differs: {name}" for name in [*differing, *extra]],
        )
    checkpatch.check(patched, mails)


def differing_files(one: Path, other: Path) -> list[str]:
    """Files that differ in content or are in only one of two trees; what is made in them is left out."""
    excluded = ["obj-*", ".pc", "__pycache__", state.STATE]
    command = ["diff", "-rq", "--no-dereference", *(f"--exclude={name}" for name in excluded), one, other]
    output = process.run(command, what="comparing trees", ok=(0, 1))
    return parse_diff(output, one, other)


def parse_diff(output: str, one: Path, other: Path) -> list[str]:
    """The names in the output of diff -rq; a folder that is only in one tree gives its files."""
    names = []
    for line in output.splitlines():
        if match := re.match(r"Files (.*) and .* differ$", line):
            names.append(os.path.relpath(match[1], one))
        elif match := re.match(r"Only in (.*?): (.*)$", line):
            path = Path(match[1]) / match[2]
            top = one if path.is_relative_to(one) else other
            found = [file for file in path.rglob("*") if not file.is_dir()] if path.is_dir() else [path]
            names += [os.path.relpath(file, top) for file in found]
        elif line:
            names.append(line)
    return sorted(names)
