"""A night that is killed at every write in turn, over a real game database and a real store.

    python tests/killed_night.py FOLDER [--every N] [--first K]

Each trial begins from the same copy of a game. A forked process runs the night and is killed, with
SIGKILL, before or after its n-th write; another one goes on where it was. What there is in the end
is compared with what an undisturbed night left. Prints one line for each difference; exit code 1.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from world.game import Game  # noqa: E402

NOW = "2026-03-20T08:00:00+00:00"
SETTINGS = {
    "COMPRESS_ABOVE": 2,
    "REFLECT_AT": 20,
    "MIN_OBSERVATIONS": 2,
}
TALK = [
    ("2025-12-01T19:00", "Bram", "Well, well.", False),
    ("2026-03-01T19:00", "Alice", "I keep the ferry at Millbrook.", False),
    ("2026-03-01T19:01", "Alice", "I have seven sheep in the north field.", False),
    ("2026-03-01T19:02", "Alice", "I love tea with honey.", False),
    ("2026-03-04T19:00", "Bram", "Wolves took two of my sheep near Harrow Hill.", False),
    ("2026-03-04T19:01", "Alice", "I hide a silver key in Elmstead.", True),
    ("2026-03-08T19:00", "Alice", "I have nine sheep in the north field.", False),
    ("2026-03-08T19:01", "Alice", "I hate tea with honey.", False),
    ("2026-03-12T19:00", "Bram", "I saw wolves by the ferry at Millbrook again.", False),
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--every", type=int, default=1, help="kill at every N-th boundary only")
    parser.add_argument("--first", type=int, default=1, help="and begin with the K-th")
    options = parser.parse_args()
    game = Game(options.folder / "game", f"CONTRIB_AI_MEMORY = {SETTINGS!r}")
    game.build()
    game.migrate()
    game.enter()
    from contrib_ai_memory import conf
    from contrib_ai_memory.store import memory_store

    conf.NIGHT_BATCH = 4
    conf.directory().mkdir(parents=True, exist_ok=True)
    memory_store.prepare_environment(conf.directory())  # before anything here imports Mem0
    return Trials(options.folder).run(options.first, options.every)


class Trials:
    """The copies, the forks and the comparison."""

    def __init__(self, folder: Path):
        self.server = folder / "game" / "server"
        self.copy = folder / "copy"
        self.out = folder / "out.json"

    def run(self, first: int, every: int) -> int:
        self._forked(prepare)
        shutil.copytree(self.server, self.copy)
        self._forked(undisturbed, self.out)
        wanted = json.loads(self.out.read_text())
        _warm_up(wanted["embedded"])
        total = wanted["boundaries"]
        different = 0
        for boundary in range(first, total + 1, every):
            self._restore()
            killed = self._forked(killed_at, boundary)
            if not killed:
                print(f"boundary {boundary}: this night had fewer")
                continue
            self._forked(finished, self.out)
            got = json.loads(self.out.read_text())
            for what, value in wanted["state"].items():
                if got["state"][what] != value:
                    different += 1
                    print(f"boundary {boundary}: {what} differ: {_difference(value, got, what)}")
        tried = len(range(first, total + 1, every))
        print(f"{total} boundaries, {tried} tried, {different} differ")
        return int(different > 0)

    def _restore(self) -> None:
        shutil.rmtree(self.server)
        shutil.copytree(self.copy, self.server)

    def _forked(self, work: Callable[..., None], *args: Any) -> bool:
        """Run `work` in a forked process. Gives whether it was killed."""
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                work(*args)
                status = 0
            except BaseException:  # noqa: BLE001 - told, and then the process ends
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                os._exit(status)
        _pid, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            if os.WTERMSIG(status) != signal.SIGKILL:
                raise SystemExit(f"{work.__name__} ended by signal {os.WTERMSIG(status)}")
            return True
        if os.WEXITSTATUS(status):
            raise SystemExit(f"{work.__name__}{args} failed")
        return False


def _difference(wanted: Any, got: dict[str, Any], what: str) -> str:
    theirs = got["state"][what]
    if isinstance(wanted, dict):
        keys = [k for k in {**wanted, **theirs} if wanted.get(k) != theirs.get(k)]
        return "; ".join(f"{k}: {wanted.get(k)} / {theirs.get(k)}" for k in keys[:3])[:600]
    pairs = [(a, b) for a, b in zip(wanted, theirs, strict=False) if a != b]
    return f"{len(wanted)} / {len(theirs)}; {pairs[:1]}"[:900]


# --- in a forked process --------------------------------------------------------------------------


def prepare() -> None:
    """The NPC, and what it heard; nothing of it is indexed yet."""
    from evennia.utils.create import create_object

    from contrib_ai_memory.records import Percept

    room = create_object("typeclasses.rooms.Room", key="The Drowned Lantern", nohome=True)
    mara = create_object("typeclasses.npcs.AssistantNPC", key="Mara", location=room, home=room)
    mara.assistant  # noqa: B018 - made at the first look
    for when, speaker, text, private in TALK:
        mara.memory.perceive(
            Percept(
                content=text,
                kind="whisper" if private else "say",
                seen_as=speaker,
                source=f"#{speaker}",
                witnesses=(f"#{speaker}",) if private else ("#Alice", "#Bram"),
                private=private,
                location="#1",
                timestamp=f"{when}:00+00:00",
            )
        )
    mara.memory.flush()
    _close()


def undisturbed(out: Path) -> None:
    from contrib_ai_memory.embedding import embedder

    embedded: list[str] = []
    encode = embedder.shared().model.encode
    embedder.shared().model.encode = lambda texts: (embedded.extend(texts), encode(texts))[1]
    boundaries = Boundaries()
    mara = _mara()
    _sleep(mara)
    _write(out, mara, embedded=embedded, boundaries=boundaries.passed)


def killed_at(boundary: int) -> None:
    Boundaries(boundary)
    _sleep(_mara())
    _close()


def finished(out: Path) -> None:
    """Another process after the kill: the night goes on, or begins."""
    mara = _mara()
    _sleep(mara)
    _write(out, mara)


class Boundaries:
    """Counts the moments before and after each write, and kills the process at one of them."""

    def __init__(self, deadly: int = 0):
        from evennia.typeclasses.attributes import AttributeHandler
        from mem0.memory.storage import SQLiteManager

        from contrib_ai_memory.store import attributes, mem0_adapter
        from contrib_ai_memory.store.lanes import Vocabulary
        from contrib_ai_memory.store.qdrant_edge import EdgeStore

        self.passed = 0
        self._deadly = deadly
        for owner, names in (
            (attributes, ("write", "write_some_json", "remove_json")),
            (EdgeStore, ("_change",)),
            (SQLiteManager, ("add_history",)),
            (mem0_adapter.MemoryHistory, ("delete",)),
            (Vocabulary, ("_use",)),
            (AttributeHandler, ("add", "remove")),
        ):
            for name in names:
                setattr(owner, name, self._watched(getattr(owner, name)))

    def _watched(self, write: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*args: Any, **kwargs: Any) -> Any:
            self._pass()
            result = write(*args, **kwargs)
            self._pass()
            return result

        return watched

    def _pass(self) -> None:
        self.passed += 1
        if self.passed == self._deadly:
            os.kill(os.getpid(), signal.SIGKILL)


def _mara() -> Any:
    from evennia.utils.search import search_object

    [mara] = search_object("Mara", exact=True)
    mara.memory.clock = lambda: NOW
    return mara


def _sleep(mara: Any) -> None:
    from contrib_ai_memory import offload

    script = mara.assistant
    if script.asleep:
        while script.asleep:
            script.sleep.make_due()
            offload.wait(script.at_tick())
    elif not script.sleep.records:
        offload.wait(script.sleep.whole_night())
    mara.memory.flush()


def _write(out: Path, mara: Any, **more: Any) -> None:
    out.write_text(json.dumps(more | {"state": _state(mara)}, default=list))
    _close()


def _state(mara: Any) -> dict[str, Any]:
    """Everything that a night leaves, but for the time of day at which it left it."""
    from contrib_ai_memory.store import attributes, memory_store

    memory = mara.memory
    memories = memory_store.shared().list(memory.id, limit=None)
    ids = [*(m.id for m in memories), *(str(e.id) for e in memory.journal.read())]
    history = {
        m.id: [h["event"] for h in memory_store.shared().mem0.history(m.id)] for m in memories
    }
    return {
        "journal": [entry.to_dict() for entry in memory.journal.read()],
        "cursors": dict(memory.journal.cursors),
        "memories": {m.id: m.to_dict() for m in memories},
        "history": history,
        "links": {
            each: {to: [note["score"], note["kind"]] for to, note in memory.links.of(each).items()}
            for each in ids
            if memory.links.of(each)
        },
        "links counted": memory.links.count,
        "profiles": sorted(
            (json.dumps(each, sort_keys=True) for each in _profiles(attributes, mara)),
        ),
        "preferences": sorted(
            json.dumps(each, sort_keys=True)
            for each in attributes.read_all_json(mara, "preferences")
        ),
        "people": attributes.read(mara, "entity_profiles"),
        "conversations": attributes.read(mara, "working_memory"),
    }


def _profiles(attributes: Any, mara: Any) -> list[Any]:
    return attributes.read_all_json(mara, "entity_profiles")


def _close() -> None:
    from django.db import connection

    from contrib_ai_memory.store import memory_store

    memory_store.close_shared()
    connection.close()


def _warm_up(texts: list[str]) -> None:
    """The model and its vectors in the parent: the forks find them in memory."""
    from django.db import connection

    from contrib_ai_memory.embedding import embedder
    from contrib_ai_memory.store import memory_store  # noqa: F401 - and the modules of the store

    embedder.shared().encode(list(dict.fromkeys(texts)))
    connection.close()


if __name__ == "__main__":
    sys.exit(main())
