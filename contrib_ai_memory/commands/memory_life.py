"""How a memory lives, in @memory: its mood, what was said, what builders did, growth and cost."""

from __future__ import annotations

from typing import Any

from ..admin import stats, undo_log
from ..recall.mood import Mood
from ..store.chat_log import Stored
from ..text.plural import plural
from .display import bar, brief, dim, hanging, heading, safe, table, when

FEELINGS_SHOWN = 8
MESSAGES_SHOWN = 40
DAYS_SHOWN = 14


class Living:
    """The switches that tell how a memory lives; mixed into `CmdMemory`."""

    def do_mood(self, npc: Any) -> None:
        self.when(npc.memory.mood(), lambda mood: self._show_mood(npc, mood))

    def _show_mood(self, npc: Any, mood: Mood) -> None:
        name = safe(npc.key)
        if not mood.shares:
            self.tell(
                f"{name} feels nothing in particular: a mood comes from experiences, and {name} "
                "has none yet. They are drawn from what people say near an awake NPC, after six "
                "lines or when the talk falls silent."
            )
            return
        head = heading(f"The mood of {npc.key}")
        self.page("\n".join([head, *feelings(mood), "|wIt comes from|n", *reasons(mood)]))

    def do_history(self, npc: Any) -> None:
        messages = npc.memory.history.messages
        lines = [heading(f"What {npc.key} and others said", "as a model is sent it")]
        lines += [message_line(npc, each) for each in messages[-MESSAGES_SHOWN:]]
        if not messages:
            lines.append("  nothing yet: only talk that it answered is kept here")
        lines.append(heading("What builders did", "the newest first; @memory/undo takes it back"))
        acts = undo_log.acts(npc)
        lines += [hanging("  ", act.summary(), indent=4) for act in reversed(acts)]
        if not acts:
            lines.append("  nothing that can be taken back")
        self.page("\n".join(lines))

    def do_stats(self, npc: Any) -> None:
        self.when(stats.stats(npc), lambda stats: self.page(statistics(npc, stats)))

    def do_cost(self, npc: Any) -> None:
        self.page(costs(npc, stats.cost(npc)))


# --- how things look ------------------------------------------------------------------------------


def feelings(mood: Mood) -> list[str]:
    """The strongest emotions of a mood, each with its share."""
    shown = mood.shares[:FEELINGS_SHOWN]
    lines = [f"  {brief(label, 13):<13} {share:>4.0%} {bar(share)}" for label, share in shown]
    fainter = mood.shares[len(shown) :]
    if fainter:
        lines.append(dim(f"and fainter: {', '.join(label for label, _ in fainter)}", indent=2))
    return lines


def reasons(mood: Mood) -> list[str]:
    """The experiences that a mood rests on, each with what was felt and learned."""
    lines = []
    for experience in mood.experiences:
        mark = "|r*|n" if experience.private else " "
        lesson = f" Lesson: {experience.the_lesson}" if experience.the_lesson else ""
        felt = ", ".join(experience.dominant_emotions)
        lines.append(hanging(f"|x{when(experience.created_at)}|n{mark}", experience.content))
        lines.append(dim(f"{felt}; weight {experience.memory_weight:.2f}.{lesson}"))
    return lines


def message_line(npc: Any, message: Stored) -> str:
    """One message of the conversation history."""
    mark = "|r*|n" if message["private"] else " "
    named = {"assistant": npc.key, "tool": "(result)", "user": ""}[message["role"]]
    text = message["content"] or ""
    calls = message.get("tool_calls") or ()
    called = "; ".join(f"{c['function']['name']} {c['function']['arguments']}" for c in calls)
    said = " ".join(filter(None, (f"{named}:" if named else "", text, called)))
    return hanging(f"{message['entry']:>5}{mark}", said)


def statistics(npc: Any, stats: stats.Stats) -> str:
    """How a memory grew, and what it consists of."""
    most = max(stats.importance.values(), default=0) or 1
    busiest = max((number for _day, number in stats.growth), default=0) or 1
    felt = sum(number for _label, number in stats.emotions) or 1
    beside = f"{plural(stats.entries, 'journal entry', 'journal entries')}"
    lines = [heading(f"How the memory of {npc.key} grew", beside)]
    lines += [
        f"  {day}  {number:>6} {bar(number / busiest)}"
        for day, number in stats.growth[-DAYS_SHOWN:]
    ]
    lines.append(heading("How important its journal is", "1 to 10"))
    lines += [
        f"  {each:>10}  {number:>6} {bar(number / most)}"
        for each, number in stats.importance.items()
        if number
    ]
    if stats.emotions:
        lines.append(heading("What its experiences felt like"))
    lines += [
        f"  {brief(label, 13):<13}{number:>5} {bar(number / felt)}"
        for label, number in stats.emotions[:FEELINGS_SHOWN]
    ]
    held = ", ".join(f"{number} {name}" for name, number in stats.memories.items() if number)
    kinds = ", ".join(f"{number} {name}" for name, number in stats.kinds.items())
    lines.append(hanging("|wIn the store:|n ", held or "nothing"))
    lines.append(hanging("|wIn the journal:|n ", kinds or "nothing"))
    return "\n".join(lines)


def costs(npc: Any, cost: stats.Cost) -> str:
    """What language cost today."""
    rows = [
        (name, spent.calls, spent.tokens_in, spent.tokens_out)
        for name, spent in sorted(cost.by_purpose.items())
    ]
    rows.append(("all NPCs", cost.game.calls, cost.game.tokens_in, cost.game.tokens_out))
    rows.append((npc.key, cost.npc.calls, cost.npc.tokens_in, cost.npc.tokens_out))
    limits = [
        f"{whose}: {spent:,} of {limit:,} tokens"
        for whose, spent, limit in (
            ("the game", cost.game.tokens, cost.game_limit),
            (npc.key, cost.npc.tokens, cost.npc_limit),
        )
        if limit
    ]
    return "\n".join(
        [
            heading(f"What language cost on {cost.day}", "UTC"),
            table(("for", "calls", "tokens in", "tokens out"), rows, right=(1, 2, 3)),
            hanging("Budgets: ", "; ".join(limits) or "none are set", indent=2),
            hanging("Language: ", cost.language, indent=2),
        ]
    )
