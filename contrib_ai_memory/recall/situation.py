"""The situation in which an NPC answers: place, time, who is here, who is known and how.

Reactor thread: it looks at the room and at the Attributes of the NPC. What takes reading the
journal is only collected for lines that ask for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from ..english.addressing import forms, without_address
from ..english.intents import Intent, intent_of
from ..ingest.index import to_memory
from ..records import Entry, KnownPerson, MemoryRecord, Situation, Visit, may_hear
from .open_items import open_items

LOOKED_BACK = 400  # journal entries that are read for visits and for the last talk
TALK_LINES = 5  # of the last talk, the most important
ATTRIBUTES = 5  # of a profile

_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_MONTHS = (
    "January February March April May June July August September October November December"
).split()
_HOURS = ((5, "night"), (12, "morning"), (17, "afternoon"), (22, "evening"), (24, "night"))


def situation_of(memory: Any, entry: Entry) -> tuple[Situation, tuple[MemoryRecord, ...]]:
    """Look at the situation in which a line was said to the NPC.

    Args:
        memory: The NPC's MemoryHandler.

    Returns:
        The situation, and the memories of `Situation.last_talk` and `Situation.agenda`.
    """
    npc = memory.owner
    company = npc.location.contents_get(content_type="character") if npc.location else []
    here = {npc.get_memory_identity(each): each for each in company if each is not npc}
    named = memory.people.mentioned(entry.content)
    identities = dict.fromkeys([entry.source_entity, *named])
    listeners = (entry.source_entity,) if entry.source_entity else ()
    found = intent_of(without_address(entry.content, forms(memory.names)))
    meant = found[0] if found else None
    talk = _last_talk(memory, entry) if meant is Intent.TALK else ()
    agenda, evidence = open_items(memory, entry)
    found_here = Situation(
        place=npc.location.get_display_name(npc) if npc.location else "",
        moment=npc.get_memory_moment(),
        present=tuple(
            memory.people.name_of(identity) or each.key
            for identity, each in here.items()
            if identity != entry.source_entity
        ),
        people=tuple(
            _person(memory, identity, here, listeners) for identity in identities if identity
        ),
        known_names=memory.people.names(),
        visits=tuple(_visits(memory)) if meant is Intent.VISITORS else (),
        last_talk=tuple(each.id for each in talk),
        agenda=agenda,
    )
    return found_here, (*talk, *evidence)


def moment_told(now: str) -> str:
    """Say a time as people do: "Saturday, 9 May, in the evening"."""
    when = datetime.fromisoformat(now)
    part = next(name for until, name in _HOURS if when.hour < until)
    within = "at night" if part == "night" else f"in the {part}"
    return f"{_DAYS[when.weekday()]}, {when.day} {_MONTHS[when.month - 1]}, {within}"


def _person(
    memory: Any, identity: str, here: dict[str, Any], listeners: tuple[str, ...]
) -> KnownPerson:
    known = memory.people.get(identity)
    profile = memory.profiles.get(identity)
    attributes: tuple[str, ...] = ()
    if profile is not None:
        heard = profile.for_listeners(listeners)
        surest = sorted(heard.attributes, key=lambda each: -each.confidence)
        attributes = tuple(each.value for each in surest[:ATTRIBUTES])
    return KnownPerson(
        identity=identity,
        name=memory.people.name_of(identity),
        last_seen=known.last_seen if known else "",
        seen_before=known.seen_before if known else "",
        standing=profile.relationship.state if profile else "stranger",
        attributes=attributes,
        here=identity in here,
    )


def _visits(memory: Any) -> Iterator[Visit]:
    for entry in reversed(list(_lately(memory))):
        if entry.origin == "perceived" and entry.seen_as and not entry.private:
            yield Visit(entry.seen_as, entry.timestamp)


def _last_talk(memory: Any, entry: Entry) -> tuple[MemoryRecord, ...]:
    """Return the weightiest lines of the speaker's last conversation, of this one if none was."""
    speaker = entry.source_entity or ""
    said = [
        each
        for each in _lately(memory)
        if each.learnable
        and each.source_entity == speaker
        and each.id < entry.id
        and not each.is_question
        and may_hear(each.private, each.witnesses, (speaker,))
        and (entry.private or not each.private)
    ]
    before = [each for each in said if each.session_id != entry.session_id]
    session = (before or said)[-1].session_id if said else None
    last = [each for each in said if each.session_id == session]
    best = sorted(last, key=lambda each: (-each.importance, each.id))[:TALK_LINES]
    return tuple(to_memory(memory.id, each) for each in sorted(best, key=lambda each: each.id))


def _lately(memory: Any) -> Iterator[Entry]:
    return iter(memory.journal.read(max(1, len(memory.journal) - LOOKED_BACK)))
