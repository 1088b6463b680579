"""What a model's answers must look like: schemas for the request, checks for the answer."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore")


class ExperienceAnswer(_Answer):
    """The four dimensions of one experience [B]."""

    essence: str = Field(min_length=1, max_length=600)
    dominant_emotions: list[str] = Field(min_length=1, max_length=6)
    memory_weight: float = Field(ge=0, le=1)
    the_lesson: str = Field(max_length=400)


class ScoresAnswer(_Answer):
    """One importance for each entry, in order [A]."""

    scores: list[int]


class Fact(_Answer):
    text: str = Field(min_length=1, max_length=400)
    entry_ids: list[int] = Field(min_length=1)
    preference: bool = False


class FactsAnswer(_Answer):
    """Facts, each with the entries that it rests on [A]."""

    facts: list[Fact] = Field(max_length=100)
