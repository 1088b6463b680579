"""@memory: view and change what an NPC remembers.

A switch is an operation of the table. Here are those that read what is typed, or show what they
give, in a way of their own; the command, with its help, is at the end.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Generator, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from twisted.internet import defer

from .. import conf
from ..admin import (
    access,
    archive,
    archive_format,
    audit,
    edit,
    game_npcs,
    ids,
    inspect,
    operations,
    persona,
    prompt_preview,
    requests,
    undo_log,
)
from ..admin.arguments import LARGEST, RECORDS
from ..admin.jobs import local_job
from ..admin.operations import TABLE
from ..errors import InputError
from ..llm import router
from ..recall.mood import Mood
from ..records import TALK_KINDS, Entry, MemoryRecord, Recalled, Weighed
from ..store import condition
from ..text import plural
from .base import OperationCommand, help_text, own_way, record_lines, resume_command
from .display import (
    dim,
    hanging,
    heading,
    label,
    minute,
    private_mark,
    prose,
    safe,
    shortened,
    table,
)

Steps = Generator[Any, Any, None]

OWN: dict[str, Any] = {}  # read what is typed
VIEWS: dict[str, Any] = {}  # show what an operation gives

PAGE = 50
SEARCH_SHOWN = 10
OBSERVATIONS_SHOWN = 20
EMOTIONS_SHOWN = 8
DAYS_SHOWN = 14
PROMPT_LIMIT = 20_000  # characters of one message in a preview
VALUE_SHOWN = 100  # characters of a setting
QUOTED = 60  # characters of a memory within a sentence


# --- NPCs -----------------------------------------------------------------------------------------


@defer.inlineCallbacks
def _roster(command: OperationCommand) -> Steps:
    """All NPCs with a memory, one a line."""
    seen = yield inspect.visible(command.caller, limit=LARGEST)
    if not seen.total:
        command.tell(
            "The locks memory_look of all NPCs keep you out of their memories."
            if game_npcs.npcs()
            else "No NPC has a memory yet. Give a typeclass MemoryMixin (see the README), then "
            "create an NPC of it with @create/drop, or convert an existing one with @typeclass."
        )
        return
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
        for each in seen.results
    ]
    headers = ("npc", "state", "journal", "facts", "people", "last night", "tokens")
    told = f"Language model: {router.status()}. Tokens are today's. Details: @memory <npc>"
    command.page(
        *_warnings(condition.troubles()),
        table(headers, rows, right=(2, 3, 4, 6)),
        dim(told, indent=0),
    )


@own_way(VIEWS)
def _overview(command: OperationCommand, npc: Any, seen: inspect.Overview) -> None:
    state = f"asleep ({seen.state})" if seen.state in ("compacting", "dreaming") else seen.state
    where = f", {seen.location}" if seen.location else ""
    entries = plural(seen.entries, "entry", "entries")
    lines = [heading(f"The memory of {seen.key}", f"{seen.dbref}, {state}{where}")]
    for name, value in (
        ("journal", f"{entries}, {seen.pending} not indexed yet"),
        *((many, seen.counts[record]) for record, (_one, many) in RECORDS.items()),
        ("links", seen.links),
        ("people met", seen.people),
        ("last night", minute(seen.last_night)),
        ("tokens today", seen.tokens),
        ("heartbeat", minute(seen.last_beat) if seen.last_beat else "none since start-up"),
        ("language", seen.language),
        ("settings", ", ".join(f"{x.name} {x.value} ({x.source})" for x in seen.settings)),
    ):
        if told := str(value):
            lines.append(hanging(f"  {name + ':':<14}", told, indent=16, limit=1000))
    lines += _warnings([*_left_out(seen.problems), *condition.troubles()])
    if seen.damaged:
        lines += _warnings(
            [
                f"Damaged: {', '.join(seen.damaged)} of its journal cannot be read in full. It "
                "continues with the rest. To rebuild what the store still holds, stop the server "
                "and run: evennia ai_memory doctor --mend"
            ]
        )
    if seen.state == "paused":
        lines.append(f"|y  Paused: it does not hear or learn. To resume: {resume_command(npc)}|n")
    if seen.state == "off":
        lines.append("|y  Switched off by the tag memory_off or in the settings.|n")
    command.page(*lines)


def _left_out(problems: Iterable[str]) -> list[str]:
    return [f"{each} The value is left out." for each in problems]


def _warnings(problems: Iterable[str]) -> list[str]:
    return [hanging("|r! |n", each, indent=2, limit=1000) for each in problems]


# --- settings -------------------------------------------------------------------------------------


@own_way(VIEWS)
def _settings(command: OperationCommand, npc: Any, shown: inspect.NPCSettingsShown) -> None:
    rows = [(each.name, shortened(each.value, VALUE_SHOWN), each.source) for each in shown.settings]
    command.page(
        heading(f"Settings of {npc.key}", "to change one: @memory/set <npc> = <name>: <value>"),
        table(("name", "value", "from"), rows),
        *_warnings(_left_out(shown.problems)),
    )


@own_way(OWN)
def _set(command: OperationCommand, npc: Any, text: str) -> Steps:
    """Read a name and a value, or a name alone."""
    name, colon, typed = text.partition(":")
    if not colon:
        raise InputError(
            f"Usage: @memory/set {npc.key} = <name>: <value>, for example RECALL_TOKENS: 300. "
            f"Without a value, the setting is no longer {npc.key}'s own. @memory/settings "
            f"{npc.key} lists them."
        )
    value = {"value": _value_of(typed.strip())} if typed.strip() else {}
    yield command.carry_out(TABLE["set"], npc, {"name": name.strip().upper(), **value})


def _value_of(typed: str) -> Any:
    """Parse a typed value: a Python literal, none, or text.

    >>> _value_of('{"model": "small"}')
    {'model': 'small'}
    """
    if typed.lower() == "none":
        return None
    try:
        return ast.literal_eval(typed)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return typed


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


@own_way(OWN)
def _journal(command: OperationCommand, npc: Any, text: str) -> Steps:
    """What the NPC perceived, filtered; the newest entries last."""
    search = _journal_search(npc, text)
    page: inspect.JournalPage = yield inspect.journal(npc, limit=PAGE, **search)
    name = safe(npc.key)
    filters = [safe(search[key]) for key in ("text", "kind", "day") if key in search]
    if "entity" in search:
        filters.append(f"about {safe(search['entity'])}")
    older = f"|w@memory/journal {name} = {', '.join([*filters, f'before {page.older}'])}|n"
    if page.older and not page.entries:
        command.tell(f"No match back to entry {page.searched_to}. To search further back: {older}")
        return
    shown = plural(len(page.entries), "entry", "entries")
    command.listing(
        heading(f"The journal of {npc.key}", f"{shown}, newest last"),
        map(_entry_line, reversed(page.entries)),
        f"No entry in the journal of {name} matches."
        if search
        else f"{name} has perceived nothing yet.",
        after=[f"Older: {older}"] if page.older else [],
    )


def _journal_search(npc: Any, text: str) -> dict[str, Any]:
    """Parse a search of the journal: parts between commas; anything unknown is searched as words.

    >>> _journal_search(npc, "ferry, 2026-11-20, before 120")
    {'day': '2026-11-20', 'before': 120, 'text': 'ferry'}
    """
    search: dict[str, Any] = {}
    words = []
    for part in filter(None, (each.strip() for each in text.split(","))):
        if found := _BEFORE.fullmatch(part):
            entry = _ENTRY.fullmatch(found[1])
            if not entry:
                raise InputError(
                    f"'{part[:40]}' does not name an entry. {_RANGES} To search for these words, "
                    "leave out 'before'."
                )
            search["before"] = int(entry[1])
        elif _AFTER.fullmatch(part):
            raise InputError(f"Cannot search for '{part[:40]}'. {_RANGES}")
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


@own_way(OWN)
def _facts(command: OperationCommand, npc: Any, text: str) -> Steps:
    """Memories of one kind, newest first: facts unless another kind is named."""
    search = _facts_search(text)
    page: inspect.Page[MemoryRecord] = yield inspect.memories(npc, limit=4 * PAGE, **search)
    name, knows = safe(npc.key), "used to know" if search.get("ended") else "knows"
    count = plural(page.total, *RECORDS[search.get("record", "fact")])
    more = page.total - len(page.results)
    command.listing(
        heading(f"What {npc.key} {knows}", f"{count}, newest first"),
        map(_memory_lines, page.results),
        f"{name} has no such memory. See help @memory for what can be searched."
        if search
        else f"{name} knows no facts yet: they are drawn from talk at night, or once there is much "
        f"of it. Try @sleep/now {name}.",
        after=[f"|x{more} older ones are not shown: search for words.|n"] if more else [],
    )


def _facts_search(text: str) -> dict[str, Any]:
    """Parse a search of the store: `ended`, then a kind of memory, then words; all optional.

    >>> _facts_search("ended insights ferry")
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


@own_way(OWN)
def _search(command: OperationCommand, npc: Any, text: str) -> Steps:
    """What the NPC recalls for a question, each with the parts of its score."""
    result = yield npc.memory.recall(text, top_k=SEARCH_SHOWN)
    cost = f"{result.total_tokens} tokens, {result.budget_used:.0%} of the budget"
    command.listing(
        heading(f"What {npc.key} recalls", cost),
        map(_recalled_lines, result.memories),
        f"{safe(npc.key)} recalls nothing for that.",
    )


def _recalled_lines(recalled: Recalled) -> str:
    memory, score = recalled.memory, recalled.score
    head = (
        f"|g{score.total:.3f}|n{private_mark(memory.private)}|y{ids.short(memory)}|n "
        f"[{memory.record}, {memory.memory_type}] "
    )
    who = f"{memory.speaker}: " if memory.speaker and memory.record == "entry" else ""
    parts = dim(f"{score.told}; {recalled.tokens} tokens")
    return f"{hanging(head, who + memory.content)}\n{parts}"


# --- one memory -----------------------------------------------------------------------------------


_SHOWN_APART = {"id", "content", "key", "record", "memory_type", "private", "tags", "superseded_by"}
_PEOPLE = {"about", "source_entity", "entities", "witnesses"}


@own_way(VIEWS)
def _show(command: OperationCommand, npc: Any, shown: inspect.Shown) -> None:
    memory, entry = shown.memory, shown.entry
    marks = [*(["private"] if memory.private else []), *shown.tags]
    lines = [heading(f"{shown.id} of {npc.key}", f"{memory.record}, {memory.memory_type}")]
    lines += [hanging("  |r", ", ".join(marks)) + "|n"] if marks else []
    lines.append(prose(memory.content))
    plain = (entry.to_dict() if entry else {}) | memory.to_dict()
    plain["importance"] = f"{entry.importance if entry else round(memory.importance * 10)} of 10"
    for name in _PEOPLE & plain.keys():
        people = plain[name] if isinstance(plain[name], list) else [plain[name]]
        plain[name] = [_named(npc, each) for each in people]
    lines += record_lines({name: plain[name] for name in plain if name not in _SHOWN_APART})
    lines.append(f"  id: {memory.id}")
    for title, found in (
        ("Based on", shown.evidence),
        ("Supersedes", shown.superseded),
        ("Superseded by", [shown.superseded_by] if shown.superseded_by else []),
    ):
        lines += [f"|w{title}|n"] if found else []
        lines += [hanging(f"  |y{ids.short(each):<8}|n ", each.content) for each in found]
    if shown.forgotten:
        lines.append(dim(f"Forgotten since: {', '.join(map(str, shown.forgotten))}", indent=2))
    lines += ["|wLinked with|n"] if shown.links else []
    lines += map(_link_line, shown.links)
    lines += ["|wHistory|n"] if shown.history else []
    for change in shown.history:
        head = f"  |x{minute(change.when)}|n {change.event:<6} "
        lines.append(hanging(head, change.new or change.old))
    command.page(*filter(None, lines))


def _named(npc: Any, identity: str) -> str:
    name = npc.memory.people.name_of(identity)
    return f"{name} {identity}" if name else identity


def _link_line(link: inspect.LinkShown) -> str:
    mark = private_mark(link.private)
    head = f"  |g{link.score:.2f}|n {link.kind:<9}|y{safe(link.id):<8}|n{mark}"
    return hanging(head, link.text or "(forgotten)", indent=10, limit=200)


@own_way(VIEWS)
def _trace(command: OperationCommand, npc: Any, found: inspect.Trace) -> None:
    lines = [heading(f"{found.root.id} of {npc.key}"), prose(found.root.memory.content, limit=1000)]
    lines += ["|wDerived from|n", *map(_step_line, found.sources)]
    lines += [] if found.sources else ["  nothing else: it was perceived, added or taught"]
    lines += ["|wDerived from it|n", *map(_step_line, found.results)]
    for each in found.profiles:
        head = f"  profile of {label(each.name or each.identity)}{private_mark(each.private)}"
        lines.append(hanging(head, f"{each.kind}: {each.text}", limit=200))
    if found.results:
        lines.append(dim(f"To forget it and these: @memory/forget {npc.key} = {found.root.id} all"))
    elif not found.profiles:
        lines.append("  nothing yet")
    if not found.whole:
        lines.append(dim(f"Only the nearest {inspect.TRACED} are shown."))
    command.page(*lines)


def _step_line(step: inspect.Step) -> str:
    memory, indent = step.memory, 2 * step.depth
    head = (
        f"{' ' * indent}|y{ids.short(memory):<8}|n{private_mark(memory.private)}"
        f"{memory.record:<10} "
    )
    return hanging(head, memory.content, indent=indent + 10, limit=200)


# --- people ---------------------------------------------------------------------------------------


@own_way(OWN)
def _people(command: OperationCommand, npc: Any, name: str) -> Steps:
    """The people an NPC knows, or what it knows about one of them."""
    if name:
        command.page(*_person_lines(npc, inspect.person(npc, name)))
        return
    found: inspect.Page[inspect.PersonShown] = yield inspect.people(npc)
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
        for each in found.results
    ]
    headers = ("name", "relation", "favor", "lines", "notes", "traits", "last seen")
    more = found.total - len(rows)
    command.listing(
        heading(f"People {npc.key} knows", "details: @memory/profile <npc> = <name>"),
        [table(headers, rows, right=(2, 3, 4, 5))] if rows else [],
        f"{safe(npc.key)} has met nobody yet.",
        after=[f"|x{more} more, last seen earlier|n"] if more else [],
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
    lines += ["|wTraits|n"] if page.attributes else []
    for trait in sorted(page.attributes, key=lambda each: -each.confidence):
        sure = f"{trait.confidence:.2f}, from {', '.join(map(str, trait.evidence[-6:]))}"
        head = f" {private_mark(trait.private)}{label(trait.type)}: "
        lines.append(hanging(head, f"{trait.value} ({sure})"))
    lines += ["|wPreferences|n"] if page.preferences else []
    for held in page.preferences:
        before = "".join(f"; before: {each.text}" for each in held.history)
        told = f"{held.text} (since {minute(held.since)}{before})"
        lines.append(hanging(f" {private_mark(held.private)}", told))
    noted = page.observations[-OBSERVATIONS_SHOWN:]
    if noted:
        lines.append(heading("Notes", f"the last {len(noted)} of {len(page.observations)}"))
    for note in noted:
        head = f" {private_mark(note.private)}|y{note.journal_id:>5}|n "
        lines.append(hanging(head, note.text))
    if not (page.attributes or page.preferences or noted):
        lines.append("  nothing more: what people say about themselves is noted at night")
    return lines


@own_way(VIEWS)
def _agenda(command: OperationCommand, npc: Any, found: list[inspect.AgendaEntry]) -> None:
    name, more = safe(npc.key), len(found) - PAGE
    command.listing(
        heading(f"Agenda of {npc.key}", "newest due date first"),
        map(_agenda_lines, found[:PAGE]),
        f"There is nothing on the agenda of {name}. Promises, debts, plans with a date, and "
        f"requests to {name} are noted as they are heard.",
        after=[dim(f"and {more} older ones", indent=2)] if more > 0 else [],
    )


def _agenda_lines(each: inspect.AgendaEntry) -> str:
    item = each.item
    people = f"{each.who} to {each.to}" if each.to else each.who
    head = (
        f"  |y{item.id:<6}|n{private_mark(item.private)}|w{each.state:<8}|n"
        f"{item.due or '-':<11}{item.kind:<8} {label(people)}: "
    )
    closed = f"; closed by {', '.join(map(str, item.closed_by))}" if item.closed_by else ""
    details = f"from {', '.join(map(str, item.evidence))}{closed}"
    return f"{hanging(head, item.text, indent=9)}\n{dim(details, indent=9)}"


# --- mood and changes -----------------------------------------------------------------------------


@own_way(VIEWS)
def _mood(command: OperationCommand, npc: Any, found: Mood) -> None:
    name = safe(npc.key)
    strongest = found.shares[:EMOTIONS_SHOWN]
    lines = [f"  {label(felt, 13):<13} {share:>4.0%}" for felt, share in strongest]
    lines += ["|wIt comes from|n"] if found.experiences else []
    for each in found.experiences:
        head = f"|x{minute(each.created_at)}|n{private_mark(each.private)}"
        lesson = f" Lesson: {each.the_lesson}" if each.the_lesson else ""
        emotions = ", ".join(each.dominant_emotions)
        lines.append(hanging(head, each.content))
        lines.append(dim(f"{emotions}; weight {each.memory_weight:.2f}.{lesson}"))
    command.listing(
        heading(f"The mood of {npc.key}"),
        lines,
        f"{name} feels nothing in particular: a mood comes from experiences, and {name} has none "
        "yet. They are made from talk near an awake NPC, after six lines or when the talk falls "
        "silent.",
    )


@own_way(VIEWS)
def _acts(command: OperationCommand, npc: Any, acts: list[undo_log.Act]) -> None:
    command.listing(
        heading(f"Changes by builders to {npc.key}", "newest first; @memory/undo takes them back"),
        (hanging("  ", act.summary(), indent=4) for act in acts),
        f"{safe(npc.key)} has no changes that can be undone.",
    )


@own_way(VIEWS)
def _stats(command: OperationCommand, npc: Any, found: inspect.Stats) -> None:
    shown = replace(found, growth=found.growth[-DAYS_SHOWN:])
    command.page(heading(f"{npc.key}: stats"), *record_lines(shown))


# --- prompt ---------------------------------------------------------------------------------------

_WHISPERS = re.compile(r"\s+whispers$", re.IGNORECASE)


@own_way(OWN)
def _preview(command: OperationCommand, npc: Any, text: str) -> Steps:
    """The prompt for an answer to a line of talk, or the answer. Nothing is sent or remembered."""
    player, colon, words = text.partition(":")
    if not colon:
        raise InputError(
            f"Name the player and the line: @memory/preview {npc.key} = Alice: Good evening! For a "
            "whisper: Alice whispers: Good evening!"
        )
    player = player.strip()
    name = _WHISPERS.sub("", player)
    seen: prompt_preview.Preview = yield prompt_preview.preview(
        npc, name, words, whispered=name != player
    )
    if seen.answer:
        command.page(*_answer_lines(npc, seen))
        return
    lines = [heading(f"Prompt for {seen.listener}", f"about {seen.tokens} tokens")]
    for role, content in seen.messages:
        lines += [f"|c[{safe(role)}]|n", prose(content, indent=0, limit=PROMPT_LIMIT)]
    lines.append(hanging("|wTools offered:|n ", ", ".join(seen.tools) or "none"))
    lines.append(dim(f"It would be sent to {seen.language}.", indent=0))
    command.page(*lines)


@own_way(VIEWS)
def _why(command: OperationCommand, npc: Any, found: list[inspect.Why]) -> None:
    lines = []
    for each in found:
        when = f"|w{minute(each.when)}|n{private_mark(each.private)}"
        lines.append(hanging(f"{when} {safe(each.asker)}: ", each.asked))
        lines.append(hanging(f"  |w{safe(npc.key)}:|n ", each.said))
        lines += [dim(f"said first: {each.row}")] if each.row else []
        lines += map(_weighed_line, each.weighed)
    how = f"{_HOW_CHOSEN} Of a model's answers it says how well each was recalled."
    command.listing(
        heading(f"Why {npc.key} said that", "newest first"),
        lines,
        f"{safe(npc.key)} has answered nothing yet.",
        after=[dim(how, indent=0)],
    )


def _answer_lines(npc: Any, seen: prompt_preview.Preview) -> list[str]:
    """What an NPC without a language model would say, and what it would choose that from."""
    says = "whispers" if seen.private else "says"
    return [
        heading(f"What {npc.key} would answer {seen.listener}"),
        hanging(f"{safe(npc.key)} {says}: ", seen.answer),
        *map(_weighed_line, seen.weighed),
        dim(_HOW_CHOSEN if seen.weighed else "No sentence was weighed for it.", indent=0),
    ]


def _weighed_line(each: Weighed) -> str:
    of = ids.short_link(each.memory) if each.memory else "persona"
    told = "|g+|n" if each.told else " "
    head = f"  {each.score:6.2f} {told} |y{safe(of):<8}|n{private_mark(each.private)}"
    return hanging(head, each.text or "(pruned since)", indent=20, limit=160)


_HOW_CHOSEN = (
    "+ marks what is told. The number says how well a sentence answers; below 0 it is likelier "
    "that nothing does."
)


# --- adding and editing ---------------------------------------------------------------------------


@own_way(OWN)
def _persona(command: OperationCommand, npc: Any, text: str) -> Steps:
    """Show the persona sheet, or write one of its fields; `|/` begins a new line."""
    field, colon, words = text.partition(":")
    if text and not colon:
        raise InputError(f"Usage: @memory/persona {npc.key} = <field>: <text>")
    if colon:
        written = {"field": field.strip().lower(), "text": words.strip().replace("|/", "\n")}
        yield command.carry_out(TABLE["persona"], npc, written)
        return
    lines = [heading(f"The persona sheet of {npc.key}", "what it answers about itself from")]
    for each in persona.sheet_of(npc):
        lines.append(f"|w{each.field}|n {dim(each.about, indent=0)}")
        lines.append(prose(each.text or "-", indent=2, limit=PROMPT_LIMIT))
    command.page(*lines)


@own_way(OWN)
def _teach(command: OperationCommand, npc: Any, text: str) -> defer.Deferred:
    """Read a text of several lines: `|/` begins a new one."""
    return command.carry_out(TABLE["teach"], npc, {"text": text.replace("|/", "\n")})


LINES_OFFERED = 3  # behind an edited fact, the newest
_EDIT_USAGE = "<new text>, or importance <1-10>."


@own_way(OWN)
def _edit(command: OperationCommand, npc: Any, text: str) -> Steps:
    """Change the text or the importance of one memory."""
    memory_id, _, change = text.partition(" ")
    usage = f"Usage: @memory/edit {npc.key} = {memory_id} {_EDIT_USAGE}"
    if not change.strip():
        raise InputError(usage)
    changes = _edited_fields(change.strip(), usage)
    memory = yield edit.edit(npc, command.caller, memory_id, **changes)
    command.tell_done(TABLE["edit"], npc, memory, f"{operations.named(npc, memory)} is changed.")
    if "content" in changes and memory.record == "fact":
        lines = filter(None, map(npc.memory.journal.get, memory.journal_ids[-LINES_OFFERED:]))
        for line in lines:
            command.caller.msg(
                hanging(f"It is told in place of entry |y{line.id}|n: ", line.with_speaker())
                + f"\n|xTo correct that too: @memory/edit {safe(npc.key)} = {line.id} <new text>|n"
            )


def _edited_fields(change: str, usage: str = "") -> dict[str, Any]:
    """Parse what follows the id: a field and its value, or the new text.

    >>> _edited_fields("importance 8")
    {'importance': 8}
    """
    field, value = [*change.split(None, 1), ""][:2]
    if field.lower() != "importance":
        return {"content": change}
    if not re.fullmatch(r"-?\d{1,4}", value):
        shown = shortened(value, QUOTED)
        raise InputError(f"Importance is a whole number from 1 to 10, not '{shown}'. {usage}")
    return {"importance": int(value)}


# --- forgetting -----------------------------------------------------------------------------------

_WITH_ALL = re.compile(r"(\S+)\s+(?:and\s+)?all(?:\s+from\s+it)?", re.IGNORECASE)


@own_way(OWN)
def _forget(command: OperationCommand, npc: Any, text: str) -> defer.Deferred:
    """Read an id, an id with `all` that was derived from it, or `about` a person to be erased."""
    if about := _ABOUT.fullmatch(text):
        return command.carry_out(TABLE["erase"], npc, {"person": about[1]})
    found = _WITH_ALL.fullmatch(text)
    which = {"memory_id": found[1], "cascade": True} if found else {"memory_id": text}
    return command.carry_out(TABLE["forget"], npc, which)


# --- players' requests to be forgotten ------------------------------------------------------------


_DROP = re.compile(r"drop\s+(\d{1,4})", re.IGNORECASE)


@own_way(OWN)
def _requests(command: OperationCommand, text: str) -> Steps:
    """List the players who asked to be forgotten, or drop what one of them asked for."""
    found: list[requests.Asked] = yield requests.by_player(command.caller)
    if text:
        _drop_requests(command, found, text)
        return
    rows = [
        (n, each.name, ", ".join(f"{x.name} (#{x.npc})" for x in each.npcs), minute(each.since))
        for n, each in enumerate(found, start=1)
    ]
    command.listing(
        "|wPlayers who asked to be forgotten|n",
        [table(("no.", "player", "npcs", "since"), rows, right=(0,))] if rows else [],
        "No player has asked to be forgotten.",
        after=[
            f"To grant one: @memory/forget #{each.npcs[0].npc} = about {safe(each.identity)}"
            for each in found[:1]
        ]
        + ["To drop one: @memory/requests = drop <number>"],
    )


def _drop_requests(command: OperationCommand, found: list[requests.Asked], text: str) -> None:
    typed = _DROP.fullmatch(text)
    if not typed:
        raise InputError("Usage: @memory/requests [= drop <number>]. See help @memory.")
    if not 1 <= int(typed[1]) <= len(found):
        raise requests.UnknownRequest(f"There is no request {typed[1]}; {len(found)} waiting.")
    asked = found[int(typed[1]) - 1]
    if not asked.may_erase:
        raise InputError("You need the permission Admin to drop a request.")
    npcs = [each for each in asked.npcs if each.may_erase]
    requests.drop(command.caller, asked.identity, [each.npc for each in npcs])
    names = safe(", ".join(each.name for each in npcs))
    command.tell(f"Dropped: {safe(asked.name)} is still known to {names}.")


# --- undo -----------------------------------------------------------------------------------------


@own_way(OWN)
def _undo(command: OperationCommand, npc: Any, text: str) -> Any:
    """Take back the last change, or drop what is kept for that."""
    if not text:
        return command.carry_out(TABLE["undo"], npc, {})
    if text.lower() != "clear":
        raise InputError(
            f"@memory/undo {npc.key} undoes the last change; @memory/undo {npc.key} = clear "
            "deletes what is kept for that."
        )
    count = undo_log.clear(npc)
    audit.record(command.caller, "clear what could be undone", npc)
    return command.tell(f"{plural(count, 'change')} of {safe(npc.key)} can no longer be undone.")


# --- pausing --------------------------------------------------------------------------------------


def _pause_all(command: OperationCommand, on: bool) -> None:
    """Pause or resume every NPC, whatever its locks say."""
    if not access.may(command.caller, None, "erase"):
        verb = "pause" if on else "resume"
        raise InputError(f"You need the permission Admin to {verb} all NPCs.")
    changed = edit.pause_all(command.caller, on)
    if on:
        command.tell(
            f"All NPCs are {'' if changed else 'already '}paused: none hears, learns or sleeps. "
            "To resume: @memory/resume all"
        )
    elif changed:
        command.tell("All NPCs hear and learn again, except those paused individually.")
    else:
        command.tell("They were not paused.")


# --- files --------------------------------------------------------------------------------------


_FILE_NAME = re.compile(r"\w[\w. -]{0,80}")


@own_way(OWN)
def _export(command: OperationCommand, npc: Any, file_name: str) -> Steps:
    """Write the memory of an NPC to a file; only an Admin may replace one."""
    path = _path(file_name or archive.file_name(npc))
    exists = yield local_job(path.exists)
    if exists and not access.may(command.caller, None, "erase"):
        raise InputError(
            f"The file {path.name} exists already, and replacing it takes the permission Admin. "
            f"Use another name: @memory/export {npc.key} = <file name>"
        )
    command.tell(f"Exporting the memory of {safe(npc.key)} ...")
    done = yield TABLE["export"].run(npc, command.caller, path=path)
    command.tell_done(TABLE["export"], npc, done)


@own_way(OWN)
def _import(command: OperationCommand, npc: Any, file_name: str) -> Steps:
    """Make an exported file the memory of an NPC; only an Admin may replace a memory."""
    path = _path(file_name)
    header = yield local_job(archive_format.header_of, path)
    archive.check_access(command.caller, header)
    replace = yield archive.would_replace(npc)
    if replace:
        if not access.may(command.caller, npc, "erase"):
            raise InputError(
                f"{npc.key} has memories already, and replacing them takes the permission Admin. "
                "Import the file into an NPC without memories instead."
            )
        there = f"{safe(npc.key)} has memories already, which would be lost."
        yield command.confirm(f"{there} Replace them by {safe(path.name)}?")
    command.tell(f"Importing {safe(path.name)} into the memory of {safe(npc.key)} ...")
    try:
        done = yield TABLE["import"].run(npc, command.caller, path=path, replace=replace)
    except archive.NotEmpty:
        raise InputError(
            f"{npc.key} has heard something meanwhile. Import the file again to be asked."
        ) from None
    command.tell_done(TABLE["import"], npc, done)


def _path(name: str) -> Path:
    """A file in the folder of exports."""
    folder = conf.directory() / archive.FOLDER
    if not _FILE_NAME.fullmatch(name):
        raise InputError(
            "A file name consists of letters, digits, spaces and . _ - and has no folder. Files "
            f"are kept in {folder}."
        )
    return folder / (name if name.endswith(".jsonl") else f"{name}.jsonl")


# --- the command ----------------------------------------------------------------------------------


_PROSE = """
<npc> is somebody in the room, or any object's name or #dbref. An <id> is
the number of a journal entry (12) or the first digits of another memory's
id (3fa2c1d0), as lists and searches show it. A journal <search> is words,
about <name>, a kind (say, whisper, arrive ...), a day or month (UTC), before
<entry number>, or several of these, with commas between them.

Examples:
  @memory/journal mara = ferry
  @memory/journal mara = about Alice, 2026-11-20
  @memory/journal mara = whisper, before 120
  @memory/facts mara = ended ferry
  @memory/facts mara = insights
  @memory/search mara = who keeps the ferry?
  @memory/edit mara = 12 I keep the mill at Millbrook.
  @memory/forget mara = about Alice
  @memory/preview mara = Alice: Where did I hide my key?
  @memory/set mara = RECALL_TOKENS: 300
  @memory/set mara = LLM: none        - answer without a language model
  @memory/teach mara = # The ferry||/The ferry crosses at dawn. It is ...

A red |r*|n marks a secret, a |c!|n a pinned memory. You see all secrets,
also in a search. The NPC tells a listener only what that person may know;
|wpreview|n shows what that is. The parts of a score are below each result.
Weight, recency and frequency count if RECALL_PROFILE is "salience".

An added text is kept word for word. A taught text is cut into pieces, and
the new and informative ones are kept; ||/ begins a new line in it.

An NPC uses the game's settings (CONTRIB_AI_MEMORY) unless its typeclass, its
prototype or |wset|n overrides them. A copy of an NPC keeps its settings, but
not its memories.

You can undo the last ten changes of its memories. Their old texts are kept
until then; |wundo <npc> = clear|n deletes them. An erased person and a wiped
memory cannot be brought back.
"""


class CmdMemory(OperationCommand):
    __doc__ = help_text("@memory", "view and change what an NPC remembers", _PROSE)

    key = "@memory"
    table = "@memory"
    switch_options = tuple(filter(None, operations.switches(table)))
    own, views = OWN, VIEWS

    def begin(self) -> Any:
        switch = self.switch()
        if not self.args and not switch:
            return _roster(self)
        if self.args.strip().lower() == "all" and switch in ("pause", "resume"):
            return _pause_all(self, switch == "pause")
        return super().begin()
