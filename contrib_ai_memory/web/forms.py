"""Forms of the pages: list filters, search, prompt preview, and editing a memory."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import QueryDict

from .. import conf
from ..admin import inspect
from ..conf import EMOTIONS_PER_EXPERIENCE
from ..embedding.emotions import LABELS

KINDS = ("say", "whisper", "pose", "arrive", "leave", "give", "note", "insight")
RECORDS = (  # kinds of memory besides journal entries
    ("fact", "Facts"),
    ("experience", "Experiences"),
    ("taught", "Taught"),
    ("insight", "Insights"),
    ("summary", "Summaries"),
)
LONGEST_QUERY = 400
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


class SearchForm(forms.Form):
    """A search query."""

    q = forms.CharField(required=False, max_length=LONGEST_QUERY, label="Search")


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
        longest = conf.get().MAX_LINE
        if len(text) > longest and text != self.initial.get("content"):
            raise forms.ValidationError(
                f"A memory may have at most {longest} characters; this text has {len(text)}. "
                "To give the NPC a longer text, use @memory/teach."
            )
        return text

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
