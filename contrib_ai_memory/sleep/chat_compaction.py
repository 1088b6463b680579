"""compact_conversation_history [A]: the oldest messages give way to a few sentences.

All of them are in the journal, and at night their facts have been extracted before this pass. For
each audience the dropped messages become one summary, made of what this audience heard. Everything
is put in place with one write: killed before it, nothing happened.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from twisted.internet import defer

from .. import offload
from ..records import PassReport
from ..store import chat_log

AT_NIGHT, EMERGENCY = 0.7, 0.8  # [A] share of the context window


def compact_conversation_history(memory: Any) -> defer.Deferred:
    """Run the night's pass: compact the history above 70 % of the context window."""
    return compact(memory, AT_NIGHT, offload.NIGHT)


@defer.inlineCallbacks
def compact(memory: Any, share: float, priority: int) -> Generator[Any, Any, PassReport]:
    """Compact the conversation history if it takes this share of the context window.

    Args:
        memory: The NPC's MemoryHandler.
        share: `AT_NIGHT` or `EMERGENCY`.
    """
    context = min(memory.settings.CONTEXT_TOKENS, chat_log.LARGEST)
    if memory.chat_log.tokens < share * context:
        return PassReport(done=True)
    dropped = chat_log.to_compact(memory.chat_log.messages)
    summaries = []
    # `history.replace` refuses if some of it was forgotten meanwhile
    with memory.evidence.work_on(priority=priority) as work:
        for audience, lines in chat_log.lines_by_audience(dropped, memory.name).items():
            text = lines[0]
            if len(lines) > 1:
                _provider, text = yield work.ask("summarise", lines)
            summaries.append(chat_log.summary_of(dropped, audience, text))
    if not dropped:
        return PassReport(done=True)
    done = memory.chat_log.replace(dropped, chat_log.bounded(summaries, context))
    return PassReport(done=done, read=len(dropped), changed=len(summaries) if done else 0)
