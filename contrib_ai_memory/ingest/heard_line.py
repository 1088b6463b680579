"""A line with the talk before it, as `Language.read` takes it (reactor thread)."""

from __future__ import annotations

from ..attention import TALK_OVER
from ..records import LINES_BEFORE, Entry, LineInTalk, TalkLine, seconds_between
from ..store.npc_memory import Memory

_READ_BACK = 3 * LINES_BEFORE  # entries: notes and insights lie between lines of talk
_EVENTS = frozenset({"arrive", "leave", "event"})
_OF_TALK = frozenset({"say", "whisper", "pose", "give"}) | _EVENTS


def heard(memory: Memory, entry: Entry) -> LineInTalk:
    """Return an entry of talk with who heard it and the last lines before it.

    These are of the same place and the same talk, and the speaker heard them too. A line of the NPC
    itself is one as the last who spoke to it hears it.
    """
    before = [
        _said(memory, each)
        for each in memory.journal.read(entry.id - _READ_BACK, entry.id - 1)
        if each.kind in _OF_TALK
        and each.location == entry.location
        and seconds_between(each.timestamp, entry.timestamp) < TALK_OVER
        and (each.audience is None or entry.source_entity in each.witnesses)
    ]
    others = tuple(
        memory.people.name_of(each) or f"#{each}"  # somebody whom it has not met has no name
        for each in entry.witnesses
        if each != entry.source_entity
    )
    line, lines = _said(memory, entry), tuple(before[-LINES_BEFORE:])
    if entry.origin != "self":
        return LineInTalk(line, memory.names, others, lines)
    spoke = (each.speaker for each in reversed(lines) if each.speaker not in ("", line.speaker))
    listener = next(spoke, others[0] if others else "")
    return LineInTalk(line, (listener,), (*others, line.speaker), lines)


def _said(memory: Memory, entry: Entry) -> TalkLine:
    if entry.kind in _EVENTS:
        return TalkLine("", entry.content, "event")
    speaker = memory.name if entry.origin == "self" else entry.seen_as
    text = entry.content
    if entry.kind == "pose" and text.lower().startswith(f"{speaker.lower()} "):
        text = text[len(speaker) + 1 :]  # the network reads "Alice does: waves"
    return TalkLine(speaker, text, entry.kind)
