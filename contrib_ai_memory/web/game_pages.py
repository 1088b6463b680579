"""The staff pages about the whole game: list of NPCs, search of all, log, settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse

from .. import conf
from ..admin import game_search, ids, inspect
from ..text import redaction
from . import gate
from .forms import SearchForm
from .views import PAGE, StaffView, clues, is_number, offset_of, page_links, query_with

NPCS_SHOWN = 100
TABS = (  # URL name and label
    ("npcs", "NPCs"),
    ("search_all", "Search"),
    ("requests", "Requests"),
    ("log", "Log"),
    ("settings", "Settings"),
)


class GameView(StaffView):
    """Base class of the pages about the whole game.

    Attributes:
        tab: The highlighted tab.
    """

    tab = ""

    def show(self, **context: Any) -> HttpResponse:
        return super().show(tab=self.tab, tabs=TABS, **context)


# --- all NPCs -------------------------------------------------------------------------------------

COLUMNS: dict[str, tuple[str, Callable[[inspect.Overview], Any]]] = {  # label and sort key
    "name": ("Name", lambda each: each.key.lower()),
    "state": ("State", lambda each: each.state),
    "entries": ("Journal entries", lambda each: each.entries),
    "facts": ("Facts", lambda each: each.counts.get("fact", 0)),
    "night": ("Last night", lambda each: each.last_night),
    "tokens": ("Tokens today", lambda each: each.tokens),
}


class NPCListView(GameView):
    """All NPCs with a memory that this visitor may look at."""

    template = "ai_memory/npcs.html"
    title = "NPC memories"
    tab = "npcs"

    def get(self, request: HttpRequest) -> HttpResponse:
        text = request.GET.get("q", "").strip()[:80]
        sort = request.GET.get("sort", "")
        column, descending = sort.removeprefix("-"), sort.startswith("-")
        column = column if column in COLUMNS else "name"
        page = gate.ask(request.user.pk, inspect.visible, NPCS_SHOWN, 0, text)
        overviews = sorted(page.results, key=COLUMNS[column][1], reverse=descending)
        return self.show(
            npcs=[(each, int(each.dbref.lstrip("#"))) for each in overviews],
            total=page.total,
            more=page.total - len(overviews),
            q=text,
            columns=[_column(request, name, column, descending) for name in COLUMNS],
        )


def _column(request: HttpRequest, name: str, sorted_by: str, descending: bool) -> dict[str, Any]:
    here = name == sorted_by
    return {
        "label": COLUMNS[name][0],
        "number": name in ("entries", "facts", "tokens"),
        "sorted": ("descending" if descending else "ascending") if here else "",
        "link": query_with(request, sort=f"-{name}" if here and not descending else name),
    }


# --- search ---------------------------------------------------------------------------------------


class GameSearchView(GameView):
    """The memories that any NPC recalls for a query, or would tell a listener."""

    template = "ai_memory/game_search.html"
    title = "Search all NPCs"
    tab = "search_all"

    def get(self, request: HttpRequest) -> HttpResponse:
        form = SearchForm(request.GET)
        asked = form.cleaned_data if form.is_valid() else {"q": "", "who": ""}
        query, offset = asked["q"], offset_of(request)
        result, problem = game_search.GameResult(), ""
        if query:
            try:
                search = game_search.search
                result = gate.ask(request.user.pk, search, query, asked["who"], offset)
            except ids.UnknownPerson as unknown:
                problem = str(unknown)
        last = result.offset + result.searched
        return self.show(
            form=form,
            query=query,
            who=asked["who"],
            result=result,
            problem=problem,
            first=result.offset + 1,
            last=last,
            found=[(each, clues(each.recalled)) for each in result.found],
            older=query_with(request, **{"from": last}) if last < result.total else "",
            newer=query_with(request, **{"from": None}) if offset else "",
        )


# --- log ------------------------------------------------------------------------------------------


class LogView(GameView):
    """What staff changed."""

    template = "ai_memory/log.html"
    title = "Log"
    tab = "log"

    def get(self, request: HttpRequest) -> HttpResponse:
        npc = request.GET.get("npc", "")
        text = request.GET.get("text", "").strip()[:80]
        npc_id = int(npc) if is_number(npc) else 0
        offset = offset_of(request)
        page = gate.ask(request.user.pk, inspect.changes, PAGE, offset, text, npc_id)
        return self.show(
            records=page.results,
            total=page.total,
            text=text,
            npc_id=npc_id,
            first=offset + 1,
            last=offset + len(page.results),
            **page_links(request, offset, PAGE, more=offset + PAGE < page.total),
        )


# --- settings -------------------------------------------------------------------------------------


class SettingsView(GameView):
    """The settings in effect, with secrets masked."""

    template = "ai_memory/settings.html"
    title = "Settings"
    tab = "settings"

    def get(self, request: HttpRequest) -> HttpResponse:
        gate.ask(request.user.pk, lambda who: None)
        return self.show(rows=settings_rows())


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting; `changed` tells whether the game sets it."""

    name: str
    value: str
    default: str
    changed: bool
    about: str


def settings_rows() -> list[SettingRow]:
    """Return all settings, those of nested sections by their dotted names."""
    current = conf.get()
    rows: list[SettingRow] = []
    for name, spec in conf.Settings.model_fields.items():
        value, default = getattr(current, name), spec.get_default(call_default_factory=True)
        if name == "DIR":
            value = conf.directory()
        if hasattr(value, "model_fields_set"):
            rows += [
                _setting_row(f"{name}.{key}", value, getattr(value, key), getattr(default, key, ""))
                for key in type(value).model_fields
            ]
        else:
            rows.append(_setting_row(name, current, value, default))
    return rows


def _setting_row(path: str, section: Any, value: Any, default: Any) -> SettingRow:
    name = path.rpartition(".")[2]
    about = conf.about(type(section), name)
    changed = name in section.model_fields_set
    return SettingRow(path, _masked(name, value), _masked(name, default), changed, about)


def _masked(name: str, value: Any, *, ours: bool = True) -> str:
    """Return a value as text, with secrets masked at any depth.

    Args:
        ours: Whether `conf` defines the name; a number under such a name is never a secret.
    """
    value = redaction.plain(value)
    if value in (None, "", "none", (), [], {}):
        return "—"
    if redaction.is_secret_name(name) and not (ours and isinstance(value, (int, float))):
        return redaction.MASK
    if isinstance(value, dict):
        return ", ".join(
            f"{key}: {_masked(str(key), each, ours=False)}" for key, each in value.items()
        )
    if isinstance(value, (tuple, list)):
        return ", ".join(_masked(name, each, ours=ours) for each in value)
    return redaction.redact(redaction.shown_url(str(value)))
