"""Alarms: what is to be done at once, in the words of what the NPC was taught.

"If wolves come into the yard, bar the stable" answers "a wolf in the yard!". The network of
`reader` chooses among the rules of what builders gave the NPC. Worker threads only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from ..english.questions import sentences_of
from ..english.reported_speech import capital
from ..records import MemoryRecord, Reply, ReplyRequest
from . import reader
from .acts import masked
from .realisation import tell_all
from .sentence_answers import is_for_the_actor, of_builder, of_what_was_given

# scores of the reader for "What is to be done?" with a line: 0 is as sure as that nothing is
RULE_FROM = 2.0  # from which a rule is for it
CRIED_FROM = 4.0  # from which a line with an exclamation mark is an alarm by that alone
# where everybody fetches water and cloths, and how it is said in a few words
_FIRE_AND_WOUNDS = {
    "If there is a fire, fetch water and wet blankets.": "Something burns.",
    "If somebody is hurt or has fainted, bring cloths and water and fetch a healer.": (
        "Somebody is hurt."
    ),
}
_KNOWN = tuple(_FIRE_AND_WOUNDS)
_RULE = re.compile(r"^\W*(?:if|when(?:ever)?|who(?:so)?ever|in case|at|on)\b|\bin case\b", re.I)
_CONDITION = re.compile(
    r"^\W*(?:if|when(?:ever)?|in case)\b[^,]*(?:,\s*(?:or|and)\b[^,]*)*,(?!\s*(?:or|and)\b)\s*",
    re.IGNORECASE,
)


def to_do(said: str, request: ReplyRequest) -> Reply | None:
    """Return what the NPC was taught to do about an alarm, as an order, None if nothing.

    >>> note = "If wolves come into the yard, bar the stable."
    >>> _CONDITION.sub("", note)
    'bar the stable.'
    """
    rules = [*_rules(request)]
    tried = dict.fromkeys(_unnamed(each, request) for each in (said, *sentences_of(said)))
    scores = _of_rules(tuple(tried), request.npc_name, tuple(each.content for each in rules))
    best = max(range(len(rules)), key=scores.__getitem__, default=None)
    if best is None or scores[best] < RULE_FROM:
        return None
    told = capital(_CONDITION.sub("", tell_all([rules[best]], request)))
    return Reply(f"{told.rstrip('.! ')}!", told=(rules[best].id,), row="to do")


def is_cried(said: str, request: ReplyRequest) -> bool:
    """Whether something is surely to be done about what a line cries: "Tibs has fainted!"."""
    rules = (*(each.content for each in _rules(request)), *_KNOWN)
    return "!" in said and max(_scores(said, request.npc_name, rules), default=0.0) >= CRIED_FROM


def wants_water_and_cloths(said: str, request: ReplyRequest) -> bool:
    """Whether something burns or somebody is hurt, as far as the network can tell."""
    return max(_scores(said, request.npc_name, _KNOWN)) >= 0


def _unnamed(said: str, request: ReplyRequest) -> str:
    return masked(said, [(name, "") for name in request.npc_names]).text.strip(" ,")


def _of_rules(tried: Sequence[str], npc: str, rules: tuple[str, ...]) -> list[float]:
    """Score rules for a line, its sentences behind it: by any of these, or its fire or wound."""
    direct = [_scores(each, npc, rules) for each in tried]
    of_what = [
        [min(sure, score) for score in _scores(_FIRE_AND_WOUNDS[known], npc, rules)]
        for known, sure in zip(_KNOWN, _scores(tried[0], npc, _KNOWN), strict=True)
    ]
    return [max(of_one) for of_one in zip(*direct, *of_what, strict=True)]


def _rules(request: ReplyRequest) -> Iterator[MemoryRecord]:
    """Yield what builders gave the NPC to go by where something happens, a sentence each."""
    for memory in filter(of_builder, request.given):
        for given in of_what_was_given(memory, request):
            for sentence in sentences_of(given.text):
                if _RULE.search(sentence) and not is_for_the_actor(sentence):
                    yield replace(memory, content=sentence)


@lru_cache(maxsize=256)
def _scores(said: str, npc: str, rules: tuple[str, ...]) -> tuple[float, ...]:
    network = reader.shared()
    if network is None or not rules:
        return (0.0,) * len(rules)
    question = reader.question_read("Tom", npc, f"What is to be done? {said}")
    read = [reader.sentence_read(npc, None, each) for each in rules]
    return tuple(map(float, network.scores(question, read)))
