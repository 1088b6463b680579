"""Real games for the tests marked `live`: a folder, a database, a Portal and a Server each.

Every game begins as a copy of one migrated folder and is stopped whatever happens to its test. With
AI_MEMORY_PROCESS=1 in the environment all of them have a memory process (docs/adr/029).
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from world.game import Game

ROOT = Path(__file__).resolve().parents[2]
# block of ports: those before it are left to `make demo`; each process of the tests has its own
FIRST_PORTS = 20 + 40 * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])

sys.path.append(str(ROOT / "tests"))  # for `model_server`

LiveGame = Callable[..., AbstractContextManager["Game"]]


@pytest.fixture(scope="session")
def migrated_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A game folder whose database has its tables and nothing in them."""
    folder = tmp_path_factory.mktemp("migrated") / "game"
    game = _game(folder, {})
    game.build(FIRST_PORTS)
    game.migrate()
    return folder


@pytest.fixture(scope="session")
def live_game(migrated_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> LiveGame:
    """`with live_game({settings.CONTRIB_AI_MEMORY}) as game:` a new game, ready to be started.

    `database` is Django's settings of another database than SQLite, which is migrated first.
    """

    @contextmanager
    def new_game(
        memory_settings: dict[str, Any], database: dict[str, str] | None = None
    ) -> Iterator[Game]:
        folder = tmp_path_factory.mktemp("live") / "game"
        shutil.copytree(migrated_folder, folder)
        game = _game(folder, memory_settings)
        if database:
            (folder / "server" / "evennia.db3").unlink()
            game.extra_settings += f"\nDATABASES = {{'default': {database!r}}}"
        game.build(FIRST_PORTS)
        try:
            if database:
                game.migrate()
            yield game
        finally:
            try:
                game.stop()
            finally:
                _end_what_is_left(folder)

    return new_game


def _game(folder: Path, memory_settings: dict[str, Any]) -> Game:
    from world.game import Game  # the copy in the unit tests' game, which is on the path by now

    usual = {"MEMORY_PROCESS": "AI_MEMORY_PROCESS" in os.environ}
    settings = f"CONTRIB_AI_MEMORY = {usual | memory_settings!r}"
    return Game(folder, extra_settings=settings, repository=ROOT)


def _end_what_is_left(folder: Path) -> None:
    """Kill what still runs in `folder`: a process that hangs at its end has no pid file."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            inside = (entry / "cwd").resolve(strict=True).is_relative_to(folder)
        except OSError:
            continue  # it ended meanwhile, or belongs to somebody else
        if inside:
            os.kill(int(entry.name), signal.SIGKILL)
