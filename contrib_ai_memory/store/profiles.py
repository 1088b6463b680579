"""Who people are to one NPC: observations of them, what these come to, how it stands with them.

O-MEM [A 4.2]: observations (Pf) are noted as they come, and drawn together into attributes (Pa) at
night (`sleep.entity_consolidation`). One JSON Attribute per entity, category `entity_profiles`;
what was whispered stays with those who heard it.

How an NPC stands with somebody: favorability, and the state and the course that it makes [A].
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Collection, Generator, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from twisted.internet import defer

from .. import offload
from ..llm.provider import Observation
from ..records import may_hear
from . import attributes

FIRST_FAVORABILITY = 0.1
STATES = ((0.25, "stranger"), (0.5, "acquaintance"), (0.75, "friend"))  # below; then "close"
COURSE_KEPT = 90  # days on which a relationship moved, the newest


def state_of(favorability: float) -> str:
    """How the NPC stands with somebody: stranger, acquaintance, friend or close."""
    return next((state for below, state in STATES if favorability < below), "close")


@dataclass(frozen=True, slots=True)
class Relationship:
    """How it stands with somebody: `favorability` 0-1, `interactions` counts what they said.

    `course` is how it came to that: (day, favorability at its end), the newest last. `gained` is
    what the last conversations gave: (session, favorability).
    """

    favorability: float = FIRST_FAVORABILITY
    interactions: int = 0
    last_seen: str = ""
    course: tuple[tuple[str, float], ...] = ()
    gained: tuple[tuple[str, float], ...] = ()

    @property
    def state(self) -> str:
        return state_of(self.favorability)

    def course_with(self, day: str, favorability: float) -> tuple[tuple[str, float], ...]:
        """Its course, when a day has come to that favorability."""
        others = tuple(each for each in self.course if each[0] != day)
        return (*others, (day, favorability))[-COURSE_KEPT:]


AT_FIRST = Relationship()  # with somebody whom it never met


# --- profiles -------------------------------------------------------------------------------------

CATEGORY = "entity_profiles"

OBSERVATIONS_KEPT = 200  # of one entity
CONSOLIDATED_KEPT = 50  # of these, when they have become attributes
ATTRIBUTES_KEPT = 50
EVIDENCE_KEPT = 50  # journal ids of one attribute, the newest
PROFILES_IN_MEMORY = 64
KEY_LENGTH = 180  # of the readable part; an Attribute's key holds 255

SENDER_BONUS = {"friend": 1, "close": 2}  # [A] 0-2


@dataclass(frozen=True, slots=True)
class Noted(Observation):
    """An observation (Pf) as a profile keeps it.

    Attributes:
        sentence: Which sentence of the entry; with the journal id, it says which one this is.
        consolidated: Whether it has been drawn into attributes.
    """

    sentence: int = 0
    consolidated: bool = False

    @property
    def key(self) -> tuple[int, int]:
        return self.journal_id, self.sentence


@dataclass(frozen=True, slots=True)
class ProfileAttribute:
    """Stable knowledge (Pa), as private as what it rests on.

    `type` is one of `llm.provider.ATTRIBUTE_TYPES`, `evidence` are journal ids, `confidence` 0-1,
    `updated` is the time of the newest evidence, ISO 8601 UTC.
    """

    type: str
    value: str
    evidence: tuple[int, ...] = ()
    confidence: float = 0.5
    updated: str = ""
    private: bool = False
    witnesses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Profile:
    """All that one NPC knows of somebody.

    Attributes:
        entity_id: Memory identity.
        entity_type: player, npc or object.
        observations, attributes: Oldest first.
        through: The newest journal entry that is counted in here: none is counted twice.
        settling: Observations up to this journal entry are being drawn together.
    """

    entity_id: str
    entity_type: str = "player"
    name: str = ""
    observations: tuple[Noted, ...] = ()
    attributes: tuple[ProfileAttribute, ...] = ()
    relationship: Relationship = AT_FIRST
    through: int = 0
    settling: int = 0

    @property
    def new(self) -> tuple[Noted, ...]:
        """The observations that are not drawn into attributes yet."""
        return tuple(noted for noted in self.observations if not noted.consolidated)

    @property
    def in_work(self) -> bool:
        """Whether some of a number begun with is not drawn together yet."""
        return any(noted.journal_id <= self.settling for noted in self.new)

    def noting(self, seen: Iterable[Noted]) -> Profile:
        """With these observations; those that it has already change nothing."""
        known = {noted.key for noted in self.observations}
        new = {noted.key: noted for noted in seen if noted.key not in known}
        kept = sorted((*self.observations, *new.values()), key=lambda noted: noted.key)
        return replace(self, observations=_bounded(kept)) if new else self

    def consolidated(
        self, keys: Collection[tuple[int, int]], known: Iterable[ProfileAttribute], settling: int
    ) -> Profile:
        """With `known` for attributes, the observations of these keys done, old ones pruned."""
        marked = [
            replace(noted, consolidated=noted.consolidated or noted.key in keys)
            for noted in self.observations
        ]
        done = [noted.key for noted in marked if noted.consolidated]
        pruned = set(done[:-CONSOLIDATED_KEPT])
        return replace(
            self,
            observations=tuple(noted for noted in marked if noted.key not in pruned),
            attributes=_surest(known),
            settling=settling,
        )


def audience_of(kept: Noted | ProfileAttribute) -> tuple[str, ...] | None:
    """Who may hear of it again: None is anyone."""
    return tuple(sorted(kept.witnesses)) if kept.private else None


def _bounded(noted: Sequence[Noted]) -> tuple[Noted, ...]:
    """At most `OBSERVATIONS_KEPT`: first those go that have become attributes, the oldest first."""
    too_many = len(noted) - OBSERVATIONS_KEPT
    if too_many <= 0:
        return tuple(noted)
    leaving = sorted(noted, key=lambda each: (not each.consolidated, each.key))[:too_many]
    gone = {each.key for each in leaving}
    return tuple(each for each in noted if each.key not in gone)


def _surest(known: Iterable[ProfileAttribute]) -> tuple[ProfileAttribute, ...]:
    """At most `ATTRIBUTES_KEPT`: the least sure go, and of these the oldest."""
    known = tuple(known)
    places = sorted(
        range(len(known)), key=lambda place: (known[place].confidence, known[place].updated, place)
    )
    kept = sorted(places[-ATTRIBUTES_KEPT:])
    return tuple(known[place] for place in kept)


@dataclass(frozen=True, slots=True)
class _Standing:
    """What is asked of a profile too often to read its row each time."""

    new: int
    in_work: bool
    bonus: int


class Profiles:
    """The profiles that one NPC has of others. Reactor thread only.

    A profile counts journal entries: whoever clears the journal clears the profiles too.
    """

    def __init__(self, owner: Any):
        self._owner = owner
        self._read: OrderedDict[str, Profile] = OrderedDict()
        self._standings: dict[str, _Standing | None] | None = None  # None: not read yet

    def __len__(self) -> int:
        return len(self._known)

    def identities(self) -> tuple[str, ...]:
        """Whom there is a profile of, in a lasting order."""
        return tuple(sorted(self._known))

    def get(self, identity: str | None) -> Profile | None:
        """The profile of one entity, or None."""
        if identity is None or identity not in self._known:
            return None
        if identity not in self._read:
            plain = attributes.read_json(self._owner, key_of(identity), CATEGORY)
            if plain is None:
                del self._known[identity]
                return None
            self._remember(_from_plain(plain))
        self._read.move_to_end(identity)
        return self._read[identity]

    def put(self, profile: Profile) -> None:
        """Write a profile, whole, in one go."""
        plain = _to_plain(profile)
        attributes.write_json(self._owner, key_of(profile.entity_id), plain, CATEGORY)
        self._remember(profile)

    def for_listeners(self, profile: Profile, listeners: Iterable[str] | None) -> Profile:
        """What of a profile may be told where all of `listeners` hear it; None sees everything."""
        heard_by = None if listeners is None else tuple(listeners)
        return replace(
            profile,
            observations=_heard(profile.observations, heard_by),
            attributes=_heard(profile.attributes, heard_by),
        )

    def is_at_hand(self, identity: str) -> bool:
        """Whether `due` and `sender_bonus` need no look into the database."""
        return self._known.get(identity) is not None

    def due(self, identity: str, at_least: int) -> bool:
        """Whether observations are to be drawn together: enough are new, or it was begun with."""
        standing = self._standing(identity)
        return bool(standing) and (standing.new >= at_least or standing.in_work)

    def sender_bonus(self, identity: str | None) -> int:
        """[A] 0-2 importance: 1 for what a friend says, 2 for somebody close."""
        standing = self._standing(identity)
        return standing.bonus if standing else 0

    def forget(self, identity: str) -> bool:
        """Forget one entity. Returns whether there was a profile of it."""
        if self.get(identity) is None:
            return False
        attributes.remove_json(self._owner, key_of(identity), CATEGORY)
        del self._known[identity]
        self._read.pop(identity, None)
        return True

    @defer.inlineCallbacks
    def forget_entries(self, journal_ids: Iterable[int]) -> Generator[Any, Any, int]:
        """Forget what rests on these entries, in whosever profile; the game goes on in between.

        Returns (as a Deferred):
            How many observations and attributes that were.
        """
        gone = frozenset(journal_ids)
        count = 0
        for identity in self.identities():
            yield offload.breathe()
            profile = self.get(identity)
            if profile is None or not self._owner.pk:
                continue
            noted = tuple(n for n in profile.observations if n.journal_id not in gone)
            known = tuple(a for a in profile.attributes if gone.isdisjoint(a.evidence))
            lost = len(profile.observations) - len(noted) + len(profile.attributes) - len(known)
            if lost:
                self.put(replace(profile, observations=noted, attributes=known))
                count += lost
        return count

    def clear(self) -> None:
        self._owner.attributes.clear(category=CATEGORY)
        self._standings = {}
        self._read.clear()

    @property
    def _known(self) -> dict[str, _Standing | None]:
        if self._standings is None:
            rows = self._owner.db_attributes.filter(db_category=CATEGORY)
            keys = rows.values_list("db_key", flat=True)
            self._standings = dict.fromkeys(self._identity_of(key) for key in keys)
        return self._standings

    def _identity_of(self, key: str) -> str:
        exact = "/" not in key
        return key if exact else attributes.read_json(self._owner, key, CATEGORY)["entity_id"]

    def _standing(self, identity: str | None) -> _Standing | None:
        known = self._known.get(identity or "")
        if known is None and self.get(identity) is not None:
            known = self._known[identity or ""]
        return known

    def _remember(self, profile: Profile) -> None:
        bonus = SENDER_BONUS.get(profile.relationship.state, 0)
        self._known[profile.entity_id] = _Standing(len(profile.new), profile.in_work, bonus)
        self._read[profile.entity_id] = profile
        self._read.move_to_end(profile.entity_id)
        while len(self._read) > PROFILES_IN_MEMORY:
            self._read.popitem(last=False)


def _heard(kept: tuple[Any, ...], listeners: tuple[str, ...] | None) -> tuple[Any, ...]:
    return tuple(each for each in kept if may_hear(each.private, each.witnesses, listeners))


def key_of(identity: str) -> str:
    """The Attribute's key: the identity. Evennia puts keys in small letters: what that would mix
    up is told apart by a digest, after a stroke."""
    if identity == identity.strip().lower() and "/" not in identity and len(identity) <= KEY_LENGTH:
        return identity
    digest = hashlib.blake2b(identity.encode(), digest_size=8).hexdigest()
    return f"{identity[:KEY_LENGTH]}/{digest}"


def _to_plain(profile: Profile) -> dict[str, Any]:
    return {
        **_bare(profile),
        "observations": [_bare(noted) for noted in profile.observations],
        "attributes": [_bare(known) for known in profile.attributes],
        "relationship": _bare(profile.relationship) | {"state": profile.relationship.state},
    }


def _from_plain(plain: dict[str, Any]) -> Profile:
    made = {
        "observations": tuple(_made(Noted, each) for each in plain.get("observations", ())),
        "attributes": tuple(_made(ProfileAttribute, each) for each in plain.get("attributes", ())),
        "relationship": _relationship(plain.get("relationship", {})),
    }
    return _made(Profile, plain | made)


def _relationship(plain: dict[str, Any]) -> Relationship:
    pairs = {name: tuple(map(tuple, plain.get(name, ()))) for name in ("course", "gained")}
    return _made(Relationship, plain | pairs)


def _bare(record: Any) -> dict[str, Any]:
    """The fields of a record that are not what they are by default."""
    return {
        spec.name: value
        for spec in fields(record)
        if (value := getattr(record, spec.name)) != spec.default
    }


def _made(cls: type, plain: dict[str, Any]) -> Any:
    names = cls.__dataclass_fields__
    return cls(
        **{
            name: tuple(value) if isinstance(value, list) else value
            for name, value in plain.items()
            if name in names
        }
    )
