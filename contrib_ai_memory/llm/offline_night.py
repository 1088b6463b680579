"""The offline provider at night: what recurs is what matters. Simple, deterministic, no model.

A summary is made of a talk's own sentences; what somebody is like is what they say of themselves;
a reflection names what is spoken of again and again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from ..embedding import embedder
from ..records import MemoryRecord, asks
from ..text import person
from ..text.signals import salience, states_preference
from .drafts import AttributeDraft, InsightDraft, Observation
from .words import content_words, sentences_of, stem, surface_words

SUMMARY_SENTENCES = 3
ATTRIBUTES_AT_MOST = 20
QUESTIONS = 3
THEMES = 3
RECURS = 2  # memories that a theme is found in, at least

_KIN = re.compile(
    r"\b(?:brother|sister|wife|husband|father|mother|son|daughter|cousin|uncle|aunt|niece|nephew"
    r"|friend|enemy|master|apprentice|betrothed|widow)\b",
    re.IGNORECASE,
)
_PLACE = re.compile(
    r"\b(?:lives?|dwells?|(?:was|were) born|comes?|hails?|moved|stays?) (?:in|at|from|to|near)\b",
    re.IGNORECASE,
)
_WORK = re.compile(
    r"\b(?:keeps?|runs?|works?|serves?|trades?|sells?|farms?|guards?|brews?|bakes?|teaches)\b"
    r"|\b(?:is|was) (?:a|an|the) \w+",
    re.IGNORECASE,
)
_KINDS = (("relationship", _KIN), ("place", _PLACE), ("occupation", _WORK))


class OfflineNight:
    """The operations of the night, in an honest, deterministic version each."""

    def summarise(self, lines: Sequence[str]) -> str:
        """The three sentences that hold most and lie nearest to what the talk is about.

        Args:
            lines: "Speaker: words", oldest first.
        """
        told = [sentence for line in lines for sentence in _told(line)]
        if not told:  # nothing but questions and small talk
            return max(lines, key=len, default="")
        if len(told) <= SUMMARY_SENTENCES:
            return " ".join(dict.fromkeys(told))
        vectors = embedder.shared().encode(told)
        centre = vectors.mean(axis=0)
        worth = vectors @ centre + [salience(sentence) for sentence in told]
        best = sorted(range(len(told)), key=lambda place: (-worth[place], place))
        chosen = sorted(best[:SUMMARY_SENTENCES])
        return " ".join(dict.fromkeys(told[place] for place in chosen))

    def describe(self, name: str, observations: Sequence[Observation]) -> list[AttributeDraft]:
        """What is told of somebody by name; said more than once, it is surer."""
        found: dict[frozenset[str], tuple[str, str, list[int]]] = {}
        for seen in observations:
            for sentence in sentences_of(seen.text):
                kind = _kind(sentence, name)
                if kind:
                    key = frozenset(content_words(sentence))
                    found.setdefault(key, (kind, sentence, []))[2].append(seen.journal_id)
        return [
            AttributeDraft(
                kind, value, tuple(dict.fromkeys(evidence)), min(0.9, 0.4 + 0.1 * len(evidence))
            )
            for kind, value, evidence in list(found.values())[:ATTRIBUTES_AT_MOST]
        ]

    def ask_oneself(self, memories: Sequence[MemoryRecord], npc_name: str) -> list[str]:
        """About those who are heard most, and about what is spoken of most."""
        heard = Counter(memory.speaker for memory in memories if memory.speaker)
        often = sorted(heard, key=lambda name: (-heard[name], name))
        questions = [f"What have I learned about {name}?" for name in often]
        return [*questions[: QUESTIONS - 1], "What do people speak of again and again?"]

    def reflect(
        self, question: str, memories: Sequence[MemoryRecord], npc_name: str
    ) -> list[InsightDraft]:
        """What recurs in the memories of whoever the question names, or of everybody."""
        speakers = {memory.speaker for memory in memories if memory.speaker}
        named = [
            name for name in sorted(speakers) if re.search(rf"\b{re.escape(name)}\b", question)
        ]
        if named:
            of_them = [memory for memory in memories if memory.speaker == named[0]]
            return _insight(f"{named[0]} often speaks of", of_them, speakers, npc_name, question)
        return _insight("People here often speak of", memories, speakers, npc_name, question)


def _told(line: str) -> list[str]:
    """The sentences of a line that tell something, with their speaker."""
    speaker, colon, words = line.partition(": ")
    if not colon:
        speaker, words = "", line
    told = []
    for sentence in sentences_of(words):
        if asks(sentence) or len(content_words(sentence)) < 2:
            continue
        sentence = sentence if sentence[-1:] in ".!?…" else sentence + "."
        if speaker and person.speaks_of_self(sentence):
            told.append(person.third_person(sentence, speaker))
        else:
            told.append(f'{speaker} says: "{sentence}"' if speaker else sentence)
    return told


def _kind(sentence: str, name: str) -> str | None:
    """The type of attribute that a sentence about somebody tells, or None."""
    if not re.match(rf"{re.escape(name)}\b", sentence) or " says: " in sentence:
        return None
    if states_preference(sentence):
        return "preference"
    for kind, pattern in _KINDS:
        if pattern.search(sentence):
            return kind
    return "fact" if len(content_words(sentence)) >= 4 else None


def _insight(
    begin: str,
    memories: Sequence[MemoryRecord],
    speakers: set[str],
    npc_name: str,
    question: str,
) -> list[InsightDraft]:
    names = {stem(word.lower()) for who in (*speakers, npc_name) for word in who.split()}
    passed = names | content_words(question)  # what was asked with is found everywhere
    holds = {
        memory.id: {word for word in content_words(memory.content) - passed if len(word) > 3}
        for memory in memories
    }
    often = Counter(word for words in holds.values() for word in words)
    themes = [word for word, count in often.items() if count >= RECURS]
    themes.sort(key=lambda word: (-often[word], word))
    themes = themes[:THEMES]
    if not themes:
        return []
    shown = surface_words(memory.content for memory in memories)
    said = [shown[word] for word in themes]
    listed = said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"
    cited = tuple(memory_id for memory_id, words in holds.items() if words & set(themes))
    return [InsightDraft(f"{begin} {listed}.", cited)]
