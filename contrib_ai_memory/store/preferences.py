"""Preferences of people: key-value, one Attribute each, category `preferences` [C §1.6].

The key is the slot that a preference fills. A changed preference replaces the old one, which moves
into its history with the time during which it held. A whispered preference has a slot of its own,
for those who heard it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .. import conf, language
from ..privacy import may_hear
from ..records import Entry
from . import attributes
from .removal import Removal, RowsPart

CATEGORY = "preferences"
UNKNOWN_OWNER = "-"  # in a key, if it is not known whose preference it is


@dataclass(frozen=True, slots=True)
class PastPreference:
    """A preference that was replaced: `since` and `until` are ISO 8601 UTC."""

    text: str
    memory_id: str
    since: str
    until: str
    journal_id: int | None = None


@dataclass(frozen=True, slots=True)
class Preference:
    """One preference of a person, with the earlier ones of the same slot."""

    identity: str  # memory identity of the person; "" if unknown
    slot: str  # the subject of the preference
    text: str  # the sentence that states it
    since: str  # when it was first stated; ISO 8601 UTC
    seen: str  # when it was last stated
    memory_id: str = ""  # the memory in the store that states it
    journal_id: int | None = None  # the entry that states it
    private: bool = False
    witnesses: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()  # slots of the things it was compared with
    history: tuple[PastPreference, ...] = ()  # oldest first

    @property
    def audience(self) -> tuple[str, ...] | None:
        return tuple(sorted(self.witnesses)) if self.private else None

    def says(self, text: str) -> bool:
        """Return whether `text` is the same but for case, white space and the full stop."""
        return _bare(self.text) == _bare(text)

    def visible_to(self, listeners: Sequence[str] | None) -> bool:
        return may_hear(self.private, self.witnesses, None if listeners is None else (*listeners,))

    def memory_of(self, text: str) -> str | None:
        """Return the id of the memory that states `text`: the present or the latest past one."""
        if self.says(text):
            return self.memory_id
        for past in reversed(self.history):
            if _bare(past.text) == _bare(text):
                return past.memory_id
        return None


class Preferences(RowsPart[Preference]):
    """The preferences one NPC knows of."""

    counted, category, kind = "preferences", CATEGORY, Preference

    def __init__(self, npc: Any, entry: Callable[[int], Entry | None] = lambda number: None):
        super().__init__(npc)
        self._entry = entry  # returns the journal entry of a number, if it is still there

    def key(self, record: Preference) -> str:
        return key_of(record.identity, record.slot, record.audience)

    def set(
        self,
        identity: str,
        slot: str,
        text: str,
        when: str,
        journal_id: int | None = None,
        *,
        witnesses: Sequence[str] = (),
        **more: Any,
    ) -> Preference:
        """Record a preference, with `more` of its fields. A repeated one only changes `seen`.

        For a comparison, call `slot_for` first.
        """
        more |= {"journal_id": journal_id, "witnesses": tuple(sorted(witnesses))}
        now = Preference(identity, slot, text, when, when, **more)
        known = self.get(identity, slot, now.audience)
        if known and known.says(text):
            now = replace(known, seen=max(known.seen, when))
        elif known:
            past = PastPreference(known.text, known.memory_id, known.since, when, known.journal_id)
            now = replace(now, history=(*known.history, past)[-conf.PREFERENCE_HISTORY :])
        if now != known:
            self.put(now)
        return now

    def slot_for(
        self,
        identity: str,
        slot: str,
        mentions: Sequence[str],
        audience: tuple[str, ...] | None = None,
    ) -> str:
        """Return the slot a comparison fills: "coffee to tea" that of a known "tea to coffee"."""
        for other in mentions:
            known = self.get(identity, other, audience)
            if known and slot in known.mentions:
                return other
        return slot

    def get(
        self, identity: str, slot: str, audience: tuple[str, ...] | None = None
    ) -> Preference | None:
        """Return the preference in a slot; `audience` None is the one anyone may know."""
        return self.row(key_of(identity, slot, audience))

    def of(self, identity: str, listeners: Sequence[str] | None = None) -> list[Preference]:
        """Return those of one person that `listeners` may hear of (None: all), newest first."""
        prefix = f"{identity or UNKNOWN_OWNER}/"[: attributes.KEY_LENGTH]
        found = [
            preference
            for preference in self.some(prefix)
            if preference.identity == identity and preference.visible_to(listeners)
        ]
        return sorted(found, key=lambda preference: (preference.since, preference.slot))[::-1]

    def replace(self, record: Preference, left: Preference) -> None:
        """Write what is left of a preference, unless its new slot has a newer one."""
        if left.audience == record.audience:
            self.put(left)
            return
        there = self.get(left.identity, left.slot, left.audience)
        if there is None or there.since <= left.since:
            self.put(left)
        self.remove(self.key(record))

    def without(self, record: Preference, removal: Removal) -> Preference | None:
        """Return a preference without what goes: the one before it holds again."""
        subject = removal.subject
        if subject.identity and subject.identity == record.identity:
            return None
        versions: tuple[Preference | PastPreference, ...] = (*record.history, record)
        left: list[Any] = [
            each
            for each in versions
            if each.memory_id not in removal.memories
            and each.journal_id not in removal.entries
            and not subject.named_in(each.text)
        ]
        if not left:
            return None
        if len(left) < len(versions):
            left = [*map(self._by_itself, left)]
        *past, last = left
        if isinstance(last, PastPreference):
            now: Any = {"text": last.text, "memory_id": last.memory_id}
            now |= {"journal_id": last.journal_id, "since": last.since, "seen": last.until}
            last = replace(record, **now)
        return replace(last, witnesses=removal.others(record.witnesses), history=tuple(past))

    def _by_itself(self, held: Any) -> Any:
        """Return a preference in the words of its own line, if an older one completed them."""
        entry = self._entry(held.journal_id) if held.journal_id else None
        words_of = language.get().content_words
        if entry is None or words_of(held.text) <= words_of(entry.words):
            return held
        return replace(held, text=entry.words)


def key_of(identity: str, slot: str, audience: tuple[str, ...] | None) -> str:
    """Return the key of a preference's Attribute, with a digest unless it is exact without."""
    readable = f"{identity or UNKNOWN_OWNER}/{slot}"
    exact = readable == readable.lower() and len(readable) <= attributes.KEY_LENGTH
    if audience is None and exact:
        return readable
    circle = ("*",) if audience is None else ("private", *audience)
    return attributes.key_with_digest(readable, identity, slot, *circle)


def _bare(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .!\"'“”’")
