"""What observations of somebody come to: attributes with evidence [A 4.2, O-MEM] (worker thread).

An attribute that says the same as a known one lends it its evidence; one that contradicts it, or
fills the slot of its preference, takes its place. What rests on facts that were ended is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from ..llm import asking
from ..llm.drafts import ATTRIBUTE_TYPES, AttributeDraft
from ..llm.words import content_words, lowered, stem
from ..records import LOCKED
from ..store import facts
from ..store.payload import entry_memory_id, memory_id_for
from ..store.profiles import EVIDENCE_KEPT, Noted, Profile, ProfileAttribute, audience_of
from ..text import sameness
from ..text.clean import oneline
from ..text.slots import stated
from .contradicting import contradicts

TEXT_LENGTH = 500  # characters of an observation or an attribute

NEARLY_EQUAL = 0.8  # of the words of two attributes, in their order
SUREST = 0.95
AN_ACT = 6  # words at most of a sentence that bears out a preference, offline
ACT_CONFIDENCE = 0.3


def attributes_with(
    mind: str,
    profile: Profile,
    group: Sequence[Noted],
    drafts: Iterable[AttributeDraft],
    provider: str,
) -> list[ProfileAttribute]:
    """The profile's attributes with those drawn from `group`, of one audience."""
    when = {noted.journal_id: noted.timestamp for noted in group}
    known = list(profile.attributes)
    store = facts.shared()
    for draft in (
        borne_out(drafts, profile.name, group) if provider == asking.OFFLINE.name else drafts
    ):
        evidence = tuple(sorted({each for each in draft.evidence if each in when}))
        value = short(draft.value)
        if not evidence or not value:
            continue  # it rests on nothing that was shown
        new = ProfileAttribute(
            type=draft.type if draft.type in ATTRIBUTE_TYPES else "fact",
            value=value,
            evidence=evidence,
            confidence=round(min(SUREST, max(0.0, draft.confidence)), 4),
            updated=max(when[each] for each in evidence),
            private=group[0].private,
            witnesses=group[0].witnesses,
        )
        _join(known, new, lambda old: _is_locked(store, mind, old))
    return _holding(mind, known)


def _holding(mind: str, known: list[ProfileAttribute]) -> list[ProfileAttribute]:
    """Those of these that are not told by a fact which was ended."""
    ids = [_fact_id(mind, each) for each in known]
    past = {fact.id for fact in facts.shared().get(set(ids)) if fact.invalid_at}
    return [each for each, fact_id in zip(known, ids, strict=True) if fact_id not in past]


def _fact_id(mind: str, known: ProfileAttribute) -> str:
    """Return the id that a fact has which says the same as an attribute."""
    said = " ".join(known.value.lower().split())
    return memory_id_for(mind, "fact", said, *(audience_of(known) or ("*",)))


def _is_locked(store: facts.FactStore, mind: str, known: ProfileAttribute) -> bool:
    """Return whether the fact that says an attribute, or a line that it rests on, is locked."""
    ids = [_fact_id(mind, known), *(entry_memory_id(mind, each) for each in known.evidence)]
    return any(LOCKED in memory.tags for memory in store.get(ids))


def _join(
    known: list[ProfileAttribute],
    new: ProfileAttribute,
    locked: Callable[[ProfileAttribute], bool] = lambda old: False,
) -> None:
    """Add an attribute, or lend its evidence to the one that says the same to the same people."""
    for place, old in enumerate(known):
        same = old.type == new.type and audience_of(old) == audience_of(new)
        if same and says_the_same(old.value, new.value):
            known[place] = _reinforced(old, new)
            return
    replaced = [old for old in known if _takes_the_place(new, old)]
    if any(old.updated > new.updated or locked(old) for old in replaced):
        return  # it was so before, or a builder says that it is not so
    known[:] = [old for old in known if old not in replaced]
    known.append(new)


def _takes_the_place(new: ProfileAttribute, old: ProfileAttribute) -> bool:
    if audience_of(old) != audience_of(new):
        return False
    if old.type == new.type == "preference":
        before, now = stated(old.value), stated(new.value)
        if before and now and (before.subject, before.slot) == (now.subject, now.slot):
            return True
    return contradicts(new.value, old.value)


def _reinforced(old: ProfileAttribute, new: ProfileAttribute) -> ProfileAttribute:
    if set(new.evidence) <= set(old.evidence):
        return old
    return replace(
        old,
        evidence=tuple(sorted({*old.evidence, *new.evidence}))[-EVIDENCE_KEPT:],
        confidence=_surer(old.confidence, new.confidence),
        updated=max(old.updated, new.updated),
    )


def _surer(a: float, b: float) -> float:
    return round(max(a, b, min(SUREST, 1 - (1 - a) * (1 - b))), 4)


def says_the_same(a: str, b: str) -> bool:
    """Whether two attributes have nearly the same words, in nearly the same order."""
    if not sameness.says_the_same(a, b):
        return False
    return SequenceMatcher(None, _telling(a), _telling(b)).ratio() >= NEARLY_EQUAL


def _telling(text: str) -> list[str]:
    """The stems of the words that say something, in their order."""
    telling = content_words(text)
    return [root for root in map(stem, lowered(text)) if root in telling]


def borne_out(
    drafts: Iterable[AttributeDraft], name: str, seen: Sequence[Noted]
) -> list[AttributeDraft]:
    """Offline drafts on `name`: that Alice prefers tea over coffee, orders tea and refuses coffee
    is one preference with three pieces of evidence, as in the source's example."""
    likings: dict[str, AttributeDraft] = {}
    rest, left = [], []
    for draft in drafts:
        said = stated(draft.value)
        told = draft.type == "fact" and said is not None and said.subject == name.lower()
        if told or draft.type == "preference":
            likings[draft.value] = replace(draft, type="preference")
        else:
            rest.append(draft)
    for draft in rest:
        liking = next((one for one in likings.values() if _bears_out(draft.value, one)), None)
        if liking is None or draft.type != "fact":
            left.append(draft)
        else:
            likings[liking.value] = _with_evidence(liking, draft.evidence)
    for noted in seen:  # an act is no attribute of its own
        for liking in list(likings.values()):
            known = noted.journal_id in liking.evidence
            if not known and noted.text.startswith(name) and _bears_out(noted.text, liking):
                likings[liking.value] = _with_evidence(liking, (noted.journal_id,))
    return [*likings.values(), *left]


def _with_evidence(liking: AttributeDraft, more: tuple[int, ...]) -> AttributeDraft:
    return replace(
        liking,
        evidence=tuple(dict.fromkeys((*liking.evidence, *more))),
        confidence=_surer(liking.confidence, ACT_CONFIDENCE),
    )


def _bears_out(text: str, liking: AttributeDraft) -> bool:
    """Whether a short sentence, an act as a rule, has to do with what a preference is about."""
    said = stated(liking.value)
    words = content_words(text)
    if said is None or len(words) > AN_ACT:
        return False
    return bool(words & content_words(" ".join((said.slot, *said.mentions))))


def short(text: str) -> str:
    """One line of bounded length."""
    text = oneline(text)
    return text if len(text) <= TEXT_LENGTH else text[: TEXT_LENGTH - 1].rstrip() + "…"
