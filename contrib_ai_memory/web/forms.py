"""Forms of the pages: list filters, and what changes a memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.core.validators import MaxLengthValidator

from .. import conf
from ..admin.arguments import LONGEST_NAME, REQUIRED, Argument
from ..admin.operations import Operation
from ..admin.persona import SheetField
from .serializers import validators

LARGEST_UPLOAD = 256_000_000  # bytes


class FilterForm(forms.Form):
    """What a page shows, from its query.

    Attributes:
        asked: What was chosen, by name; "" for what was not. Nothing of an invalid query.
    """

    def __init__(self, filters: Mapping[str, forms.Field], query: Any):
        given = query if any(name in query for name in filters) else None
        super().__init__(given, auto_id="%s")
        self.fields |= deepcopy(dict(filters))
        self.asked = dict.fromkeys(self.fields, "") | (self.cleaned_data if self.is_valid() else {})

    @property
    def filled(self) -> bool:
        """Whether anything was chosen."""
        return any(self.asked.values())


def words_field(label: str, most: int = 200, example: str = "") -> forms.Field:
    """Return a field for words to look for."""
    widget = forms.SearchInput(attrs={"dir": "auto", "placeholder": example})
    return forms.CharField(required=False, max_length=most, label=label, widget=widget)


def person_field(label: str, nobody: str = "") -> forms.Field:
    """Return a field for one of the people an NPC knows; its choices are set when they are known.

    Args:
        nobody: The choice of none of them; "" if there is no such choice.
    """
    widget = forms.Select(choices=[("", nobody)] if nobody else [])
    return forms.CharField(required=False, max_length=LONGEST_NAME, label=label, widget=widget)


class OperationForm(forms.Form):
    """The arguments of an operation that have a label."""

    operation: Operation

    def __init__(self, operation: Operation, *sent: Any, initial: dict[str, Any] | None = None):
        super().__init__(*sent, initial=initial)
        self.operation = operation
        self.fields |= {each.name: _field(each) for each in operation.arguments if each.label}

    def arguments(self) -> dict[str, Any]:
        """Return what was filled in; of arguments that change something, what is new."""
        kept = {each.name for each in self.operation.arguments if each.default is None}
        found = {
            name: value.replace("\r\n", "\n") if isinstance(value, str) else value
            for name, value in self.cleaned_data.items()
            if value not in (None, "")
        }
        return {
            name: value
            for name, value in found.items()
            if name not in kept or value != self.initial.get(name)
        }


def _field(argument: Argument) -> forms.Field:
    given: dict[str, Any] = {
        "label": argument.label,
        "required": argument.default is REQUIRED,
        "initial": None if argument.default is REQUIRED else argument.default,
    }
    choices = [(each, each) for each in argument.choices]
    if argument.type is tuple:
        told = "Choose at most %(limit_value)s; %(show_value)s are selected."
        limit = MaxLengthValidator(argument.most or len(choices), told)
        widget = forms.CheckboxSelectMultiple
        return forms.MultipleChoiceField(
            choices=choices, widget=widget, validators=[limit], **given
        )
    if choices:
        return forms.ChoiceField(choices=choices, **given)
    if argument.type is int:
        return forms.IntegerField(min_value=argument.least, max_value=argument.most, **given)
    if argument.type is bool:
        return forms.BooleanField(**given | {"required": False})
    if argument.rows:
        given["widget"] = forms.Textarea(attrs={"rows": argument.rows, "dir": "auto"})
    return forms.CharField(
        strip=not argument.rows,
        max_length=argument.most if argument.default is not None else None,  # it may stay as it is
        validators=validators(argument),
        **given,
    )


class ScheduleForm(OperationForm):
    """When an NPC falls asleep by itself."""

    def __init__(self, *args: Any, initial: dict[str, Any]):
        super().__init__(*args, initial=initial)
        plans = forms.ChoiceField(label="Schedule", widget=forms.RadioSelect)
        plans.choices = [
            ("own", "One of its own, as below"),
            ("off", "None: it sleeps only when it is sent to"),
            ("default", f"That of its settings: {initial['default_told']}"),
        ]
        self.fields["plan"] = plans

    def clean(self) -> dict[str, Any]:
        """Require the hours of a schedule of its own."""
        found = super().clean() or {}
        for name in ("hour", "hours") if found.get("plan") == "own" else ():
            if found.get(name) is None and name not in self.errors:
                self.add_error(name, "Enter a number.")
        return found


class SheetForm(forms.Form):
    """The persona sheet, with what is written on it."""

    def __init__(self, sheet: Sequence[SheetField], data: Any = None):
        super().__init__(data)
        for each in sheet:
            self.fields[each.field] = forms.CharField(
                label=f"{each.field.capitalize()}: {each.about}",
                initial=each.text,
                required=False,
                max_length=conf.MAX_LINE,
                widget=forms.Textarea(attrs={"rows": 4, "dir": "auto"}),
            )


class ConfirmForm(forms.Form):
    """What has to be typed before something is removed for good."""

    typed = forms.CharField(max_length=255, widget=forms.TextInput(attrs={"autocomplete": "off"}))

    def __init__(self, expected: str, *sent: Any):
        super().__init__(*sent)
        self.expected = expected
        self.fields["typed"].label = f"To confirm, type: {expected}"

    def clean_typed(self) -> str:
        """Compare it with what is expected, in any case and with any white space."""
        typed = self.cleaned_data["typed"]
        if " ".join(typed.casefold().split()) != " ".join(self.expected.casefold().split()):
            raise forms.ValidationError(f"Nothing was done. Type “{self.expected}” to confirm.")
        return typed


class UploadForm(forms.Form):
    """An exported file to be imported."""

    file = forms.FileField(
        label=f"Exported file (.jsonl, up to {LARGEST_UPLOAD // 1_000_000} MB)",
        max_length=200,
        widget=forms.FileInput(attrs={"accept": ".jsonl"}),
    )

    def clean_file(self) -> UploadedFile:
        """Reject a file that is too large to be kept."""
        file = self.cleaned_data["file"]
        if file.size > LARGEST_UPLOAD:
            raise forms.ValidationError(
                f"The file has {file.size / 1e6:.0f} MB, and {LARGEST_UPLOAD / 1e6:.0f} MB are the "
                "most. Import it on the server: evennia ai_memory import."
            )
        return file


class ReplacingUploadForm(UploadForm, ConfirmForm):
    """An exported file whose import replaces memories, which has to be confirmed."""

    field_order = ("file", "typed")
