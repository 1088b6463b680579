"""Taking everything out of one memory, a place at a time; `erasing.wipe` says in which order."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from twisted.internet import defer

from .. import offload
from ..store import attributes, facts
from ..store.payload import entry_memory_id
from .taking_out import ENTRIES_AT_ONCE, ask, forget_texts, from_store

MARK = "importing"  # the Attribute of an NPC that is half imported: it outlives the emptying
ROWS_AT_ONCE = 4


@defer.inlineCallbacks
def all_from_store(mind: Any) -> Generator[Any, Any, tuple[dict[str, int], int]]:
    """Every memory of a mind, and its words. Gives what `from_store` gives."""
    kinds: dict[str, int] = {}
    vectors = 0
    while ids := (yield ask(_first_ids, mind.id)):
        gone, forgotten = yield from_store(mind.id, ids)
        vectors += forgotten
        for record, count in gone.items():
            kinds[record] = kinds.get(record, 0) + count
    yield ask(facts.ask, "forget_words", mind.id)
    return kinds, vectors


def _first_ids(mind: str) -> list[str]:
    memories, _offset = facts.shared().page(mind)
    return [memory.id for memory in memories]


@defer.inlineCallbacks
def texts_of_journal(mind: Any) -> Generator[Any, Any, int]:
    """What is kept of the texts of the journal elsewhere. Gives how many entries there are."""
    count = 0
    for first in range(1, len(mind.journal) + 1, ENTRIES_AT_ONCE):
        entries = list(mind.journal.read(first, first + ENTRIES_AT_ONCE - 1))
        count += len(entries)
        texts = [text for entry in entries for text in entry.texts]
        ids = [entry_memory_id(mind.id, entry.id) for entry in entries]
        yield ask(_forget_leavings, texts, ids)
    return count


def _forget_leavings(texts: list[str], ids: list[str]) -> None:
    forget_texts(texts)
    facts.shared().delete_points(ids)


@defer.inlineCallbacks
def rows(npc: Any, category: str) -> Generator[Any, Any, None]:
    """Every Attribute of a category but `MARK`, a few at a time."""
    while npc.pk:
        left = npc.db_attributes.filter(db_category=category).exclude(db_key=MARK)
        some = list(left.values_list("db_key", flat=True)[:ROWS_AT_ONCE])
        if not some:
            return
        for key in some:
            attributes.remove_json(npc, key, category)
        yield offload.breathe()


def all_nights(npc: Any) -> None:
    """What is told of the nights, and who waits for an answer."""
    script = npc.assistant
    for key in ("night_records", "night"):
        script.attributes.remove(key)
    script.waiting_for_answers.clear()
    script.ndb.exchanges = {}
