"""What every page shares, and the pages that are about no single NPC: the list, the settings.

A page says what it asks for (`read`, on the reactor thread), and which template shows it. Who may
not come in, what is not there, and a store that gives no answer are pages of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.views import View
from twisted.internet import defer

from .. import conf, offload, redaction
from ..embedding.model import ModelError
from ..log import logger
from ..store.errors import StoreError
from ..tending import audit, ids, looking, permission
from . import bridge, gate, headers

LATER = (bridge.TooSlow, offload.Busy, offload.TimedOut)
BROKEN = (StoreError, ModelError)
DJANGOS_OWN = (PermissionDenied, SuspiciousOperation)
NOT_THERE = (gate.NoSuchMind, ids.UnknownMemory, ids.UnknownPerson, ids.Ambiguous)

_WENT_WRONG = RuntimeError("It is a fault of ours. server/logs/ai_memory.log says how it came.")


@dataclass(frozen=True, slots=True)
class Header:
    """The NPC at the top of each of its pages, and what this visitor may do there."""

    id: int
    key: str
    dbref: str
    state: str
    may_edit: bool
    may_erase: bool


class Page(View):
    """One page of the staff.

    Attributes:
        template: Shows what `get` gives to `show`.
        title: Of the page.
    """

    template = ""
    title = ""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = self._answer(request, *args, **kwargs)
        headers.protect_page(response)
        return response

    def _answer(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path())
        try:
            return super().dispatch(request, *args, **kwargs)
        except (gate.Stranger, gate.MayNot) as no:
            return self.trouble(403, "This is not for you", no)
        except (*NOT_THERE, Http404) as nothing:
            return self.trouble(404, "Nothing is here", nothing)
        except LATER as late:
            return self.trouble(503, "The memory is busy", late, later=True)
        except BROKEN as broken:
            return self.trouble(503, "The memory cannot be reached", broken)
        except DJANGOS_OWN:
            raise
        except Exception:  # noqa: BLE001  (the visitor is told of it, and the log has it whole)
            logger().exception("The page %s failed.", request.path)
            return self.trouble(500, "That went wrong", _WENT_WRONG)

    def trouble(
        self, status: int, title: str, why: Exception, *, later: bool = False
    ) -> HttpResponse:
        """A page that says what happened and what to do."""
        told = {"title": title, "why": str(why), "later": later, "status": status}
        return render(self.request, "ai_memory/trouble.html", told, status=status)

    def ask(self, function: Callable[..., Any], *args: Any) -> Any:
        """`function(who, *args)` on the reactor thread, for this visitor."""
        return bridge.on_reactor(gate.with_visitor, self.request.user.pk, function, *args)

    def show(self, **context: Any) -> HttpResponse:
        return render(self.request, self.template, {"title": self.title, **context})


class MindPage(Page):
    """A page about one NPC. `tab` is its place in the row of tabs, and its name in the log."""

    tab = ""
    deed: permission.Deed = "look"

    def ask_mind(self, npc_id: int, function: Callable[..., Any], *args: Any, **kw: Any) -> Any:
        """(`Header`, `function(npc, *args)`), after the visitor was let through.

        That they looked stands in the log.
        """
        page = self.tab or type(self).__name__.lower()

        def asked(npc: Any, who: Any) -> defer.Deferred:
            audit.looked(who, f"the page {page}", npc)
            result = defer.maybeDeferred(function, npc, *args, **kw)
            return result.addCallback(lambda found: (_header(npc, who), found))

        return self.on_mind(npc_id, asked)

    def on_mind(self, npc_id: int, function: Callable[..., Any], *args: Any) -> Any:
        """`function(npc, who, *args)` on the reactor thread, after the visitor was let through."""
        return bridge.on_reactor(
            gate.with_mind, self.request.user.pk, npc_id, self.deed, function, *args
        )

    def show(self, **context: Any) -> HttpResponse:
        return super().show(tab=self.tab, **context)


def _header(npc: Any, who: Any) -> Header:
    return Header(
        id=npc.id,
        key=npc.key,
        dbref=npc.dbref,
        state=looking.state_of(npc),
        may_edit=permission.may(who, npc, "edit"),
        may_erase=permission.may(who, npc, "erase"),
    )


def start_of(request: HttpRequest) -> int:
    """Where in a list a page begins: `from` in its address; 0 where that is no number."""
    asked = request.GET.get("from", "")
    return int(asked) if is_cursor(asked) else 0


def is_cursor(text: str) -> bool:
    """Whether this is a place in a list, and not so many digits that Python reads it no more."""
    return text.isascii() and text.isdigit() and len(text) < 12


def query_with(request: HttpRequest, **changes: Any) -> str:
    """The page's own query with some of it changed; None and "" take out."""
    query: QueryDict = request.GET.copy()
    for name, value in changes.items():
        query.pop(name, None)
        if isinstance(value, list):
            query.setlist(name, value)
        elif value not in (None, ""):
            query[name] = value
    return "?" + query.urlencode()


# --- all NPCs -------------------------------------------------------------------------------------

SORTS: dict[str, Callable[[looking.Overview], Any]] = {
    "name": lambda each: each.key.lower(),
    "state": lambda each: each.state,
    "entries": lambda each: each.entries,
    "facts": lambda each: each.counts.get("fact", 0),
    "night": lambda each: each.last_night,
    "tokens": lambda each: each.tokens,
}
_COLUMNS = (
    ("name", "Name"),
    ("state", "State"),
    ("entries", "Entries"),
    ("facts", "Facts"),
    ("night", "Last night"),
    ("tokens", "Tokens today"),
)
MINDS_SHOWN = 100


class Minds(Page):
    """All NPCs with a memory that this visitor may look at."""

    template = "ai_memory/minds.html"
    title = "Memories"

    def get(self, request: HttpRequest) -> HttpResponse:
        wanted = request.GET.get("q", "").strip()[:80]
        by = request.GET.get("sort", "name").removeprefix("-")
        by = by if by in SORTS else "name"
        down = request.GET.get("sort", "").startswith("-")
        total, found = self.ask(_minds, wanted)
        found.sort(key=SORTS[by], reverse=down)
        return self.show(
            minds=[(each, int(each.dbref.lstrip("#"))) for each in found],
            total=total,
            more=total - len(found),
            q=wanted,
            columns=[_column(request, *each, by, down) for each in _COLUMNS],
        )


def _column(request: HttpRequest, name: str, label: str, by: str, down: bool) -> dict[str, str]:
    here = name == by
    return {
        "label": label,
        "number": name in ("entries", "facts", "tokens"),
        "sorted": ("descending" if down else "ascending") if here else "",
        "link": query_with(request, sort=f"-{name}" if here and not down else name),
    }


@defer.inlineCallbacks
def _minds(who: Any, wanted: str) -> Any:
    """How many there are, and the first of them by name, as a Deferred pair."""
    found = [
        npc
        for npc in looking.minds()
        if wanted.lower() in npc.key.lower() and permission.may(who, npc, "look")
    ]
    told = yield looking.overviews(found[:MINDS_SHOWN])
    return len(found), told


# --- settings -------------------------------------------------------------------------------------

_NUMBER = (int, float)


class Settings(Page):
    """The settings as they are in force, secrets masked."""

    template = "ai_memory/settings.html"
    title = "Settings in force"

    def get(self, request: HttpRequest) -> HttpResponse:
        self.ask(lambda who: None)
        return self.show(rows=settings_rows())


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting: its path, its value for the eye, and whether the game set it."""

    name: str
    value: str
    default: str
    changed: bool
    about: str


def settings_rows() -> list[SettingRow]:
    """Every setting with its value and its default."""
    rows: list[SettingRow] = []
    in_force = conf.get()
    for name, spec in conf.Settings.model_fields.items():
        value, default = getattr(in_force, name), spec.get_default(call_default_factory=True)
        if name == "DIR" and value is None:
            value = conf.directory()
        if hasattr(value, "model_fields_set"):
            rows += _section_rows(name, value, default)
        else:
            changed = name in in_force.model_fields_set
            told = _masked(name, value), _masked(name, default)
            rows.append(SettingRow(name, *told, changed, spec.description or ""))
    return rows


def _section_rows(section: str, values: Any, default: Any) -> list[SettingRow]:
    return [
        SettingRow(
            f"{section}.{name}",
            _masked(name, getattr(values, name)),
            _masked(name, getattr(default, name, "")),
            name in values.model_fields_set,
            spec.description or "",
        )
        for name, spec in type(values).model_fields.items()
    ]


def _masked(name: str, value: Any, *, ours: bool = True) -> str:
    """A value to be read; what opens something is never shown, however deep it lies.

    Args:
        ours: The name is one that `conf` gives: a number there is none that opens anything.
    """
    value = redaction.plain(value)
    if value in (None, "", "none", (), [], {}):
        return "—"
    if redaction.is_secret_name(name) and not (ours and isinstance(value, _NUMBER)):
        return redaction.MASK
    if isinstance(value, dict):
        return ", ".join(
            f"{key}: {_masked(str(key), each, ours=False)}" for key, each in value.items()
        )
    if isinstance(value, (tuple, list)):
        return ", ".join(_masked(name, each, ours=ours) for each in value)
    return redaction.redact(redaction.shown_url(str(value)))
