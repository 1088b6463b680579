"""The archive file of a memory: writing and reading it, and checking every line of it.

JSON lines, one item a line; the last line counts the others:

    {"format": "contrib_ai_memory", "version": 1, "mind": …, "identity": …, "key": …}
    {"kind": "entry", "value": {…}}
    …
    {"end": 1234}

It is written under a temporary name and renamed when it is complete. Keys are sorted and nothing
holds the time of writing, so that equal memories make equal files.

The checks refuse whatever no export writes: wrong names, types, ranges and times, ids of another
memory, duplicates. Ids seen so far lie in a temporary file, so that a long archive takes no more
memory than a short one. Worker threads only.
"""

from __future__ import annotations

import base64
import json
import math
import os
import re
import sqlite3
import struct
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import date
from pathlib import Path
from typing import Any, BinaryIO

from ..embedding import embedder
from ..records import INSIGHT, AgendaItem, Entry, MemoryRecord, Message
from ..store import agenda, history, memory_store, preferences, profiles
from ..store.chat_log import ATTRIBUTE as HISTORY
from ..store.conversations import CONVERSATIONS_KEPT, Conversation
from ..store.payload import ANYONE, RECORDS, entry_memory_id, from_payload
from ..store.people import PEOPLE_KEPT, Acquaintance
from ..store.profiles import Profile, ProfileAttribute, ProfileObservation, Relationship
from ..store.validation import Invalid, check_time, entry_of, record_of

FORMAT = "contrib_ai_memory"
VERSION = 1
LONGEST_NAME = 1000
KINDS = frozenset(
    ("journal", "entry", "people", "conversations", "row", "link", "script", "memory", "centroid")
)
LONGEST_SHOWN = 60  # characters of a bad line that an error shows
LONGEST_LINE = 32_000_000  # bytes; the lists of a very long memory are in one line
CHECKED_AT_ONCE = 256  # lines
BYTES_AT_ONCE = 4_000_000  # of the lines that are held at one time
LONGEST_TEXT = 200_000  # characters of one text
LAST_ID = 100_000_000  # of a journal
MANY = 1_000_000  # items of a list, counts
ROWS_OF = (profiles.CATEGORY, preferences.CATEGORY, agenda.CATEGORY)
SCRIPT = ("sleep_schedule", "night_records", HISTORY)
NIGHTS = 366
TYPES = ("episodic", "semantic", "working", "procedural")
DERIVED = {  # what a payload holds besides the fields of a memory
    "agent_id": str,
    "hash": str,
    "updated_at": str,
    "audience": list,
    "asking": float,
    "tells": str,
    "length": float,
    "tells_time": bool,
    "tokens": int,
}
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_AGENDA_ID = re.compile(r"[1-9]\d{0,8}(?:\.\d{1,4})?", re.ASCII)
_SCHEDULE = {
    "enabled": lambda value: isinstance(value, bool),
    "sleep_start_hour": lambda value: type(value) is int and 0 <= value <= 23,
    "sleep_duration_hours": lambda value: type(value) is int and 1 <= value <= 24,
    "tick_rate_sleep": lambda value: type(value) in (int, float) and 0 < value <= 86_400,
    "clock": lambda value: value in ("server", "game"),
}

Line = dict[str, Any]


class BadArchive(ValueError):
    """The file cannot be read as a memory. The message says why; nothing was changed."""


@dataclass(frozen=True, slots=True)
class ArchiveHeader:
    """The first line: whose memory it is.

    `agent_id` is the memory's UUID ("mind" in the file), `identity` the NPC's own memory identity,
    `key` its name.
    """

    agent_id: str
    identity: str
    key: str


class Writer:
    """Writes a file, a few lines at a time."""

    def __init__(self, path: Path, header: ArchiveHeader):
        self.path = path
        self.lines = 0
        self._beside = path.with_name(path.name + ".part")
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.fdopen(open_private(self._beside), "w", encoding="utf-8", newline="\n")
        self._put({"format": FORMAT, "version": VERSION} | _plain(header))

    def add(self, lines: Iterable[Line]) -> int:
        """Write lines. Returns how many there are by now."""
        for line in lines:
            self._put(line)
            self.lines += 1
        return self.lines

    def finish(self) -> None:
        """Write the last line; once on disk, the file gets its name."""
        self._put({"end": self.lines})
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        os.replace(self._beside, self.path)

    def discard(self) -> None:
        """Delete the unfinished file."""
        self._file.close()
        self._beside.unlink(missing_ok=True)

    def _put(self, line: Line) -> None:
        text = json.dumps(line, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        self._file.write(text.encode("utf-8", "backslashreplace").decode("utf-8") + "\n")


def header_of(path: Path) -> ArchiveHeader:
    """Read whose memory a file holds.

    Raises:
        BadArchive
    """
    return Reader(path).header


class Reader:
    """Reads a file, a few lines at a time.

    Attributes:
        lines: How many were read.
        number: Number of the last line that was read, from 1.
        state: Changes whenever the file does: inode, size, modification time.

    Raises:
        BadArchive: From each of its methods.
    """

    def __init__(self, path: Path):
        self.path = path
        self.lines = self.number = 0
        self.state: tuple[int, ...] = ()
        self._bytes = 0
        self._rows = self._read()
        self.header = self._header()

    def some(self, count: int) -> list[Line]:
        """Return the next lines, at most `count`; empty after the last."""
        return [line for _number, line in self.numbered(count)]

    def numbered(self, count: int) -> list[tuple[int, Line]]:
        """Return the next lines with their numbers in the file; fewer if they are long."""
        found, begun = [], self._bytes
        for line in self._rows:
            found.append((self.number, line))
            if len(found) == count or self._bytes - begun > BYTES_AT_ONCE:
                break
        return found

    def _header(self) -> ArchiveHeader:
        first = next(self._rows, None)
        if not isinstance(first, dict) or first.get("format") != FORMAT:
            raise BadArchive(
                f"{self.path} is not an exported memory: its first line does not say so. "
                "Such a file is made by `evennia ai_memory export NPC FILE`."
            )
        if first.get("version") != VERSION:
            raise BadArchive(
                f"{self.path} has version {first.get('version')!r} of the format, and this "
                f"contrib reads version {VERSION}. Import it with the version that wrote it."
            )
        names = ("mind", "identity", "key")
        for name in names:
            if not isinstance(first.get(name), str) or len(first[name]) > LONGEST_NAME:
                raise BadArchive(f"{self.path}, line 1 has no {name}, or it is not a short text.")
        return ArchiveHeader(*(first[name] for name in names))

    def _read(self) -> Iterator[Any]:
        number = 0
        try:
            with self.path.open("rb") as file:
                status = os.fstat(file.fileno())
                self.state = (status.st_ino, status.st_size, status.st_mtime_ns)
                for number, raw in enumerate(_lines_of(file), start=1):
                    self.number = number
                    self._bytes += len(raw)
                    line = self._parsed(number, raw)
                    if number == 1:
                        yield line
                    elif set(line) == {"end"}:
                        self._check_end(line["end"], file.read(1))
                        return
                    elif not isinstance(line.get("kind"), str) or line["kind"] not in KINDS:
                        raise BadArchive(
                            f"{self.path}, line {number}: {line.get('kind')!r} is no part of a "
                            "memory. The file was changed, or is of another version."
                        )
                    else:
                        self.lines += 1
                        yield line
        except OSError as error:
            raise BadArchive(f"{self.path} cannot be read: {error.strerror}.") from None
        if number:
            raise BadArchive(
                f"{self.path} is cut off after line {number}: the last line, which counts the "
                "others, is missing. Export it again, or take another copy."
            )

    def _check_end(self, count: Any, behind: bytes) -> None:
        if count != self.lines or behind:
            raise BadArchive(
                f"{self.path} is not complete: its last line counts {count} lines, and it has "
                f"{self.lines}{' and more after it' if behind else ''}. Take another copy."
            )

    def _parsed(self, number: int, raw: bytes) -> Line:
        if len(raw) > LONGEST_LINE:
            raise BadArchive(
                f"{self.path}, line {number} is too long: it has more than "
                f"{LONGEST_LINE // 1_000_000} million bytes."
            )
        try:
            line = json.loads(raw)
        except (ValueError, RecursionError):
            cut = not raw.endswith(b"\n") and number > 1
            shown = raw[:LONGEST_SHOWN].decode("utf-8", "replace").strip()
            raise BadArchive(
                f"{self.path} is cut off in the middle of line {number}. Take another copy."
                if cut
                else f"{self.path}, line {number} is not JSON: {shown!r}"
            ) from None
        if not isinstance(line, dict):
            raise BadArchive(f"{self.path}, line {number} is not a JSON object.")
        return line


def _lines_of(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file, cut one byte above the limit."""
    while raw := file.readline(LONGEST_LINE + 1):
        yield raw


def open_private(path: Path) -> int:
    """Create a file that only this account of the machine can read: secrets go into it."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.fchmod(descriptor, 0o600)  # also of one that was left behind
    return descriptor


def _plain(header: ArchiveHeader) -> Line:
    return {"mind": header.agent_id, "identity": header.identity, "key": header.key}


# --- checks --------------------------------------------------------------------------------------


class SeenIds:
    """The ids of an archive, in a temporary SQLite file."""

    def __init__(self) -> None:
        self._db = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._db.execute("PRAGMA journal_mode = OFF")
        self._db.execute("CREATE TABLE seen (id TEXT PRIMARY KEY, number INTEGER) WITHOUT ROWID")
        self._db.execute("BEGIN")

    def add(self, id_: str, number: int = 0) -> bool:
        """Add an id. Returns whether it is new."""
        query = "INSERT OR IGNORE INTO seen VALUES (?, ?)"
        return self._db.execute(query, (id_, number)).rowcount == 1

    def has(self, id_: str) -> bool:
        """Whether an id was added."""
        query = "SELECT 1 FROM seen WHERE id = ?"
        return self._db.execute(query, (id_,)).fetchone() is not None

    def number_of(self, id_: str) -> int:
        """Return the number that was added with an id, or 0."""
        row = self._db.execute("SELECT number FROM seen WHERE id = ?", (id_,)).fetchone()
        return row[0] if row else 0

    def close(self) -> None:
        self._db.close()


class Checker:
    """Checks an archive, some lines at a time, before anything of it is imported.

    Attributes:
        reader: The file; at the end its `lines` and `state` are those of the whole file.
        seen: The ids in the file.

    Raises:
        BadArchive: From each public method, with the number of the line.
    """

    def __init__(self, path: Path):
        self.reader = Reader(path)
        self._agent_id = self.reader.header.agent_id
        with self._refusing(1, "the first line"):
            _uuid("mind", self._agent_id)
        self.seen = SeenIds()
        self._last_id = 0
        self._entry = 0
        self._checks: dict[str, Callable[[Line], None]] = {
            "journal": self._journal,
            "entry": self._an_entry,
            "people": self._people,
            "conversations": self._conversations,
            "row": self._row,
            "link": self._link,
            "script": self._script,
            "memory": self._memory,
            "centroid": self._centroid,
        }

    def check_some(self) -> bool:
        """Check the next lines. Returns whether there were any."""
        lines = self.reader.numbered(CHECKED_AT_ONCE)
        memories: dict[str, int] = {}
        for number, line in lines:
            with self._refusing(number, line["kind"]):
                if (line["kind"] == "journal") == self.seen.has("journal"):
                    raise Invalid("the line of the journal must come first, and once")
                self._checks[line["kind"]](line)
            if line["kind"] == "memory":
                memories[line["id"]] = number
        owners = memory_store.shared().owners(memories) if memories else {}
        for memory_id, number in memories.items():
            with self._refusing(number, "memory"):
                if owners.get(memory_id, self._agent_id) != self._agent_id:
                    raise Invalid("id: another NPC has a memory with that id")
        return bool(lines)

    def check_end(self) -> None:
        """Check after the last line that no line is missing that every memory has."""
        with self._refusing(self.reader.number, "the end"):
            scripts = (("script", key) for key in SCRIPT)
            for what in (("journal",), ("people",), ("conversations",), *scripts):
                if not self.seen.has(_joined(*what)):
                    raise Invalid(f"the line of its {what[-1]} is missing")

    @contextmanager
    def _refusing(self, number: int, kind: str) -> Iterator[None]:
        try:
            yield
        except Invalid as problem:
            raise BadArchive(
                f"{self.reader.path}, line {number} ({kind}): {problem}. The file was changed, or "
                "is of another version. Nothing was imported."
            ) from None

    def _once(self, *what: Any) -> None:
        if not self.seen.add(_joined(*what)):
            raise Invalid("it is there twice")

    # --- lines of which there is one --------------------------------------------------------------

    def _journal(self, line: Line) -> None:
        _only(line, "kind", "last_id", "last_reflection", "cursors")
        self._once("journal")
        self._last_id = _whole("last_id", line["last_id"], 0, LAST_ID)
        if line["last_reflection"] is not None:
            check_time("last_reflection", line["last_reflection"])
        for name, value in _dict("cursors", line["cursors"]).items():
            _short("the name of a cursor", name)
            _whole(f"cursors.{name}", value, 0, LAST_ID)

    def _people(self, line: Line) -> None:
        _only(line, "kind", "value")
        self._once("people")
        people = _dict("value", line["value"])
        if len(people) > PEOPLE_KEPT:
            raise Invalid(f"{len(people)} people are more than {PEOPLE_KEPT}")
        for identity, plain in people.items():
            _short("an identity", identity)
            known = _dict(identity, plain)
            _fields_of(Acquaintance, known, but=("identity",))
            record_of(Acquaintance, known | {"identity": identity})
            _time_or_none("last_seen", known.get("last_seen"))

    def _conversations(self, line: Line) -> None:
        _only(line, "kind", "value")
        self._once("conversations")
        for pair in _list("value", line["value"], CONVERSATIONS_KEPT):
            if not (isinstance(pair, list) and len(pair) == 2):
                raise Invalid("a conversation is an id and its fields")
            _short("the id of a conversation", pair[0])
            self._once("conversation", pair[0])
            _conversation(_dict("a conversation", pair[1]))

    def _script(self, line: Line) -> None:
        _only(line, "kind", "key", "value")
        if line["key"] not in SCRIPT:
            raise Invalid(f"{_shown(line['key'])} is not kept by a heartbeat")
        self._once("script", line["key"])
        if line["value"] is not None:
            _OF_SCRIPT[line["key"]](line["value"])

    # --- lines of which there are many ------------------------------------------------------------

    def _an_entry(self, line: Line) -> None:
        _only(line, "kind", "value")
        _fields_of(Entry, _dict("value", line["value"]))
        entry = entry_of(line["value"])
        if entry.id > self._last_id:
            raise Invalid(f"id: {entry.id} is beyond the journal's end, {self._last_id}")
        if entry.id <= self._entry:
            raise Invalid(f"id: {entry.id} is there twice, or out of order")
        self._entry = entry.id
        _whole("importance", entry.importance, 1, 10)
        _share("source_trust", entry.source_trust)
        _texts(entry)

    def _row(self, line: Line) -> None:
        _only(line, "kind", "category", "key", "value")
        if line["category"] not in ROWS_OF:
            raise Invalid(f"{_shown(line['category'])} is not a category of a memory's rows")
        value = _dict("value", line["value"])
        if line["category"] == profiles.CATEGORY:
            key = profiles.key_of(_profile(value).entity_id)
        elif line["category"] == agenda.CATEGORY:
            key = self._agenda_item(value).id
        else:
            known = _preference(value)
            key = preferences.key_of(known.identity, known.slot, known.audience)
        if not isinstance(line["key"], str) or line["key"] != key.lower():
            raise Invalid(f"key: {_shown(line['key'])} does not fit its value")
        self._once("row", line["category"], key)

    def _agenda_item(self, plain: Line) -> AgendaItem:
        _fields_of(AgendaItem, plain)
        item = record_of(AgendaItem, plain)
        for name in ("evidence", "closed_by"):
            for number in getattr(item, name):
                _whole(name, number, 1, self._last_id)
        if not _AGENDA_ID.fullmatch(item.id):
            raise Invalid(f"id: {_shown(item.id)} is not that of an agenda item")
        _short("who", item.who)
        for name in ("created", "updated"):
            check_time(name, getattr(item, name))
        if item.due:
            _date("due", item.due)
        _texts(item)
        return item

    def _link(self, line: Line) -> None:
        _only(line, "kind", "a", "b", "linked", "score", "created")
        for end in ("a", "b"):
            value = line[end]
            if isinstance(value, str) and value.isascii() and value.isdecimal():
                _whole(end, int(value) if len(value) < 12 else 0, 1, self._last_id)
            else:
                _uuid(end, value)
        if line["a"] >= line["b"]:
            raise Invalid("a link has two ends, the smaller first")
        _share("score", line["score"])
        _short("linked", line["linked"])
        _short("created", line["created"], empty=True)
        self._once("link", line["a"], line["b"])

    def _memory(self, line: Line) -> None:
        _only(line, "kind", "id", "payload", "history")
        _uuid("id", line["id"])
        payload = _dict("payload", line["payload"])
        if payload.get("agent_id") != self._agent_id:
            raise Invalid("agent_id: it belongs to another memory")
        memory = _memory_of(line["id"], payload)
        for number in memory.journal_ids:
            _whole("journal_ids", number, 1, self._last_id)
        number = 0
        if memory.record in ("entry", INSIGHT):
            number = memory.journal_ids[0] if memory.journal_ids else 0
            if line["id"] != entry_memory_id(self._agent_id, number):
                raise Invalid(f"id: it is not that of entry {number} of this memory")
        _history(line["history"])
        if not self.seen.add(line["id"], number):
            raise Invalid("it is there twice")

    def _centroid(self, line: Line) -> None:
        _only(line, "kind", "person", "model", "count", "total", "memories")
        _short("person", line["person"], empty=True)
        _short("model", line["model"])
        _whole("count", line["count"], 0, LAST_ID)
        for memory_id in _list("memories", line["memories"], MANY):
            _uuid("memories", memory_id)
        _vector(line["total"], line["model"])
        self._once("centroid", line["person"], line["model"])


# --- records --------------------------------------------------------------------------------------


def _memory_of(memory_id: str, payload: Mapping[str, Any]) -> MemoryRecord:
    """Return the memory of a payload after checking each field of it."""
    record = payload.get("record", "fact")
    if record not in RECORDS:
        raise Invalid(f"record: {_shown(record)} is none")
    try:
        memory = from_payload(memory_id, payload)
    except (TypeError, ValueError, AttributeError) as problem:
        raise Invalid(f"payload: {problem}") from None
    memory = record_of(
        MemoryRecord, {spec.name: getattr(memory, spec.name) for spec in fields(memory)}
    )
    if memory.memory_type not in TYPES:
        raise Invalid(f"memory_type: {_shown(memory.memory_type)} is none")
    for name in ("importance", "memory_weight", "source_trust"):
        _share(name, getattr(memory, name))
    _whole("access_count", memory.access_count, 0, LAST_ID)
    for name in ("created_at", "last_accessed", "valid_from", "invalid_at", "expires_at"):
        _time_or_none(name, getattr(memory, name))
    if memory.superseded_by is not None:
        _uuid("superseded_by", memory.superseded_by)
    _texts(memory)
    for name, kind in DERIVED.items():
        value = payload.get(name)
        allowed = (int, float) if kind is float else (kind,)
        if name in payload and type(value) not in allowed:
            raise Invalid(f"{name}: {_shown(value)} is no {kind.__name__}")
        if kind is float and name in payload:
            _share(name, value)
    _whole("tokens", payload.get("tokens", 0), 0, LAST_ID)
    heard = list(memory.witnesses) if memory.private else [ANYONE]
    if payload.get("audience", heard) != heard:
        raise Invalid("audience: it is not that of its witnesses")
    if "private" in payload and not isinstance(payload["private"], bool):
        raise Invalid(f"private: {_shown(payload['private'])} is not a bool")
    return memory


def _profile(plain: Mapping[str, Any]) -> Profile:
    _fields_of(Profile, plain)
    relationship = dict(_dict("relationship", plain.get("relationship", {})))
    _fields_of(Relationship, relationship, and_=("state",))
    _short("relationship.state", relationship.pop("state", "stranger"))
    parts = {
        "observations": tuple(
            _noted(ProfileObservation, each) for each in _items(plain, "observations")
        ),
        "attributes": tuple(_noted(ProfileAttribute, each) for each in _items(plain, "attributes")),
        "relationship": record_of(Relationship, relationship),
    }
    profile = record_of(Profile, {**plain, **parts})
    _short("entity_id", profile.entity_id)
    _share("relationship.favorability", profile.relationship.favorability)
    _time_or_none("relationship.last_seen", profile.relationship.last_seen)
    return profile


def _noted(cls: Any, plain: Any) -> Any:
    _fields_of(cls, _dict("an observation or attribute", plain))
    noted = record_of(cls, plain)
    when = noted.timestamp if isinstance(noted, ProfileObservation) else noted.updated
    _time_or_none("timestamp", when)
    _texts(noted)
    return noted


def _preference(plain: Mapping[str, Any]) -> preferences.Preference:
    _fields_of(preferences.Preference, plain)
    history = tuple(_held(each) for each in _items(plain, "history"))
    known = record_of(preferences.Preference, {"identity": "", **plain, "history": history})
    for name in ("since", "seen"):
        check_time(name, getattr(known, name))
    if known.memory_id:
        _uuid("memory_id", known.memory_id)
    _texts(known)
    return known


def _held(plain: Any) -> preferences.PastPreference:
    _fields_of(preferences.PastPreference, _dict("history", plain))
    held = record_of(preferences.PastPreference, plain)
    check_time("since", held.since)
    check_time("until", held.until)
    if held.memory_id:
        _uuid("memory_id", held.memory_id)
    return held


def _conversation(plain: Mapping[str, Any]) -> None:
    _fields_of(Conversation, plain, but=("session_id",))
    for name in ("started", "last_activity"):
        if plain.get(name, "") != "":
            check_time(name, plain[name])
    for name in ("participants", "accessed"):
        for each in _items(plain, name):
            _short(name, each)
    for message in _items(plain, "messages"):
        _fields_of(Message, _dict("a message", message))
        _texts(record_of(Message, message))
    _items(plain, "pending_actions")


def _schedule(value: Any) -> None:
    for name, each in _dict("value", value).items():
        if name not in _SCHEDULE or not _SCHEDULE[name](each):
            raise Invalid(f"{_shown(name)}: {_shown(each)} is not part of a schedule")


def _nights(value: Any) -> None:
    for record in _list("value", value, NIGHTS):
        night = _dict("a night", record)
        if not {"started", "ended", "passes"} <= set(night):
            raise Invalid("a night has no `started`, `ended` or `passes`")
        _short("started", night["started"], empty=True)
        check_time("ended", night["ended"])
        if not isinstance(night.get("whole", True), bool):
            raise Invalid("whole: it is not a bool")
        for name, done in _dict("passes", night["passes"]).items():
            _short("a pass", name)
            _dict(name, done)
            for count in ("read", "changed", "steps"):
                _whole(f"{name}.{count}", done.get(count, 0), 0, LAST_ID)
            seconds = done.get("seconds", 0)
            if type(seconds) not in (int, float) or not math.isfinite(seconds):
                raise Invalid(f"{name}.seconds: {_shown(seconds)} is not a number")
            for error in _list(f"{name}.errors", done.get("errors", []), 100):
                _text(f"{name}.errors", error)


def _messages(value: Any) -> None:
    for each in _list("value", value, MANY):
        message = _dict("a message", each)
        if message.get("role") not in ("user", "assistant", "tool"):
            raise Invalid(f"role: {_shown(message.get('role'))} is none")
        if message.get("content") is not None:
            _text("content", message["content"])
        for name in ("private", "summary"):
            if not isinstance(message.get(name, False), bool):
                raise Invalid(f"{name}: {_shown(message[name])} is not a bool")
        for name in ("witnesses", "people"):
            for identity in _list(name, message.get(name, []), MANY):
                _short(name, identity)
        _whole("entry", message.get("entry", 0), 0, LAST_ID)
        for number in _list("own", message.get("own", []), MANY):
            _whole("own", number, 1, LAST_ID)
        for call in _list("tool_calls", message.get("tool_calls") or [], 1000):
            if not {"id", "type", "function"} <= set(_dict("a call", call)):
                raise Invalid("tool_calls: a call has no id, type or function")


_OF_SCRIPT: dict[str, Callable[[Any], None]] = {
    "sleep_schedule": _schedule,
    "night_records": _nights,
    HISTORY: _messages,
}


def _history(value: Any) -> None:
    for row in _list("history", value, MANY):
        if not isinstance(row, list) or len(row) != len(history.COLUMNS):
            raise Invalid(f"history: a row has {len(history.COLUMNS)} values")
        *texts, deleted = row
        for text in texts:
            if text is not None:
                _text("history", text)
        marked = type(deleted) is int and deleted in (0, 1)
        if row[2] is None or not (marked or deleted is None):
            raise Invalid("history: a row has no event, or a wrong mark")


def _vector(total: Any, model: str) -> None:
    try:
        raw = base64.b64decode(total, validate=True)
    except (TypeError, ValueError):
        raise Invalid("total: it is not base64") from None
    if not raw or len(raw) % 8:
        raise Invalid("total: it holds no numbers of 8 bytes")
    own = embedder.shared()
    if model == own.name and len(raw) != 8 * own.dimensions:
        raise Invalid(f"total: {len(raw) // 8} numbers, and {model} has {own.dimensions}")
    if not all(map(math.isfinite, struct.unpack(f"<{len(raw) // 8}d", raw))):
        raise Invalid("total: not all of it is finite")


def _joined(*what: Any) -> str:
    return "\x1f".join(map(str, what))


# --- values ---------------------------------------------------------------------------------------


def _only(line: Mapping[str, Any], *names: str) -> None:
    """Check that a line has exactly these fields."""
    missing, more = set(names) - set(line), set(line) - set(names)
    if missing:
        raise Invalid(f"it has no {', '.join(sorted(missing))}")
    if more:
        raise Invalid(f"{', '.join(map(_shown, sorted(more)))} is not a field of it")


def _fields_of(
    cls: Any, plain: Mapping[str, Any], *, but: tuple[str, ...] = (), and_: tuple[str, ...] = ()
) -> None:
    known = {spec.name for spec in fields(cls)} - set(but) | set(and_)
    if more := set(plain) - known:
        raise Invalid(f"{', '.join(map(_shown, sorted(more)))} is not a field of it")


def _items(plain: Mapping[str, Any], name: str) -> list[Any]:
    return _list(name, plain.get(name, []), MANY)


def _list(name: str, value: Any, most: int) -> list[Any]:
    if not isinstance(value, list):
        raise Invalid(f"{name}: {_shown(value)} is not a list")
    if len(value) > most:
        raise Invalid(f"{name}: {len(value)} are more than {most}")
    return value


def _dict(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Invalid(f"{name}: {_shown(value)} is not an object with fields")
    return value


def _whole(name: str, value: Any, least: int, most: int) -> int:
    if type(value) is not int or not least <= value <= most:
        raise Invalid(f"{name}: {_shown(value)} is not a whole number from {least} to {most}")
    return value


def _share(name: str, value: Any) -> None:
    if type(value) not in (int, float) or not 0 <= value <= 1:
        raise Invalid(f"{name}: {_shown(value)} is not a number from 0 to 1")


def _short(name: str, value: Any, *, empty: bool = False) -> None:
    if not isinstance(value, str) or len(value) > 1000 or not (value or empty):
        raise Invalid(f"{name}: {_shown(value)} is not a short text")
    _text(name, value)


def _text(name: str, value: Any) -> None:
    if not isinstance(value, str):
        raise Invalid(f"{name}: {_shown(value)} is not a text")
    if len(value) > LONGEST_TEXT:
        raise Invalid(f"{name}: {len(value):,} characters are more than {LONGEST_TEXT:,}")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Invalid(f"{name}: it holds half a character, which no database accepts") from None
    if "\x00" in value:
        raise Invalid(f"{name}: it holds a NUL character")


def _texts(record: Any) -> None:
    """Check every text of a record, in its lists too."""
    for spec in fields(record):
        value = getattr(record, spec.name)
        for text in (value,) if isinstance(value, str) else value if type(value) is tuple else ():
            if isinstance(text, str):
                _text(spec.name, text)


def _time_or_none(name: str, when: Any) -> None:
    if when not in (None, ""):
        check_time(name, when)


def _date(name: str, value: str) -> None:
    try:
        valid = date.fromisoformat(value).isoformat() == value
    except ValueError:
        valid = False
    if not valid:
        raise Invalid(f"{name}: {_shown(value)} is not a date")


def _uuid(name: str, value: Any) -> None:
    if not isinstance(value, str) or not _UUID.fullmatch(value) or not uuid.UUID(value).int:
        raise Invalid(f"{name}: {_shown(value)} is not a memory id")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
