# SPDX-License-Identifier: GPL-2.0-only
"""A suite that the host's sources do not have, by apt with a state of its own.

Sources, index and settings of that apt lie in a folder of the user's cache, so that neither the host's
sources nor what apt would install there change.  The mirror, and how it is reached, are those of the host's
apt; Debian's keyring on the host says whether the index is genuine.
"""

import re
from pathlib import Path

from padlab.core import packages, paths, process, progress
from padlab.core.errors import AbsentError, LabError

SUITES = ("bookworm", "trixie")  # what the lab is proven on: Debian 12 and 13
KEYRINGS = (
    Path("/usr/share/keyrings/debian-archive-keyring.gpg"),
    Path("/usr/share/keyrings/debian-archive-keyring.pgp"),
)
_ARCHITECTURE = "amd64"  # of an index: what is wanted from it is for all
# Suites whose mirror has all suites.
_NAMES = {"bookworm", "trixie", "forky", "oldstable", "stable", "testing", "unstable", "sid"}
POCKETS = ("", "-updates", "-security")
# Settings of apt that say how to fetch, not what.
_ACQUIRE = re.compile(
    r"Acquire::(?:https?|Check-Valid-Until|Check-Date|Retries|ForceIPv[46]|Allow\w+|M(?:ax|in)-\w+)\b"
    r'(?!\S*Auto-?Detect)\S* "[^"]+";',
    re.IGNORECASE,
)
_KEY = re.compile(r"NO_PUBKEY|public key is not available|is not signed|[Mm]issing key|EXPKEYSIG")
_NO_SUITE = re.compile(r"does not have a Release file|404\s+Not Found")


def place_of(suite: str) -> Path:
    """``suite`` is the name of one of Debian's mirror, such as "trixie-backports"."""
    return paths.CACHE / "apt" / suite


def environment(suite: str) -> dict[str, str]:
    return {"APT_CONFIG": str(place_of(suite) / "apt.conf")}


def prepare(suite: str, what: str) -> None:
    """Write what apt is told: the host may have got another mirror or proxy since the last time."""
    packages.need_apt(what)
    targets = process.run(["apt-get", "indextargets", "Created-By: Packages"], what=what)
    dump = process.run(["apt-config", "dump"], what=what)
    mirror = mirrors(targets).get("")
    if mirror is None:
        why = f"apt's sources have no Debian mirror, from which {suite} could be had"
        raise LabError(what, why, "add one to /etc/apt/sources.list.d, then run: apt-get update")
    place = place_of(suite)
    (place / "keys").mkdir(parents=True, exist_ok=True)
    nothing = ("main", "parts", "sourceparts", "preferences", "preferencesparts", "trusted")
    settings = own_state(place, _ARCHITECTURE) | {
        # Nothing of the host's but what says how to fetch: its hooks are not for this.
        **{f"Dir::Etc::{name}": "/dev/null" for name in nothing},
        "Dir::Etc::sourcelist": place / "sources.list",
        "Dir::Etc::trustedparts": place / "keys",
    }
    keyring = next(filter(Path.exists, KEYRINGS), None)
    if keyring is None:
        why = "this host does not have the keys that Debian signs its package index with"
        raise LabError(what, why, "run as root: apt-get install debian-archive-keyring")
    options = f"signed-by={keyring} arch={_ARCHITECTURE}"
    (place / "sources.list").write_text(f"deb [{options}] {mirror} {suite} main\n")
    lines = [*(f'{name} "{value}";' for name, value in settings.items()), *acquire_settings(dump)]
    (place / "apt.conf").write_text("\n".join(lines) + "\n")


def update(suite: str, what: str) -> None:
    prepare(suite, what)
    log, command = paths.base().logs / f"apt-{suite}.log", ["apt-get", "update", "--error-on=any"]
    try:
        with progress.step(f"fetching the package index of {suite}"):
            process.run(command, what=what, env=environment(suite), log=log)
    except LabError as err:
        if err.log is None:
            raise
        raise _explain(suite, what, log) from None


def own_state(place: Path, architecture: str) -> dict[str, object]:
    """Settings with which apt works in ``place``, for an architecture that the host need not know."""
    for folder in ("lists/partial", "archives/partial"):
        (place / folder).mkdir(parents=True, exist_ok=True)
    return {
        "Dir::State": place,
        "Dir::State::lists": place / "lists",
        "Dir::State::status": "/dev/null",
        "Dir::Cache": place,
        "Dir::Cache::archives": place / "archives",
        "APT::Architecture": architecture,
        "APT::Sandbox::User": "root",
        "Acquire::Languages": "none",
    }


def _explain(suite: str, what: str, log: Path) -> LabError:
    text = log.read_text(errors="replace")
    if _KEY.search(text):
        why = f"this host does not have the key that {suite} is signed with"
        todo = "run as root: apt-get update; apt-get install debian-archive-keyring"
    elif _NO_SUITE.search(text):
        why = f"the mirror in apt's sources has no {suite}"
        return AbsentError(what, why, "use a mirror in /etc/apt/sources.list.d that has it", log=log)
    else:
        why = f"the package index of {suite} cannot be had: {packages.reason(text)}"
        todo = "check the network and apt's sources, then try again"
    return LabError(what, why, todo, log=log)


def mirrors(targets: str) -> dict[str, str]:
    """Debian's mirror by what a suite's name ends with, of apt-get indextargets."""
    mirrors_by_pocket: dict[str, str] = {}
    for paragraph in targets.split("\n\n"):
        target = dict(re.findall(r"^([\w-]+): (.+)$", paragraph, re.MULTILINE))
        # Before the first update apt does not know whose index it will be.
        if target.get("Component") != "main" or target.get("Origin", "Debian") != "Debian":
            continue
        name, dash, pocket = target.get("Release", "").partition("-")
        if name in _NAMES and dash + pocket in POCKETS:
            mirrors_by_pocket.setdefault(dash + pocket, target["Repo-URI"])
    return {pocket: mirrors_by_pocket[pocket] for pocket in POCKETS if pocket in mirrors_by_pocket}


def acquire_settings(dump: str) -> list[str]:
    """Of ``apt-config dump`` what says how packages are fetched."""
    return [line for line in dump.splitlines() if _ACQUIRE.fullmatch(line)]
