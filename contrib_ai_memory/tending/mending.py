"""What builders change in a memory: add, edit, forget, pin, lock, pause, and undo of all that.

Each act has the memory to itself, is in the audit log by ids, and can be undone (`undo` keeps
them, `restoring` takes them back, `forgetting` says what goes with what, `rewording` writes what
was edited). Erasing a person or a whole mind is in `erasing`. Reactor thread; each act gives a
Deferred. What cannot be done fails with a ValueError that says what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

from twisted.internet import defer
from twisted.python.failure import Failure

from .. import conf, offload
from ..embedding import emotions as taxonomy
from ..handler import CONSCIOUS_IMPORTANCE
from ..ingest import pipeline
from ..records import LOCKED, PINNED, Entry, MemoryRecord
from ..store import facts, switches
from ..store.links import link_id
from ..store.preferences import Preference
from ..text.clean import oneline, sanitise
from . import audit, forgetting, ids, looking, restoring, rewording
from . import undo as undoing
from .undo import Before


class CannotEdit(ValueError):
    """The change is none, or not possible."""


class AlreadySo(CannotEdit):
    """A memory has its tags already, or has not what was to be taken away: `memory` as it is."""

    def __init__(self, message: str, memory: MemoryRecord):
        super().__init__(message)
        self.memory = memory


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was forgotten; `undoable` is False where it was too much to be kept for an undo."""

    memories: tuple[MemoryRecord, ...]
    told: str
    undoable: bool


def _alone(act: Callable[..., defer.Deferred]) -> Callable[..., defer.Deferred]:
    """Nobody else tends the memory while it is changed: what is being erased does not come back."""

    def begin(npc: Any, *args: Any, **options: Any) -> defer.Deferred:
        if not npc.pk:
            raise CannotEdit("The NPC was deleted meanwhile.")
        return act(npc, *args, **options)

    @wraps(act)
    def tended(npc: Any, *args: Any, **options: Any) -> defer.Deferred:
        return npc.assistant.tending.run(begin, npc, *args, **options)

    return tended


# --- adding and changing --------------------------------------------------------------------------


@_alone
@defer.inlineCallbacks
def add(
    npc: Any, who: Any, text: str, importance: int = CONSCIOUS_IMPORTANCE
) -> Generator[Any, Any, Entry]:
    """Give an NPC a memory of its own: recalled at once, never cleaned away. Deferred `Entry`.

    Args:
        who: The Account or Character that does it.
        importance: 1-10.

    Raises (in the Deferred):
        NothingToRemember: There is no text in it.
        CannotEdit: The text is too long, or the importance is none.
    """
    entry = yield npc.memory.add(_fitting(text), importance=_weighed(importance))
    audit.record(who, "add", npc, entry.id)
    undoing.keep(npc, who, "add", [str(entry.id)], Before(made=[str(entry.id)]))
    return entry


@_alone
@defer.inlineCallbacks
def teach(npc: Any, who: Any, text: str) -> Generator[Any, Any, pipeline.Learned]:
    """Let an NPC learn a longer text, a piece at a time, as a Deferred `ingest.pipeline.Learned`.

    To undo it takes away what was new; a preference that it changed is the old one again.
    """
    mind = npc.memory
    began, held = mind.clock(), list(mind.preferences)
    learned = yield pipeline.ingest(mind, text)
    new = [memory.id for memory in learned.memories if memory.created_at >= began]
    changed = {each.memory_id for each in mind.preferences} & set(new)
    replaced = [
        undoing.preference_as_plain(each)
        for each in held
        if not changed.isdisjoint(_now_in(mind, each))
    ]
    if new:
        undoing.keep(
            npc,
            who,
            "teach",
            [i[: ids.LENGTH] for i in new],
            Before(made=new, preferences=replaced),
        )
    audit.record(who, "teach", npc, *(memory_id[: ids.LENGTH] for memory_id in new))
    return learned


def _now_in(mind: Any, preference: Preference) -> set[str]:
    """The memory that fills the slot of a preference now."""
    now = mind.preferences.get(preference.identity, preference.slot, preference.audience)
    return {now.memory_id} if now else set()


@_alone
@defer.inlineCallbacks
def edit(
    npc: Any,
    who: Any,
    memory_id: str,
    *,
    content: str | None = None,
    importance: int | None = None,
    emotions: Sequence[str] | None = None,
    lesson: str | None = None,
) -> Generator[Any, Any, MemoryRecord]:
    """Change a memory, as a Deferred `MemoryRecord`. What it said before stays in its history.

    Args:
        content: Embedded anew. What was drawn from the old words stays as it is.
        importance: 1-10, of any memory.
        emotions: Up to three labels of the taxonomy.
        lesson: Of an experience.

    Raises (in the Deferred):
        ids.UnknownMemory, ids.Ambiguous, UnknownEmotion
        CannotEdit: There is nothing to change, or the text is empty.
    """
    old = yield ids.find(npc, memory_id)
    old = rewording.as_felt(npc, old)
    new = replace(old, **_changes(old, content, importance, emotions, lesson))
    if new == old:
        raise CannotEdit(f"Nothing to change: {ids.short(old)} says just that already.")
    before = yield rewording.state_of(npc, old, rewording.changed_fields(old, new))
    short = ids.short(old)
    if not undoing.keep(npc, who, "edit", [short], before):
        raise CannotEdit(f"{short} is too large to be edited: add a new memory and forget it.")
    audit.record(who, "edit", npc, short)
    with npc.memory.evidence.withdrawing([link_id(old)]):
        new = yield rewording.written(npc, old, new)
    return new


def _changes(
    old: MemoryRecord,
    content: str | None,
    importance: int | None,
    emotions: Sequence[str] | None,
    lesson: str | None,
) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if content is not None:
        text = sanitise(_fitting(content), conf.get().MAX_LINE)
        if not text:
            raise CannotEdit("The new text is empty. To take a memory away, forget it.")
        if text != old.content:
            changes |= {"content": text, "key": text}
    if importance is not None:
        changes |= {"importance": _weighed(importance) / 10}
    if emotions is not None:
        felt = taxonomy.known(emotions) if emotions else ()
        changes |= {"dominant_emotions": tuple(felt)[: conf.EMOTIONS_PER_EXPERIENCE]}
    if lesson is not None:
        changes |= {"the_lesson": oneline(sanitise(lesson, conf.get().MAX_LINE))}
    if all(each is None for each in (content, importance, emotions, lesson)):
        raise CannotEdit("Say what to change: the text, the importance, the emotions, the lesson.")
    return changes


def _fitting(text: str) -> str:
    longest = conf.get().MAX_LINE
    if len(text) > longest:
        raise CannotEdit(
            f"The text has {len(text):,} characters; one memory holds {longest:,} (MAX_LINE). "
            "Shorten it, or let it be learned in pieces: @memory/teach"
        )
    return text


def _weighed(importance: int) -> int:
    if isinstance(importance, bool) or not 1 <= importance <= 10:
        raise CannotEdit(f"Importance is a whole number from 1 to 10, not {importance}.")
    return int(importance)


# --- forgetting -----------------------------------------------------------------------------------


@defer.inlineCallbacks
def forget(
    npc: Any, who: Any, memory_id: str, cascade: bool = False
) -> Generator[Any, Any, Forgotten]:
    """Forget a memory, as a Deferred `Forgotten`.

    Args:
        cascade: With all that was drawn from it (`forgetting.doomed` tells what that is), and what
            other NPCs heard this one say from it: that is undone at them.

    Raises (in the Deferred):
        ids.UnknownMemory, ids.Ambiguous
    """
    gone = yield _forget(npc, who, forgetting.doomed, memory_id, cascade=cascade)
    new = _utterances(npc, gone) if cascade else frozenset()
    while new:
        following: set[str] = set()
        for other in looking.that_heard(new):
            heard = yield _forget(other, who, forgetting.heard, new, cascade=True)
            following |= _utterances(other, heard)
            yield offload.breathe()
        new = frozenset(following)
    return gone


def _utterances(npc: Any, gone: Forgotten) -> frozenset[str]:
    """`Entry.utterance` of what may have been said to others of all that."""
    links = map(link_id, gone.memories)
    return frozenset(f"{npc.memory.id}:{number}" for number in links if number.isdecimal())


@_alone
@defer.inlineCallbacks
def _forget(
    npc: Any, who: Any, which: Callable[..., defer.Deferred], what: Any, *, cascade: bool
) -> Generator[Any, Any, Forgotten]:
    """One NPC's part of it; `which(npc, what)` tells what goes."""
    options = {"cascade": cascade} if which is forgetting.doomed else {}
    root = [link_id((yield ids.find(npc, what)))] if which is forgetting.doomed else ()
    with npc.memory.evidence.withdrawing(root):  # from now on nothing is drawn from it
        going = yield which(npc, what, **options)
        if not going.memories:
            return Forgotten((), "", True)
        before = yield forgetting.before_of(npc, going, cascade=cascade)
        shorts = [ids.short(memory) for memory in going.memories]
        undoable = undoing.keep(npc, who, "forget", shorts, before)
        audit.record(who, "forget with all from it" if cascade else "forget", npc, *shorts)
        yield forgetting.take_out(npc, going, cascade=cascade)
    return Forgotten(going.memories, going.told(), undoable)


# --- keeping --------------------------------------------------------------------------------------


def once(tagged: defer.Deferred) -> defer.Deferred:
    """Pinning and its like, where it is no fault that it was done before."""

    def as_it_is(problem: Failure) -> MemoryRecord:
        problem.trap(AlreadySo)
        return problem.value.memory

    return tagged.addErrback(as_it_is)


def pin(npc: Any, who: Any, memory_id: str) -> defer.Deferred:
    """Exempt a memory from cleaning: it is never pruned, nor hidden behind a summary."""
    return _tag(npc, who, memory_id, "pin", add=(PINNED,))


def unpin(npc: Any, who: Any, memory_id: str) -> defer.Deferred:
    """Let the night clean a memory away again."""
    return _tag(npc, who, memory_id, "unpin", drop=(PINNED,))


def lock(npc: Any, who: Any, memory_id: str) -> defer.Deferred:
    """Pin a memory, and let nothing that the night finds change, end or join it."""
    return _tag(npc, who, memory_id, "lock", add=(PINNED, LOCKED))


def unlock(npc: Any, who: Any, memory_id: str) -> defer.Deferred:
    """Let the night change a memory again; it stays pinned."""
    return _tag(npc, who, memory_id, "unlock", drop=(LOCKED,))


@_alone
@defer.inlineCallbacks
def _tag(
    npc: Any,
    who: Any,
    memory_id: str,
    deed: str,
    *,
    add: tuple[str, ...] = (),
    drop: tuple[str, ...] = (),
) -> Generator[Any, Any, MemoryRecord]:
    """Change the tags of a memory, as a Deferred `MemoryRecord` with the new ones."""
    memory = yield ids.find(npc, memory_id)
    linked = link_id(memory)
    entry = npc.memory.journal.get(int(linked)) if linked.isdecimal() else None
    old = entry.tags if entry else memory.tags
    kept = (tag for tag in old if tag not in drop)
    tags = tuple(dict.fromkeys((*kept, *add)))
    short = ids.short(memory)
    if tags == old:
        state = "is not" if drop else "is already"
        raise AlreadySo(f"{short} {state} {(drop or add)[-1]}.", replace(memory, tags=tags))
    expiry = {"expires_at": memory.expires_at} if add and memory.expires_at else {}
    before = Before(
        entries=[entry.to_dict()] if entry else [],
        payload=[[memory.id, {"tags": list(memory.tags)} | expiry]],
        fields=["tags"],
    )
    undoing.keep(npc, who, deed, [short], before)
    audit.record(who, deed, npc, short)
    if entry:
        npc.memory.journal.update({entry.id: {"tags": tags}})
        npc.memory.flush()
    yield offload.run(offload.MEMORY, write_tags, memory, tags, bool(add), priority=offload.REPLY)
    return replace(memory, tags=tags)


def write_tags(memory: MemoryRecord, tags: tuple[str, ...], lasting: bool) -> None:
    """The store's part of it (worker thread); what was to expire no longer does, if pinned."""
    store = facts.shared()
    if store.get([memory.id]):
        store.change(memory.id, tags=list(tags))
        if lasting and memory.expires_at:
            store.change(memory.id, expires_at=None)


# --- undo and pause -------------------------------------------------------------------------------


@_alone
@defer.inlineCallbacks
def undo(npc: Any, who: Any) -> Generator[Any, Any, undoing.Act]:
    """Take back the last act that changed this memory, as a Deferred `undo.Act`.

    Raises (in the Deferred):
        undo.NothingToUndo
    """
    act = yield restoring.take_back(npc)
    audit.record(who, f"undo of {act.deed}", npc, *act.ids)
    return act


def pause(npc: Any, who: Any, on: bool = True) -> bool:
    """Pause an NPC, or let it go on: paused, it neither perceives nor learns nor sleeps. Returns
    whether that changed anything."""
    npc.memory.flush()
    changed = switches.pause(npc, on)
    if changed:
        audit.record(who, "pause" if on else "resume", npc)
    return changed


def pause_all(who: Any, on: bool = True, untouched: Sequence[Any] = ()) -> bool:
    """Pause all NPCs, those to come too, or let them go on. Returns whether that changed anything.

    Args:
        untouched: NPCs that `who` may not edit: they stay as they are, paused or not.
    """
    changed = switches.pause_all(on, untouched)
    if changed:
        but = ["but", *(npc.dbref for npc in untouched)] if untouched else []
        audit.record(who, "pause" if on else "resume", None, *but)
    return changed


def paused(npc: Any) -> str:
    """Whether it is paused: "npc" it alone, "all" with all others, "" not at all."""
    return switches.paused(npc)
