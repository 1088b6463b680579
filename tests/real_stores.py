"""Every store that is offered, over its real engine; what is not installed here is skipped."""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import pytest
from qdrant_http import QdrantHTTP

OFFERED = ("qdrant_edge", "qdrant local", "qdrant over http", "qdrant server", "pgvector")


@contextmanager
def config_of(store: str, folder: Any) -> Iterator[dict[str, Any]]:
    """VECTOR_STORE of a store that is empty, or a skip with its reason."""
    name = f"memories_{uuid.uuid4().hex[:12]}"
    if store == "qdrant_edge":
        yield {"provider": "qdrant_edge"}
    elif store == "qdrant local":
        yield {"provider": "qdrant", "config": {"path": str(folder / "qdrant")}}
    elif store == "qdrant over http":
        with QdrantHTTP() as server:
            yield {"provider": "qdrant", "config": {"url": server.url}}
    elif store == "qdrant server":
        if not (url := os.environ.get("QDRANT_URL")):
            pytest.skip("QDRANT_URL names no Qdrant server")
        yield {"provider": "qdrant", "config": {"url": url, "collection_name": name}}
        from qdrant_client import QdrantClient

        QdrantClient(url=url).delete_collection(name)
    else:
        url = postgres()
        config = {"connection_string": url, "collection_name": name}
        yield {"provider": "pgvector", "config": config}
        import psycopg

        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f'DROP TABLE IF EXISTS "{name}"')


def postgres() -> str:
    """The connection string of a PostgreSQL with pgvector, or a skip with its reason."""
    for library in ("psycopg", "psycopg_pool"):
        if not importlib.util.find_spec(library):
            pytest.skip(f"{library} is not installed: pip install 'contrib-ai-memory[pgvector]'")
    if url := os.environ.get("PGVECTOR_URL"):
        return url
    if not importlib.util.find_spec("pgserver"):
        pytest.skip("PGVECTOR_URL names no PostgreSQL, and pgserver is not installed")
    return _own_postgres().get_uri()


def game_database(name: str) -> dict[str, str]:
    """Django's settings of a database in that PostgreSQL, for a game; it need not exist yet."""
    from psycopg.conninfo import conninfo_to_dict

    parts = conninfo_to_dict(postgres())
    named = {"NAME": name, "USER": parts.get("user"), "PASSWORD": parts.get("password")}
    named |= {"HOST": parts.get("host"), "PORT": parts.get("port")}
    given = {key: str(value) for key, value in named.items() if value}
    return {"ENGINE": "django.db.backends.postgresql"} | given


@lru_cache(maxsize=1)
def _own_postgres() -> Any:
    import atexit

    import pgserver

    folder = tempfile.mkdtemp(prefix="ai-memory-postgres-")
    os.environ.setdefault("XDG_RUNTIME_DIR", folder)
    server = pgserver.get_server(folder)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(server.cleanup)
    return server
