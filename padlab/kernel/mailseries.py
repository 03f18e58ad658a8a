# SPDX-License-Identifier: GPL-2.0-only
"""The mailable series, generated: linux/ and patches/ cut into the steps that steps.py reads.

The series is made in a small git repository that holds only the files it touches, as they are in stock;
``check`` applies it to such a repository again and compares the outcome with the patched tree.  Each part of
a series that has parts is in a folder of its own, with numbers of its own.
"""

import re
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from padlab.core import packages, paths, process, progress
from padlab.core.errors import LabError
from padlab.kernel import coreedits, source, state, tree
from padlab.kernel.content import Stamp, copy, fingerprint
from padlab.kernel.owned import owned_files
from padlab.kernel.steps import Step, cover_letter, read_parts

_FALLBACK = ("padata-mt maintainers", "padata-mt@localhost.localdomain")


@dataclass(frozen=True)
class Identity:
    name: str
    email: str
    date: int

    def environment(self, minutes: int = 0) -> dict[str, str]:
        values = {"NAME": self.name, "EMAIL": self.email, "DATE": f"{self.date + 60 * minutes} +0000"}
        roles = ("AUTHOR", "COMMITTER")
        return {f"GIT_{role}_{name}": value for role in roles for name, value in values.items()}


_MAIL = "[0-9][0-9][0-9][0-9]-*.patch"
_LETTER = "0000-cover-letter.patch"
# What _place() says in each letter.
_AGAINST = re.compile(r"^This (?:series is|is part \d+ of \d+,) against ", re.MULTILINE)


def export(directory: Path) -> list[Path]:
    """Write the series to ``directory``, part by part, and return its files, cover letters first."""
    older = _older(directory)
    packages.ensure("git", "quilt")
    stock = tree.ensure_tree("stock")
    parts = read_parts()
    identity = find_identity()
    repo = _base_repository(stock, paths.base().build / "series/export", identity)
    done = [step for part in parts for step in part.steps]
    for nr, step in enumerate(done, 1):
        _commit_step(repo, nr, step, identity)

    fresh = paths.base().build / "series/mails"
    shutil.rmtree(fresh, ignore_errors=True)
    names, base, left = [], "base", len(done)
    for count, part in enumerate(parts, 1):
        left -= len(part.steps)
        options = ["--cover-letter", "--no-signature", "--no-renames", "-o", str(fresh / part.name)]
        command = ["format-patch", *options, f"{base}..HEAD~{left}"]
        said = _git(repo, command, identity.environment(len(done) + 1)).splitlines()
        letter, cover = Path(said[0]), cover_letter(part)
        text = letter.read_text().replace("*** SUBJECT HERE ***", cover.subject)
        blurb = f"{cover.body}\n{_place(count, len(parts))}"
        letter.write_text(text.replace("*** BLURB HERE ***", blurb))
        names += [Path(line).relative_to(fresh) for line in said]
        base = f"HEAD~{left}"
    for mail in older:
        mail.unlink()
        if mail.parent != directory and not any(mail.parent.iterdir()):
            mail.parent.rmdir()
    for name in names:
        copy(fresh / name, directory / name)
    return [directory / name for name in names]


def _place(number: int, of: int) -> str:
    name, _, version = source.name_of(tree.source_version()).partition(" ")
    linux = f"Linux {version}" if name == "Linux" else f"Debian's {name}, version {version}"
    if of == 1:
        return f"This series is against {linux}."
    before = {1: "", 2: " with part 1 applied"}.get(number, f" with parts 1 to {number - 1} applied")
    return f"This is part {number} of {of}, against {linux}{before}."


def _mails(directory: Path) -> list[Path]:
    """Those in ``directory`` itself, and in the folders of parts."""
    return sorted([*directory.glob(_MAIL), *directory.glob(f"[0-9]-*/{_MAIL}")])


def _older(directory: Path) -> list[Path]:
    """The mails of an earlier export; patches that are of something else are never deleted."""
    mails = _mails(directory)
    for folder in {mail.parent for mail in mails}:
        letter = folder / _LETTER
        if not (letter.exists() and _AGAINST.search(letter.read_text(errors="replace"))):
            why = f"{folder} has patches that are not of this series"
            raise LabError(f"exporting the series to {directory}", why, "give another folder")
    return mails


def find_identity() -> Identity:
    """The user's git identity, and the time of the clone's last commit: two exports are equal."""

    def ask(*args: str) -> str:
        command = ["git", "-C", str(paths.ROOT), *args]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()

    mine = ask("config", "user.name"), ask("config", "user.email")
    date = ask("log", "-1", "--format=%ct")
    return Identity(*(mine if all(mine) else _FALLBACK), int(date) if date.isdigit() else int(time.time()))


def _git(repo: Path, args: list[str], env: dict[str, str], what: str = "exporting the series") -> str:
    """Run git, untouched by the user's own settings: these change diffs."""
    clean = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_DIR": f"{repo}/.git"}
    settings = ["-c", "core.autocrlf=false", "-c", "core.abbrev=12", "-c", "gc.auto=0"]
    command = ["git", *settings, "--work-tree", repo, *args]
    return process.run(command, what=what, cwd=repo, env=clean | env)


def touched_files() -> set[str]:
    return set(owned_files()) | set(coreedits.touched(paths.base().patches))


def _base_repository(stock: Path, repo: Path, identity: Identity) -> Path:
    """A repository with stock's version of the touched files, tagged ``base``."""
    shutil.rmtree(repo, ignore_errors=True)
    repo.mkdir(parents=True)
    env = identity.environment()
    _git(repo, ["init", "--quiet", "--initial-branch=main"], env)
    for name in touched_files():
        if (stock / name).exists():
            copy(stock / name, repo / name)
    _git(repo, ["add", "--all", "--force"], env)
    _git(repo, ["commit", "--quiet", "--allow-empty", "-m", f"Linux {tree.source_version()}"], env)
    _git(repo, ["tag", "base"], env)
    return repo


def _commit_step(repo: Path, nr: int, step: Step, identity: Identity) -> None:
    files = owned_files()
    for name in step.owns:
        copy(files[name], repo / name)
    for name in step.edits:
        coreedits.apply_patch(paths.base().patches / name, repo)
    env = identity.environment(nr)
    message = f"{step.subject}\n\n{step.body}"
    _git(repo, ["add", "--all", "--force"], env)
    _git(repo, ["commit", "--quiet", "--signoff", "-m", message], env)


def check(directory: Path) -> None:
    """Apply the series with git am and compare with the patched tree; run checkpatch on it."""
    patched, stock = tree.ensure_tree("patched"), tree.ensure_tree("stock")
    mails = [mail for mail in _mails(directory) if mail.name != _LETTER]
    identity = find_identity()
    what = "checking the series"
    with progress.step(what):
        repo = _base_repository(stock, paths.base().build / "series/check", identity)
        command = ["am", "--quiet", *(str(mail.resolve()) for mail in mails)]
        _git(repo, command, identity.environment(), what)
        names = touched_files()
        wrong = [name for name in names if fingerprint(repo / name) != fingerprint(patched / name)]
        wrong += {*state.differing(stock, patched)} - names
    if wrong:
        why = "git am does not give the patched tree"
        todo = "drop edits with ./lab tree --discard, or write them back with ./lab refresh"
        raise LabError(what, why, todo, detail=[f"differs: {name}" for name in sorted(wrong)])
    run_checkpatch(patched, mails)


# checkpatch asks for a MAINTAINERS change in each patch that adds a file; the
# series has one entry, in its last step, which covers them all.
IGNORE = ("FILE_PATH_CHANGES",)
# It learns the kernel's own CamelCase names from headers, but those of the page
# flags' accessors are pasted together by macros there.
_PAGE_FLAGS = re.compile(r"CAMELCASE: Avoid CamelCase: <_*(Set|Clear)?Page[A-Z]\w+>$")
# The userspace build has to have LIST_HEAD() and list_for_each_entry(), which use their
# arguments as often in <linux/list.h>.
_LIST_MACROS = re.compile(r"MACRO_ARG_REUSE: Macro argument reuse '(name|pos|head|member)'")


def run_checkpatch(top: Path, mails: list[Path]) -> None:
    """Any remark of checkpatch.pl --strict is an error; a series that was clean is not looked at again."""
    packages.ensure("build")
    texts = [mail.read_text() for mail in mails]
    names = ("checkpatch.pl", "spelling.txt", "const_structs.checkpatch")
    scripts = (fingerprint(top / "scripts" / name) or "" for name in names)
    place = paths.base().build / "checkpatch"
    # Of patches all but author, date and commit.
    parts = [*(text[text.index("\nSubject: ") :] for text in texts), *IGNORE, *scripts]
    stamp = Stamp(place / ".clean", parts)
    if not stamp.matches():
        place.mkdir(parents=True, exist_ok=True)
        with stamp.renewed():
            _run_script(top, mails, place)
    progress.note(f"{len(mails)} patches: git am gives the patched tree, checkpatch --strict is clean")


def _run_script(top: Path, mails: list[Path], place: Path) -> None:
    command = ["perl", top / "scripts/checkpatch.pl", f"--root={top}", "--strict", "--no-summary", "--terse"]
    command += [f"--ignore={','.join(IGNORE)}", "--show-types", *mails]
    # It leaves a cache of names in its current directory.
    log = paths.base().logs / "checkpatch.log"
    output = process.run(command, what="checkpatch", ok=(0, 1), cwd=place, log=log)
    lines = re.findall(r"^.*: (?:ERROR|WARNING|CHECK):.*$", output, re.MULTILINE)
    remarks = [line for line in lines if not (_PAGE_FLAGS.search(line) or _LIST_MACROS.search(line))]
    if remarks:
        why = f"{len(remarks)} remarks on the series"
        raise LabError("checkpatch", why, "correct what it says", log=log, detail=remarks)
