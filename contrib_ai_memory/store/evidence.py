"""What a piece of work rests on, looked at again whenever something of it is written.

A pass of the night, an experience, a reply: each reads lines and memories, and then waits for a
model, for seconds or minutes. Meanwhile a builder may forget or edit one of those lines, a person
may be erased, the memory wiped, the NPC deleted. So every such work is begun as

    with memory.evidence.drawing_on(entries) as work:
        provider, drafts = yield work.ask("extract_facts", entries, memory.name)
        stored = yield work.run(store_facts, memory.id, drafts, entries, provider)

and whoever forgets or changes something does so inside `with memory.evidence.withdrawing(ids)`.
From then on no step of a work that rests on it goes on: `EvidenceGone` is raised where the work
comes back to the reactor thread, and on the worker thread in place of the job. Nothing of it is
written, the cursor of the pass has not moved, and the next tick reads what is there then.

A second look at the journal would not do: a forgotten line goes from the store first and from the
journal last, and jobs of the night wait in the worker's queue behind the one that forgets.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any
from weakref import WeakSet

from twisted.internet import defer

from .. import offload
from ..llm import router
from ..records import Entry, MemoryRecord
from .journal import Journal
from .links import link_id


class EvidenceGone(RuntimeError):
    """What a work rests on was forgotten or changed meanwhile, or its NPC was deleted."""

    def __init__(self) -> None:
        super().__init__("What this was drawn from was forgotten or changed meanwhile.")


class _Flag:
    """Whether a work is void: all that a worker thread gets to see of it."""

    __slots__ = ("void",)

    def __init__(self) -> None:
        self.void = False


_ledgers: WeakSet[Evidence] = WeakSet()


def end(memory_id: str) -> None:
    """Void the works of a deleted NPC: nothing more is drawn from its memory."""
    for ledger in list(_ledgers):
        if ledger.memory_id() == memory_id:
            ledger._withdrawn.append(None)
            ledger.give_up()


class Evidence:
    """The works under way on one memory, and what is being withdrawn from under them.

    Args:
        owner: The NPC.
        journal: Gives the NPC's journal.
        memory_id: Gives the id on whose account models are asked.
    """

    def __init__(
        self,
        owner: Any,
        journal: Callable[[], Journal],
        memory_id: Callable[[], str],
    ):
        self._owner = owner
        self.journal = journal
        self.memory_id = memory_id
        self._works: set[Work] = set()
        self._withdrawn: list[frozenset[str] | None] = []  # None: everything
        _ledgers.add(self)

    def drawing_on(
        self, sources: Iterable[Entry | MemoryRecord] = (), *, priority: int = offload.AWAKE
    ) -> Work:
        """Begin a work that rests on these entries and memories, as a context manager."""
        return Work(self, sources, priority)

    @contextmanager
    def withdrawing(self, ids: Iterable[str] | None = None) -> Iterator[None]:
        """Forget or change memories inside of this; generators of inlineCallbacks may.

        Args:
            ids: Link ids (`store.links.link_id`); None withdraws everything.
        """
        gone = None if ids is None else frozenset(ids)
        self._withdrawn.append(gone)
        try:
            for work in self._works:
                work.lose(gone)
            yield
        finally:
            self._withdrawn.remove(gone)

    def give_up(self) -> None:
        """Void every work under way: what begins from now on may go on."""
        for work in self._works:
            work.lose(None)


class Work:
    """One work in hand, as a context manager. Reactor thread."""

    def __init__(self, evidence: Evidence, sources: Iterable[Entry | MemoryRecord], priority: int):
        self._evidence = evidence
        self._priority = priority
        self._ids: set[str] = set()
        self._flag = _Flag()
        self.rests_on(sources)

    def __enter__(self) -> Work:
        self._evidence._works.add(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._evidence._works.discard(self)

    def rests_on(self, sources: Iterable[Entry | MemoryRecord]) -> None:
        """Take in more evidence: what was read or recalled since it began."""
        for source in sources:
            if isinstance(source, Entry):
                self._ids.add(str(source.id))
                self._flag.void |= not self._evidence.journal().holds(source)
            else:
                self._ids |= {link_id(source), *map(str, source.journal_ids)}
        for gone in self._evidence._withdrawn:
            self.lose(gone)

    def lose(self, gone: frozenset[str] | None) -> None:
        """Be void if it rests on any of these; None is everything."""
        if gone is None or not gone.isdisjoint(self._ids):
            self._flag.void = True

    def check(self) -> None:
        """Raise EvidenceGone if it is void: before anything is written on the reactor thread."""
        if self._flag.void or not self._evidence._owner.pk:
            raise EvidenceGone

    @defer.inlineCallbacks
    def ask(self, operation: str, *args: Any) -> Generator[Any, Any, tuple[str, Any]]:
        """`router.ask` on the account of this memory; what comes back is fit to be written."""
        self.check()
        answer = yield router.ask(
            operation, *args, priority=self._priority, npc=self._evidence.memory_id()
        )
        self.check()
        return answer

    @defer.inlineCallbacks
    def run(self, job: Callable[..., Any], *args: Any) -> Generator[Any, Any, Any]:
        """`offload.run` of a job on the memory's worker, which does nothing for a void work."""
        self.check()
        result = yield offload.run(
            offload.MEMORY, _unless_void, self._flag, job, *args, priority=self._priority
        )
        self.check()
        return result

    @defer.inlineCallbacks
    def breathe(self) -> Generator[Any, Any, None]:
        """`offload.breathe` between two writes."""
        yield offload.breathe()
        self.check()


def _unless_void(flag: _Flag, job: Callable[..., Any], *args: Any) -> Any:
    if flag.void:
        raise EvidenceGone
    return job(*args)
