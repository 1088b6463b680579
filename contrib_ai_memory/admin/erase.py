"""Erase a person from the memories of NPCs, or wipe a whole memory: everywhere, on disk too.

**What goes with a person.** What belongs to them (`store.removal`), and what rests on any of it,
even if it rests on others too. An utterance of the NPC that answers them, or was told from anything
of theirs (`records.Provenance`), whoever it was said to, with all that was drawn from it and what
another NPC heard of it and passed on. A language model may have used anything it was shown, so all
of that counts. What another player typed in answer is that player's own and stays: a paraphrase
cannot be told from anything else.

A person is the body: whoever was met masked (`get_memory_guise`) is erased under each guise, and
whoever erases a guise erases the person behind it.

**How it is removed.** The plan of an erasure is saved at the NPC before anything is removed. Then
everything in it is removed, from the store first and the journal last, and after that whatever
other NPCs heard this one say from it. Broken off at any line and called again, it ends in the same
state. The NPC is held still meanwhile: it hears and keeps what is said, but neither thinks nor
answers. What it hears during the erasure is new talk and stays.

A wipe removes all that was heard before it began, and is marked at the NPC until it is done.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction
from twisted.internet import defer

from .. import hearing_queue, offload
from ..embedding import embedder
from ..errors import InputError
from ..ingest import endings
from ..privacy import unmasked
from ..records import Entry, MemoryRecord
from ..store import attributes, game_database, memory_store, pause
from ..store.journal import HEARD, NO_JOURNAL_ID, Journal
from ..store.npc_memory import Memory
from ..store.removal import NO_SUBJECT, DataSubject, Removal
from ..text import plural
from . import closure, game_npcs, ids, reindex, requests, undo_log
from .jobs import (
    NpcDeleted,
    batch_job,
    compact_store,
    exclusively,
    journal_pages,
    link_pages,
    store_pages,
    unless_deleted,
)

WIPE_MARK = "wiping"  # Attribute of a half-wiped NPC: the last entry that goes
IMPORT_MARK = "importing"  # Attribute of a half-imported NPC; a wipe removes it last
PLAN = "erasing_"  # + digest of the identity: the Attribute that holds a plan until it is done
FOLLOWING = "following_"  # before that: what follows from the plan at another NPC
MEMORIES_AT_ONCE = 64
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
    "elsewhere": (
        "entry of another NPC that had heard of it",
        "entries of other NPCs that had heard of it",
    ),
}

ELSEWHERE = (
    "Other NPCs may still remember them, and earlier exports and backups still contain them."
)
AT_NEXT_START = "The next reload clears what SQLite keeps in its free space."


@dataclass(frozen=True, slots=True)
class Erased:
    """Counts of an erasure, by place."""

    entries: int = 0
    memories: int = 0  # of the store, journal entries among them
    links: int = 0
    people: int = 0  # whom the NPC knew, in its register or with a profile
    observations: int = 0  # of profiles, their attributes among them
    preferences: int = 0
    agenda: int = 0
    messages: int = 0  # of conversations and of the conversation history
    elsewhere: int = 0  # entries of other NPCs: what they heard this one say from all that, and on
    # whether remains may be left in the free space of the game's database (SQLite) until a reload
    at_next_start: bool = False
    name: str = ""  # of an erased person, as the NPC knew them

    def __add__(self, other: Erased) -> Erased:
        summed = {each: getattr(self, each) + getattr(other, each) for each in COUNTED}
        return replace(self, **summed)

    @property
    def anything(self) -> bool:
        return any(getattr(self, name) for name in COUNTED)

    def summary(self) -> str:
        """Return the counts in words, without zeros: "2 journal entries, 1 link"; or "nothing"."""
        counts = [(getattr(self, name), words) for name, words in COUNTED.items()]
        return ", ".join(plural(count, *words) for count, words in counts if count) or "nothing"

    @property
    def told(self) -> str:
        """What was erased, and where it may still be, in sentences."""
        elsewhere = ELSEWHERE if self.name else ""
        on_disk = AT_NEXT_START if self.at_next_start else ""
        return " ".join(filter(None, (f"{self.summary()}.", elsewhere, on_disk)))


def erase_person(npc: Any, identity: str, names: Sequence[str] = ()) -> defer.Deferred:
    """Erase a person from one NPC's memory, as a Deferred `Erased`.

    Their entries and memories are removed with the links of these, and with all that profiles took
    from them; so are the person's own profile, preferences, agenda items and place in the register
    of people, their part in conversations and in the conversation history, Mem0's history of each
    memory, word counts of the store, and error texts of nights. What others said
    stays, without the person among its witnesses. After a StoreError it goes on when called again.

    Args:
        identity: The person's memory identity (`MemoryMixin.get_memory_identity`).
        names: Names of theirs, besides those that the NPC knows.

    Raises (in the Deferred):
        InputError: The person is the NPC itself: that is `wipe`.
    """
    return _erase_person(npc, identity, tuple(names)).addCallback(_clear_disk)


@defer.inlineCallbacks
def erase_everywhere(
    identity: str,
    names: Sequence[str] = (),
    progress: Callable[[Any], None] = lambda npc: None,
    npcs: Iterable[Any] | None = None,
) -> Generator[Any, Any, dict[str, Erased]]:
    """Erase a person from every NPC, or from these, as a Deferred {dbref: `Erased`} of those that
    knew anything; the store's files are rewritten once. `progress` is called with each NPC when it
    is done. Raises as `erase_person`."""
    if npcs is None:
        body = unmasked(identity)
        npcs = [npc for npc in game_npcs.npcs() if npc.get_memory_identity(npc) != body]
    found: dict[str, Erased] = {}
    for npc in npcs:
        try:
            erased = yield unless_deleted(_erase_person, npc, identity, tuple(names))
        except NpcDeleted:
            continue
        if erased.anything and npc.pk:
            found[npc.dbref] = erased
        progress(npc)
        yield offload.breathe()
    yield _clear_disk(Erased())
    due = game_database.is_vacuum_due()
    return {dbref: replace(each, at_next_start=due) for dbref, each in found.items()}


def wipe(npc: Any, *, finish: bool = False) -> defer.Deferred:
    """Wipe an NPC's whole memory, as a Deferred `Erased`. Its id and sleep schedule stay.

    What it hears meanwhile is new talk, which stays and is answered afterwards; so does what was
    heard since a wipe began that broke off and is to `finish`.
    """
    return exclusively(npc, _wipe, finish).addCallback(_clear_disk)


def half_wiped(npc: Any) -> bool:
    """Return whether a wipe broke off half way."""
    return attributes.read_json(npc, WIPE_MARK) is not None


@defer.inlineCallbacks
def _clear_disk(erased: Erased) -> Generator[Any, Any, Erased]:
    """Rewrite the store's files, which still hold deleted bytes, and note that in `erased`.

    The game's database is rewritten too where nobody waits for it, otherwise at the next start.
    """
    game_database.note_vacuum()  # first: what follows may be broken off
    yield compact_store()
    if not offload.in_game():
        game_database.run_due_vacuum()
    return replace(erased, at_next_start=game_database.is_vacuum_due())


# --- a person, from NPC to NPC --------------------------------------------------------------------


@defer.inlineCallbacks
def _erase_person(npc: Any, identity: str, names: tuple[str, ...]) -> Generator[Any, Any, Erased]:
    """Erase a person at the NPC itself, under each guise, then wherever it was heard.

    The plan stays at the NPC until the end: broken off and called again, it goes on.
    """
    _refuse_itself(npc, identity)
    hearing_queue.catch_up_all()
    hearing_queue.drop(npc, unmasked(identity))  # what could not be taken in
    erased = Erased()
    for each in (yield _guises(npc, identity)):
        if not npc.pk:
            break  # it was deleted meanwhile
        plan, here = yield exclusively(npc, _erase_at_npc, each, names)
        elsewhere = yield _of_others(npc, plan, remove=True)
        if npc.pk:
            attributes.remove_json(npc, plan.key)
        erased += replace(here, elsewhere=elsewhere)
    game_database.truncate_wal()
    return erased


@defer.inlineCallbacks
def _guises(npc: Any, identity: str) -> Generator[Any, Any, list[str]]:
    """List the identities of a person in a memory: of each mask, their own last."""
    memory, body = npc.memory, unmasked(identity)
    found = {*ids.guises_of(memory, body), *(each["identity"] for each in unfinished(npc))}
    for page in journal_pages(memory.journal):
        for entry in page:
            found.update((entry.source_entity or "", *entry.entities, *entry.witnesses))
        yield offload.breathe()
    yield store_pages(_people_on_page, memory.id, on_page=found.update)
    return [*sorted(each for each in found - {body} if unmasked(each) == body), body]


def _people_on_page(agent_id: str, offset: Any) -> tuple[set[str], Any]:
    records, offset = memory_store.shared().page(agent_id, offset)
    people = ((record.about or "", *record.entities, *record.witnesses) for record in records)
    return set().union(*people), offset


def _refuse_itself(npc: Any, identity: str) -> None:
    if unmasked(identity) == npc.get_memory_identity(npc):
        raise InputError(f"{identity} is {npc.key} itself. To empty its memory, wipe it.")


@defer.inlineCallbacks
def _erase_at_npc(
    npc: Any, identity: str, names: tuple[str, ...]
) -> Generator[Any, Any, tuple[ErasurePlan, Erased]]:
    undo_log.clear(npc)  # first: it holds text, which a later undo would bring back
    npc.memory.flush()
    plan = yield plan_person(npc.memory, identity, names)
    plan.save(npc)
    try:
        erased = yield unless_deleted(_erase_planned, npc, plan)
    except NpcDeleted:
        erased = Erased()  # all of its memory is gone, but others may have heard of this
    return plan, erased


@defer.inlineCallbacks
def _of_others(npc: Any, plan: ErasurePlan, *, remove: bool) -> Generator[Any, Any, int]:
    """Count what other NPCs heard this one say from the planned entries, and what they passed on
    from that; or remove it, too."""
    found: set[tuple[int, int]] = set()

    @defer.inlineCallbacks
    def visit(listener: Any, utterances: Collection[str]) -> Generator[Any, Any, set[str]]:
        if remove:
            own = yield exclusively(listener, _erase_heard_by, npc, plan)
        else:
            own = yield plan_heard(listener.memory, FOLLOWING + plan.key, utterances)
        found.update((listener.id, number) for number in own.removal.entries)
        return own.utterances

    yield closure.spread(plan.utterances, visit)
    return len(found)


@defer.inlineCallbacks
def _erase_heard_by(listener: Any, npc: Any, plan: ErasurePlan) -> Generator[Any, Any, ErasurePlan]:
    """Erase at a listener what it heard of the utterances in a plan of `npc`. What the listener
    said itself from that is added to the plan. Returns the listener's own plan."""
    listener.memory.flush()
    if undo_log.holds(listener, plan.utterances):  # also where nothing else is left of them
        undo_log.clear(listener)
    own = yield plan_heard(listener.memory, FOLLOWING + plan.key, frozenset(plan.utterances))
    if own.removal.linked:
        own.save(listener)
        undo_log.clear(listener)
        plan.utterances |= own.utterances
        plan.save(npc)
        yield _erase_planned(listener, own)
        attributes.remove_json(listener, own.key)
    return own


@defer.inlineCallbacks
def preview_person(npc: Any, identity: str) -> Generator[Any, Any, Erased]:
    """Count what `erase_person` would remove, as a Deferred `Erased`. Changes nothing.

    Entries, memories, links and entries of other NPCs are counted, once for each guise that they
    belong to. Notes, preferences, agenda items and messages go with them.
    """
    _refuse_itself(npc, identity)
    memory, erased = npc.memory, Erased()
    for each in (yield _guises(npc, identity)):
        plan = yield plan_person(memory, each, ())
        linked, pairs = plan.removal.linked, set()
        for page in link_pages(memory.links):
            for a, notes in page:
                pairs |= {frozenset((a, b)) for b in notes if a in linked or b in linked}
            yield offload.breathe()
        erased += Erased(
            entries=sum(1 for number in plan.removal.entries if memory.journal.get(number)),
            memories=len((yield batch_job(memory_store.existing, plan.removal.memories))),
            links=len(pairs),
            people=int(bool(memory.people.get(each) or memory.profiles.get(each))),
            elsewhere=(yield _of_others(npc, plan, remove=False)),
        )
    return erased


# --- a plan, place by place -----------------------------------------------------------------------


@defer.inlineCallbacks
def _erase_planned(npc: Any, plan: ErasurePlan) -> Generator[Any, Any, Erased]:
    """Remove everything in a plan from one memory: from the store first, the journal last.

    Each step is bounded, gives turns to the reactor, and changes nothing when it is repeated.
    """
    memory, removal, subject = npc.memory, plan.removal, plan.removal.subject
    # from now on nothing is drawn from it, nor is it indexed anew
    with memory.evidence.withdraw(removal.linked):
        ids, memories = sorted(removal.memories), 0
        for first in range(0, len(ids), MEMORIES_AT_ONCE):
            memories += yield batch_job(_delete_stored, ids[first : first + MEMORIES_AT_ONCE])
        yield _clear_references(memory.id, removal)
        counts = yield memory.take_out(removal)
        _erase_from_nights(npc, subject)
        entries = yield _erase_from_journal(memory, removal)
        yield reindex.rekey(npc, near=removal.entries)
        known = False
        if subject.identity:
            known = memory.people.forget(subject.identity)
            known |= memory.profiles.forget(subject.identity)
        requests.drop_granted(npc)
        memory.journal.drop_damaged()
        return Erased(**counts, entries=entries, memories=memories, people=int(known))


def _delete_stored(ids: list[str]) -> int:
    """Delete memories, and count them (worker thread)."""
    store = memory_store.shared()
    there = store.existing(ids)
    store.delete(ids)
    embedder.shared().forget()
    return len(there)


@defer.inlineCallbacks
def _clear_references(agent_id: str, removal: Removal) -> Generator[Any, Any, None]:
    """Remove the person from the witnesses of remaining memories, clear `superseded_by` references
    to deleted ones, and count the words anew."""
    yield batch_job(memory_store.forget_words, agent_id)
    yield store_pages(_clear_page, agent_id, removal)


def _clear_page(agent_id: str, removal: Removal, offset: Any) -> tuple[None, Any]:
    store = memory_store.shared()
    records, offset = store.page(agent_id, offset)
    for record in records:
        if changes := _changes_without(record, removal):
            store.change(record.id, **changes)
        if record.superseded_by in removal.memories:
            endings.take_back(store, [record.id])
        versions = store.history.of(record.id, newest=None)
        kept = [each for each in versions if not removal.subject.named_in(*each[:2])]
        if len(kept) < len(versions):
            store.history.replace({record.id: kept})
    store.count_words(agent_id, records)
    return None, offset


def _changes_without(remembered: Entry | MemoryRecord, removal: Removal) -> dict[str, list[str]]:
    """Return the changes that take a person out of the witnesses and entities of a record."""
    return {
        name: [*removal.others(getattr(remembered, name))]
        for name in ("witnesses", "entities")
        if removal.subject.identity in getattr(remembered, name)
    }


def _erase_from_nights(npc: Any, subject: DataSubject) -> None:
    """Shorten error texts of nights, which may quote anything, to the kind of error; drop the
    person from those who wait for an answer."""
    script = npc.assistant
    records = script.sleep.records
    running = attributes.read(script, "night", {})
    for record in (*records, running):
        for done in record.get("passes", {}).values():
            done["errors"] = [each.split(":")[0] for each in done.get("errors", ())]
    attributes.write(script, "night_records", records)
    attributes.write(script, "night", running)
    script.state.answer_queue.drop(subject.identity)
    script.state.exchanges.pop(subject.identity, None)


@defer.inlineCallbacks
def _erase_from_journal(memory: Memory, removal: Removal) -> Generator[Any, Any, int]:
    """Remove the planned entries, and the person from the witnesses of others. Returns how many
    were removed."""
    removed = 0
    for page in journal_pages(memory.journal):
        gone = [entry for entry in page if entry.id in removal.entries]
        stay = [entry for entry in page if entry.id not in removal.entries]
        changes = {each.id: rest for each in stay if (rest := _changes_without(each, removal))}
        if not memory.owner.pk:
            return removed  # deleted meanwhile
        if gone or changes:
            removed += memory.journal.remove(entry.id for entry in gone)
            memory.journal.update(changes)
            memory.journal.flush()
        yield offload.breathe()
    return removed


# --- a whole memory -------------------------------------------------------------------------------


@defer.inlineCallbacks
def _wipe(npc: Any, finish: bool) -> Generator[Any, Any, Erased]:
    """Wipe a memory, and the mark of an import that broke off."""
    mark = attributes.read_json(npc, WIPE_MARK) if finish else {"until": None}
    if mark is None:
        return Erased()
    erased = yield wipe_held(npc, mark["until"])
    if half := attributes.read_json(npc, IMPORT_MARK):
        attributes.remove_json(npc, IMPORT_MARK)
        pause.pause(npc, half["paused"])
    return erased


@defer.inlineCallbacks
def wipe_held(npc: Any, until: int | None = None) -> Generator[Any, Any, Erased]:
    """Wipe the memory of an NPC that the caller holds still, as a Deferred `Erased`. Deleted bytes
    stay on disk. `until` is the last entry that goes, where a wipe goes on that broke off."""
    undo_log.clear(npc)
    memory = npc.memory
    memory.flush()
    counted = {
        "entries": memory.journal.count,
        "links": memory.links.count,
        "people": len({*memory.profiles.identities(), *(each.identity for each in memory.people)}),
        "preferences": sum(1 for _each in memory.preferences),
        "agenda": len(memory.agenda),
        "messages": len(memory.chat_log.messages),
    }
    if until is None:
        until, script = len(memory.journal), npc.assistant
        with transaction.atomic():  # what the next line adds to is cleared at once
            attributes.write_json(npc, WIPE_MARK, {"until": until})
            for part in (memory.people, memory.conversations, memory.chat_log):
                part.clear()
            for key in ("night_records", "night"):
                script.attributes.remove(key)
            script.sleep.begin_anew()
            script.state.answer_queue.clear()
            script.state.exchanges.clear()
        hearing_queue.drop(npc)  # what could not be taken in
    with memory.evidence.withdraw():  # what is left meanwhile is neither learned nor indexed anew
        memories = yield _wipe_store(memory.id)
        for part in memory.rows:
            yield _wipe_rows(npc, part.category)
            part.clear()
        yield _wipe_rows(npc, attributes.CATEGORY, until)
        with transaction.atomic():  # cleared, the journal may count from 1 again
            _wipe_journal(memory.journal, until)
            attributes.remove_json(npc, WIPE_MARK)
        game_database.truncate_wal()
        return Erased(**counted, memories=memories)


def _wipe_journal(journal: Journal, until: int) -> None:
    """Clear the journal up to an entry; the passes go on with those behind it."""
    passed = [n for n in journal.cursors if n not in NO_JOURNAL_ID and not n.startswith(HEARD)]
    journal.clear(until)
    for name in passed if len(journal) else ():
        journal.set_cursor(name, until)


@defer.inlineCallbacks
def _wipe_store(agent_id: str) -> Generator[Any, Any, int]:
    """Delete every memory of an NPC from the store. Returns how many there were."""
    count = 0
    while some := (yield batch_job(_delete_page, agent_id)):
        count += some
    yield batch_job(memory_store.forget_words, agent_id)
    return count


def _delete_page(agent_id: str) -> int:
    records, _offset = memory_store.shared().page(agent_id)
    return _delete_stored([record.id for record in records])


@defer.inlineCallbacks
def _wipe_rows(npc: Any, category: str, until: int | None = None) -> Generator[Any, Any, None]:
    """Remove every Attribute of a category but the marks, a few at a time; not the pages of the
    journal with entries behind `until`."""
    while npc.pk:
        pages = [] if until is None else npc.memory.journal.page_keys_behind(until)
        left = npc.db_attributes.filter(db_category=category)
        left = left.exclude(db_key__in=[IMPORT_MARK, WIPE_MARK, *pages])
        some = list(left.values_list("db_key", flat=True)[:ROWS_AT_ONCE])
        if not some:
            return
        for key in some:
            attributes.remove_json(npc, key, category)
        yield offload.breathe()


# --- the plan -------------------------------------------------------------------------------------


@dataclass
class ErasurePlan:
    """What is to be removed from one NPC's memory."""

    key: str  # the Attribute that keeps the plan until all of it is done
    removal: Removal  # without a subject where only what follows from another NPC's plan goes
    utterances: set[str]  # `Entry.utterance` of all that other NPCs have to forget with it

    def save(self, npc: Any) -> None:
        """Save the plan at its NPC."""
        removal, subject = self.removal, self.removal.subject
        if npc.pk and (removal.linked or self.utterances):
            plain = {
                "identity": subject.identity,
                "names": subject.names,
                "entries": sorted(removal.entries),
                "memories": sorted(removal.memories),
                "heard": sorted(self.utterances),
            }
            attributes.write_json(npc, self.key, plain)


@defer.inlineCallbacks
def plan_person(
    memory: Memory, identity: str, names: Iterable[str]
) -> Generator[Any, Any, ErasurePlan]:
    """Find everything that belongs to a person, as a Deferred plan that is not saved. `names` are
    those besides what the NPC knows."""
    profile = memory.profiles.get(identity)
    names = {*names, memory.people.name_of(identity), profile.name if profile else ""} - {""}
    key = PLAN + hashlib.blake2b(identity.encode(), digest_size=8).hexdigest()
    saved = attributes.read_json(memory.owner, key) or {}
    all_names = tuple(sorted({*names, *saved.get("names", ())}))
    others = yield _others(memory, identity)
    subject = DataSubject(identity, all_names, others)
    return (yield _plan(memory, key, subject, saved, ()))


@defer.inlineCallbacks
def plan_heard(
    memory: Memory, key: str, utterances: Collection[str]
) -> Generator[Any, Any, ErasurePlan]:
    """Find what this NPC heard of another one's erased words (`Entry.utterance`), as a Deferred
    plan that is not saved; its key is `FOLLOWING` and that of the other NPC's plan."""
    saved = attributes.read_json(memory.owner, key) or {}
    heard = yield closure.heard(memory, utterances)
    return (yield _plan(memory, key, NO_SUBJECT, saved, heard))


def unfinished(npc: Any) -> list[dict[str, Any]]:
    """Read the plans of erasures that broke off: `identity` and `names` among other keys."""
    return attributes.read_all_json(npc, attributes.CATEGORY, PLAN)


@defer.inlineCallbacks
def _plan(
    memory: Memory, key: str, subject: DataSubject, saved: dict[str, Any], entries: Collection[int]
) -> Generator[Any, Any, ErasurePlan]:
    """Go on with a saved plan, or begin one, with these entries and all that goes with them."""
    found, memories = {*saved.get("entries", ()), *entries}, set(saved.get("memories", ()))
    plan = ErasurePlan(
        key, Removal(found, memories, subject, shown=True), {*saved.get("heard", ())}
    )
    if subject.identity or plan.removal.linked:
        spoken = yield closure.close(memory, plan.removal)
        plan.utterances |= closure.utterances_of(memory, spoken)
    return plan


@defer.inlineCallbacks
def _others(memory: Memory, identity: str) -> Generator[Any, Any, tuple[tuple[str, str], ...]]:
    """List (identity, name) of everybody else the NPC knows, and its own names."""
    owner = memory.owner
    own = owner.get_memory_identity(owner)
    names = {each.identity: each.name for each in memory.people}
    for other in memory.profiles.identities():
        if other not in names and (profile := memory.profiles.get(other)):
            names[other] = profile.name
            yield offload.breathe()
    known = [(other, name) for other, name in names.items() if name and other != identity]
    return (*known, *((own, name) for name in (owner.key, *owner.aliases.all())))
