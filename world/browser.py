"""A headless Chromium for the tests and the screenshots, with a profile of its own.

It reaches this machine and nothing else: what a page takes from a CDN is missing, as it is for
people behind a strict firewall, and the page must read all the same.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
DRIVER = "chromedriver"
DESKTOP = (1200, 900)
PHONE = (390, 844)

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


class NoBrowser(RuntimeError):
    """There is no Chromium here, or no driver for it. The message says what to install."""


def programs() -> tuple[str, str]:
    """Where Chromium and its driver are.

    Raises:
        NoBrowser: One of them is missing, or selenium is.
    """
    found = next(filter(None, map(shutil.which, BROWSERS)), None), shutil.which(DRIVER)
    if not all(found):
        missing = " and ".join(n for n, f in zip(("chromium", DRIVER), found, strict=True) if not f)
        raise NoBrowser(f"{missing} missing: apt-get install chromium chromium-driver")
    try:
        import selenium  # noqa: F401
    except ImportError:
        raise NoBrowser("selenium is missing: pip install selenium") from None
    return found


@contextmanager
def chromium(size: tuple[int, int] = DESKTOP, *, dark: bool = False) -> Iterator[Chrome]:
    """A browser window of that size; it is closed, and its profile removed, in the end.

    Raises:
        NoBrowser: It cannot be started here.
    """
    browser, driver = programs()
    from selenium import webdriver
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver.chrome.service import Service

    profile = tempfile.mkdtemp(prefix="ai-memory-chromium-")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    if dark:
        options.add_argument("--force-dark-mode")
    try:
        window = webdriver.Chrome(options=options, service=Service(driver))
    except WebDriverException as error:
        shutil.rmtree(profile, ignore_errors=True)
        raise NoBrowser(f"{browser} does not start: {str(error.msg)[:300]}") from None
    try:
        resize(window, size)
        if dark:
            scheme = [{"name": "prefers-color-scheme", "value": "dark"}]
            window.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
        yield window
    finally:
        window.quit()
        shutil.rmtree(profile, ignore_errors=True)


def resize(window: Chrome, size: tuple[int, int]) -> None:
    """Give the page that much room, as a phone or a desk would."""
    width, height = size
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    window.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def picture(window: Chrome, file: Path) -> None:
    """What the window shows, as a PNG."""
    file.parent.mkdir(parents=True, exist_ok=True)
    window.save_screenshot(str(file))
