"""What is taken out of a memory together: entries, memories, and the person they go with.

Forgetting and erasing make a `Removal`; the store and each `MemoryPart` of the memory take it out.

**What belongs to a person** (`DataSubject`). An entry, if they said or did it, if it is about them,
if only they and the NPC heard it, or if it names them. A memory, if it is about them, was told in
confidence in their presence, or names them. What rests on any of that goes too (`Removal`).

Names are matched as whole words, in any case: erasing Rose takes sentences about roses along, but
not Rose Miller if the NPC knows her. A name shared with another person or with the NPC itself
identifies nobody, as little as "she" does. Then identities alone decide: who said it, who heard it
in confidence, whom it is about, what it rests on, and whom the NPC knew by that name when it heard
it. What somebody else said about one of the two stays until the last of that name is erased.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Generator, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from twisted.internet import defer

from .. import offload
from ..records import Entry, MemoryRecord, Message
from .attributes import Record, Rows
from .journal import ranges_include

SHORTEST_NAME = 2  # letters: a shorter name is in too many texts


@dataclass(frozen=True)
class DataSubject:
    """The person whom an erasure concerns."""

    identity: str  # the memory identity; "" is nobody, to whom nothing belongs by itself
    names: tuple[str, ...] = ()  # by which the NPC knows them
    others: tuple[tuple[str, str], ...] = ()  # (identity, name) of all whom it knows, and its own

    def owns_entry(self, entry: Entry) -> bool:
        """Return whether an entry is theirs, apart from what it answers or rests on."""
        if not self.identity:
            return False
        return (
            self.identity in (entry.source_entity, *entry.sources)
            or self.heard_in_confidence(entry.private, entry.witnesses)
            or (entry.session_id or "").startswith(f"ear:{self.identity}@")
            or self._is_among(entry.entities, entry.content, entry.line)
            or self.named_in(entry.content, entry.line)
        )

    def owns_memory(self, record: MemoryRecord) -> bool:
        if not self.identity:
            return False
        texts = record.content, record.key, record.quote, record.shown, record.the_lesson
        return (
            self.identity == record.about
            or self.heard_in_confidence(record.confided, record.witnesses)
            or self.named_in(*texts, record.speaker)
            or (self._is_among(record.entities, *texts) and not self._is_namesakes(record))
        )

    def named_in(self, *texts: str | None) -> bool:
        """Return whether one of the texts holds a name that is theirs alone, or their identity."""
        return any(
            found["own"]
            for text in texts
            if text and self._own_names
            for found in self._own_names.finditer(text)
        )

    def heard_in_confidence(self, private: bool, witnesses: Collection[str]) -> bool:
        return private and bool(self.identity) and self.identity in witnesses

    def _is_among(self, entities: Collection[str], *texts: str | None) -> bool:
        """Return whether `entities` holds them, and not only by a name that others bear too."""
        if not self.identity or self.identity not in entities:
            return False
        if self.named_in(*texts):
            return True
        found = [
            each
            for text in texts
            if text and self._any_name
            for each in self._any_name.finditer(text)
        ]
        if not found:
            return True
        if not any(each["own"] for each in found):
            return False  # part of somebody else's longer name
        return not any(bearers.intersection(entities) for bearers in self._namesakes.values())

    def _is_namesakes(self, record: MemoryRecord) -> bool:
        bearers = set().union(*self._namesakes.values())
        return bool(record.journal_ids) and not bearers.isdisjoint(record.entities)

    @cached_property
    def _namesakes(self) -> dict[str, set[str]]:
        """The identities of others who bear a name of theirs, by the name in lower case."""
        own = {name.casefold() for name in self.names}
        found: dict[str, set[str]] = {}
        for identity, name in self.others:
            if name.casefold() in own and identity != self.identity:
                found.setdefault(name.casefold(), set()).add(identity)
        return found

    @cached_property
    def _own_names(self) -> re.Pattern[str] | None:
        alone = [name for name in self.names if name.casefold() not in self._namesakes]
        return _pattern(self.identity, alone, self._longer_names)

    @cached_property
    def _any_name(self) -> re.Pattern[str] | None:
        return _pattern("", self.names, self._longer_names)

    @cached_property
    def _longer_names(self) -> list[str]:
        """Names of others that contain one of theirs."""
        within = _pattern("", self.names, ())
        own = {name.casefold() for name in self.names}
        names = {name for _, name in self.others if name.casefold() not in own}
        return [name for name in names if within and within.search(name)]


NO_SUBJECT = DataSubject("")


@dataclass(frozen=True, slots=True)
class Removal:
    """What is taken out of one memory together."""

    entries: set[int] = field(default_factory=set)  # journal ids
    memories: set[str] = field(default_factory=set)  # ids in the store, or link ids
    subject: DataSubject = NO_SUBJECT  # the person who is erased with them
    drawn: bool = True  # whether what was drawn or told from them goes too
    shown: bool = False  # whether a model that was merely shown them may have drawn from them

    @property
    def linked(self) -> set[str]:
        """Their link ids."""
        return {*map(str, self.entries), *self.memories}

    def others(self, identities: Iterable[str]) -> tuple[str, ...]:
        """Return these people without the one who is erased."""
        return tuple(each for each in identities if each != self.subject.identity)

    def rests_on(self, evidence: Iterable[str], context: str = "") -> bool:
        """Return whether these link ids, or ranges of journal ids shown to a model, are of them."""
        return any(
            each in self.memories or (each.isdecimal() and int(each) in self.entries)
            for each in evidence
        ) or self.shown_for(context)

    def shown_for(self, context: str) -> bool:
        """Return whether a model was shown some of them, where that counts."""
        return self.shown and ranges_include(context, self.entries)

    def takes_entry(self, entry: Entry) -> bool:
        return self.subject.owns_entry(entry) or self.rests_on(entry.evidence, entry.context)

    def takes_memory(self, record: MemoryRecord) -> bool:
        rests = not self.entries.isdisjoint(record.journal_ids) or self.shown_for(record.context)
        return rests or self.subject.owns_memory(record)

    def takes_message(self, message: Message) -> bool:
        return (
            message.entry_id in self.entries
            or self.subject.heard_in_confidence(message.private, message.witnesses)
            or self.subject.named_in(message.name, message.content)
        )

    def takes_exchange(self, message: dict[str, Any]) -> bool:
        return (
            not self.entries.isdisjoint((message["entry"], *message["own"]))
            or (self.drawn and self.rests_on(message["told"], message["talk"]))
            or self.subject.identity in message["people"]
            or self.subject.heard_in_confidence(message["private"], message["witnesses"])
            or self.subject.named_in(message.get("content"), json.dumps(message.get("tool_calls")))
        )


class MemoryPart(Protocol):
    """One of the things that a memory consists of (`MemoryHandler.parts`)."""

    counted: str  # what `take_out` counts, as `admin.erase.Erased` names it

    def take_out(self, removal: Removal) -> int | defer.Deferred:
        """Remove what goes, and the person from the witnesses of the rest. Done again, it changes
        nothing. Returns how many were removed; a Deferred where it takes several turns."""

    def clear(self) -> None: ...


class RowsPart(Rows[Record]):
    """Rows that are taken out one by one."""

    def without(self, record: Record, removal: Removal) -> Record | None:
        """Return a record without what goes; None if all of it goes."""
        raise NotImplementedError

    def resting_on(self, removal: Removal) -> list[Record]:
        """Return the records that go with a removal, or change."""
        return [each for each in self if self.without(each, removal) != each]

    def replace(self, record: Record, left: Record) -> None:
        self.put(left)

    @defer.inlineCallbacks
    def take_out(self, removal: Removal) -> Generator[Any, Any, int]:
        """See `MemoryPart`."""
        removed = 0
        for found in self.resting_on(removal):
            key = self.key(found)
            record = self.row(key)  # it may have changed since
            if record is None:
                continue
            if left := self.without(record, removal):
                self.replace(record, left)
            else:
                self.remove(key)
                removed += 1
            yield offload.breathe()
        return removed


def _pattern(identity: str, names: Iterable[str], longer: Iterable[str]) -> re.Pattern[str] | None:
    """Match `names` and the identity in the group "own"; longer names are matched outside it."""
    known = sorted({name for name in names if len(name) >= SHORTEST_NAME}, key=len)[::-1]
    own = "|".join(filter(None, [re.escape(identity), *map(_word, known)]))
    if not own:
        return None
    passed = "".join(f"{_word(name)}|" for name in sorted(longer, key=len)[::-1])
    return re.compile(f"{passed}(?P<own>{own})", re.IGNORECASE)


def _word(name: str) -> str:
    return rf"(?<!\w){re.escape(name)}(?!\w)"
