"""MemoryMixin: an NPC hears what happens around it, and speaks and acts.

What it perceives becomes journal entries; lines that want an answer are queued at its heartbeat
(`script`). Mix it into any Character typeclass, before the base:

    class AssistantNPC(MemoryMixin, DefaultCharacter):
        ...
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from contextvars import ContextVar, copy_context
from dataclasses import asdict, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db import OperationalError
from django.utils.translation import gettext
from evennia.objects.objects import DefaultCharacter, DefaultObject
from evennia.typeclasses.attributes import ModelAttributeBackend
from evennia.utils import gametime, lazy_property
from evennia.utils.logger import log_err
from evennia.utils.utils import make_iter

from . import conf, deletion, hearing_queue, language
from .attention import LEAN, HeardLine, attend
from .handler import MemoryHandler, shed_copied
from .log import logger
from .privacy import masked, unmasked
from .records import NO_PROVENANCE, OF_NPC, RETOLD, Entry, Percept, Provenance
from .script import AssistantScript
from .store import owner, pause
from .store.attributes import NPCAttributes
from .store.people import entity_type_of
from .store.removal import Removal
from .store.source_mappings import MemoryDb
from .text.names import as_name, folded, forms
from .text.sanitising import as_shown, oneline, sanitise, speech_in, without_speech

OFF_TAG = "memory_off"  # on an NPC, a room or a player: it is not perceived
CATEGORY = "ai_memory"
THINKING = "thinking"  # type of a message that no NPC perceives
WITNESSES_KEPT = 50
ACTION_WORDS = 3  # least words of an emote besides name and speech: "says softly" is no action

_MOVES = frozenset({"move", "traverse", "teleport", "follow", "flee", "home", "arrive", "leave"})
# how Evennia tells of a move; the names of places in it may be any words
_LEAVES = "{object} is leaving {origin}, heading for {destination}."
_ARRIVES = (
    "{object} arrives to {destination} from {origin}.",
    "{object} arrives to {destination}.",
)
# … and words of departure in what a game tells instead
_LEAVING = re.compile(r"\b(?:leav|depart|heading|goes|gone|exits|vanish|disappear|has left)")
_DBREF = re.compile(r"\(#\d+\)")

_Base: Any = DefaultCharacter if TYPE_CHECKING else object  # the mixin comes before it


class MemoryMixin(_Base):
    """A lasting memory for a Character typeclass, at `npc.memory`."""

    # settings of this kind of NPC, in place of those of CONTRIB_AI_MEMORY; a class inherits what it
    # does not set (`store.npc_settings`)
    memory_settings: dict[str, Any]
    own_memory_keys: tuple[str, ...] = ()  # Attributes of the typeclass that copies do not get
    _own_voice = False  # True while its own words are sent, which are journalled already
    _emoted: tuple[Any, list[str]] = (None, [])  # speaker and speeches of an emote being sent

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if _behind_its_base(cls) and not any(map(_behind_its_base, cls.__bases__)):
            logger().error("%s", wrong_order(cls))
            log_err(wrong_order(cls))

    @lazy_property
    def attributes(self) -> NPCAttributes:
        """Evennia's handler; it hides the memory from copies and prototypes."""
        return NPCAttributes(self, ModelAttributeBackend)

    @lazy_property
    def db(self) -> MemoryDb:
        """Evennia's `db`, with the memory's Attributes as the mappings of [A]."""
        return MemoryDb(self)

    @property
    def memory(self) -> MemoryHandler:
        """Everything this character remembers. The first access starts its heartbeat."""
        hearing_queue.catch_up(self)
        if "memory" not in self.__dict__:
            self.__dict__["memory"] = self._open_memory()
        return self.__dict__["memory"]

    def _open_memory(self) -> MemoryHandler:
        handler = MemoryHandler(self)
        AssistantScript.of(self)
        return handler

    @property
    def assistant(self) -> AssistantScript:
        """The heartbeat, which answers, learns and sleeps."""
        return AssistantScript.of(self)

    def is_named(self, speech: str, before: str = r"\b") -> bool:
        """Return whether `speech` names this character, by key or alias, behind a mark."""
        names = (self.key, *self.aliases.all())
        return any(re.search(rf"{before}{re.escape(name)}\b", speech, re.I) for name in names)

    # --- hooks to override --------------------------------------------------------------------

    def get_memory_identity(self, obj: Any) -> str:
        """Return the permanent identity of `obj`: by default its dbref and creation time.

        Names change, and a rebuilt database reuses dbrefs. Override it if a person can have
        several bodies. No white space.
        """
        return f"#{obj.id}@{int(obj.db_date_created.timestamp()):x}"

    def get_memory_guise(self, obj: Any) -> str:
        """Return whom it takes `obj` for in all that it hears and says: by default its identity, or
        somebody else (`privacy.masked`) while a mask of rpsystem hides it.

        Erasure, locks and limits go by the identity. Override it for disguises of the game's own.
        """
        identity = self.get_memory_identity(obj)
        if obj is self or not hasattr(type(obj), "sdesc"):
            return identity
        worn = obj.attributes.get("unmasked_sdesc")
        return masked(identity, obj.sdesc.get()) if worn else identity

    def get_persona(self) -> str:
        """Return the persona for a language model: by default the description."""
        return str(self.attributes.get("persona") or self.attributes.get("desc") or "")

    def get_memory_moment(self) -> str:
        """Return the present date and time as the NPC would say it: "Saturday, 9 May, at night".

        By default real time, since the dates of memories are. A game with a calendar of its own
        overrides it.
        """
        return language.get().moment(self.memory.clock())

    def at_memory_reply(self, text: str, speaker: Any, *, private: bool) -> None:
        """Speak a reply, aloud or as a whisper.

        Args:
            text: Already escaped; it is sent as a mapping value, never as a template.
            speaker: The object that is answered, or None if it is gone.
            private: Whether only `speaker` may hear it.
        """
        if private:
            self.at_say(text, msg_self=False, receivers=[speaker], whisper=True)
        else:
            self.at_say(text, msg_self=False)

    def at_memory_emote(self, text: str) -> None:
        """Show an action to the room: "pours a cup of tea". Escaped as in `at_memory_reply`."""
        self._show(text, "pose")

    def at_memory_thinking(self, speaker: Any, *, private: bool) -> None:
        """Show that an answer takes long (THINKING_EMOTE), to the room or to `speaker` alone."""
        action = _escaped(self.memory.settings.THINKING_EMOTE)
        if not private:
            self._show(action, THINKING)
        elif speaker is not None:
            line = f"{self.get_display_name(speaker)} {action}"
            speaker.msg((line, {"type": THINKING}), from_obj=self)

    def _show(self, action: str, kind: str) -> None:
        if self.location:
            line, said = "{who} {action}", {"who": self, "action": action}
            self.location.msg_contents((line, {"type": kind}), from_obj=self, mapping=said)

    def get_memory_excuse(self, speaker: Any, *, crowded: bool) -> str:
        """Return what it says, once, to somebody it does not answer; "" for nothing.

        Args:
            crowded: Whether too many others are waiting; else `speaker` says too much at once.
        """
        kind = "crowded" if crowded else "too fast"
        return self.memory.phrase(kind, name=self.name_seen(speaker))

    # --- Evennia's hooks ----------------------------------------------------------------------

    def at_msg_receive(self, text: Any = None, from_obj: Any = None, **kwargs: Any) -> Any:
        """Perceive a message. Returns what the base class returns."""
        deliver = super().at_msg_receive(text=text, from_obj=from_obj, **kwargs)
        if deliver and text and from_obj is not None:
            heard = text, from_obj, self._emoted
            self._emoted = (None, [])
            try:
                self._hear(*heard)
            except OperationalError:  # it is locked; who is there then is taken to be there now
                source = self.get_memory_identity(next(iter(make_iter(from_obj))))
                sent = copy_context()  # to whom it is whispered, and whose words it brings
                hearing_queue.take_in(self, lambda: sent.run(self._hear, *heard), source=source)
        return deliver

    def process_language(self, text: str, speaker: Any, language: str | None, **kwargs: Any) -> str:
        """Note a speech in an emote of rpsystem, which is no quotation typed into a pose."""
        process = getattr(super(), "process_language", None)
        heard = process(text, speaker, language, **kwargs) if process else text
        if self._emoted[0] is not speaker:
            self._emoted = (speaker, [])
        self._emoted[1].append(heard)
        return heard

    def at_object_receive(
        self, moved_obj: Any, source_location: Any, move_type: str = "move", **kwargs: Any
    ) -> None:
        """Perceive a gift here, since its message does not name the giver."""
        super().at_object_receive(moved_obj, source_location, move_type=move_type, **kwargs)
        if move_type == "give" and source_location and self._memory_on_for(source_location):
            thing = oneline(moved_obj.get_display_name(self))
            text = f"{self.name_seen(source_location)} gives {self.key} {sanitise(thing)}."
            self._hear_talk(source_location, text, "give")

    def at_object_creation(self) -> None:
        """Be seen as a character where it was none before (`@typeclass`)."""
        super().at_object_creation()
        if self.location:  # Evennia sorts its contents by class as they come in
            self.location.contents_cache.init()

    def at_object_post_creation(self) -> None:
        """Remove the memory of the NPC that a prototype was made from."""
        super().at_object_post_creation()
        shed_copied(self)

    def at_object_post_copy(self, new_obj: Any, **kwargs: Any) -> None:
        """Remove this memory from a copy, which starts with an empty one."""
        super().at_object_post_copy(new_obj, **kwargs)
        shed_copied(new_obj)

    def at_server_reload(self) -> None:
        super().at_server_reload()
        self._flush_memory()

    def at_server_shutdown(self) -> None:
        super().at_server_shutdown()
        self._flush_memory()

    def delete(self) -> bool:
        """Remove its memories from the store too (bulk deletion: `deletion`)."""
        memory_id = owner.id_of(self) if self.pk else ""
        if memory_id:
            deletion.note(memory_id)  # its Attributes are deleted first
        gone = super().delete()
        if memory_id:
            deletion.finish(memory_id, gone=gone)
        return gone

    def _flush_memory(self) -> None:
        hearing_queue.catch_up(self)
        if "memory" in self.__dict__:
            self.memory.flush()

    # --- speaking -----------------------------------------------------------------------------

    def speak(
        self,
        text: str,
        listener: Any,
        *,
        private: bool,
        session_id: str | None = None,
        provenance: Provenance = NO_PROVENANCE,
    ) -> Entry | None:
        """Say something aloud, or whisper it to `listener`.

        The words are journalled as the NPC's own, which are never learned, with their provenance.

        Returns:
            The entry of the words; None if the only one who may hear them has left.
        """
        here = listener is not None and listener.location == self.location
        if private and not here:
            return None
        to = (self.get_memory_guise(listener),) if here else ()
        own = self._perceive(
            self,
            text,
            "whisper" if private else "say",
            origin="self",
            private=private,
            witnesses=to if private else self._witnesses(),
            session_id=session_id,
            **asdict(provenance),
        )
        self._voice(own, self.at_memory_reply, _escaped(text), listener, private=private)
        return own

    def put_off(self, entry: Entry, speaker: Any, text: str) -> None:
        """Say a stock phrase, if there is one, in place of an answer; to a whisper in a whisper."""
        if text:
            session, retold = entry.session_id, Provenance(tags=(RETOLD,))
            self.speak(text, speaker, private=entry.private, session_id=session, provenance=retold)

    def act_out(
        self, text: str, *, session_id: str | None = None, provenance: Provenance = NO_PROVENANCE
    ) -> Entry:
        """Act so that everybody here sees it; journalled as the NPC's own."""
        action = re.sub(rf"^{re.escape(self.key)}\s+", "", text, flags=re.IGNORECASE)
        own = self._perceive(
            self,
            f"{self.key} {action}",
            "pose",
            origin="self",
            session_id=session_id,
            **asdict(provenance),
        )
        self._voice(own, self.at_memory_emote, _escaped(action))
        return own

    def seen_here(self, name: str | None = None) -> list[Any]:
        """Return the other characters here, or those that this NPC sees under a name."""
        here = self.location.contents_get(content_type="character") if self.location else []
        others = [obj for obj in here if obj is not self]
        if name is None:
            return others
        return [obj for obj in others if self.name_seen(obj).lower() == name.lower()]

    def here_as(self, identity: str | None) -> Any | None:
        """Return the character here that it takes for this person, if there is one."""
        here = (obj for obj in self.seen_here() if self.get_memory_guise(obj) == identity)
        return next(here, None)

    def _voice(self, own: Entry, hook: Callable[..., None], *args: Any, **options: Any) -> None:
        """Call the hook that says or does `own`. If it fails, nothing was said."""
        self._own_voice = True
        said = _uttered.set((self, f"{self.memory.id}:{own.id}"))
        try:
            hook(*args, **options)
        except Exception:  # hooks of a game may raise anything
            self.memory.journal.remove([own.id])
            self.memory.conversations.take_out(Removal({own.id}))
            raise
        finally:
            _uttered.reset(said)
            self._own_voice = False

    # --- hearing ------------------------------------------------------------------------------

    def _hear(self, text: Any, from_obj: Any, emoted: tuple[Any, list[str]]) -> None:
        speaker = from_obj[0] if isinstance(from_obj, (list, tuple)) else from_obj
        line, kind = unpacked(text)
        said = kind not in ("look", THINKING) and isinstance(line, str)
        if not said or not hasattr(speaker, "get_display_name"):
            return
        own = speaker is self and self._own_voice
        if own or not self._memory_on_for(speaker) or not (line := sanitise(line, conf.MAX_LINE)):
            return
        if speaker is self:
            if kind in ("say", "whisper", "pose"):
                to = self._identities(self._hearers(self, kind)) if kind == "whisper" else None
                self._notice(self, speech_in(line), kind, witnesses=to or None, origin="self")
        elif kind in ("say", "whisper"):
            speech = speech_in(line)
            plain = line in (speech, f'{self.name_seen(speaker)} says, "{speech}"')
            self._hear_talk(speaker, speech, kind, line=None if plain else line)
        elif kind == "pose" and emoted[0] is speaker:
            self._hear_emote(speaker, line, emoted[1])
        elif kind == "pose":
            self._hear_talk(speaker, line, kind, source_type="observation")
        elif kind in _MOVES and isinstance(speaker, DefaultCharacter):  # no thing is a visitor
            move = "leave" if _is_departure(line) else "arrive"
            self._notice(speaker, line, move, source_type="environmental")
        else:
            self._notice(speaker, line, "event", source_type="environmental")

    def _hear_emote(self, speaker: Any, line: str, emoted: list[str]) -> None:
        """Perceive an emote with speech: the speech as talk, the rest as a pose."""
        speech = [said for said in (sanitise(each) for each in emoted) if said in line]
        action = without_speech(line, speech)
        # "A tall man says," alone is no action
        words = folded(action).replace(folded(self.name_seen(speaker)), "")
        if not speech or len(words.split()) >= ACTION_WORDS:
            answered = not speech
            self._hear_talk(speaker, action, "pose", answered=answered, source_type="observation")
        if said := " ".join(_unquoted(each) for each in speech).strip():
            self._hear_talk(speaker, said, "say", whole=line, line=line, tags=("emote",))

    def _hear_talk(
        self,
        speaker: Any,
        speech: str,
        kind: str,
        *,
        whole: str = "",
        answered: bool = True,
        **percept: Any,
    ) -> None:
        """Perceive something said, given or done, and queue it for an answer if it wants one.

        `whole` is the emote of which the speech is a part; its action alone is not `answered`.
        """
        hearers = [] if kind == "give" else self._hearers(speaker, kind)
        if kind == "whisper":
            percept["witnesses"] = self._identities([speaker, *hearers])
        noticed = self._percept(speaker, speech, kind, **percept)
        barred = not answered or self._is_barred(speaker)
        hearing_queue.take_in(
            self,
            lambda: self._take_in_talk(speaker, noticed, whole or speech, hearers, barred=barred),
            lambda talk: self._react(speaker, *talk),
            source=unmasked(noticed.source or ""),
        )

    def _take_in_talk(
        self, speaker: Any, noticed: Percept, text: str, hearers: Sequence[Any], *, barred: bool
    ) -> tuple[Entry, HeardLine | None, bool]:
        """Remember a line. Returns its entry, the line, and whether it seems to want an answer."""
        if not speaker.pk:  # deleted meanwhile: nobody waits for an answer
            return self._remember(noticed, speaker), None, False
        memory, kind = self.memory, noticed.kind
        hearers = [obj for obj in hearers if obj.pk]
        line = HeardLine(
            speaker=noticed.source or "",
            text=text,
            at=datetime.fromisoformat(memory.clock()).timestamp(),
            kind=kind,
            own_names=self._forms_of(self, speaker),
            others=tuple(self._forms_of(obj, speaker) for obj in hearers[:WITNESSES_KEPT]),
            barred=barred,
            of_npc=is_npc(speaker),
            shared=any(map(is_npc, hearers)),
        )
        settings, floor = memory.settings, self.assistant.state.floor
        line = replace(line, turned_to=floor.turned_to(line))
        lean = LEAN[settings.TALKATIVENESS]
        wants_reply = attend(line, floor, settings.UNASKED_REPLIES, lean=lean)
        if kind != "give":
            mentioned = self.is_named(text, before="@")
            noticed = replace(noticed, addressed=wants_reply, mentioned=mentioned)
        return self._remember(noticed, speaker), line, wants_reply

    def _react(self, speaker: Any, entry: Entry, line: HeardLine | None, answers: bool) -> None:
        if line is not None and speaker.pk:
            self.assistant.attend(entry, speaker, line, answers=answers)

    def _is_barred(self, speaker: Any) -> bool:
        """Return whether it answers nothing that `speaker` says now."""
        return (
            not self.access(speaker, "memory_talk", default=True)
            or bool(self.sessions.count())  # whoever plays this character answers
            or bool(_utterance_of(speaker))  # no endless talk between NPCs
        )

    def answers_now(self, speaker: Any) -> bool:
        """Return whether nothing keeps it from answering somebody: switches, locks, a player."""
        return self._memory_on_for(speaker) and not self._is_barred(speaker)

    def _memory_on_for(self, other: Any) -> bool:
        """Return whether memory is switched on: for the game, this NPC, its room and the other."""
        if not conf.get().ENABLED or pause.paused(self) or _is_switched_off(self):
            return False
        room = self.location
        return not _is_switched_off(other) and not (room is not None and _is_switched_off(room))

    def _hearers(self, speaker: Any, kind: str) -> list[Any]:
        """Return who hears a line besides the NPC and the speaker."""
        hearers = receivers(speaker) if kind == "whisper" else self.seen_here()
        return [obj for obj in hearers if obj is not self and obj is not speaker]

    def _forms_of(self, person: Any, speaker: Any) -> tuple[str, ...]:
        """Return what `speaker` may call a person: names, aliases, and how they are seen."""
        seen = [person.get_display_name(looker) for looker in {self, speaker} - {person}]
        shown = [_DBREF.sub("", sanitise(oneline(name), 80)).strip() for name in seen]
        return forms([person.key, *person.aliases.all(), *shown])

    # --- perceiving ---------------------------------------------------------------------------

    def _perceive(self, source: Any, *args: Any, **more: Any) -> Entry:
        """Take in what `_percept` is given, now."""
        return self._remember(self._percept(source, *args, **more), source)

    def _notice(self, source: Any, *args: Any, **more: Any) -> None:
        """Take in what `_percept` is given, soon (`hearing_queue`)."""
        noticed = self._percept(source, *args, **more)
        own = unmasked(noticed.source or "")
        hearing_queue.take_in(self, lambda: self._remember(noticed, source), source=own)

    def _percept(
        self,
        source: Any,
        content: str,
        kind: str,
        *,
        private: bool | None = None,
        witnesses: tuple[str, ...] | None = None,
        **more: Any,
    ) -> Percept:
        """Return what is perceived, with who and what is here at this moment."""
        identity = self.get_memory_guise(source)
        if private is None:
            private = kind == "whisper"
        if witnesses is None:
            witnesses = (identity,) if private else self._witnesses()
        if source is not self and is_npc(source):
            more["tags"] = (*more.get("tags", ()), OF_NPC)
        return Percept(
            content=content,
            kind=kind,
            seen_as=self.key if source is self else self.name_seen(source),
            source=identity,
            witnesses=witnesses,
            entities=(identity,),
            private=private,
            location=f"#{self.location.id}" if self.location else None,
            game_time=round(gametime.gametime(absolute=True), 1),
            utterance=_utterance_of(source),
            **more,
        )

    def _remember(self, noticed: Percept, source: Any) -> Entry:
        identity = noticed.source or ""
        kind = entity_type_of(source) if identity and source.pk else ""
        entry = self.memory.perceive(noticed)  # nothing that may fail comes behind it
        if kind:
            self.memory.people.set_type(identity, kind)
        return entry

    def _witnesses(self) -> tuple[str, ...]:
        return self._identities(self.seen_here())

    def _identities(self, people: Sequence[Any]) -> tuple[str, ...]:
        return tuple(self.get_memory_guise(obj) for obj in people[:WITNESSES_KEPT])

    def name_seen(self, other: Any) -> str:
        """Return the name under which this NPC sees somebody."""
        name = sanitise(oneline(other.get_display_name(self)), 80)
        return as_name(_DBREF.sub("", name).strip() or other.key)


def unpacked(text: Any) -> tuple[Any, str | None]:
    """Return the line and the type of a message as `at_msg_receive` gets it."""
    line, options = (text, {}) if isinstance(text, str) else (text[0], text[-1])
    return line, options.get("type") if isinstance(options, dict) else None


def is_npc(obj: Any) -> bool:
    """Return whether `obj` is an NPC of this contrib that nobody is playing."""
    return isinstance(obj, MemoryMixin) and not obj.sessions.count()


# an NPC and the `Entry.utterance` of the words that it speaks, for other NPCs that hear them
_uttered: ContextVar[tuple[Any, str]] = ContextVar("_uttered", default=(None, ""))


def _utterance_of(speaker: Any) -> str:
    who, utterance = _uttered.get()
    return utterance if who is speaker else ""


def _is_switched_off(obj: Any) -> bool:
    # by category, because Evennia caches an empty category but not a missing tag
    return OFF_TAG in obj.tags.get(category=CATEGORY, return_list=True)


def _unquoted(speech: str) -> str:
    """Return the words of a speech of rpsystem: `"Hello,"`, or `(Elvish)"Hello,"`."""
    return speech.partition('"')[2].rpartition('"')[0].strip() if '"' in speech else speech


def _is_departure(line: str) -> bool:
    """Return whether a line about a move tells of a departure, in the game's own language too."""
    if _fits(_LEAVES, line):
        return True
    return not any(_fits(each, line) for each in _ARRIVES) and bool(_LEAVING.search(line.lower()))


def _fits(template: str, line: str) -> bool:
    words = re.split(r"\{\w+\}", gettext(template))
    return re.fullmatch(".+".join(map(re.escape, words)), line) is not None


def _escaped(text: str) -> str:
    """Return text for a room: one paragraph, with colour codes and links escaped."""
    return as_shown(oneline(sanitise(text, conf.MAX_LINE)))


def wrong_order(typeclass: type) -> str:
    """Return an error sentence if MemoryMixin is behind its base, where it hears nothing, or ""."""
    wrong = [each for each in typeclass.__mro__ if _behind_its_base(each)]
    if not wrong:
        return ""
    first = wrong[-1]  # the others inherit it
    bases = sorted(first.__bases__, key=lambda each: not issubclass(each, MemoryMixin))
    mixin, *others = (each.__name__ for each in bases)
    return (
        f"{first.__module__}.{first.__name__} hears and remembers nothing, because {mixin} comes "
        f"after its base class. Write: class {first.__name__}({', '.join([mixin, *others])})"
    )


def _behind_its_base(typeclass: type) -> bool:
    order = typeclass.__mro__
    both = MemoryMixin in order and DefaultObject in order
    return both and order.index(DefaultObject) < order.index(MemoryMixin)


# --- receivers of whispers (docs/adr/015) ---------------------------------------------------------
# Evennia sends a whisper to each receiver separately and tells none of them about the others.

_receivers: ContextVar[tuple[Any, tuple[Any, ...]] | None] = ContextVar("_receivers", default=None)


def receivers(speaker: Any) -> tuple[Any, ...]:
    """Return whom `speaker` is whispering to right now; empty if that is not known."""
    noted = _receivers.get()
    return noted[1] if noted and noted[0] is speaker else ()


def note_receivers() -> None:
    """Wrap `DefaultObject.at_say`, once a process, so that `receivers` works during the call."""
    at_say = DefaultObject.at_say
    if hasattr(at_say, "notes_receivers"):
        return

    @functools.wraps(at_say)
    def noted(self: Any, *args: Any, **options: Any) -> Any:
        to = args[3] if args[3:] else options.get("receivers")
        before = _receivers.set((self, tuple(make_iter(to)) if to else ()))
        try:
            return at_say(self, *args, **options)
        finally:
            _receivers.reset(before)

    noted.notes_receivers = True  # type: ignore[attr-defined]
    DefaultObject.at_say = noted


note_receivers()  # not in the Django app's ready(): typeclasses cannot be imported there yet
