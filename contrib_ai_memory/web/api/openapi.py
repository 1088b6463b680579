"""Operations of the API: input and output of each, for requests and for the OpenAPI schema."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

from drf_spectacular.openapi import AutoSchema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from .serializers import ErrorSerializer

ERRORS = (400, 401, 403, 404, 409, 415, 429, 503)
METHODS_WITH_BODY = ("POST", "PATCH", "PUT")


@dataclass(frozen=True, slots=True)
class Operation:
    """One HTTP method of one URL.

    Attributes:
        output: Serializer of a successful response; of each of its items with `many`.
        code: Status of a successful response.
        input: Serializer of the body or, for methods without one, of the query.
    """

    id: str
    output: type[serializers.Serializer]
    many: bool
    code: int
    input: type[serializers.Serializer] | None


def operation(
    operation_id: str,
    output: type[serializers.Serializer],
    *,
    many: bool = False,
    code: int = 200,
    input: type[serializers.Serializer] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Response]]:
    """Make a function an endpoint's method: validate its input and serialise what it returns.

    The function is called with the validated input, if there is any, and the URL's parameters. Its
    docstring is the operation's description. The arguments are those of `Operation`.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Response]:
        @wraps(function)
        def method(view: Any, request: Request, **parameters: Any) -> Response:
            arguments = [_validated(request, input)] if input else []
            result = function(view, *arguments, **parameters)
            return Response(output(result, many=many).data, status=code)

        vars(method)["operation"] = Operation(operation_id, output, many, code, input)
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
        return getattr(getattr(self.view, self.method.lower(), None), "operation", None)

    def is_excluded(self) -> bool:
        return self._operation is None

    def get_operation_id(self) -> str:
        return self._operation.id

    def get_override_parameters(self) -> list[Any]:
        in_query = self._operation.input and self.method not in METHODS_WITH_BODY
        return [self._operation.input] if in_query else []

    def get_request_serializer(self) -> Any:
        return self._operation.input if self.method in METHODS_WITH_BODY else None

    def get_response_serializers(self) -> Any:
        success = self._operation.output(many=self._operation.many)
        return dict.fromkeys(ERRORS, ErrorSerializer) | {self._operation.code: success}

    def get_tags(self) -> list[str]:
        return ["memory"]
