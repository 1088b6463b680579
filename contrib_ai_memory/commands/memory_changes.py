"""The switches of @memory that change a memory: add, edit, forget, erase, pin, undo, pause."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from typing import Any

from twisted.internet import defer

from ..admin import access, edit, erase, forget, ids, inspect, requests, undo_log
from ..ingest import pipeline
from ..records import MemoryRecord
from ..store.links import link_id
from ..text import plural
from .base import MemoryCommand
from .display import hanging, minute, safe, shortened, table

Steps = Generator[Any, Any, None]

QUOTED = 60  # characters of a memory within a sentence
LOCKED_SHOWN = 10

# --- adding and editing ---------------------------------------------------------------------------


@defer.inlineCallbacks
def add(command: MemoryCommand, npc: Any, text: str) -> Steps:
    """Add a memory that is never pruned."""
    entry = yield edit.add(npc, command.caller, text)
    command.tell(f"{safe(npc.key)} will remember that (entry {entry.id}).")


@defer.inlineCallbacks
def teach(command: MemoryCommand, npc: Any, text: str) -> Steps:
    """Let the NPC learn a longer text; `|/` begins a new line."""
    learned = yield edit.teach(npc, command.caller, text.replace("|/", "\n"))
    if learned == pipeline.Learned():
        command.tell("There is nothing to learn: the text is empty.")
    else:
        command.tell(f"{safe(npc.key)} was taught {learned.told()}.")


_EDIT_USAGE = "<new text>, or importance <1-10>, emotions <labels>, lesson <text>."
_EDITED = {
    "content": "now says",
    "importance": "has a new importance",
    "emotions": "has new emotions",
    "lesson": "has a new lesson",
}


@defer.inlineCallbacks
def reword(command: MemoryCommand, npc: Any, text: str) -> Steps:
    """Change the text, importance, emotions or lesson of one memory."""
    memory_id, _, change = text.partition(" ")
    usage = f"Usage: @memory/edit {safe(npc.key)} = {safe(memory_id)} {_EDIT_USAGE}"
    if not change.strip():
        command.tell(usage)
        return
    try:
        changes = edited_fields(change.strip())
    except edit.CannotEdit as problem:
        command.tell(f"|r{safe(problem)}|n {usage}")
        return
    memory = yield edit.edit(npc, command.caller, memory_id, **changes)
    _tell_changed(command, npc, memory, _EDITED[next(iter(changes))])


def edited_fields(change: str) -> dict[str, Any]:
    """Parse what follows the id: a field and its value, or the new text.

    >>> edited_fields("emotions joy, fear")
    {'emotions': ('joy', 'fear')}

    Raises:
        edit.CannotEdit: A field is named without a valid value.
    """
    field, value = [*change.split(None, 1), ""][:2]
    field = field.lower()
    if field == "importance":
        if not re.fullmatch(r"-?\d{1,4}", value):
            raise edit.CannotEdit(
                f"Importance is a whole number from 1 to 10, not '{shortened(value, QUOTED)}'."
            )
        return {"importance": int(value)}
    if field in ("emotion", "emotions"):
        labels = tuple(filter(None, re.split(r"[,\s]+", value.lower())))
        if not labels:
            raise edit.CannotEdit("No emotion is given.")
        return {"emotions": labels}
    if field == "lesson":
        if not value:
            raise edit.CannotEdit("No lesson is given.")
        return {"lesson": value}
    return {"content": change}


def _tell_changed(command: MemoryCommand, npc: Any, memory: MemoryRecord, how: str) -> None:
    short = ids.short(memory)
    what = "Entry" if short == link_id(memory) else "Memory"
    command.caller.msg(
        hanging(f"{what} |y{short}|n of {safe(npc.key)} {how}: ", memory.content)
        + f"\n|xTo undo: @memory/undo {safe(npc.key)}|n"
    )


# --- pinning and locking --------------------------------------------------------------------------


def _tagging(act: Callable[..., defer.Deferred], how: str) -> Callable[..., defer.Deferred]:
    @defer.inlineCallbacks
    def tag(command: MemoryCommand, npc: Any, memory_id: str) -> Steps:
        memory = yield act(npc, command.caller, memory_id)
        _tell_changed(command, npc, memory, how)

    return tag


pin = _tagging(edit.pin, "is now pinned")
unpin = _tagging(edit.unpin, "is no longer pinned")
lock = _tagging(edit.lock, "is now locked")
unlock = _tagging(edit.unlock, "is no longer locked, but still pinned")


# --- forgetting -----------------------------------------------------------------------------------

_ABOUT = re.compile(r"about\s+(.+)", re.IGNORECASE)
_WITH_ALL = re.compile(r"(\S+)\s+(?:and\s+)?all(?:\s+from\s+it)?", re.IGNORECASE)


@defer.inlineCallbacks
def forget_memory(command: MemoryCommand, npc: Any, text: str) -> Steps:
    """Forget one memory, one with all that was derived from it, or a person."""
    if about := _ABOUT.fullmatch(text):
        yield _erase_person(command, npc, about[1])
        return
    name, found = safe(npc.key), _WITH_ALL.fullmatch(text)
    memory_id, cascade = (found[1], True) if found else (text, False)
    going: forget.Selection = yield forget.select(npc, memory_id, cascade=cascade)
    root = going.memories[0]
    quoted = safe(shortened(root.content, QUOTED))
    sure = yield command.confirm(
        f'Let {name} forget {ids.short(root)}, "{quoted}" ({going.summary()})'
    )
    if not sure:
        return
    gone: forget.Forgotten = yield forget.forget(npc, command.caller, memory_id, cascade)
    undo_hint = f"To undo: @memory/undo {name}" if gone.undoable else "Too large to be undone."
    command.tell(f"{name} has forgotten {gone.summary}. |x{undo_hint}|n")


@defer.inlineCallbacks
def _erase_person(command: MemoryCommand, npc: Any, person: str) -> Steps:
    if not command.may(npc, "erase"):
        return
    identity = ids.person(npc, person)
    key, name = safe(npc.key), safe(npc.memory.people.name_of(identity) or identity)
    sure = yield command.confirm(
        f"Erase {name} ({safe(identity)}) from the memory of {key}: all they said, all that was "
        "derived from it, their profile? This cannot be undone."
    )
    if not sure:
        return
    access.record(command.caller, "erase a person", npc, identity)
    command.tell(f"Erasing {name} from the memory of {key} ...")
    gone: erase.Erased = yield erase.erase_person(npc, identity)
    command.caller.msg(hanging(f"{key} no longer knows {name}. Erased: ", gone.summary()))
    command.tell(
        "|xOther NPCs may still remember them, and earlier exports and backups still contain "
        f"them. {gone.left_on_disk}|n"
    )


@defer.inlineCallbacks
def wipe(command: MemoryCommand, npc: Any) -> Steps:
    """Erase the whole memory of an NPC."""
    name = safe(npc.key)
    sure = yield command.confirm(
        f"Erase the whole memory of {name}: its journal, all that was derived from it, everybody "
        f"it knows? This cannot be undone. To keep a copy: @memory/export {name}. Erase it"
    )
    if not sure:
        return
    access.record(command.caller, "wipe", npc)
    command.tell(f"Erasing the memory of {name} ...")
    gone: erase.Erased = yield erase.wipe(npc)
    command.caller.msg(hanging(f"{name} remembers nothing now. Erased: ", gone.summary()))
    if gone.left_on_disk:
        command.tell(f"|x{gone.left_on_disk}|n")


# --- players' requests to be forgotten ------------------------------------------------------------

_DROP = re.compile(r"drop\s+(\d{1,4})", re.IGNORECASE)


@defer.inlineCallbacks
def erasure_requests(command: MemoryCommand, text: str) -> Steps:
    """List the players who asked to be forgotten, or drop a request."""
    if not command.may(None, "look"):
        return
    if text:
        yield _drop_request(command, text)
        return
    waiting: list[requests.Request] = yield requests.waiting()
    visible = [
        (number, each)
        for number, each in enumerate(waiting, start=1)  # `drop` counts the hidden ones too
        if access.may(command.caller, requests.npc_of(each), "look")
    ]
    if not visible:
        command.tell("No player has asked to be forgotten.")
        return
    rows = [
        (number, each.name, f"{each.npc} (#{each.npc_id})", minute(each.when))
        for number, each in visible
    ]
    first = visible[0][1]
    command.page(
        "|wPlayers who asked to be forgotten|n",
        table(("no.", "player", "npc", "since"), rows, right=(0,)),
        f"To grant one: @memory/forget #{first.npc_id} = about {safe(first.identity)}",
        "To drop one: @memory/requests = drop <number>",
    )


@defer.inlineCallbacks
def _drop_request(command: MemoryCommand, text: str) -> Steps:
    found = _DROP.fullmatch(text)
    if not found:
        command.tell("Usage: @memory/requests [= drop <number>]. See help @memory.")
        return
    if not command.may(None, "erase"):
        return
    number = int(found[1])
    waiting: list[requests.Request] = yield requests.waiting()
    npc = requests.npc_of(waiting[number - 1]) if 1 <= number <= len(waiting) else None
    if npc is not None and not command.may(npc, "erase"):
        return
    dropped: requests.Request = yield requests.drop(number)
    access.record(command.caller, "drop a request of", None, dropped.identity, f"#{dropped.npc_id}")
    command.tell(f"Dropped: {safe(dropped.npc)} still knows {safe(dropped.name)}.")


# --- undo -----------------------------------------------------------------------------------------


@defer.inlineCallbacks
def undo(command: MemoryCommand, npc: Any, text: str) -> Steps:
    """Take back the last change, or drop what is kept for that."""
    name = safe(npc.key)
    if text.lower() == "clear":
        count = undo_log.clear(npc)
        access.record(command.caller, "clear what could be undone", npc)
        command.tell(f"{plural(count, 'change')} of {name} can no longer be undone.")
    elif text:
        command.tell(
            f"@memory/undo {name} undoes the last change; @memory/undo {name} = clear deletes "
            "what is kept for that."
        )
    else:
        act: undo_log.Act = yield edit.undo(npc, command.caller)
        command.caller.msg(hanging(f"Undone for {name}: ", act.summary()))


# --- pausing --------------------------------------------------------------------------------------


def pause(command: MemoryCommand, npc: Any) -> None:
    """Stop an NPC from hearing, learning and sleeping."""
    name = safe(npc.key)
    if edit.pause(npc, command.caller):
        command.tell(
            f"{name} is paused and neither hears nor learns. To resume: @memory/resume {name}"
        )
    else:
        command.tell(f"{name} is already paused. To resume: @memory/resume {name}")


def resume(command: MemoryCommand, npc: Any) -> None:
    """Let a paused NPC go on."""
    name = safe(npc.key)
    resumed = edit.pause(npc, command.caller, on=False)
    if paused(npc):
        command.tell(f"All NPCs are paused, {name} too. To resume: @memory/resume all")
    elif resumed:
        command.tell(f"{name} hears and learns again.")
    else:
        command.tell(f"{name} was not paused.")


def pause_all(command: MemoryCommand, on: bool) -> None:
    """Pause or resume every NPC whose lock memory_edit admits the caller."""
    if not command.may(None, "edit"):
        return
    npcs = inspect.npcs()
    locked = [npc for npc in npcs if not access.may(command.caller, npc, "edit")]
    if npcs and len(locked) == len(npcs):
        command.tell("Nothing was done: the locks memory_edit of all NPCs keep you out.")
        return
    changed = edit.pause_all(command.caller, on, locked)
    if on:
        message = (
            f"All NPCs are {'' if changed else 'already '}paused: none hears, learns or sleeps. "
            "To resume: @memory/resume all"
        )
    elif changed:
        message = "All NPCs hear and learn again, except those paused individually."
    else:
        message, locked = "They were not paused.", []
    if locked:
        # those that the caller may not look at are counted, not named
        visible = [npc for npc in locked if access.may(command.caller, npc, "look")]
        named = [f"{safe(npc.key)} ({npc.dbref})" for npc in visible[:LOCKED_SHOWN]]
        more = len(locked) - len(named)
        if more:
            named.append(f"{more} more" if named else plural(more, "NPC"))
        message += f" Unchanged, because their lock memory_edit keeps you out: {', '.join(named)}."
    command.tell(message)
