"""English, the default language of a game: `english` and `offline` as a `language.Language`."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import date
from functools import lru_cache

from ..language import (
    AgendaLanguage,
    ItemWords,
    Language,
    Manner,
    Phrases,
    QueryReading,
    SaidBefore,
    Stated,
    Understood,
)
from ..offline import acts, intents, phrases, reactions, reported_lines, told_days
from ..offline.offline_provider import OfflineProvider
from ..records import LineInTalk, LineReading, MemoryRecord
from ..text.names import forms
from . import (
    addressing,
    agenda_changes,
    agenda_questions,
    agenda_sentences,
    assistant_talk,
    commitments,
    contradiction,
    corrections,
    ended_memories,
    follow_ups,
    own_words,
    persona_protection,
    presence_questions,
    questions,
    reported_speech,
    routing,
    salience,
    small_talk,
    stated_preferences,
    time_words,
    tokens,
)
from .due_dates import due

ITEMS_READ = 1024  # texts of agenda items whose words are cached

_TELLS_PAST = re.compile(
    r"\b(?:was|were|had|did|came|went|took|lost|saw|found|\w{3,}ed)\b", re.IGNORECASE
)
_ASKS_AWAKE = re.compile(
    r"\b(?:are|r) (?:you|u|ye) (?:still )?(?:asleep|sleeping|awake|up)\b|\bwake up\b", re.I
)
# "what did Bram say about me?"; not "what did I say about me"
_SAID_OF_ME = re.compile(
    r"(?P<said>\b(?:did|does|do|has|have) (?!i\b|you\b|u\b|ye\b)[\w'’-]+"
    r" (?:say|said|says|tell|told|mention|think|thinks|reckon)\b"
    r"(?: (?:to )?(?:you|u|ye))? (?:about|of) )me\b",
    re.IGNORECASE,
)
_OF_THIS_TALK = re.compile(r"\bbeen talking\b", re.IGNORECASE)
# "Bram is leaving The Drowned Lantern, heading for The Village Green."
_HEADING = re.compile(r"\bheading (?:for|to|towards) (?P<place>[^.]+)")
_TOGETHER = re.compile(r"\b(?:both|each|together)\b", re.IGNORECASE)
_QUESTION_WORD = re.compile(rf"\b(?:{'|'.join(tokens.QUESTION_WORDS)})\b", re.IGNORECASE)
_JOINED = re.compile(r"\s*(?:,|&|,?\s*\b(?:and|or|nor)\b)\s*", re.IGNORECASE)


class EnglishAgenda(AgendaLanguage):
    """Commitments in English."""

    commits = staticmethod(agenda_changes.commits)
    changes = staticmethod(agenda_changes.changes)
    ended = staticmethod(agenda_changes.ended)
    quoted = staticmethod(agenda_sentences.quoted)
    told = staticmethod(agenda_sentences.told)

    def words(self, text: str) -> ItemWords:
        return _item_words(text)


@lru_cache(maxsize=ITEMS_READ)
def _item_words(text: str) -> ItemWords:
    return ItemWords(
        commitments.recipient(text),
        commitments.creditor(text),
        commitments.reminds(text),
        commitments.reminds_at_parting(text),
    )


class EnglishPhrases(Phrases):
    """The stock phrases of `offline.phrases`."""

    texts = phrases.PHRASES
    tones = phrases.TONES
    former = phrases.FORMER
    addressed = staticmethod(phrases.addressed)


class English(Language):
    """English as players type it. Rules and small classifiers; no language model."""

    agenda = EnglishAgenda()
    phrases = EnglishPhrases()
    provider = OfflineProvider()
    lesson = "Bear this in mind."
    third_person = tokens.THIRD
    any_lines = (
        "I am so tired today.",
        "What a storm that was last night.",
        "My brother lives in the city.",
        "Did you see that?",
        "I will come back on Friday.",
        "That is the funniest thing I ever heard.",
        "Can I have some water?",
        "You are a good friend.",
    )

    small_talk = (
        ("Evening.", "Evening to you. Sit down, if you have the time."),
        ("caught a pike today, big as my arm", "A pike of that size? Then nobody goes hungry."),
        ("my knee hurts when it rains", "Mine too. Keep it warm, and let others carry the wood."),
        (
            "why did the hen cross the bridge? cause of you haha",
            "Very funny. I will tell the hens.",
        ),
    )

    def load(self) -> None:
        addressing.confidence.load()
        questions.score.load()

    named = staticmethod(addressing.named)
    beside = staticmethod(addressing.beside)
    without_address = staticmethod(addressing.without_address)
    reads = staticmethod(tokens.is_english)
    asks = staticmethod(questions.asks)
    confides = staticmethod(addressing.confides)

    def read(
        self, heard: LineInTalk, given: Sequence[MemoryRecord] | None = None
    ) -> LineReading | None:
        read = acts.read(heard)
        if read is None or given is None:
            return read
        return replace(
            read,
            lead=acts.lead(heard),
            errand=reactions.is_kept(heard.line.text),
            alarm=reactions.is_alarm(heard.line.text, read),
        )

    sentences = staticmethod(questions.sentences_of)
    content_words = staticmethod(tokens.content_words)
    numbers = staticmethod(contradiction.numbers)
    frequency = staticmethod(tokens.zipf)
    importance = staticmethod(salience.content_importance)
    telling_words = staticmethod(salience.telling_words)
    salience = staticmethod(salience.salience)
    of_the_past = staticmethod(contradiction.of_the_past)
    denies = staticmethod(contradiction.denies)
    says_the_same = staticmethod(contradiction.says_the_same)
    parts = staticmethod(routing.parts_of)
    claims = staticmethod(reported_lines.sentences_in)
    may_correct = staticmethod(corrections.may_correct)
    corrected = staticmethod(corrections.completed)
    changed = staticmethod(corrections.changed)
    ended = staticmethod(ended_memories.ended)
    committing = staticmethod(ended_memories.committing)
    as_posed = staticmethod(reported_speech.as_posed)
    moment = staticmethod(told_days.moment_told)
    speaks_as_assistant = staticmethod(assistant_talk.is_of_assistant)

    def asks_and_tells_time(self, text: str) -> tuple[float, bool]:
        return questions.asked(text), time_words.tells_time(text)

    def tells_nothing(self, text: str, names: Sequence[str]) -> bool:
        if any(questions.asks(reported_lines.without_name(text, name)) for name in names):
            return True
        unsaid = addressing.without_address(text, forms(names))
        return all(map(addressing.hushes, questions.sentences_of(unsaid)))

    def asks_if_awake(self, text: str) -> bool:
        return bool(_ASKS_AWAKE.search(text))

    def manner(self, text: str) -> Manner:
        return Manner(
            small_talk.requests(text),
            small_talk.courtesy_of(text),
            bool(_TELLS_PAST.search(text)),
            questions.asks_of_you(text),
            small_talk.cries_out(text),
            small_talk.exclaims(text),
            small_talk.collapses(text),
            follow_ups.asks_on(text),
        )

    def due(self, text: str, now: str) -> str:
        found = due(text, now)
        return found.iso if found else ""

    def about_itself(self, text: str, names: Sequence[str]) -> bool:
        return persona_protection.about_itself(text, *names)

    def query(self, text: str, today: date) -> QueryReading:
        return QueryReading(
            of_oneself=questions.asks_of_oneself(text),
            of_you=questions.asks_of_you(text),
            of_asking=questions.asks_of_asking(text),
            of_the_past=contradiction.of_the_past(text),
            when=questions.asks_when(text),
            several=questions.asks_for_several(text),
            dates=tuple(time_words.named_in(text, today)),
        )

    def asks_of_first(self, query: str, first: tuple[int, int], other: tuple[int, int]) -> bool:
        """The subject stands first behind the question word: "What does Bram owe Alice?"."""
        if _TOGETHER.search(query) or not _QUESTION_WORD.search(query[: first[0]]):
            return False
        return not _JOINED.fullmatch(query[first[1] : other[0]])

    def understood(
        self, said: str, completed: str, names: Collection[str], heard: LineInTalk, now: str
    ) -> Understood:
        line = intents.understood(said, completed, names, heard)
        meant = line.meant
        return replace(
            line,
            courtesy=small_talk.courtesy_of(meant),
            presence=presence_questions.read(meant),
            agenda=agenda_questions.read(meant, now),
            day=told_days.day_asked(meant, now),
            of_a_whole=questions.asks_of_a_whole(meant.lower()),
            of_this_talk=bool(_OF_THIS_TALK.search(meant)),
            of_oneself=questions.asks_of_oneself(meant),
            of_the_past=contradiction.of_the_past(meant),
        )

    def completed(
        self, said: str, turns: Sequence[SaidBefore], names: Collection[str], speaker: str
    ) -> str:
        whole = follow_ups.completed(said, turns, names)
        # who asks what was said of them is named in it
        return _SAID_OF_ME.sub(lambda found: f"{found['said']}{speaker}", whole)

    def preferences(self, text: str) -> list[Stated]:
        told = routing.parts_of(questions.own_statements(text))
        found = (stated_preferences.stated(part.text) for part in told if part.preference)
        return [each for each in found if each]

    def says_more(self, text: str) -> bool:
        """A greeting or a name is no more."""
        rest = [part.text for part in routing.parts_of(text) if part.preference is None]
        return stated_preferences.preferences_in(text) > 1 or any(
            routing.states_a_fact(each)
            or any(
                adds > 0
                for name, adds in salience.signals_of(each).items()
                if name != "named entity"
            )
            for each in rest
        )

    def in_third_person(self, text: str, name: str) -> str:
        of_self = reported_speech.speaks_of_self(text)
        return reported_speech.third_person(text, name) if of_self else ""

    def own_sentences(
        self, lines: Sequence[str], names: Sequence[str], described: Sequence[str]
    ) -> list[str]:
        pronoun = own_words.pronoun_of(described, "\n".join(lines))
        return [
            each.text
            for line in lines
            for each in own_words.own_sentences(questions.sentences_of(line), names, pronoun)
        ]

    def destination(self, text: str) -> str:
        found = _HEADING.search(text)
        return found["place"] if found else ""
