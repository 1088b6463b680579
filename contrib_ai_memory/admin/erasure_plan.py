"""What an erasure takes: the rule for which memories are a person's, and the plan made from it.

An entry belongs to the data subject if they said or did it, if it is about them, if only they and
the NPC heard it, if it names them, or if the NPC answers them in it. A memory belongs to them if it
is about them, was told in confidence in their presence, names them, or rests on any entry of
theirs, even if it rests on others too.

What the NPC says keeps its provenance (`records.Provenance`). An utterance told from anything
of theirs is theirs too, whoever it was said to, with all that was drawn from it, and so is what
another NPC heard of it and passed on. A language model may have used anything it was shown, so all
of that counts. What another player typed in answer is that player's own and stays: a paraphrase
cannot be told from anything else.

Names are matched as whole words, in any case: erasing Rose takes sentences about roses along, but
not Rose Miller if the NPC knows her. A name shared with another person or with the NPC itself
identifies nobody, as little as "she" does. Then identities alone decide: who said it, who heard it
in confidence, whom it is about, what it rests on, and whom the NPC knew by that name when it heard
it. What somebody else said about one of the two stays until the last of that name is erased.

The plan is saved at the NPC before anything is removed, so that an erasure that broke off removes
the same things when it is started again.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Generator, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from twisted.internet import defer

from .. import offload
from ..records import INSIGHT, Entry, MemoryRecord, Message
from ..store import attributes, memory_store
from ..store.journal import ranges_include
from ..store.payload import entry_memory_id
from .jobs import journal_pages, pages_heard_from, store_pages

PLAN = "erasing_"  # + digest of the identity: the Attribute that holds a plan until it is done
FOLLOWING = "following_"  # before that: what follows from the plan at another NPC
SHORTEST_NAME = 2  # letters: a shorter name is in too many texts
_STORED = {"entries": "entries", "memories": "memories", "said": "spoken", "heard": "utterances"}


# --- the plan -------------------------------------------------------------------------------------


@dataclass
class ErasurePlan:
    """What is to be removed from one NPC's memory.

    Attributes:
        key: The Attribute that keeps the plan until all of it is done.
        subject: Whose; `NOBODY` where only what follows from another NPC's plan goes.
        entries: Journal ids.
        memories: Ids of memories.
        spoken: Those of the entries that the NPC said itself: other NPCs may have heard them.
        utterances: `Entry.utterance` of all that other NPCs have to forget with it.
    """

    key: str
    subject: DataSubject
    entries: set[int] = field(default_factory=set)
    memories: set[str] = field(default_factory=set)
    spoken: set[int] = field(default_factory=set)
    utterances: set[str] = field(default_factory=set)


@defer.inlineCallbacks
def plan_person(
    memory: Any, identity: str, names: Iterable[str]
) -> Generator[Any, Any, ErasurePlan]:
    """Find everything that belongs to a person and save it at the NPC, as a Deferred plan."""
    key = PLAN + hashlib.blake2b(identity.encode(), digest_size=8).hexdigest()
    saved = attributes.read_json(memory.owner, key) or {}
    all_names = tuple(sorted({*names, *saved.get("names", ())}))
    others = yield _others(memory, identity)
    plan = _load(key, DataSubject(identity, all_names, others), saved)
    yield _expand(memory, plan)
    return plan


@defer.inlineCallbacks
def plan_heard(
    memory: Any, key: str, utterances: Collection[str]
) -> Generator[Any, Any, ErasurePlan]:
    """The same for what this NPC heard of another one's erased words, as a Deferred plan.

    Args:
        key: `FOLLOWING` and the key of the other NPC's plan.
        utterances: `Entry.utterance` of those words.
    """
    plan = _load(key, NOBODY, attributes.read_json(memory.owner, key) or {})
    for page in pages_heard_from(memory.journal, utterances):
        plan.entries.update(entry.id for entry in page if entry.utterance in utterances)
        yield offload.breathe()
    if plan.entries or plan.memories:
        yield _expand(memory, plan)
    return plan


def save(npc: Any, plan: ErasurePlan) -> None:
    """Save a plan at its NPC."""
    if npc.pk and (plan.entries or plan.memories or plan.utterances):
        plain: dict[str, Any] = {"identity": plan.subject.identity, "names": plan.subject.names}
        plain |= {key: sorted(getattr(plan, name)) for key, name in _STORED.items()}
        attributes.write_json(npc, plan.key, plain)


def unfinished(npc: Any) -> list[dict[str, Any]]:
    """The saved plans of erasures that broke off: `identity` and `names` among other keys."""
    return attributes.read_all_json(npc, attributes.CATEGORY, PLAN)


def _load(key: str, subject: DataSubject, saved: dict[str, Any]) -> ErasurePlan:
    return ErasurePlan(
        key, subject, **{name: set(saved.get(plain, ())) for plain, name in _STORED.items()}
    )


@defer.inlineCallbacks
def _others(memory: Any, identity: str) -> Generator[Any, Any, tuple[tuple[str, str], ...]]:
    """(identity, name) of everybody else the NPC knows, and its own names."""
    owner = memory.owner
    own = owner.get_memory_identity(owner)
    names = {each.identity: each.name for each in memory.people}
    for other in memory.profiles.identities():
        if other not in names and (profile := memory.profiles.get(other)):
            names[other] = profile.name
            yield offload.breathe()
    known = [(other, name) for other, name in names.items() if name and other != identity]
    return (*known, *((own, name) for name in (owner.key, *owner.aliases.all())))


@defer.inlineCallbacks
def _expand(memory: Any, plan: ErasurePlan) -> Generator[Any, Any, None]:
    """Add what belongs to the subject, and what rests on that, until nothing is added; save it."""
    first = True
    while True:
        entries = len(plan.entries)
        yield _add_entries(memory, plan)
        if not first and entries == len(plan.entries):
            break
        first = False
        plan.memories.update(entry_memory_id(memory.id, number) for number in plan.entries)
        memories = len(plan.memories)
        args = memory.id, plan.subject, frozenset(plan.entries)
        yield store_pages(_owned_memories, *args, on_page=plan.memories.update)
        if memories == len(plan.memories):
            break  # no entry can be told from what was not there before
    save(memory.owner, plan)


@defer.inlineCallbacks
def _add_entries(memory: Any, plan: ErasurePlan) -> Generator[Any, Any, None]:
    """Add entries in one pass: each can rest only on what comes before it."""
    replies = _Replies()
    for page in journal_pages(memory.journal):
        for entry in page:
            owned = (
                entry.id in plan.entries
                or plan.subject.owns_entry(entry)
                or rests_on(entry.evidence, entry.context, plan.entries, plan.memories)
            )
            if replies.answers_subject(entry, owned) or owned:
                plan.entries.add(entry.id)
                if entry.origin == "self":
                    plan.spoken.add(entry.id)
        yield offload.breathe()


def _owned_memories(
    agent_id: str, subject: DataSubject, entries: Collection[int], offset: Any
) -> tuple[list[str], Any]:
    memories, offset = memory_store.shared().page(agent_id, offset)
    return [memory.id for memory in memories if subject.owns_memory(memory, entries)], offset


# --- the rule -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DataSubject:
    """The person who is to be erased.

    Attributes:
        identity: The memory identity; "" is nobody, to whom nothing belongs by itself.
        names: By which the NPC knows them.
        others: (identity, name) of everybody else whom the NPC knows, and of itself.
    """

    identity: str
    names: tuple[str, ...] = ()
    others: tuple[tuple[str, str], ...] = ()

    def owns_entry(self, entry: Entry) -> bool:
        """Whether an entry is theirs by itself, answers and citations of it aside."""
        if not self.identity:
            return False
        return (
            self.identity in (entry.source_entity, *entry.sources)
            or self._heard_in_confidence(entry.private, entry.witnesses)
            or (entry.session_id or "").startswith(f"ear:{self.identity}@")
            or self._is_among(entry.entities, entry.content, entry.line)
            or self.named_in(entry.content, entry.line)
        )

    def owns_memory(self, memory: MemoryRecord, entries: Collection[int]) -> bool:
        """Whether a memory is theirs, or rests on one of these journal entries."""
        if any(number in entries for number in memory.journal_ids):
            return True
        if ranges_include(memory.context, entries):
            return True
        if not self.identity:
            return False
        texts = memory.content, memory.key, memory.quote, memory.shown, memory.the_lesson
        return (
            self.identity == memory.about
            or self._heard_in_confidence(memory.private, memory.witnesses)
            or self.named_in(*texts, memory.speaker)
            or (self._is_among(memory.entities, *texts) and not self._is_namesakes(memory))
        )

    def owns_message(self, message: Message, entries: Collection[int]) -> bool:
        """Whether a message of a running conversation is theirs."""
        return (
            message.entry_id in entries
            or self._heard_in_confidence(message.private, message.witnesses)
            or self.named_in(message.content)
        )

    def owns_exchange(
        self, message: dict[str, Any], entries: Collection[int], memories: Collection[str] = ()
    ) -> bool:
        """Whether a message of the conversation history is theirs, tool calls and results too."""
        return (
            message["entry"] in entries
            or any(own in entries for own in message["own"])
            or rests_on(message["told"], message["talk"], entries, memories)
            or self.named_in(message.get("content"), json.dumps(message.get("tool_calls", "")))
        )

    def named_in(self, *texts: str | None) -> bool:
        """Whether one of the texts holds a name that is theirs alone, or their identity."""
        return any(
            found["own"]
            for text in texts
            if text and self._own_names
            for found in self._own_names.finditer(text)
        )

    def _heard_in_confidence(self, private: bool, witnesses: Collection[str]) -> bool:
        return private and bool(self.identity) and self.identity in witnesses

    def _is_among(self, entities: Collection[str], *texts: str | None) -> bool:
        """Whether `entities` holds them for another reason than a name they share."""
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
            return False  # part of somebody else's longer name
        return not any(bearers.intersection(entities) for bearers in self._namesakes.values())

    def _is_namesakes(self, memory: MemoryRecord) -> bool:
        """Whether a memory has its entities from lines that only a shared name made theirs."""
        bearers = set().union(*self._namesakes.values())
        return bool(memory.journal_ids) and not bearers.isdisjoint(memory.entities)

    @cached_property
    def _namesakes(self) -> dict[str, set[str]]:
        """The others who bear a name of theirs, by the name in lower case."""
        own = {name.casefold() for name in self.names}
        found: dict[str, set[str]] = {}
        for identity, name in self.others:
            if name.casefold() in own and identity != self.identity:
                found.setdefault(name.casefold(), set()).add(identity)
        return found

    @cached_property
    def _own_names(self) -> re.Pattern[str] | None:
        alone = [name for name in self.names if name.casefold() not in self._namesakes]
        return _pattern(self.identity, alone, self._longer_names)

    @cached_property
    def _any_name(self) -> re.Pattern[str] | None:
        return _pattern("", self.names, self._longer_names)

    @cached_property
    def _longer_names(self) -> list[str]:
        """Names of others that contain one of theirs."""
        within = _pattern("", self.names, ())
        own = {name.casefold() for name in self.names}
        names = {name for _, name in self.others if name.casefold() not in own}
        return [name for name in names if within and within.search(name)]


NOBODY = DataSubject("")


class _Replies:
    """Finds the NPC's answers to the subject, given the entries of a journal in order."""

    def __init__(self) -> None:
        self._spoke_last: dict[str | None, bool] = {}  # conversation → whether the subject did

    def answers_subject(self, entry: Entry, owned: bool) -> bool:
        """Whether the entry is the NPC's own and answers the subject.

        An entry that keeps its evidence says itself what it answers; the order decides nothing.
        """
        if entry.origin == "self":
            return not entry.evidence and self._spoke_last.get(entry.session_id, False)
        if entry.kind != INSIGHT:
            self._spoke_last[entry.session_id] = owned
        return False


def rests_on(
    evidence: Iterable[str], context: str, entries: Collection[int], memories: Collection[str]
) -> bool:
    """Whether link ids, or ranges of journal ids, include any of these entries or memories."""
    return any(
        int(each) in entries if each.isdecimal() else each in memories for each in evidence
    ) or ranges_include(context, entries)


def _pattern(identity: str, names: Iterable[str], longer: Iterable[str]) -> re.Pattern[str] | None:
    """Match `names` and the identity in the group "own"; longer names are matched outside it."""
    known = sorted({name for name in names if len(name) >= SHORTEST_NAME}, key=len)[::-1]
    own = "|".join(filter(None, [re.escape(identity), *map(_word, known)]))
    if not own:
        return None
    passed = "".join(f"{_word(name)}|" for name in sorted(longer, key=len)[::-1])
    return re.compile(f"{passed}(?P<own>{own})", re.IGNORECASE)


def _word(name: str) -> str:
    return rf"(?<!\w){re.escape(name)}(?!\w)"
