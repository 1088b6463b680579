"""The switches of @memory that show something, and how it looks. Nothing is changed here."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable
from typing import Any

from twisted.internet import defer

from ..admin import access, edit, ids, inspect, preview, provenance, stats, undo_log
from ..recall.mood import Mood
from ..recall.rank import CLUES
from ..records import TALK_KINDS, Entry, MemoryRecord, Recalled
from ..store import condition
from ..store.chat_log import Stored
from ..text.plural import plural
from .base import MemoryCommand
from .display import bar, dim, hanging, heading, label, minute, private_mark, prose, safe, table

Steps = Generator[Any, Any, None]

PAGE = 50
SEARCH_SHOWN = 10
LINKS_SHOWN = 10
OBSERVATIONS_SHOWN = 20
EMOTIONS_SHOWN = 8
MESSAGES_SHOWN = 40
DAYS_SHOWN = 14
PROMPT_LIMIT = 20_000  # characters of one message in a preview

RECORDS = {  # as it is stored: what a builder calls one and several
    "fact": ("fact", "facts"),
    "experience": ("experience", "experiences"),
    "taught": ("lesson", "lessons"),
    "summary": ("summary", "summaries"),
    "insight": ("insight", "insights"),
}


# --- NPCs -----------------------------------------------------------------------------------------


@defer.inlineCallbacks
def roster(command: MemoryCommand) -> Steps:
    """All NPCs with a memory, one a line."""
    npcs = inspect.npcs()
    visible = [npc for npc in npcs if access.may(command.caller, npc, "look")]
    if not npcs:
        command.tell(
            "No NPC has a memory yet. Give a typeclass MemoryMixin (see the README), then create "
            "an NPC of it with @create/drop, or convert an existing one with @typeclass."
        )
        return
    if not visible:
        command.tell("The locks memory_look of all NPCs keep you out of their memories.")
        return
    seen: list[inspect.Overview] = yield inspect.overviews(visible)
    rows = [
        (
            f"{each.key[:20]} ({each.dbref})",
            each.state,
            each.entries,
            each.counts["fact"],
            each.people,
            minute(each.last_night),
            each.tokens,
        )
        for each in seen
    ]
    headers = ("npc", "state", "journal", "facts", "people", "last night", "tokens")
    language = seen[0].language if seen else ""
    command.page(
        *_trouble_lines(),
        table(headers, rows, right=(2, 3, 4, 6)),
        dim(f"Language: {language}. Tokens are today's. Details: @memory <npc>", indent=0),
    )


@defer.inlineCallbacks
def overview(command: MemoryCommand, npc: Any) -> Steps:
    """The memory of one NPC in numbers."""
    seen: inspect.Overview = yield inspect.overview(npc)
    state = seen.state
    if state in ("compacting", "dreaming"):
        state = f"asleep ({state})"
    where = f", {seen.location}" if seen.location else ""
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
        f"  last night:   {minute(seen.last_night)}",
        f"  tokens today: {seen.tokens}",
        f"  heartbeat:    {minute(seen.last_beat) if seen.last_beat else 'none since start-up'}",
        hanging("  language:     ", seen.language, indent=16),
        *_trouble_lines(),
    ]
    if seen.state == "paused":
        lines.append(f"|y  Paused: it does not hear or learn. To resume: {resume_command(npc)}|n")
    if seen.damaged:
        lines.append(
            hanging(
                "|r  damaged:|n      ",
                f"{', '.join(seen.damaged)} of its journal cannot be read in full. It continues "
                "with the rest. To rebuild what the store still holds, stop the server and run: "
                "evennia ai_memory doctor --mend",
                indent=16,
                limit=1000,
            )
        )
    if seen.state == "off":
        lines.append("|y  Switched off by the tag memory_off or in the settings.|n")
    command.page(*lines)


def resume_command(npc: Any) -> str:
    """The command that resumes a paused NPC."""
    return f"@memory/resume {'all' if edit.paused(npc) == 'all' else safe(npc.key)}"


def _trouble_lines() -> list[str]:
    """What is wrong with the store or the disk under it."""
    return [hanging("|r! |n", each, indent=2, limit=1000) for each in condition.troubles()]


# --- journal --------------------------------------------------------------------------------------

_KINDS = (*sorted(TALK_KINDS), "pose", "arrive", "leave", "give", "event", "note", "insight")
_ABOUT = re.compile(r"about\s+(.+)", re.IGNORECASE)
_BEFORE = re.compile(r"before\s+(.+)", re.IGNORECASE)
_AFTER = re.compile(r"(?:after|since|until)\s+#?\d[\d./-]*", re.IGNORECASE)
_ENTRY = re.compile(r"#?(\d{1,9})")
_DAY = re.compile(  # anything written like a day; `inspect.parse_date` rejects what is none
    r"\d{1,4}([-./])\d{1,2}\1\d{1,4}|\d{4}[-./]\d{1,2}|\d{1,2}[-./]\d{4}"
)
_RANGES = (
    "For older entries give an entry number: before 120. For a day or a month (UTC) give just "
    "that: 2026-11-20, or 2026-11."
)


@defer.inlineCallbacks
def journal(command: MemoryCommand, npc: Any, text: str) -> Steps:
    """What the NPC perceived, filtered; the newest entries last."""
    search = journal_search(npc, text)
    page: inspect.JournalPage = yield inspect.journal(npc, limit=PAGE, **search)
    name = safe(npc.key)
    filters = [safe(search[key]) for key in ("text", "kind", "day") if key in search]
    if "entity" in search:
        filters.append(f"about {safe(search['entity'])}")
    older = f"|w@memory/journal {name} = {', '.join([*filters, f'before {page.older}'])}|n"
    if page.entries:
        shown = plural(len(page.entries), "entry", "entries")
        command.page(
            heading(f"The journal of {npc.key}", f"{shown}, newest last"),
            *map(_entry_line, reversed(page.entries)),
            *([f"Older: {older}"] if page.older else []),
        )
    elif page.older:
        command.tell(f"No match back to entry {page.searched_to}. To search further back: {older}")
    elif search:
        command.tell(f"No entry in the journal of {name} matches.")
    else:
        command.tell(f"{name} has perceived nothing yet.")


def journal_search(npc: Any, text: str) -> dict[str, Any]:
    """Parse a search of the journal: parts between commas; anything unknown is searched as words.

    >>> journal_search(npc, "ferry, 2026-11-20, before 120")
    {'day': '2026-11-20', 'before': 120, 'text': 'ferry'}

    Raises:
        ids.UnknownPerson, ids.Ambiguous: In `about <name>`.
        inspect.InvalidSearch: Not a day, or not a range that the journal can be searched by.
    """
    search: dict[str, Any] = {}
    words = []
    for part in filter(None, (each.strip() for each in text.split(","))):
        if found := _BEFORE.fullmatch(part):
            entry = _ENTRY.fullmatch(found[1])
            if not entry:
                raise inspect.InvalidSearch(
                    f"'{part[:40]}' does not name an entry. {_RANGES} To search for these words, "
                    "leave out 'before'."
                )
            search["before"] = int(entry[1])
        elif _AFTER.fullmatch(part):
            raise inspect.InvalidSearch(f"Cannot search for '{part[:40]}'. {_RANGES}")
        elif _DAY.fullmatch(part):
            search["day"] = inspect.parse_date(part)
        elif part.lower() in _KINDS:
            search["kind"] = part.lower()
        elif found := _ABOUT.fullmatch(part):
            search["entity"] = ids.person(npc, found[1])
        else:
            words.append(part)
    return search | ({"text": ", ".join(words)} if words else {})


def _entry_line(entry: Entry) -> str:
    """Number, time, marks, kind, importance, and what was said."""
    who = f"{entry.seen_as}: " if entry.seen_as and entry.kind in ("say", "whisper") else ""
    head = (
        f"{entry.id:>5} |x{minute(entry.timestamp)}|n{private_mark(entry.private)}"
        f"{entry.kind:<7} {entry.importance:>2}{_pin_mark(entry.tags)}"
    )
    return hanging(head, who + entry.content)


def _pin_mark(tags: Iterable[str]) -> str:
    return "|c!|n" if "pinned" in tags else " "


# --- facts and search -----------------------------------------------------------------------------


@defer.inlineCallbacks
def facts(command: MemoryCommand, npc: Any, text: str) -> Steps:
    """Memories of one kind, newest first: facts unless another kind is named."""
    search = facts_search(text)
    page: inspect.MemoryPage = yield inspect.memories(npc, limit=4 * PAGE, **search)
    name = safe(npc.key)
    if page.memories:
        one, many = RECORDS[search.get("record", "fact")]
        more = page.total - len(page.memories)
        command.page(
            heading(
                f"What {npc.key} {'used to know' if search.get('ended') else 'knows'}",
                f"{plural(page.total, one, many)}, newest first",
            ),
            *map(_memory_lines, page.memories),
            *([f"|x{more} older ones are not shown: search for words.|n"] if more else []),
        )
    elif search:
        command.tell(f"{name} has no such memory. See help @memory for what can be searched.")
    else:
        command.tell(f"{name} knows no facts yet: they are made at night. Try @sleep/now {name}.")


def facts_search(text: str) -> dict[str, Any]:
    """Parse a search of the store: `ended`, then a kind of memory, then words; all optional.

    >>> facts_search("ended insights ferry")
    {'ended': True, 'record': 'insight', 'text': 'ferry'}
    """
    search: dict[str, Any] = {}
    words = text.split()
    if words and words[0].lower() == "ended":
        search["ended"] = True
        words.pop(0)
    records = {many: record for record, (_one, many) in RECORDS.items()}
    if words and words[0].lower() in records:
        search["record"] = records[words.pop(0).lower()]
    return search | ({"text": " ".join(words)} if words else {})


def _memory_lines(memory: MemoryRecord) -> str:
    """Short id, marks and words; below them importance, evidence, and whether it has ended."""
    short = ids.short(memory)
    head = f"|y{short:<8}|n{private_mark(memory.private)}{_pin_mark(memory.tags)}"
    evidence = ", ".join(map(str, memory.journal_ids[:8]))
    details = f"{round(memory.importance * 10)} of 10"
    if evidence and short != evidence:
        details += f"; from {evidence}{' …' if len(memory.journal_ids) > 8 else ''}"
    if memory.superseded_by:
        details += f"; superseded by {memory.superseded_by[:8]}"
    elif memory.invalid_at:
        details += f"; ended {minute(memory.invalid_at)}"
    return f"{hanging(head, memory.content, indent=10)}\n{dim(details, indent=10)}"


@defer.inlineCallbacks
def search(command: MemoryCommand, npc: Any, text: str) -> Steps:
    """What the NPC recalls for a question, each with the parts of its score."""
    result = yield npc.memory.recall(text, top_k=SEARCH_SHOWN)
    if not result.memories:
        command.tell(f"{safe(npc.key)} recalls nothing for that.")
        return
    cost = f"{result.total_tokens} tokens, {result.budget_used:.0%} of the budget"
    command.page(heading(f"What {npc.key} recalls", cost), *map(_recalled_lines, result.memories))


def _recalled_lines(recalled: Recalled) -> str:
    memory, score = recalled.memory, recalled.score
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
        parts += f"; cross-encoder {score.reranked:.2f}"
    head = (
        f"|g{score.total:.3f}|n{private_mark(memory.private)}|y{ids.short(memory)}|n "
        f"[{memory.record}, {memory.memory_type}] "
    )
    who = f"{memory.speaker}: " if memory.speaker and memory.record == "entry" else ""
    return f"{hanging(head, who + memory.content)}\n{dim(f'{parts}; {recalled.tokens} tokens')}"


# --- one memory -----------------------------------------------------------------------------------


@defer.inlineCallbacks
def show(command: MemoryCommand, npc: Any, memory_id: str) -> Steps:
    """One memory in full: its fields, evidence, links and history."""
    shown: provenance.Shown = yield provenance.show(npc, memory_id)
    memory, entry = shown.memory, shown.entry
    marks = [tag for tag in ("private", *shown.tags) if tag != "private" or memory.private]
    lines = [heading(f"{shown.id} of {npc.key}", f"{memory.record}, {memory.memory_type}")]
    if marks:
        lines.append(hanging("  |r", ", ".join(marks)) + "|n")
    lines.append(prose(memory.content))
    lines += [
        _field("said by", _said_by(npc, shown)),
        _field("when", minute(entry.timestamp if entry else memory.created_at)),
        _field("heard by", _names(npc, memory.witnesses) if memory.private else ""),
        _field("perceived line", entry.line or "" if entry else ""),
        _field("own words", memory.quote),
        _field("importance", _weights(shown)),
        _field("emotions", ", ".join(memory.dominant_emotions)),
        _field("lesson", memory.the_lesson),
        _field("told", _times_told(memory)),
        _field("valid", _validity(memory)),
        _field("made by", memory.provider),
        _field("id", memory.id),
    ]
    for title, found in (
        ("Based on", shown.evidence),
        ("Supersedes", shown.superseded),
        ("Superseded by", [shown.superseded_by] if shown.superseded_by else []),
    ):
        if found:
            lines.append(f"|w{title}|n")
            lines += [hanging(f"  |y{ids.short(each):<8}|n ", each.content) for each in found]
    if shown.forgotten:
        count = plural(len(shown.forgotten), "entry", "entries")
        numbers = ", ".join(map(str, shown.forgotten))
        lines.append(dim(f"Forgotten since: {count} ({numbers})", indent=2))
    if shown.links:
        lines.append("|wLinked with|n")
        lines += map(_link_line, shown.links[:LINKS_SHOWN])
        if len(shown.links) > LINKS_SHOWN:
            lines.append(dim(f"and {len(shown.links) - LINKS_SHOWN} more: @memory/links", indent=2))
    if shown.history:
        lines.append("|wHistory|n")
        lines += [
            hanging(f"  |x{minute(change.when)}|n {change.event:<6} ", change.new or change.old)
            for change in shown.history
        ]
    command.page(*filter(None, lines))


def _field(name: str, value: str) -> str:
    return hanging(f"  {name + ':':<16}", value, indent=18, limit=1000) if value else ""


def _said_by(npc: Any, shown: provenance.Shown) -> str:
    memory, entry = shown.memory, shown.entry
    if entry and entry.origin == "self":
        return f"{npc.key} itself ({entry.kind})"
    if entry and entry.origin == "builder":
        return "a builder"
    name = npc.memory.people.name_of(memory.about) or memory.speaker
    who = " ".join(filter(None, (name, memory.about or "")))
    return f"{who} ({entry.kind})" if who and entry else who


def _names(npc: Any, identities: tuple[str, ...]) -> str:
    return ", ".join(npc.memory.people.name_of(each) or each for each in identities) or "nobody"


def _weights(shown: provenance.Shown) -> str:
    memory, entry = shown.memory, shown.entry
    importance = (
        f"{entry.importance} of 10 ({entry.scoring_method})"
        if entry
        else f"{round(memory.importance * 10)} of 10"
    )
    return f"{importance}; weight {memory.memory_weight:.2f}; trust {memory.source_trust:.1f}"


def _times_told(memory: MemoryRecord) -> str:
    last = f"; last {minute(memory.last_accessed)}" if memory.recalls else ""
    return plural(memory.recalls, "time") + last


def _validity(memory: MemoryRecord) -> str:
    if memory.invalid_at or memory.superseded_by:
        since = f"from {minute(memory.valid_from)}" if memory.valid_from else ""
        until = f"until {minute(memory.invalid_at)}" if memory.invalid_at else ""
        return ", ".join(filter(None, ("no longer", since, until)))
    if memory.expires_at:
        return f"until {minute(memory.expires_at)}"
    if memory.compressed:
        return "yes; its summary is recalled instead where that is available"
    return f"since {minute(memory.valid_from)}" if memory.valid_from else ""


@defer.inlineCallbacks
def links(command: MemoryCommand, npc: Any, memory_id: str) -> Steps:
    """The memories that one memory is linked with, strongest first."""
    shown: provenance.Shown = yield provenance.show(npc, memory_id)
    if shown.links:
        command.page(
            heading(f"Links of {shown.id}", "strongest first"), *map(_link_line, shown.links)
        )
    else:
        command.tell(
            f"{safe(shown.id)} has no links. They are made at night, between similar memories and "
            "between a memory and its evidence."
        )


def _link_line(link: provenance.LinkShown) -> str:
    mark = private_mark(link.private)
    head = f"  |g{link.score:.2f}|n {link.kind:<9}|y{safe(link.id):<8}|n{mark}"
    return hanging(head, link.text or "(forgotten)", indent=10, limit=200)


@defer.inlineCallbacks
def trace(command: MemoryCommand, npc: Any, memory_id: str) -> Steps:
    """The sources of a memory and what was derived from it, as two trees."""
    found: provenance.Trace = yield provenance.trace(npc, memory_id)
    lines = [heading(f"{found.root.id} of {npc.key}"), prose(found.root.memory.content, limit=1000)]
    lines.append("|wDerived from|n")
    lines += map(_step_line, found.sources)
    if not found.sources:
        lines.append("  nothing else: it was perceived, added or taught")
    lines.append("|wDerived from it|n")
    lines += map(_step_line, found.results)
    for each in found.profiles:
        head = f"  profile of {label(each.name or each.identity)}{private_mark(each.private)}"
        lines.append(hanging(head, f"{each.kind}: {each.text}", limit=200))
    if not found.results and not found.profiles:
        lines.append("  nothing yet")
    elif found.results:
        lines.append(dim(f"To forget it and these: @memory/forget {npc.key} = {found.root.id} all"))
    if not found.whole:
        lines.append(dim(f"Only the nearest {provenance.TRACED} are shown."))
    command.page(*lines)


def _step_line(step: provenance.Step) -> str:
    memory, indent = step.memory, 2 * step.depth
    head = (
        f"{' ' * indent}|y{ids.short(memory):<8}|n{private_mark(memory.private)}"
        f"{memory.record:<10} "
    )
    return hanging(head, memory.content, indent=indent + 10, limit=200)


# --- people ---------------------------------------------------------------------------------------


@defer.inlineCallbacks
def profile(command: MemoryCommand, npc: Any, name: str) -> Steps:
    """The people an NPC knows, or what it knows about one of them."""
    if name:
        command.page(*_person_lines(npc, inspect.person(npc, ids.person(npc, name))))
        return
    known: list[inspect.Person] = yield inspect.people(npc)
    if not known:
        command.tell(f"{safe(npc.key)} has met nobody yet.")
        return
    rows = [
        (
            each.name,
            each.state,
            f"{each.favorability:.2f}",
            each.interactions,
            each.observed,
            each.known,
            minute(each.last_seen),
        )
        for each in known
    ]
    headers = ("name", "relation", "favor", "lines", "notes", "traits", "last seen")
    more = len(npc.memory.people) - len(known)
    command.page(
        heading(f"People {npc.key} knows", "details: @memory/profile <npc> = <name>"),
        table(headers, rows, right=(2, 3, 4, 5)),
        *([f"|x{more} more, last seen earlier|n"] if more > 0 else []),
    )


def _person_lines(npc: Any, page: inspect.PersonPage) -> list[str]:
    person = page.person
    name = person.name or person.identity
    lines = [
        heading(f"What {npc.key} knows about {name}", f"{person.identity}, {person.entity_type}"),
        f"  {person.state} (favorability {person.favorability:.2f}); "
        f"{plural(person.interactions, 'line')} of talk; last seen {minute(person.last_seen)}",
    ]
    if page.course:
        course = ", ".join(f"{day} {value:.2f}" for day, value in page.course[-6:])
        lines.append(dim(f"favorability over time: {course}", indent=2))
    if page.attributes:
        lines.append("|wTraits|n")
    for trait in sorted(page.attributes, key=lambda each: -each.confidence):
        evidence = ", ".join(map(str, trait.evidence[-6:]))
        lines.append(
            hanging(
                f" {private_mark(trait.private)}{label(trait.type)}: ",
                f"{trait.value} ({trait.confidence:.2f}, from {evidence})",
            )
        )
    if page.preferences:
        lines.append("|wPreferences|n")
    for held in page.preferences:
        before = "; ".join(each.text for each in held.history)
        since = f"since {minute(held.since)}{f'; before: {before}' if before else ''}"
        lines.append(hanging(f" {private_mark(held.private)}", f"{held.text} ({since})"))
    noted = page.observations[-OBSERVATIONS_SHOWN:]
    if noted:
        lines.append(heading("Notes", f"the last {len(noted)} of {len(page.observations)}"))
    for note in noted:
        head = f" {private_mark(note.private)}|y{note.journal_id:>5}|n "
        lines.append(hanging(head, note.text))
    if not (page.attributes or page.preferences or noted):
        lines.append("  nothing more: what people say about themselves is noted at night")
    return lines


def agenda(command: MemoryCommand, npc: Any) -> None:
    """Promises, debts, requests to the NPC and plans, the newest due date first."""
    found = inspect.agenda(npc)
    if not found:
        name = safe(npc.key)
        command.tell(
            f"There is nothing on the agenda of {name}. Promises, debts, plans with a date, and "
            f"requests to {name} are noted as they are heard."
        )
        return
    lines = [heading(f"Agenda of {npc.key}", "newest due date first")]
    for each in found[:PAGE]:
        item = each.item
        people = f"{each.who} to {each.to}" if each.to else each.who
        head = (
            f"  |y{item.id:<6}|n{private_mark(item.private)}|w{each.state:<8}|n"
            f"{item.due or '-':<11}{item.kind:<8} {label(people)}: "
        )
        lines.append(hanging(head, item.text, indent=9))
        closed = f"; closed by {', '.join(map(str, item.closed_by))}" if item.closed_by else ""
        lines.append(dim(f"from {', '.join(map(str, item.evidence))}{closed}", indent=9))
    if len(found) > PAGE:
        lines.append(dim(f"and {len(found) - PAGE} older ones", indent=2))
    command.page(*lines)


# --- mood, talk, growth, cost ---------------------------------------------------------------------


@defer.inlineCallbacks
def mood(command: MemoryCommand, npc: Any) -> Steps:
    """What the NPC feels, and the experiences behind it."""
    found: Mood = yield npc.memory.mood()
    if not found.shares:
        name = safe(npc.key)
        command.tell(
            f"{name} feels nothing in particular: a mood comes from experiences, and {name} has "
            "none yet. They are made from talk near an awake NPC, after six lines or when the "
            "talk falls silent."
        )
        return
    strongest, fainter = found.shares[:EMOTIONS_SHOWN], found.shares[EMOTIONS_SHOWN:]
    lines = [heading(f"The mood of {npc.key}")]
    lines += [f"  {label(name, 13):<13} {share:>4.0%} {bar(share)}" for name, share in strongest]
    if fainter:
        lines.append(dim(f"and fainter: {', '.join(name for name, _ in fainter)}", indent=2))
    lines.append("|wIt comes from|n")
    for each in found.experiences:
        head = f"|x{minute(each.created_at)}|n{private_mark(each.private)}"
        lesson = f" Lesson: {each.the_lesson}" if each.the_lesson else ""
        emotions = ", ".join(each.dominant_emotions)
        lines.append(hanging(head, each.content))
        lines.append(dim(f"{emotions}; weight {each.memory_weight:.2f}.{lesson}"))
    command.page(*lines)


def history(command: MemoryCommand, npc: Any) -> None:
    """The conversation that a language model is sent, and what builders changed."""
    messages = npc.memory.history.messages
    acts = undo_log.acts(npc)
    command.page(
        heading(f"Conversation of {npc.key}", "as a language model is sent it"),
        *(_message_line(npc, each) for each in messages[-MESSAGES_SHOWN:]),
        *([] if messages else ["  none yet: only talk that it answered is kept here"]),
        heading("Changes by builders", "newest first; @memory/undo takes them back"),
        *(hanging("  ", act.summary(), indent=4) for act in reversed(acts)),
        *([] if acts else ["  none that can be undone"]),
    )


def _message_line(npc: Any, message: Stored) -> str:
    name = {"assistant": npc.key, "tool": "(result)", "user": ""}[message["role"]]
    calls = "; ".join(
        f"{call['function']['name']} {call['function']['arguments']}"
        for call in message.get("tool_calls") or ()
    )
    words = filter(None, (f"{name}:" if name else "", message["content"] or "", calls))
    return hanging(f"{message['entry']:>5}{private_mark(message['private'])}", " ".join(words))


@defer.inlineCallbacks
def growth(command: MemoryCommand, npc: Any) -> Steps:
    """How the memory grew, and what it consists of."""
    found: stats.Stats = yield stats.stats(npc)
    busiest = max((number for _day, number in found.growth), default=0) or 1
    most = max(found.importance.values(), default=0) or 1
    emotions = sum(number for _name, number in found.emotions) or 1
    lines = [
        heading(
            f"Growth of the memory of {npc.key}",
            plural(found.entries, "journal entry", "journal entries"),
        ),
        *(
            f"  {day}  {number:>6} {bar(number / busiest)}"
            for day, number in found.growth[-DAYS_SHOWN:]
        ),
        heading("Importance of its journal entries", "1 to 10"),
        *(
            f"  {each:>10}  {number:>6} {bar(number / most)}"
            for each, number in found.importance.items()
            if number
        ),
    ]
    if found.emotions:
        lines.append(heading("Emotions of its experiences"))
    lines += [
        f"  {label(name, 13):<13}{number:>5} {bar(number / emotions)}"
        for name, number in found.emotions[:EMOTIONS_SHOWN]
    ]
    memories = ", ".join(f"{name} {number}" for name, number in found.memories.items() if number)
    kinds = ", ".join(f"{name} {number}" for name, number in found.kinds.items())
    lines.append(hanging("|wIn the store:|n ", memories or "nothing"))
    lines.append(hanging("|wIn the journal:|n ", kinds or "nothing"))
    command.page(*lines)


def cost(command: MemoryCommand, npc: Any) -> None:
    """What the language model cost today."""
    spent = stats.cost(npc)
    rows = [
        (name, each.calls, each.tokens_in, each.tokens_out)
        for name, each in [
            *sorted(spent.by_purpose.items()),
            ("all NPCs", spent.game),
            (npc.key, spent.npc),
        ]
    ]
    budgets = [
        f"{whose}: {each.tokens:,} of {limit:,} tokens"
        for whose, each, limit in (
            ("the game", spent.game, spent.game_limit),
            (npc.key, spent.npc, spent.npc_limit),
        )
        if limit
    ]
    command.page(
        heading(f"Language model usage on {spent.day}", "UTC"),
        table(("for", "calls", "tokens in", "tokens out"), rows, right=(1, 2, 3)),
        hanging("Budgets: ", "; ".join(budgets) or "none are set", indent=2),
        hanging("Language: ", spent.language, indent=2),
    )


# --- prompt ---------------------------------------------------------------------------------------

_WHISPERS = re.compile(r"\s+whispers$", re.IGNORECASE)


@defer.inlineCallbacks
def prompt(command: MemoryCommand, npc: Any, text: str) -> Steps:
    """The prompt for an answer to a line of talk. Nothing is sent, said or remembered."""
    player, colon, words = text.partition(":")
    if not colon:
        command.tell(
            f"Name the player and the line: @memory/preview {safe(npc.key)} = Alice: Good evening! "
            "For a whisper: Alice whispers: Good evening!"
        )
        return
    player = player.strip()
    name = _WHISPERS.sub("", player)
    seen: preview.Preview = yield preview.preview(npc, name, words, whispered=name != player)
    lines = [heading(f"Prompt for {seen.listener}", f"about {seen.tokens} tokens")]
    for role, content in seen.messages:
        lines += [f"|c[{safe(role)}]|n", prose(content, indent=0, limit=PROMPT_LIMIT)]
    if seen.model:
        lines.append(hanging("|wTools offered:|n ", ", ".join(seen.tools) or "none"))
        lines.append(dim(f"It would be sent to {seen.language}.", indent=0))
    else:
        lines.append(
            dim(
                f"No language model is set, so nothing is sent: {npc.key} answers from these "
                "memories by rules.",
                indent=0,
            )
        )
    command.page(*lines)
