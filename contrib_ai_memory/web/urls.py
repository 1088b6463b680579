"""URLs of the pages and the API; a game adds `include("contrib_ai_memory.web.urls")`."""

from __future__ import annotations

from django.urls import include, path, register_converter

from . import actions, views


class RecordConverter:
    """A kind of memory: plural in the URL, singular everywhere else."""

    plurals = {
        "fact": "facts",
        "taught": "taught",
        "insight": "insights",
        "summary": "summaries",
        "experience": "experiences",
    }
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
    path("graph/", views.GraphView.as_view(), name="graph"),
    path("nights/", views.NightListView.as_view(), name="nights"),
    path("charts/", views.ChartsView.as_view(), name="charts"),
    path("prompt/", views.PromptView.as_view(), name="prompt"),
    path("do/<slug:name>/", actions.NPCActionView.as_view(), name="do"),
    path("m/<slug:memory_id>/", views.MemoryView.as_view(), name="memory"),
    path("m/<slug:memory_id>/edit/", actions.EditView.as_view(), name="edit"),
    path(
        "m/<slug:memory_id>/do/<slug:name>/", actions.MemoryActionView.as_view(), name="do_memory"
    ),
]

_pages = [
    path("", views.NPCListView.as_view(), name="npcs"),
    path("", views.NPCListView.as_view(), name="minds"),  # in menus of games that have it already
    path("settings/", views.SettingsView.as_view(), name="settings"),
    path("<int:npc_id>/", include(_npc)),
]

urlpatterns = [
    path("memory/", include((_pages, "ai_memory"))),
    path("api/memory/", include("contrib_ai_memory.web.api.routes")),
]
