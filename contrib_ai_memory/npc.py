"""MemoryMixin: turns what a character perceives into journal entries, and speaks its replies.

Mix it into any Character typeclass, before the base:

    class AssistantNPC(MemoryMixin, DefaultCharacter):
        ...

Whispers to several: who else hears what is being whispered (docs/adr/015).

Evennia sends a whisper to each receiver apart, and tells none of them of the others. While a say or
a whisper goes out, `receivers` gives whom it was meant for.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict
from datetime import datetime
from typing import Any

from evennia.objects.objects import DefaultObject
from evennia.typeclasses.attributes import ModelAttributeBackend
from evennia.utils import lazy_property
from evennia.utils.logger import log_err
from evennia.utils.utils import make_iter

from . import conf, deletion
from .attention import Attention, Floor, Line, attend
from .english import addressing
from .handler import MemoryHandler, shed_copied
from .log import logger
from .records import FROM_NOTHING, OF_NPC, Entry, Percept, Recalled, ToldFrom
from .script import AssistantScript
from .store import owner, pause
from .store.attributes import NPCAttributes
from .store.people import kind_of
from .text.sanitising import as_shown, oneline, sanitise, speech_in, without_speech

_to: ContextVar[tuple[Any, tuple[Any, ...]] | None] = ContextVar("_to", default=None)


def receivers(speaker: Any) -> tuple[Any, ...]:
    """Whom `speaker` is whispering to at this moment; empty where that is not known."""
    whispering = _to.get()
    return whispering[1] if whispering and whispering[0] is speaker else ()


def note_receivers() -> None:
    """Have `DefaultObject.at_say` say whom it speaks to while it speaks; done once a process."""
    from evennia.objects.objects import DefaultObject

    at_say = DefaultObject.at_say
    if hasattr(at_say, "notes_receivers"):
        return

    @functools.wraps(at_say)
    def noted(
        self: Any,
        message: str,
        msg_self: Any = None,
        msg_location: Any = None,
        receivers: Any = None,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        with _whispering(self, make_iter(receivers) if receivers else ()):
            return at_say(self, message, msg_self, msg_location, receivers, *args, **kwargs)

    noted.notes_receivers = True
    DefaultObject.at_say = noted


@contextmanager
def _whispering(speaker: Any, to: Any):
    before = _to.set((speaker, tuple(to)))
    try:
        yield
    finally:
        _to.reset(before)


# --- senses ---------------------------------------------------------------------------------------

OFF_TAG = "memory_off"  # on an NPC, a room or a player: nothing is perceived there, or of them
CATEGORY = "ai_memory"
WITNESSES_KEPT = 50
DEED_WORDS = 3  # beside the name and the speech; fewer are "he says softly"

_MOVES = frozenset({"move", "traverse", "teleport", "follow", "flee", "home", "arrive", "leave"})
_LEAVING = re.compile(r"\b(?:leav|depart|heading|goes|gone|exits|vanish|disappear|has left)")
_DBREF = re.compile(r"\(#\d+\)")

# not in the Django app: when that starts, Evennia's typeclasses cannot be imported yet
note_receivers()


class MemoryMixin:
    """Gives a Character typeclass a lasting memory, at `npc.memory`.

    Hooks to override:
        get_memory_identity: How people are told apart.
        get_persona: Who the character is, for a language model's prompt.
        at_memory_reply: How a reply is spoken.
        at_memory_emote: How it is shown that it does something.
        get_memory_excuse: What it says to somebody who says more than it can answer.
    """

    own_memory_keys: tuple[str, ...] = ()  # Attributes of the game's own that no copy gets
    _own_voice = False  # while its own reply goes out, which is journalled by hand
    uttering = ""  # meanwhile `Entry.utterance` of it, for other NPCs that hear it
    _emoted: tuple[Any, list[str]] = (None, [])  # who speaks in an emote on its way here, and what

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if _behind_its_base(cls) and not any(map(_behind_its_base, cls.__bases__)):
            logger().error("%s", wrong_order(cls))
            log_err(wrong_order(cls))

    @lazy_property
    def attributes(self) -> NPCAttributes:
        """Evennia's handler; copies and prototypes find nothing of the memory in it."""
        return NPCAttributes(self, ModelAttributeBackend)

    @lazy_property
    def memory(self) -> MemoryHandler:
        """Everything this character remembers; its heartbeat starts with the first look at it."""
        handler = MemoryHandler(self)
        AssistantScript.of(self)
        return handler

    @property
    def assistant(self) -> AssistantScript:
        """The heartbeat."""
        return AssistantScript.of(self)

    # --- hooks to override --------------------------------------------------------------------

    def get_memory_identity(self, obj: Any) -> str:
        """Who `obj` is to this character, for ever: by default its dbref and when it was made.

        A name changes and a dbref is used again in a rebuilt database; both together tell people
        apart. Override it where one soul has several bodies. No white space.
        """
        return f"#{obj.id}@{int(obj.date_created.timestamp()):x}"

    def get_persona(self) -> str:
        """Who this character is: by default its description."""
        return str(self.attributes.get("persona") or self.attributes.get("desc") or "")

    def at_memory_reply(self, text: str, speaker: Any, *, private: bool) -> None:
        """Speak a reply: aloud, or whispered to `speaker` where it holds a secret.

        Args:
            text: Escaped already. It reaches the room as a mapping value, never as a template.
            speaker: The object that it is said to, or None when it is gone.
            private: Whether only `speaker` may hear it.
        """
        if private:
            self.at_say(text, msg_self=False, receivers=[speaker], whisper=True)
        else:
            self.at_say(text, msg_self=False)

    def at_memory_emote(self, text: str) -> None:
        """Show the room what it does: "pours a cup of tea". Escaped, as in `at_memory_reply`."""
        if self.location:
            self.location.msg_contents(
                ("{who} {deed}", {"type": "pose"}),
                from_obj=self,
                mapping={"who": self, "deed": text},
            )

    def get_memory_excuse(self, speaker: Any, *, crowded: bool) -> str:
        """What it says, once, to somebody whom it does not answer; "" is nothing.

        Args:
            speaker: The one who is not answered.
            crowded: Whether too many others wait; else `speaker` says too much at once.
        """
        name = self._name_seen(speaker)
        if crowded:
            return f"Not now, {name}: there are too many before you."
        return f"One thing at a time, {name}."

    # --- Evennia's hooks ----------------------------------------------------------------------

    def at_msg_receive(self, text: Any = None, from_obj: Any = None, **kwargs: Any) -> Any:
        """The one ear. Keeps a place in the journal and returns what its base class returns."""
        deliver = super().at_msg_receive(text=text, from_obj=from_obj, **kwargs)
        if deliver and text and from_obj is not None:
            self._hear(text, from_obj)
        return deliver

    def process_language(self, text: str, speaker: Any, language: str | None, **kwargs: Any) -> str:
        """rpsystem's event for each speech in an emote or say, as it is sent to this character.

        It tells real speech from a quotation that somebody types into a pose.
        """
        process = getattr(super(), "process_language", None)
        heard = process(text, speaker, language, **kwargs) if process else text
        if self._emoted[0] is not speaker:
            self._emoted = (speaker, [])
        self._emoted[1].append(heard)
        return heard

    def at_object_receive(
        self, moved_obj: Any, source_location: Any, move_type: str = "move", **kwargs: Any
    ) -> None:
        """A gift is perceived here: its message names no giver."""
        super().at_object_receive(moved_obj, source_location, move_type=move_type, **kwargs)
        if move_type == "give" and source_location is not None and self._attends(source_location):
            name = self._name_seen(source_location)
            thing = oneline(moved_obj.get_display_name(self))
            text = f"{name} gives {self.key} {sanitise(thing)}."
            attention, _, floor = self._attention(source_location, text, "give")
            entry = self._perceive(source_location, text, "give", name)
            self._answer_in_turn(attention, entry, source_location, floor)

    def at_object_post_creation(self) -> None:
        """A prototype may hold the memory of the NPC that it was made from."""
        super().at_object_post_creation()
        shed_copied(self)

    def at_object_post_copy(self, new_obj: Any, **kwargs: Any) -> None:
        """A copy is a new mind: it starts with nothing of this one."""
        super().at_object_post_copy(new_obj, **kwargs)
        shed_copied(new_obj)

    def at_server_reload(self) -> None:
        super().at_server_reload()
        self._flush_memory()

    def at_server_shutdown(self) -> None:
        super().at_server_shutdown()
        self._flush_memory()

    def delete(self) -> bool:
        """A deleted character leaves nothing in the store (bulk deletion: `deletion`)."""
        memory_id = owner.id_of(self) if self.pk else ""
        if memory_id:
            deletion.note(memory_id)  # its Attributes go before it does
        gone = super().delete()
        if memory_id:
            deletion.settle(memory_id, gone=gone)
        return gone

    def _flush_memory(self) -> None:
        if "memory" in self.__dict__:
            self.memory.flush()

    # --- hearing ------------------------------------------------------------------------------

    def _hear(self, text: Any, from_obj: Any) -> None:
        speaker = from_obj[0] if isinstance(from_obj, (list, tuple)) else from_obj
        emoted, self._emoted = self._emoted, (None, [])
        line, options = (text, {}) if isinstance(text, str) else (text[0], text[-1])
        kind = options.get("type") if isinstance(options, dict) else None
        if kind == "look" or not isinstance(line, str) or not hasattr(speaker, "get_display_name"):
            return
        if (speaker is self and self._own_voice) or not self._attends(speaker):
            return
        line = sanitise(line, conf.get().MAX_LINE)
        if not line:
            return
        seen_as = self._name_seen(speaker)
        if speaker is self:
            if kind in ("say", "whisper", "pose"):
                to = self._identities(self._hearers(self, kind)) if kind == "whisper" else None
                self._perceive(
                    self, speech_in(line), kind, self.key, witnesses=to or None, origin="self"
                )
            return
        if kind in ("say", "whisper"):
            self._hear_talk(speaker, line, kind, seen_as)
        elif kind == "pose" and emoted[0] is speaker:
            self._hear_emote(speaker, line, emoted[1], seen_as)
        elif kind == "pose":
            self._perceive(speaker, line, "pose", seen_as, source_type="observation")
        elif kind in _MOVES:
            coming = "leave" if _LEAVING.search(line.lower()) else "arrive"
            self._perceive(speaker, line, coming, seen_as, source_type="environmental")
        else:
            self._perceive(speaker, line, "event", seen_as, source_type="environmental")

    def _hear_talk(self, speaker: Any, line: str, kind: str, seen_as: str) -> None:
        speech = speech_in(line)
        hearers = self._hearers(speaker, kind)
        attention, mentioned, floor = self._attention(speaker, speech, kind, hearers)
        whispered = kind == "whisper"
        entry = self._perceive(
            speaker,
            speech,
            kind,
            seen_as,
            witnesses=self._identities([speaker, *hearers]) if whispered else None,
            line=line if line != f'{seen_as} says, "{speech}"' and line != speech else None,
            addressed=attention is Attention.TRIGGER,
            mentioned=mentioned,
        )
        self._answer_in_turn(attention, entry, speaker, floor)

    def _hear_emote(self, speaker: Any, line: str, emoted: list[str], seen_as: str) -> None:
        """An emote with speech in it: what is said becomes talk, what is done is seen."""
        speech = [said for said in (sanitise(each) for each in emoted) if said in line]
        # "A tall man says," is no deed
        deed = without_speech(line, speech)
        words = addressing.folded(deed).replace(addressing.folded(seen_as), "")
        if not speech or len(words.split()) >= DEED_WORDS:
            self._perceive(speaker, deed, "pose", seen_as, source_type="observation")
        said = " ".join(_unquoted(each) for each in speech).strip()
        if not said:
            return
        hearers = self._hearers(speaker, "say")
        attention, mentioned, floor = self._attention(speaker, line, "say", hearers)
        entry = self._perceive(
            speaker,
            said,
            "say",
            seen_as,
            line=line,
            addressed=attention is Attention.TRIGGER,
            mentioned=mentioned,
            tags=("emote",),
        )
        self._answer_in_turn(attention, entry, speaker, floor)

    def _answer_in_turn(
        self, attention: Attention, entry: Entry, speaker: Any, floor: Floor
    ) -> None:
        self.assistant.floor = floor
        if attention is Attention.TRIGGER:
            self.assistant.wants_reply(entry, speaker, floor)

    def _attends(self, other: Any) -> bool:
        """The off switches: the game's, this NPC's, its room's, the other's own."""
        if not conf.get().ENABLED or pause.paused(self):
            return False
        room = self.location
        return not any(obj is not None and _is_off(obj) for obj in (self, room, other))

    def _hearers(self, speaker: Any, kind: str) -> list[Any]:
        """Who hears a line beside the NPC and whoever says it."""
        hearers = receivers(speaker) if kind == "whisper" else self._characters_here()
        return [obj for obj in hearers if obj not in (self, speaker)]

    def _attention(
        self, speaker: Any, text: str, kind: str, hearers: Sequence[Any] = ()
    ) -> tuple[Attention, bool, Floor]:
        """Decide about a line by DESIGN §4. Also whether it @mentions the NPC, and the floor then.

        Args:
            text: What is said; of an emote all of it.
            kind: say, whisper or give.
            hearers: Who hears it beside the NPC and the speaker.
        """
        barred = (
            not self.access(speaker, "memory_talk", default=True)
            # somebody plays this character: they answer
            or bool(self.sessions.count())
            # no endless talk between NPCs
            or is_npc(speaker)
        )
        line = Line(
            speaker=self.get_memory_identity(speaker),
            text=text,
            at=datetime.fromisoformat(self.memory.clock()).timestamp(),
            kind=kind,
            own_names=self._forms_of(self, speaker),
            others=tuple(self._forms_of(obj, speaker) for obj in hearers[:WITNESSES_KEPT]),
            barred=barred,
        )
        floor = self.assistant.floor.heard(line)
        attention = attend(line, floor, conf.get().EXCHANGE_SECONDS)
        if attention is Attention.TRIGGER:
            floor = floor.answered(line)
        mentioned = any(
            re.search(rf"@{re.escape(name)}\b", text, re.IGNORECASE) for name in self._names()
        )
        return attention, mentioned, floor

    def _forms_of(self, person: Any, speaker: Any) -> tuple[str, ...]:
        """What `speaker` may call a person: by name and alias, by how they or this NPC see them."""
        seen = [person.get_display_name(looker) for looker in {self, speaker} - {person}]
        shown = [_DBREF.sub("", sanitise(oneline(name), 80)).strip() for name in seen]
        return addressing.forms([person.key, *person.aliases.all(), *shown])

    def is_named(self, speech: str) -> bool:
        """Whether `speech` names this character, by key or alias."""
        return any(
            re.search(rf"\b{re.escape(name)}\b", speech, re.IGNORECASE) for name in self._names()
        )

    def _names(self) -> list[str]:
        return [self.key, *self.aliases.all()]

    # --- perceiving ---------------------------------------------------------------------------

    def _perceive(
        self,
        source: Any,
        content: str,
        kind: str,
        seen_as: str,
        *,
        private: bool | None = None,
        witnesses: tuple[str, ...] | None = None,
        **more: Any,
    ) -> Entry:
        if private is None:
            private = kind == "whisper"
        if witnesses is None:
            witnesses = (self.get_memory_identity(source),) if private else self._witnesses()
        identity = self.get_memory_identity(source)
        if source is not self and is_npc(source):
            more["tags"] = (*more.get("tags", ()), OF_NPC)
        entry = self.memory.perceive(
            Percept(
                content=content,
                kind=kind,
                seen_as=seen_as,
                source=identity,
                witnesses=witnesses,
                entities=(identity,),
                private=private,
                location=f"#{self.location.id}" if self.location else None,
                game_time=_game_time(),
                utterance=getattr(source, "uttering", ""),
                **more,
            )
        )
        self.memory.people.is_a(identity, kind_of(source))
        return entry

    def _witnesses(self) -> tuple[str, ...]:
        return self._identities([obj for obj in self._characters_here() if obj is not self])

    def _identities(self, people: Sequence[Any]) -> tuple[str, ...]:
        return tuple(self.get_memory_identity(obj) for obj in people[:WITNESSES_KEPT])

    def _characters_here(self) -> list[Any]:
        return self.location.contents_get(content_type="character") if self.location else []

    def _name_seen(self, other: Any) -> str:
        name = sanitise(oneline(other.get_display_name(self)), 80)
        return _DBREF.sub("", name).strip() or other.key

    # --- speaking -----------------------------------------------------------------------------

    def speak(
        self,
        text: str,
        entry: Entry,
        speaker: Any,
        told: tuple[Recalled, ...] = (),
        told_from: ToldFrom = FROM_NOTHING,
    ) -> Entry | None:
        """Answer `entry`: whispered where it was whispered, or where the answer holds a secret.

        Returns:
            The NPC's own words in the journal; None where whoever may hear them has left.
        """
        secret = entry.private or any(item.memory.private for item in told)
        return self.utter(
            text, speaker, private=secret, session_id=entry.session_id, told_from=told_from
        )

    def utter(
        self,
        text: str,
        listener: Any,
        *,
        private: bool,
        session_id: str | None = None,
        told_from: ToldFrom = FROM_NOTHING,
    ) -> Entry | None:
        """Say something aloud, or whisper it to `listener`. Returns what `speak` returns.

        The words are journalled as the NPC's own: never learned, as private as what they were drawn
        from, and with that as their evidence.
        """
        here = listener is not None and listener.location == self.location
        if private and not here:
            return None
        to = (self.get_memory_identity(listener),) if here else ()
        own = self._perceive(
            self,
            text,
            "whisper" if private else "say",
            self.key,
            origin="self",
            private=private,
            witnesses=to if private else self._witnesses(),
            session_id=session_id,
            **asdict(told_from),
        )
        self._voice(own, self.at_memory_reply, _harmless(text), listener, private=private)
        return own

    def excuse(self, entry: Entry, speaker: Any, *, crowded: bool) -> None:
        """Tell somebody that not all they say is answered: as quietly as they said it."""
        text = self.get_memory_excuse(speaker, crowded=crowded)
        if text:
            self.utter(text, speaker, private=entry.private, session_id=entry.session_id)

    def act_out(
        self, text: str, *, session_id: str | None = None, told_from: ToldFrom = FROM_NOTHING
    ) -> Entry:
        """Do something that all who are here see; journalled as the NPC's own."""
        deed = re.sub(rf"^{re.escape(self.key)}\s+", "", text, flags=re.IGNORECASE)
        own = self._perceive(
            self,
            f"{self.key} {deed}",
            "pose",
            self.key,
            origin="self",
            session_id=session_id,
            **asdict(told_from),
        )
        self._voice(own, self.at_memory_emote, _harmless(deed))
        return own

    def seen_here(self, name: str) -> list[Any]:
        """The characters here that this NPC sees under a name."""
        others = [obj for obj in self._characters_here() if obj is not self]
        return [obj for obj in others if self._name_seen(obj).lower() == name.lower()]

    def _voice(self, own: Entry, hook: Callable[..., None], *args: Any, **options: Any) -> None:
        """Say or do what is journalled as `own`. What the hook cannot say was not said."""
        self._own_voice, self.uttering = True, f"{self.memory.id}:{own.id}"
        try:
            hook(*args, **options)
        except Exception:  # a game's own hook may raise anything; whatever it is, nothing was said
            self.memory.journal.remove([own.id])
            self.memory.conversations.forget_entries([own.id])
            raise
        finally:
            self._own_voice, self.uttering = False, ""


def is_npc(obj: Any) -> bool:
    """Whether somebody is an NPC of this contrib, and speaks for itself: nobody plays it."""
    return isinstance(obj, MemoryMixin) and not obj.sessions.count()


def _is_off(obj: Any) -> bool:
    # asked by category: Evennia remembers that one is empty, but asks the database for a tag
    # that is not there each time anew
    return OFF_TAG in obj.tags.get(category=CATEGORY, return_list=True)


def _unquoted(speech: str) -> str:
    """The words of a speech as rpsystem gives it: `"Hello,"`, or `(Elvish)"Hello,"`."""
    return speech.partition('"')[2].rpartition('"')[0].strip() if '"' in speech else speech


def _harmless(text: str) -> str:
    """Model text for a room: one paragraph, colour codes and links doubled away."""
    return as_shown(oneline(sanitise(text, conf.get().MAX_LINE)))


def _game_time() -> float:
    from evennia.utils import gametime

    return round(gametime.gametime(absolute=True), 1)


def wrong_order(typeclass: type) -> str:
    """What to do about a typeclass with MemoryMixin behind its base; "" where the order is right.

    Evennia's own hooks come first there: the NPC hears nothing.
    """
    guilty = [each for each in typeclass.__mro__ if _behind_its_base(each)]
    if not guilty:
        return ""
    first = guilty[-1]  # the others have it from there
    others = ", ".join(
        each.__name__ for each in first.__bases__ if not issubclass(each, MemoryMixin)
    )
    mixin = ", ".join(each.__name__ for each in first.__bases__ if issubclass(each, MemoryMixin))
    return (
        f"{first.__module__}.{first.__name__} hears and remembers nothing, because {mixin} stands "
        f"behind its base class. Write: class {first.__name__}({mixin}, {others})"
    )


def _behind_its_base(typeclass: type) -> bool:
    order = typeclass.__mro__
    if MemoryMixin not in order or DefaultObject not in order:
        return False
    return order.index(DefaultObject) < order.index(MemoryMixin)
