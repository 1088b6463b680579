"""run_entity_consolidation_batch [A 4.2, O-MEM]: observations of people become their attributes.

Two stages, one a step. *Observe*: a cursor walks the journal, and each entry adds observations, and
favorability [A], to the profile of its source and of those whom it names. The observations are the
sentences of the entry where rules judge (docs/adr/023), else its words as they were said, if it was
found important enough. *Consolidate*: enough new observations of an entity become attributes, those
of one audience at a time, and as private as they were. A language model is asked once a person,
audience and night, after all is observed (docs/adr/026). Each profile holds the newest entry that
it counts: a step that was killed and runs again counts nothing twice.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from twisted.internet import defer

from .. import conf, language, offload
from ..embedding import emotions
from ..llm import router
from ..llm.provider import (
    ATTRIBUTE_TYPES,
    HIGHEST_CONFIDENCE,
    AttributeDraft,
    Pair,
    Relation,
    Statement,
    combined_confidence,
)
from ..local_time import day_of
from ..records import LOCKED, TALK_KINDS, Entry, PassReport
from ..store import memory_store
from ..store.evidence import Work
from ..store.journal import join_ranges, ranges_of
from ..store.npc_memory import Memory
from ..store.payload import entry_memory_id
from ..store.profiles import (
    EVIDENCE_KEPT,
    OBSERVATIONS_KEPT,
    Profile,
    ProfileAttribute,
    ProfileObservation,
    Relationship,
    audience_of,
)
from ..store.protocol import MemoryStore
from ..text.names import forms
from ..text.sanitising import oneline, shortened
from . import consolidation
from .reconciliation import Relations, compared

CURSOR = "observed"

SENTENCES_AN_ENTRY = 12
DESCRIBED_AT_ONCE = 40  # observations in one request to the provider
LINES_FOR_ONE = 3  # lines that tell as much as one observation
TEXT_LENGTH = 500  # characters of an observation or an attribute


@defer.inlineCallbacks
def run_entity_consolidation_batch(memory: Memory) -> Generator[Any, Any, PassReport]:
    """Consolidate the observations of one entity if there are enough, else observe more.

    A language model is asked when nothing is left to observe.
    """
    cursors = memory.journal.cursors
    observable = cursors.get(CURSOR, 0) < cursors.get(consolidation.CURSOR, 0)
    if observable and not router.rules_judge(memory.settings):
        return (yield _observe(memory))
    with memory.evidence.work_on(priority=offload.NIGHT) as work:
        due = yield _next_due(memory, work)
    return (yield _consolidate(memory, *due) if due else _observe(memory))


# --- observe --------------------------------------------------------------------------------------


@defer.inlineCallbacks
def _observe(memory: Memory) -> Generator[Any, Any, PassReport]:
    settings = memory.settings
    # a step adds no more than fits beside the observations that are not consolidated yet
    room = (OBSERVATIONS_KEPT - settings.MIN_OBSERVATIONS) // SENTENCES_AN_ENTRY
    start = memory.journal.cursors.get(CURSOR, 0)
    last = memory.journal.cursors.get(consolidation.CURSOR, 0)
    end = min(start + min(conf.NIGHT_BATCH, room), last)
    if end <= start:
        return PassReport(done=True)
    batch = [entry for entry in memory.journal.read(start + 1, end) if entry.learnable]
    about_npc = {entry.id for entry in batch if _is_about_npc(memory, entry)}
    changed = 0
    with memory.evidence.work_on(batch, priority=offload.NIGHT) as work:
        least = None if router.rules_judge(settings) else settings.MIN_IMPORTANCE
        heard = yield work.run(heard_in, memory.id, batch, memory.name, about_npc, least)
        touched: dict[str, list[Entry]] = {}
        for entry in batch:
            for identity in sorted({*filter(None, [entry.source_entity]), *entry.entities}):
                touched.setdefault(identity, []).append(entry)
        for identity, entries in touched.items():
            changed += _note(memory, identity, entries, heard)
            yield work.breathe()
    memory.journal.advance_cursor(CURSOR, end)
    return PassReport(done=False, read=len(batch), changed=changed)


@dataclass(frozen=True, slots=True)
class Heard:
    """What one entry tells: its sentences, each with its observation, None if it states nothing;
    and the step of favorability for the feeling in it."""

    sentences: tuple[tuple[str, ProfileObservation | None], ...]
    warmth: float


def heard_in(
    agent_id: str,
    batch: Sequence[Entry],
    npc_name: str,
    about_npc: Collection[int],
    least: int | None = None,
) -> dict[int, Heard]:
    """Observe entries, but for those that hold no longer (worker thread).

    The feeling of those of `about_npc` counts. From the importance `least` on, the words of an
    entry are observed as they are; None: rules cut and filter its sentences.
    """
    spoken = language.get()
    stored = memory_store.shared().get([entry_memory_id(agent_id, entry.id) for entry in batch])
    over = {number for each in stored if each.superseded_by for number in each.journal_ids}
    called = forms([npc_name])
    felt = {e.id: spoken.without_address(e.content, called) for e in batch if e.id in about_npc}
    warmth = dict(zip(felt, map(warmth_of, emotions.classify([*felt.values()])), strict=True))
    heard = {}
    for entry in batch:
        told = []
        if entry.id not in over and least is None:
            told = spoken.claims(entry, npc_name)[:SENTENCES_AN_ENTRY]
        elif entry.id not in over and entry.importance >= (least or 0):
            told = [(entry.content, entry.with_speaker())]
        private, who = entry.audience is not None, entry.audience or ()
        observed = tuple(
            (
                sentence,
                ProfileObservation(short(text), entry.id, entry.timestamp, private, who, place)
                if text
                else None,
            )
            for place, (sentence, text) in enumerate(told)
        )
        heard[entry.id] = Heard(observed, warmth.get(entry.id, 0.0))
    return heard


def _is_about_npc(memory: Memory, entry: Entry) -> bool:
    """Whether talk is about the NPC: a line about hating wolves shows no dislike of the NPC."""
    if entry.kind not in TALK_KINDS or entry.origin != "perceived" or not entry.source_entity:
        return False
    if memory.owner.is_named(language.get().without_address(entry.content, forms([memory.name]))):
        return True
    alone = set(entry.witnesses) <= {entry.source_entity}
    addressed = entry.private or alone or memory.owner.is_named(entry.content)
    return addressed and language.get().manner(entry.content).says_you


def _note(memory: Memory, identity: str, entries: Iterable[Entry], heard: dict[int, Heard]) -> bool:
    """Add entries to one profile. Returns whether it changed."""
    if identity == memory.identity:
        return False
    known = memory.profiles.get(identity)
    person = memory.people.get(identity)
    profile = known or Profile(identity)
    for entry in entries:
        if entry.id <= profile.through:
            continue  # counted already
        seen = _observations_of(memory, identity, entry, heard[entry.id])
        met = identity == entry.source_entity and entry.origin == "perceived"
        if met:
            standing = moved(profile.relationship, entry, heard[entry.id].warmth)
            name = profile.name or entry.seen_as
            profile = replace(profile, relationship=standing, name=name)
        elif not seen or (known is None and person is None):
            continue
        profile = replace(profile.with_observations(seen), through=entry.id)
    if profile == (known or Profile(identity)):
        return False
    if person is not None:
        profile = replace(profile, name=person.name, entity_type=person.entity_type)
    memory.profiles.put(profile)
    return True


def _observations_of(
    memory: Memory, identity: str, entry: Entry, heard: Heard
) -> list[ProfileObservation]:
    """What an entry tells of one entity: its source, or somebody named in it."""
    sentences = heard.sentences
    if identity != entry.source_entity:
        naming = tuple(each for each in sentences if identity in memory.people.mentioned(each[0]))
        sentences = naming or sentences
    return [noted for _, noted in sentences if noted is not None]


# --- consolidate ----------------------------------------------------------------------------------


@defer.inlineCallbacks
def _next_due(
    memory: Memory, work: Work
) -> Generator[Any, Any, tuple[Profile, list[ProfileObservation], int] | None]:
    """Find the first entity with enough new observations, or whose consolidation has begun: its
    profile, those that one audience knows, and what it is settling then."""
    by_rules = router.rules_judge(memory.settings)
    at_least = (1 if by_rules else LINES_FOR_ONE) * memory.settings.MIN_OBSERVATIONS
    for identity in memory.profiles.identities():
        if not memory.profiles.is_at_hand(identity):
            yield work.breathe()  # before a database row is read
        if not memory.profiles.due(identity, at_least):
            continue
        if not (profile := memory.profiles.get(identity)):
            continue
        if by_rules:  # what few heard is consolidated with the rest
            settling = profile.settling if profile.in_work else profile.new[-1].journal_id
            pending = [noted for noted in profile.new if noted.journal_id <= settling]
            [group, *_] = consolidation.grouped(pending, audience_of)
            return profile, group[:DESCRIBED_AT_ONCE], settling
        for group in consolidation.grouped(profile.new, audience_of):
            if len(group) >= at_least:
                return profile, group, profile.settling
    return None


@defer.inlineCallbacks
def _consolidate(
    memory: Memory, profile: Profile, group: Sequence[ProfileObservation], settling: int
) -> Generator[Any, Any, PassReport]:
    """Draw attributes from new observations of one entity and audience; the newest are shown."""
    shown, held = group[-DESCRIBED_AT_ONCE:], []
    if not router.rules_judge(memory.settings):
        circle = audience_of(group[0])
        held = [known for known in profile.attributes if audience_of(known) == circle]
    seen = filter(None, (memory.journal.get(noted.journal_id) for noted in shown))
    with memory.evidence.work_on(seen, priority=offload.NIGHT) as work:
        _provider, drafts = yield work.ask(
            "describe", profile.name, shown, [known.value for known in held]
        )
        new = attributes_of(shown, drafts)
        if not router.rules_judge(memory.settings):
            ids = [noted.journal_id for noted in shown]
            ids += [each for known in held for each in known.evidence]
            context = join_ranges(ranges_of(ids), *(known.context for known in held))
            new = [replace(each, context=context) for each in new]
        relations: Relations = {
            (short(draft.value), old): Relation.CHANGES
            for draft in drafts
            for old in draft.replaces or ()
        }
        if any(draft.replaces is None for draft in drafts):
            relations = yield compared(pairs_of(new, profile.attributes), work)
        known = yield work.run(attributes_with, memory.id, profile, new, relations)
    if memory.profiles.get(profile.entity_id) != profile:
        return PassReport(done=False)  # changed meanwhile: read again
    memory.profiles.put(profile.consolidated({each.key for each in group}, known, settling))
    changed = set(known).difference(profile.attributes)
    return PassReport(done=False, read=len(shown), changed=len(changed))


# --- attributes -----------------------------------------------------------------------------------


def attributes_of(
    group: Sequence[ProfileObservation], drafts: Iterable[AttributeDraft]
) -> list[ProfileAttribute]:
    """Make attributes of drafts; one that cites nothing of `group`, of one audience, is dropped."""
    when = {noted.journal_id: noted.timestamp for noted in group}
    found = []
    for draft in drafts:
        evidence = tuple(sorted({each for each in draft.evidence if each in when}))
        value = short(draft.value)
        if evidence and value:
            found.append(
                ProfileAttribute(
                    type=draft.type if draft.type in ATTRIBUTE_TYPES else "fact",
                    value=value,
                    evidence=evidence,
                    confidence=round(min(HIGHEST_CONFIDENCE, max(0.0, draft.confidence)), 4),
                    updated=max(when[each] for each in evidence),
                    private=group[0].private,
                    witnesses=group[0].witnesses,
                )
            )
    return found


def pairs_of(
    new: Sequence[ProfileAttribute], known: Iterable[ProfileAttribute]
) -> dict[tuple[str, str], Pair]:
    """New attributes paired with the known ones of their audience, and with each other."""
    return {
        (each.value, other.value): Pair(_statement(each), _statement(other))
        for place, each in enumerate(new)
        for other in (*known, *new[:place])
        if audience_of(other) == audience_of(each)
    }


def _statement(known: ProfileAttribute) -> Statement:
    return Statement(known.value, "attribute", known.updated, type=known.type)


def attributes_with(
    agent_id: str, profile: Profile, new: Sequence[ProfileAttribute], relations: Relations
) -> list[ProfileAttribute]:
    """Add new attributes to those of a profile (worker thread).

    One that says the same as a known one adds its evidence to it; one that contradicts it replaces
    it. Attributes of ended facts are left out.
    """
    known = list(profile.attributes)
    store = memory_store.shared()
    for each in new:
        _join(known, each, relations, lambda old: _is_locked(store, agent_id, old))
    facts = store.get({_fact_id(agent_id, each) for each in known})
    past = {fact.id for fact in facts if fact.invalid_at or fact.superseded_by}
    return [each for each in known if _fact_id(agent_id, each) not in past]


def _fact_id(agent_id: str, known: ProfileAttribute) -> str:
    """The id of a fact with the text and audience of an attribute."""
    return consolidation.fact_id(agent_id, known.value, audience_of(known))


def _is_locked(store: MemoryStore, agent_id: str, known: ProfileAttribute) -> bool:
    """Whether the fact of an attribute, or an entry that it rests on, is locked."""
    ids = [_fact_id(agent_id, known), *(entry_memory_id(agent_id, each) for each in known.evidence)]
    return any(LOCKED in memory.tags for memory in store.get(ids))


def _join(
    known: list[ProfileAttribute],
    new: ProfileAttribute,
    relations: Relations,
    locked: Callable[[ProfileAttribute], bool],
) -> None:
    """Add an attribute, or add its evidence to the one that says the same."""
    replaced = []
    for place, old in enumerate(known):
        if audience_of(old) != audience_of(new):
            continue
        relation = relations.get((new.value, old.value), Relation.UNRELATED)
        same = relation is Relation.SAME or old.value == new.value
        if same and old.type == new.type:
            known[place] = _reinforced(old, new)
            return
        if relation.supersedes:
            replaced.append(old)
    if any(old.updated > new.updated or locked(old) for old in replaced):
        return  # it is outdated, or contradicts what a builder locked
    known[:] = [old for old in known if old not in replaced]
    known.append(new)


def _reinforced(old: ProfileAttribute, new: ProfileAttribute) -> ProfileAttribute:
    if set(new.evidence) <= set(old.evidence):
        return old
    return replace(
        old,
        evidence=tuple(sorted({*old.evidence, *new.evidence}))[-EVIDENCE_KEPT:],
        confidence=combined_confidence(old.confidence, new.confidence),
        updated=max(old.updated, new.updated),
        context=join_ranges(old.context, new.context),
    )


def short(text: str) -> str:
    """Cut to one line of bounded length."""
    return shortened(oneline(text), TEXT_LENGTH)


# --- favorability ---------------------------------------------------------------------------------

# [A] Trust grows slowly and is lost faster. Talk makes an acquaintance of anybody and no more,
# confidences make a friend, only kindness and gifts go further. Each conversation gives a bounded
# gain: forty compliments make nobody close by midnight. Harsh words always count in full.
TALK, CONFIDENCE, GIFT = 0.01, 0.03, 0.05
KIND, HARSH = 0.02, -0.05
TALK_A_SESSION = 0.05  # most that talk, said or confided, gives in one conversation
ALL_A_SESSION = 0.1  # most that talk, kindness and gifts give in it together
TALKED_UP_TO, CONFIDED_UP_TO = 0.45, 0.7  # an acquaintance; a friend
SESSIONS_KEPT = 4  # conversations whose gains are remembered

WARM = frozenset(emotions.FAMILIES[0] + emotions.FAMILIES[1])  # joy, trust
COLD = frozenset(emotions.FAMILIES[5] + emotions.FAMILIES[6])  # disgust, anger
AGREEING = 2  # of the three nearest emotions, the nearest not being opposed


def moved(before: Relationship, entry: Entry, warmth: float) -> Relationship:
    """The relationship with the source of an entry, after it; `warmth` is 0 if not of the NPC."""
    session = entry.session_id or day_of(entry.timestamp)
    had = dict(before.gained).get(session, 0.0)
    talk = _talk(entry, before.favorability, had)
    gift = GIFT if entry.kind == "give" else 0.0
    kind = min(max(0.0, warmth) + gift, max(0.0, ALL_A_SESSION - had - talk))
    step = talk + kind + min(0.0, warmth)
    favorability = round(min(1.0, max(0.0, before.favorability + step)), 4)
    now = replace(
        before,
        favorability=favorability,
        interactions=before.interactions + (entry.kind in TALK_KINDS),
        last_seen=max(before.last_seen, entry.timestamp),
        course=before.course_with(day_of(entry.timestamp), favorability),
    )
    if talk + kind <= 0:
        return now
    others = tuple(each for each in before.gained if each[0] != session)
    gained = (*others, (session, round(had + talk + kind, 4)))
    return replace(now, gained=gained[-SESSIONS_KEPT:])


def _talk(entry: Entry, favorability: float, had: float) -> float:
    if entry.kind not in TALK_KINDS:
        return 0.0
    confided = entry.private and not entry.is_question
    step, up_to = (CONFIDENCE, CONFIDED_UP_TO) if confided else (TALK, TALKED_UP_TO)
    return max(0.0, min(step, TALK_A_SESSION - had, up_to - favorability))


def warmth_of(labels: Sequence[str]) -> float:
    """The step of favorability for a text by its three nearest emotions, nearest first."""
    for family, opposite, step in ((WARM, COLD, KIND), (COLD, WARM, HARSH)):
        if sum(label in family for label in labels) >= AGREEING and labels[0] not in opposite:
            return step
    return 0.0
