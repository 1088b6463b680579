"""Frozen records that are passed between the packages, and their conversion to plain data.

Dicts are used only for Attributes and payloads, through `to_dict` and `from_dict`. Timestamps are
ISO 8601 in UTC. A person is an identity (`MemoryMixin.get_memory_identity`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any, Literal, Self

from . import language
from .language import Commitment
from .local_time import day_of
from .privacy import may_hear, shared_privacy

EPISODIC, SEMANTIC, WORKING, PROCEDURAL = "episodic", "semantic", "working", "procedural"
MEMORY_TYPES = (EPISODIC, SEMANTIC, WORKING, PROCEDURAL)
TALK_KINDS = frozenset({"say", "whisper"})
ASKS = "asks"  # tag: tells nothing: a question behind the NPC's name, a request to keep quiet
INSIGHT = "insight"  # kind of an entry written by reflection
PINNED, LOCKED = "pinned", "locked"  # tags: never pruned; never changed by a night either
OF_NPC = "npc"  # tag: words or poses of another NPC that nobody is playing
# tag: said aloud, and kept to its witnesses until a language model has judged whether it was
# said in confidence (docs/adr/035)
UNJUDGED = "unjudged"
CONSCIOUS = "conscious"  # tag: committed on purpose, by the NPC's own tool or by a builder
LEARNED_KINDS = frozenset({"say", "whisper", "pose", "give", "note"})
OWN_KINDS = frozenset({"say", "whisper", "pose"})  # of the NPC's own words and deeds
MOVE_KINDS = frozenset({"arrive", "leave"})
RETOLD = "retold"  # tag: own words that only repeat a stock phrase or a memory; not recalled
OWN = "own"  # tag of memories: own words and deeds
NO_EVIDENCE = MOVE_KINDS | {OWN}  # tags of memories from which nothing is drawn
BUILDER = "builder"  # origin of an entry, and provider of a drawn memory, worded by a builder


def now_iso() -> str:
    """Return the present time, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def seconds_between(earlier: str, later: str) -> float:
    """Return the seconds from one timestamp to another, negative if they are reversed."""
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()


def _is_empty(value: Any) -> bool:
    return value is None or value is False or value in ("", (), [])


@dataclass(frozen=True, slots=True)
class _Plain:
    """Base of records that are stored as dicts."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data, without empty ones whose default is empty too."""
        plain = {}
        for spec in fields(self):
            value = getattr(self, spec.name)
            if isinstance(value, tuple):
                value = list(value)
            if not (_is_empty(value) and _is_empty(spec.default)):
                plain[spec.name] = value
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Make a record of plain data; unknown keys are ignored."""
        known = {}
        for name in cls.__dataclass_fields__:  # `fields` gathers them anew each time
            if name in plain:
                value = plain[name]
                known[name] = tuple(value) if isinstance(value, list) else value
        return cls(**known)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Witnessed(_Plain):
    """Base of those that may be secret."""

    private: bool = False
    witnesses: tuple[str, ...] = ()  # identities of the people who perceived it too
    # journal ids of all that a language model was shown for it, the evidence too, and of words of
    # the NPC of the conversation given to the provider (`store.journal.ranges_of`)
    context: str = ""

    @property
    def audience(self) -> tuple[str, ...] | None:
        """The people who may hear of it, sorted; None means anyone."""
        return tuple(sorted(self.witnesses)) if self.private else None


@dataclass(frozen=True, slots=True)
class Provenance:
    """What an utterance of the NPC was made from, so that erasure can follow it."""

    # link ids of the entry that it answers and of the memories given to the provider
    evidence: tuple[str, ...] = ()
    # journal ids of the conversation given to the provider (`store.journal.ranges_of`)
    context: str = ""
    sources: tuple[str, ...] = ()  # identities of the people whose words these are
    tags: tuple[str, ...] = ()  # RETOLD if the words only repeat a stock phrase or a memory


NO_PROVENANCE = Provenance()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Perceived(_Witnessed):
    """What a percept and the journal entry made of it both hold."""

    seen_as: str = ""
    origin: str = "perceived"
    source_type: str = "direct"
    entities: tuple[str, ...] = ()
    location: str | None = None
    session_id: str | None = None
    tags: tuple[str, ...] = ()
    game_time: float | None = None  # seconds
    line: str | None = None  # the perceived line, if it said more than `content`
    ref: str | None = None  # the id of the line in a replayed log
    # `Provenance` of the NPC's own words; the evidence of an insight are the link ids that it cites
    evidence: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    # of a line heard from another NPC, the speaker's agent id and journal id, "uuid:12"
    utterance: str = ""


@dataclass(frozen=True, slots=True)
class Percept(_Perceived):
    """Something an NPC perceived, before it becomes a journal entry."""

    content: str
    kind: str
    source: str | None = None  # identity of the one who said or did it
    timestamp: str = ""
    addressed: bool = False  # whether it is meant for the NPC
    mentioned: bool = False  # whether it holds an @mention of the NPC

    def to_entry(self, **more: Any) -> Entry:
        """Make the journal entry, with the fields that only an entry has."""
        shared: dict[str, Any] = {
            spec.name: getattr(self, spec.name) for spec in fields(_Perceived)
        }
        own = {"content": self.content, "kind": self.kind, "source_entity": self.source}
        return Entry(**shared | own | more)


@dataclass(frozen=True, slots=True)
class Entry(_Perceived):
    """A journal entry (DESIGN §3)."""

    id: int
    timestamp: str
    content: str
    kind: str
    source_trust: float = 0.9  # 0-1
    source_entity: str | None = None
    importance: int = 2  # 1-10
    scoring_method: str = "heuristic"
    emotions: tuple[str, ...] = ()
    lesson: str = ""
    consolidated: bool = False
    provider: str = ""  # the language provider that worded an insight

    @property
    def recallable(self) -> bool:
        """Whether recall can find it: what was heard or seen, its own words, and insights."""
        return self._heard or self.is_own or self.is_move or self.kind == INSIGHT

    @property
    def is_own(self) -> bool:
        """Whether the NPC said or did it, and not merely repeated a memory."""
        return self.origin == "self" and self.kind in OWN_KINDS and RETOLD not in self.tags

    @property
    def is_move(self) -> bool:
        """Whether the NPC saw somebody come or go."""
        return self.origin == "perceived" and self.kind in MOVE_KINDS

    @property
    def learnable(self) -> bool:
        """Whether experiences, facts, profiles, preferences and insights may be drawn from it.

        An NPC's words are made of what NPCs were told: its own are never learned back, and those
        of another NPC prove nothing. A gift of another NPC is seen, so it counts.
        """
        return self._heard and not (OF_NPC in self.tags and self.kind != "give")

    @property
    def _heard(self) -> bool:
        """Whether others said or did it; arrivals and departures teach nothing."""
        return self.origin in ("perceived", "builder") and self.kind in LEARNED_KINDS

    @property
    def words(self) -> str:
        """The content to remember; quoted speech in a pose counts as the poser's claim."""
        if self.kind != "pose":
            return self.content
        return language.get().as_posed(self.content, self.seen_as)

    @property
    def audience(self) -> tuple[str, ...] | None:
        """The people who may hear of it, sorted; None means anyone."""
        return tuple(sorted(self.witnesses)) if self.private or self.unjudged else None

    @property
    def unjudged(self) -> bool:
        """Whether it was said aloud, and nobody has judged yet whether in confidence."""
        return UNJUDGED in self.tags

    @property
    def circle(self) -> tuple[str | None, tuple[str, ...] | None]:
        """The conversation and, of what is private, its audience.

        Rules draw nothing from entries of different circles.
        """
        return self.session_id, self.audience if self.private else None

    @property
    def is_question(self) -> bool:
        """Whether it only asks, and so says nothing about the world."""
        return ASKS in self.tags or language.get().asks(self.content)

    def with_speaker(self) -> str:
        """Return the entry as one line with its speaker, the key that is searched."""
        if self.kind in TALK_KINDS and self.seen_as:
            return f"{self.seen_as}: {self.content}"
        return self.words


@dataclass(frozen=True, slots=True)
class MemoryRecord(_Witnessed):
    """A memory in the store, as in the payload of DESIGN §3."""

    id: str
    content: str
    record: str  # what it is: entry, experience, fact, taught, summary or insight
    memory_type: str = "episodic"
    key: str = ""  # the text that is searched; empty if that is the content
    about: str | None = None  # identity of the person it is about
    speaker: str = ""
    session_id: str | None = None
    importance: float = 0.5  # 0-1
    memory_weight: float = 0.5  # 0-1
    dominant_emotions: tuple[str, ...] = ()
    the_lesson: str = ""
    source_type: str = "direct"
    source_trust: float = 0.9
    journal_ids: tuple[int, ...] = ()
    entities: tuple[str, ...] = ()
    question: bool = False
    created_at: str = ""
    last_accessed: str = ""
    access_count: int = 1
    valid_from: str = ""
    # since when it holds no longer, and the memory that says so. Without `invalid_at` it never
    # held: the other memory is told in its place
    invalid_at: str | None = None
    superseded_by: str | None = None
    expires_at: str | None = None  # end of a working memory
    compressed: bool = False
    compression_source: bool = False
    tags: tuple[str, ...] = ()
    provider: str = ""  # the language provider that worded it, or BUILDER
    quote: str = ""  # the speaker's own words, if `content` rewrote them
    shown: str = ""  # a pose as it was shown, if `content` is only what its poser claims

    @classmethod
    def drawn(
        cls, memory_id: str, text: str, record: str, entries: Sequence[Entry], **more: Any
    ) -> MemoryRecord:
        """Make a memory that rests on entries (oldest first), and is as private as they are."""
        private, witnesses = shared_privacy(entries)
        of_entries = {
            "session_id": entries[0].session_id,
            "journal_ids": tuple(entry.id for entry in entries),
            "entities": tuple(sorted({who for entry in entries for who in entry.entities})),
            "witnesses": witnesses,
            "private": private,
            "created_at": entries[0].timestamp,
            "valid_from": entries[0].timestamp,
            "last_accessed": entries[-1].timestamp,
        }
        return cls(memory_id, text, record, **{"key": text, **of_entries, **more})

    @property
    def said(self) -> str:
        """The words as they were said, if `content` rewrote them."""
        return self.quote or self.content

    @property
    def held_until(self) -> str:
        """When it ceased to hold, ISO 8601; "" if it holds, or tells what happened once."""
        if not self.invalid_at or self.is_deed or language.get().of_the_past(self.said):
            return ""
        return self.invalid_at

    @property
    def outranked(self) -> bool:
        """Whether another memory is told in its place, as if it had never held."""
        return bool(self.superseded_by) and not self.invalid_at

    @property
    def is_talk(self) -> bool:
        """Whether it is a line of the journal that somebody said."""
        return self.record == "entry" and self.key != self.content

    @property
    def is_said(self) -> bool:
        """Whether it holds words that somebody said."""
        return bool(self.quote) or self.is_talk

    @property
    def is_deed(self) -> bool:
        """Whether it is a line of the journal that tells what somebody did."""
        return self.record == "entry" and self.key == self.content

    @property
    def learnable(self) -> bool:
        """As `Entry.learnable`."""
        return OF_NPC not in self.tags and not self.only_recalled

    @property
    def only_recalled(self) -> bool:
        """Whether it comes to mind, but nothing is drawn from it: own words, somebody's coming."""
        return not NO_EVIDENCE.isdisjoint(self.tags)

    @property
    def confided(self) -> bool:
        """Whether it is private, and not merely unjudged."""
        return self.private and UNJUDGED not in self.tags

    @property
    def words(self) -> str:
        """The text of the keyword search; a line of talk has its speaker in front."""
        return self.key or self.content

    @property
    def embedded(self) -> str:
        """The text of its vector; a line of talk is embedded without its speaker."""
        return self.content if self.record == "entry" else self.words

    @property
    def recalls(self) -> int:
        """How often it reached a reply."""
        return max(0, self.access_count - 1)


LOOK_BACK = 8  # lines before one, in which the one spoken to and the same matter are looked for
TEXT_KEPT = 500  # characters of an agenda item's text
EVIDENCE_KEPT = 20  # lines of one item: the first, and the newest


@dataclass(frozen=True, slots=True)
class AgendaItem(_Witnessed):
    """Something that somebody is to do: a promise, a debt, a request or a plan."""

    id: str  # the journal id of the line that states it; "12.1" is of its second sentence
    kind: Commitment  # promise, debt, request (to the NPC, which is to do it) or plan
    who: str  # memory identity of the one who is to do it; "" if the NPC does not know them
    text: str  # the words that state it
    to: str = ""  # identity of the one it is owed to; "" if unknown or nobody
    due: str = ""  # ISO date; "" without one
    state: Literal["open", "done", "broken"] = "open"
    evidence: tuple[int, ...] = ()  # journal ids of the lines that state it, oldest first
    closed_by: tuple[int, ...] = ()  # journal ids of the lines that say it is done or broken
    created: str = ""  # time of the first of those lines, ISO 8601 UTC
    updated: str = ""  # time of the last of them
    told: str = ""  # `text` as a sentence in the third person, where a language model wrote one

    def repeated(self, day: str, evidence: Sequence[int], line: AgendaItem | Entry) -> AgendaItem:
        """Return the item with the line that repeats, confirms or moves it."""
        private, witnesses = shared_privacy([self, line])
        first, *later = dict.fromkeys((*self.evidence, *evidence))
        return replace(
            self,
            due=day or self.due,
            evidence=(first, *later[1 - EVIDENCE_KEPT :]),
            private=private,
            witnesses=witnesses,
            updated=line.timestamp if isinstance(line, Entry) else line.updated,
        )

    def closed(self, state: Literal["done", "broken"], by: Entry) -> AgendaItem:
        """Return the item that a line ends; as it is if that line has ended it."""
        if by.id in self.closed_by:
            return self
        return replace(self, state=state, closed_by=(*self.closed_by, by.id), updated=by.timestamp)

    def concerns(self, identity: str) -> bool:
        """Whether it is that person's to do, or owed to them."""
        return bool(identity) and identity in (self.who, self.to)

    def visible_to(self, listeners: Sequence[str] | None) -> bool:
        """Return whether all `listeners` may hear of it; None is a view from outside the game."""
        return may_hear(self.private, self.witnesses, None if listeners is None else (*listeners,))

    def is_due(self, now: str) -> bool:
        """Return whether it is open and its date has come, at an ISO 8601 time."""
        return self.state == "open" and bool(self.due) and self.due <= day_of(now)

    def state_at(self, now: str) -> str:
        """Return the state in words: open, due, overdue, done or broken."""
        if not self.is_due(now):
            return self.state
        return "due" if self.due == day_of(now) else "overdue"


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """A question to the memory of one NPC.

    `recall.search.recall` fills in an empty `top_k`, `token_budget`, `score_profile` or `reranker`
    from the settings, and the fields after them from the NPC.
    """

    query: str
    # identities of all who will hear the answer, the one who asks first; None means staff, who see
    # everything, () that it must be fit for anyone
    listeners: tuple[str, ...] | None = None
    # score, choose and word as the source texts do (`conf.Settings.by_sources`)
    by_sources: bool = False
    top_k: int = 0
    token_budget: int = 0
    memory_types: tuple[str, ...] = ()  # only these; empty is all
    include_compressed: bool = False  # keep memories whose summary is recalled too
    emotions: tuple[str, ...] = ()  # labels of the present mood, which are favoured
    only_emotions: bool = False  # leave out memories that share none of `emotions`
    # journal ids to leave out, such as the question itself
    without_entries: frozenset[int] = frozenset()
    # of `recall.rank.CLUES`, in their order; empty is the built-in ones
    weights: tuple[float, ...] = ()
    score_profile: str = ""  # the name of a score profile (`recall.rank.score_profile`)
    reranker: str | None = None  # directory or name of a cross-encoder
    agent_id: str = ""
    now: str = ""  # timestamp of the recall
    # (identity, name as written) of the people named in the query
    named: tuple[tuple[str, str], ...] = ()
    # identities whose own words are favoured: those named, or the one who asks
    who: tuple[str, ...] = ()
    # ids of preferences of the one who asks, which are always candidates; those that bear on the
    # query come first [C §2.6]
    preferences: tuple[str, ...] = ()
    # whether the query asks for what was; what holds no longer comes as past then
    of_the_past: bool = False
    # leave out what nothing may be drawn from: own words, comings and goings
    as_evidence: bool = False


@dataclass(frozen=True, slots=True)
class ScoreParts:
    """The parts of a score, each 0-1 before its weight, and the weighted `total`.

    `similarity` is the weighted sum of the `clues`, by their names (`recall.rank.CLUES`).
    """

    total: float
    similarity: float
    weight: float = 0.0
    recency: float = 0.0
    frequency: float = 0.0
    emotion: float = 0.0
    importance: float = 0.0
    clues: Mapping[str, float] = field(default_factory=dict)
    reranked: float | None = None

    @property
    def told(self) -> str:
        """The parts in words, without those that are none."""
        clues = ", ".join(f"{name} {value:.2f}" for name, value in self.clues.items() if value)
        told = f"similarity {self.similarity:.2f}{f' ({clues})' if clues else ''}"
        told += f"; weight {self.weight:.2f}, recency {self.recency:.2f}"
        told += f", frequency {self.frequency:.2f}"
        told += f"; emotion {self.emotion:.2f}" if self.emotion else ""
        return told + ("" if self.reranked is None else f"; cross-encoder {self.reranked:.2f}")


@dataclass(frozen=True, slots=True)
class Recalled:
    """A recalled memory with its score and the tokens of its content."""

    memory: MemoryRecord
    score: ScoreParts
    tokens: int


@dataclass(frozen=True, slots=True)
class RecallResult:
    """The result of a recall [C §2.7]."""

    memories: tuple[Recalled, ...] = ()  # best first, preferences before the others
    # of the contents; in the prompt block each memory takes some fifteen more for its tag, date and
    # speaker
    total_tokens: int = 0
    budget_used: float = 0.0  # share of the token budget, 0-1
    prompt_block: str = ""


@dataclass(frozen=True, slots=True)
class ExperienceDraft:
    """An experience as extracted from a snippet: the four dimensions of [B].

    `by_rules` says that the offline provider drew it in a language model's place.
    """

    essence: str
    memory_weight: float
    the_lesson: str
    dominant_emotions: tuple[str, ...] = ()
    journal_ids: tuple[int, ...] = ()  # evidence of the essence; empty: the whole snippet
    by_rules: bool = False


@dataclass(frozen=True, slots=True)
class FactDraft:
    """A fact before reconciliation: its text, the entries behind it, and the person it is about.

    `slot` is what a preference is about, where a language model named it. The fields after it are
    given by a provider that knew the passage and what is known already.
    """

    text: str
    journal_ids: tuple[int, ...]
    about: str | None = None
    memory_type: str = "semantic"
    quote: str = ""
    slot: str = ""
    kind: str = ""  # one of `llm.provider.FACT_KINDS`; "" if unknown
    subject: str = ""  # name of the person whom it is about
    object: str = ""  # name of the one it is owed to
    date: str = ""  # ISO date on which it falls due or happens; "" without one
    same_as: str = ""  # id of the known fact that says the same, or ""
    # ids of known facts that no longer hold; None if the provider was not asked
    ends: tuple[str, ...] | None = None
    by_rules: bool = False  # the offline provider drew it in a language model's place


@dataclass(frozen=True, slots=True)
class Message:
    """A turn of a conversation in working memory."""

    entry_id: int
    role: str  # "user" or "assistant", as in Chat Completions
    name: str
    content: str
    private: bool = False
    witnesses: tuple[str, ...] = ()
    unjudged: bool = False  # `Entry.unjudged`


@dataclass(frozen=True, slots=True)
class KnownPerson:
    """Somebody whom the NPC knows, as far as the one who asks may hear of it."""

    identity: str
    name: str
    last_seen: str = ""
    seen_before: str = ""  # when the NPC met them before this conversation, "" if never
    standing: str = "stranger"  # stranger, acquaintance, friend or close (`store.people`)
    # what the profile says of them, surest first; in a line that is said aloud, nothing private
    attributes: tuple[str, ...] = ()
    evidence: tuple[int, ...] = ()  # journal ids behind these attributes
    here: bool = False  # whether they are in the room


@dataclass(frozen=True, slots=True)
class Visit:
    """Somebody was where the NPC is, at a time (ISO 8601); `left_for` is where they then went."""

    name: str
    when: str
    left_for: str = ""


@dataclass(frozen=True, slots=True)
class Coming:
    """Somebody came to where the NPC is, at a time (ISO 8601)."""

    when: str
    present: tuple[str, ...] = ()  # names of those who were there already
    next: str = ""  # the name of the one who came next, or ""


@dataclass(frozen=True, slots=True)
class OpenItem:
    """An agenda item as it is told to the speaker."""

    text: str  # a sentence or two to the speaker, who is "you"
    quoted: str = ""  # the words in it that state the item
    # ids of the memories that it is told from; they are among those recalled
    evidence: tuple[str, ...] = ()
    # whether it is to be brought up unasked: the speaker has it due by tomorrow or lately overdue,
    # or it is a message for them; and this talk has not told it yet
    pressing: bool = False
    noted: str = ""  # `text` for a prompt, with the speaker by name; the NPC is "you"
    message: bool = False  # whether somebody asked the NPC to tell or give it to the speaker
    private: bool = False  # whether it is for the speaker's ear alone
    done_by_telling: str = ""  # the id of the item, where it is done once it is told


@dataclass(frozen=True, slots=True)
class Situation:
    """What is plain to see when an NPC answers; the same for every provider."""

    place: str = ""  # the name of the room
    moment: str = ""  # the date and time as the NPC would say it
    present: tuple[str, ...] = ()  # names of the others in the room, without the speaker
    company: tuple[KnownPerson, ...] = ()  # the first of them, without attributes
    people: tuple[KnownPerson, ...] = ()  # the speaker, and the people whom the line names
    known_names: tuple[str, ...] = ()  # names of everyone whom the NPC has met
    visits: tuple[Visit, ...] = ()  # newest first; only where the line asks for them
    visits_since: str = ""  # ISO 8601; no older visits were looked up. "" if all were.
    # ids of the recalled memories that are what the speaker said in their last conversation, or on
    # the day that the line names, what others have told lately, or the speaker's gifts; only where
    # the line asks for that
    lines_asked_for: tuple[str, ...] = ()
    # what the line asks for of the agenda, else what is open with the speaker; the most pressing
    # first
    agenda: tuple[OpenItem, ...] = ()
    # whether the line asks for what is owed or promised, and none of it is open
    nothing_open: bool = False
    # names by identity of those who perceived what was recalled; where the line asks who was there
    witnesses: Mapping[str, str] = field(default_factory=dict)
    # when the speaker came in; where the line asks who was there before or after
    coming: Coming | None = None


@dataclass(frozen=True, slots=True)
class SpeechAct:
    """Something that is done with words: a greeting, a question, a debt (`Language.read`)."""

    kind: str
    text: str
    sure: float = 3.0  # how surely it is done, in logits; 0 is even. What rules find is sure.


@dataclass(frozen=True, slots=True)
class TalkLine:
    """A line of the talk; an event has no speaker."""

    speaker: str
    text: str
    kind: str = "say"


LINES_BEFORE = 4  # of the talk, that a line is read with


@dataclass(frozen=True, slots=True)
class LineInTalk:
    """A line that somebody says near an NPC."""

    line: TalkLine
    npc: tuple[str, ...]  # the NPC's name and its aliases
    others: tuple[str, ...] = ()  # who hears it besides the speaker and the NPC
    # the last lines of the talk, the newest last, its own among them
    before: tuple[TalkLine, ...] = ()


@dataclass(frozen=True, slots=True)
class LineReading:
    """What a line is."""

    acts: tuple[SpeechAct, ...]  # in the order of their words
    answer: float  # how surely a good NPC answers at once; from 0 on rather than not
    possible: tuple[SpeechAct, ...] = ()  # all that may be done, the less sure ones too
    # the kinds of reaction that it may want (`offline.acts.WANTED`), likeliest first, with shares
    wanted: tuple[tuple[str, float], ...] = ()
    lead: float = 0.0  # how much more surely than anybody else who hears it
    known: float = 0.0  # how near it is to what the NPC was made to know, a cosine
    errand: bool = False  # whether it asks for something that waits: a message, a reminder
    alarm: bool = False  # whether something is to be done at once


@dataclass(frozen=True, slots=True)
class ReplyRequest:
    """What a provider gets for an answer, filtered for the listener.

    `kind` is that of the entry; if it is "give", `utterance` describes a gift to the NPC. `now` is
    the time of the answer; `question` is a follow-up as it is meant, "" for any other line
    (`Language.completed`); `intent` the name of its `language.Intent`, "" for
    none, and `surely_meant` whether it can hardly mean anything else; `npc_names` are the NPC's
    name and its aliases, `phrases` its stock phrases (`language.Phrases`). `sentences` is how many
    an answer may have, `language` the one it is to be in ("": the speaker's).
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
    now: str = ""
    npc_names: tuple[str, ...] = ()
    phrases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    situation: Situation = Situation()
    goals: str = ""  # the NPC's own, by its builder
    lessons: tuple[str, ...] = ()  # of recalled experiences, the most relevant first
    mood: tuple[str, ...] = ()  # labels of the strongest present emotions
    sentences: int = 3
    language: str = ""
    plain: bool = False
    question: str = ""
    intent: str = ""
    surely_meant: bool = False
    set_right: str = ""  # what the line says in place of something that its speaker said before
    # what is done with the line's words; empty where the local model is not installed
    acts: tuple[SpeechAct, ...] = ()
    confided: bool = False  # whether the line is kept to those who heard it
    # the NPC's own last lines, whoever heard them; only to say none of them again
    said_lately: tuple[str, ...] = ()
    description: str = ""  # what players see of the NPC
    voice: str = ""  # how it speaks: the manner, then example lines
    direction: str = ""  # what whoever plays it is told alone
    # what builders gave it that is nearest to the line (`recall.sheet`)
    given: tuple[MemoryRecord, ...] = ()
    wanted: tuple[tuple[str, float], ...] = ()  # as `LineReading` has it

    @property
    def has_spoken(self) -> bool:
        """Whether the speaker said something before in this conversation."""
        return any(t.role == "user" and t.name == self.speaker for t in self.conversation)


@dataclass(frozen=True, slots=True)
class Weighed:
    """A sentence that might have answered."""

    text: str
    score: float  # how surely it answers; 0 is as sure as that nothing does
    memory: str  # the id of the memory that it is of; "" for the persona
    told: bool = False  # whether the reply tells it
    private: bool = False  # whether it was said in confidence


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer."""

    text: str
    # ids of the memories used in it (None: any that were offered)
    told: tuple[str, ...] | None = None
    # what might have been told from memory: what is, then the best of the others. Empty where no
    # question chose among memories.
    weighed: tuple[Weighed, ...] = ()
    row: str = ""  # where it was made from acts and stock phrases, which: "alarm: alarm of"
    # whether it answers no question and binds to nothing, or the line was not understood, so that a
    # small model may say other words in its place
    small_talk: bool = False


@dataclass(frozen=True, slots=True)
class PassReport:
    """The result of one step of a pass; `done` if nothing of the pass is left tonight."""

    done: bool
    read: int = 0
    changed: int = 0
