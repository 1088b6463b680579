"""The situation in which an NPC answers: place, time, who is here, who is known and how.

Reactor thread: it looks at the room and at the Attributes of the NPC. What takes reading the
journal is only collected for lines that ask for it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any

from .. import language
from ..ingest.corrected_lines import corrected_before
from ..ingest.index import to_memory
from ..language import Intent, PresenceQuestion, Understood
from ..local_time import day_of
from ..records import TALK_KINDS, Coming, Entry, KnownPerson, MemoryRecord, Situation, Visit
from ..store.npc_memory import Memory
from ..store.profiles import ProfileAttribute
from .open_items import messages_for, nothing_open, open_items

LOOKED_BACK = 400  # journal entries that are read for visits and for the last talk
NEWS_LINES = 12  # among which the reply chooses
CORRECTIONS_READ = 60  # newest lines that may correct news
NEWS_WITHIN = timedelta(days=3)
GIFTS = 8  # of one giver, the last
TALK_LINES = 5  # of the last talk, the most important
A_TALK = 3  # lines from which a conversation is one to tell of
ATTRIBUTES = 5  # of a profile
NEXT_WITHIN = timedelta(hours=6)  # after somebody came in, for who came next
COMPANY = 8  # people in the room of whom is told how they are known


def situation_of(
    memory: Memory, entry: Entry, line: Understood, recalled: Iterable[MemoryRecord] = ()
) -> tuple[Situation, tuple[MemoryRecord, ...]]:
    """Look at the situation in which a line was said that means this and recalled that.

    Beside it, return the memories of its `lines_asked_for` and `agenda`, and of its `people` where
    the line asks what they are like.
    """
    npc = memory.owner
    company = npc.location.contents_get(content_type="character") if npc.location else []
    here = {npc.get_memory_guise(each): each for each in company if each is not npc}
    named = memory.people.mentioned(line.meant)
    identities = dict.fromkeys([entry.source_entity, *named])
    # what is private is not told aloud, even to the one who shared it
    listeners = (entry.source_entity,) if entry.source_entity and entry.private else ()
    wants = line.intent or line.courtesy
    look_up = _LOOKED_UP.get(wants) if wants else None
    talk = look_up(memory, entry, line) if look_up else ()
    agenda, evidence = open_items(memory, entry, line)
    people = tuple(_person(memory, each, here, listeners) for each in identities if each)
    asks_of_people = wants in (Intent.OPINION, Intent.ABOUT) or line.of_a_whole
    numbers = dict.fromkeys(number for person in people for number in person.evidence)
    behind = map(memory.journal.get, numbers if asks_of_people else ())
    profiled = (to_memory(memory.id, each) for each in behind if each)
    lately = _lately(memory) if wants in (Intent.VISITORS, Intent.LAST_SEEN) else []
    found_here = Situation(
        place=npc.location.get_display_name(npc) if npc.location else "",
        moment=npc.get_memory_moment(),
        present=tuple(
            memory.people.name_of(identity) or npc.name_seen(each)
            for identity, each in here.items()
            if identity != entry.source_entity
        ),
        company=tuple(
            replace(_person(memory, identity, here, ()), attributes=(), evidence=())
            for identity in list(here)[:COMPANY]
            if identity != entry.source_entity
        ),
        people=people,
        known_names=memory.people.names(),
        visits=tuple(_visits(lately)),
        visits_since=lately[0].timestamp if lately and len(memory.journal) > LOOKED_BACK else "",
        lines_asked_for=tuple(each.id for each in talk),
        agenda=agenda,
        nothing_open=not agenda and nothing_open(memory, entry, line),
        witnesses=_witnesses(memory, recalled) if line.presence else {},
        coming=_coming(memory, entry, line.presence, line.day) if line.presence else None,
    )
    return found_here, (*talk, *evidence, *profiled)


def _person(
    memory: Memory, identity: str, here: dict[str, Any], listeners: tuple[str, ...]
) -> KnownPerson:
    known = memory.people.get(identity)
    profile = memory.profiles.get(identity)
    told: list[ProfileAttribute] = []
    if profile is not None:
        heard = profile.for_listeners(listeners)
        told = sorted(heard.attributes, key=lambda each: -each.confidence)[:ATTRIBUTES]
    return KnownPerson(
        identity=identity,
        name=memory.people.name_of(identity)
        or (memory.owner.name_seen(here[identity]) if identity in here else ""),
        last_seen=known.last_seen if known else "",
        seen_before=known.seen_before if known else "",
        standing=profile.relationship.state if profile else "stranger",
        attributes=tuple(each.value for each in told),
        evidence=tuple(dict.fromkeys(number for each in told for number in each.evidence)),
        here=identity in here,
    )


def _visits(lately: Sequence[Entry]) -> Iterator[Visit]:
    for entry in reversed(lately):
        if entry.origin == "perceived" and entry.seen_as and not entry.private:
            leaves = entry.kind == "leave"
            place = language.get().destination(entry.content) if leaves else ""
            yield Visit(entry.seen_as, entry.timestamp, place)


def _witnesses(memory: Memory, recalled: Iterable[MemoryRecord]) -> dict[str, str]:
    """Return the names by identity of those who perceived what was recalled."""
    identities = dict.fromkeys(who for each in recalled for who in each.witnesses)
    return {who: name for who in identities if (name := memory.people.name_of(who))}


def _coming(
    memory: Memory, entry: Entry, asked: PresenceQuestion, day: date | None
) -> Coming | None:
    """Return when the speaker came in: on the day that is named, the first time, or last."""
    if asked.relation == "at":
        return None
    speaker = entry.source_entity or ""
    seen = [
        each
        for each in _lately(memory)
        if each.origin == "perceived" and not each.private and each.id < entry.id
    ]
    came = [each for each in seen if each.kind == "arrive" and each.source_entity == speaker]
    if day and not asked.first:
        came = [each for each in came if day_of(each.timestamp) == day.isoformat()]
    if not came:
        return None
    at = came[0] if asked.first else came[-1]
    until = datetime.fromisoformat(at.timestamp) + NEXT_WITHIN
    later = (
        each.seen_as
        for each in seen
        if each.id > at.id
        and each.kind == "arrive"
        and each.source_entity != speaker
        and datetime.fromisoformat(each.timestamp) <= until
    )
    present = (memory.people.name_of(who) for who in at.witnesses if who != speaker)
    return Coming(at.timestamp, tuple(filter(None, present)), next(later, ""))


def _last_talk(memory: Memory, entry: Entry, line: Understood) -> tuple[MemoryRecord, ...]:
    """Return the weightiest lines of the day that a line names, else of the speaker's last
    conversation, of this one if none was."""
    told = _told_before(memory, entry, (entry.source_entity or "",))
    said = [each for each in told if not each.is_question]
    if line.day:
        last = [each for each in said if day_of(each.timestamp) == line.day.isoformat()]
    else:
        before = [each for each in said if each.session_id != entry.session_id]
        talk = said if line.of_this_talk else before or said
        session = talk[-1].session_id if talk else None
        last = [each for each in said if each.session_id == session]
        if len(last) < A_TALK:
            last = said  # a gift on the way in was no talk
    best = sorted(last, key=lambda each: (-each.importance, each.id))[:TALK_LINES]
    return tuple(to_memory(memory.id, each) for each in sorted(best, key=lambda each: each.id))


def news(memory: Memory, entry: Entry) -> tuple[MemoryRecord, ...]:
    """Return the weightiest lines that others have said aloud in the last days.

    None that leaves a message for whoever asks, who is told it as such.
    """
    messages = messages_for(memory, entry, may_whisper=False)
    told_apart = {number for item in messages for number in item.evidence}
    since = (datetime.fromisoformat(memory.clock()) - NEWS_WITHIN).isoformat()
    told = [
        each
        for each in _lately(memory)
        if each.learnable
        and each.kind in TALK_KINDS
        and not (each.audience is not None or each.is_question)
        and each.source_entity not in (None, entry.source_entity)
        and each.timestamp >= since
        and each.id not in told_apart
    ]
    best = sorted(told, key=lambda each: (-each.importance, -each.id))[:NEWS_LINES]
    speakers = {each.source_entity for each in best}
    later = [each for each in told if each.source_entity in speakers][-CORRECTIONS_READ:]
    corrected = {found[0].id for each in later if (found := corrected_before(memory, each))}
    return tuple(to_memory(memory.id, each) for each in best if each.id not in corrected)


def _gifts(memory: Memory, entry: Entry, line: Understood) -> tuple[MemoryRecord, ...]:
    """Return the last gifts of whom a question asks for: the speaker, or somebody else."""
    named = () if line.of_oneself else memory.people.mentioned(line.meant)
    givers = named or (entry.source_entity,)
    told = _told_before(memory, entry, givers)
    given = [each for each in told if each.kind == "give" and each.origin != "self"]
    return tuple(to_memory(memory.id, each) for each in given[-GIFTS:])


def _told_before(memory: Memory, entry: Entry, sources: Container[str | None]) -> Iterator[Entry]:
    """Yield what people did before an entry, as far as an answer to it may tell it: what is
    private is not told aloud."""
    for each in _lately(memory):
        heard = each.audience is None or (entry.source_entity or "") in each.witnesses
        may_be_told = heard and (entry.private or not each.private)
        if each.learnable and each.source_entity in sources and each.id < entry.id and may_be_told:
            yield each


_LOOKED_UP = {
    Intent.TALK: _last_talk,
    Intent.NEWS: lambda memory, entry, _line: news(memory, entry),
    Intent.GIVEN: _gifts,
    Intent.GREETING: _last_talk,
}


def _lately(memory: Memory) -> list[Entry]:
    return list(memory.journal.read(max(1, len(memory.journal) - LOOKED_BACK)))
