"""The archive file of a memory: writing and reading it, and checking every line of it.

JSON lines, one item a line; the last line counts the others:

    {"format": "contrib_ai_memory", "version": 1, "mind": …, "identity": …, "key": …}
    {"kind": "entry", "value": {…}}
    …
    {"end": 1234}

It is written under a temporary name and renamed when it is complete. Keys are sorted and nothing
holds the time of writing, so that equal memories make equal files.

The checks refuse whatever no export writes: `LINES` has a strict model for each kind of line, made
from the records that are stored, and `Checker` compares each line with the ones before it. Worker
threads only.
"""

from __future__ import annotations

import json
import os
import re
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass
from datetime import date, datetime
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, Literal, cast, get_args, get_origin, get_type_hints

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, create_model

from ..errors import InputError
from ..records import INSIGHT, AgendaItem, Entry, MemoryRecord
from ..store import agenda, preferences, profiles
from ..store.attributes import from_plain
from ..store.chat_log import ATTRIBUTE as CHAT_LOG
from ..store.conversations import CONVERSATIONS_KEPT, Conversation
from ..store.journal import beyond_end
from ..store.payload import ANYONE, entry_memory_id, from_payload
from ..store.people import PEOPLE_KEPT, Acquaintance
from ..store.preferences import Preference
from ..store.profiles import Profile, ProfileObservation, Relationship

FORMAT = "contrib_ai_memory"
VERSION = 1
LONGEST_NAME = 1000
LONGEST_SHOWN = 60  # characters of a bad line or value that an error shows
LONGEST_LINE = 32_000_000  # bytes; the lists of a very long memory are in one line
LONGEST_TEXT = 200_000  # characters of one text
UNKNOWN_LINE = (
    "This version of contrib_ai_memory exports no such line. If nobody changed the file, and this "
    "version exported it, please report that."
)
CHECKED_AT_ONCE = 256  # lines
KIND_SHOWN = 40  # characters of a kind of line in a refusal
BYTES_AT_ONCE = 4_000_000  # of the lines that are held at one time
LAST_ID = 100_000_000  # of a journal
LARGEST_SCORE = 1.001  # of a link: cosines are rounded, and older exports have 1.0001
ROWS_OF = (profiles.CATEGORY, preferences.CATEGORY, agenda.CATEGORY)
SCRIPT = ("sleep_schedule", CHAT_LOG)

Line = dict[str, Any]


class BadArchive(InputError):
    """The file cannot be read as a memory. The message says why; nothing was changed."""


@dataclass(frozen=True, slots=True)
class ArchiveHeader:
    """The first line: whose memory it is."""

    agent_id: str  # the memory's UUID ("mind" in the file)
    identity: str  # the NPC's own memory identity
    key: str  # its name


class Writer:
    """Writes a file, a few lines at a time; `counts` are those of the lines by kind."""

    def __init__(self, path: Path, header: ArchiveHeader):
        self.path = path
        self.counts: Counter[str] = Counter()
        self._beside = path.with_name(path.name + ".part")
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.fdopen(open_private(self._beside), "w", encoding="utf-8", newline="\n")
        named = {"mind": header.agent_id, "identity": header.identity, "key": header.key}
        self._put({"format": FORMAT, "version": VERSION} | named)

    def add(self, lines: Iterable[Line]) -> None:
        """Write lines."""
        for line in lines:
            self._put(line)
            self.counts[line["kind"]] += 1

    def finish(self) -> None:
        """Write the last line; once on disk, the file gets its name."""
        self._put({"end": self.counts.total()})
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
    """Read whose memory a file holds."""
    return Reader(path).header


class Reader:
    """Reads a file, a few lines at a time; each method may raise a `BadArchive`."""

    def __init__(self, path: Path):
        self.path = path
        self.lines = self.number = 0  # how many were read; the number of the last, from 1
        self.state: tuple[int, ...] = ()  # changes with the file: inode, size, modification time
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
        with _refusing(self.path, 1, "the first line"):
            _check_texts(first)
            _validate(_Header, first)
        return ArchiveHeader(first["mind"], first["identity"], first["key"])

    def _read(self) -> Iterator[Any]:
        number = 0
        try:
            with self.path.open("rb") as file:
                status = os.fstat(file.fileno())
                self.state = (status.st_ino, status.st_size, status.st_mtime_ns)
                lines = iter(partial(file.readline, LONGEST_LINE + 1), b"")
                for number, raw in enumerate(lines, start=1):
                    self.number = number
                    self._bytes += len(raw)
                    line = self._parsed(number, raw)
                    if number == 1:
                        yield line
                    elif set(line) == {"end"}:
                        self._check_end(line["end"], file.read(1))
                        return
                    else:
                        self.lines += 1
                        if line.get("kind") not in FORMER and line.get("key") not in FORMER:
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


def open_private(path: Path) -> int:
    """Create a file that only this account of the machine can read: secrets go into it."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.fchmod(descriptor, 0o600)  # also of one that was left behind
    return descriptor


# --- what a line may hold -------------------------------------------------------------------------


def _text(valid: Callable[[str], Any], what: str, empty: bool = False) -> Any:
    """Return the type of a text that is valid; `valid` may raise a ValueError."""

    def check(value: str) -> str:
        with suppress(ValueError):
            if (empty and not value) or valid(value):
                return value
        raise ValueError(f"should be a {what}")

    return Annotated[str, AfterValidator(check)]


def _is_time(value: str) -> bool:
    return datetime.fromisoformat(value).tzinfo is not None


def _is_date(value: str) -> bool:
    return date.fromisoformat(value).isoformat() == value


def _is_memory_id(value: str) -> bool:
    return bool(UUID.fullmatch(value) and uuid.UUID(value).int)


def _is_link_end(value: str) -> bool:
    return bool(_ENTRY_ID.fullmatch(value)) or _is_memory_id(value)


UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_ENTRY_ID = re.compile(r"[1-9][0-9]{0,8}")

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0, le=LAST_ID)]
EntryId = Annotated[int, Field(ge=1, le=LAST_ID)]
EntryIds = tuple[EntryId, ...]
Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
NameOrEmpty = Annotated[str, Field(max_length=LONGEST_NAME)]
Time = _text(_is_time, "time (ISO 8601 with a time zone)")
TimeOrEmpty = _text(_is_time, "time (ISO 8601 with a time zone)", empty=True)
DateOrEmpty = _text(_is_date, "date (YYYY-MM-DD)", empty=True)
MemoryId = _text(_is_memory_id, "memory id")
MemoryIdOrEmpty = _text(_is_memory_id, "memory id", empty=True)
LinkEnd = _text(_is_link_end, "memory id")
Text = str | None

# what a field of a record may hold, where that is less than its type says: by name, and by record
NARROWER: dict[str, Any] = {
    "access_count": Count,
    "closed_by": EntryIds,
    "due": DateOrEmpty,
    "expires_at": TimeOrEmpty | None,
    "favorability": Share,
    "invalid_at": TimeOrEmpty | None,
    "journal_ids": EntryIds,
    "last_seen": TimeOrEmpty,
    "memory_id": MemoryIdOrEmpty,
    "memory_type": Literal["episodic", "semantic", "working", "procedural"],
    "memory_weight": Share,
    "seen": Time,
    "since": Time,
    "source_trust": Share,
    "superseded_by": MemoryId | None,
    "until": Time,
    **dict.fromkeys(("created_at", "last_accessed", "updated", "valid_from"), TimeOrEmpty),
}
NARROWER_IN: dict[type, dict[str, Any]] = {
    Entry: {"id": EntryId, "timestamp": Time, "importance": Annotated[int, Field(ge=1, le=10)]},
    MemoryRecord: {"importance": Share},
    ProfileObservation: {"timestamp": TimeOrEmpty},
    AgendaItem: {
        "id": Annotated[str, Field(pattern=r"^[1-9][0-9]{0,8}(\.[0-9]{1,4})?$")],
        "who": NameOrEmpty,
        "to": NameOrEmpty,
        "evidence": EntryIds,
        "created": Time,
        "updated": Time,
    },
    Profile: {"entity_id": Name},
}
WITHOUT: dict[type, dict[str, Any]] = {  # fields that a file may lack, or has besides the record's
    Acquaintance: {"identity": Literal[""]},  # it is the key
    Conversation: {  # its id stands beside it
        "session_id": Literal[""],
        "started": TimeOrEmpty,
        "last_activity": TimeOrEmpty,
    },
    Relationship: {"state": Name},  # written for people who read the file
}


class _Line(BaseModel):
    """A line, or a part of one, that may have no other fields than these."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class _Open(BaseModel):
    """A part of a line that may have more fields than are checked."""

    model_config = ConfigDict(strict=True, extra="allow", allow_inf_nan=False)


def _strict(kind: Any) -> Any:
    """Return a type with every record in it as a model that accepts only what an export writes."""
    if is_dataclass(kind):
        return _model_of(cast(type, kind))
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return Annotated[(_strict(parts[0]), *parts[1:])]
    return origin[tuple(map(_strict, parts))] if origin in (list, tuple, dict) else kind


@cache
def _model_of(record: type) -> type[_Line]:
    narrower, optional = NARROWER | NARROWER_IN.get(record, {}), WITHOUT.get(record, {})
    hints = get_type_hints(record)
    required = {
        spec.name
        for spec in fields(record)
        if spec.default is MISSING and spec.default_factory is MISSING
    }
    found = {name: narrower.get(name, _strict(hint)) for name, hint in hints.items()} | optional
    return _line(
        **{  # a default is not checked
            name: kind if name in required - optional.keys() else (kind, None)
            for name, kind in found.items()
        }
    )


def _line(**kinds: Any) -> type[_Line]:
    """Return a model by the types of its fields, or (type, default)."""
    defined: dict[str, Any] = {
        name: kind if isinstance(kind, tuple) else (_strict(kind), ...)
        for name, kind in kinds.items()
    }
    return create_model("Line", __base__=_Line, **defined)


class _Schedule(_Line):
    enabled: bool = False
    sleep_start_hour: Annotated[int, Field(ge=0, le=23)] = 0
    sleep_duration_hours: Annotated[int, Field(ge=1, le=24)] = 1
    tick_rate_sleep: Annotated[float, Field(gt=0, le=86_400)] = 1
    clock: Literal["server", "game"] = "server"


class _ToolCall(_Open):
    id: Any
    type: Any
    function: Any


_Header = create_model(
    "Header",
    __base__=_Open,
    mind=(MemoryId, ...),
    identity=(NameOrEmpty, ...),
    key=(NameOrEmpty, ...),
)


class _ChatMessage(_Open):
    role: Literal["user", "assistant", "tool"]
    content: Text = None
    tool_calls: list[_ToolCall] | None = None
    private: bool = False
    unjudged: bool = False
    summary: bool = False
    witnesses: list[Name] = []
    people: list[Name] = []
    entry: Count = 0
    own: list[EntryId] = []
    told: list[Name] = []
    talk: str = ""


class _Payload(_Open):
    """A payload; the fields of its memory are checked as `from_payload` reads them."""

    agent_id: str
    record: Literal["entry", "experience", "fact", "taught", "summary", "insight"] = "fact"
    private: bool = False
    hash: str = ""
    updated_at: str = ""
    audience: list[Any] = []
    asking: Share = 0
    tells: str = ""
    length: Share = 0
    tells_time: bool = False
    tokens: Count = 0


# old and new text, event, created, updated, deleted, as Mem0 has them
Version = tuple[Text, Text, str, Text, Text, Annotated[int, Field(ge=0, le=1)] | None]
People = Annotated[dict[Name, Acquaintance], Field(max_length=PEOPLE_KEPT)]
Talk = Annotated[list[tuple[Name, Conversation]], Field(max_length=CONVERSATIONS_KEPT)]
LINES: dict[str, type[_Line]] = {  # by kind, and by category or key where a kind has several
    "journal": _line(last_id=Count, last_reflection=Time | None, cursors=dict[Name, Count]),
    "people": _line(value=People),
    "conversations": _line(value=Talk),
    "script sleep_schedule": _line(key=str, value=_Schedule | None),
    f"script {CHAT_LOG}": _line(key=str, value=list[_ChatMessage] | None),
    f"row {profiles.CATEGORY}": _line(category=str, key=str, value=Profile),
    f"row {preferences.CATEGORY}": _line(category=str, key=str, value=Preference),
    f"row {agenda.CATEGORY}": _line(category=str, key=str, value=AgendaItem),
    "entry": _line(value=Entry),
    "link": _line(
        a=LinkEnd,
        b=LinkEnd,
        linked=Name,
        score=Annotated[float, Field(ge=0, le=LARGEST_SCORE)],
        created=NameOrEmpty,
    ),
    "memory": _line(id=MemoryId, payload=_Payload, history=list[Version]),
}
READ_PAYLOAD = _line(payload=MemoryRecord)
FORMER = ("centroid", "night_records")  # kinds or keys of earlier exports that are left out


# --- checks ---------------------------------------------------------------------------------------


class _Invalid(ValueError):
    """A line is none that an export writes; the message names the field and what is wrong."""


class Checker:
    """Checks an archive, some lines at a time, before anything of it is imported; each public
    method may raise a `BadArchive` with the number of the line."""

    def __init__(self, path: Path):
        self.reader = Reader(path)  # at the end its `lines` and `state` are those of the whole file
        # the ids in the file; of a memory that is an entry, with its journal id, else 0
        self.seen: dict[str, int] = {}
        self._agent_id = self.reader.header.agent_id
        self._last_id = self._newest = 0  # of the journal; of the entries so far
        self._missing = ["journal", "people", "conversations", *(f"script {key}" for key in SCRIPT)]

    def check_some(self) -> dict[str, int] | None:
        """Check the next lines. Returns the memories in them, by id, each with the number of its
        line, for `check_owners`; None if there were no more lines."""
        lines = self.reader.numbered(CHECKED_AT_ONCE)
        memories: dict[str, int] = {}
        for number, line in lines:
            with _refusing(self.reader.path, number, str(line.get("kind"))[:KIND_SHOWN]):
                self._check(line)
            if line["kind"] == "memory":
                memories[line["id"]] = number
        return memories if lines else None

    def check_owners(self, memories: dict[str, int], owners: Mapping[str, str]) -> None:
        """Check that no other NPC has one of these memories, by the agent ids of their owners."""
        for memory_id, number in memories.items():
            with _refusing(self.reader.path, number, "memory"):
                if owners.get(memory_id, self._agent_id) != self._agent_id:
                    raise _Invalid("id: another NPC has a memory with that id")

    def check_end(self) -> None:
        """Check after the last line that no line is missing that every memory has."""
        with _refusing(self.reader.path, self.reader.number, "the end"):
            if self._missing:
                raise _Invalid(f"the line of its {self._missing[0].split()[-1]} is missing")

    def _check(self, line: Line) -> None:
        """Check a line by itself, and whether it may stand here."""
        _check_texts(line)
        kind = str(line.get("kind"))
        part = {"row": "category", "script": "key"}.get(kind, "kind")
        name = kind if part == "kind" else f"{kind} {line.get(part)}"
        if name not in LINES or " " in kind:
            raise _Invalid(f"{part}: {_shown(line.get(part))} is not part of a memory")
        _validate(LINES[name], {key: each for key, each in line.items() if key != "kind"})
        if (kind == "journal") != (self._missing[:1] == ["journal"]):
            raise _Invalid("the line of the journal must come first, and once")
        if kind in ("journal", "people", "conversations", "script"):
            if name not in self._missing:
                raise _Invalid("it is there twice")
            self._missing.remove(name)
        self._compare(kind, line)

    def _compare(self, kind: str, line: Line) -> None:
        """Check a line against the lines before it."""
        value: Any = line.get("value")
        if kind == "journal":
            self._last_id = line["last_id"]
            for name, cursor in beyond_end(line["cursors"], self._last_id).items():
                self._check_entry_ids(f"cursors.{name}", cursor)
        elif kind == "entry":
            self._check_entry_ids("value.id", value["id"])
            if value["id"] <= self._newest:
                raise _Invalid(f"value.id: {value['id']} is there twice, or out of order")
            self._newest = value["id"]
        elif kind == "conversations":
            for session_id, _conversation in value:
                self._once("conversation", session_id)
        elif kind == "row":
            key = self._key_of(line["category"], value)
            if line["key"] != key.lower():
                raise _Invalid(f"key: {_shown(line['key'])} does not fit its value")
            self._once("row", line["category"], key)
        elif kind == "link":
            for end in ("a", "b"):
                if line[end].isdecimal():
                    self._check_entry_ids(end, int(line[end]))
            if line["a"] >= line["b"]:
                raise _Invalid("a, b: a link has two ends, the smaller first")
            self._once("link", line["a"], line["b"])
        elif kind == "memory":
            self._memory(line)

    def _key_of(self, category: str, value: Any) -> str:
        """Return the key of a row with this value."""
        if category == profiles.CATEGORY:
            return profiles.key_of(value["entity_id"])
        if category == preferences.CATEGORY:
            known = from_plain(Preference, value)
            return preferences.key_of(known.identity, known.slot, known.audience)
        for name in ("evidence", "closed_by"):
            self._check_entry_ids(f"value.{name}", *value.get(name, ()))
        return value["id"]

    def _memory(self, line: Line) -> None:
        memory_id, payload = line["id"], line["payload"]
        if payload["agent_id"] != self._agent_id:
            raise _Invalid("payload.agent_id: it belongs to another memory")
        memory = from_payload(memory_id, payload)
        _validate(READ_PAYLOAD, {"payload": asdict(memory)})
        heard = list(memory.witnesses) if memory.private else [ANYONE]
        if payload.get("audience", heard) != heard:
            raise _Invalid("payload.audience: it is not that of its witnesses")
        self._check_entry_ids("payload.journal_ids", *memory.journal_ids)
        number = 0
        if memory.record in ("entry", INSIGHT):
            number = memory.journal_ids[0] if memory.journal_ids else 0
            if memory_id != entry_memory_id(self._agent_id, number):
                raise _Invalid(f"id: it is not that of entry {number} of this memory")
        self._once(memory_id, number=number)

    def _check_entry_ids(self, name: str, *numbers: int) -> None:
        for number in numbers:
            if number > self._last_id:
                raise _Invalid(f"{name}: {number} is beyond the journal's end, {self._last_id}")

    def _once(self, *what: str, number: int = 0) -> None:
        if (key := "\x1f".join(what)) in self.seen:
            raise _Invalid("it is there twice")
        self.seen[key] = number


@contextmanager
def _refusing(path: Path, number: int, kind: str) -> Iterator[None]:
    """Turn what is wrong with a line into a `BadArchive` with its number."""
    try:
        yield
        return
    except _Invalid as error:
        problem = str(error)
    except RecursionError:
        problem = "it is nested too deeply"
    raise BadArchive(
        f"{path}, line {number} ({kind}): {problem}. {UNKNOWN_LINE} Nothing was imported."
    )


def _validate(model: type[BaseModel], plain: dict[str, Any]) -> None:
    """Check plain data with a model; the first error is told with its field."""
    try:
        model.model_validate_json(json.dumps(plain))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    else:
        return
    where, what = ".".join(map(str, first["loc"])), first["msg"]
    if first["type"] == "missing":
        raise _Invalid(f"it has no {where}")
    if first["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        raise _Invalid(f"{where}: an export writes no such field")
    what = what.removeprefix("Value error, ").removeprefix("Input ")
    raise _Invalid(f"{where}: {_shown(first['input'])} {what}")


def _check_texts(value: Any, where: str = "") -> None:
    """Check that a database accepts every text in plain data."""
    if isinstance(value, dict):
        for key, each in value.items():
            _check_texts(key, where)
            _check_texts(each, f"{where}.{key}" if where else key)
    elif isinstance(value, list):
        for each in value:
            _check_texts(each, where)
    elif isinstance(value, str):
        if len(value) > LONGEST_TEXT:
            raise _Invalid(f"{where}: {len(value):,} characters are more than {LONGEST_TEXT:,}")
        if "\x00" in value:
            raise _Invalid(f"{where}: it holds a NUL character")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise _Invalid(
                f"{where}: it holds half a character, which no database accepts"
            ) from None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"
