"""The table of operations: what staff can do to a memory, each described once.

A row names a function of `admin`: its signature says what the operation takes and gives, the first
paragraph of its docstring what it does. The switches of @memory and @sleep with their help, the
API's endpoints with their schema, and the pages' buttons and forms are made from `TABLE`. Reactor
thread.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from inspect import Parameter, signature
from typing import Any, get_args, get_origin, get_type_hints

from twisted.internet import defer

from ..records import MemoryRecord
from ..store.links import link_id
from ..store.pause import paused
from ..text.sanitising import oneline
from . import (
    archive,
    audit,
    edit,
    erase,
    forget,
    ids,
    inspect,
    persona,
    prompt_preview,
    requests,
    undo_log,
)
from .access import Action
from .arguments import Argument, File, Person

UNDO = "@memory/undo"
QUOTED = 60  # characters of a memory within a question


@dataclass(frozen=True, slots=True)
class Operation:
    """What staff can do to a memory."""

    # called with the NPC unless it is of the whole game, who does it if it takes `who`, and the
    # arguments by name; gives a record, or a Deferred of one
    function: Callable[..., Any]
    access: Action
    # the command, its switch, and what is typed after `=`, in brackets if it may be left out:
    # "@memory/pin <id>"; "" without one
    switch: str = ""
    api: str = ""  # method, URL below that of the NPC with arguments in braces, status; or ""
    label: str = ""  # of its button or form; "" without a page
    more_help: tuple[tuple[str, str], ...] = ()  # other usages, with their help
    heavy: bool = False  # has the lower rate limit of what works through a whole memory
    slow: bool = False  # may take up to a minute
    page: str = ""  # the name of its page in the URL, if that is not its own
    # in place of one: page, label, arguments
    buttons: tuple[tuple[str, str, Mapping[str, Any]], ...] = ()
    # whether it is offered now: called with the NPC, of a memory with its `Shown`
    shown: Callable[[Any], bool] = lambda npc: True
    # what is asked before it is done: called with the NPC and the arguments, may return a Deferred
    question: Callable[..., Any] | None = None
    asks: bool = True  # whether a command waits for the answer; a page always does
    told: str | Callable[[Any, Any], str] = "Done."  # a text, or called, with {npc} and {result}
    inverse: str = ""  # the switch that takes it back
    reversible: Callable[[Any], bool] = lambda result: True  # called with the result
    name: str = ""  # its word everywhere, where that is not the function's name

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", self.function.__name__.strip("_"))

    @property
    def about(self) -> str:
        """What it does. The first sentence is the help of the switch."""
        return " ".join((self.function.__doc__ or "").partition("\n\n")[0].split())

    @property
    def of_npc(self) -> bool:
        """Whether it is about one NPC."""
        return "npc" in _parameters(self.function)[:1]

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """What it takes, in order."""
        return _arguments(self.function)

    @property
    def returns(self) -> Any:
        """The class of its record: `list[…]` and `Page[…]` for several."""
        hint = get_type_hints(self.function)["return"]
        later = get_origin(hint) in (defer.Deferred, Generator)
        return get_args(hint)[-1] if later else hint

    @property
    def of_memory(self) -> bool:
        """Whether it is about one memory."""
        return any(each.name == "memory_id" for each in self.arguments)

    @property
    def usage(self) -> str:
        """What is typed after `=`; "" if nothing is."""
        return self.switch.partition(" ")[2]

    @property
    def route(self) -> tuple[str, str, int]:
        """HTTP method, URL and status of its success."""
        method, url, *code = self.api.split(" ")
        return method, url, int(code[0]) if code else 200

    @property
    def path(self) -> str:
        """The name of its page in the URL."""
        return self.page or self.name

    @property
    def has_form(self) -> bool:
        """Whether its page asks for arguments."""
        return bool(self.label) and any(each.label for each in self.arguments)

    @property
    def all_buttons(self) -> tuple[tuple[str, str, Mapping[str, Any]], ...]:
        """The buttons that run it after a confirmation: page, label, arguments."""
        if self.buttons or self.has_form or not self.label:
            return self.buttons
        return ((self.path, self.label, {}),)

    def run(self, npc: Any, who: Any, /, **arguments: Any) -> defer.Deferred:
        """Run it, as a Deferred of its record."""
        given = {"npc": npc} if self.of_npc else {}
        if "who" in _parameters(self.function)[:2]:
            given["who"] = who
        return defer.maybeDeferred(self.function, **given, **arguments)

    def done(self, npc: Any, result: Any) -> str:
        """Tell what was done."""
        if callable(self.told):
            return self.told(npc, result)
        return self.told.format(npc=npc.key, result=result)

    def reversal(self, npc: Any, result: Any) -> str:
        """Tell what to type to take it back; "" where that is not possible."""
        if not self.inverse or not self.reversible(result):
            return ""
        return f"To {self.inverse.partition('/')[2]}: {self.inverse} {npc.key}"


@cache
def _parameters(function: Callable[..., Any]) -> list[str]:
    return list(signature(function).parameters)


@cache
def _arguments(function: Callable[..., Any]) -> tuple[Argument, ...]:
    hints, found = get_type_hints(function, include_extras=True), []
    for place, (name, each) in enumerate(signature(function).parameters.items()):
        if (place == 0 and name in ("npc", "who")) or (place == 1 and name == "who"):
            continue
        if each.kind is not Parameter.VAR_KEYWORD:
            spec, kind = Argument(), hints[name]
            while inner := get_args(kind):  # Annotated, or a type or None
                spec = next((part for part in inner if isinstance(part, Argument)), spec)
                kind = inner[0]
            found.append(replace(spec, name=name, type=kind, default=each.default))
    return tuple(found)


def switches(command: str) -> dict[str, Operation]:
    """Return the operations of a command, by switch; "" is the command without one."""
    typed = ((each.switch.partition(" ")[0].partition("/"), each) for each in TABLE.values())
    return {switch: each for (key, _slash, switch), each in typed if key == command}


# --- what no other module of `admin` does ---------------------------------------------------------


def _export(npc: Any, who: Any, path: File, **options: Any) -> defer.Deferred[archive.Archived]:
    """Save it to a file. Journal, facts, people, links. The file contains secrets in plain text."""
    audit.record(who, "export", npc)
    return archive.export(npc, path, **options)


def _import(npc: Any, who: Any, path: File, **options: Any) -> defer.Deferred[archive.Archived]:
    """Load an exported file. A file that was exported from an NPC, of this game or another, becomes
    the memory of this one. All of it is checked before anything is changed."""
    audit.record(who, "import", npc)
    return archive.import_(npc, path, **options)


@defer.inlineCallbacks
def _erase(npc: Any, who: Any, person: Person) -> Generator[Any, Any, erase.Erased]:
    """Erase a person from its memory for good. What they said and what was said to them, what was
    derived from it, their profile, and what other NPCs heard of it. What others said stays. This
    cannot be undone. Requires Admin. `at_next_start`: the next reload clears traces in the free
    space of the SQLite database."""
    identity = ids.person(npc, person)
    name = ids.name_of(npc, identity)
    audit.record(who, "erase a person", npc, identity)
    erased = yield erase.erase_person(npc, identity)
    return replace(erased, name=name)


def _wipe(npc: Any, who: Any) -> defer.Deferred[erase.Erased]:
    """Erase all of it (Admin)."""
    audit.record(who, "wipe", npc)
    return erase.wipe(npc)


# --- what is asked before, and told afterwards ----------------------------------------------------


def named(npc: Any, memory: MemoryRecord) -> str:
    """Name a memory in a sentence: "Entry 12 of Mara"."""
    short = ids.short(memory)
    return f"{'Entry' if short == link_id(memory) else 'Memory'} {short} of {npc.key}"


def _tagged(how: str, npc: Any, memory: MemoryRecord) -> str:
    unchanged = "Nothing changed: " if isinstance(memory, edit.Unchanged) else ""
    return f"{unchanged}{named(npc, memory)} {how}."


def _edited(npc: Any, memory: MemoryRecord) -> str:
    lines = " The lines behind it can be corrected, too." if memory.record == "fact" else ""
    return f"{named(npc, memory)} is changed.{lines}"


def _written(npc: Any, field: persona.SheetField) -> str:
    now = "are" if field.field.endswith("s") else "is"
    how = f"{now} now: {field.text}" if field.text else f"{now} removed."
    return f"The {field.field} of {npc.key} {how}"


def _added(npc: Any, entry: Any) -> str:
    said = persona.asked_so(npc, oneline(entry.content))
    return f"{npc.key} will remember that (entry {entry.id}).\n{said}"


def _taught(npc: Any, learned: Any) -> str:
    if not (learned.memories or learned.dropped):
        return "There is nothing to learn: the text is empty."
    text = "\n".join(each.content for each in learned.memories)
    said = f"\n{persona.asked_so(npc, text)}" if text else ""
    if learned.dropped:
        said = (
            f"\nWhat was dropped says little, or is much like what {npc.key} knows. To keep it, a"
            f" new price beside an old one too: @memory/add {npc.key} = <text>{said}"
        )
    return f"{npc.key} was taught {learned.told()}.{said}"


@defer.inlineCallbacks
def _going(npc: Any, memory_id: str, cascade: bool = False) -> Generator[Any, Any, str]:
    going = yield forget.select(npc, [memory_id], cascade=cascade)
    root = going.memories[0]
    text = root.content
    quoted = text if len(text) <= QUOTED else f"{text[:QUOTED].rstrip()}…"
    return f'Let {npc.key} forget {ids.short(root)}, "{quoted}" ({going.summary()})?'


def _last_change(npc: Any) -> str:
    return f"Last change: {next((act.summary() for act in undo_log.acts(npc)), 'none')}"


def _whom(npc: Any, person: str) -> str:
    identity = ids.person(npc, person)
    return (
        f"Erase {ids.name_of(npc, identity)} ({identity}) from the memory of {npc.key}: all they "
        "said, all that was derived from it, their profile? This cannot be undone."
    )


def _everything(npc: Any) -> str:
    return (
        f"Erase the whole memory of {npc.key}: its journal, all that was derived from it, "
        f"everybody it knows? This cannot be undone. To keep a copy: @memory/export {npc.key}."
    )


def _paused(npc: Any, status: Any) -> str:
    how = "paused and neither hears nor learns" if status.changed else "already paused"
    return f"{npc.key} is {how}."


def _resumed(npc: Any, status: Any) -> str:
    if paused(npc):
        return f"All NPCs are paused, {npc.key} too. To resume: @memory/resume all"
    return f"{npc.key} {'hears and learns again' if status.changed else 'was not paused'}."


def _woken(npc: Any, status: inspect.Status) -> str:
    if status.night:
        return f"{npc.key} is {status.state} and will wake as soon as that is safe."
    return f"{npc.key} wakes up."


def _asleep(npc: Any) -> bool:
    return inspect.status(npc).night is not None


# --- the table ------------------------------------------------------------------------------------

_ROWS = (
    Operation(inspect.visible, "look", api="GET npcs/", name="npcs"),
    Operation(inspect.changes, "look", api="GET log/", name="log"),
    Operation(
        requests.by_player,
        "look",
        "@memory/requests [drop <number>]",
        "GET requests/",
        name="requests",
    ),
    Operation(inspect.overview, "look", "@memory/", "GET "),
    Operation(inspect.journal, "look", "@memory/journal [<search>]", "GET journal/"),
    Operation(
        inspect.memories,
        "look",
        "@memory/facts [<search>]",
        "GET memories/",
        more_help=(
            ("<kind> [<words>]", "experiences, lessons (texts it was taught), summaries, insights"),
            ("ended [<kind>] [<words>]", "those that no longer hold"),
        ),
        name="facts",
    ),
    Operation(inspect.search, "look", "@memory/search <question>", "GET search/", heavy=True),
    Operation(inspect.show, "look", "@memory/show <id>", "GET memories/{memory_id}/"),
    Operation(
        inspect.trace, "look", "@memory/trace <id>", "GET memories/{memory_id}/trace/", heavy=True
    ),
    Operation(inspect.people, "look", "@memory/profile [<name>]", "GET people/"),
    Operation(inspect.person, "look", api="GET people/{person}/"),
    Operation(inspect.agenda, "look", "@memory/agenda", "GET agenda/"),
    Operation(inspect.mood, "look", "@memory/mood"),
    Operation(
        prompt_preview.preview,
        "look",
        "@memory/preview <player>: <line>",
        "POST preview/",
        heavy=True,
    ),
    Operation(inspect.why, "look", "@memory/why"),
    Operation(undo_log.acts, "look", "@memory/history", "GET acts/"),
    Operation(inspect.stats, "look", "@memory/stats", "GET stats/", heavy=True),
    Operation(inspect.cost, "look", "@memory/cost", "GET cost/"),
    Operation(inspect.settings, "look", "@memory/settings", "GET settings/"),
    Operation(inspect.graph, "look", api="GET links/", heavy=True),
    Operation(
        edit.add,
        "edit",
        "@memory/add <text>",
        "POST memories/ 201",
        "Add a memory",
        told=_added,
        inverse=UNDO,
    ),
    Operation(
        edit.teach,
        "edit",
        "@memory/teach <text>",
        "POST texts/",
        "Teach a text",
        heavy=True,
        slow=True,
        told=_taught,
        inverse=UNDO,
        reversible=lambda learned: learned.new > 0,
    ),
    Operation(persona.sheet_of, "look", api="GET persona/", name="sheet"),
    Operation(
        persona.write,
        "edit",
        "@memory/persona [<field>: <text>]",
        "PUT persona/",
        "Persona sheet",
        more_help=(("<field>:", "remove it; " + ", ".join(persona.ABOUT)),),
        told=_written,
        name="persona",
    ),
    Operation(
        edit.edit,
        "edit",
        "@memory/edit <id> <new text>",
        "PATCH memories/{memory_id}/",
        "Edit",
        more_help=(("<id> importance 8", "from 1 to 10"),),
        told=_edited,
        inverse=UNDO,
    ),
    Operation(
        forget.forget,
        "edit",
        "@memory/forget <id>",
        "DELETE memories/{memory_id}/",
        more_help=(
            ("<id> all", "and everything derived from it"),
            ("about <player>", "erase a person (Admin)"),
        ),
        buttons=(
            ("forget", "Forget", {}),
            ("forget-all", "Forget with everything derived from it", {"cascade": True}),
        ),
        question=_going,
        told="{npc} has forgotten {result.told}",
        inverse=UNDO,
        reversible=lambda gone: gone.undoable,
    ),
    *(
        Operation(
            function,
            "edit",
            f"@memory/{function.__name__} <id>",
            f"POST memories/{{memory_id}}/{function.__name__}/",
            function.__name__.title(),
            shown=shown,
            told=partial(_tagged, how),
            inverse=UNDO,
            reversible=lambda memory: not isinstance(memory, edit.Unchanged),
        )
        for function, how, shown in (
            (edit.pin, "is now pinned", lambda memory: not memory.pinned),
            (edit.unpin, "is no longer pinned", lambda memory: memory.pinned and not memory.locked),
            (edit.lock, "is now locked", lambda memory: not memory.locked),
            (edit.unlock, "is no longer locked, but still pinned", lambda memory: memory.locked),
        )
    ),
    Operation(
        edit.undo,
        "edit",
        "@memory/undo [clear]",
        "POST undo/",
        "Undo last change",
        shown=lambda npc: bool(undo_log.acts(npc)),
        question=_last_change,
        asks=False,
        told=lambda npc, act: f"Undone for {npc.key}: {act.summary()}",
    ),
    Operation(
        edit.set_setting,
        "edit",
        "@memory/set <name>: <value>",
        more_help=(("<name>:", "go back to the inherited value"),),
        told="{npc}: {result}",
        name="set",
    ),
    Operation(
        edit.sleep,
        "edit",
        "@sleep/",
        "POST nights/ 202",
        buttons=(
            ("sleep", "Send to sleep", {}),
            ("sleep-now", "Run a full night now", {"at_once": True}),
        ),
        shown=lambda npc: not _asleep(npc),
        told="{npc} falls asleep.",
        inverse="@sleep/wake",
    ),
    Operation(edit.whole_night, "edit", "@sleep/now", name="now"),
    Operation(
        edit.wake, "edit", "@sleep/wake", "POST wake/ 202", "Wake up", shown=_asleep, told=_woken
    ),
    Operation(inspect.status, "look", "@sleep/status", "GET status/"),
    Operation(inspect.nights, "look", "@sleep/log", "GET nights/"),
    Operation(edit.schedule_of, "look", api="GET schedule/", name="schedule"),
    Operation(
        edit.set_schedule,
        "edit",
        "@sleep/schedule [<hour> <hours> [game]]",
        "PUT schedule/",
        "Sleep schedule",
        more_help=(("off", "no nights by itself"), ("default", "that of its settings")),
        page="schedule",
        told=lambda npc, plan: plan.sentence,
    ),
    Operation(
        edit.pause,
        "edit",
        "@memory/pause",
        "POST pause/",
        "Pause memory",
        shown=lambda npc: not paused(npc),
        told=_paused,
        inverse="@memory/resume",
    ),
    Operation(
        edit.resume,
        "edit",
        "@memory/resume",
        "POST resume/",
        "Resume memory",
        page="continue",
        shown=lambda npc: bool(paused(npc)),
        told=_resumed,
    ),
    Operation(
        _export,
        "look",
        "@memory/export [<file name>]",
        label="Export",
        told="Exported {npc}: {result.counts}. The file contains secrets in plain text: "
        "{result.path}",
    ),
    Operation(
        _import,
        "edit",
        "@memory/import <file name>",
        label="Import",
        told="{npc} remembers {result.told}",
    ),
    Operation(
        _erase,
        "erase",
        api="DELETE people/{person}/",
        slow=True,
        question=_whom,
        told="{npc} no longer knows {result.name}. Erased: {result.told}",
    ),
    Operation(
        _wipe,
        "erase",
        "@memory/wipe",
        question=_everything,
        told="{npc} remembers nothing now. Erased: {result.told}",
    ),
)
TABLE = {each.name: each for each in _ROWS}
