"""The pages that look into one NPC: overview, journal, memories, search, nights, prompt."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from django.http import HttpRequest, HttpResponse
from twisted.internet import defer

from ..assistant import AssistantScript
from ..recall.rank import CLUES
from ..records import Entry, Recalled, RecallResult
from ..sleep.cycle import PASSES, TITLES
from ..tending import counting, ids, looking, previewing, undo
from .forms import RECORDS, JournalFilter, Line, MemoryFilter, Question
from .views import MindPage, is_cursor, query_with, start_of

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
    told = yield looking.overview(npc)
    acts = [act.told() for act in reversed(undo.acts(npc))]
    return told, AssistantScript.of(npc).schedule, night_now(npc), acts


def night_now(npc: Any) -> dict[str, Any] | None:
    """How far the night is; None where the NPC is awake."""
    script = AssistantScript.of(npc)
    if not script.asleep:
        return None
    night = script.night
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
    page = yield looking.journal(npc, **asked)
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
    page = yield looking.memories(npc, record, **asked)
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
    return counting.nights(npc), night_now(npc), counting.cost(npc)


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
        prompt = yield previewing.preview(npc, who, text, whispered=whispered)
    return people, prompt
