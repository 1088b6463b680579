"""Alarms: what is to be done at once, in the words of what the NPC was taught.

"If wolves come into the yard, bar the stable" answers "a wolf in the yard!". The network of
`reader` chooses among the rules of what builders gave the NPC. Worker threads only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
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
CRIED_FROM = 4.0  # from which one is for its kind of alarm
CLEARLY = 0.25  # share of all reactions from which a kind of alarm is known
# a kind of alarm in as few words as a builder may teach what is to be done about it
_IN_SHORT = {"alarm of fire": "Something burns.", "alarm of a wound": "Somebody is hurt."}
# kinds of phrases by the kind of reaction (`acts.WANTED`) that an alarm wants
KINDS = {"fire": "alarm of fire", "wound": "alarm of a wound", "danger": "alarm"}
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
    tried = [_unnamed(each, request) for each in dict.fromkeys((said, *sentences_of(said)))]
    contents = tuple(each.content for each in rules)
    by_words = [_scores(each, request.npc_name, contents) for each in tried]
    scores = [max(each) for each in zip(*by_words, strict=True)]
    if (kind := kind_of(request)) in _IN_SHORT:
        short = (_scores(each, request.npc_name, contents) for each in _IN_SHORT.values())
        by_kind = dict(zip(_IN_SHORT, short, strict=True))
        others = next(of for other, of in by_kind.items() if other != kind)
        scores = [*map(_of_kind, scores, by_kind[kind], others)]
    best = max(range(len(rules)), key=scores.__getitem__, default=None)
    if best is None or scores[best] < RULE_FROM:
        return None
    return Reply(_as_order(rules[best], request), told=(rules[best].id,), row="to do")


def ordered_again(request: ReplyRequest) -> Reply | None:
    """Return what the NPC has just ordered in an alarm, for who asks what to do now."""
    last = next((e.content for e in reversed(request.conversation) if e.role == "assistant"), "")
    if not last.endswith("!"):
        return None
    for rule in _rules(request):
        if (order := _as_order(rule, request)) in last:
            return Reply(order, told=(rule.id,), row="to do")
    return None


def _as_order(rule: MemoryRecord, request: ReplyRequest) -> str:
    told = _CONDITION.sub("", tell_all([rule], request))
    told = capital(re.sub(r"^I (?=[a-z]+\b)", "", told))  # "I send for Amabel"
    return f"{told.rstrip('.! ')}!"


def _of_kind(by_words: float, of_kind: float, of_another: float) -> float:
    """Return the score of a rule for a kind of alarm: none of one that is for another kind."""
    if of_another >= CRIED_FROM and of_another > of_kind:
        return 0.0
    return max(by_words, of_kind) if of_kind >= CRIED_FROM else by_words


def kind_of(request: ReplyRequest) -> str:
    """Return the kind of phrase that answers an alarm of which nothing was taught."""
    likely = (KINDS[kind] for kind, share in request.wanted if kind in KINDS and share >= CLEARLY)
    return next(likely, "alarm")


def _unnamed(said: str, request: ReplyRequest) -> str:
    return masked(said, [(name, "") for name in request.npc_names]).text.strip(" ,")


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
