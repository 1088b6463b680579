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
from .views import NPCView

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


class OperationView(NPCView):
    """The form of an operation; its methods get the rest of the URL as `where`."""

    template = "ai_memory/form.html"
    operation: Any = None
    heading = ""  # of the page and its button
    preset: Mapping[str, Any] = {}  # arguments that are not asked for

    def prepared(self, **where: Any) -> dict[str, Any]:
        operation = self.operation
        self.tab, self.access_type = self.tab or operation.path, operation.access
        self.heading = self.heading or operation.label
        self.timeout = gate.WHOLE_MEMORY if operation.slow else gate.TIMEOUT
        return where

    def read(self, npc: Any, **where: str) -> Any:
        """Return what the form needs to know, or a Deferred of it (reactor thread)."""

    def form_of(self, found: Any, *sent: Any) -> Any:
        """Return the form, unbound or with what was sent. `found` is what `read` returned."""
        return OperationForm(self.operation, *sent[:1])

    def prepare(self, form: Any) -> None:
        """Do what needs no memory, on the web thread, before `act`."""

    def act(self, npc: Any, who: Any, form: Any, **where: str) -> Any:
        """Do it; return the message, or a Deferred of it (reactor thread)."""
        operation = self.operation
        done = operation.run(npc, who, **where, **form.arguments(), **self.preset)
        return done.addCallback(lambda result: told(operation, npc, result))

    def after(self, npc_id: int, result: Any, **where: str) -> str:
        """Return the URL to go to after `act` returned this."""
        messages.success(self.request, result)
        return self.back(npc_id, **({} if self.operation.name == "forget" else where))

    def back(self, npc_id: int, **where: str) -> str:
        """Return the URL to go to when the visitor cancels."""
        if where:
            return reverse("ai_memory:memory", args=[npc_id, *where.values()])
        page, more = AFTERWARDS.get(self.operation.name, ("overview", []))
        return reverse(f"ai_memory:{page}", args=[npc_id, *more])

    def get(self, request: HttpRequest, **where: Any) -> HttpResponse:
        return self._page(**where)

    def post(self, request: HttpRequest, **where: Any) -> HttpResponse:
        return self._page(request.POST, request.FILES, **where)

    def _page(self, *sent: Any, npc_id: int, **where: str) -> HttpResponse:
        npc, found = self.look(npc_id, self.read, **where)
        form = self.form_of(found, *sent)
        if form.is_valid():
            self.prepare(form)
            try:
                result = self.ask(npc_id, self.act, form, **where)
            except gate.NOT_FOUND:
                raise
            except REFUSALS as refusal:
                if not form.fields:  # nothing to correct
                    messages.error(self.request, str(refusal))
                    return HttpResponseRedirect(self.back(npc_id, **where))
                form.add_error(None, str(refusal))
            else:
                return HttpResponseRedirect(self.after(npc_id, result, **where))
        return self.show(
            status=400 if form.is_bound else 200,
            npc=npc,
            found=found,
            form=form,
            title=self.heading,
            about=self.operation.about,
            danger=self.operation.question is not None and self.operation.asks,
            back=self.back(npc_id, **where),
        )


class ActionView(OperationView):
    """Confirms and runs what a button of an NPC, or of one memory, is for."""

    template = "ai_memory/confirm.html"

    def prepared(self, **where: Any) -> dict[str, Any]:
        name = where.pop("name")
        for operation in TABLE.values():
            for page, label, preset in operation.all_buttons:
                if page == name and operation.of_memory == ("memory_id" in where):
                    self.operation, self.heading, self.preset = operation, label, preset
                    return super().prepared(**where)
        raise Http404("There is no such action.")

    @defer.inlineCallbacks
    def read(self, npc: Any, **where: str) -> Any:
        shown = question = None
        if self.request.method == "GET":  # all of it was seen before it is sent
            if where:
                shown = yield inspect.show(npc, **where)
            if self.operation.question:
                question = yield self.operation.question(npc, **where, **self.preset)
        return {"shown": shown, "question": question}


class TaskFormView(OperationView):
    """The form of an operation that is a task: its result is the id of that."""

    def after(self, npc_id: int, result: str, **where: str) -> str:
        return reverse("ai_memory:task", args=[result])


class EditView(OperationView):
    """Form for a memory's text and importance."""

    tab = "memory"
    template = "ai_memory/edit.html"

    def read(self, npc: Any, **where: str) -> Any:
        return inspect.show(npc, **where)

    def form_of(self, found: Any, *sent: Any) -> OperationForm:
        memory, entry = found.memory, found.entry
        stored = max(1, round(memory.importance * 10))  # 1-10 on pages, 0-1 in the store
        initial = {"content": memory.content, "importance": entry.importance if entry else stored}
        return OperationForm(self.operation, *sent[:1], initial=initial)


class ScheduleView(OperationView):
    """Form for when an NPC falls asleep by itself."""

    def read(self, npc: Any, **where: str) -> Any:
        return edit.schedule_of(npc)

    def form_of(self, found: Any, *sent: Any) -> OperationForm:
        return ScheduleForm(self.operation, *sent[:1], initial=asdict(found))


class PersonaView(OperationView):
    """Form for the persona sheet: all its fields, of which those that were changed are written."""

    def read(self, npc: Any, **where: str) -> Any:
        return persona.sheet_of(npc)

    def form_of(self, found: Any, *sent: Any) -> SheetForm:
        return SheetForm(found, *sent[:1])

    def act(self, npc: Any, who: Any, form: Any, **where: str) -> str:
        written = [persona.write(npc, who, n, form.cleaned_data[n]) for n in form.changed_data]
        return " ".join(self.operation.done(npc, each) for each in written) or "Nothing changed."


class ForgetView(NPCView):
    """Preview of forgetting the memories selected on a list, and its confirmation."""

    tab = "forget"
    access_type = "edit"
    timeout = gate.WHOLE_MEMORY

    def get(self, request: HttpRequest, **where: Any) -> HttpResponse:
        return HttpResponseRedirect(reverse("ai_memory:facts", kwargs=where))

    def post(self, request: HttpRequest, npc_id: int) -> HttpResponse:
        chosen = list(dict.fromkeys(request.POST.getlist("id")))[:MOST_SELECTED]
        back = request.POST.get("back", "")
        if not url_has_allowed_host_and_scheme(back, allowed_hosts=None):
            back = reverse("ai_memory:facts", args=[npc_id])
        if chosen and "confirm" in request.POST:
            cascade = request.POST["confirm"] == "all"
            messages.success(request, self.ask(npc_id, _forget, chosen, cascade))
            return HttpResponseRedirect(back)
        npc, context = self.look(npc_id, _going, chosen)
        if chosen:
            return self.show(npc=npc, title="Forget selected memories", back=back, **context)
        messages.error(request, "Nothing is selected. Tick the memories to be forgotten first.")
        return HttpResponseRedirect(back)


def _forget(npc: Any, who: Any, chosen: list[str], cascade: bool) -> defer.Deferred:
    forgotten = forget.forget_several(npc, who, chosen, cascade)
    return forgotten.addCallback(lambda gone: told(TABLE["forget"], npc, gone))


@defer.inlineCallbacks
def _going(npc: Any, chosen: list[str]) -> Any:
    if not chosen:
        return {}
    alone = yield forget.select(npc, chosen)
    with_all = yield forget.select(npc, chosen, cascade=True)
    roots = len(alone.memories)
    return {
        "memories": [(ids.short(each), each) for each in alone.memories],
        "alone": alone.summary(),
        "with_all": with_all.summary(),
        "more": [(ids.short(each), each) for each in with_all.memories[roots:]],
    }


def urls_of_forms(**others: Any) -> list[URLPattern]:
    """Return the URLs of all forms in the table; `others` are views of their own, by operation."""
    own = {"edit": EditView, "persona": PersonaView, "set_schedule": ScheduleView, **others}
    found = []
    for each in TABLE.values():
        if each.has_form:
            url = f"m/<slug:memory_id>/{each.path}/" if each.of_memory else f"{each.path}/"
            view = own.get(each.name, OperationView)
            found.append(path(url, view.as_view(operation=each), name=each.path))
    return found
