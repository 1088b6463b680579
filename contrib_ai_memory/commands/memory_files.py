"""The switches of @memory that export a memory to a file and import one."""

from __future__ import annotations

import re
from collections.abc import Generator
from pathlib import Path
from typing import Any

from twisted.internet import defer

from .. import conf, offload
from ..admin import access, archive, archive_format, inspect
from ..text import plural
from .base import MemoryCommand
from .display import hanging, safe

Steps = Generator[Any, Any, None]

_FILE_NAME = re.compile(r"\w[\w. -]{0,80}")


@defer.inlineCallbacks
def export(command: MemoryCommand, npc: Any, file_name: str) -> Steps:
    """Write the memory of an NPC to a file; only an Admin may replace one."""
    path = _path(command, file_name or archive.file_name(npc))
    if path is None:
        return
    name = safe(npc.key)
    exists = yield offload.run(offload.MEMORY, path.exists)
    if exists and not access.may(command.caller, None, "erase"):
        command.tell(
            f"The file {safe(path.name)} exists already, and replacing it takes the permission "
            f"Admin. Use another name: @memory/export {name} = <file name>"
        )
        return
    access.record(command.caller, "export", npc, path.name)
    command.tell(f"Exporting the memory of {name} ...")
    done: archive.Exported = yield archive.export(npc, path)
    text = f"{_counts(done)}. The file contains secrets in plain text: {done.path}"
    command.caller.msg(hanging(f"Exported {name}: ", text, limit=1000))


@defer.inlineCallbacks
def import_(command: MemoryCommand, npc: Any, file_name: str) -> Steps:
    """Make an exported file the memory of an NPC; only an Admin may replace a memory."""
    path = _path(command, file_name)
    if path is None:
        return
    file, name = safe(path.name), safe(npc.key)
    header = yield offload.run(offload.MEMORY, archive_format.header_of, path)
    if not _may_read(command, file, header):
        return
    try:
        yield _import(command, npc, path, replace=False)
    except archive.NotEmpty:
        if not access.may(command.caller, npc, "erase"):
            command.tell(
                f"{name} has memories already, and replacing them takes the permission Admin. "
                "Import the file into an NPC without memories instead."
            )
            return
        sure = yield command.confirm(
            f"{name} has memories already, which would be lost. Replace them by {file}?"
        )
        if sure:
            yield _import(command, npc, path, replace=True)


def _may_read(command: MemoryCommand, file: str, header: archive_format.ArchiveHeader) -> bool:
    """Check access to the NPC that was exported: its file contains what was whispered to it."""
    owners = inspect.owners_of(header.agent_id)
    closed = [each for each in owners if not access.may(command.caller, each, "look")]
    if closed:
        command.tell(
            f"{file} contains the memory of {safe(closed[0].key)} ({closed[0].dbref}), whose lock "
            "memory_look keeps you out."
        )
    elif not owners and not access.may(command.caller, None, "erase"):
        command.tell(
            f"{file} contains the memory of {safe(header.key)}, and no NPC of this game has that "
            "memory now. Importing it takes the permission Admin."
        )
    else:
        return True
    return False


@defer.inlineCallbacks
def _import(command: MemoryCommand, npc: Any, path: Path, *, replace: bool) -> Steps:
    access.record(command.caller, "import", npc, path.name)
    command.tell(f"Importing {safe(path.name)} into the memory of {safe(npc.key)} ...")
    done: archive.Imported = yield archive.import_(npc, path, replace=replace)
    copied = (
        " It is a copy with an id of its own, as another NPC has the exported memory."
        if done.copied
        else ""
    )
    command.tell(f"{safe(npc.key)} remembers {_counts(done)}.{copied}")


def _counts(done: archive.Exported | archive.Imported) -> str:
    entries = plural(done.entries, "journal entry", "journal entries")
    return f"{entries}, {plural(done.memories, 'memory', 'memories')}"


def _path(command: MemoryCommand, name: str) -> Path | None:
    """A file in the folder of exports; None if the name was rejected with a message."""
    folder = conf.directory() / archive.FOLDER
    if not _FILE_NAME.fullmatch(name):
        command.tell(
            "A file name consists of letters, digits, spaces and . _ - and has no folder. Files "
            f"are kept in {safe(folder)}."
        )
        return None
    return folder / (name if name.endswith(".jsonl") else f"{name}.jsonl")
