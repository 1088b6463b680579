"""Talk of several audiences in one look, and what was drawn from it taken apart again.

A model is shown at once what was said aloud and what was said in confidence. Who may hear of a fact
is settled here: it belongs to those who heard every line that it cites, and is refused if they did
not hear what it tells. An experience says too much in too few words to be settled so: for whoever
did not hear all that was shown, rules make it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np

from .. import language
from ..embedding import embedder
from ..llm.provider import Digest, Passage
from ..local_time import day_of
from ..recall.told_secrets import COMMON_FROM, SIMILAR_FROM, telling
from ..records import Entry, FactDraft

Audience = tuple[str, ...] | None

OF_DIFFERENT = "rests on what different people were told in confidence"
OF_OTHERS = "tells what only others were told"
SURELY_NEARER = 0.1  # in cosine, to what was heard than to what was not

_WORD = re.compile(r"\w+")


def together(parts: Sequence[Passage]) -> Passage:
    """Return one passage of several, each of one audience, in which nothing stands twice.

    Of what everybody knows, only talk that was said aloud is held against it.
    """
    if len(parts) == 1:
        return parts[0]
    aloud = any(each.entries[0].audience is None for each in parts)
    lines = {each.id: each for part in parts for each in part.around}
    known = {
        fact.id: fact
        for part in parts
        for fact in part.known
        if not aloud or fact.audience == part.entries[0].audience
    }
    entries = sorted((each for part in parts for each in part.entries), key=lambda each: each.id)
    around = lines.keys() - {each.id for each in entries}
    return replace(
        parts[0],
        entries=tuple(entries),
        around=tuple(lines[number] for number in sorted(around)),
        known=tuple(sorted(known.values(), key=lambda fact: (fact.created_at, fact.id))),
    )


def apart(
    digest: Digest, whole: Passage, parts: Sequence[Passage]
) -> tuple[list[Digest], Counter[str]]:
    """Take what was drawn from a passage apart, and count what is refused by the reason (worker
    thread). What is drawn from lines in confidence and from others cites only the former."""
    if len(parts) == 1:
        return [digest], Counter()
    refused = Counter[str]()
    entries = {each.id: each for each in whole.entries}
    found = []
    homes = [_narrowest([entries[n] for n in each.journal_ids]) for each in digest.facts]
    refused[OF_DIFFERENT] = homes.count(None)
    for part in parts:
        own = {each.id for each in part.entries}
        heard = _Heard.by(part.entries[0].audience, whole)
        mine = [
            replace(fact, journal_ids=tuple(n for n in fact.journal_ids if n in own))
            for fact, home in zip(digest.facts, homes, strict=True)
            if home is not None and home.id in own
        ]
        kept = tuple(each for each in mine if not heard.by_others(each)) if heard.hidden else mine
        refused[OF_OTHERS] += len(mine) - len(kept)
        happened = [each for each in digest.experiences or () if own.issuperset(each.journal_ids)]
        happened.sort(key=lambda each: -each.memory_weight)
        found.append(
            Digest(
                {number: score for number, score in digest.importance.items() if number in own},
                tuple(kept),
                None if heard.hidden else tuple(happened[:1]),
                over=dict(digest.over) | (heard.told_aloud(mine, whole) if heard.hidden else {}),
            )
        )
    return found, +refused


def _hears(listeners: Audience, audience: Audience) -> bool:
    """Whether all listeners, None being everybody, belong to an audience."""
    return audience is None or (listeners is not None and {*listeners} <= {*audience})


def _narrowest(cited: Sequence[Entry]) -> Entry | None:
    """Return the cited line whose audience heard all others too."""
    return next((e for e in cited if all(_hears(e.audience, o.audience) for o in cited)), None)


@dataclass(frozen=True, slots=True)
class _Heard:
    """What is shown of a passage, to one audience and to others alone."""

    audience: Audience
    hidden: set[str]  # stems and numbers that stand in it
    shown: set[str]
    hidden_days: set[str]  # days that only what is hidden names, YYYY-MM-DD
    hidden_at: np.ndarray  # vectors of unit length, (texts, size)
    shown_at: np.ndarray

    @classmethod
    def by(cls, audience: Audience, whole: Passage) -> _Heard:
        lines = (*whole.entries, *whole.around)
        told = [(each.audience, each.with_speaker()) for each in lines]
        told += [(fact.audience, fact.content) for fact in whole.known]
        shown = [text for of, text in told if _hears(audience, of)]
        hidden = [text for of, text in told if not _hears(audience, of)]
        vectors = embedder.shared().encode([*hidden, *shown])
        everybody = (whole.npc_name, whole.goals, *whole.known_names)
        days: dict[bool, set[str]] = {True: set(), False: set()}
        for each in lines:
            day = language.get().due(each.words, each.timestamp)
            days[_hears(audience, each.audience)].add(day)
        return cls(
            audience,
            _telling(hidden),
            _telling([*shown, *everybody, *{_day(day_of(each.timestamp)) for each in lines}]),
            days[False] - days[True] - {""},
            vectors[: len(hidden)],
            vectors[len(hidden) :],
        )

    def told_aloud(self, facts: Iterable[FactDraft], whole: Passage) -> dict[str, int]:
        """Return the ids of secrets that facts end which everybody may know, with the line of each.

        The line was said aloud, whatever the words of the fact; the secret's ending tells nothing.
        """
        secret = {fact.id: fact.content for fact in whole.known if fact.audience is not None}
        over: dict[str, int] = {}
        for fact in facts if self.audience is None else ():
            for each in (n for n in fact.ends or () if n in secret):
                one, other = embedder.shared().encode([fact.text, secret[each]])
                if float(one @ other) > SIMILAR_FROM:
                    over[each] = max(fact.journal_ids)
        return over

    def by_others(self, fact: FactDraft) -> bool:
        """Whether a fact tells what only others heard.

        It has a word or the day of theirs, or is nearer to them in meaning than to what was heard;
        in words that nobody said it has to be surely nearer to that.
        """
        texts = [fact.text, f"{fact.subject} {fact.object} {fact.slot}"]
        words = _telling(texts) & self.hidden - self.shown - _telling([_day(fact.date)])
        if fact.date in self.hidden_days:
            return True
        if _has_rare(" ".join(texts), words):
            return True
        [at] = embedder.shared().encode(texts[:1])
        near = float((self.hidden_at @ at).max())
        besides = SURELY_NEARER if _telling(texts[:1]) - self.shown else 0.0
        return near > SIMILAR_FROM and near + besides > float((self.shown_at @ at).max())


def _has_rare(text: str, stems: set[str]) -> bool:
    """Whether a text has a number or a word with one of these stems that is not common."""
    return any(
        language.get().frequency(word) < COMMON_FROM
        for word in _WORD.findall(text)
        if telling(word) & stems
    )


def _telling(texts: Iterable[str]) -> set[str]:
    return set().union(*map(telling, texts))


def _day(iso: str) -> str:
    return f"{date.fromisoformat(iso):%A %-d %d %B %Y}" if iso else ""
