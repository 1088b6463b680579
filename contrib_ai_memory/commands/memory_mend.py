"""What @memory changes: add, teach, edit, forget, pin and lock, undo, pause."""

from __future__ import annotations

import re
from typing import Any

from twisted.internet import defer

from ..admin import access, edit, erasure, forget, ids, inspect, undo_log
from ..ingest import pipeline
from ..records import MemoryRecord
from ..store.links import link_id
from ..text.plural import plural
from .display import hanging, safe, shortened

_ALL = re.compile(r"(\S+)\s+(?:and\s+)?all(?:\s+from\s+it)?", re.IGNORECASE)
_ABOUT = re.compile(r"about\s+(.+)", re.IGNORECASE)
_IMPORTANCE = re.compile(r"-?\d{1,4}")
_EDITED = {
    "content": "now says",
    "importance": "has its new importance",
    "emotions": "has its new emotions",
    "lesson": "has its new lesson",
}
_QUOTED = 60  # characters of a memory within a sentence
LEFT_OUT_NAMED = 10
_EDIT_USAGE = "<new text>, or importance <1-10>, emotions <labels>, lesson <text>."


class Mending:
    """The switches that change something; mixed into `CmdMemory`."""

    # --- adding and changing ------------------------------------------------------------------

    def do_add(self, npc: Any) -> None:
        added = edit.add(npc, self.caller, self.rhs)
        self.when(
            added,
            lambda entry: self.tell(f"{safe(npc.key)} will remember that (entry {entry.id})."),
        )

    def do_teach(self, npc: Any) -> None:
        learned = edit.teach(npc, self.caller, self.rhs.replace("|/", "\n"))
        self.when(learned, lambda learned: self.tell(learned_line(npc, learned)))

    def do_edit(self, npc: Any) -> None:
        memory_id, _, change = self.rhs.partition(" ")
        if not change.strip():
            self.tell(
                f"Say what it is to say: @memory/edit {safe(npc.key)} = {safe(memory_id)} "
                f"{_EDIT_USAGE}"
            )
            return
        try:
            wanted = asked_to_edit(change.strip())
        except edit.CannotEdit as problem:
            usage = f"@memory/edit {safe(npc.key)} = {safe(memory_id)}"
            self.tell(f"|r{safe(problem)}|n Usage: {usage} {_EDIT_USAGE}")
            return
        edited = edit.edit(npc, self.caller, memory_id, **wanted)
        self.when(edited, lambda memory: self._changed(npc, memory, _EDITED[next(iter(wanted))]))

    def _changed(self, npc: Any, memory: MemoryRecord, now: str) -> None:
        short = ids.short(memory)
        what = "Entry" if short == link_id(memory) else "Memory"
        self.caller.msg(
            hanging(f"{what} |y{short}|n of {safe(npc.key)} {now}: ", memory.content)
            + f"\n|x@memory/undo {safe(npc.key)} takes it back.|n"
        )

    # --- forgetting ---------------------------------------------------------------------------

    def do_forget(self, npc: Any) -> None:
        if about := _ABOUT.fullmatch(self.rhs):
            if self.may(npc, "erase"):
                who = defer.maybeDeferred(ids.person, npc, about[1])
                self.when(who, lambda identity: self._ask_about(npc, identity))
            return
        cascade = _ALL.fullmatch(self.rhs)
        memory_id = cascade[1] if cascade else self.rhs
        going = forget.select(npc, memory_id, cascade=bool(cascade))
        self.when(going, lambda going: self._ask_forget(npc, memory_id, going, bool(cascade)))

    def _ask_forget(self, npc: Any, memory_id: str, going: forget.Selection, cascade: bool) -> None:
        root = going.memories[0]
        said = safe(shortened(root.content, _QUOTED))

        def yes() -> None:
            gone = forget.forget(npc, self.caller, memory_id, cascade)
            self.when(gone, lambda gone: self._forgotten(npc, gone))

        self.ask(f'Let {safe(npc.key)} forget {going.summary()}: {ids.short(root)}, "{said}"?', yes)

    def _forgotten(self, npc: Any, gone: forget.Forgotten) -> None:
        name = safe(npc.key)
        back = (
            f"@memory/undo {name} brings it back." if gone.undoable else "It was too much to undo."
        )
        self.tell(f"{name} has forgotten {gone.summary}. |x{back}|n")

    def _ask_about(self, npc: Any, identity: str) -> None:
        name = npc.memory.people.name_of(identity) or identity

        def yes() -> None:
            access.record(self.caller, "erase a person", npc, identity)
            self.tell(f"{safe(npc.key)} forgets {safe(name)} ...")
            gone = erasure.erase_person(npc, identity)
            self.when(gone, lambda gone: self._erased(npc, name, gone))

        self.ask(
            f"Erase {safe(name)} ({safe(identity)}) from the memory of {safe(npc.key)}: all they "
            "said, all that was drawn from it, their profile? This cannot be undone.",
            yes,
        )

    def _erased(self, npc: Any, name: str, gone: erasure.Erased) -> None:
        self.caller.msg(hanging(f"{safe(npc.key)} knows {safe(name)} no more: ", gone.summary()))
        self.tell(
            "|xOther NPCs may remember them still; exports and backups made before hold them. "
            f"{gone.left_on_disk}|n"
        )

    # --- pinning ------------------------------------------------------------------------------

    def do_pin(self, npc: Any) -> None:
        pinned = edit.pin(npc, self.caller, self.rhs)
        self.when(pinned, lambda memory: self._changed(npc, memory, "is never cleaned away"))

    def do_unpin(self, npc: Any) -> None:
        pinned = edit.unpin(npc, self.caller, self.rhs)
        self.when(pinned, lambda memory: self._changed(npc, memory, "may be cleaned away"))

    def do_lock(self, npc: Any) -> None:
        locked = edit.lock(npc, self.caller, self.rhs)
        self.when(locked, lambda memory: self._changed(npc, memory, "stays as it is"))

    def do_unlock(self, npc: Any) -> None:
        locked = edit.unlock(npc, self.caller, self.rhs)
        self.when(
            locked, lambda memory: self._changed(npc, memory, "may change again (still pinned)")
        )

    # --- undo and pause -----------------------------------------------------------------------

    def do_undo(self, npc: Any) -> None:
        name = safe(npc.key)
        if (self.rhs or "").lower() == "clear":
            count = undo_log.clear(npc)
            access.record(self.caller, "clear what could be undone", npc)
            changes = plural(count, "change")
            self.tell(f"Dropped: {changes} of {name} can no longer be taken back.")
            return
        if self.rhs:
            self.tell(
                f"@memory/undo {name} takes the last change back; @memory/undo {name} = clear "
                "drops all that could be taken back."
            )
            return
        taken = edit.undo(npc, self.caller)
        self.when(
            taken, lambda act: self.caller.msg(hanging(f"Taken back at {name}: ", act.summary()))
        )

    def do_pause(self, npc: Any) -> None:
        name = safe(npc.key)
        if edit.pause(npc, self.caller):
            self.tell(
                f"{name} is paused: it neither hears nor learns nor sleeps. @memory/resume {name}"
            )
        else:
            self.tell(f"{name} is paused already. @memory/resume {name} lets it go on.")

    def do_resume(self, npc: Any) -> None:
        name = safe(npc.key)
        went_on = edit.pause(npc, self.caller, on=False)
        if edit.paused(npc):
            self.tell(f"{name} stays paused with all NPCs: @memory/resume all")
        elif went_on:
            self.tell(f"{name} hears and learns again.")
        else:
            self.tell(f"{name} was not paused.")

    def do_all(self, on: bool) -> None:
        """Pause all NPCs whose locks let the caller, or let them go on."""
        if not self.may(None, "edit"):
            return
        every = inspect.npcs()
        locked = [npc for npc in every if not access.may(self.caller, npc, "edit")]
        if every and len(locked) == len(every):
            self.tell("Nothing was done: the locks memory_edit of all NPCs keep you out.")
            return
        changed = edit.pause_all(self.caller, on, locked)
        if on:
            already = "" if changed else " already"
            done = f"All NPCs are paused{already}: none hears, learns or sleeps. @memory/resume all"
        elif changed:
            done = "All NPCs hear and learn again, but for those that are paused by themselves."
        else:
            done, locked = "They were not paused.", []
        self.tell(f"{done} {self._left_out(locked)}" if locked else done)

    def _left_out(self, locked: list[Any]) -> str:
        """Names the NPCs that stay as they are; those that the caller may not see are counted."""
        seen = [npc for npc in locked if access.may(self.caller, npc, "look")]
        named = [f"{safe(npc.key)} ({npc.dbref})" for npc in seen[:LEFT_OUT_NAMED]]
        more = len(locked) - len(named)
        if more:
            named.append(f"{more} more" if named else plural(more, "NPC"))
        return f"Left as they are, for their lock memory_edit keeps you out: {', '.join(named)}."


# --- what is asked, what is told ------------------------------------------------------------------


def asked_to_edit(change: str) -> dict[str, Any]:
    """What behind an id is to change: importance, emotions, a lesson, or the text.

    >>> asked_to_edit("emotions joy, fear")
    {'emotions': ('joy', 'fear')}

    Raises:
        mending.CannotEdit: It begins with the name of a field, whose value is none.
    """
    field, value = [*change.split(None, 1), ""][:2]
    field = field.lower()
    if field == "importance":
        if not _IMPORTANCE.fullmatch(value):
            raise edit.CannotEdit(
                f"Importance is a whole number from 1 to 10, not '{shortened(value, _QUOTED)}'."
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


def learned_line(npc: Any, learned: pipeline.Learned) -> str:
    """What became of a text that an NPC was taught."""
    if learned == pipeline.Learned():
        return "There is nothing to learn: the text is empty."
    return f"{safe(npc.key)} was taught {learned.told()}."
