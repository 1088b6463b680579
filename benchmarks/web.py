"""How long the staff's pages take, with 50 NPCs and 20,000 journal entries each (DESIGN §9).

A real game is made and filled in bulk, its server started, and every page asked for over HTTP, as a
browser would, through Portal and Server: median of ten, after two that are not counted (the first
loads the embedding model). The bar is for the pages that list; the others are told beside them.
"""

from __future__ import annotations

import http.cookiejar
import os
import re
import shutil
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path

from world.game import SUPERUSER, Game

from .harness import Bar, Report, Timing, arguments, enter, progress
from .many_minds import Made, fill

NPCS, ENTRIES = 50, 20_000
TIMES, BEFORE = 10, 2
LIMIT_MS = 300.0  # for a page that lists
FIRST_PORTS = 150
COLUMNS = ("page", "lists", "status", "kB", "median ms", "max ms")

LISTS = (  # name, address of the page under its NPC ("/": of all)
    ("all NPCs", "/memory/"),
    ("all NPCs, by entries", "/memory/?sort=-entries"),
    ("all NPCs, by name", "/memory/?q=a"),
    ("journal, newest", "journal/"),
    ("journal, in the middle", "journal/?b={middle}"),
    ("journal, frequent words", "journal/?text=the"),
    ("journal, words that nobody said", "journal/?text=xylophone"),
    ("journal, of somebody", "journal/?who=log:Alice"),
    ("journal, of a day", "journal/?day=2026-01-03"),
    ("journal, whispers", "journal/?kind=whisper"),
    ("facts, newest", "facts/"),
    ("facts, oldest", "facts/?from={last_fact}"),
    ("facts, with words", "facts/?text=mill"),
    ("experiences", "experiences/"),
    ("people", "people/"),
    ("nights", "nights/"),
)
OTHERS = (
    ("overview", ""),
    ("somebody", "people/log:Alice/"),
    ("an entry with its trace", "m/{middle}/"),
    ("a search", "search/?q=who+keeps+the+mill"),
    ("graph, 300 memories", "graph/"),
    ("graph, 2,000 memories", "graph/?size=2000"),
    ("graph, facts", "graph/?kind=fact"),
    ("a search of all NPCs", "/memory/search/?q=who+keeps+the+mill"),
    ("preview of an erasure", "erase/log:Alice/"),
    ("log", "/memory/log/"),
    ("charts", "charts/"),
    ("settings", "/memory/settings/"),
)


class Staff:
    """The keeper of a game, at its pages."""

    def __init__(self, game: Game):
        self.base = f"http://127.0.0.1:{game.ports.web}"
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self._open = urllib.request.build_opener(cookies).open
        page = self.get("/auth/login/")[1].decode()
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)[1]
        fields = {"csrfmiddlewaretoken": token, "username": SUPERUSER, "password": game.password}
        body = urllib.parse.urlencode(fields).encode()
        self._open(urllib.request.Request(f"{self.base}/auth/login/", body), timeout=60).read()

    def get(self, path: str) -> tuple[int, bytes]:
        """The status and the body of a page; of one that is not 200 as well."""
        try:
            with self._open(self.base + path, timeout=60) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()


def measure(report: Report, game: Game, made: Made, entries: int) -> None:
    """Ask for every page, and put a bar on those that list."""
    staff = Staff(game)
    places = {"middle": entries // 2, "last_fact": max(0, entries // 20 - 50)}
    rows = []
    asked = [(*each, True) for each in LISTS] + [(*each, False) for each in OTHERS]
    for name, path, lists in progress(asked, "asking for pages", "page"):
        path = path if path.startswith("/") else f"/memory/{made.npc}/{path}"
        rows.append(_row(staff, name, path.format(**places), lists))
    report.table(COLUMNS, rows)
    report.bars += [
        Bar(f"median of {row['page']}", row["median ms"], LIMIT_MS, "ms")
        for row in rows
        if row["lists"]
    ]
    wrong = [row["page"] for row in rows if row["status"] != 200]
    report.bars.append(Bar("pages that did not answer 200", len(wrong), 0))


def _row(staff: Staff, name: str, path: str, lists: bool) -> dict[str, object]:
    took = []
    for _ in range(TIMES + BEFORE):
        start = time.perf_counter()
        status, body = staff.get(path)
        took.append(time.perf_counter() - start)
    timing = Timing.of(took[BEFORE:])
    return {
        "page": name,
        "lists": "yes" if lists else "",
        "status": status,
        "kB": len(body) / 1000,
        "median ms": timing.median,
        "max ms": timing.max,
    }


def main() -> int:
    parser = arguments("Answer times of the staff's pages.")
    parser.add_argument("--npcs", type=int, default=NPCS, metavar="N")
    parser.add_argument("--entries", type=int, default=ENTRIES, metavar="N", help="of each NPC")
    options = parser.parse_args()
    report = Report("web", f"{options.npcs} NPCs with {options.entries:,} journal entries each")
    folder = Path(tempfile.mkdtemp(prefix="ai-memory-bench-"))
    game = Game(folder / "game")
    try:
        for step in progress([game.build, game.migrate, game.start, game.stop], "making", "step"):
            step()
        began = time.monotonic()
        with enter(game):
            made = fill(options.npcs, options.entries)
        report.note(
            f"Made in {time.monotonic() - began:.0f} s: {made.entries:,} entries, "
            f"{made.memories:,} memories in the store, {made.links:,} links."
        )
        game.start()
        measure(report, game, made, options.entries)
    finally:
        os.chdir(Path(__file__).parent)
        game.stop()
        shutil.rmtree(folder, ignore_errors=True)
    return report.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
