"""MemoryHandler, `npc.memory`: the one door to everything an NPC remembers. Reactor thread only;
what takes time goes to the worker threads and comes back as a Deferred."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakSet

from django.db import OperationalError
from twisted.internet import defer

from . import conf, offload, records
from .english import addressing
from .english.questions import asks
from .ingest import experiences, importance, index, pipeline, preference_slots
from .llm.offline import without_address
from .log import logger
from .recall import mood, recall, reply
from .recall.tool_loop import Hands
from .records import Entry, Message, Percept, Recalled
from .store import attributes, evidence, facts, game_database, owner
from .store.chat_log import History
from .store.conversations import Conversations
from .store.errors import StoreHeld
from .store.evidence import Evidence
from .store.journal import Journal
from .store.links import Links
from .store.people import People
from .store.preferences import Preferences
from .store.profiles import Profiles
from .text.sanitising import sanitise

INDEX_BATCH = 64
NEWEST = 16  # entries that a recall indexes where more than a batch waits
INDEX_CURSOR = "indexed"
CONSCIOUS_IMPORTANCE = 8


_living: WeakSet[MemoryHandler] = WeakSet()


class NothingToRemember(ValueError):
    """There is no text in what was to be remembered."""


class MemoryHandler:
    """Everything one NPC remembers. Made by `MemoryMixin.memory`.

    Attributes:
        id: The mind's own UUID, under which the store keeps it. A copied NPC gets a new one.
        clock: Gives the present as ISO 8601 UTC; a replay puts the log's time in its place.
        journal, conversations, people, profiles, links, preferences, history: In Attributes.
        evidence: What the works under way rest on, while memories are forgotten or changed.
    """

    def __init__(self, owner: Any):
        self.owner = owner
        self.clock: Callable[[], str] = records.now_iso
        self.id: str = self._own_id()
        self._flush_timer: Any = None
        self.journal = Journal(owner, on_change=self._flush_soon)
        self.conversations = Conversations(owner, conf.get().STALE_CONVERSATION)
        self.people = People(owner)
        self.links = Links(owner)
        self.preferences = Preferences(owner)
        self.profiles = Profiles(owner)
        self.history = History(owner)
        self.evidence = Evidence(owner, lambda: self.journal, lambda: self.id)
        _living.add(self)

    @property
    def name(self) -> str:
        return self.owner.key

    @property
    def names(self) -> tuple[str, ...]:
        """What the NPC goes by: its key, then its aliases."""
        return (self.owner.key, *self.owner.aliases.all())

    @property
    def goals(self) -> str:
        """What the NPC is after, for the scoring of importance: `npc.db.goals`."""
        return str(self.owner.attributes.get("goals", default="") or "")

    def _own_id(self) -> str:
        """The id of this body's memory; one that carries another body's begins anew."""
        shed_copied(self.owner)
        own = owner.id_of(self.owner) or str(uuid.uuid4())
        owner.claim(self.owner, own)
        return own

    def reclaim(self) -> None:
        """Write anew what another body's Attributes were cloned over while this memory was open."""
        logger().warning(
            "#%s: the Attributes of another memory were written over its own, which stays.",
            self.owner.id,
        )
        owner.claim(self.owner, self.id)
        for part in (self.journal, self.conversations, self.people):
            part.written_over()

    # --- perceiving -------------------------------------------------------------------------

    def perceive(self, percept: Percept) -> Entry:
        """Write what was perceived into the journal. O(1); on disk within a second."""
        when = percept.timestamp or self.clock()
        talk = percept.kind in records.TALK_KINDS
        own = percept.origin == "self"
        place = f"ear:{percept.source}" if percept.private else f"room:{percept.location}"
        if talk and not own and addressing.confides(percept.content):
            percept = replace(percept, private=True)  # for those who were there to hear it
        if percept.source and not own and percept.kind in records.LEARNED_KINDS:
            self.people.meet(percept.source, percept.seen_as, when, talk=talk)
        session_id = percept.session_id
        if talk or session_id:
            conversation = self.conversations.join(place, when, session_id)
            conversation.take_part(percept.source, when)
            session_id = conversation.session_id
        entry = self.journal.append(
            lambda entry_id: self._entry(entry_id, percept, when, session_id)
        )
        if percept.utterance:
            self.journal.note_heard(percept.utterance, entry.id)
        if talk:
            role = "assistant" if own else "user"
            conversation.say(
                Message(
                    entry.id,
                    role,
                    entry.seen_as,
                    entry.content,
                    private=entry.private,
                    witnesses=entry.witnesses,
                )
            )
        return entry

    def _entry(self, entry_id: int, percept: Percept, when: str, session_id: str | None) -> Entry:
        keywords = (*conf.get().KEYWORDS, *(self.owner.attributes.get("memory_keywords") or ()))
        bonus = max(known.sender_bonus(percept.source) for known in (self.people, self.profiles))
        return Entry(
            id=entry_id,
            timestamp=when,
            content=percept.content,
            kind=percept.kind,
            seen_as=percept.seen_as,
            origin=percept.origin,
            source_type=percept.source_type,
            source_trust=conf.TRUST[percept.source_type],
            source_entity=percept.source,
            entities=tuple(sorted({*percept.entities, *self.people.mentioned(percept.content)})),
            witnesses=percept.witnesses,
            private=percept.private,
            location=percept.location,
            session_id=session_id,
            importance=importance.heuristic_importance(percept, keywords, bonus),
            tags=self._tags(percept),
            game_time=percept.game_time,
            line=percept.line,
            ref=percept.ref,
            evidence=percept.evidence,
            context=percept.context,
            sources=percept.sources,
            utterance=percept.utterance,
        )

    def _tags(self, percept: Percept) -> tuple[str, ...]:
        """Its tags; "mara what is the bridge" asks, and only who knows the name can tell."""
        if percept.kind not in records.TALK_KINDS or asks(percept.content):
            return percept.tags
        bare = (without_address(percept.content, name) for name in self.names)
        return (*percept.tags, records.ASKS) if any(map(asks, bare)) else percept.tags

    @defer.inlineCallbacks
    def add(
        self, text: str, *, importance: int = CONSCIOUS_IMPORTANCE
    ) -> Generator[Any, Any, Entry]:
        """A conscious commit [B]: remembered at once, never cleaned away.

        Args:
            text: What to remember, as a sentence of its own.
            importance: 1-10.

        Raises (in the Deferred):
            NothingToRemember: There is no text in it.
        """
        text = sanitise(text, conf.get().MAX_LINE)
        if not text:
            raise NothingToRemember("There is nothing to remember: the text is empty.")
        entry = self.perceive(
            Percept(content=text, kind="note", origin="builder", tags=("conscious", "builder"))
        )
        self.journal.update({entry.id: {"importance": importance, "scoring_method": "manual"}})
        entry = self.journal.get(entry.id)
        self.flush()
        try:
            with self.evidence.drawing_on([entry]) as work:
                yield work.run(index.index_entries, self.id, [entry])
        except (offload.Busy, offload.TimedOut, StoreHeld) as late:
            # it is in the journal, and indexed at the next tick
            logger().warning("%s: entry %s is indexed later: %s", self.owner.dbref, entry.id, late)
        return entry

    def ingest(
        self,
        text: str,
        user_id: str | None = None,
        session_id: str | None = None,
        memory_type_hint: str | None = None,
        **who_may_hear: Any,
    ) -> defer.Deferred:
        """Any text into memory [C §1], as a Deferred list of the `MemoryRecord`s that it became.

        What is unimportant is dropped; what is known already is not doubled. The arguments are
        those of `ingest.pipeline.ingest`, which tells of each.
        """
        learned = pipeline.ingest(self, text, user_id, session_id, memory_type_hint, **who_may_hear)
        return learned.addCallback(lambda learned: list(learned.memories))

    # --- the work behind it -----------------------------------------------------------------

    @defer.inlineCallbacks
    def index_pending(self, priority: int = offload.AWAKE) -> Generator[Any, Any, bool]:
        """Embed and index what is new, one batch at a time.

        Returns (as a Deferred):
            Whether nothing is left.
        """
        start = self.journal.cursors.get(INDEX_CURSOR, 0)
        end = min(start + INDEX_BATCH, len(self.journal))
        pending = list(self.journal.read(start + 1, end))
        if pending:
            before = list(self.journal.read(start + 1 - index.LOOK_BACK, start))
            with self.evidence.drawing_on([*before, *pending], priority=priority) as work:
                yield work.run(index.index_entries, self.id, pending, before)
                yield preference_slots.settle_heard(self, pending, work)
        # another call may have come further meanwhile; what is indexed twice is written once
        self.journal.advance_cursor(INDEX_CURSOR, end)
        return self.journal.cursors.get(INDEX_CURSOR, 0) >= len(self.journal)

    @defer.inlineCallbacks
    def index_newest(self, priority: int = offload.REPLY) -> Generator[Any, Any, None]:
        """Index what a recall must know of: what is new, or where that is much, the newest of it.

        A long backlog (after a full disk, an import, a time without the store) is worked through by
        the ticks, the oldest first. An answer does not wait for it.
        """
        last = len(self.journal)
        if last - self.journal.cursors.get(INDEX_CURSOR, 0) <= INDEX_BATCH:
            yield self.index_pending(priority)
            return
        start = last - NEWEST
        newest = list(self.journal.read(start + 1, last))
        before = list(self.journal.read(start + 1 - index.LOOK_BACK, start))
        # what is indexed twice is written once
        with self.evidence.drawing_on([*before, *newest], priority=priority) as work:
            yield work.run(index.index_entries, self.id, newest, before)

    @defer.inlineCallbacks
    def work_through(
        self, *, until_silent: bool = False, priority: int = offload.AWAKE
    ) -> Generator[Any, Any, bool]:
        """Index what is new and draw experiences from it: a bounded piece of the work.

        Returns (as a Deferred):
            Whether nothing is left to do.
        """
        indexed = yield self.index_pending(priority)
        read = yield experiences.extract_experiences(
            self, until_silent=until_silent, priority=priority
        )
        return indexed and read < experiences.SNIPPETS_A_TICK

    # --- recalling --------------------------------------------------------------------------

    def recall(
        self,
        query: str,
        *,
        speaker: str | None = None,
        listeners: Sequence[str] = (),
        top_k: int | None = None,
        token_budget: int | None = None,
        memory_types: Sequence[str] | None = None,
        include_compressed: bool = False,
        emotions: Sequence[str] = (),
        without_entries: Sequence[int] = (),
        priority: int = offload.REPLY,
    ) -> defer.Deferred:
        """What comes to mind for `query` [B §3, C §2], as a Deferred `RecallResult`.

        Best first, within the token budget; preferences of the speaker before all else.

        Args:
            query: A question or a line of talk.
            speaker: Memory identity of the one who will hear the answer; secrets of others stay
                out. None looks from outside the game and sees everything.
            listeners: Identities of others who will hear it too.
            top_k, token_budget: Bounds of the result; the settings' defaults.
            memory_types: Only these of episodic, semantic, working, procedural.
            include_compressed: Also what a summary stands for.
            emotions: Labels of the present mood; memories that share one are favoured.
            without_entries: Journal ids to leave out, such as the question itself.

        Raises (in the Deferred):
            BudgetExceeded: Something came to mind, and not even the smallest of it fits.
        """
        return recall.recall(
            self,
            query,
            listeners=(speaker, *listeners) if speaker else None,
            top_k=top_k,
            token_budget=token_budget,
            memory_types=memory_types,
            include_compressed=include_compressed,
            emotions=emotions,
            without_entries=without_entries,
            priority=priority,
        )

    def recall_emotion(
        self, emotions: Sequence[str], *, query: str = "", **options: Any
    ) -> defer.Deferred:
        """What was felt like this: memories that share one of `emotions`, as a Deferred result.

        Args:
            emotions: Labels of the taxonomy.
            query: What it was about; without one, the emotions themselves.
            options: As of `recall`.

        Raises (in the Deferred):
            UnknownEmotion: A label that the taxonomy does not have.
        """
        return recall.recall_emotion(self, emotions, query, **options)

    def answer(self, entry: Entry, hands: Hands | None = None) -> defer.Deferred:
        """What the NPC says to an entry spoken to it, as a Deferred `Answer`."""
        return reply.answer(self, entry, hands, keep=experiences.remember_or_reinforce)

    def note_accessed(self, entry: Entry, recalled: Sequence[Recalled]) -> None:
        """What reached a reply counts as accessed, once a conversation (DESIGN §5.6)."""
        conversation = self.conversations.get(entry.session_id)
        ids = [item.memory.id for item in recalled]
        if conversation:
            ids = conversation.first_access(ids)
        if ids:
            job = offload.run(offload.MEMORY, facts.ask, "note_access", ids, self.clock())
            job.addErrback(lambda reason: reason.trap(StoreHeld))
            job.addErrback(offload.log_failure, "counting what was recalled")

    # --- looking in -------------------------------------------------------------------------

    def facts(self, limit: int = 100) -> defer.Deferred:
        """The facts of this NPC, newest first, as a Deferred list of `MemoryRecord`."""
        return offload.run(
            offload.MEMORY, facts.ask, "newest", self.id, "fact", limit, priority=offload.REPLY
        )

    def counts(self) -> defer.Deferred:
        """How many memories of each kind the store holds, as a Deferred dict."""
        return offload.run(offload.MEMORY, facts.ask, "counts", self.id, priority=offload.REPLY)

    def mood(self) -> defer.Deferred:
        """What it feels now and by what, secrets too, as a Deferred `recall.mood.Mood`."""
        job = mood.mood_of, self.id, self.clock()
        return offload.run(offload.MEMORY, *job, priority=offload.REPLY)

    # --- keeping ----------------------------------------------------------------------------

    def flush(self) -> None:
        """Write to the game database all that is not there yet."""
        self.flush_talk()
        if self.owner.pk and not self.unwritten:
            self._write(self.people.flush)

    def flush_talk(self) -> None:
        """Write the journal and the conversations: what each tick does."""
        if self._flush_timer is not None and self._flush_timer.active():
            self._flush_timer.cancel()
        if self.owner.pk and not owner.is_marked(self.owner, self.id):
            self.reclaim()
        self._flush_journal()
        if self.owner.pk and not self.unwritten:
            self._write(self.conversations.flush)

    @property
    def unwritten(self) -> bool:
        """Whether the journal has lines that the game's database has not."""
        return self.journal.changed

    def _flush_journal(self) -> None:
        self._flush_timer = None
        if self.owner.pk and self.journal.changed:  # else it was deleted meanwhile
            self._write(self.journal.flush)
            if not self.journal.changed:
                game_database.note_written()

    def _write(self, flush: Callable[[], None]) -> None:
        """Write, or keep it in memory for the next try where the database's disk is full."""
        try:
            flush()
        except OperationalError as error:
            if not game_database.note_full(error):
                raise
            self._flush_soon()

    def _flush_soon(self) -> None:
        from twisted.internet import reactor

        if self._flush_timer is None and reactor.running:
            # the journal alone: who and what was talked of is written with each tick
            self._flush_timer = reactor.callLater(conf.get().FLUSH_SECONDS, self._flush_journal)


def living() -> list[MemoryHandler]:
    """The memories that this process has in hand."""
    return list(_living)


def shed_copied(npc: Any) -> bool:
    """Take out of an object what it carries of another body's memory. Returns whether it did."""
    if not owner.carries_anothers(npc):
        return False
    if memory := npc.__dict__.get("memory"):
        memory.reclaim()
        return True
    logger().info("#%s carries the memory id of another body: its own begins empty.", npc.id)
    forget_attributes(npc, *getattr(npc, "own_memory_keys", ()))
    attributes.forget_nights(npc)
    return True


def forget_attributes(npc: Any, *keys: str) -> None:
    """Take everything of a memory out of an object's Attributes, and the Attributes `keys`."""
    attributes.forget_all(npc, *keys)


def forget_mind(agent_id: str) -> defer.Deferred:
    """Forget all that the store keeps of one mind. Fires with how many memories that were."""
    evidence.end(agent_id)
    return offload.run(offload.MEMORY, pipeline.forget_all, agent_id)
