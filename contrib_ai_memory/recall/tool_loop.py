"""The tool loop of a reply: a language model may call tools, for a few rounds, before it answers.

Tools run on the reactor thread, their work on the store on the memory worker thread. Memories that
a tool recalls are filtered for the listener. What the NPC notes in the loop is as private as the
most private of what the model was given; what it says and does, if that tells a secret
(`told_secrets`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

from twisted.internet import defer
from twisted.python.failure import Failure

from .. import conf, language, offload
from ..embedding import emotions
from ..ingest.experiences import remember_or_reinforce
from ..llm import prompts, router, tools
from ..llm.spoken import is_silence, utterance, voice_of
from ..log import logger
from ..privacy import Privacy, Witnessed, may_hear, shared_privacy
from ..records import (
    CONSCIOUS,
    NO_PROVENANCE,
    OWN,
    RETOLD,
    Entry,
    MemoryRecord,
    Percept,
    Provenance,
    Recalled,
    RecallRequest,
    ReplyRequest,
)
from ..store import memory_store
from ..store.chat_log import bare
from ..store.evidence import EvidenceGone, Work
from ..store.links import link_id
from ..store.npc_memory import Memory
from ..store.payload import memory_id_for
from ..store.profiles import Profile, ProfileObservation
from ..text.names import forms
from .budget import BudgetExceeded
from .search import emotion_request, recall
from .told_secrets import Secret, in_time, tells_secret

UNKNOWN_SPEAKER = "?"  # identity of a speaker without one; no memory has it as a witness
ROUNDS = 5  # DESIGN §7; after them the model is asked for text alone
REFUSED = "Not done"  # begins the result of a call that was not carried out
MAX_ACTIONS = 8  # things said and done before the answer
RETELLS_FROM = 0.8  # share of the words of an answer that are in one memory

RESULTS_SHARE = 1 / 8  # of the context window, for the results of all recalls
LEAST_RESULT = 50  # tokens that must be left of it for one more


class ToolError(RuntimeError):
    """A tool call cannot be carried out. The message is returned to the model."""


class Actions(Protocol):
    """What the tools of an NPC can do in the world. Each may raise ToolError."""

    spoken: list[int]  # journal ids of what it said and did

    def present(self, name: str) -> str | None:
        """Return the identity of the one person here of that name."""

    def say(self, text: str, provenance: Provenance, *, private: bool) -> None:
        """Say it aloud, or whisper it to the one who is answered."""

    def whisper(self, name: str, text: str, provenance: Provenance) -> None: ...

    def emote(self, text: str, provenance: Provenance) -> None: ...

    def go_to_sleep(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Transcript:
    """The conversation so far, oldest message first."""

    messages: prompts.Messages
    secrets: tuple[Secret, ...] = ()  # those of the messages that are private
    provenance: Provenance = NO_PROVENANCE  # also of what is told beside the recalled memories
    overheard: tuple[dict[str, Any], ...] = ()  # those that the chat log lacks, as it keeps them
    entries: frozenset[int] = frozenset()  # journal ids


class ToolLoop:
    """The exchange with a language model that makes one answer."""

    evidence: tuple[Entry | MemoryRecord | int, ...] = ()  # read for it, beside its provenance
    told: Provenance = NO_PROVENANCE  # of the scene
    private = False  # whether the answer tells a secret
    _work: Work
    _actions: Actions

    def __init__(self, memory: Memory, entry: Entry, request: ReplyRequest, transcript: Transcript):
        self.opening = prompts.talk(request, transcript.messages)
        # what was given to the model so far
        self.recalled: tuple[Recalled, ...] = () if request.plain else request.recalled
        self.rounds: list[dict[str, Any]] = []  # calls and results, each with who may hear of it
        self.overheard = transcript.overheard
        self._memory = memory
        self._entry = entry
        self._listener = entry.source_entity or UNKNOWN_SPEAKER
        self._request = request
        self._voice = voice_of(request, self.opening[0]["content"])
        self._transcript = transcript
        self._whispers: list[Privacy] = []  # by tools of the present round
        self.said_by_tools: list[str] = []
        self._action_count = 0
        self._acted = False
        self._result_tokens = 0

    @defer.inlineCallbacks
    def run(self, work: Work, actions: Actions) -> Generator[Any, Any, str | None]:
        """Run the loop; what tools recall is added to the evidence of `work`.

        Returns (as a Deferred):
            The answer; empty if tools have given it or the NPC chooses to be silent, None if
            there is no model or no answer of it.
        """
        self._work, self._actions = work, actions
        settings = self._memory.settings
        llm = settings.LLM
        if llm is None:
            return None
        messages = self.opening
        offered = offered_now(settings)
        began = time.monotonic()
        for number in range(ROUNDS + 1):
            over = number == ROUNDS or time.monotonic() - began >= llm.timeout
            answered, turn = yield router.ask(
                "converse",
                messages,
                () if over else offered,
                self._voice,
                by=(router.MODEL,),
                priority=offload.REPLY,
                npc=self._memory.id,
                settings=settings,
            )
            turn = turn or tools.Turn("")
            if (yield self._is_assistant(turn.text)):
                turn = replace(turn, text="", seen="")
            work.check()
            if turn.seen:
                yield self._result(tools.emote(turn.seen))
            if not turn.calls:
                break
            done = yield self._round(turn)
            messages = [*messages, *map(bare, done)]
            refused = any(m["role"] == "tool" and m["content"].startswith(REFUSED) for m in done)
            if not tools.needs_result(turn) and not refused:
                turn = replace(turn, text="")  # it was said beside the calls
                break
        if is_silence(turn.text):
            return None if llm.plain else ""  # it was not told that it may be silent
        if not turn.text and not self.said_by_tools and not (answered and self._acted):
            return None
        text = self._unsaid(turn.text)
        self.private = self._entry.private or (yield self.tells(text, marked=turn.whispered))
        work.check()
        return text

    @property
    def provenance(self) -> Provenance:
        """The provenance of words said now: all that the model was given so far."""
        return provenance_of(self._entry, self.recalled, self._transcript.provenance)

    def provenance_of_words(self, text: str) -> Provenance:
        """Return the provenance of these words, marked if they only retell a memory."""
        return marked(self.provenance, retells(text, self.recalled))

    # --- privacy ------------------------------------------------------------------------------

    @property
    def _sources(self) -> list[Witnessed]:
        """All that the model was given so far."""
        recalled = (item.memory for item in self.recalled)
        return [self._entry, *self._transcript.secrets, *recalled]

    def tells(self, text: str, *, to: str | None = None, marked: bool = False) -> defer.Deferred:
        """Return, as a Deferred, whether words tell a secret that one identity, or others here,
        may not hear; `marked` by the model as one."""
        entry = self._entry
        memories = [item.memory for item in self.recalled]
        known = [
            *([Secret(entry.content, entry.witnesses)] if entry.private else []),
            *self._transcript.secrets,
            *(
                Secret(each.said, each.witnesses, own=OWN in each.tags)
                for each in memories
                if is_kept(self._memory, each)
            ),
        ]
        secrets = [
            each for each in known if to is None or not may_hear(True, each.witnesses, (to,))
        ]
        shown = {each.text for each in known}
        request = self._request
        public = [
            *(each.content for each in memories if not is_kept(self._memory, each)),
            *(each["content"] or "" for each in self._transcript.messages),
            *(request.persona, request.goals, request.npc_name, request.speaker),
            *(request.situation.place, *request.situation.present),
        ]
        asked = "" if entry.private else entry.content
        public = [each for each in public if each not in shown]
        return tells_secret(text, asked, secrets, public, marked=marked)

    # --- one round ----------------------------------------------------------------------------

    @defer.inlineCallbacks
    def _round(self, turn: tools.Turn) -> Generator[Any, Any, list[dict[str, Any]]]:
        """Carry out the calls of a turn. Returns its message and the results."""
        self._whispers = []
        messages = [tools.as_message(turn)]
        yield self._say_beside(turn)
        for call in turn.calls:
            result = yield self._result(call)
            messages.append(tools.result(call, result))
        privacy = shared_privacy([*self._sources, *self._whispers])
        beside = {"private": privacy.private, "witnesses": list(privacy.witnesses)}
        # the words beside the calls are kept as what they are: the NPC's own, heard by those here
        calls, *results = messages
        self.rounds += [each | beside for each in (calls | {"content": None}, *results)]
        return messages

    @defer.inlineCallbacks
    def _result(self, call: tools.ToolCall) -> Generator[Any, Any, str]:
        """Carry out a call. Returns its result or its error as text for the model."""
        try:
            arguments = tools.read(call)
            result = yield defer.maybeDeferred(_TOOLS[type(arguments)], self, arguments)
            self._acted = self._acted or type(arguments) in tools.ACTING
        except (tools.BadCall, ToolError) as problem:
            return f"{REFUSED}: {problem}"
        except (offload.Busy, offload.TimedOut):
            return f"{REFUSED}: there was no time for it."
        except EvidenceGone:
            raise
        except Exception:  # noqa: BLE001 - one broken tool must not cost the answer
            offload.log_failure(Failure(), f"the tool {call.name} of {self._memory.owner.dbref}")
            return f"{REFUSED}: it failed."
        return result

    # --- remembering --------------------------------------------------------------------------

    @defer.inlineCallbacks
    def _memorize(self, arguments: tools.Memorize) -> Generator[Any, Any, str]:
        noted = yield self._note(arguments.essence)
        experience = MemoryRecord.drawn(
            memory_id_for(self._memory.id, "experience", noted.id),
            arguments.essence,
            "experience",
            [noted],
            about=self._entry.source_entity,
            importance=max(arguments.weight, conf.CONSCIOUS_WEIGHT),
            memory_weight=arguments.weight,
            dominant_emotions=tuple(arguments.emotions),
            the_lesson=arguments.lesson,
            journal_ids=(self._entry.id, noted.id),
            tags=(CONSCIOUS,),
            provider=router.MODEL,
        )
        yield self._work.run(commit, self._memory.id, experience)
        return "It is remembered."

    @defer.inlineCallbacks
    def _note(self, text: str, *about: str) -> Generator[Any, Any, Entry]:
        """Write a note of the NPC into its journal; it is never learned from or pruned.

        It is kept to those who may know all that the model was given, if it may tell a secret.
        """
        entry = self._entry
        unjudged = any(each.memory.private and not each.memory.confided for each in self.recalled)
        secret = entry.private or unjudged or (yield self.tells(text, marked=True))
        privacy = shared_privacy(self._sources if secret else [entry])
        self._work.check()
        return self._memory.perceive(
            Percept(
                content=text,
                kind="note",
                seen_as=self._memory.name,
                source=self._memory.identity,
                origin="self",
                witnesses=privacy.witnesses,
                private=privacy.private,
                entities=tuple(sorted({*about, *filter(None, [entry.source_entity])})),
                location=entry.location,
                session_id=entry.session_id,
                **asdict(self.provenance) | {"tags": (CONSCIOUS,)},
            )
        )

    @defer.inlineCallbacks
    def _recall(self, arguments: tools.Recall | tools.RecallEmotion) -> Generator[Any, Any, str]:
        """Recall for the listener, within the tokens left for results."""
        if isinstance(arguments, tools.Recall):
            request = RecallRequest(arguments.query)
        else:
            request = emotion_request(arguments.emotions)
        settings = self._memory.settings
        left = int(settings.CONTEXT_TOKENS * RESULTS_SHARE) - self._result_tokens
        if left < LEAST_RESULT:
            raise ToolError("you have recalled enough for one answer: give it now")
        request = replace(
            request,
            listeners=(self._listener,),
            token_budget=min(settings.RECALL_TOKENS, left),
            without_entries=frozenset({self._entry.id}),
        )
        try:
            found = yield recall(self._memory, request)
        except BudgetExceeded:
            return "The memories that were found are too long."
        self._work.add_evidence(item.memory for item in found.memories)
        self._work.check()
        known = {item.memory.id for item in self.recalled}
        self.recalled += tuple(item for item in found.memories if item.memory.id not in known)
        self._result_tokens += found.total_tokens
        return found.prompt_block or "You remember nothing about that."

    @defer.inlineCallbacks
    def _note_about(self, arguments: tools.NoteAbout) -> Generator[Any, Any, str]:
        identity = self._identity_of(arguments.name)
        noted = yield self._note(arguments.text, identity)
        profiles = self._memory.profiles
        profile = profiles.get(identity) or Profile(identity, name=arguments.name)
        witnesses = noted.witnesses if noted.private else ()
        seen = ProfileObservation(
            arguments.text, noted.id, noted.timestamp, noted.private, witnesses
        )
        profiles.put(profile.with_observations([seen]))
        return f"It is noted about {arguments.name}."

    def _identity_of(self, name: str) -> str:
        """Return the identity of the person of that name who is here or known."""
        here = self._actions.present(name)
        known = [each.identity for each in self._memory.people if each.name.lower() == name.lower()]
        if name.lower() == self._memory.name.lower() or here == self._memory.identity:
            raise ToolError("that is you")
        if here is None and len(known) != 1:
            raise ToolError(f"you know {len(known) or 'nobody'} of the name {name}")
        return here or known[0]

    # --- acting -------------------------------------------------------------------------------

    def _next_action(self) -> Actions:
        if self._action_count >= MAX_ACTIONS:
            raise ToolError("that was enough for now: give your answer")
        self._action_count += 1
        return self._actions

    @defer.inlineCallbacks
    def _say_beside(self, turn: tools.Turn) -> Generator[Any, Any, None]:
        """Say the words that the model sent beside its calls, as the tool `say` would."""
        text = self._unsaid(turn.text)
        told_by_tool = any(text in call.arguments for call in turn.calls)
        if text and not told_by_tool:
            try:
                yield self._aloud(text, marked=turn.whispered)
            except ToolError as problem:
                logger().info("words beside a call are not said: %s", problem)

    def _unsaid(self, text: str) -> str:
        """Return what was not said before of a text that may begin as an earlier one did."""
        for said in self.said_by_tools:
            text = text.removeprefix(said).lstrip()
        return text

    @defer.inlineCallbacks
    def _spoken(self, text: str, to: str = "") -> Generator[Any, Any, str]:
        """Return what can be spoken of a tool's text to somebody, or to the one who is answered."""
        listener = to or self._voice.listener
        told = utterance(text, replace(self._voice, sentences=0, listener=listener)).text
        if not told:
            raise ToolError("there are no words in it that can be spoken")
        if (yield self._is_assistant(told)):
            raise ToolError("that is not what your character would say")
        return told

    @defer.inlineCallbacks
    def _is_assistant(self, text: str) -> Generator[Any, Any, bool]:
        """Return whether the model speaks as itself, which is not said."""
        if not text or is_silence(text):
            return False
        request = self._request
        found = yield speaks_as_assistant(text, request.npc_name, request.speaker)
        if found:
            logger().info("%s: the model spoke as an assistant.", self._memory.owner.dbref)
        return found

    @defer.inlineCallbacks
    def _aloud(self, text: str, *, marked: bool = False) -> Generator[Any, Any, str]:
        """Say it aloud, or whisper it if it tells a secret."""
        actions = self._next_action()
        text = yield self._spoken(text)
        secret = self._entry.private or (yield self.tells(text, marked=marked))
        self._work.check()
        actions.say(text, self.provenance_of_words(text), private=secret)
        self.said_by_tools.append(text)
        return f"Whispered to {self._request.speaker}: it is a secret." if secret else "Said."

    @defer.inlineCallbacks
    def _whisper(self, arguments: tools.Whisper) -> Generator[Any, Any, str]:
        name, actions = arguments.name, self._next_action()
        identity = actions.present(name)
        if identity is None:
            raise ToolError(f"nobody here is called {name}")
        text = yield self._spoken(arguments.text, name)
        if (yield self.tells(text, to=identity)):
            raise ToolError(f"what you were told is a secret that {name} may not hear")
        self._work.check()
        actions.whisper(name, text, self.provenance_of_words(text))
        self._whispers.append(Privacy(True, (identity,)))
        if identity == self._listener:
            self.said_by_tools.append(text)
        return f"Whispered to {name}."

    @defer.inlineCallbacks
    def _emote(self, arguments: tools.Emote) -> Generator[Any, Any, str]:
        actions, text = self._next_action(), arguments.text.strip("*_ ")
        if (yield self.tells(text)):
            raise ToolError("what you were told is a secret, and everybody here would see it")
        self._work.check()
        actions.emote(text, self.provenance)
        return "Done."

    def _go_to_sleep(self, arguments: tools.GoToSleep) -> str:
        self._next_action().go_to_sleep()
        return "You are falling asleep."


_TOOLS: dict[type[tools.Arguments], Callable[[ToolLoop, Any], Any]] = {
    tools.Memorize: ToolLoop._memorize,
    tools.Recall: ToolLoop._recall,
    tools.RecallEmotion: ToolLoop._recall,
    tools.NoteAbout: ToolLoop._note_about,
    tools.GoToSleep: ToolLoop._go_to_sleep,
    tools.Say: lambda loop, arguments: loop._aloud(arguments.text),
    tools.Whisper: ToolLoop._whisper,
    tools.Emote: ToolLoop._emote,
}


def offered_now(settings: conf.Settings) -> list[tools.Tool]:
    """Return the tools that a reply may call, as the settings of the NPC have it."""
    if settings.LLM and settings.LLM.plain:
        return []
    needless = () if settings.by_sources else tools.NEEDLESS
    kinds = [each for each in (*tools.REMEMBERING, *tools.ACTING) if each not in needless]
    return tools.offered(kinds, whole=settings.by_sources)


def provenance_of(
    answered: Entry, recalled: Iterable[Recalled], talk: Provenance = NO_PROVENANCE
) -> Provenance:
    """Return the provenance of an answer from these memories and the conversation so far."""
    memories = [item.memory for item in recalled]
    lines = [number for each in memories if each.record == "entry" for number in each.journal_ids]
    evidence = (str(answered.id), *map(link_id, memories), *map(str, lines), *talk.evidence)
    sources = {answered.source_entity, *(memory.about for memory in memories), *talk.sources}
    return Provenance(
        tuple(dict.fromkeys(evidence)), talk.context, tuple(sorted(filter(None, sources)))
    )


def here(memory: Memory) -> tuple[str, ...]:
    """Return the identities of those who hear what the NPC says aloud now."""
    return tuple(map(memory.owner.get_memory_guise, memory.owner.seen_here()))


def is_kept(memory: Memory, told: MemoryRecord) -> bool:
    """Return whether a memory is not said aloud.

    One that no model has judged is said to those who were there.
    """
    return told.private and (told.confided or not may_hear(True, told.witnesses, here(memory)))


def marked(provenance: Provenance, retold: bool) -> Provenance:
    """Mark the provenance of words that only repeat a stock phrase or a memory."""
    return replace(provenance, tags=(RETOLD,)) if retold else provenance


def retells(text: str, recalled: Iterable[Recalled]) -> bool:
    """Return whether nearly all that words say is in one of the recalled memories."""
    content_words = language.get().content_words
    said = content_words(text)
    if not said:
        return True
    return any(
        len(said & content_words(item.memory.content)) >= RETELLS_FROM * len(said)
        for item in recalled
    )


def commit(agent_id: str, experience: MemoryRecord) -> None:
    """Store an experience as a conscious commit [B], which is never pruned (worker thread).

    The labels missing to three emotions are those nearest to the essence.
    """
    felt = (*experience.dominant_emotions, *emotions.classify([experience.content])[0])
    felt = tuple(dict.fromkeys(felt))[: conf.EMOTIONS_PER_EXPERIENCE]
    kept = remember_or_reinforce(agent_id, replace(experience, dominant_emotions=felt))
    store = memory_store.shared()
    for known in store.get([kept]):
        if CONSCIOUS not in known.tags:  # the background loop had stored the same
            importance = max(known.importance, experience.importance)
            store.change(kept, tags=[*known.tags, CONSCIOUS], importance=importance)


def speaks_as_assistant(text: str, *names: str) -> defer.Deferred:
    """Return, as a Deferred, whether a model's reply is an assistant's rather than its character's.

    False if there is no time for it. `names` of people in the talk are left out of the comparison.
    """
    said = language.get().without_address(text, forms(names))
    return in_time(False, language.call, "speaks_as_assistant", said)
