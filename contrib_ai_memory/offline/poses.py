"""Poses: what is done to the NPC without a word, and what it says to it.

What is laid before it or held out is known by its verb. Whether a gesture is kind or hostile is
judged by its nearness to a few of either, in the embedding model's space. Worker threads only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from ..embedding import embedder
from ..embedding.model import ModelAway
from ..records import Reply, ReplyRequest
from ..text.names import forms
from .acts import masked
from .matter import matter_of, paid_by
from .phrases import says

# gestures by the kind of phrase that answers them
GESTURES: Mapping[str, tuple[str, ...]] = {
    "touched": (
        "hugs them",
        "smiles at them",
        "bows to them politely",
        "nods to them in greeting",
        "raises a glass to them",
        "kisses their hand",
        "winks at them",
        "pats them on the shoulder",
    ),
    "provoked": (
        "slaps them",
        "spits at them",
        "throws something at them",
        "makes a rude gesture at them",
        "shoves them",
        "sneers at them",
        "shakes a fist at them",
    ),
    "called": (
        "looks at them",
        "turns to them",
        "sits down beside them",
        "points at something",
        "leans on the table in front of them",
        "shows them something",
        "hands them something",
    ),
}
HANDS_OVER = frozenset({"pay", "gift"})  # kinds of reaction
PAYS_FROM = 0.5  # share of these from which a pose pays the sum that it names
NEAREST = 2  # gestures of a kind, whose mean counts
CLEARLY = 0.04  # cosine by which one kind has to be nearer than the others
_SHOWS = re.compile(r"\b(?:hold|lay|put|set|offer|show|slid|push|hand|plac|pull|draw)\w*\b", re.I)
_THEIR = re.compile(r"^(?:his|her|their|its)\b", re.IGNORECASE)


def answer_to(done: str, request: ReplyRequest) -> Reply:
    """Answer what the speaker does: "slides his empty mug across the bar to Mara"."""
    called = {*forms((request.npc_name, *request.npc_names))}
    pays = sum(share for kind, share in request.wanted if kind in HANDS_OVER) >= PAYS_FROM
    if paid := paid_by(done, pays=pays):
        return says("settled of", request, topic=paid)
    if _SHOWS.search(done) and (shown := matter_of(done, "move", called)):
        return says("shown", request, topic=_THEIR.sub("your", shown))
    gesture = masked(done, [(name, "them") for name in called]).text
    return says(nearest_kind(gesture, GESTURES) or "called", request)


def nearest_kind(said: str, kinds: Mapping[str, Sequence[str]]) -> str:
    """Return the kind of which a text is an example, "" where none is clearly nearer than others.

    Args:
        kinds: Examples of each.
    """
    every = [each for some in kinds.values() for each in some]
    try:
        vectors = np.asarray(embedder.shared().encode([said, *every]))
    except ModelAway:
        return ""
    near = iter(vectors[1:] @ vectors[0])
    of_kind = {
        kind: float(np.mean(sorted(next(near) for _ in some)[-NEAREST:]))
        for kind, some in kinds.items()
    }
    *_, second, first = sorted(of_kind, key=of_kind.__getitem__)
    return first if of_kind[first] >= of_kind[second] + CLEARLY else ""
