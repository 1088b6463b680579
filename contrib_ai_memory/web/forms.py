"""What visitors type into the pages: filters, and the fields of a memory that may be changed."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import QueryDict

from .. import conf
from ..admin import inspect
from ..conf import EMOTIONS_PER_EXPERIENCE
from ..embedding.emotions import LABELS
from ..records import MemoryRecord

KINDS = ("say", "whisper", "pose", "arrive", "leave", "give", "note", "insight")
RECORDS = (
    ("fact", "Facts"),
    ("experience", "Experiences"),
    ("taught", "Taught"),
    ("insight", "Insights"),
    ("summary", "Summaries"),
)
LONGEST_QUERY = 400
LONGEST_TEXT = 20_000  # taken in by the API; how much of it is kept, MAX_LINE says


class DayField(forms.CharField):
    """A day, or the beginning of one."""

    def clean(self, value: Any) -> str:
        day = super().clean(value)
        try:
            return inspect.parse_date(day) if day else ""
        except inspect.InvalidDate as wrong:
            raise forms.ValidationError(f"Enter a valid date: {wrong}") from None


class JournalFilter(forms.Form):
    """Which entries of the journal."""

    text = forms.CharField(required=False, max_length=200, label="Words")
    who = forms.CharField(required=False, max_length=255, label="Of or about")
    day = DayField(required=False, max_length=40, label="Day (UTC)")
    kind = forms.ChoiceField(
        required=False, label="Kind", choices=[("", "any"), *((each, each) for each in KINDS)]
    )


class MemoryFilter(forms.Form):
    """Which memories of the store."""

    text = forms.CharField(required=False, max_length=200, label="Words")
    ended = forms.BooleanField(required=False, label="Superseded")


class Question(forms.Form):
    """A question to a memory."""

    q = forms.CharField(required=False, max_length=LONGEST_QUERY, label="Question")


class Line(forms.Form):
    """A line of talk, for the preview of a prompt."""

    who = forms.CharField(required=False, max_length=255, label="Spoken by")
    text = forms.CharField(required=False, max_length=LONGEST_QUERY, label="What is said")
    whispered = forms.BooleanField(required=False, label="Whispered")


class EditForm(forms.Form):
    """What of a memory a builder may change."""

    content = forms.CharField(
        label="What is remembered",
        strip=False,
        widget=forms.Textarea(attrs={"rows": 5, "dir": "auto"}),
    )
    importance = forms.IntegerField(
        label="Importance (1-10)", min_value=1, max_value=10, required=False
    )
    emotions = forms.MultipleChoiceField(
        label=f"Emotions, {EMOTIONS_PER_EXPERIENCE} at most",
        required=False,
        choices=[(each, each) for each in LABELS],
        widget=forms.CheckboxSelectMultiple,
    )

    def clean_content(self) -> str:
        """As long as a line may be: more would be cut off. What was longer before may stay."""
        text = self.cleaned_data["content"].replace("\r\n", "\n")
        longest = conf.get().MAX_LINE
        if len(text) > longest and text != self.initial.get("content"):
            raise forms.ValidationError(
                f"A memory has {longest} characters at most; these are {len(text)}. "
                "A longer text can be taught: @memory/teach."
            )
        return text

    def clean_emotions(self) -> list[str]:
        felt = self.cleaned_data["emotions"]
        if len(felt) > EMOTIONS_PER_EXPERIENCE:
            raise forms.ValidationError(
                f"A memory has {EMOTIONS_PER_EXPERIENCE} emotions at most; {len(felt)} are chosen."
            )
        return felt

    @classmethod
    def of(cls, memory: MemoryRecord, importance: int, data: QueryDict | None = None) -> EditForm:
        """The form for a memory, as it is first seen or as it was sent."""
        return cls(
            data,
            initial={
                "content": memory.content,
                "importance": importance,
                "emotions": list(memory.dominant_emotions),
            },
        )
