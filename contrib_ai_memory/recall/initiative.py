"""Initiative: what an NPC says unasked, and when (the setting INITIATIVE; reactor thread).

To somebody who came in, what waits for them: a message, what is due. Into a silence of two or
three, at most once in so many minutes, what it heard others say aloud, or its own goals; and not
again before somebody has said or done something. The words are those of the offline provider.
"""

from __future__ import annotations

from collections.abc import Collection, Generator
from typing import Any

from twisted.internet import defer

from .. import offload
from ..llm import router
from ..records import TALK_KINDS, Entry, Situation, seconds_between
from ..store.npc_memory import Memory
from .open_items import open_items
from .reply import Answer, answer_of, beside, request_of
from .situation import news

COMPANY = 3  # people present beyond which it opens no subject
CAME_LATELY = 60.0  # seconds in which somebody who came in is told what waits for them
READ_BACK = 60  # entries, for the last line and the last arrivals
_NOTICED = TALK_KINDS | {"arrive", "pose", "give"}


def occasion(
    memory: Memory, people: Collection[str], opened_at: str, seconds: float
) -> tuple[Entry, bool] | None:
    """Return what there is to speak to: the entry of a person, and whether they have just come in.

    It may talk to `people` (identities), `seconds` after it last opened a subject ("" for never).
    """
    now = memory.clock()
    seen = [
        each
        for each in memory.journal.tail(READ_BACK)
        if each.origin == "perceived" and each.kind in _NOTICED and not each.private
    ]
    for entry in reversed(seen):
        if seconds_between(entry.timestamp, now) > CAME_LATELY:
            break
        came_in = entry.kind == "arrive" and entry.source_entity in people
        if came_in and any(item.pressing for item in open_items(memory, entry)[0]):
            return entry, True
    last = next((each for each in reversed(seen) if each.source_entity in people), None)
    if last is None or len(people) > COMPANY:
        return None
    newest = memory.journal.tail(1)[0]
    quiet = seconds_between(newest.timestamp, now) >= memory.settings.QUIET_SECONDS
    fresh = not opened_at or last.timestamp > opened_at
    rested = not opened_at or seconds_between(opened_at, now) >= seconds
    return (last, False) if quiet and fresh and rested else None


@defer.inlineCallbacks
def opening(
    memory: Memory, entry: Entry, present: Collection[str], *, came_in: bool, told: Collection[str]
) -> Generator[Any, Any, Answer | None]:
    """Compose what it says on an `occasion`, as a Deferred `Answer`; None if that is nothing.

    No news are the words of those `present` (identities), and what it has `told` (ids).
    """
    items, records = open_items(memory, entry) if came_in else ((), ())
    if not came_in:
        records = tuple(
            each
            for each in news(memory, entry)
            if each.id not in told and each.about not in present
        )
    request = request_of(
        memory,
        entry,
        recalled=tuple(beside(records, ())),
        kind="silence",
        situation=Situation(
            agenda=items,
            known_names=memory.people.names(),
            lines_asked_for=tuple(each.id for each in records),
        ),
        goals="" if came_in else memory.goals,
    )
    with memory.evidence.work_on([entry, *records]) as work:
        _by, made = yield router.ask("reply", request, by=(router.OFFLINE,), priority=offload.LOOK)
        work.check()
    return answer_of(memory, entry, request, made, router.OFFLINE) if made.text else None
