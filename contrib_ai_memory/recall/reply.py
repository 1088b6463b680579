"""Replies: recall what bears on a line, then have a provider answer it."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from twisted.internet import defer

from .. import conf, offload
from ..english.addressing import forms, without_address
from ..english.follow_ups import TURNS_READ, SaidBefore, completed
from ..llm import prompts, router, tools
from ..llm.usage import estimated
from ..log import logger
from ..records import (
    NO_PROVENANCE,
    Entry,
    MemoryRecord,
    Message,
    Privacy,
    Provenance,
    Recalled,
    RecallRequest,
    RecallResult,
    ReplyRequest,
    ScoreParts,
)
from ..store.chat_log import bare, provenance_of_messages
from .budget import BudgetExceeded
from .search import recall
from .situation import situation_of
from .tool_loop import (
    NOBODY,
    RESULTS_SHARE,
    Actions,
    ToolLoop,
    Transcript,
    marked,
    provenance_of,
    retells,
)

ANSWER_SHARE = 1 / 8  # of the context window


@dataclass(frozen=True, slots=True)
class Answer:
    """What the NPC answers.

    Attributes:
        text: Empty if its tools have said everything.
        recalled: The memories in it.
        rounds: The tool calls and their results, as `store.chat_log` keeps them.
    """

    text: str
    recalled: tuple[Recalled, ...] = ()
    rounds: tuple[dict[str, Any], ...] = ()
    provenance: Provenance = NO_PROVENANCE

    @property
    def private(self) -> bool:
        """Whether a memory in it is private."""
        return any(item.memory.private for item in self.recalled)


@defer.inlineCallbacks
def answer(memory: Any, entry: Entry, actions: Actions | None) -> Generator[Any, Any, Answer]:
    """Answer an entry that was said to the NPC, as a Deferred `Answer`.

    Args:
        memory: The NPC's MemoryHandler.
        actions: What tools can do in the world; without it they only remember.
    """
    loop, request = yield prepare(memory, entry, actions)
    with memory.evidence.work_on(_evidence(memory, entry, request), priority=offload.REPLY) as work:
        text = yield loop.run(work)
        if text is not None:
            said = loop.provenance_of_words(text)
            return Answer(text, loop.recalled, tuple(loop.rounds), said)
        provider, reply = yield router.ask_without_tools("reply", request, priority=offload.REPLY)
        work.check()
    used = tuple(r for r in request.recalled if reply.told is None or r.memory.id in reply.told)
    # a model that failed after calling tools has acted on all that it was given
    whole = reply.told is None or loop.rounds
    provenance = loop.provenance if whole else provenance_of(entry, used)
    # without a model it has only stock phrases and retellings
    retold = provider == router.OFFLINE.name or retells(reply.text, used)
    return Answer(reply.text, used, tuple(loop.rounds), marked(provenance, retold))


@defer.inlineCallbacks
def prepare(
    memory: Any, entry: Entry, actions: Actions | None = None
) -> Generator[Any, Any, tuple[ToolLoop, ReplyRequest]]:
    """Prepare the loop and the request of an answer; the arguments are those of `answer`.

    Nothing is sent, said or stored.
    """
    listener = entry.source_entity or NOBODY
    recalled = yield recall_for(memory, entry)
    turns = _turns_before(memory, entry)
    known = memory.people.get(entry.source_entity)
    meant = _as_meant(memory, entry)
    situation, beside = situation_of(memory, replace(entry, content=meant))
    request = ReplyRequest(
        npc_name=memory.name,
        persona=memory.owner.get_persona(),
        speaker=entry.seen_as,
        speaker_id=entry.source_entity,
        utterance=entry.content,
        recalled=(*recalled.memories, *_beside(beside, recalled.memories)),
        prompt_block=recalled.prompt_block,
        conversation=turns,
        met_before=bool(known and known.interactions > _lines_now(memory, entry)),
        kind=entry.kind,
        now=memory.clock(),
        npc_names=memory.names,
        phrases=memory.phrases,
        situation=situation,
        question=meant if meant != entry.content else "",
    )
    transcript = _transcript(memory, entry, listener, request)
    return ToolLoop(memory, entry, request, transcript, actions), request


def _lines_now(memory: Any, entry: Entry) -> int:
    """Return how many lines the speaker has said in this conversation, those waiting included."""
    conversation = memory.conversations.get(entry.session_id)
    turns = conversation.messages if conversation else ()
    return max(1, sum(turn.role == "user" and turn.name == entry.seen_as for turn in turns))


def _turns_before(memory: Any, entry: Entry) -> tuple[Message, ...]:
    """Return the conversation before a line, as far as the answer may show it."""
    conversation = memory.conversations.get(entry.session_id)
    turns = conversation.heard_by((entry.source_entity or NOBODY,)) if conversation else ()
    return tuple(
        turn
        for turn in turns
        # a secret from the conversation would show in what is said aloud next
        if turn.entry_id < entry.id and (entry.private or not turn.private)
    )


def _as_meant(memory: Any, entry: Entry) -> str:
    """Return a line with the subject that it takes from the talk before it."""
    own = forms(memory.names)
    turns = [
        SaidBefore(without_address(turn.content, own), own=turn.role == "assistant")
        for turn in _turns_before(memory, entry)[-TURNS_READ:]
    ]
    line = without_address(entry.content, own)
    meant = completed(line, turns, memory.people.names())
    return entry.content if meant == line else meant


def _beside(others: Iterable[MemoryRecord], recalled: Iterable[Recalled]) -> Iterator[Recalled]:
    """Yield other memories that the answer may tell, as far as they were not recalled."""
    known = {each.memory.id for each in recalled}
    return (Recalled(each, ScoreParts(0.0, 0.0), 0) for each in others if each.id not in known)


@defer.inlineCallbacks
def recall_for(memory: Any, entry: Entry) -> Generator[Any, Any, RecallResult]:
    """Recall for the answer to an entry; nothing if the token budget is too small."""
    listeners = (entry.source_entity or NOBODY,)
    try:
        result = yield recall(
            memory,
            RecallRequest(
                _as_meant(memory, entry), listeners=listeners, without_entries=frozenset({entry.id})
            ),
        )
    except BudgetExceeded as error:
        logger().warning("%s answers without its memory: %s", memory.owner.dbref, error)
        return RecallResult()
    return result


def _evidence(memory: Any, entry: Entry, request: ReplyRequest) -> Iterator[Entry | MemoryRecord]:
    """Yield all that an answer rests on: the line, the recalled memories, the conversation."""
    yield entry
    yield from (item.memory for item in request.recalled)
    talk = {turn.entry_id for turn in request.conversation}
    talk |= {message["entry"] for message in memory.history.messages}
    yield from filter(None, map(memory.journal.get, sorted(talk)))


def _transcript(memory: Any, entry: Entry, listener: str, request: ReplyRequest) -> Transcript:
    """Collect the chat log and the conversation, as far as the listener may know them.

    The oldest exchanges are left out if the context window cannot hold them.
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
        oldest = told[0][0]  # an exchange goes as a whole, its calls with their results
        told = [each for each in told if each[0] != oldest]
    return Transcript(
        [message for _, message, _ in told],
        tuple(Privacy(True, tuple(each["witnesses"])) for _, _, each in told if each["private"]),
        provenance_of_messages(each for _, _, each in told),
    )


def as_stored(memory: Any, turn: Message) -> dict[str, Any]:
    """Return what `store.chat_log` would keep with a turn that is not in it."""
    said = memory.journal.get(turn.entry_id)
    own = said is not None and said.origin == "self"
    people = said.sources if own else filter(None, [said.source_entity if said else None])
    return {
        "private": turn.private,
        "witnesses": turn.witnesses,
        "entry": turn.entry_id,
        "people": list(people),
    }
