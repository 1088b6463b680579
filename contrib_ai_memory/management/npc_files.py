"""`teach`, `replay`, `export`, `import`: what an NPC remembers, from a file or to one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from .. import offload
from ..admin import archive
from ..ingest import pipeline
from ..ingest.replay import BadLine, Person, Replay, read_log
from ..text.plural import plural
from .console import ProgressBars, find_npc, open_store, writable

BAD_LINES_SHOWN = 20
NIGHT_CURSORS = ("scored", "consolidated", "linked")


def teach(command: BaseCommand, options: dict[str, Any]) -> None:
    """Let an NPC learn a text file."""
    npc = find_npc(options["npc_key"])
    text = text_of(options["file"])
    open_store(command)
    with ProgressBars() as bars:
        learned = offload.wait(
            pipeline.ingest(
                npc.memory, text, progress=lambda done, total: bars(npc.key, done, total)
            )
        )
    npc.memory.flush()
    command.stdout.write(f"{npc.key} was taught {learned.told()}.")


def text_of(file: Path) -> str:
    """Read a text file.

    Raises:
        CommandError: It cannot be read, is not text, or is empty.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise CommandError(
            f"{file} is not UTF-8 text ({error.reason} at byte {error.start}). Only Markdown and "
            "plain text can be taught: convert it first."
        ) from None
    if "\0" in text:
        raise CommandError(f"{file} is not text: it contains binary data.")
    if not text.strip():
        raise CommandError(f"{file} is empty: there is nothing to learn.")
    return text


# --- archives -------------------------------------------------------------------------------------


def export(command: BaseCommand, options: dict[str, Any]) -> None:
    """Write the memory of an NPC to a file."""
    npc, file = find_npc(options["npc_key"]), writable(options["file"])
    open_store(command)
    try:
        with ProgressBars() as bars:
            done = offload.wait(archive.export(npc, file, bars))
    except OSError as error:
        raise CommandError(f"{file} cannot be written: {error.strerror}") from None
    command.stdout.write(
        f"The memory of {npc.key} is in {done.path}: {_counts(done)}. It contains secrets in "
        "plain text: keep it safe."
    )


def import_(command: BaseCommand, options: dict[str, Any]) -> None:
    """Make an exported file the memory of an NPC."""
    npc = find_npc(options["npc"])
    open_store(command)
    try:
        with ProgressBars() as bars:
            work = archive.import_(npc, options["file"], replace=options["replace"], progress=bars)
            done = offload.wait(work)
    except (archive.BadArchive, archive.NotEmpty) as problem:
        raise CommandError(str(problem)) from None
    copied = (
        " It is a copy with an id of its own, as another NPC has the exported memory."
        if done.copied
        else ""
    )
    command.stdout.write(f"{npc.key} remembers {_counts(done)}.{copied}")


def _counts(done: archive.Exported | archive.Imported) -> str:
    entries = plural(done.entries, "journal entry", "journal entries")
    return f"{entries}, {plural(done.memories, 'memory', 'memories')}"


# --- logs -----------------------------------------------------------------------------------------


def replay(command: BaseCommand, options: dict[str, Any]) -> None:
    """Let an NPC live through a log, on request with a night after each session."""
    npc, file, sleep = find_npc(options["npc"]), options["file"], options["sleep"]
    try:
        total = sum(not isinstance(line, Person) for line in read_log(file))
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}") from None
    open_store(command)
    new = known = bad = 0
    with (
        Replay(npc, characters_by_name(npc), names_of_npcs()) as replay,
        tqdm(total=total, unit=" lines", desc=npc.key, mininterval=0.5) as bar,
    ):
        if npc.assistant.asleep:
            sleep_through(npc, bar)  # an interrupted night comes first
        session = None
        for line in read_log(file):
            if isinstance(line, Person):
                replay.introduce(line)
                continue
            bar.update()
            if isinstance(line, BadLine):
                bad += 1
                if bad <= BAD_LINES_SHOWN:
                    bar.write(f"line {line.number} skipped: {line.problem}")
                elif bad == BAD_LINES_SHOWN + 1:
                    bar.write("More lines are skipped; they are counted at the end.")
                continue
            if sleep and session not in (None, line.session):
                end_session(replay, bar)
            session = line.session
            known += replay.knows(line)
            new += replay.feed(line)
        end_session(replay, bar, night=sleep)
    counts = offload.wait(npc.memory.counts())
    command.stdout.write(
        f"{total} lines: {new} new, {known} already known, {bad} skipped, "
        f"{total - new - known - bad} not heard by {npc.key}. {npc.key} has "
        f"{len(npc.memory.journal)} journal entries, {counts['experience']} experiences, "
        f"{counts['fact']} facts, {npc.memory.links.count} links."
    )


def end_session(replay: Replay, bar: tqdm, *, night: bool = True) -> None:
    """Process the rest of a session, then sleep unless a night has covered it already."""
    memory = replay.memory
    while not offload.wait(memory.work_through(until_silent=True)):
        bar.refresh()
    memory.flush()
    if night and memory.journal.cursors.get("linked", 0) < len(memory.journal):
        sleep_through(replay.npc, bar)


def sleep_through(npc: Any, bar: tqdm) -> None:
    """Run a whole night tick by tick, with its progress beside the bar."""
    script = npc.assistant
    script.sleep.begin()
    while script.asleep:
        script.ndb.last_sleep_tick = None
        offload.wait(script.at_tick())
        cursors = npc.memory.journal.cursors
        done = sum(cursors.get(name, 0) for name in NIGHT_CURSORS)
        share = done / (len(NIGHT_CURSORS) * max(len(npc.memory.journal), 1))
        bar.set_postfix_str(
            f"asleep, {script.db.sleep_phase or 'rested'}: {share:.0%} of the night"
        )
    bar.set_postfix_str("")


def characters_by_name(npc: Any) -> dict[str, str]:
    """Memory identities of the game's player characters by name; ambiguous names are left out."""
    from contrib_ai_memory.npc import MemoryMixin

    names: dict[str, list[Any]] = {}
    for character in _characters():
        if not isinstance(character, MemoryMixin):
            names.setdefault(character.key, []).append(character)
    return {name: npc.get_memory_identity(who[0]) for name, who in names.items() if len(who) == 1}


def names_of_npcs() -> frozenset[str]:
    """Names of the game's NPCs with a memory, whose words in a log are no evidence."""
    from contrib_ai_memory.npc import is_npc

    return frozenset(character.key for character in _characters() if is_npc(character))


def _characters() -> Iterable[Any]:
    from evennia import DefaultCharacter

    return DefaultCharacter.objects.all_family()
