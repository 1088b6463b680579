"""The staff pages about the whole game: list of NPCs, search of all, log, settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from django import forms
from pydantic import BaseModel
from twisted.internet import defer

from .. import conf
from ..admin import game_search, ids, inspect
from ..admin.arguments import LONGEST_NAME, LONGEST_QUERY
from ..text.redaction import redact
from .forms import words_field
from .views import EXAMPLE, PAGE, StaffView

NPCS_SHOWN = 100


class GameView(StaffView):
    """Base class of the pages about the whole game."""

    tabs = (  # URL name and label
        ("npcs", "NPCs"),
        ("search_all", "Search"),
        ("requests", "Requests"),
        ("log", "Log"),
        ("settings", "Settings"),
    )


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
    filters = {
        "q": words_field("Name"),
        "sort": forms.CharField(required=False, widget=forms.HiddenInput),
    }

    @defer.inlineCallbacks
    def read(self, who: Any, q: str, sort: str) -> Any:
        column, descending = sort.removeprefix("-"), sort.startswith("-")
        column = column if column in COLUMNS else "name"
        page = yield inspect.visible(who, NPCS_SHOWN, 0, q)
        overviews = sorted(page.results, key=COLUMNS[column][1], reverse=descending)
        return {
            "npcs": [(each, int(each.dbref.lstrip("#"))) for each in overviews],
            "total": page.total,
            "more": page.total - len(overviews),
            "q": q,
            "columns": [self._column(name, name == column, descending) for name in COLUMNS],
        }

    def _column(self, name: str, here: bool, descending: bool) -> dict[str, Any]:
        return {
            "label": COLUMNS[name][0],
            "number": name in ("entries", "facts", "tokens"),
            "sorted": ("descending" if descending else "ascending") if here else "",
            "link": self.query_with(sort=f"-{name}" if here and not descending else name),
        }


# --- search and log -------------------------------------------------------------------------------


class GameSearchView(GameView):
    """The memories that any NPC recalls for a query, or would tell a listener."""

    template = "ai_memory/game_search.html"
    title = "Search all NPCs"
    tab = "search_all"
    filters = {
        "q": words_field("Search the memories of all NPCs", LONGEST_QUERY, EXAMPLE),
        "who": forms.CharField(
            required=False,
            max_length=LONGEST_NAME,
            label="As told to (name or #dbref)",
            widget=forms.TextInput(attrs={"placeholder": "Staff: everything", "dir": "auto"}),
        ),
    }
    submit = "Search"

    @defer.inlineCallbacks
    def read(self, account: Any, q: str, who: str) -> Any:
        result, problem = game_search.GameResult(), ""
        if q:
            try:
                result = yield game_search.search(account, q, who, self.offset)
            except ids.UnknownPerson as unknown:
                problem = str(unknown)
        return {
            "query": q,
            "result": result,
            "problem": problem,
            "found": result.found,
            **self.rows(result.searched, result.total, step=self.offset),  # back to the first
        }


class LogView(GameView):
    """What staff changed."""

    template = "ai_memory/log.html"
    title = "Log"
    tab = "log"
    filters = {
        "text": words_field("Who, what or NPC"),
        "npc": forms.IntegerField(required=False, min_value=0, widget=forms.HiddenInput),
    }

    def read(self, who: Any, text: str, npc: Any) -> dict[str, Any]:
        page = inspect.changes(who, PAGE, self.offset, text, npc or 0)
        return {"records": page.results, "npc_id": npc} | self.rows(len(page.results), page.total)


# --- settings -------------------------------------------------------------------------------------


class SettingsView(GameView):
    """The settings in effect, with secrets masked."""

    template = "ai_memory/settings.html"
    title = "Settings"
    tab = "settings"

    def read(self, who: Any) -> dict[str, Any]:
        return {"rows": list(settings_rows())}


def settings_rows() -> Iterator[dict[str, Any]]:
    """Yield all settings, those of nested sections by their dotted names."""
    current = conf.get()
    for name, spec in conf.Settings.model_fields.items():
        value, default = getattr(current, name), spec.get_default(call_default_factory=True)
        if isinstance(value, BaseModel):
            for key in type(value).model_fields:
                yield _row(f"{name}.{key}", value, getattr(value, key), getattr(default, key, ""))
        else:
            yield _row(name, current, conf.directory() if name == "DIR" else value, default)


def _row(path: str, section: BaseModel, value: Any, default: Any) -> dict[str, Any]:
    name = path.rpartition(".")[2]
    return {
        "name": path,
        "value": text_of(value),
        "default": text_of(default),
        "changed": name in section.model_fields_set,
        "about": conf.about(type(section), name),
    }


def text_of(value: Any) -> str:
    """Return the value of a setting as text; secrets, which `conf` has sealed, stay masked."""
    if value in (None, "", "none", (), [], {}):
        return "—"
    if isinstance(value, dict):
        return ", ".join(f"{key}: {text_of(each)}" for key, each in value.items())
    if isinstance(value, (tuple, list)):
        return ", ".join(map(text_of, value))
    return redact(str(value))
