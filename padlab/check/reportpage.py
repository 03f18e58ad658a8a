# SPDX-License-Identifier: GPL-2.0-only
"""The page of ./lab report in a browser: at the width of a desk and of a phone, in light and in dark.

Nothing may be wider than the page, no two labels of a chart may lie on one another, and each figure
has to name the command that recorded it.  Screenshots are left in build/report for who wants to look.
"""

from __future__ import annotations

import base64
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from padlab.core import environment, packages, paths, process
from padlab.core.errors import LabError
from padlab.core.outcome import Outcome, judge

WIDTHS = {"desktop": 1280, "phone": 390}
SCHEMES = ("light", "dark")
HEIGHT = 900
WAIT_S = 120
PLACE = "report"
HOST = "127.0.0.1"
# What is wrong with the page, a line each.
LOOK = Path(__file__).with_name("reportpage.js")


def check() -> Outcome:
    environment.need("report", "browser")
    from padlab.report import page

    packages.ensure("browser")
    place = paths.BUILD / PLACE
    place.mkdir(parents=True, exist_ok=True)
    file = place / page.NAME
    text = page.html(page.figures())
    file.write_text(text)
    size = len(text.encode())
    problems = [] if size < page.MAX_BYTES else [f"the page has {size:,} bytes"]
    looked = 0
    with _browser() as browser:
        for scheme in SCHEMES:
            for name, width in WIDTHS.items():
                found = _look(browser, file, width, scheme)
                problems += [f"{name}, {scheme}: {line}" for line in found]
                _shoot(browser, place / f"{name}-{scheme}.png", width)
                looked += 1
    return judge(problems) if problems else Outcome(looked)


@contextmanager
def _browser() -> Iterator[Any]:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options

    options = Options()
    options.binary_location = "/usr/bin/chromium"
    # Containers have no user namespaces, and small /dev/shm.  The page is our own.
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(argument)
    # Selenium asks the driver by HTTP, which is nothing for a proxy.
    os.environ["no_proxy"] = ",".join(filter(None, [os.environ.get("no_proxy"), HOST]))
    port = _free_port()
    command = ["/usr/bin/chromedriver", f"--port={port}"]
    with process.spawn(command, what="chromedriver", stdout=subprocess.DEVNULL):
        _wait_for(port)
        browser = webdriver.Remote(f"http://{HOST}:{port}", options=options)
        try:
            yield browser
        finally:
            browser.quit()


def _free_port() -> int:
    with socket.socket() as one:
        one.bind((HOST, 0))
        port: int = one.getsockname()[1]
        return port


def _wait_for(port: int) -> None:
    until = time.monotonic() + WAIT_S
    while True:
        with socket.socket() as one:
            if one.connect_ex((HOST, port)) == 0:
                return
        if time.monotonic() > until:
            raise LabError("chromedriver", f"it does not answer within {WAIT_S} s", "see whether it starts")
        time.sleep(0.1)


def _look(browser: Any, file: Path, width: int, scheme: str) -> list[str]:
    """Open the page anew, and ask it what is wrong with it."""
    metrics = {"width": width, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.set_script_timeout(WAIT_S)
    browser.get(file.resolve().as_uri())
    found: list[str] = browser.execute_async_script(LOOK.read_text())
    return found


def _shoot(browser: Any, path: Path, width: int) -> None:
    size = browser.execute_script("return document.documentElement.scrollHeight")
    clip = {"x": 0, "y": 0, "width": width, "height": size, "scale": 1}
    shot = browser.execute_cdp_cmd(
        "Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip, "format": "png"}
    )
    path.write_bytes(base64.b64decode(shot["data"]))
