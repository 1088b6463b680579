"""Alarms: what is to be done at once, in the words of what the NPC was taught.

"If wolves come into the yard, bar the stable" answers "a wolf in the yard!". The network of
`reader` chooses among the rules of what builders gave the NPC. Worker threads only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from ..english.questions import sentences_of
from ..english.reported_speech import capital
from ..records import MemoryRecord, Reply, ReplyRequest
from . import reader
from .acts import masked
from .poses import nearest_kind
from .realisation import tell_all
from .sentence_answers import is_for_the_actor, of_builder, of_what_was_given

# scores of the reader for "What is to be done?" with a line: 0 is as sure as that nothing is
RULE_FROM = 2.0  # from which a rule is for it
CRIED_FROM = 4.0  # from which one is for its kind of alarm
# a kind of alarm in as few words as a builder may teach what is to be done about it
_IN_SHORT = {"alarm of fire": "Something burns.", "alarm of a wound": "Somebody is hurt."}
# cries by the kind of phrase that answers them where nothing was taught
KINDS: Mapping[str, tuple[str, ...]] = {
    "alarm of fire": (
        "fire! it's burning!",
        "the roof is in flames",
        "the curtain has caught fire",
        "a lamp fell over in the straw",
        "my sleeve is on fire, help",
        "the barn is on fire and the horses are inside",
        "there is smoke coming from the cellar, something is burning",
        "the stove pipe is red hot and the beams have caught",
    ),
    "alarm of a wound": (
        "he is bleeding, there is blood everywhere",
        "she cut her hand on the knife, it is deep",
        "I burned my arm on the pot, it hurts",
        "he fell off the ladder and will not wake up",
        "she fainted",
        "his hand is caught in the hook",
        "I think my leg is broken",
        "he has been stabbed",
        "something bit me, I cannot feel my arm",
        "he is not breathing, help him",
    ),
    "alarm": (
        "wolves! there are wolves in the yard",
        "somebody fell in the water and cannot swim",
        "the boat is sinking",
        "water is coming through the ceiling",
        "thief! stop him",
        "a fight, they have knives",
        "a man with a gun",
        "somebody broke in, I heard footsteps",
        "they killed her, a murder",
        "the wall is coming down, it cracks",
        "I smell gas",
        "the machine is moving by itself",
        "the horse bolted, get out of the way",
        "a child is on the rails and the train is due",
        "we are locked in",
        "it is opening by itself, what is it",
    ),
}
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
    if short := _IN_SHORT.get(kind_of(said, request)):
        of_kind = _scores(short, request.npc_name, contents)
        by_words.append(tuple(each if each >= CRIED_FROM else 0.0 for each in of_kind))
    scores = [max(each) for each in zip(*by_words, strict=True)]
    best = max(range(len(rules)), key=scores.__getitem__, default=None)
    if best is None or scores[best] < RULE_FROM:
        return None
    told = capital(_CONDITION.sub("", tell_all([rules[best]], request)))
    return Reply(f"{told.rstrip('.! ')}!", told=(rules[best].id,), row="to do")


def kind_of(said: str, request: ReplyRequest) -> str:
    """Return the kind of phrase that answers an alarm of which nothing was taught."""
    return nearest_kind(_unnamed(said, request), KINDS) or "alarm"


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
