"""Base of the API's endpoints: access control, rate limits, input and output, errors as JSON.

Each endpoint is an `operation`: a method of a `Resource` that names the `admin` function to call.
`gate` calls that on the reactor thread after it has checked the account's access, and returns plain
data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import Http404, HttpRequest
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers, status
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

from ..admin import access, audit
from ..admin.undo_log import NothingToUndo
from ..log import logger
from ..sleep.night import NotNow, SwitchedOff
from . import gate, headers, idempotency
from .serializers import ProblemSerializer
from .throttling import AccessThrottle, PasswordThrottle

RETRY_AFTER = 5  # seconds, sent with 503

NOT_FOUND = (*gate.NOT_FOUND, Http404)
CONFLICTS = (NotNow, SwitchedOff, NothingToUndo)

_PACKAGE = __name__.partition(".")[0]
_INTERNAL_ERROR = "Internal error. Details are in server/logs/ai_memory.log."
ERRORS = (400, 401, 403, 404, 409, 415, 429, 503)
METHODS_WITH_BODY = ("POST", "PATCH", "PUT")
PROBLEM = "application/problem+json"  # RFC 9457

_KEY = OpenApiParameter(
    idempotency.HEADER,
    type={"type": "string", "minLength": 1, "maxLength": idempotency.LONGEST_KEY},
    location=OpenApiParameter.HEADER,
    description="a key of your choice: sent again with it, the request is answered, not repeated",
)


# --- operations and their schema ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Operation:
    """One HTTP method of one URL.

    Attributes:
        output: Serializer of a successful response; of each of its items with `many`.
        code: Status of a successful response.
        input: Serializer of the body or, for methods without one, of the query.
        access_type: Access to the memory; None is "look" for methods that read, "edit" for others.
        throttle_scope: Rate limit, one of `throttling.RATES`; None is that of reading or writing.
    """

    output: type[serializers.Serializer]
    many: bool = False
    code: int = 200
    input: type[serializers.Serializer] | None = None
    access_type: access.Action | None = None
    throttle_scope: str | None = None


def operation(
    output: type[serializers.Serializer], **options: Any
) -> Callable[[Callable[..., Any]], Callable[..., Response]]:
    """Make a method an operation: validate its input and serialise what it returns.

    The method is called with the validated input, if there is any, and the URL's parameters. Its
    name is the operation's id, its docstring the description. The arguments are those of
    `Operation`.
    """
    made = Operation(output, **options)

    def decorate(function: Callable[..., Any]) -> Callable[..., Response]:
        @wraps(function)
        def method(view: Any, request: Request, **parameters: Any) -> Response:
            arguments = [_validated(request, made.input)] if made.input else []

            def answer() -> Response:
                result = function(view, *arguments, **parameters)
                return Response(output(result, many=made.many).data, status=made.code)

            return idempotency.once(request, answer)

        vars(method)["operation"] = made
        return method

    return decorate


def _validated(request: Request, serializer: type[serializers.Serializer]) -> dict[str, Any]:
    has_body = request.method in METHODS_WITH_BODY
    checked = serializer(data=request.data if has_body else request.query_params)
    checked.is_valid(raise_exception=True)
    return checked.validated_data


def page_of(item: type[serializers.Serializer]) -> type[serializers.Serializer]:
    """Return the serializer of a page of a list, as `Resource.page` builds it."""
    fields = {
        "count": serializers.IntegerField(),
        "next": serializers.CharField(allow_null=True),
        "previous": serializers.CharField(allow_null=True),
        "results": item(many=True),
        "__module__": __name__,
        "__doc__": "",
    }
    name = item.__name__.removesuffix("Serializer")
    return type(f"{name}ListSerializer", (serializers.Serializer,), fields)


class OperationSchema(AutoSchema):
    """Describes the methods decorated with `operation`, and leaves out all others.

    drf-spectacular's own decorator would require its schema class to be the game's
    DEFAULT_SCHEMA_CLASS.
    """

    @property
    def _operation(self) -> Any:
        return self.view.operation

    def is_excluded(self) -> bool:
        return self._operation is None

    def get_operation_id(self) -> str:
        return self.view.action

    def get_override_parameters(self) -> list[Any]:
        in_query = self._operation.input and self.method not in METHODS_WITH_BODY
        found = [self._operation.input] if in_query else []
        return [*found, _KEY] if self.method == "POST" else found

    def get_request_serializer(self) -> Any:
        return self._operation.input if self.method in METHODS_WITH_BODY else None

    def get_response_serializers(self) -> Any:
        success = self._operation.output(many=self._operation.many)
        errors = (*ERRORS, 422) if self.method == "POST" else ERRORS
        problems = dict.fromkeys(((str(code), PROBLEM) for code in errors), ProblemSerializer)
        return problems | {self._operation.code: success}

    def get_tags(self) -> list[str]:
        return ["memory"]


# --- endpoints ------------------------------------------------------------------------------------


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

    @property
    def operation(self) -> Operation | None:
        """The operation that is requested; None for the schema and for unknown methods and URLs."""
        method = getattr(self, getattr(self, "action", None) or "", None)
        return getattr(method, "operation", None)

    @property
    def throttle_scope(self) -> str:
        """The rate limit that applies, one of `throttling.RATES`."""
        if self.operation and self.operation.throttle_scope:
            return self.operation.throttle_scope
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
        passwords = PasswordThrottle()
        key = passwords.key_of(request)
        if key is None:
            super().perform_authentication(request)
            return
        passwords.check(key)
        try:
            super().perform_authentication(request)
        except AuthenticationFailed:
            passwords.record_failure(key)
            raise
        passwords.record_success(key)

    def ask(
        self,
        npc_id: int,
        function: Callable[..., Any],
        *args: Any,
        timeout: float = gate.TIMEOUT,
    ) -> Any:
        """Return `function(npc, who, *args)`, called on the reactor thread; log a look."""
        default: access.Action = "look" if self.request.method in SAFE_METHODS else "edit"
        access_type = (self.operation and self.operation.access_type) or default
        name = self.request.resolver_match.url_name

        def logged(npc: Any, who: Any) -> Any:
            if access_type == "look":
                audit.record_look(who, f"the API's {name}", npc)
            return function(npc, who, *args)

        account_id = self.request.user.pk
        return gate.ask_npc(account_id, npc_id, access_type, logged, timeout=timeout)

    def page(self, results: Sequence[Any], total: int, query: dict[str, Any]) -> dict[str, Any]:
        """Return a page of a list with the URLs of its neighbours, as Evennia's API does."""
        limit, offset = query["limit"], query["offset"]
        here = replace_query_param(self.request.build_absolute_uri(), "limit", limit)

        def at(start: int) -> str:
            return replace_query_param(here, "offset", start)

        return {
            "count": total,
            "next": at(offset + limit) if offset + limit < total else None,
            "previous": at(max(0, offset - limit)) if offset else None,
            "results": results,
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
        code, detail, more = _error(exc)
        if code == status.HTTP_500_INTERNAL_SERVER_ERROR:
            logger().error("The API's %s failed.", self.request.path, exc_info=exc)
        set_rollback()
        response = Response(status=code, headers=more)
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


def _error(exc: Exception) -> tuple[int, str, dict[str, str]]:
    """Return status, sentence and headers for an error that Django REST framework does not know."""
    detail = str(exc)
    if isinstance(exc, gate.FORBIDDEN):
        return status.HTTP_403_FORBIDDEN, detail, {}
    if isinstance(exc, NOT_FOUND):
        return status.HTTP_404_NOT_FOUND, detail, {}
    if isinstance(exc, CONFLICTS):
        return status.HTTP_409_CONFLICT, detail, {}
    if isinstance(exc, gate.BUSY):
        detail = f"The memory is busy: {detail} Try again in {RETRY_AFTER} seconds."
        return status.HTTP_503_SERVICE_UNAVAILABLE, detail, {"Retry-After": str(RETRY_AFTER)}
    if isinstance(exc, gate.UNAVAILABLE):
        return status.HTTP_503_SERVICE_UNAVAILABLE, detail, {}
    if isinstance(exc, ValueError) and type(exc).__module__.startswith(_PACKAGE):
        return status.HTTP_400_BAD_REQUEST, detail, {}
    return status.HTTP_500_INTERNAL_SERVER_ERROR, _INTERNAL_ERROR, {}


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
