"""Base of the API's endpoints: access control, rate limits, input and output, errors as JSON.

Each endpoint has an operation of the table for each of its HTTP methods. `gate` runs that on the
reactor thread after it has checked the account's access, and returns plain data.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest
from drf_spectacular.openapi import AutoSchema
from rest_framework.authentication import SessionAuthentication
from rest_framework.exceptions import (
    APIException,
    AuthenticationFailed,
    PermissionDenied,
    ValidationError,
)
from rest_framework.parsers import JSONParser
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param
from rest_framework.views import APIView, set_rollback

from ..admin import audit
from ..admin.inspect import Page
from ..admin.operations import Operation
from ..log import logger
from . import gate, headers
from .serializers import ProblemSerializer, input_of, output_of
from .throttling import AccessThrottle, name_in, passwords

RETRY_AFTER = 5  # seconds, sent with 503


ERRORS = (400, 401, 403, 404, 409, 415, 429, 503)
METHODS_WITH_BODY = ("POST", "PATCH", "PUT")
PROBLEM = "application/problem+json"  # RFC 9457


# --- the schema -----------------------------------------------------------------------------------


class OperationSchema(AutoSchema):
    """Describes the methods that an endpoint has an operation for, and leaves out all others.

    drf-spectacular's own decorator would require its schema class to be the game's
    DEFAULT_SCHEMA_CLASS.
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
    """An operation as one HTTP method of a URL serves it.

    Attributes:
        input: Serializer of the body or, for methods without one, of the query.
        output: Serializer of a successful response; of each of its items with `many`.
        code: Status of a successful response.
    """

    def __init__(self, operation: Operation):
        self.operation = operation
        self.input = input_of(operation)
        self.output, self.many = output_of(operation)
        _method, _url, self.code = operation.route


class IsStaffOrBuilder(BasePermission):
    """Superusers, staff accounts and Builders.

    Evennia's own `EvenniaPermission` lets every logged-in player through on actions it does not
    know.
    """

    message = "NPC memories are for the staff of the game: the Builder permission is required."

    def has_permission(self, request: Request, view: Any) -> bool:
        if not request.user.is_authenticated:
            return False
        try:
            gate.ask(request.user.pk, lambda account: None)
        except gate.NotStaff:
            return False
        return True


class Resource(APIView):
    """Base class of all endpoints of the API."""

    permission_classes = (IsStaffOrBuilder,)
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
        """The rate limit that applies, one of `throttling.RATES`."""
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

    def perform_authentication(self, request: Request) -> None:
        """Authenticate, unless too many wrong passwords were sent."""
        name = name_in(request)
        if name is None:
            super().perform_authentication(request)
            return
        passwords.check(name)
        try:
            super().perform_authentication(request)
        except AuthenticationFailed:
            passwords.checked(name, right=False)
            raise
        passwords.checked(name, right=True)

    def ask(self, operation: Operation, npc_id: int | None, arguments: dict[str, Any]) -> Any:
        """Run an operation on the reactor thread; log a look."""
        timeout = gate.WHOLE_MEMORY if operation.slow else gate.TIMEOUT
        account = self.request.user.pk
        if npc_id is None:
            return gate.ask(account, partial(operation.run, None, **arguments), timeout=timeout)

        def logged(npc: Any, who: Any) -> Any:
            if operation.access == "look":
                audit.record_look(who, f"the API's {operation.name}", npc)
            return operation.repeat(npc, who, **arguments)

        return gate.ask_npc(account, npc_id, operation.access, logged, timeout=timeout)

    def page(self, found: Page, query: dict[str, Any]) -> dict[str, Any]:
        """Return a page of a list with the URLs of its neighbours, as Evennia's API does."""
        limit, offset = query["limit"], query["offset"]
        here = replace_query_param(self.request.build_absolute_uri(), "limit", limit)

        def at(start: int) -> str:
            return replace_query_param(here, "offset", start)

        return {
            "count": found.total,
            "next": at(offset + limit) if offset + limit < found.total else None,
            "previous": at(max(0, offset - limit)) if offset else None,
            "results": found.results,
        }

    def finalize_response(self, request: HttpRequest, response: Any, *args: Any, **kw: Any) -> Any:
        response = super().finalize_response(request, response, *args, **kw)
        headers.protect_api(response)
        return response

    def handle_exception(self, exc: Exception) -> Response:
        """Respond to every error with a problem (RFC 9457) and the matching status."""
        if isinstance(exc, APIException):
            response = super().handle_exception(exc)
            more = _invalid(response.data) if isinstance(exc, ValidationError) else {}
            return _as_problem(response, **(more or response.data))
        code, _title, detail = gate.problem(exc)
        busy = {"Retry-After": str(RETRY_AFTER)} if isinstance(exc, gate.BUSY) else None
        if busy:
            detail = f"The memory is busy: {detail} Try again in {RETRY_AFTER} seconds."
        if code == 500:
            logger().error("The API's %s failed.", self.request.path, exc_info=exc)
        set_rollback()
        response = Response(status=code, headers=busy)
        response.exception = True
        return _as_problem(response, detail=detail)


def _refuse_cross_site(request: Request) -> None:
    """Refuse changes that a browser sends for a page of another site.

    A browser with a stored HTTP Basic password adds it to every later request, whichever page sends
    it, and Django checks its CSRF token for sessions only.

    Raises:
        PermissionDenied
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


def _as_problem(response: Response, detail: Any, **more: Any) -> Response:
    """Make an error response a problem: what went wrong in `detail`, its kind in `status`."""
    title = HTTPStatus(response.status_code).phrase
    about = {"type": "about:blank", "title": title, "status": response.status_code}
    response.data = about | {"detail": detail} | more
    response.content_type = PROBLEM
    return response


def _invalid(data: Any) -> dict[str, Any]:
    """Return the detail and the errors by field for Django REST framework's validation errors."""
    return {"detail": f"Invalid input. {'; '.join(_sentences(data))}", "fields": data}


def _sentences(data: Any, name: str = "") -> list[str]:
    if isinstance(data, dict):
        prefix = f"{name}." if name else ""
        return [each for key, inner in data.items() for each in _sentences(inner, f"{prefix}{key}")]
    if isinstance(data, list):
        return [each for inner in data for each in _sentences(inner, name)]
    return [f"{name}: {data}" if name and name != "non_field_errors" else str(data)]
