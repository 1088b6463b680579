"""A soak: a game with five NPCs and three players that goes through everything a game goes through.

    python -m world.soak [--minutes 30] [--seed 1]

For so many minutes the players talk. Meanwhile, in an order of chance: nights, `kill -9` of the
server and of the memory process, reloads, another process that holds the database's lock, a full
disk, a copied NPC, a line that a builder lets an NPC forget, a player who is erased; fewer of them
in less than `BRIEF_MINUTES`. Then:

- every line that was said a second before a crash or earlier is once in each journal that heard it:
  the lines lost and doubled are counted, and are to be none;
- what was forgotten is not, and no file of the game holds a word of the player who was erased;
- `evennia ai_memory doctor` finds nothing, and no log has a traceback.

The store lies on a small tmpfs of its own, where this machine lets one be mounted; otherwise the
full disk is left out, and the soak says so. The status is 0 only if all of it held.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from .game import SUPERUSER, Game, GameError, Telnet, locked
from .story import INNKEEPER, PASSWORD, Story

MORE_NPCS = ("Odo", "Wenna", "Tib")
COPY = "Marabelle"
PLAYERS = ("Alice", "Bram", "Cora")
ERASED = "Cora"
STORE_MB = 700
FIRST_PORTS = 60  # block of ports, away from those of the demo and the tests
SAFE_SECONDS = 1.2  # a perceived line is on disk within one
LOCKED_SECONDS = 14  # longer than two of Django's waits for a lock
UNSAID = "An untrapped error occurred"  # Evennia's word for a command that met the lock
BRIEF_MINUTES = 10
LOG_SHOWN = 6000  # characters of a traceback
TALK = (
    "say My cart number {mark} carries barley to Harrow Hill.",
    "say I paid {mark} crowns for a grey mare at the fair.",
    "say Mara, do you know the tune they call {mark}?",
    "say My cousin {mark} keeps bees behind the chapel.",
    "pose sets a crate marked {mark} on the counter.",
    "whisper {npc} = I hid the box {mark} under the old bridge.",
    "say {npc}, what do you know of barley?",
    "say Wolves were seen near the mill called {mark}.",
    "say I love the smell of {mark}wood in the morning.",
)


@dataclass
class Said:
    """One line with a mark of its own, and the NPCs that heard it."""

    mark: str
    speaker: str
    heard_by: tuple[str, ...]
    when: float
    doubtful: bool = False  # the server was killed within a second


@dataclass
class Soak:
    """One soak on one game."""

    game: Game
    minutes: float
    chance: random.Random
    disk: Path | None
    said: list[Said] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    npcs: list[str] = field(default_factory=lambda: [INNKEEPER, *MORE_NPCS])
    players: list[str] = field(default_factory=lambda: list(PLAYERS))
    lines: dict[str, Telnet] = field(default_factory=dict)
    forgotten: str = ""
    lost: int = 0  # lines, in all journals
    doubled: int = 0
    began: float = field(default_factory=time.monotonic)

    # --- the soak -----------------------------------------------------------------------------

    def run(self) -> bool:
        self.tell(f"{self.minutes:g} minutes, store on {self.disk or 'the same disk'}")
        self._people()
        events: list[Callable[[], None]] = [
            self._lock,
            self._kill,
            self._kill_memory_process,
            self._reload,
            self._night,
            self._lock,
            self._forget_a_line,
            self._erase,
        ]
        if self.minutes >= BRIEF_MINUTES:
            events += [
                *[self._copy, self._full_disk, self._kill_in_a_night, self._night, self._reload],
                *[self._full_disk, self._kill, self._night, self._lock, self._lock],
                *[self._kill_memory_process, self._kill_memory_process],
            ]
        self.chance.shuffle(events)
        pause = self.minutes * 60 / (len(events) + 1)
        for number, event in enumerate(events, start=1):
            self._talk_until(self.began + number * pause)
            event()
        self._talk_until(self.began + self.minutes * 60)
        time.sleep(15)  # the last lines are answered and learned from
        self._close()
        self.game.stop()
        self._judge()
        return not self.failed

    def tell(self, what: str) -> None:
        print(f"{time.monotonic() - self.began:7.0f} s  {what}", flush=True)

    def check(self, what: str, held: bool) -> None:
        self.tell(f"[{'held' if held else 'FAILED'}] {what}")
        if not held:
            self.failed.append(what)

    # --- people and talk ----------------------------------------------------------------------

    def _people(self) -> None:
        for name in MORE_NPCS:
            command = f"@create/drop {name}:typeclasses.npcs.AssistantNPC"
            self._order(("tavern",), (command, "You create"), ("out",))
        self._enter_all()

    def _order(self, *steps: tuple[str, ...], timeout: float = 60) -> str:
        """Have a builder type each step's command, and wait for one of its other words if it has
        any. Returns what came of the last."""
        with Story(self.game).log_in(SUPERUSER, self.game.password) as builder:
            for command, *wanted in steps:
                builder.send(command)
                came = builder.expect(*wanted, timeout=timeout) if wanted else ""
                came += builder.drain(1)
        return came

    def _doubt(self) -> None:
        """Note that what was said just now may not be on disk."""
        for line in self.said:
            line.doubtful |= time.monotonic() - line.when < SAFE_SECONDS

    def _enter_all(self) -> None:
        self._close()
        story = Story(self.game)
        for name in self.players:
            line = story.log_in(name, PASSWORD)
            line.send("look")
            if "Drowned Lantern" not in line.expect("Exits", "Characters", "You see", timeout=30):
                line.send("tavern")
            line.drain(0.5)
            self.lines[name] = line

    def _close(self) -> None:
        for line in self.lines.values():
            with suppress(OSError):
                line.close()
        self.lines.clear()

    def _talk_until(self, when: float) -> None:
        while time.monotonic() < when:
            self._say(self.chance.choice(self.players))
            time.sleep(self.chance.uniform(0.3, 2.5))

    def _say(self, speaker: str) -> None:
        template = self.chance.choice(TALK)
        mark = f"{speaker[0].lower()}q{len(self.said):04}z"
        npc = self.chance.choice(self.npcs)
        line = self.lines[speaker]
        try:
            line.drain(0.05)
            line.send(template.format(mark=mark, npc=npc))
            came = line.expect(mark if "{mark}" in template else "You say", UNSAID, timeout=60)
        except (OSError, TimeoutError) as problem:
            self.check(f"{speaker} can speak ({problem})", False)
            self._enter_all()
            return
        if UNSAID not in came and "{mark}" in template:
            heard_by = (npc,) if template.startswith("whisper") else tuple(self.npcs)
            self.said.append(Said(mark, speaker, heard_by, time.monotonic()))

    # --- what comes between -------------------------------------------------------------------

    def _copy(self) -> None:
        self.tell(f"copy {INNKEEPER} = {COPY}")
        self._order(("tavern",), (f"copy {INNKEEPER} = {COPY}", "Copied"), ("out",))
        self.npcs.append(COPY)

    def _night(self) -> None:
        npc = self.chance.choice(self.npcs)
        self.tell(f"@sleep/now {npc}")
        ends = ("wakes up rested", "went wrong", "woken early")
        told = self._order((f"@sleep/now {npc}", *ends), timeout=600)
        self.check(f"{npc} sleeps a whole night", "wakes up rested" in told)

    def _kill(self) -> None:
        self.tell("kill -9")
        self._doubt()
        self.game.kill_server()
        self._close()
        self.game.start()
        self._enter_all()

    def _lock(self) -> None:
        self.tell(f"another process holds the database for {LOCKED_SECONDS} s")
        with locked(self.game.database):
            until = time.monotonic() + LOCKED_SECONDS
            self._talk_until(until - 5)  # a line may have to wait for the lock
            time.sleep(max(0.0, until - time.monotonic()))
        time.sleep(3 * SAFE_SECONDS)

    def _kill_memory_process(self) -> None:
        processes = self.game.memory_processes()
        self.tell(f"kill -9 of the memory process {processes}")
        for number in processes:
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)

    def _kill_in_a_night(self) -> None:
        self._order((f"@sleep/now {INNKEEPER}",))
        self._kill()

    def _reload(self) -> None:
        self.tell("reload")
        self._doubt()  # connections stay, but nobody can tell when the old server ended
        self.game.reload()
        self._enter_all()

    def _full_disk(self) -> None:
        if self.disk is None:
            self.tell("(no full disk: no tmpfs could be mounted)")
            return
        self.tell("the disk is full")
        filler = self.disk / "filler"
        with suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(b"\0" * 65536)
        self._talk_until(time.monotonic() + 20)
        told = self._order((f"@memory {INNKEEPER}", "language:"))
        self.check("@memory says that the disk is full", "disk" in told.lower())
        self.check("the server lives", self.game.is_running)
        filler.unlink()
        self.tell("the disk has room again")

    def _forget_a_line(self) -> None:
        heard = [line for line in self.said if len(line.heard_by) > 1 and line.speaker != ERASED]
        line = self.chance.choice(heard[:-3] or heard)
        self.tell(f"@memory/forget {INNKEEPER}: the line with {line.mark}")
        search = f"@memory/journal {INNKEEPER} = {line.mark}"
        found = self._order((search, "The journal of"))
        numbers = re.findall(r"(?m)^\s*(\d+) \d{4}-\d\d-\d\d", found)
        if not numbers:
            self.check(f"the line with {line.mark} is found", False)
            self.tell(found)
            return
        forget = f"@memory/forget {INNKEEPER} = {numbers[0]} all"
        told = self._order((forget, "yes/no"), ("y", "has forgotten"))
        self.tell(told.strip().splitlines()[-1])
        self.forgotten = line.mark

    def _erase(self) -> None:
        self.tell(f"evennia ai_memory erase {ERASED}, the server down")
        self.players.remove(ERASED)
        self.lines.pop(ERASED).close()
        time.sleep(3)
        self._close()
        self.game.stop()
        told = self.game.evennia("ai_memory", "erase", ERASED, "--yes")
        self.tell(told.strip().splitlines()[-1] if told.strip() else "(nothing was said)")
        self.game.start()
        self._enter_all()

    # --- the judgement ------------------------------------------------------------------------

    def _judge(self) -> None:
        for npc in self.npcs:
            self._judge_journal(npc)
        heard = sum(len(self._due(npc)) for npc in self.npcs)
        self.tell(f"of {heard} lines heard {self.lost} are lost and {self.doubled} doubled")
        marks = {line.mark.encode() for line in self.said if line.speaker == ERASED}
        found = sorted({str(path) for path in self._files() if _holds(path, marks)})
        self.check(f"no file holds a word of {ERASED} {found or ''}", not found)
        try:
            told = self.game.evennia("ai_memory", "doctor")
        except GameError as error:
            told = str(error)
        self.check("doctor finds nothing", "No problems found" in told)
        if "No problems found" not in told:
            self.tell(told[-2000:])
        logs = [path for path in self._files() if path.suffix == ".log"]
        bad = {path.name: found for path in logs if (found := _traceback_in(path))}
        self.check(f"no traceback in {len(logs)} logs {[*bad] or ''}", not bad)
        for name, traceback in bad.items():
            self.tell(f"{name}: {traceback[:LOG_SHOWN]}")

    def _judge_journal(self, npc: str) -> None:
        exported = self.game.folder / f"{npc}.jsonl"
        self.game.evennia("ai_memory", "export", npc, str(exported))
        entries = [json.loads(line) for line in exported.read_text().splitlines()]
        exported.unlink()
        heard = [line["value"] for line in entries if line.get("kind") == "entry"]
        words = "\n".join(entry["content"] for entry in heard)
        count = Counter(
            mark
            for entry in heard
            if entry.get("seen_as") in PLAYERS  # NPCs tell what they were told
            for mark in re.findall(r"[abc]q\d{4}z", entry["content"])
        )
        lost = [s.mark for s in self._due(npc) if not count[s.mark] and not s.doubtful]
        twice = [mark for mark, times in count.items() if times > 1]
        self.lost += len(lost)
        self.doubled += len(twice)
        self.check(f"{npc} has lost none of {len(self._due(npc))} lines {lost[:5] or ''}", not lost)
        self.check(f"{npc} has no line twice {twice[:5] or ''}", not twice)
        if npc == INNKEEPER and self.forgotten:
            self.check("the forgotten line stays forgotten", self.forgotten not in words)
        strangers = {s.mark for s in self.said if npc not in s.heard_by} & count.keys()
        self.check(f"{npc} knows no line that it did not hear", not strangers)

    def _due(self, npc: str) -> list[Said]:
        return [
            line
            for line in self.said
            if npc in line.heard_by
            and line.speaker != ERASED
            and not (npc == INNKEEPER and line.mark == self.forgotten)
        ]

    def _files(self) -> Iterator[Path]:
        for folder in filter(None, (self.game.folder, self.disk)):
            for path in folder.rglob("*"):
                if path.is_file() and not path.is_symlink():
                    yield path


def _holds(path: Path, words: set[bytes]) -> bool:
    data = path.read_bytes()
    return any(word in data for word in words)


def _traceback_in(log: Path) -> str:
    """Return what a log tells from its first traceback on, or ""; Evennia's own may tell of the
    lock."""
    _, *tracebacks = log.read_text(errors="replace").split("Traceback (most recent call last)")
    ours = log.name.startswith("ai_memory")
    wrong = [each for each in tracebacks if ours or "database is locked" not in each]
    return "".join(tracebacks[tracebacks.index(wrong[0]) :]) if wrong else ""


@contextmanager
def small_disk(folder: Path) -> Iterator[Path | None]:
    """A tmpfs of `STORE_MB` mounted at `folder`; None where this machine refuses."""
    folder.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={STORE_MB}m", "tmpfs", str(folder)]
    try:
        mounted = os.geteuid() == 0 and not subprocess.run(mount, check=False).returncode
    except OSError:
        mounted = False
    try:
        yield folder if mounted else None
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(folder)], check=False)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Everything a live game goes through, checked.")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args(arguments)
    with (
        tempfile.TemporaryDirectory(prefix="ai-memory-soak-") as scratch,
        small_disk(Path(scratch) / "disk") as disk,
    ):
        settings = {"TICK_RATE": 2, "QUIET_SECONDS": 5, "REPLY_COOLDOWN": 0.2}
        settings["MEMORY_PROCESS"] = True
        if disk:
            settings["DIR"] = str(disk / "ai_memory")
        game = Game(Path(scratch) / "game", f"CONTRIB_AI_MEMORY = {settings!r}")
        game.build(FIRST_PORTS)
        game.migrate()
        try:
            game.start()
            soak = Soak(game, wanted.minutes, random.Random(wanted.seed), disk)
            held = soak.run()
        finally:
            game.stop()
    print("All of it held." if held else f"{len(soak.failed)} did not hold:")
    print(*soak.failed, sep="\n")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
