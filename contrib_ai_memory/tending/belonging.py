"""Which memories are somebody's: the rule by which erasing a person decides.

An entry is theirs that they said or did, that is about them, that only they and the NPC heard, that
names them, or in which the NPC answers them. A memory is theirs that is about them, was told in
confidence with them there, names them, or rests on an entry of theirs: on that one too, if it rests
on several. Names are looked for as whole words, in any case: who is called Rose takes the roses
along. What somebody else says of them without their name ("she hides a key") cannot be told from
anything else, and stays.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..records import INSIGHT, Entry, MemoryRecord, Message

SHORTEST_NAME = 2  # letters: a shorter name is in too many texts


@dataclass(frozen=True)
class Somebody:
    """Who it is: a memory identity, and the names that the NPC knows it under."""

    identity: str
    names: tuple[str, ...] = ()

    def named_in(self, *texts: str | None) -> bool:
        """Whether one of the texts has a name of theirs, or their identity."""
        return any(text and bool(self._pattern.search(text)) for text in texts)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return _pattern(self.identity, self.names)

    def has_entry(self, entry: Entry) -> bool:
        """Whether an entry is theirs by itself. What answers it, and what cites it, goes too."""
        return (
            self.identity in (entry.source_entity, *entry.entities)
            or (entry.private and self.identity in entry.witnesses)
            or (entry.session_id or "").startswith(f"ear:{self.identity}@")
            or self.named_in(entry.content, entry.line)
        )

    def has_memory(self, memory: MemoryRecord, entries: Collection[int]) -> bool:
        """Whether a memory is theirs, or rests on one of these journal entries."""
        return (
            self.identity in (memory.about, *memory.entities)
            or (memory.private and self.identity in memory.witnesses)
            or any(number in entries for number in memory.journal_ids)
            or self.named_in(memory.content, memory.key, memory.quote, memory.the_lesson)
            or (memory.speaker != "" and memory.speaker in self.names)
        )

    def has_message(self, message: Message, entries: Collection[int]) -> bool:
        """Whether a message of a conversation is theirs."""
        return (
            message.entry_id in entries
            or (message.private and self.identity in message.witnesses)
            or self.named_in(message.content)
        )

    def has_exchange(self, message: dict[str, Any], entries: Collection[int]) -> bool:
        """Whether a message of the conversation history is theirs, tools and their results too."""
        return (
            message["entry"] in entries
            or any(own in entries for own in message["own"])
            or self.named_in(message.get("content"), json.dumps(message.get("tool_calls", "")))
        )


class Answers:
    """Tells of the entries of a journal, in their order, which of them answer somebody."""

    def __init__(self) -> None:
        self._theirs: dict[str | None, bool] = {}  # conversation → whether they spoke last in it

    def take(self, entry: Entry, theirs: bool) -> bool:
        """Whether `entry` is the NPC's own and answers what was theirs."""
        if entry.origin == "self":
            return self._theirs.get(entry.session_id, False)
        if entry.kind != INSIGHT:
            self._theirs[entry.session_id] = theirs
        return False


def _pattern(identity: str, names: Iterable[str]) -> re.Pattern[str]:
    known = sorted({name for name in names if len(name) >= SHORTEST_NAME}, key=len)[::-1]
    words = "|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in known)
    return re.compile("|".join(filter(None, [re.escape(identity), words])), re.IGNORECASE)
