"""The example game's pages: Evennia's own, and those of the memories."""

from django.urls import include, path
from evennia.web.urls import urlpatterns as evennia_default_urlpatterns

urlpatterns = [
    path("", include("web.website.urls")),
    path("webclient/", include("web.webclient.urls")),
    path("admin/", include("web.admin.urls")),
    # the one line that a game adds: staff pages under /memory/, the API under /api/memory/
    path("", include("contrib_ai_memory.web.urls")),
    *evennia_default_urlpatterns,
]
