"""Jobs of the admin tools for the worker thread, and batch walks over a whole memory.

A walk only cuts the data into pages; the caller gives the reactor a turn after each one
(`offload.breathe`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any

from twisted.internet import defer
from twisted.python import failure

from .. import offload
from ..errors import ExpectedError, InputError
from ..records import Entry
from ..store import memory_store
from ..store.journal import Journal
from ..store.links import BUCKETS, Links

ENTRIES_AT_ONCE = 32  # one page of the journal
BUCKETS_AT_ONCE = 64  # of links
TIMEOUT = 300.0  # seconds, for one small job behind others

Progress = Callable[[str, int, int], None]  # what is done, how much of it, of how much


class NpcDeleted(InputError):
    """The NPC was deleted while something was done to its memory, or before."""

    def __init__(self) -> None:
        super().__init__("The NPC was deleted meanwhile.")


def is_expected(error: BaseException) -> bool:
    """Return whether the message of an error is written for staff."""
    return isinstance(error, (ExpectedError, OSError))


def silent(_doing: str, _done: int, _total: int) -> None:
    """Report no progress."""


def look_job(job: Callable[..., Any], *args: Any) -> defer.Deferred:
    """Run a job of the worker thread for staff who look at something."""
    return offload.read(job, *args, priority=offload.LOOK)


def change_job(job: Callable[..., Any], *args: Any) -> defer.Deferred:
    """Run a job of the worker thread that finishes a change by staff, before anything else."""
    return offload.run(offload.MEMORY, job, *args, priority=offload.REPLY)


def batch_job(job: Callable[..., Any], *args: Any) -> defer.Deferred:
    """Run a job of the worker thread as one of many, with a long time-out."""
    return offload.run(offload.MEMORY, job, *args, timeout=TIMEOUT)


def local_job(job: Callable[..., Any], *args: Any) -> defer.Deferred:
    """Run a batch job that works with open files or stores of this process, on the worker thread
    of this process."""
    return offload.run(offload.MEMORY, job, *args, timeout=TIMEOUT, here=True)


def unless_deleted(
    function: Callable[..., Any], npc: Any, *args: Any, **options: Any
) -> defer.Deferred:
    """Call `function(npc, ...)`, as a Deferred of its result. Where it fails, whatever with, and
    the NPC is deleted, that is an `NpcDeleted`."""

    def explain(reason: failure.Failure) -> failure.Failure:
        if not npc.pk:
            raise NpcDeleted from reason.value
        return reason

    if not npc.pk:
        return defer.fail(NpcDeleted())
    return defer.maybeDeferred(function, npc, *args, **options).addErrback(explain)


def exclusively(npc: Any, work: Callable[..., defer.Deferred], *args: Any) -> defer.Deferred:
    """Call `work(npc, *args)` while nothing else works on this NPC's memory, as a Deferred, which
    fails with `NpcDeleted` if the NPC was deleted before, or meanwhile."""

    @defer.inlineCallbacks
    def held(npc: Any) -> Generator[Any, Any, Any]:
        script = npc.assistant
        yield script.hold_still()
        try:
            return (yield work(npc, *args))
        finally:
            script.let_go()

    return unless_deleted(held, npc)


@defer.inlineCallbacks
def in_turns(
    act: Callable[[Any], Any], items: Iterable[Any], at_once: int
) -> Generator[Any, Any, list[Any]]:
    """Call `act` with each item, a few between two turns of the reactor, as a Deferred list."""
    found = []
    for number, item in enumerate(items, start=1):
        found.append(act(item))
        if number % at_once == 0:
            yield offload.breathe()
    return found


def journal_pages(
    journal: Journal, first: int = 1, last: int | None = None
) -> Iterator[list[Entry]]:
    """Yield the entries from `first` to `last` (both included) a page at a time; a page whose
    entries are all forgotten is an empty list."""
    end = len(journal) if last is None else min(last, len(journal))
    for start in range(first, end + 1, ENTRIES_AT_ONCE):
        yield list(journal.read(start, min(start + ENTRIES_AT_ONCE - 1, end)))


def link_pages(links: Links) -> Iterator[list[tuple[str, dict[str, dict[str, Any]]]]]:
    """Yield some memories with all their links at a time: (link id, {other link id: note})."""
    for first in range(0, BUCKETS, BUCKETS_AT_ONCE):
        yield links.in_buckets(range(first, min(first + BUCKETS_AT_ONCE, BUCKETS)))


@defer.inlineCallbacks
def store_pages(
    job: Callable[..., tuple[Any, Any]],
    *args: Any,
    on_page: Callable[[Any], Any] | None = None,
    run: Callable[..., defer.Deferred] = batch_job,
) -> Generator[Any, Any, None]:
    """Run `job(*args, offset)` on the worker thread for each page of the store. It returns its
    result and the offset of the next page, None after the last.

    Args:
        on_page: Called with each result; a Deferred that it returns is waited for.
        run: `batch_job`, or `local_job` for a job that takes a store.
    """
    offset = None
    while True:
        result, offset = yield run(job, *args, offset)
        if on_page:
            yield on_page(result)
        if offset is None:
            return


@defer.inlineCallbacks
def compact_store() -> Generator[Any, Any, None]:
    """Rewrite the store's files without their deleted bytes; a server does that itself."""
    if (yield batch_job(memory_store.begin_rewriting)):
        while not (yield batch_job(memory_store.rewrite_some)):
            pass
