"""Export and import: a whole memory as a file, and a file as a memory.

What of a memory follows from the rest is not in the file: vectors, what lines are found by, how
rare words are. It is made when the file is imported, whatever store or embedding model it comes to.
Exported, imported and exported again, the files are equal to the byte.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twisted.internet import defer

from .. import conf
from ..ingest import novelty
from ..store import attributes, bulk, facts
from ..store.conversations import ATTRIBUTE as CONVERSATIONS
from ..store.links import BUCKETS
from ..store.people import ATTRIBUTE as PEOPLE
from .archive import BadArchive, Header, Line, Writer
from .archive_lines import ROWS_OF, SCRIPT
from .importing import NotEmpty, import_
from .reindexing import Progress, silent
from .taking_out import ENTRIES_AT_ONCE, ask

__all__ = ["BadArchive", "Exported", "NotEmpty", "export", "import_"]

FOLDER = "exports"  # in the contrib's own, for who names no file
KEYS_AT_ONCE = 16
BUCKETS_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class Exported:
    """A file, whose it is, and what is in it."""

    path: Path
    entries: int
    memories: int
    lines: int


@defer.inlineCallbacks
def export(
    npc: Any, path: Path | None = None, progress: Progress = silent
) -> Generator[Any, Any, Exported]:
    """Write the whole memory of an NPC to a file, as a Deferred `Exported`.

    Secrets are in it, readable. What the NPC hears meanwhile is not.

    Args:
        path: The file, which is replaced; None makes one in the folder `exports` of the store.
        progress: Told of entries and memories.

    Raises (in the Deferred):
        StoreError: The store cannot be used.
        OSError: The file cannot be written; what was there before is there still.
    """
    mind, script = npc.memory, npc.assistant
    yield script.hold_still()
    try:
        mind.flush()
        header = Header(mind.id, npc.get_memory_identity(npc), npc.key)
        writer = yield ask(Writer, path or conf.directory() / FOLDER / file_name(npc), header)
        try:
            exported = yield _write(npc, writer, progress)
            yield ask(writer.finish)
        except BaseException:
            yield ask(writer.give_up)
            raise
    finally:
        script.let_go()
    return exported


def file_name(npc: Any) -> str:
    """What an export is called that nobody names."""
    name = re.sub(r"[^\w-]+", "_", npc.key).strip("_") or "npc"
    return f"{name}-{npc.memory.id[:8]}.jsonl"


@defer.inlineCallbacks
def _write(npc: Any, writer: Writer, progress: Progress) -> Generator[Any, Any, Exported]:
    mind = npc.memory
    end = len(mind.journal)
    yield ask(writer.add, list(_small(npc)))
    for category in ROWS_OF:
        yield _write_rows(npc, writer, category)
    entries = 0
    for first in range(1, end + 1, ENTRIES_AT_ONCE):
        page = list(mind.journal.read(first, min(first + ENTRIES_AT_ONCE - 1, end)))
        entries += len(page)
        yield ask(writer.add, [{"kind": "entry", "value": entry.to_dict()} for entry in page])
        progress("journal", min(first + ENTRIES_AT_ONCE - 1, end), end)
    for first in range(0, BUCKETS, BUCKETS_AT_ONCE):
        found = mind.links.in_buckets(range(first, first + BUCKETS_AT_ONCE))
        yield ask(_write_links, writer, found)
    total = yield ask(facts.ask, "count", mind.id)
    memories, offset = 0, None
    while True:
        written, offset = yield ask(_write_memories, writer, mind.id, offset)
        memories += written
        progress("memories", memories, total)
        if offset is None:
            break
    lines = yield ask(_write_centroids, writer, mind.id)
    return Exported(writer.path, entries, memories, lines)


def _small(npc: Any) -> Iterable[Line]:
    """What fits into a few lines."""
    journal = npc.memory.journal
    yield {
        "kind": "journal",
        "last_id": len(journal),
        "last_reflection": journal.last_reflection,
        "cursors": dict(journal.cursors),
    }
    yield {"kind": "people", "value": attributes.read(npc, PEOPLE) or {}}
    talks = attributes.read(npc, CONVERSATIONS) or {}
    # in their order: the newest of two in one place goes on
    yield {"kind": "conversations", "value": [[key, talk] for key, talk in talks.items()]}
    for key in SCRIPT:
        value = attributes.read(npc.assistant, key) or None  # one that was emptied is none
        yield {"kind": "script", "key": key, "value": value}


@defer.inlineCallbacks
def _write_rows(npc: Any, writer: Writer, category: str) -> Generator[Any, Any, None]:
    """The JSON Attributes of a category."""
    rows = npc.db_attributes.filter(db_category=category)
    keys = sorted(rows.values_list("db_key", flat=True))
    for first in range(0, len(keys), KEYS_AT_ONCE):
        lines = [
            {
                "kind": "row",
                "category": category,
                "key": key,
                "value": attributes.read_json(npc, key, category),
            }
            for key in keys[first : first + KEYS_AT_ONCE]
        ]
        yield ask(writer.add, lines)


# --- on the worker thread -------------------------------------------------------------------------


def _write_links(writer: Writer, found: list[tuple[str, dict[str, dict[str, Any]]]]) -> int:
    """Each link once, from its smaller end."""
    return writer.add(
        {
            "kind": "link",
            "a": a,
            "b": b,
            "linked": note["kind"],
            "score": note["score"],
            "created": note["created"],
        }
        for a, linked in sorted(found)
        for b, note in sorted(linked.items())
        if a < b
    )


def _write_memories(writer: Writer, mind: str, offset: Any) -> tuple[int, Any]:
    store = facts.shared()
    rows, offset = bulk.page(store, mind, offset)
    said = bulk.history(store, [memory_id for memory_id, _ in rows])
    writer.add(
        {"kind": "memory", "id": each, "payload": payload, "history": said.get(each, [])}
        for each, payload in rows
    )
    return len(rows), offset


def _write_centroids(writer: Writer, mind: str) -> int:
    return writer.add(
        {
            "kind": "centroid",
            "person": person,
            "model": model,
            "count": count,
            "total": base64.b64encode(total).decode(),
            "memories": memories,
        }
        for person, model, count, total, memories in novelty.rows(mind)
    )
