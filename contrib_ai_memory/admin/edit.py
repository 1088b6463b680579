"""What builders change in a memory: add, edit, forget, pin, lock, pause, and undo of all that.

Each act has the memory to itself, is in the audit log by ids, and can be undone (`undo` keeps
them, `restoring` takes them back, `forgetting` says what goes with what, `rewording` writes what
was edited). Erasing a person or a whole mind is in `erasing`. Reactor thread; each act gives a
Deferred. What cannot be done fails with a ValueError that says what to do.

Writing an edited memory wherever it lies: the store, the journal, the preference that it states.

What was said before goes into its history, and out of the running talk. Only what was changed is
written: nights go on meanwhile, and what is no more is not made again. Reactor thread; the store's
part is done on the worker thread.

Taking back the newest of the acts that `undo` keeps: everything it changed, as it was.

What it only changed gets back those fields: what nights made of the rest since then stays, and what
is no more since then stays away. Done again after a crash, it ends in the same. Reactor thread;
the store's part is done on the worker thread.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import wraps
from typing import Any, TypeVar

from twisted.internet import defer
from twisted.python.failure import Failure

from .. import conf, offload
from ..embedding import emotions as taxonomy
from ..handler import CONSCIOUS_IMPORTANCE
from ..ingest import index, pipeline, preference_slots
from ..ingest.index import to_memory
from ..ingest.preference_slots import Superseded
from ..records import ASKS, LOCKED, PINNED, Entry, MemoryRecord
from ..store import facts, versions
from ..store import pause as pause_switch
from ..store.links import Link, link_id
from ..store.payload import entry_memory_id
from ..store.preferences import PastPreference, Preference, from_plain
from ..store.profiles import Profile, ProfileAttribute, ProfileObservation
from ..text.sanitising import oneline, sanitise
from . import access, ids, inspect, provenance, undo_log
from . import forget as forgetting
from . import undo_log as undoing
from .undo_log import Act, Before, preference_as_plain


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
    access.record(who, "add", npc, entry.id)
    undoing.keep(npc, who, "add", [str(entry.id)], Before(made=[str(entry.id)]))
    return entry


@_alone
@defer.inlineCallbacks
def teach(npc: Any, who: Any, text: str) -> Generator[Any, Any, pipeline.Learned]:
    """Let an NPC learn a longer text, a piece at a time, as a Deferred `ingest.pipeline.Learned`.

    To undo it takes away what was new; a preference that it changed is the old one again.
    """
    memory = npc.memory
    began, held = memory.clock(), list(memory.preferences)
    learned = yield pipeline.ingest(memory, text)
    new = [record.id for record in learned.memories if record.created_at >= began]
    changed = {each.memory_id for each in memory.preferences} & set(new)
    replaced = [
        undoing.preference_as_plain(each)
        for each in held
        if not changed.isdisjoint(_now_in(memory, each))
    ]
    if new:
        undoing.keep(
            npc,
            who,
            "teach",
            [i[: ids.LENGTH] for i in new],
            Before(made=new, preferences=replaced),
        )
    access.record(who, "teach", npc, *(memory_id[: ids.LENGTH] for memory_id in new))
    return learned


def _now_in(memory: Any, preference: Preference) -> set[str]:
    """The memory that fills the slot of a preference now."""
    now = memory.preferences.get(preference.identity, preference.slot, preference.audience)
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
    old = as_felt(npc, old)
    new = replace(old, **_changes(old, content, importance, emotions, lesson))
    if new == old:
        raise CannotEdit(f"Nothing to change: {ids.short(old)} says just that already.")
    before = yield state_of(npc, old, changed_fields(old, new))
    short = ids.short(old)
    if not undoing.keep(npc, who, "edit", [short], before):
        raise CannotEdit(f"{short} is too large to be edited: add a new memory and forget it.")
    access.record(who, "edit", npc, short)
    with npc.memory.evidence.withdraw([link_id(old)]):
        new = yield written(npc, old, new)
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
        for other in inspect.that_heard(new):
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
    with npc.memory.evidence.withdraw(root):  # from now on nothing is drawn from it
        going = yield which(npc, what, **options)
        if not going.memories:
            return Forgotten((), "", True)
        before = yield forgetting.before_of(npc, going, cascade=cascade)
        shorts = [ids.short(memory) for memory in going.memories]
        undoable = undoing.keep(npc, who, "forget", shorts, before)
        access.record(who, "forget with all from it" if cascade else "forget", npc, *shorts)
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
    access.record(who, deed, npc, short)
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
    act = yield take_back(npc)
    access.record(who, f"undo of {act.deed}", npc, *act.ids)
    return act


def pause(npc: Any, who: Any, on: bool = True) -> bool:
    """Pause an NPC, or let it go on: paused, it neither perceives nor learns nor sleeps. Returns
    whether that changed anything."""
    npc.memory.flush()
    changed = pause_switch.pause(npc, on)
    if changed:
        access.record(who, "pause" if on else "resume", npc)
    return changed


def pause_all(who: Any, on: bool = True, untouched: Sequence[Any] = ()) -> bool:
    """Pause all NPCs, those to come too, or let them go on. Returns whether that changed anything.

    Args:
        untouched: NPCs that `who` may not edit: they stay as they are, paused or not.
    """
    changed = pause_switch.pause_all(on, untouched)
    if changed:
        but = ["but", *(npc.dbref for npc in untouched)] if untouched else []
        access.record(who, "pause" if on else "resume", None, *but)
    return changed


def paused(npc: Any) -> str:
    """Whether it is paused: "npc" it alone, "all" with all others, "" not at all."""
    return pause_switch.paused(npc)


# --- rewording ------------------------------------------------------------------------------------

Kept = TypeVar("Kept", Entry, MemoryRecord)
OF_ENTRIES = {  # what of an entry changes with which field of its memory
    "content": ("content", "line"),
    "importance": ("importance", "scoring_method"),
    "dominant_emotions": ("emotions",),
}


@defer.inlineCallbacks
def written(npc: Any, old: MemoryRecord, new: MemoryRecord) -> Generator[Any, Any, MemoryRecord]:
    """Write a changed memory where it lies: the store, and the journal if it is an entry."""
    memory, entry = npc.memory, _entry_of(npc.memory, old)
    around: list[Entry] = []
    if entry:
        entry = _changed_entry(entry, old, new)
        memory.journal.restore([entry])
        again = to_memory(memory.id, entry)
        new = replace(new, key=again.key, question=again.question, tags=entry.tags)
        if new.importance != old.importance:
            new = replace(new, memory_weight=again.memory_weight)
        around = list(memory.journal.read(entry.id - index.AROUND, entry.id + index.AROUND))
        if new.content != old.content:
            memory.conversations.forget_entries([entry.id])
            memory.history.forget_entries([entry.id])
            _reword_preferences(memory, entry)
        memory.flush()
    if entry is None or entry.recallable:
        changed = changed_fields(old, new)
        yield offload.run(
            offload.MEMORY, write, memory.id, new, changed, around, priority=offload.REPLY
        )
    return new


def changed_fields(old: MemoryRecord, new: MemoryRecord) -> list[str]:
    """The names of the fields in which two versions of a memory differ."""
    names = [spec.name for spec in fields(MemoryRecord)]
    return [name for name in names if getattr(old, name) != getattr(new, name)]


def merged(now: Kept, then: Kept, changed: Iterable[str]) -> Kept:
    """A record as it is now, but for the changed fields, which are taken from another version."""
    own = {spec.name for spec in fields(now)}
    return replace(now, **{name: getattr(then, name) for name in changed if name in own})


def as_felt(npc: Any, memory: MemoryRecord) -> MemoryRecord:
    """A memory with the emotions of its journal entry, which the store may not have."""
    entry = _entry_of(npc.memory, memory)
    return replace(memory, dominant_emotions=entry.emotions) if entry else memory


def _entry_of(memory: Any, record: MemoryRecord) -> Entry | None:
    linked = link_id(record)
    return memory.journal.get(int(linked)) if linked.isdecimal() else None


def _changed_entry(entry: Entry, old: MemoryRecord, new: MemoryRecord) -> Entry:
    if new.content != old.content:
        kept = tuple(tag for tag in entry.tags if tag != ASKS)
        entry = replace(entry, content=new.content, line=None, tags=kept)
    if new.importance != old.importance:
        weight = round(new.importance * 10)
        entry = replace(entry, importance=weight, scoring_method="manual")
    if new.dominant_emotions != old.dominant_emotions:
        entry = replace(entry, emotions=new.dominant_emotions)
    return entry


def _reword_preferences(memory: Any, entry: Entry) -> None:
    """A preference says what its entry says."""
    for preference in _stated_by(memory, entry):
        memory.preferences.put(replace(preference, text=entry.content))


def _stated_by(memory: Any, entry: Entry) -> list[Preference]:
    own = entry_memory_id(memory.id, entry.id)
    return [
        each for each in memory.preferences if each.memory_id == own or each.journal_id == entry.id
    ]


def write(
    agent_id: str,
    memory: MemoryRecord,
    changed: Sequence[str],
    around: list[Entry],
    note: bool = True,
) -> None:
    """The store's part of an edit (worker thread); what is no more, or not yet, is passed over.

    Args:
        changed: The fields that are taken from `memory`; the others stay as they are stored.
        around: As for `rewriting.rewrite`.
        note: Whether the memory's history tells of it.
    """
    store = facts.shared()
    for known in store.get([memory.id]):
        new = merged(known, memory, changed)
        if (new.content, new.embedded, new.words) == (known.content, known.embedded, known.words):
            store.change(memory.id, **_payload_of(new, changed_fields(known, new)))
        else:
            index.rewrite(agent_id, new, around, before=known.content if note else None)


def _payload_of(memory: MemoryRecord, changed: Sequence[str]) -> dict[str, Any]:
    values = {name: getattr(memory, name) for name in changed if name != "key"}
    return {name: list(each) if isinstance(each, tuple) else each for name, each in values.items()}


@defer.inlineCallbacks
def state_of(npc: Any, record: MemoryRecord, changed: Sequence[str]) -> Generator[Any, Any, Before]:
    """One memory as it is now, for `undo` of a change of these fields."""
    memory, entry = npc.memory, _entry_of(npc.memory, record)
    known, history, _ended = yield offload.run(
        offload.MEMORY, forgetting.stored_state, memory.id, [record], priority=offload.REPLY
    )
    more = [name for each in changed for name in OF_ENTRIES.get(each, ())] if entry else []
    if entry and "content" in changed:
        more.append("question")
    if entry and "importance" in changed:
        more.append("memory_weight")  # of an entry it follows from the importance
    # words that stay are not kept: they may be long, and an undo would not put them back
    wordless = {} if "content" in changed else {"content": "", "key": "", "line": ""}
    return Before(
        entries=[entry.to_dict() | wordless] if entry else [],
        memories=[each.to_dict() | wordless for each in known or [record]],
        history=history,
        preferences=[
            preference_as_plain(each)
            for each in (_stated_by(memory, entry) if entry and "content" in changed else ())
        ],
        fields=list(dict.fromkeys((*changed, *more))),
    )


# --- restoring ------------------------------------------------------------------------------------


@defer.inlineCallbacks
def take_back(npc: Any) -> Generator[Any, Any, Act]:
    """Undo the newest act, as a Deferred `Act`.

    Raises (in the Deferred):
        undo.NothingToUndo
    """
    kept = undo_log.acts(npc)
    if not kept:
        raise undo_log.NothingToUndo(
            f"Nothing was done to the memory of {npc.key} that can be undone: the last "
            f"{undo_log.ACTS_KEPT} acts are kept, as far as {undo_log.LARGEST // 1000} kB "
            "hold them."
        )
    act = kept[-1]
    memory, before = npc.memory, act.before
    if before.made:
        made = yield provenance.of_links(memory, before.made)
        for linked in made:  # and what nights drew from it: else it would be known all the same
            going = yield forgetting.doomed(npc, linked, cascade=True)
            yield forgetting.take_out(npc, going, cascade=True)
    memory.journal.restore(_entries_as_before(memory, before))
    around = {plain["id"]: _around(memory, plain["id"]) for plain in before.entries}
    yield offload.run(offload.MEMORY, put_back, memory.id, before, around, priority=offload.REPLY)
    yield memory.links.add_gently(Link(*each) for each in before.links)
    for identity, name, noted, known in before.profiles:
        _restore_profile(memory, identity, name, noted, known)
    ended: list[Superseded] = []
    for plain in before.preferences:
        ended += _restore_preference(memory, from_plain(plain), before.fields)
    if ended:
        yield offload.run(
            offload.MEMORY, preference_slots.retire, memory.id, ended, priority=offload.REPLY
        )
    yield _index_passed(memory, before)
    memory.flush()
    undo_log.drop(npc, act)
    return act


def put_back(agent_id: str, before: Before, around: dict[int, list[Entry]]) -> None:
    """The store's part of it (worker thread)."""
    store = facts.shared()
    for plain in before.memories:
        memory = MemoryRecord.from_dict(plain)
        own = memory.journal_ids[0] if memory.record == "entry" else 0
        if before.fields:
            _change_back(agent_id, memory, around.get(own, []), before.fields)
            continue
        index.rewrite(agent_id, memory, around.get(own, ()))
        versions.replace(memory.id, before.history.get(memory.id, []))
    for memory_id, payload in before.payload:
        if store.get([memory_id]):
            store.change(memory_id, **payload)


def _change_back(
    agent_id: str, memory: MemoryRecord, around: list[Entry], changed: Sequence[str]
) -> None:
    write(agent_id, memory, changed, around, note=False)
    said = versions.history_of(memory.id, newest=None)
    edits = [place for place, row in enumerate(said) if row[::2] == (memory.content, "UPDATE")]
    if "content" in changed and edits:
        versions.replace(memory.id, [*said[: edits[-1]], *said[edits[-1] + 1 :]])


def _entries_as_before(memory: Any, before: Before) -> list[Entry]:
    entries = [Entry.from_dict(plain) for plain in before.entries]
    if not before.fields:
        return entries
    there = [(memory.journal.get(entry.id), entry) for entry in entries]
    return [merged(now, entry, before.fields) for now, entry in there if now]


@defer.inlineCallbacks
def _index_passed(memory: Any, before: Before) -> Generator[Any, Any, None]:
    """Index what was forgotten before it was indexed, if the index has come further since then."""
    stored = {plain["id"] for plain in before.memories}
    indexed = memory.journal.cursors.get("indexed", 0)
    for plain in () if before.fields else before.entries:
        entry = Entry.from_dict(plain)
        passed = entry.recallable and entry.id <= indexed
        if passed and entry_memory_id(memory.id, entry.id) not in stored:
            earlier = list(memory.journal.read(entry.id - index.LOOK_BACK, entry.id - 1))
            job = index.index_entries, memory.id, [entry], earlier
            yield offload.run(offload.MEMORY, *job, priority=offload.REPLY)
            yield preference_slots.settle_heard(memory, [entry], offload.REPLY)


def _restore_preference(
    memory: Any, preference: Preference, changed: Sequence[str]
) -> list[Superseded]:
    """A preference as it was; of an edit, only its words, wherever they stand by now.

    What was said since then holds: what comes back is what was preferred before. Returns what is
    to be retired for that.
    """
    now = memory.preferences.get(preference.identity, preference.slot, preference.audience)
    if not changed:
        own = {preference.memory_id, *(held.memory_id for held in preference.history)}
        if now is None or now.memory_id in own or now.since <= preference.since:
            memory.preferences.put(preference)
            return []
        was = PastPreference(
            preference.text,
            preference.memory_id,
            preference.since,
            now.since,
            preference.journal_id,
        )
        since = [held for held in now.history if held.memory_id not in own]
        history = (*preference.history, was, *since)[-conf.PREFERENCE_HISTORY :]
        memory.preferences.put(replace(now, history=history))
        return preference_slots.replaced(replace(now, history=history))
    if now:
        same = now.memory_id == preference.memory_id
        held = tuple(
            replace(each, text=preference.text) if each.memory_id == preference.memory_id else each
            for each in now.history
        )
        text = preference.text if same else now.text
        memory.preferences.put(replace(now, text=text, history=held))
    return []


def _around(memory: Any, entry_id: int) -> list[Entry]:
    return list(memory.journal.read(entry_id - index.AROUND, entry_id + index.AROUND))


def _restore_profile(
    memory: Any, identity: str, name: str, noted: list[dict], known: list[dict]
) -> None:
    profile = memory.profiles.get(identity) or Profile(identity, name=name)
    profile = profile.with_observations(ProfileObservation(**_tuples(each)) for each in noted)
    attributes_ = [ProfileAttribute(**_tuples(each)) for each in known]
    missing = [each for each in attributes_ if each not in profile.attributes]
    memory.profiles.put(replace(profile, attributes=(*profile.attributes, *missing)))


def _tuples(plain: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(v) if isinstance(v, list) else v for key, v in plain.items()}
