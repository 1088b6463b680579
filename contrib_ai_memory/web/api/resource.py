"""What every address of the API shares: who may, how often, and an answer in JSON whatever happens.

A view says which function of `admin` it calls; that runs on the reactor thread (`bridge`), after
the visitor was let through (`gate`), and gives plain data.

Who may use the API: those who may use the commands.

Evennia's own `EvenniaPermission` lets every player who is logged in through on actions that it does
not know. Here whoever is no staff is refused before a view looks at anything, and each NPC's own
locks are asked where its memory is (`gate.with_mind`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import Http404, HttpRequest
from rest_framework import status
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
from rest_framework.serializers import Serializer
from rest_framework.utils.urls import replace_query_param
from rest_framework.views import APIView, set_rollback

from ...admin import access, ids
from ...admin.undo_log import NothingToUndo
from ...log import logger
from ...sleep.night import NotNow, SwitchedOff
from .. import bridge, gate, headers
from ..views import BROKEN, LATER
from .openapi import ToldSchema
from .throttling import ByDeed, WrongPasswords


class MayTend(BasePermission):
    """Superusers, staff accounts and Builders."""

    message = "The memories of NPCs are for the staff of the game: it takes the permission Builder."

    def has_permission(self, request: Request, view: Any) -> bool:
        if not request.user.is_authenticated:
            return False
        try:
            bridge.on_reactor(gate.visitor, request.user.pk)
        except gate.Stranger:
            return False
        return True


# --- answering ------------------------------------------------------------------------------------

RETRY_AFTER = 5  # seconds, told with 503

REFUSED = (gate.Stranger, gate.MayNot)
NOT_THERE = (gate.NoSuchMind, ids.UnknownMemory, ids.UnknownPerson, Http404)
NOT_NOW = (NotNow, SwitchedOff, NothingToUndo)

_WENT_WRONG = "That went wrong, by a fault of ours. server/logs/ai_memory.log says how it came."


class Busy(NotNow):
    """It is doing just that already."""


class Tending(APIView):
    """One address of the API.

    Attributes:
        deeds: What a method does to the memory, where it is not to look (GET) or to edit.
    """

    permission_classes = (MayTend,)
    throttle_classes = (ByDeed,)
    renderer_classes = (JSONRenderer,)
    parser_classes = (JSONParser,)
    filter_backends = ()
    pagination_class = None
    schema = ToldSchema()
    deeds: dict[str, access.Action] = {}

    def get_authenticators(self) -> list[Any]:
        """Whatever the game's REST_FRAMEWORK says, and the website's log-in in any case."""
        found = super().get_authenticators()
        if not any(isinstance(each, SessionAuthentication) for each in found):
            found.append(SessionAuthentication())
        return found

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        _refuse_pages_of_others(request)
        super().initial(request, *args, **kwargs)

    def perform_authentication(self, request: Request) -> None:
        """Find out who asks. Wrong passwords are counted; after too many none is looked at."""
        passwords = WrongPasswords()
        key = passwords.key_of(request)
        if key is None:
            super().perform_authentication(request)
            return
        passwords.check(key)
        try:
            super().perform_authentication(request)
        except AuthenticationFailed:
            passwords.refused(key)
            raise
        passwords.came_in(key)

    def ask(
        self,
        npc_id: int,
        function: Callable[..., Any],
        *args: Any,
        timeout: float = bridge.TIMEOUT,
    ) -> Any:
        """`function(npc, who, *args)` on the reactor thread, after the visitor was let through.

        That they looked stands in the log; what they do there, `admin` tells.
        """
        usual = "look" if self.request.method in ("GET", "HEAD", "OPTIONS") else "edit"
        deed = self.deeds.get(self.request.method, usual)
        job = gate.with_mind, self.request.user.pk, npc_id, deed, self._noted, deed, function, *args
        return bridge.on_reactor(*job, timeout=timeout)

    def _noted(
        self, npc: Any, who: Any, deed: access.Action, function: Callable[..., Any], *args: Any
    ) -> Any:
        if deed == "look":
            access.record_look(who, f"the API's {type(self).__name__.lower()}", npc)
        return function(npc, who, *args)

    def asked(self, serializer: type[Serializer]) -> dict[str, Any]:
        """The query, or the body where the method has one, as the serializer has it."""
        source = self.request.query_params
        if self.request.method in ("POST", "PATCH", "PUT"):
            source = self.request.data
        read = serializer(data=source)
        read.is_valid(raise_exception=True)
        return read.validated_data

    def finalize_response(self, request: HttpRequest, response: Any, *args: Any, **kw: Any) -> Any:
        response = super().finalize_response(request, response, *args, **kw)
        headers.protect_answer(response)
        return response

    def handle_exception(self, exc: Exception) -> Response:
        """Every error is {"detail": a sentence} with the status that fits it."""
        if isinstance(exc, APIException):
            response = super().handle_exception(exc)
            response.data = trouble(response.data, invalid=isinstance(exc, ValidationError))
            return response
        code, told, more = _meaning(exc)
        if code == status.HTTP_500_INTERNAL_SERVER_ERROR:
            logger().error("The API's %s failed.", self.request.path, exc_info=exc)
        set_rollback()
        response = Response({"detail": told}, status=code, headers=more)
        response.exception = True
        return response


def _refuse_pages_of_others(request: Request) -> None:
    """Refuse what a page of another site makes a browser send.

    A browser that was asked for a password adds it to every later request, whoever wrote the page
    that sends it, and Django's CSRF token is asked for with a session only.

    Raises:
        PermissionDenied: It would change something, and its Origin is another site.
    """
    origin = request.META.get("HTTP_ORIGIN")
    if request.method in SAFE_METHODS or origin is None:
        return
    if (
        urlsplit(origin).netloc != request.get_host()
        and origin not in settings.CSRF_TRUSTED_ORIGINS
    ):
        raise PermissionDenied(
            "A page of another site may not change memories. If it is yours, name it in Django's "
            "setting CSRF_TRUSTED_ORIGINS."
        )


def _meaning(exc: Exception) -> tuple[int, str, dict[str, str]]:
    """Status, sentence and headers of an error that is not Django REST framework's own."""
    told = str(exc)
    if isinstance(exc, REFUSED):
        return status.HTTP_403_FORBIDDEN, told, {}
    if isinstance(exc, NOT_THERE):
        return status.HTTP_404_NOT_FOUND, told, {}
    if isinstance(exc, NOT_NOW):
        return status.HTTP_409_CONFLICT, told, {}
    if isinstance(exc, LATER):
        told = f"The memory is busy: {told} Try again in {RETRY_AFTER} seconds."
        return status.HTTP_503_SERVICE_UNAVAILABLE, told, {"Retry-After": str(RETRY_AFTER)}
    if isinstance(exc, BROKEN):
        return status.HTTP_503_SERVICE_UNAVAILABLE, told, {}
    if isinstance(exc, ValueError) and type(exc).__module__.startswith(__name__.split(".")[0]):
        return status.HTTP_400_BAD_REQUEST, told, {}
    return status.HTTP_500_INTERNAL_SERVER_ERROR, _WENT_WRONG, {}


def trouble(data: Any, *, invalid: bool) -> dict[str, Any]:
    """Django REST framework's account of an error, with a sentence in front."""
    if isinstance(data, dict) and "detail" in data and not invalid:
        return {"detail": str(data["detail"])}
    told = "; ".join(_sentences(data))
    return {"detail": f"That input does not fit. {told}", "fields": data} if invalid else told


def _sentences(data: Any, name: str = "") -> list[str]:
    if isinstance(data, dict):
        before = f"{name}." if name else ""
        return [each for key, inner in data.items() for each in _sentences(inner, f"{before}{key}")]
    if isinstance(data, list):
        return [each for inner in data for each in _sentences(inner, name)]
    return [f"{name}: {data}" if name and name != "non_field_errors" else str(data)]


# --- lists ----------------------------------------------------------------------------------------


def page(request: Request, results: list[Any], total: int, asked: dict[str, Any]) -> Response:
    """A part of a list, with the addresses of the parts around it, as Evennia's API has it."""
    limit, offset = asked["limit"], asked["offset"]
    here = request.build_absolute_uri()

    def at(start: int) -> str:
        return replace_query_param(replace_query_param(here, "limit", limit), "offset", start)

    return Response(
        {
            "count": total,
            "next": at(offset + limit) if offset + limit < total else None,
            "previous": at(max(0, offset - limit)) if offset else None,
            "results": results,
        }
    )
