"""The one sentence of memory or persona that answers a question, with the setting READER.

Recalled memories are cut into sentences, and what the NPC knows of itself stands beside them. The
network of `reader` scores each; the best one is told, where it is surer than that nothing answers.
Worker threads only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from ..english.addressing import forms, names, without_address
from ..english.answer_types import AnswerTypes
from ..english.contradiction import tells_change
from ..english.questions import (
    asked,
    asks,
    asks_for_several,
    asks_of_a_life,
    asks_when,
    sentences_of,
)
from ..english.reported_speech import first_person
from ..english.tokens import content_words, words_of
from ..local_time import date_of
from ..records import BUILDER, MOVE_KINDS, KnownPerson, MemoryRecord, Recalled, Reply, ReplyRequest
from ..text.sanitising import oneline
from . import reader
from .reader import AnswerReader
from .realisation import ended, tell_all

# of the reader's score and how far below the best of the recall a memory is
# (`python -m benchmarks.reader`)
NOTHING_BELOW = 0.0  # what scores less is not told
NOTHING_BELOW_OF_A_WHOLE = -2.0  # the same, where all of somebody or something is asked for
RECALL_COUNTS = 3.0
ON_ONE_MATTER = 2  # content words that both have
LATER_WITHIN = 0.6  # less than the best score, from which what was said later is told in its place
LONG = 160  # characters from which a memory is cut into sentences
READ = 32  # recalled sentences at most, the best ones
OWN_READ = 12  # sentences of the persona
SEVERAL = 3  # sentences told where the question asks for several, or for a whole person
NEARLY_AS_GOOD = 0.5  # less than the best score, for the second and third
NEARLY_AS_GOOD_ABOUT = 3.0  # the same, of a person or a thing as a whole
OF_COMING = 4.0  # more for a coming or going, where such is asked for; no other is told
LACKS_NUMBER = 3.0  # less for what holds none of the numbers that the question holds
MOST_WORDS = 40  # of all that is told
ATTRIBUTES_TOLD = 2  # of a profile, beside memories of that person
REPEATED = 0.6  # share of words in what is told already that makes it a repetition

_HEADING = re.compile(r"(?m)^\s*#+[^\n]*$")
_OF_COMING = re.compile(
    r"\b(?:com(?:e|es|ing)|came|arriv\w+|leav(?:e|es|ing)|left|went|gone|get here|got here)\b", re.I
)
_NUMBER = re.compile(r"\d+")
_OF_KNOWING = content_words("know tell hear heard think remember say about")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+\.)\s+")
_OF_BEFORE = re.compile(
    r"\b(?:at first|in the beginning|used to|before|originally|once|formerly|old|first)\b", re.I
)
OF_ONESELF = re.compile(r"\b(?:know|heard?|think|tell me)\b.{0,6}\b(?:of|about) me\b", re.I)


@dataclass(frozen=True, slots=True)
class SentenceCandidate:
    """A sentence that may be told.

    Attributes:
        text: The words as they stand in the memory.
        memory: What it is of; None for what the persona says.
        read: The sentence as the reader reads it.
        recalled: How much less than the best the recall scored its memory, 0 or below.
        score: How surely it answers; 0 is as sure as that nothing does.
    """

    text: str
    memory: MemoryRecord | None
    read: str
    recalled: float = 0.0
    score: float = 0.0


def answered(request: ReplyRequest, network: AnswerReader) -> Reply | None:
    """Tell what answers a question; None if nothing does."""
    ranked = scored(request, network)
    if person := portrayed(request):
        return _portrait(person, request, ranked)
    asked_of = words_to_it(request).lower()
    types = AnswerTypes.of(asked_of)
    if types.portrait or types.thing:
        topic = content_words(asked_of) - _OF_KNOWING
        ranked = [each for each in ranked if topic & content_words(each.text)]
        chosen = choose(request, ranked, several=True, least=NOTHING_BELOW_OF_A_WHOLE)
    else:
        chosen = choose(request, ranked)
    return _reply(told(chosen, request), chosen)


def _reply(
    said: str, chosen: Iterable[SentenceCandidate], more: Iterable[str] = ()
) -> Reply | None:
    used = [each.memory.id for each in chosen if each.memory]
    return Reply(said, told=tuple(dict.fromkeys([*used, *more]))) if said else None


def scored(request: ReplyRequest, network: AnswerReader) -> list[SentenceCandidate]:
    """Return the sentences that may be told, the best answer first."""
    found = sentences(request)
    question = reader.question_read(request.speaker, request.npc_name, words_to_it(request))
    scores = network.scores(question, [each.read for each in found])
    judged = [
        replace(each, score=float(score) + RECALL_COUNTS * each.recalled + _more(each, request))
        for each, score in zip(found, scores, strict=True)
    ]
    if asks_of_a_life(words_to_it(request)):
        judged = [each for each in judged if _is_own(each, request)]
    ranked = sorted(judged, key=lambda each: -each.score)
    return ranked if _OF_BEFORE.search(request.utterance) else _latest_first(ranked)


def _more(candidate: SentenceCandidate, request: ReplyRequest) -> float:
    """Return what the reader does not see: numbers, and that a coming or going is asked for."""
    numbers = set(_NUMBER.findall(request.utterance))
    lacks = bool(numbers) and numbers.isdisjoint(_NUMBER.findall(candidate.text))
    moves = candidate.memory and MOVE_KINDS.intersection(candidate.memory.tags)
    return OF_COMING * bool(moves) - LACKS_NUMBER * lacks


def _latest_first(ranked: list[SentenceCandidate]) -> list[SentenceCandidate]:
    """Put what was said later on the matter of the best sentence before it, if it answers too."""
    if not ranked or (since := _told_at(ranked[0])) is None:
        return ranked
    about = content_words(ranked[0].text)
    later = [
        each
        for each in ranked
        if each.score >= max(NOTHING_BELOW, ranked[0].score - _within(each))
        and (_told_at(each) or 0) > since
        and len(about & content_words(each.text)) >= ON_ONE_MATTER
    ]
    newest = max(later, key=lambda each: _told_at(each) or 0, default=None)
    if newest is None:
        return ranked
    first = replace(newest, score=ranked[0].score)
    return [first, *(each for each in ranked if each is not newest)]


def _within(later: SentenceCandidate) -> float:
    """Return how much less than the best what was said later may score."""
    return LATER_WITHIN + tells_change(later.text)


def _is_own(candidate: SentenceCandidate, request: ReplyRequest) -> bool:
    """Whether a sentence is the NPC's own word or knowledge."""
    memory = candidate.memory
    return memory is None or of_builder(memory) or memory.speaker == request.npc_name


def _told_at(candidate: SentenceCandidate) -> int | None:
    """Return the journal id of the last line that it is of, None for what has no time."""
    memory = candidate.memory
    if memory is None or of_builder(memory) or not memory.journal_ids:
        return None
    return max(memory.journal_ids)


def choose(
    request: ReplyRequest,
    ranked: Sequence[SentenceCandidate],
    *,
    several: bool = False,
    least: float | None = None,
) -> list[SentenceCandidate]:
    """Return what is told of the sentences, the best of which stand first.

    Args:
        several: Whether more than one is asked for.
        least: The score below which nothing is told; `NOTHING_BELOW` by default.
    """
    least = NOTHING_BELOW if least is None else least
    within = NEARLY_AS_GOOD_ABOUT if several else NEARLY_AS_GOOD
    several = several or asks_for_several(words_to_it(request))
    chosen: list[SentenceCandidate] = []
    for each in ranked[: SEVERAL if several else 1]:
        near = not chosen or each.score >= chosen[0].score - within
        words = sum(len(one.text.split()) for one in (*chosen, each))
        repeats = any(_repeats(each.text, one.text) for one in chosen)
        fits = not chosen or words <= MOST_WORDS
        if each.score >= least and near and fits and not repeats:
            chosen.append(each)
    return chosen


def told(chosen: Iterable[SentenceCandidate], request: ReplyRequest) -> str:
    """Say sentences to the one who asks."""
    own, memories = [], []
    for each in chosen:
        if each.memory is None or of_builder(each.memory):
            own.append(ended(first_person(each.text, request.npc_name) or each.text))
        elif each.memory.quote:
            memories.append(replace(each.memory, quote=each.text))
        elif each.text == each.memory.content:
            memories.append(each.memory)
        else:
            memories.append(replace(each.memory, content=each.text))
    by_date = asks_when(request.utterance)
    return " ".join(filter(None, [*own, tell_all(memories, request, by_date=by_date)]))


def of_builder(memory: MemoryRecord) -> bool:
    """Whether a memory is knowledge that a builder gave the NPC, which tells it as its own."""
    return memory.record == "taught" or memory.provider == BUILDER


# --- sentences ------------------------------------------------------------------------------------


def sentences(request: ReplyRequest) -> list[SentenceCandidate]:
    """Return the best recalled sentences, then those of the persona.

    What only asks is none, nor is what an experience is about: its lines are there.
    """
    own = [first_person(each, request.npc_name) for each in sentences_of(oneline(request.persona))]
    return [
        *islice(_recalled(request), READ),
        *(
            SentenceCandidate(each, None, reader.sentence_read(request.npc_name, None, each))
            for each in islice(filter(None, own), OWN_READ)
        ),
    ]


def _recalled(request: ReplyRequest) -> Iterator[SentenceCandidate]:
    seen: set[str] = set()
    called = forms((request.npc_name, *request.npc_names))
    ranked = sorted(request.recalled, key=lambda each: -each.score.total)
    for each in ranked:
        if each.memory.record == "experience" or not _may_answer(each.memory, request):
            continue
        said = each.memory.said
        if each.memory.is_talk:
            said = without_address(said, called)
        for text in cut(said, whole=each.memory.record != "taught"):
            if text.lower() not in seen and not asks(text):
                seen.add(text.lower())
                read = _read(each.memory, text, request)
                below = each.score.total - ranked[0].score.total
                yield SentenceCandidate(text, each.memory, read, below)


def _may_answer(memory: MemoryRecord, request: ReplyRequest) -> bool:
    """Whether a memory is none of somebody's coming or going, or that is asked for."""
    if not MOVE_KINDS.intersection(memory.tags):
        return True
    whose = names(memory.speaker) or {*words_of(memory.content)[:1]}
    return bool(_OF_COMING.search(request.utterance)) and not whose.isdisjoint(
        words_of(request.utterance)
    )


def cut(text: str, *, whole: bool = True) -> list[str]:
    """Cut a memory into sentences; a heading is none.

    Args:
        whole: A short one stays whole.
    """
    found = []
    for line in _HEADING.sub("", text).splitlines():
        line = _BULLET.sub("", oneline(line)).strip()
        found += [line] if whole and len(line) <= LONG else sentences_of(line)
    return [each for each in found if any(map(str.isalnum, each))]


def _read(memory: MemoryRecord, text: str, request: ReplyRequest) -> str:
    speaker = request.npc_name if of_builder(memory) else memory.speaker
    days = None
    if memory.record == "entry" and memory.created_at and request.now:
        days = (date_of(request.now) - date_of(memory.created_at)).days
    return reader.sentence_read(speaker, days, text)


# --- people ---------------------------------------------------------------------------------------


def _portrait(
    person: KnownPerson, request: ReplyRequest, ranked: Sequence[SentenceCandidate]
) -> Reply | None:
    """Tell what is known of somebody as a whole: what weighs most, and what the profile adds."""
    theirs = [
        each
        for each in ranked
        if each.memory
        and _is_of(person, each.memory)
        and each.score >= NOTHING_BELOW_OF_A_WHOLE
        and not asked(each.text)
    ]
    theirs.sort(key=lambda each: -each.score - (each.memory.importance if each.memory else 0.0))
    chosen = theirs[:SEVERAL]
    said = told(chosen, request)
    known = [each for each in person.attributes if not _repeats(each, said)]
    evidence = [each.memory.id for each in behind(request, [person])] if known else []
    if evidence:
        said = " ".join(filter(None, [said, *map(ended, known[:ATTRIBUTES_TOLD])]))
    return _reply(said, chosen, evidence)


def _is_of(person: KnownPerson, memory: MemoryRecord) -> bool:
    """Whether a memory tells of somebody, and not only that they came or went."""
    if MOVE_KINDS.intersection(memory.tags):
        return False
    known = person.identity in (memory.about, *memory.entities) or memory.speaker == person.name
    return known or bool(names(person.name) & {*words_of(memory.content)})


def portrayed(request: ReplyRequest) -> KnownPerson | None:
    """Return the person whom a question asks about as a whole, None if it asks for none."""
    people = request.situation.people
    if not people or not AnswerTypes.of(request.utterance.lower()).portrait:
        return None
    others = [each for each in people if each.identity != request.speaker_id]
    if others:
        return others[0]
    return people[0] if OF_ONESELF.search(request.utterance) else None


def behind(request: ReplyRequest, people: Sequence[KnownPerson]) -> list[Recalled]:
    """Return the memories that the profiles of people rest on."""
    numbers = {number for person in people for number in person.evidence}
    return [
        each
        for each in request.recalled
        if each.memory.record == "entry" and numbers & {*each.memory.journal_ids}
    ]


def _repeats(text: str, said: str) -> bool:
    """Return whether most words of a text were said."""
    words = content_words(text)
    return len(words & content_words(said)) >= REPEATED * len(words)


def words_to_it(request: ReplyRequest) -> str:
    return without_address(request.utterance, forms((request.npc_name, *request.npc_names)))
