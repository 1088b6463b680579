"""Which memories are somebody's: the rule by which erasing a person decides.

An entry is theirs that they said or did, that is about them, that only they and the NPC heard, that
names them, or in which the NPC answers them. A memory is theirs that is about them, was told in
confidence with them there, names them, or rests on an entry of theirs: on that one too, if it rests
on several.

What the NPC says keeps what it was told from (`records.ToldFrom`). An utterance that was told from
anything of theirs is theirs too, whoever it was said to, with what was drawn from it; and so is
what another NPC heard of it, and told from there. A language model can have taken its words from
anything that it was shown, so that all of that counts. What a player typed in answer is that
player's own: a paraphrase by somebody else cannot be told from anything else, and stays.

Names are looked for as whole words, in any case: who is called Rose takes the roses along, but not
Rose Miller, if the NPC knows her. A name that the NPC knows several people by (or that is its own)
tells none of them apart, as little as "she" does. Then identities decide alone: who said it, who
heard it in confidence, whom it is about, what it rests on, and whom the NPC knew by that name when
it heard it. What somebody else said of one of the two stays, until the last of that name is erased.

Taking out of one memory what a person left in it, a place at a time (`erasing` says in which
order). Each step is bounded, lets the game go on, and changes nothing when it is done again.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Generator, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from twisted.internet import defer

from .. import offload
from ..embedding import embedder
from ..ingest import index
from ..records import INSIGHT, Entry, MemoryRecord, Message
from ..store import attributes, id_ranges, memory_store
from ..store.keys import REACH
from ..store.links import BUCKETS
from ..store.payload import entry_memory_id
from ..store.preferences import Preference

SHORTEST_NAME = 2  # letters: a shorter name is in too many texts


@dataclass(frozen=True)
class Somebody:
    """Who it is.

    Attributes:
        identity: The memory identity; "" is nobody, whose is nothing by itself.
        names: That the NPC knows them under.
        others: (identity, name) of all others whom the NPC knows, itself among them.
    """

    identity: str
    names: tuple[str, ...] = ()
    others: tuple[tuple[str, str], ...] = ()

    def named_in(self, *texts: str | None) -> bool:
        """Whether one of the texts has a name that is theirs alone, or their identity."""
        return any(
            found["own"]
            for text in texts
            if text and self._pattern
            for found in self._pattern.finditer(text)
        )

    @cached_property
    def _bearers(self) -> dict[str, set[str]]:
        """The others who bear a name of theirs, by the name in small letters."""
        own = {name.casefold() for name in self.names}
        found: dict[str, set[str]] = {}
        for identity, name in self.others:
            if name.casefold() in own and identity != self.identity:
                found.setdefault(name.casefold(), set()).add(identity)
        return found

    @cached_property
    def _pattern(self) -> re.Pattern[str] | None:
        alone = [name for name in self.names if name.casefold() not in self._bearers]
        return _pattern(self.identity, alone, self._longer)

    @cached_property
    def _any_name(self) -> re.Pattern[str] | None:
        return _pattern("", self.names, self._longer)

    @cached_property
    def _longer(self) -> list[str]:
        """Names of others that have one of theirs in them."""
        within = _pattern("", self.names, ())
        own = {name.casefold() for name in self.names}
        names = {name for _, name in self.others if name.casefold() not in own}
        return [name for name in names if within and within.search(name)]

    def _is_among(self, entities: Collection[str], *texts: str | None) -> bool:
        """Whether `entities` has them in it by more than a name that is not theirs alone."""
        if not self.identity or self.identity not in entities:
            return False
        if self.named_in(*texts):
            return True
        found = [
            each
            for text in texts
            if text and self._any_name
            for each in self._any_name.finditer(text)
        ]
        if not found:
            return True
        if not any(each["own"] for each in found):
            return False  # it is in a longer name of somebody else
        return not any(bearers.intersection(entities) for bearers in self._bearers.values())

    def _heard_alone(self, private: bool, witnesses: Collection[str]) -> bool:
        return private and bool(self.identity) and self.identity in witnesses

    def has_entry(self, entry: Entry) -> bool:
        """Whether an entry is theirs by itself. What answers it, and what cites it, goes too."""
        if not self.identity:
            return False
        return (
            self.identity in (entry.source_entity, *entry.sources)
            or self._heard_alone(entry.private, entry.witnesses)
            or (entry.session_id or "").startswith(f"ear:{self.identity}@")
            or self._is_among(entry.entities, entry.content, entry.line)
            or self.named_in(entry.content, entry.line)
        )

    def has_memory(self, memory: MemoryRecord, entries: Collection[int]) -> bool:
        """Whether a memory is theirs, or rests on one of these journal entries."""
        if any(number in entries for number in memory.journal_ids):
            return True
        if id_ranges.has_any(memory.context, entries):
            return True
        if not self.identity:
            return False
        texts = memory.content, memory.key, memory.quote, memory.shown, memory.the_lesson
        return (
            self.identity == memory.about
            or self._heard_alone(memory.private, memory.witnesses)
            or self.named_in(*texts, memory.speaker)
            or (self._is_among(memory.entities, *texts) and not self._mixed_up(memory))
        )

    def _mixed_up(self, memory: MemoryRecord) -> bool:
        """Whether it has its entities from lines, of which the name alone made one theirs."""
        bearers = set().union(*self._bearers.values())
        return bool(memory.journal_ids) and not bearers.isdisjoint(memory.entities)

    def has_message(self, message: Message, entries: Collection[int]) -> bool:
        """Whether a message of a conversation is theirs."""
        return (
            message.entry_id in entries
            or self._heard_alone(message.private, message.witnesses)
            or self.named_in(message.content)
        )

    def has_exchange(
        self, message: dict[str, Any], entries: Collection[int], memories: Collection[str] = ()
    ) -> bool:
        """Whether a message of the conversation history is theirs, tools and their results too."""
        return (
            message["entry"] in entries
            or any(own in entries for own in message["own"])
            or rests_on(message["told"], message["talk"], entries, memories)
            or self.named_in(message.get("content"), json.dumps(message.get("tool_calls", "")))
        )


NOBODY = Somebody("")


class Answers:
    """Tells of the entries of a journal, in their order, which of them answer somebody."""

    def __init__(self) -> None:
        self._theirs: dict[str | None, bool] = {}  # conversation → whether they spoke last in it

    def take(self, entry: Entry, theirs: bool) -> bool:
        """Whether `entry` is the NPC's own and answers what was theirs.

        What knows by itself what it answers is not judged by what was said before it.
        """
        if entry.origin == "self":
            return not entry.evidence and self._theirs.get(entry.session_id, False)
        if entry.kind != INSIGHT:
            self._theirs[entry.session_id] = theirs
        return False


def rests_on(
    evidence: Iterable[str], context: str, entries: Collection[int], memories: Collection[str]
) -> bool:
    """Whether link ids or spans of journal ids have some of these entries or memories in them."""
    return any(
        int(each) in entries if each.isdecimal() else each in memories for each in evidence
    ) or id_ranges.has_any(context, entries)


def _pattern(identity: str, names: Iterable[str], longer: Iterable[str]) -> re.Pattern[str] | None:
    """Finds `names` and the identity in the group "own"; what stands in a longer name is passed."""
    known = sorted({name for name in names if len(name) >= SHORTEST_NAME}, key=len)[::-1]
    own = "|".join(filter(None, [re.escape(identity), *map(_word, known)]))
    if not own:
        return None
    passed = "".join(f"{_word(name)}|" for name in sorted(longer, key=len)[::-1])
    return re.compile(f"{passed}(?P<own>{own})", re.IGNORECASE)


def _word(name: str) -> str:
    return rf"(?<!\w){re.escape(name)}(?!\w)"


# --- taking_out -----------------------------------------------------------------------------------

PLAN = "erasing_"  # + digest: the Attribute that holds what of somebody is to go, until it is gone
FOLLOWING = "following_"  # before that: of what follows from it at another NPC
ENTRIES_AT_ONCE = 32  # a page
MEMORIES_AT_ONCE = 64
BUCKETS_AT_ONCE = 128
LINKED_AT_ONCE = 4  # what is taken out of its links in one go: each touches several rows
TIMEOUT = 300.0  # seconds, for one small job behind others


@dataclass
class Plan:
    """What is to go.

    Attributes:
        key: The Attribute that keeps the plan until all of it is gone.
        who: Of whom everything goes; `belonging.NOBODY` where only something and what follows from
            it goes.
        entries: Journal ids.
        memories: Ids of memories.
        said: Those of the entries that are the NPC's own: what other NPCs may have heard.
        heard: `Entry.utterance` of all that other NPCs have to forget with it, once it is known.
    """

    key: str
    who: Somebody
    entries: set[int] = field(default_factory=set)
    memories: set[str] = field(default_factory=set)
    said: set[int] = field(default_factory=set)
    heard: set[str] = field(default_factory=set)


def ask(job: Any, *args: Any) -> defer.Deferred:
    """A job of the worker, with the patience of one who is busy behind the scenes."""
    return offload.run(offload.MEMORY, job, *args, timeout=TIMEOUT)


# --- what is to go --------------------------------------------------------------------------------


@defer.inlineCallbacks
def planned(memory: Any, who: Somebody) -> Generator[Any, Any, Plan]:
    """Find what of somebody is to go, and note it at the NPC: what is found is not found again
    half way."""
    key = plan_key(who.identity)
    known = attributes.read_json(memory.owner, key) or {}
    names = tuple(sorted({*who.names, *known.get("names", ())}))
    others = yield _others(memory, who.identity)
    plan = _as_noted(key, Somebody(who.identity, names, others), known)
    yield _follow(memory, plan)
    return plan


@defer.inlineCallbacks
def planned_from(memory: Any, key: str, heard: Collection[str]) -> Generator[Any, Any, Plan]:
    """The same of what an NPC heard from another one that forgets having said it.

    Args:
        key: Of the plan; that of a person's erasure with `FOLLOWING` before it.
        heard: `Entry.utterance` of what it was.
    """
    plan = _as_noted(key, NOBODY, attributes.read_json(memory.owner, key) or {})
    froms = {each.partition(":")[0] for each in heard}
    first = min(
        filter(None, map(memory.journal.heard_from, froms)), default=len(memory.journal) + 1
    )
    for start in range(first, len(memory.journal) + 1, ENTRIES_AT_ONCE):
        for entry in memory.journal.read(start, start + ENTRIES_AT_ONCE - 1):
            if entry.utterance in heard:
                plan.entries.add(entry.id)
        yield offload.breathe()
    if plan.entries or plan.memories:
        yield _follow(memory, plan)
    return plan


def _as_noted(key: str, who: Somebody, known: dict[str, Any]) -> Plan:
    return Plan(
        key, who, *(set(known.get(name, ())) for name in ("entries", "memories", "said", "heard"))
    )


def note(npc: Any, plan: Plan) -> None:
    """Keep a plan at its NPC."""
    if npc.pk and (plan.entries or plan.memories or plan.heard):
        plain: dict[str, Any] = {"identity": plan.who.identity, "names": plan.who.names}
        for name in ("entries", "memories", "said", "heard"):
            plain[name] = sorted(getattr(plan, name))
        attributes.write_json(npc, plan.key, plain)


@defer.inlineCallbacks
def _others(memory: Any, identity: str) -> Generator[Any, Any, tuple[tuple[str, str], ...]]:
    """(identity, name) of all whom the NPC knows but one, and its own names."""
    owner = memory.owner
    own = owner.get_memory_identity(owner)
    found = {each.identity: each.name for each in memory.people}
    for other in memory.profiles.identities():
        if other not in found and (profile := memory.profiles.get(other)):
            found[other] = profile.name
            yield offload.breathe()
    known = [(other, name) for other, name in found.items() if name and other != identity]
    return (*known, *((own, name) for name in (owner.key, *owner.aliases.all())))


@defer.inlineCallbacks
def _follow(memory: Any, plan: Plan) -> Generator[Any, Any, None]:
    """All that is somebody's into the plan, and what rests on it, until nothing is added."""
    first = True
    while True:
        entries = len(plan.entries)
        yield _find_entries(memory, plan)
        if not first and entries == len(plan.entries):
            break
        first = False
        plan.memories.update(entry_memory_id(memory.id, number) for number in plan.entries)
        memories, offset = len(plan.memories), None
        while True:
            job = _find_memories, memory.id, plan.who, frozenset(plan.entries), offset
            found, offset = yield ask(*job)
            plan.memories.update(found)
            if offset is None:
                break
        if memories == len(plan.memories):
            break  # no entry can be told from what was not there before
    note(memory.owner, plan)


def plan_key(identity: str) -> str:
    """The Attribute's key."""
    return PLAN + hashlib.blake2b(identity.encode(), digest_size=8).hexdigest()


def unfinished(npc: Any) -> list[dict[str, Any]]:
    """The plans of erasures that broke off."""
    return attributes.read_all_json(npc, attributes.CATEGORY, PLAN)


@defer.inlineCallbacks
def _find_entries(memory: Any, plan: Plan) -> Generator[Any, Any, None]:
    """Entries into the plan: each can rest on what comes before it alone."""
    answers = Answers()
    for first in range(1, len(memory.journal) + 1, ENTRIES_AT_ONCE):
        for entry in memory.journal.read(first, first + ENTRIES_AT_ONCE - 1):
            theirs = (
                entry.id in plan.entries
                or plan.who.has_entry(entry)
                or rests_on(entry.evidence, entry.context, plan.entries, plan.memories)
            )
            if answers.take(entry, theirs) or theirs:
                plan.entries.add(entry.id)
                if entry.origin == "self":
                    plan.said.add(entry.id)
        yield offload.breathe()


def _find_memories(
    agent_id: str, who: Somebody, entries: Collection[int], offset: Any
) -> tuple[list[str], Any]:
    memories, offset = memory_store.shared().page(agent_id, offset)
    return [memory.id for memory in memories if who.has_memory(memory, entries)], offset


# --- the store ------------------------------------------------------------------------------------


@defer.inlineCallbacks
def from_store(
    agent_id: str, ids: Iterable[str]
) -> Generator[Any, Any, tuple[dict[str, int], int]]:
    """Memories out of the store. Gives how many of each record went, and how many vectors."""
    ids = sorted(ids)
    kinds: dict[str, int] = {}
    vectors = 0
    for first in range(0, len(ids), MEMORIES_AT_ONCE):
        gone, forgotten = yield ask(_forget, ids[first : first + MEMORIES_AT_ONCE])
        vectors += forgotten
        for record in gone:
            kinds[record] = kinds.get(record, 0) + 1
    return kinds, vectors


def _forget(ids: list[str]) -> tuple[list[str], int]:
    store = memory_store.shared()
    memories = store.get(ids)
    texts = {
        text for m in memories for text in (m.content, m.key, m.embedded, m.quote, m.shown) if text
    }
    vectors = embedder.shared().forget(texts) if texts else 0
    store.delete(ids)
    return [memory.record for memory in memories], vectors


@defer.inlineCallbacks
def settle_store(agent_id: str, plan: Plan) -> Generator[Any, Any, None]:
    """What stays in the store says no more that they were there, and ends by nothing of theirs;
    its words are counted anew."""
    yield ask(memory_store.forget_words, agent_id)
    offset = None
    while True:
        offset = yield ask(_settle_page, agent_id, plan.who, frozenset(plan.memories), offset)
        if offset is None:
            return


def _without_identity(kept: Any, identity: str) -> dict[str, list[str]]:
    """What of an entry or a memory is to change, so that it no longer has somebody in it."""
    return {
        name: [each for each in getattr(kept, name) if each != identity]
        for name in ("witnesses", "entities")
        if identity in getattr(kept, name)
    }


def _settle_page(agent_id: str, who: Somebody, gone: Collection[str], offset: Any) -> Any:
    store = memory_store.shared()
    memories, offset = store.page(agent_id, offset)
    for memory in memories:
        if rest := _without_identity(memory, who.identity):
            store.change(memory.id, **rest)
        if memory.superseded_by in gone:
            store.change(memory.id, superseded_by=None, invalid_at=None)
        said = memory_store.shared().history.of(memory.id, newest=None)
        kept = [row for row in said if not who.named_in(*row[:2])]
        if len(kept) < len(said):
            memory_store.shared().history.replace(memory.id, kept)
    store.count_words(agent_id, memories)
    return offset


# --- the game database ----------------------------------------------------------------------------


@defer.inlineCallbacks
def from_links(memory: Any, linked: Collection[str]) -> Generator[Any, Any, int]:
    """Everything that is linked under these ids out of its links. Gives how many links went."""
    count = 0
    for first in range(0, BUCKETS, BUCKETS_AT_ONCE):
        found = memory.links.ids_in(range(first, first + BUCKETS_AT_ONCE))
        gone = [each for each in found if each in linked]
        for some in range(0, len(gone), LINKED_AT_ONCE):
            count += memory.links.remove(gone[some : some + LINKED_AT_ONCE])
            yield offload.breathe()
        yield offload.breathe()
    return count


@defer.inlineCallbacks
def from_preferences(memory: Any, plan: Plan) -> Generator[Any, Any, int]:
    """Their preferences, and those of others that rest on what goes or name them."""
    count = memory.preferences.forget(plan.who.identity) if plan.who.identity else 0
    for preference in list(memory.preferences):
        told = (preference, *preference.history)
        if any(
            each.memory_id in plan.memories
            or each.journal_id in plan.entries
            or plan.who.named_in(each.text)
            for each in told
        ):
            memory.preferences.remove(preference)
            count += 1
        elif plan.who.identity in preference.witnesses:
            others = [each for each in preference.witnesses if each != plan.who.identity]
            _heard_by(memory, preference, tuple(others))
        yield offload.breathe()
    return count


def _heard_by(memory: Any, preference: Preference, witnesses: tuple[str, ...]) -> None:
    """A preference that only these have heard: in private, that is another place to keep it."""
    kept = replace(preference, witnesses=witnesses)
    there = memory.preferences.get(kept.identity, kept.slot, kept.audience)
    moves = kept.audience != preference.audience
    if not moves or there is None or there.since <= kept.since:
        memory.preferences.put(kept)
    if moves:
        memory.preferences.remove(preference)


@defer.inlineCallbacks
def from_profiles(memory: Any, plan: Plan) -> Generator[Any, Any, int]:
    """Their profile, and what rests on what goes in those of others. Gives how much that was."""
    identity = plan.who.identity
    count = yield memory.profiles.forget_entries(plan.entries)
    for other in memory.profiles.identities():
        profile = memory.profiles.get(other)
        if profile is not None and other != identity and memory.owner.pk:
            kept = replace(
                profile,
                observations=_without(profile.observations, plan.who),
                attributes=_without(profile.attributes, plan.who),
            )
            if kept != profile:
                memory.profiles.put(kept)
        yield offload.breathe()
    return count


def _without(kept: Iterable[Any], who: Somebody) -> tuple[Any, ...]:
    """Observations or attributes without those that name them, and without them as witnesses."""
    return tuple(
        replace(each, witnesses=tuple(w for w in each.witnesses if w != who.identity))
        if who.identity in each.witnesses
        else each
        for each in kept
        if not who.named_in(getattr(each, "text", None), getattr(each, "value", None))
    )


def from_nights(npc: Any, who: Somebody) -> None:
    """Error texts of the nights, which may quote anything; what kind they were stays."""
    script = npc.assistant
    for key, nights in (("night_records", script.night_records), ("night", None)):
        records = nights if nights is not None else [attributes.read(script, key) or {}]
        for record in records:
            for done in record.get("passes", record.get("done", {})).values():
                done["errors"] = [each.split(":")[0] for each in done.get("errors", ())]
        attributes.write(script, key, records if nights is not None else records[0])
    script.waiting_for_answers.drop(who.identity)
    (script.ndb.exchanges or {}).pop(who.identity, None)


@defer.inlineCallbacks
def from_journal(memory: Any, plan: Plan) -> Generator[Any, Any, tuple[int, int]]:
    """Entries out of the journal, and who they are out of those of others, a page at a time.

    Gives how many went, and how many of others were changed.
    """
    removed = changed = 0
    identity = plan.who.identity
    for first in range(1, len(memory.journal) + 1, ENTRIES_AT_ONCE):
        page = list(memory.journal.read(first, first + ENTRIES_AT_ONCE - 1))
        gone = [entry for entry in page if entry.id in plan.entries]
        beside = {
            entry.id: rest
            for entry in page
            if entry.id not in plan.entries and (rest := _without_identity(entry, identity))
        }
        if gone:
            yield ask(forget_texts, [text for entry in gone for text in entry.texts])
        if not memory.owner.pk:
            return removed, changed  # deleted meanwhile
        if gone or beside:
            removed += memory.journal.remove(entry.id for entry in gone)
            memory.journal.update(beside)
            changed += len(beside)
            memory.journal.flush()
        yield offload.breathe()
    return removed, changed


def forget_texts(texts: list[str]) -> int:
    """What is kept of their vectors (worker thread). Gives how many went."""
    return embedder.shared().forget(texts) if texts else 0


@defer.inlineCallbacks
def rekey_around(memory: Any, gone: Collection[int]) -> Generator[Any, Any, None]:
    """What stays is found no more by lines around it that are gone."""
    pages = {
        (near - 1) // ENTRIES_AT_ONCE
        for each in gone
        for near in (max(1, each - REACH), each, each + REACH)
    }
    indexed = memory.journal.cursors.get("indexed", 0)
    for page in sorted(pages):
        first = page * ENTRIES_AT_ONCE + 1
        last = min(first + ENTRIES_AT_ONCE - 1, indexed)
        around = list(memory.journal.read(first - REACH, min(last + REACH, indexed)))
        wanted = {entry.id for entry in around if first <= entry.id <= last}
        if wanted:
            yield ask(index.rekey_entries, memory.id, around, wanted)
        yield offload.breathe()
