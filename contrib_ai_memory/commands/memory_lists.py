"""The lists of @memory: all NPCs, an overview of one, its journal, its facts, a search."""

from __future__ import annotations

import re
from typing import Any

from twisted.internet import defer

from ..admin import access, ids, inspect
from ..recall.rank import CLUES
from ..records import TALK_KINDS, Recalled, RecallResult
from ..store import condition
from ..text.plural import plural
from .display import dim, entry_line, hanging, heading, memory_line, safe, table, to_resume, when

PAGE = 50
SEARCH_SHOWN = 10

_BEFORE = re.compile(r"before\s+(.+)", re.IGNORECASE)
_ENTRY = re.compile(r"#?(\d{1,9})")
_AFTER = re.compile(r"(?:after|since|until)\s+#?\d[\d./-]*", re.IGNORECASE)
_DAY = re.compile(  # as people write one; `looking.day_of` says which of them is one
    r"\d{1,4}([-./])\d{1,2}\1\d{1,4}|\d{4}[-./]\d{1,2}|\d{1,2}[-./]\d{4}"
)
_PLACES = (
    "Older entries are asked for by an entry's number: before 120. A day is asked for alone: "
    "2026-11-20, a month 2026-11 (UTC)."
)
_ABOUT = re.compile(r"about\s+(.+)", re.IGNORECASE)
_KINDS = (*sorted(TALK_KINDS), "pose", "arrive", "leave", "give", "event", "note", "insight")
_RECORDS = {
    "fact": ("fact", "facts"),
    "experience": ("experience", "experiences"),
    "taught": ("lesson", "lessons"),
    "summary": ("summary", "summaries"),
    "insight": ("insight", "insights"),
}


class Lists:
    """The switches that list something; mixed into `CmdMemory`."""

    # --- all of them, and one -----------------------------------------------------------------

    def do_roster(self) -> None:
        every = inspect.npcs()
        found = [npc for npc in every if access.may(self.caller, npc, "look")]
        if every and not found:
            self.tell("The locks memory_look of all NPCs keep you out of their memories.")
        elif not found:
            self.tell(
                "No NPC has a memory yet. The README says how a typeclass is given one; then make "
                "an NPC of it with @create/drop, or turn one that is there into it with @typeclass."
            )
        else:
            self._show_roster(found)

    def _show_roster(self, found: list[Any]) -> None:
        self.when(inspect.overviews(found), lambda seen: self.page(roster(seen)))

    def do_overview(self, npc: Any) -> None:
        self.when(inspect.overview(npc), lambda seen: self.page(overview(npc, seen)))

    # --- journal and facts --------------------------------------------------------------------

    def do_journal(self, npc: Any) -> None:
        wanted = defer.maybeDeferred(asked_of_journal, npc, self.rhs or "")
        self.when(wanted, lambda wanted: self._search_journal(npc, wanted))

    def _search_journal(self, npc: Any, wanted: dict[str, Any]) -> None:
        page = inspect.journal(npc, limit=PAGE, **wanted)
        self.when(page, lambda found: self._show_journal(npc, found, wanted))

    def _show_journal(self, npc: Any, page: inspect.JournalPage, wanted: dict[str, Any]) -> None:
        name = safe(npc.key)
        again = f"@memory/journal {name} = {_typed(wanted, page.older)}"
        if page.entries:
            shown = plural(len(page.entries), "entry", "entries")
            head = heading(f"The journal of {npc.key}", f"{shown}, the newest last")
            older = [f"Older: |w{again}|n"] if page.older else []
            lines = [entry_line(entry) for entry in reversed(page.entries)]
            self.page("\n".join([head, *lines, *older]))
        elif page.older:
            self.tell(
                f"Nothing of that from entry {page.searched_to} on. Further back: |w{again}|n"
            )
        elif wanted:
            self.tell(f"There is nothing of that in the journal of {name}.")
        else:
            self.tell(f"{name} has perceived nothing yet.")

    def do_facts(self, npc: Any) -> None:
        wanted = asked_of_facts(self.rhs or "")
        page = inspect.memories(npc, limit=4 * PAGE, **wanted)
        self.when(page, lambda found: self._show_facts(npc, found, wanted))

    def _show_facts(self, npc: Any, page: inspect.MemoryPage, wanted: dict[str, Any]) -> None:
        name = safe(npc.key)
        if page.memories:
            what = f"What {npc.key} {'knew' if wanted.get('ended') else 'knows'}"
            one, many = _RECORDS[wanted.get("record", "fact")]
            beside = plural(page.total, one, many) + ", the newest first"
            more = page.total - len(page.memories)
            rest = [f"|x{more} older ones are not shown: give words to look for.|n"] if more else []
            self.page("\n".join([heading(what, beside), *map(memory_line, page.memories), *rest]))
        elif wanted:
            self.tell(f"{name} has nothing of that kind. help @memory tells what can be asked for.")
        else:
            self.tell(f"{name} knows no facts yet: they are made at night. Try @sleep/now {name}.")

    # --- search -------------------------------------------------------------------------------

    def do_search(self, npc: Any) -> None:
        found = npc.memory.recall(self.rhs, top_k=SEARCH_SHOWN)
        self.when(found, lambda result: self._show_search(npc, result))

    def _show_search(self, npc: Any, result: RecallResult) -> None:
        if not result.memories:
            self.tell(f"Nothing comes to {safe(npc.key)}'s mind.")
            return
        beside = f"{result.total_tokens} tokens, {result.budget_used:.0%} of the budget"
        head = heading(f"What comes to {npc.key}'s mind", beside)
        self.page("\n".join([head, *map(search_lines, result.memories)]))


# --- what is asked of the journal -----------------------------------------------------------------


def asked_of_journal(npc: Any, text: str) -> dict[str, Any]:
    """The search behind the `=`: parts apart by commas; what is none of these are words.

    >>> asked_of_journal(npc, "ferry, 2026-11-20, before 120")
    {'day': '2026-11-20', 'before': 120, 'text': 'ferry'}

    Raises:
        ids.UnknownPerson, ids.Ambiguous: Of `about <name>`.
        looking.BadSearch: It is written like a day, and is none; or it asks for entries before
            something else than an entry, or after something.
    """
    wanted: dict[str, Any] = {}
    words = []
    for part in filter(None, (each.strip() for each in text.split(","))):
        if found := _BEFORE.fullmatch(part):
            wanted["before"] = _entry(part, found[1])
        elif _AFTER.fullmatch(part):
            raise inspect.InvalidSearch(f"'{part[:40]}' cannot be asked for. {_PLACES}")
        elif _DAY.fullmatch(part):
            wanted["day"] = inspect.parse_date(part)
        elif part.lower() in _KINDS:
            wanted["kind"] = part.lower()
        elif found := _ABOUT.fullmatch(part):
            wanted["entity"] = ids.person(npc, found[1])
        else:
            words.append(part)
    return wanted | ({"text": ", ".join(words)} if words else {})


def _entry(part: str, text: str) -> int:
    if found := _ENTRY.fullmatch(text):
        return int(found[1])
    raise inspect.InvalidSearch(
        f"'{part[:40]}' is before no entry. {_PLACES} To look for words, leave 'before' out."
    )


def asked_of_facts(text: str) -> dict[str, Any]:
    """What of the store is asked for: first `ended`, or a kind of memory, then words.

    >>> asked_of_facts("ended insights ferry")
    {'ended': True, 'record': 'insight', 'text': 'ferry'}
    """
    wanted: dict[str, Any] = {}
    words = text.split()
    if words and words[0].lower() == "ended":
        wanted["ended"] = True
        words.pop(0)
    kinds = {many: record for record, (_one, many) in _RECORDS.items()}
    if words and words[0].lower() in kinds:
        wanted["record"] = kinds[words.pop(0).lower()]
    return wanted | ({"text": " ".join(words)} if words else {})


def _typed(wanted: dict[str, Any], before: int | None) -> str:
    """The same as a builder types it, further back."""
    parts = [safe(wanted[key]) for key in ("text", "kind", "day") if key in wanted]
    if "entity" in wanted:
        parts.append(f"about {safe(wanted['entity'])}")
    return ", ".join([*parts, f"before {before}"])


# --- how things look ------------------------------------------------------------------------------


def roster(seen: list[inspect.Overview]) -> str:
    """All NPCs with a memory, one a line."""
    rows = [
        (
            f"{each.key[:20]} ({each.dbref})",
            each.state,
            each.entries,
            each.counts["fact"],
            each.people,
            when(each.last_night),
            each.tokens,
        )
        for each in seen
    ]
    headers = ("npc", "state", "journal", "facts", "people", "last night", "tokens")
    language = seen[0].language if seen else ""
    return "\n".join(
        [
            *trouble_lines(),
            table(headers, rows, right=(2, 3, 4, 6)),
            dim(f"Language: {language}. Tokens are today's. @memory <npc> tells more.", indent=0),
        ]
    )


def trouble_lines() -> list[str]:
    """What is wrong with the store, or with the disk under it."""
    return [hanging("|r! |n", each, indent=2, limit=1000) for each in condition.troubles()]


def overview(npc: Any, seen: inspect.Overview) -> str:
    """One screen on one NPC's memory."""
    where = f", {seen.location}" if seen.location else ""
    state = seen.state
    if state in ("compacting", "dreaming"):
        state = f"asleep ({state})"
    lines = [
        heading(f"The memory of {seen.key}", f"{seen.dbref}, {state}{where}"),
        f"  journal:      {plural(seen.entries, 'entry', 'entries')}, "
        f"{seen.pending} not indexed yet",
        f"  experiences:  {seen.counts['experience']}",
        f"  facts:        {seen.counts['fact']}",
        f"  taught:       {seen.counts['taught']}",
        f"  insights:     {seen.counts['insight']}",
        f"  summaries:    {seen.counts['summary']}",
        f"  links:        {seen.links}",
        f"  people met:   {seen.people}",
        f"  last night:   {when(seen.last_night)}",
        f"  tokens today: {seen.tokens}",
        f"  heartbeat:    {when(seen.last_beat) if seen.last_beat else 'not since the start'}",
        hanging("  language:     ", seen.language, indent=16),
    ]
    lines += trouble_lines()
    if seen.state == "paused":
        lines.append(f"|y  It is paused: it neither hears nor learns. {to_resume(npc)}|n")
    if seen.damaged:
        lines.append(
            hanging(
                "|r  damaged:|n      ",
                f"{', '.join(seen.damaged)} of its journal cannot be read whole. It goes on with "
                "what it has. With the server down, evennia ai_memory doctor --mend rebuilds "
                "what the store holds.",
                indent=16,
                limit=1000,
            )
        )
    if seen.state == "off":
        lines.append("|y  It is switched off: by the tag memory_off, or by the settings.|n")
    return "\n".join(lines)


def search_lines(recalled: Recalled) -> str:
    """One memory, and under it how its score came about."""
    memory, score = recalled.memory, recalled.score
    mark = "|r*|n" if memory.private else " "
    clues = ", ".join(
        f"{clue} {value:.2f}" for clue, value in zip(CLUES, score.clues, strict=True) if value
    )
    parts = (
        f"similarity {score.similarity:.2f} ({clues}); weight {score.weight:.2f}, "
        f"recency {score.recency:.2f}, frequency {score.frequency:.2f}"
    )
    if score.emotion:
        parts += f", emotion {score.emotion:.2f}"
    if score.reranked is not None:
        parts += f"; read by the cross-encoder: {score.reranked:.2f}"
    who = f"{memory.speaker}: " if memory.speaker and memory.record == "entry" else ""
    kind = f"[{memory.record}, {memory.memory_type}]"
    head = f"|g{score.total:.3f}|n{mark}|y{ids.short(memory)}|n {kind} "
    return f"{hanging(head, who + memory.content)}\n{dim(f'{parts}; {recalled.tokens} tokens')}"
