"""The chat log: `script.db.conversation_history`, a list of Chat Completions messages.

Each also has what is beside those of a model server (`BESIDE`). A tool call and its results belong
together: equally private, sent together or not at all. Reactor thread only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from ..llm import prompts
from ..llm.tools import paired
from ..privacy import may_hear
from ..records import NO_PROVENANCE, Entry, Message, Provenance
from . import attributes
from .journal import join_ranges, ranges_include, ranges_of
from .removal import Removal

ATTRIBUTE = "conversation_history"
LARGEST = 32_000  # tokens, whatever the context window: each exchange rewrites all, some 10 ms

REMEMBERED = "You remembered it."  # what is kept of the result of a recall
WHISPERED = "(You whispered your answer.)"

EARLIER = "(Earlier talk in short) "
_ROLES = ("user", "assistant", "tool")
_SENT = ("role", "content", "tool_calls", "tool_call_id")
BESIDE = {
    "private": False,  # with `witnesses`: who may hear of it again
    "witnesses": [],
    "unjudged": False,  # as of `Entry`
    "entry": 0,  # journal id of the line that was answered or overheard
    "own": [],  # journal ids of the NPC's own words in it
    "people": [],  # those it is with or whose words are its sources
    "told": [],  # link ids of its other sources
    "talk": "",  # journal ids of earlier talk in the prompt, or that it summarises
    "summary": False,  # whether it summarises earlier messages
    "overheard": False,  # whether it belongs to no exchange, but was in the prompt of one
}

Stored = dict[str, Any]
Audience = tuple[str, ...] | None


def bare(message: Stored) -> dict[str, Any]:
    """Return a message as it is sent to a model server."""
    return {key: message[key] for key in _SENT if key in message}


def exchange(
    asked: Entry,
    rounds: Iterable[Stored],
    own: Iterable[Entry],
    provenance: Provenance = NO_PROVENANCE,
) -> list[Stored]:
    """Return the messages of one exchange: a line, the tool calls for it, and the answer.

    Args:
        rounds: Tool calls and results, each with `private` and `witnesses`.
        own: What the NPC said and did.
        provenance: What the provider was given for it.
    """
    with_whom = sorted({*filter(None, [asked.source_entity]), *provenance.sources})
    beside = BESIDE | {"entry": asked.id, "people": with_whom}
    words = prompts.told(asked.seen_as, asked.content, asked.kind)
    said = {"role": "user", "content": words}
    messages = [beside | said | _privacy(asked)]
    for each in rounds:
        messages.append(beside | each)
        if each["role"] == "tool" and each["content"].startswith("<memory>"):
            # the answer was made from them, and the next request brings its own
            messages[-1]["content"] = REMEMBERED
    # one that is still to be judged stands alone: what is found of it is of no other
    alike = groupby(own, key=lambda each: (each.private, each.witnesses, each.unjudged and each.id))
    for _heard, some in alike:
        entries = [*some]
        content = " ".join(map(_as_answered, entries))
        one = {"role": "assistant", "content": content, "own": [each.id for each in entries]}
        messages.append(beside | one | _privacy(entries[-1]))
    messages[-1] |= {"told": list(provenance.evidence), "talk": provenance.context}
    return messages


def heard(turn: Message, entry: Entry | None) -> Stored:
    """Return the message of a turn that belongs to no exchange: overheard, or said unasked."""
    own = entry is not None and entry.origin == "self"
    people = [*entry.sources] if entry and own else [entry.source_entity] if entry else []
    message = BESIDE | prompts.said(turn, entry.kind if entry else "say") | _privacy(turn)
    people = [each for each in people if each]
    return message | {"entry": turn.entry_id, "people": people, "overheard": True}


def provenance_of_messages(messages: Iterable[Stored]) -> Provenance:
    """Return the sources of these messages, for an utterance made from them."""
    evidence: dict[str, None] = {}
    context, sources = [], set()
    for message in messages:
        sources.update(message["people"])
        own = message.get("own", ())
        context.append(ranges_of([message["entry"], *own]))
        if message.get("summary"):
            context.append(message["talk"])
        elif not own:  # own entries record their sources themselves
            evidence |= dict.fromkeys(message.get("told", ()))
    return Provenance(tuple(evidence), join_ranges(*context), tuple(sorted(sources)))


def audience_of(message: Stored) -> Audience:
    """Return who may hear of it again; None is anyone."""
    kept = message["private"] or message["unjudged"]
    return tuple(sorted(message["witnesses"])) if kept else None


# --- the chat log of one NPC ----------------------------------------------------------------------


class ChatLog:
    """The messages between one NPC and others, oldest first. Its script holds the Attribute."""

    counted = "messages"

    def __init__(self, npc: Any):
        self._npc = npc
        self._read: list[Stored] | None = None

    @property
    def messages(self) -> list[Stored]:
        if self._read is None:
            stored = attributes.read(self._npc.assistant, ATTRIBUTE, [])
            self._read = paired([BESIDE | each for each in stored if _is_message(each)])
        return self._read

    @property
    def tokens(self) -> int:
        return prompts.tokens(self.messages)

    def add(self, messages: Iterable[Stored]) -> None:
        """Append an exchange, with one write. A line that it answers is overheard no longer."""
        new = list(messages)
        entries = {message["entry"] for message in new}
        kept = (m for m in self.messages if not (m["overheard"] and m["entry"] in entries))
        self._write([*kept, *new])

    def heard_by(self, listener: str, *, private: bool) -> tuple[list[Stored], list[Stored]]:
        """Return the words that may be used in talk with `listener`, without calls of tools.

        Returns what anyone may hear, and the exchanges with secrets. These are left out unless the
        talk is `private`, heard by the listener alone: they would colour what others hear.
        """
        messages = [
            message
            for message in self.messages
            if may_hear(message["unjudged"], message["witnesses"], (listener,))
            and message["role"] != "tool"
            and not message.get("tool_calls")
        ]
        aloud = {m["entry"] for m in messages if m["role"] == "user" and not m["private"]}
        public = [
            BESIDE | {"role": "user", "content": WHISPERED, "entry": message["entry"]}
            if message["private"]
            else message
            for message in messages
            if not message["private"]
            or (message["entry"] in aloud and message["role"] == "assistant")
        ]
        if not private:
            return public, []
        shared = {
            message["entry"]
            for message in messages
            if message["private"] and may_hear(True, message["witnesses"], (listener,))
        }
        secret = [
            message
            for message in messages
            if message["entry"] in shared
            and may_hear(message["private"], message["witnesses"], (listener,))
            and not (message["summary"] and not message["private"])
        ]
        return public, secret

    def note_judged(self, confided: Mapping[int, bool]) -> None:
        """Record which entries were said in confidence."""
        judged = [
            message | {"private": confided[number], "unjudged": False}
            if message["unjudged"] and (number := _entry_of(message)) in confided
            else message
            for message in self.messages
        ]
        if judged != self.messages:
            self._write(judged)

    def covers(self, entry_id: int) -> bool:
        return any(
            entry_id == message["entry"]
            or entry_id in message["own"]
            or (message["summary"] and entry_id <= message["entry"])
            for message in self.messages
        )

    def replace(self, compacted: Sequence[Stored], summaries: Iterable[Stored]) -> bool:
        """Replace the oldest messages with summaries. Whether those were still the oldest."""
        if self.messages[: len(compacted)] != list(compacted):
            return False
        self._write([*summaries, *self.messages[len(compacted) :]])
        return True

    def take_out(self, removal: Removal) -> int:
        """Delete the exchanges that go, with one write. See `MemoryPart`.

        A summary goes with talk that it sums up, where what was drawn from that goes too.
        """
        apart = not removal.shown  # a summary is then no part of the exchange that it ends with
        touched = {
            message["entry"]
            for message in self.messages
            if not (apart and message["summary"]) and removal.takes_exchange(message)
        }

        def goes(message: Stored) -> bool:
            if apart and message["summary"]:
                return removal.drawn and _summarises(message, removal.entries)
            return message["entry"] in touched

        before = self.messages
        kept = [
            message | {"witnesses": [*removal.others(message["witnesses"])]}
            for message in before
            if not goes(message)
        ]
        if kept != before:
            self._write(kept)
        return len(before) - len(kept)

    def clear(self) -> None:
        self._write([])

    def _write(self, messages: list[Stored]) -> None:
        script = self._npc.assistant
        self._read = messages
        if script.pk:  # it may have been deleted meanwhile
            attributes.write(script, ATTRIBUTE, messages)


def _as_answered(own: Entry) -> str:
    """Return own words, or an act between asterisks, as a model writes both."""
    if own.kind != "pose":
        return own.content
    return f"*{own.content.removeprefix(f'{own.seen_as} ').rstrip('.')}*"


def _privacy(of: Entry | Message) -> dict[str, Any]:
    return {"private": of.private, "witnesses": list(of.witnesses), "unjudged": of.unjudged}


def _entry_of(message: Stored) -> int:
    own = message["own"] if message["role"] == "assistant" else ()
    return own[-1] if own else message["entry"]


def _summarises(summary: Stored, gone: set[int]) -> bool:
    """Return whether a summary is of talk with these entries; an old one has no `talk`."""
    if summary["talk"]:
        return ranges_include(summary["talk"], gone)
    return bool(gone) and summary["entry"] >= min(gone)


def _is_message(stored: Any) -> bool:
    """Whether it has the form of a message; a builder or a game may have written it."""
    if not isinstance(stored, dict) or stored.get("role") not in _ROLES:
        return False
    calls = stored.get("tool_calls")
    if calls is None:
        return isinstance(stored.get("content"), str)
    return isinstance(calls, list) and all(
        isinstance(call, dict) and {"id", "type", "function"} <= {*call} for call in calls
    )
