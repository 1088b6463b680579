"""Confirmations: what the offline provider says to a line that asks the NPC to do something later.

A request to forget something or to keep quiet about it is promised, and tells nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..english.addressing import forms, hushes, without_address
from ..english.intents import intent_of
from ..english.questions import sentences_of
from ..records import Reply, ReplyRequest
from . import offline_reply

PHRASES: Mapping[str, tuple[str, ...]] = {
    "unsaid": ("I will not speak of it.", "Nobody will hear of it from me, {name}."),
}
KINDS = (*offline_reply.PHRASES, *PHRASES)  # of stock phrases, as settings name them


def confirm(request: ReplyRequest) -> Reply | None:
    """Promise what a line asks of the NPC; None if it asks for nothing."""
    said = without_address(request.utterance, forms((request.npc_name, *request.npc_names)))
    if request.kind == "give" or request.question or intent_of(said):
        return None
    sentences = sentences_of(said)
    if sentences and all(map(hushes, sentences)):
        return _confirmed("unsaid", request)
    return None


def _confirmed(kind: str, request: ReplyRequest, **more: str) -> Reply:
    known = replace(request, phrases={**PHRASES, **request.phrases})
    return Reply(offline_reply.phrase(kind, known, **more), told=())
