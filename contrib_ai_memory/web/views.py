"""The staff pages that only read a memory: the tabs of one NPC, and the base of all pages.

Each view fetches plain data through `gate`, on the reactor thread, and renders its template.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import register_converter, reverse
from django.views import View
from twisted.internet import defer

from ..admin import access, audit, ids, inspect, prompt_preview, undo_log
from ..admin.arguments import RECORDS
from ..admin.operations import TABLE, Operation
from ..log import logger
from ..recall.rank import CLUES
from ..records import Entry, Recalled, RecallResult
from ..script import AssistantScript
from ..sleep.night import schedule_told
from . import gate, headers
from .forms import (
    GraphForm,
    JournalFilterForm,
    MemoryFilterForm,
    PreviewForm,
    SearchForm,
)

TABS = "overview journal facts search people graph nights charts prompt".split()
PAGE = 50  # rows of a list
PAGES_BACK = 40  # pages of the journal that "Newer" can go back
PEOPLE_OFFERED = 200  # in a select box
SEARCHED = 20
GRAPH_SIZES = (100, 300, 1000, 2000)
DEFAULT_GRAPH_SIZE = 300
NODE_TEXT = 160  # characters of a memory in the graph's data
LINKS_PER_PAGE = 100
EMOTIONS_SHOWN = 24


class StaffView(View):
    """Base class of all pages: access control, error pages, security headers.

    Attributes:
        template: Rendered by `show`.
        title: Title of the page.
    """

    template = ""
    title = ""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = self._respond(request, *args, **kwargs)
        headers.protect_page(response)
        return response

    def _respond(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path())
        try:
            return super().dispatch(request, *args, **kwargs)
        except (PermissionDenied, SuspiciousOperation):
            raise  # Django has pages for these
        except Exception as error:  # noqa: BLE001  (logged in full; the visitor gets an error page)
            status, title, message = gate.problem(error)
            if status == 500:
                logger().exception("The page %s failed.", request.path)
            return self.error_page(status, title, message, busy=isinstance(error, gate.BUSY))

    def error_page(
        self, status: int, title: str, message: str, *, busy: bool = False
    ) -> HttpResponse:
        context = {"title": title, "message": message, "busy": busy, "status": status}
        return render(self.request, "ai_memory/error.html", context, status=status)

    def show(self, **context: Any) -> HttpResponse:
        return render(self.request, self.template, {"title": self.title, **context})


@dataclass(frozen=True, slots=True)
class NPCHeader:
    """The NPC in the heading of its pages, and what this visitor may do with its memory."""

    id: int
    key: str
    dbref: str
    state: str
    may_edit: bool
    may_erase: bool


class NPCView(StaffView):
    """Base class of the pages about one NPC.

    Attributes:
        template: Rendered by `show`; by default the one called like the tab.
        tab: The highlighted tab, and the page's name in the security log.
        access_type: The access to the memory that the page requires.
        timeout: Seconds that it may take.
    """

    tab = ""
    access_type: access.Action = "look"
    timeout = gate.TIMEOUT

    def look(
        self, npc_id: int, function: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> tuple[NPCHeader, Any]:
        """Return the NPC's header and `function(npc, *args, **kwargs)`; log the look."""

        def looked(npc: Any, who: Any) -> defer.Deferred:
            audit.record_look(who, f"the page {self.tab}", npc)
            result = defer.maybeDeferred(function, npc, *args, **kwargs)
            return result.addCallback(lambda found: (_header(npc, who), found))

        return self.ask(npc_id, looked)

    def ask(self, npc_id: int, function: Callable[..., Any], *args: Any) -> Any:
        """Return `function(npc, who, *args)`, called on the reactor thread."""
        account_id = self.request.user.pk
        return gate.ask_npc(
            account_id, npc_id, self.access_type, function, *args, timeout=self.timeout
        )

    def show(self, **context: Any) -> HttpResponse:
        template = self.template or f"ai_memory/{self.tab}.html"
        return render(self.request, template, {"tab": self.tab, "tabs": TABS, **context})


def _header(npc: Any, who: Any) -> NPCHeader:
    return NPCHeader(
        id=npc.id,
        key=npc.key,
        dbref=npc.dbref,
        state=inspect.state_of(npc),
        may_edit=access.may(who, npc, "edit"),
        may_erase=access.may(who, npc, "erase"),
    )


# --- what can be done -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Offer:
    """A button of the table of operations: it leads to a page, or acts at once."""

    operation: Operation
    label: str
    url: str
    at_once: bool = False

    @property
    def danger(self) -> bool:
        """Whether it removes something."""
        return self.operation.question is not None and self.operation.asks


def offered(npc: Any, shown: inspect.Shown | None = None) -> list[Offer]:
    """Return the buttons for an NPC now, or for one memory (reactor thread)."""
    offers = []
    where = [npc.id, shown.id] if shown else [npc.id]
    for each in TABLE.values():
        if not (each.label or each.buttons) or each.of_memory != bool(shown):
            continue
        if not each.shown(shown or npc):
            continue
        if each.has_form:
            url = reverse(f"ai_memory:{each.path}", args=where)
            offers.append(Offer(each, each.label, url))
            continue
        page = "do_memory" if shown else "do"
        at_once = bool(shown) and each.question is None
        for name, label, _arguments in each.all_buttons:
            url = reverse(f"ai_memory:{page}", args=[*where, name])
            offers.append(Offer(each, label, url, at_once))
    return offers


# --- paging ---------------------------------------------------------------------------------------


def offset_of(request: HttpRequest) -> int:
    """Return the offset `from` of the query; 0 if it is missing or no number."""
    offset = request.GET.get("from", "")
    return int(offset) if is_number(offset) else 0


def is_number(text: str) -> bool:
    """Whether this is a plain number, short enough for Python to convert."""
    return text.isascii() and text.isdigit() and len(text) < 12


def page_links(request: HttpRequest, offset: int, size: int, more: bool) -> dict[str, str]:
    """Return the links to the next page, if there is `more`, and to the previous one."""
    newer = max(offset - size, 0) or None
    return {
        "older": query_with(request, **{"from": offset + size}) if more else "",
        "newer": query_with(request, **{"from": newer}) if offset else "",
    }


def query_with(request: HttpRequest, **changes: Any) -> str:
    """Return the page's query string with these changes; None and "" remove a parameter."""
    query: QueryDict = request.GET.copy()
    for name, value in changes.items():
        query.pop(name, None)
        if isinstance(value, list):
            query.setlist(name, value)
        elif value not in (None, ""):
            query[name] = value
    return "?" + query.urlencode()


# --- overview -------------------------------------------------------------------------------------


class OverviewView(NPCView):
    """One NPC's memory at a glance."""

    tab = "overview"

    def get(self, request: HttpRequest, npc_id: int) -> HttpResponse:
        npc, context = self.look(npc_id, _overview)
        return self.show(npc=npc, **context)


@defer.inlineCallbacks
def _overview(npc: Any) -> Any:
    overview = yield inspect.overview(npc)
    return {
        "overview": overview,
        "schedule": schedule_told(AssistantScript.of(npc).sleep.schedule),
        "settings": inspect.settings(npc),
        "night": inspect.status(npc).night,
        "actions": offered(npc),
        "agenda": inspect.agenda(npc)[:PAGE],
        "changes": [act.summary() for act in reversed(undo_log.acts(npc))],
    }


# --- journal --------------------------------------------------------------------------------------


class JournalView(NPCView):
    """The journal as a timeline, newest first."""

    tab = "journal"

    def get(self, request: HttpRequest, npc_id: int) -> HttpResponse:
        form = JournalFilterForm(request.GET)
        valid = form.is_valid()
        query = form.cleaned_data if valid else {}
        cursors = [int(each) for each in request.GET.getlist("b") if is_number(each)][-PAGES_BACK:]
        npc, (page, people) = self.look(
            npc_id,
            _journal,
            before=cursors[-1] if cursors else None,
            limit=PAGE if valid else 0,  # an invalid filter finds nothing, not everything
            text=query.get("text", ""),
            entity=query.get("who", ""),
            day=query.get("day", ""),
            kind=query.get("kind", ""),
        )
        return self.show(
            npc=npc,
            form=form,
            filtered=any(query.values()),
            days=by_day(page.entries),
            people=people,
            page=page,
            older=query_with(request, b=[*cursors, page.older]) if page.older and valid else "",
            newer=query_with(request, b=cursors[:-1]) if cursors else "",
        )


@defer.inlineCallbacks
def _journal(npc: Any, **query: Any) -> Any:
    page = yield inspect.journal(npc, **query)
    people, entity = people_offered(npc), query["entity"]
    if entity and entity not in dict(people):
        people.append((entity, npc.memory.people.name_of(entity) or entity))
    return page, people


def people_offered(npc: Any) -> list[tuple[str, str]]:
    """Return identity and name of the people the NPC saw last, for a select box."""
    known = sorted(npc.memory.people, key=lambda each: each.last_seen, reverse=True)
    return [(each.identity, each.name or each.identity) for each in known[:PEOPLE_OFFERED]]


def by_day(entries: Iterable[Entry]) -> list[tuple[str, list[Entry]]]:
    """Group consecutive entries by day (UTC)."""
    groups = groupby(entries, key=lambda entry: entry.timestamp[:10])
    return [(day, list(group)) for day, group in groups]


# --- memories and search --------------------------------------------------------------------------


class RecordConverter:
    """A kind of memory: plural in the URL, singular everywhere else."""

    plurals = {record: label.lower() for record, label in RECORDS.items()}
    regex = "|".join(plurals.values())

    def to_python(self, value: str) -> str:
        return next(record for record, plural in self.plurals.items() if plural == value)

    def to_url(self, value: str) -> str:
        return self.plurals[value]


register_converter(RecordConverter, "kind")


class MemoryListView(NPCView):
    """Facts and the other memories derived from the journal, newest first."""

    template = "ai_memory/memories.html"
    tab = "facts"

    def get(self, request: HttpRequest, npc_id: int, record: str = "fact") -> HttpResponse:
        form = MemoryFilterForm(request.GET)
        query = form.cleaned_data if form.is_valid() else {}
        offset = offset_of(request)
        npc, (page, counts) = self.look(
            npc_id,
            _memories,
            record,
            offset=offset,
            limit=PAGE,
            text=query.get("text", ""),
            ended=query.get("ended", False),
        )
        filtered = any(query.values())
        return self.show(
            npc=npc,
            form=form,
            filtered=filtered,
            superseded=0 if filtered else max(0, counts.get(record, 0) - page.total),
            record=record,
            record_name=RECORDS[record],
            records=[(name, label, counts.get(name, 0)) for name, label in RECORDS.items()],
            memories=[(ids.short(memory), memory) for memory in page.memories],
            total=page.total,
            first=offset + 1,
            last=offset + len(page.memories),
            **page_links(request, offset, PAGE, more=offset + PAGE < page.total),
        )


@defer.inlineCallbacks
def _memories(npc: Any, record: str, **query: Any) -> Any:
    page = yield inspect.memories(npc, record, **query)
    counts = yield npc.memory.counts()
    return page, counts


class MemoryView(NPCView):
    """One memory with its evidence, links, provenance and history."""

    tab = "memory"

    def get(self, request: HttpRequest, npc_id: int, memory_id: str) -> HttpResponse:
        npc, (shown, trace, known, actions) = self.look(npc_id, _memory, memory_id)
        return self.show(
            npc=npc,
            shown=shown,
            trace=trace,
            memory=shown.memory,
            known=known,
            actions=actions,
        )


@defer.inlineCallbacks
def _memory(npc: Any, memory_id: str) -> Any:
    shown = yield inspect.show(npc, memory_id)
    trace = yield inspect.trace(npc, memory_id)
    drawn = (each.identity for each in trace.profiles)
    named = {shown.memory.about, *shown.memory.witnesses, *drawn}
    known = {each for each in named if each and ids.knows(npc, each)}  # those who have a page
    return shown, trace, known, offered(npc, shown)


class SearchView(NPCView):
    """The memories an NPC recalls for a query, with the parts of each score; those it would tell to
    a listener, if one is chosen."""

    tab = "search"

    def get(self, request: HttpRequest, npc_id: int) -> HttpResponse:
        form = SearchForm(request.GET)
        asked = form.cleaned_data if form.is_valid() else {"q": "", "who": ""}
        npc, (people, listener, result) = self.look(npc_id, _search, **asked)
        found = [(ids.short(each.memory), each, clues(each)) for each in result.memories]
        return self.show(
            npc=npc,
            form=form,
            query=asked["q"],
            who=asked["who"],
            people=people,
            listener=listener,
            result=result,
            found=found,
        )


@defer.inlineCallbacks
def _search(npc: Any, q: str, who: str) -> Any:
    # without a listener, secrets are among the results, as the page says
    identity, name = prompt_preview.find_person(npc, who) if who else (None, "")
    result = RecallResult()
    if q:
        result = yield npc.memory.recall(q, speaker=identity, top_k=SEARCHED)
    return people_offered(npc), name, result


def clues(recalled: Recalled) -> list[tuple[str, float]]:
    pairs = zip(CLUES, recalled.score.clues, strict=False)
    return [(name, value) for name, value in pairs if value]


# --- people ---------------------------------------------------------------------------------------


class PersonListView(NPCView):
    """The people an NPC knows, the last seen first."""

    tab = "people"

    def get(self, request: HttpRequest, npc_id: int) -> HttpResponse:
        form = MemoryFilterForm(request.GET)
        text = form.cleaned_data["text"] if form.is_valid() else ""
        offset = offset_of(request)
        npc, (people, total) = self.look(npc_id, _people, offset, text)
        return self.show(
            npc=npc,
            people=people[:PAGE],
            total=total,
            text=text,
            **page_links(request, offset, PAGE, more=len(people) > PAGE),
        )


@defer.inlineCallbacks
def _people(npc: Any, offset: int, text: str) -> Any:
    page = yield inspect.people(npc, offset=offset, limit=PAGE + 1, text=text)
    return page.results, len(npc.memory.people)


class PersonView(NPCView):
    """Everything an NPC knows about a person, and how their relationship developed."""

    template = "ai_memory/person.html"
    tab = "people"

    def get(self, request: HttpRequest, npc_id: int, identity: str) -> HttpResponse:
        npc, page = self.look(npc_id, inspect.person, identity)
        chart = None
        if len(page.course) > 1:
            headings = "Day", "Favorability"
            chart = Chart("Favorability over time", headings, page.course, top=1)
        return self.show(npc=npc, page=page, chart=chart)


# --- graph and charts -----------------------------------------------------------------------------


class GraphView(NPCView):
    """The link graph as a drawing and as a table."""

    tab = "graph"

    def get(self, request: HttpRequest, npc_id: int) -> HttpResponse:
        wanted = request.GET.get("size", "")
        size = int(wanted) if wanted in map(str, GRAPH_SIZES) else DEFAULT_GRAPH_SIZE
        offset = offset_of(request)
        form = GraphForm(request.GET)
        kinds = form.cleaned_data["kind"] if form.is_valid() else []
        npc, graph = self.look(npc_id, inspect.graph, limit=size, records=kinds)
        nodes = {node.linked: node for node in graph.nodes}
        edges = sorted(graph.edges, key=lambda edge: (-edge.score, edge.a, edge.b))
        rows = edges[offset : offset + LINKS_PER_PAGE]
        more = offset + LINKS_PER_PAGE < len(edges)
        return self.show(
            npc=npc,
            graph=graph,
            size=size,
            sizes=GRAPH_SIZES,
            kinds=[
                (name, label, name in kinds or not kinds)
                for name, label in form.fields["kind"].choices
            ],
            filtered=bool(kinds),
            data=graph_data(npc, graph),
            rows=[(edge, nodes[edge.a], nodes[edge.b]) for edge in rows],
            first=offset + 1,
            last=offset + len(rows),
            **page_links(request, offset, LINKS_PER_PAGE, more),
        )


def graph_data(npc: NPCHeader, graph: inspect.Graph) -> dict[str, Any]:
    """Return the graph for `graph.js`, which inserts texts as text only."""
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


class ChartsView(NPCView):
    """Charts of what a memory contains, how it grew and what it cost."""

    tab = "charts"

    def get(self, request: HttpRequest, npc_id: int) -> HttpResponse:
        npc, numbers = self.look(npc_id, inspect.stats)
        return self.show(npc=npc, stats=numbers, charts=_charts(numbers) if numbers.entries else [])


@dataclass(frozen=True, slots=True)
class Chart:
    """Numbers with a bar each, by day or on a scale, or by name.

    Attributes:
        top: The value of the longest bar; 0 for the largest of the numbers.
    """

    title: str
    headings: tuple[str, str]
    rows: Sequence[tuple[str, float]]
    named: bool = False
    top: float = 0

    @property
    def scale(self) -> float:
        return self.top or max((value for _, value in self.rows), default=0) or 1


def _charts(numbers: inspect.Stats) -> list[Chart]:
    importance = [(str(value), count) for value, count in numbers.importance.items()]
    emotions = numbers.emotions[:EMOTIONS_SHOWN]
    kinds, memories = [*numbers.kinds.items()], [*numbers.memories.items()]
    return [
        Chart("Importance of entries", ("Importance", "Entries"), importance),
        Chart("Emotions in experiences", ("Emotion", "Experiences"), emotions, named=True),
        Chart("Entries per day", ("Day", "Entries"), numbers.growth),
        Chart("Entries by kind", ("Kind", "Entries"), kinds, named=True),
        Chart("Stored memories by kind", ("Kind", "Memories"), memories, named=True),
        Chart("Language model tokens per day", ("Day", "Tokens"), numbers.cost),
    ]


# --- nights and prompt ----------------------------------------------------------------------------


class NightListView(NPCView):
    """What each pass of the last nights did, and how far the current night is."""

    tab = "nights"

    def get(self, request: HttpRequest, npc_id: int) -> HttpResponse:
        npc, context = self.look(npc_id, _nights)
        return self.show(npc=npc, **context)


def _nights(npc: Any) -> dict[str, Any]:
    return {
        "nights": inspect.nights(npc),
        "night": inspect.status(npc).night,
        "cost": inspect.cost(npc),
        "actions": [each for each in offered(npc) if each.operation.switch.startswith("@sleep")],
    }


class PromptView(NPCView):
    """What would be said to a line, and the prompt for a language model; nothing is sent."""

    tab = "prompt"

    def get(self, request: HttpRequest, npc_id: int) -> HttpResponse:
        form = PreviewForm(request.GET)
        empty = {"who": "", "text": "", "whispered": False}
        query = form.cleaned_data if form.is_valid() else empty
        npc, (people, prompt) = self.look(npc_id, _prompt, **query)
        return self.show(npc=npc, form=form, people=people, prompt=prompt, **query)


@defer.inlineCallbacks
def _prompt(npc: Any, who: str, text: str, whispered: bool) -> Any:
    prompt = None
    if who and text:
        prompt = yield prompt_preview.preview(npc, who, text, whispered=whispered)
    return people_offered(npc), prompt
