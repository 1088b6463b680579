"""`replay` and `teach`: logs and texts into an NPC's memory."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from .. import offload
from ..ingest import pipeline
from ..ingest.replay import BadLine, Replay, read_log
from .console import find_npc, open_store

BAD_LINES_SHOWN = 20
NIGHT_CURSORS = ("scored", "consolidated", "linked")


def teach(command: BaseCommand, options: dict[str, Any]) -> None:
    """Let an NPC learn a text."""
    npc = find_npc(options["npc_key"])
    text = text_of(options["file"])
    open_store(command)
    with tqdm(unit=" pieces", desc=npc.key, mininterval=0.5) as bar:

        def progress(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        learned = offload.wait(pipeline.ingest(npc.memory, text, progress=progress))
    npc.memory.flush()
    command.stdout.write(f"{npc.key} was taught {learned.told()}.")


def replay(command: BaseCommand, options: dict[str, Any]) -> None:
    """Feed a log into an NPC's memory, with a night after each session where that is asked."""
    npc, file, sleep = find_npc(options["npc"]), options["file"], options["sleep"]
    try:
        total = sum(1 for _ in read_log(file))
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}") from None
    open_store(command)
    new = known = 0
    bad: list[BadLine] = []
    with (
        Replay(npc, characters_by_name(npc), names_of_npcs()) as replay,
        tqdm(total=total, unit=" lines", desc=npc.key, mininterval=0.5) as bar,
    ):
        if npc.assistant.asleep:
            sleep_through(npc, bar)  # a night that was interrupted comes first
        session = None
        for line in read_log(file):
            bar.update()
            if isinstance(line, BadLine):
                bad.append(line)
                _report(bar, line, len(bad))
                continue
            if sleep and session not in (None, line.session):
                end_session(replay, bar)
            session = line.session
            known += replay.knows(line)
            new += replay.feed(line)
        end_session(replay, bar, night=sleep)
    command.stdout.write(summary(npc, total, new, known, len(bad)))


def _report(bar: tqdm, line: BadLine, count: int) -> None:
    if count <= BAD_LINES_SHOWN:
        bar.write(f"line {line.number} skipped: {line.problem}")
    elif count == BAD_LINES_SHOWN + 1:
        bar.write("more lines are skipped; the end tells how many")


def end_session(replay: Replay, bar: tqdm, *, night: bool = True) -> None:
    """Index and live through what is left of a session, and sleep on it."""
    memory = replay.memory
    while not offload.wait(memory.work_through(until_silent=True)):
        bar.refresh()
    memory.flush()
    if night and memory.journal.cursors.get("linked", 0) < len(memory.journal):
        sleep_through(replay.npc, bar)


def sleep_through(npc: Any, bar: tqdm) -> None:
    """A whole night, tick after tick, with its progress beside the bar."""
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


def summary(npc: Any, total: int, new: int, known: int, bad: int) -> str:
    """What a replay did, in one line."""
    counts = offload.wait(npc.memory.counts())
    return (
        f"{total} lines: {new} new, {known} known already, {bad} skipped, "
        f"{total - new - known - bad} not for {npc.key}'s ears. {npc.key} has "
        f"{len(npc.memory.journal)} journal entries, {counts['experience']} experiences, "
        f"{counts['fact']} facts, {npc.memory.links.count} links."
    )


def text_of(file: Path) -> str:
    """The text of a file.

    Raises:
        CommandError: It cannot be read, is no text, or is empty.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise CommandError(
            f"{file} is no text in UTF-8 ({error.reason} at byte {error.start}). Only Markdown and "
            "plain text can be taught: convert it first."
        ) from None
    if "\0" in text:
        raise CommandError(f"{file} is no text: it holds binary data.")
    if not text.strip():
        raise CommandError(f"{file} is empty: there is nothing to learn.")
    return text


def characters_by_name(npc: Any) -> dict[str, str]:
    """Name → memory identity of the game's player characters; a name that two have is left out."""
    from contrib_ai_memory.npc import MemoryMixin

    names: dict[str, list[Any]] = {}
    for character in _characters():
        if not isinstance(character, MemoryMixin):
            names.setdefault(character.key, []).append(character)
    return {name: npc.get_memory_identity(who[0]) for name, who in names.items() if len(who) == 1}


def names_of_npcs() -> frozenset[str]:
    """The names of the game's NPCs with a memory: what they say in a log proves nothing."""
    from contrib_ai_memory.npc import is_npc

    return frozenset(character.key for character in _characters() if is_npc(character))


def _characters() -> Iterable[Any]:
    from evennia import DefaultCharacter

    return DefaultCharacter.objects.all_family()
