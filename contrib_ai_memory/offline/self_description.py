"""How an NPC introduces itself: by the first sentence of its persona, in the first person."""

from __future__ import annotations

import re

from ..english.own_words import own_sentences, pronoun_of
from ..english.questions import sentences_of
from ..records import ReplyRequest
from ..text.sanitising import oneline
from .realisation import ended

_ARTICLE = re.compile(r"^(?:the|an?)\s", re.IGNORECASE)
# "Odile runs the teahouse, a broad woman with a burned thumb": nobody says that of themselves
_LOOKS = re.compile(r", an? [^,]*\b(?:m[ae]n|wom[ae]n|person|fellow|girl|boy|lad|lass)\b.*$", re.I)


def introduction(request: ReplyRequest) -> str:
    """Introduce the NPC by its name and the first sentence of its persona."""
    named = f"I am {request.npc_name}"
    first = next(iter(sentences_of(oneline(request.persona))), "").rstrip(".!")
    if _ARTICLE.match(first):
        return f"{named}, {first[0].lower()}{first[1:]}."
    names, pronoun = (request.npc_name, *request.npc_names), pronoun_of([request.persona])
    told = [each for each in own_sentences([first], names, pronoun, persona=True) if each.own]
    return " ".join([f"{named}.", *(ended(_LOOKS.sub("", each.text)) for each in told)])
