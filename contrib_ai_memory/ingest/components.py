"""The four components of a memory record [B]: essence, emotions, weight and lesson.

Experiences have all four from whoever drew them. With the profile of the sources every record gets
them; otherwise a line or a fact has no guessed emotions and no stock lesson (docs/sources.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .. import conf, language
from ..embedding import emotions
from ..records import CONSCIOUS, MemoryRecord


def completed(memories: Sequence[MemoryRecord]) -> list[MemoryRecord]:
    """Fill in the emotions and the lesson that are missing: of what was committed consciously, or
    of all with the profile of the sources (worker thread)."""
    by_sources = conf.get().by_sources
    chosen = [each for each in memories if by_sources or CONSCIOUS in each.tags]
    labels = emotions.classify([each.content for each in chosen])
    felt = {each.id: found for each, found in zip(chosen, labels, strict=True)}
    return [
        replace(
            each,
            dominant_emotions=each.dominant_emotions or felt[each.id],
            the_lesson=each.the_lesson or language.get().lesson,
        )
        if each.id in felt
        else each
        for each in memories
    ]
