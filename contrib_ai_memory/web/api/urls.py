"""The addresses of the API. `contrib_ai_memory.web.urls` has them under api/memory/."""

from __future__ import annotations

from django.urls import include, path, re_path

from . import schema, views, views_mending

app_name = "ai_memory_api"

_memory = [
    path("", views_mending.Memory.as_view(), name="memory"),
    path("trace/", views.Trace.as_view(), name="trace"),
    path("pin/", views_mending.Pin.as_view(), name="pin"),
    path("unpin/", views_mending.Unpin.as_view(), name="unpin"),
    path("lock/", views_mending.Lock.as_view(), name="lock"),
    path("unlock/", views_mending.Unlock.as_view(), name="unlock"),
]

_npc = [
    path("", views.Npc.as_view(), name="npc"),
    path("journal/", views.Journal.as_view(), name="journal"),
    path("memories/", views_mending.Memories.as_view(), name="memories"),
    path("memories/<slug:memory_id>/", include(_memory)),
    path("search/", views.Search.as_view(), name="search"),
    path("people/", views.People.as_view(), name="people"),
    path("people/<path:person>/", views_mending.Person.as_view(), name="person"),
    path("links/", views.Graph.as_view(), name="links"),
    path("status/", views.Status.as_view(), name="status"),
    path("nights/", views_mending.Nights.as_view(), name="nights"),
    path("wake/", views_mending.Wake.as_view(), name="wake"),
    path("pause/", views_mending.Pause.as_view(), name="pause"),
    path("resume/", views_mending.Resume.as_view(), name="resume"),
    path("cost/", views.Cost.as_view(), name="cost"),
    path("stats/", views.Stats.as_view(), name="stats"),
    path("preview/", views.Preview.as_view(), name="preview"),
    path("acts/", views.Acts.as_view(), name="acts"),
    path("undo/", views_mending.Undo.as_view(), name="undo"),
]

urlpatterns = [
    path("npcs/", views.Npcs.as_view(), name="npcs"),
    path("npcs/<int:npc_id>/", include(_npc)),
    path("openapi.json", schema.Schema.as_view(), name="openapi"),
    re_path(r"", views.Nowhere.as_view()),
]
