"""What every action of `evennia ai_memory` needs: find the NPC, check the server, confirm, bars."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from .. import offload
from ..store import generations, memory_store


def find_npc(name: str) -> Any:
    """Find an NPC by key or #dbref.

    Raises:
        CommandError: There is none, there are several, or it has no memory.
    """
    from evennia.utils.search import search_object

    from contrib_ai_memory import MemoryMixin

    found = search_object(name)
    npcs: list[Any] = [obj for obj in found if isinstance(obj, MemoryMixin)]
    if not found:
        raise CommandError(f"No object is called {name!r}.")
    if not npcs:
        raise CommandError(f"{name!r} has no memory: its typeclass needs MemoryMixin.")
    if len(npcs) > 1:
        which = ", ".join(f"{npc.key} ({npc.dbref})" for npc in npcs)
        raise CommandError(f"Several NPCs match {name!r}: {which}. Use the #dbref.")
    return npcs[0]


def open_store(command: BaseCommand) -> None:
    """Open the store before a progress bar begins: the embedding model takes seconds to load."""
    command.stdout.write("Loading the embedding model and opening the store ...")
    memory_store.shared()


def confirm(options: dict[str, Any], question: str) -> None:
    """Ask a question that only "yes" or the option --yes answers.

    Raises:
        CommandError: The answer was not yes, or nobody is there to type one.
    """
    if options["yes"]:
        return
    if not sys.stdin.isatty():
        raise CommandError(f"{question} Not a terminal: to confirm, add --yes.")
    if input(f"{question} Type yes to continue: ").strip().lower() != "yes":
        raise CommandError("Nothing was changed.")


def writable(file: Path) -> Path:
    """Check that a file can be written there.

    Raises:
        CommandError: It is a folder, or its folder does not exist.
    """
    if file.is_dir():
        raise CommandError(f"{file} is a folder: give the name of a file in it.")
    if not file.absolute().parent.is_dir():
        raise CommandError(f"There is no folder {file.absolute().parent}: create it first.")
    return file


# --- the game server ------------------------------------------------------------------------------


def server_runs() -> bool:
    """Whether the game's server process is alive."""
    pid_file = Path(settings.GAME_DIR) / "server" / "server.pid"
    try:
        os.kill(int(pid_file.read_text()), 0)
    except (FileNotFoundError, ValueError, ProcessLookupError):
        return False
    return True


def require_stopped_server() -> None:
    """Refuse to work beside the server, whose open journal pages would overwrite ours.

    Raises:
        CommandError: The server is running.
    """
    if server_runs():
        raise CommandError(
            "The game server is running and holds the memories. Stop it first: evennia stop"
        )


def begin_generation() -> None:
    """Begin a new generation in store and database before they are written.

    Raises:
        CommandError: They do not match, so memories written now would cite the wrong lines.
    """
    if problem := generations.settle(generations.of_store()):
        raise CommandError(problem)
    offload.wait(generations.mark_anew())


# --- progress -------------------------------------------------------------------------------------


class ProgressBars:
    """A `Progress` callback that shows a bar for each task; leaving the context closes the last."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._task = ""

    def __enter__(self) -> ProgressBars:
        return self

    def __exit__(self, *_exc: Any) -> None:
        if self._bar is not None:
            self._bar.close()

    def __call__(self, task: str, done: int, total: int) -> None:
        if self._bar is None or task != self._task:
            self.__exit__()
            self._task = task
            self._bar = tqdm(desc=task, total=total or None, unit="", mininterval=0.3)
        self._bar.update(max(0, done - self._bar.n))
