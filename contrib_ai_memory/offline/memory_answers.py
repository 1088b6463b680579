"""Answers from memory: what is told of the sentences that answer a question.

`sentence_answers` ranks them. The best one is told, up to three where the question asks for
several, or for somebody or something as a whole. Worker threads only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ..english.addressing import without_address
from ..english.questions import (
    asked,
    asks,
    asks_of_a_life,
    asks_of_a_thing,
    asks_of_a_whole,
    asks_of_oneself,
    asks_of_oneself_as_a_whole,
    statements,
)
from ..english.tokens import content_words
from ..records import MOVE_KINDS, KnownPerson, MemoryRecord, Recalled, Reply, ReplyRequest, Weighed
from ..text.names import forms, names
from ..text.segmentation import words_of
from .courtesies import are_noise, is_mere_courtesy
from .phrases import phrase
from .realisation import ended
from .sentence_answers import (
    SURELY,
    SentenceCandidate,
    asks_of_a_secret,
    choose,
    is_the_askers_secret,
    of_builder,
    ranked,
    told,
    words_to_it,
)

# scores of `sentence_answers` (`python -m benchmarks.reader`)
NOTHING_BELOW_OF_A_WHOLE = -1.0  # where all of somebody or something is asked for
WEIGHED = 8  # sentences kept beside a reply
SHOWN = 160  # characters of each
ATTRIBUTES_TOLD = 2  # of a profile

_OF_KNOWING = content_words("know tell hear heard think remember say about")


@dataclass(frozen=True, slots=True)
class MemoryAnswer:
    """What memory says to a question."""

    reply: Reply | None  # none if nothing answers
    surely: bool = False  # whether hardly anything else can be meant
    weighed: tuple[Weighed, ...] = ()  # as `Reply` has it
    score: float = 0.0  # of the best sentence told, as `sentence_answers` has it
    own: bool = False  # whether that is of the persona sheet
    secret: bool = False  # whether it is what the asker said in confidence, and asks for


def from_memory(request: ReplyRequest) -> MemoryAnswer:
    """Look for what answers a question."""
    person = portrayed(request)
    # what says who somebody is stands out at that question alone
    found = ranked(replace(request, utterance=f"who is {person.name}?") if person else request)
    if person:
        reply = portrait(person, request, found)
        return MemoryAnswer(reply, weighed=reply.weighed if reply else _weighed(found))
    question = words_to_it(request).lower()
    if asks_of_a_whole(question):
        topic = content_words(question) - _OF_KNOWING
        of_it = [each for each in found if topic & content_words(each.text)]
        chosen = choose(of_it, several=True, least=NOTHING_BELOW_OF_A_WHOLE)
    else:
        chosen = choose(found)
    weighed = _weighed(found, chosen)
    reply = _reply(told(chosen, request), chosen, weighed)
    if reply is None and asks_of_a_life(question) and _is_of_nobody_else(request):
        reply = Reply(phrase("own life", request), (), weighed)
    score = chosen[0].score if chosen else 0.0
    own = bool(chosen) and (chosen[0].memory is None or of_builder(chosen[0].memory))
    secret = bool(chosen) and is_the_askers_secret(chosen[0], request)
    secret = secret and asks_of_a_secret(request)
    return MemoryAnswer(reply, score >= SURELY, weighed, score, own, secret)


def _is_of_nobody_else(request: ReplyRequest) -> bool:
    """Whether a question to the NPC speaks of no other, and not of the asker."""
    question = words_to_it(request)
    others = {word for name in request.situation.known_names for word in names(name)}
    return not asks_of_oneself(question) and others.isdisjoint(words_of(question))


def _reply(
    said: str,
    chosen: Iterable[SentenceCandidate],
    weighed: tuple[Weighed, ...],
    more: Iterable[str] = (),
) -> Reply | None:
    used = [each.memory.id for each in chosen if each.memory]
    return Reply(said, tuple(dict.fromkeys([*used, *more])), weighed) if said else None


def _weighed(
    found: Sequence[SentenceCandidate], chosen: Sequence[SentenceCandidate] = ()
) -> tuple[Weighed, ...]:
    """Return what was chosen, then the best of the other sentences, as staff is shown them."""
    others = sorted((each for each in found if each not in chosen), key=lambda each: -each.score)
    return tuple(
        Weighed(
            each.text[:SHOWN],
            round(each.score, 2),
            each.memory.id if each.memory else "",
            each in chosen,
            bool(each.memory and each.memory.private),
        )
        for each in [*chosen, *others][:WEIGHED]
    )


# --- people ---------------------------------------------------------------------------------------


def portrait(
    person: KnownPerson,
    request: ReplyRequest,
    found: Sequence[SentenceCandidate],
) -> Reply | None:
    """Tell what is known of somebody as a whole: what says who they are or what they do, else what
    their profile says, else what they did.

    Args:
        found: The sentences as `ranked` returns them.
    """
    worth = {each.id for each in worth_telling(request)}
    theirs = [
        each
        for each in found
        if each.memory
        and each.memory.id in worth
        and _is_of(person, each.memory)
        and not asked(each.text)
    ]
    of_words = [each for each in theirs if each.memory and not each.memory.is_deed]
    chosen = choose(of_words or theirs, several=True, least=NOTHING_BELOW_OF_A_WHOLE)
    if person.attributes and not (chosen and of_words):
        evidence = [each.memory.id for each in behind(request, [person])]
        said = " ".join(map(ended, person.attributes[:ATTRIBUTES_TOLD])) if evidence else ""
        if said:
            return _reply(said, (), _weighed(found), evidence)
    return _reply(told(chosen, request), chosen, _weighed(found, chosen))


def _is_of(person: KnownPerson, memory: MemoryRecord) -> bool:
    """Whether a memory tells of somebody, and not only that they came or went."""
    if MOVE_KINDS.intersection(memory.tags):
        return False
    known = person.identity in (memory.about, *memory.entities) or memory.speaker == person.name
    return known or bool(names(person.name) & {*words_of(memory.content)})


def portrayed(request: ReplyRequest) -> KnownPerson | None:
    """Return the person whom a question asks about as a whole, None if it asks for none."""
    people, question = request.situation.people, request.utterance.lower()
    if not people or not asks_of_a_whole(question) or asks_of_a_thing(question):
        return None
    others = [each for each in people if each.identity != request.speaker_id]
    if others:
        return others[0]
    return people[0] if asks_of_oneself_as_a_whole(question) else None


def behind(request: ReplyRequest, people: Sequence[KnownPerson]) -> list[Recalled]:
    """Return the memories that the profiles of people rest on."""
    numbers = {number for person in people for number in person.evidence}
    return [
        each
        for each in request.recalled
        if each.memory.record == "entry" and numbers & {*each.memory.journal_ids}
    ]


# --- what may be told unasked ---------------------------------------------------------------------


def worth_telling(request: ReplyRequest) -> list[MemoryRecord]:
    """Return the recalled memories that may be told where no question chooses among them.

    Left out are experiences, questions, courtesies, and lines of talk that are worth nothing later.
    """
    own = forms((request.npc_name, *request.npc_names))
    lines = [
        (each.memory, without_address(each.memory.said, own))
        for each in request.recalled
        if each.memory.record != "experience" and not each.memory.question
    ]
    lines = [(memory, said) for memory, said in lines if not (asks(said) or is_mere_courtesy(said))]
    noise = are_noise([statements(said) or said for _memory, said in lines])
    return [
        memory
        for (memory, _said), idle in zip(lines, noise, strict=True)
        if not (idle and memory.is_talk and not memory.private)
    ]
