"""`python -m world.screenshots`: a game with four evenings in it, and pictures of its pages.

The pictures go to docs/screenshots, small enough to be kept. No network is needed: what Evennia's
base page takes from a CDN is left out, and the pages bring what they need.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from . import evening
from .browser import DESKTOP, PHONE, NoBrowser, chromium, picture, resize
from .demo import with_progress
from .game import ROOT, SUPERUSER, Game, GameError

FOLDER = ROOT / "docs" / "screenshots"
LARGEST = 150_000  # bytes of one picture
FIRST_PORTS = 120
WAIT = 30

SHOTS = (  # name, size, address
    ("overview", DESKTOP, "{npc}"),
    ("journal", (1200, 760), "{npc}journal/"),
    ("search", (1200, 760), "{npc}search/?q=What+is+hidden+under+the+step%3F"),
    ("graph", DESKTOP, "{npc}graph/"),
    ("charts", (1200, 1000), "{npc}charts/"),
    ("person", (1200, 1000), "{npc}people/log:Alice/"),
    ("memory", DESKTOP, "{npc}m/1/"),
    ("phone", PHONE, "{npc}m/9/"),
)


def furnish(game: Game) -> None:
    """Make a game whose innkeeper has lived through the evenings, a night after each; start it."""
    game.build(FIRST_PORTS)
    game.migrate()
    game.start()  # the first start builds the tavern
    game.stop()
    log = game.folder.parent / "evenings.jsonl"
    evening.write(log)
    game.evennia("ai_memory", "replay", str(log), "--npc", evening.NPC, "--sleep")
    game.start()


def log_in(window: Chrome, game: Game, name: str = SUPERUSER, password: str = "") -> None:
    """Log in at the game's own log-in page."""
    window.get(f"{address(game)}/auth/login/")
    window.find_element(By.ID, "id_username").send_keys(name)
    window.find_element(By.ID, "id_password").send_keys(password or game.password)
    window.find_element(By.CSS_SELECTOR, "input[type=submit]").click()
    WebDriverWait(window, WAIT).until(lambda w: "/auth/login" not in w.current_url)


def address(game: Game) -> str:
    return f"http://127.0.0.1:{game.ports.web}"


def npc_path(window: Chrome, game: Game) -> str:
    """Where the innkeeper's pages are, from the list."""
    window.get(f"{address(game)}/memory/")
    link = window.find_element(By.LINK_TEXT, evening.NPC)
    return "/memory/" + link.get_attribute("href").partition("/memory/")[2]


def take(game: Game, folder: Path) -> list[Path]:
    """All pictures; the files that were written."""
    taken = []
    with chromium() as window:
        log_in(window, game)
        npc = npc_path(window, game)
        for name, size, path in SHOTS:
            resize(window, size)
            window.get(address(game) + path.format(npc=npc))
            if name == "graph":
                rested(window)
            file = folder / f"{name}.png"
            picture(window, file)
            taken.append(file)
    return taken


def rested(window: Chrome) -> None:
    """Wait until the drawing of the graph has come to rest."""
    still = "return document.getElementById('graph').dataset.state === 'still'"
    WebDriverWait(window, WAIT).until(lambda w: w.execute_script(still))
    time.sleep(0.5)  # the last zoom


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="ai-memory-pictures-") as folder:
        game = Game(Path(folder) / "game")
        try:
            with_progress("Making a game with four evenings in it", lambda: furnish(game))
            taken = take(game, FOLDER)
        except (GameError, NoBrowser) as problem:
            print(problem, file=sys.stderr)
            return 1
        finally:
            game.stop()
    large = [file for file in taken if file.stat().st_size > LARGEST]
    for file in taken:
        print(f"{file.relative_to(ROOT)}: {file.stat().st_size // 1000} kB")
    return 1 if large else 0


if __name__ == "__main__":
    sys.exit(main())
