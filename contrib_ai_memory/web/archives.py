"""The staff pages that export a memory to a file and import one: both as tasks.

A file lies in the folder `transfers` of the store, readable by the game's own account of the
machine, for an hour at most.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.http import FileResponse, HttpRequest
from twisted.internet import defer

from .. import conf
from ..admin import access, archive, archive_format
from ..admin.jobs import batch_job, local_job
from ..admin.operations import TABLE
from ..store import condition
from ..text.sanitising import oneline, sanitise
from . import gate, tasks
from .actions import TaskFormView
from .forms import ReplacingUploadForm, UploadForm
from .game_pages import GameView

KEPT_SECONDS = 3600.0

Note = Callable[..., None]


def _progress(note: Note, what: str, done: int, total: int) -> None:
    note(told=f"{what.capitalize()}: {done}{f' of {total}' if total else ''}.")


# --- export ---------------------------------------------------------------------------------------


class ExportView(TaskFormView):
    """Export a memory to a file, to be downloaded from the page of the task."""

    def form_of(self, found: Any, *sent: Any) -> forms.Form:
        return forms.Form(*sent)

    def act(self, npc: Any, who: Any, form: Any, **where: str) -> str:
        work = partial(_export, npc, who)
        return tasks.start(who, f"Export the memory of {npc.key}", self.back(npc.id), work)


@defer.inlineCallbacks
def _export(npc: Any, who: Any, note: Note) -> Any:
    yield batch_job(_remove_old)
    done = yield TABLE["export"].run(npc, who, path=_new_path(), progress=partial(_progress, note))
    note(file=done.path, file_name=archive.file_name(npc))
    return f"Exported: {done.counts}. The file contains secrets, and is kept here for an hour."


class FileView(GameView):
    """The file that a task made, as a download."""

    def get(self, request: HttpRequest, **where: Any) -> Any:
        task = gate.ask(request.user.pk, tasks.find, where["task_id"])
        if task.file is None or not task.file.is_file():
            raise gate.NotThere("The file is no longer there: export the memory again.")
        kind = "application/octet-stream"
        return FileResponse(
            task.file.open("rb"), as_attachment=True, filename=task.file_name, content_type=kind
        )


# --- import ---------------------------------------------------------------------------------------


class ImportView(TaskFormView):
    """Import an uploaded file as the memory of an NPC."""

    template = "ai_memory/import.html"

    @defer.inlineCallbacks
    def read(self, npc: Any, **where: str) -> Any:
        """Return the NPC's name if it has memories to be confirmed, "" without any."""
        replaces = yield archive.would_replace(npc)
        return npc.key if replaces else ""

    def form_of(self, found: str, *sent: Any) -> forms.Form:
        if not found:
            return UploadForm(*sent)
        form = ReplacingUploadForm(found, *sent)
        form.fields["typed"].label = f"To replace its memories, type: {found}"
        return form

    def prepare(self, form: Any) -> None:
        form.path = _receive(form.cleaned_data["file"])

    def act(self, npc: Any, who: Any, form: Any, **where: str) -> str:
        replace = isinstance(form, ReplacingUploadForm)
        if replace and not access.may(who, npc, "erase"):
            form.path.unlink(missing_ok=True)
            raise gate.NotPermitted(
                f"{npc.key} has memories already, and replacing them takes the permission Admin."
            )
        name = oneline(sanitise(form.cleaned_data["file"].name, 80))
        heading = f"Import {name} into the memory of {npc.key}"
        work = partial(_import, npc, who, form.path, name, replace)
        return tasks.start(who, heading, self.back(npc.id), work)


@defer.inlineCallbacks
def _import(npc: Any, who: Any, path: Path, name: str, replace: bool, note: Note) -> Any:
    try:
        header = yield batch_job(archive_format.header_of, path)
        archive.check_access(who, header)
        done = yield TABLE["import"].run(
            npc, who, path=path, replace=replace, progress=partial(_progress, note)
        )
    except archive_format.BadArchive as bad:
        raise archive_format.BadArchive(str(bad).replace(str(path), name)) from None
    except archive.NotEmpty:
        raise archive.NotEmpty(
            f"{npc.key} has got memories meanwhile, which the import would replace. Nothing was "
            "changed. Import the file again to confirm that."
        ) from None
    finally:
        yield local_job(path.unlink, True)
    return TABLE["import"].done(npc, done)


def _receive(upload: UploadedFile) -> Path:
    """Copy an upload to the folder of transfers (web thread).

    Raises:
        StoreFull: The disk has too little room.
    """
    condition.check_room(_folder(), upload.size or 0)
    _remove_old()
    path = _new_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(archive_format.open_private(path), "wb") as file:
        for chunk in upload.chunks():
            file.write(chunk)
    return path


# --- files ----------------------------------------------------------------------------------------


def _folder() -> Path:
    return conf.directory() / archive.TRANSFERS


def _new_path() -> Path:
    return _folder() / f"{secrets.token_hex(16)}.jsonl"


def _remove_old() -> None:
    """Delete the files that have lain there for too long."""
    for path in _folder().glob("*"):
        with suppress(FileNotFoundError):
            if time.time() - path.stat().st_mtime > KEPT_SECONDS:
                path.unlink()
