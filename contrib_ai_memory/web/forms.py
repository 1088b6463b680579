"""Forms of the pages: list filters, search, prompt preview, and what changes a memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict

from .. import conf
from ..admin import edit, inspect
from ..admin.persona import SheetField
from ..conf import EMOTIONS_PER_EXPERIENCE
from ..embedding.emotions import LABELS
from ..handler import CONSCIOUS_IMPORTANCE

KINDS = ("say", "whisper", "pose", "arrive", "leave", "give", "note", "insight")
RECORDS = (  # kinds of memory besides journal entries
    ("fact", "Facts"),
    ("experience", "Experiences"),
    ("taught", "Taught"),
    ("insight", "Insights"),
    ("summary", "Summaries"),
)
LONGEST_QUERY = 400
LARGEST_UPLOAD = 256_000_000  # bytes
LONGEST_TEXT = 20_000  # characters the API accepts; setting MAX_LINE limits what is stored


class DayField(forms.CharField):
    """A day, a month or a year (UTC), such as 2026-11-20, 2026-11 or 2026."""

    def clean(self, value: Any) -> str:
        day = super().clean(value)
        try:
            return inspect.parse_date(day) if day else ""
        except inspect.InvalidDate as wrong:
            raise forms.ValidationError(f"Enter a valid date. {wrong}") from None


class JournalFilterForm(forms.Form):
    """Filter of the journal."""

    text = forms.CharField(required=False, max_length=200, label="Text")
    who = forms.CharField(required=False, max_length=255, label="Person")
    day = DayField(required=False, max_length=40, label="Day (UTC)")
    kind = forms.ChoiceField(
        required=False, label="Kind", choices=[("", "Any"), *((each, each) for each in KINDS)]
    )


class MemoryFilterForm(forms.Form):
    """Filter of memories, or of people by name."""

    text = forms.CharField(required=False, max_length=200, label="Text")
    ended = forms.BooleanField(required=False, label="Superseded")


class GraphForm(forms.Form):
    """What the link graph shows."""

    kind = forms.MultipleChoiceField(
        required=False,
        choices=[*RECORDS, ("entry", "Journal lines")],
        widget=forms.CheckboxSelectMultiple,
    )


class SearchForm(forms.Form):
    """A search query."""

    q = forms.CharField(required=False, max_length=LONGEST_QUERY, label="Search")
    who = forms.CharField(required=False, max_length=255, label="As told to")


class PreviewForm(forms.Form):
    """The line whose prompt is previewed."""

    who = forms.CharField(required=False, max_length=255, label="Speaker")
    text = forms.CharField(required=False, max_length=LONGEST_QUERY, label="Line")
    whispered = forms.BooleanField(required=False, label="Whispered")


class EditForm(forms.Form):
    """The fields of a memory that a builder may change."""

    content = forms.CharField(
        label="Text",
        strip=False,
        widget=forms.Textarea(attrs={"rows": 5, "dir": "auto"}),
    )
    importance = forms.IntegerField(
        label="Importance (1–10)", min_value=1, max_value=10, required=False
    )
    emotions = forms.MultipleChoiceField(
        label=f"Emotions (up to {EMOTIONS_PER_EXPERIENCE})",
        required=False,
        choices=[(each, each) for each in LABELS],
        widget=forms.CheckboxSelectMultiple,
    )

    def clean_content(self) -> str:
        """Reject a text that would be cut off when stored; an unchanged text may be longer."""
        text = self.cleaned_data["content"].replace("\r\n", "\n")
        return text if text == self.initial.get("content") else _not_too_long(text)

    def clean_emotions(self) -> list[str]:
        emotions = self.cleaned_data["emotions"]
        if len(emotions) > EMOTIONS_PER_EXPERIENCE:
            raise forms.ValidationError(
                f"A memory may have at most {EMOTIONS_PER_EXPERIENCE} emotions; "
                f"{len(emotions)} are selected."
            )
        return emotions

    @classmethod
    def of(cls, shown: inspect.Shown, data: QueryDict | None = None) -> EditForm:
        """Return the form for a memory, unbound or with submitted data."""
        memory, entry = shown.memory, shown.entry
        stored = max(1, round(memory.importance * 10))  # 1-10 on pages, 0-1 in the store
        return cls(
            data,
            initial={
                "content": memory.content,
                "importance": entry.importance if entry else stored,
                "emotions": list(memory.dominant_emotions),
            },
        )

    def changes(self) -> dict[str, Any]:
        """Return the fields of a valid form that are neither empty nor as they were."""
        return {
            name: value
            for name, value in self.cleaned_data.items()
            if value not in (None, "") and value != self.initial[name]
        }


class AddForm(forms.Form):
    """A memory to give to an NPC."""

    text = forms.CharField(label="Text", widget=forms.Textarea(attrs={"rows": 4, "dir": "auto"}))
    importance = forms.IntegerField(
        label="Importance (1–10)", min_value=1, max_value=10, initial=CONSCIOUS_IMPORTANCE
    )

    def clean_text(self) -> str:
        """Reject a text that would be cut off when stored."""
        return _not_too_long(self.cleaned_data["text"])


class TeachForm(forms.Form):
    """A longer text to be learned."""

    text = forms.CharField(
        label=f"Text, up to {LONGEST_TEXT} characters",
        max_length=LONGEST_TEXT,
        widget=forms.Textarea(attrs={"rows": 16, "dir": "auto"}),
    )


class PersonaForm(forms.Form):
    """The persona sheet."""

    def __init__(self, sheet: Sequence[SheetField], data: Any = None):
        super().__init__(data)
        for each in sheet:
            self.fields[each.name] = forms.CharField(
                label=f"{each.name.capitalize()}: {each.about}",
                initial=each.text,
                required=False,
                max_length=conf.get().MAX_LINE,
                widget=forms.Textarea(attrs={"rows": 4, "dir": "auto"}),
            )


class ScheduleForm(forms.Form):
    """When an NPC falls asleep by itself."""

    plan = forms.ChoiceField(label="Schedule", widget=forms.RadioSelect)
    hour = forms.IntegerField(
        label="Falls asleep at (hour, 0–23)", min_value=0, max_value=23, required=False
    )
    hours = forms.IntegerField(
        label="Sleeps for at most (hours, 1–24)", min_value=1, max_value=24, required=False
    )
    clock = forms.ChoiceField(
        label="By the clock of",
        required=False,
        choices=[("server", "the server"), ("game", "the game")],
    )

    @classmethod
    def of(cls, schedule: edit.Schedule, data: QueryDict | None = None) -> ScheduleForm:
        """Return the form for an NPC, unbound or with submitted data."""
        initial = {
            "plan": schedule.plan,
            "hour": schedule.hour,
            "hours": schedule.hours,
            "clock": schedule.clock,
        }
        form = cls(data, initial=initial)
        form.fields["plan"].choices = [
            ("own", "One of its own, as below"),
            ("off", "None: it sleeps only when it is sent to"),
            ("default", f"That of its settings: {schedule.default_told}"),
        ]
        return form

    def clean(self) -> dict[str, Any]:
        """Require the hours of a schedule of its own."""
        found = super().clean() or {}
        if found.get("plan") == "own":
            for name in ("hour", "hours"):
                if found.get(name) is None and name not in self.errors:
                    self.add_error(name, "Enter a number.")
        return {name: value for name, value in found.items() if value not in (None, "")}


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


def _not_too_long(text: str) -> str:
    text = text.replace("\r\n", "\n")
    longest = conf.get().MAX_LINE
    if len(text) > longest:
        raise forms.ValidationError(
            f"A memory may have at most {longest} characters; this text has {len(text)}. Teach the "
            "NPC a longer text instead."
        )
    return text
