"""The exact prompt that would be sent to the model for a line of talk, without sending it.

The code that makes an answer makes it (`recall.reply.prepare`). Nothing is said, remembered or
counted as accessed. Reactor thread.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from evennia.objects.models import ObjectDB
from twisted.internet import defer

from .. import conf
from ..llm import prompts, router, tools
from ..recall import reply
from ..records import Entry, Recalled
from ..text.sanitising import sanitise
from . import ids

_DBREF = re.compile(r"#(\d{1,9})@")
_OWN_SERVER = {"tools": (), "model": "LLMNPC", "language": "the server that LLMNPC talks to"}


class NothingSaid(ValueError):
    """There is no line to answer."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What would go to the model.

    Attributes:
        messages: (role, content) of each, as they would be sent; of an NPC that has a server of
            its own (`MemoryLLMNPC`) its one prompt.
        recalled: The memories in it, with their scores.
        tools: Names of those that the model may call.
        model: Its name; "" where none is set, and the offline provider answers from `recalled`.
        language: Who answers now, in a sentence.
    """

    listener: str
    messages: tuple[tuple[str, str], ...]
    recalled: tuple[Recalled, ...]
    tools: tuple[str, ...]
    model: str
    language: str

    @property
    def tokens(self) -> int:
        """A cheap estimate of all messages."""
        return prompts.tokens({"content": content} for _role, content in self.messages)

    def told(self) -> str:
        """All messages as one text."""
        return "\n\n".join(f"[{role}]\n{content}" for role, content in self.messages)


@defer.inlineCallbacks
def preview(
    npc: Any, player: str, text: str, *, whispered: bool = False
) -> Generator[Any, Any, Preview]:
    """The prompt for what a player would say to an NPC now, as a Deferred `Preview`.

    Args:
        player: A memory identity, a name that the NPC knows, or the name or #dbref of a character.
        text: What the player would say.
        whispered: Whether only the NPC would hear it: then secrets of both come up.

    Raises (in the Deferred):
        ids.UnknownPerson, ids.Ambiguous, NothingSaid
    """
    words = sanitise(text, conf.get().MAX_LINE)
    if not words:
        raise NothingSaid("There is nothing to answer: give the line that would be said.")
    agent_id = npc.memory
    identity, name = who_is(npc, player)
    entry = _as_heard(npc, identity, name, words, whispered)
    talk, request = yield reply.prepare(agent_id, entry)
    body = _body(npc, identity, name)
    if body is not None and hasattr(npc, "prompt_for"):
        prompt = npc.prompt_for(entry, body, request.prompt_block)
        return Preview(name, (("prompt", prompt),), request.recalled, **_OWN_SERVER)
    messages, llm = talk.opening, conf.get().LLM
    return Preview(
        name,
        tuple((each["role"], each["content"] or _called(each)) for each in messages),
        request.recalled,
        tools=tuple(each["function"]["name"] for each in tools.offered()),
        model=llm.model if llm else "",
        language=router.status(),
    )


def who_is(npc: Any, player: str) -> tuple[str, str]:
    """The memory identity and the name of somebody, whom the NPC may not have met yet.

    Raises:
        ids.UnknownPerson, ids.Ambiguous
    """
    try:
        identity = ids.person(npc, player)
    except ids.UnknownPerson as unknown:
        dbref = player.strip().lstrip("#")
        found = (
            ObjectDB.objects.filter(id=int(dbref))
            if dbref.isdecimal() and len(dbref) < 10
            else ObjectDB.objects.filter(db_key__iexact=player.strip())
        )
        people = [each for each in found if hasattr(each, "at_say")]
        if len(people) != 1:
            raise unknown from None
        return npc.get_memory_identity(people[0]), people[0].key
    memory = npc.memory
    profile = memory.profiles.get(identity)
    return identity, memory.people.name_of(identity) or (
        profile.name if profile else ""
    ) or identity


def _body(npc: Any, identity: str, name: str) -> Any | None:
    """The character of that identity, where there is one of that name or #dbref."""
    found = list(ObjectDB.objects.filter(db_key__iexact=name))
    if dbref := _DBREF.match(identity):
        found += ObjectDB.objects.filter(id=int(dbref[1]))
    return next((each for each in found if npc.get_memory_identity(each) == identity), None)


def _as_heard(npc: Any, identity: str, name: str, words: str, whispered: bool) -> Entry:
    """The journal entry that the line would become; it is not written."""
    memory, when = npc.memory, npc.memory.clock()
    location = f"#{npc.location.id}" if npc.location else None
    place = f"ear:{identity}" if whispered else f"room:{location}"
    talk = memory.conversations.going_on(place, when)
    return Entry(
        id=memory.journal.last_id + 1,
        timestamp=when,
        content=words,
        kind="whisper" if whispered else "say",
        seen_as=name,
        source_entity=identity,
        entities=(identity,),
        witnesses=(identity,),
        private=whispered,
        location=location,
        session_id=talk.session_id if talk else None,
    )


def _called(message: dict[str, Any]) -> str:
    calls = message.get("tool_calls") or ()
    return "; ".join(f"{c['function']['name']}({c['function']['arguments']})" for c in calls)
