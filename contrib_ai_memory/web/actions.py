"""The pages that change something: each deed asks first, is done by POST, and stands in the log.

A GET asks; only a POST with Django's CSRF token does. What can be taken back with one click (pin,
lock) has its button on the memory's own page; all else asks first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from twisted.internet import defer

from .. import offload
from ..admin import access, edit, forget, provenance, undo_log
from ..script import AssistantScript
from ..sleep.night import SwitchedOff
from .forms import EditForm
from .views import NOT_THERE, MindPage

REFUSALS = (ValueError, SwitchedOff)  # sentences of ours: a wrong text, a lock, nothing to undo


@dataclass(frozen=True, slots=True)
class Deed:
    """Something that can be done, with what is asked before it.

    Attributes:
        button, question: Of the page that asks.
        done: What is told afterwards, where `act` gives no sentence of its own.
        act: (npc, who, memory_id) -> a sentence or anything else, or a Deferred; on the reactor
            thread.
        back: The name of the page that is shown then.
        going: (npc, memory_id) -> a Deferred of what it would take away, for the page that asks.
    """

    button: str
    question: str
    done: str
    act: Callable[[Any, Any, str], Any]
    back: str = "overview"
    going: Callable[[Any, str], Any] | None = None


class DeedPage(MindPage):
    """Asks whether a deed is meant, and does it."""

    template = "ai_memory/deed.html"
    deed = "edit"
    deeds: dict[str, Deed] = {}

    def get(
        self, request: HttpRequest, npc_id: int, name: str, memory_id: str = ""
    ) -> HttpResponse:
        does = self._named(name)
        npc, (shown, going) = self.ask_mind(npc_id, _asked, does, memory_id)
        back = self.back(npc_id, memory_id, "memory" if memory_id else "overview")
        context = {"does": does, "shown": shown, "going": going, "back": back}
        return self.show(npc=npc, title=does.button, **context)

    def post(
        self, request: HttpRequest, npc_id: int, name: str, memory_id: str = ""
    ) -> HttpResponse:
        does = self._named(name)
        try:
            told = self.on_mind(npc_id, does.act, memory_id)
        except NOT_THERE:
            raise
        except REFUSALS as refused:
            messages.error(request, str(refused))
            back = "memory" if memory_id else "overview"
            return HttpResponseRedirect(self.back(npc_id, memory_id, back))
        messages.success(request, told if isinstance(told, str) else does.done)
        return HttpResponseRedirect(self.back(npc_id, memory_id, does.back))

    def back(self, npc_id: int, memory_id: str, page: str) -> str:
        arguments = [npc_id, memory_id] if page == "memory" else [npc_id]
        return reverse(f"ai_memory:{page}", args=arguments)

    def _named(self, name: str) -> Deed:
        if name not in self.deeds:
            raise Http404("There is no such deed.")
        return self.deeds[name]


@defer.inlineCallbacks
def _asked(npc: Any, does: Deed, memory_id: str) -> Any:
    shown = going = None
    if memory_id:
        shown = yield provenance.show(npc, memory_id)
    if does.going:
        going = yield does.going(npc, memory_id)
    return shown, going


# --- of a whole NPC -------------------------------------------------------------------------------


def _wake(npc: Any, who: Any, _memory_id: str) -> str | None:
    script = AssistantScript.of(npc)
    if not script.asleep:
        return "It is awake."
    script.sleep.wake()
    access.record(who, "wake", npc)
    return None


def _sleep(npc: Any, who: Any, _memory_id: str) -> str | None:
    script = AssistantScript.of(npc)
    if script.asleep:
        return "It is asleep already."
    script.sleep.begin()
    access.record(who, "sleep", npc)
    return None


def _pause(npc: Any, who: Any, _memory_id: str) -> str | None:
    return None if edit.pause(npc, who, True) else "It is paused already."


def _continue(npc: Any, who: Any, _memory_id: str) -> str | None:
    went_on = edit.pause(npc, who, False)
    if edit.paused(npc):
        return "It stays paused with all NPCs: @memory/resume all"
    return None if went_on else "It was not paused."


def _sleep_now(npc: Any, who: Any, _memory_id: str) -> None:
    """Begins a night and waits for none of it: the page of the nights tells how far it is."""
    script = AssistantScript.of(npc)
    script.sleep.begin()
    script.sleep.whole_night().addErrback(offload.log_failure, f"the night of #{npc.id}")
    access.record(who, "sleep now", npc)


@defer.inlineCallbacks
def _undo(npc: Any, who: Any, _memory_id: str) -> Any:
    act = yield edit.undo(npc, who)
    return f"Taken back: {act.summary()}."


def _last_act(npc: Any, _memory_id: str) -> str:
    acts = undo_log.acts(npc)
    return acts[-1].summary() if acts else "nothing: nobody has changed anything yet"


class MindDeed(DeedPage):
    """Deeds that concern all of an NPC."""

    deeds = {
        "wake": Deed(
            "Wake it",
            "It is woken. While it is compacting, it wakes when that is safe; what the night has "
            "not done waits for the next.",
            "It wakes as soon as that is safe.",
            _wake,
        ),
        "sleep": Deed(
            "Send it to sleep",
            "It falls asleep, and works through its day bit by bit. Asleep it hears, and does not "
            "answer.",
            "It falls asleep.",
            _sleep,
            back="nights",
        ),
        "sleep-now": Deed(
            "A whole night at once",
            "It falls asleep, goes through all passes of the night without a pause, and wakes up.",
            "The night has begun. This page tells how far it is: reload it.",
            _sleep_now,
            back="nights",
        ),
        "undo": Deed(
            "Undo the last change",
            "The last change that somebody made to this memory by hand is taken back.",
            "",
            _undo,
            going=_last_act,
        ),
        "pause": Deed(
            "Pause its memory",
            "Until it is continued, it neither perceives nor learns nor sleeps.",
            "Its memory is paused.",
            _pause,
        ),
        "continue": Deed(
            "Let its memory go on",
            "It perceives, learns and sleeps again.",
            "Its memory goes on.",
            _continue,
        ),
    }


# --- of one memory --------------------------------------------------------------------------------


def _forget(npc: Any, who: Any, memory_id: str, *, cascade: bool = False) -> defer.Deferred:
    forgotten = forget.forget(npc, who, memory_id, cascade=cascade)
    return forgotten.addCallback(
        lambda gone: (
            f"Forgotten: {gone.summary}. "
            + ("Undo takes that back." if gone.undoable else "That was too much to be undone.")
        )
    )


def _going(npc: Any, memory_id: str, *, cascade: bool = False) -> defer.Deferred:
    going = forget.select(npc, memory_id, cascade=cascade)
    return going.addCallback(lambda doomed: doomed.summary())


def _once(tag: Callable[..., defer.Deferred]) -> Callable[..., defer.Deferred]:
    """A second click changes nothing, and is no fault."""
    return lambda npc, who, memory_id: edit.accept_done(tag(npc, who, memory_id))


class MemoryDeed(DeedPage):
    """Deeds that concern one memory."""

    tab = "memory"
    deeds = {
        "forget": Deed(
            "Forget this",
            "This memory goes, with its links. What was drawn from it stays.",
            "",
            _forget,
            going=_going,
        ),
        "forget-all": Deed(
            "Forget this and what came of it",
            "This memory goes, and all that was drawn from it: experiences, facts, summaries, "
            "insights, and what it taught of people.",
            "",
            partial(_forget, cascade=True),
            going=partial(_going, cascade=True),
        ),
        "pin": Deed(
            "Pin",
            "A pinned memory is never cleaned away.",
            "It is pinned: nothing cleans it away.",
            _once(edit.pin),
            back="memory",
        ),
        "unpin": Deed(
            "Unpin",
            "It may be cleaned away again.",
            "It is no longer pinned.",
            _once(edit.unpin),
            back="memory",
        ),
        "lock": Deed(
            "Lock",
            "A locked memory is pinned, and no night changes or ends it.",
            "It is locked: no night changes it.",
            _once(edit.lock),
            back="memory",
        ),
        "unlock": Deed(
            "Unlock",
            "Nights may change it again. It stays pinned.",
            "It is no longer locked.",
            _once(edit.unlock),
            back="memory",
        ),
    }


class Edit(MindPage):
    """Change what a memory says, how important it is, what it felt like."""

    template = "ai_memory/edit.html"
    tab = "memory"
    deed = "edit"

    def get(self, request: HttpRequest, npc_id: int, memory_id: str) -> HttpResponse:
        npc, shown = self.ask_mind(npc_id, provenance.show, memory_id)
        form = EditForm.of(shown.memory, importance_of(shown))
        return self.show(npc=npc, shown=shown, form=form)

    def post(self, request: HttpRequest, npc_id: int, memory_id: str) -> HttpResponse:
        npc, shown = self.ask_mind(npc_id, provenance.show, memory_id)
        form = EditForm.of(shown.memory, importance_of(shown), request.POST)
        if form.is_valid():
            changes = changed(form)
            try:
                if changes:
                    self.on_mind(npc_id, _edit, memory_id, changes)
            except NOT_THERE:
                raise
            except REFUSALS as refused:
                form.add_error(None, str(refused))
            else:
                told = "It is changed; undo takes that back." if changes else "Nothing was changed."
                messages.success(request, told)
                return HttpResponseRedirect(reverse("ai_memory:memory", args=[npc_id, memory_id]))
        context = {"title": self.title, "tab": self.tab, "npc": npc, "shown": shown, "form": form}
        return render(request, self.template, context, status=400)


def _edit(npc: Any, who: Any, memory_id: str, changes: dict[str, Any]) -> defer.Deferred:
    return edit.edit(npc, who, memory_id, **changes)


def importance_of(shown: provenance.Shown) -> int:
    """Importance as builders know it, 1-10; the store keeps it 0-1."""
    return shown.entry.importance if shown.entry else max(1, round(shown.memory.importance * 10))


def changed(form: EditForm) -> dict[str, Any]:
    """The fields that are not as they were."""
    return {
        name: value
        for name, value in form.cleaned_data.items()
        if value not in (None, "") and value != form.initial[name]
    }
