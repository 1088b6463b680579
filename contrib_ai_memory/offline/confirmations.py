"""Confirmations: what the offline provider says to a line that asks the NPC to do something later.

Asked to forget something or to keep it quiet, the NPC promises to, and says nothing else. Asked to
keep, pass on or remember something, it promises to, and names the day if the line does.
"""

from __future__ import annotations

import re
from datetime import date

from ..english.addressing import confides, forms, hushes, without_address
from ..english.commitments import commitment, reminder
from ..english.due_dates import due
from ..english.intents import intent_of
from ..english.questions import asks, sentences_of
from ..english.reported_speech import capital, second_person
from ..records import Reply, ReplyRequest
from .phrases import phrase
from .told_days import dated

_POLITELY = re.compile(
    r"(?:and |so |please )?(?:can|could|will|would|won'?t) (?:you|u|ye)\b"
    r"|.*\b(?:can|could|will|would|won'?t) (?:you|u|ye|ya)\W*$",
    re.IGNORECASE,
)


def confirm(request: ReplyRequest) -> Reply | None:
    """Promise what a line asks of the NPC; None if it asks for nothing."""
    said = without_address(request.utterance, forms((request.npc_name, *request.npc_names)))
    if request.kind == "give" or request.question or intent_of(said):
        return None
    sentences = sentences_of(said)
    if sentences and all(map(hushes, sentences)):
        return _confirmed("unsaid", request)
    for sentence in sentences if request.now else ():
        if _requests(sentence, request.now):
            return _promised(sentence, request)
    # "but dont tell any1 k??" asks for nothing else
    if confides(said) and not any(asks(each) and not confides(each) for each in sentences):
        return _confirmed("confided", request)
    return None


def _requests(sentence: str, now: str) -> bool:
    """Whether a sentence asks for something to be done later, and not for an answer."""
    if confides(sentence) or (asks(sentence) and not _POLITELY.match(sentence)):
        return False
    return commitment(sentence, now, to_listener=True) == "request"


def _promised(sentence: str, request: ReplyRequest) -> Reply:
    named = due(sentence, request.now)
    when = _told(named.day, date.fromisoformat(request.now[:10])) if named else ""
    if what := reminder(sentence.replace(named.said, " ") if named else sentence):
        topic = ", ".join(filter(None, [second_person(what), when]))
        return _confirmed("reminds", request, topic=capital(topic))
    if when:
        return _confirmed("asked for a day", request, topic=capital(when))
    return _confirmed("asked for", request)


def _told(day: date, today: date) -> str:
    near = {0: "today", 1: "tomorrow"}
    return near.get((day - today).days) or f"on {dated(day, today)}"


def _confirmed(kind: str, request: ReplyRequest, **more: str) -> Reply:
    return Reply(phrase(kind, request, **more), told=())
