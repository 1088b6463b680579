"""What a provider draws from the journal at night, before it is stored."""

from __future__ import annotations

from dataclasses import dataclass

ATTRIBUTE_TYPES = ("fact", "preference", "relationship", "trait", "occupation", "place")


@dataclass(frozen=True, slots=True)
class Observation:
    """Something seen or heard of somebody (Pf, O-MEM), with the entry that it comes from."""

    text: str
    journal_id: int
    timestamp: str = ""
    private: bool = False
    witnesses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AttributeDraft:
    """What somebody is like, drawn from observations (Pa, O-MEM).

    `type` is one of `ATTRIBUTE_TYPES`; `evidence` are journal ids; `confidence` is 0-1.
    """

    type: str
    value: str
    evidence: tuple[int, ...]
    confidence: float


@dataclass(frozen=True, slots=True)
class InsightDraft:
    """What a reflection came to (Park et al. 2023), with the ids of the memories it cites."""

    text: str
    evidence: tuple[str, ...]
