"""Export a whole memory to a file, and import such a file into an NPC.

The file holds nothing that follows from the rest: no vectors of memories, search keys or word
counts; these are made at the import, for whatever store or embedding model it meets. Nor does it
hold what was weighed for the last replies. Exported, imported and exported again, a memory gives
the same file to the byte.

Every line is checked before anything is changed (`archive_format`). During an import the NPC is
paused and marked as half imported; an import that broke off leaves it so, and the next one starts
from the beginning. The mark keeps whether the NPC was paused before.

The ids of journal memories follow from the memory's own id (docs/adr/001). Imported beside the NPC
it was exported from, a memory gets a new id, and every id in it is mapped to the one that follows.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twisted.internet import defer

from .. import conf, offload
from ..errors import InputError
from ..records import Entry
from ..store import attributes, game_database, memory_store, owner, pause
from ..store.conversations import ATTRIBUTE as CONVERSATIONS
from ..store.journal import beyond_end
from ..store.links import Link
from ..store.payload import entry_memory_id
from ..store.people import ATTRIBUTE as PEOPLE
from ..text import plural
from . import access, erase, game_npcs, reindex
from .archive_format import (
    ROWS_OF,
    SCRIPT,
    ArchiveHeader,
    BadArchive,
    Checker,
    Line,
    Reader,
    Writer,
)
from .erase import IMPORT_MARK
from .jobs import (
    ENTRIES_AT_ONCE,
    Progress,
    batch_job,
    exclusively,
    journal_pages,
    link_pages,
    local_job,
    silent,
    store_pages,
)

__all__ = ["BadArchive", "Exported", "Imported", "NotEmpty", "export", "import_"]

FOLDER = "exports"  # in the contrib's own folder, for exports without a file name
TRANSFERS = "transfers"  # beside it: files on their way to or from a browser, for a short time
KEYS_AT_ONCE = 16
LINES_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class Exported:
    """An exported file, and the counts of its lines."""

    path: Path
    entries: int
    memories: int
    lines: int

    @property
    def counts(self) -> str:
        """The counts in words."""
        entries = plural(self.entries, "journal entry", "journal entries")
        return f"{entries}, {plural(self.memories, 'memory', 'memories')}"


def export(npc: Any, path: Path | None = None, progress: Progress = silent) -> defer.Deferred:
    """Write the whole memory of an NPC to a file, as a Deferred `Exported`.

    Secrets are in it, readable. What the NPC hears meanwhile is not.

    Args:
        path: The file, which is replaced; None makes one in the folder `exports` of the store.
        progress: Called with the progress of journal and memories.

    Raises (in the Deferred):
        StoreError: The store cannot be used.
        OSError: The file cannot be written; an old one is unchanged.
    """
    return exclusively(npc, _export, path, progress)


@defer.inlineCallbacks
def _export(npc: Any, path: Path | None, progress: Progress) -> Generator[Any, Any, Exported]:
    memory = npc.memory
    memory.flush()
    header = ArchiveHeader(memory.id, npc.get_memory_identity(npc), npc.key)
    writer = yield local_job(Writer, path or conf.directory() / FOLDER / file_name(npc), header)
    try:
        exported = yield _write(npc, writer, progress)
        yield local_job(writer.finish)
    except BaseException:
        yield local_job(writer.discard)
        raise
    return exported


def file_name(npc: Any) -> str:
    """Return the default file name of an export."""
    name = re.sub(r"[^\w-]+", "_", npc.key).strip("_") or "npc"
    return f"{name}-{npc.memory.id[:8]}.jsonl"


@defer.inlineCallbacks
def _write(npc: Any, writer: Writer, progress: Progress) -> Generator[Any, Any, Exported]:
    memory = npc.memory
    end = len(memory.journal)
    yield local_job(writer.add, list(_single_lines(npc)))
    for category in ROWS_OF:
        yield _write_rows(npc, writer, category)
    entries = 0
    for number, page in enumerate(journal_pages(memory.journal, last=end), start=1):
        entries += len(page)
        yield local_job(writer.add, [{"kind": "entry", "value": entry.to_dict()} for entry in page])
        progress("journal", min(number * ENTRIES_AT_ONCE, end), end)
    for links in link_pages(memory.links):
        yield local_job(_write_links, writer, links)
    total = yield batch_job(memory_store.count, memory.id)
    memories = 0

    @defer.inlineCallbacks
    def add(found: list[Line]) -> Generator[Any, Any, None]:
        nonlocal memories
        yield local_job(writer.add, found)
        memories += len(found)
        progress("memories", memories, total)

    yield store_pages(_memory_lines, memory.id, on_page=add)
    return Exported(writer.path, entries, memories, writer.lines)


def _single_lines(npc: Any) -> Iterable[Line]:
    """Yield the lines of which a file has one each."""
    journal = npc.memory.journal
    end = len(journal)
    yield {
        "kind": "journal",
        "last_id": end,
        "last_reflection": journal.last_reflection,
        "cursors": journal.cursors | dict.fromkeys(beyond_end(journal.cursors, end), end),
    }
    yield {"kind": "people", "value": attributes.read(npc, PEOPLE, {})}
    conversations = attributes.read(npc, CONVERSATIONS, {})
    # in their order: the newest of two in one place goes on
    yield {"kind": "conversations", "value": [list(pair) for pair in conversations.items()]}
    for key in SCRIPT:
        value = attributes.read(npc.assistant, key) or None  # an empty one counts as none
        yield {"kind": "script", "key": key, "value": value}


@defer.inlineCallbacks
def _write_rows(npc: Any, writer: Writer, category: str) -> Generator[Any, Any, None]:
    """Write the JSON Attributes of a category."""
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
        yield local_job(writer.add, lines)


# --- on the worker thread -------------------------------------------------------------------------


def _write_links(writer: Writer, found: list[tuple[str, dict[str, dict[str, Any]]]]) -> int:
    """Write each link once, from its smaller end."""
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


def _memory_lines(agent_id: str, offset: Any) -> tuple[list[Line], Any]:
    store = memory_store.shared()
    rows, offset = store.rows(agent_id, offset)
    said = {each: store.history.of(each, newest=None) for each, _payload in rows}
    history = {each: [[*row, row[-1], 0] for row in said[each]] for each in said}
    lines = [
        {"kind": "memory", "id": each, "payload": payload, "history": history[each]}
        for each, payload in rows
    ]
    return lines, offset


# --- importing ------------------------------------------------------------------------------------


class NotEmpty(InputError):
    """The NPC has memories, which the import would replace."""


class Closed(InputError):
    """The file has memories that this account may not read, and so may not import."""


def check_access(who: Any, header: ArchiveHeader) -> None:
    """Check the access to the NPC that was exported: its file contains what was whispered to it.

    Raises:
        Closed
    """
    owners = game_npcs.owners_of(header.agent_id)
    closed = [each for each in owners if not access.may(who, each, "look")]
    if closed:
        raise Closed(
            f"The file contains the memory of {closed[0].key} ({closed[0].dbref}), whose lock "
            "memory_look keeps you out."
        )
    if not owners and not access.may(who, None, "erase"):
        raise Closed(
            f"The file contains the memory of {header.key}, and no NPC of this game has that "
            "memory now. Importing it takes the permission Admin."
        )


@dataclass(frozen=True, slots=True)
class Imported(Exported):
    """Counts of an import; `copied` if the memory got a new id, as another NPC has the old one."""

    copied: bool

    @property
    def told(self) -> str:
        """The counts in sentences."""
        copied = " It is a copy with an id of its own, as another NPC has the exported memory."
        return f"{self.counts}.{copied if self.copied else ''}"


@defer.inlineCallbacks
def import_(
    npc: Any, path: Path, *, replace: bool = False, progress: Progress = silent
) -> Generator[Any, Any, Imported]:
    """Import a file as the memory of an NPC, as a Deferred `Imported`.

    Args:
        npc: Whose memory it becomes. It takes the memory id of the file, unless another NPC of
            this game has it, or one of another game may have it in the same store: then it gets
            a new one.
        path: A file that `export` wrote.
        replace: Import even if the NPC remembers something, and wipe that first.
        progress: Called with the progress of lines and journal.

    Raises (in the Deferred):
        BadArchive: The file is no archive, damaged, or of another version. Nothing was changed.
        NotEmpty: Nothing was changed.
        StoreError: The store cannot be used.
    """
    checked = yield check_file(path, progress)
    try:
        imported = yield exclusively(npc, _import, path, checked, replace, progress)
    finally:
        checked.seen.close()
    return imported


@defer.inlineCallbacks
def _import(
    npc: Any, path: Path, checked: Checker, replace: bool, progress: Progress
) -> Generator[Any, Any, Imported]:
    half = attributes.read_json(npc, IMPORT_MARK)
    full = half or (yield _has_memories(npc))
    if full and not half and not replace:
        raise NotEmpty(
            f"{npc.key} already remembers something, which an import would replace. Export it "
            "first if it is wanted, then import with --replace."
        )
    reader = yield local_job(reopen, path, checked)
    was_paused = half["paused"] if half else pause.paused(npc) == "npc"
    attributes.write_json(npc, IMPORT_MARK, {"paused": was_paused})
    pause.pause(npc, True)
    if full:
        game_database.note_vacuum()
    yield erase.wipe_held(npc)
    imported = yield _read_lines(npc, reader, checked, progress)
    attributes.remove_json(npc, IMPORT_MARK)
    pause.pause(npc, was_paused)
    if not offload.in_game():
        game_database.run_due_vacuum()
    return imported


@defer.inlineCallbacks
def check_file(path: Path, progress: Progress) -> Generator[Any, Any, Checker]:
    """Check a whole file, as a Deferred `Checker` that has read all of it."""
    checker = yield local_job(Checker, path)
    try:
        while (found := (yield local_job(checker.check_some))) is not None:
            if found:
                checker.check_owners(found, (yield batch_job(memory_store.owners, list(found))))
            progress("checking", checker.reader.lines, 0)
        yield local_job(checker.check_end)
    except BaseException:
        checker.seen.close()
        raise
    return checker


def reopen(path: Path, checked: Checker) -> Reader:
    """Open the file again, and refuse it if it changed since the check (worker thread)."""
    reader = Reader(path)
    if reader.state != checked.reader.state:
        raise BadArchive(f"{path} was changed while it was read. Nothing was imported.")
    return reader


@defer.inlineCallbacks
def would_replace(npc: Any) -> Generator[Any, Any, bool]:
    """Whether an import would replace memories, as a Deferred. What an import left half done does
    not count."""
    full = yield _has_memories(npc)
    return full and not attributes.read_json(npc, IMPORT_MARK)


@defer.inlineCallbacks
def _has_memories(npc: Any) -> Generator[Any, Any, bool]:
    memory = npc.memory
    stored = yield batch_job(memory_store.count, memory.id)
    return bool(stored or len(memory.journal) or len(memory.people) or len(memory.profiles))


@defer.inlineCallbacks
def _read_lines(
    npc: Any, reader: Reader, checked: Checker, progress: Progress
) -> Generator[Any, Any, Imported]:
    memory = npc.memory
    old = reader.header
    copied = old.agent_id in game_npcs.known_agent_ids(but=npc)
    if copied and memory.id == old.agent_id:
        _set_id(npc, str(uuid.uuid4()))
    elif not copied and memory.id != old.agent_id and conf.get().VECTOR_STORE.is_own:
        # on a server, where the old id may live on in another game, the NPC keeps its own
        _set_id(npc, old.agent_id)
        yield batch_job(memory_store.delete_all, memory.id)  # left by an NPC that is gone
    identities = old.identity, npc.get_memory_identity(npc)
    ids = IdMapping((old.agent_id, memory.id), identities, checked.seen.number_of)
    counts = {"entry": 0, "memory": 0}
    while lines := (yield local_job(lambda: ids.map(reader.some(LINES_AT_ONCE)))):
        if not npc.pk:
            raise BadArchive("The NPC was deleted while its memory was imported.")
        yield _write_lines(npc, lines)
        for line in lines:
            if line["kind"] in counts:
                counts[line["kind"]] += 1
        progress("lines", reader.lines, checked.reader.lines)
    memory.read_anew()
    memory.journal.flush()
    yield reindex.rekey(npc, progress=progress)
    return Imported(reader.path, counts["entry"], counts["memory"], reader.lines, copied)


def _set_id(npc: Any, agent_id: str) -> None:
    owner.claim(npc, agent_id)
    npc.memory.id = agent_id


@defer.inlineCallbacks
def _write_lines(npc: Any, lines: list[Line]) -> Generator[Any, Any, None]:
    """Write some lines into the memory, those of one kind together."""
    memory = npc.memory
    entries, links, memories = [], [], []
    value: Any
    for line in lines:
        kind, value = line["kind"], line.get("value")
        if kind == "entry":
            entries.append(Entry.from_dict(value))
        elif kind == "link":
            links.append(Link(line["a"], line["b"], line["score"], line["linked"], line["created"]))
        elif kind == "memory":
            memories.append(line)
        elif kind == "journal":
            state = line["last_id"], line["last_reflection"], line["cursors"]
            memory.journal.reset(*state)
        elif kind == "people":
            attributes.write(npc, PEOPLE, value)
        elif kind == "conversations":
            attributes.write(npc, CONVERSATIONS, dict(value))
        elif kind == "row":
            attributes.write_json(npc, line["key"], value, line["category"])
            yield offload.breathe()
        elif kind == "script" and value:
            attributes.write(npc.assistant, line["key"], value)
        elif kind == "script":  # the NPC had one, the file has none
            npc.assistant.attributes.remove(line["key"])
    if entries:
        memory.journal.restore(entries)
        memory.journal.flush()
        yield offload.breathe()
    yield memory.links.add_gently(links)
    if memories:
        yield batch_job(write_stored, memories)


def write_stored(memories: list[Line]) -> None:
    """Write memories with their history (worker thread)."""
    store = memory_store.shared()
    rows = [(each["id"], each["payload"]) for each in memories]
    store.upsert_rows(rows, reindex.keys_of(rows))
    said = {each["id"]: each["history"] for each in memories}
    store.history.replace(
        {each: [(*row[:3], row[4] or row[3]) for row in said[each]] for each in said}
    )


# --- ids ------------------------------------------------------------------------------------------

_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_NO_IDS = ("ref", "session_id", "run_id")  # a log may give its lines ids that look like ours


class IdMapping:
    """Maps the ids in an archive to those of the NPC that imports it.

    Args:
        agent_ids: The old and the new id of the memory.
        identities: The old and the new memory identity of the NPC itself.
        entry_of: Returns the journal id of an old memory id, 0 for any that is no journal entry:
            the memory ids of entries follow from their journal ids.
    """

    def __init__(
        self,
        agent_ids: tuple[str, str],
        identities: tuple[str, str],
        entry_of: Callable[[str], int],
    ):
        self._old_agent_id, self._agent_id = agent_ids
        self._old_identity, self._identity = identities
        self._entry_of = entry_of
        self._same = self._old_agent_id == self._agent_id and self._old_identity == self._identity

    def map(self, value: Any) -> Any:
        """Return plain data with all ids in it mapped, in keys too."""
        if self._same:
            return value
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict):
            return {
                self.map(key): each
                if key in _NO_IDS and not str(each).startswith("ear:")
                else self.map(each)
                for key, each in value.items()
            }
        if isinstance(value, list):
            return [self.map(each) for each in value]
        return value

    def _text(self, text: str) -> str:
        if text == self._old_identity:
            return self._identity
        if text.startswith(f"ear:{self._old_identity}@"):
            return text.replace(self._old_identity, self._identity, 1)
        if self._old_agent_id != self._agent_id and len(text) == 36 and _UUID.fullmatch(text):
            if text == self._old_agent_id:
                return self._agent_id
            if number := self._entry_of(text):
                return entry_memory_id(self._agent_id, number)
            return str(uuid.uuid5(uuid.UUID(self._agent_id), text))
        return text
