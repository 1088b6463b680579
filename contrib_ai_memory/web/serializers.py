"""Serializers of the API's responses and inputs.

Most responses are frozen records of `admin`: their serializers are derived from the dataclasses, so
the OpenAPI schema cannot differ from what is sent.
"""

from __future__ import annotations

import re
import types
from dataclasses import fields, is_dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints

from rest_framework import serializers

from ..admin import audit, edit, erase, inspect, persona, prompt_preview
from ..conf import EMOTIONS_PER_EXPERIENCE
from ..embedding.emotions import LABELS
from ..ingest.pipeline import Learned
from ..recall.rank import CLUES
from ..records import Entry, MemoryRecord, Recalled, RecallResult, ScoreParts
from .forms import LONGEST_QUERY, LONGEST_TEXT, RECORDS

TYPES = ("episodic", "semantic", "working", "procedural")
LARGEST = 2**31 - 1
PAGE, LONGEST_PAGE = 50, 200

_FIELDS = {
    str: serializers.CharField,
    bool: serializers.BooleanField,
    int: serializers.IntegerField,
    float: serializers.FloatField,
}

_derived: dict[Any, type[serializers.Serializer]] = {}  # each is one component of the schema


# --- derived from records -------------------------------------------------------------------------


def derived(
    record: Any, name: str = "", **overrides: serializers.Field
) -> type[serializers.Serializer]:
    """Return a serializer class with every field of a frozen dataclass.

    Args:
        name: Of the schema's component; by default the record's own.
        overrides: Fields to add or replace.
    """
    hints = get_type_hints(record)
    attributes = {spec.name: _field(hints[spec.name]) for spec in fields(record)} | overrides
    about = re.sub(r" \[[ABC]\b.*?\]", "", (record.__doc__ or "").split("\n")[0])  # no sources
    attributes |= {"__doc__": about, "__module__": __name__}
    name = f"{name or record.__name__}Serializer"
    _derived[record] = type(name, (serializers.Serializer,), attributes)
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
    if get_origin(hint) is dict:
        return serializers.DictField(child=_field(get_args(hint)[1]), **options)
    if is_dataclass(hint):
        return (_derived.get(hint) or derived(hint))(**options)
    return _FIELDS[hint](**options)


class CluesField(serializers.DictField):
    """The clues of a score by name."""

    child = serializers.FloatField()

    def to_representation(self, value: tuple[float, ...]) -> dict[str, float]:
        return dict(zip(CLUES, value, strict=False))


class DbrefNumberField(serializers.IntegerField):
    """The number of a #dbref."""

    def to_representation(self, value: str) -> int:
        return int(value.lstrip("#"))


MemorySerializer = derived(
    MemoryRecord, "Memory", access_count=serializers.IntegerField(source="recalls")
)
EntrySerializer = derived(Entry)
ScoreSerializer = derived(ScoreParts, "Score", clues=CluesField())
RecalledSerializer = derived(Recalled)
RecallSerializer = derived(RecallResult, "Recall")
MemoryDetailSerializer = derived(inspect.Shown, "MemoryDetail")
TraceSerializer = derived(inspect.Trace)
GraphSerializer = derived(inspect.Graph)
PersonSerializer = derived(inspect.Person)
PersonDetailSerializer = derived(inspect.PersonPage, "PersonDetail")
NightSerializer = derived(inspect.NightDone, "Night")
CostSerializer = derived(inspect.Cost)
StatsSerializer = derived(inspect.Stats)
SheetFieldSerializer = derived(persona.SheetField, "SheetField")
NPCSettingsSerializer = derived(inspect.NPCSettingsShown, "NPCSettings")
PreviewSerializer = derived(prompt_preview.Preview)
ErasedSerializer = derived(erase.Erased)
LearnedSerializer = derived(Learned)
ScheduleSerializer = derived(edit.Schedule)
ChangeRecordSerializer = derived(audit.Record, "ChangeRecord")
NPCSerializer = derived(
    inspect.Overview,
    "NPC",
    npc=DbrefNumberField(source="dbref", help_text="the NPC's number in URLs of the API"),
)


# --- other responses ------------------------------------------------------------------------------


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


class JournalSerializer(serializers.Serializer):
    """A page of journal entries, newest first. `older` is the value of `before` for the next page,
    `next` its URL; both are null at the beginning of the journal."""

    next = serializers.CharField(allow_null=True)
    older = serializers.IntegerField(allow_null=True)
    searched_to = serializers.IntegerField(help_text="the oldest entry that was looked at")
    entries = EntrySerializer(many=True)


class ForgottenSerializer(serializers.Serializer):
    """The ids of forgotten memories, and a summary in words."""

    ids = serializers.ListField(child=serializers.CharField())
    told = serializers.CharField()
    undoable = serializers.BooleanField()


class ActSerializer(serializers.Serializer):
    """A change made by hand."""

    deed = serializers.CharField(source="action")
    who = serializers.CharField()
    when = serializers.CharField()
    ids = serializers.ListField(child=serializers.CharField())


class AgendaItemSerializer(serializers.Serializer):
    """A promise, a debt, a request to the NPC, or a plan."""

    id = serializers.CharField(source="item.id")
    kind = serializers.CharField(source="item.kind")
    text = serializers.CharField(source="item.text")
    state = serializers.CharField(help_text="open, due, overdue, done or broken")
    who = serializers.CharField(help_text="who is to do it")
    to = serializers.CharField(help_text='whom it is owed to; "" if unknown or nobody')
    due = serializers.CharField(source="item.due", help_text='ISO date; "" without one')
    private = serializers.BooleanField(source="item.private")
    evidence = serializers.ListField(
        source="item.evidence", child=serializers.IntegerField(), help_text="journal ids"
    )


class AskedNPCSerializer(serializers.Serializer):
    """An NPC that a player asked to be forgotten by."""

    npc = serializers.IntegerField()
    name = serializers.CharField()
    may_erase = serializers.BooleanField(help_text="whether you may erase there")

    def to_representation(self, asked: tuple[int, str, bool]) -> dict[str, Any]:
        return dict(zip(("npc", "name", "may_erase"), asked, strict=True))


class ForgetRequestSerializer(serializers.Serializer):
    """A player who asked with `forgetme` to be forgotten."""

    identity = serializers.CharField()
    name = serializers.CharField()
    since = serializers.CharField()
    npcs = AskedNPCSerializer(many=True)


class NightProgressSerializer(serializers.Serializer):
    """Progress of the current night."""

    phase = serializers.CharField(allow_null=True)
    position = serializers.IntegerField()
    passes = serializers.IntegerField()
    name = serializers.CharField(allow_null=True)
    waking = serializers.BooleanField()


class StatusSerializer(serializers.Serializer):
    """An NPC's state: awake, compacting, dreaming, paused or off. `night` is null while awake."""

    state = serializers.CharField()
    night = NightProgressSerializer(allow_null=True)


class NightsSerializer(serializers.Serializer):
    """Current status and the records of past nights, newest first."""

    status = StatusSerializer()
    nights = NightSerializer(many=True)


# --- queries --------------------------------------------------------------------------------------


class PageQuery(serializers.Serializer):
    """A page of a list."""

    limit = serializers.IntegerField(min_value=1, max_value=LONGEST_PAGE, default=PAGE)
    offset = serializers.IntegerField(min_value=0, max_value=LARGEST, default=0)
    text = serializers.CharField(
        max_length=200, default="", allow_blank=True, help_text="words to look for, in any case"
    )


class LogQuery(PageQuery):
    """A page of the log: `text` is looked for in names and actions."""

    npc = serializers.IntegerField(
        min_value=0, max_value=LARGEST, default=0, help_text="its number; 0 is all NPCs"
    )


class MemoriesQuery(PageQuery):
    """A page of memories of one kind."""

    record = serializers.ChoiceField([*dict(RECORDS), "entry"], default="fact")
    ended = serializers.BooleanField(
        default=False, help_text="superseded and ended memories instead of valid ones"
    )


class JournalQuery(serializers.Serializer):
    """A page of the journal, with filters."""

    before = serializers.IntegerField(min_value=1, max_value=LARGEST, default=None, allow_null=True)
    limit = serializers.IntegerField(min_value=1, max_value=LONGEST_PAGE, default=PAGE)
    text = serializers.CharField(max_length=200, default="", allow_blank=True)
    entity = serializers.CharField(
        max_length=255,
        default="",
        allow_blank=True,
        help_text="entries by or about this person: a name the NPC knows, or an identity",
    )
    day = serializers.RegexField(
        r"^\d{4}(-\d\d(-\d\d)?)?\Z",
        default="",
        allow_blank=True,
        help_text="a day, month or year in UTC: 2026-11-20, 2026-11 or 2026",
        error_messages={"invalid": "Enter a day, month or year: 2026-11-20, 2026-11 or 2026."},
    )
    kind = serializers.CharField(max_length=20, default="", allow_blank=True)

    def validate_day(self, day: str) -> str:
        try:
            return inspect.parse_date(day) if day else ""
        except inspect.InvalidDate as wrong:
            raise serializers.ValidationError(str(wrong)) from None


class SearchQuery(serializers.Serializer):
    """A search of a memory. Without a speaker, secrets are included."""

    q = serializers.CharField(max_length=LONGEST_QUERY)
    speaker = serializers.CharField(
        max_length=255,
        default="",
        allow_blank=True,
        help_text="only what this person may hear: a name the NPC knows, or an identity",
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


class GraphQuery(serializers.Serializer):
    """The size of the link graph, and the kinds of memories in it; all kinds without any."""

    limit = serializers.IntegerField(min_value=1, max_value=2000, default=500)
    records = serializers.ListField(
        child=serializers.ChoiceField([*dict(RECORDS), "entry"]), default=list, max_length=6
    )


class ForgetQuery(serializers.Serializer):
    """Whether to forget derived memories too."""

    cascade = serializers.BooleanField(default=False)


# --- bodies ---------------------------------------------------------------------------------------


class NewMemory(serializers.Serializer):
    """A memory to give to the NPC."""

    text = serializers.CharField(max_length=LONGEST_TEXT)
    importance = serializers.IntegerField(min_value=1, max_value=10, default=8)


class NewText(serializers.Serializer):
    """A text to teach the NPC."""

    text = serializers.CharField(max_length=LONGEST_TEXT, trim_whitespace=False)


class NewSheetField(serializers.Serializer):
    """A field of the persona sheet."""

    name = serializers.ChoiceField(tuple(persona.ABOUT))
    text = serializers.CharField(max_length=LONGEST_TEXT, allow_blank=True)


class NewSchedule(serializers.Serializer):
    """When the NPC falls asleep by itself; `hour`, `hours` and `clock` are of a plan of its own."""

    plan = serializers.ChoiceField(("own", "off", "default"))
    hour = serializers.IntegerField(min_value=0, max_value=23, default=2)
    hours = serializers.IntegerField(min_value=1, max_value=24, default=4)
    clock = serializers.ChoiceField(("server", "game"), default="server")


class MemoryChanges(serializers.Serializer):
    """Changes to a memory; omitted fields stay as they are."""

    content = serializers.CharField(max_length=LONGEST_TEXT, required=False)
    importance = serializers.IntegerField(min_value=1, max_value=10, required=False)
    emotions = serializers.ListField(
        child=serializers.ChoiceField(LABELS), required=False, max_length=EMOTIONS_PER_EXPERIENCE
    )
    lesson = serializers.CharField(max_length=LONGEST_TEXT, required=False, allow_blank=True)


class NightStart(serializers.Serializer):
    """Whether the night runs without a pause, rather than a few steps per heartbeat."""

    at_once = serializers.BooleanField(default=False)


class PreviewLine(serializers.Serializer):
    """A line to preview the prompt for."""

    player = serializers.CharField(
        max_length=255, help_text="a name the NPC knows, an identity, or a character's #dbref"
    )
    text = serializers.CharField(max_length=LONGEST_QUERY)
    whispered = serializers.BooleanField(default=False)
