"""run_entity_consolidation_batch [A 4.2, O-MEM]: from what is seen of people to what they are like.

Two stages, one a step. *Observe*: a cursor walks the journal, and each entry adds to the profile of
whoever it comes from and of those whom it names. *Consolidate*: of an entity with enough new
observations, those of one audience become attributes, as private as they were. Each profile holds
the newest entry that it counts: a step that was killed is run again and counts nothing twice.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from twisted.internet import defer

from .. import conf, offload
from ..embedding import emotions
from ..llm.offline import reported, without_address
from ..llm.telling import claim, tells
from ..llm.words import sentences_of
from ..records import TALK_KINDS, Entry, PassReport
from ..store.evidence import Work
from ..store.profiles import OBSERVATIONS_KEPT, Noted, Profile, audience_of
from . import consolidation, describing, favor
from .describing import short

CURSOR = "observed"

SENTENCES_AN_ENTRY = 12
DESCRIBED_AT_ONCE = 40  # observations in one question to the provider
_YOU = re.compile(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE)


@defer.inlineCallbacks
def run_entity_consolidation_batch(mind: Any) -> Generator[Any, Any, PassReport]:
    """Draw together the observations of one entity where there are enough, else observe more."""
    with mind.evidence.drawing_on(priority=offload.NIGHT) as work:
        due = yield _next_due(mind, work)
    return (yield _observe(mind) if due is None else _consolidate(mind, due))


# --- observe --------------------------------------------------------------------------------------


@defer.inlineCallbacks
def _observe(mind: Any) -> Generator[Any, Any, PassReport]:
    settings = conf.get()
    # what a step adds finds room beside what is not drawn together yet: none of that is lost
    room = (OBSERVATIONS_KEPT - settings.MIN_OBSERVATIONS) // SENTENCES_AN_ENTRY
    start = mind.journal.cursors.get(CURSOR, 0)
    last = mind.journal.cursors.get(consolidation.CURSOR, 0)
    end = min(start + min(settings.NIGHT_BATCH, room), last)
    if end <= start:
        return PassReport(done=True)
    batch = [entry for entry in mind.journal.read(start + 1, end) if entry.learnable]
    turned = {entry.id for entry in batch if _is_turned_on(mind, entry)}
    changed = 0
    with mind.evidence.drawing_on(batch, priority=offload.NIGHT) as work:
        heard = yield work.run(heard_in, batch, mind.name, turned)
        for identity, entries in _by_entity(batch).items():
            changed += _note(mind, identity, entries, heard)
            yield work.breathe()
    mind.journal.advance_cursor(CURSOR, end)
    return PassReport(done=False, read=len(batch), changed=changed)


@dataclass(frozen=True, slots=True)
class Heard:
    """What one entry tells, sentence by sentence, and by how much it moves favorability."""

    sentences: tuple[tuple[str, Noted | None], ...]
    warmth: float


def heard_in(batch: Sequence[Entry], npc_name: str, turned: Collection[int]) -> dict[int, Heard]:
    """What entries tell, and what those felt that are turned on the NPC (worker thread)."""
    said = {entry.id: without_address(entry.content, npc_name) for entry in batch}
    felt = [entry.id for entry in batch if entry.id in turned]
    labels = emotions.classify([said[entry_id] for entry_id in felt])
    warmth = {
        entry_id: favor.warmth_of(found) for entry_id, found in zip(felt, labels, strict=True)
    }
    return {
        entry.id: Heard(_observed(entry, said[entry.id]), warmth.get(entry.id, 0.0))
        for entry in batch
    }


def _observed(entry: Entry, said: str) -> tuple[tuple[str, Noted | None], ...]:
    """Its sentences with an observation each; what asks or greets tells nothing and has none."""
    found: list[tuple[str, Noted | None]] = []
    for place, sentence in enumerate(sentences_of(said)[:SENTENCES_AN_ENTRY]):
        noted = Noted(
            text=short(reported(claim(sentence), entry)),
            journal_id=entry.id,
            timestamp=entry.timestamp,
            private=entry.private,
            witnesses=tuple(sorted(entry.witnesses)) if entry.private else (),
            sentence=place,
        )
        found.append((sentence, noted if tells(sentence) else None))
    return tuple(found)


def _is_turned_on(mind: Any, entry: Entry) -> bool:
    """Whether talk is about the NPC: who hates wolves and tells it so does not hate the NPC."""
    if entry.kind not in TALK_KINDS or entry.origin != "perceived" or not entry.source_entity:
        return False
    if mind.owner.is_named(without_address(entry.content, mind.name)):
        return True
    alone = set(entry.witnesses) <= {entry.source_entity}
    addressed = entry.private or alone or mind.owner.is_named(entry.content)
    return addressed and bool(_YOU.search(entry.content))


def _by_entity(batch: Iterable[Entry]) -> dict[str, list[Entry]]:
    touched: dict[str, list[Entry]] = {}
    for entry in batch:
        for identity in sorted({entry.source_entity, *entry.entities} - {None}):
            touched.setdefault(identity, []).append(entry)
    return touched


def _note(mind: Any, identity: str, entries: Iterable[Entry], heard: dict[int, Heard]) -> bool:
    """Add entries to one profile. Returns whether anything changed."""
    if identity == mind.owner.get_memory_identity(mind.owner):
        return False
    known = mind.profiles.get(identity)
    person = mind.people.get(identity)
    profile = known or Profile(identity)
    for entry in entries:
        if entry.id <= profile.through:
            continue  # counted already
        seen = _of(mind, identity, entry, heard[entry.id])
        met = identity == entry.source_entity and entry.origin == "perceived"
        if met:
            standing = favor.moved(profile.relationship, entry, heard[entry.id].warmth)
            name = profile.name or entry.seen_as
            profile = replace(profile, relationship=standing, name=name)
        elif not seen or (known is None and person is None):
            continue
        profile = replace(profile.noting(seen), through=entry.id)
    if profile == (known or Profile(identity)):
        return False
    if person is not None:
        profile = replace(profile, name=person.name, entity_type=person.entity_type)
    mind.profiles.put(profile)
    return True


def _of(mind: Any, identity: str, entry: Entry, heard: Heard) -> list[Noted]:
    """Of its source all that an entry tells; of others where they are named."""
    sentences = heard.sentences
    if identity != entry.source_entity:
        naming = tuple(each for each in sentences if identity in mind.people.mentioned(each[0]))
        sentences = naming or sentences
    return [noted for _, noted in sentences if noted is not None]


# --- consolidate ----------------------------------------------------------------------------------


@defer.inlineCallbacks
def _next_due(mind: Any, work: Work) -> Generator[Any, Any, str | None]:
    """The first entity with enough new observations, or with some of a number begun with."""
    at_least = conf.get().MIN_OBSERVATIONS
    for identity in mind.profiles.identities():
        if not mind.profiles.is_at_hand(identity):
            yield work.breathe()  # a row is read
        if mind.profiles.due(identity, at_least):
            return identity
    return None


@defer.inlineCallbacks
def _consolidate(mind: Any, identity: str) -> Generator[Any, Any, PassReport]:
    """Attributes from the observations of one entity that one audience knows of."""
    profile = mind.profiles.get(identity)
    settling = profile.settling if profile.in_work else profile.new[-1].journal_id
    pending = [noted for noted in profile.new if noted.journal_id <= settling]
    circle = audience_of(pending[0])
    group = [noted for noted in pending if audience_of(noted) == circle][:DESCRIBED_AT_ONCE]
    seen = filter(None, (mind.journal.get(noted.journal_id) for noted in group))
    with mind.evidence.drawing_on(seen, priority=offload.NIGHT) as work:
        provider, drafts = yield work.ask("describe", profile.name, group)
        known = yield work.run(
            describing.attributes_with, mind.id, profile, group, drafts, provider
        )
    if mind.profiles.get(identity) != profile:
        return PassReport(done=False)  # somebody else changed it: it is read again
    mind.profiles.put(profile.consolidated({each.key for each in group}, known, settling))
    new = set(known).difference(profile.attributes)
    return PassReport(done=False, read=len(group), changed=len(new))
