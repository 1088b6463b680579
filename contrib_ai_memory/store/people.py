"""Whom an NPC knows: an index of everyone it has met, by memory identity [A 4.2].

It has the name that the NPC saw last. What it knows of them is in `profiles`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from evennia.utils.utils import inherits_from

from ..records import seconds_between
from ..text.names import folded, forms, whole_forms
from . import attributes

ATTRIBUTE = "entity_profiles"  # the key of the index
AWAY_SECONDS = 3600  # an absence as long ends a visit
PEOPLE_KEPT = 1000  # beyond that, the person not seen for longest is a stranger again
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Acquaintance:
    """Someone the NPC has met."""

    identity: str
    name: str = ""
    entity_type: str = "player"
    interactions: int = 0  # lines that they said to it
    last_seen: str = ""
    seen_before: str = ""  # the end of their visit before the present one


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


class People(attributes.Table[Acquaintance]):
    """The index of everyone one NPC has met."""

    attribute, kind, name = ATTRIBUTE, Acquaintance, "identity"

    def __init__(self, npc: Any):
        super().__init__(npc)
        self._by_word: dict[str, set[str]] = {}  # by the longest word of each form of their names
        for person in self._records.values():
            self._note_name(person)

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Acquaintance]:
        return iter(self._records.values())

    def name_of(self, identity: str | None) -> str:
        known = self.get(identity)
        return known.name if known else ""

    def names(self) -> tuple[str, ...]:
        return tuple(person.name for person in self._records.values() if person.name)

    def meet(self, identity: str, name: str, when: str, *, talk: bool = False) -> None:
        """Record that someone was seen, and whether they spoke to the NPC."""
        known = self._records.get(identity) or Acquaintance(identity, name)
        seen = known.last_seen
        returned = seen and seconds_between(seen, when) >= AWAY_SECONDS
        self._records[identity] = known = replace(
            known,
            name=name or known.name,
            interactions=known.interactions + int(talk),
            last_seen=max(seen, when),
            seen_before=seen if returned else known.seen_before,
        )
        self._note_name(known)
        self._dirty = True
        if len(self._records) > PEOPLE_KEPT:
            longest_ago = min(self._records.values(), key=lambda person: person.last_seen)
            self._forget(longest_ago.identity)

    def set_type(self, identity: str, entity_type: str) -> None:
        """Record what a known person is: player, npc or object (`entity_type_of`)."""
        known = self.get(identity)
        if known and known.entity_type != entity_type:
            self._records[identity] = replace(known, entity_type=entity_type)
            self._dirty = True

    def forget(self, identity: str) -> bool:
        if identity not in self._records:
            return False
        self._forget(identity)
        self._dirty = True
        self.flush()
        return True

    def _forget(self, identity: str) -> None:
        del self._records[identity]
        for identities in self._by_word.values():
            identities.discard(identity)

    def mentioned(self, text: str) -> tuple[str, ...]:
        """Return the identities of the people named in a text (`text.names.forms`).

        A whole name names everybody who bears it. A part of one, such as a first name, names its
        only bearer, and nobody where it is somebody else's whole name or a part of it.
        """
        plain = folded(text)
        whole: dict[str, set[str]] = {}
        part: dict[str, set[str]] = {}
        for word in set(_WORD.findall(plain)):
            for identity in self._by_word.get(word, ()):
                name = self._records[identity].name
                for form in forms([name]):
                    if re.search(rf"(?<!\w){re.escape(form)}(?!\w)", plain):
                        bearers = whole if form in whole_forms(name) else part
                        bearers.setdefault(form, set()).add(identity)
        found: set[str] = set().union(*whole.values())
        for form, owners in part.items():
            within = any(re.search(rf"\b{re.escape(form)}\b", name) for name in whole)
            if len(owners) == 1 and not within:
                found |= owners
        return tuple(sorted(found))

    def _note_name(self, person: Acquaintance) -> None:
        for form in forms([person.name]):
            if words := _WORD.findall(form):
                self._by_word.setdefault(max(words, key=len), set()).add(person.identity)

    def sender_bonus(self, identity: str | None) -> int:
        """[A] Return 0-2 importance for someone the NPC often talks with."""
        known = self.get(identity)
        interactions = known.interactions if known else 0
        return 2 if interactions >= 50 else int(interactions >= 10)

    def clear(self) -> None:
        self._by_word.clear()
        super().clear()
