"""Which memories are somebody's: the rule by which erasing a person decides.

An entry is theirs that they said or did, that is about them, that only they and the NPC heard, that
names them, or in which the NPC answers them. A memory is theirs that is about them, was told in
confidence with them there, names them, or rests on an entry of theirs: on that one too, if it rests
on several.

What the NPC says keeps what it was told from (`records.ToldFrom`). An utterance that was told from
anything of theirs is theirs too, whoever it was said to, with what was drawn from it; and so is
what another NPC heard of it, and told from there. A language model can have taken its words from
anything that it was shown, so that all of that counts. What a player typed in answer is that
player's own: a paraphrase by somebody else cannot be told from anything else, and stays.

Names are looked for as whole words, in any case: who is called Rose takes the roses along, but not
Rose Miller, if the NPC knows her. A name that the NPC knows several people by (or that is its own)
tells none of them apart, as little as "she" does. Then identities decide alone: who said it, who
heard it in confidence, whom it is about, what it rests on, and whom the NPC knew by that name when
it heard it. What somebody else said of one of the two stays, until the last of that name is erased.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..records import INSIGHT, Entry, MemoryRecord, Message
from ..store import spans

SHORTEST_NAME = 2  # letters: a shorter name is in too many texts


@dataclass(frozen=True)
class Somebody:
    """Who it is.

    Attributes:
        identity: The memory identity; "" is nobody, whose is nothing by itself.
        names: That the NPC knows them under.
        others: (identity, name) of all others whom the NPC knows, itself among them.
    """

    identity: str
    names: tuple[str, ...] = ()
    others: tuple[tuple[str, str], ...] = ()

    def named_in(self, *texts: str | None) -> bool:
        """Whether one of the texts has a name that is theirs alone, or their identity."""
        return any(
            found["own"]
            for text in texts
            if text and self._pattern
            for found in self._pattern.finditer(text)
        )

    @cached_property
    def _bearers(self) -> dict[str, set[str]]:
        """The others who bear a name of theirs, by the name in small letters."""
        own = {name.casefold() for name in self.names}
        found: dict[str, set[str]] = {}
        for identity, name in self.others:
            if name.casefold() in own and identity != self.identity:
                found.setdefault(name.casefold(), set()).add(identity)
        return found

    @cached_property
    def _pattern(self) -> re.Pattern[str] | None:
        alone = [name for name in self.names if name.casefold() not in self._bearers]
        return _pattern(self.identity, alone, self._longer)

    @cached_property
    def _any_name(self) -> re.Pattern[str] | None:
        return _pattern("", self.names, self._longer)

    @cached_property
    def _longer(self) -> list[str]:
        """Names of others that have one of theirs in them."""
        within = _pattern("", self.names, ())
        own = {name.casefold() for name in self.names}
        names = {name for _, name in self.others if name.casefold() not in own}
        return [name for name in names if within and within.search(name)]

    def _is_among(self, entities: Collection[str], *texts: str | None) -> bool:
        """Whether `entities` has them in it by more than a name that is not theirs alone."""
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
            return False  # it is in a longer name of somebody else
        return not any(bearers.intersection(entities) for bearers in self._bearers.values())

    def _heard_alone(self, private: bool, witnesses: Collection[str]) -> bool:
        return private and bool(self.identity) and self.identity in witnesses

    def has_entry(self, entry: Entry) -> bool:
        """Whether an entry is theirs by itself. What answers it, and what cites it, goes too."""
        if not self.identity:
            return False
        return (
            self.identity in (entry.source_entity, *entry.sources)
            or self._heard_alone(entry.private, entry.witnesses)
            or (entry.session_id or "").startswith(f"ear:{self.identity}@")
            or self._is_among(entry.entities, entry.content, entry.line)
            or self.named_in(entry.content, entry.line)
        )

    def has_memory(self, memory: MemoryRecord, entries: Collection[int]) -> bool:
        """Whether a memory is theirs, or rests on one of these journal entries."""
        if any(number in entries for number in memory.journal_ids):
            return True
        if spans.has_any(memory.context, entries):
            return True
        if not self.identity:
            return False
        texts = memory.content, memory.key, memory.quote, memory.shown, memory.the_lesson
        return (
            self.identity == memory.about
            or self._heard_alone(memory.private, memory.witnesses)
            or self.named_in(*texts, memory.speaker)
            or (self._is_among(memory.entities, *texts) and not self._mixed_up(memory))
        )

    def _mixed_up(self, memory: MemoryRecord) -> bool:
        """Whether it has its entities from lines, of which the name alone made one theirs."""
        bearers = set().union(*self._bearers.values())
        return bool(memory.journal_ids) and not bearers.isdisjoint(memory.entities)

    def has_message(self, message: Message, entries: Collection[int]) -> bool:
        """Whether a message of a conversation is theirs."""
        return (
            message.entry_id in entries
            or self._heard_alone(message.private, message.witnesses)
            or self.named_in(message.content)
        )

    def has_exchange(
        self, message: dict[str, Any], entries: Collection[int], memories: Collection[str] = ()
    ) -> bool:
        """Whether a message of the conversation history is theirs, tools and their results too."""
        return (
            message["entry"] in entries
            or any(own in entries for own in message["own"])
            or rests_on(message["told"], message["talk"], entries, memories)
            or self.named_in(message.get("content"), json.dumps(message.get("tool_calls", "")))
        )


NOBODY = Somebody("")


class Answers:
    """Tells of the entries of a journal, in their order, which of them answer somebody."""

    def __init__(self) -> None:
        self._theirs: dict[str | None, bool] = {}  # conversation → whether they spoke last in it

    def take(self, entry: Entry, theirs: bool) -> bool:
        """Whether `entry` is the NPC's own and answers what was theirs.

        What knows by itself what it answers is not judged by what was said before it.
        """
        if entry.origin == "self":
            return not entry.evidence and self._theirs.get(entry.session_id, False)
        if entry.kind != INSIGHT:
            self._theirs[entry.session_id] = theirs
        return False


def rests_on(
    evidence: Iterable[str], context: str, entries: Collection[int], memories: Collection[str]
) -> bool:
    """Whether link ids or spans of journal ids have some of these entries or memories in them."""
    return any(
        int(each) in entries if each.isdecimal() else each in memories for each in evidence
    ) or spans.has_any(context, entries)


def _pattern(identity: str, names: Iterable[str], longer: Iterable[str]) -> re.Pattern[str] | None:
    """Finds `names` and the identity in the group "own"; what stands in a longer name is passed."""
    known = sorted({name for name in names if len(name) >= SHORTEST_NAME}, key=len)[::-1]
    own = "|".join(filter(None, [re.escape(identity), *map(_word, known)]))
    if not own:
        return None
    passed = "".join(f"{_word(name)}|" for name in sorted(longer, key=len)[::-1])
    return re.compile(f"{passed}(?P<own>{own})", re.IGNORECASE)


def _word(name: str) -> str:
    return rf"(?<!\w){re.escape(name)}(?!\w)"
