"""settings.CONTRIB_AI_MEMORY: every switch and number of the contrib, validated, with defaults.

Read a value through `get()`, never at import: tests and `override_settings` change them. Numbers
that the sources fix (DESIGN: [A] sleep consolidation, [B] memory thread, [C] memory logic) are
named here once, each with its source.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from django.conf import settings as django_settings
from django.core.exceptions import ImproperlyConfigured
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
)

from .text import redaction
from .text.redaction import KeptSecret, SecretUrl

SETTING = "CONTRIB_AI_MEMORY"

Seconds = Annotated[float, Field(gt=0, le=86_400)]
Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
Tokens = Annotated[int, Field(ge=1, le=1_000_000_000_000)]

# --- fixed by the sources, not by taste: constants rather than settings -----------------------
CONTEXT_SNIPPET = 6  # [B] messages that one extraction sees
EMOTIONS_PER_EXPERIENCE = 3  # [B]
KEEP_EXPERIENCE_ABOVE = 0.2  # [B] memory_weight
CONSCIOUS_WEIGHT = 0.8  # [B] weight of a conscious commit
DEDUP_COSINE = 0.92  # [B] nearest experience at or above this is the same experience
CHANGE_COSINE = 0.75  # a fact this near to a known one may end it, if they contradict each other
CANDIDATES_PER_RESULT = 4  # [C §2.3] top_k * 4 candidates
FORGOTTEN_BELOW = 0.2  # [C §2.4] importance under which nothing is recalled
MAX_CHUNK_TOKENS, MIN_CHUNK_TOKENS = 300, 50  # [C §1.3] of the embedding model's own tokens
NOVELTY_SHARE, SALIENCE_SHARE = 0.6, 0.4  # [C §1.5]
DISCARD_BELOW = 0.3  # [C §1.5] importance under which a chunk is not stored
PREFERENCE_HISTORY = 20  # earlier values kept of one preference
PAGE_SIZE = 32  # journal entries in the open page (docs/adr/002)
# Bytes that stay free: below this the store takes no writes. Its files are memory-mapped, and a
# page of one that finds no room ends the process (SIGBUS). A batch of 64 memories takes 2 MB and a
# new shard 20; the rest is for others, who write between the look at the disk and the write.
DISK_RESERVE = 64_000_000
NEW_SHARD_BYTES = 20_000_000  # of an empty shard with its indexes, as measured
GENERATION_SECONDS = 60  # store and database are marked anew at most so often while both change
TRUST = {"direct": 0.9, "observation": 0.8, "inference": 0.6, "environmental": 0.3}  # DESIGN §3


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=False, frozen=True)


STORES = ("qdrant_edge", "qdrant", "pgvector")  # those that pass the contract of tests/
NOT_OFFERED = {
    "chroma": "Mem0's adapter ignores a second write of a known id, and its filters match no lists",
}


class VectorStoreSettings(_Section):
    """Where facts rest: Qdrant Edge in process, a Qdrant server, or PostgreSQL with pgvector.

    The stores named here pass the tests' contract of a store; every other one is refused. What is
    secret in `config` (keys, passwords, URLs with a login) is never shown.
    """

    provider: str = Field("qdrant_edge", description=f"one of {', '.join(STORES)}")
    config: dict[str, Any] = Field(
        default_factory=dict, description="handed to that store as it is"
    )

    @field_validator("provider")
    @classmethod
    def _is_offered(cls, provider: str) -> str:
        if provider not in STORES:
            why = NOT_OFFERED.get(provider, "no test shows that it keeps what it is given")
            raise ValueError(
                f"one of {', '.join(STORES)}; {redaction.redact(provider)} is not offered: {why}"
            )
        return provider

    @field_validator("config")
    @classmethod
    def _keeps_secrets(cls, config: dict[str, Any]) -> dict[str, Any]:
        return redaction.sealed(config)

    def revealed(self) -> dict[str, Any]:
        """`config` with its secrets, for the store's client alone."""
        return redaction.plain(self.config)


class EmbeddingSettings(_Section):
    """What turns text into vectors: a sentence-transformers model on this machine."""

    model: str | None = Field(
        None, description="a model directory or hub name; None is the bundled MiniLM"
    )
    threads: int | None = Field(
        1, ge=1, le=256, description="CPU threads; more only where cores stand idle; None: all"
    )
    batch_size: int = Field(32, ge=1, le=1024, description="texts embedded at once")
    cache_size: int = Field(4096, ge=0, le=1_000_000, description="vectors kept in memory")
    disk_cache_size: int = Field(
        100_000,
        ge=0,
        le=10_000_000,
        description="vectors of stored texts kept on disk, 1.5 kB each with MiniLM; 0 is none",
    )


class LLMSettings(_Section):
    """An OpenAI-compatible server. Without one the offline provider answers."""

    base_url: SecretUrl = Field(description="up to and including /v1; a login in it is not shown")
    model: str = Field(min_length=1, description="its name on that server")
    api_key: KeptSecret = Field(SecretStr("none"), description="sent as bearer token; never shown")
    timeout: Seconds = Field(30, description="seconds for one answer, retries included")
    max_tokens: int = Field(2048, ge=16, le=100_000, description="of one answer")
    temperature: float = Field(0.7, ge=0, le=2, description="of the sampling")
    max_concurrency: int = Field(4, ge=1, le=64, description="calls at the same time")
    retries: int = Field(2, ge=0, le=10, description="after a fault that may pass")
    retry_after: Seconds = Field(
        60, description="seconds before an unreachable server is asked; up to eight times as many"
    )
    daily_tokens: Tokens | None = Field(
        None, description="of the whole game in one day (UTC), then the offline provider answers"
    )
    daily_tokens_per_npc: Tokens | None = Field(None, description="the same, of one NPC")


class Settings(_Section):
    """The whole of settings.CONTRIB_AI_MEMORY. Unknown keys are refused: they are typing errors."""

    ENABLED: bool = Field(True, description="the whole contrib, on or off")
    DIR: Path | None = Field(None, description="default: <game>/server/ai_memory")
    VECTOR_STORE: VectorStoreSettings = Field(
        default_factory=VectorStoreSettings, description="see below"
    )
    EMBEDDING: EmbeddingSettings = Field(default_factory=EmbeddingSettings, description="see below")
    LLM: LLMSettings | None = Field(None, description="see below; without one, no model is used")
    PROVIDER: str | None = Field(
        None,
        description="who answers: openai (the server of LLM), offline, or the path of a class of "
        "your own; None: openai where LLM is set, else offline",
    )

    TICK_RATE: int = Field(5, ge=1, le=3600, description="[B] whole seconds between awake ticks")
    TICK_RATE_SLEEP: Seconds = Field(60, description="[A] seconds between ticks of the night")
    TICK_DEADLINE: Seconds = Field(180, description="a tick busy for longer is given up")
    FLUSH_SECONDS: float = Field(0.5, gt=0, le=1, description="a perceived line is on disk by then")

    MAX_LINE: int = Field(4000, ge=100, le=100_000, description="characters kept of one line")
    KEYWORDS: tuple[str, ...] = Field(("goal", "quest", "name"), description="[A] +1 importance")
    REPLY_COOLDOWN: float = Field(1.0, ge=0, le=3600, description="seconds between two replies")
    EXCHANGE_SECONDS: Seconds = Field(60, description="how long talk goes on unnamed")
    STALE_CONVERSATION: Seconds = Field(3600, description="[A] idle conversation is over")
    QUIET_SECONDS: float = Field(120, ge=0, le=3600, description="pause that ends a snippet [B]")

    RECALL_TOP_K: int = Field(5, ge=1, le=200, description="[C] memories of one recall")
    RECALL_TOKENS: int = Field(
        2000, ge=50, le=1_000_000, description="[C] token budget of one recall"
    )

    CONTEXT_TOKENS: int = Field(
        8000,
        ge=1000,
        le=10_000_000,
        description="[A] the model's context window; the conversation history is kept within it",
    )

    RECALL_PROFILE: str = Field(
        "relevance",
        pattern=r"^(?:relevance|salience|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)$",
        description="what ranks: relevance alone [C]; salience: with weight, recency and "
        "frequency [B]; or the path of a function of your own",
    )
    RERANKER: str | None = Field(
        None, min_length=1, description="[C] directory or name of a cross-encoder; None: none"
    )

    WORKING_MEMORY_SECONDS: Seconds = Field(
        86_400, description="[C] what holds only for now is forgotten after this"
    )

    MIN_IMPORTANCE: int = Field(4, ge=1, le=10, description="[A] consolidated at or above")
    NIGHT_BATCH: int = Field(16, ge=1, le=500, description="entries of one step of the night")
    LINKS_PER_MEMORY: int = Field(
        5, ge=0, le=50, description="similar memories looked at for links"
    )
    LINK_THRESHOLD: Share = Field(0.5, description="similarity needed for a link")
    MIN_OBSERVATIONS: int = Field(
        5, ge=1, le=100, description="[A] new observations of somebody that make attributes"
    )
    PRUNE_AT_MOST: int = Field(3, ge=0, le=9, description="[A] importance that may be forgotten")
    PRUNE_AFTER_DAYS: float = Field(30, gt=0, le=36_500, description="[A] and from what age")
    COMPRESS_ABOVE: int = Field(10, ge=1, le=1000, description="[C] conversations left as they are")
    COMPRESS_SESSIONS: int = Field(
        5, ge=1, le=1000, description="[C] summarised when there are more"
    )
    PLAYER_ERASURE: Literal["ask", "self", "off"] = Field(
        "ask",
        description="what `forgetme` does for players: a request to staff, the erasure, nothing",
    )
    REFLECT_AT: int = Field(150, ge=1, le=100_000, description="[A] importance that has added up")
    LINK_BATCH: int = Field(32, ge=1, le=500, description="entries linked in one step")

    @field_validator("PROVIDER")
    @classmethod
    def _names_a_provider(cls, provider: str | None) -> str | None:
        if provider is None or re.fullmatch(r"offline|openai|\w+(?:\.\w+)+", provider):
            return provider
        raise ValueError("openai, offline, or the path of a class, as world.oracle.Oracle")


def get() -> Settings:
    """The settings in force.

    Raises:
        ImproperlyConfigured: With each bad key, its value (unless it is secret) and what is
            allowed.
    """
    raw = getattr(django_settings, SETTING, None)
    if raw is not None and not isinstance(raw, dict):
        raise ImproperlyConfigured(
            f"settings.{SETTING} = {redaction.shown('', raw)}: must be a dict, for example {{}}."
        )
    return _parse(_Frozen(raw or {}))


class _Frozen:
    """A settings dict as a cache key: by content, so that a changed dict is parsed anew."""

    def __init__(self, raw: dict[str, Any]):
        self.raw = raw
        self.content = repr(raw)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Frozen) and self.content == other.content

    def __hash__(self) -> int:
        return hash(self.content)


@lru_cache(maxsize=8)
def _parse(frozen: _Frozen) -> Settings:
    try:
        return Settings.model_validate(frozen.raw)
    except ValidationError as error:
        raise ImproperlyConfigured("\n".join(_sentences(error))) from None


def _sentences(error: ValidationError) -> list[str]:
    found = []
    for problem in error.errors():
        path = "".join(f"[{part!r}]" for part in problem["loc"])
        allowed = re.sub(r"^\w+ should (?:be )?", "", problem["msg"])
        if problem["type"] == "extra_forbidden":
            section = _section_at(problem["loc"][:-1])
            allowed = "no such key; known are " + ", ".join(section.model_fields)
        elif problem["type"] == "missing":
            allowed = "is missing and has no default"
        elif problem["type"] == "value_error":
            allowed = f"must be {problem['ctx']['error']}"
        else:
            allowed = "must be " + allowed
        found.append(f"settings.{SETTING}{path} = {_shown(problem)}: {allowed}.")
    return found


def _shown(problem: Any) -> str:
    """The refused value, as far as it may be read: it may be a key in the wrong place."""
    names, value = [str(part) for part in problem["loc"]], problem["input"]
    secret = next(filter(redaction.is_secret_name, names), None)
    misplaced = isinstance(value, str) and "://" not in value
    if misplaced and (problem["type"] == "extra_forbidden" or names == ["LLM"]):
        return repr(redaction.MASK)
    return redaction.shown(secret or (names[-1] if names else ""), value)


def _section_at(path: tuple[Any, ...]) -> type[BaseModel]:
    sections = {
        "VECTOR_STORE": VectorStoreSettings,
        "EMBEDDING": EmbeddingSettings,
        "LLM": LLMSettings,
    }
    return sections.get(path[0], Settings) if path else Settings


def directory() -> Path:
    """The folder of everything the contrib keeps outside the game database."""
    configured = get().DIR
    if configured:
        return configured
    return Path(django_settings.GAME_DIR) / "server" / "ai_memory"


Phase = Literal["compacting", "dreaming"]
