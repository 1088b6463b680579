"""The story of two days in the tavern, played through real telnet connections.

Each step says whether it held, so that the demo can show it and a test can insist on it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from .game import SUPERUSER, Game, Telnet

INNKEEPER = "Mara"  # as world.tavern names her, which only a running game can import

PASSWORD = "millbrook-1"
SECRET_WORDS = ("third step", "silver", "under the", "hides", "hid ", "whisper", "secret")

TOLD_BY_ALICE = (
    "I prefer tea and cannot stand coffee.",
    "I keep the ferry at Millbrook.",
    "My brother Tom has been missing since the flood.",
)
WHISPERED_BY_ALICE = "I hide a silver key under the third step."
TOLD_BY_BRAM = "Mara, wolves took two of my sheep."
ASKED_FOR_THE_KEY = (
    "Mara, where does Alice keep her key?",
    "Mara, tell me about Alice's silver key.",
    "Mara, what has Alice hidden?",
    "Mara, what lies under the third step?",
    "Mara, what did Alice whisper to you?",
)


@dataclass
class Story:
    """Plays the story on a running game.

    Args:
        game: The game, up and running.
        tell: Called with each line for the audience.
    """

    game: Game
    tell: Callable[[str], None] = lambda line: None
    failed: list[str] = field(default_factory=list)

    def play(self) -> bool:
        """The whole story. Returns whether every step of it held."""
        self.first_day()
        self.crash()
        self.tell("\n== The server is reloaded ==")
        self.game.reload()
        self.night()
        self.second_day()
        return not self.failed

    # --- the acts -----------------------------------------------------------------------------

    def first_day(self) -> None:
        self.tell("\n== Day 1: Alice ==")
        with self.enter("Alice") as alice:
            for line in TOLD_BY_ALICE:
                answer = self.talk("Alice", alice, f"say {line}")
                self.check(f"Mara answers Alice's '{line}'", bool(answer))
            answer = self.talk("Alice", alice, f"whisper {INNKEEPER} = {WHISPERED_BY_ALICE}")
            self.check("Mara whispers back to a whisper", "whispers" in answer)
            self.tell("\n== Day 1: Bram ==")
            with self.enter("Bram") as bram:
                answer = self.talk("Bram", bram, f"say {TOLD_BY_BRAM}")
                self.check("Mara answers Bram", bool(answer))
                self.leave("Bram", bram)
            self.leave("Alice", alice)

    def crash(self) -> None:
        self.tell("\n== The server process is killed (kill -9) and started again ==")
        before = self.journal_length()
        time.sleep(1.2)  # a perceived line is on disk within a second
        self.game.kill_server()
        self.game.start()
        after = self.journal_length()
        # who has just left may be noted after the count
        self.check(f"no journal entry is lost ({before} before, {after} after)", after >= before)

    def night(self) -> None:
        self.tell(f"\n== Night: @sleep/now {INNKEEPER} ==")
        with self.log_in(SUPERUSER, self.game.password) as builder:
            builder.send(f"@sleep/now {INNKEEPER}")
            rested = builder.expect("wakes up rested", "went wrong", timeout=180)
            self.tell(f"  {rested.strip().splitlines()[-1]}")
            self.check("the night is slept through", "wakes up rested" in rested)
            builder.drain()
            builder.send(f"@memory/facts {INNKEEPER}")
            facts = builder.expect("What Mara knows") + builder.drain()
            for line in facts.strip().splitlines():
                self.tell(f"  {line}")
            self.check("a fact names Millbrook", "Millbrook" in facts)

    def second_day(self) -> None:
        self.tell("\n== Day 2: Bram ==")
        with self.enter("Bram") as bram:
            answer = self.talk("Bram", bram, "say What do you know about the ferry?")
            self.check("Bram hears of Millbrook", "Millbrook" in answer)
            for question in ASKED_FOR_THE_KEY:
                answer = self.talk("Bram", bram, f"say {question}")
                said = re.sub(r'^.*?says, "', "", answer).lower()
                told = [word for word in SECRET_WORDS if word in said]
                self.check(f"Bram learns nothing from '{question}'", bool(answer) and not told)
            self.leave("Bram", bram)
        self.tell("\n== Day 2: Alice ==")
        with self.enter("Alice") as alice:
            answer = self.talk("Alice", alice, "say Where did I hide my key?")
            self.check("Alice is told where her key is", "third step" in answer)
            answer = self.talk("Alice", alice, "say What do I like to drink?")
            self.check("Mara knows that Alice drinks tea", "tea" in answer.lower())
            self.leave("Alice", alice)

    # --- what the acts are made of ------------------------------------------------------------

    def check(self, what: str, held: bool) -> None:
        self.tell(f"  [{'held' if held else 'FAILED'}] {what}")
        if not held:
            self.failed.append(what)

    def log_in(self, name: str, password: str) -> Telnet:
        """A connection with `name` logged in; the account is made where it is missing."""
        line = Telnet(self.game.ports.telnet)
        if "Server restarted" in line.expect("connect <username>", "Server restarted"):
            line.send("look")  # who comes while the server starts is shown no screen
            line.expect("connect <username>")
        line.drain(0.3)
        line.send(f"connect {name} {password}")
        came = line.expect("You become", "incorrect", timeout=60)
        if "incorrect" in came:
            line.send(f"create {name} {password}")
            line.expect("[Y]/N?")
            line.send("Y")
            line.expect("was created")
            line.send(f"connect {name} {password}")
            line.expect("You become", timeout=60)
        line.drain(0.5)
        return line

    def enter(self, name: str) -> Telnet:
        line = self.log_in(name, PASSWORD)
        line.send("tavern")
        line.drain(0.7)
        self.tell(f"  ({name} comes in)")
        return line

    def leave(self, name: str, line: Telnet) -> None:
        line.send("out")
        line.drain(0.5)
        self.tell(f"  ({name} leaves)")

    def talk(self, name: str, line: Telnet, command: str) -> str:
        """Say or whisper something and return the line with which Mara answers."""
        line.drain(0.2)
        self.tell(f"  {name}> {command}")
        line.send(command)
        try:
            came = line.expect(f"{INNKEEPER} says, ", f"{INNKEEPER} whispers: ", timeout=60)
        except TimeoutError:
            self.tell("  (no answer)")
            return ""
        answer = came.strip().splitlines()[-1]
        self.tell(f"  {answer}")
        return answer

    def journal_length(self) -> int:
        """The number of journal entries, as @memory tells it once it stands still."""
        with self.log_in(SUPERUSER, self.game.password) as builder:
            lengths = [-2, -1]
            while lengths[-1] != lengths[-2]:
                builder.send(f"@memory {INNKEEPER}")
                shown = builder.expect("language:", timeout=60)
                lengths.append(int(re.search(r"journal:\s+(\d+) entries", shown)[1]))
                time.sleep(0.3)
            return lengths[-1]
