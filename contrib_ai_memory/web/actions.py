"""The staff pages that change something: actions on an NPC or on one memory, and forms.

A GET shows a confirmation page; only a POST with Django's CSRF token acts. Pin and lock, which one
click reverts, have buttons on the memory's page and need no confirmation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from twisted.internet import defer

from .. import offload
from ..admin import access, audit, edit, forget, ids, inspect, persona, undo_log
from ..records import MemoryRecord
from ..script import AssistantScript
from ..sleep.night import SwitchedOff
from ..store.pause import paused
from . import gate
from .forms import AddForm, EditForm, PersonaForm, ScheduleForm, TeachForm
from .views import NOT_FOUND, NPCHeader, NPCView

MOST_SELECTED = 100  # memories forgotten at once
REFUSALS = (ValueError, SwitchedOff)  # their messages are written for the visitor


@dataclass(frozen=True, slots=True)
class PageAction:
    """An action with its confirmation page.

    Attributes:
        label: Heading and button of the confirmation page.
        description: What the action does.
        success: Message after the action, unless `run` returns one.
        run: Called with the NPC, the account and, for actions on one memory, its id. Returns a
            message, anything else, or a Deferred of these.
        next_page: URL name of the page to return to.
        preview: Called with the NPC and the id. Returns what the action would remove or undo, or a
            Deferred of that.
    """

    label: str
    description: str
    success: str
    run: Callable[..., Any]
    next_page: str = "overview"
    preview: Callable[..., Any] | None = None


class ActionView(NPCView):
    """Base class: confirms and runs one of `actions`."""

    template = "ai_memory/confirm.html"
    access_type = "edit"
    actions: dict[str, PageAction] = {}

    def get(
        self, request: HttpRequest, npc_id: int, name: str, memory_id: str = ""
    ) -> HttpResponse:
        action = self._action(name)
        npc, (shown, preview) = self.look(npc_id, _confirmation, action, memory_id)
        return self.show(
            npc=npc,
            title=action.label,
            action=action,
            shown=shown,
            preview=preview,
            back=_page_url(npc_id, memory_id),
        )

    def post(
        self, request: HttpRequest, npc_id: int, name: str, memory_id: str = ""
    ) -> HttpResponse:
        action = self._action(name)
        try:
            result = self.ask(npc_id, action.run, *filter(None, [memory_id]))
        except NOT_FOUND:
            raise
        except REFUSALS as refusal:
            messages.error(request, str(refusal))
            return HttpResponseRedirect(_page_url(npc_id, memory_id))
        messages.success(request, result if isinstance(result, str) else action.success)
        memory_id = memory_id if action.next_page == "memory" else ""
        return HttpResponseRedirect(_page_url(npc_id, memory_id, action.next_page))

    def _action(self, name: str) -> PageAction:
        if name not in self.actions:
            raise Http404("There is no such action.")
        return self.actions[name]


def _page_url(npc_id: int, memory_id: str, page: str = "overview") -> str:
    if memory_id:
        return reverse("ai_memory:memory", args=[npc_id, memory_id])
    return reverse(f"ai_memory:{page}", args=[npc_id])


@defer.inlineCallbacks
def _confirmation(npc: Any, action: PageAction, memory_id: str) -> Any:
    shown = preview = None
    if memory_id:
        shown = yield inspect.show(npc, memory_id)
    if action.preview:
        preview = yield action.preview(npc, *filter(None, [memory_id]))
    return shown, preview


# --- actions on an NPC ----------------------------------------------------------------------------


def wake(npc: Any, who: Any) -> bool:
    """Wake an NPC as soon as that is safe. Returns False if it is awake."""
    script = AssistantScript.of(npc)
    if not script.asleep:
        return False
    script.sleep.wake()
    audit.record(who, "wake", npc)
    return True


def start_night(npc: Any, who: Any, *, at_once: bool) -> None:
    """Send an NPC to sleep without waiting for the night to end.

    Args:
        at_once: Whether the passes run without a pause, rather than a few per heartbeat.
    """
    script = AssistantScript.of(npc)
    script.sleep.begin()
    if at_once:
        script.sleep.whole_night().addErrback(offload.log_failure, f"the night of #{npc.id}")
    audit.record(who, "sleep now" if at_once else "sleep", npc)


def _wake(npc: Any, who: Any) -> str | None:
    return None if wake(npc, who) else "The NPC is already awake."


def _sleep(npc: Any, who: Any) -> str | None:
    if AssistantScript.of(npc).asleep:
        return "The NPC is already asleep."
    start_night(npc, who, at_once=False)
    return None


def _pause(npc: Any, who: Any) -> str | None:
    return None if edit.pause(npc, who) else "The memory is already paused."


def _resume(npc: Any, who: Any) -> str | None:
    resumed = edit.pause(npc, who, False)
    if paused(npc):
        return "All NPCs are paused. To resume them in the game: @memory/resume all"
    return None if resumed else "The memory is not paused."


def _undo(npc: Any, who: Any) -> defer.Deferred:
    return edit.undo(npc, who).addCallback(lambda act: f"Undone: {act.summary()}.")


def _last_change(npc: Any) -> str:
    acts = undo_log.acts(npc)
    return acts[-1].summary() if acts else "none"


class NPCActionView(ActionView):
    """Actions on the whole memory of an NPC."""

    tab = "actions"
    actions = {
        "wake": PageAction(
            "Wake up",
            "The NPC wakes up. If it is compacting, it finishes that phase first. What is not "
            "done by then waits for the next night.",
            "The NPC wakes as soon as it is safe.",
            _wake,
        ),
        "sleep": PageAction(
            "Send to sleep",
            "The NPC falls asleep and consolidates its memory in small steps. While asleep it "
            "hears what is said, but does not answer.",
            "The NPC is falling asleep.",
            _sleep,
            next_page="nights",
        ),
        "sleep-now": PageAction(
            "Run a full night now",
            "The NPC falls asleep, runs all passes of the night without a pause, and wakes up.",
            "The night has started. Reload this page to see its progress.",
            partial(start_night, at_once=True),
            next_page="nights",
        ),
        "undo": PageAction(
            "Undo last change",
            "The last change made to this memory by hand is undone.",
            "",
            _undo,
            preview=_last_change,
        ),
        "pause": PageAction(
            "Pause memory",
            "Until resumed, the NPC perceives nothing, learns nothing and does not sleep.",
            "Memory paused.",
            _pause,
        ),
        "continue": PageAction(
            "Resume memory",
            "The NPC perceives, learns and sleeps again.",
            "Memory resumed.",
            _resume,
        ),
    }


# --- actions on one memory ------------------------------------------------------------------------


def _forget(npc: Any, who: Any, *memory_ids: str, cascade: bool = False) -> defer.Deferred:
    forgotten = forget.forget_several(npc, who, memory_ids, cascade)
    return forgotten.addCallback(
        lambda gone: (
            f"Forgotten: {gone.summary}. "
            + ("You can undo this." if gone.undoable else "This was too large to be undone.")
        )
    )


def _forget_preview(npc: Any, memory_id: str, *, cascade: bool = False) -> defer.Deferred:
    selected = forget.select(npc, memory_id, cascade=cascade)
    return selected.addCallback(lambda doomed: doomed.summary())


def once(tag: Callable[..., defer.Deferred]) -> Callable[..., defer.Deferred]:
    """Make pin or lock succeed without a change when it is repeated."""
    return lambda npc, who, memory_id: edit.accept_done(tag(npc, who, memory_id))


class MemoryActionView(ActionView):
    """Actions on one memory."""

    tab = "memory"
    actions = {
        "forget": PageAction(
            "Forget memory",
            "Deletes this memory and its links. Memories derived from it are kept.",
            "",
            _forget,
            preview=_forget_preview,
        ),
        "forget-all": PageAction(
            "Forget memory and everything derived from it",
            "Deletes this memory and all experiences, facts, summaries, insights and profile "
            "details derived from it.",
            "",
            partial(_forget, cascade=True),
            preview=partial(_forget_preview, cascade=True),
        ),
        "pin": PageAction(
            "Pin",
            "A pinned memory is never pruned.",
            "Memory pinned: it is never pruned.",
            once(edit.pin),
            next_page="memory",
        ),
        "unpin": PageAction(
            "Unpin",
            "The memory may be pruned again.",
            "Memory unpinned.",
            once(edit.unpin),
            next_page="memory",
        ),
        "lock": PageAction(
            "Lock",
            "A locked memory is pinned, and no night changes or supersedes it.",
            "Memory locked: no night changes it.",
            once(edit.lock),
            next_page="memory",
        ),
        "unlock": PageAction(
            "Unlock",
            "Nights may change the memory again. It stays pinned.",
            "Memory unlocked. It is still pinned.",
            once(edit.unlock),
            next_page="memory",
        ),
    }


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
            told = self.ask(npc_id, partial(_forget, cascade=cascade), *chosen)
            messages.success(request, told)
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


@defer.inlineCallbacks
def _going(npc: Any, chosen: list[str]) -> Any:
    alone = yield forget.select_several(npc, chosen)
    with_all = yield forget.select_several(npc, chosen, cascade=True)
    return alone, with_all


# --- forms ----------------------------------------------------------------------------------------


class FormView(NPCView):
    """Base class of the pages with a form that changes a memory.

    Attributes:
        heading: Of the page; also its breadcrumb.
        about: What the form does.
        button: Its label.
        danger: Whether it removes something for good.
    """

    template = "ai_memory/form.html"
    access_type: access.Action = "edit"
    heading = ""
    about = ""
    button = "Save"
    danger = False

    def read(self, npc: Any, *where: str) -> Any:
        """Return what the form needs to know, or a Deferred of it (reactor thread)."""

    def form(self, found: Any, data: Any = None, files: Any = None) -> Any:
        """Return the form, unbound or with what was sent. `found` is what `read` returned."""
        raise NotImplementedError

    def prepare(self, form: Any) -> None:
        """Do what needs no memory, on the web thread, before `act`."""

    def act(self, npc: Any, who: Any, form: Any, *where: str) -> Any:
        """Do it; return the message, or a Deferred of it (reactor thread)."""
        raise NotImplementedError

    def after(self, request: HttpRequest, npc_id: int, result: Any, *where: str) -> HttpResponse:
        """Respond to what `act` returned."""
        messages.success(request, result)
        return HttpResponseRedirect(self.back(npc_id, *where))

    def back(self, npc_id: int, *where: str) -> str:
        """Return the URL to go to afterwards, or when the visitor cancels."""
        return reverse("ai_memory:overview", args=[npc_id])

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
            except NOT_FOUND:
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
            about=self.about,
            button=self.button,
            danger=self.danger,
            back=self.back(npc.id, *where),
        )


class EditView(FormView):
    """Form for a memory's text, importance and emotions."""

    template = "ai_memory/edit.html"
    tab = "memory"
    heading = "Edit memory"
    about = (
        "The previous text is kept in the memory’s history, and the change can be undone. Lines "
        "and memories that tell the previous text are no longer recalled."
    )

    def read(self, npc: Any, *where: str) -> Any:
        return inspect.show(npc, *where)

    def form(self, found: Any, data: Any = None, files: Any = None) -> EditForm:
        return EditForm.of(found, data)

    def act(self, npc: Any, who: Any, form: Any, *where: str) -> Any:
        changes = form.changes()
        if not changes:
            return "No changes made."

        def told(memory: MemoryRecord) -> str:
            done = "Memory changed. You can undo this."
            if memory.record == "fact" and "content" in changes:
                done += " The lines behind it can be corrected, too: see Evidence."
            return done

        return edit.edit(npc, who, *where, **changes).addCallback(told)

    def back(self, npc_id: int, *where: str) -> str:
        return reverse("ai_memory:memory", args=[npc_id, *where])


class AddView(FormView):
    """Form for a memory to give to an NPC."""

    tab = "add"
    heading = "Add a memory"
    about = (
        "The NPC knows it at once, word for word. It is never pruned, and anybody may be told of "
        "it. You can undo this."
    )
    button = "Add"

    def form(self, found: Any, data: Any = None, files: Any = None) -> AddForm:
        return AddForm(data)

    def act(self, npc: Any, who: Any, form: Any, *where: str) -> Any:
        added = edit.add(npc, who, **form.cleaned_data)
        return added.addCallback(
            lambda entry: (
                f"{npc.key} will remember that (entry {entry.id}). You can undo this. "
                + persona.asked_so(npc, form.cleaned_data["text"])
            )
        )


class TeachView(FormView):
    """Form for a longer text that an NPC learns."""

    tab = "teach"
    heading = "Teach a text"
    about = (
        "The text is cut into pieces; those that are new and informative are kept, the others "
        "dropped. A preference in it takes the place of the old one. You can undo this."
    )
    button = "Teach"

    def form(self, found: Any, data: Any = None, files: Any = None) -> TeachForm:
        return TeachForm(data)

    def act(self, npc: Any, who: Any, form: Any, *where: str) -> Any:
        taught = edit.teach(npc, who, form.cleaned_data["text"])
        text = form.cleaned_data["text"]
        return taught.addCallback(
            lambda learned: f"{npc.key} was taught {learned.told()}. {persona.asked_so(npc, text)}"
        )

    def back(self, npc_id: int, *where: str) -> str:
        return reverse("ai_memory:memories", args=[npc_id, "taught"])


class PersonaView(FormView):
    """Form for the persona sheet."""

    tab = "persona"
    heading = "Persona sheet"
    about = "What the NPC answers about itself from, beside what it was given and taught."

    def read(self, npc: Any, *where: str) -> Any:
        return persona.fields(npc)

    def form(self, found: Any, data: Any = None, files: Any = None) -> PersonaForm:
        return PersonaForm(found, data)

    def act(self, npc: Any, who: Any, form: Any, *where: str) -> str:
        for name in form.changed_data:
            persona.write(npc, who, name, form.cleaned_data[name])
        return "Persona sheet saved." if form.changed_data else "No changes made."


class ScheduleView(FormView):
    """Form for when an NPC falls asleep by itself."""

    tab = "schedule"
    heading = "Sleep schedule"
    about = (
        "At that hour of each day the NPC falls asleep by itself, and consolidates its memory for "
        "the given number of hours at most. What is not done by then waits for the next night."
    )

    def read(self, npc: Any, *where: str) -> Any:
        return edit.schedule_of(npc)

    def form(self, found: Any, data: Any = None, files: Any = None) -> ScheduleForm:
        return ScheduleForm.of(found, data)

    def act(self, npc: Any, who: Any, form: Any, *where: str) -> str:
        edit.set_schedule(npc, who, **form.cleaned_data)
        told = edit.schedule_of(npc).told
        return f"{npc.key} sleeps {told}." if told != "none" else f"{npc.key} has no schedule."

    def back(self, npc_id: int, *where: str) -> str:
        return reverse("ai_memory:nights", args=[npc_id])
