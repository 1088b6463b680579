"""One memory in @memory, and one person: show, links, trace, profile, preview."""

from __future__ import annotations

import re
from typing import Any

from twisted.internet import defer

from ..admin import ids, inspect, provenance
from ..admin import preview as prompt_preview
from ..text.plural import plural
from .display import brief, dim, hanging, heading, memory_in_brief, prose, safe, table, when

OBSERVATIONS_SHOWN = 20
_WHISPERS = re.compile(r"\s+whispers$", re.IGNORECASE)


class OneMemory:
    """The switches on one memory or one person; mixed into `CmdMemory`."""

    def do_show(self, npc: Any) -> None:
        self.when(provenance.show(npc, self.rhs), lambda shown: self.page(whole(npc, shown)))

    def do_links(self, npc: Any) -> None:
        self.when(provenance.show(npc, self.rhs), lambda shown: self._show_links(npc, shown))

    def _show_links(self, npc: Any, shown: provenance.Shown) -> None:
        if not shown.links:
            self.tell(
                f"{safe(shown.id)} is linked with nothing: links are made at night, between what "
                "is alike and between a memory and what it rests on."
            )
            return
        lines = [heading(f"What {shown.id} is linked with", "the strongest first")]
        lines += [link_line(link) for link in shown.links]
        self.page("\n".join(lines))

    def do_trace(self, npc: Any) -> None:
        self.when(provenance.trace(npc, self.rhs), lambda found: self.page(traced(npc, found)))

    def do_profile(self, npc: Any) -> None:
        if not self.rhs:
            self.when(inspect.people(npc), lambda known: self.page(people(npc, known)))
            return
        who = defer.maybeDeferred(ids.person, npc, self.rhs)
        self.when(who, lambda identity: self.page(profile(npc, inspect.person(npc, identity))))

    def do_preview(self, npc: Any) -> None:
        player, colon, words = self.rhs.partition(":")
        if not colon:
            self.tell(
                f"Say who would say what: @memory/preview {safe(npc.key)} = Alice: Good evening! "
                "For a whisper: = Alice whispers: Good evening!"
            )
            return
        name = _WHISPERS.sub("", player.strip())
        found = prompt_preview.preview(npc, name, words, whispered=name != player.strip())
        self.when(found, lambda seen: self.page(preview(npc, seen)))


# --- how things look ------------------------------------------------------------------------------


def whole(npc: Any, shown: provenance.Shown) -> str:
    """One memory with all around it."""
    memory, entry = shown.memory, shown.entry
    marks = [name for name in ("private", *shown.tags) if name != "private" or memory.private]
    lines = [heading(f"{shown.id} of {npc.key}", f"{memory.record}, {memory.memory_type}")]
    if marks:
        lines.append(hanging("  |r", ", ".join(marks)) + "|n")
    lines.append(prose(memory.content))
    lines += [
        _field("said by", _said_by(npc, shown)),
        _field("when", when(entry.timestamp if entry else memory.created_at)),
        _field("heard by", _names(npc, memory.witnesses) if memory.private else ""),
        _field("perceived line", entry.line or "" if entry else ""),
        _field("own words", memory.quote),
        _field("importance", _weights(shown)),
        _field("felt like", ", ".join(memory.dominant_emotions)),
        _field("lesson", memory.the_lesson),
        _field("told", f"{plural(memory.recalls, 'time')}; last {when(memory.last_accessed)}"),
        _field("holds", _validity(shown)),
        _field("made by", memory.provider),
        _field("id", memory.id),
    ]
    for title, found in (
        ("It rests on", shown.evidence),
        ("It ended", shown.superseded),
        ("It was ended by", [shown.superseded_by] if shown.superseded_by else []),
    ):
        if found:
            lines.append(f"|w{title}|n")
            lines += [hanging(f"  |y{ids.short(each):<8}|n ", each.content) for each in found]
    if shown.forgotten:
        gone = ", ".join(map(str, shown.forgotten))
        lines.append(
            dim(
                f"Forgotten meanwhile: {plural(len(shown.forgotten), 'entry', 'entries')} {gone}",
                indent=2,
            )
        )
    if shown.links:
        lines.append("|wLinked with|n")
        lines += [link_line(link) for link in shown.links[:10]]
        if len(shown.links) > 10:
            lines.append(dim(f"and {len(shown.links) - 10} more: @memory/links", indent=2))
    if shown.history:
        lines.append("|wWhat it said|n")
        lines += [
            hanging(f"  |x{when(change.when)}|n {change.event:<6} ", change.new or change.old)
            for change in shown.history
        ]
    return "\n".join(filter(None, lines))


def _field(name: str, value: str) -> str:
    return hanging(f"  {name + ':':<16}", value, indent=18, limit=1000) if value else ""


def _said_by(npc: Any, shown: provenance.Shown) -> str:
    memory, entry = shown.memory, shown.entry
    if entry and entry.origin == "self":
        return f"{npc.key} itself ({entry.kind})"
    if entry and entry.origin == "builder":
        return "a builder"
    kind = f" ({entry.kind})" if entry else ""
    known = npc.memory.people.name_of(memory.about) or memory.speaker
    who = " ".join(filter(None, (known, memory.about or "")))
    return f"{who}{kind}" if who else ""


def _names(npc: Any, identities: tuple[str, ...]) -> str:
    return ", ".join(npc.memory.people.name_of(each) or each for each in identities) or "nobody"


def _weights(shown: provenance.Shown) -> str:
    memory, entry = shown.memory, shown.entry
    by = f" ({entry.scoring_method})" if entry else ""
    weighed = entry.importance if entry else round(memory.importance * 10)
    return (
        f"{weighed} of 10{by}; weight {memory.memory_weight:.2f}; trust {memory.source_trust:.1f}"
    )


def _validity(shown: provenance.Shown) -> str:
    memory = shown.memory
    if memory.invalid_at or memory.superseded_by:
        since = f"from {when(memory.valid_from)} " if memory.valid_from else ""
        return f"no longer: {since}until {when(memory.invalid_at or '')}".replace("until never", "")
    if memory.expires_at:
        return f"until {when(memory.expires_at)}"
    if memory.compressed:
        return "yes; where its summary is told it gives way to that"
    return f"since {when(memory.valid_from)}" if memory.valid_from else ""


def link_line(link: provenance.LinkShown) -> str:
    """One link with its other end."""
    mark = "|r*|n" if link.private else " "
    head = f"  |g{link.score:.2f}|n {link.kind:<9}|y{safe(link.id):<8}|n{mark}"
    return hanging(head, link.text or "(forgotten)", indent=10, limit=200)


def traced(npc: Any, found: provenance.Trace) -> str:
    """What a memory came from and what came of it, as two trees."""
    lines = [heading(f"{found.root.id} of {npc.key}"), prose(found.root.memory.content, limit=1000)]
    lines.append("|wIt came from|n")
    lines += [memory_in_brief(each.memory, indent=2 * each.depth) for each in found.sources]
    if not found.sources:
        lines.append("  nothing else: it was perceived, added or taught")
    lines.append("|wWhat came of it|n")
    lines += [memory_in_brief(each.memory, indent=2 * each.depth) for each in found.results]
    for drawn in found.profiles:
        mark = "|r*|n" if drawn.private else " "
        name = drawn.name or drawn.identity
        lines.append(hanging(f"  of {brief(name)}{mark}", f"{drawn.kind}: {drawn.text}", limit=200))
    if not found.results and not found.profiles:
        lines.append("  nothing yet")
    elif found.results:
        lines.append(dim(f"@memory/forget {npc.key} = {found.root.id} all  forgets it and these."))
    if not found.whole:
        lines.append(dim(f"Only the nearest {provenance.TRACED} are shown."))
    return "\n".join(lines)


def people(npc: Any, known: list[inspect.Person]) -> str:
    """Whom an NPC knows."""
    if not known:
        return f"{safe(npc.key)} has met nobody yet."
    rows = [
        (
            each.name,
            each.state,
            f"{each.favorability:.2f}",
            each.interactions,
            each.observed,
            each.known,
            when(each.last_seen),
        )
        for each in known
    ]
    headers = ("name", "is", "favor", "talks", "noted", "known", "last seen")
    total = len(npc.memory.people)
    more = [f"|x{total - len(known)} more, seen longer ago|n"] if total > len(known) else []
    head = heading(f"Whom {npc.key} knows", "@memory/profile <npc> = <name> tells more")
    return "\n".join([head, table(headers, rows, right=(2, 3, 4, 5)), *more])


def profile(npc: Any, page: inspect.PersonPage) -> str:
    """What an NPC knows of one person."""
    person = page.person
    name = person.name or person.identity
    lines = [
        heading(f"What {npc.key} knows of {name}", f"{person.identity}, {person.entity_type}"),
        f"  {person.state} (favorability {person.favorability:.2f}); "
        f"{plural(person.interactions, 'line')} of talk; last seen {when(person.last_seen)}",
    ]
    if page.course:
        course = ", ".join(f"{day} {value:.2f}" for day, value in page.course[-6:])
        lines.append(dim(f"how it went: {course}", indent=2))
    if page.attributes:
        lines.append("|wDrawn from what was noted|n")
    for known in sorted(page.attributes, key=lambda each: -each.confidence):
        mark = "|r*|n" if known.private else " "
        rests = ", ".join(map(str, known.evidence[-6:]))
        lines.append(
            hanging(
                f" {mark}{brief(known.type)}: ",
                f"{known.value} ({known.confidence:.2f}, from {rests})",
            )
        )
    if page.preferences:
        lines.append("|wPreferences|n")
    for held in page.preferences:
        mark = "|r*|n" if held.private else " "
        before = (
            "; before: " + "; ".join(each.text for each in held.history) if held.history else ""
        )
        lines.append(hanging(f" {mark}", f"{held.text} (since {when(held.since)}{before})"))
    noted = page.observations[-OBSERVATIONS_SHOWN:]
    if noted:
        of = f"the last {len(noted)} of {len(page.observations)}"
        lines.append(heading("Noted", of))
    for seen in noted:
        mark = "|r*|n" if seen.private else " "
        lines.append(hanging(f" {mark}|y{seen.journal_id:>5}|n ", seen.text))
    if not (page.attributes or page.preferences or noted):
        lines.append("  nothing besides: it is noted at night what people say of themselves")
    return "\n".join(lines)


def preview(npc: Any, seen: prompt_preview.Preview) -> str:
    """The prompt as it would be sent."""
    lines = [heading(f"What would be sent for {seen.listener}", f"about {seen.tokens} tokens")]
    for role, content in seen.messages:
        lines.append(f"|c[{safe(role)}]|n")
        lines.append(prose(content, indent=0, limit=20_000))
    if seen.model:
        lines.append(hanging("|wTools offered:|n ", ", ".join(seen.tools) or "none"))
        lines.append(dim(f"It would go to {seen.language}.", indent=0))
    else:
        lines.append(
            dim(
                f"No language model is set, so that nothing is sent: {npc.key} answers from these "
                "memories by rule.",
                indent=0,
            )
        )
    return "\n".join(lines)
