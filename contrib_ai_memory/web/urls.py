"""Where the pages and the API are; a game does `include("contrib_ai_memory.web.urls")`."""

from __future__ import annotations

from django.urls import include, path, register_converter

from . import views, views_acting, views_drawing, views_looking


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
    path("", views_looking.Overview.as_view(), name="overview"),
    path("journal/", views_looking.Journal.as_view(), name="journal"),
    path("facts/", views_looking.Memories.as_view(), name="facts"),
    path("<kind:record>/", views_looking.Memories.as_view(), name="memories"),
    path("search/", views_looking.Search.as_view(), name="search"),
    path("people/", views_drawing.People.as_view(), name="people"),
    path("people/<path:identity>/", views_drawing.Person.as_view(), name="person"),
    path("graph/", views_drawing.Graph.as_view(), name="graph"),
    path("nights/", views_looking.Nights.as_view(), name="nights"),
    path("charts/", views_drawing.Charts.as_view(), name="charts"),
    path("prompt/", views_looking.Preview.as_view(), name="prompt"),
    path("do/<slug:name>/", views_acting.MindDeed.as_view(), name="do"),
    path("m/<slug:memory_id>/", views_drawing.Memory.as_view(), name="memory"),
    path("m/<slug:memory_id>/edit/", views_acting.Edit.as_view(), name="edit"),
    path("m/<slug:memory_id>/do/<slug:name>/", views_acting.MemoryDeed.as_view(), name="do_memory"),
]

_pages = [
    path("", views.Minds.as_view(), name="minds"),
    path("settings/", views.Settings.as_view(), name="settings"),
    path("<int:npc_id>/", include(_npc)),
]

urlpatterns = [
    path("memory/", include((_pages, "ai_memory"))),
    path("api/memory/", include("contrib_ai_memory.web.api.urls")),
]
