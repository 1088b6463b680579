"""Two players talk with an NPC in a game on disk, one is erased, and every file is searched.

    python tests/erased_game.py FOLDER

Prints one line of JSON: the files that held the erased words before, those that hold them after,
and what the NPC recalls of what the other said.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from world.game import Game  # noqa: E402

WORDS = ("zanzibar", "quixotic", "xylophone", "Wilhelmina", "marzipan")
TALK = (
    ("her", "say I sailed to zanzibar with my quixotic uncle."),
    ("her", "say I love marzipan."),
    ("him", "say Wolves took two of my sheep near Harrow Hill."),
    ("her", "whisper Mara = I hide a xylophone below the stairs."),
    ("him", "say I hate porridge."),
    ("him", "say Mara, where has Wilhelmina been?"),
    ("her", "say I hate marzipan."),
    ("him", "say My sheep graze in the north field."),
)


def main(folder: Path) -> None:
    game = Game(folder / "game", "CONTRIB_AI_MEMORY = {'MIN_OBSERVATIONS': 2, 'REFLECT_AT': 10}")
    game.build()
    game.migrate()
    game.enter()
    from evennia.utils.create import create_object

    from contrib_ai_memory import offload
    from contrib_ai_memory.store import facts
    from contrib_ai_memory.tending import erasing

    room = create_object("typeclasses.rooms.Room", key="The Drowned Lantern", nohome=True)
    mara = create_object("typeclasses.npcs.AssistantNPC", key="Mara", location=room, home=room)
    mara.memory  # noqa: B018 - made at the first look
    people = {
        who: create_object("typeclasses.characters.Character", key=key, location=room, home=room)
        for who, key in (("her", "Wilhelmina"), ("him", "Bram"))
    }
    for _night in range(2):
        for who, line in TALK:
            people[who].execute_cmd(line)
        offload.wait(mara.assistant.sleep_through())
    mara.memory.flush()
    before = holding(game.folder)
    hers = mara.get_memory_identity(people["her"])
    people["her"].delete()  # the object has a name, which is not the memory's to erase
    offload.wait(erasing.erase_everywhere(hers))
    after = holding(game.folder)
    found = offload.wait(mara.memory.recall("Who took the sheep?", top_k=1))
    facts.close_shared()
    after |= holding(game.folder)
    recalled = [item.memory.quote or item.memory.content for item in found.memories]
    told = {"before": before, "after": after, "recalled": recalled}
    sys.stdout.write(json.dumps(told) + "\n")


def holding(folder: Path) -> dict[str, list[str]]:
    """Which files below a folder hold which of the words."""
    found = {}
    for path in folder.rglob("*"):
        if path.is_file() and path.suffix not in (".py", ".pyc"):
            content = path.read_bytes().lower()
            held = [word for word in WORDS if word.lower().encode() in content]
            held += [w for w in WORDS if w.lower().encode("utf-16-le") in content]
            if held:
                found[str(path.relative_to(folder))] = held
    return found


if __name__ == "__main__":
    main(Path(sys.argv[1]))
