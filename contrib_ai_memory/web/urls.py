"""URLs of the pages and the API; a game adds `include("contrib_ai_memory.web.urls")`."""

from __future__ import annotations

from django.urls import include, path

from . import actions, api, archives, erasure, game_pages, tasks, views

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
    *actions.urls_of_forms(**{"export": archives.ExportView, "import": archives.ImportView}),
    path("do/<slug:name>/", actions.ActionView.as_view(), name="do"),
    path("forget/", actions.ForgetView.as_view(), name="forget"),
    path("m/<slug:memory_id>/", views.MemoryView.as_view(), name="memory"),
    path("m/<slug:memory_id>/do/<slug:name>/", actions.ActionView.as_view(), name="do_memory"),
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

urlpatterns = [
    path("memory/", include((page_patterns, "ai_memory"))),
    path("api/memory/", include((api.urlpatterns, "ai_memory_api"))),
]
