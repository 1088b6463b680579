"""URLs of the pages and the API; a game adds `include("contrib_ai_memory.web.urls")`."""

from __future__ import annotations

from typing import Any

from django.urls import include, path, re_path, register_converter

from . import actions, api, archives, erasure, game_pages, tasks, views
from .forms import RECORDS


class RecordConverter:
    """A kind of memory: plural in the URL, singular everywhere else."""

    plurals = {record: label.lower() for record, label in RECORDS}
    regex = "|".join(plurals.values())

    def to_python(self, value: str) -> str:
        return next(record for record, plural in self.plurals.items() if plural == value)

    def to_url(self, value: str) -> str:
        return self.plurals[value]


register_converter(RecordConverter, "kind")

_npc = [
    path("", views.OverviewView.as_view(), name="overview"),
    path("journal/", views.JournalView.as_view(), name="journal"),
    path("facts/", views.MemoryListView.as_view(), name="facts"),
    path("<kind:record>/", views.MemoryListView.as_view(), name="memories"),
    path("search/", views.SearchView.as_view(), name="search"),
    path("people/", views.PersonListView.as_view(), name="people"),
    path("people/<path:identity>/", views.PersonView.as_view(), name="person"),
    path("erase/<path:identity>/", erasure.ErasePersonView.as_view(), name="erase"),
    path("graph/", views.GraphView.as_view(), name="graph"),
    path("nights/", views.NightListView.as_view(), name="nights"),
    path("charts/", views.ChartsView.as_view(), name="charts"),
    path("prompt/", views.PromptView.as_view(), name="prompt"),
    path("add/", actions.AddView.as_view(), name="add"),
    path("teach/", actions.TeachView.as_view(), name="teach"),
    path("persona/", actions.PersonaView.as_view(), name="persona"),
    path("schedule/", actions.ScheduleView.as_view(), name="schedule"),
    path("export/", archives.ExportView.as_view(), name="export"),
    path("import/", archives.ImportView.as_view(), name="import"),
    path("do/<slug:name>/", actions.NPCActionView.as_view(), name="do"),
    path("forget/", actions.ForgetView.as_view(), name="forget"),
    path("m/<slug:memory_id>/", views.MemoryView.as_view(), name="memory"),
    path("m/<slug:memory_id>/edit/", actions.EditView.as_view(), name="edit"),
    path(
        "m/<slug:memory_id>/do/<slug:name>/", actions.MemoryActionView.as_view(), name="do_memory"
    ),
]

page_patterns = [
    path("", game_pages.NPCListView.as_view(), name="npcs"),
    path("", game_pages.NPCListView.as_view(), name="minds"),  # in menus of games that have it
    path("settings/", game_pages.SettingsView.as_view(), name="settings"),
    path("search/", game_pages.GameSearchView.as_view(), name="search_all"),
    path("log/", game_pages.LogView.as_view(), name="log"),
    path("requests/", erasure.RequestListView.as_view(), name="requests"),
    path("requests/<path:identity>/", erasure.RequestView.as_view(), name="request"),
    path("tasks/<slug:task_id>/", tasks.TaskView.as_view(), name="task"),
    path("tasks/<slug:task_id>/file/", archives.FileView.as_view(), name="file"),
    path("<int:npc_id>/", include(_npc)),
]

# --- the API --------------------------------------------------------------------------------------


def _api(**methods: str) -> Any:
    """An endpoint: which method of `MemoryAPI` serves each HTTP method."""
    return api.MemoryAPI.as_view(methods)


_api_memory = [
    path(
        "",
        _api(get="show_memory", patch="edit_memory", delete="forget_memory"),
        name="memory",
    ),
    path("trace/", _api(get="trace_memory"), name="trace"),
    path("pin/", _api(post="pin_memory"), name="pin"),
    path("unpin/", _api(post="unpin_memory"), name="unpin"),
    path("lock/", _api(post="lock_memory"), name="lock"),
    path("unlock/", _api(post="unlock_memory"), name="unlock"),
]

_api_npc = [
    path("", _api(get="show_npc"), name="npc"),
    path("journal/", _api(get="read_journal"), name="journal"),
    path("memories/", _api(get="list_memories", post="add_memory"), name="memories"),
    path("memories/<slug:memory_id>/", include(_api_memory)),
    path("texts/", _api(post="teach"), name="texts"),
    path("agenda/", _api(get="list_agenda"), name="agenda"),
    path("search/", _api(get="search"), name="search"),
    path("people/", _api(get="list_people"), name="people"),
    path(
        "people/<path:person>/",
        _api(get="show_person", delete="erase_person"),
        name="person",
    ),
    path("links/", _api(get="show_links"), name="links"),
    path("settings/", _api(get="show_settings"), name="settings"),
    path("persona/", _api(get="show_persona", put="write_persona"), name="persona"),
    path("status/", _api(get="show_status"), name="status"),
    path("nights/", _api(get="list_nights", post="start_night"), name="nights"),
    path("schedule/", _api(get="show_schedule", put="set_schedule"), name="schedule"),
    path("wake/", _api(post="wake"), name="wake"),
    path("pause/", _api(post="pause"), name="pause"),
    path("resume/", _api(post="resume"), name="resume"),
    path("cost/", _api(get="show_cost"), name="cost"),
    path("stats/", _api(get="show_stats"), name="stats"),
    path("preview/", _api(post="preview_prompt"), name="preview"),
    path("acts/", _api(get="list_acts"), name="acts"),
    path("undo/", _api(post="undo"), name="undo"),
]

_endpoints = [
    path("log/", _api(get="list_log"), name="log"),
    path("requests/", _api(get="list_requests"), name="requests"),
    path("npcs/", _api(get="list_npcs"), name="npcs"),
    path("npcs/<int:npc_id>/", include(_api_npc)),
]

api_patterns = [
    *_endpoints,
    path("openapi.json", api.SchemaResource.as_view(patterns=_endpoints), name="openapi"),
    re_path(r"", api.UnknownResource.as_view()),
]

urlpatterns = [
    path("memory/", include((page_patterns, "ai_memory"))),
    path("api/memory/", include((api_patterns, "ai_memory_api"))),
]
