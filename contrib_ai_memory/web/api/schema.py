"""The OpenAPI schema of the API, where the game has put it."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from drf_spectacular.views import SpectacularJSONAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from .resource import Tending

VERSION = "1"
TITLE = "Memories of NPCs"
ABOUT = """\
What NPCs remember: read, searched, mended, and slept upon. The same permissions hold as for the
commands of the game: Builder to look and to edit, Admin to erase, and each NPC's own locks
memory_look, memory_edit and memory_erase. Whoever writes with the website's log-in sends its CSRF
token. Every error is {"detail": a sentence}."""


class Schema(Tending, SpectacularJSONAPIView):
    """The schema, as JSON."""

    renderer_classes = SpectacularJSONAPIView.renderer_classes
    urlconf = ["contrib_ai_memory.web.api.routes"]

    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        where = reverse("ai_memory_api:npcs").removesuffix("/npcs/")
        self.custom_settings = {
            "TITLE": TITLE,
            "DESCRIPTION": ABOUT,
            "VERSION": VERSION,
            "SERVERS": [{"url": where}],
            "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
            "SCHEMA_PATH_PREFIX": "",
        }
        return super().get(request, *args, **kwargs)
