"""The API: an endpoint for each URL in the table of operations, its schema, and its 404."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from django.http import Http404, HttpRequest
from django.urls import path, re_path, reverse
from drf_spectacular.views import SpectacularJSONAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from ..admin.inspect import Page
from ..admin.operations import TABLE, Operation
from .resource import METHODS_WITH_BODY, Endpoint, Resource

VERSION = "1"
TITLE = "NPC memories"
DESCRIPTION = """\
Read, search and edit what NPCs remember, and start and end their nights. Permissions are those of
the in-game commands: Builder to look and to edit, Admin to erase, and each NPC's own locks
memory_look, memory_edit and memory_erase. With a session of the website, requests that change
something must carry its CSRF token. Every error is a problem (RFC 9457) whose `detail` is a
sentence."""


class OperationResource(Resource):
    """One URL, with an operation for each of its HTTP methods."""

    def _respond(self, request: Request, npc_id: int | None = None, **arguments: Any) -> Response:
        endpoint = self.endpoints["GET" if request.method == "HEAD" else str(request.method)]
        if endpoint.input:
            has_body = request.method in METHODS_WITH_BODY
            checked = endpoint.input(data=request.data if has_body else request.query_params)
            checked.is_valid(raise_exception=True)
            arguments |= checked.validated_data
        found = self.ask(endpoint.operation, npc_id, arguments)
        if isinstance(found, Page):
            found = self.page(found, arguments)
        made = endpoint.output(found, many=endpoint.many, context={"request": request})
        return Response(made.data, status=endpoint.code)

    get = post = put = patch = delete = _respond


class SchemaResource(Resource, SpectacularJSONAPIView):
    """The OpenAPI schema, for the URL under which the game includes the API."""

    renderer_classes = SpectacularJSONAPIView.renderer_classes

    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        root = reverse("ai_memory_api:npcs").removesuffix("/npcs/")
        self.custom_settings = {
            "TITLE": TITLE,
            "DESCRIPTION": DESCRIPTION,
            "VERSION": VERSION,
            "SERVERS": [{"url": root}],
            "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
            "SCHEMA_PATH_PREFIX": "",
        }
        return super().get(request, *args, **kwargs)


class UnknownResource(Resource):
    """Every other URL: a 404 as JSON, for all HTTP methods."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        self.http_method_names = ()
        return super().dispatch(request, *args, **kwargs)

    def http_method_not_allowed(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        raise Http404("There is no such URL. See openapi.json for those that exist.")


# --- its URLs -------------------------------------------------------------------------------------


def url_of(operation: Operation) -> str:
    """Return the URL of an operation, as a pattern."""
    _method, url, _code = operation.route
    url = url.format(memory_id="<slug:memory_id>", person="<path:person>")
    return f"npcs/<int:npc_id>/{url}" if operation.of_npc else url


def _endpoints() -> list[Any]:
    offered = sorted((each for each in TABLE.values() if each.api), key=url_of)
    found = []
    for url, operations in groupby(offered, key=url_of):
        served = {each.route[0]: Endpoint(each) for each in operations}
        methods = [*served, "OPTIONS", *(["HEAD"] if "GET" in served else [])]
        view = OperationResource.as_view(
            endpoints=served, http_method_names=[each.lower() for each in methods]
        )
        first = next(iter(served.values()))
        found.append(path(url, view, name=first.operation.name))
    # the pattern of a person takes all that is left of a URL
    return sorted(found, key=lambda each: "<path:" in str(each.pattern))


endpoints = _endpoints()
urlpatterns = [
    *endpoints,
    path("openapi.json", SchemaResource.as_view(patterns=endpoints), name="openapi"),
    re_path(r"", UnknownResource.as_view()),
]
