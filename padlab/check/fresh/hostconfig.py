# SPDX-License-Identifier: GPL-2.0-only
"""How this host gets its packages: what a bare root needs to get them the same way.

Mirrors, proxies, certificates and the Python index are asked of apt, pip and the
environment, so that a root works wherever the host does.
"""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from padlab.core import aptsuite, process
from padlab.core.errors import LabError

SUITES = ("bookworm", "trixie")  # what the lab is proven on: Debian 12 and 13
_ENVIRONMENT = re.compile(
    r"(?:(?:https?|ftp|all|no)_proxy|SSL_CERT_FILE|(?:REQUESTS|CURL)_CA_BUNDLE|CI|TERM)", re.IGNORECASE
)
# What a host adds to Debian's certificates, and where programs find them all.
_CERTIFICATES = (Path("/usr/local/share/ca-certificates"), Path("/etc/ssl/certs/ca-certificates.crt"))
_RESOLVER = (Path("/etc/resolv.conf"), Path("/etc/hosts"))


@dataclass(frozen=True)
class HostConfig:
    targets: str  # apt-get indextargets
    apt: list[str]  # lines for apt.conf
    environment: dict[str, str]

    def sources(self, suite: str) -> list[str]:
        """The lines of sources.list that ``suite`` has on the host's mirror."""
        mirrors = aptsuite.mirrors(self.targets)
        if "" not in mirrors:
            why = "apt's sources have no Debian mirror"
            raise LabError("./lab fresh", why, "add one to /etc/apt/sources.list.d, then run: apt-get update")
        return [f"deb {uri} {suite}{pocket} main" for pocket, uri in mirrors.items()]

    def files(self) -> list[Path]:
        """Files and folders that a root needs at the same paths."""
        named = (word.strip('";') for line in self.apt for word in line.split())
        values = (word for value in self.environment.values() for word in value.split())
        wanted = dict.fromkeys([*_RESOLVER, *_CERTIFICATES, *map(Path, (*named, *values))])
        return [path for path in wanted if path.is_absolute() and path.exists()]


def read() -> HostConfig:
    what = "reading apt's configuration"
    targets = process.run(["apt-get", "indextargets", "Created-By: Packages"], what=what)
    settings = process.run(["apt-config", "dump"], what=what)
    return HostConfig(
        targets, aptsuite.acquire_settings(settings), {**passed_on(os.environ), **pip_environment(_pip())}
    )


def _pip() -> str:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "config", "list"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def passed_on(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables that concern the network, and that this is a CI."""
    return {name: value for name, value in environment.items() if value and _ENVIRONMENT.fullmatch(name)}


def pip_environment(config: str) -> dict[str, str]:
    """``pip config list`` as environment variables, which a pip elsewhere understands."""
    variables: dict[str, str] = {}
    # Later ones win, as in pip: global, for installing, from the environment.
    for section in ("global", "install", ":env:"):
        for name, value in re.findall(rf"^{section}\.([\w.-]+)=(.*)$", config, re.MULTILINE):
            key = "PIP_" + name.lstrip(".").upper().replace("-", "_")
            variables[key] = " ".join(str(ast.literal_eval(value)).split())
    return variables
