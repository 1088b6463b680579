"""settings.CONTRIB_AI_MEMORY: every setting of the contrib, validated, with its default.

Read values through `get()`, never at import: tests and `override_settings` change them; those of
one NPC through `npc.memory.settings` (`store.npc_settings`). Numbers fixed by the sources (DESIGN:
[A] sleep consolidation, [B] memory thread, [C] memory logic) are constants, named here once with
their source. A constant that is a time is named …_SECONDS.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from django.conf import settings as django_settings
from django.core.exceptions import ImproperlyConfigured
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)

from .errors import InputError
from .text import redaction
from .text.redaction import KeptSecret, SecretUrl

SETTING = "CONTRIB_AI_MEMORY"

Seconds = Annotated[float, Field(gt=0, le=86_400)]
Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
Tokens = Annotated[int, Field(ge=1, le=1_000_000_000_000)]

# --- constants fixed by the sources or by measurement -----------------------------------------
CONTEXT_SNIPPET = 6  # [B] messages in one extraction
EMOTIONS_PER_EXPERIENCE = 3  # [B] exactly as many
CONSCIOUS_WEIGHT = 0.8  # [B] memory_weight of a conscious commit
DEDUP_COSINE = 0.92  # [B] the nearest experience at or above this is the same one
CANDIDATES_PER_RESULT = 4  # [C §2.3] candidates = top_k * 4
FORGOTTEN_BELOW = 0.2  # [C §2.4] importance below which nothing is recalled
MAX_CHUNK_TOKENS, MIN_CHUNK_TOKENS = 300, 50  # [C §1.3] in tokens of the embedding model
KEPT_WHOLE = 20  # [A] newest messages that a compaction of the conversation history leaves whole
# [A] states of a relationship by the favorability below which they end; above all it is "close"
RELATIONSHIP_STATES = ((0.25, "stranger"), (0.5, "acquaintance"), (0.75, "friend"))
SENDER_BONUS = {"friend": 1, "close": 2}  # [A] added to the importance of what they say
NOVELTY_SHARE, SALIENCE_SHARE = 0.6, 0.4  # [C §1.5] in the importance of a chunk
DISCARD_BELOW = 0.3  # [C §1.5] importance below which a chunk is not stored
PREFERENCE_HISTORY = 20  # ours: earlier values kept of one preference
PAGE_SIZE = 32  # journal entries of a page (docs/adr/002)
# Free bytes on the disk below which the store accepts no writes. Its files are memory-mapped, and
# one that cannot grow ends the process (SIGBUS). A batch of 64 memories takes 2 MB and a new shard
# 20 MB; the rest is for other programs that write between our check and our write.
DISK_RESERVE = 64_000_000
NEW_SHARD_BYTES = 20_000_000  # measured: an empty shard with its indexes
CONVERSATION_IDLE_SECONDS = 3600  # [A] silence that ends one
COMPRESS_SHARE = 0.5  # [C §3.1] of COMPRESS_ABOVE conversations, summarised at once
NIGHT_BATCH = 16  # ours: entries in one step of a night
WHY_DAYS = 30  # ours: for which it is kept why an NPC said what it said
KEEP_EXPERIENCE_ABOVE = 0.2  # [B] weight that an experience must exceed to be kept
WORKING_MEMORY_SECONDS = 86_400  # [C] lifetime of working memories
MAX_LINE = 4000  # ours: characters stored of one line
EXCHANGE_SECONDS = 60.0  # ours: after an answer, in which its speaker need not name the NPC again
# What PROFILE "sources" sets where a game sets nothing else: the texts' own defaults, those of [C]
# where they disagree. Where the texts name a behaviour and no number, `Settings.by_sources` is read
# (docs/sources.md)
SOURCES: dict[str, Any] = {
    "RECALL_TOP_K": 5,  # [C §2.1]
    "RECALL_TOKENS": 2000,  # [C §2.1]
    "QUIET_SECONDS": 0.0,  # [B] extraction "when a new interaction occurs"
}
GENERATION_SECONDS = 60  # between two generation marks of store and database (docs/adr/020)
TRUST = {"direct": 0.9, "observation": 0.8, "inference": 0.6, "environmental": 0.3}  # [A] DESIGN §3


class _Section(BaseModel):
    """Some settings. Names in `retired` are constants now: a value of theirs is ignored.

    A setting is described by its `description`, or by the text below it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
    retired: ClassVar[frozenset[str]] = frozenset()

    @model_validator(mode="before")
    @classmethod
    def _without_retired(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        return {name: value for name, value in given.items() if name not in cls.retired}


STORES = ("qdrant_edge", "qdrant", "pgvector")  # they pass tests/test_store_contract.py


class VectorStoreSettings(_Section):
    """The memory store: Qdrant Edge in process, a Qdrant server, or PostgreSQL with pgvector.

    These stores pass the contract tests; any other is refused. Secrets in `config` (keys,
    passwords, URLs with a login) are never shown.
    """

    provider: str = Field("qdrant_edge", description=f"one of {', '.join(STORES)}")
    config: dict[str, Any] = Field(default_factory=dict)
    """keys of that store; see docs/guides/operators.md"""

    @field_validator("provider")
    @classmethod
    def _is_offered(cls, provider: str) -> str:
        if provider not in STORES:
            raise ValueError(f"one of {', '.join(STORES)}, which are tested with this contrib")
        return provider

    @field_validator("config")
    @classmethod
    def _keeps_secrets(cls, config: dict[str, Any]) -> dict[str, Any]:
        # which Mem0's own examples name; the length of vectors follows from the model
        known = {key: value for key, value in config.items() if key != "embedding_model_dims"}
        return redaction.sealed(known)

    @property
    def is_own(self) -> bool:
        """Whether all memories in it are this game's: the files of Qdrant Edge.

        On a server, other games may have theirs beside them (docs/adr/027).
        """
        return self.provider == "qdrant_edge"

    @property
    def collection(self) -> str:
        """The name of the collection or table of the memories."""
        return self.config.get("collection_name") or "memories"

    def revealed(self) -> dict[str, Any]:
        """Return `config` with its secrets in plain text, for the store's client only."""
        return redaction.plain(self.config)


class EmbeddingSettings(_Section):
    """The embedding model: on this machine, or, with `base_url`, on an OpenAI-compatible server."""

    retired = frozenset(
        "timeout retries retry_after batch_size cache_size disk_cache_size shortens threads".split()
    )

    model: str | None = None
    """a model directory or hub name; None is the bundled MiniLM; with `base_url` the model's name
    on that server"""
    base_url: SecretUrl | None = None
    """of a server, up to and including /v1; a login in it is never shown"""
    api_key: KeptSecret = Field(SecretStr("none"), description="sent as bearer token; never shown")
    dimensions: int | None = Field(None, ge=1, le=65_536)
    """numbers of a vector; None: as many as the server makes"""

    @model_validator(mode="after")
    def _names_the_servers_model(self) -> EmbeddingSettings:
        if self.base_url is not None and not self.model:
            raise ValueError("a dict with a model too: its name on the server of base_url")
        if self.base_url is None and self.dimensions:
            raise ValueError("a dict with dimensions only where there is a base_url")
        return self


Style = Literal["full", "plain"]
SERVED_AT = "http://127.0.0.1:8187/v1"  # by the game itself, without a base_url
FINDINGS = "models.json"  # in `directory`
SMALL_BELOW, SPEAKS_FROM = 4.0, 0.5  # billions of parameters
_PARAMETERS = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)([bBmM])(?![a-zA-Z])")  # "qwen2.5:1.5b"


def billions(name: str) -> float | None:
    """Return how many billions of parameters a model's name names; None if it names none.

    >>> billions("qwen2.5-coder:1.5b-instruct"), billions("SmolLM2-135M"), billions("gpt-4o")
    (1.5, 0.135, None)
    """
    sizes = [
        float(number) * (1 if unit in "bB" else 1e-3) for number, unit in _PARAMETERS.findall(name)
    ]
    return max(sizes, default=None)


def manner_of(size: float) -> str:
    """Return what a model of so many billions of parameters is fit for (docs/adr/023): "full";
    "plain", which makes small talk; or "silent"."""
    if size >= SMALL_BELOW:
        return "full"
    return "plain" if size >= SPEAKS_FROM else "silent"


class LLMSettings(_Section):
    """An OpenAI-compatible server. Without one the offline provider is used."""

    retired = frozenset(["stream", "max_concurrency"])

    base_url: SecretUrl = Field(description="up to and including /v1; a login in it is never shown")
    model: str = Field(min_length=1, description="the model's name on that server")
    api_key: KeptSecret = Field(SecretStr("none"), description="sent as bearer token; never shown")
    timeout: Seconds = 30
    """seconds until an answer begins, retries included, and between the pieces of a streamed one,
    which may take four times as long in all"""
    max_tokens: int = Field(2048, ge=16, le=100_000, description="tokens of one answer")
    temperature: float = Field(0.7, ge=0, le=2, description="sampling temperature")
    retries: int = Field(2, ge=0, le=10, description="attempts after a temporary error")
    retry_after: Seconds = 60
    """seconds before an unreachable server is tried again; grows up to eightfold"""
    daily_tokens: Tokens | None = None
    """of the whole game per day (UTC); beyond it the offline provider is used"""
    daily_tokens_per_npc: Tokens | None = Field(None, description="the same for one NPC")
    serve: Path | None = None
    """a GGUF file that the game serves itself, by llama.cpp's server; base_url and model may be
    left out then"""
    style: Style | None = None
    """plain: for a small model: rules answer questions and keep the nights, and it makes small
    talk; full: for others; None: plain if the name says less than 4B, and not asked at all below
    0.5B"""

    @model_validator(mode="before")
    @classmethod
    def _served(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and given.get("serve"):
            return {"base_url": SERVED_AT, "model": Path(given["serve"]).stem, **given}
        return given

    @property
    def name(self) -> str:
        """The model and its server, to be shown."""
        return f"{self.model} at {self.base_url}"

    @property
    def plain(self) -> bool:
        """Whether the model is small: by `style`, by what was found, or by its name."""
        return self._manner != "full"

    @property
    def speaks(self) -> bool:
        """Whether the model is large enough to talk."""
        return self._manner != "silent"

    @property
    def _manner(self) -> str:
        found = self.style or found_of(self).get("style")
        return found or manner_of(billions(self.model) or SMALL_BELOW)


class NightLLMSettings(_Section):
    """The model for all work that nobody waits for: experiences while awake, and the nights.

    What is not set is as in LLM. Its breaker is its own: where this server fails, replies go on.
    LLM_NIGHT = "offline" has the offline provider keep the memory, and the model only speaks: right
    for a model too small to keep it (`evennia ai_memory model --night` says whether it is).
    """

    retired = frozenset("temperature retries retry_after max_tokens max_concurrency style".split())

    base_url: SecretUrl | None = Field(None, description="another server than that of LLM")
    model: str | None = Field(None, min_length=1, description="another model")
    api_key: KeptSecret | None = None
    """that of LLM is sent to the server of LLM alone; never shown"""
    timeout: Seconds | None = Field(None, description="seconds for one answer, retries included")
    daily_tokens: Tokens | None = None
    """for this work per day, within LLM.daily_tokens; the rest is for replies"""


class SleepSchedule(_Section):
    """When an NPC falls asleep by itself [A]; `@sleep/schedule` sets it for one NPC."""

    retired = frozenset(["tick_rate_sleep"])

    enabled: bool = Field(False, description="whether it does")
    sleep_start_hour: int = Field(2, ge=0, le=23, description="hour of the day")
    sleep_duration_hours: int = Field(4, ge=1, le=24, description="hours in which it falls asleep")
    clock: Literal["server", "game"] = Field("server", description="server or game time")


def _as_texts(phrases: Any) -> Any:
    if not isinstance(phrases, Mapping):
        return phrases
    return {kind: (said,) if isinstance(said, str) else said for kind, said in phrases.items()}


def _as_words(words: Any) -> Any:
    return [each.strip() for each in words.split(",")] if isinstance(words, str) else words


Phrases = Annotated[
    dict[str, Annotated[tuple[str, ...], Field(min_length=1)]], BeforeValidator(_as_texts)
]


class Settings(_Section):
    """All of settings.CONTRIB_AI_MEMORY. Unknown keys are refused, since they are typing errors."""

    retired = frozenset(
        "TICK_DEADLINE FLUSH_SECONDS MAX_LINE EXCHANGE_SECONDS "
        "KEEP_EXPERIENCE_ABOVE WORKING_MEMORY_SECONDS LINK_BATCH LINKS_PER_MEMORY LINK_THRESHOLD "
        "THINKING_AFTER REPLY_TOOLS STALE_CONVERSATION WHY_DAYS NIGHT_BATCH "
        "COMPRESS_SESSIONS".split()
    )

    ENABLED: bool = Field(True, description="turns the whole contrib on or off")
    PROFILE: Literal["ours", "sources"] = "ours"
    """sources: the defaults and the behaviour of the three source texts where ours differ
    (docs/sources.md); what is set beside it counts all the same"""
    DIR: Path | None = Field(None, description="default: <game>/server/ai_memory")
    VECTOR_STORE: VectorStoreSettings = VectorStoreSettings()
    EMBEDDING: EmbeddingSettings = EmbeddingSettings()
    MEMORY_PROCESS: bool = False
    """embedding model and store in a process of their own, which outlives a reload (docs/adr/029);
    not on Windows"""
    LLM: LLMSettings | None = None
    LLM_NIGHT: NightLLMSettings | None = NightLLMSettings()
    LANGUAGE: str | None = "contrib_ai_memory.english.english.English"
    """language that players speak: the path of a class, or the name of an installed entry point of
    `contrib_ai_memory.languages`; None: what is said is judged by a language model alone, which LLM
    must set"""
    PROVIDER: str | None = None
    """openai (the server of LLM), offline, or the path of your own class; None: openai if LLM is
    set, else offline"""

    TICK_RATE: int = Field(5, ge=1, le=3600, description="[B] whole seconds between awake ticks")
    TICK_RATE_SLEEP: Seconds = Field(60, description="[A] seconds between ticks of the night")

    KEYWORDS: Annotated[tuple[str, ...], BeforeValidator(_as_words)] = ("goal", "quest", "name")
    """[A] words that add 1 to importance"""
    REPLY_COOLDOWN: float = Field(1.0, ge=0, le=3600, description="seconds between two replies")
    UNASKED_REPLIES: int = Field(2, ge=0, le=100)
    """answers in a row to lines that do not name the NPC"""
    TALKATIVENESS: Literal["quiet", "normal", "talkative"] = "normal"
    """how readily it answers lines in company that do not name it"""
    INITIATIVE: int = Field(0, ge=0, le=10_080)
    """least minutes between two subjects that it opens by itself, in a silence of two or three; it
    then also speaks first to somebody for whom something waits; 0: never"""
    TONE: Literal["plain", "warm", "gruff", "formal"] = "plain"
    """the sort of stock phrases of the offline provider"""
    PHRASES: Phrases = Field(default_factory=dict)
    """stock phrases of the offline provider, {kind: text or texts}; a kind that is left out stays
    as it is"""
    QUIET_SECONDS: float = Field(120, ge=0, le=3600)
    """[B] seconds of silence that end a snippet"""

    RECALL_TOP_K: int = Field(50, ge=1, le=200, description="[C] memories returned by one recall")
    RECALL_TOKENS: int = Field(600, ge=50, le=1_000_000)
    """[C] token budget of one recall; a prompt has the better half of it where a language model
    keeps the memory"""

    CONTEXT_TOKENS: int = Field(8000, ge=1000, le=10_000_000)
    """[A] the model's context window, which bounds the conversation history"""

    REPLY_SENTENCES: int = Field(3, ge=1, le=20)
    """most sentences that a language model is asked for in a reply; one is cut at three times as
    many, the length of a tale"""
    REPLY_LANGUAGE: str = Field("", max_length=40)
    """language of a model's replies, such as German; by default the speaker's"""

    RECALL_PROFILE: str = Field(
        "relevance", pattern=r"^(?:relevance|salience|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)$"
    )
    """score profile: relevance alone [C]; salience: with weight, recency, frequency [B]; or the
    path of your own function"""
    RERANKER: str | None = Field(None, min_length=1)
    """[C] directory (with an ONNX graph, or of sentence-transformers) or hub name of a
    cross-encoder; None: no reranking"""

    SLEEP_SCHEDULE: SleepSchedule = SleepSchedule()
    MIN_IMPORTANCE: int = Field(4, ge=1, le=10)
    """[A] least importance of entries to consolidate"""
    MIN_OBSERVATIONS: int = Field(5, ge=1, le=100)
    """[A] new observations of one entity before they are consolidated"""
    PRUNE_AT_MOST: int = Field(3, ge=0, le=9)
    """[A] highest importance of entries that may be pruned"""
    PRUNE_AFTER_DAYS: float = Field(30, gt=0, le=36_500)
    """[A] least age of entries that may be pruned"""
    COMPRESS_ABOVE: int = Field(10, ge=1, le=1000)
    """[C] conversations that may stay uncompressed"""
    PLAYER_ERASURE: Literal["ask", "self", "off"] = "ask"
    """what a player's `forgetme` does: ask staff, erase at once, or nothing"""
    REFLECT_AT: int = Field(150, ge=1, le=100_000)
    """[A] cumulative importance that starts a reflection"""

    THINKING_EMOTE: str = Field("thinks it over.", max_length=200)
    """shown where an answer takes long, behind the NPC's name; empty: nothing"""

    @model_validator(mode="before")
    @classmethod
    def _with_profile(cls, given: Any) -> Any:
        by_sources = isinstance(given, Mapping) and given.get("PROFILE") == "sources"
        return {**SOURCES, **given} if by_sources else given

    @property
    def by_sources(self) -> bool:
        """Whether what the texts describe without a number is done their way (docs/sources.md)."""
        return self.PROFILE == "sources"

    @property
    def background_llm(self) -> LLMSettings | None:
        """The model of nights and background work; None where rules do it.

        They do where the model is small (docs/adr/023) or cannot do it (`found_of`).
        """
        chosen = self.night_llm
        if chosen is None or found_of(chosen).get("nights"):
            return None
        return None if chosen.plain and self.LANGUAGE else chosen

    @property
    def night_llm(self) -> LLMSettings | None:
        """LLM with the changes of LLM_NIGHT; None without LLM, or where that is offline."""
        own = self.LLM_NIGHT
        if self.LLM is None or own is None:
            return None
        changed: dict[str, Any] = {"temperature": 0}
        if own.base_url is not None and own.api_key is None:
            changed["api_key"] = LLMSettings.model_fields["api_key"].default
        if own.model is not None:
            changed["style"] = None
        given = {name: each for name, each in own if each is not None and name != "daily_tokens"}
        return self.LLM.model_copy(update=changed | given)

    @field_validator("LLM_NIGHT", mode="before")
    @classmethod
    def _offline(cls, night: object) -> object:
        return None if night == "offline" else night

    @field_validator("LANGUAGE")
    @classmethod
    def _names_a_language(cls, language: str | None) -> str | None:
        if language is None or re.fullmatch(r"[\w-]+|\w+(?:\.\w+)+", language):
            return language
        raise ValueError("None, the path of a class, as world.german.German, or an entry point")

    @field_validator("PROVIDER")
    @classmethod
    def _names_a_provider(cls, provider: str | None) -> str | None:
        if provider is None or re.fullmatch(r"offline|openai|\w+(?:\.\w+)+", provider):
            return provider
        raise ValueError("openai, offline, or the path of a class, as world.oracle.Oracle")


# Settings of the whole game, with the reason. Every other one may be set for a typeclass, a
# prototype or one NPC.
GAME_ONLY = {
    "PROFILE": "it sets the defaults of all others",
    "ENABLED": "to switch one NPC off, use @memory/pause or the tag memory_off",
    "DIR": "all NPCs share one store",
    "VECTOR_STORE": "all NPCs share one store",
    "EMBEDDING": "all NPCs share one embedding model",
    "MEMORY_PROCESS": "all NPCs share one process",
    "RERANKER": "all NPCs share one cross-encoder",
    "LLM_NIGHT": "set LLM for an NPC",
    "LANGUAGE": "all NPCs share one language",
    "PROVIDER": "set LLM to None for an NPC without a language model",
    "PLAYER_ERASURE": "a player asks all NPCs",
}
LLM_OF_NPC = ("model", "max_tokens", "temperature", "daily_tokens_per_npc", "style")


class InvalidSetting(InputError):
    """A value that cannot be set for one NPC; the message says why."""


def check_settable(name: str) -> None:
    """Raise InvalidSetting if there is no such setting, or not for one NPC."""
    if name in GAME_ONLY:
        raise InvalidSetting(f"{name} is a setting of the whole game: {GAME_ONLY[name]}.")
    if name not in Settings.model_fields:
        names = ", ".join(each for each in Settings.model_fields if each not in GAME_ONLY)
        raise InvalidSetting(
            f"{redaction.redact(str(name)[:60])} is no setting. Those of an NPC are: {names}."
        )


def validated(name: str, value: Any) -> Any:
    """Return the value of a setting of one NPC, validated.

    Args:
        name: A field of `Settings`.
        value: For LLM None, for no language model at all, or a dict of some of `LLM_OF_NPC`.

    Raises:
        InvalidSetting
    """
    check_settable(name)
    if name == "LLM":
        return _validated_llm(value)
    if name == "RECALL_PROFILE" and "." in str(value) and value != get().RECALL_PROFILE:
        raise InvalidSetting("RECALL_PROFILE: a path to code is a setting of the whole game.")
    return getattr(_of_npc(Settings, {name: value}), name)


def _of_npc(section: type[_Section], values: Mapping[str, Any], *within: str) -> Any:
    try:
        return section.model_validate(values)
    except ValidationError as error:
        raise InvalidSetting("\n".join(_sentences(error, *within, of_game=False))) from None


def _validated_llm(value: Any) -> dict[str, Any] | None:
    if value is None:
        return None
    if not isinstance(value, Mapping) or not set(value) <= set(LLM_OF_NPC):
        raise InvalidSetting(
            f"LLM must be None, for no language model, or a dict of {', '.join(LLM_OF_NPC)}; the "
            "server is a setting of the whole game."
        )
    server = get().LLM
    if server is None:
        if value:
            raise InvalidSetting("LLM cannot be set: the game's settings name no server.")
        return {}
    changed = _of_npc(LLMSettings, {**dict(server), **value}, "LLM")
    return {name: getattr(changed, name) for name in value}


def with_own(game: Settings, own: Mapping[str, Any]) -> Settings:
    """Return the game's settings with values of one NPC, as `validated` returns them, in place."""
    changes = dict(own)
    if own.get("LLM"):
        changes["LLM"] = game.LLM and game.LLM.model_copy(update=own["LLM"])
    elif "LLM" in own and own["LLM"] is None:
        changes["PROVIDER"] = "offline"
    else:
        changes.pop("LLM", None)
    return game.model_copy(update=changes)


def get() -> Settings:
    """Return the current settings of the game.

    Raises:
        ImproperlyConfigured: Lists each bad key with its value (masked if secret) and what is
            allowed.
    """
    raw = getattr(django_settings, SETTING, None)
    if raw is not None and not isinstance(raw, dict):
        raise ImproperlyConfigured(
            f"settings.{SETTING} = {redaction.shown('', raw)}: must be a dict, for example {{}}."
        )
    return _parse(_ByContent(raw or {}))


def retired() -> list[str]:
    """Return the keys of settings that the game sets and that are constants now."""
    raw = getattr(django_settings, SETTING, None) or {}
    found = [f"[{name!r}]" for name in raw if name in Settings.retired]
    for part, section in SECTIONS.items():
        given = raw.get(part)
        own = given if isinstance(given, Mapping) else {}
        found += [f"[{part!r}][{name!r}]" for name in own if name in section.retired]
    return found


class _ByContent(dict):
    """A settings dict as a cache key: a changed dict is parsed again."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(repr(self))


@lru_cache(maxsize=8)
def _parse(raw: _ByContent) -> Settings:
    try:
        return Settings.model_validate(raw)
    except ValidationError as error:
        raise ImproperlyConfigured("\n".join(_sentences(error))) from None


def _sentences(error: ValidationError, *within: str, of_game: bool = True) -> list[str]:
    """Return a sentence for each bad value; `within` are the keys of the validated part."""
    found = []
    for problem in error.errors():
        path = (*within, *problem["loc"])
        key = f"settings.{SETTING}" + "".join(f"[{part!r}]" for part in path)
        if not of_game:
            key = ".".join(map(str, path))
        if problem["type"] == "missing":
            found.append(f"{key} is missing; it has no default.")
            continue
        allowed = re.sub(r"^\w+ should (?:be )?", "", problem["msg"])
        if problem["type"] == "extra_forbidden":
            section = SECTIONS.get(problem["loc"][0], Settings) if problem["loc"][1:] else Settings
            allowed = "no such key; the keys are " + ", ".join(section.model_fields)
        elif problem["type"] == "value_error":
            allowed = f"must be {problem['ctx']['error']}"
        else:
            allowed = "must be " + allowed
        # of one NPC no setting is a secret, though names of some would pass for one
        shown = _shown(problem) if of_game else redaction.redact(repr(problem["input"])[:80])
        found.append(f"{key} = {shown}: {allowed}.")
    return found


def _shown(problem: Any) -> str:
    """Return the rejected value, masked if it may be a secret in the wrong place."""
    names, value = [str(part) for part in problem["loc"]], problem["input"]
    secret = next(filter(redaction.is_secret_name, names), None)
    misplaced = isinstance(value, str) and "://" not in value
    if misplaced and (problem["type"] == "extra_forbidden" or names == ["LLM"]):
        return repr(redaction.MASK)
    return redaction.shown(secret or (names[-1] if names else ""), value)


SECTIONS: dict[Any, type[_Section]] = {
    "VECTOR_STORE": VectorStoreSettings,
    "EMBEDDING": EmbeddingSettings,
    "LLM": LLMSettings,
    "SLEEP_SCHEDULE": SleepSchedule,
    "LLM_NIGHT": NightLLMSettings,
}


def about(section: type[BaseModel], name: str) -> str:
    """Return what a setting is, for people who run a game: without the source that fixes a number,
    and for a section what its class says of it."""
    described = section.model_fields[name].description
    if described is None:
        described = (SECTIONS[name].__doc__ or "").partition("\n\n")[0]
    described = " ".join(described.split())
    return re.sub(r" ?\[[ABC]\b[^]]*\]", "", described).replace("`", "").strip()


def found_of(model: LLMSettings) -> Mapping[str, str]:
    """Return what was found out of a model (`llm.findings`).

    Returns:
        {"style": as of `manner_of`, "nights": why rules keep them, "" where the model can}; a key
        is missing where nothing was found. The first call reads a small file.
    """
    return findings(directory() / FINDINGS).get(model.name, {})


@lru_cache(maxsize=4)
def findings(path: Path) -> dict[str, dict[str, str]]:
    """Read the file of findings: by model and server; empty if there is none."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def directory() -> Path:
    """Return the folder of everything the contrib stores outside the game database."""
    configured = get().DIR
    if configured:
        return configured
    return Path(django_settings.GAME_DIR) / "server" / "ai_memory"
