"""What goes with a fact that ends: the lines that told it, and what was drawn from them alone.

Nothing is lost: a line that is retired stays in the journal and in the store, with the time since
when it holds no longer and the fact that took its place; recall brings that one to mind. A line
that tells anything besides is left alone, since it would go with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from ..llm.telling import tells
from ..llm.words import content_words, sentences_of
from ..records import LOCKED, PINNED, MemoryRecord
from ..store import facts
from ..store.payload import entry_memory_id
from .contradicting import contradicts

KEPT_TAGS = frozenset({"conscious", PINNED, LOCKED})  # what somebody wished to be kept
EXPERIENCES_LOOKED_AT = 8  # nearest to a line that is retired
TELLS_OF_IT = 0.8  # share of a fact's words in an experience that tells it


@dataclass(frozen=True, slots=True)
class Ended:
    """A fact that holds no longer, and what took its place, as a profile needs to know it.

    Attributes:
        by: What the other says.
        since: The newest journal entry that this other rests on.
    """

    text: str
    by: str
    since: int
    journal_ids: tuple[int, ...]
    people: tuple[str, ...]
    audience: tuple[str, ...] | None

    @classmethod
    def of(cls, past: MemoryRecord, holds: MemoryRecord) -> Ended:
        people = tuple(sorted({*filter(None, [past.about]), *past.entities}))
        since = max(holds.journal_ids, default=0)
        return cls(past.content, holds.content, since, past.journal_ids, people, past.audience)


def retire_sources(
    store: facts.FactStore, mind: str, past: MemoryRecord, by: str, when: str
) -> None:
    """Retire what told a fact, before the fact itself is ended (worker thread).

    Killed anywhere and done again, since the fact still holds then, it ends in the same state.

    Args:
        past: The fact that ends, in the store or not yet in it.
        by: The id of the fact that takes its place.
        when: ISO timestamp since when.
    """
    lines = store.get(entry_memory_id(mind, entry_id) for entry_id in past.journal_ids)
    for line in lines:
        if line.superseded_by not in (None, by) or _is_kept(line) or _says_more(line, past):
            continue
        for memory in (*_experiences(store, mind, line, past), line):  # the line last
            if not memory.superseded_by:
                store.change(memory.id, invalid_at=when, superseded_by=by)


def end_attributes(mind: Any, ended: Iterable[Ended]) -> None:
    """Take out of profiles what rests on facts that ended (reactor thread)."""
    for fact in ended:
        for identity in fact.people:
            profile = mind.profiles.get(identity)
            if profile is None:
                continue
            held = tuple(
                known
                for known in profile.attributes
                if not _rests_on(known, fact) or _is_locked(mind, known)
            )
            if held != profile.attributes:
                mind.profiles.put(replace(profile, attributes=held))


def _is_locked(mind: Any, known: Any) -> bool:
    """Return whether an attribute rests on a journal entry that is locked."""
    entries = map(mind.journal.get, known.evidence)
    return any(LOCKED in entry.tags for entry in entries if entry)


def _rests_on(known: Any, fact: Ended) -> bool:
    audience = tuple(sorted(known.witnesses)) if known.private else None
    if audience != fact.audience:
        return False
    if set(known.evidence) <= set(fact.journal_ids) and _tells(known.value, fact.text):
        return True
    return max(known.evidence, default=0) < fact.since and contradicts(fact.by, known.value)


def _is_kept(line: MemoryRecord) -> bool:
    return bool(KEPT_TAGS & set(line.tags))


def _says_more(line: MemoryRecord, past: MemoryRecord) -> bool:
    """Whether a line tells anything besides one fact; a greeting is nothing."""
    told = [sentence for sentence in sentences_of(line.content) if tells(sentence)]
    if not past.quote:
        return len(told) > 1
    own = content_words(past.quote)
    return any(len(content_words(sentence) - own) > 1 for sentence in told)


def _experiences(
    store: facts.FactStore, mind: str, line: MemoryRecord, past: MemoryRecord
) -> list[MemoryRecord]:
    """Those that rest on a line and tell what it told."""
    [vector] = store.vectors_of([line])
    near = store.nearest(mind, vector, EXPERIENCES_LOOKED_AT, record="experience")
    return [
        hit.memory
        for hit in near
        if set(line.journal_ids) & set(hit.memory.journal_ids)
        and not _is_kept(hit.memory)
        and _tells(hit.memory.content, past.content)
    ]


def _tells(text: str, fact: str) -> bool:
    words = content_words(fact)
    return len(words & content_words(text)) >= TELLS_OF_IT * len(words)
