"""What the core knows of language: what a line is, what a question asks for, how things are said.

`get()` returns the language of the game, which the setting LANGUAGE names; the core knows no other
words. `Language` itself judges by marks and names alone, and is what LANGUAGE = None means. A
language inherits it and overrides what it can do better (docs/guides/developers.md).

It is used on the reactor thread and on workers, and keeps no state that changes.
"""

from __future__ import annotations

import enum
import re
from calendar import monthrange
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Literal

from django.conf import settings as django_settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from . import conf
from .local_time import local
from .text.names import folded, forms
from .text.segmentation import WORD, words_of

if TYPE_CHECKING:
    import numpy as np

    from .records import AgendaItem, Entry, LineInTalk, LineReading, MemoryRecord, SpeechAct

ENTRY_POINTS = "contrib_ai_memory.languages"  # the group of installed languages
NEAREST = 16  # memories that a line is compared with, and as many of its speaker's
BEFORE = 2  # lines of the same talk before a line that say what it is about
TURNS_READ = 4  # newest turns in which a follow-up finds its subject
# Things are often told some days after they happened: these days count for a named date too, less
# with each day. Fitted by leave-one-conversation-out: `python -m benchmarks.locomo`
TOLD_LATER_DAYS = 14

Commitment = Literal["promise", "debt", "request", "plan"]
Relation = Literal["at", "before", "after"]
Side = Literal["", "asker", "listener", "named"]


# --- what words are -------------------------------------------------------------------------------


class Named(enum.IntEnum):
    """How a line names somebody, the surest reading last."""

    NOT = 0
    TOLD_OF = 1
    NAMED = 2
    CALLED = 3


class Intent(enum.Enum):
    """What a line wants besides being remembered."""

    GREETING = "greeting"
    PARTING = "parting"
    THANKS = "thanks"
    WELLBEING = "how it is"
    NAME = "its name"
    ROLE = "what it does"
    PLACE = "where this is"
    TIME = "what time it is"
    PRESENT = "who is here"
    VISITORS = "who was here"
    LAST_SEEN = "when somebody was last here"
    OPINION = "what it thinks of somebody"
    TALK = "what was talked about"
    KNOWN = "whether it knows the speaker"
    TALE = "a story, a song or a joke"
    SECRECY = "whether it can keep a secret"
    SERVICE = "to be served"
    MESSAGES = "whether somebody left word for the speaker"
    TELLER = "who told it what it has just said"
    WHISPERED = "what somebody else whispered"
    GIVEN = "what somebody gave it"
    ONESELF = "who the speaker is"
    SURE = "whether it is sure of what it has just said"
    NEWS = "what others have told lately"
    ABOUT = "what it knows of somebody"


@dataclass(frozen=True, slots=True)
class Manner:
    """How a line speaks."""

    requests: bool = False  # whether it asks to be served or helped
    courtesy: Intent | None = None  # whether it greets, thanks or parts
    tells_past: bool = False  # whether it is in a past tense
    says_you: bool = False  # whether it speaks of the one whom it is said to
    cries_out: bool = False  # whether it calls for help, whoever can give it
    exclaims: bool = False  # whether it may be a cry
    collapses: bool = False  # whether somebody falls down or bleeds in it, if it is a pose
    asks_on: bool = False  # whether it asks about what was said just before: "and how old is she?"


@dataclass(frozen=True, slots=True)
class SaidBefore:
    """What was said before: `own` if the one who is asked said it."""

    text: str
    own: bool = False


@dataclass(frozen=True, slots=True)
class PresenceQuestion:
    """Who is asked for, and by which event."""

    event: str = ""  # the words that name what happened: "Alice lost the bet"; none of an arrival
    whom: str = ""  # whom it asks about, as written ("I", "Bram"); empty if it asks for everybody
    relation: Relation = "at"  # at the event, or before or after the asker came in
    first: bool = False  # whether it is the asker's first visit


@dataclass(frozen=True, slots=True)
class NamedDate:
    """A day, a month or a year, as far as a question gave it; None where it did not."""

    year: int | None = None
    month: int | None = None
    day: int | None = None

    def nearness(self, day: date) -> float:
        """1 within what is named, falling to 0 over the 14 days after it, 0 before it.

        Without a year it may be that of `day` or the one before.
        """
        years = (self.year,) if self.year else (day.year, day.year - 1)
        return max((_nearness(day, *self._bounds(year)) for year in years), default=0.0)

    def _bounds(self, year: int) -> tuple[date, date]:
        if self.month is None:
            return date(year, 1, 1), date(year, 12, 31)
        last = monthrange(year, self.month)[1]
        if self.day is None or not 1 <= self.day <= last:
            return date(year, self.month, 1), date(year, self.month, last)
        return date(year, self.month, self.day), date(year, self.month, self.day)


def _nearness(day: date, first: date, last: date) -> float:
    if first <= day <= last:
        return 1.0
    late = (day - last).days
    return 1 - late / (TOLD_LATER_DAYS + 1) if 0 < late <= TOLD_LATER_DAYS else 0.0


@dataclass(frozen=True, slots=True)
class QueryReading:
    """What a query to the memory asks for."""

    of_oneself: bool = False  # whether it is about the one who asks it
    of_you: bool = False  # whether it is about the one who is asked
    of_asking: bool = False  # whether it is about what somebody asked
    of_the_past: bool = False  # whether it asks for what was
    when: bool = False  # whether it asks for a time
    several: bool = False  # whether the answer may be gathered from several occasions
    dates: tuple[NamedDate, ...] = ()  # the dates that it names


# --- what is learned from words -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stated:
    """A preference as a sentence states it."""

    text: str  # the sentence
    slot: str  # what the preference is about, in small words: `tea`, `favourite color`
    subject: str = ""  # whose it is, where the sentence names somebody else than its speaker
    # slots of what it is compared with: coffee, in "I prefer tea to coffee"
    mentions: tuple[str, ...] = ()

    @property
    def filled(self) -> str:
        """The slot among those of whoever speaks: "my brother hates fish" fills `brother fish`."""
        return f"{self.subject} {self.slot}".strip()


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a chunk that becomes one memory, with its type and the preference it states."""

    text: str
    memory_type: str
    preference: Stated | None = None


@dataclass(frozen=True, slots=True)
class NewLine:
    """A line that may end something."""

    entry: Entry
    before: tuple[Entry, ...] = ()  # the lines of the same talk just before it, oldest first
    # the line of its speaker that it corrects, its journal id; 0 if there is none
    corrects: int = 0
    meant: str = ""  # the corrected statement, with all else that this line told


@dataclass(frozen=True, slots=True)
class EndingVerdict:
    """Whether a line ends a memory."""

    ends: bool  # whether it does
    sure: bool = False  # whether that is nearly certain
    meant: str = ""  # what the line says in place of the memory, of a correction
    never: bool = False  # whether the line says that the memory never held


# --- the agenda -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Circle:
    """Whom the NPC knows when it reads lines."""

    npc: str  # its own memory identity
    names: tuple[str, ...]  # the forms of its name (`text.names.forms`)
    # returns the identities of the people named in a text
    mentioned: Callable[[str], Sequence[str]]
    called: Callable[[str], Sequence[str]]  # returns those whom it addresses by name


@dataclass(frozen=True, slots=True)
class AgendaQuestion:
    """Which commitments a question asks for."""

    who: Side = ""  # whose they are to keep; "named" is the person whom it names, "" is anybody
    to: Side = ""  # to whom they are owed, alike
    kinds: tuple[Commitment, ...] = ()  # only of these kinds; empty is any
    # the kind that it names; others are told only where there is none of it
    best: Commitment | Literal[""] = ""
    day: str = ""  # the ISO date that it names, or ""
    until: str = ""  # the last day if it names several: "this week"
    about: frozenset[str] = frozenset()  # the stems of what else it names
    whom: frozenset[str] = frozenset()  # the stems among them of whom something is owed to
    by_day: bool = False  # whether it asks for whatever is on that day
    whether: bool = False  # whether it asks if there is any: "do i owe you anything?"
    settled: bool = False  # whether it asks if there is none: "am i paid up with you?"

    def covers(self, day: str) -> bool:
        """Whether an ISO date is within the time that it names."""
        return bool(day) and self.day <= day <= (self.until or self.day)


@dataclass(frozen=True, slots=True)
class Understood:
    """A line that is to be answered, as it is meant."""

    meant: str  # the line without its address, with what it takes from the talk before it
    intent: Intent | None = None  # what it wants besides being remembered, if anything
    surely: bool = False  # whether it can hardly mean anything else
    acts: tuple[SpeechAct, ...] = ()  # what is done with it
    wanted: tuple[tuple[str, float], ...] = ()  # which reaction, as `LineReading` has it
    courtesy: Intent | None = None  # whether it greets, thanks or parts besides
    presence: PresenceQuestion | None = None  # who was there, if it asks for that
    agenda: AgendaQuestion | None = None  # which commitments it asks for, if it does
    day: date | None = None  # the past day, or today, that it names
    of_a_whole: bool = False  # whether it asks for all of somebody or something
    of_this_talk: bool = False  # whether it asks for what is being talked about
    of_oneself: bool = False  # whether it is about the one who asks it
    of_the_past: bool = False  # whether it tells or asks of what was


@dataclass(frozen=True, slots=True)
class ItemWords:
    """What the words of an agenda item say."""

    # the words for whoever a message or a thing is to be passed on to; "" if nobody
    recipient: str = ""
    creditor: str = ""  # the words for whom something is owed to; "" for a pronoun or nobody
    reminds: bool = False  # whether they ask to be reminded
    at_parting: bool = False  # whether they ask for that as their speaker goes


@dataclass(frozen=True, slots=True)
class Teller:
    """Who tells agenda items to whom."""

    own: str  # memory identity of the NPC
    called: tuple[str, ...]  # forms of its name
    asker: str  # memory identity of whoever is told; "" if unknown
    name_of: Callable[[str], str]  # returns the name of an identity, or ""
    now: str  # local time, ISO 8601


class AgendaLanguage:
    """Commitments: what lines change on the agenda, what is asked of it, how an item is told."""

    def commits(self, entry: Entry) -> bool:
        """Whether what is done with the words of an entry may change the agenda."""
        return False

    def changes(
        self,
        entries: Sequence[Entry],
        items: Iterable[AgendaItem],
        circle: Circle,
        readings: Mapping[int, LineReading],
        *,
        before: Sequence[Entry] = (),
    ) -> list[AgendaItem]:
        """Return the items that lines add or change.

        Args:
            entries: New lines, oldest first.
            items: The agenda so far.
            readings: Of lines, by their journal ids (`Language.read`).
            before: The lines before the new ones.
        """
        return []

    def words(self, text: str) -> ItemWords:
        """Read the words that state an item."""
        return ItemWords()

    def ended(self, item: AgendaItem, by: Entry, circle: Circle) -> Literal["done", "broken", ""]:
        """Return how a line that ends what states an item closes it, "" where it tells of another
        matter."""
        return "done"

    def quoted(self, item: AgendaItem, teller: Teller, *, message: bool) -> str:
        """Return the words that state an item, to be quoted; of a message, what it says."""
        return " ".join(item.text.split())

    def told(
        self, item: AgendaItem, stating: Entry, teller: Teller, *, message: bool, noted: bool
    ) -> str:
        """Say an item: whose it is, when and in which words it was said, and when it is due.

        Args:
            stating: The line that states it.
            message: Whether it is one for whoever is told, who is "you"; the NPC is "I".
            noted: Say it for a prompt: the NPC is "you", everybody else goes by name.
        """
        said = item.told or f"{stating.seen_as}: {self.quoted(item, teller, message=message)}"
        return f"{said} ({item.due})" if item.due else said


class Phrases:
    """Stock phrases of an NPC."""

    texts: Mapping[str, tuple[str, ...]] = {}  # by kind, as the setting PHRASES names them
    tones: Mapping[str, Mapping[str, tuple[str, ...]]] = {}  # what a TONE has in their place

    former: Collection[str] = ()  # kinds that are said no more, and that settings may still name

    def unknown(self, named: Iterable[str]) -> list[str]:
        """Return which of these are no kinds of phrases, in order; without texts, none."""
        return sorted({*named} - {*self.texts, *self.former}) if self.texts else []

    def of(self, tone: str, own: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        """Return the phrases of an NPC, {kind: texts}, that differ: of its TONE, then its own."""
        return {**self.tones.get(tone, {}), **own}

    def first(self, kind: str, phrases: Mapping[str, tuple[str, ...]], **values: str) -> str:
        """Return the first phrase of a kind, filled; "" where there is none."""
        text = next(iter(phrases.get(kind) or self.texts.get(kind, ())), "")
        for key, value in values.items():
            text = text.replace(f"{{{key}}}", value)
        return text

    def addressed(self, text: str, name: str) -> str:
        """Return words with the name of the one they are for, unless they hold it."""
        return text if name.lower() in text.lower() else f"{name}: {text}"


# --- the language ---------------------------------------------------------------------------------

_BREAK = re.compile(r"(?<=[.!?…。？！])\s+")
_ASKS = re.compile(r"[?？؟][\s\"'”’»)*_]*$")
_NUMBER = re.compile(r"\d+")
_QUOTES = re.compile(r"[\"“”„«»]")
SHORT = 4  # letters of a word that carries meaning, at least
LONG = 6  # letters from which a word is taken for a rare one: short words are common (Zipf)
FULL_LENGTH = 20  # words of a line that is important for its length


class Language:
    """A language that people speak in the game; this one knows no words.

    Attributes:
        provider: Does the work of a language model where there is none (`llm.provider`); None for
            one that draws nothing and says no more than PHRASES.
        lesson: Of what is remembered on purpose without one.
        third_person: Verbs in the third person singular, which tell of somebody behind a name.
        any_lines: What anybody might say to anybody (`recall.sheet.nearness`).
    """

    agenda = AgendaLanguage()
    phrases = Phrases()
    provider: Any = None
    lesson: str = ""
    third_person: frozenset[str] = frozenset()
    any_lines: Sequence[str] = ()

    def load(self) -> None:
        """Load what the first line needs (worker thread)."""

    # --- whom a line names ---

    def named(self, text: str, names: tuple[str, ...]) -> Named:
        """Return how a text names the bearer of `names` (`text.names.forms`)."""
        plain, some = folded(text), "|".join(map(re.escape, names)) or r"(?!)"
        begins, ends = rf"^\W*(?:{some})(?:\s*[,:;!?]|\s+[–-]|\W*$)", rf",\s*(?:{some})\W*$"
        if re.search(rf"@(?:{some})\b|{begins}|{ends}", plain):
            return Named.CALLED
        return Named.NAMED if re.search(rf"(?<!\w)(?:{some})(?!\w)", plain) else Named.NOT

    def beside(self, text: str, others: tuple[str, ...], names: tuple[str, ...]) -> bool:
        """Whether two people are named together: "Bram and Mara, good evening"."""
        return False

    def without_address(self, text: str, names: tuple[str, ...]) -> str:
        """Strip the names by which a line addresses somebody, with the mark beside them.

        >>> Language().without_address("Mara, was kostet ein Bier?", ("mara",))
        'was kostet ein Bier?'
        """
        some = "|".join(map(re.escape, names))
        if not some:
            return text
        rest = re.sub(rf"^\W*@?(?:{some})\s*[,:;!–-]+\s*(?=\w)", "", text, flags=re.IGNORECASE)
        rest = re.sub(rf"\s*,\s*@?(?:{some})\b(?=\W*$)", "", rest, flags=re.IGNORECASE)
        return rest if WORD.search(rest) else text

    # --- what a small model is shown ---

    small_talk: tuple[tuple[str, str], ...] = ()  # lines, each with an answer that a person gives

    # --- what a line is ---

    def reads(self, text: str) -> bool:
        """Whether a text is in this language; a language model judges others alone (worker)."""
        return False

    def asks(self, text: str) -> bool:
        """Whether a text ends by asking."""
        return bool(_ASKS.search(text))

    def asks_and_tells_time(self, text: str) -> tuple[float, bool]:
        """Return the share of a text that asks, 0-1, and whether it says when; stored with it."""
        sentences = self.sentences(text)
        asking = sum(len(each) for each in sentences if self.asks(each))
        return asking / max(1, sum(map(len, sentences))), False

    def tells_nothing(self, text: str, names: Sequence[str]) -> bool:
        """Whether a line to one of these names only asks, or only asks to keep quiet."""
        return False

    def asks_if_awake(self, text: str) -> bool:
        """Whether a line asks if somebody sleeps, which need not be answered later."""
        return False

    def confides(self, text: str) -> bool | None:
        """Whether a speaker asks for confidence; None leaves it to a language model."""
        return None

    def manner(self, text: str) -> Manner:
        """Return how a line speaks."""
        return Manner()

    def read(
        self, heard: LineInTalk, given: Sequence[MemoryRecord] | None = None
    ) -> LineReading | None:
        """Read what is done with the words of a line; None if nothing can (worker thread).

        Args:
            given: What builders have given the NPC; of a line of company, whose `lead`, `errand`
                and `alarm` are wanted too.
        """
        return None

    # --- what texts say ---

    def sentences(self, text: str) -> list[str]:
        """Split a text into sentences; a question stands alone."""
        return [each for each in map(str.strip, _BREAK.split(text)) if each]

    def content_words(self, text: str) -> set[str]:
        """Return the stems of the words that carry meaning."""
        return {word for word in words_of(text) if len(word) >= SHORT}

    def numbers(self, text: str) -> set[str]:
        """Return the numbers of a text in figures."""
        return set(_NUMBER.findall(text))

    def frequency(self, word: str) -> float:
        """Return how common a word is, 0-8 (Zipf; worker thread)."""
        return 3.0 if len(word) >= LONG else 6.0

    def salience(
        self, text: str, known_names: tuple[str, ...] = (), *, taught: bool = False
    ) -> float:
        """Return names, numbers, preferences and rare terms as 0-1 [C §1.5] (worker thread);
        `taught` counts what a text says to nobody in particular too."""
        named = self.named(text, forms(known_names)) is not Named.NOT
        return 0.3 * named + 0.2 * bool(self.numbers(text))

    def importance(self, text: str) -> float:
        """Return what the words alone add to an importance of 1-10: -1 to 4."""
        count = len(WORD.findall(text))
        return min(1.0, count / FULL_LENGTH) if count else -1.0

    def telling_words(self, text: str) -> int:
        """Return how many different words are not everyday words (worker thread)."""
        return sum(len(word) >= LONG for word in self.content_words(text))

    def due(self, text: str, now: str) -> str:
        """Return the one ISO date to come that a text names, or ""."""
        return ""

    def of_the_past(self, text: str) -> bool:
        """Whether a text tells or asks of what was."""
        return False

    def denies(self, new: str, known: str) -> bool:
        """Whether a statement says that another never held."""
        return False

    def says_the_same(self, a: str, b: str) -> bool:
        """Whether numbers, negations, names and days agree in two texts near in meaning."""
        return self.numbers(a) == self.numbers(b)

    def about_itself(self, text: str, names: Sequence[str]) -> bool:
        """Whether a fact is about the NPC of these names: its acts, personality or opinions."""
        return False

    # --- what a question asks for ---

    def query(self, text: str, today: date) -> QueryReading:
        """Return what a query to the memory asks for."""
        return QueryReading()

    def asks_of_first(self, query: str, first: tuple[int, int], other: tuple[int, int]) -> bool:
        """Whether a query asks for the words of the first of two people, named at these places."""
        return False

    def completed(
        self, said: str, turns: Sequence[SaidBefore], names: Collection[str], speaker: str
    ) -> str:
        """Return a line with what it takes from the talk before it, `TURNS_READ` turns at most.

        Args:
            names: Of everyone whom the NPC knows.
            speaker: Whom "me" is.
        """
        return said

    def understood(
        self, said: str, completed: str, names: Collection[str], heard: LineInTalk, now: str
    ) -> Understood:
        """Read a line that is to be answered as it is meant (worker thread).

        Args:
            said: The line without its address.
            completed: As of `completed`.
            names: Of everyone whom the NPC knows.
            heard: The line with the talk before it.
            now: Local time, ISO 8601.
        """
        return Understood(completed)

    # --- what is learned ---

    def parts(self, chunk: str, hint: str | None = None) -> list[Part]:
        """Split a taught text into memories, in order [C §1.6]. `hint` fixes their type."""
        return [Part(chunk, hint or "episodic")]

    def preferences(self, text: str) -> list[Stated]:
        """Return the preferences that the speaker of a line states, and that name a slot."""
        return []

    def says_more(self, text: str) -> bool:
        """Whether a line that states a preference says more than that."""
        return True

    def claims(self, entry: Entry, npc_name: str) -> list[tuple[str, str]]:
        """Return the sentences of an entry, each with what it claims in the third person, or ""."""
        return [
            (each, "" if self.asks(each) else f"{entry.seen_as}: {each}")
            for each in self.sentences(self.without_address(entry.content, forms([npc_name])))
        ]

    def may_correct(self, said: str) -> bool:
        """Whether a line has the form of a correction."""
        return False

    def corrected(self, said: str, before: Sequence[str]) -> tuple[int, str] | None:
        """Return which line `before` (of the same speaker, oldest first) a correction corrects, and
        what its speaker meant to say."""
        return None

    def changed(self, known: str, meant: str) -> str:
        """Return the words that a corrected line has in place of others, or ""."""
        return ""

    def ended(
        self,
        line: NewLine,
        vectors: np.ndarray,
        known: Sequence[MemoryRecord],
        names: Sequence[str],
        by: str,
    ) -> list[EndingVerdict]:
        """Judge which memories a new line ends (worker thread).

        Args:
            vectors: Of the lines before it and of the line, shape (lines, dimensions).
            known: Lines alone, or facts alone, that it may end.
            names: Of the NPC, then of the people whom it knows.
            by: The memory id of the line.
        """
        return [EndingVerdict(False) for _ in known]

    def committing(self, facts: Sequence[MemoryRecord]) -> list[bool]:
        """Whether each fact promises, owes, asks or plans something (worker thread)."""
        return [False for _ in facts]

    # --- how things are said ---

    def as_posed(self, text: str, poser: str) -> str:
        """Tell a pose as the acts of its poser and, for the rest, as the poser's claims."""
        return f"{poser}: {text}" if poser and _QUOTES.search(text) else text

    def in_third_person(self, text: str, name: str) -> str:
        """Tell what a speaker says of themselves in the third person; "" if it is of others."""
        return ""

    def own_sentences(
        self, lines: Sequence[str], names: Sequence[str], described: Sequence[str]
    ) -> list[str]:
        """Return the sentences that a builder writes about an NPC as the NPC tells them;
        `described` holds other texts about it."""
        return [each for line in lines for each in self.sentences(line)]

    def moment(self, now: str) -> str:
        """Say a time as people do: "Saturday, 9 May, in the evening"."""
        return local(now)[:16].replace("T", " ")

    def destination(self, text: str) -> str:
        """Return where a message of leaving says that somebody goes, or ""."""
        return ""

    def speaks_as_assistant(self, text: str) -> bool:
        """Whether a model speaks as the assistant that it is, not as its character (worker)."""
        return False


# --- the language of the game ---------------------------------------------------------------------

_chosen: tuple[object, Language | None] = (object(), None)  # the settings that it was read from


def get() -> Language:
    """Return the language of the game.

    Raises:
        ImproperlyConfigured: LANGUAGE names none.
    """
    global _chosen
    raw = getattr(django_settings, conf.SETTING, None)
    read_from, language = _chosen
    if language is None or raw is not read_from:
        language = named_by(conf.get().LANGUAGE)
        _chosen = raw, language
    return language


def call(verb: str, *args: Any) -> Any:
    """Call a verb of the game's language on a worker thread, or in the memory process."""
    return getattr(get(), verb)(*args)


@lru_cache(maxsize=8)
def named_by(name: str | None) -> Language:
    """Return the language of a class path or of an installed entry point.

    Raises:
        ImproperlyConfigured: There is none; the message says why.
    """
    if name is None:
        return Language()
    try:
        if "." in name:
            found = import_string(name)()
        else:
            [point] = entry_points(group=ENTRY_POINTS, name=name)
            found = point.load()()
    except Exception as error:  # the game's own code runs here
        raise ImproperlyConfigured(
            f"it cannot be loaded ({type(error).__name__}: {error})."
        ) from error
    if not isinstance(found, Language):
        raise ImproperlyConfigured(
            "it is no language: it must inherit contrib_ai_memory.language.Language."
        )
    return found
