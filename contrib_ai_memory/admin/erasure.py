"""Erasing a person from a memory, or a memory whole: wherever it lies, on the disk as well.

What goes is decided first (`belonging`) and noted at the NPC; what is noted is then taken out, the
store first, the journal last; then what other NPCs heard it say from all that. Broken off anywhere
and called again, it ends in the same state.
While it runs the NPC hears and keeps what is said, and neither thinks nor answers: what it hears
then is new talk and stays.

Taking everything out of one memory, a place at a time; `erasing.wipe` says in which order.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from twisted.internet import defer

from .. import offload
from ..ingest import novelty
from ..store import attributes, facts, game_database, links, pause, preferences, profiles
from ..store.payload import entry_memory_id
from ..text.plural import plural
from . import erasure_plan, inspect, requests, undo_log
from .erasure_plan import ENTRIES_AT_ONCE, Somebody, ask, forget_texts, from_store

COUNTED = {
    "entries": ("journal entry", "journal entries"),
    "memories": ("memory", "memories"),
    "links": ("link", "links"),
    "people": ("person", "people"),
    "observations": ("observation", "observations"),
    "preferences": ("preference", "preferences"),
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
    """What was taken out, by place.

    Attributes:
        entries: Of the journal.
        memories: Of the store, journal entries among them.
        kinds: How many of each record.
        links: Between memories.
        people: Whom the NPC knew, in its register or with a profile.
        observations: In profiles, noted and drawn.
        messages: Of conversations and of the conversation history.
        vectors: Of the embedding cache.
        changed: Entries of others, who said them with the person there.
        elsewhere: Journal entries of other NPCs: what they heard this one say from all that, and
            what they told from there.
        from_disk: Whether the store's files were written anew, so that no deleted byte is left in
            them. A store that is a server sees to that itself.
        at_next_start: Whether shreds may be left in the free space of the game's database
            (SQLite), which the next start of the game, or reload, clears.
    """

    entries: int = 0
    memories: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
    links: int = 0
    people: int = 0
    observations: int = 0
    preferences: int = 0
    messages: int = 0
    vectors: int = 0
    changed: int = 0
    elsewhere: int = 0
    from_disk: bool = False
    at_next_start: bool = False

    @property
    def anything(self) -> bool:
        return any(getattr(self, name) for name in (*COUNTED, "changed"))

    def told(self) -> str:
        """The counts in words; what is none is left out."""
        counts = [(getattr(self, name), words) for name, words in COUNTED.items()]
        return ", ".join(plural(count, *words) for count, words in counts if count) or "nothing"

    @property
    def left_on_disk(self) -> str:
        """What the next reload is still needed for, in a sentence; "" where it is for nothing."""
        return AT_NEXT_START if self.at_next_start else ""


@dataclass(frozen=True, slots=True)
class _Following:
    """How many entries another NPC has lost, and what it had said from them."""

    entries: int = 0
    said: frozenset[str] = frozenset()


class CannotErase(ValueError):
    """The person is the NPC itself."""


def erase_person(npc: Any, identity: str, names: Sequence[str] = ()) -> defer.Deferred:
    """Take everything of a person out of one NPC's memory, as a Deferred `Erased`.

    Which entries and memories are theirs, the first lines of `belonging` say: what the NPC told
    others from them too, and what other NPCs heard of that. With them go their links, what
    profiles rest on them, the person's own profile, preferences and place in the
    register of people, their part in conversations and in the conversation history, Mem0's history
    of each memory, cached vectors, the words that the store counted, and error texts of nights.
    What others said stays; that the person was there is taken out of it.

    Args:
        npc: Whose memory.
        identity: The person's memory identity (`MemoryMixin.get_memory_identity`).
        names: Names of theirs, besides those that the NPC knows.

    Raises (in the Deferred):
        CannotErase: The person is the NPC itself: that is `wipe`.
        StoreError: The store cannot be used. Called again, it goes on.
    """
    return _erase_person(npc, identity, tuple(names)).addCallback(_from_disk)


@defer.inlineCallbacks
def erase_everywhere(
    identity: str,
    names: Sequence[str] = (),
    progress: Callable[[Any], None] = lambda npc: None,
) -> Generator[Any, Any, dict[str, Erased]]:
    """The same in every NPC, as a Deferred {dbref: `Erased`}, of those that knew anything.

    Args:
        progress: Told each NPC when its turn is over.
    """
    found: dict[str, Erased] = {}
    for npc in inspect.minds():
        if npc.pk and npc.get_memory_identity(npc) != identity:
            erased = yield _erase_person(npc, identity, tuple(names))
            if erased.anything:
                found[npc.dbref] = erased
        progress(npc)
        yield offload.breathe()
    whole = yield _from_disk(Erased())
    return {
        dbref: replace(each, from_disk=whole.from_disk, at_next_start=whole.at_next_start)
        for dbref, each in found.items()
    }


def wipe(npc: Any) -> defer.Deferred:
    """Empty an NPC's memory, as a Deferred `Erased`. The mind and its schedule stay."""
    return _in_peace(npc, _wipe).addCallback(_from_disk)


# --- the order of things --------------------------------------------------------------------------


@defer.inlineCallbacks
def _erase_person(npc: Any, identity: str, names: tuple[str, ...]) -> Generator[Any, Any, Erased]:
    """At the NPC itself first, then wherever it was heard. Until that is over, the plan stays at
    the NPC: broken off and called again, it goes on."""
    if identity == npc.get_memory_identity(npc):
        raise CannotErase(f"{identity} is {npc.key} itself. To empty its memory, wipe it.")
    plan, erased = yield _in_peace(npc, _erase_at, identity, names)
    elsewhere = yield _erase_heard(npc, plan)
    if npc.pk:
        attributes.remove_json(npc, plan.key)
    game_database.truncate_wal()
    return replace(erased, elsewhere=elsewhere)


@defer.inlineCallbacks
def _erase_at(
    npc: Any, identity: str, names: tuple[str, ...]
) -> Generator[Any, Any, tuple[erasure_plan.Plan, Erased]]:
    undo_log.forget(npc)  # first: it holds text, and what is taken back later would be there again
    memory = npc.memory
    memory.flush()
    profile = memory.profiles.get(identity)
    known = {*names, memory.people.name_of(identity), profile.name if profile else ""}
    plan = yield erasure_plan.planned(memory, Somebody(identity, tuple(filter(None, known))))
    erased = yield _take_out(npc, plan)
    return plan, erased


@defer.inlineCallbacks
def _erase_heard(npc: Any, plan: erasure_plan.Plan) -> Generator[Any, Any, int]:
    """What other NPCs heard of it, and told from that, and so on. Gives how many entries went.

    No two NPCs are held still at once: two erasures would wait for each other.
    """
    key = f"{erasure_plan.FOLLOWING}{plan.key}"
    plan.heard.update(_utterances(npc, plan))
    new = plan.heard
    elsewhere = 0
    while new:
        erasure_plan.note(npc, plan)
        heard, new = new, set()
        for other in inspect.that_heard(frozenset(heard)):
            following = yield _in_peace(other, _erase_heard_at, key, npc, plan)
            elsewhere += following.entries
            new |= following.said
            yield offload.breathe()
    return elsewhere


@defer.inlineCallbacks
def _erase_heard_at(
    npc: Any, key: str, root: Any, plan: erasure_plan.Plan
) -> Generator[Any, Any, _Following]:
    """At one other NPC than the `root`, whose plan gets to know what this one had said from it."""
    npc.memory.flush()
    own = yield erasure_plan.planned_from(npc.memory, key, frozenset(plan.heard))
    if not own.entries and not own.memories:
        return _Following()
    undo_log.forget(npc)
    said = _utterances(npc, own) - plan.heard
    plan.heard |= said
    erasure_plan.note(root, plan)
    erased = yield _take_out(npc, own)
    attributes.remove_json(npc, own.key)
    return _Following(erased.entries, frozenset(said))


def _utterances(npc: Any, plan: erasure_plan.Plan) -> set[str]:
    return {f"{npc.memory.id}:{number}" for number in plan.said}


@defer.inlineCallbacks
def _take_out(npc: Any, plan: erasure_plan.Plan) -> Generator[Any, Any, Erased]:
    """All that a plan names, out of one memory: the store first, the journal last."""
    memory, who, entries = npc.memory, plan.who, plan.entries
    kinds, vectors = yield erasure_plan.from_store(memory.id, plan.memories)
    yield erasure_plan.settle_store(memory.id, plan)
    gone_links = yield erasure_plan.from_links(memory, {*map(str, entries), *plan.memories})
    observations = yield erasure_plan.from_profiles(memory, plan)
    preferred = yield erasure_plan.from_preferences(memory, plan)
    messages = memory.history.forget(
        who.identity, lambda said: who.has_exchange(said, entries, plan.memories)
    )
    messages += memory.conversations.forget(
        who.identity, lambda said: who.has_message(said, entries)
    )
    erasure_plan.from_nights(npc, who)
    removed, changed = yield erasure_plan.from_journal(memory, plan)
    yield erasure_plan.rekey_around(memory, entries)
    met = had_profile = False
    if who.identity:
        yield ask(novelty.forget, memory.id, who.identity)
        met = memory.people.forget(who.identity)
        had_profile = memory.profiles.forget(who.identity)
    requests.settle()
    memory.journal.drop_damaged()
    return Erased(
        entries=removed,
        memories=sum(kinds.values()),
        kinds=kinds,
        links=gone_links,
        people=int(met or had_profile),
        observations=observations,
        preferences=preferred,
        messages=messages,
        vectors=vectors,
        changed=changed,
    )


@defer.inlineCallbacks
def _wipe(npc: Any) -> Generator[Any, Any, Erased]:
    """Everything out, with what is left of an import that broke off."""
    erased = yield empty(npc)
    if half := attributes.read_json(npc, MARK):
        attributes.remove_json(npc, MARK)
        pause.pause(npc, half["paused"])
    return erased


@defer.inlineCallbacks
def empty(npc: Any) -> Generator[Any, Any, Erased]:
    """Take everything out of a memory, for who holds the NPC still already. Not from the disk."""
    undo_log.forget(npc)
    memory = npc.memory
    memory.flush()
    people = len({*memory.profiles.identities(), *(each.identity for each in memory.people)})
    counted = {
        "links": memory.links.count,
        "people": people,
        "preferences": sum(1 for _each in memory.preferences),
        "messages": len(memory.history.messages),
    }
    kinds, vectors = yield all_from_store(memory)
    yield ask(novelty.forget, memory.id)
    entries = yield texts_of_journal(memory)
    for category in (links.CATEGORY, preferences.CATEGORY, profiles.CATEGORY):
        yield rows(npc, category)
    for clear in (
        memory.links,
        memory.preferences,
        memory.profiles,
        memory.history,
        memory.conversations,
    ):
        clear.clear()
    yield rows(npc, attributes.CATEGORY)
    memory.people.clear()
    memory.journal.clear()
    all_nights(npc)
    game_database.truncate_wal()
    return Erased(
        **counted, entries=entries, memories=sum(kinds.values()), kinds=kinds, vectors=vectors
    )


@defer.inlineCallbacks
def _in_peace(
    npc: Any, work: Callable[..., defer.Deferred], *args: Any
) -> Generator[Any, Any, Any]:
    """Work on a memory while nothing else does."""
    script = npc.assistant
    yield script.hold_still()
    try:
        done = yield work(npc, *args)
    finally:
        script.let_go()
    return done


@defer.inlineCallbacks
def _from_disk(erased: Erased) -> Generator[Any, Any, Erased]:
    """Write the store's files anew: what is deleted in them is on the disk still.

    The game's database too, where nobody waits for it; else that is noted for the next start.
    """
    game_database.note_freed()  # first: what follows may be broken off
    own = yield ask(facts.ask, "begin_rewriting")
    while own and not (yield ask(facts.ask, "rewrite_some")):
        pass
    if not offload.in_game():
        game_database.clear_freed()
    return replace(erased, from_disk=own, at_next_start=game_database.is_freed_noted())


# --- emptying -------------------------------------------------------------------------------------

MARK = "importing"  # the Attribute of an NPC that is half imported: it outlives the emptying
ROWS_AT_ONCE = 4


@defer.inlineCallbacks
def all_from_store(memory: Any) -> Generator[Any, Any, tuple[dict[str, int], int]]:
    """Every memory of a mind, and its words. Gives what `from_store` gives."""
    kinds: dict[str, int] = {}
    vectors = 0
    while ids := (yield ask(_first_ids, memory.id)):
        gone, forgotten = yield from_store(memory.id, ids)
        vectors += forgotten
        for record, count in gone.items():
            kinds[record] = kinds.get(record, 0) + count
    yield ask(facts.ask, "forget_words", memory.id)
    return kinds, vectors


def _first_ids(agent_id: str) -> list[str]:
    memories, _offset = facts.shared().page(agent_id)
    return [memory.id for memory in memories]


@defer.inlineCallbacks
def texts_of_journal(memory: Any) -> Generator[Any, Any, int]:
    """What is kept of the texts of the journal elsewhere. Gives how many entries there are."""
    count = 0
    for first in range(1, len(memory.journal) + 1, ENTRIES_AT_ONCE):
        entries = list(memory.journal.read(first, first + ENTRIES_AT_ONCE - 1))
        count += len(entries)
        texts = [text for entry in entries for text in entry.texts]
        ids = [entry_memory_id(memory.id, entry.id) for entry in entries]
        yield ask(_forget_leavings, texts, ids)
    return count


def _forget_leavings(texts: list[str], ids: list[str]) -> None:
    forget_texts(texts)
    facts.shared().delete_points(ids)


@defer.inlineCallbacks
def rows(npc: Any, category: str) -> Generator[Any, Any, None]:
    """Every Attribute of a category but `MARK`, a few at a time."""
    while npc.pk:
        left = npc.db_attributes.filter(db_category=category).exclude(db_key=MARK)
        some = list(left.values_list("db_key", flat=True)[:ROWS_AT_ONCE])
        if not some:
            return
        for key in some:
            attributes.remove_json(npc, key, category)
        yield offload.breathe()


def all_nights(npc: Any) -> None:
    """What is told of the nights, and who waits for an answer."""
    script = npc.assistant
    for key in ("night_records", "night"):
        script.attributes.remove(key)
    script.waiting_for_answers.clear()
    script.ndb.exchanges = {}
