"""Talk with a language model that may call tools: think, look things up, act, and then answer.

At most five rounds. The model is asked on its own lane; the tools run on the reactor thread, the
store's part of them on the memory lane. What a tool brings up is filtered for the one who listens,
and whatever comes of the talk is as private as the most private of what the model was shown.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

from twisted.internet import defer
from twisted.python.failure import Failure

from .. import conf, offload
from ..embedding import emotions
from ..llm import prompts, router, tools
from ..records import (
    FROM_NOTHING,
    Entry,
    MemoryRecord,
    Percept,
    Recalled,
    ReplyRequest,
    ToldFrom,
    may_hear,
    shared_privacy,
)
from ..store import facts
from ..store.chat_log import bare
from ..store.evidence import EvidenceGone, Work
from ..store.links import link_id
from ..store.payload import memory_id_for
from ..store.profiles import Profile, ProfileObservation
from .budget import BudgetExceeded

ROUNDS = 5  # DESIGN §7; after them the model is asked for text alone
ACTS = 8  # things said and done in one talk, before the answer
CONSCIOUS = "conscious"

# of the context window
RESULTS_SHARE = 1 / 8  # for all that tools bring up
RECALL_SHARE = 1 / 16  # of which one call gets so much

Keep = Callable[[str, MemoryRecord], str]  # mind, experience -> the id of what is kept


class CannotDo(RuntimeError):
    """A tool's deed is not done. The message is for the model that wished it."""


class Hands(Protocol):
    """What an NPC does in the world while it thinks; `assistant` gives it in."""

    spoken: list[int]  # journal ids of what it said and did

    def present(self, name: str) -> str | None:
        """The identity of the one person here of that name. Raises CannotDo for several."""

    def say(self, text: str, told_from: ToldFrom, *, private: bool) -> None:
        """Aloud, or for whoever is answered alone. Raises CannotDo where they have left."""

    def whisper(self, name: str, text: str, told_from: ToldFrom) -> None: ...

    def emote(self, text: str, told_from: ToldFrom) -> None: ...

    def go_to_sleep(self) -> None:
        """Raises CannotDo where it is needed awake."""


@dataclass(frozen=True, slots=True)
class Confided:
    """Something of which no more is known here than who may hear it."""

    witnesses: tuple[str, ...]
    private: bool = True


@dataclass(frozen=True, slots=True)
class Past:
    """The talk so far as messages, what of it was told in confidence, and where it comes from."""

    messages: prompts.Messages
    confided: tuple[Confided, ...] = ()
    told_from: ToldFrom = FROM_NOTHING


class Talk:
    """One answer in the making.

    Attributes:
        told: The memories that the model was shown.
        rounds: Calls and results, each with who may hear of them again.
        opening: The messages that the model is sent first.
    """

    def __init__(
        self,
        memory: Any,
        entry: Entry,
        listener: str,
        request: ReplyRequest,
        past: Past,
        hands: Hands | None,
        keep: Keep,
    ):
        self.told: tuple[Recalled, ...] = request.recalled
        self.rounds: list[dict[str, Any]] = []
        self.opening = prompts.talk(request, past.messages)
        self._memory = memory
        self._entry = entry
        self._listener = listener
        self._request = request
        self._hands = hands
        self._keep = keep
        self._past = past
        self._whispered: list[Confided] = []  # by a tool of the present round
        self._said: list[str] = []
        self._acts = 0
        self._acted = False
        self._brought_up = 0  # tokens of results
        self._work: Work | None = None

    @defer.inlineCallbacks
    def converse(self, work: Work) -> Generator[Any, Any, str | None]:
        """The answer; empty where its tools have given it. None where no model does.

        Args:
            work: Rests on what the model is shown first; what tools bring up is added.
        """
        self._work = work
        llm = conf.get().LLM
        if llm is None:
            return None
        messages = self.opening
        offered = tools.offered(tools.REMEMBERING + (tools.ACTING if self._hands else ()))
        began = time.monotonic()
        for number in range(ROUNDS + 1):
            over = number == ROUNDS or time.monotonic() - began >= llm.timeout
            answered, turn = yield router.ask_model(
                "converse",
                messages,
                () if over else offered,
                priority=offload.REPLY,
                npc=self._memory.id,
            )
            work.check()
            if not answered or not turn.calls:
                break
            done = yield self._round(turn)
            messages = [*messages, *map(bare, done)]
        text = turn.text if answered else ""
        if not text and not self._said and not (answered and self._acted):
            return None
        return "" if text in self._said else text

    @property
    def told_from(self) -> ToldFrom:
        """All that the model was given by now: what comes of it is told from that."""
        return told_from(self._entry, self.told, self._past.told_from)

    # --- who may hear of it -------------------------------------------------------------------

    @property
    def _sources(self) -> list[Any]:
        """All that the model knows by now."""
        return [self._entry, *self._past.confided, *(item.memory for item in self.told)]

    @property
    def _secret(self) -> bool:
        return any(source.private for source in self._sources)

    def _may_know(self, identity: str) -> bool:
        return all(
            may_hear(source.private, source.witnesses, (identity,)) for source in self._sources
        )

    # --- one round ----------------------------------------------------------------------------

    @defer.inlineCallbacks
    def _round(self, turn: tools.Turn) -> Generator[Any, Any, list[dict[str, Any]]]:
        """Do what a turn calls for: its message and the results."""
        self._whispered = []
        messages = [tools.as_message(turn)]
        for call in turn.calls:
            result = yield self._result(call)
            messages.append(tools.result(call, result))
        if turn.unheard:
            messages[-1]["content"] += (
                f" ({turn.unheard} more calls were not done: {tools.CALLS_A_ROUND} at once.)"
            )
        private, witnesses = shared_privacy([*self._sources, *self._whispered])
        beside = {"private": private, "witnesses": list(witnesses)}
        self.rounds += [message | beside for message in messages]
        return messages

    @defer.inlineCallbacks
    def _result(self, call: tools.ToolCall) -> Generator[Any, Any, str]:
        """What the model is told of a call: never an exception."""
        try:
            wish = tools.read(call)
            told = yield defer.maybeDeferred(_DOING[type(wish)], self, wish)
            self._acted = self._acted or type(wish) in tools.ACTING
        except (tools.BadCall, CannotDo, emotions.UnknownEmotion) as problem:
            return f"Not done: {problem}"
        except (offload.Busy, offload.TimedOut):
            return "Not done: there was no time for it."
        except EvidenceGone:
            raise
        except Exception:  # noqa: BLE001 - the answer does not hang on one tool
            offload.log_failure(Failure(), f"the tool {call.name} of {self._memory.owner.dbref}")
            return "Not done: it failed."
        return told

    # --- remembering --------------------------------------------------------------------------

    @defer.inlineCallbacks
    def _memorize(self, wish: tools.Memorize) -> Generator[Any, Any, str]:
        noted = self._note(wish.essence)
        experience = MemoryRecord(
            id=memory_id_for(self._memory.id, "experience", noted.id),
            content=wish.essence,
            key=wish.essence,
            record="experience",
            about=self._entry.source_entity,
            session_id=self._entry.session_id,
            importance=max(wish.weight, conf.CONSCIOUS_WEIGHT),
            memory_weight=wish.weight,
            dominant_emotions=tuple(wish.emotions),
            the_lesson=wish.lesson,
            journal_ids=(self._entry.id, noted.id),
            entities=noted.entities,
            witnesses=noted.witnesses,
            private=noted.private,
            created_at=noted.timestamp,
            last_accessed=noted.timestamp,
            tags=(CONSCIOUS,),
            provider=router.Model.name,
        )
        yield self._work.run(commit, self._memory.id, experience, self._keep)
        return "It is kept in mind."

    def _note(self, text: str, *about: str) -> Entry:
        """The NPC's own thought in its journal: never learned, never cleaned away."""
        owner, entry = self._memory.owner, self._entry
        private, witnesses = shared_privacy(self._sources)
        return self._memory.perceive(
            Percept(
                content=text,
                kind="note",
                seen_as=self._memory.name,
                source=owner.get_memory_identity(owner),
                origin="self",
                witnesses=witnesses,
                private=private,
                entities=tuple(sorted({*about, *filter(None, [entry.source_entity])})),
                location=entry.location,
                session_id=entry.session_id,
                tags=(CONSCIOUS,),
                **asdict(self.told_from),
            )
        )

    def _recall(self, wish: tools.Recall) -> defer.Deferred:
        return self._bring_up(self._memory.recall, wish.query)

    def _recall_emotion(self, wish: tools.RecallEmotion) -> defer.Deferred:
        return self._bring_up(self._memory.recall_emotion, wish.emotions)

    @defer.inlineCallbacks
    def _bring_up(self, recall: Callable[..., Any], what: Any) -> Generator[Any, Any, str]:
        settings = conf.get()
        if self._brought_up >= settings.CONTEXT_TOKENS * RESULTS_SHARE:
            raise CannotDo("enough has come to mind for one answer: give it now")
        tokens = max(50, int(settings.CONTEXT_TOKENS * RECALL_SHARE))
        try:
            found = yield recall(
                what,
                speaker=self._listener,
                token_budget=min(settings.RECALL_TOKENS, tokens),
                without_entries=(self._entry.id,),
            )
        except BudgetExceeded:
            return "What comes to mind is too long to think of now."
        self._work.add_evidence(item.memory for item in found.memories)
        self._work.check()
        shown = {item.memory.id for item in self.told}
        self.told += tuple(item for item in found.memories if item.memory.id not in shown)
        self._brought_up += found.total_tokens
        return found.prompt_block or "Nothing comes to mind."

    def _note_about(self, wish: tools.NoteAbout) -> str:
        identity = self._known_as(wish.name)
        noted = self._note(wish.text, identity)
        profiles = self._memory.profiles
        profile = profiles.get(identity) or Profile(identity, name=wish.name)
        witnesses = noted.witnesses if noted.private else ()
        seen = ProfileObservation(wish.text, noted.id, noted.timestamp, noted.private, witnesses)
        profiles.put(profile.with_observations([seen]))
        return f"It is noted about {wish.name}."

    def _known_as(self, name: str) -> str:
        here = self._hands.present(name) if self._hands else None
        known = [each.identity for each in self._memory.people if each.name.lower() == name.lower()]
        owner = self._memory.owner
        if name.lower() == self._memory.name.lower() or here == owner.get_memory_identity(owner):
            raise CannotDo("that is you")
        if here is None and len(known) != 1:
            raise CannotDo(f"you know {len(known) or 'nobody'} of the name {name}")
        return here or known[0]

    # --- acting -------------------------------------------------------------------------------

    def _acting(self) -> Hands:
        if self._hands is None:
            raise CannotDo("you cannot act now")
        if self._acts >= ACTS:
            raise CannotDo("that was enough for now: give your answer")
        self._acts += 1
        return self._hands

    def _say(self, wish: tools.Say) -> str:
        secret = self._secret
        self._acting().say(wish.text, self.told_from, private=secret)
        self._said.append(wish.text)
        return f"Whispered to {self._request.speaker}: it is a secret." if secret else "Said."

    def _whisper(self, wish: tools.Whisper) -> str:
        hands = self._acting()
        identity = hands.present(wish.name)
        if identity is None:
            raise CannotDo(f"nobody here is called {wish.name}")
        if not self._may_know(identity):
            raise CannotDo(f"what you have in mind is a secret, and {wish.name} may not hear it")
        hands.whisper(wish.name, wish.text, self.told_from)
        self._whispered.append(Confided((identity,)))
        if identity == self._listener:
            self._said.append(wish.text)
        return f"Whispered to {wish.name}."

    def _emote(self, wish: tools.Emote) -> str:
        if self._secret:
            raise CannotDo("what you have in mind is a secret, and all here would see it")
        self._acting().emote(wish.text, self.told_from)
        return "Done."

    def _go_to_sleep(self, wish: tools.GoToSleep) -> str:
        self._acting().go_to_sleep()
        return "You are falling asleep."


_DOING: dict[type[tools.Arguments], Callable[[Talk, Any], Any]] = {
    tools.Memorize: Talk._memorize,
    tools.Recall: Talk._recall,
    tools.RecallEmotion: Talk._recall_emotion,
    tools.NoteAbout: Talk._note_about,
    tools.GoToSleep: Talk._go_to_sleep,
    tools.Say: Talk._say,
    tools.Whisper: Talk._whisper,
    tools.Emote: Talk._emote,
}


def told_from(
    asked: Entry, recalled: Iterable[Recalled], past: ToldFrom = FROM_NOTHING
) -> ToldFrom:
    """What an answer to `asked` rests on: these memories, and the talk so far."""
    told = [item.memory for item in recalled]
    evidence = (str(asked.id), *map(link_id, told), *past.evidence)
    whose = {asked.source_entity, *(memory.about for memory in told), *past.sources} - {None}
    return ToldFrom(tuple(dict.fromkeys(evidence)), past.context, tuple(sorted(whose)))


def commit(agent_id: str, experience: MemoryRecord, keep: Keep) -> None:
    """A conscious commit [B]: stored at once, and marked so that no cleaning takes it (worker
    thread). Of the emotions that are missing to three, the nearest to the essence are taken."""
    felt = (*experience.dominant_emotions, *emotions.classify([experience.content])[0])
    felt = tuple(dict.fromkeys(felt))[: conf.EMOTIONS_PER_EXPERIENCE]
    kept = keep(agent_id, replace(experience, dominant_emotions=felt))
    store = facts.shared()
    for known in store.get([kept]):
        if CONSCIOUS not in known.tags:  # the background loop had kept the same
            importance = max(known.importance, experience.importance)
            store.change(kept, tags=[*known.tags, CONSCIOUS], importance=importance)
