"""A memory written anew: its words changed by hand, or back after it was forgotten.

A line of talk is part of what the lines around it are found by (`store.keys`): when it changes or
goes, theirs are made anew. Worker threads only.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..embedding import embedder
from ..records import Entry, MemoryRecord
from ..store import facts, versions
from ..store.keys import REACH, Keys, of_talk
from ..store.payload import entry_memory_id
from .index import LOOK_BACK

AROUND = LOOK_BACK  # entries before and after that `around` has to hold


def rewrite(
    mind: str, memory: MemoryRecord, around: Sequence[Entry] = (), *, before: str | None = None
) -> None:
    """Write one memory with vectors of what it says now; the same id is overwritten.

    Args:
        around: Of a journal entry, the entries before and after and itself, oldest first.
        before: What it said, where its history is to tell of it.
    """
    store = facts.shared()
    own = memory.journal_ids[0] if memory.record == "entry" else 0
    keys = _keys_around(own, around) if own else {}
    if own in keys:
        store.put(mind, [memory], keys[own].line[None], [keys.pop(own)])
    else:
        vectors = embedder.shared().encode([memory.embedded], keep=True)
        store.put(mind, [memory], vectors)
    store.rekey({entry_memory_id(mind, each): key for each, key in keys.items()})
    if before is not None and before != memory.content:
        versions.note(memory.id, before, memory.content)
        embedder.shared().forget([before])


def rekey_around(mind: str, gone: Entry, around: Sequence[Entry]) -> None:
    """Make the keys of the talk around an entry without it."""
    rest = [entry for entry in around if entry.id != gone.id]
    keys = _keys_around(gone.id, rest, gone)
    facts.shared().rekey({entry_memory_id(mind, each): key for each, key in keys.items()})


def _keys_around(own: int, around: Sequence[Entry], lost: Entry | None = None) -> dict[int, Keys]:
    """The keys of an entry and of those that are found by it, as far as `around` goes."""
    entry = lost or next((each for each in around if each.id == own), None)
    if entry is None:
        return {}
    talk = [each for each in around if each.recallable and _one_talk(each, entry)]
    if not talk:
        return {}
    vectors = embedder.shared().encode([each.words for each in talk], keep=True)
    keys = of_talk([each.id for each in talk], [each.told() for each in talk], vectors)
    return {
        each.id: key for each, key in zip(talk, keys, strict=True) if abs(each.id - own) <= REACH
    }


def _one_talk(a: Entry, b: Entry) -> bool:
    return a.id == b.id or bool(a.session_id and a.circle == b.circle)
