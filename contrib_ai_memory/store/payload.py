"""Payloads: a memory as Mem0 keeps it, with Mem0's own fields and ours, and what recall reads."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any, NamedTuple

from .. import conf, language
from ..records import MEMORY_TYPES, MemoryRecord, now_iso
from ..text.sanitising import sanitise
from ..text.segmentation import length
from .lanes import LANES

RECORDS = ("entry", "experience", "fact", "taught", "summary", "insight")
EPOCH = "1970-01-01T00:00:00.000+00:00"
ANYONE = "*"
OF_NIGHTS = ("fact", "summary", "insight")
FOREIGN = "taught"  # what other programs wrote counts as this: nobody in the game said it
DRAWN_RECORDS = ("experience", *OF_NIGHTS)  # drawn from what others said
KEYWORD, TIME = "keyword", "datetime"
INDEXED_FIELDS = dict.fromkeys(  # of payloads; servers also index the game's id and superseded_by
    "agent_id user_id run_id record memory_type audience dominant_emotions tells tags".split(),
    KEYWORD,
) | {"created_at": TIME}
# Qdrant Edge returns UUIDs; converting hundreds of them to text takes longer than the search.
PointId = uuid.UUID | str | int
Row = tuple[str, dict[str, Any]]  # id, payload


def memory_id_for(agent_id: str, *parts: object) -> str:
    """Return the id of a memory of `agent_id` (a UUID): the same parts give the same id."""
    return str(uuid.uuid5(uuid.UUID(agent_id), "\x1f".join(map(str, parts))))


def entry_memory_id(agent_id: str, entry_id: int) -> str:
    return memory_id_for(agent_id, "entry", entry_id)


def summary_id(agent_id: str, session_id: str | None, audience: tuple[str, ...] | None) -> str:
    return memory_id_for(agent_id, "summary", session_id, *(audience or ("*",)))


_RENAMED = {"content": "data", "key": "text_lemmatized", "about": "user_id", "session_id": "run_id"}
_BACK = {theirs: ours for ours, theirs in _RENAMED.items()}


def to_payload(agent_id: str, memory: MemoryRecord) -> dict[str, Any]:
    """Return a memory's payload (DESIGN §3). The privacy filter reads `audience`."""
    plain = memory.to_dict()
    plain.pop("id")
    payload = {_RENAMED.get(name, name): value for name, value in plain.items()}
    asking, tells_time = language.get().asks_and_tells_time(memory.content)
    return payload | {
        "agent_id": agent_id,
        "hash": hashlib.md5(memory.content.encode()).hexdigest(),  # Mem0's own field
        "updated_at": now_iso(),
        "audience": list(memory.witnesses) if memory.private else [ANYONE],
        # [C §3.2] of a summary: the conversation that it sums up
        **({"source_session_id": memory.session_id} if memory.compression_source else {}),
        "private": memory.private,
        "asking": (asking := round(asking, 3)),
        "tells": "nothing" if memory.question and asking == 1.0 else "something",
        "length": round(length(memory.content), 3),
        "tells_time": tells_time,
    }


def from_payload(memory_id: Any, payload: Mapping[str, Any]) -> MemoryRecord:
    """Return the memory of a payload, ours or another program's."""
    payload = completed(payload)
    renamed = {_BACK.get(name, name): value for name, value in payload.items()}
    return MemoryRecord.from_dict({"content": ""} | renamed | {"id": str(memory_id)})


def reworded(memory: MemoryRecord, text: str) -> MemoryRecord:
    """Return a memory with other words; a line keeps its speaker in front."""
    said = memory.key.endswith(memory.content)
    key = memory.key.removesuffix(memory.content) + text if said else text
    return replace(memory, content=text, key=key, quote="")


def rewritten(payload: Mapping[str, Any], memory: MemoryRecord) -> dict[str, Any]:
    """Return the payload of another version of a memory, with what other programs added."""
    theirs = {name: value for name, value in payload.items() if name not in _OWN_FIELDS}
    return theirs | to_payload(payload.get("agent_id") or "", memory)


def is_foreign(payload: Mapping[str, Any]) -> bool:
    """Return whether another program wrote a payload: Mem0's own `add` sets no audience."""
    return not isinstance(payload.get("audience"), list) or payload.get("record") not in RECORDS


def completed(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """Complete a payload of Mem0's own `add` with our fields; one of ours is returned as it is.

    It does not say who may hear it, so the narrowest reading counts: a memory of a user is for that
    user alone, one of a run or an actor for nobody in the game (staff see it), and only one of the
    agent itself is for anyone. Metadata with the name of one of our fields is used if it is valid.
    """
    if not is_foreign(payload):
        return payload
    user, run = payload.get("user_id"), payload.get("run_id")
    private, witnesses = payload.get("private", False) is not False, []
    if isinstance(user, str) and user:
        private, witnesses = True, [user]
    elif run or payload.get("actor_id"):
        private = True
    elif private:
        witnesses = [each for each in _listed(payload.get("witnesses")) if isinstance(each, str)]
    record = MemoryRecord(
        id="-",
        content=sanitise(str(payload.get("data") or ""), conf.MAX_LINE),
        record=FOREIGN,
        memory_type=kind if (kind := payload.get("memory_type")) in MEMORY_TYPES else "semantic",
        about=user if isinstance(user, str) else None,
        session_id=run if isinstance(run, str) else None,
        importance=_share(payload.get("importance")),
        memory_weight=_share(payload.get("memory_weight")),
        dominant_emotions=tuple(filter(_is_text, _listed(payload.get("dominant_emotions")))),
        tags=tuple(filter(_is_text, _listed(payload.get("tags")))),
        private=private,
        witnesses=tuple(witnesses),
        created_at=_moment(payload.get("created_at")) or EPOCH,
        last_accessed=_moment(payload.get("last_accessed")),
        access_count=count if type(count := payload.get("access_count")) is int else 1,
        invalid_at=_moment(payload.get("invalid_at")) or None,
        superseded_by=by if _is_text(by := payload.get("superseded_by")) else None,
        expires_at=_last_moment(payload.get("expiration_date")),
    )
    return rewritten(payload, record)


_OWN_FIELDS = {_RENAMED.get(each.name, each.name) for each in fields(MemoryRecord)}


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _share(value: Any) -> float:
    fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
    return float(value) if fits else 0.5


def _moment(value: Any) -> str:
    try:
        read = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return ""
    return (read if read.tzinfo else read.replace(tzinfo=UTC)).isoformat(timespec="milliseconds")


def _last_moment(day: Any) -> str | None:
    moment = _moment(day) if isinstance(day, str) else ""
    return f"{moment[:10]}T23:59:59.999+00:00" if moment else None


class Candidate(NamedTuple):
    """What recall ranks a memory by. A tuple, as some hundreds are made for each question."""

    id: str
    lanes: tuple[float, ...] = (0.0,) * len(LANES)  # two cosines, two BM25 (0: no word in common)
    about: str | None = None
    record: str = "entry"
    memory_type: str = "episodic"
    importance: float = 0.5
    memory_weight: float = 0.5
    dominant_emotions: Sequence[str] = ()
    journal_ids: Sequence[int] = ()
    private: bool = False
    witnesses: Sequence[str] = ()
    created_at: str = ""
    last_accessed: str = ""
    access_count: int = 1
    invalid_at: str | None = None
    superseded_by: str | None = None
    expires_at: str | None = None
    compressed: bool = False
    tells: str = "something"
    asking: float = 0.0
    length: float = 0.0
    tells_time: bool = False
    tokens: int = 0  # of its content; 0: not counted yet
    provider: str = ""
    tags: Sequence[str] = ()
    payload: Mapping[str, Any] = {}

    @property
    def is_whole(self) -> bool:
        return "data" in self.payload

    def whole(self) -> MemoryRecord:
        return from_payload(self.id, self.payload)

    def scored(self, lanes: Iterable[float]) -> Candidate:
        """Return the same candidate with these scores; `_replace` takes three times as long."""
        return Candidate._make((self.id, tuple(lanes), *self[2:]))


# what a candidate is filtered and ranked by: a server brings the rest of those that are told
RANKED_BY = tuple(
    "user_id record audience importance journal_ids invalid_at superseded_by expires_at asking "
    "length tokens tags provider".split()
)
# what score profiles, moods and requests for a kind of memory look at besides
WEIGHED_BY = tuple("memory_type memory_weight dominant_emotions last_accessed access_count".split())
_DEFAULTS = {
    _RENAMED.get(name, name): Candidate._field_defaults[name] for name in Candidate._fields[2:-1]
}
_read = itemgetter(*_DEFAULTS)


def to_candidate(
    memory_id: Any, payload: dict[str, Any], scores: Sequence[float] = (0.0,) * len(LANES)
) -> Candidate:
    whole = completed(payload)
    fields_read = _read({**_DEFAULTS, **whole})
    return Candidate._make((str(memory_id), tuple(scores), *fields_read, whole))
