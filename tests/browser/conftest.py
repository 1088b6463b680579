"""A real game with four evenings in it, and a headless Chromium to look at its pages with."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SUPERUSER = "keeper"
STRANGER, PASSWORD = "Wanda", "a-lantern-by-the-door"
LATE_SECONDS = 0.5  # for an answer that is under way when its cookie is deleted


@pytest.fixture(scope="session")
def pictures() -> Any:
    """`world.screenshots` of the unit tests' game, where a browser can be started at all."""
    pytest.importorskip("selenium", reason="selenium is missing: pip install selenium")
    from world import browser, screenshots  # the copies in the game, on the path by now

    try:
        browser.programs()
    except browser.NoBrowser as missing:
        pytest.skip(f"no browser to look with: {missing}")
    return screenshots


@pytest.fixture(scope="session")
def game(pictures: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A running game whose innkeeper has slept on four evenings, with a stranger's account."""
    from world.game import Game
    from world.story import Story

    made = Game(tmp_path_factory.mktemp("browser") / "game", repository=ROOT)
    try:
        pictures.furnish(made)
        Story(made, lambda line: None).log_in(STRANGER, PASSWORD).close()
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="session")
def window(pictures: Any) -> Iterator[Any]:
    """One browser for all of the tests: each begins in it by logging in, or by `nobody`."""
    from world.browser import NoBrowser, chromium

    try:
        with chromium() as opened:
            opened.set_page_load_timeout(30)
            yield opened
    except NoBrowser as missing:
        pytest.skip(f"no browser to look with: {missing}")


class Visit:
    """Somebody at the pages: `go` to one, `text` of it, `css` and `click` what is on it."""

    def __init__(self, window: Any, base: str, npc: str = ""):
        self.window, self.base, self.npc = window, base, npc

    def go(self, path: str) -> Visit:
        self.window.get(self.base + path.replace("{npc}", self.npc))
        return self

    @property
    def text(self) -> str:
        from selenium.webdriver.common.by import By

        return self.window.find_element(By.TAG_NAME, "body").text

    def css(self, selector: str) -> list[Any]:
        from selenium.webdriver.common.by import By

        return self.window.find_elements(By.CSS_SELECTOR, selector)

    def click(self, words: str) -> Visit:
        """Click the link or the button that says so."""
        from selenium.webdriver.common.by import By

        path = f"//main//*[self::a or self::button][normalize-space()={words!r}]"
        found = self.window.find_elements(By.XPATH, path)
        assert found, f"nothing says {words!r}: {self.text[:600]}"
        before = self.window.find_element(By.TAG_NAME, "html")
        self.window.execute_script("arguments[0].click()", found[0])
        self._until_left(before)
        return self

    def fill(self, **fields: str) -> Visit:
        """Type into fields by their id, and send their form."""
        from selenium.webdriver.common.by import By

        for name, value in fields.items():
            field = self.window.find_element(By.ID, name)
            field.clear()
            field.send_keys(value)
        before = self.window.find_element(By.TAG_NAME, "html")
        field.submit()
        self._until_left(before)
        return self

    def script(self, code: str, *arguments: Any) -> Any:
        return self.window.execute_script(code, *arguments)

    def faults(self) -> list[str]:
        """What the page's scripts complained of, CDNs that cannot be reached aside."""
        logged = self.window.get_log("browser")
        return [
            line["message"] for line in logged if "ERR_NAME_NOT_RESOLVED" not in line["message"]
        ]

    def _until_left(self, before: Any) -> None:
        from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
        from selenium.webdriver.support.ui import WebDriverWait

        def left(_window: Any) -> bool:
            try:
                before.is_enabled()
            except (StaleElementReferenceException, WebDriverException):
                return self.script("return document.readyState") == "complete"
            return False

        WebDriverWait(self.window, 20).until(left)


@pytest.fixture(scope="session")
def logged_in(pictures: Any, game: Any, window: Any) -> Any:
    """Makes the window somebody's: their log-in page is filled in once, and its cookies kept."""
    base, kept = pictures.address(game), {}

    def become(name: str, password: str) -> None:
        # a page that sets no cookie; a cookie is set for the site that one is at
        window.get(f"{base}/static/ai_memory/memory.css")
        window.delete_all_cookies()
        if not name:  # an answer still under way, to a favicon, may have set the cookie again
            time.sleep(LATE_SECONDS)
            window.delete_all_cookies()
        if name and name not in kept:
            pictures.log_in(window, game, name, password)
            kept[name] = window.get_cookies()
        for cookie in kept.get(name, ()):
            window.add_cookie(cookie)

    return become


@pytest.fixture(scope="session")
def npc_path(pictures: Any, game: Any, window: Any, logged_in: Any) -> str:
    """Where the innkeeper's pages begin."""
    logged_in(SUPERUSER, game.password)
    return pictures.npc_path(window, game)


@pytest.fixture
def staff(pictures: Any, game: Any, window: Any, logged_in: Any, npc_path: str) -> Visit:
    """The keeper of the game."""
    logged_in(SUPERUSER, game.password)
    return Visit(window, pictures.address(game), npc_path)


@pytest.fixture
def stranger(pictures: Any, game: Any, window: Any, logged_in: Any, npc_path: str) -> Visit:
    """A player without any permission."""
    logged_in(STRANGER, PASSWORD)
    return Visit(window, pictures.address(game), npc_path)


@pytest.fixture
def nobody(pictures: Any, game: Any, window: Any, logged_in: Any, npc_path: str) -> Visit:
    """Somebody who is not logged in."""
    logged_in("", "")
    return Visit(window, pictures.address(game), npc_path)
