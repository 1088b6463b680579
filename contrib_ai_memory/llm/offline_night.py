"""The offline provider at night: what recurs is what matters. Simple, deterministic, no model.

A summary is made of a talk's own sentences; what somebody is like is what they say of themselves;
a reflection names what is spoken of again and again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from ..embedding import embedder
from ..records import MemoryRecord
from ..text import person
from ..text.signals import salience
from . import themes
from .drafts import AttributeDraft, InsightDraft, Observation
from .telling import claim, stands_alone, tells
from .traits import kind_of
from .words import content_words, sentences_of

SUMMARY_SENTENCES = 3
ATTRIBUTES_AT_MOST = 20
QUESTIONS = 3
WELL_SAID = 3  # mentions that make "often"
SPEAKERS = 4  # that an insight names
QUOTED = 160  # characters of a quotation in an insight

_OF_A_THEME = re.compile(r"^What is said of (?P<theme>.+)\?$")
# how sure a thing said once is: kin and home last, a plain fact may not
_AT_ONCE = {"relationship": 0.55, "place": 0.55, "occupation": 0.55, "preference": 0.55}
_PLAIN = 0.45


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
        vectors = embedder.shared().encode(told, known=True)  # most became facts
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
                kind = kind_of(sentence, name)
                if kind:
                    key = frozenset(content_words(sentence))
                    found.setdefault(key, (kind, sentence, []))[2].append(seen.journal_id)
        return [
            AttributeDraft(
                kind,
                value,
                tuple(dict.fromkeys(evidence)),
                min(0.9, _AT_ONCE.get(kind, _PLAIN) + 0.1 * (len(evidence) - 1)),
            )
            for kind, value, evidence in list(found.values())[:ATTRIBUTES_AT_MOST]
        ]

    def ask_oneself(self, memories: Sequence[MemoryRecord], npc_name: str) -> list[str]:
        """About those who are heard most, and about what is spoken of most."""
        heard = Counter(memory.speaker for memory in memories if memory.speaker)
        often = sorted(heard, key=lambda name: (-heard[name], name))
        questions = [f"What have I learned about {name}?" for name in often[: QUESTIONS - 1]]
        texts = [memory.content for memory in _once(memories)]
        shared = themes.themes_of(texts, _names((*heard, npc_name)))[:1]
        return [*questions, *(f"What is said of {theme.said}?" for theme in shared)]

    def reflect(
        self, question: str, memories: Sequence[MemoryRecord], npc_name: str
    ) -> list[InsightDraft]:
        """What recurs in the memories of whoever the question names, or what many speak of."""
        spoken = [memory for memory in _once(memories) if memory.speaker]
        speakers = {memory.speaker for memory in spoken}
        passed = _names((*speakers, npc_name))
        asked = _OF_A_THEME.match(question)
        if asked:
            return _of_many(asked["theme"], spoken)
        named = [
            name for name in sorted(speakers) if re.search(rf"\b{re.escape(name)}\b", question)
        ]
        return _of_one(named[0], spoken, passed) if named else []


def _once(memories: Sequence[MemoryRecord]) -> list[MemoryRecord]:
    """Of memories that rest on the same lines, such as an entry and its fact, the first."""
    seen: set[int] = set()
    kept = []
    for memory in memories:
        if not memory.journal_ids or not seen.issuperset(memory.journal_ids):
            kept.append(memory)
            seen.update(memory.journal_ids)
    return kept


def _names(people: Iterable[str]) -> set[str]:
    return {word.lower() for name in people for word in name.split()}


def _of_one(
    name: str, memories: Sequence[MemoryRecord], passed: Collection[str]
) -> list[InsightDraft]:
    """What somebody comes back to, with a sentence of theirs and the memories that it is in."""
    of_them = [memory for memory in memories if memory.speaker == name]
    found = themes.themes_of([memory.content for memory in of_them], passed)
    if sum(len(theme.places) for theme in found) < WELL_SAID:
        return []
    cited = dict.fromkeys(of_them[place].id for theme in found for place in theme.places)
    about = [of_them[place] for place in found[0].places]
    text = f"{name} often speaks of {_listed([theme.said for theme in found])}"
    return [InsightDraft(text + _as_in(about, found[0].said), tuple(cited))]


def _of_many(theme: str, memories: Sequence[MemoryRecord]) -> list[InsightDraft]:
    """Who all speaks of a theme; of one person alone it is no talk of the town."""
    about = [memory for memory in memories if _mentions(memory.content, theme)]
    people = sorted({memory.speaker for memory in about})
    if len(people) < 2:
        return []
    both = "both" if len(people) == 2 else "all"
    text = f"{_listed(people[:SPEAKERS])} {both} speak of {theme}"
    return [InsightDraft(text + _as_in(about, theme), tuple(memory.id for memory in about))]


def _as_in(memories: Sequence[MemoryRecord], theme: str) -> str:
    """A short sentence that names a theme, for a quotation: "…, as in 'The ferry sank.'"."""
    said = [
        text
        for memory in memories
        for text in map(claim, sentences_of(memory.quote or memory.content))
        if _mentions(text, theme) and stands_alone(text) and len(text) <= QUOTED
    ]
    if not said:
        return "."
    shortest = min(said, key=lambda text: (len(text), text)).replace('"', "'")
    return f', as in "{shortest if shortest[-1:] in ".!?…" else shortest + "."}"'


def _mentions(text: str, theme: str) -> bool:
    bare = theme.removeprefix("the ")
    return bool(re.search(rf"\b{re.escape(bare)}", text, re.IGNORECASE))


def _listed(said: Sequence[str]) -> str:
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"


def _told(line: str) -> list[str]:
    """The sentences of a line that tell something, with their speaker."""
    speaker, colon, words = line.partition(": ")
    if not colon:
        speaker, words = "", line
    told = []
    for sentence in sentences_of(words):
        if not tells(sentence):
            continue
        sentence = claim(sentence)
        sentence = sentence if sentence[-1:] in ".!?…" else sentence + "."
        if speaker and person.speaks_of_self(sentence):
            told.append(person.third_person(sentence, speaker))
        else:
            told.append(f'{speaker} says: "{sentence}"' if speaker else sentence)
    return told
