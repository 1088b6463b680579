"""How an address tells the OpenAPI schema what it takes and what it gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from drf_spectacular.openapi import AutoSchema
from rest_framework import serializers

from .serializers import Trouble

TROUBLES = (400, 401, 403, 404, 409, 415, 429, 503)

Handler = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Operation:
    """What one method of one address takes and gives."""

    name: str
    answer: Any
    asked: type[serializers.Serializer] | None
    body: type[serializers.Serializer] | None
    code: int


def does(
    name: str,
    answer: Any,
    *,
    asked: type[serializers.Serializer] | None = None,
    body: type[serializers.Serializer] | None = None,
    code: int = 200,
) -> Callable[[Handler], Handler]:
    """Marks a method with what it does; its docstring tells the rest.

    Args:
        name: Of the operation.
        answer: The serializer (class) of what it gives.
        asked: Of the query.
        body: Of the body.
        code: The status where all went well.
    """

    def mark(method: Handler) -> Handler:
        method.operation = Operation(name, answer, asked, body, code)
        return method

    return mark


def many(item: type[serializers.Serializer]) -> type[serializers.Serializer]:
    """The serializer of a part of a list, as `answering.page` gives it."""
    told = {
        "count": serializers.IntegerField(),
        "next": serializers.CharField(allow_null=True),
        "previous": serializers.CharField(allow_null=True),
        "results": item(many=True),
        "__module__": __name__,
        "__doc__": "",
    }
    return type(f"{item.__name__}List", (serializers.Serializer,), told)


class ToldSchema(AutoSchema):
    """Reads what `does` has marked a method with; one that is not marked is not in the schema.

    (The decorator of drf-spectacular would need its class to be the whole game's
    DEFAULT_SCHEMA_CLASS.)
    """

    @property
    def _operation(self) -> Operation | None:
        return getattr(getattr(self.view, self.method.lower(), None), "operation", None)

    def is_excluded(self) -> bool:
        return self._operation is None

    def get_operation_id(self) -> str:
        return self._operation.name

    def get_override_parameters(self) -> list[Any]:
        return [self._operation.asked] if self._operation.asked else []

    def get_request_serializer(self) -> Any:
        return self._operation.body

    def get_response_serializers(self) -> Any:
        good = {self._operation.code: self._operation.answer}
        return dict.fromkeys(TROUBLES, Trouble) | good

    def get_tags(self) -> list[str]:
        return ["memory"]
