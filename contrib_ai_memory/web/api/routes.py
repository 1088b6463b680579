"""The addresses of the API. `contrib_ai_memory.web.urls` has them under api/memory/."""

from __future__ import annotations

from django.urls import include, path, re_path

from . import endpoints, schema

app_name = "ai_memory_api"

_memory = [
    path("", endpoints.Memory.as_view(), name="memory"),
    path("trace/", endpoints.Trace.as_view(), name="trace"),
    path("pin/", endpoints.Pin.as_view(), name="pin"),
    path("unpin/", endpoints.Unpin.as_view(), name="unpin"),
    path("lock/", endpoints.Lock.as_view(), name="lock"),
    path("unlock/", endpoints.Unlock.as_view(), name="unlock"),
]

_npc = [
    path("", endpoints.Npc.as_view(), name="npc"),
    path("journal/", endpoints.Journal.as_view(), name="journal"),
    path("memories/", endpoints.Memories.as_view(), name="memories"),
    path("memories/<slug:memory_id>/", include(_memory)),
    path("search/", endpoints.Search.as_view(), name="search"),
    path("people/", endpoints.People.as_view(), name="people"),
    path("people/<path:person>/", endpoints.Person.as_view(), name="person"),
    path("links/", endpoints.Graph.as_view(), name="links"),
    path("status/", endpoints.Status.as_view(), name="status"),
    path("nights/", endpoints.Nights.as_view(), name="nights"),
    path("wake/", endpoints.Wake.as_view(), name="wake"),
    path("pause/", endpoints.Pause.as_view(), name="pause"),
    path("resume/", endpoints.Resume.as_view(), name="resume"),
    path("cost/", endpoints.Cost.as_view(), name="cost"),
    path("stats/", endpoints.Stats.as_view(), name="stats"),
    path("preview/", endpoints.Preview.as_view(), name="preview"),
    path("acts/", endpoints.Acts.as_view(), name="acts"),
    path("undo/", endpoints.Undo.as_view(), name="undo"),
]

urlpatterns = [
    path("npcs/", endpoints.Npcs.as_view(), name="npcs"),
    path("npcs/<int:npc_id>/", include(_npc)),
    path("openapi.json", schema.Schema.as_view(), name="openapi"),
    re_path(r"", endpoints.Nowhere.as_view()),
]
