"""A file as a memory: `moving.import_`.

Every line of the file is checked before anything is changed (`archive_lines`). While it is imported
the NPC is paused, and marked as half imported: broken off, it stays so, and the next import of it
begins anew. The mark says whether it was paused before, and is to be paused again afterwards.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twisted.internet import defer

from .. import conf, offload
from ..ingest import novelty
from ..records import Entry
from ..store import attributes, bulk, facts, owner, switches
from ..store.conversations import ATTRIBUTE as CONVERSATIONS
from ..store.conversations import Conversations
from ..store.history import History
from ..store.links import Link
from ..store.people import ATTRIBUTE as PEOPLE
from ..store.people import People
from ..store.profiles import Profiles
from ..store.validation import Invalid
from . import erasing, ownership, reindexing
from .archive import BadArchive, Line, Reader
from .archive_lines import Checker, Seen
from .emptying import MARK
from .reindexing import Progress, silent
from .renaming import Renaming
from .taking_out import ask

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
        was_paused = half["paused"] if half else switches.paused(npc) == "npc"
        attributes.write_json(npc, MARK, {"paused": was_paused})
        switches.pause(npc, True)
        yield erasing.empty(npc)
        imported = yield _import(npc, reader, checked, progress)
        attributes.remove_json(npc, MARK)
        switches.pause(npc, was_paused)
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
        return Checker(reader.header.mind, seen)
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
    mind = npc.memory
    stored = yield ask(facts.ask, "count", mind.id)
    return bool(stored or len(mind.journal) or len(mind.people) or len(mind.profiles))


@defer.inlineCallbacks
def _import(
    npc: Any, reader: Reader, checked: _Checked, progress: Progress
) -> Generator[Any, Any, Imported]:
    mind = npc.memory
    old = reader.header
    copied = old.mind in ownership.known_minds(but=npc)
    if copied and mind.id == old.mind:
        _become(npc, str(uuid.uuid4()))
    elif not copied and mind.id != old.mind and ownership.store_is_own():
        # on a server it may live on in another game: there the NPC keeps an id of its own
        _become(npc, old.mind)
        yield ask(facts.ask, "delete_mind", mind.id)  # of an NPC that is no more
    bodies = old.identity, npc.get_memory_identity(npc)
    rename = Renaming((old.mind, mind.id), bodies, checked.seen.number_of)
    counts = {"entry": 0, "memory": 0}
    while lines := (yield ask(_next_lines, reader, rename)):
        if not npc.pk:
            raise BadArchive("The NPC was deleted while its memory was imported.")
        yield _take(npc, lines)
        for line in lines:
            if line["kind"] in counts:
                counts[line["kind"]] += 1
        progress("lines", reader.lines, checked.lines)
    mind.people, mind.history = People(npc), History(npc)
    mind.profiles = Profiles(npc)
    mind.conversations = Conversations(npc, conf.get().STALE_CONVERSATION)
    mind.journal.flush()
    yield ask(novelty.carry_over, mind.id)
    yield reindexing.rekey(npc, progress)
    return Imported(counts["entry"], counts["memory"], reader.lines, copied)


def _become(npc: Any, mind_id: str) -> None:
    owner.claim(npc, mind_id)
    npc.memory.id = mind_id


def _next_lines(reader: Reader, rename: Renaming) -> list[Line]:
    return rename(reader.some(LINES_AT_ONCE))


@defer.inlineCallbacks
def _take(npc: Any, lines: list[Line]) -> Generator[Any, Any, None]:
    """Some lines into the memory, those of one kind together."""
    mind = npc.memory
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
            mind.journal.begin_again(*again)
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
        mind.journal.put_back(entries)
        mind.journal.flush()
        yield offload.breathe()
    yield mind.links.add_gently(links)
    if memories:
        yield ask(_store, mind.id, memories)


def _store(mind: str, lines: list[Line]) -> None:
    """Memories and centroids (worker thread)."""
    store = facts.shared()
    rows = [(each["id"], each["payload"]) for each in lines if each["kind"] == "memory"]
    if rows:
        bulk.write(store, rows, reindexing.vectors_of(rows))
        bulk.put_history(
            store, {each["id"]: each["history"] for each in lines if each["kind"] == "memory"}
        )
    for each in lines:
        if each["kind"] == "centroid":
            total = base64.b64decode(each["total"])
            row = each["person"], each["model"], each["count"], total, each["memories"]
            novelty.put_back(mind, row)
