"""Fifty NPCs with long memories, made in bulk: what `benchmarks.web` looks at.

Everything lies where a game would put it: journal pages, links, people and nights in Attributes
of each NPC, written as rows; memories in the store. Vectors are random: what pages list is not
ranked. Of one NPC, the one whose pages are timed, the journal is in the store as well.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

import numpy as np

from . import talk
from .harness import make, progress

FIRST = datetime(2026, 1, 1, tzinfo=UTC)
SECONDS_A_LINE = 40
LINES_A_TALK = 40
ENTRIES_A_FACT = 20
ENTRIES_AN_EXPERIENCE = 40
PEOPLE = 40
OBSERVATIONS = 20
NIGHTS = 30
LINKS_A_FACT = 3  # to what it rests on
LIKE = 0.2  # links of likeness for each entry
ROWS_AT_ONCE = 2_000
POINTS_AT_ONCE = 500
DIMENSIONS = 384


@dataclass(frozen=True, slots=True)
class Made:
    """What was made: the dbid of the NPC that is timed, and counts over all of them."""

    npc: int
    npcs: int
    entries: int
    memories: int
    links: int


def fill(npcs: int, entries: int) -> Made:
    """Make so many NPCs with so many journal entries each, in the game that is entered."""
    dice, speech = random.Random(7), talk.lines()
    room = make("typeclasses.rooms.Room", "The Long Hall")
    memories = links = 0
    first = 0
    for number in progress(range(npcs), "making minds", "NPC"):
        npc = make("typeclasses.npcs.AssistantNPC", f"{dice.choice(talk.NAMES)} {number + 1}", room)
        first = first or npc.id
        journal = journal_of(dice, speech, entries)
        rows = [*pages_of(journal), *profiles_of(dice, journal)]
        found = list(memories_of(npc.memory.id, dice, journal))
        buckets = links_of(dice, found, entries)
        rows += [(f"links_{n}", "memory_links", bucket) for n, bucket in buckets.items()]
        write_rows(npc, rows)
        links += sum(len(e["linked_to"]) for b in buckets.values() for e in b.values()) // 2
        write_attributes(npc, dice, journal, links=links)
        indexed = journal if npc.id == first else []
        memories += _store(npc.memory.id, found, indexed, dice)
        npc.flush_from_cache(force=True)
    return Made(first, npcs, npcs * entries, memories, links)


# --- the game database ----------------------------------------------------------------------------


def journal_of(dice: random.Random, speech: Iterator[str], entries: int) -> list[Any]:
    from contrib_ai_memory.records import Entry

    made = []
    for number, line in enumerate(islice(speech, entries), start=1):
        name = dice.choice(talk.NAMES[:PEOPLE])
        when = FIRST + timedelta(seconds=number * SECONDS_A_LINE)
        private = dice.random() < 0.1
        made.append(
            Entry(
                id=number,
                timestamp=when.isoformat(timespec="milliseconds"),
                content=line,
                kind="whisper" if private else "say",
                seen_as=name,
                source_entity=_identity(name),
                entities=(_identity(name),),
                witnesses=(_identity(name),),
                private=private,
                location="#2",
                session_id=f"talk-{number // LINES_A_TALK}",
                importance=dice.randint(1, 10),
                scoring_method="offline",
                consolidated=True,
            )
        )
    return made


def _identity(name: str) -> str:
    return f"log:{name}"


def pages_of(journal: list[Any]) -> Iterator[tuple[str, str, Any]]:
    from contrib_ai_memory.conf import PAGE_SIZE

    for first in range(0, len(journal) - PAGE_SIZE + 1, PAGE_SIZE):
        page = [entry.to_dict() for entry in journal[first : first + PAGE_SIZE]]
        yield f"journal_page_{first // PAGE_SIZE}", "ai_memory", page


def profiles_of(dice: random.Random, journal: list[Any]) -> Iterator[tuple[str, str, Any]]:
    from contrib_ai_memory.store import profiles
    from contrib_ai_memory.store.profiles import Relationship

    for name in talk.NAMES[:PEOPLE]:
        seen = dice.sample(journal, min(OBSERVATIONS, len(journal)))
        noted = tuple(
            profiles.ProfileObservation(
                text=e.content, journal_id=e.id, timestamp=e.timestamp, consolidated=True
            )
            for e in sorted(seen, key=lambda entry: entry.id)
        )
        known = tuple(
            profiles.ProfileAttribute("fact", each.text, (each.journal_id,), 0.5, each.timestamp)
            for each in noted[:10]
        )
        course = tuple((f"2026-01-{day:02}", day / 100) for day in range(1, 10))
        profile = profiles.Profile(
            _identity(name),
            name=name,
            observations=noted,
            attributes=known,
            relationship=Relationship(0.4, 500, journal[-1].timestamp, course),
            through=len(journal),
        )
        key, plain = profiles.key_of(profile.entity_id), profiles.to_plain(profile)
        yield key, "entity_profiles", plain


def links_of(dice: random.Random, memories: list[Any], entries: int) -> dict[int, dict[str, Any]]:
    from contrib_ai_memory.store.links import _bucket_of

    pairs = []
    for memory in memories:
        pairs += [(memory.id, str(number), 1.0, "evidence") for number in memory.journal_ids]
    for _ in range(int(entries * LIKE)):
        a, b = dice.randint(1, entries), dice.randint(1, entries)
        pairs.append((str(a), str(b), round(dice.uniform(0.5, 1), 4), "similar"))
    buckets: dict[int, dict[str, Any]] = {}
    for a, b, score, kind in pairs:
        if a != b:
            note = {"score": score, "kind": kind, "created": FIRST.isoformat()}
            for here, there in ((a, b), (b, a)):
                home = buckets.setdefault(_bucket_of(here), {})
                home.setdefault(here, {"linked_to": {}})["linked_to"][there] = note
    return buckets


def write_rows(npc: Any, rows: list[tuple[str, str, Any]]) -> None:
    """JSON Attributes as rows, at once: what `attributes.write_json` does for one."""
    from django.db import transaction
    from evennia.typeclasses.attributes import Attribute

    from contrib_ai_memory.store.attributes import as_json

    with transaction.atomic():
        made = Attribute.objects.bulk_create(
            [
                Attribute(
                    db_key=key.lower(),
                    db_category=category,
                    db_strvalue=as_json(value),
                    db_model="objectdb",
                )
                for key, category, value in rows
            ],
            batch_size=ROWS_AT_ONCE,
        )
        through = type(npc).db_attributes.through
        through.objects.bulk_create(
            [through(objectdb_id=npc.id, attribute_id=attribute.id) for attribute in made],
            batch_size=ROWS_AT_ONCE,
        )


def write_attributes(npc: Any, dice: random.Random, journal: list[Any], links: int) -> None:
    from contrib_ai_memory.conf import PAGE_SIZE
    from contrib_ai_memory.sleep.night import PASSES
    from contrib_ai_memory.store import attributes

    last = len(journal)
    sealed = last // PAGE_SIZE * PAGE_SIZE
    cursors = (
        "indexed",
        "scored",
        "consolidated",
        "linked",
        "observed",
        "reflected",
        "insights_linked",
        "extracted",
        "compressed",
        "compress_until",
        "pruned",
    )
    stored = {
        "entries": [entry.to_dict() for entry in journal[sealed:]],
        "entry_count": last,
        "last_reflection": None,
        "consolidated_entry_ids": [],
        "cursors": dict.fromkeys(cursors, last),
    }
    attributes.write(npc, "journal", stored)
    attributes.write(npc, "memory_links", {"links": links})
    people = {
        _identity(name): {
            "name": name,
            "entity_type": "player",
            "interactions": dice.randint(1, 900),
            "last_seen": dice.choice(journal).timestamp,
        }
        for name in talk.NAMES[:PEOPLE]
    }
    attributes.write(npc, "entity_profiles", people)
    told = {"read": 700, "changed": 90, "steps": 44, "seconds": 3.2, "errors": []}
    records = [
        {
            "started": (FIRST + timedelta(days=night)).isoformat(),
            "ended": (FIRST + timedelta(days=night, hours=1)).isoformat(),
            "whole": True,
            "passes": {each.name: dict(told) for each in PASSES},
        }
        for night in range(NIGHTS)
    ]
    attributes.write(npc.assistant, "night_records", records)


# --- the store ------------------------------------------------------------------------------------


def memories_of(agent_id: str, dice: random.Random, journal: list[Any]) -> Iterator[Any]:
    from contrib_ai_memory.records import MemoryRecord
    from contrib_ai_memory.store.payload import memory_id_for

    for record, every in (("fact", ENTRIES_A_FACT), ("experience", ENTRIES_AN_EXPERIENCE)):
        for entry in journal[::every]:
            rests_on = range(entry.id, min(entry.id + LINKS_A_FACT, len(journal) + 1))
            yield MemoryRecord(
                id=memory_id_for(agent_id, record, entry.id),
                content=f"{entry.seen_as} says: {entry.content}",
                record=record,
                memory_type="semantic" if record == "fact" else "episodic",
                about=entry.source_entity,
                importance=entry.importance / 10,
                dominant_emotions=("joy", "trust", "interest") if record == "experience" else (),
                journal_ids=tuple(rests_on),
                witnesses=entry.witnesses,
                private=entry.private,
                created_at=entry.timestamp,
                last_accessed=entry.timestamp,
                superseded_by=None,
            )


def _store(agent_id: str, memories: list[Any], indexed: list[Any], dice: random.Random) -> int:
    from contrib_ai_memory.ingest.index import to_memory
    from contrib_ai_memory.store import memory_store

    whole = [*memories, *(to_memory(agent_id, entry) for entry in indexed)]
    numbers = np.random.default_rng(dice.randrange(1 << 30))
    for first in range(0, len(whole), POINTS_AT_ONCE):
        some = whole[first : first + POINTS_AT_ONCE]
        vectors = numbers.standard_normal((len(some), DIMENSIONS), dtype=np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        memory_store.shared().upsert(agent_id, some, vectors)
    return len(whole)
