"""Courtesies: greetings, and which lines are mere small talk.

Small talk is judged by the sentence classifier that the night uses, too.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from ..embedding import embedder
from ..embedding.model import ModelAway
from ..english import sentence_classifier
from ..english.sentence_classifier import NOISE, Sentence
from ..english.small_talk import courtesy_of, is_chatter
from ..language import Intent
from ..records import Reply, ReplyRequest
from ..text.names import forms, names
from .matter import thing_of
from .phrases import says
from .told_days import age, day_told

LONGEST = 10  # words of small talk
LONG_ABSENT = timedelta(days=7)
COURTESY_WORDS = 4  # "hello there, old friend": nothing to tell of it
_GREETS = re.compile(r"greet|return|long absent|spoke of")  # rows


def greeted(answer: Reply, said: str, request: ReplyRequest) -> Reply:
    """Put a greeting before an answer to a first line that greets: "Hello Mara, how is trade?"."""
    greets = Intent.GREETING in (courtesy_of(said), courtesy_of(request.utterance))
    if not greets or request.has_spoken or _GREETS.match(answer.row):
        return answer
    rest = answer.text.replace(f", {request.speaker}", "", 1)  # who is greeted is named there
    return replace(answer, text=f"{_greet(request).text} {rest}")


def is_mere_courtesy(said: str) -> bool:
    return is_chatter(said) or (
        len(said.split()) <= COURTESY_WORDS and courtesy_of(said) is not None
    )


def greeting(request: ReplyRequest) -> Reply:
    """Greet the speaker: one whom the NPC knows by what they last spoke of."""
    made = _greet(request)
    if any(item.pressing for item in request.situation.agenda):
        return made  # which is brought up behind it
    lately = set(request.situation.lines_asked_for)
    told = [each.memory for each in request.recalled if each.memory.id in lately]
    known = {*forms((request.npc_name, *request.npc_names)), *names(request.speaker)}
    known_well = made.row in ("returning", "long absent")
    for memory in sorted(told if known_well else (), key=lambda each: (-each.importance, each.id)):
        if memory.is_talk and (topic := thing_of(memory.said, known)):
            spoke_of = says("spoke of", request, topic=topic)
            text = spoke_of.text if made.row == "returning" else f"{made.text} {spoke_of.text}"
            return Reply(text, told=(memory.id,), row=spoke_of.row)
    line = _own_line(request)
    return replace(made, text=f"{made.text} {line}") if line else made


def _own_line(request: ReplyRequest) -> str:
    """Return one of the NPC's example lines, which it says once as somebody comes, or ""."""
    lines = [*filter(None, map(str.strip, request.voice.splitlines()[1:]))]
    if request.has_spoken or not lines:
        return ""
    return lines[zlib.crc32(f"{request.speaker}{request.now[:10]}".encode()) % len(lines)]


def _greet(request: ReplyRequest) -> Reply:
    speaker = next((p for p in request.situation.people if p.identity == request.speaker_id), None)
    if request.has_spoken:
        return says("greeted again", request)
    if not request.met_before:
        return says("greeting", request)
    before = speaker.seen_before if speaker else ""
    if before and request.now and age(before, request.now) >= LONG_ABSENT:
        return says("long absent", request, when=day_told(before, request.now, by_date=True)[3:])
    return says("returning", request)


def are_noise(lines: Sequence[str]) -> list[bool]:
    """Judge which lines of talk to the NPC are worth nothing later (worker thread).

    Small talk is short: a longer line may hold what somebody asks for. Where no classifier fits the
    embedding model, or the model is away, none is judged so.
    """
    try:
        model = embedder.shared()
        classifier = sentence_classifier.load(model.name, model.dimensions)
        if classifier is None or not lines:
            return [False] * len(lines)
        vectors = model.encode(list(lines))
    except ModelAway:
        return [False] * len(lines)
    judged = classifier.judge(vectors, [Sentence(each, named=True) for each in lines])
    return [
        each.at_least[0] < NOISE and len(line.split()) <= LONGEST
        for line, each in zip(lines, judged, strict=True)
    ]
