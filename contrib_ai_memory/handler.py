"""MemoryHandler, `npc.memory`: everything an NPC remembers. Reactor thread only.

Work that takes time runs on worker threads and returns a Deferred.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakSet

from django.db import DatabaseError
from twisted.internet import defer

from . import conf, language, offload
from .embedding import emotions
from .errors import InputError
from .ingest import experiences, index, pipeline
from .ingest.importance import heuristic_importance
from .llm import router
from .log import logger
from .recall import mood, reply, search, tool_loop
from .records import (
    ASKS,
    CONSCIOUS,
    LEARNED_KINDS,
    TALK_KINDS,
    UNJUDGED,
    Entry,
    Message,
    Percept,
    RecallRequest,
    RecallResult,
    now_iso,
)
from .sleep import consolidation
from .store import attributes, evidence, game_database, memory_store, npc_settings, owner
from .store.agenda import Agenda
from .store.chat_log import ChatLog
from .store.condition import HELD
from .store.conversations import Conversations
from .store.evidence import Evidence
from .store.journal import Journal
from .store.links import Links
from .store.npc_settings import NPCSettings
from .store.people import People
from .store.preferences import Preferences
from .store.profiles import Profiles
from .store.removal import MemoryPart, Removal
from .store.reply_reasons import Reasons
from .text.sanitising import oneline, sanitise

_READ_FIRST = (*attributes.KEYS, npc_settings.KEY, "goals", "persona", "memory_keywords")

CONSCIOUS_IMPORTANCE = 8  # 1-10
FLUSH_SECONDS = 0.5  # until a perceived line is written to disk
_open: WeakSet[MemoryHandler] = WeakSet()


class MemoryHandler:
    """Everything one NPC remembers. Made by `MemoryMixin.memory`."""

    def __init__(self, owner: Any):
        language.get()  # loaded now, not by the first line
        attributes.load(owner, _READ_FIRST)
        attributes.write_as_text(owner, attributes.TEXTS)
        self.owner = owner
        self.clock: Callable[[], str] = now_iso  # ISO 8601 UTC; in a replay the log's time
        self.looked_at = 0  # the newest entry when `sleep.consolidation.look_awake` last looked
        self.id: str = self._own_id()  # its agent id in the store
        self.own_settings = NPCSettings(owner)  # what `settings` consists of
        self._flush_timer: Any = None
        self.journal = Journal(owner, on_change=self._flush_soon)
        self.read_anew()
        self.evidence = Evidence(self)
        _open.add(self)

    def read_anew(self) -> None:
        """Make the parts anew beside the journal, from what the database holds."""
        owner = self.owner
        self.conversations = Conversations(owner)
        self.people = People(owner)
        self.links = Links(owner)
        self.preferences = Preferences(owner, self.journal.get)
        self.agenda = Agenda(owner)
        self.profiles = Profiles(owner)
        self.chat_log = ChatLog(owner)
        self.reasons = Reasons(owner)

    @property
    def settings(self) -> conf.Settings:
        """The settings of this NPC (`store.npc_settings`)."""
        return self.own_settings.get()

    @property
    def name(self) -> str:
        return self.owner.key

    @property
    def names(self) -> tuple[str, ...]:
        """The NPC's key and its aliases."""
        return (self.owner.key, *self.owner.aliases.all())

    @property
    def identity(self) -> str:
        """The NPC's own memory identity."""
        return self.owner.get_memory_identity(self.owner)

    @property
    def phrases(self) -> dict[str, tuple[str, ...]]:
        """The stock phrases of the NPC, {kind: texts}, by the settings TONE and PHRASES."""
        return language.get().phrases.of(self.settings.TONE, self.settings.PHRASES)

    def phrase(self, kind: str, **values: str) -> str:
        """Return the first stock phrase of a kind, filled; "" where there is none."""
        return language.get().phrases.first(kind, self.phrases, **values)

    @property
    def goals(self) -> str:
        """The NPC's goals, `npc.db.goals`, for the scoring of importance."""
        return str(self.owner.attributes.get("goals", default="") or "")

    def _own_id(self) -> str:
        shed_copied(self.owner)  # a copied NPC gets a new one
        own = owner.id_of(self.owner) or str(uuid.uuid4())
        owner.claim(self.owner, own)
        return own

    def reclaim(self) -> None:
        """Write everything again after another body's Attributes were cloned over it."""
        logger().warning(
            "#%s: its memory was overwritten with a copy of another one, and is written again.",
            self.owner.id,
        )
        owner.claim(self.owner, self.id)
        for part in (self.journal, self.conversations, self.people):
            part.mark_dirty()

    # --- perceiving -------------------------------------------------------------------------

    def perceive(self, percept: Percept) -> Entry:
        """Write a percept into the journal. O(1); on disk within a second.

        Changes nothing if it fails.
        """
        # first, since a read may fail
        keywords = (*self.settings.KEYWORDS, *(self.owner.attributes.get("memory_keywords") or ()))
        bonus = self.profiles.sender_bonus(percept.source)
        when = percept.timestamp or self.clock()
        talk = percept.kind in TALK_KINDS
        own = percept.origin == "self"
        place = f"ear:{percept.source}" if percept.private else f"room:{percept.location}"
        speech = talk or percept.kind == "pose"  # which may hold some
        if speech and not percept.private:
            confided = language.get().confides(percept.content)
            if confided and not own:
                percept = replace(percept, private=True)  # for its witnesses
            if confided is None and router.model_server(self.settings, router.DIGEST):
                percept = replace(percept, tags=(*percept.tags, UNJUDGED))
        if percept.source and not own and percept.kind in LEARNED_KINDS:
            self.people.meet(percept.source, percept.seen_as, when, talk=talk)
        session_id = percept.session_id
        if talk or session_id:
            conversation = self.conversations.join(place, when, session_id)
            conversation.take_part(percept.source, when)
            session_id = conversation.session_id
        bonus = max(bonus, self.people.sender_bonus(percept.source))
        by_content = not self.settings.by_sources
        fields: dict[str, Any] = {
            "timestamp": when,
            "source_trust": conf.TRUST[percept.source_type],
            "entities": tuple(sorted({*percept.entities, *self.people.mentioned(percept.content)})),
            "session_id": session_id,
            "importance": heuristic_importance(percept, keywords, bonus, by_content=by_content),
            "tags": self._tags(percept),
        }
        entry = self.journal.append(lambda entry_id: percept.to_entry(id=entry_id, **fields))
        if percept.utterance:
            self.journal.note_heard(percept.utterance, entry.id)
        if talk:
            role = "assistant" if own else "user"
            said = entry.seen_as, entry.content, entry.private, entry.witnesses, entry.unjudged
            conversation.say(Message(entry.id, role, *said))
        return entry

    def _tags(self, percept: Percept) -> tuple[str, ...]:
        """Return the tags, with ASKS for a line that tells nothing: "mara what is this"."""
        spoken, said = language.get(), percept.content
        if percept.kind not in TALK_KINDS or spoken.asks(said):
            return percept.tags
        return (*percept.tags, ASKS) if spoken.tells_nothing(said, self.names) else percept.tags

    @defer.inlineCallbacks
    def add(
        self,
        text: str,
        *,
        importance: int = CONSCIOUS_IMPORTANCE,
        lesson: str = "",
        felt: Sequence[str] = (),
    ) -> Generator[Any, Any, Entry]:
        """Remember a text at once and for good [B], as a Deferred `Entry`.

        Args:
            text: A sentence that makes sense by itself.
            importance: 1-10.
            lesson: What to do about it another time; by default to bear it in mind.
            felt: Three labels of the taxonomy; by default the nearest to the text.

        Raises (in the Deferred):
            InputError: The text is empty.
            UnknownEmotion: A label is not in the taxonomy.
        """
        labels = emotions.known(felt)[: conf.EMOTIONS_PER_EXPERIENCE] if felt else ()
        text = sanitise(text, conf.MAX_LINE)
        if not text:
            raise InputError("There is nothing to remember: the text is empty.")
        entry = self.perceive(
            Percept(content=text, kind="note", origin="builder", tags=(CONSCIOUS, "builder"))
        )
        rating: dict[str, Any] = {
            "importance": importance,
            "scoring_method": "manual",
            "emotions": labels,
            "lesson": oneline(sanitise(lesson)),
        }
        self.journal.update({entry.id: rating})
        entry = replace(entry, **rating)
        self.flush()
        try:
            with self.evidence.work_on([entry]) as work:
                yield work.run(index.index_entries, self.id, [entry])
        except (offload.Busy, offload.TimedOut, *HELD) as late:
            # it is in the journal, and the next tick indexes it
            logger().warning("%s: entry %s is indexed later: %s", self.owner.dbref, entry.id, late)
        return entry

    def ingest(
        self,
        text: str,
        user_id: str | None = None,
        session_id: str | None = None,
        memory_type_hint: str | None = None,
        **privacy: Any,
    ) -> defer.Deferred:
        """Ingest any text [C §1], as a Deferred list of the new `MemoryRecord`s.

        Unimportant parts are dropped, and known ones are not added twice. The arguments are those
        of `ingest.pipeline.ingest`.
        """
        learned = pipeline.ingest(self, text, user_id, session_id, memory_type_hint, **privacy)
        return learned.addCallback(lambda learned: list(learned.memories))

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
        emotions: Sequence[str] | None = None,
    ) -> defer.Deferred:
        """Recall memories for a query [B §3, C §2], as a Deferred `RecallResult`.

        Preferences of the speaker that bear on the query come first, then the best memories that
        fit the token budget.

        Args:
            query: A question or a line of talk.
            speaker: Identity of the one who will hear the answer; secrets of others stay out.
                None is for staff, who see everything.
            listeners: Identities of others who will hear it too.
            top_k, token_budget: Bounds of the result; by default those of the settings.
            memory_types: Only these of episodic, semantic, working, procedural.
            include_compressed: Keep memories whose summary is recalled too.
            emotions: Labels of the present mood; memories that share one are favoured.

        Raises (in the Deferred):
            BudgetExceeded: There are memories, and not even the smallest fits.
        """
        request = RecallRequest(
            query,
            memory_types=tuple(memory_types or ()),
            include_compressed=include_compressed,
            emotions=tuple(emotions or ()),
        )
        return search.recall(self, _bounded(request, speaker, listeners, top_k, token_budget))

    @defer.inlineCallbacks
    def recall_emotion(
        self, emotions: Sequence[str], *, query: str = "", **bounds: Any
    ) -> Generator[Any, Any, RecallResult]:
        """Recall memories that share one of `emotions`, as a Deferred `RecallResult`.

        Args:
            emotions: Labels of the taxonomy.
            query: What it was about; without one, the emotions themselves.
            speaker, listeners, top_k, token_budget: As of `recall`.

        Raises (in the Deferred):
            UnknownEmotion: A label is not in the taxonomy.
        """
        request = _bounded(search.emotion_request(emotions, query), **bounds)
        return (yield search.recall(self, request))

    def answer(self, entry: Entry, actions: tool_loop.Actions) -> defer.Deferred:
        """Answer an entry that was said to the NPC, as a Deferred `Answer`."""
        return reply.answer(self, entry, actions)

    def note_answered(self, entry: Entry, answer: reply.Answer) -> None:
        """Count memories that reached a reply as accessed, once a conversation (DESIGN §5.6)."""
        conversation = self.conversations.get(entry.session_id)
        ids = [item.memory.id for item in answer.recalled]
        if conversation:
            ids = conversation.first_access(ids)
            conversation.note_lessons(answer.lessons)
        if ids:
            job = offload.run(offload.MEMORY, memory_store.note_access, ids, self.clock())
            job.addErrback(lambda reason: reason.trap(*HELD))
            job.addErrback(offload.log_failure, "counting what was recalled")

    # --- inspection -------------------------------------------------------------------------

    def facts(self, limit: int = 100) -> defer.Deferred:
        """Return the newest facts, as a Deferred list of `MemoryRecord`."""
        return offload.read(memory_store.newest, self.id, "fact", limit)

    def counts(self) -> defer.Deferred:
        """Count the memories of each kind in the store, as a Deferred dict."""
        return offload.read(memory_store.counts, self.id)

    def mood(self) -> defer.Deferred:
        """Return the present mood, which includes secrets, as a Deferred `recall.mood.Mood`."""
        return offload.read(mood.mood_of, self.id, self.clock())

    # --- indexing ---------------------------------------------------------------------------

    def index_pending(self, priority: int = offload.AWAKE) -> defer.Deferred:
        """Index a batch of new entries, as a Deferred: whether nothing is left."""
        return index.index_pending(self, priority)

    @defer.inlineCallbacks
    def work_through(
        self, *, until_silent: bool = False, priority: int = offload.AWAKE
    ) -> Generator[Any, Any, bool]:
        """Index new entries and extract experiences from them, a bounded amount, as a Deferred:
        whether nothing is left.

        Where a language model judges, it looks at weighty talk instead, and in the night at all;
        with the profile of the sources it extracts experiences from snippets too.
        """
        indexed = yield self.index_pending(priority)
        if not router.rules_judge(self.settings) and not self.settings.by_sources:
            if priority == offload.NIGHT:
                return indexed
            looked = yield consolidation.look_awake(self, until_silent=until_silent)
            return indexed and looked
        read = yield experiences.extract_experiences(
            self, until_silent=until_silent, priority=priority
        )
        return indexed and read < experiences.SNIPPETS_A_TICK

    # --- writing ----------------------------------------------------------------------------

    @property
    def parts(self) -> tuple[MemoryPart, ...]:
        """What rests on the journal and the memories of the store."""
        return (*self.rows, self.chat_log, self.conversations)

    @property
    def rows(self) -> tuple[Links, Profiles, Preferences, Agenda, Reasons]:
        """Those that are kept in Attributes of a category of their own."""
        return self.links, self.profiles, self.preferences, self.agenda, self.reasons

    @defer.inlineCallbacks
    def take_out(self, removal: Removal) -> Generator[Any, Any, Counter[str]]:
        """Take something out of every part, as a Deferred count by `MemoryPart.counted`.

        The store comes before that, and the journal after it, so that it can be repeated.
        """
        counts: Counter[str] = Counter()
        for part in self.parts:
            if not self.owner.pk:
                return counts  # deleted meanwhile
            counts[part.counted] += yield part.take_out(removal)
        self.conversations.flush()
        return counts

    def flush(self, *, people: bool = True) -> None:
        """Write everything new to the game database; at a tick without the index of people."""
        self._write(self.journal, self.conversations, *([self.people] if people else ()))

    @property
    def unwritten(self) -> bool:
        """Whether the journal has lines that are not in the game database."""
        return self.journal.changed

    def _write(self, *parts: Journal | Conversations | People) -> None:
        """Write what is new in these parts; try again later where the database does not take it."""
        if self._flush_timer is not None and self._flush_timer.active():
            self._flush_timer.cancel()
        self._flush_timer = None
        if not self.owner.pk:
            return  # the NPC was deleted
        if game_database.still_locked():
            self._flush_soon()
            return
        try:
            if not owner.owns(self.owner, self.id):
                self.reclaim()
            unwritten = self.unwritten
            for part in parts:
                part.flush()
            if unwritten:
                game_database.note_written()
        except DatabaseError as error:
            self._flush_soon()
            if not game_database.note_unavailable(error):
                raise

    def _flush_soon(self) -> None:
        from twisted.internet import reactor

        if self._flush_timer is None and reactor.running:
            # only the journal; the rest is written at each tick
            self._flush_timer = reactor.callLater(FLUSH_SECONDS, self._write, self.journal)


def _bounded(
    request: RecallRequest,
    speaker: str | None = None,
    listeners: Sequence[str] = (),
    top_k: int | None = None,
    token_budget: int | None = None,
) -> RecallRequest:
    heard_by = (speaker, *listeners) if speaker else None
    return replace(request, listeners=heard_by, top_k=top_k or 0, token_budget=token_budget or 0)


def open_memories() -> list[MemoryHandler]:
    """Return the memories that are open in this process."""
    return list(_open)


def shed_copied(npc: Any) -> None:
    """Remove a memory that was copied from another body."""
    if not owner.has_foreign_id(npc):
        return
    if memory := npc.__dict__.get("memory"):
        memory.reclaim()
        return
    logger().info("#%s has a copy of another NPC's memory: it starts with an empty one.", npc.id)
    attributes.delete_all(npc, *getattr(npc, "own_memory_keys", ()))
    attributes.delete_heartbeat_records(npc)


def forget_memories(agent_id: str) -> defer.Deferred:
    """Remove all memories of an NPC from the store. Fires with their number."""
    evidence.withdraw_all_of(agent_id)
    return offload.run(offload.MEMORY, memory_store.delete_all, agent_id)
