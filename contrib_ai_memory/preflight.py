"""Checks at the start of the game for valid settings that cannot work. They take seconds.

A permanent fault stops the start: a folder that cannot be written, a missing model or library. A
temporary one (a server or the model hub does not answer) is only reported. The game starts, NPCs
hear, and they remember what they heard once it is back. Evennia's launcher runs them too, so they
import neither models nor providers, other than a provider class of the game's own.
"""

from __future__ import annotations

import importlib.util
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured
from pydantic import BaseModel, ValidationError

from . import conf, language
from .embedding import model as embedding_model
from .store import engine_config
from .store.engine_config import EdgeConfig, QdrantServerConfig
from .text import redaction

_CONFIGS: dict[str, type[BaseModel]] = {"qdrant_edge": EdgeConfig, "qdrant": QdrantServerConfig}
_PGVECTOR_KEYS = (
    "connection_string dbname user password host port sslmode minconn maxconn hnsw diskann "
    "collection_name"
).split()
_ADDRESS = {  # each store needs all keys of one of these
    "qdrant": (("url",), ("host",), ("path",)),
    "pgvector": (("connection_string",), ("host", "port", "user", "password")),
}


def faults() -> list[str]:
    """Return a sentence for each setting that cannot work."""
    return _told(_directories, _store, _models, _language, _provider, _process)


def doubts() -> list[str]:
    """Return a sentence for what works less well now and stops nothing; this may take seconds."""
    return _told(
        _retired, _unreached_store, _unreached_model, _short_context, _small_model, without_reader
    )


def _told(*checks: Callable[[], Iterator[str]]) -> list[str]:
    if not conf.get().ENABLED:
        return []
    return [redaction.redact(each) for check in checks for each in check()]


def _named(path: str, value: Any, problem: str) -> str:
    name = path.rpartition("[")[2].strip("'\"]")
    return f"settings.{conf.SETTING}{path} = {redaction.shown(name, value)}: {problem}"


def _retired() -> Iterator[str]:
    for key in conf.retired():
        yield f"settings.{conf.SETTING}{key} is ignored: it is no setting any more. Remove it."


# --- folders --------------------------------------------------------------------------------------


def _directories() -> Iterator[str]:
    folder = conf.directory()
    if problem := _unwritable(folder):
        yield _named("['DIR']", str(folder), f"{problem}. Name a folder that the game may write.")
    path = conf.get().VECTOR_STORE.revealed().get("path")
    if isinstance(path, str) and (problem := _unwritable(Path(path))):
        yield _named("['VECTOR_STORE']['config']['path']", path, f"{problem}.")


def _unwritable(folder: Path) -> str:
    """Return why a folder cannot be created or written; "" if it can."""
    existing = folder
    try:
        while not existing.exists() and existing != existing.parent:
            existing = existing.parent
        if not existing.is_dir():
            return f"{existing} is not a folder"
        with tempfile.TemporaryFile(dir=existing):
            return ""
    except OSError as error:
        return f"{existing}: {error.strerror or error}"


# --- the store ------------------------------------------------------------------------------------


def _store() -> Iterator[str]:
    store, at = conf.get().VECTOR_STORE, "['VECTOR_STORE']['config']"
    config = _CONFIGS.get(store.provider)
    known = [*config.model_fields] if config else _PGVECTOR_KEYS
    for key in sorted(set(store.config) - set(known)):
        allowed = f"no such key of {store.provider}; the keys are {', '.join(known)}."
        yield f"settings.{conf.SETTING}{at}[{key!r}]: {allowed}"
    addresses = _ADDRESS.get(store.provider, ())
    if addresses and not any(all(store.config.get(key) for key in keys) for keys in addresses):
        ways = "; or ".join(" and ".join(keys) for keys in addresses)
        yield f"settings.{conf.SETTING}{at}: does not say where the store is: it needs {ways}."
    try:
        if config:  # Edge's path has a default that depends on the game
            config(**{"path": "-"} | store.revealed())
    except ValidationError as wrong:
        for each in wrong.errors():
            if each["type"] != "extra_forbidden" and each["loc"]:
                key = str(each["loc"][0])
                yield _named(f"{at}[{key!r}]", store.config.get(key), f"{each['msg']}.")
    if store.provider == "pgvector":
        missing = [name for name in ("psycopg", "psycopg_pool") if not _installed(name)]
        if missing:
            yield _named(
                "['VECTOR_STORE']['provider']",
                "pgvector",
                f"{' and '.join(missing)} not installed: pip install 'contrib-ai-memory[pgvector]'",
            )


def _installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def _unreached_store() -> Iterator[str]:
    store = conf.get().VECTOR_STORE
    if store.provider != "pgvector" or _installed("psycopg"):
        nodes = engine_config.addresses(store.provider, store.revealed())
        yield from _silent("VECTOR_STORE", f"memory store ({store.provider})", *nodes)


def _silent(setting: str, server: str, *nodes: tuple[str, int]) -> Iterator[str]:
    if problem := engine_config.refusal(*nodes):
        yield (
            f"settings.{conf.SETTING}[{setting!r}]: the {server} does not answer: {problem}. The "
            "game starts; NPCs hear, and remember once it is back."
        )


# --- models ---------------------------------------------------------------------------------------

_LIKE_A_PATH = re.compile(r"^[/.~\\]|^[A-Za-z]:|/.*/|\s")
_HUB_NAME = re.compile(r"[\w.-]+(?:/[\w.-]+)?")


def _models() -> Iterator[str]:
    model = conf.get().EMBEDDING.model
    if conf.get().EMBEDDING.base_url is not None:
        return
    if missing := embedding_model.not_installed(model):
        yield missing
    if model is None:
        return
    path = Path(model)
    if path.is_dir():
        if not (path / "config.json").exists() and not (path / "modules.json").exists():
            yield _named("['EMBEDDING']['model']", model, "there is no model in that folder.")
    elif path.exists():
        yield _named("['EMBEDDING']['model']", model, "it is a file; name the folder of a model.")
    elif _LIKE_A_PATH.search(model) or not _HUB_NAME.fullmatch(model):
        yield _named("['EMBEDDING']['model']", model, "there is no such folder.")


def _language() -> Iterator[str]:
    chosen, own = conf.get().LANGUAGE, conf.get().PHRASES
    if chosen != conf.Settings.model_fields["LANGUAGE"].default:
        try:
            language.named_by(chosen)
        except ImproperlyConfigured as problem:
            yield _named("['LANGUAGE']", chosen, str(problem))
            return
    if own:
        phrases = language.get().phrases
        for kind in phrases.unknown(own):
            kinds = ", ".join(phrases.texts)
            yield _named("['PHRASES']", kind, f"there is no such kind; the kinds are {kinds}.")


def _provider() -> Iterator[str]:
    chosen = conf.get().PROVIDER
    if chosen == "openai" and conf.get().LLM is None:
        problem = "it needs the settings of a server, CONTRIB_AI_MEMORY['LLM']."
        yield _named("['PROVIDER']", chosen, problem)
    elif chosen and "." in chosen:
        from .llm import router

        try:
            router.own_provider()
        except ImproperlyConfigured as wrong:
            yield _named("['PROVIDER']", chosen, str(wrong))


def _process() -> Iterator[str]:
    if conf.get().MEMORY_PROCESS and os.name != "posix":
        yield _named("['MEMORY_PROCESS']", True, "this system has no Unix sockets. Omit this key.")


def _unreached_model() -> Iterator[str]:
    settings = conf.get()
    named = {"['RERANKER']": settings.RERANKER}
    if settings.EMBEDDING.base_url is None:
        named["['EMBEDDING']['model']"] = settings.EMBEDDING.model
    for path, model in named.items():
        if model and not os.path.exists(model) and (problem := embedding_model.hub_problem(model)):
            yield _named(path, model, problem)
    if settings.EMBEDDING.base_url is not None and settings.EMBEDDING.model:
        url = urlsplit(settings.EMBEDDING.base_url.get_secret_value())
        port = url.port or (443 if url.scheme == "https" else 80)
        yield from _silent("EMBEDDING", "embedding server", (url.hostname or "", port))


def _short_context() -> Iterator[str]:
    """Compare what a prompt may take with what the model server tells of its context window."""
    llm = conf.get().LLM
    if llm is None or conf.get().PROVIDER not in (None, "openai"):
        return
    from .llm.model_server_info import context_length
    from .llm.prompts import window

    known, needed = context_length(llm), window(conf.get().CONTEXT_TOKENS, plain=llm.plain)
    if known and known < needed:
        shorter = "" if llm.plain else f"CONTEXT_TOKENS to {known}, or "
        yield _named(
            "['CONTEXT_TOKENS']",
            conf.get().CONTEXT_TOKENS,
            f"the model server reads {known} tokens at most, and drops what is beyond. Set "
            f"{shorter}the server's context to {needed} (Ollama: num_ctx).",
        )


def _small_model() -> Iterator[str]:
    """Ask the model server for the size of a model whose name does not tell it, and keep it."""
    llm = conf.get().LLM
    if llm is None or conf.get().PROVIDER not in (None, "openai"):
        return
    from .llm.findings import size_of

    if (size := size_of(llm)) and llm.plain:
        yield _named(
            "['LLM']['model']",
            llm.model,
            f"it has {size:.2g}B parameters. It makes small talk at most; rules answer "
            "questions and keep the memory. Set LLM.style to full to have it do everything.",
        )


def without_reader() -> Iterator[str]:
    """Tell where nothing on this machine can choose the memory that answers."""
    if conf.get().LLM is None and (missing := embedding_model.to_install()):
        yield (
            "NPCs answer a question with the first memory that comes to mind, and look for no "
            f"better one: what reads them is not installed. {missing}"
        )
