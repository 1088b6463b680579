"""The frozen records that travel between the rooms, and their one way to and from plain data.

Dicts appear only at the Attribute and payload borders, through `to_dict` / `from_dict` here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any

from .english.person import as_posed
from .english.questions import asks

TALK_KINDS = frozenset({"say", "whisper"})
ASKS = "asks"  # tag: it asks, once the NPC's name before it is left out
INSIGHT = "insight"  # an entry that a reflection wrote
PINNED, LOCKED = "pinned", "locked"  # tags: never cleaned away; and never changed by a night
OF_NPC = "npc"  # tag: another NPC's own words and poses, nobody playing it
LEARNED_KINDS = frozenset({"say", "whisper", "pose", "give", "note"})


def now_iso() -> str:
    """The present as ISO 8601 in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def seconds_between(earlier: str, later: str) -> float:
    """Seconds from one ISO timestamp to another; negative when the order is reversed."""
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()


def may_hear(private: bool, witnesses: Iterable[str], listeners: tuple[str, ...] | None) -> bool:
    """Whether everyone of `listeners` may hear of a memory; None is a look from outside."""
    if not private or listeners is None:
        return True
    return bool(listeners) and set(listeners) <= set(witnesses)


def _is_empty(value: Any) -> bool:
    return value is None or value is False or value in ("", (), [])


class _Plain:
    """`to_dict` leaves out what is empty where nothing else is the default; `from_dict` ignores
    keys that it does not know."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        plain = {}
        for spec in fields(self):
            value = getattr(self, spec.name)
            if isinstance(value, tuple):
                value = list(value)
            if not (_is_empty(value) and _is_empty(spec.default)):
                plain[spec.name] = value
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]):
        known = {}
        for spec in fields(cls):
            if spec.name in plain:
                value = plain[spec.name]
                known[spec.name] = tuple(value) if isinstance(value, list) else value
        return cls(**known)


@dataclass(frozen=True, slots=True)
class Percept(_Plain):
    """One thing perceived, before it has a place in the journal.

    `source` and `witnesses` are memory identities (see `MemoryMixin.get_memory_identity`).
    """

    content: str
    kind: str
    seen_as: str = ""
    source: str | None = None
    witnesses: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    private: bool = False
    location: str | None = None
    timestamp: str = ""
    game_time: float | None = None
    session_id: str | None = None
    origin: str = "perceived"
    source_type: str = "direct"
    addressed: bool = False
    mentioned: bool = False
    tags: tuple[str, ...] = ()
    line: str | None = None
    ref: str | None = None
    evidence: tuple[str, ...] = ()
    context: str = ""
    sources: tuple[str, ...] = ()
    utterance: str = ""


@dataclass(frozen=True, slots=True)
class ToldFrom:
    """What an utterance of the NPC was told from, so that erasing can follow it.

    Attributes:
        evidence: Link ids: the entry that it answers, and the memories that the provider was given.
        context: Journal ids of the talk that the provider was given besides (`store.id_ranges`).
        sources: Identities of the people whose words all of that was.
    """

    evidence: tuple[str, ...] = ()
    context: str = ""
    sources: tuple[str, ...] = ()


FROM_NOTHING = ToldFrom()


@dataclass(frozen=True, slots=True)
class Entry(_Plain):
    """One journal entry (DESIGN §3). `timestamp` is ISO 8601 UTC, `importance` 1-10.

    `line` is the perceived line where it said more than `content`; `ref` is the id that a
    replayed log gave it; `evidence` are the link ids that an insight cites, `provider` who worded
    it. The NPC's own words keep in `evidence`, `context` and `sources` what they were told from
    (`ToldFrom`); what was heard from another NPC keeps its `utterance`: that NPC's mind and journal
    id, "uuid:12".
    """

    id: int
    timestamp: str
    content: str
    kind: str
    seen_as: str = ""
    origin: str = "perceived"
    source_type: str = "direct"
    source_trust: float = 0.9
    source_entity: str | None = None
    entities: tuple[str, ...] = ()
    witnesses: tuple[str, ...] = ()
    private: bool = False
    location: str | None = None
    session_id: str | None = None
    importance: int = 2
    scoring_method: str = "heuristic"
    emotions: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    consolidated: bool = False
    game_time: float | None = None
    line: str | None = None
    ref: str | None = None
    evidence: tuple[str, ...] = ()
    context: str = ""
    sources: tuple[str, ...] = ()
    utterance: str = ""
    provider: str = ""

    @property
    def recallable(self) -> bool:
        """What comes to mind again: what was heard, and what a reflection came to."""
        return self._heard or self.kind == INSIGHT

    @property
    def learnable(self) -> bool:
        """Whether anything may rest on it: experiences, facts, profiles, preferences, insights.

        What an NPC says is made of what NPCs were told: its own words are never learned back, and
        those of another are talk, which proves nothing. What it gives away is seen to be given.
        """
        return self._heard and not (OF_NPC in self.tags and self.kind != "give")

    @property
    def _heard(self) -> bool:
        """What others said and did; comings and goings teach nothing."""
        return self.origin in ("perceived", "builder") and self.kind in LEARNED_KINDS

    @property
    def words(self) -> str:
        """What is remembered of it: its content, of a pose what the poser claims as a claim."""
        return as_posed(self.content, self.seen_as) if self.kind == "pose" else self.content

    @property
    def audience(self) -> tuple[str, ...] | None:
        """Who may hear of it again: None is anyone."""
        return tuple(sorted(self.witnesses)) if self.private else None

    @property
    def circle(self) -> tuple[str | None, tuple[str, ...] | None]:
        """The conversation, and those who may hear of it again: what is drawn never mixes two."""
        return self.session_id, self.audience

    @property
    def is_question(self) -> bool:
        """A question tells what somebody wanted to know, not how the world is."""
        return ASKS in self.tags or asks(self.content)

    @property
    def texts(self) -> set[str]:
        """All that the store may have embedded of it."""
        return {self.content, self.words, self.told()}

    def told(self) -> str:
        """The entry as one line with its speaker: the key that is embedded and searched."""
        if self.kind in TALK_KINDS and self.seen_as:
            return f"{self.seen_as}: {self.content}"
        return self.words


def shared_privacy(sources: Iterable[Entry | MemoryRecord]) -> tuple[bool, tuple[str, ...]]:
    """What is drawn from several is as private as the most private, for those who had them all.

    Returns:
        Whether it is private, and the witnesses that all of `sources` share.
    """
    sources = list(sources)
    witnessed = [set(s.witnesses) for s in sources if s.witnesses or s.private]
    shared = set.intersection(*witnessed) if witnessed else set()
    return any(source.private for source in sources), tuple(sorted(shared))


@dataclass(frozen=True, slots=True)
class MemoryRecord(_Plain):
    """One memory in the store: an entry, an experience, a fact (DESIGN §3 payload).

    `key` is what it is searched by; `content` is what is remembered; `quote` is the speaker's own
    words where `content` rewrote them; `shown` a pose as it was shown, where `content` says what
    its poser claims; `context` the journal ids of lines that were shown to the provider besides
    `journal_ids` (`store.id_ranges`).
    `importance` and `memory_weight` are 0-1. A working memory holds until `expires_at`.
    """

    id: str
    content: str
    record: str
    memory_type: str = "episodic"
    key: str = ""
    about: str | None = None
    speaker: str = ""
    session_id: str | None = None
    importance: float = 0.5
    memory_weight: float = 0.5
    dominant_emotions: tuple[str, ...] = ()
    the_lesson: str = ""
    source_type: str = "direct"
    source_trust: float = 0.9
    journal_ids: tuple[int, ...] = ()
    entities: tuple[str, ...] = ()
    witnesses: tuple[str, ...] = ()
    private: bool = False
    question: bool = False
    created_at: str = ""
    last_accessed: str = ""
    access_count: int = 1
    valid_from: str = ""
    invalid_at: str | None = None
    superseded_by: str | None = None
    expires_at: str | None = None
    compressed: bool = False
    compression_source: bool = False
    tags: tuple[str, ...] = ()
    provider: str = ""
    quote: str = ""
    shown: str = ""
    context: str = ""

    @property
    def learnable(self) -> bool:
        """Whether anything may rest on it (`Entry.learnable`)."""
        return OF_NPC not in self.tags

    @property
    def audience(self) -> tuple[str, ...] | None:
        return tuple(sorted(self.witnesses)) if self.private else None

    @property
    def words(self) -> str:
        """What its words are searched by: with the speaker, where it is a line of talk."""
        return self.key or self.content

    @property
    def embedded(self) -> str:
        """What its vector is of: of a line of talk the words alone, whoever said them."""
        return self.content if self.record == "entry" else self.words

    @property
    def times_told(self) -> int:
        """How often it was told: the store counts from 1."""
        return max(0, self.access_count - 1)

    def visible_to(self, listeners: tuple[str, ...] | None) -> bool:
        """Whether everyone of `listeners` may hear of it; None is a look from outside the game."""
        return may_hear(self.private, self.witnesses, listeners)


@dataclass(frozen=True, slots=True)
class ScoreParts:
    """Where a score came from: each part before its weight (0-1), `total` after all weights.

    `similarity` is what the `clues` add up to, in the order of `recall.rank.CLUES`.
    """

    total: float
    similarity: float
    weight: float = 0.0
    recency: float = 0.0
    frequency: float = 0.0
    emotion: float = 0.0
    importance: float = 0.0
    clues: tuple[float, ...] = ()
    reranked: float | None = None


@dataclass(frozen=True, slots=True)
class Recalled:
    """One memory brought to mind, with its price in tokens and the parts of its score."""

    memory: MemoryRecord
    score: ScoreParts
    tokens: int


@dataclass(frozen=True, slots=True)
class RecallResult:
    """What `recall` returns [C §2.7]: tokens of the memories' words, and their share of the budget.

    The prompt block has some fifteen tokens more for each memory, its tag, date and speaker.
    """

    memories: tuple[Recalled, ...] = ()
    total_tokens: int = 0
    budget_used: float = 0.0
    prompt_block: str = ""


@dataclass(frozen=True, slots=True)
class ExperienceDraft:
    """What the background loop draws from a snippet: the four dimensions of [B]."""

    essence: str
    memory_weight: float
    the_lesson: str
    dominant_emotions: tuple[str, ...] = ()
    journal_ids: tuple[int, ...] = ()  # what the essence rests on; empty: the whole snippet


@dataclass(frozen=True, slots=True)
class FactDraft:
    """A fact before reconciling: its text, whom it is about, the entries that it rests on."""

    text: str
    journal_ids: tuple[int, ...]
    about: str | None = None
    memory_type: str = "semantic"
    quote: str = ""


@dataclass(frozen=True, slots=True)
class Snippet:
    """What one extraction sees [B]: the last messages, of which `new_ids` are not extracted yet."""

    npc_name: str
    entries: tuple[Entry, ...]
    new_ids: frozenset[int]
    known_names: tuple[str, ...] = ()

    @property
    def new(self) -> list[Entry]:
        return [entry for entry in self.entries if entry.id in self.new_ids]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation as working memory keeps it."""

    entry_id: int
    role: str  # "user" or "assistant", as in Chat Completions
    name: str
    content: str
    private: bool = False
    witnesses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReplyRequest:
    """All that a provider may know when it answers, filtered for the listener already.

    `kind` is that of the entry: where it is "give", `utterance` tells of a gift to the NPC.
    """

    npc_name: str
    persona: str
    speaker: str
    speaker_id: str | None
    utterance: str
    recalled: tuple[Recalled, ...] = ()
    prompt_block: str = ""
    conversation: tuple[Message, ...] = ()
    met_before: bool = False
    kind: str = "say"


@dataclass(frozen=True, slots=True)
class Reply:
    """What is said, and the ids of the memories told in it (None: any that were offered)."""

    text: str
    told: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class PassReport:
    """What one step of a pass did. `done` is whether the pass has nothing left tonight."""

    done: bool
    read: int = 0
    changed: int = 0
