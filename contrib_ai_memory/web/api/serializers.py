"""What goes out and what comes in, as Django REST framework wants it told.

What goes out are the frozen records of `admin`: their serializers are read off their fields, so
that the schema cannot tell anything else than what is sent.
"""

from __future__ import annotations

import types
from dataclasses import fields, is_dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints

from rest_framework import serializers

from ...admin import erasure, inspect, preview, provenance, stats
from ...conf import EMOTIONS_PER_EXPERIENCE
from ...embedding.emotions import LABELS
from ...recall.rank import CLUES
from ...records import Recalled, ScoreParts
from ..forms import LONGEST_QUERY, LONGEST_TEXT

RECORDS = ("fact", "experience", "taught", "summary", "insight", "entry")
TYPES = ("episodic", "semantic", "working", "procedural")
LARGEST = 2**31 - 1
PAGE, LONGEST_PAGE = 50, 200

_PLAIN = {
    str: serializers.CharField,
    bool: serializers.BooleanField,
    int: serializers.IntegerField,
    float: serializers.FloatField,
}


_told: dict[type, type] = {}  # the serializer of each record: one component of the schema each


# --- what goes out --------------------------------------------------------------------------------


def told_of(record: type, name: str = "", **more: serializers.Field) -> type:
    """A read-only serializer class with every field of a frozen dataclass.

    Args:
        name: Of the schema's component; the record's own where there is none.
        more: Fields besides, or in place of, the record's.
    """
    hints = get_type_hints(record)
    told = {spec.name: _field(hints[spec.name]) for spec in fields(record)} | more
    name = name or record.__name__
    told |= {"__doc__": (record.__doc__ or "").split("\n")[0], "__module__": __name__}
    _told[record] = type(name, (serializers.Serializer,), told)
    return _told[record]


def _field(hint: Any, **options: Any) -> serializers.Field:
    """The field for a type of `records` and `admin`."""
    if get_origin(hint) in (Union, types.UnionType):
        [inner] = [each for each in get_args(hint) if each is not type(None)]
        return _field(inner, allow_null=True, **options)
    if get_origin(hint) is tuple:
        inner = get_args(hint)
        if len(inner) == 2 and inner[1] is Ellipsis:
            return serializers.ListField(child=_field(inner[0]), **options)
        return serializers.ListField(**options)  # a pair: (day, count)
    if get_origin(hint) is dict:
        return serializers.DictField(child=_field(get_args(hint)[1]), **options)
    if is_dataclass(hint):
        return (_told.get(hint) or told_of(hint))(**options)
    return _PLAIN[hint](**options)


class ClueField(serializers.DictField):
    """The clues of a score by name."""

    child = serializers.FloatField()

    def to_representation(self, value: tuple[float, ...]) -> dict[str, float]:
        return dict(zip(CLUES, value, strict=False))


Memory = told_of(
    inspect.MemoryRecord, "Memory", access_count=serializers.IntegerField(source="recalls")
)
Entry = told_of(inspect.Entry)
Score = told_of(ScoreParts, "Score", clues=ClueField())
Found = told_of(Recalled, "Found")
Shown = told_of(provenance.Shown)
Trace = told_of(provenance.Trace)
Graph = told_of(inspect.Graph)
Person = told_of(inspect.Person)
PersonPage = told_of(inspect.PersonPage)
Night = told_of(stats.NightDone, "Night")
Cost = told_of(stats.Cost)
Stats = told_of(stats.Stats)
Preview = told_of(preview.Preview)
Erased = told_of(erasure.Erased)


class Npc(told_of(inspect.Overview, "Npc")):
    """One NPC's memory in numbers; `npc` is its number in all addresses."""

    npc = serializers.SerializerMethodField()

    def get_npc(self, overview: inspect.Overview) -> int:
        return int(overview.dbref.lstrip("#"))


class Trouble(serializers.Serializer):
    """What went wrong, in a sentence; `fields` names what was wrong with the input."""

    detail = serializers.CharField()
    fields_ = serializers.DictField(required=False)

    def get_fields(self) -> dict[str, serializers.Field]:
        told = super().get_fields()
        told["fields"] = told.pop("fields_")
        return told


class JournalPage(serializers.Serializer):
    """Entries, newest first. `older` is `before` of the next page, and `next` its address; both
    are null at the journal's beginning."""

    next = serializers.CharField(allow_null=True)
    older = serializers.IntegerField(allow_null=True)
    searched_to = serializers.IntegerField()
    entries = Entry(many=True)


class Search(serializers.Serializer):
    """What came to mind, best first, with each part of each score."""

    memories = Found(many=True)
    total_tokens = serializers.IntegerField()
    budget_used = serializers.FloatField()
    prompt_block = serializers.CharField()


class Forgotten(serializers.Serializer):
    """What was forgotten, by id and in words."""

    ids = serializers.ListField(child=serializers.CharField())
    told = serializers.CharField()
    undoable = serializers.BooleanField()


class Act(serializers.Serializer):
    """A change that somebody made by hand."""

    deed = serializers.CharField()
    who = serializers.CharField()
    when = serializers.CharField()
    ids = serializers.ListField(child=serializers.CharField())


class NightNow(serializers.Serializer):
    """How far a night is."""

    phase = serializers.CharField(allow_null=True)
    position = serializers.IntegerField()
    passes = serializers.IntegerField()
    name = serializers.CharField(allow_null=True)
    waking = serializers.BooleanField()


class Status(serializers.Serializer):
    """awake, compacting, dreaming, paused or off; `night` is null for whoever is awake."""

    state = serializers.CharField()
    night = NightNow(allow_null=True)


class Nights(serializers.Serializer):
    """Where the present night stands, and what the last ones did, newest first."""

    status = Status()
    nights = Night(many=True)


# --- what comes in --------------------------------------------------------------------------------


class Paged(serializers.Serializer):
    """A part of a list."""

    limit = serializers.IntegerField(min_value=1, max_value=LONGEST_PAGE, default=PAGE)
    offset = serializers.IntegerField(min_value=0, max_value=LARGEST, default=0)
    text = serializers.CharField(
        max_length=200, default="", allow_blank=True, help_text="only what has these words in it"
    )


class NpcsAsked(Paged):
    """Which NPCs; `text` is in their name."""


class MemoriesAsked(Paged):
    """Which memories."""

    record = serializers.ChoiceField(RECORDS, default="fact")
    ended = serializers.BooleanField(
        default=False, help_text="those that hold no longer, instead of those that hold"
    )


class JournalAsked(serializers.Serializer):
    """Which entries."""

    before = serializers.IntegerField(min_value=1, max_value=LARGEST, default=None, allow_null=True)
    limit = serializers.IntegerField(min_value=1, max_value=LONGEST_PAGE, default=PAGE)
    text = serializers.CharField(max_length=200, default="", allow_blank=True)
    entity = serializers.CharField(
        max_length=255,
        default="",
        allow_blank=True,
        help_text="of or about this person: a name that the NPC knows, or an identity",
    )
    day = serializers.RegexField(
        r"^\d{4}(-\d\d(-\d\d)?)?\Z",
        default="",
        allow_blank=True,
        help_text="UTC: 2026-11-20, or the beginning of one, 2026-11",
        error_messages={"invalid": "A day is 2026-11-20, a month 2026-11, a year 2026 (UTC)."},
    )
    kind = serializers.CharField(max_length=20, default="", allow_blank=True)

    def validate_day(self, day: str) -> str:
        try:
            return inspect.parse_date(day) if day else ""
        except inspect.InvalidDate as wrong:
            raise serializers.ValidationError(str(wrong)) from None


class SearchAsked(serializers.Serializer):
    """A question to a memory. Without a speaker it is seen from outside the game, secrets too."""

    q = serializers.CharField(max_length=LONGEST_QUERY)
    speaker = serializers.CharField(
        max_length=255,
        default="",
        allow_blank=True,
        help_text="only what this person may hear: a name that the NPC knows, or an identity",
    )
    top_k = serializers.IntegerField(min_value=1, max_value=50, default=20)
    tokens = serializers.IntegerField(min_value=50, max_value=20_000, default=2000)
    memory_types = serializers.ListField(
        child=serializers.ChoiceField(TYPES), default=list, max_length=len(TYPES)
    )
    emotions = serializers.ListField(
        child=serializers.ChoiceField(LABELS), default=list, max_length=len(LABELS)
    )
    include_compressed = serializers.BooleanField(default=False)


class GraphAsked(serializers.Serializer):
    """How much of the links."""

    limit = serializers.IntegerField(min_value=1, max_value=2000, default=500)


class MemoryAdded(serializers.Serializer):
    """A memory to be given to the NPC."""

    text = serializers.CharField(max_length=LONGEST_TEXT)
    importance = serializers.IntegerField(min_value=1, max_value=10, default=8)


class MemoryEdited(serializers.Serializer):
    """What of a memory is changed; what is left out stays."""

    content = serializers.CharField(max_length=LONGEST_TEXT, required=False)
    importance = serializers.IntegerField(min_value=1, max_value=10, required=False)
    emotions = serializers.ListField(
        child=serializers.ChoiceField(LABELS), required=False, max_length=EMOTIONS_PER_EXPERIENCE
    )
    lesson = serializers.CharField(max_length=LONGEST_TEXT, required=False, allow_blank=True)


class Cascade(serializers.Serializer):
    """Whether what was drawn from it goes with it."""

    cascade = serializers.BooleanField(default=False)


class NightAsked(serializers.Serializer):
    """Whether all of the night is done at once, or bit by bit with the heartbeat."""

    at_once = serializers.BooleanField(default=False)


class Line(serializers.Serializer):
    """A line of talk that is not said."""

    player = serializers.CharField(
        max_length=255, help_text="a name that the NPC knows, an identity, a character's #dbref"
    )
    text = serializers.CharField(max_length=LONGEST_QUERY)
    whispered = serializers.BooleanField(default=False)
