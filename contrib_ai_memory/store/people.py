"""People: `character.db.entity_profiles`, the small index of everyone an NPC has met.

Keyed by memory identity, never by name; the name is the one the NPC saw last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from evennia.utils.utils import inherits_from

from ..records import seconds_between
from . import attributes

ATTRIBUTE = "entity_profiles"

AWAY_SECONDS = 3600  # an absence as long ends a visit
PEOPLE_KEPT = 1000  # beyond that, the person not seen for longest is a stranger again

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Acquaintance:
    """Someone the NPC has met.

    `interactions` counts what they said to it; `seen_before` is the end of their visit before the
    present one.
    """

    identity: str
    name: str
    entity_type: str = "player"
    interactions: int = 0
    last_seen: str = ""
    seen_before: str = ""


def entity_type_of(obj: Any) -> str:
    """Return what an object of the game is to an NPC: player, npc or object.

    A player is a character that somebody plays or has played; a character with a memory of its own
    is an NPC, even while a builder speaks through it.
    """
    if hasattr(type(obj), "get_memory_identity"):
        return "npc"
    if obj.has_account or obj.attributes.has("prelogout_location"):
        return "player"
    character = inherits_from(obj, "evennia.objects.objects.DefaultCharacter")
    return "npc" if character else "object"


class People:
    """The index of everyone one NPC knows."""

    def __init__(self, npc: Any):
        self._npc = npc
        stored = attributes.read(npc, ATTRIBUTE) or {}
        self._known = {key: _acquaintance(key, plain) for key, plain in stored.items()}
        self._by_name: dict[str, set[str]] = {}
        for person in self._known.values():
            self._note_name(person)
        self._dirty = False

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[Acquaintance]:
        return iter(self._known.values())

    def get(self, identity: str | None) -> Acquaintance | None:
        return self._known.get(identity or "")

    def name_of(self, identity: str | None) -> str:
        known = self.get(identity)
        return known.name if known else ""

    def names(self) -> tuple[str, ...]:
        return tuple(person.name for person in self._known.values() if person.name)

    def meet(
        self,
        identity: str,
        name: str,
        when: str,
        *,
        entity_type: str = "player",
        talk: bool = False,
    ) -> Acquaintance:
        """Record that someone was seen, and whether they spoke to the NPC."""
        known = self._known.get(identity) or Acquaintance(identity, name, entity_type)
        self._known[identity] = known = replace(
            known,
            name=name or known.name,
            interactions=known.interactions + int(talk),
            last_seen=max(known.last_seen, when),
            seen_before=known.last_seen if _was_away(known, when) else known.seen_before,
        )
        self._note_name(known)
        self._dirty = True
        if len(self._known) > PEOPLE_KEPT:
            longest_ago = min(self._known.values(), key=lambda person: person.last_seen)
            self._forget(longest_ago.identity)
        return known

    def set_type(self, identity: str, entity_type: str) -> None:
        """Record what a known person is: player, npc or object (`entity_type_of`)."""
        known = self.get(identity)
        if known and known.entity_type != entity_type:
            self._known[identity] = replace(known, entity_type=entity_type)
            self._dirty = True

    def forget(self, identity: str) -> bool:
        """Make a person a stranger again. Returns whether they were known."""
        known = identity in self._known
        if known:
            self._forget(identity)
            self._dirty = True
            self.flush()
        return known

    def _forget(self, identity: str) -> None:
        del self._known[identity]
        for identities in self._by_name.values():
            identities.discard(identity)

    def mentioned(self, text: str) -> tuple[str, ...]:
        """Return the identities of the people named in a text, by the names the NPC knows.

        A name of several words is looked up by its longest word, then matched as a whole.
        """
        lowered = text.lower()
        found = set()
        for word in set(_WORD.findall(lowered)):
            for identity in self._by_name.get(word, ()):
                name = self._known[identity].name.lower()
                if re.search(rf"\b{re.escape(name)}\b", lowered):
                    found.add(identity)
        return tuple(sorted(found))

    def _note_name(self, person: Acquaintance) -> None:
        words = _WORD.findall(person.name.lower())
        if words:
            self._by_name.setdefault(max(words, key=len), set()).add(person.identity)

    def sender_bonus(self, identity: str | None) -> int:
        """[A] Return 0-2 importance for someone the NPC often talks with."""
        known = self.get(identity)
        interactions = known.interactions if known else 0
        return 2 if interactions >= 50 else int(interactions >= 10)

    def flush(self) -> None:
        if self._dirty:
            stored = {}
            for key, person in self._known.items():
                stored[key] = asdict(person)
                del stored[key]["identity"]
            attributes.write(self._npc, ATTRIBUTE, stored)
            self._dirty = False

    def mark_dirty(self) -> None:
        """Have the next flush write everything in memory: the database holds something else."""
        self._dirty = True

    def clear(self) -> None:
        self._known.clear()
        self._by_name.clear()
        self._dirty = True
        self.flush()


def _was_away(known: Acquaintance, when: str) -> bool:
    return bool(known.last_seen) and seconds_between(known.last_seen, when) >= AWAY_SECONDS


def _acquaintance(identity: str, stored: dict[str, Any]) -> Acquaintance:
    known = attributes.known_fields(Acquaintance, stored)
    return Acquaintance(**{"name": ""} | known | {"identity": identity})
