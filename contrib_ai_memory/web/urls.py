"""Where the pages and the API are; a game does `include("contrib_ai_memory.web.urls")`."""

from __future__ import annotations

from django.urls import include, path, register_converter

from . import actions, views


class Kind:
    """A kind of memories, in the plural in the address and in the singular everywhere else."""

    plurals = {
        "fact": "facts",
        "taught": "taught",
        "insight": "insights",
        "summary": "summaries",
        "experience": "experiences",
    }
    regex = "|".join(plurals.values())

    def to_python(self, value: str) -> str:
        return next(kind for kind, plural in self.plurals.items() if plural == value)

    def to_url(self, value: str) -> str:
        return self.plurals[value]


register_converter(Kind, "kind")

_npc = [
    path("", views.Overview.as_view(), name="overview"),
    path("journal/", views.Journal.as_view(), name="journal"),
    path("facts/", views.Memories.as_view(), name="facts"),
    path("<kind:record>/", views.Memories.as_view(), name="memories"),
    path("search/", views.Search.as_view(), name="search"),
    path("people/", views.People.as_view(), name="people"),
    path("people/<path:identity>/", views.Person.as_view(), name="person"),
    path("graph/", views.Graph.as_view(), name="graph"),
    path("nights/", views.Nights.as_view(), name="nights"),
    path("charts/", views.Charts.as_view(), name="charts"),
    path("prompt/", views.Preview.as_view(), name="prompt"),
    path("do/<slug:name>/", actions.MindDeed.as_view(), name="do"),
    path("m/<slug:memory_id>/", views.Memory.as_view(), name="memory"),
    path("m/<slug:memory_id>/edit/", actions.Edit.as_view(), name="edit"),
    path("m/<slug:memory_id>/do/<slug:name>/", actions.MemoryDeed.as_view(), name="do_memory"),
]

_pages = [
    path("", views.Minds.as_view(), name="minds"),
    path("settings/", views.Settings.as_view(), name="settings"),
    path("<int:npc_id>/", include(_npc)),
]

urlpatterns = [
    path("memory/", include((_pages, "ai_memory"))),
    path("api/memory/", include("contrib_ai_memory.web.api.routes")),
]
