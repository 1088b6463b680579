"""Search the memories of all NPCs at once: all of them, or what they would tell a listener.

Reactor thread.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from twisted.internet import defer

from .. import offload
from ..records import Recalled
from . import access, audit, game_npcs, ids, prompt_preview

OF_NPC = 5  # memories of one NPC
SHOWN = 50
SECONDS = 6.0  # for one request; the next begins where it stopped


@dataclass(frozen=True, slots=True)
class FoundAt:
    """A memory that was found, and whose it is; `id` is what is typed for it."""

    npc_id: int
    npc: str
    id: str
    recalled: Recalled


@dataclass(frozen=True, slots=True)
class GameResult:
    """The result of a search."""

    found: tuple[FoundAt, ...] = ()  # best first
    offset: int = 0
    searched: int = 0  # how many NPCs were searched, from `offset` by name
    total: int = 0  # how many there are that the account may look at
    listener: str = ""  # the name of the listener; "" if staff search
    strangers: int = 0  # how many NPCs were left out as the listener's name is not clear there


@defer.inlineCallbacks
def search(
    who: Any, query: str, listener: str = "", offset: int = 0
) -> Generator[Any, Any, GameResult]:
    """Search the NPCs that an account may look at, by name, as a Deferred `GameResult`.

    A listener is a name or #dbref of a character, or a name that NPCs know: then only what each NPC
    would tell them is found. Without one, secrets are found too. `offset` NPCs are skipped.
    """
    npcs = [npc for npc in game_npcs.npcs() if access.may(who, npc, "look")]
    until = time.monotonic() + SECONDS
    found: list[FoundAt] = []
    name, searched, strangers, unknown = "", 0, 0, None
    for npc in npcs[offset:]:
        if searched and time.monotonic() > until:
            break
        searched += 1
        identity = None
        if listener:
            try:
                identity, name = prompt_preview.find_person(npc, listener)
            except (ids.UnknownPerson, ids.Ambiguous) as error:
                strangers, unknown = strangers + 1, error
                continue
        audit.record_look(who, "a search of all NPCs", npc)
        result = yield npc.memory.recall(query, speaker=identity, top_k=OF_NPC)
        found += [
            FoundAt(npc.id, npc.key, ids.short(each.memory), each) for each in result.memories
        ]
        yield offload.breathe()
    if unknown and strangers == searched:
        raise ids.UnknownPerson(
            f"No character is called '{listener[:40]}', and none of the NPCs knows one person of "
            "that name. Give the character's #dbref."
        )
    found.sort(key=lambda each: each.recalled.score.total, reverse=True)
    return GameResult(tuple(found[:SHOWN]), offset, searched, len(npcs), name, strangers)
