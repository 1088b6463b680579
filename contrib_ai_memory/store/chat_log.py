"""Conversation history: `script.db.conversation_history`, a list of Chat Completions messages.

Beside what a server is sent, each message keeps whether it is `private`, its `witnesses`, the
journal `entry` that it belongs to, the NPC's `own` entries in it, the `people` it is with or whose
words it was told from, what else it was `told` from (link ids, and journal ids of the `talk` so
far), and whether it is the `summary` of what came before (of which talk, stands in `talk`). A tool
call and its results are one: equally private, given together or not at all. Reactor thread only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..llm import prompts
from ..llm.tools import paired
from ..records import NO_PROVENANCE, Entry, Provenance, may_hear
from . import attributes, id_ranges

ATTRIBUTE = "conversation_history"
KEPT_WHOLE = 20  # [A] the newest messages, which no compaction touches
LARGEST = 32_000  # tokens, however large the window: each exchange writes it whole, in some 10 ms
SUMMARY_LENGTH = 1200  # characters
SUMMARIES_SHARE = 0.25  # of the context window; beyond that the oldest are left to the facts

_EARLIER = "(Earlier talk in short) "
_ROLES = ("user", "assistant", "tool")
_SENT = ("role", "content", "tool_calls", "tool_call_id")
_BESIDE = {
    "private": False,
    "witnesses": [],
    "entry": 0,
    "own": [],
    "people": [],
    "told": [],
    "talk": "",
    "summary": False,
}

Stored = dict[str, Any]
Audience = tuple[str, ...] | None


def bare(message: Stored) -> dict[str, Any]:
    """A message as a server is sent it."""
    return {key: message[key] for key in _SENT if key in message}


def exchange(
    asked: Entry,
    rounds: Iterable[Stored],
    answered: Entry | None,
    spoken: Iterable[int] = (),
    provenance: Provenance = NO_PROVENANCE,
) -> list[Stored]:
    """What was said, the tools that were called for it, and the answer, as the history keeps it.

    Args:
        rounds: Calls and results, each with `private` and `witnesses`.
        answered: The NPC's own words; None where it had nothing more to say.
        spoken: Ids of own entries that its tools made.
        provenance: What the provider was given for it.
    """
    with_whom = sorted({*filter(None, [asked.source_entity]), *provenance.sources})
    beside = _BESIDE | {"entry": asked.id, "people": with_whom}
    said = {"role": "user", "content": prompts.told(asked.seen_as, asked.content)}
    messages = [beside | said | _privacy(asked)]
    messages += [beside | each for each in rounds]
    if answered is not None:
        own = {"role": "assistant", "content": answered.content}
        messages.append(beside | own | _privacy(answered))
    messages[-1]["own"] = [*spoken, *([answered.id] if answered else [])]
    messages[-1] |= {"told": list(provenance.evidence), "talk": provenance.context}
    return messages


def given_by(messages: Iterable[Stored]) -> Provenance:
    """Where these messages come from, for what is told from them."""
    evidence: dict[str, None] = {}
    context, sources = [], set()
    for message in messages:
        sources.update(message["people"])
        own = message.get("own", ())
        context.append(id_ranges.of([message["entry"], *own]))
        if message.get("summary"):
            context.append(message["talk"])
        elif not own:  # else its own words keep what they were told from
            evidence |= dict.fromkeys(message.get("told", ()))
    return Provenance(tuple(evidence), id_ranges.joined(*context), tuple(sorted(sources)))


def audience_of(message: Stored) -> Audience:
    """Who may hear of it again: None is anyone."""
    return tuple(sorted(message["witnesses"])) if message["private"] else None


# --- compaction -----------------------------------------------------------------------------------


def falling(messages: Sequence[Stored]) -> list[Stored]:
    """What a compaction takes: all but the newest, and no call without its results."""
    cut = max(0, len(messages) - KEPT_WHOLE)
    while cut and messages[cut]["role"] == "tool":
        cut -= 1
    fallen = list(messages[:cut])
    return [] if all(message["summary"] for message in fallen) else fallen


def lines_by_audience(fallen: Iterable[Stored], npc_name: str) -> dict[Audience, list[str]]:
    """The words of messages, each as a line with its speaker, apart for each audience.

    What a tool brought up is in the store; what nobody may hear again needs no summary.
    """
    lines: dict[Audience, list[str]] = {}
    for message in fallen:
        content, audience = message["content"], audience_of(message)
        if message["role"] == "tool" or not content or audience == ():
            continue
        if message["summary"]:
            content = content.removeprefix(_EARLIER)
        elif message["role"] == "user":
            content = content.replace(" says: ", ": ", 1)
        else:
            content = f"{npc_name}: {content}"
        lines.setdefault(audience, []).append(content)
    return lines


def summary_of(fallen: Iterable[Stored], audience: Audience, text: str) -> Stored:
    """The one message that stands for all that fell out before one audience."""
    before = [message for message in fallen if audience_of(message) == audience]
    people = {who for message in before for who in message["people"]}
    if len(text) > SUMMARY_LENGTH:
        text = text[: SUMMARY_LENGTH - 1].rstrip() + "…"
    return {
        "role": "user",
        "content": _EARLIER + text,
        "private": audience is not None,
        "witnesses": list(audience or ()),
        "entry": max(message["entry"] for message in before),
        "own": [],
        "people": sorted(people),
        "told": [],
        "talk": given_by(before).context,
        "summary": True,
    }


def bounded(summaries: Sequence[Stored], context_tokens: int) -> list[Stored]:
    """The newest summaries that fit into their share of the context window, in their order."""
    kept = sorted(summaries, key=lambda summary: summary["entry"])
    while kept and prompts.tokens(kept) > SUMMARIES_SHARE * context_tokens:
        kept.pop(0)
    return kept


# --- the history of one NPC -----------------------------------------------------------------------


class History:
    """What one NPC and the others said to each other, oldest first, with the tools in between.

    Args:
        owner: The NPC; its script holds the Attribute.
    """

    def __init__(self, owner: Any):
        self._owner = owner
        self._read: list[Stored] | None = None

    @property
    def messages(self) -> list[Stored]:
        if self._read is None:
            stored = attributes.read(self._owner.assistant, ATTRIBUTE) or []
            self._read = paired([_whole(each) for each in stored if _is_message(each)])
        return self._read

    @property
    def tokens(self) -> int:
        return prompts.tokens(self.messages)

    def add(self, messages: Iterable[Stored]) -> None:
        """Append an exchange, with one write."""
        self._write([*self.messages, *messages])

    def heard_by(self, listener: str, *, private: bool) -> list[Stored]:
        """The messages that may be used in talk with `listener`.

        Args:
            private: Whether only the listener hears the talk: else a secret that was told to them
                would colour what others hear.
        """
        given = [
            message
            for message in self.messages
            if not message["private"]
            or (private and may_hear(True, message["witnesses"], (listener,)))
        ]
        return paired(given)

    def covers(self, entry_id: int) -> bool:
        """Whether a journal entry is in here, or in a summary."""
        return any(
            entry_id == message["entry"]
            or entry_id in message["own"]
            or (message["summary"] and entry_id <= message["entry"])
            for message in self.messages
        )

    def replace(self, fallen: Sequence[Stored], summaries: Iterable[Stored]) -> bool:
        """Put summaries in the place of the oldest messages, with one write.

        Returns:
            Whether those were still the oldest. If not, nothing is changed.
        """
        if self.messages[: len(fallen)] != list(fallen):
            return False
        self._write([*summaries, *self.messages[len(fallen) :]])
        return True

    def forget(
        self, identity: str, is_theirs: Callable[[Stored], bool] = lambda message: False
    ) -> int:
        """Erase every exchange with one entity, and what it heard in confidence.

        Args:
            is_theirs: Which exchanges go besides, told by any message of theirs.

        Returns:
            How many messages that were.
        """
        touched = {
            message["entry"]
            for message in self.messages
            if identity in message["people"]
            or (message["private"] and identity in message["witnesses"])
            or is_theirs(message)
        }
        kept = [message for message in self.messages if message["entry"] not in touched]
        gone = len(self.messages) - len(kept)
        if gone or any(identity in message["witnesses"] for message in kept):
            self._write([_without(message, identity) for message in kept])
        return gone

    def forget_entries(
        self, journal_ids: Iterable[int], *, summaries: bool = False, told: Iterable[str] = ()
    ) -> int:
        """Erase the exchanges that these entries belong to. Returns how many messages that were.

        Args:
            summaries: Those too that stand for talk in which the entries were.
            told: Link ids: the exchanges too that were told from these.
        """
        gone, ids = frozenset(journal_ids), frozenset(told)
        touched = {
            message["entry"]
            for message in self.messages
            if not message["summary"]
            and (
                message["entry"] in gone or gone & set(message["own"]) or ids & set(message["told"])
            )
        }
        kept = [
            message
            for message in self.messages
            if not (message["entry"] in touched and not message["summary"])
            and not (message["summary"] and summaries and _stands_for(message, gone))
        ]
        count = len(self.messages) - len(kept)
        if count:
            self._write(kept)
        return count

    def clear(self) -> None:
        self._write([])

    def _write(self, messages: list[Stored]) -> None:
        script = self._owner.assistant
        self._read = messages
        if script.pk:  # else it was deleted meanwhile
            attributes.write(script, ATTRIBUTE, messages)


def _privacy(entry: Entry) -> dict[str, Any]:
    return {"private": entry.private, "witnesses": list(entry.witnesses)}


def _is_message(stored: Any) -> bool:
    """Whether it is what `exchange` made: a builder's hand may have changed it."""
    if not isinstance(stored, dict) or stored.get("role") not in _ROLES:
        return False
    content, calls = stored.get("content"), stored.get("tool_calls")
    if calls is None:
        return isinstance(content, str)
    return isinstance(calls, list) and all(
        isinstance(call, dict) and {"id", "type", "function"} <= set(call) for call in calls
    )


def _stands_for(summary: Stored, gone: frozenset[int]) -> bool:
    """Whether a summary is of talk in which these entries were; an old one does not know."""
    if summary["talk"]:
        return id_ranges.has_any(summary["talk"], gone)
    return bool(gone) and summary["entry"] >= min(gone)


def _without(message: Stored, identity: str) -> Stored:
    return message | {"witnesses": [each for each in message["witnesses"] if each != identity]}


def _whole(stored: Stored) -> Stored:
    return _BESIDE | stored
