"""Routing [C §1.6]: the memory type of a chunk.

Each preference in a chunk becomes a procedural memory of its own, so that a changed preference
replaces the old one and nothing else; the rest of the chunk becomes one memory.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import groupby

from ..ingest.chunk import paragraphs
from ..language import Part, Stated
from ..records import EPISODIC, PROCEDURAL, SEMANTIC, WORKING
from ..text.segmentation import split_sentences
from .questions import asks
from .stated_preferences import labelled, stated, states_preference

_NOW = re.compile(
    r"\b(?:right now|just now|as of now|for now|at the moment|at this moment|at present|presently|"
    r"currently|today|tonight|this (?:session|conversation|chat|morning|afternoon|evening|hour|"
    r"minute|moment|very moment)|for the time being|the current session)\b"
    r"|(?:\b(?:am|is|are)|['’](?:m|s|re))\b[^.!?]{0,60}?\w+ing\b[^.!?]{0,60}?\bnow\b",
    re.IGNORECASE,
)

_SUBJECT = (
    r"(?:I|[Ww]e|[Hh]e|[Ss]he|[Tt]hey|[Ii]t"
    r"|(?:[Tt]he|[Aa]n?|[Mm]y|[Oo]ur|[Hh]is|[Hh]er|[Tt]heir|[Yy]our|[Ee]very|[Ee]ach|[Aa]ll|[Nn]o)"
    r"(?: [\w'’-]+){1,4}?"
    r"|[A-Z][\w'’-]*(?: (?:of|the|and|de|von|[A-Z][\w'’-]*)){0,4}(?: [a-z][\w'’-]*){0,2}?)"
)
_QUALIFIER = r"(?: (?:\w+ly|also|still|always|often|now|not|never|both|all|only|once))?"
_LASTING = (
    r"(?:is|are|am|['’]m|has|have|owns?|keeps?|lives?|works?|knows?|makes?|sells?|buys?|uses?|"
    r"runs?|leads?|rules?|guards?|serves?|belongs?|contains?|holds?|lies|stands?|grows?|needs?|"
    r"wants?|means?|costs?|speaks?|teaches|teach|studies|study|plays?|builds?|brews?|bakes?|"
    r"believes?|trusts?|fears?|owes?|hides?|hates?|loves?|likes?|prefers?|dislikes?|comes? from|"
    r"remains?|consists? of|leaves|opens|closes|floods|connects?|supports?|requires?|returns?|"
    r"(?:was|were) (?:born|built|founded|named|made|written|owned|raised|forged|called|invented))"
)
_TRIPLE = re.compile(rf"^{_SUBJECT}{_QUALIFIER}(?: |(?=['’]m)){_LASTING}{_QUALIFIER} \S+")
_MARKS = re.compile(r"^[\s>#*_+-]*(?:\d+[.)]\s+)?|[*_]{1,3}(?=\w)|(?<=\w)[*_]{1,3}")


def parts_of(chunk: str, hint: str | None = None) -> list[Part]:
    """Split a chunk into the memories that it becomes, in order. `hint` fixes their type."""
    if hint and hint != PROCEDURAL:
        return [Part(chunk, hint)]
    parts = []
    for preference, run in groupby(_units(chunk), key=lambda unit: _preference(unit, hint)):
        rest = "".join(unit.text for unit in run).strip()
        if preference is not None:
            parts.append(Part(rest, PROCEDURAL, replace(preference, text=rest)))
        elif hint == PROCEDURAL:
            parts.append(Part(rest, PROCEDURAL, labelled(rest)))
        elif rest:
            parts.append(Part(rest, memory_type(rest)))
    return parts


def _preference(unit: _Unit, hint: str | None) -> Stated | None:
    """The preference that a sentence states; one of somebody else counts only under the hint."""
    if unit.code:
        return None
    if states_preference(unit.text):
        return stated(unit.text) or labelled(unit.text)
    return stated(unit.text) if hint == PROCEDURAL else None


def memory_type(text: str) -> str:
    """Working, semantic or episodic, by the majority of its sentences."""
    lines = [_MARKS.sub("", unit.text).strip() for unit in _units(text) if not unit.code]
    lines = [line for line in lines if line]
    for kind, is_such in ((WORKING, speaks_of_now), (SEMANTIC, states_a_fact)):
        if lines and 2 * sum(map(is_such, lines)) >= len(lines):
            return kind
    return EPISODIC


def speaks_of_now(sentence: str) -> bool:
    """Whether a sentence says that it holds for now or for this session."""
    return bool(_NOW.search(sentence))


def states_a_fact(sentence: str) -> bool:
    """Whether a sentence is a statement of subject, lasting predicate and object."""
    return not asks(sentence) and bool(_TRIPLE.match(sentence))


@dataclass(frozen=True, slots=True)
class _Unit:
    """A sentence, a line or a code block, with the white space after it."""

    text: str
    code: bool = False


def _units(chunk: str) -> list[_Unit]:
    units: list[_Unit] = []
    for piece in paragraphs(chunk):
        if units:
            units[-1] = replace(units[-1], text=units[-1].text + piece.gap)
        if piece.code:
            units.append(_Unit(piece.text, code=True))
            continue
        for line in piece.text.splitlines(keepends=True):
            units += map(_Unit, split_sentences(line))
    return units
