"""What an NPC says of itself: sentences of its persona, in the first person.

A persona is written in the third person or the second ("Mara has kept the inn", "You keep the
inn"). Of a sentence that has another subject or cannot be put in the first person the NPC says
nothing.
"""

from __future__ import annotations

import re

from ..english.questions import sentences_of
from ..english.reported_speech import first_person
from ..english.tokens import content_words, stem, words_of, zipf
from ..text.sanitising import oneline

COMMON = 5.5  # Zipf frequency from which a word that both have says nothing: "come", "people"

_FIRST_CLAUSE = re.compile(r"^(?:you are|you're|i am|i'm)\s+", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:the|an?)\s", re.IGNORECASE)
# "Odile runs the teahouse, a broad woman with a burned thumb": nobody says that of themselves
_LOOKS = re.compile(r", an? [^,]*\b(?:m[ae]n|wom[ae]n|person|fellow|girl|boy|lad|lass)\b.*$", re.I)
_HOW_LONG = re.compile(r"\bhow long\b|\bsince when\b", re.IGNORECASE)
_DURATION = re.compile(r"\b(?:for|since) (?:\S+ ){1,4}?(?:years?|winters?|summers?|days?)\b", re.I)


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


def told_of_itself(question: str, npc_name: str, persona: str) -> str:
    """Return the sentence of a persona that answers a question about the NPC, "" if none does.

    >>> told_of_itself("how long have you had this inn", "Mara", "Mara has kept it for ten years.")
    'I have kept it for ten years.'
    """
    asked = {stem(word) for word in words_of(question) if zipf(word) < COMMON}
    best = ""
    most = 0
    for sentence in sentences_of(oneline(persona)):
        told = first_person(sentence, npc_name)
        shared = len(asked & content_words(sentence))
        if _HOW_LONG.search(question):
            shared = shared + 1 if _DURATION.search(sentence) else 0
        if told and shared > most:
            best, most = told, shared
    return best
