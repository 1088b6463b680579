"""Replies: recall what bears on a line, then have a provider answer it."""

from __future__ import annotations

import heapq
import json
import math
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import Any

from twisted.internet import defer

from .. import conf, language, offload
from ..attention import TALK_OVER
from ..embedding import embedder
from ..embedding.model import ModelAway
from ..ingest.corrected_lines import corrected_before, set_right
from ..ingest.heard_line import heard
from ..language import TURNS_READ, SaidBefore, Understood
from ..llm import prompts, router
from ..llm.usage import estimated
from ..local_time import local
from ..log import logger
from ..privacy import may_hear
from ..records import (
    NO_PROVENANCE,
    OWN,
    TALK_KINDS,
    Entry,
    LineInTalk,
    MemoryRecord,
    Message,
    OpenItem,
    Provenance,
    Recalled,
    RecallRequest,
    RecallResult,
    Reply,
    ReplyRequest,
    ScoreParts,
    Situation,
    TalkLine,
    Weighed,
    seconds_between,
)
from ..store import chat_log, memory_store
from ..store.chat_log import bare, provenance_of_messages
from ..store.journal import join_ranges
from ..store.links import link_id
from ..store.npc_memory import Memory
from ..store.protocol import Neighbour
from ..text.names import forms
from . import sheet
from .budget import IN_CONFIDENCE, BudgetExceeded, prompt_block
from .mood import Mood, felt_at, mood_towards
from .rank import QUOTING
from .search import recall
from .situation import situation_of
from .told_secrets import Secret
from .tool_loop import (
    RESULTS_SHARE,
    UNKNOWN_SPEAKER,
    Actions,
    ToolLoop,
    Transcript,
    here,
    is_kept,
    marked,
    offered_now,
    provenance_of,
    retells,
)

ANSWER_SHARE = 1 / 8  # of the context window
DROPPED_AT_ONCE = 1 / 4  # of the room for the conversation
SECRETS_SHARE = 1 / 4  # of that room
IN_PRIVATE = "(What was said between the two of you alone:)"
# of the window, kept for all else: the conversation begins with the same line, whatever comes to
# mind for the newest one
REST_SHARE = 5 / 16
OWN_LATELY = 10  # lines of its own that it does not say again, ...
OWN_AMONG = 60  # ... as far as they are among so many last entries
# of RECALL_TOKENS, for the memories in a prompt where a model keeps the memory: its facts say in
# half the words what lines say
PROMPT_SHARE = 1 / 2
PEOPLE_SHARE = 1 / 2  # of these, for facts of the people whom the line is about
FACTS_OF_PEOPLE = 24  # nearest to the line
ABOUT_BEST = 3  # memories of which these are the people too
DRAWN = ("fact", "insight")  # records that are drawn from lines
NEAR = 0.5  # clue "line" of a memory from which it is likely to be on a line's matter
OWN_WORDS = 2  # of its own lines that are nearest to a line, ...
OWN_FROM = 0.4  # ... from this cosine on
OWN_READ = 10  # of its own lines that were recalled: whether they promise something (5 ms each)
COMMITS = frozenset({"promise", "debt"})  # acts of lines, ...
COMMITS_FROM = -1.0  # ... from this score on: below it are most words that only name a day or price
TOLD_OF_SHEET = ("description", "voice", "direction")
CHATTER = 0.2  # importance of lines that are shown only if they are among the best ...
BEST_LINES = 6  # ... of so many memories
TELLS_WORDS, TELLS_SHARE = 2, 0.5  # of a message's words in words that tell it
WORTHLESS = 0.1  # importance of a line that tells nothing
LESSONS = 2  # in one answer
DEEDS = frozenset({"pose", "give"})  # kinds of entries that a model is told between the lines
DEEDS_READ = 20  # newest entries among which these are looked for
WEIGHED = 8  # memories kept beside the answer of a model
# a lesson bears on a line if its experience is among so many best memories, and as similar
LESSONS_AMONG = 3
LESSONS_FROM = 0.45


@dataclass(frozen=True, slots=True)
class Answer:
    """What the NPC answers; `row` and `weighed` as `Reply` has them."""

    text: str  # empty if its tools have said everything
    private: bool  # whether it tells a secret
    recalled: tuple[Recalled, ...] = ()  # the memories in it
    rounds: tuple[dict[str, Any], ...] = ()  # tool calls and results, as `store.chat_log` has them
    # messages before the answered line that the model was shown and the chat log does not have:
    # kept there, the next request begins with the same messages
    overheard: tuple[dict[str, Any], ...] = ()
    provenance: Provenance = NO_PROVENANCE
    lessons: tuple[str, ...] = ()  # ids of the experiences whose lessons the model was told
    # with the link ids of memories; of a model's answer those that the recall found best, textless
    weighed: tuple[Weighed, ...] = ()
    row: str = ""
    done_by_telling: tuple[str, ...] = ()  # ids of agenda items that it told, done by that


@defer.inlineCallbacks
def answer(memory: Memory, entry: Entry, actions: Actions) -> Generator[Any, Any, Answer]:
    """Answer an entry that was said to the NPC, as a Deferred `Answer`.

    Raises (in the Deferred):
        EvidenceGone: Something was forgotten or changed meanwhile; it can be asked for anew.
    """
    with memory.evidence.work_on([entry], priority=offload.REPLY) as work:
        loop, request = yield prepare(memory, entry)
        work.add_evidence(loop.evidence)
        work.add_provenance(loop.provenance)
        work.check()
        ask = partial(router.ask, "reply", request, by=router.WITHOUT_MODEL, priority=offload.REPLY)
        provider, reply = "", None
        if request.plain:  # rules answer what is asked, and a small model only talks
            provider, reply = yield ask(settings=memory.settings)
            work.check()
        talks = reply is None or reply.small_talk
        text = (yield loop.run(work, actions)) if talks else None
        if text is not None:
            said = loop.provenance_of_words(text)
            rounds = tuple(loop.rounds)
            told = tuple(each.id for each in _lessons(memory, entry, request.recalled))
            best = heapq.nlargest(WEIGHED, loop.recalled, key=lambda each: each.score.total)
            weighed = tuple(Weighed("", each.score.total, link_id(each.memory)) for each in best)
            private, overheard = loop.private, loop.overheard
            words = " ".join([*loop.said_by_tools, text])
            done = tuple(_told_by(words, request.situation.agenda))
            return Answer(
                *(text, private, loop.recalled, rounds, overheard, said, told, weighed),
                done_by_telling=done,
            )
        if reply is None:
            provider, reply = yield ask(settings=memory.settings)
        work.check()
    # a model that failed after calling tools has acted on all that it was given
    given = loop.provenance if reply.told is None or loop.rounds else NO_PROVENANCE
    return answer_of(memory, entry, request, reply, provider, given, tuple(loop.rounds))


def answer_of(
    memory: Memory,
    entry: Entry,
    request: ReplyRequest,
    reply: Reply,
    provider: str,
    given: Provenance = NO_PROVENANCE,
    rounds: tuple[dict[str, Any], ...] = (),
) -> Answer:
    """Return the answer that a provider's reply makes; `given` is what it rests on beside."""
    used = tuple(r for r in request.recalled if reply.told is None or r.memory.id in reply.told)
    provenance = joined(given, provenance_of(entry, used))
    # without a model it has only stock phrases and retellings
    retold = provider == router.OFFLINE or retells(reply.text, used)
    told = {*(reply.told or ())}
    return Answer(
        reply.text,
        any(is_kept(memory, each.memory) for each in used),
        used,
        rounds,
        provenance=marked(provenance, retold),
        weighed=by_link(reply.weighed, request.recalled),
        row=reply.row,
        done_by_telling=tuple(
            each.done_by_telling
            for each in request.situation.agenda
            if told.issuperset(each.evidence) and each.done_by_telling
        ),
    )


def _told_by(text: str, agenda: Iterable[OpenItem]) -> Iterator[str]:
    """Yield the ids of the agenda items that words of a model tell, and that are done by that."""
    spoken = language.get()
    told = [each for each in spoken.sentences(text) if not spoken.asks(each)]
    said = spoken.content_words(" ".join(told))
    for item in agenda:
        words = spoken.content_words(item.quoted)
        least = min(len(words), max(TELLS_WORDS, TELLS_SHARE * len(words)))
        if item.done_by_telling and words and len(words & said) >= least:
            yield item.done_by_telling


def by_link(weighed: Iterable[Weighed], recalled: Iterable[Recalled]) -> tuple[Weighed, ...]:
    """Return weighed sentences with the link ids of their memories."""
    linked = {each.memory.id: link_id(each.memory) for each in recalled}
    return tuple(replace(each, memory=linked.get(each.memory, "")) for each in weighed)


def request_of(memory: Memory, entry: Entry, **more: Any) -> ReplyRequest:
    """Return a request for an answer to an entry, with what is the same in every one."""
    whole: dict[str, Any] = {
        "npc_name": memory.name,
        "persona": memory.owner.get_persona(),
        "speaker": entry.seen_as,
        "speaker_id": entry.source_entity,
        "utterance": entry.content,
        "kind": entry.kind,
        "now": local(memory.clock()),
        "npc_names": memory.names,
        "phrases": memory.phrases,
        "goals": memory.goals,
        "said_lately": said_lately(memory),
    }
    return ReplyRequest(**whole | more)


@defer.inlineCallbacks
def prepare(memory: Memory, entry: Entry) -> Generator[Any, Any, tuple[ToolLoop, ReplyRequest]]:
    """Prepare the loop and the request of an answer. Nothing is sent, said or stored."""
    listener = entry.source_entity or UNKNOWN_SPEAKER
    settings = memory.settings
    turns = _turns_before(memory, entry)
    said, whole = _as_meant(memory, entry, turns)
    recalled = yield recall_for(memory, entry, entry.content if whole == said else whole)
    about = _of_whom(recalled.memories)
    people = (entry.source_entity, *memory.people.mentioned(entry.content), *about)
    asked = _Asked(
        memory.id,
        memory.clock(),
        listener,
        entry.private,
        said,
        whole,
        memory.people.names(),
        heard(memory, entry),
        people=() if settings.by_sources else tuple(dict.fromkeys(filter(None, people))),
        offline=router.rules_answer(settings),
        own=tuple(each.memory for each in recalled.memories if OWN in each.memory.tags)[:OWN_READ],
        agreed=frozenset(number for item in memory.agenda for number in item.evidence),
    )
    known: _Known = yield offload.read(_look_up, asked)
    speaker = memory.people.get(entry.source_entity)
    line, meant = known.line, known.line.meant
    yield offload.breathe(offload.REPLY)
    recalled_records = (each.memory for each in recalled.memories)
    situation, others = situation_of(memory, entry, line, recalled_records)
    yield offload.breathe(offload.REPLY)
    brought_up = [*recalled.memories, *beside(others, recalled.memories)]
    if router.rules_judge(settings):
        brought_up = [_with_correction(memory, each) for each in brought_up]
    request = request_of(
        memory,
        entry,
        recalled=tuple(brought_up),
        prompt_block=recalled.prompt_block,
        conversation=turns,
        met_before=bool(speaker and speaker.interactions > _lines_now(memory, entry)),
        situation=situation,
        lessons=tuple(
            IN_CONFIDENCE * each.private + each.the_lesson
            for each in _lessons(memory, entry, recalled.memories)
        ),
        mood=known.mood.felt,
        sentences=settings.REPLY_SENTENCES,
        language=settings.REPLY_LANGUAGE,
        plain=settings.LLM is not None and settings.LLM.plain,
        question=meant if meant != said else "",
        intent=line.intent.name if line.intent else "",
        surely_meant=line.surely,
        set_right=set_right(memory, entry),
        acts=line.acts,
        wanted=line.wanted,
        confided=entry.private and entry.kind != "whisper",
        given=known.given,
        **{name: sheet.field_of(memory.owner, name) for name in TOLD_OF_SHEET},
    )
    yield offload.breathe(offload.REPLY)
    transcript = _transcript(memory, entry, listener, request)
    agreed = [each for each in recalled.memories if each.memory.id not in known.unagreed]
    shown = _shown(agreed, known.facts, request, transcript.entries, settings)
    block = prompt_block([each.memory for each in shown], by_sources=settings.by_sources)
    told = provenance_of_situation(situation, known.mood.experiences)
    transcript = replace(transcript, provenance=joined(transcript.provenance, told))
    given = (*shown, *_told_otherwise(request, shown, transcript.entries))
    asks = replace(request, recalled=given, prompt_block=block)
    loop = ToolLoop(memory, entry, asks, transcript)
    loop.told = told
    loop.evidence = (  # beside its provenance, all that was read for it
        entry,
        *(item.memory for item in (*brought_up, *known.facts)),
        *known.mood.experiences,
        *(number for each in situation.people for number in each.evidence),
        *(turn.entry_id for turn in turns),
    )
    return loop, request


def _of_whom(recalled: Sequence[Recalled]) -> list[str]:
    """Return whom the best memories are about, and the facts whose lines are nearest in meaning."""
    about = [each for each in recalled if each.memory.about]
    facts = [each for each in about if each.memory.record in DRAWN and _nearness(each) >= NEAR]
    near = heapq.nlargest(ABOUT_BEST, facts, key=_nearness)
    return [str(each.memory.about) for each in (*about[:ABOUT_BEST], *near)]


def _nearness(recalled: Recalled) -> float:
    return recalled.score.clues.get("line", 0.0)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A line that is answered, as `_look_up` needs it."""

    agent_id: str
    now: str
    listener: str
    private: bool
    said: str  # without its address
    completed: str  # with the subject that it takes from the talk
    names: tuple[str, ...]  # of the people whom the NPC knows
    heard: LineInTalk
    people: tuple[str, ...]  # the speaker, whom it names and whom the best memories are about
    offline: bool  # no model answers: the persona sheet is looked into, else facts and own words
    own: tuple[MemoryRecord, ...] = ()  # its own words, of what was recalled
    agreed: frozenset[int] = frozenset()  # journal ids of the lines that stand on the agenda


@dataclass(frozen=True, slots=True)
class _Known:
    """What `_look_up` found."""

    mood: Mood
    line: Understood
    given: tuple[MemoryRecord, ...] = ()  # of the persona sheet
    facts: tuple[Recalled, ...] = ()  # of people, behind what it said itself
    unagreed: frozenset[str] = frozenset()  # its own words that promise what is not on the agenda


def _look_up(asked: _Asked) -> _Known:
    """Read the line and look up the mood, and the sheet or facts, in one job (worker thread)."""
    mood = mood_towards(asked.agent_id, asked.now, asked.listener, asked.private)
    line = language.get().understood(
        asked.said, asked.completed, asked.names, asked.heard, local(asked.now)
    )
    if asked.offline:
        given = sheet.given(asked.agent_id, line.meant, (asked.listener,), asked.now)
        return _Known(mood, line, given)
    if not asked.people:  # the sources' recall stands as it is
        return _Known(mood, line)
    try:
        vector = embedder.shared().encode([line.meant])[0]
    except ModelAway:
        return _Known(mood, line)
    store = memory_store.shared()
    # what it said of itself holds
    near = store.nearest(asked.agent_id, vector, 2 * OWN_WORDS, tags=OWN)
    own = _to_tell(asked, (each for each in near if each.score >= OWN_FROM))
    unagreed = frozenset(
        each.id
        for each in (*asked.own, *(each.memory for each in own))
        if asked.agreed.isdisjoint(each.journal_ids) and _commits(each, asked.heard)
    )
    stands = [each for each in own if each.memory.id not in unagreed][:OWN_WORDS]
    of_people = {"in": [*asked.people]}
    near = store.nearest(asked.agent_id, vector, FACTS_OF_PEOPLE, record="fact", user_id=of_people)
    facts = _to_tell(asked, (each for each in near if each.memory.provider not in QUOTING))
    return _Known(mood, line, (), (*stands, *facts), unagreed)


def _commits(own: MemoryRecord, heard: LineInTalk) -> bool:
    """Whether own words may bind the NPC, as far as the language reads them (worker thread)."""
    line = TalkLine(own.speaker, own.content, "say")
    reading = language.get().read(LineInTalk(line, (heard.line.speaker,), heard.npc))
    return reading is not None and any(
        act.kind in COMMITS and act.sure >= COMMITS_FROM for act in reading.possible
    )


def _to_tell(asked: _Asked, near: Iterable[Neighbour]) -> tuple[Recalled, ...]:
    """Return those of the nearest memories that hold and may be told; in private, secrets too."""
    listeners = (asked.listener,) if asked.private else ()
    return tuple(
        Recalled(told, ScoreParts(0.0, each.score), embedder.shared().count_tokens(told.content))
        for each in near
        if may_hear((told := each.memory).private, told.witnesses, listeners)
        and not (told.outranked or told.invalid_at)
    )


def said_lately(memory: Memory) -> tuple[str, ...]:
    """Return the NPC's own last lines, oldest first, whoever heard them."""
    entries = memory.journal.tail(OWN_AMONG)
    own = [each.content for each in entries if each.origin == "self" and each.kind in TALK_KINDS]
    return tuple(own[-OWN_LATELY:])


def _lessons(memory: Memory, entry: Entry, recalled: Iterable[Recalled]) -> list[MemoryRecord]:
    """Return the experiences whose lessons bear on a line, and were not told in its conversation.

    Those of rules are left out: their lessons are stock phrases.
    """
    talk = memory.conversations.get(entry.session_id)
    told = talk.lessons if talk else ()
    best = heapq.nlargest(LESSONS_AMONG, recalled, key=lambda each: each.score.total)
    learned = (each.memory for each in best if each.score.similarity >= LESSONS_FROM)
    by_text = {
        each.the_lesson: each
        for each in learned
        if each.record == "experience" and each.provider != router.OFFLINE and each.the_lesson
    }
    return [each for each in by_text.values() if each.id not in told][:LESSONS]


def _shown(
    recalled: Sequence[Recalled],
    facts: Sequence[Recalled],
    request: ReplyRequest,
    talk: frozenset[int],
    settings: conf.Settings,
) -> list[Recalled]:
    """Return the memories that a model is shown: the best, without what its prompt tells anyway.

    A line gives way to the facts that a model drew from it; an experience, which sums them up,
    comes last. Facts of people take up to half. `talk` is of the journal ids in the prompt.
    """
    found = [
        each
        for each in recalled
        if each.memory.record not in ("entry", "experience")
        or not (each.memory.journal_ids and talk.issuperset(each.memory.journal_ids))
    ]
    if settings.by_sources:
        return found
    drawn: dict[int, list[Recalled]] = {}
    for each in found:
        if each.memory.record == "fact" and each.memory.provider not in QUOTING:
            for number in each.memory.journal_ids:
                drawn.setdefault(number, []).append(each)
    lines_of = {each.memory.id: each.memory.journal_ids for each in request.recalled}
    told = [
        (item.noted or item.text, {n for each in item.evidence for n in lines_of.get(each, ())})
        for item in request.situation.agenda[: prompts.OPEN_TOLD]
    ]
    shown: dict[str, Recalled] = {}
    by_rules = router.rules_judge(settings)
    budget = settings.RECALL_TOKENS * (1 if by_rules else PROMPT_SHARE)

    def show(memories: Iterable[Recalled], most: float) -> None:
        room = most - sum(each.tokens for each in shown.values())
        for each in memories:
            memory = each.memory
            if memory.id not in shown and each.tokens <= room and not _is_told(memory, told):
                shown[memory.id] = each
                room -= each.tokens
                told.append((f"{memory.speaker} {memory.content}", {*memory.journal_ids}))

    best = {each.memory.id for each in found[:BEST_LINES]}

    def as_told() -> Iterator[Recalled]:
        for each in sorted(found, key=lambda each: each.memory.record == "experience"):
            worth = each.memory.importance
            if each.memory.record == "experience" and each.memory.provider == router.OFFLINE:
                if by_rules:  # else the lines that it quotes stand for themselves
                    yield each
            elif each.memory.record != "entry":
                yield each
            elif worth > CHATTER or (worth > WORTHLESS and each.memory.id in best):
                own = [fact for n in each.memory.journal_ids for fact in drawn.get(n, ())]
                yield from own or [each]

    show(as_told(), budget * (1 - PEOPLE_SHARE))
    show(facts, budget)
    show(as_told(), budget)
    return [*shown.values()]


def _told_otherwise(
    request: ReplyRequest, shown: Sequence[Recalled], talk: frozenset[int]
) -> Iterator[Recalled]:
    """Yield what a prompt tells by its conversation, agenda items or facts of the same lines."""
    known = {each.memory.id for each in shown}
    lines = talk.union(*(each.memory.journal_ids for each in shown))
    told = {number for item in request.situation.agenda for number in item.evidence}
    for each in request.recalled:
        memory = each.memory
        is_told = not each.tokens or memory.id in told or not lines.isdisjoint(memory.journal_ids)
        if is_told and memory.id not in known:
            yield replace(each, tokens=0)


def _is_told(memory: MemoryRecord, told: Iterable[tuple[str, set[int]]]) -> bool:
    """Whether a text that rests on a line of a memory has all of its words."""
    content_words = language.get().content_words
    return any(
        not lines.isdisjoint(memory.journal_ids)
        and content_words(memory.content) <= content_words(text)
        for text, lines in told
    )


def joined(one: Provenance, other: Provenance) -> Provenance:
    """Return the provenance of words made from what both are of."""
    return Provenance(
        tuple(dict.fromkeys([*one.evidence, *other.evidence])),
        join_ranges(one.context, other.context),
        tuple(sorted({*one.sources, *other.sources})),
    )


def provenance_of_situation(
    situation: Situation, reasons: Iterable[MemoryRecord] = ()
) -> Provenance:
    """Return the provenance of a scene, besides recalled memories: `reasons` of its mood too."""
    reasons = list(reasons)
    evidence = [str(number) for each in situation.people for number in each.evidence]
    known = [each.identity for each in situation.people if each.attributes or each.seen_before]
    known += [each.identity for each in situation.company if each.standing != "stranger"]
    known += situation.witnesses
    known += [each.about for each in reasons if each.about]
    return Provenance(
        tuple(dict.fromkeys([*evidence, *map(link_id, reasons)])), sources=tuple(sorted({*known}))
    )


def _lines_now(memory: Memory, entry: Entry) -> int:
    """Return how many lines the speaker has said in this conversation, those waiting included."""
    conversation = memory.conversations.get(entry.session_id)
    turns = conversation.messages if conversation else ()
    return max(1, sum(turn.role == "user" and turn.name == entry.seen_as for turn in turns))


def _turns_before(memory: Memory, entry: Entry) -> tuple[Message, ...]:
    """Return the conversation before a line, as far as the answer may show it."""
    conversation = memory.conversations.get(entry.session_id)
    turns = conversation.heard_by((entry.source_entity or UNKNOWN_SPEAKER,)) if conversation else ()
    return tuple(
        turn
        for turn in turns
        # a secret from the conversation would show in what is said aloud next
        if turn.entry_id < entry.id and (entry.private or not turn.private)
    )


def _as_meant(memory: Memory, entry: Entry, turns: Sequence[Message]) -> tuple[str, str]:
    """Return a line without its address, and with the subject that it takes from the talk."""
    spoken = language.get()
    own, speaker = forms(memory.names), forms([entry.seen_as])
    before = [
        SaidBefore(spoken.without_address(turn.content, speaker), own=True)
        if turn.role == "assistant"
        else SaidBefore(spoken.without_address(turn.content, own))
        for turn in turns[-TURNS_READ:]
    ]
    line = spoken.without_address(entry.content, own)
    return line, spoken.completed(line, before, memory.people.names(), entry.seen_as)


def beside(others: Iterable[MemoryRecord], recalled: Iterable[Recalled]) -> Iterator[Recalled]:
    """Yield other memories that the answer may tell, as far as they were not recalled."""
    known = {each.memory.id for each in recalled}
    return (Recalled(each, ScoreParts(0.0, 0.0), 0) for each in others if each.id not in known)


def _with_correction(memory: Memory, each: Recalled) -> Recalled:
    """Return a recalled correction as the statement that it means; else the same.

    It then rests on the line that it corrects too.
    """
    told = each.memory
    if told.record != "entry" or told.quote:
        return each
    entry = memory.journal.get(told.journal_ids[0]) if told.journal_ids else None
    found = entry and corrected_before(memory, entry)
    if not found:
        return each
    known, meant = found
    ids = (*told.journal_ids, known.id)
    return replace(each, memory=replace(told, quote=meant, journal_ids=ids))


@defer.inlineCallbacks
def recall_for(memory: Memory, entry: Entry, text: str) -> Generator[Any, Any, RecallResult]:
    """Recall by a text for the answer to an entry; nothing if the token budget is too small."""
    listeners = (entry.source_entity or UNKNOWN_SPEAKER,)
    felt: tuple[str, ...] = ()
    if memory.settings.RECALL_PROFILE != "relevance":  # which does not count emotions
        line = memory.id, memory.clock(), entry.content, listeners[0], entry.private
        felt = yield offload.read(felt_at, *line)
    itself = frozenset({entry.id})
    request = RecallRequest(text, listeners=listeners, without_entries=itself, emotions=felt)
    try:
        return (yield recall(memory, request))
    except BudgetExceeded as error:
        logger().warning("%s answers without its memory: %s", memory.owner.dbref, error)
        return RecallResult()


def _transcript(memory: Memory, entry: Entry, listener: str, request: ReplyRequest) -> Transcript:
    """Collect the chat log and the conversation, as far as the listener may know them.

    What only the two of them know stands behind what everybody may hear, so that this is the same
    for every listener. The oldest exchanges are left out if the context window cannot hold them.
    """
    public, secret = memory.chat_log.heard_by(listener, private=entry.private)
    beside = sorted(
        (*request.conversation, *_deeds_before(memory, entry)), key=lambda turn: turn.entry_id
    )
    overheard = [
        as_stored(memory, turn) for turn in beside if not memory.chat_log.covers(turn.entry_id)
    ]
    # in the order of the log, where they will stand next time
    public += [message for message in overheard if not message["private"]]
    secret += [message for message in overheard if message["private"]]
    window = memory.settings.CONTEXT_TOKENS
    rest = prompts.tokens(prompts.talk(request, [])) + estimated(
        len(json.dumps(offered_now(memory.settings)))
    )
    room = window * (1 - ANSWER_SHARE - RESULTS_SHARE) - max(rest, window * REST_SHARE)
    public, secret = (
        _within([message for message in part if message["entry"] != entry.id], room * share)
        for part, share in ((public, 1 - SECRETS_SHARE), (secret, SECRETS_SHARE))
    )
    in_private = [{"role": "user", "content": IN_PRIVATE}] if secret else []
    told = [*public, *secret]
    present = here(memory) if any(message["unjudged"] for message in told) else ()
    return Transcript(
        [*map(bare, public), *in_private, *map(bare, secret)],
        tuple(
            Secret(each["content"] or "", tuple(each["witnesses"]), own=each["role"] == "assistant")
            for each in told
            if each["private"] or not may_hear(each["unjudged"], each["witnesses"], present)
        ),
        provenance_of_messages(told),
        tuple(each for each in overheard if each in told),
        frozenset(number for each in told for number in (each["entry"], *each["own"])),
    )


def _deeds_before(memory: Memory, entry: Entry) -> Iterator[Message]:
    """Yield what others did before a line, and both saw: poses and gifts of this talk."""
    for each in memory.journal.tail(DEEDS_READ):
        if each.id < entry.id and each.kind in DEEDS and each.origin == "perceived":
            near = abs(seconds_between(each.timestamp, entry.timestamp)) < TALK_OVER
            seen = entry.source_entity in each.witnesses and not (each.private or each.unjudged)
            if near and seen:
                yield Message(each.id, "user", each.seen_as, each.content, False, each.witnesses)


def _within(told: list[dict[str, Any]], room: float) -> list[dict[str, Any]]:
    """Return the newest exchanges that fit into so many tokens.

    An exchange goes as a whole, its calls with their results. Where some must go, enough go to
    leave room for the next ones too: else every request would begin with another line.
    """
    step = max(1.0, room * DROPPED_AT_ONCE)
    sizes = Counter[int]()
    for message in told:
        sizes[message["entry"]] += prompts.tokens([message])
    excess = max(0.0, sizes.total() - room)
    least = step * math.ceil(excess / step)  # a multiple, so that it stays for a while
    before = accumulate(sizes.values(), initial=0)
    kept = {number for number, gone in zip(sizes, before, strict=False) if gone >= least}
    return [message for message in told if message["entry"] in kept]


def as_stored(memory: Memory, turn: Message) -> dict[str, Any]:
    """Return what `store.chat_log` would keep with a turn that is not in it."""
    return chat_log.heard(turn, memory.journal.get(turn.entry_id))
