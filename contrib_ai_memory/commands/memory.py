"""@memory: look into what an NPC remembers, and add to it."""

from __future__ import annotations

from typing import Any

from ..assistant import AssistantScript
from ..ingest import pipeline
from ..llm import asking
from ..recall.mood import Mood
from ..recall.rank import CLUES
from ..records import Entry, MemoryRecord, Recalled, RecallResult
from .base import MemoryCommand, safe

JOURNAL_SHOWN = 200
FACTS_SHOWN = 200
SEARCH_SHOWN = 10
FEELINGS_SHOWN = 8
BAR_WIDTH = 20  # of a share of 1


class CmdMemory(MemoryCommand):
    """
    look into what an NPC remembers

    Usage:
      @memory <npc>                   - an overview
      @memory/journal <npc>           - what it perceived, newest last
      @memory/facts <npc>             - what it knows
      @memory/mood <npc>              - what it feels, and which experiences made it feel so
      @memory/search <npc> = <query>  - what comes to its mind, and why
      @memory/add <npc> = <text>      - give it a memory; never cleaned away
      @memory/teach <npc> = <text>    - let it learn a longer text

    <npc> is somebody here, or any object's name or #dbref.

    Examples:
      @memory mara
      @memory/search mara = who keeps the ferry?
      @memory/add mara = The cellar of the inn floods in spring.
      @memory/teach mara = # The ferry||/The ferry crosses at dawn and at dusk. It is ...

    What is added is kept as it is. What is taught is cut into pieces, of which those are kept that
    are new and say something; begin a new line with ||/. Taught again, nothing is doubled.

    A search sees everything, secrets too: what each listener would get is decided when the NPC
    answers. Under each memory stands what its score is made of: the similarity with its clues,
    and weight, recency and frequency, which count where RECALL_PROFILE is "salience".

    A mood is what the newest 20 experiences felt like, the weighty and the fresh ones most.
    """

    key = "@memory"
    switch_options = ("journal", "facts", "mood", "search", "add", "teach")
    usage = "@memory[/journal|/facts|/mood] <npc>, or @memory/search|/add|/teach <npc> = <text>"

    def func(self) -> None:
        npc = self.find_npc(self.lhs)
        if npc is None:
            return
        action = self.switches[0] if self.switches else "overview"
        if action in ("search", "add", "teach") and not self.rhs:
            self.caller.msg(f"Usage: @memory/{action} <npc> = <text>")
            return
        getattr(self, f"do_{action}")(npc)

    def do_overview(self, npc: Any) -> None:
        self.when(npc.memory.counts(), lambda counts: self.page(overview(npc, counts)))

    def do_journal(self, npc: Any) -> None:
        entries = npc.memory.journal.tail(JOURNAL_SHOWN)
        if not entries:
            self.caller.msg(f"{npc.key} has perceived nothing yet.")
            return
        head = f"|wThe last {len(entries)} of {len(npc.memory.journal)} entries of {npc.key}|n"
        self.page("\n".join([head, *map(journal_line, entries)]))

    def do_facts(self, npc: Any) -> None:
        self.when(npc.memory.facts(FACTS_SHOWN), lambda facts: self._show_facts(npc, facts))

    def _show_facts(self, npc: Any, facts: list[MemoryRecord]) -> None:
        if not facts:
            self.caller.msg(
                f"{npc.key} knows no facts yet: they are made at night. Try @sleep/now {npc.key}."
            )
            return
        self.page("\n".join([f"|wWhat {npc.key} knows|n", *map(fact_line, facts)]))

    def do_mood(self, npc: Any) -> None:
        self.when(npc.memory.mood(), lambda mood: self._show_mood(npc, mood))

    def _show_mood(self, npc: Any, mood: Mood) -> None:
        name = safe(npc.key)
        if not mood.shares:
            self.caller.msg(
                f"{name} feels nothing in particular: a mood comes from experiences, and {name} "
                "has none yet. They are drawn from what people say near an awake NPC, after six "
                "lines or when the talk falls silent."
            )
            return
        head = f"|wThe mood of {name}|n"
        self.page("\n".join([head, *feelings(mood), "|wIt comes from|n", *reasons(mood)]))

    def do_search(self, npc: Any) -> None:
        found = npc.memory.recall(self.rhs, top_k=SEARCH_SHOWN)
        self.when(found, lambda result: self._show_search(npc, result))

    def _show_search(self, npc: Any, result: RecallResult) -> None:
        if not result.memories:
            self.caller.msg(f"Nothing comes to {npc.key}'s mind.")
            return
        head = (
            f"|wWhat comes to {npc.key}'s mind|n ({result.total_tokens} tokens, "
            f"{result.budget_used:.0%} of the budget)"
        )
        self.page("\n".join([head, *map(search_lines, result.memories)]))

    def do_add(self, npc: Any) -> None:
        added = npc.memory.add(self.rhs)
        self.when(
            added,
            lambda entry: self.caller.msg(f"{npc.key} will remember that (entry {entry.id})."),
        )

    def do_teach(self, npc: Any) -> None:
        learned = pipeline.ingest(npc.memory, self.rhs.replace("|/", "\n"))
        self.when(learned, lambda learned: self.caller.msg(learned_line(npc, learned)))


# --- how things look ------------------------------------------------------------------------------


def overview(npc: Any, counts: dict[str, int]) -> str:
    """One screen on one NPC's memory."""
    mind = npc.memory
    script = AssistantScript.of(npc)
    state = f"asleep ({script.db.sleep_phase})" if script.asleep else "awake"
    pending = len(mind.journal) - mind.journal.cursors.get("indexed", 0)
    return "\n".join(
        [
            f"|wThe memory of {npc.key}|n ({npc.dbref}, {state})",
            f"  journal:      {len(mind.journal)} entries, {pending} not indexed yet",
            f"  experiences:  {counts['experience']}",
            f"  facts:        {counts['fact']}",
            f"  taught:       {counts['taught']}",
            f"  insights:     {counts['insight']}",
            f"  summaries:    {counts['summary']}",
            f"  links:        {mind.links.count}",
            f"  people met:   {len(mind.people)}",
            f"  heartbeat:    {script.ndb.last_beat or 'not since the server started'}",
            f"  language:     {safe(asking.status())}",
        ]
    )


def learned_line(npc: Any, learned: pipeline.Learned) -> str:
    """What became of a text that an NPC was taught."""
    if learned == pipeline.Learned():
        return "There is nothing to learn: the text is empty."
    return f"{npc.key} was taught {learned.told()}."


def journal_line(entry: Entry) -> str:
    mark = "|r*|n" if entry.private else " "
    who = f"{safe(entry.seen_as)}: " if entry.seen_as and entry.kind in ("say", "whisper") else ""
    when = entry.timestamp[:16].replace("T", " ")
    return (
        f"|x{entry.id:>5} {when}|n{mark}{entry.kind:<7} {entry.importance:>2} "
        f"{who}{safe(entry.content)}"
    )


def fact_line(fact: MemoryRecord) -> str:
    mark = "|r*|n" if fact.private else " "
    evidence = ", ".join(map(str, fact.journal_ids[:8]))
    return f"{mark}{safe(fact.content)} |x({fact.importance:.1f}, from {evidence})|n"


def feelings(mood: Mood) -> list[str]:
    """The strongest emotions of a mood, each with its share."""
    shown = mood.shares[:FEELINGS_SHOWN]
    lines = [
        f"  {safe(label):<13} {share:>4.0%} |g{'=' * max(1, round(share * BAR_WIDTH))}|n"
        for label, share in shown
    ]
    fainter = mood.shares[len(shown) :]
    if fainter:
        lines.append(f"  |xand fainter: {safe(', '.join(label for label, _ in fainter))}|n")
    return lines


def reasons(mood: Mood) -> list[str]:
    """The experiences that a mood rests on, each with what was felt and learned."""
    lines = []
    for experience in mood.experiences:
        mark = "|r*|n" if experience.private else " "
        when = experience.created_at[:16].replace("T", " ")
        lesson = f" Lesson: {safe(experience.the_lesson)}" if experience.the_lesson else ""
        felt = ", ".join(experience.dominant_emotions)
        lines.append(
            f"|x{when}|n{mark}{safe(experience.content)}\n"
            f"      |x{safe(felt)}; weight {experience.memory_weight:.2f}.{lesson}|n"
        )
    return lines


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
    who = f"{safe(memory.speaker)}: " if memory.speaker and memory.record == "entry" else ""
    return (
        f"|g{score.total:.3f}|n{mark}[{memory.record}, {memory.memory_type}] "
        f"{who}{safe(memory.content)}\n      |x{parts}; {recalled.tokens} tokens|n"
    )
