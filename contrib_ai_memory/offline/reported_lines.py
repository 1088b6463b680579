"""Reported lines: what a line claims, sentence by sentence, told of its speaker or quoted."""

from __future__ import annotations

import re

from ..english import reported_speech
from ..english.questions import asks_of_you, sentences_of
from ..english.reported_speech import claimed, speaks_of_self
from ..english.small_talk import tells
from ..records import TALK_KINDS, Entry
from .realisation import ended, without_vocatives

_QUESTION_WORD = r"(?:who(?:m|se)?|what|which|where|when|why|how)(?:['’]?(?:s|re|d|ll))?\b"
QUOTATION = re.compile(r'"[^"]*"|“[^”]*”')


def without_name(text: str, name: str) -> str:
    """Strip the name that a line is addressed to: "Mara, wolves came" is about wolves.

    >>> without_name("Mara, wolves took my sheep.", "Mara")
    'Wolves took my sheep.'
    >>> without_name("mara what is the bridge", "Mara")
    'What is the bridge'
    >>> without_name("Mara is my sister", "Mara")
    'Mara is my sister'
    >>> without_name("My boots stay on, Mara, the floor is cold.", "Mara")
    'My boots stay on, the floor is cold.'
    """
    text = without_vocatives(text, [name])
    name = re.escape(name)
    text = re.sub(
        rf"^\W*(?:(?:hey|hello|hi|oh|say|listen|well)\W+)?@?{name}\b"
        rf"(?:\s*[,:;!.-]+\s*|\s+(?={_QUESTION_WORD}))",
        "",
        text,
        flags=re.IGNORECASE,
    )
    text = re.sub(rf"\s*,\s*@?{name}\b(?=\W*$)", "", text, flags=re.IGNORECASE)
    return reported_speech.capital(text)


def reported(sentence: str, entry: Entry) -> str:
    """Report a sentence as a claim of its speaker: in the third person, or quoted.

    What is said to the NPC is quoted: "I am proud of you" does not work in the third person. So is
    what a speaker quotes: in 'The smith said, "I have two"' the smith has them.
    """
    sentence = ended(sentence)
    if entry.kind == "pose":
        return claimed(sentence, entry.seen_as)
    if entry.kind not in TALK_KINDS or not entry.seen_as:
        return sentence
    of_speaker = speaks_of_self(sentence) and not voices(sentence, entry)
    if of_speaker and not asks_of_you(sentence):
        return reported_speech.third_person(sentence, entry.seen_as)
    return quoted(sentence, entry)


def voices(sentence: str, entry: Entry) -> bool:
    """Whether a speaker says a sentence in quotation marks: as somebody else's words."""
    words = sentence.rstrip('.!?…"” ').lower()
    return any(words in found.group().lower() for found in QUOTATION.finditer(entry.content))


def quoted(sentence: str, entry: Entry) -> str:
    """Quote a sentence of its speaker."""
    within = ended(sentence).replace('"', "'").replace("“", "'").replace("”", "'")
    return f'{entry.seen_as} says: "{within}"' if entry.seen_as else ended(sentence)


def sentences_in(entry: Entry, npc_name: str) -> list[tuple[str, str]]:
    """The sentences of an entry with what they claim; "" for a question or a greeting."""
    return [
        (sentence, reported(sentence, entry) if tells(sentence) else "")
        for sentence in sentences_of(without_name(entry.content, npc_name))
    ]
