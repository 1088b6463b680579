"""Export and import: a whole memory as a file, and a file as a memory.

What of a memory follows from the rest is not in the file: vectors, what lines are found by, how
rare words are. It is made when the file is imported, whatever store or embedding model it comes to.
Exported, imported and exported again, the files are equal to the byte.

A file as a memory: `moving.import_`.

Every line of the file is checked before anything is changed (`archive_lines`). While it is imported
the NPC is paused, and marked as half imported: broken off, it stays so, and the next import of it
begins anew. The mark says whether it was paused before, and is to be paused again afterwards.

A memory under another id, or in another body: every id in it that has to change is changed.

The ids of memories come from the id of their mind (docs/adr/001). Imported beside the NPC that it
was exported from, a memory becomes a mind of its own, and each of its memories gets the id that
follows from the new one.
"""

from __future__ import annotations

import base64
import re
import uuid
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twisted.internet import defer

from .. import conf, offload
from ..ingest import novelty
from ..records import Entry
from ..store import attributes, bulk, facts, owner, pause
from ..store.chat_log import ChatLog
from ..store.conversations import ATTRIBUTE as CONVERSATIONS
from ..store.conversations import Conversations
from ..store.links import BUCKETS, Link
from ..store.payload import entry_memory_id
from ..store.people import ATTRIBUTE as PEOPLE
from ..store.people import People
from ..store.profiles import Profiles
from ..store.validation import Invalid
from . import erasure, inspect, reindex
from .archive_format import ROWS_OF, SCRIPT, BadArchive, Checker, Header, Line, Reader, Seen, Writer
from .erasure import MARK
from .erasure_plan import ENTRIES_AT_ONCE, ask
from .reindex import Progress, silent

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
    memory, script = npc.memory, npc.assistant
    yield script.hold_still()
    try:
        memory.flush()
        header = Header(memory.id, npc.get_memory_identity(npc), npc.key)
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
    memory = npc.memory
    end = len(memory.journal)
    yield ask(writer.add, list(_small(npc)))
    for category in ROWS_OF:
        yield _write_rows(npc, writer, category)
    entries = 0
    for first in range(1, end + 1, ENTRIES_AT_ONCE):
        page = list(memory.journal.read(first, min(first + ENTRIES_AT_ONCE - 1, end)))
        entries += len(page)
        yield ask(writer.add, [{"kind": "entry", "value": entry.to_dict()} for entry in page])
        progress("journal", min(first + ENTRIES_AT_ONCE - 1, end), end)
    for first in range(0, BUCKETS, BUCKETS_AT_ONCE):
        found = memory.links.in_buckets(range(first, first + BUCKETS_AT_ONCE))
        yield ask(_write_links, writer, found)
    total = yield ask(facts.ask, "count", memory.id)
    memories, offset = 0, None
    while True:
        written, offset = yield ask(_write_memories, writer, memory.id, offset)
        memories += written
        progress("memories", memories, total)
        if offset is None:
            break
    lines = yield ask(_write_centroids, writer, memory.id)
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


def _write_memories(writer: Writer, agent_id: str, offset: Any) -> tuple[int, Any]:
    store = facts.shared()
    rows, offset = bulk.page(store, agent_id, offset)
    said = bulk.history(store, [memory_id for memory_id, _ in rows])
    writer.add(
        {"kind": "memory", "id": each, "payload": payload, "history": said.get(each, [])}
        for each, payload in rows
    )
    return len(rows), offset


def _write_centroids(writer: Writer, agent_id: str) -> int:
    return writer.add(
        {
            "kind": "centroid",
            "person": person,
            "model": model,
            "count": count,
            "total": base64.b64encode(total).decode(),
            "memories": memories,
        }
        for person, model, count, total, memories in novelty.rows(agent_id)
    )


# --- importing ------------------------------------------------------------------------------------

CHECKED_AT_ONCE = 256
LINES_AT_ONCE = 64


class NotEmpty(ValueError):
    """The NPC remembers something, which would be lost."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What came out of a file. `copied`: into a new mind, since the old one has a body here."""

    entries: int
    memories: int
    lines: int
    copied: bool


@dataclass(frozen=True, slots=True)
class _Checked:
    """A file that was checked: its lines, what changes with it, and the ids in it."""

    lines: int
    state: tuple[int, ...]
    seen: Seen


@defer.inlineCallbacks
def import_(
    npc: Any, path: Path, *, replace: bool = False, progress: Progress = silent
) -> Generator[Any, Any, Imported]:
    """Make the memory of a file that of an NPC, as a Deferred `Imported`.

    Args:
        npc: Whose memory it becomes. It takes the mind's id from the file, unless another NPC of
            this game has that mind, or may have it in another game that keeps its memories in the
            same store: then it becomes a mind of its own.
        path: What `export` wrote.
        replace: Although it remembers something, which is then forgotten.
        progress: Told of lines, and of the journal.

    Raises (in the Deferred):
        BadArchive: Of a file that is none, not whole, or of another version. Nothing was changed.
        NotEmpty: Nothing was changed.
        StoreError: The store cannot be used.
    """
    checked = yield _checked(path, progress)
    script = npc.assistant
    yield script.hold_still()
    try:
        half = attributes.read_json(npc, MARK)
        if not replace and not half and (yield _remembers(npc)):
            raise NotEmpty(
                f"{npc.key} remembers something already, which an import would put an end to. "
                "Export that first if it is wanted, then import with --replace."
            )
        reader = yield ask(_opened, path, checked)
        was_paused = half["paused"] if half else pause.paused(npc) == "npc"
        attributes.write_json(npc, MARK, {"paused": was_paused})
        pause.pause(npc, True)
        yield erasure.empty(npc)
        imported = yield _import(npc, reader, checked, progress)
        attributes.remove_json(npc, MARK)
        pause.pause(npc, was_paused)
    finally:
        script.let_go()
        checked.seen.close()
    return imported


@defer.inlineCallbacks
def _checked(path: Path, progress: Progress) -> Generator[Any, Any, _Checked]:
    """Read a file to its end, and check every line of it."""
    reader = yield ask(Reader, path)
    seen = yield ask(Seen)
    try:
        checker = yield ask(_checker, reader, seen)
        while (yield ask(_check_some, reader, checker)):
            progress("checking", reader.lines, 0)
        yield ask(_check_end, reader, checker)
    except BaseException:
        seen.close()
        raise
    return _Checked(reader.lines, reader.state, seen)


def _checker(reader: Reader, seen: Seen) -> Checker:
    try:
        return Checker(reader.header.agent_id, seen)
    except Invalid as problem:
        raise _refused(reader, 1, "the first line", problem) from None


def _check_some(reader: Reader, checker: Checker) -> bool:
    """Check some lines (worker thread). Returns whether there were any."""
    lines = reader.numbered(CHECKED_AT_ONCE)
    memories: dict[str, int] = {}
    for number, line in lines:
        try:
            checker.line(line)
        except Invalid as problem:
            raise _refused(reader, number, line["kind"], problem) from None
        if line["kind"] == "memory":
            memories[line["id"]] = number
    foreign = checker.foreign(memories) if memories else ()
    for memory_id in sorted(foreign, key=lambda each: memories[each]):
        problem = Invalid("id: another NPC has the memory of that id")
        raise _refused(reader, memories[memory_id], "memory", problem)
    return bool(lines)


def _check_end(reader: Reader, checker: Checker) -> None:
    try:
        checker.whole()
    except Invalid as problem:
        raise _refused(reader, reader.number, "the end", problem) from None


def _refused(reader: Reader, number: int, kind: str, problem: Invalid) -> BadArchive:
    return BadArchive(
        f"{reader.path}, line {number} ({kind}): {problem}. The file was changed, or is of another "
        "version. Nothing was imported."
    )


def _opened(path: Path, checked: _Checked) -> Reader:
    """The file once more, which must be the one that was checked (worker thread)."""
    reader = Reader(path)
    if reader.state != checked.state:
        raise BadArchive(f"{path} was written while it was read. Nothing was imported.")
    return reader


@defer.inlineCallbacks
def _remembers(npc: Any) -> Generator[Any, Any, bool]:
    memory = npc.memory
    stored = yield ask(facts.ask, "count", memory.id)
    return bool(stored or len(memory.journal) or len(memory.people) or len(memory.profiles))


@defer.inlineCallbacks
def _import(
    npc: Any, reader: Reader, checked: _Checked, progress: Progress
) -> Generator[Any, Any, Imported]:
    memory = npc.memory
    old = reader.header
    copied = old.agent_id in inspect.known_minds(but=npc)
    if copied and memory.id == old.agent_id:
        _become(npc, str(uuid.uuid4()))
    elif not copied and memory.id != old.agent_id and inspect.store_is_own():
        # on a server it may live on in another game: there the NPC keeps an id of its own
        _become(npc, old.agent_id)
        yield ask(facts.ask, "delete_mind", memory.id)  # of an NPC that is no more
    bodies = old.identity, npc.get_memory_identity(npc)
    rename = Renaming((old.agent_id, memory.id), bodies, checked.seen.number_of)
    counts = {"entry": 0, "memory": 0}
    while lines := (yield ask(_next_lines, reader, rename)):
        if not npc.pk:
            raise BadArchive("The NPC was deleted while its memory was imported.")
        yield _take(npc, lines)
        for line in lines:
            if line["kind"] in counts:
                counts[line["kind"]] += 1
        progress("lines", reader.lines, checked.lines)
    memory.people, memory.history = People(npc), ChatLog(npc)
    memory.profiles = Profiles(npc)
    memory.conversations = Conversations(npc, conf.get().STALE_CONVERSATION)
    memory.journal.flush()
    yield ask(novelty.carry_over, memory.id)
    yield reindex.rekey(npc, progress)
    return Imported(counts["entry"], counts["memory"], reader.lines, copied)


def _become(npc: Any, mind_id: str) -> None:
    owner.claim(npc, mind_id)
    npc.memory.id = mind_id


def _next_lines(reader: Reader, rename: Renaming) -> list[Line]:
    return rename(reader.some(LINES_AT_ONCE))


@defer.inlineCallbacks
def _take(npc: Any, lines: list[Line]) -> Generator[Any, Any, None]:
    """Some lines into the memory, those of one kind together."""
    memory = npc.memory
    entries, links, memories = [], [], []
    for line in lines:
        kind, value = line["kind"], line.get("value")
        if kind == "entry":
            entries.append(Entry.from_dict(value))
        elif kind == "link":
            links.append(Link(line["a"], line["b"], line["score"], line["linked"], line["created"]))
        elif kind in ("memory", "centroid"):
            memories.append(line)
        elif kind == "journal":
            again = line["last_id"], line["last_reflection"], line["cursors"]
            memory.journal.reset(*again)
        elif kind == "people":
            attributes.write(npc, PEOPLE, value)
        elif kind == "conversations":
            attributes.write(npc, CONVERSATIONS, dict(value))
        elif kind == "row":
            attributes.write_json(npc, line["key"], value, line["category"])
            yield offload.breathe()
        elif kind == "script" and value:
            attributes.write(npc.assistant, line["key"], value)
        elif kind == "script":  # what it had is not what the file says
            npc.assistant.attributes.remove(line["key"])
    if entries:
        memory.journal.restore(entries)
        memory.journal.flush()
        yield offload.breathe()
    yield memory.links.add_gently(links)
    if memories:
        yield ask(_store, memory.id, memories)


def _store(agent_id: str, lines: list[Line]) -> None:
    """Memories and centroids (worker thread)."""
    store = facts.shared()
    rows = [(each["id"], each["payload"]) for each in lines if each["kind"] == "memory"]
    if rows:
        bulk.write(store, rows, reindex.vectors_of(rows))
        bulk.put_history(
            store, {each["id"]: each["history"] for each in lines if each["kind"] == "memory"}
        )
    for each in lines:
        if each["kind"] == "centroid":
            total = base64.b64decode(each["total"])
            row = each["person"], each["model"], each["count"], total, each["memories"]
            novelty.put_back(agent_id, row)


# --- renaming -------------------------------------------------------------------------------------

_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")


_NO_IDS = ("ref", "session_id", "run_id")  # what a log calls its lines may look like one of ours


def _is_ear(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("ear:")


class Renaming:
    """Old to new.

    Args:
        minds: The old and the new UUID of the mind.
        bodies: The old and the new memory identity of the NPC itself.
        entry_of: Gives the number of the journal entry that an old id is of, 0 for any other: the
            ids of entries follow from their numbers.
    """

    def __init__(
        self, minds: tuple[str, str], bodies: tuple[str, str], entry_of: Callable[[str], int]
    ):
        self._old_agent_id, self._agent_id = minds
        self._old_body, self._body = bodies
        self._entry_of = entry_of
        self._nothing = self._old_agent_id == self._agent_id and self._old_body == self._body

    def __call__(self, value: Any) -> Any:
        """Plain data with all ids in it changed, keys too."""
        if self._nothing:
            return value
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict):
            return {
                self(key): each if key in _NO_IDS and not _is_ear(each) else self(each)
                for key, each in value.items()
            }
        if isinstance(value, list):
            return [self(each) for each in value]
        return value

    def _text(self, text: str) -> str:
        if text == self._old_body:
            return self._body
        if text.startswith(f"ear:{self._old_body}@"):
            return text.replace(self._old_body, self._body, 1)
        if self._old_agent_id != self._agent_id and len(text) == 36 and _UUID.fullmatch(text):
            if text == self._old_agent_id:
                return self._agent_id
            if number := self._entry_of(text):
                return entry_memory_id(self._agent_id, number)
            return str(uuid.uuid5(uuid.UUID(self._agent_id), text))
        return text
