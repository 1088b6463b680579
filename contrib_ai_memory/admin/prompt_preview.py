"""Preview the exact prompt for a line of talk without sending it, or the answer without a model.

It is made by the code that makes an answer (`recall.reply.prepare`). Nothing is said, remembered
or counted as accessed. Reactor thread.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass
from typing import Annotated, Any

from evennia.objects.models import ObjectDB
from twisted.internet import defer

from .. import conf
from ..errors import InputError
from ..llm import prompts, router
from ..offload import LOOK
from ..privacy import unmasked
from ..recall import reply
from ..recall.tool_loop import offered_now
from ..records import Entry, Recalled, Reply, Weighed
from ..text.sanitising import sanitise
from . import ids
from .arguments import Argument, Query

Player = Annotated[
    str, Argument("a name the NPC knows, an identity, or a character's name or #dbref", most=255)
]
_DBREF = re.compile(r"#(\d{1,9})@")


@dataclass(frozen=True, slots=True)
class Preview:
    """The request that would be sent to the model."""

    listener: str
    messages: tuple[tuple[str, str], ...]  # (role, content); of an LLMNPC its one prompt
    recalled: tuple[Recalled, ...]  # the memories in it, with their scores
    tools: tuple[str, ...]  # that the model may call
    model: str  # "" where none is set and the offline provider answers
    language: str  # which provider answers now, in a sentence
    answer: str = ""  # what the NPC would say; "" where a model would be asked
    private: bool = False  # whether it would whisper that
    weighed: tuple[Weighed, ...] = ()  # what that was chosen among, the best first, by short id

    @property
    def tokens(self) -> int:
        """A cheap estimate for all messages."""
        return prompts.tokens({"content": content} for _role, content in self.messages)


@defer.inlineCallbacks
def preview(
    npc: Any, player: Player, text: Query, *, whispered: bool = False
) -> Generator[Any, Any, Preview]:
    """Show what it would answer to a line, or the prompt for it. Nothing is sent, said or
    remembered. If only the NPC would hear the line, what both keep secret is recalled too."""
    words = sanitise(text, conf.MAX_LINE)
    if not words:
        raise InputError("There is nothing to answer: give the line to be said.")
    identity, name = find_person(npc, player)
    entry = _entry_of(npc, identity, name, words, whispered)
    talk, request = yield reply.prepare(npc.memory, entry)
    speaker = _character_of(npc, identity, name)
    if speaker is not None and hasattr(npc, "prompt_for"):
        prompt = npc.prompt_for(entry, speaker, prompts.context(request))
        return Preview(
            name,
            (("prompt", prompt),),
            request.recalled,
            tools=(),
            model="LLMNPC",
            language="the server that LLMNPC talks to",
        )
    settings = npc.memory.settings
    messages, llm = talk.opening, settings.LLM
    said = Reply("")
    if router.rules_answer(settings):
        _by, said = yield router.ask("reply", request, by=(router.OFFLINE,), priority=LOOK)
        if request.plain and said.small_talk:
            said = Reply("")  # the model says something else
    return Preview(
        name,
        tuple((each["role"], each["content"] or _tool_calls(each)) for each in messages),
        request.recalled,
        tools=tuple(each["function"]["name"] for each in offered_now(settings)),
        model=llm.model if llm else "",
        language=router.status(settings, npc.memory.id),
        answer=said.text,
        private=whispered or any(each.told and each.private for each in said.weighed),
        weighed=reply.by_link(said.weighed, request.recalled),
    )


def find_person(npc: Any, player: str) -> tuple[str, str]:
    """Return the memory identity and the name of somebody, even if the NPC never met them.

    Raises:
        ids.UnknownPerson, ids.Ambiguous
    """
    try:
        identity = ids.person(npc, player)
    except ids.UnknownPerson:
        dbref = player.strip().lstrip("#")
        number = dbref.isdecimal() and len(dbref) < 10
        wanted = {"id": int(dbref)} if number else {"db_key__iexact": player.strip()}
        people = [x for x in ObjectDB.objects.filter(**wanted) if hasattr(x, "at_say")]
        if len(people) != 1:
            raise
        return npc.get_memory_identity(people[0]), people[0].key
    return identity, ids.name_of(npc, identity)


def _character_of(npc: Any, identity: str, name: str) -> Any | None:
    """Return the character with that identity, found by name or #dbref."""
    found = list(ObjectDB.objects.filter(db_key__iexact=name))
    if dbref := _DBREF.match(identity):
        found += ObjectDB.objects.filter(id=int(dbref[1]))
    body = unmasked(identity)
    return next((each for each in found if npc.get_memory_identity(each) == body), None)


def _entry_of(npc: Any, identity: str, name: str, words: str, whispered: bool) -> Entry:
    """Make the journal entry that the line would become; it is not written."""
    memory, when = npc.memory, npc.memory.clock()
    location = f"#{npc.location.id}" if npc.location else None
    place = f"ear:{identity}" if whispered else f"room:{location}"
    conversation = memory.conversations.going_on(place, when)
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
        session_id=conversation.session_id if conversation else None,
    )


def _tool_calls(message: dict[str, Any]) -> str:
    calls = message.get("tool_calls") or ()
    return "; ".join(f"{c['function']['name']}({c['function']['arguments']})" for c in calls)
