"""What the operators' command needs first: the NPC that is meant, and nobody else at work.

Progress bars: one for each thing that is done, one below the other.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from .. import offload
from ..store import generations, memory_store


def open_store(command: BaseCommand) -> None:
    """Open the store before a progress bar begins: the embedding model takes its seconds."""
    command.stdout.write("Loading the embedding model and opening the store ...")
    memory_store.shared()


def find_npc(name: str) -> Any:
    """The NPC with that key or #dbref.

    Raises:
        CommandError: There is none, several, or it has no memory.
    """
    from evennia.utils.search import search_object

    from contrib_ai_memory import MemoryMixin

    found = search_object(name)
    minds = [obj for obj in found if isinstance(obj, MemoryMixin)]
    if not found:
        raise CommandError(f"No object is called {name!r}.")
    if not minds:
        raise CommandError(f"{name!r} has no memory: its typeclass needs MemoryMixin.")
    if len(minds) > 1:
        which = ", ".join(f"{obj.key} ({obj.dbref})" for obj in minds)
        raise CommandError(f"{name!r} is more than one: {which}. Give the #dbref.")
    return minds[0]


def server_runs() -> bool:
    """Whether the game's server process is alive."""
    pid_file = Path(settings.GAME_DIR) / "server" / "server.pid"
    try:
        os.kill(int(pid_file.read_text()), 0)
    except (FileNotFoundError, ValueError, ProcessLookupError):
        return False
    return True


def refuse_while_server_runs() -> None:
    """The server keeps open pages in memory: two writers would lose entries.

    Raises:
        CommandError: The game's server process is alive.
    """
    if server_runs():
        raise CommandError(
            "The game server is running and holds the memories. Stop it first: evennia stop"
        )


def refuse_another_time() -> None:
    """Begin a new generation in store and database, where they match.

    Raises:
        CommandError: They are of different times: what is written would cite wrong lines.
    """
    if problem := generations.settle(generations.of_store()):
        raise CommandError(problem)
    offload.wait(generations.mark_anew())


# --- bars -----------------------------------------------------------------------------------------


class Bars:
    """A `Progress` of `tending`, as bars on the terminal.

    Used as a context: all bars end with it.
    """

    def __init__(self, unit: str = "") -> None:
        self._unit = unit
        self._bar: tqdm | None = None
        self._doing = ""

    def __enter__(self) -> Bars:
        return self

    def __exit__(self, *exc: Any) -> None:
        if self._bar is not None:
            self._bar.close()

    def __call__(self, doing: str, done: int, total: int) -> None:
        if doing != self._doing:
            self.__exit__()
            self._doing = doing
            self._bar = tqdm(desc=doing, total=total or None, unit=self._unit, mininterval=0.3)
        self._bar.update(max(0, done - self._bar.n))
