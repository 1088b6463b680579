"""Ablation: what each part of a memory changes in the answers.

An evening is lived through once; then every question is answered again without one part after
the other, as if the NPC had never had it. Only what works at night, `NIGHTLY`, takes a life of its
own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from .evenings_score import Judged, figures, of_kind, percent

ABLATED = (
    "profile attributes",
    "standing",
    "agenda",
    "facts",
    "experiences",
    "insights",
    "summaries",
    "preferences",
    "own words",
    "feelings",
)
NIGHTLY = ("goals",)

_MEMORIES: dict[str, Callable[[Any], bool]] = {
    "facts": lambda memory: memory.record == "fact",
    "experiences": lambda memory: memory.record == "experience",
    "insights": lambda memory: memory.record == "insight",
    "summaries": lambda memory: memory.record == "summary",
    "preferences": lambda memory: memory.memory_type == "procedural",
    "own words": lambda memory: "own" in memory.tags,
}
_SITUATION: dict[str, Callable[[Any], Any]] = {
    "profile attributes": lambda seen: _people(seen, attributes=()),
    "standing": lambda seen: _people(seen, standing="stranger"),
    "agenda": lambda seen: replace(seen, agenda=()),
}


def answer_without(part: str, memory: Any, entry: Any) -> str:
    """Return what the NPC would say to an entry without a language model.

    Nothing is said or stored, and the entry need not be in the journal.
    """
    from contrib_ai_memory import offload
    from contrib_ai_memory.llm import router
    from contrib_ai_memory.recall import reply

    with without(part):
        _loop, request = offload.wait(reply.prepare(memory, entry))
        _provider, answer = offload.wait(router.ask("reply", request, by=router.WITHOUT_MODEL))
    return answer.text


@contextmanager
def without(part: str) -> Iterator[None]:
    """Answer, and sleep, without a part of the memory."""
    from contrib_ai_memory.handler import MemoryHandler
    from contrib_ai_memory.recall import mood, reply, search

    is_permitted, situation_of = search.is_permitted, reply.situation_of

    def permitted(memory: Any, request: Any) -> bool:
        return not _MEMORIES[part](memory) and is_permitted(memory, request)

    def situation(memory: Any, entry: Any, line: Any, recalled: Any = ()) -> Any:
        seen, beside = situation_of(memory, entry, line, recalled)
        return _SITUATION[part](seen), () if part == "agenda" else beside

    with ExitStack() as stack:
        if part in _MEMORIES:
            stack.enter_context(patch.object(search, "is_permitted", permitted))
        elif part in _SITUATION:
            stack.enter_context(patch.object(reply, "situation_of", situation))
        elif part == "feelings":
            stack.enter_context(patch.object(mood, "felt_at", lambda *_: ()))
        elif part == "goals":
            stack.enter_context(patch.object(MemoryHandler, "goals", ""))
        else:
            raise ValueError(f"{part!r} is no part of a memory: {(*ABLATED, *NIGHTLY)}")
        yield


def _people(seen: Any, **changed: Any) -> Any:
    return replace(seen, people=tuple(replace(each, **changed) for each in seen.people))


# --- the table ------------------------------------------------------------------------------------


def rows(judged: dict[str, Sequence[Judged]]) -> list[dict[str, Any]]:
    """A row for each part that was left out, beside the whole memory.

    Args:
        judged: The evenings, by the part that was left out; "" is the whole memory.
    """
    whole = judged[""]
    return [_row(part or "nothing", every, whole) for part, every in judged.items()]


def _row(part: str, judged: Sequence[Judged], whole: Sequence[Judged]) -> dict[str, Any]:
    found = figures(judged)
    replies = {(one.evening, each.id): each.reply for one in whole for each in one.questions}
    changed = sum(
        each.reply != replies[one.evening, each.id] for one in judged for each in one.questions
    )
    kinds = sorted({each.kind for one in judged for each in one.questions})
    return {
        "left out": part,
        "replies changed": changed,
        "evidence": found.evidence,
        "prompt": found.prompt,
        "right": found.right,
        "served": found.served,
        "betrayed": found.betrayed,
        "tokens": found.tokens,
        **{kind: percent(each.right for each in of_kind(judged, kind)) for kind in kinds},
    }
