"""Settings that are allowed and yet cannot work, found within seconds when the game starts.

What no waiting mends stops the start: a folder that cannot be written, a model that is not there,
a library that is missing. What may pass (a server or the model hub that gives no answer) is said,
and the game starts: NPCs hear meanwhile, and remember when it is back.
"""

from __future__ import annotations

import importlib.util
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import conf
from .embedding import model as embedding_model
from .embedding.model import BUNDLED_DIMENSIONS
from .llm import router
from .store import connection
from .text import redaction

_KEYS = {  # what each store takes in `config`
    "qdrant_edge": "path collection_name embedding_model_dims lock_wait",
    "qdrant": "url host port path api_key https collection_name embedding_model_dims on_disk",
    "pgvector": "connection_string dbname user password host port sslmode minconn maxconn hnsw "
    "diskann collection_name embedding_model_dims",
}
_PLACE = {  # any one of these, whole, says where it is
    "qdrant": (("url",), ("host", "port"), ("path",)),
    "pgvector": (("connection_string",), ("host", "port", "user", "password")),
}


def faults() -> list[str]:
    """A sentence for each setting that cannot work whatever happens."""
    if not conf.get().ENABLED:
        return []
    found = (*_directories(), *_store(), *_models(), *_provider())
    return [redaction.redact(each) for each in found]


def doubts() -> list[str]:
    """A sentence for each server that gives no answer now; takes seconds where some do not."""
    if not conf.get().ENABLED:
        return []
    return [redaction.redact(each) for each in (*_unreached_store(), *_unreached_hub())]


def _named(path: str, value: Any, problem: str) -> str:
    name = path.rpartition("[")[2].strip("'\"]")
    return f"settings.{conf.SETTING}{path} = {redaction.shown(name, value)}: {problem}"


# --- folders --------------------------------------------------------------------------------------


def _directories() -> Iterator[str]:
    folder = conf.directory()
    if problem := _unwritable(folder):
        yield _named("['DIR']", str(folder), f"{problem}. Name a folder that the game may write.")
    store = conf.get().VECTOR_STORE
    path = store.revealed().get("path")
    if isinstance(path, str) and (problem := _unwritable(Path(path))):
        yield _named("['VECTOR_STORE']['config']['path']", path, f"{problem}.")


def _unwritable(folder: Path) -> str:
    """Why no file can be made in a folder, or in the one it would be made in; "" if one can."""
    there = folder
    try:
        while not there.exists() and there != there.parent:
            there = there.parent
        if not there.is_dir():
            return f"{there} is not a folder"
        with tempfile.TemporaryFile(dir=there):
            return ""
    except OSError as error:
        return f"{there}: {error.strerror or error}"


# --- the store ------------------------------------------------------------------------------------


def _store() -> Iterator[str]:
    store, at = conf.get().VECTOR_STORE, "['VECTOR_STORE']['config']"
    known = _KEYS[store.provider].split()
    for key in store.config:
        if key not in known:
            allowed = f"no such key of {store.provider}; known are {', '.join(known)}."
            yield f"settings.{conf.SETTING}{at}[{key!r}]: {allowed}"
    places = _PLACE.get(store.provider, ())
    if places and not any(all(store.config.get(key) for key in keys) for keys in places):
        ways = "; or ".join(" and ".join(keys) for keys in places)
        yield f"settings.{conf.SETTING}{at}: says not where the store is: it needs {ways}."
    if store.provider == "pgvector":
        missing = [name for name in ("psycopg", "psycopg_pool") if not _installed(name)]
        if missing:
            yield _named(
                "['VECTOR_STORE']['provider']",
                "pgvector",
                f"{' and '.join(missing)} is not installed: "
                "pip install 'contrib-ai-memory[pgvector]'",
            )
    size = store.config.get("embedding_model_dims", BUNDLED_DIMENSIONS)
    if conf.get().EMBEDDING.model is None and size != BUNDLED_DIMENSIONS:
        yield _named(
            f"{at}['embedding_model_dims']",
            size,
            f"the bundled model makes vectors of {BUNDLED_DIMENSIONS} numbers. Leave it out.",
        )


def _installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def _unreached_store() -> Iterator[str]:
    store = conf.get().VECTOR_STORE
    if store.provider == "pgvector" and not _installed("psycopg"):
        return
    where = connection.address(store.provider, store.revealed())
    if where and (problem := connection.refusal(where)):
        yield (
            f"settings.{conf.SETTING}['VECTOR_STORE']: the memory store ({store.provider}) does "
            f"not answer: {problem}. The game starts; NPCs hear, and remember when it is back."
        )


# --- models ---------------------------------------------------------------------------------------

_LIKE_A_PATH = re.compile(r"^[/.~\\]|^[A-Za-z]:|/.*/|\s")
_HUB_NAME = re.compile(r"[\w.-]+(?:/[\w.-]+)?")


def _models() -> Iterator[str]:
    model = conf.get().EMBEDDING.model
    if model is None:
        return
    path = Path(model)
    if path.is_dir():
        if not (path / "config.json").exists() and not (path / "modules.json").exists():
            yield _named("['EMBEDDING']['model']", model, "no model is in that folder.")
    elif path.exists():
        yield _named("['EMBEDDING']['model']", model, "is a file; name the folder of a model.")
    elif _LIKE_A_PATH.search(model) or not _HUB_NAME.fullmatch(model):
        yield _named("['EMBEDDING']['model']", model, "there is no such folder.")


def _provider() -> Iterator[str]:
    if problem := router.problem_with_setting():
        yield _named("['PROVIDER']", conf.get().PROVIDER, problem)


def _unreached_hub() -> Iterator[str]:
    settings = conf.get()
    named = {"['EMBEDDING']['model']": settings.EMBEDDING.model, "['RERANKER']": settings.RERANKER}
    for path, model in named.items():
        if model and not os.path.exists(model) and (problem := embedding_model.hub_problem(model)):
            yield _named(path, model, problem)
