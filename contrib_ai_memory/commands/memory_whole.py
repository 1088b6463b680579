"""A whole memory in @memory: out to a file, in from one, emptied; and who asks to be forgotten."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from twisted.python.failure import Failure

from .. import conf, offload
from ..admin import access, archive, archive_format, erasure, inspect, requests
from ..text.plural import plural
from .display import hanging, safe, table, when

_FILE = re.compile(r"\w[\w. -]{0,80}")
_DROP = re.compile(r"drop\s+(\d{1,4})", re.IGNORECASE)


class WholeMemory:
    """The switches on a whole memory; mixed into `CmdMemory`."""

    def do_export(self, npc: Any) -> None:
        path = self._path(self.rhs or archive.file_name(npc))
        if path is None:
            return
        there = offload.run(offload.MEMORY, path.exists)
        self.when(there, lambda is_there: self._export(npc, path, is_there))

    def _export(self, npc: Any, path: Path, is_there: bool) -> None:
        if is_there and not access.may(self.caller, None, "erase"):
            self.tell(
                f"There is a file {safe(path.name)} already, which would be lost. Give another "
                f"name: @memory/export {safe(npc.key)} = <file name>. Somebody with the permission "
                "Admin can replace it."
            )
            return
        access.record(self.caller, "export", npc, path.name)
        self.tell(f"The memory of {safe(npc.key)} is written to a file ...")
        self.when(archive.export(npc, path), lambda done: self._exported(npc, done))

    def _exported(self, npc: Any, done: archive.Exported) -> None:
        entries = plural(done.entries, "journal entry", "journal entries")
        memories = plural(done.memories, "memory", "memories")
        text = f"{entries}, {memories}. It holds secrets, readable: {done.path}"
        self.caller.msg(hanging(f"Exported {safe(npc.key)}: ", text, limit=1000))

    def do_import(self, npc: Any) -> None:
        path = self._path(self.rhs)
        if path is not None:
            whose = offload.run(offload.MEMORY, archive_format.header_of, path)
            self.when(whose, lambda header: self._import_of(npc, path, header))

    def _import_of(self, npc: Any, path: Path, header: archive_format.ArchiveHeader) -> None:
        """Whispers are in a file: who may not look into the NPC that it is of gets none of it."""
        owners = inspect.owners_of(header.agent_id)
        closed = [each for each in owners if not access.may(self.caller, each, "look")]
        if closed:
            self.tell(
                f"{safe(path.name)} holds the memory of {safe(closed[0].key)} "
                f"({closed[0].dbref}), whose lock memory_look keeps you out."
            )
        elif not owners and not access.may(self.caller, None, "erase"):
            self.tell(
                f"{safe(path.name)} holds the memory of {safe(header.key)}, which no NPC of this "
                "game has now. Somebody with the permission Admin can import it."
            )
        else:
            self._import(npc, path, replace=False)

    def _import(self, npc: Any, path: Path, *, replace: bool) -> None:
        access.record(self.caller, "import", npc, path.name)
        self.tell(f"{safe(path.name)} becomes the memory of {safe(npc.key)} ...")
        made = archive.import_(npc, path, replace=replace)
        made.addCallbacks(
            lambda done: self._imported(npc, done), self._refused, (), {}, (npc, path)
        )
        self.when(made, lambda _done: None)

    def _imported(self, npc: Any, done: archive.Imported) -> None:
        entries = plural(done.entries, "journal entry", "journal entries")
        memories = plural(done.memories, "memory", "memories")
        copied = (
            " It is a mind of its own: another NPC here has the one that was exported."
            if done.copied
            else ""
        )
        self.tell(f"{safe(npc.key)} remembers {entries}, {memories}.{copied}")

    def _refused(self, reason: Failure, npc: Any, path: Path) -> Any:
        """Why nothing was imported; where that is a memory in the way, it may be replaced."""
        if not reason.check(archive.NotEmpty):
            return reason
        if not access.may(self.caller, npc, "erase"):
            self.tell(
                f"{safe(npc.key)} remembers something already. Somebody with the permission Admin "
                "can replace that, or give it to an NPC that remembers nothing."
            )
            return None
        self.ask(
            f"{safe(npc.key)} remembers something already, which would be lost. Replace it by "
            f"{safe(path.name)}?",
            lambda: self._import(npc, path, replace=True),
        )
        return None

    def _path(self, name: str) -> Path | None:
        """A file in the folder of exports, and nowhere else."""
        if not _FILE.fullmatch(name):
            self.tell(
                "A file name has letters, digits, blanks, and . _ - in it, and no folder: it lies "
                f"in {safe(conf.directory() / archive.FOLDER)}."
            )
            return None
        file = name if name.endswith(".jsonl") else f"{name}.jsonl"
        return conf.directory() / archive.FOLDER / file

    def do_wipe(self, npc: Any) -> None:
        def yes() -> None:
            access.record(self.caller, "wipe", npc)
            self.tell(f"{safe(npc.key)} forgets everything ...")
            self.when(erasure.wipe(npc), lambda gone: self._wiped(npc, gone))

        self.ask(
            f"Empty the whole memory of {safe(npc.key)}: its journal, all that came of it, all "
            f"whom it knows? This cannot be undone; @memory/export {safe(npc.key)} keeps a copy.",
            yes,
        )

    def _wiped(self, npc: Any, gone: erasure.Erased) -> None:
        self.caller.msg(hanging(f"{safe(npc.key)} remembers nothing now. Gone: ", gone.summary()))
        if gone.left_on_disk:
            self.tell(f"|x{gone.left_on_disk}|n")

    # --- requests -----------------------------------------------------------------------------

    def do_requests(self) -> None:
        """Who asks to be forgotten; or one of these is dropped."""
        if not self.may(None, "look"):
            return
        if self.rhs:
            self._drop(self.rhs)
            return
        self.when(requests.waiting(), self._show_requests)

    def _show_requests(self, waiting: list[requests.Request]) -> None:
        shown = [
            (number, each)
            for number, each in enumerate(waiting, start=1)  # `drop` counts those hidden as well
            if access.may(self.caller, requests.npc_of(each), "look")
        ]
        if not shown:
            self.tell("Nobody asks to be forgotten.")
            return
        rows = [
            (number, each.name, f"{each.npc} (#{each.npc_id})", when(each.when))
            for number, each in shown
        ]
        _number, first = shown[0]
        self.page(
            "\n".join(
                [
                    "|wWho asks to be forgotten, and by whom|n",
                    table(("no.", "who", "by", "since"), rows, right=(0,)),
                    f"To grant one: @memory/forget #{first.npc_id} = about {safe(first.identity)}",
                    "To drop one: @memory/requests = drop <number>",
                ]
            )
        )

    def _drop(self, text: str) -> None:
        found = _DROP.fullmatch(text)
        if not found:
            self.tell("Usage: @memory/requests, or @memory/requests = drop <number>")
            return
        if not self.may(None, "erase"):
            return
        number = int(found[1])
        self.when(requests.waiting(), lambda waiting: self._drop_of(waiting, number))

    def _drop_of(self, waiting: list[requests.Request], number: int) -> None:
        npc = requests.npc_of(waiting[number - 1]) if 1 <= number <= len(waiting) else None
        if npc is None or self.may(npc, "erase"):
            self.when(requests.drop(number), self._dropped)

    def _dropped(self, request: requests.Request) -> None:
        access.record(
            self.caller, "drop a request of", None, request.identity, f"#{request.npc_id}"
        )
        self.tell(f"Dropped: {safe(request.name)} stays known to {safe(request.npc)}.")
