"""Two players talk with an NPC in a game on disk, one is erased, and every file is searched.

    python tests/erased_game.py FOLDER
    python tests/erased_game.py FOLDER "told on"

With "told on" a language model answers, that repeats to the other and before a second NPC what she
told the first one alone, in words of its own; and it makes its facts of all that it is shown.

Prints one line of JSON: the files that held the erased words before, those that hold them after,
and what the NPC recalls of what the other said.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from model_server import (  # noqa: E402
    MODEL,
    WELL_FORMED,
    ModelServer,
    Request,
    digest,
    numbered_in,
)

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


# who says what, where (Mara is in the tavern, Gustav comes later), and what the model answers
TOLD_ON = (
    ("her", "say Mara, I sailed the seven seas.", "To zanzibar, I hear."),
    ("her", "say Mara, what I hide lies below the stairs.", "The xylophone? I see."),
    ("him", "say Wolves took two of my sheep near Harrow Hill.", None),
    ("him", "say Mara, what lies below the stairs?", "A xylophone, from zanzibar."),
    ("him", "say Mara, and who hid it?", "A quixotic sailor."),
    ("him", "say Gustav, what did she tell me?", "Of something made of marzipan."),
    ("him", "say Mara, is he right?", "He is: marzipan it is, quixotic or not."),
    ("him", "say My sheep graze in the north field.", None),
)


def main(folder: Path, *how: str) -> None:
    with ModelServer() as server:
        settings: dict[str, Any] = {"MIN_OBSERVATIONS": 2, "REFLECT_AT": 10}
        if how:
            settings["LLM"] = {"base_url": server.url, "model": MODEL, "retries": 0}
        play(folder, settings, server if how else None)


def play(folder: Path, settings: dict[str, Any], server: ModelServer | None) -> None:
    game = Game(folder / "game", f"CONTRIB_AI_MEMORY = {settings!r}")
    game.build()
    game.migrate()
    game.enter()
    from evennia.utils.create import create_object

    from contrib_ai_memory import offload
    from contrib_ai_memory.admin import erase
    from contrib_ai_memory.store import memory_store

    room = create_object("typeclasses.rooms.Room", key="The Drowned Lantern", nohome=True)
    mara = create_object("typeclasses.npcs.AssistantNPC", key="Mara", location=room, home=room)
    mara.memory  # noqa: B018 - made at the first look
    people = {
        who: create_object("typeclasses.characters.Character", key=key, location=room, home=room)
        for who, key in (("her", "Wilhelmina"), ("him", "Bram"))
    }
    npcs = [mara]
    if server:
        gustav = create_object("typeclasses.npcs.AssistantNPC", key="Gustav", home=room)
        npcs.append(gustav)
    for night in range(2):
        for who, line, answer in TOLD_ON if server else ((*said, None) for said in TALK):
            if server:
                gustav.location = people["him"].location = None if who == "her" else room
                people["her"].location = room if who == "her" else None
                server.behave(text=answer or "Is that so?", structured=echo)
            people[who].execute_cmd(line)
        for npc in npcs if server is None or night else ():
            offload.wait(npc.assistant.sleep.whole_night())
    for npc in npcs:
        npc.memory.flush()
    before = holding(game.folder)
    hers = mara.get_memory_identity(people["her"])
    people["her"].delete()  # the object has a name, which is not the memory's to erase
    offload.wait(erase.erase_everywhere(hers))
    after = holding(game.folder)
    found = offload.wait(mara.memory.recall("Who took the sheep?", top_k=1))
    memory_store.close_shared()
    after |= holding(game.folder)
    recalled = [item.memory.said for item in found.memories]
    told = {"before": before, "after": after, "recalled": recalled}
    sys.stdout.write(json.dumps(told) + "\n")


def echo(request: Request) -> str:
    """A model that makes what it is asked for of all that it is shown."""
    told = [json.loads(line) for line in request.last.splitlines() if line.startswith("{")]
    answer = WELL_FORMED[request.schema](request)
    seen, _known = numbered_in(request)
    if request.schema == "DigestAnswer":
        said = {number: text.replace(" whispers: ", " says: ") for number, text in seen.items()}
        facts = [{"text": text, "lines": [number]} for number, text in said.items()]
        more = {"experience": " ".join(request.last.splitlines()[2:])[:1500], "weight": 0.9}
        answer = digest(dict.fromkeys(seen, 8), facts, **more)
    elif request.schema == "SummaryAnswer":
        answer["summary"] = " ".join(each.get("line", "") for each in told)
    elif request.schema == "AttributesAnswer":
        answer["attributes"] = [
            {"type": "fact", "value": text, "evidence": [number], "confidence": 0.9}
            for number, text in seen.items()
        ]
    elif request.schema == "InsightsAnswer":
        answer["insights"] = [{"insight": " ".join(seen.values()), "because_of": [*seen]}]
    return json.dumps(answer)


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
    main(Path(sys.argv[1]), *sys.argv[2:])
