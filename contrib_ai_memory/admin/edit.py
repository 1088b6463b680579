"""Change a memory: add, teach, edit, pin, lock, pause, schedule, and undo the last change.

Actions run one at a time per NPC, are written to the audit log by id, and are kept in `undo_log`,
from which `undo` takes them back. Forgetting is in `forget`, erasing a person in `erase`.

An edit writes only the fields that changed, since nights go on meanwhile, and makes nothing again
that was deleted in between. The old text goes into the memory's history and out of running
conversations. What a builder writes outranks what was drawn from lines: the lines behind an edited
fact, and all else drawn from them that tells its old words, are superseded while it stands.

An undo works the same way: what nights changed otherwise stays, and what is gone
since stays away. Repeated after a crash, both end in the same state.

Reactor thread; each action gives a Deferred, and fails with a ValueError that says what to do. The
store's part is done on the worker thread.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from twisted.internet import defer

from .. import conf, language, offload
from ..errors import InputError
from ..handler import CONSCIOUS_IMPORTANCE
from ..ingest import agenda_items, endings, index, pipeline, preference_slots
from ..ingest.endings import End
from ..ingest.index import to_memory
from ..local_time import local
from ..privacy import Witnessed, shared_privacy
from ..records import ASKS, BUILDER, INSIGHT, LOCKED, PINNED, TEXT_KEPT, Entry, MemoryRecord
from ..sleep.night import NotNow, schedule_told
from ..store import memory_store
from ..store import pause as pause_switch
from ..store.links import Link, link_id
from ..store.npc_memory import Memory
from ..store.payload import entry_memory_id
from ..store.preferences import PastPreference, Preference
from ..store.profiles import Profile
from ..store.removal import Removal
from ..text.sanitising import sanitise
from . import arguments as args
from . import audit, closure, forget, ids, inspect, undo_log
from .jobs import change_job
from .undo_log import Act, Before, one_at_a_time

# --- adding and changing --------------------------------------------------------------------------


@one_at_a_time
@defer.inlineCallbacks
def add(
    npc: Any, who: Any, text: args.Text, importance: args.Importance = CONSCIOUS_IMPORTANCE
) -> Generator[Any, Any, Entry]:
    """Add a memory that is never pruned. The NPC knows it at once, word for word, and anybody may
    be told of it. This can be undone."""
    entry = yield npc.memory.add(_checked_text(text), importance=_checked_importance(importance))
    audit.record(who, "add", npc, entry.id)
    undo_log.add(npc, who, "add", [str(entry.id)], Before(made=(str(entry.id),)))
    return entry


@one_at_a_time
@defer.inlineCallbacks
def teach(npc: Any, who: Any, text: args.LongText) -> Generator[Any, Any, pipeline.Learned]:
    """Teach it a longer text. The text is cut into pieces; those that are new and informative are
    kept, the others dropped. A preference in it takes the place of the old one. This can be
    undone."""
    memory = npc.memory
    began, held = memory.clock(), list(memory.preferences)
    learned = yield pipeline.ingest(memory, text)
    new = [record.id for record in learned.memories if record.created_at >= began]
    now = ((each, memory.preferences.get(each.identity, each.slot, each.audience)) for each in held)
    replaced = tuple(each for each, there in now if there and there.memory_id in new)
    shorts = [memory_id[: ids.LENGTH] for memory_id in new]
    if new:
        undo_log.add(npc, who, "teach", shorts, Before(made=tuple(new), preferences=replaced))
    audit.record(who, "teach", npc, *shorts)
    return learned


@one_at_a_time
@defer.inlineCallbacks
def edit(
    npc: Any,
    who: Any,
    memory_id: args.Id,
    *,
    content: args.Text | None = None,
    importance: args.Importance | None = None,
) -> Generator[Any, Any, MemoryRecord]:
    """Change the text or the importance of a memory. A new text supersedes the lines
    behind the memory and whatever else tells the old text; to correct these lines too, edit them.
    The old text is kept in its history. This can be undone."""
    old = yield ids.find(npc, memory_id)
    entry = ids.entry_of(npc.memory, link_id(old))
    new = replace(old, **_changes(old, content, importance))
    if new == old:
        raise InputError(f"Nothing to change: {ids.short(old)} says just that already.")
    outranked: list[MemoryRecord] = []
    reworded, before = new.content != old.content, Before()
    if reworded:
        new = _worded_by_builder(npc, new)
        outranked, before = yield _outranked(npc, old, new)
    line: dict[str, Any] = {}
    if entry:
        line = _entry_changes(entry, old, new)
        again = to_memory(npc.memory.id, replace(entry, **line))
        follows = ["key", "question", "tags"] if reworded else []
        follows += ["memory_weight"] if new.importance != old.importance else []
        new = replace(new, **{name: getattr(again, name) for name in follows})
    if entry and reworded:  # its line is read again
        items = npc.memory.agenda.resting_on(Removal({entry.id}))
        before = replace(before, agenda=tuple(items))
    before = replace(before, fields=tuple({**_difference(old, new), **line}))
    yield _note(npc, who, "edit", old, before)
    with npc.memory.evidence.withdraw(map(link_id, (old, *outranked))):
        yield _write(npc, old, new, line)
        if reworded:
            yield _outrank(npc, new, outranked, before)
    return new


def _entry_changes(entry: Entry, old: MemoryRecord, new: MemoryRecord) -> dict[str, Any]:
    """Return what changes in an entry with its memory."""
    changes: dict[str, Any] = {}
    if new.content != old.content:
        kept = tuple(tag for tag in entry.tags if tag != ASKS)
        changes |= {"content": new.content, "line": None, "tags": kept}
    if new.importance != old.importance:
        changes |= {"importance": round(new.importance * 10), "scoring_method": "manual"}
    return changes


def _changes(old: MemoryRecord, content: str | None, importance: int | None) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if content is not None:
        text = sanitise(_checked_text(content), conf.MAX_LINE)
        if not text:
            raise InputError("The new text is empty. To take a memory away, forget it.")
        if text != old.content:
            changes |= {"content": text, "key": text}
    if importance is not None:
        changes |= {"importance": _checked_importance(importance) / 10}
    if content is None and importance is None:
        raise InputError("Say what to change: the text or the importance.")
    return changes


def _checked_text(text: str) -> str:
    longest = conf.MAX_LINE
    if len(text) > longest:
        raise InputError(
            f"The text has {len(text):,} characters; one memory holds {longest:,}. "
            "Shorten it, or let it be learned in pieces: @memory/teach"
        )
    return text


def _checked_importance(importance: int) -> int:
    if isinstance(importance, bool) or not 1 <= importance <= 10:
        raise InputError(f"Importance is a whole number from 1 to 10, not {importance}.")
    return int(importance)


# --- what an edit outranks ------------------------------------------------------------------------

TELLS = 0.5  # share of the words of a text in what tells it


def _worded_by_builder(npc: Any, memory: MemoryRecord) -> MemoryRecord:
    """Return an edited memory as the builder's word, which holds from now on."""
    if memory.outranked:
        memory = replace(memory, **End(memory.id).fields)
    if ids.entry_ids([memory]):
        return memory
    return replace(memory, quote="", provider=BUILDER, valid_from=npc.memory.clock())


@defer.inlineCallbacks
def _outranked(
    npc: Any, old: MemoryRecord, new: MemoryRecord
) -> Generator[Any, Any, tuple[list[MemoryRecord], Before]]:
    """Find what tells the old words of a memory, and is superseded by it or corrected with it: the
    lines behind it, what was drawn from them, and what the NPC said from any of it. Returns the
    memories, and the state of all that before."""
    memory = npc.memory
    behind = [] if old.record in ("summary", INSIGHT) else list(old.journal_ids)
    lines = {number for number in behind if memory.journal.get(number)}
    roots = [link_id(old), *map(str, lines)]
    selection = yield forget.select(npc, roots, cascade=True)
    tells = _telling(old, new, memory.people.name_of(old.about) if old.about else "")
    found = [
        each
        for each in selection.memories
        if each.id != old.id
        and not each.superseded_by
        and (
            (old.record == "fact" and not lines.isdisjoint(ids.entry_ids([each])))
            or tells(f"{each.content} {each.quote}")
        )
    ]
    numbers = lines & {*ids.entry_ids([old, *found])}
    known = {each.id for each in found}
    removal = Removal(numbers)
    preferences = tuple(
        each
        for each in memory.preferences
        if each.memory_id == old.id
        or ((each.memory_id in known or each.journal_id in numbers) and tells(each.text))
    )
    items = memory.agenda.resting_on(removal)
    return found, Before(
        payload=tuple((each.id, End.of(each).fields) for each in found),
        profiles=(yield closure.notes(memory, removal, tells)),
        preferences=preferences,
        agenda=tuple(each for each in items if tells(each.text)),
    )


def _telling(old: MemoryRecord, new: MemoryRecord, subject: str) -> Callable[[str], bool]:
    """Return what says whether a text tells the old words of a memory, or at least one of those
    that changed. All that is drawn from lines of the `subject` tells that name."""
    every = _words(old.content)
    known = (every - _words(subject)) or every
    gone = known - _words(new.content)

    def tells(text: str) -> bool:
        words = _words(text)
        most = len(words & known) >= TELLS * len(known)
        return most and (not gone or not gone.isdisjoint(words))

    return tells


def _words(text: str) -> set[str]:
    return language.get().content_words(text) | language.get().numbers(text)


def _outrank(
    npc: Any, new: MemoryRecord, outranked: Sequence[MemoryRecord], before: Before
) -> defer.Deferred:
    """Supersede and correct what an edit outranks."""
    memory = npc.memory
    _take_out_of_talk(memory, set(ids.entry_ids(outranked)))
    memory.chat_log.take_out(Removal(memories=set(map(link_id, (new, *outranked)))))
    for identity, _name, noted, known in before.profiles:
        profile = memory.profiles.get(identity)
        if profile:
            seen = tuple(each for each in profile.observations if each not in noted)
            held = tuple(each for each in profile.attributes if each not in known)
            memory.profiles.put(replace(profile, observations=seen, attributes=held))
    for preference in before.preferences:
        heard = _heard_by(preference, new)
        memory.preferences.put(replace(preference, text=new.content, **heard))
    if not ids.entry_ids([new]):  # an edited line was read again
        due_on = language.get().due(new.content, local(memory.clock()))
        for item in before.agenda:
            text = new.content[:TEXT_KEPT]
            heard = _heard_by(item, new)
            memory.agenda.put(replace(item, text=text, told=text, due=due_on or item.due, **heard))
    memory.flush()
    return change_job(_supersede, [each.id for each in outranked], new.id)


def _take_out_of_talk(memory: Memory, entries: set[int]) -> None:
    """Remove lines from conversations in progress and the chat log."""
    for part in (memory.conversations, memory.chat_log):
        part.take_out(Removal(entries, drawn=False))


def _heard_by(corrected: Witnessed, new: MemoryRecord) -> dict[str, Any]:
    """The privacy of what takes over the words of a memory: no wider than that of either."""
    return shared_privacy([corrected, new])._asdict() if new.private else {}


def _supersede(outranked: Sequence[str], by: str) -> None:
    """Mark memories as superseded (worker thread)."""
    endings.end(memory_store.shared(), [End(each, by) for each in outranked], spared=())


# --- pinning --------------------------------------------------------------------------------------


class Unchanged(MemoryRecord):
    """A memory that was so already: nothing was logged, and nothing can be undone."""

    __slots__ = ()


def pin(npc: Any, who: Any, memory_id: args.Id) -> defer.Deferred[MemoryRecord]:
    """Protect a memory from pruning. It is not hidden behind a summary, either."""
    return _tag(npc, who, memory_id, "pin", add=(PINNED,))


def unpin(npc: Any, who: Any, memory_id: args.Id) -> defer.Deferred[MemoryRecord]:
    """Let a memory be pruned again."""
    return _tag(npc, who, memory_id, "unpin", drop=(PINNED,))


def lock(npc: Any, who: Any, memory_id: args.Id) -> defer.Deferred[MemoryRecord]:
    """Protect a memory from all changes by a night. It is pinned, too."""
    return _tag(npc, who, memory_id, "lock", add=(PINNED, LOCKED))


def unlock(npc: Any, who: Any, memory_id: args.Id) -> defer.Deferred[MemoryRecord]:
    """Let nights change a memory again. It stays pinned."""
    return _tag(npc, who, memory_id, "unlock", drop=(LOCKED,))


@one_at_a_time
@defer.inlineCallbacks
def _tag(
    npc: Any,
    who: Any,
    memory_id: str,
    action: str,
    *,
    add: tuple[str, ...] = (),
    drop: tuple[str, ...] = (),
) -> Generator[Any, Any, MemoryRecord]:
    """Change the tags of a memory, as a Deferred `MemoryRecord` with the new ones."""
    old = yield ids.find(npc, memory_id)
    entry = ids.entry_of(npc.memory, link_id(old))
    kept = (tag for tag in (entry or old).tags if tag not in drop)
    tags = tuple(dict.fromkeys((*kept, *add)))
    if tags == (entry or old).tags:
        return Unchanged(**{each.name: getattr(old, each.name) for each in fields(old)})
    # a pinned one no longer expires
    new = replace(old, tags=tags, expires_at=None if add else old.expires_at)
    line = {"tags": tags} if entry else {}
    yield _note(npc, who, action, old, Before(fields=("tags", "expires_at")))
    yield _write(npc, old, new, line)
    return new


# --- undo and pause -------------------------------------------------------------------------------


@one_at_a_time
@defer.inlineCallbacks
def undo(npc: Any, who: Any) -> Generator[Any, Any, Act]:
    """Undo the last change made to this memory by hand."""
    kept = undo_log.acts(npc)
    if not kept:
        raise undo_log.NothingToUndo(
            f"There is nothing to undo in the memory of {npc.key}: the last {undo_log.ACTS_KEPT} "
            f"changes are kept, up to {undo_log.LARGEST // 1000} kB of them."
        )
    act = kept[0]
    yield _restore(npc, act.before)
    undo_log.remove(npc, act)
    audit.record(who, f"undo of {act.deed}", npc, *act.ids)
    return act


def pause(npc: Any, who: Any) -> inspect.Status:
    """Stop it from hearing, learning and sleeping."""
    return _switch(npc, who, True)


def resume(npc: Any, who: Any) -> inspect.Status:
    """Let it hear, learn and sleep again."""
    return _switch(npc, who, False)


def _switch(npc: Any, who: Any, on: bool) -> inspect.Status:
    npc.memory.flush()
    changed = pause_switch.pause(npc, on)
    if changed:
        audit.record(who, "pause" if on else "resume", npc)
    return replace(inspect.status(npc), changed=changed)


def pause_all(who: Any, on: bool = True) -> bool:
    """Pause all NPCs, new ones too, or let them go on. Returns whether that changed anything."""
    changed = pause_switch.pause_all(on)
    if changed:
        audit.record(who, "pause" if on else "resume", None)
    return changed


INHERITED: Any = object()  # in place of a value


def set_setting(npc: Any, who: Any, name: str, value: Any = INHERITED) -> str:
    """Set a setting for this NPC alone. Without a value, remove what was set for it.

    Returns what it is now and was before, in a sentence.
    """
    conf.check_settable(name)
    if name == "SLEEP_SCHEDULE" and value is not INHERITED:
        raise conf.InvalidSetting(f"This is set with @sleep/schedule {npc.key}.")
    own, before = npc.memory.own_settings, _setting_of(npc, name)
    if value is not INHERITED:
        own.set(name, value)
    elif not own.clear(name):
        return f"{name} is not set for this NPC alone: it is {before}."
    npc.assistant.rearm()
    audit.record(who, f"{'clear' if value is INHERITED else 'set'} a setting of", npc, name)
    return f"{name} is {_setting_of(npc, name)}. It was {before}."


def _setting_of(npc: Any, name: str) -> str:
    shown = next(each for each in inspect.settings(npc).settings if each.name == name)
    return f"{shown.value} ({shown.source})"


# --- sleep ----------------------------------------------------------------------------------------


def sleep(npc: Any, who: Any, at_once: bool = False) -> inspect.Status:
    """Send it to sleep. It consolidates its memory in small steps; with `at_once` it runs all
    passes of the night without a pause, and wakes up. While asleep it hears what is said, but does
    not answer. Its status shows the progress."""
    script = npc.assistant
    if script.asleep and not at_once:
        raise NotNow(
            f"{npc.key} is already asleep ({script.db.sleep_phase}). Wake it first, or wait until "
            "it wakes up."
        )
    script.sleep.begin()
    if at_once:
        script.sleep.whole_night().addErrback(offload.log_failure, f"the night of #{npc.id}")
    audit.record(who, "sleep now" if at_once else "sleep", npc)
    return inspect.status(npc)


def whole_night(
    npc: Any, who: Any, progress: Callable[[str], None] = lambda name: None
) -> defer.Deferred[dict[str, Any]]:
    """Run a whole night at once, then wake up."""
    npc.assistant.sleep.begin()
    audit.record(who, "sleep now", npc)
    return npc.assistant.sleep.whole_night(progress)


def wake(npc: Any, who: Any) -> inspect.Status:
    """Wake it up as soon as it is safe. While compacting, it finishes that phase first. What is not
    done by then waits for the next night."""
    if not npc.assistant.asleep:
        raise NotNow(f"{npc.key} is awake already.")
    npc.assistant.sleep.wake()
    audit.record(who, "wake", npc)
    return inspect.status(npc)


@dataclass(frozen=True, slots=True)
class Schedule:
    """When an NPC falls asleep by itself."""

    plan: str  # "own", "off", or "default" where its settings say
    hour: int  # this and the next two: in use, or as they would be
    hours: int
    clock: str
    told: str  # in words; "none" without a schedule
    default_told: str  # that of its settings

    @property
    def sentence(self) -> str:
        if self.told == "none":
            return "It has no sleep schedule. To set one: @sleep/schedule"
        return f"It sleeps {self.told}."


def schedule_of(npc: Any) -> Schedule:
    """Show when it falls asleep by itself."""
    sleep = npc.assistant.sleep
    plan = sleep.schedule
    return Schedule(
        plan=("own" if plan["enabled"] else "off") if sleep.own_schedule else "default",
        hour=plan["sleep_start_hour"],
        hours=plan["sleep_duration_hours"],
        clock=plan["clock"],
        told=schedule_told(plan),
        default_told=schedule_told(npc.memory.settings.SLEEP_SCHEDULE.model_dump()),
    )


def set_schedule(
    npc: Any,
    who: Any,
    plan: args.Plan,
    hour: args.Hour = 2,
    hours: args.Hours = 4,
    clock: args.Clock = "server",
) -> Schedule:
    """Set when it falls asleep by itself, or show that. At that hour of each day it falls asleep,
    and consolidates its memory for the given number of hours at most. What is not done by then
    waits for the next night."""
    chosen: dict[str, Any] = {} if plan == "default" else {"enabled": plan == "own"}
    if plan == "own":
        chosen |= {"sleep_start_hour": hour, "sleep_duration_hours": hours, "clock": clock}
    npc.assistant.sleep.set_schedule(**chosen)
    told = (hour, hours, clock) if plan == "own" else (plan,)
    audit.record(who, "schedule the sleep of", npc, *told)
    return schedule_of(npc)


# --- writing an edit ------------------------------------------------------------------------------

Kept = TypeVar("Kept", Entry, MemoryRecord)


@defer.inlineCallbacks
def _note(
    npc: Any, who: Any, action: str, old: MemoryRecord, before: Before
) -> Generator[Any, Any, None]:
    """Log a change of a memory; for an undo, keep it and its entry beside what `before` has."""
    entry, short = ids.entry_of(npc.memory, link_id(old)), ids.short(old)
    known = (yield change_job(memory_store.get, [old.id])) or [old]
    if "content" not in before.fields:
        # words that stay are not kept: they may be long, and an undo would not put them back
        entry = entry and replace(entry, content="", line=None)
        known = [replace(each, content="", key="") for each in known]
    before = replace(before, entries=(entry,) if entry else (), memories=tuple(known))
    if not undo_log.add(npc, who, action, [short], before):
        raise InputError(f"{short} is too large to be edited: add a new memory and forget it.")
    audit.record(who, action, npc, short)


@defer.inlineCallbacks
def _write(
    npc: Any, old: MemoryRecord, new: MemoryRecord, line: dict[str, Any]
) -> Generator[Any, Any, None]:
    """Write a changed memory to the store, and to the journal what changes in its entry."""
    memory, around = npc.memory, list[Entry]()
    entry = ids.entry_of(memory, link_id(old))
    if entry:
        entry = replace(entry, **line)
        memory.journal.update({entry.id: line})
        if new.content != old.content:
            _take_out_of_talk(memory, {entry.id})
            yield agenda_items.reread(memory, entry)
        around = forget.lines_around(memory, entry.id)
        memory.flush()
    if entry is None or entry.recallable:
        yield change_job(_write_stored, memory.id, new, list(_difference(old, new)), around)


def _difference(old: Kept, new: Kept) -> dict[str, Any]:
    """Return the fields in which two versions of a record differ, with the new values."""
    names = (spec.name for spec in fields(old))
    return {name: getattr(new, name) for name in names if getattr(old, name) != getattr(new, name)}


def _merged(now: Kept, then: Kept, changed: Iterable[str]) -> Kept:
    """Replace the changed fields of a record with those of another version."""
    own = {spec.name for spec in fields(now)}
    return replace(now, **{name: getattr(then, name) for name in changed if name in own})


def _write_stored(
    agent_id: str,
    memory: MemoryRecord,
    changed: Sequence[str],
    around: list[Entry],
    note: bool = True,
) -> None:
    """Write the `changed` fields of a memory into the store (worker thread), if it has the memory;
    the others stay as stored. `note` adds the change to its history."""
    store = memory_store.shared()
    for known in store.get([memory.id]):
        new = _merged(known, memory, changed)
        if (new.content, new.embedded, new.words) != (known.content, known.embedded, known.words):
            index.rewrite(agent_id, new, around, before=known.content if note else None)
        else:
            plain = {
                name: list(value) if isinstance(value, tuple) else value
                for name, value in _difference(known, new).items()
                if name != "key"
            }
            store.change(memory.id, **plain)


# --- undoing ------------------------------------------------------------------------------------


@defer.inlineCallbacks
def _restore(npc: Any, before: Before) -> Generator[Any, Any, None]:
    """Restore the state before an action."""
    memory = npc.memory
    if made := (yield inspect.of_links(memory, before.made)):
        # with what nights drew from it, which would tell the same
        selection = yield forget.select(npc, made, cascade=True)
        yield forget.remove(npc, selection)
    entries = list(before.entries)
    if before.fields:
        there = [(memory.journal.get(entry.id), entry) for entry in entries]
        entries = [_merged(now, entry, before.fields) for now, entry in there if now]
    memory.journal.restore(entries)
    around = {each.id: forget.lines_around(memory, each.id) for each in before.entries}
    yield change_job(_restore_stored, memory.id, before, around)
    yield memory.links.add_gently(Link(*each) for each in before.links)
    for identity, name, noted, known in before.profiles:
        profile = memory.profiles.get(identity) or Profile(identity, name=name)
        profile = profile.with_observations(noted)
        missing = [each for each in known if each not in profile.attributes]
        memory.profiles.put(replace(profile, attributes=(*profile.attributes, *missing)))
    if "content" in before.fields:
        yield memory.agenda.take_out(Removal({each.id for each in before.entries}))
    for item in before.agenda:
        memory.agenda.put(item)
    restore = _restore_text if before.fields else _restore_preference
    ended = [each for preference in before.preferences for each in restore(memory, preference)]
    if ended:
        yield change_job(preference_slots.retire, memory.id, ended)
    if not before.fields:
        stored = {each.id for each in before.memories}
        for entry in entries:
            if entry_memory_id(memory.id, entry.id) not in stored:
                yield _index_skipped(memory, entry)
    memory.flush()


def _restore_stored(agent_id: str, before: Before, around: dict[int, list[Entry]]) -> None:
    """Restore in the store what an action changed there (worker thread)."""
    history = memory_store.shared().history
    for memory in before.memories:
        lines = around.get(memory.journal_ids[0], []) if memory.record == "entry" else []
        if not before.fields:
            index.rewrite(agent_id, memory, lines)
            history.replace({memory.id: before.history.get(memory.id, [])})
            continue
        _write_stored(agent_id, memory, before.fields, lines, note=False)
        rows = history.of(memory.id, newest=None)
        edits = [place for place, row in enumerate(rows) if row[::2] == (memory.content, "UPDATE")]
        if "content" in before.fields and edits:
            history.replace({memory.id: rows[: edits[-1]] + rows[edits[-1] + 1 :]})
    for memory_id, payload in before.payload:
        memory_store.shared().change(memory_id, **payload)


@defer.inlineCallbacks
def _index_skipped(memory: Memory, entry: Entry) -> Generator[Any, Any, None]:
    """Index an entry that was forgotten before it was indexed, if the index has passed it."""
    if entry.recallable and entry.id <= memory.journal.cursors.get("indexed", 0):
        earlier = list(memory.journal.read(entry.id - index.LOOK_BACK, entry.id - 1))
        with memory.evidence.work_on([*earlier, entry], priority=offload.REPLY) as work:
            yield work.run(index.index_entries, memory.id, [entry], earlier)
            yield preference_slots.fill_heard(memory, [entry], work)


def _restore_preference(memory: Memory, preference: Preference) -> list[End]:
    """Restore a preference that was removed; where another was stated since, as its history.
    Returns what that supersedes."""
    now = memory.preferences.get(preference.identity, preference.slot, preference.audience)
    own = {preference.memory_id, *(held.memory_id for held in preference.history)}
    if now is None or now.memory_id in own or now.since <= preference.since:
        memory.preferences.put(preference)
        return []
    text, memory_id, number = preference.text, preference.memory_id, preference.journal_id
    was = PastPreference(text, memory_id, preference.since, now.since, number)
    since = [held for held in now.history if held.memory_id not in own]
    history = (*preference.history, was, *since)[-conf.PREFERENCE_HISTORY :]
    now = replace(now, history=history)
    memory.preferences.put(now)
    return preference_slots.replaced(now)


def _restore_text(memory: Memory, preference: Preference) -> list[End]:
    """Restore the text of a preference, wherever it stands by now. Nothing is superseded."""

    def restored(held: Any) -> Any:
        same = held.memory_id == preference.memory_id
        return replace(held, text=preference.text) if same else held

    if now := memory.preferences.get(preference.identity, preference.slot, preference.audience):
        history = tuple(map(restored, now.history))
        memory.preferences.put(replace(restored(now), history=history))
    return []
