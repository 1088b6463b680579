"""The staff pages that only read a memory: the tabs of one NPC, and the base of all pages.

What a page shows is read on the reactor thread (`gate`), as plain data for its template.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django import forms
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import register_converter, reverse
from django.views import View
from twisted.internet import defer

from ..admin import access, audit, ids, inspect, prompt_preview, undo_log
from ..admin.arguments import LONGEST_QUERY, RECORDS
from ..admin.operations import TABLE, Operation
from ..log import logger
from ..records import RecallResult
from ..script import AssistantScript
from ..sleep.night import schedule_told
from . import gate, headers
from .forms import FilterForm, person_field, words_field
from .serializers import validators

TABS = "overview journal facts search people graph nights charts prompt".split()
PAGE = 50  # rows of a list
PAGES_BACK = 40  # pages of the journal that "Newer" can go back
PEOPLE_OFFERED = 200  # in a select box
SEARCHED = 20
GRAPH_SIZES = {"100": 100, "": 300, "1000": 1000, "2000": 2000}  # memories
TITLES = {record: many.capitalize() for record, (_one, many) in RECORDS.items()}
ALL_RECORDS = {**TITLES, "entry": "Journal lines"}
NODE_TEXT = 160  # characters of a memory in the graph's data
LINKS_PER_PAGE = 100
EMOTIONS_SHOWN = 24
KINDS = ("say", "whisper", "pose", "arrive", "leave", "give", "note", "insight")
EXAMPLE = "Who keeps the ferry?"
DAY = next(each for each in TABLE["journal"].arguments if each.name == "day")


class StaffView(View):
    """Base class of all pages: access control, error pages, security headers."""

    template = ""  # rendered by `show`
    title = ""
    tab = ""  # the highlighted one of `tabs`
    tabs: Sequence[Any] = ()
    filters: Mapping[str, forms.Field] = {}  # the fields of the form above what is shown
    submit = "Filter"  # the label of its button
    form: Any = None

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.user.is_authenticated:
            response = self._respond(request, *args, **kwargs)
        else:
            response = redirect_to_login(request.get_full_path())
        headers.protect(response, headers.page_policy())
        return response

    def _respond(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return super().dispatch(request, *args, **self.prepared(**kwargs))
        except (PermissionDenied, SuspiciousOperation):
            raise  # Django has pages for these
        except Exception as error:  # noqa: BLE001  (logged in full; the visitor gets an error page)
            status, title, message = gate.problem(error)
            if status == 500:
                logger().exception("The page %s failed.", request.path)
            context = {"title": title, "message": message, "status": status}
            context["busy"] = isinstance(error, gate.BUSY)
            return render(request, "ai_memory/error.html", context, status=status)

    def prepared(self, **where: Any) -> dict[str, Any]:
        """Prepare the view for a request; return what of its URL `get` and `post` take."""
        return where

    def get(self, request: HttpRequest, **where: Any) -> HttpResponse:
        self.form = FilterForm(self.filters, request.GET)
        return self.show(form=self.form, submit=self.submit, **self.found(**where))

    def found(self, **where: Any) -> dict[str, Any]:
        """Return what the template shows of what the query asks for."""
        return gate.ask(self.request.user.pk, self.read, **where, **self.form.asked)

    def read(self, *of: Any, **asked: Any) -> Any:
        """Return what the template shows, or a Deferred of it (reactor thread): of the NPC, or for
        the account on a page about the whole game; `asked` is what is chosen in the form."""
        return {}

    def show(self, *, status: int = 200, **context: Any) -> HttpResponse:
        """Render the template."""
        shared = {"title": self.title or self.tab.capitalize(), "tab": self.tab, "tabs": self.tabs}
        return render(self.request, self.template, shared | context, status=status)

    @property
    def offset(self) -> int:
        """The offset `from` of the query; 0 if it is missing or no number."""
        offset = self.request.GET.get("from", "")
        return int(offset) if is_number(offset) else 0

    def rows(self, shown: int, total: int, step: int = PAGE) -> dict[str, Any]:
        """Return which rows of a list are shown, and the links to those before and after."""
        end = self.offset + shown
        newer = max(self.offset - step, 0) or None
        return {
            "total": total,
            "first": self.offset + 1,
            "last": end,
            "older": self.query_with(**{"from": end}) if end < total else "",
            "newer": self.query_with(**{"from": newer}) if self.offset else "",
        }

    def query_with(self, **changes: Any) -> str:
        """Return the page's query string with these changes; None and "" remove a parameter."""
        query: QueryDict = self.request.GET.copy()
        for name, value in changes.items():
            query.pop(name, None)
            if isinstance(value, list):
                query.setlist(name, value)
            elif value not in (None, ""):
                query[name] = value
        return "?" + query.urlencode()


def is_number(text: str) -> bool:
    """Whether this is a plain number, short enough for Python to convert."""
    return text.isascii() and text.isdigit() and len(text) < 12


class NPCView(StaffView):
    """Base class of the pages about one NPC: by default the template called like its tab, which is
    its name in the security log too."""

    tabs = TABS
    access_type: access.Action = "look"  # that the page requires
    timeout = gate.TIMEOUT

    def look(
        self, npc_id: int, function: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> tuple[dict[str, Any], Any]:
        """Return the page's heading, and `function(npc, *args, **kwargs)`; log the look."""

        def looked(npc: Any, who: Any) -> defer.Deferred:
            audit.record_look(who, f"the page {self.tab}", npc)
            result = defer.maybeDeferred(function, npc, *args, **kwargs)
            header = {
                "id": npc.id,
                "key": npc.key,
                "state": inspect.state_of(npc),
                "may_edit": access.may(who, npc, "edit"),
                "may_erase": access.may(who, npc, "erase"),
            }
            return result.addCallback(lambda found: (header, found))

        return self.ask(npc_id, looked)

    def ask(self, npc_id: int, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Return `function(npc, who, *args, **kwargs)`, called on the reactor thread."""
        work = partial(gate.ask_npc, self.request.user.pk, npc_id, self.access_type, function)
        return work(*args, **kwargs, timeout=self.timeout)

    def found(self, **where: Any) -> dict[str, Any]:
        npc, found = self.look(where.pop("npc_id"), self.read, **where, **self.form.asked)
        if "people" in found:
            self.form.fields["who"].widget.choices += found["people"]
        return {"npc": npc, **found}

    def show(self, *, status: int = 200, **context: Any) -> HttpResponse:
        self.template = self.template or f"ai_memory/{self.tab}.html"
        return super().show(status=status, **context)


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
        if each.of_memory != bool(shown) or not each.shown(shown or npc):
            continue
        if each.has_form:
            offers.append(Offer(each, each.label, reverse(f"ai_memory:{each.path}", args=where)))
            continue
        page = "ai_memory:do_memory" if shown else "ai_memory:do"
        at_once = bool(shown) and each.question is None
        for name, label, _arguments in each.all_buttons:
            offers.append(Offer(each, label, reverse(page, args=[*where, name]), at_once))
    return offers


# --- overview and journal -------------------------------------------------------------------------


class OverviewView(NPCView):
    """One NPC's memory at a glance."""

    tab = "overview"

    @defer.inlineCallbacks
    def read(self, npc: Any) -> Any:
        overview = yield inspect.overview(npc)
        return {
            "overview": overview,
            "schedule": schedule_told(AssistantScript.of(npc).sleep.schedule),
            "settings": inspect.settings(npc),
            "night": inspect.status(npc).night,
            "actions": offered(npc),
            "agenda": inspect.agenda(npc)[:PAGE],
            "changes": [act.summary() for act in undo_log.acts(npc)],
        }


class JournalView(NPCView):
    """The journal as a timeline, newest first."""

    tab = "journal"
    filters = {
        "text": words_field("Text"),
        "who": person_field("Person", "Anyone"),
        "day": forms.CharField(
            required=False,
            max_length=40,
            label="Day (UTC)",
            validators=validators(DAY),
            widget=forms.DateInput(attrs={"type": "date"}),
        ),
        "kind": forms.ChoiceField(
            required=False, label="Kind", choices=[("", "Any"), *zip(KINDS, KINDS, strict=True)]
        ),
    }

    @defer.inlineCallbacks
    def read(self, npc: Any, text: str, who: str, day: str, kind: str) -> Any:
        cursors = [int(each) for each in self.request.GET.getlist("b") if is_number(each)]
        cursors, invalid = cursors[-PAGES_BACK:], bool(self.form.errors)
        page = yield inspect.journal(
            npc,
            before=cursors[-1] if cursors else None,
            limit=0 if invalid else PAGE,  # an invalid filter finds nothing, not everything
            text=text,
            entity=who,
            day=day,
            kind=kind,
        )
        people = people_offered(npc)
        if who and who not in dict(people):
            people.append((who, npc.memory.people.name_of(who) or who))
        more = page.older and not invalid
        return {
            "people": people,
            "page": page,
            "older": self.query_with(b=[*cursors, page.older]) if more else "",
            "newer": self.query_with(b=cursors[:-1]) if cursors else "",
        }


def people_offered(npc: Any) -> list[tuple[str, str]]:
    """Return identity and name of the people the NPC saw last, for a select box."""
    known = sorted(npc.memory.people, key=lambda each: each.last_seen, reverse=True)
    return [(each.identity, each.name or each.identity) for each in known[:PEOPLE_OFFERED]]


# --- memories and search --------------------------------------------------------------------------


class RecordConverter:
    """A kind of memory: plural in the URL, singular everywhere else."""

    records = {many: record for record, (_one, many) in RECORDS.items()}
    records["taught"] = "taught"  # the address of lessons in earlier versions
    regex = "|".join(records)
    to_python = records.__getitem__

    def to_url(self, record: str) -> str:
        return RECORDS[record][1]


register_converter(RecordConverter, "kind")


class MemoryListView(NPCView):
    """Facts and the other memories derived from the journal, newest first."""

    template = "ai_memory/memories.html"
    tab = "facts"
    filters = {
        "text": words_field("Text"),
        "ended": forms.BooleanField(required=False, label="Superseded"),
    }

    @defer.inlineCallbacks
    def read(self, npc: Any, text: str, ended: bool, record: str = "fact") -> Any:
        page = yield inspect.memories(
            npc, record, offset=self.offset, limit=PAGE, text=text, ended=bool(ended)
        )
        counts = yield npc.memory.counts()
        return {
            "superseded": 0 if text or ended else max(0, counts.get(record, 0) - page.total),
            "record": record,
            "title": TITLES[record],
            "records": [(name, title, counts.get(name, 0)) for name, title in TITLES.items()],
            "memories": [(ids.short(memory), memory) for memory in page.results],
            **self.rows(len(page.results), page.total),
        }


class MemoryView(NPCView):
    """One memory with its evidence, links, provenance and history."""

    tab = "memory"

    @defer.inlineCallbacks
    def read(self, npc: Any, memory_id: str) -> Any:
        shown = yield inspect.show(npc, memory_id)
        trace = yield inspect.trace(npc, memory_id)
        named = {shown.memory.about, *shown.memory.witnesses}
        named |= {each.identity for each in trace.profiles}
        return {
            "title": f"Memory {shown.id}",
            "shown": shown,
            "trace": trace,
            "memory": shown.memory,
            "known": {each for each in named if each and ids.knows(npc, each)},  # have a page
            "actions": offered(npc, shown),
        }


class SearchView(NPCView):
    """The memories an NPC recalls for a query, with the parts of each score; those it would tell to
    a listener, if one is chosen."""

    tab = "search"
    filters = {
        "q": words_field("Search", LONGEST_QUERY, EXAMPLE),
        "who": person_field("As told to", "Staff: everything"),
    }
    submit = "Search"

    @defer.inlineCallbacks
    def read(self, npc: Any, q: str, who: str) -> Any:
        # without a listener, secrets are among the results, as the page says
        identity, name = prompt_preview.find_person(npc, who) if who else (None, "")
        result = RecallResult()
        if q:
            result = yield npc.memory.recall(q, speaker=identity, top_k=SEARCHED)
        return {
            "query": q,
            "who": who,
            "people": people_offered(npc),
            "listener": name,
            "result": result,
            "found": [(ids.short(each.memory), each) for each in result.memories],
        }


# --- people ---------------------------------------------------------------------------------------


class PersonListView(NPCView):
    """The people an NPC knows, the last seen first."""

    tab = "people"
    filters = {"text": words_field("Name")}

    @defer.inlineCallbacks
    def read(self, npc: Any, text: str) -> Any:
        page = yield inspect.people(npc, offset=self.offset, limit=PAGE, text=text)
        return {"known": page.results, **self.rows(len(page.results), page.total)}


class PersonView(NPCView):
    """Everything an NPC knows about a person, and how their relationship developed."""

    template = "ai_memory/person.html"
    tab = "people"

    def read(self, npc: Any, identity: str) -> dict[str, Any]:
        page, chart = inspect.person(npc, identity), None
        if len(page.course) > 1:
            headings = "Day", "Favorability"
            chart = Chart("Favorability over time", headings, page.course, top=1)
        return {"title": page.person.name, "page": page, "chart": chart}


# --- graph and charts -----------------------------------------------------------------------------


class GraphView(NPCView):
    """The link graph as a drawing and as a table."""

    tab = "graph"
    filters = {
        "kind": forms.MultipleChoiceField(
            label="Show",
            required=False,
            choices=ALL_RECORDS,
            initial=[*ALL_RECORDS],
            widget=forms.CheckboxSelectMultiple,
        ),
        "size": forms.ChoiceField(
            label="At most",
            required=False,
            choices=[(each, f"{number} memories") for each, number in GRAPH_SIZES.items()],
        ),
    }
    submit = "Show"

    @defer.inlineCallbacks
    def read(self, npc: Any, kind: list[str], size: str) -> Any:
        graph = yield inspect.graph(npc, limit=GRAPH_SIZES[size], records=kind or [])
        nodes = {node.linked: node for node in graph.nodes}
        edges = sorted(graph.edges, key=lambda edge: (-edge.score, edge.a, edge.b))
        rows = edges[self.offset : self.offset + LINKS_PER_PAGE]
        return {
            "graph": graph,
            "data": graph_data(npc, graph),
            "links": [(edge, nodes[edge.a], nodes[edge.b]) for edge in rows],
            **self.rows(len(rows), len(edges), LINKS_PER_PAGE),
        }


def graph_data(npc: Any, graph: inspect.Graph) -> dict[str, Any]:
    """Return the graph for `graph.js`, which inserts texts as text only."""
    place = {node.linked: number for number, node in enumerate(graph.nodes)}
    return {
        "nodes": [
            {
                "id": place[node.linked],
                "name": node.id,
                "text": node.text[:NODE_TEXT] + ("…" if len(node.text) > NODE_TEXT else ""),
                "record": node.record,
                "importance": round(node.importance, 2),
                "secret": node.private,
                "url": reverse("ai_memory:memory", args=[npc.id, node.id]),
            }
            for node in graph.nodes
        ],
        "links": [
            {"source": place[edge.a], "target": place[edge.b], "score": round(edge.score, 2)}
            for edge in graph.edges
        ],
    }


class ChartsView(NPCView):
    """Charts of what a memory contains, how it grew and what it cost."""

    tab = "charts"

    @defer.inlineCallbacks
    def read(self, npc: Any) -> Any:
        numbers = yield inspect.stats(npc)
        return {"stats": numbers, "charts": _charts(numbers) if numbers.entries else []}


@dataclass(frozen=True, slots=True)
class Chart:
    """Numbers with a bar each, by day or on a scale, or by name."""

    title: str
    headings: tuple[str, str]
    rows: Sequence[tuple[str, float]]
    named: bool = False
    top: float = 0  # the value of the longest bar; 0 for the largest of the numbers

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

    def read(self, npc: Any) -> dict[str, Any]:
        return {
            "nights": inspect.nights(npc),
            "night": inspect.status(npc).night,
            "cost": inspect.cost(npc),
            "actions": [
                each for each in offered(npc) if each.operation.switch.startswith("@sleep")
            ],
        }


class PromptView(NPCView):
    """What would be said to a line, and the prompt for a language model; nothing is sent."""

    tab = "prompt"
    filters = {
        "who": person_field("Speaker"),
        "text": words_field("Line", LONGEST_QUERY, EXAMPLE),
        "whispered": forms.BooleanField(required=False, label="Whispered"),
    }
    submit = "Show"

    @defer.inlineCallbacks
    def read(self, npc: Any, who: str, text: str, whispered: bool) -> Any:
        prompt = None
        if who and text:
            prompt = yield prompt_preview.preview(npc, who, text, whispered=bool(whispered))
        return {"people": people_offered(npc), "prompt": prompt}
