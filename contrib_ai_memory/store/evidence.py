"""Evidence of work in progress: the work is void once some of its evidence is forgotten or changed.

A pass of the night, an experience or a reply reads entries and memories and then waits for a model.
Meanwhile one of them may be forgotten or changed. So all such work is done as

    with memory.evidence.work_on(entries) as work:
        provider, drafts = yield work.ask("extract_facts", entries, memory.name)
        stored = yield work.run(store_facts, memory.id, drafts, entries, provider)

and evidence is forgotten or changed only inside `with memory.evidence.withdraw(ids)`. This voids
all work that rests on it: `EvidenceGone` is raised when the work returns to the reactor thread, and
on the worker thread instead of running the job. Nothing of it is written, the cursor of the pass
does not move, and the next tick reads what is there then. Reading the journal again would not
suffice: a forgotten line is deleted from the store first and from the journal last.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from twisted.internet import defer

from .. import offload
from ..llm import router
from ..llm.tally import Tally
from ..records import Entry, MemoryRecord, Provenance
from ..text.sanitising import sanitise
from .journal import ranges_include
from .links import link_id

if TYPE_CHECKING:
    from .npc_memory import Memory


class EvidenceGone(RuntimeError):
    """Evidence of a work was forgotten or changed meanwhile, or its NPC was deleted."""

    def __init__(self) -> None:
        super().__init__("Its evidence was forgotten or changed meanwhile.")


_all: WeakSet[Evidence] = WeakSet()


def withdraw_all_of(memory_id: str) -> None:
    """Void all present and future work of a deleted NPC."""
    for evidence in list(_all):
        if evidence.memory.id == memory_id:
            evidence._withdrawn.append(None)
            evidence.void_all()
            evidence._tell_settled()  # nothing comes back of what waits


class Evidence:
    """The work in progress on one memory, and the evidence being withdrawn from it."""

    def __init__(self, memory: Memory):
        self.memory = memory
        self.tally = Tally()  # of the pass of the night that is running
        self._works: set[Work] = set()
        self._withdrawn: list[frozenset[str] | None] = []  # None: everything
        self._unsettled: list[defer.Deferred] = []  # what waits until nothing is being withdrawn
        _all.add(self)

    @contextmanager
    def work_on(
        self, sources: Iterable[Entry | MemoryRecord] = (), *, priority: int = offload.AWAKE
    ) -> Iterator[Work]:
        work = Work(self, sources, priority)
        self._works.add(work)
        try:
            yield work
        finally:
            self._works.discard(work)

    @contextmanager
    def withdraw(self, ids: Iterable[str] | None = None) -> Iterator[None]:
        """Void work on memories (link ids; None: all) while they are forgotten or changed."""
        gone = None if ids is None else frozenset(ids)
        self._withdrawn.append(gone)
        try:
            for work in self._works:
                work.void_if(gone)
            yield
        finally:
            self._withdrawn.remove(gone)
            sanitise.cache_clear()  # it holds lines that were said
            if not self._withdrawn:
                self._tell_settled()

    def settled(self) -> defer.Deferred:
        """Wait until nothing is being withdrawn: work that rests on it would be void again."""
        done: defer.Deferred = defer.Deferred()
        self._unsettled.append(done)
        if not self._withdrawn:
            self._tell_settled()
        return done

    def _tell_settled(self) -> None:
        waiting, self._unsettled = self._unsettled, []
        for done in waiting:
            done.callback(None)

    def void_all(self) -> None:
        """Void all work in progress; work started later is not affected."""
        for work in self._works:
            work.void_if(None)


class Work:
    """One work in progress. Reactor thread."""

    def __init__(self, evidence: Evidence, sources: Iterable[Entry | MemoryRecord], priority: int):
        self._evidence = evidence
        self._priority = priority
        self._ids: set[str] = set()
        self._talk: list[str] = []  # journal ids of talk that was shown, as ranges
        self._gone = list(evidence._withdrawn)  # withdrawn at any time since it began
        self._void = threading.Event()  # the only part of a work that a worker thread sees
        self.add_evidence(sources)

    def add_evidence(self, sources: Iterable[Entry | MemoryRecord | int]) -> None:
        """Add entries, their numbers and memories that were read or recalled since it started."""
        for source in sources:
            if isinstance(source, int):
                self._ids.add(str(source))
            elif isinstance(source, Entry):
                self._ids.add(str(source.id))
                if not self._evidence.memory.journal.holds(source):
                    self._void.set()
            else:
                self._ids |= {link_id(source), *map(str, source.journal_ids)}
        self._void_on(*self._gone)

    def add_provenance(self, provenance: Provenance) -> None:
        """Add all that words are made from, as `add_evidence` does."""
        self._ids |= {*provenance.evidence}
        self._talk.append(provenance.context)
        self._void_on(*self._gone)

    def void_if(self, gone: frozenset[str] | None) -> None:
        """Void the work if it rests, now or later, on any of these link ids; None is everything."""
        self._gone.append(gone)
        self._void_on(gone)

    def _void_on(self, *withdrawn: frozenset[str] | None) -> None:
        for gone in withdrawn:
            if gone is None or not gone.isdisjoint(self._ids):
                self._void.set()
            elif self._talk:
                entries = {int(each) for each in gone if each.isdecimal()}
                if any(ranges_include(each, entries) for each in self._talk):
                    self._void.set()

    def check(self) -> None:
        """Raise EvidenceGone if the work is void; call it before each write on the reactor."""
        if self._void.is_set() or not self._evidence.memory.owner.pk:
            raise EvidenceGone

    @property
    def tally(self) -> Tally:
        """Who does the work and what is not kept of it."""
        return self._evidence.tally if self._priority == offload.NIGHT else Tally()

    def ask(self, operation: str, *args: Any) -> defer.Deferred:
        """Call `router.ask` for this memory; fails if the work is void by then."""
        return self._asked(router.ask, operation, *args)

    def judge(self, operation: str, *args: Any) -> defer.Deferred:
        """Call `router.judge` likewise."""
        return self._asked(router.judge, operation, *args)

    @defer.inlineCallbacks
    def _asked(
        self, ask: Callable[..., Any], operation: str, *args: Any
    ) -> Generator[Any, Any, Any]:
        self.check()
        answer = yield ask(
            operation,
            *args,
            priority=self._priority,
            npc=self._evidence.memory.id,
            settings=self._evidence.memory.settings,
            tally=self.tally,
        )
        self.check()
        return answer

    @defer.inlineCallbacks
    def run(self, job: Callable[..., Any], *args: Any) -> Generator[Any, Any, Any]:
        """Call `offload.run` on the memory worker, which skips the job if the work is void."""
        self.check()
        result = yield offload.run(
            offload.MEMORY, job, *args, priority=self._priority, check=self._check_void
        )
        self.check()
        return result

    @defer.inlineCallbacks
    def breathe(self) -> Generator[Any, Any, None]:
        """Let the reactor go on between two writes (`offload.breathe`)."""
        yield offload.breathe(self._priority)
        self.check()

    def _check_void(self) -> None:
        if self._void.is_set():
            raise EvidenceGone
