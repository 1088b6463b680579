"""The staff pages that change something, made from the table of operations.

A GET shows a form or a confirmation; only a POST with Django's CSRF token acts. Pin and lock, which
one click reverts, have buttons on the memory's page and need no confirmation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.http import url_has_allowed_host_and_scheme
from twisted.internet import defer

from ..admin import edit, forget, ids, inspect, persona
from ..admin.operations import TABLE, UNDO, Operation
from ..sleep.night import NotNow, SwitchedOff
from . import gate
from .forms import OperationForm, ScheduleForm, SheetForm
from .views import NPCHeader, NPCView

MOST_SELECTED = 100  # memories forgotten at once
REFUSALS = (ValueError, NotNow, SwitchedOff)  # their messages are written for the visitor
AFTERWARDS = {  # URL of the page to go to, where that is not the overview, or that of the memory
    "sleep": ("nights", []),
    "set_schedule": ("nights", []),
    "teach": ("memories", ["taught"]),
}


def told(operation: Operation, npc: Any, result: Any) -> str:
    """Return what was done, and whether it can be undone."""
    undo = operation.inverse == UNDO and operation.reversible(result)
    return f"{operation.done(npc, result)}{' You can undo this.' if undo else ''}"


def carry_out(npc: Any, who: Any, operation: Operation, arguments: dict[str, Any]) -> Any:
    """Run an operation, as a Deferred of what was done (reactor thread)."""
    done = operation.repeat(npc, who, **arguments)
    return done.addCallback(lambda result: told(operation, npc, result))


def _back(operation: Operation, npc_id: int, *where: str) -> str:
    if where:
        return reverse("ai_memory:memory", args=[npc_id, *where])
    page, more = AFTERWARDS.get(operation.name, ("overview", []))
    return reverse(f"ai_memory:{page}", args=[npc_id, *more])


# --- buttons --------------------------------------------------------------------------------------


class ActionView(NPCView):
    """Confirms and runs what a button of an NPC, or of one memory, is for."""

    template = "ai_memory/confirm.html"
    tab = "actions"
    access_type = "edit"

    def get(self, request: HttpRequest, npc_id: int, name: str, **where: str) -> HttpResponse:
        operation, label, arguments = _button(name, bool(where))
        npc, (shown, question) = self.look(npc_id, _confirmation, operation, where, arguments)
        return self.show(
            npc=npc,
            title=label,
            about=operation.about,
            shown=shown,
            question=question,
            danger=bool(question) and operation.asks,
            back=_back(operation, npc_id, *where.values()),
        )

    def post(self, request: HttpRequest, npc_id: int, name: str, **where: str) -> HttpResponse:
        operation, _label, arguments = _button(name, bool(where))
        there = _back(operation, npc_id, *where.values())
        try:
            done = self.ask(npc_id, carry_out, operation, {**where, **arguments})
        except gate.NOT_FOUND:
            raise
        except REFUSALS as refusal:
            messages.error(request, str(refusal))
            return HttpResponseRedirect(there)
        messages.success(request, done)
        gone = bool(where) and operation.question is not None
        return HttpResponseRedirect(_back(operation, npc_id) if gone else there)


def _button(name: str, of_memory: bool) -> tuple[Operation, str, Mapping[str, Any]]:
    for operation in TABLE.values():
        for page, label, arguments in operation.all_buttons:
            if page == name and operation.of_memory == of_memory:
                return operation, label, arguments
    raise Http404("There is no such action.")


@defer.inlineCallbacks
def _confirmation(
    npc: Any, operation: Operation, where: dict[str, str], arguments: Mapping[str, Any]
) -> Any:
    shown = question = None
    if where:
        shown = yield inspect.show(npc, **where)
    if operation.question:
        question = yield operation.question(npc, **where, **arguments)
    return shown, question


# --- several memories ----------------------------------------------------------------------------


class ForgetView(NPCView):
    """Preview of forgetting the memories selected on a list, and its confirmation."""

    template = "ai_memory/forget.html"
    tab = "forget"
    access_type = "edit"
    timeout = gate.WHOLE_MEMORY

    def get(self, request: HttpRequest, npc_id: int) -> HttpResponse:
        return HttpResponseRedirect(reverse("ai_memory:facts", args=[npc_id]))

    def post(self, request: HttpRequest, npc_id: int) -> HttpResponse:
        chosen = list(dict.fromkeys(request.POST.getlist("id")))[:MOST_SELECTED]
        back = request.POST.get("back", "")
        if not url_has_allowed_host_and_scheme(back, allowed_hosts=None):
            back = reverse("ai_memory:facts", args=[npc_id])
        if not chosen:
            self.look(npc_id, lambda npc: None)
            messages.error(request, "Nothing is selected. Tick the memories to be forgotten first.")
            return HttpResponseRedirect(back)
        if "confirm" in request.POST:
            cascade = request.POST["confirm"] == "all"
            messages.success(request, self.ask(npc_id, _forget, chosen, cascade))
            return HttpResponseRedirect(back)
        npc, (alone, with_all) = self.look(npc_id, _going, chosen)
        roots = alone.memories
        return self.show(
            npc=npc,
            title="Forget selected memories",
            memories=[(ids.short(memory), memory) for memory in roots],
            alone=alone.summary(),
            with_all=with_all.summary(),
            more=[(ids.short(each), each) for each in with_all.memories[len(roots) :]],
            back=back,
        )


def _forget(npc: Any, who: Any, chosen: list[str], cascade: bool) -> defer.Deferred:
    forgotten = forget.forget_several(npc, who, chosen, cascade)
    return forgotten.addCallback(lambda gone: told(TABLE["forget"], npc, gone))


@defer.inlineCallbacks
def _going(npc: Any, chosen: list[str]) -> Any:
    alone = yield forget.select(npc, chosen)
    with_all = yield forget.select(npc, chosen, cascade=True)
    return alone, with_all


# --- forms ----------------------------------------------------------------------------------------


class OperationView(NPCView):
    """The form of an operation.

    Attributes:
        heading: Of the page and its button.
    """

    template = "ai_memory/form.html"
    operation: Any = None
    heading = ""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        operation = self.operation
        self.tab, self.access_type = self.tab or operation.path, operation.access
        self.heading = self.heading or operation.label
        self.timeout = gate.WHOLE_MEMORY if operation.slow else gate.TIMEOUT
        return super().dispatch(request, *args, **kwargs)

    def read(self, npc: Any, *where: str) -> Any:
        """Return what the form needs to know, or a Deferred of it (reactor thread)."""

    def form(self, found: Any, data: Any = None, files: Any = None) -> Any:
        """Return the form, unbound or with what was sent. `found` is what `read` returned."""
        return OperationForm(self.operation, data)

    def prepare(self, form: Any) -> None:
        """Do what needs no memory, on the web thread, before `act`."""

    def act(self, npc: Any, who: Any, form: Any, *where: str) -> Any:
        """Do it; return the message, or a Deferred of it (reactor thread)."""
        target = dict(zip(["memory_id"], where, strict=False))
        return carry_out(npc, who, self.operation, target | form.arguments())

    def after(self, request: HttpRequest, npc_id: int, result: Any, *where: str) -> HttpResponse:
        """Respond to what `act` returned."""
        messages.success(request, result)
        return HttpResponseRedirect(self.back(npc_id, *where))

    def back(self, npc_id: int, *where: str) -> str:
        """Return the URL to go to afterwards, or when the visitor cancels."""
        return _back(self.operation, npc_id, *where)

    def get(self, request: HttpRequest, npc_id: int, **where: str) -> HttpResponse:
        npc, found = self.look(npc_id, self.read, *where.values())
        return self._page(npc, found, self.form(found), *where.values())

    def post(self, request: HttpRequest, npc_id: int, **where: str) -> HttpResponse:
        npc, found = self.look(npc_id, self.read, *where.values())
        form = self.form(found, request.POST, request.FILES)
        if form.is_valid():
            self.prepare(form)
            try:
                result = self.ask(npc_id, self.act, form, *where.values())
            except gate.NOT_FOUND:
                raise
            except REFUSALS as refusal:
                form.add_error(None, str(refusal))
            else:
                return self.after(request, npc_id, result, *where.values())
        response = self._page(npc, found, form, *where.values())
        response.status_code = 400
        return response

    def _page(self, npc: NPCHeader, found: Any, form: Any, *where: str) -> HttpResponse:
        return self.show(
            npc=npc,
            found=found,
            form=form,
            title=self.heading,
            about=self.operation.about,
            danger=self.operation.question is not None,
            back=self.back(npc.id, *where),
        )


class TaskFormView(OperationView):
    """The form of an operation that is a task: its result is the id of that."""

    def after(self, request: HttpRequest, npc_id: int, task: str, *where: str) -> HttpResponse:
        return HttpResponseRedirect(reverse("ai_memory:task", args=[task]))


class EditView(OperationView):
    """Form for a memory's text, importance and emotions."""

    tab = "memory"
    template = "ai_memory/edit.html"

    def read(self, npc: Any, *where: str) -> Any:
        return inspect.show(npc, *where)

    def form(self, found: Any, data: Any = None, files: Any = None) -> OperationForm:
        memory, entry = found.memory, found.entry
        stored = max(1, round(memory.importance * 10))  # 1-10 on pages, 0-1 in the store
        initial = {
            "content": memory.content,
            "importance": entry.importance if entry else stored,
            "emotions": list(memory.dominant_emotions),
        }
        return OperationForm(self.operation, data, initial=initial)


class ScheduleView(OperationView):
    """Form for when an NPC falls asleep by itself."""

    def read(self, npc: Any, *where: str) -> Any:
        return edit.schedule_of(npc)

    def form(self, found: Any, data: Any = None, files: Any = None) -> OperationForm:
        return ScheduleForm(self.operation, data, initial=asdict(found))


class PersonaView(OperationView):
    """Form for the persona sheet: all its fields, of which those that were changed are written."""

    def read(self, npc: Any, *where: str) -> Any:
        return persona.sheet_of(npc)

    def form(self, found: Any, data: Any = None, files: Any = None) -> SheetForm:
        return SheetForm(found, data)

    def act(self, npc: Any, who: Any, form: Any, *where: str) -> str:
        written = [persona.write(npc, who, n, form.cleaned_data[n]) for n in form.changed_data]
        return " ".join(self.operation.done(npc, each) for each in written) or "Nothing changed."


def urls_of_forms(**others: Any) -> list[URLPattern]:
    """Return the URLs of all forms in the table.

    Args:
        others: Views that are no `OperationView`, by operation.
    """
    own = {"edit": EditView, "persona": PersonaView, "set_schedule": ScheduleView}
    found = []
    for each in TABLE.values():
        if each.has_form:
            url = f"m/<slug:memory_id>/{each.path}/" if each.of_memory else f"{each.path}/"
            view = others.get(each.name) or own.get(each.name, OperationView)
            found.append(path(url, view.as_view(operation=each), name=each.path))
    return found
