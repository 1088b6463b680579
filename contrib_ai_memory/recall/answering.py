"""An answer: what was said is brought to mind, with the talk so far, and a provider speaks."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from twisted.internet import defer

from .. import offload
from ..llm import asking
from ..log import logger
from ..records import Entry, Recalled, RecallResult, ReplyRequest
from .budget import BudgetExceeded

NOBODY = "?"  # the identity of whoever has none: witness of nothing


@defer.inlineCallbacks
def answer(mind: Any, entry: Entry) -> Generator[Any, Any, tuple[str, tuple[Recalled, ...]]]:
    """What the NPC says to an entry that was spoken to it, and the memories it told.

    Args:
        mind: The NPC's MemoryHandler.
    """
    listener = entry.source_entity or NOBODY
    recalled = yield _recalled(mind, entry, listener)
    conversation = mind.conversations.get(entry.session_id)
    turns = conversation.heard_by((listener,)) if conversation else ()
    if not entry.private:
        # a secret told in the room's talk would colour what is said aloud next
        turns = tuple(turn for turn in turns if not turn.private)
    known = mind.people.get(entry.source_entity)
    request = ReplyRequest(
        npc_name=mind.name,
        persona=mind.owner.get_persona(),
        speaker=entry.seen_as,
        speaker_id=entry.source_entity,
        utterance=entry.content,
        recalled=recalled.memories,
        prompt_block=recalled.prompt_block,
        conversation=tuple(turn for turn in turns if turn.entry_id < entry.id),
        met_before=bool(known and known.interactions > 1),
    )
    _provider, reply = yield asking.ask("reply", request, priority=offload.REPLY, npc=mind.id)
    told = [
        item for item in recalled.memories if reply.told is None or item.memory.id in reply.told
    ]
    return reply.text, tuple(told)


@defer.inlineCallbacks
def _recalled(mind: Any, entry: Entry, listener: str) -> Generator[Any, Any, RecallResult]:
    try:
        result = yield mind.recall(entry.content, speaker=listener, without_entries=(entry.id,))
    except BudgetExceeded as error:
        logger().warning("%s answers without its memory: %s", mind.owner.dbref, error)
        return RecallResult()
    return result
