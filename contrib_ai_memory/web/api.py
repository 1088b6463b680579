"""The API: an endpoint for each URL in the table of operations, its schema, and its 404.

`gate` runs the operation on the reactor thread after it has checked the account's access, and
returns plain data.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from itertools import groupby
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import Http404, HttpRequest
from django.urls import path, re_path, reverse
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.views import SpectacularJSONAPIView
from rest_framework.authentication import SessionAuthentication
from rest_framework.exceptions import APIException, PermissionDenied, ValidationError
from rest_framework.pagination import LimitOffsetPagination
from rest_framework.parsers import JSONParser
from rest_framework.permissions import SAFE_METHODS, IsAuthenticated
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.settings import api_settings
from rest_framework.throttling import ScopedRateThrottle
from rest_framework.views import APIView, set_rollback

from ..admin import audit
from ..admin.inspect import Page
from ..admin.operations import TABLE, Operation
from ..log import logger
from . import gate, headers
from .serializers import ProblemSerializer, input_of, output_of

VERSION = "1"
TITLE = "NPC memories"
DESCRIPTION = """\
Read, search and edit what NPCs remember, and start and end their nights. Permissions are those of
the in-game commands: Builder to look and to edit, Admin to erase, and each NPC's own locks
memory_look, memory_edit and memory_erase. With a session of the website, requests that change
something must carry its CSRF token. Every error is a problem (RFC 9457) whose `detail` is a
sentence."""
RETRY_AFTER = 5  # seconds, sent with 503
RATES = {  # by default; a game sets them in REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"], None for none
    "ai_memory_read": "300/min",  # lists and single memories
    "ai_memory_work": "60/min",  # requests that embed a text or read a whole memory
    "ai_memory_write": "120/min",
}
ERRORS = (400, 401, 403, 404, 409, 415, 429, 503)
METHODS_WITH_BODY = ("POST", "PATCH", "PUT")
PROBLEM = "application/problem+json"  # RFC 9457


# --- the schema -----------------------------------------------------------------------------------


class OperationSchema(AutoSchema):
    """Describes the methods that an endpoint has an operation for, and leaves out all others.

    drf-spectacular's own decorator would require that the game names its schema class.
    """

    @property
    def _endpoint(self) -> Any:
        return self.view.endpoints.get(self.method)

    def is_excluded(self) -> bool:
        return self._endpoint is None

    def get_operation_id(self) -> str:
        return self._endpoint.operation.name

    def get_description(self) -> str:
        return self._endpoint.operation.about

    def get_override_parameters(self) -> list[Any]:
        in_query = self._endpoint.input and self.method not in METHODS_WITH_BODY
        return [self._endpoint.input] if in_query else []

    def get_request_serializer(self) -> Any:
        return self._endpoint.input if self.method in METHODS_WITH_BODY else None

    def get_response_serializers(self) -> Any:
        success = self._endpoint.output(many=self._endpoint.many)
        problems = dict.fromkeys(((str(code), PROBLEM) for code in ERRORS), ProblemSerializer)
        return problems | {self._endpoint.code: success}

    def get_tags(self) -> list[str]:
        return ["memory"]


# --- endpoints ------------------------------------------------------------------------------------


class Endpoint:
    """An operation as one HTTP method of a URL serves it."""

    def __init__(self, operation: Operation):
        self.operation = operation
        self.input = input_of(operation)  # of the body or, for methods without one, of the query
        self.output, self.many = output_of(operation)  # of each item, if it is a list
        _method, _url, self.code = operation.route  # status of a successful response


class AccessThrottle(ScopedRateThrottle):
    """Limits requests per account, by the endpoint's `throttle_scope`."""

    def get_rate(self) -> str | None:
        return (RATES | (api_settings.DEFAULT_THROTTLE_RATES or {}))[self.scope]


class Resource(APIView):
    """Base class of all endpoints of the API."""

    permission_classes = (IsAuthenticated,)
    throttle_classes = (AccessThrottle,)
    renderer_classes = (JSONRenderer,)
    parser_classes = (JSONParser,)
    filter_backends = ()
    pagination_class = None
    schema = OperationSchema()

    endpoints: Mapping[str, Endpoint] = {}  # by HTTP method

    @property
    def endpoint(self) -> Endpoint | None:
        """What is requested; None for the schema and for unknown methods and URLs."""
        method = self.request.method
        return self.endpoints.get("GET" if method == "HEAD" else method)

    @property
    def throttle_scope(self) -> str:
        """The rate limit that applies, one of `RATES`."""
        if self.endpoint and self.endpoint.operation.heavy:
            return "ai_memory_work"
        reads = self.request.method in SAFE_METHODS
        return "ai_memory_read" if reads else "ai_memory_write"

    def get_authenticators(self) -> list[Any]:
        """Return those of the game's REST_FRAMEWORK setting, and always the website's session."""
        found = super().get_authenticators()
        if not any(isinstance(each, SessionAuthentication) for each in found):
            found.append(SessionAuthentication())
        return found

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        _refuse_cross_site(request)
        super().initial(request, *args, **kwargs)
        # Evennia's own `EvenniaPermission` lets every player through on actions it does not know
        gate.ask(request.user.pk, lambda staff: None)

    def finalize_response(self, request: HttpRequest, response: Any, *args: Any, **kw: Any) -> Any:
        response = super().finalize_response(request, response, *args, **kw)
        headers.protect(response, headers.API_POLICY)
        return response

    def handle_exception(self, exc: Exception) -> Response:
        """Respond to every error with a problem (RFC 9457) and the matching status."""
        if isinstance(exc, APIException):
            response = super().handle_exception(exc)
            more = response.data
            if isinstance(exc, ValidationError):
                told = "; ".join(_sentences(response.data))
                more = {"detail": f"Invalid input. {told}", "fields": response.data}
        else:
            status, _title, detail = gate.problem(exc)
            response = Response(status=status)
            if isinstance(exc, gate.BUSY):
                response["Retry-After"] = str(RETRY_AFTER)
                detail = f"The memory is busy: {detail} Try again in {RETRY_AFTER} seconds."
            if status == 500:
                logger().error("The API's %s failed.", self.request.path, exc_info=exc)
            set_rollback()
            response.exception = True
            more = {"detail": detail}
        title = HTTPStatus(response.status_code).phrase
        about = {"type": "about:blank", "title": title, "status": response.status_code}
        response.data, response.content_type = about | more, PROBLEM
        return response


def _refuse_cross_site(request: Request) -> None:
    """Refuse changes that a browser sends for a page of another site.

    It adds a stored HTTP Basic password to every request, whichever page sends it, and Django
    checks its CSRF token for sessions only.
    """
    origin = request.META.get("HTTP_ORIGIN")
    if request.method in SAFE_METHODS or origin is None:
        return
    own = urlsplit(origin).netloc == request.get_host()
    if not own and origin not in settings.CSRF_TRUSTED_ORIGINS:
        raise PermissionDenied(
            "A page of another site may not change memories. If the site is yours, add it to "
            "Django's setting CSRF_TRUSTED_ORIGINS."
        )


def _sentences(data: Any, name: str = "") -> list[str]:
    if isinstance(data, dict):
        prefix = f"{name}." if name else ""
        return [each for key, inner in data.items() for each in _sentences(inner, f"{prefix}{key}")]
    if isinstance(data, list):
        return [each for inner in data for each in _sentences(inner, name)]
    return [f"{name}: {data}" if name and name != "non_field_errors" else str(data)]


class OperationResource(Resource):
    """One URL, with an operation for each of its HTTP methods."""

    def _respond(self, request: Request, npc_id: int | None = None, **arguments: Any) -> Response:
        endpoint: Any = self.endpoint
        if endpoint.input:
            has_body = request.method in METHODS_WITH_BODY
            checked = endpoint.input(data=request.data if has_body else request.query_params)
            checked.is_valid(raise_exception=True)
            arguments |= checked.validated_data
        found = self._ask(endpoint.operation, npc_id, arguments)
        if isinstance(found, Page):  # with the URLs of its neighbours, as Evennia's API does
            pages: Any = LimitOffsetPagination()
            pages.request, pages.count = request, found.total
            pages.limit, pages.offset = arguments["limit"], arguments["offset"]
            found = pages.get_paginated_response(found.results).data
        made = endpoint.output(found, many=endpoint.many, context={"request": request})
        return Response(made.data, status=endpoint.code)

    get = post = put = patch = delete = _respond

    def _ask(self, operation: Operation, npc_id: int | None, arguments: dict[str, Any]) -> Any:
        """Run an operation on the reactor thread; log a look."""
        timeout = gate.WHOLE_MEMORY if operation.slow else gate.TIMEOUT
        account = self.request.user.pk
        if npc_id is None:
            return gate.ask(account, partial(operation.run, None, **arguments), timeout=timeout)

        def logged(npc: Any, who: Any) -> Any:
            if operation.access == "look":
                audit.record_look(who, f"the API's {operation.name}", npc)
            return operation.run(npc, who, **arguments)

        return gate.ask_npc(account, npc_id, operation.access, logged, timeout=timeout)


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
