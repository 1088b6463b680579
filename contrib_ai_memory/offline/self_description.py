"""How an NPC introduces itself: by the first sentence of its persona, in the first person.

A persona is written in the third person or the second ("Mara has kept the inn", "You keep the
inn"). Of a sentence that has another subject or cannot be put in the first person the NPC says
nothing.
"""

from __future__ import annotations

import re

from ..english.questions import sentences_of
from ..english.reported_speech import first_person
from ..text.sanitising import oneline

_FIRST_CLAUSE = re.compile(r"^(?:you are|you're|i am|i'm)\s+", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:the|an?)\s", re.IGNORECASE)
# "Odile runs the teahouse, a broad woman with a burned thumb": nobody says that of themselves
_LOOKS = re.compile(r", an? [^,]*\b(?:m[ae]n|wom[ae]n|person|fellow|girl|boy|lad|lass)\b.*$", re.I)


def introduction(npc_name: str, persona: str) -> str:
    """Introduce the NPC by its name and the first sentence of its persona."""
    first = next(iter(sentences_of(oneline(persona))), "").rstrip(".!")
    bare = _FIRST_CLAUSE.sub("", first)
    if npc_name.lower() in bare.lower():
        bare = re.sub(rf"^{re.escape(npc_name)},?\s*", "", bare, flags=re.IGNORECASE)
    if not _ARTICLE.match(bare):
        told = _LOOKS.sub("", first_person(first, npc_name))
        return f"I am {npc_name}. {told}." if told else f"I am {npc_name}."
    return f"I am {npc_name}, {bare[0].lower()}{bare[1:]}."
