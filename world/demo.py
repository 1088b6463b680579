"""`make demo`: a game is made, a server started, and the story played through telnet.

python -m world.demo            play, and leave the server running
python -m world.demo --exit     play, stop the server, status 0 only if every step held
python -m world.demo stop       end a server that was left running
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

from .game import ROOT, SUPERUSER, Game, GameError
from .story import PASSWORD, Story

FOLDER = ROOT / ".game" / "tavern"


def main(arguments: list[str]) -> int:
    game = Game(FOLDER)
    try:
        if "stop" in arguments:
            return _stop(game)
        return _play(game, leave_running="--exit" not in arguments)
    except GameError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1


def _play(game: Game, *, leave_running: bool) -> int:
    with_progress("Stopping the game of an earlier run", game.stop)
    with_progress("Making the game folder", game.build)
    with_progress("Migrating its database", game.migrate)
    with_progress("Starting the server", game.start)
    held = False
    try:
        held = Story(game, print).play()
    except (GameError, TimeoutError, OSError) as error:
        print(f"\nThe story broke off: {error}\n\n{game.log_tail()}")
    print("\nEvery step of the story held." if held else "\nThe story did not hold.")
    if leave_running:
        print(_WHERE.format(game=game, superuser=SUPERUSER, password=PASSWORD))
    else:
        with_progress("Stopping the server", game.stop)
    return 0 if held else 1


_WHERE = """
The server is running.
  telnet 127.0.0.1 {game.ports.telnet}      (then: connect Alice {password})
  http://127.0.0.1:{game.ports.web}         (web client; the same log-in)
  The builder's log-in: {superuser} / {game.password}. Try: tavern, @memory mara, help @memory
  An NPC of your own: @create/drop Ysolde:typeclasses.npcs.AssistantNPC
End it with: make stop"""


def _stop(game: Game) -> int:
    if not FOLDER.exists():
        print("There is no demo game.")
    else:
        with_progress("Stopping the server", game.stop)
    return 0


def with_progress(what: str, work: Callable[[], object]) -> None:
    """Do `work`, showing that it goes on where it takes longer than two seconds."""
    done = threading.Event()
    started = time.monotonic()

    def dots() -> None:
        while not done.wait(1):
            if sys.stdout.isatty() or int(time.monotonic() - started) % 10 == 0:
                print(".", end="", flush=True)

    print(f"{what} ...", end="", flush=True)
    threading.Thread(target=dots, daemon=True).start()
    try:
        work()
    finally:
        done.set()
    print(f" {time.monotonic() - started:.1f} s", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
