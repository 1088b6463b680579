"""compact_conversation_history [A]: what was said long ago gives way to a few sentences.

By the time of this pass all of it was journalled and the night has drawn its facts. Before each
audience what falls out becomes one summary, made of the words that this audience heard. Everything
is put in place with one write: killed before it, nothing happened.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from twisted.internet import defer

from .. import conf, offload
from ..records import PassReport
from ..store import chat_log

AT_NIGHT, EMERGENCY = 0.7, 0.8  # [A] share of the context window


def compact_conversation_history(memory: Any) -> defer.Deferred:
    """The night's pass: compact the history from 70 % of the context window on."""
    return compact(memory, AT_NIGHT, offload.NIGHT)


@defer.inlineCallbacks
def compact(memory: Any, share: float, priority: int) -> Generator[Any, Any, PassReport]:
    """Compact the conversation history if it takes that share of the context window.

    Args:
        memory: The NPC's MemoryHandler.
        share: `AT_NIGHT` or `EMERGENCY`.
    """
    context = min(conf.get().CONTEXT_TOKENS, chat_log.LARGEST)
    if memory.history.tokens < share * context:
        return PassReport(done=True)
    fallen = chat_log.to_compact(memory.history.messages)
    summaries = []
    # where something of it is forgotten meanwhile, `replace` finds that it is not what it was
    with memory.evidence.work_on(priority=priority) as work:
        for audience, lines in chat_log.lines_by_audience(fallen, memory.name).items():
            text = lines[0]
            if len(lines) > 1:
                _provider, text = yield work.ask("summarise", lines)
            summaries.append(chat_log.summary_of(fallen, audience, text))
    if not fallen:
        return PassReport(done=True)
    done = memory.history.replace(fallen, chat_log.bounded(summaries, context))
    return PassReport(done=done, read=len(fallen), changed=len(summaries) if done else 0)
