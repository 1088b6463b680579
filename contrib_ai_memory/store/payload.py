"""A memory as Mem0 keeps it: Mem0's own payload fields and ours, and what recall reads of them."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from ..records import MemoryRecord, now_iso
from ..text import cues
from ..text.questions import asked

ANYONE = "*"
OF_NIGHTS = ("fact", "summary", "insight")
RETOLD = ("experience", *OF_NIGHTS)  # drawn from what others said
PointId = uuid.UUID | str  # Edge gives the one and takes both; to make text of it takes its time
LANES = ("line", "window", "near", "wide")
Weighed = tuple[PointId, dict[str, Any], Sequence[float]]  # a point, its payload, its score in each


def memory_id_for(mind: str, *parts: object) -> str:
    """The id of a memory of `mind` (its UUID) from what it is: the same parts, the same id."""
    return str(uuid.uuid5(uuid.UUID(mind), "\x1f".join(map(str, parts))))


def entry_memory_id(mind: str, entry_id: int) -> str:
    return memory_id_for(mind, "entry", entry_id)


_RENAMED = {"content": "data", "key": "text_lemmatized", "about": "user_id", "session_id": "run_id"}
_BACK = {theirs: ours for ours, theirs in _RENAMED.items()}


def to_payload(mind: str, memory: MemoryRecord) -> dict[str, Any]:
    """A memory as Mem0 keeps it (DESIGN §3). `audience` is what the privacy filter reads."""
    plain = memory.to_dict()
    plain.pop("id")
    payload = {_RENAMED.get(name, name): value for name, value in plain.items()}
    return payload | {
        "agent_id": mind,
        "hash": hashlib.md5(memory.content.encode()).hexdigest(),  # Mem0's own field
        "updated_at": now_iso(),
        "audience": list(memory.witnesses) if memory.private else [ANYONE],
        "private": memory.private,
        "asking": (asking := round(asked(memory.content), 3)),
        "tells": "nothing" if memory.question and asking == 1.0 else "something",
        "length": round(cues.length(memory.content), 3),
        "tells_time": cues.tells_time(memory.content),
    }


def from_payload(memory_id: Any, payload: Mapping[str, Any]) -> MemoryRecord:
    renamed = {_BACK.get(name, name): value for name, value in payload.items()}
    return MemoryRecord.from_dict({"content": ""} | renamed | {"id": str(memory_id)})


class Candidate(NamedTuple):
    """What recall weighs of a memory: what each lane said of it, and what it looks like.

    Some hundreds are made for each question, so that it is a tuple. `lanes` are the scores in
    `LANES`: two cosines and two BM25 scores (0: no word in common); `asking`, `length` and
    `tells_time` are `text.cues` of its content, `tokens` how many it takes (0: not counted yet).
    """

    id: str
    lanes: tuple[float, ...] = (0.0,) * len(LANES)
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
    tokens: int = 0
    provider: str = ""
    payload: Mapping[str, Any] = {}

    def whole(self) -> MemoryRecord:
        """The memory with all that is kept of it."""
        return from_payload(self.id, self.payload)


_DEFAULTS = {
    _RENAMED.get(name, name): Candidate._field_defaults[name] for name in Candidate._fields[2:-1]
}
_read = itemgetter(*_DEFAULTS)


def to_candidate(memory_id: Any, payload: dict[str, Any], scores: Sequence[float]) -> Candidate:
    """A candidate from its payload and its scores in `LANES`."""
    return Candidate(str(memory_id), tuple(scores), *_read(_DEFAULTS | payload), payload)
