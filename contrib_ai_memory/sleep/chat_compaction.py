"""compact_conversation_history [A]: the oldest messages give way to a few sentences.

All of them are in the journal, and at night their facts have been extracted before this pass. For
each audience the dropped messages become one summary, made of what this audience heard. Everything
is put in place with one write: killed before it, nothing happened.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from typing import Any

from twisted.internet import defer

from .. import conf, offload
from ..llm import prompts
from ..records import PassReport
from ..store import chat_log
from ..store.chat_log import BESIDE, EARLIER, Audience, Stored, audience_of, provenance_of_messages
from ..store.npc_memory import Memory
from ..text.sanitising import shortened

AT_NIGHT, EMERGENCY = 0.7, 0.8  # [A] share of the context window
SUMMARY_LENGTH = 1200  # characters
SUMMARIES_SHARE = 0.25  # of the context window; beyond that the oldest summaries are dropped


def compact_conversation_history(memory: Memory) -> defer.Deferred:
    """Run the night's pass: compact the history above 70 % of the context window."""
    return compact(memory, AT_NIGHT, offload.NIGHT)


@defer.inlineCallbacks
def compact(memory: Memory, share: float, priority: int) -> Generator[Any, Any, PassReport]:
    """Compact the history if it takes a share (`AT_NIGHT`, `EMERGENCY`) of the context window."""
    context = min(memory.settings.CONTEXT_TOKENS, chat_log.LARGEST)
    if memory.chat_log.tokens < share * context:
        return PassReport(done=True)
    dropped = to_compact(memory.chat_log.messages)
    summaries = []
    # `chat_log.replace` refuses if some of it was forgotten meanwhile
    with memory.evidence.work_on(priority=priority) as work:
        for audience, lines in lines_by_audience(dropped, memory.name).items():
            text = lines[0]
            if len(lines) > 1:
                _provider, text = yield work.ask("summarise", lines)
            summaries.append(summary_of(dropped, audience, text))
    if not dropped:
        return PassReport(done=True)
    done = memory.chat_log.replace(dropped, bounded(summaries, context))
    return PassReport(done=done, read=len(dropped), changed=len(summaries) if done else 0)


def to_compact(messages: Sequence[Stored]) -> list[Stored]:
    """Return the messages to compact: all but the newest, no tool call without its results."""
    cut = max(0, len(messages) - conf.KEPT_WHOLE)
    while cut and messages[cut]["role"] == "tool":
        cut -= 1
    oldest = list(messages[:cut])
    return [] if all(message["summary"] for message in oldest) else oldest


def lines_by_audience(compacted: Iterable[Stored], npc_name: str) -> dict[Audience, list[str]]:
    """Return the words of messages as lines with their speakers, separately for each audience.

    Tool results come from the store, and messages nobody may hear again need no summary.
    """
    lines: dict[Audience, list[str]] = {}
    for message in compacted:
        content, audience = message["content"], audience_of(message)
        if message["role"] == "tool" or not content or audience == ():
            continue
        if message["summary"]:
            content = content.removeprefix(EARLIER)
        elif message["role"] == "user":
            content = prompts.untold(content)
        else:
            content = f"{npc_name}: {content}"
        lines.setdefault(audience, []).append(content)
    return lines


def summary_of(compacted: Iterable[Stored], audience: Audience, text: str) -> Stored:
    """Return the message that replaces all compacted ones of one audience."""
    before = [message for message in compacted if audience_of(message) == audience]
    people = {who for message in before for who in message["people"]}
    return BESIDE | {
        "role": "user",
        "content": EARLIER + shortened(text, SUMMARY_LENGTH),
        "private": audience is not None,
        "witnesses": list(audience or ()),
        "entry": max(message["entry"] for message in before),
        "people": sorted(people),
        "talk": provenance_of_messages(before).context,
        "summary": True,
    }


def bounded(summaries: Sequence[Stored], context_tokens: int) -> list[Stored]:
    """Return the newest summaries that fit into their share of the context window, in order."""
    kept = sorted(summaries, key=lambda summary: summary["entry"])
    while kept and prompts.tokens(kept) > SUMMARIES_SHARE * context_tokens:
        kept.pop(0)
    return kept
