"""run_sleep_consolidation [A]: journal entries become facts in Mem0.

Where rules judge, the entries that `scoring` found important enough are consolidated, a window of
the journal at a time. Any other provider looks once at a batch of lines (`Provider.digest`,
docs/adr/026), and what it answers is applied here: importance, facts with what they repeat or end,
agenda items and experiences. While the NPC is awake it looks only at talk that was weighty
(`look_awake`); the night looks at the rest.

A rule sees one audience at a time, so that a fact is as private as its sources; what a model draws
from talk of several is taken apart by its citations (`audiences`). Lines of which it is unknown
whether they were confided are judged first (docs/adr/035). A fact's id is made from its text and
audience, and entries are marked last: work that was killed and runs again finds its own facts and
doubles none.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
from twisted.internet import defer

from .. import conf, language, offload
from ..embedding import embedder
from ..ingest import agenda_items, components, endings, experiences, preference_slots
from ..ingest.index import rewrite_fields
from ..llm import router
from ..llm.provider import Digest, Passage, Relation
from ..log import logger
from ..privacy import shared_privacy
from ..records import LOCKED, UNJUDGED, Entry, FactDraft, MemoryRecord, PassReport, seconds_between
from ..store import memory_store
from ..store.evidence import Work
from ..store.journal import join_ranges, ranges_include, ranges_of
from ..store.links import Link
from ..store.npc_memory import Memory
from ..store.payload import entry_memory_id, memory_id_for
from . import audiences, outage, scoring
from .reconciliation import reconcile

CURSOR = "consolidated"

LINES = 32  # new lines in one look
FEWEST = 8  # lines of which half are not asked for alone
AROUND, BETWEEN = 6, 2  # lines shown before the first new one, and before each of the others
TALK_AROUND = 96  # lines on either side that tell a rule what kind of talk it judges
KNOWN = 24  # known facts beside them
KNOWN_TO_ALL = 6  # and beside what was said in confidence
NEAREST = 6  # facts that are looked at for each line of a whole batch
LOOK_AHEAD = 200  # entries in which new lines are gathered
ENTRIES_A_STEP = 1000  # passed over in one step because nothing is to be done about them
ABOUT_ITSELF = "about the NPC itself"  # the reason why persona protection refuses a fact
WEIGHTY = 7  # heuristic importance of a line, 1-10, that makes talk weighty


def run_sleep_consolidation(memory: Memory) -> defer.Deferred:
    """Consolidate the next batch: of scored entries where rules judge, else of new ones."""
    by_rules = router.rules_judge(memory.settings)
    return _consolidate_scored(memory) if by_rules else _look_at_next(memory)


# --- where rules judge ----------------------------------------------------------------------------


@defer.inlineCallbacks
def _consolidate_scored(memory: Memory) -> Generator[Any, Any, PassReport]:
    """Consolidate the next batch of scored entries at or above `MIN_IMPORTANCE`."""
    settings = memory.settings
    start = memory.journal.cursors.get(CURSOR, 0)
    scored = memory.journal.cursors.get(scoring.CURSOR, 0)
    end = min(start + conf.NIGHT_BATCH, scored)
    batch = [
        entry
        for entry in memory.journal.read(start + 1, end)
        if entry.learnable
        and not entry.consolidated
        and entry.importance >= settings.MIN_IMPORTANCE
    ]
    changed = 0
    near = [*memory.journal.read(start + 1 - TALK_AROUND, end + TALK_AROUND)] if batch else []
    for entries in grouped(batch, lambda entry: entry.audience):
        around = [each for each in near if each.audience == entries[0].audience]
        with memory.evidence.work_on(entries, priority=offload.NIGHT) as work:
            provider, drafts = yield work.ask("extract_facts", entries, memory.name, around)
            drafts = _of_others(memory, drafts, work)
            changed += yield _keep_facts(memory, drafts, entries, provider, work)
    # a line that is no fact itself ends facts too; those of older lines are stored by now
    lines = list(memory.journal.read(start + 1, end))
    with memory.evidence.work_on(lines, priority=offload.NIGHT) as work:
        yield endings.apply(memory, lines, work, records=("fact",))
        yield endings.end_closed(memory, lines, work)
    memory.journal.update({entry.id: {"consolidated": True} for entry in batch})
    memory.journal.advance_cursor(CURSOR, end)
    return PassReport(done=end >= scored, read=len(batch), changed=changed)


def _batches(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Cut lines into as few and as equal batches as possible; unjudged talk stands by itself."""
    unjudged = {entry.circle for entry in entries if entry.unjudged}
    found = []
    for lines in grouped(entries, lambda entry: entry.circle in unjudged and entry.circle):
        length = -(-len(lines) // -(-len(lines) // LINES))
        found += [lines[start : start + length] for start in range(0, len(lines), length)]
    return found


def grouped(those: Iterable[Any], by: Callable[[Any], Any]) -> list[list[Any]]:
    """Group entries or notes, in the order of the first of each group."""
    groups: dict[Any, list[Any]] = {}
    for each in those:
        groups.setdefault(by(each), []).append(each)
    return list(groups.values())


def _of_others(memory: Memory, drafts: Iterable[FactDraft], work: Work) -> list[FactDraft]:
    """Return the drafts that persona protection lets through; count and log the others."""
    drafts = list(drafts)
    kept = [draft for draft in drafts if not language.get().about_itself(draft.text, memory.names)]
    _count_refused(memory, {ABOUT_ITSELF: len(drafts) - len(kept)}, work)
    return kept


def _count_refused(memory: Memory, refused: Mapping[str, int], work: Work) -> None:
    """Count facts that are not kept in the night's record, and log how many of which NPC."""
    for reason, count in refused.items():
        if count:
            work.tally.refuse(reason, count)
            logger().info("#%s: facts refused: %s %s.", memory.owner.id, count, reason)


# --- one look -------------------------------------------------------------------------------------


@defer.inlineCallbacks
def _look_at_next(memory: Memory) -> Generator[Any, Any, PassReport]:
    """Look at the next batch of lines that nothing was drawn from yet."""
    read = yield _pass_over(memory)
    changed = 0
    if waiting := (yield _waiting(memory, offload.NIGHT)):
        entries = _batches(waiting)[0]
        changed = yield _look(memory, entries, offload.NIGHT)
        read += len(entries) + (yield _pass_over(memory))
    done = memory.journal.cursors.get(CURSOR, 0) >= len(memory.journal)
    return PassReport(done=done, read=read, changed=changed)


@defer.inlineCallbacks
def look_awake(memory: Memory, *, until_silent: bool = False) -> Generator[Any, Any, bool]:
    """Look at talk that was weighty, once it has filled a batch or half of one and fallen silent,
    or `until_silent` without waiting for that. Returns whether nothing is left to look at now."""
    last = len(memory.journal)
    if memory.looked_at == last:
        return True
    newest = next(iter(memory.journal.tail(1)), None)
    quiet = until_silent or (
        newest is not None
        and seconds_between(newest.timestamp, memory.clock()) >= memory.settings.QUIET_SECONDS
    )
    if not quiet and last - memory.looked_at < LINES // 2:
        return True
    yield _pass_over(memory)
    waiting = yield _waiting(memory, offload.AWAKE)
    for entries in _batches(waiting):
        enough = len(entries) >= LINES // 2 and (quiet or len(waiting) >= LINES)
        if enough and max(entry.importance for entry in entries) >= WEIGHTY:
            looked = yield _look(memory, entries, offload.AWAKE, at_night=False)
            if looked is not None:
                return False
    memory.looked_at = last
    return True


def _is_waiting(memory: Memory, entry: Entry) -> bool:
    """Whether nothing was drawn from an entry that something may be drawn from."""
    if not entry.learnable:
        return False
    if entry.scoring_method == "heuristic" and LOCKED not in entry.tags:
        return True
    return not entry.consolidated and entry.importance >= memory.settings.MIN_IMPORTANCE


@defer.inlineCallbacks
def _pass_over(memory: Memory) -> Generator[Any, Any, int]:
    """Move the cursor past a bounded number of entries to one that waits. Returns the number."""
    start = memory.journal.cursors.get(CURSOR, 0)
    end = min(start + ENTRIES_A_STEP, len(memory.journal))
    ahead = memory.journal.read(start + 1, end)
    waits = next((each for each in ahead if _is_waiting(memory, each)), None)
    end = waits.id - 1 if waits else end
    yield _judge_own(memory, start, end)
    for cursor in (CURSOR, scoring.CURSOR, experiences.CURSOR):
        memory.journal.advance_cursor(cursor, end)
    return end - start


@defer.inlineCallbacks
def _judge_own(memory: Memory, start: int, end: int) -> Generator[Any, Any, None]:
    """Let everybody hear of unjudged words of the NPC that rest on nothing kept to a few.

    All lines up to `end` have been looked at; those which no model could judge are kept.
    """
    own = [e for e in memory.journal.read(start + 1, end) if e.unjudged and e.origin == "self"]
    if not own:
        return
    said = {int(each) for entry in own for each in entry.evidence if each.isdecimal()}
    known = [*filter(None, map(memory.journal.get, said))]
    for first in range(max(1, start - ENTRIES_A_STEP), end + 1, conf.PAGE_SIZE):
        known += memory.journal.read(first, min(first + conf.PAGE_SIZE - 1, end))
        yield offload.breathe(offload.NIGHT)
    kept = {e.id for e in known if e.audience is not None and e.kind != "whisper"}
    kept -= {entry.id for entry in own}
    free: list[Entry] = []
    for entry in own:
        rests_on = {int(each) for each in entry.evidence if each.isdecimal()}
        if kept & rests_on or ranges_include(entry.context, kept):
            kept.add(entry.id)
        else:
            free.append(entry)
    with memory.evidence.work_on(free, priority=offload.NIGHT) as work:
        yield _judged(memory, free, dict.fromkeys((each.id for each in free), False), work)


@defer.inlineCallbacks
def _judged(
    memory: Memory, entries: Sequence[Entry], confided: Mapping[int, bool], work: Work
) -> Generator[Any, Any, list[Entry]]:
    """Write which unjudged entries were said in confidence. Returns them as they are then."""
    changes: dict[int, dict[str, Any]] = {
        each.id: {
            "private": confided[each.id],
            "tags": tuple(tag for tag in each.tags if tag != UNJUDGED),
        }
        for each in entries
        if each.id in confided
    }
    entries = [replace(each, **changes.get(each.id, {})) for each in entries]
    judged = [each for each in entries if each.id in changes]
    yield work.run(rewrite_fields, memory.id, judged, "private", "audience", "tags")
    memory.journal.update(changes)
    memory.conversations.note_judged(confided)
    memory.chat_log.note_judged(confided)
    return entries


@defer.inlineCallbacks
def _waiting(memory: Memory, priority: int) -> Generator[Any, Any, list[Entry]]:
    """The next lines that wait, as a Deferred, read a page at a time."""
    start = memory.journal.cursors.get(CURSOR, 0)
    waiting: list[Entry] = []
    for first in range(start + 1, start + LOOK_AHEAD + 1, conf.PAGE_SIZE):
        ahead = memory.journal.read(first, first + conf.PAGE_SIZE - 1)
        waiting += [each for each in ahead if _is_waiting(memory, each)]
        yield offload.breathe(priority)
    now = filter(None, (memory.journal.get(each.id) for each in waiting))
    return [each for each in now if _is_waiting(memory, each)]


@defer.inlineCallbacks
def _look(
    memory: Memory,
    entries: Sequence[Entry],
    priority: int,
    *,
    at_night: bool = True,
    halve: bool = True,
) -> Generator[Any, Any, int | None]:
    """Look once at lines and apply what the provider answers, those of each audience by themselves.

    Where it gives no usable answer, halves of the batch are tried at night, and then the offline
    provider does the work. Returns how many facts were stored or changed; None if nothing was done.
    """
    heard = grouped(entries, lambda entry: entry.circle[1])
    around = [_around(memory, lines) for lines in heard]
    with memory.evidence.work_on([*chain(*around), *entries], priority=priority) as work:
        parts = []
        for lines, beside in zip(heard, around, strict=True):
            known = yield work.run(known_facts, memory.id, lines)
            work.add_evidence(known)
            parts.append(
                Passage(
                    npc_name=memory.name,
                    entries=tuple(lines),
                    around=beside,
                    known=tuple(known),
                    goals=memory.goals,
                    known_names=memory.people.names(),
                    least_importance=memory.settings.MIN_IMPORTANCE,
                )
            )
        whole = audiences.together(parts)
        digest, name = (yield work.judge("digest", whole)), router.chosen_name(memory.settings)
        if digest is None and not at_night:
            return None
        away = digest is None and router.is_away(memory.settings, memory.id)
        if away:  # the model does it in a later night; what it cannot do is left to rules for good
            outage.note_outage(memory, entries)
        if digest is None and (away or not halve or len(entries) <= FEWEST):
            digest, name = Digest({}), router.OFFLINE
            work.tally.made(name)
        if digest is not None and digest.confided is not None:
            confided = {each.id: each.id in digest.confided for each in entries if each.unjudged}
            entries = yield _judged(memory, entries, confided, work)
            if any(confided.values()):  # now it is known who may hear of what
                return 0
            parts = [replace(parts[0], entries=tuple(entries))]
        if digest is not None:
            changed, shown = 0, _shown(whole)
            found, refused = yield work.run(audiences.apart, digest, whole, parts)
            _count_refused(memory, refused, work)
            for part, drawn in zip(parts, found, strict=True):
                drawn = _of_audience(drawn, part)
                drawn = replace(drawn, facts=tuple(_of_others(memory, drawn.facts, work)))
                checked = yield work.run(router.answer_of, router.OFFLINE, "checked", drawn, part)
                _count_refused(memory, checked.refused, work)
                changed += yield _apply(memory, checked.digest, part, name, work, shown)
                yield endings.end_by_lines(memory, checked.digest.over, whole.known, work)
                yield endings.apply(memory, part.entries, work, records=("fact",))
                yield endings.end_closed(memory, part.entries, work)
            return changed
    middle = len(entries) // 2
    changed = 0
    for half in (entries[:middle], entries[middle:]):
        changed += yield _look(memory, half, priority, halve=False)
    return changed


def _of_audience(drawn: Digest, part: Passage) -> Digest:
    """Return a digest that ends and repeats only what the audience of a part knows alone."""
    own = {fact.id for fact in part.known if fact.audience == part.entries[0].audience}
    facts = (
        replace(
            draft,
            same_as=draft.same_as if draft.same_as in own else "",
            ends=draft.ends and tuple(each for each in draft.ends if each in own),
        )
        for draft in drawn.facts
    )
    over = {each: by for each, by in drawn.over.items() if by or each in own}
    return replace(drawn, facts=tuple(facts), over=over)


def _around(memory: Memory, entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Lines of the same conversations just before the new ones of an audience, and the one after
    the last, in the order of the journal."""
    found: list[Entry] = []
    for lines in grouped(entries, lambda entry: entry.session_id):
        first, last = lines[0], lines[-1]
        new = {entry.id for entry in lines}
        heard = [
            entry
            for entry in memory.journal.read(first.id - LOOK_AHEAD // 4, last.id + 1)
            if entry.id in new
            or (entry.session_id == first.session_id and _stands_beside(entry, lines))
        ]
        near: set[int] = set()
        for place, entry in enumerate(heard):
            if entry.id in new:
                reach = AROUND if entry.id == first.id else BETWEEN
                near |= {each.id for each in heard[max(0, place - reach) : place]}
        found += [e for e in heard if e.id not in new and (e.id in near or e.id > last.id)]
    return tuple(sorted(found, key=lambda entry: entry.id))


def _stands_beside(known: Entry | MemoryRecord, entries: Sequence[Entry]) -> bool:
    """Whether something known may be shown beside entries: nothing private beside unjudged ones."""
    if any(entry.unjudged for entry in entries):
        return not known.private
    return known.audience in (None, entries[0].audience)


def known_facts(agent_id: str, entries: Sequence[Entry]) -> list[MemoryRecord]:
    """Find the facts of the lines' audience that they may speak of, oldest first (worker thread).

    Beside them stand a few that everybody knows, to understand what was said in confidence. What
    rests on these lines alone is left out, and what it ended is shown: a look that was killed sees
    the same again.
    """
    store = memory_store.shared()
    own = {entry.id for entry in entries}
    lines = embedder.shared().encode([entry.words for entry in entries])
    padded = np.vstack([lines[:1], lines, lines[-1:]])
    windows = padded[:-2] + padded[1:-1] + padded[2:]  # a bare answer and what it answers
    windows /= np.maximum(np.linalg.norm(windows, axis=1, keepdims=True), 1e-9)
    # few lines look further: most of what is near to a whisper was said aloud
    most = NEAREST * LINES // len(entries)
    nearness: dict[str, float] = {}
    found: dict[str, MemoryRecord] = {}
    for near in store.nearest_each(agent_id, [*lines, *windows], most, record="fact"):
        for hit in near:
            fact = hit.memory
            if _stands_beside(fact, entries) and not set(fact.journal_ids) <= own:
                found[fact.id] = fact
                nearness[fact.id] = max(hit.score, nearness.get(fact.id, 0.0))
    ended_by = {fact.superseded_by for fact in found.values() if fact.superseded_by}
    ends = {each.id: each for each in store.get(ended_by)}
    held = [
        fact
        for fact in found.values()
        if not fact.superseded_by
        or (fact.superseded_by in ends and set(ends[fact.superseded_by].journal_ids) <= own)
    ]
    held.sort(key=lambda fact: (-nearness[fact.id], fact.id))
    private = [fact for fact in held if fact.audience is not None][:KNOWN]
    public = [fact for fact in held if fact.audience is None]
    public = public[: KNOWN_TO_ALL if entries[0].private else KNOWN]
    return sorted((*private, *public), key=lambda fact: (fact.created_at, fact.id))


@defer.inlineCallbacks
def _apply(
    memory: Memory, digest: Digest, passage: Passage, provider: str, work: Work, shown: str
) -> Generator[Any, Any, int]:
    """Write what a look gave; the entries are marked last. Repeated, it changes nothing."""
    entries = [_weighed(entry, digest.importance, provider) for entry in passage.entries]
    by_id = {entry.id: entry for entry in entries}
    least = memory.settings.MIN_IMPORTANCE
    drafts = [
        _attributed(memory, draft, by_id)
        for draft in _of_others(memory, digest.facts, work)
        if draft.ends
        or draft.kind in agenda_items.KINDS
        or max(by_id[each].importance for each in draft.journal_ids) >= least
    ]
    changed = yield _keep_facts(memory, drafts, entries, provider, work, shown)
    for draft in drafts:
        if not draft.by_rules:
            agenda_items.update_from_fact(memory, draft, passage, shown)
            yield work.breathe()
    fresh = entries[-1].id > memory.journal.cursors.get(experiences.CURSOR, 0)
    for experience in (digest.experiences or ()) if fresh else ():
        if experience.memory_weight > conf.KEEP_EXPERIENCE_ABOVE:
            name = router.OFFLINE if experience.by_rules else provider
            yield work.run(experiences.keep, memory.id, experience, tuple(entries), name, shown)
    yield work.run(rewrite_fields, memory.id, entries, "importance", "memory_weight")
    memory.journal.update(
        {
            entry.id: {
                "importance": entry.importance,
                "scoring_method": entry.scoring_method,
                "consolidated": entry.consolidated or entry.importance >= least,
            }
            for entry in entries
        }
    )
    return changed


def _shown(passage: Passage) -> str:
    """The journal ids of all that a passage shows, and of what its facts were drawn beside."""
    ids = [entry.id for entry in (*passage.around, *passage.entries)]
    ids += [each for fact in passage.known for each in fact.journal_ids]
    return join_ranges(ranges_of(ids), *(fact.context for fact in passage.known))


def _weighed(entry: Entry, importance: Mapping[int, int], provider: str) -> Entry:
    """The entry with its new importance; what was set by hand stays."""
    if LOCKED in entry.tags or entry.scoring_method == "manual":
        return entry
    method = "offline" if provider == router.OFFLINE else "llm"
    score = importance.get(entry.id, entry.importance)
    return replace(entry, importance=score, scoring_method=method)


def _attributed(memory: Memory, draft: FactDraft, entries: Mapping[int, Entry]) -> FactDraft:
    """Name the person whom a fact is about: the one it names, else the only one who told it."""
    named = memory.people.mentioned(draft.subject)
    if len(named) == 1:
        return replace(draft, about=named[0])
    told = {entries[each].source_entity for each in draft.journal_ids}
    return replace(draft, about=told.pop() if len(told) == 1 else None)


# --- facts ----------------------------------------------------------------------------------------


@defer.inlineCallbacks
def _keep_facts(
    memory: Memory,
    drafts: Sequence[FactDraft],
    entries: Sequence[Entry],
    provider: str,
    work: Work,
    shown: str = "",
) -> Generator[Any, Any, int]:
    """Reconcile facts with what is known, and store them with their links and slots.

    `shown` are the journal ids of all that a language model was shown, as ranges. Returns how many
    facts hold their evidence now.
    """
    facts = yield work.run(facts_of, memory.id, drafts, entries, provider, shown)
    named = {
        draft.text: dict.fromkeys(draft.ends, Relation.CHANGES)
        or dict.fromkeys(filter(None, [draft.same_as]), Relation.SAME)
        for draft in drafts
        if draft.ends is not None
    }
    fact_ids = yield reconcile(memory, facts, work, named)
    now = memory.clock()
    yield memory.links.add_gently(
        (
            Link(str(entry_id), fact_id, 1.0, "evidence", now)
            for fact, fact_id in zip(facts, fact_ids, strict=True)
            for entry_id in fact.journal_ids
        ),
        offload.NIGHT,
    )
    work.check()
    topics = {draft.text: draft.slot for draft in drafts if draft.slot}
    for fact, fact_id in zip(facts, fact_ids, strict=True):
        if fact.about and fact.content in topics:
            preference_slots.fill_by_fact(memory, fact, fact_id, topics[fact.content])
            yield work.breathe()
    return len(set(fact_ids))


def facts_of(
    agent_id: str,
    drafts: Iterable[FactDraft],
    entries: Iterable[Entry],
    provider: str,
    shown: str = "",
) -> list[MemoryRecord]:
    """Make facts of drafts, each with its evidence from `entries` (worker thread)."""
    known = {entry.id: entry for entry in entries}
    facts = []
    for draft in drafts:
        if _is_past(agent_id, draft):
            continue
        # a model may have used anything that it was shown; a rule reads the lines that it cites
        by, context = (router.OFFLINE, "") if draft.by_rules else (provider, shown)
        sources = [known[each] for each in draft.journal_ids]
        facts.append(replace(_fact(agent_id, draft, sources, by), context=context))
    return components.completed(facts)


def fact_id(agent_id: str, text: str, audience: tuple[str, ...] | None) -> str:
    """The id of the fact with this text and audience; None is everybody."""
    said = " ".join(text.lower().split())
    return memory_id_for(agent_id, "fact", said, *(("*",) if audience is None else audience))


def _is_past(agent_id: str, draft: FactDraft) -> bool:
    """Whether its sources are outranked (a builder corrected them), or those of a preference
    superseded."""
    ids = [entry_memory_id(agent_id, entry_id) for entry_id in draft.journal_ids]
    sources = memory_store.shared().get(ids)
    over = [
        each.superseded_by if draft.memory_type == "procedural" else each.outranked
        for each in sources
    ]
    return bool(over) and all(over)


def _fact(agent_id: str, draft: FactDraft, sources: list[Entry], provider: str) -> MemoryRecord:
    private, witnesses = shared_privacy(sources)
    importance = max(entry.importance for entry in sources) / 10
    fact = MemoryRecord.drawn(
        fact_id(agent_id, draft.text, witnesses if private else None),
        draft.text,
        "fact",
        sources,
        memory_type=draft.memory_type,
        about=draft.about,
        speaker=sources[0].seen_as,
        importance=importance,
        memory_weight=importance,
        source_type=sources[0].source_type,
        source_trust=min(entry.source_trust for entry in sources),
        provider=provider,
        quote=draft.quote,
    )
    if draft.about and draft.about not in {entry.source_entity for entry in sources}:
        return replace(fact, entities=tuple(sorted({*fact.entities, draft.about})))
    return fact
