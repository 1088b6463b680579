"""Erase a person from the memories of NPCs, or wipe a whole memory: everywhere, on disk too.

`erasure_plan` decides what belongs to the person, and saves that at the NPC. Then everything in
the plan is removed, from the store first and the journal last, and after that whatever other NPCs
heard this one say from it. Broken off at any line and called again, it ends in the same state.

The NPC is held still meanwhile: it hears and keeps what is said, but neither thinks nor answers.
What it hears during the erasure is new talk and stays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from twisted.internet import defer

from .. import offload
from ..embedding import embedder
from ..ingest import index, novelty
from ..store import (
    agenda,
    attributes,
    game_database,
    links,
    memory_store,
    pause,
    preferences,
    profiles,
    vacuum,
)
from ..store.keys import REACH
from ..store.payload import entry_memory_id
from ..store.preferences import Preference
from ..text.plural import plural
from . import erasure_plan, inspect, requests, undo_log
from .erasure_plan import DataSubject, ErasurePlan
from .jobs import (
    ENTRIES_AT_ONCE,
    batch_job,
    compact_store,
    exclusively,
    journal_pages,
    link_pages,
    store_pages,
)

IMPORT_MARK = "importing"  # Attribute of a half-imported NPC; a wipe removes it last
MEMORIES_AT_ONCE = 64
LINKED_AT_ONCE = 4  # memories whose links are removed in one go: each touches several rows
ROWS_AT_ONCE = 4

COUNTED = {
    "entries": ("journal entry", "journal entries"),
    "memories": ("memory", "memories"),
    "links": ("link", "links"),
    "people": ("person", "people"),
    "observations": ("observation", "observations"),
    "preferences": ("preference", "preferences"),
    "agenda": ("agenda item", "agenda items"),
    "messages": ("message", "messages"),
    "vectors": ("cached vector", "cached vectors"),
    "elsewhere": (
        "entry of another NPC that had heard of it",
        "entries of other NPCs that had heard of it",
    ),
}

AT_NEXT_START = "The next reload clears what SQLite keeps in its free space."


@dataclass(frozen=True, slots=True)
class Erased:
    """What was removed, by place.

    Attributes:
        entries: Of the journal.
        memories: Of the store, journal entries among them.
        kinds: How many of each record.
        links: Between memories.
        people: Whom the NPC knew, in its register or with a profile.
        observations: In profiles, observations and attributes.
        messages: Of conversations and of the conversation history.
        vectors: Of the embedding cache.
        changed: Entries of others that the person only witnessed: they stay, without the person.
        elsewhere: Journal entries of other NPCs: what they heard this one say from all that, and
            what they passed on.
        from_disk: Whether the store's files were rewritten, so that no deleted byte is left in
            them. A store that is a server sees to that itself.
        at_next_start: Whether remains may be left in the free space of the game's database
            (SQLite), which the next start of the game, or reload, clears.
    """

    entries: int = 0
    memories: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
    links: int = 0
    people: int = 0
    observations: int = 0
    preferences: int = 0
    agenda: int = 0
    messages: int = 0
    vectors: int = 0
    changed: int = 0
    elsewhere: int = 0
    from_disk: bool = False
    at_next_start: bool = False

    @property
    def anything(self) -> bool:
        return any(getattr(self, name) for name in (*COUNTED, "changed"))

    def summary(self) -> str:
        """The counts in words, without the zeros: "2 journal entries, 1 link"; or "nothing"."""
        counts = [(getattr(self, name), words) for name, words in COUNTED.items()]
        return ", ".join(plural(count, *words) for count, words in counts if count) or "nothing"

    @property
    def left_on_disk(self) -> str:
        """A sentence on what the next reload still has to clear; "" where there is nothing."""
        return AT_NEXT_START if self.at_next_start else ""


class CannotErase(ValueError):
    """The person is the NPC itself."""


def erase_person(npc: Any, identity: str, names: Sequence[str] = ()) -> defer.Deferred:
    """Erase a person from one NPC's memory, as a Deferred `Erased`.

    `erasure_plan` says which entries and memories are theirs. With them go their links, all that
    profiles took from them, the person's own profile, preferences, agenda items and place in the
    register of people, their part in conversations and in the conversation history, Mem0's history
    of each memory, cached vectors, word counts of the store, and error texts of nights. What others
    said stays, without the person among its witnesses.

    Args:
        npc: Whose memory.
        identity: The person's memory identity (`MemoryMixin.get_memory_identity`).
        names: Names of theirs, besides those that the NPC knows.

    Raises (in the Deferred):
        CannotErase: The person is the NPC itself: that is `wipe`.
        StoreError: The store cannot be used. Called again, it goes on.
    """
    return _erase_person(npc, identity, tuple(names)).addCallback(_compacted)


@defer.inlineCallbacks
def erase_everywhere(
    identity: str,
    names: Sequence[str] = (),
    progress: Callable[[Any], None] = lambda npc: None,
) -> Generator[Any, Any, dict[str, Erased]]:
    """Erase a person from every NPC, as a Deferred {dbref: `Erased`} of those that knew anything.

    Args:
        progress: Called with each NPC when it is done.
    """
    found: dict[str, Erased] = {}
    for npc in inspect.npcs():
        if npc.pk and npc.get_memory_identity(npc) != identity:
            erased = yield _erase_person(npc, identity, tuple(names))
            if erased.anything:
                found[npc.dbref] = erased
        progress(npc)
        yield offload.breathe()
    whole = yield _compacted(Erased())
    return {
        dbref: replace(each, from_disk=whole.from_disk, at_next_start=whole.at_next_start)
        for dbref, each in found.items()
    }


def wipe(npc: Any) -> defer.Deferred:
    """Wipe an NPC's whole memory, as a Deferred `Erased`. Its id and sleep schedule stay."""
    return exclusively(npc, _wipe).addCallback(_compacted)


@defer.inlineCallbacks
def _compacted(erased: Erased) -> Generator[Any, Any, Erased]:
    """Rewrite the store's files, which still hold deleted bytes.

    The game's database is rewritten too where nobody waits for it, otherwise at the next start.
    """
    vacuum.note()  # first: what follows may be broken off
    own = yield compact_store()
    if not offload.in_game():
        vacuum.run_if_noted()
    return replace(erased, from_disk=own, at_next_start=vacuum.is_noted())


# --- a person, from NPC to NPC --------------------------------------------------------------------


@defer.inlineCallbacks
def _erase_person(npc: Any, identity: str, names: tuple[str, ...]) -> Generator[Any, Any, Erased]:
    """At the NPC itself first, then wherever it was heard. The plan stays at the NPC until the
    end: broken off and called again, it goes on."""
    if identity == npc.get_memory_identity(npc):
        raise CannotErase(f"{identity} is {npc.key} itself. To empty its memory, wipe it.")
    plan, erased = yield exclusively(npc, _erase_at_npc, identity, names)
    elsewhere = yield _erase_heard(npc, plan)
    if npc.pk:
        attributes.remove_json(npc, plan.key)
    game_database.truncate_wal()
    return replace(erased, elsewhere=elsewhere)


@defer.inlineCallbacks
def _erase_at_npc(
    npc: Any, identity: str, names: tuple[str, ...]
) -> Generator[Any, Any, tuple[ErasurePlan, Erased]]:
    undo_log.clear(npc)  # first: it holds text, which a later undo would bring back
    memory = npc.memory
    memory.flush()
    profile = memory.profiles.get(identity)
    known = {*names, memory.people.name_of(identity), profile.name if profile else ""}
    plan = yield erasure_plan.plan_person(memory, identity, filter(None, known))
    erased = yield _erase_planned(npc, plan)
    return plan, erased


@defer.inlineCallbacks
def _erase_heard(npc: Any, plan: ErasurePlan) -> Generator[Any, Any, int]:
    """Erase at other NPCs what they heard this one say from the planned entries.

    What they passed on from that goes as well. Returns how many entries that were.

    Only one NPC is held still at a time: two erasures would wait for each other.
    """
    key = f"{erasure_plan.FOLLOWING}{plan.key}"
    plan.utterances.update(_utterances(npc, plan))
    new = set(plan.utterances)
    elsewhere = 0
    while new:
        erasure_plan.save(npc, plan)
        heard, new = frozenset(new), set()
        for other in inspect.npcs_that_heard(heard):
            entries, passed_on = yield exclusively(other, _erase_heard_at, key, npc, plan)
            elsewhere += entries
            new |= passed_on
            yield offload.breathe()
    return elsewhere


@defer.inlineCallbacks
def _erase_heard_at(
    npc: Any, key: str, root: Any, plan: ErasurePlan
) -> Generator[Any, Any, tuple[int, set[str]]]:
    """Erase at one NPC what it heard, and add its own utterances from that to the `plan` of the
    `root`. Returns how many entries went, and those utterances."""
    npc.memory.flush()
    own = yield erasure_plan.plan_heard(npc.memory, key, frozenset(plan.utterances))
    if not own.entries and not own.memories:
        return 0, set()
    undo_log.clear(npc)
    passed_on = _utterances(npc, own) - plan.utterances
    plan.utterances |= passed_on
    erasure_plan.save(root, plan)
    erased = yield _erase_planned(npc, own)
    attributes.remove_json(npc, own.key)
    return erased.entries, passed_on


def _utterances(npc: Any, plan: ErasurePlan) -> set[str]:
    return {f"{npc.memory.id}:{number}" for number in plan.spoken}


# --- a plan, place by place -----------------------------------------------------------------------


@defer.inlineCallbacks
def _erase_planned(npc: Any, plan: ErasurePlan) -> Generator[Any, Any, Erased]:
    """Remove everything in a plan from one memory: from the store first, the journal last.

    Each step is bounded, gives turns to the reactor, and changes nothing when it is repeated.
    """
    memory, subject, entries = npc.memory, plan.subject, plan.entries
    kinds, vectors = yield _delete_memories(plan.memories)
    yield _clear_references(memory.id, plan)
    gone_links = yield _remove_links(memory, {*map(str, entries), *plan.memories})
    observations = yield _erase_from_profiles(memory, plan)
    preferred = yield _erase_preferences(memory, plan)
    planned = yield _erase_agenda(memory, plan)
    messages = memory.history.forget(
        subject.identity,
        lambda message: subject.owns_exchange(message, entries, plan.memories),
    )
    messages += memory.conversations.forget(
        subject.identity, lambda message: subject.owns_message(message, entries)
    )
    _erase_from_nights(npc, subject)
    removed, changed = yield _erase_from_journal(memory, plan)
    yield _rekey_around(memory, entries)
    met = had_profile = False
    if subject.identity:
        yield batch_job(novelty.forget, memory.id, subject.identity)
        met = memory.people.forget(subject.identity)
        had_profile = memory.profiles.forget(subject.identity)
    requests.drop_granted()
    memory.journal.drop_damaged()
    return Erased(
        entries=removed,
        memories=sum(kinds.values()),
        kinds=dict(kinds),
        links=gone_links,
        people=int(met or had_profile),
        observations=observations,
        preferences=preferred,
        agenda=planned,
        messages=messages,
        vectors=vectors,
        changed=changed,
    )


@defer.inlineCallbacks
def _delete_memories(ids: Iterable[str]) -> Generator[Any, Any, tuple[Counter[str], int]]:
    """Delete memories from the store. Returns how many of each record, and of cached vectors."""
    ids = sorted(ids)
    kinds: Counter[str] = Counter()
    vectors = 0
    for first in range(0, len(ids), MEMORIES_AT_ONCE):
        records, forgotten = yield batch_job(_delete_some, ids[first : first + MEMORIES_AT_ONCE])
        kinds.update(records)
        vectors += forgotten
    return kinds, vectors


def _delete_some(ids: list[str]) -> tuple[list[str], int]:
    store = memory_store.shared()
    memories = store.get(ids)
    texts = {text for m in memories for text in (m.content, m.key, m.embedded, m.quote, m.shown)}
    vectors = _delete_vectors(text for text in texts if text)
    store.delete(ids)
    return [memory.record for memory in memories], vectors


def _delete_vectors(texts: Iterable[str]) -> int:
    """Delete the cached vectors of texts (worker thread). Returns how many there were."""
    texts = list(texts)
    return embedder.shared().forget(texts) if texts else 0


@defer.inlineCallbacks
def _clear_references(agent_id: str, plan: ErasurePlan) -> Generator[Any, Any, None]:
    """Remove the person from the witnesses of remaining memories, clear `superseded_by` references
    to deleted ones, and count the words anew."""
    yield batch_job(memory_store.forget_words, agent_id)
    yield store_pages(_clear_page, agent_id, plan.subject, frozenset(plan.memories))


def _clear_page(
    agent_id: str, subject: DataSubject, deleted: Collection[str], offset: Any
) -> tuple[None, Any]:
    store = memory_store.shared()
    memories, offset = store.page(agent_id, offset)
    for memory in memories:
        if changes := _without_identity(memory, subject.identity):
            store.change(memory.id, **changes)
        if memory.superseded_by in deleted:
            store.change(memory.id, superseded_by=None, invalid_at=None)
        history = memory_store.shared().history.of(memory.id, newest=None)
        kept = [row for row in history if not subject.named_in(*row[:2])]
        if len(kept) < len(history):
            memory_store.shared().history.replace(memory.id, kept)
    store.count_words(agent_id, memories)
    return None, offset


def _without_identity(remembered: Any, identity: str) -> dict[str, list[str]]:
    """The changes to an entry or a memory that take a person out of it."""
    return {
        name: [each for each in getattr(remembered, name) if each != identity]
        for name in ("witnesses", "entities")
        if identity in getattr(remembered, name)
    }


@defer.inlineCallbacks
def _remove_links(memory: Any, linked: Collection[str]) -> Generator[Any, Any, int]:
    """Remove the links of these link ids. Returns how many there were."""
    count = 0
    for page in link_pages(memory.links):
        gone = [each for each, _notes in page if each in linked]
        for some in range(0, len(gone), LINKED_AT_ONCE):
            count += memory.links.remove(gone[some : some + LINKED_AT_ONCE])
            yield offload.breathe()
        yield offload.breathe()
    return count


@defer.inlineCallbacks
def _erase_from_profiles(memory: Any, plan: ErasurePlan) -> Generator[Any, Any, int]:
    """Remove what profiles took from the planned entries, and the person from the profiles of
    others. Returns how many observations and attributes went."""
    subject = plan.subject
    count = yield memory.profiles.forget_entries(plan.entries)
    for other in memory.profiles.identities():
        profile = memory.profiles.get(other)
        if profile is not None and other != subject.identity and memory.owner.pk:
            kept = replace(
                profile,
                observations=_without_subject(profile.observations, subject),
                attributes=_without_subject(profile.attributes, subject),
            )
            if kept != profile:
                memory.profiles.put(kept)
        yield offload.breathe()
    return count


def _without_subject(noted: Iterable[Any], subject: DataSubject) -> tuple[Any, ...]:
    """Observations or attributes that do not name the person, without them as a witness."""
    return tuple(
        replace(each, witnesses=tuple(w for w in each.witnesses if w != subject.identity))
        if subject.identity in each.witnesses
        else each
        for each in noted
        if not subject.named_in(getattr(each, "text", None), getattr(each, "value", None))
    )


@defer.inlineCallbacks
def _erase_preferences(memory: Any, plan: ErasurePlan) -> Generator[Any, Any, int]:
    """Remove their preferences, and those of others that rest on the plan or name them."""
    subject = plan.subject
    count = memory.preferences.forget(subject.identity) if subject.identity else 0
    for preference in list(memory.preferences):
        if any(
            each.memory_id in plan.memories
            or each.journal_id in plan.entries
            or subject.named_in(each.text)
            for each in (preference, *preference.history)
        ):
            memory.preferences.remove(preference)
            count += 1
        elif subject.identity in preference.witnesses:
            others = tuple(each for each in preference.witnesses if each != subject.identity)
            _set_witnesses(memory, preference, others)
        yield offload.breathe()
    return count


def _set_witnesses(memory: Any, preference: Preference, witnesses: tuple[str, ...]) -> None:
    """Change who has heard a preference; one told in private is then kept under another key."""
    kept = replace(preference, witnesses=witnesses)
    there = memory.preferences.get(kept.identity, kept.slot, kept.audience)
    moves = kept.audience != preference.audience
    if not moves or there is None or there.since <= kept.since:
        memory.preferences.put(kept)
    if moves:
        memory.preferences.remove(preference)


@defer.inlineCallbacks
def _erase_agenda(memory: Any, plan: ErasurePlan) -> Generator[Any, Any, int]:
    """Remove agenda items that are theirs, owed to them, rest on the plan or name them."""
    subject = plan.subject
    count = 0
    for item in list(memory.agenda):
        kept = item.without(plan.entries)
        if kept is None or item.concerns(subject.identity) or subject.named_in(item.text):
            memory.agenda.remove(item.id)
            count += 1
        else:
            others = tuple(each for each in kept.witnesses if each != subject.identity)
            if (kept := replace(kept, witnesses=others)) != item:
                memory.agenda.put(kept)
        yield offload.breathe()
    return count


def _erase_from_nights(npc: Any, subject: DataSubject) -> None:
    """Shorten error texts of nights, which may quote anything, to the kind of error; drop the
    person from those who wait for an answer."""
    script = npc.assistant
    records = script.sleep.records
    running = attributes.read(script, "night") or {}
    for record in (*records, running):
        for done in record.get("passes", record.get("done", {})).values():
            done["errors"] = [each.split(":")[0] for each in done.get("errors", ())]
    attributes.write(script, "night_records", records)
    attributes.write(script, "night", running)
    script.answer_queue.drop(subject.identity)
    (script.ndb.exchanges or {}).pop(subject.identity, None)


@defer.inlineCallbacks
def _erase_from_journal(memory: Any, plan: ErasurePlan) -> Generator[Any, Any, tuple[int, int]]:
    """Remove the planned entries, and the person from the witnesses of others.

    Returns how many were removed, and how many changed.
    """
    removed = changed = 0
    identity = plan.subject.identity
    for page in journal_pages(memory.journal):
        gone = [entry for entry in page if entry.id in plan.entries]
        changes = {
            entry.id: rest
            for entry in page
            if entry.id not in plan.entries and (rest := _without_identity(entry, identity))
        }
        if gone:
            yield batch_job(_delete_vectors, [text for entry in gone for text in entry.texts])
        if not memory.owner.pk:
            return removed, changed  # deleted meanwhile
        if gone or changes:
            removed += memory.journal.remove(entry.id for entry in gone)
            memory.journal.update(changes)
            changed += len(changes)
            memory.journal.flush()
        yield offload.breathe()
    return removed, changed


@defer.inlineCallbacks
def _rekey_around(memory: Any, removed: Collection[int]) -> Generator[Any, Any, None]:
    """Make the search keys of the lines near removed ones anew: they hold the lines around them."""
    pages: set[int] = set()
    for each in removed:
        first, last = max(0, each - 1 - REACH), each - 1 + REACH
        pages.update(range(first // ENTRIES_AT_ONCE, last // ENTRIES_AT_ONCE + 1))
    indexed = memory.journal.cursors.get("indexed", 0)
    for page in sorted(pages):
        first = page * ENTRIES_AT_ONCE + 1
        last = min(first + ENTRIES_AT_ONCE - 1, indexed)
        around = list(memory.journal.read(first - REACH, min(last + REACH, indexed)))
        wanted = {entry.id for entry in around if first <= entry.id <= last}
        if wanted:
            yield batch_job(index.rekey_entries, memory.id, around, wanted)
        yield offload.breathe()


# --- a whole memory -------------------------------------------------------------------------------


@defer.inlineCallbacks
def _wipe(npc: Any) -> Generator[Any, Any, Erased]:
    """Wipe a memory, and the mark of an import that broke off."""
    erased = yield wipe_held(npc)
    if half := attributes.read_json(npc, IMPORT_MARK):
        attributes.remove_json(npc, IMPORT_MARK)
        pause.pause(npc, half["paused"])
    return erased


@defer.inlineCallbacks
def wipe_held(npc: Any) -> Generator[Any, Any, Erased]:
    """Wipe the memory of an NPC that the caller holds still, as a Deferred `Erased`. Deleted bytes
    stay on disk."""
    undo_log.clear(npc)
    memory = npc.memory
    memory.flush()
    counted = {
        "links": memory.links.count,
        "people": len({*memory.profiles.identities(), *(each.identity for each in memory.people)}),
        "preferences": sum(1 for _each in memory.preferences),
        "agenda": len(memory.agenda),
        "messages": len(memory.history.messages),
    }
    kinds, vectors = yield _wipe_store(memory.id)
    yield batch_job(novelty.forget, memory.id)
    entries = yield _wipe_texts(memory)
    for category in (links.CATEGORY, preferences.CATEGORY, profiles.CATEGORY, agenda.CATEGORY):
        yield _wipe_rows(npc, category)
    for part in (
        memory.links,
        memory.preferences,
        memory.agenda,
        memory.profiles,
        memory.history,
        memory.conversations,
    ):
        part.clear()
    yield _wipe_rows(npc, attributes.CATEGORY)
    memory.people.clear()
    memory.journal.clear()
    _wipe_script(npc.assistant)
    game_database.truncate_wal()
    return Erased(
        **counted, entries=entries, memories=sum(kinds.values()), kinds=dict(kinds), vectors=vectors
    )


@defer.inlineCallbacks
def _wipe_store(agent_id: str) -> Generator[Any, Any, tuple[Counter[str], int]]:
    """Delete every memory of an NPC from the store. Returns what `_delete_memories` does."""
    kinds: Counter[str] = Counter()
    vectors = 0
    while ids := (yield batch_job(_first_ids, agent_id)):
        some, forgotten = yield _delete_memories(ids)
        kinds.update(some)
        vectors += forgotten
    yield batch_job(memory_store.forget_words, agent_id)
    return kinds, vectors


def _first_ids(agent_id: str) -> list[str]:
    memories, _offset = memory_store.shared().page(agent_id)
    return [memory.id for memory in memories]


@defer.inlineCallbacks
def _wipe_texts(memory: Any) -> Generator[Any, Any, int]:
    """Delete what is kept of the journal's texts outside it. Returns how many entries it has."""
    count = 0
    for page in journal_pages(memory.journal):
        count += len(page)
        texts = [text for entry in page for text in entry.texts]
        yield batch_job(_delete_texts, texts, [entry_memory_id(memory.id, e.id) for e in page])
    return count


def _delete_texts(texts: list[str], ids: list[str]) -> None:
    _delete_vectors(texts)
    memory_store.shared().delete(ids)


@defer.inlineCallbacks
def _wipe_rows(npc: Any, category: str) -> Generator[Any, Any, None]:
    """Remove every Attribute of a category but `IMPORT_MARK`, a few at a time."""
    while npc.pk:
        left = npc.db_attributes.filter(db_category=category).exclude(db_key=IMPORT_MARK)
        some = list(left.values_list("db_key", flat=True)[:ROWS_AT_ONCE])
        if not some:
            return
        for key in some:
            attributes.remove_json(npc, key, category)
        yield offload.breathe()


def _wipe_script(script: Any) -> None:
    """Remove the records of nights, and those who wait for an answer."""
    for key in ("night_records", "night"):
        script.attributes.remove(key)
    script.answer_queue.clear()
    script.ndb.exchanges = {}
