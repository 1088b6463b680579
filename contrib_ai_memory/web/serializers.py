"""Serializers of the API's responses and inputs, derived from the table of operations.

Responses are frozen records of `admin`: their serializers are derived from the dataclasses, so the
OpenAPI schema cannot differ from what is sent.
"""

from __future__ import annotations

import re
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from django.core.exceptions import ValidationError
from rest_framework import serializers
from rest_framework.utils.urls import replace_query_param

from ..admin import inspect
from ..admin.arguments import REQUIRED, Argument
from ..admin.forget import Selection
from ..admin.inspect import Page
from ..admin.operations import Operation
from ..admin.requests import Asked
from ..admin.undo_log import Act
from ..llm.usage import Spent
from ..records import AgendaItem, MemoryRecord, RecallResult, ScoreParts

_FIELDS = {
    str: serializers.CharField,
    bool: serializers.BooleanField,
    int: serializers.IntegerField,
    float: serializers.FloatField,
}

_derived: dict[Any, type[serializers.Serializer]] = {}  # each is one component of the schema


# --- inputs ---------------------------------------------------------------------------------------


def input_of(operation: Operation) -> type[serializers.Serializer] | None:
    """Return the serializer of the arguments that are not in the URL; None without any."""
    found = {
        each.name: _input(each)
        for each in operation.arguments
        if f"{{{each.name}}}" not in operation.api
    }
    name = f"{operation.name.title().replace('_', '')}Input"
    return _serializer(name, found) if found else None


def _serializer(name: str, attributes: dict[str, Any], about: str = "") -> Any:
    return type(name, (serializers.Serializer,), attributes | {"__doc__": about})


def _input(argument: Argument) -> serializers.Field:
    given: dict[str, Any] = {"help_text": argument.about} if argument.about else {}
    if argument.default is None:
        given["required"] = False
    elif argument.default is not REQUIRED:
        given["default"] = [] if argument.default == () else argument.default
    if argument.choices:
        child = serializers.ChoiceField(argument.choices)
        if argument.type is tuple:
            most = argument.most or len(argument.choices)
            return serializers.ListField(child=child, max_length=most, **given)
        return serializers.ChoiceField(argument.choices, **given)
    if argument.type is int:
        given |= {"min_value": argument.least, "max_value": argument.most}
    if argument.type is str:
        given |= {"max_length": argument.most, "allow_blank": "default" in given}
        given |= {"validators": validators(argument)}
    return _FIELDS[argument.type](**given)


def validators(argument: Argument) -> list[Any]:
    """Return what checks a text beside its length, for serializers and forms."""

    def check(value: str) -> None:
        try:
            argument.check and argument.check(value)
        except ValueError as wrong:
            raise ValidationError(str(wrong)) from None

    return [check] if argument.check else []


# --- responses ------------------------------------------------------------------------------------


def output_of(operation: Operation) -> tuple[type[serializers.Serializer], bool]:
    """Return the serializer of a successful response, and whether the response is a list."""
    returns, inner = operation.returns, get_args(operation.returns)
    many = get_origin(returns) is list
    item = _serializer_of(inner[0] if inner else returns)
    if get_origin(returns) is not Page:
        return item, many
    page = {
        "count": serializers.IntegerField(),
        "next": serializers.CharField(allow_null=True),
        "previous": serializers.CharField(allow_null=True),
        "results": item(many=True),
    }
    return _serializer(f"{item.__name__.removesuffix('Serializer')}ListSerializer", page), False


def _serializer_of(record: Any) -> type[serializers.Serializer]:
    return _derived.get(record) or derived(record)


def derived(
    record: Any, name: str = "", only: str = "", **overrides: Any
) -> type[serializers.Serializer]:
    """Return a serializer class with the fields of a frozen dataclass.

    Args:
        name: Of the schema's component; by default the record's own.
        only: Names of the fields, with blanks between them; all without any.
        overrides: Fields to add or replace, and methods.
    """
    hints, names = get_type_hints(record), only.split()
    attributes = {
        spec.name: _field(hints[spec.name])
        for spec in fields(record)
        if not names or spec.name in names
    } | overrides
    about = re.sub(r" \[[ABC]\b.*?\]", "", (record.__doc__ or "").split("\n")[0])  # no sources
    _derived[record] = _serializer(f"{name or record.__name__}Serializer", attributes, about)
    return _derived[record]


def _field(hint: Any, **options: Any) -> serializers.Field:
    """Return the field for the type of a record's attribute."""
    if get_origin(hint) in (Union, types.UnionType):
        [inner] = [each for each in get_args(hint) if each is not type(None)]
        return _field(inner, allow_null=True, **options)
    if get_origin(hint) is tuple:
        inner = get_args(hint)
        if len(inner) == 2 and inner[1] is Ellipsis:
            return serializers.ListField(child=_field(inner[0]), **options)
        return serializers.ListField(**options)  # a pair: (day, count)
    if get_origin(hint) in (dict, Mapping):
        return serializers.DictField(child=_field(get_args(hint)[1]), **options)
    if is_dataclass(hint):
        return _serializer_of(hint)(**options)
    return _FIELDS[str if get_origin(hint) is Literal else hint](**options)


class DbrefNumberField(serializers.IntegerField):
    """The number of a #dbref."""

    def to_representation(self, value: str) -> int:
        return int(value.lstrip("#"))


derived(MemoryRecord, "Memory", access_count=serializers.IntegerField(source="recalls"))
derived(ScoreParts, "Score")
derived(RecallResult, "Recall")
derived(inspect.Shown, "MemoryDetail")
derived(inspect.PersonPage, "PersonDetail")
derived(inspect.Status, only="state night")
derived(inspect.NightDone, "Night")
derived(inspect.NPCSettingsShown, "NPCSettings")
derived(inspect.PersonShown, "Person")
derived(Spent, "Spending")
derived(inspect.LogRecord, "ChangeRecord")
derived(Asked, "ForgetRequest")
derived(
    Selection,
    "Forgotten",
    only="undoable",
    ids=serializers.ListField(child=serializers.CharField()),
    told=serializers.CharField(),
)
derived(Act, only="deed who when ids")
derived(
    inspect.Overview,
    "NPC",
    npc=DbrefNumberField(source="dbref", help_text="the NPC's number in URLs of the API"),
)


def _next(serializer: serializers.Serializer, page: inspect.JournalPage) -> str | None:
    url = serializer.context["request"].build_absolute_uri()
    return replace_query_param(url, "before", page.older) if page.older else None


derived(inspect.JournalPage, "Journal", next=serializers.SerializerMethodField(), get_next=_next)
_item = get_type_hints(AgendaItem)
derived(
    inspect.AgendaEntry,
    "AgendaItem",
    only="state who to",
    **{
        name: _field(_item[name], source=f"item.{name}")
        for name in ("id", "kind", "text", "due", "private", "evidence")
    },
)


class ProblemSerializer(serializers.Serializer):
    """A problem (RFC 9457): `detail` says what went wrong and what to do; for invalid input,
    `fields` has the errors by field."""

    type = serializers.CharField(help_text="about:blank: `status` says what kind of problem it is")
    title = serializers.CharField(help_text="the name of the status")
    status = serializers.IntegerField()
    detail = serializers.CharField()

    def get_fields(self) -> dict[str, serializers.Field]:
        # `fields` cannot be declared: it is a property of every serializer
        return super().get_fields() | {"fields": serializers.DictField(required=False)}
