"""Tasks: long changes that a page starts without waiting for them, and the page of a task.

The game keeps the last tasks in memory; a reload forgets them, and an erasure or import that it
broke off says so when it is started again. Only the account that started a task sees it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from django.http import HttpRequest, HttpResponse
from twisted.internet import defer
from twisted.python.failure import Failure

from .. import offload
from ..admin.jobs import is_expected
from ..records import now_iso
from . import gate
from .game_pages import GameView

KEPT = 50
RUNNING = 4  # at once; each holds an NPC still, or rewrites the store
REFRESH = 2  # seconds after which the page of a running task is loaded again

_FAILED = "That went wrong. Details are in server/logs/ai_memory.log."


@dataclass(frozen=True, slots=True)
class Task:
    """One long change, as plain data."""

    id: str
    heading: str
    account_id: int
    back: str  # URL of the page to return to
    started: str
    state: str = "running"  # or "done", or "failed"
    told: str = ""  # how far it is, or what came of it
    file: Path | None = None  # that it made, which stays for some time
    file_name: str = ""  # for the visitor


_tasks: dict[str, Task] = {}  # reactor thread only


def start(who: Any, heading: str, back: str, work: Callable[[Callable[..., None]], Any]) -> str:
    """Start a task and return its id (reactor thread).

    Args:
        work: Called with a function that changes attributes of the task, `note(told=...)`. Returns
            the message for the visitor, or a Deferred of it.

    Raises:
        offload.Busy: Too many tasks are running.
    """
    if sum(each.state == "running" for each in _tasks.values()) >= RUNNING:
        raise offload.Busy(f"{RUNNING} long changes are running already. Wait until one is over.")
    task = Task(secrets.token_hex(8), heading, who.id, back, now_iso())
    _tasks[task.id] = task
    over = [each.id for each in _tasks.values() if each.state != "running"]
    for old in over[: max(0, len(_tasks) - KEPT)]:
        del _tasks[old]

    def note(**changes: Any) -> None:
        if task.id in _tasks:
            _tasks[task.id] = replace(_tasks[task.id], **changes)

    def failed(reason: Failure) -> None:
        expected = is_expected(reason.value)
        note(state="failed", told=reason.getErrorMessage() if expected else _FAILED)
        if not expected:
            offload.log_failure(reason, heading)

    done = defer.maybeDeferred(work, note)
    done.addCallback(lambda told: note(state="done", told=told)).addErrback(failed)
    return task.id


def find(who: Any, task_id: str) -> Task:
    """Return a task of this account (reactor thread).

    Raises:
        gate.NotThere
    """
    task = _tasks.get(task_id)
    if task is None or task.account_id != who.id:
        raise gate.NotThere(
            "There is no such task. The server may have been reloaded since: look at the memory, "
            "and start it again if it is not done."
        )
    return task


class TaskView(GameView):
    """How far a task is, or what came of it."""

    template = "ai_memory/task.html"

    def get(self, request: HttpRequest, **where: Any) -> HttpResponse:
        task = gate.ask(request.user.pk, find, where["task_id"])
        response = self.show(task=task, title=task.heading)
        if task.state == "running":
            response["Refresh"] = str(REFRESH)
        return response
