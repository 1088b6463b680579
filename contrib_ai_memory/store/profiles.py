"""Entity profiles [A 4.2]: what an NPC knows of somebody, and its relationship with them.

Each profile is one JSON Attribute (category `entity_profiles`), keyed by memory identity. As in
O-MEM, observations (Pf) are recorded as they come, and a night consolidates them into attributes
(Pa) (`sleep.entity_consolidation`). Whispered observations stay with those who heard them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from twisted.internet import defer

from .. import conf, offload
from ..llm.provider import Observation
from ..privacy import may_hear
from . import attributes
from .removal import Removal

CATEGORY = "entity_profiles"
FIRST_FAVORABILITY = 0.1
COURSE_KEPT = 90  # days with a change of favorability, the newest
OBSERVATIONS_KEPT = 200  # of one entity
CONSOLIDATED_KEPT = 50  # of these, once they have become attributes
ATTRIBUTES_KEPT = 50
EVIDENCE_KEPT = 50  # journal ids of one attribute, the newest
PROFILES_IN_MEMORY = 64


def state_of(favorability: float) -> str:
    states = (state for below, state in conf.RELATIONSHIP_STATES if favorability < below)
    return next(states, "close")


@dataclass(frozen=True, slots=True)
class Relationship:
    """The NPC's relationship with an entity."""

    favorability: float = FIRST_FAVORABILITY  # 0-1
    interactions: int = 0  # lines that they said to it
    last_seen: str = ""  # ISO 8601 UTC
    course: tuple[tuple[str, float], ...] = ()  # (day, favorability at its end), the newest last
    gained: tuple[tuple[str, float], ...] = ()  # (session, what it added), of the latest talks

    @property
    def state(self) -> str:
        return state_of(self.favorability)

    def course_with(self, day: str, favorability: float) -> tuple[tuple[str, float], ...]:
        others = tuple(each for each in self.course if each[0] != day)
        return (*others, (day, favorability))[-COURSE_KEPT:]


NOT_MET = Relationship()


@dataclass(frozen=True, slots=True)
class ProfileObservation(Observation):
    """An observation (Pf) as a profile keeps it."""

    sentence: int = 0  # its number in the entry; identifies it together with the journal id
    consolidated: bool = False  # whether it has become part of an attribute

    @property
    def key(self) -> tuple[int, int]:
        return self.journal_id, self.sentence


@dataclass(frozen=True, slots=True)
class ProfileAttribute:
    """Stable knowledge of an entity (Pa), as private as its evidence."""

    type: str  # one of `llm.provider.ATTRIBUTE_TYPES`
    value: str
    evidence: tuple[int, ...] = ()  # journal ids
    confidence: float = 0.5  # 0-1
    updated: str = ""  # time of the newest evidence, ISO 8601 UTC
    private: bool = False
    witnesses: tuple[str, ...] = ()
    context: str = ""  # journal ids of all that a language model was shown (`journal.ranges_of`)


@dataclass(frozen=True, slots=True)
class Profile:
    """Everything one NPC knows of an entity."""

    entity_id: str  # memory identity
    entity_type: str = "player"  # player, npc or object
    name: str = ""
    observations: tuple[ProfileObservation, ...] = ()  # oldest first
    attributes: tuple[ProfileAttribute, ...] = ()  # oldest first
    relationship: Relationship = NOT_MET
    through: int = 0  # the newest journal entry counted in it, so that none is counted twice
    settling: int = 0  # observations up to this journal entry are being consolidated

    @property
    def new(self) -> tuple[ProfileObservation, ...]:
        return tuple(seen for seen in self.observations if not seen.consolidated)

    @property
    def in_work(self) -> bool:
        """Whether a consolidation has started and not finished."""
        return any(seen.journal_id <= self.settling for seen in self.new)

    def for_listeners(self, listeners: Iterable[str] | None) -> Profile:
        """Return the part that all `listeners` may hear; None is all of it."""
        heard_by = None if listeners is None else tuple(listeners)

        def heard(notes: Iterable[Any]) -> tuple[Any, ...]:
            return tuple(e for e in notes if may_hear(e.private, e.witnesses, heard_by))

        seen, known = heard(self.observations), heard(self.attributes)
        return replace(self, observations=seen, attributes=known)

    def without(self, removal: Removal) -> Profile:
        """Return the profile without the notes that go, and without a person as a witness."""
        seen, known = _left(self.observations, removal), _left(self.attributes, removal)
        return replace(self, observations=seen, attributes=known)

    def with_observations(self, added: Iterable[ProfileObservation]) -> Profile:
        """Return the profile with these observations; known ones change nothing."""
        known = {seen.key for seen in self.observations}
        new = {seen.key: seen for seen in added if seen.key not in known}
        if not new:
            return self
        every = sorted((*self.observations, *new.values()), key=lambda seen: seen.key)
        # consolidated ones are dropped first, the oldest first
        kept = _last(every, OBSERVATIONS_KEPT, lambda seen: (not seen.consolidated, seen.key))
        return replace(self, observations=kept)

    def consolidated(
        self, keys: Collection[tuple[int, int]], known: Iterable[ProfileAttribute], settling: int
    ) -> Profile:
        """Return it with new attributes and the observations of `keys` consolidated, old ones
        pruned."""
        marked = [
            replace(seen, consolidated=seen.consolidated or seen.key in keys)
            for seen in self.observations
        ]
        done = [seen.key for seen in marked if seen.consolidated]
        pruned = set(done[:-CONSOLIDATED_KEPT])
        return replace(
            self,
            observations=tuple(seen for seen in marked if seen.key not in pruned),
            attributes=_last(
                [*known], ATTRIBUTES_KEPT, lambda each: (each.confidence, each.updated)
            ),
            settling=settling,
        )


def goes(note: ProfileObservation | ProfileAttribute, removal: Removal) -> bool:
    """Return whether a note rests on what goes, or names the person who is erased."""
    if isinstance(note, ProfileObservation):
        return note.journal_id in removal.entries or removal.subject.named_in(note.text)
    rests = not removal.entries.isdisjoint(note.evidence) or removal.shown_for(note.context)
    return rests or removal.subject.named_in(note.value)


def _left(notes: Iterable[Any], removal: Removal) -> tuple[Any, ...]:
    return tuple(
        replace(note, witnesses=removal.others(note.witnesses))
        for note in notes
        if not goes(note, removal)
    )


def audience_of(known: ProfileObservation | ProfileAttribute) -> tuple[str, ...] | None:
    """Return who may hear of it again; None is anyone."""
    return tuple(sorted(known.witnesses)) if known.private else None


def _last(notes: Sequence[Any], most: int, worth: Callable[[Any], Any]) -> tuple[Any, ...]:
    """Return the notes of most worth, so many at most, in their order."""
    kept = {id(each) for each in sorted(notes, key=worth)[-most:]}
    return tuple(each for each in notes if id(each) in kept)


class _Digest(NamedTuple):
    """The part of a profile that is needed too often to read its row each time."""

    new: int
    in_work: bool
    bonus: int


class Profiles(attributes.Rows[Profile]):
    """The profiles one NPC has of others.

    Profiles refer to journal entries: clear them whenever the journal is cleared.
    """

    counted, category, kind = "observations", CATEGORY, Profile

    def __init__(self, npc: Any):
        super().__init__(npc)
        self._read: OrderedDict[str, Profile] = OrderedDict()
        self._digests: dict[str, _Digest | None] | None = None  # None: not read yet

    def __len__(self) -> int:
        return len(self._known)

    def identities(self) -> tuple[str, ...]:
        return tuple(sorted(self._known))

    def get(self, identity: str | None) -> Profile | None:
        if identity is None or identity not in self._known:
            return None
        if identity not in self._read:
            if (profile := self.row(key_of(identity))) is None:
                del self._known[identity]
                return None
            self._remember(profile)
        self._read.move_to_end(identity)
        return self._read[identity]

    def put(self, record: Profile) -> None:
        attributes.write_json(self._npc, key_of(record.entity_id), to_plain(record), CATEGORY)
        self._remember(record)

    def is_at_hand(self, identity: str) -> bool:
        """Return whether `due` and `sender_bonus` need no database query."""
        return self._known.get(identity) is not None

    def due(self, identity: str, at_least: int) -> bool:
        """Return whether to consolidate: enough observations are new, or it has started."""
        digest = self._digest(identity)
        return digest is not None and (digest.new >= at_least or digest.in_work)

    def sender_bonus(self, identity: str | None) -> int:
        """[A] Return 0-2 importance: 1 if a friend speaks, 2 if the speaker is close."""
        digest = self._digest(identity)
        return digest.bonus if digest else 0

    def forget(self, identity: str) -> bool:
        if self.get(identity) is None:
            return False
        attributes.remove_json(self._npc, key_of(identity), CATEGORY)
        del self._known[identity]
        self._read.pop(identity, None)
        return True

    @defer.inlineCallbacks
    def take_out(self, removal: Removal) -> Generator[Any, Any, int]:
        """Remove the notes that go, unless what was drawn from the entries stays; counts them."""
        count = 0
        for identity in self.identities() if removal.drawn else ():
            yield offload.breathe()
            profile = self.get(identity)
            if profile is None or not self._npc.pk:
                continue
            left = profile.without(removal)
            count += len(profile.observations) - len(left.observations)
            count += len(profile.attributes) - len(left.attributes)
            if left != profile:
                self.put(left)
        return count

    def clear(self) -> None:
        super().clear()
        self._digests = {}
        self._read.clear()

    @property
    def _known(self) -> dict[str, _Digest | None]:
        if self._digests is None:
            self._digests = {}
            for key in self.keys():
                inexact = "/" in key  # `key_of`
                row = attributes.read_json(self._npc, key, CATEGORY) if inexact else {}
                self._digests[row.get("entity_id", key)] = None
        return self._digests

    def _digest(self, identity: str | None) -> _Digest | None:
        known = self._known.get(identity or "")
        if known is None and self.get(identity) is not None:
            known = self._known[identity or ""]
        return known

    def _remember(self, profile: Profile) -> None:
        bonus = conf.SENDER_BONUS.get(profile.relationship.state, 0)
        self._known[profile.entity_id] = _Digest(len(profile.new), profile.in_work, bonus)
        self._read[profile.entity_id] = profile
        self._read.move_to_end(profile.entity_id)
        while len(self._read) > PROFILES_IN_MEMORY:
            self._read.popitem(last=False)


def key_of(identity: str) -> str:
    """Return the key of a profile's Attribute: the identity, with a digest if not exact without."""
    exact = identity == identity.strip().lower() and "/" not in identity
    if exact and len(identity) <= attributes.KEY_LENGTH:
        return identity
    return attributes.key_with_digest(identity, identity)


def to_plain(profile: Profile) -> dict[str, Any]:
    relationship = attributes.to_plain(profile.relationship)
    relationship["state"] = profile.relationship.state  # for readers of the row; not read back
    return attributes.to_plain(profile) | {"relationship": relationship}
