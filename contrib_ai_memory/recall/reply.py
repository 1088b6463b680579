"""An answer: what was said is brought to mind, with the talk so far, and a provider speaks."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any

from twisted.internet import defer

from .. import conf, offload
from ..llm import prompts, router, tools
from ..llm.usage import estimated
from ..log import logger
from ..records import (
    FROM_NOTHING,
    Entry,
    MemoryRecord,
    Message,
    Recalled,
    RecallResult,
    ReplyRequest,
    ToldFrom,
)
from ..store.chat_log import bare, given_by
from .budget import BudgetExceeded
from .tool_loop import RESULTS_SHARE, Confided, Hands, Keep, Past, Talk, told_from

NOBODY = "?"  # the identity of whoever has none: witness of nothing
ANSWER_SHARE = 1 / 8  # of the context window


@dataclass(frozen=True, slots=True)
class Answer:
    """What the NPC says to somebody.

    Attributes:
        text: Empty where its tools have said everything.
        told: The memories it was drawn from: it is as private as they are.
        rounds: The calls of tools and their results, as `store.chat_log` keeps them.
        told_from: All that the provider was given for it: erasing follows that.
    """

    text: str
    told: tuple[Recalled, ...] = ()
    rounds: tuple[dict[str, Any], ...] = ()
    told_from: ToldFrom = FROM_NOTHING


@defer.inlineCallbacks
def answer(
    memory: Any, entry: Entry, hands: Hands | None, keep: Keep
) -> Generator[Any, Any, Answer]:
    """What the NPC says to an entry that was spoken to it, as a Deferred `Answer`.

    Args:
        memory: The NPC's MemoryHandler.
        hands: What its tools do in the world with; without them it only thinks.
        keep: Stores an experience, or reinforces the one that is the same (worker thread).
    """
    talk, request = yield prepared(memory, entry, hands, keep)
    with memory.evidence.work_on(_evidence(memory, entry, request), priority=offload.REPLY) as work:
        text = yield talk.converse(work)
        if text is not None:
            return Answer(text, talk.told, tuple(talk.rounds), talk.told_from)
        reply = yield router.ask_offline("reply", request, priority=offload.REPLY)
        work.check()
    told = [item for item in request.recalled if reply.told is None or item.memory.id in reply.told]
    # what the model was given before it failed is in the calls of its tools
    given = talk.told_from if reply.told is None or talk.rounds else told_from(entry, told)
    return Answer(reply.text, tuple(told), tuple(talk.rounds), given)


def _evidence(memory: Any, entry: Entry, request: ReplyRequest) -> Iterator[Entry | MemoryRecord]:
    """What an answer rests on: the line, what comes to mind, the talk before it."""
    yield entry
    yield from (item.memory for item in request.recalled)
    talk = {turn.entry_id for turn in request.conversation}
    talk |= {message["entry"] for message in memory.history.messages}
    yield from filter(None, map(memory.journal.get, sorted(talk)))


@defer.inlineCallbacks
def prepared(
    memory: Any, entry: Entry, hands: Hands | None, keep: Keep
) -> Generator[Any, Any, tuple[Talk, ReplyRequest]]:
    """An answer before it is asked for: the talk with the model, and what is known for it.

    The arguments are those of `answer`. Nothing is sent, said or kept.
    """
    listener = entry.source_entity or NOBODY
    recalled = yield _recalled(memory, entry, listener)
    conversation = memory.conversations.get(entry.session_id)
    turns = conversation.heard_by((listener,)) if conversation else ()
    if not entry.private:
        # a secret told in the room's talk would colour what is said aloud next
        turns = tuple(turn for turn in turns if not turn.private)
    known = memory.people.get(entry.source_entity)
    request = ReplyRequest(
        npc_name=memory.name,
        persona=memory.owner.get_persona(),
        speaker=entry.seen_as,
        speaker_id=entry.source_entity,
        utterance=entry.content,
        recalled=recalled.memories,
        prompt_block=recalled.prompt_block,
        conversation=tuple(turn for turn in turns if turn.entry_id < entry.id),
        met_before=bool(known and known.interactions > 1),
        kind=entry.kind,
    )
    past = _past(memory, entry, listener, request)
    return Talk(memory, entry, listener, request, past, hands, keep), request


@defer.inlineCallbacks
def _recalled(memory: Any, entry: Entry, listener: str) -> Generator[Any, Any, RecallResult]:
    try:
        result = yield memory.recall(entry.content, speaker=listener, without_entries=(entry.id,))
    except BudgetExceeded as error:
        logger().warning("%s answers without its memory: %s", memory.owner.dbref, error)
        return RecallResult()
    return result


def _past(memory: Any, entry: Entry, listener: str, request: ReplyRequest) -> Past:
    """The history as far as the listener may hear it, with what was said beside it.

    From the oldest on it is left out where the context window cannot hold it.
    """
    told = [
        (message["entry"], bare(message), message)
        for message in memory.history.heard_by(listener, private=entry.private)
    ]
    for turn in request.conversation:
        if not memory.history.covers(turn.entry_id):
            told.append((turn.entry_id, prompts.said(turn), as_stored(memory, turn)))
    told.sort(key=lambda each: each[0])
    room = conf.get().CONTEXT_TOKENS * (1 - ANSWER_SHARE - RESULTS_SHARE)
    room -= estimated(len(json.dumps(tools.offered())))
    room -= prompts.tokens(prompts.talk(request, []))
    while told and prompts.tokens(message for _, message, _ in told) > room:
        oldest = told[0][0]  # an exchange goes whole, and its calls with their results
        told = [each for each in told if each[0] != oldest]
    return Past(
        [message for _, message, _ in told],
        tuple(Confided(tuple(each["witnesses"])) for _, _, each in told if each["private"]),
        given_by(each for _, _, each in told),
    )


def as_stored(memory: Any, turn: Message) -> dict[str, Any]:
    """What `store.chat_log` would keep beside a turn of talk that is not in it."""
    said = memory.journal.get(turn.entry_id)
    own = said is not None and said.origin == "self"
    whose = said.sources if own else filter(None, [said.source_entity if said else None])
    beside = {"private": turn.private, "witnesses": turn.witnesses}
    return beside | {"entry": turn.entry_id, "people": list(whose)}
