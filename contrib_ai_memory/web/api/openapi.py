"""OpenAPI descriptions of the endpoints: what each operation takes and returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from drf_spectacular.openapi import AutoSchema
from rest_framework import serializers

from .serializers import ErrorSerializer

ERRORS = (400, 401, 403, 404, 409, 415, 429, 503)

Method = TypeVar("Method", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Operation:
    """One HTTP method of one URL. `query` and `body` are serializers of the input."""

    id: str
    response: Any
    query: type[serializers.Serializer] | None
    body: type[serializers.Serializer] | None
    code: int


def operation(
    operation_id: str,
    response: Any,
    *,
    query: type[serializers.Serializer] | None = None,
    body: type[serializers.Serializer] | None = None,
    code: int = 200,
) -> Callable[[Method], Method]:
    """Decorate an endpoint's method with its `Operation`; the docstring is its description.

    Args:
        response: Serializer of a successful response.
        code: Status of a successful response.
    """

    def decorate(method: Method) -> Method:
        vars(method)["operation"] = Operation(operation_id, response, query, body, code)
        return method

    return decorate


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
        return [self._operation.query] if self._operation.query else []

    def get_request_serializer(self) -> Any:
        return self._operation.body

    def get_response_serializers(self) -> Any:
        success = {self._operation.code: self._operation.response}
        return dict.fromkeys(ERRORS, ErrorSerializer) | success

    def get_tags(self) -> list[str]:
        return ["memory"]
