"""What moves favorability [A]: trust grows slowly, and is lost faster.

Talk that is heard every evening makes an acquaintance of anybody, and never more than that; what is
confided makes a friend. Only kindness and gifts go further, and of them too a conversation gives no
more than so much: who flatters forty times is not close by midnight. What hurts always counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..embedding import emotions
from ..records import TALK_KINDS, Entry
from ..store.relationships import Relationship

TALK, CONFIDENCE, GIFT = 0.01, 0.03, 0.05
KIND, HARSH = 0.02, -0.05
TALK_A_SESSION = 0.05  # what talk, said or confided, gives in one conversation
ALL_A_SESSION = 0.1  # what talk, kindness and gifts give in it together
TALKED_UP_TO, CONFIDED_UP_TO = 0.45, 0.7  # an acquaintance; a friend
SESSIONS_KEPT = 4  # conversations of which it is known what they gave

WARM = frozenset(emotions.FAMILIES[0] + emotions.FAMILIES[1])  # joy, trust
COLD = frozenset(emotions.FAMILIES[5] + emotions.FAMILIES[6])  # disgust, anger
AGREEING = 2  # of the three nearest emotions, with the nearest of all not against them


def moved(before: Relationship, entry: Entry, warmth: float) -> Relationship:
    """How it stands with whoever an entry comes from, after it.

    Args:
        warmth: What `warmth_of` makes of an entry that is turned on the NPC, else 0.
    """
    session = entry.session_id or entry.timestamp[:10]
    had = dict(before.gained).get(session, 0.0)
    talk = _talk(entry, before.favorability, had)
    gift = GIFT if entry.kind == "give" else 0.0
    kind = min(max(0.0, warmth) + gift, max(0.0, ALL_A_SESSION - had - talk))
    step = talk + kind + min(0.0, warmth)
    favorability = round(min(1.0, max(0.0, before.favorability + step)), 4)
    now = replace(
        before,
        favorability=favorability,
        interactions=before.interactions + (entry.kind in TALK_KINDS),
        last_seen=max(before.last_seen, entry.timestamp),
        course=before.course_with(entry.timestamp[:10], favorability),
    )
    if talk + kind <= 0:
        return now
    others = tuple(each for each in before.gained if each[0] != session)
    gained = (*others, (session, round(had + talk + kind, 4)))
    return replace(now, gained=gained[-SESSIONS_KEPT:])


def _talk(entry: Entry, favorability: float, had: float) -> float:
    if entry.kind not in TALK_KINDS:
        return 0.0
    confided = entry.private and not entry.is_question
    step, up_to = (CONFIDENCE, CONFIDED_UP_TO) if confided else (TALK, TALKED_UP_TO)
    return max(0.0, min(step, TALK_A_SESSION - had, up_to - favorability))


def warmth_of(labels: Sequence[str]) -> float:
    """The step of favorability for the three nearest emotions of a text, nearest first."""
    for family, opposite, step in ((WARM, COLD, KIND), (COLD, WARM, HARSH)):
        if sum(label in family for label in labels) >= AGREEING and labels[0] not in opposite:
            return step
    return 0.0
