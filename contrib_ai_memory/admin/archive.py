"""Export a whole memory to a file, and import such a file into an NPC.

The file holds nothing that follows from the rest: no vectors of memories, search keys or word
counts; these are made at the import, for whatever store or embedding model it meets. Nor does it
hold what was weighed for the last replies, or the log of nights. Exported, imported and exported
again, a memory gives the same file to the byte.

Every line is checked before anything is changed (`archive_format`). During an import the NPC is
paused and marked as half imported; an import that broke off leaves it so, and the next one starts
from the beginning. The mark keeps whether the NPC was paused before.

The ids of journal memories follow from the memory's own id (docs/adr/001). Imported beside the NPC
it was exported from, a memory gets a new id, and every id in it is mapped to the one that follows.
"""

from __future__ import annotations

import re
import uuid
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
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
    UUID,
    ArchiveHeader,
    BadArchive,
    Checker,
    Line,
    Reader,
    Writer,
)
from .erase import IMPORT_MARK
from .jobs import (
    Progress,
    batch_job,
    exclusively,
    journal_pages,
    link_pages,
    local_job,
    silent,
    store_pages,
)

FOLDER = "exports"  # in the contrib's own folder, for exports without a file name
TRANSFERS = "transfers"  # beside it: files on their way to or from a browser, for a short time
KEYS_AT_ONCE = 16
LINES_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class Archived:
    """A file that was exported or imported, and how much is in it."""

    path: Path
    entries: int
    memories: int
    copied: bool = False  # the memory got a new id, as another NPC has the old one

    @property
    def counts(self) -> str:
        """The counts in words."""
        entries = plural(self.entries, "journal entry", "journal entries")
        return f"{entries}, {plural(self.memories, 'memory', 'memories')}"

    @property
    def told(self) -> str:
        """The counts of an import in sentences."""
        copied = " It is a copy with an id of its own, as another NPC has the exported memory."
        return f"{self.counts}.{copied if self.copied else ''}"


def export(npc: Any, path: Path | None = None, progress: Progress = silent) -> defer.Deferred:
    """Write the whole memory of an NPC to a file, as a Deferred `Archived`.

    Secrets are in it, readable. What the NPC hears meanwhile is not. The file is replaced, once the
    new one is whole; without one, it is made in the folder `exports` of the store.
    """
    return exclusively(npc, _export, path, progress)


@defer.inlineCallbacks
def _export(npc: Any, path: Path | None, progress: Progress) -> Generator[Any, Any, Archived]:
    memory = npc.memory
    memory.flush()
    header = ArchiveHeader(memory.id, npc.get_memory_identity(npc), npc.key)
    writer = yield local_job(Writer, path or conf.directory() / FOLDER / file_name(npc), header)
    counts, end = writer.counts, len(memory.journal)
    try:
        for lines in _pages_of_game(npc, end):
            yield local_job(writer.add, lines)
            progress("journal", counts["entry"], end)
        total = yield batch_job(memory_store.count, memory.id)

        def add(found: list[Line]) -> defer.Deferred:
            added = local_job(writer.add, found)
            return added.addCallback(lambda _: progress("memories", counts["memory"], total))

        yield store_pages(_memory_lines, memory.id, on_page=add)
        yield local_job(writer.finish)
    except BaseException:
        yield local_job(writer.discard)
        raise
    return Archived(writer.path, counts["entry"], counts["memory"])


def file_name(npc: Any) -> str:
    """Return the default file name of an export."""
    name = re.sub(r"[^\w-]+", "_", npc.key).strip("_") or "npc"
    return f"{name}-{npc.memory.id[:8]}.jsonl"


def _pages_of_game(npc: Any, end: int) -> Iterator[list[Line]]:
    """Yield the lines of what the game's database holds, some at a time; entries up to `end`."""
    memory, journal = npc.memory, npc.memory.journal
    cursors = journal.cursors | dict.fromkeys(beyond_end(journal.cursors, end), end)
    reflected = journal.last_reflection
    # in their order: the newest of two in one place goes on
    talk = [list(pair) for pair in attributes.read(npc, CONVERSATIONS, {}).items()]
    script = {key: attributes.read(npc.assistant, key) for key in SCRIPT}
    yield [
        {"kind": "journal", "last_id": end, "last_reflection": reflected, "cursors": cursors},
        {"kind": "people", "value": attributes.read(npc, PEOPLE, {})},
        {"kind": "conversations", "value": talk},
        # an empty one counts as none
        *({"kind": "script", "key": key, "value": script[key] or None} for key in SCRIPT),
    ]
    for category in ROWS_OF:
        keys = sorted(attributes.keys_of(npc, "", category))
        for first in range(0, len(keys), KEYS_AT_ONCE):
            values = attributes.read_some_json(npc, keys[first : first + KEYS_AT_ONCE], category)
            yield [
                {"kind": "row", "category": category, "key": key, "value": value}
                for key, value in sorted(values.items())
            ]
    for page in journal_pages(memory.journal, last=end):
        yield [{"kind": "entry", "value": entry.to_dict()} for entry in page]
    for links in link_pages(memory.links):
        yield [
            {"kind": "link", "a": a, "b": b, "linked": note["kind"]}
            | {name: note[name] for name in ("score", "created")}
            for a, linked in sorted(links)
            for b, note in sorted(linked.items())
            if a < b  # each is stored at both ends
        ]


def _memory_lines(agent_id: str, offset: Any) -> tuple[list[Line], Any]:
    """Return a page of the store's memories as lines (worker thread)."""
    store = memory_store.shared()
    rows, offset = store.rows(agent_id, offset)
    lines = []
    for memory_id, payload in rows:
        history = [[*row, row[-1], 0] for row in store.history.of(memory_id, newest=None)]
        lines.append({"kind": "memory", "id": memory_id, "payload": payload, "history": history})
    return lines, offset


# --- importing ------------------------------------------------------------------------------------


class NotEmpty(InputError):
    """The NPC has memories, which the import would replace."""


def check_access(who: Any, header: ArchiveHeader) -> None:
    """Check the access to the NPC that was exported: its file contains what was whispered to it."""
    owners = game_npcs.owners_of(header.agent_id)
    closed = [each for each in owners if not access.may(who, each, "look")]
    if closed:
        raise InputError(
            f"The file contains the memory of {closed[0].key} ({closed[0].dbref}), whose lock "
            "memory_look keeps you out."
        )
    if not owners and not access.may(who, None, "erase"):
        raise InputError(
            f"The file contains the memory of {header.key}, and no NPC of this game has that "
            "memory now. Importing it takes the permission Admin."
        )


@defer.inlineCallbacks
def import_(
    npc: Any, path: Path, *, replace: bool = False, progress: Progress = silent
) -> Generator[Any, Any, Archived]:
    """Import a file as the memory of an NPC, as a Deferred `Archived`.

    Args:
        npc: Whose memory it becomes. It takes the memory id of the file, unless another NPC of
            this game has it, or one of another game may have it in the same store: then it gets
            a new one.
        replace: Import even if the NPC remembers something, and wipe that first.

    Raises (in the Deferred):
        BadArchive, NotEmpty: Nothing was changed.
    """
    checked = yield check_file(path, progress)
    return (yield exclusively(npc, _import, path, checked, replace, progress))


@defer.inlineCallbacks
def _import(
    npc: Any, path: Path, checked: Checker, replace: bool, progress: Progress
) -> Generator[Any, Any, Archived]:
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
    while (found := (yield local_job(checker.check_some))) is not None:
        if found:
            checker.check_owners(found, (yield batch_job(memory_store.owners, list(found))))
        progress("checking", checker.reader.lines, 0)
    yield local_job(checker.check_end)
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
) -> Generator[Any, Any, Archived]:
    memory = npc.memory
    old = reader.header
    copied = old.agent_id in game_npcs.known_agent_ids(but=npc)
    if copied and memory.id == old.agent_id:
        _set_id(npc, str(uuid.uuid4()))
    elif not copied and memory.id != old.agent_id and conf.get().VECTOR_STORE.is_own:
        # on a server, where the old id may live on in another game, the NPC keeps its own
        _set_id(npc, old.agent_id)
        yield batch_job(memory_store.delete_all, memory.id)  # left by an NPC that is gone
    new = ArchiveHeader(memory.id, npc.get_memory_identity(npc), old.key)
    mapped = id_mapping(old, new, checked.seen)
    counts: Counter[str] = Counter()
    while lines := (yield local_job(lambda: mapped(reader.some(LINES_AT_ONCE)))):
        if not npc.pk:
            raise BadArchive("The NPC was deleted while its memory was imported.")
        yield _write_lines(npc, lines)
        counts.update(line["kind"] for line in lines)
        progress("lines", reader.lines, checked.reader.lines)
    memory.read_anew()
    memory.journal.flush()
    yield reindex.rekey(npc, progress=progress)
    return Archived(reader.path, counts["entry"], counts["memory"], copied)


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

_NO_IDS = ("ref", "session_id", "run_id")  # a log may give its lines ids that look like ours


def id_mapping(
    old: ArchiveHeader, new: ArchiveHeader, entry_of: Mapping[str, int]
) -> Callable[[Any], Any]:
    """Return a function that maps all ids in plain data to those of the NPC that imports it.

    The memory ids of entries follow from their journal ids: `entry_of` has these by old memory id,
    0 for those that are no entries.
    """

    def map_text(text: str) -> str:
        if text == old.identity:
            return new.identity
        if text.startswith(f"ear:{old.identity}@"):
            return text.replace(old.identity, new.identity, 1)
        if old.agent_id != new.agent_id and UUID.fullmatch(text):
            if text == old.agent_id:
                return new.agent_id
            if number := entry_of.get(text):
                return entry_memory_id(new.agent_id, number)
            return str(uuid.uuid5(uuid.UUID(new.agent_id), text))
        return text

    def map_any(value: Any) -> Any:
        if isinstance(value, str):
            return map_text(value)
        if isinstance(value, dict):
            return {
                map_any(key): each
                if key in _NO_IDS and not str(each).startswith("ear:")
                else map_any(each)
                for key, each in value.items()
            }
        return [map_any(each) for each in value] if isinstance(value, list) else value

    return (lambda value: value) if old == new else map_any
