"""What every page shares, and the pages that are about no single NPC: the list, the settings.

A page says what it asks for (`read`, on the reactor thread), and which template shows it. Who may
not come in, what is not there, and a store that gives no answer are pages of their own.

The pages that look into one NPC: overview, journal, memories, search, nights, prompt.

The pages of how things hang together: people, one memory whole, the link graph, charts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.views import View
from twisted.internet import defer

from .. import conf, offload
from ..admin import access, ids, inspect, preview, provenance, stats, undo_log
from ..admin import stats as memory_stats
from ..embedding.model import ModelError
from ..log import logger
from ..recall.rank import CLUES
from ..records import Entry, Recalled, RecallResult
from ..script import AssistantScript
from ..sleep.night import PASSES, TITLES
from ..store.errors import StoreError
from ..text import redaction
from . import bridge, charts, gate, headers
from .forms import RECORDS, JournalFilter, Line, MemoryFilter, Question

LATER = (bridge.TooSlow, offload.Busy, offload.TimedOut)
BROKEN = (StoreError, ModelError)
DJANGOS_OWN = (PermissionDenied, SuspiciousOperation)
NOT_THERE = (gate.NoSuchMind, ids.UnknownMemory, ids.UnknownPerson, ids.Ambiguous)

_WENT_WRONG = RuntimeError("It is a fault of ours. server/logs/ai_memory.log says how it came.")


@dataclass(frozen=True, slots=True)
class Header:
    """The NPC at the top of each of its pages, and what this visitor may do there."""

    id: int
    key: str
    dbref: str
    state: str
    may_edit: bool
    may_erase: bool


class Page(View):
    """One page of the staff.

    Attributes:
        template: Shows what `get` gives to `show`.
        title: Of the page.
    """

    template = ""
    title = ""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = self._answer(request, *args, **kwargs)
        headers.protect_page(response)
        return response

    def _answer(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path())
        try:
            return super().dispatch(request, *args, **kwargs)
        except (gate.Stranger, gate.MayNot) as no:
            return self.trouble(403, "This is not for you", no)
        except (*NOT_THERE, Http404) as nothing:
            return self.trouble(404, "Nothing is here", nothing)
        except LATER as late:
            return self.trouble(503, "The memory is busy", late, later=True)
        except BROKEN as broken:
            return self.trouble(503, "The memory cannot be reached", broken)
        except DJANGOS_OWN:
            raise
        except Exception:  # noqa: BLE001  (the visitor is told of it, and the log has it whole)
            logger().exception("The page %s failed.", request.path)
            return self.trouble(500, "That went wrong", _WENT_WRONG)

    def trouble(
        self, status: int, title: str, why: Exception, *, later: bool = False
    ) -> HttpResponse:
        """A page that says what happened and what to do."""
        told = {"title": title, "why": str(why), "later": later, "status": status}
        return render(self.request, "ai_memory/trouble.html", told, status=status)

    def ask(self, function: Callable[..., Any], *args: Any) -> Any:
        """`function(who, *args)` on the reactor thread, for this visitor."""
        return bridge.on_reactor(gate.with_visitor, self.request.user.pk, function, *args)

    def show(self, **context: Any) -> HttpResponse:
        return render(self.request, self.template, {"title": self.title, **context})


class MindPage(Page):
    """A page about one NPC. `tab` is its place in the row of tabs, and its name in the log."""

    tab = ""
    deed: access.Action = "look"

    def ask_mind(self, npc_id: int, function: Callable[..., Any], *args: Any, **kw: Any) -> Any:
        """(`Header`, `function(npc, *args)`), after the visitor was let through.

        That they looked stands in the log.
        """
        page = self.tab or type(self).__name__.lower()

        def asked(npc: Any, who: Any) -> defer.Deferred:
            access.record_look(who, f"the page {page}", npc)
            result = defer.maybeDeferred(function, npc, *args, **kw)
            return result.addCallback(lambda found: (_header(npc, who), found))

        return self.on_mind(npc_id, asked)

    def on_mind(self, npc_id: int, function: Callable[..., Any], *args: Any) -> Any:
        """`function(npc, who, *args)` on the reactor thread, after the visitor was let through."""
        return bridge.on_reactor(
            gate.with_mind, self.request.user.pk, npc_id, self.deed, function, *args
        )

    def show(self, **context: Any) -> HttpResponse:
        return super().show(tab=self.tab, **context)


def _header(npc: Any, who: Any) -> Header:
    return Header(
        id=npc.id,
        key=npc.key,
        dbref=npc.dbref,
        state=inspect.state_of(npc),
        may_edit=access.may(who, npc, "edit"),
        may_erase=access.may(who, npc, "erase"),
    )


def start_of(request: HttpRequest) -> int:
    """Where in a list a page begins: `from` in its address; 0 where that is no number."""
    asked = request.GET.get("from", "")
    return int(asked) if is_cursor(asked) else 0


def is_cursor(text: str) -> bool:
    """Whether this is a place in a list, and not so many digits that Python reads it no more."""
    return text.isascii() and text.isdigit() and len(text) < 12


def query_with(request: HttpRequest, **changes: Any) -> str:
    """The page's own query with some of it changed; None and "" take out."""
    query: QueryDict = request.GET.copy()
    for name, value in changes.items():
        query.pop(name, None)
        if isinstance(value, list):
            query.setlist(name, value)
        elif value not in (None, ""):
            query[name] = value
    return "?" + query.urlencode()


# --- all NPCs -------------------------------------------------------------------------------------

SORTS: dict[str, Callable[[inspect.Overview], Any]] = {
    "name": lambda each: each.key.lower(),
    "state": lambda each: each.state,
    "entries": lambda each: each.entries,
    "facts": lambda each: each.counts.get("fact", 0),
    "night": lambda each: each.last_night,
    "tokens": lambda each: each.tokens,
}
_COLUMNS = (
    ("name", "Name"),
    ("state", "State"),
    ("entries", "Entries"),
    ("facts", "Facts"),
    ("night", "Last night"),
    ("tokens", "Tokens today"),
)
MINDS_SHOWN = 100


class Minds(Page):
    """All NPCs with a memory that this visitor may look at."""

    template = "ai_memory/minds.html"
    title = "Memories"

    def get(self, request: HttpRequest) -> HttpResponse:
        wanted = request.GET.get("q", "").strip()[:80]
        by = request.GET.get("sort", "name").removeprefix("-")
        by = by if by in SORTS else "name"
        down = request.GET.get("sort", "").startswith("-")
        total, found = self.ask(_minds, wanted)
        found.sort(key=SORTS[by], reverse=down)
        return self.show(
            minds=[(each, int(each.dbref.lstrip("#"))) for each in found],
            total=total,
            more=total - len(found),
            q=wanted,
            columns=[_column(request, *each, by, down) for each in _COLUMNS],
        )


def _column(request: HttpRequest, name: str, label: str, by: str, down: bool) -> dict[str, str]:
    here = name == by
    return {
        "label": label,
        "number": name in ("entries", "facts", "tokens"),
        "sorted": ("descending" if down else "ascending") if here else "",
        "link": query_with(request, sort=f"-{name}" if here and not down else name),
    }


@defer.inlineCallbacks
def _minds(who: Any, wanted: str) -> Any:
    """How many there are, and the first of them by name, as a Deferred pair."""
    found = [
        npc
        for npc in inspect.npcs()
        if wanted.lower() in npc.key.lower() and access.may(who, npc, "look")
    ]
    told = yield inspect.overviews(found[:MINDS_SHOWN])
    return len(found), told


# --- settings -------------------------------------------------------------------------------------

_NUMBER = (int, float)


class Settings(Page):
    """The settings as they are in force, secrets masked."""

    template = "ai_memory/settings.html"
    title = "Settings in force"

    def get(self, request: HttpRequest) -> HttpResponse:
        self.ask(lambda who: None)
        return self.show(rows=settings_rows())


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting: its path, its value for the eye, and whether the game set it."""

    name: str
    value: str
    default: str
    changed: bool
    about: str


def settings_rows() -> list[SettingRow]:
    """Every setting with its value and its default."""
    rows: list[SettingRow] = []
    in_force = conf.get()
    for name, spec in conf.Settings.model_fields.items():
        value, default = getattr(in_force, name), spec.get_default(call_default_factory=True)
        if name == "DIR" and value is None:
            value = conf.directory()
        if hasattr(value, "model_fields_set"):
            rows += _section_rows(name, value, default)
        else:
            changed = name in in_force.model_fields_set
            told = _masked(name, value), _masked(name, default)
            rows.append(SettingRow(name, *told, changed, spec.description or ""))
    return rows


def _section_rows(section: str, values: Any, default: Any) -> list[SettingRow]:
    return [
        SettingRow(
            f"{section}.{name}",
            _masked(name, getattr(values, name)),
            _masked(name, getattr(default, name, "")),
            name in values.model_fields_set,
            spec.description or "",
        )
        for name, spec in type(values).model_fields.items()
    ]


def _masked(name: str, value: Any, *, ours: bool = True) -> str:
    """A value to be read; what opens something is never shown, however deep it lies.

    Args:
        ours: The name is one that `conf` gives: a number there is none that opens anything.
    """
    value = redaction.plain(value)
    if value in (None, "", "none", (), [], {}):
        return "—"
    if redaction.is_secret_name(name) and not (ours and isinstance(value, _NUMBER)):
        return redaction.MASK
    if isinstance(value, dict):
        return ", ".join(
            f"{key}: {_masked(str(key), each, ours=False)}" for key, each in value.items()
        )
    if isinstance(value, (tuple, list)):
        return ", ".join(_masked(name, each, ours=ours) for each in value)
    return redaction.redact(redaction.shown_url(str(value)))


# --- views_looking --------------------------------------------------------------------------------

PAGE = 50
PAGES_BACK = 40  # cursors that "newer" can walk back
PEOPLE_OFFERED = 200  # in the filter of the journal
SEARCHED = 20


class Overview(MindPage):
    """One NPC's memory at a glance."""

    template = "ai_memory/overview.html"
    tab = "overview"

    def get(self, request: HttpRequest, npc_id: int) -> HttpResponse:
        npc, (told, schedule, night, acts) = self.ask_mind(npc_id, _overview)
        return self.show(npc=npc, told=told, schedule=schedule, night=night, acts=acts)


@defer.inlineCallbacks
def _overview(npc: Any) -> Any:
    told = yield inspect.overview(npc)
    acts = [act.summary() for act in reversed(undo_log.acts(npc))]
    return told, AssistantScript.of(npc).sleep.schedule, night_now(npc), acts


def night_now(npc: Any) -> dict[str, Any] | None:
    """How far the night is; None where the NPC is awake."""
    script = AssistantScript.of(npc)
    if not script.asleep:
        return None
    night = script.sleep.night
    return {
        "phase": night.phase,
        "position": min(night.position + 1, len(PASSES)),
        "passes": len(PASSES),
        "name": night.pass_name,
        "title": TITLES.get(night.pass_name, ""),
        "waking": bool(script.db.wake_requested),
    }


# --- the journal ----------------------------------------------------------------------------------


class Journal(MindPage):
    """The journal as a timeline, newest first."""

    template = "ai_memory/journal.html"
    tab = "journal"

    def get(self, request: HttpRequest, npc_id: int) -> HttpResponse:
        form = JournalFilter(request.GET)
        asked = form.cleaned_data if form.is_valid() else {}
        cursors = [int(each) for each in request.GET.getlist("b") if is_cursor(each)][-PAGES_BACK:]
        npc, (page, people) = self.ask_mind(
            npc_id,
            _journal,
            before=cursors[-1] if cursors else None,
            limit=PAGE if form.is_valid() else 0,  # what cannot be asked for is not all there is
            text=asked.get("text", ""),
            entity=asked.get("who", ""),
            day=asked.get("day", ""),
            kind=asked.get("kind", ""),
        )
        older = [*cursors, page.older]
        return self.show(
            npc=npc,
            form=form,
            filtered=any(asked.values()),
            days=by_day(page.entries),
            people=people,
            page=page,
            older=query_with(request, b=older) if page.older and form.is_valid() else "",
            newer=query_with(request, b=cursors[:-1]) if cursors else "",
        )


@defer.inlineCallbacks
def _journal(npc: Any, **asked: Any) -> Any:
    page = yield inspect.journal(npc, **asked)
    known = sorted(npc.memory.people, key=lambda each: each.last_seen, reverse=True)
    people = [(each.identity, each.name or each.identity) for each in known[:PEOPLE_OFFERED]]
    who = asked["entity"]
    if who and who not in dict(people):
        people.append((who, npc.memory.people.name_of(who) or who))
    return page, people


def by_day(entries: Iterable[Entry]) -> list[tuple[str, list[Entry]]]:
    """Entries under the day (UTC) on which they were."""
    grouped = groupby(entries, key=lambda entry: entry.timestamp[:10])
    return [(day, list(those)) for day, those in grouped]


# --- the store ------------------------------------------------------------------------------------


class Memories(MindPage):
    """Facts and whatever else was drawn from the journal, newest first."""

    template = "ai_memory/memories.html"
    tab = "facts"

    def get(self, request: HttpRequest, npc_id: int, record: str = "fact") -> HttpResponse:
        form = MemoryFilter(request.GET)
        asked = form.cleaned_data if form.is_valid() else {}
        offset = start_of(request)
        npc, (page, counts) = self.ask_mind(
            npc_id,
            _memories,
            record,
            offset=offset,
            limit=PAGE,
            text=asked.get("text", ""),
            ended=asked.get("ended", False),
        )
        older, newer = offset + PAGE, max(offset - PAGE, 0)
        return self.show(
            npc=npc,
            form=form,
            filtered=any(asked.values()),
            record=record,
            record_name=dict(RECORDS)[record],
            records=[(name, label, counts.get(name, 0)) for name, label in RECORDS],
            memories=[(ids.short(memory), memory) for memory in page.memories],
            total=page.total,
            first=page.offset + 1,
            last=page.offset + len(page.memories),
            older=query_with(request, **{"from": older}) if older < page.total else "",
            newer=query_with(request, **{"from": newer or None}) if offset else "",
        )


@defer.inlineCallbacks
def _memories(npc: Any, record: str, **asked: Any) -> Any:
    page = yield inspect.memories(npc, record, **asked)
    counts = yield npc.memory.counts()
    return page, counts


class Search(MindPage):
    """What comes to an NPC's mind for a question, and what each score is made of."""

    template = "ai_memory/search.html"
    tab = "search"

    def get(self, request: HttpRequest, npc_id: int) -> HttpResponse:
        form = Question(request.GET)
        query = form.cleaned_data["q"] if form.is_valid() else ""
        npc, result = self.ask_mind(npc_id, _search, query)
        found = [(ids.short(each.memory), each, _clues(each)) for each in result.memories]
        return self.show(npc=npc, form=form, query=query, result=result, found=found)


def _search(npc: Any, query: str) -> Any:
    """From outside the game: secrets too, which the page says."""
    if not query:
        return RecallResult()
    return npc.memory.recall(query, top_k=SEARCHED)


def _clues(recalled: Recalled) -> list[tuple[str, float]]:
    pairs = zip(CLUES, recalled.score.clues, strict=False)
    return [(name, value) for name, value in pairs if value]


# --- nights and prompts ---------------------------------------------------------------------------


class Nights(MindPage):
    """What each pass of the last nights did, and how far the present one is."""

    template = "ai_memory/nights.html"
    tab = "nights"

    def get(self, request: HttpRequest, npc_id: int) -> HttpResponse:
        npc, (nights, night, cost) = self.ask_mind(npc_id, _nights)
        return self.show(npc=npc, nights=nights, night=night, cost=cost)


def _nights(npc: Any) -> Any:
    return stats.nights(npc), night_now(npc), stats.cost(npc)


class Preview(MindPage):
    """The exact prompt that would be sent to the model for a line; nothing is sent."""

    template = "ai_memory/preview.html"
    tab = "prompt"

    def get(self, request: HttpRequest, npc_id: int) -> HttpResponse:
        form = Line(request.GET)
        nothing = {"who": "", "text": "", "whispered": False}
        asked = form.cleaned_data if form.is_valid() else nothing
        npc, (people, prompt) = self.ask_mind(npc_id, _preview, **asked)
        return self.show(npc=npc, form=form, people=people, prompt=prompt, **asked)


@defer.inlineCallbacks
def _preview(npc: Any, who: str, text: str, whispered: bool) -> Any:
    known = sorted(npc.memory.people, key=lambda each: each.last_seen, reverse=True)
    people = [(each.identity, each.name or each.identity) for each in known[:PEOPLE_OFFERED]]
    prompt = None
    if who and text:
        prompt = yield preview.preview(npc, who, text, whispered=whispered)
    return people, prompt


# --- views_drawing --------------------------------------------------------------------------------

GRAPH_SIZES = (100, 300, 1000, 2000)
FIRST_SIZE = 300
NODE_TEXT = 160  # characters of a memory that the graph page holds
ROWS = 100  # links on one page of the table
EMOTIONS_SHOWN = 24


# --- people ---------------------------------------------------------------------------------------


class People(MindPage):
    """Whom an NPC knows, the last seen first."""

    template = "ai_memory/people.html"
    tab = "people"

    def get(self, request: HttpRequest, npc_id: int) -> HttpResponse:
        form = MemoryFilter(request.GET)
        wanted = form.cleaned_data["text"] if form.is_valid() else ""
        offset = start_of(request)
        npc, (people, total) = self.ask_mind(npc_id, _people, offset, wanted)
        more = len(people) > PAGE
        return self.show(
            npc=npc,
            people=people[:PAGE],
            total=total,
            text=wanted,
            older=query_with(request, **{"from": offset + PAGE}) if more else "",
            newer=query_with(request, **{"from": max(offset - PAGE, 0) or None}) if offset else "",
        )


@defer.inlineCallbacks
def _people(npc: Any, offset: int, wanted: str) -> Any:
    people = yield inspect.people(npc, offset=offset, limit=PAGE + 1, text=wanted)
    return people, len(npc.memory.people)


class Person(MindPage):
    """All that an NPC knows of somebody, and how it came to stand with them."""

    template = "ai_memory/person.html"
    tab = "people"

    def get(self, request: HttpRequest, npc_id: int, identity: str) -> HttpResponse:
        npc, (page, course) = self.ask_mind(npc_id, _person, identity)
        chart = None
        if len(course) > 1:
            labels = "Day", "Favorability"
            chart = charts.curve("course", "Favorability over time", labels, course, top=1.0)
        return self.show(npc=npc, page=page, course=course, chart=chart)


def _person(npc: Any, identity: str) -> Any:
    identity = ids.person(npc, identity)  # a name as well; else every address has a page of nobody
    profile = npc.memory.profiles.get(identity)
    course = profile.relationship.course if profile else ()
    return inspect.person(npc, identity), course


# --- one memory -----------------------------------------------------------------------------------


class Memory(MindPage):
    """One memory with everything around it."""

    template = "ai_memory/memory.html"
    tab = "memory"

    def get(self, request: HttpRequest, npc_id: int, memory_id: str) -> HttpResponse:
        npc, (shown, trace) = self.ask_mind(npc_id, _memory, memory_id)
        return self.show(npc=npc, shown=shown, trace=trace, memory=shown.memory)


@defer.inlineCallbacks
def _memory(npc: Any, memory_id: str) -> Any:
    shown = yield provenance.show(npc, memory_id)
    trace = yield provenance.trace(npc, memory_id)
    return shown, trace


# --- the link graph -------------------------------------------------------------------------------


class Graph(MindPage):
    """The link graph to look at, and as a table."""

    template = "ai_memory/graph.html"
    tab = "graph"

    def get(self, request: HttpRequest, npc_id: int) -> HttpResponse:
        asked = request.GET.get("size", "")
        size = int(asked) if asked in map(str, GRAPH_SIZES) else FIRST_SIZE
        first = start_of(request)
        npc, graph = self.ask_mind(npc_id, inspect.graph, limit=size)
        by_linked = {node.linked: node for node in graph.nodes}
        strongest = sorted(graph.edges, key=lambda edge: (-edge.score, edge.a, edge.b))
        rows = strongest[first : first + ROWS]
        return self.show(
            npc=npc,
            graph=graph,
            size=size,
            sizes=GRAPH_SIZES,
            drawn=drawn(npc, graph),
            rows=[(edge, by_linked[edge.a], by_linked[edge.b]) for edge in rows],
            first=first + 1,
            last=first + len(rows),
            older=query_with(request, **{"from": first + ROWS})
            if first + ROWS < len(strongest)
            else "",
            newer=query_with(request, **{"from": max(first - ROWS, 0) or None}) if first else "",
        )


def drawn(npc: Header, graph: inspect.Graph) -> dict[str, Any]:
    """The graph for the page's script, which puts texts into the page as text alone."""
    place = {node.linked: number for number, node in enumerate(graph.nodes)}
    return {
        "nodes": [
            {
                "id": number,
                "name": node.id,
                "text": node.text[:NODE_TEXT] + ("…" if len(node.text) > NODE_TEXT else ""),
                "record": node.record,
                "importance": round(node.importance, 2),
                "secret": node.private,
                "url": reverse("ai_memory:memory", args=[npc.id, node.id]),
            }
            for number, node in enumerate(graph.nodes)
        ],
        "links": [
            {
                "source": place[edge.a],
                "target": place[edge.b],
                "score": round(edge.score, 2),
                "kind": edge.kind,
            }
            for edge in graph.edges
        ],
    }


# --- charts ---------------------------------------------------------------------------------------


class Charts(MindPage):
    """What a memory consists of, how it grew and what it cost."""

    template = "ai_memory/charts.html"
    tab = "charts"

    def get(self, request: HttpRequest, npc_id: int) -> HttpResponse:
        npc, stats = self.ask_mind(npc_id, memory_stats.stats)
        return self.show(npc=npc, stats=stats, charts=_charts(stats) if stats.entries else [])


def _charts(stats: memory_stats.Stats) -> list[charts.Chart]:
    importance = [(str(number), count) for number, count in stats.importance.items()]
    felt, stored = stats.emotions[:EMOTIONS_SHOWN], [*stats.memories.items()]
    return [
        charts.columns(
            "importance", "How important the entries are", ("Importance", "Entries"), importance
        ),
        charts.rows("emotions", "What experiences felt like", ("Emotion", "Experiences"), felt),
        charts.columns("growth", "Entries a day", ("Day", "Entries"), stats.growth),
        charts.rows("kinds", "What was perceived", ("Kind", "Entries"), [*stats.kinds.items()]),
        charts.rows("memories", "What is stored", ("Record", "Memories"), stored),
        charts.columns("cost", "Tokens of the language model", ("Day", "Tokens"), stats.cost),
    ]
