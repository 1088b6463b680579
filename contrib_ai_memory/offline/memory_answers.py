"""Answers from memory: which recalled memories may be told, and what is said of them.

`answer_selection` chooses among them. An answer that may well miss the question begins with an
expression of doubt.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from .. import conf
from ..embedding.model import ModelAway
from ..english.addressing import forms, names, without_address
from ..english.contradiction import are_apart
from ..english.questions import (
    asks,
    asks_about,
    asks_of_a_life,
    asks_of_you,
    asks_when,
    seems_to_ask,
    sentences_of,
    statements,
)
from ..english.tokens import content_words, words_of
from ..records import MOVE_KINDS, MemoryRecord, Recalled, Reply, ReplyRequest
from . import reader, sentence_answers
from .answer_selection import SURE_FROM, confidence, is_beside_the_point, select, told_of
from .courtesies import are_noise, is_mere_courtesy
from .phrases import phrase
from .realisation import ended, tell_all
from .self_description import told_of_itself
from .sentence_answers import OF_ONESELF, behind, portrayed, words_to_it

# confidence in an answer, 0-1 (`python -m benchmarks.answers`)
NOTHING_BELOW = 0.1  # below it nothing is told
ATTRIBUTES_TOLD = 2  # of a profile, beside memories of that person
REPEATED = 0.7  # share of an attribute's words in what is told that makes it a repetition
_ASKS_OF_MOVES = re.compile(
    r"\b(?:where|when|who|way|com(?:e|es|ing)|came|arriv\w*|leav(?:e|es|ing)|left|go|goes|went|gone"
    r"|seen?|saw|visit\w*|here|there|around|still|been|depart\w*|return\w*|back|turn(?:ed|s)? up"
    r"|show(?:ed|n|s)? up|pass(?:ed|es)?|enter\w*|stop(?:ped)? by|drop(?:ped)? (?:in|by)|follow\w*"
    r"|fle(?:e|d)|ran|run|travel\w*|(?:dis)?appear\w*|vanish\w*)\b",
    re.IGNORECASE,
)
# "you're a stupid old goat", with nothing behind it; not "you are invited to my wedding"
_TO_ITS_FACE = re.compile(
    r"\W*(?:[Yy]ou|u)(?:['’]?re| are| r)(?: (?:an?|the|so|too|very|such|really|my))*"
    r"(?: (?!\w*(?:ing|ed)\b)[a-z'’-]{2,}){1,3}[.!]*$"
)


def worth_telling(request: ReplyRequest) -> list[Recalled]:
    """Return the recalled memories that may be told at all.

    Left out are experiences, questions, courtesies, and lines of talk that are worth nothing later.
    """
    own = forms((request.npc_name, *request.npc_names))
    known = known_words(request)
    lines = [
        (each, without_address(each.memory.said, own))
        for each in request.recalled
        if each.memory.record != "experience" and not each.memory.question
    ]
    lines = [
        (each, said)
        for each, said in lines
        if not (asks(said) or asks_about(said, known) or is_mere_courtesy(said))
        if not (each.memory.is_talk and _only_seems_to_ask(said, known))
    ]
    noise = are_noise([statements(said) or said for _each, said in lines])
    return [
        each
        for (each, _said), idle in zip(lines, noise, strict=True)
        if not (idle and _is_open_talk(each.memory))
    ]


def _only_seems_to_ask(said: str, known: set[str]) -> bool:
    """Whether a line is one question, in whatever order its words are."""
    return len(sentences_of(said)) == 1 and seems_to_ask(said, known)


def _is_open_talk(memory: MemoryRecord) -> bool:
    """Whether a memory is a line that somebody said aloud to whoever was there."""
    return memory.is_talk and not memory.private


def known_words(request: ReplyRequest) -> set[str]:
    """Return the words that name people whom the NPC knows."""
    return {word for name in request.situation.known_names for word in names(name)}


def tellable(request: ReplyRequest) -> ReplyRequest:
    """Return a request with the memories alone that may be told in answer to a question.

    What only the agenda or a profile rests on was not recalled, nor were the lines of the last talk
    and the news: they answer nothing else.
    """
    beside = {each for item in request.situation.agenda for each in item.evidence}
    beside |= set(request.situation.lines_asked_for)
    beside |= {each.memory.id for each in behind(request, request.situation.people)}
    recalled = tuple(
        each
        for each in worth_telling(request)
        if not are_apart(request.utterance, each.memory.said)
        and (each.tokens or each.memory.id not in beside)
        and _may_answer(each.memory, request)
    )
    return replace(request, recalled=recalled)


def _may_answer(memory: MemoryRecord, request: ReplyRequest) -> bool:
    """Whether a memory is of a kind that may answer a question.

    That somebody came or went answers only what asks for such; so does what was said of the NPC.
    """
    if MOVE_KINDS.intersection(memory.tags):
        return bool(_ASKS_OF_MOVES.search(request.utterance))
    own = forms((request.npc_name, *request.npc_names))
    said = without_address(memory.said, own)
    return not _TO_ITS_FACE.match(said) or not memory.is_talk or asks_of_you(request.utterance)


def from_memory(request: ReplyRequest) -> Reply | None:
    """Tell what answers best, with a doubt where it may not be the answer; None for nothing.

    With the setting READER it is one sentence, and no doubt.
    """
    if conf.get().READER and (network := reader.shared()):
        return sentence_answers.answered(request, network)
    profile = _profile(request)
    own = _own_life(request)
    request = of_whom_it_asks(tellable(request))
    try:
        chosen = told_of(request, select(request))
        told, sure = [each.memory for each in chosen], confidence(request, chosen)
        if is_beside_the_point(request, chosen, sure):
            told = []
    except ModelAway:  # the words alone found what was recalled
        told, sure = [each.memory for each in request.recalled[:1]], NOTHING_BELOW
    if own and sure < SURE_FROM:
        return own
    if not told or sure < NOTHING_BELOW:
        return None
    said = tell_all(told, request, by_date=asks_when(request.utterance))
    if sure < SURE_FROM and not OF_ONESELF.search(request.utterance):
        said = f"{phrase('doubt', request)} {said}"
    used = [each.id for each in told]
    if known := [each for each in profile.attributes if not _repeats(each, said)]:
        said = " ".join([said, *map(ended, known[:ATTRIBUTES_TOLD])])
        used += [each.memory.id for each in profile.evidence]
    return Reply(said, told=tuple(dict.fromkeys(used)))


def of_whom_it_asks(request: ReplyRequest) -> ReplyRequest:
    """Return a request that asks what somebody is like with the memories alone that tell it.

    Those of others are none, nor is that they came or went.
    """
    person = portrayed(request)
    if person is None:
        return request
    named = names(person.name)
    recalled = tuple(
        each
        for each in request.recalled
        if not MOVE_KINDS.intersection(each.memory.tags)
        and (
            person.identity in (each.memory.about, *each.memory.entities)
            or each.memory.speaker == person.name
            or named & {*words_of(each.memory.content)}
        )
    )
    return replace(request, recalled=recalled)


def _own_life(request: ReplyRequest) -> Reply | None:
    """Answer a question about the NPC's own life and taste by its persona; None for any other."""
    said = words_to_it(request)
    if not asks_of_a_life(said) or len(request.situation.people) > 1:
        return None
    told = told_of_itself(said, request.npc_name, request.persona)
    return Reply(told or phrase("own life", request), told=())


@dataclass(frozen=True, slots=True)
class _Profile:
    """What a profile says of the person a question is about, and the memories behind it."""

    attributes: tuple[str, ...] = ()
    evidence: tuple[Recalled, ...] = ()


def _profile(request: ReplyRequest) -> _Profile:
    """Return the profile that a question asks for, empty if it asks for no person as a whole."""
    person = portrayed(request)
    if person is None:
        return _Profile()
    evidence = behind(request, [person])
    return _Profile(person.attributes, tuple(evidence)) if evidence else _Profile()


def _repeats(attribute: str, said: str) -> bool:
    """Return whether most words of an attribute were said."""
    words = content_words(attribute)
    return len(words & content_words(said)) >= REPEATED * len(words)
