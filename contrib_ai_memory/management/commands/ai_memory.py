"""`evennia ai_memory`: logs and texts into an NPC's memory, with the server down.

evennia ai_memory replay FILE --npc KEY [--sleep]
evennia ai_memory teach NPC FILE
"""

from __future__ import annotations

import os
from argparse import ArgumentParser
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import evennia
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from contrib_ai_memory import offload
from contrib_ai_memory.ingest import pipeline
from contrib_ai_memory.ingest.replay import BadLine, Replay, read_log
from contrib_ai_memory.store import facts
from contrib_ai_memory.store.errors import StoreError

BAD_LINES_SHOWN = 20
NIGHT_CURSORS = ("scored", "consolidated", "linked")


class Command(BaseCommand):
    """The operators' command."""

    help = "Operate the memories of NPCs from the shell, while the server is down."

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        replay = actions.add_parser("replay", help="feed a log into an NPC's memory")
        replay.add_argument("file", type=Path, help="JSON lines: id, time, session, speaker, …")
        replay.add_argument("--npc", required=True, help="key or #dbref of the NPC")
        replay.add_argument("--sleep", action="store_true", help="a night after each session")
        teach = actions.add_parser("teach", help="let an NPC learn a text")
        teach.add_argument("npc_key", metavar="npc", help="key or #dbref of the NPC")
        teach.add_argument("file", type=Path, help="Markdown or plain text, UTF-8")

    def handle(self, *args: Any, **options: Any) -> None:
        refuse_while_server_runs()
        if evennia.DefaultCharacter is None:
            evennia._init()  # the evennia program leaves that to the server
        try:
            if options["action"] == "teach":
                self._teach(options["file"], find_npc(options["npc_key"]))
            else:
                self._replay(options["file"], find_npc(options["npc"]), options["sleep"])
        except StoreError as problem:
            raise CommandError(str(problem)) from None

    def _teach(self, file: Path, npc: Any) -> None:
        text = text_of(file)
        self.stdout.write("Loading the embedding model and opening the store ...")
        facts.shared()
        with tqdm(unit=" pieces", desc=npc.key, mininterval=0.5) as bar:

            def progress(done: int, total: int) -> None:
                bar.total = total
                bar.update(done - bar.n)

            learned = offload.wait(pipeline.ingest(npc.memory, text, progress=progress))
        npc.memory.flush()
        self.stdout.write(f"{npc.key} was taught {learned.told()}.")

    def _replay(self, file: Path, npc: Any, sleep: bool) -> None:
        try:
            total = sum(1 for _ in read_log(file))
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}") from None
        self.stdout.write("Loading the embedding model and opening the store ...")
        facts.shared()
        new = known = 0
        bad: list[BadLine] = []
        with (
            Replay(npc, characters_by_name(npc)) as replay,
            tqdm(total=total, unit=" lines", desc=npc.key, mininterval=0.5) as bar,
        ):
            if npc.assistant.asleep:
                sleep_through(npc, bar)  # a night that was interrupted comes first
            session = None
            for line in read_log(file):
                bar.update()
                if isinstance(line, BadLine):
                    bad.append(line)
                    self._report(bar, line, len(bad))
                    continue
                if sleep and session not in (None, line.session):
                    end_session(replay, bar)
                session = line.session
                known += replay.knows(line)
                new += replay.feed(line)
            end_session(replay, bar, night=sleep)
        self.stdout.write(summary(npc, total, new, known, len(bad)))

    def _report(self, bar: tqdm, line: BadLine, count: int) -> None:
        if count <= BAD_LINES_SHOWN:
            bar.write(f"line {line.number} skipped: {line.problem}")
        elif count == BAD_LINES_SHOWN + 1:
            bar.write("more lines are skipped; the end tells how many")


def end_session(replay: Replay, bar: tqdm, *, night: bool = True) -> None:
    """Index and live through what is left of a session, and sleep on it."""
    mind = replay.mind
    while not offload.wait(mind.work_through(until_silent=True)):
        bar.refresh()
    mind.flush()
    if night and mind.journal.cursors.get("linked", 0) < len(mind.journal):
        sleep_through(replay.npc, bar)


def sleep_through(npc: Any, bar: tqdm) -> None:
    """A whole night, tick after tick, with its progress beside the bar."""
    script = npc.assistant
    script.fall_asleep()
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


def find_npc(name: str) -> Any:
    """The NPC with that key or #dbref.

    Raises:
        CommandError: There is none, several, or it has no memory.
    """
    from evennia.utils.search import search_object

    from contrib_ai_memory import MemoryMixin

    found = search_object(name)
    minds = [obj for obj in found if isinstance(obj, MemoryMixin)]
    if not found:
        raise CommandError(f"No object is called {name!r}.")
    if not minds:
        raise CommandError(f"{name!r} has no memory: its typeclass needs MemoryMixin.")
    if len(minds) > 1:
        which = ", ".join(f"{obj.key} ({obj.dbref})" for obj in minds)
        raise CommandError(f"{name!r} is more than one: {which}. Give the #dbref.")
    return minds[0]


def characters_by_name(npc: Any) -> dict[str, str]:
    """Name → memory identity of the game's player characters; a name that two have is left out."""
    from contrib_ai_memory.senses import MemoryMixin

    names: dict[str, list[Any]] = {}
    for character in _characters():
        if not isinstance(character, MemoryMixin):
            names.setdefault(character.key, []).append(character)
    return {name: npc.get_memory_identity(who[0]) for name, who in names.items() if len(who) == 1}


def _characters() -> Iterable[Any]:
    from evennia import DefaultCharacter

    return DefaultCharacter.objects.all_family()


def refuse_while_server_runs() -> None:
    """The server keeps open pages in memory: two writers would lose entries.

    Raises:
        CommandError: The game's server process is alive.
    """
    pid_file = Path(settings.GAME_DIR) / "server" / "server.pid"
    try:
        os.kill(int(pid_file.read_text()), 0)
    except (FileNotFoundError, ValueError, ProcessLookupError):
        return
    raise CommandError(
        "The game server is running and holds the memories. Stop it first: evennia stop"
    )
