"""URLs of the API; `contrib_ai_memory.web.urls` includes them under api/memory/."""

from __future__ import annotations

from django.urls import include, path, re_path

from . import endpoints

app_name = "ai_memory_api"

_memory = [
    path("", endpoints.MemoryResource.as_view(), name="memory"),
    path("trace/", endpoints.TraceResource.as_view(), name="trace"),
    path("pin/", endpoints.PinResource.as_view(), name="pin"),
    path("unpin/", endpoints.UnpinResource.as_view(), name="unpin"),
    path("lock/", endpoints.LockResource.as_view(), name="lock"),
    path("unlock/", endpoints.UnlockResource.as_view(), name="unlock"),
]

_npc = [
    path("", endpoints.NPCResource.as_view(), name="npc"),
    path("journal/", endpoints.JournalResource.as_view(), name="journal"),
    path("memories/", endpoints.MemoryListResource.as_view(), name="memories"),
    path("memories/<slug:memory_id>/", include(_memory)),
    path("search/", endpoints.SearchResource.as_view(), name="search"),
    path("people/", endpoints.PersonListResource.as_view(), name="people"),
    path("people/<path:person>/", endpoints.PersonResource.as_view(), name="person"),
    path("links/", endpoints.GraphResource.as_view(), name="links"),
    path("status/", endpoints.StatusResource.as_view(), name="status"),
    path("nights/", endpoints.NightListResource.as_view(), name="nights"),
    path("wake/", endpoints.WakeResource.as_view(), name="wake"),
    path("pause/", endpoints.PauseResource.as_view(), name="pause"),
    path("resume/", endpoints.ResumeResource.as_view(), name="resume"),
    path("cost/", endpoints.CostResource.as_view(), name="cost"),
    path("stats/", endpoints.StatsResource.as_view(), name="stats"),
    path("preview/", endpoints.PreviewResource.as_view(), name="preview"),
    path("acts/", endpoints.ChangeListResource.as_view(), name="acts"),
    path("undo/", endpoints.UndoResource.as_view(), name="undo"),
]

urlpatterns = [
    path("npcs/", endpoints.NPCListResource.as_view(), name="npcs"),
    path("npcs/<int:npc_id>/", include(_npc)),
    path("openapi.json", endpoints.SchemaResource.as_view(), name="openapi"),
    re_path(r"", endpoints.UnknownResource.as_view()),
]
