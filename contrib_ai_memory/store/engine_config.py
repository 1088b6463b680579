"""`CONTRIB_AI_MEMORY["VECTOR_STORE"]["config"]`: what it may hold, and whether its server answers.

Importing this imports no client: the settings are checked before the game starts.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field

CONNECT_SECONDS = 2.0
QDRANT_PORT, QDRANT_GRPC_PORT, POSTGRES_PORT = 6333, 6334, 5432

Address = tuple[str, int]


class _Config(BaseModel):
    model_config = ConfigDict(extra="forbid")

    collection_name: str = Field("memories", min_length=1)


class EdgeConfig(_Config):
    path: str
    lock_wait: float = Field(20.0, ge=0)  # seconds, for another process to let go of it


class QdrantServerConfig(_Config):
    """A Qdrant server or cluster: docs/guides/operators.md has each key."""

    url: str | Annotated[list[str], Field(min_length=1)] | None = None
    host: str | None = None
    port: int = Field(6333, ge=1, le=65535)
    grpc_port: int = Field(6334, ge=1, le=65535)
    https: bool | None = None
    prefix: str | None = None
    api_key: str | None = None
    path: str | None = None
    prefer_grpc: bool = False
    timeout: int = Field(10, ge=1)
    shard_number: int | None = Field(None, ge=1)
    replication_factor: int | None = Field(None, ge=1)
    write_consistency_factor: int | None = Field(None, ge=1)
    read_consistency: Annotated[int, Field(ge=1)] | Literal["majority", "quorum", "all"] | None = (
        None
    )
    write_ordering: Literal["weak", "medium", "strong"] | None = None
    on_disk: bool | None = None
    on_disk_payload: bool | None = None


def addresses(provider: str, config: Mapping[str, Any]) -> list[Address]:
    """Return where a store listens; nothing for files, a socket file, or hosts of PostgreSQL."""
    if provider == "qdrant":
        urls = config.get("url")
        nodes = urls if isinstance(urls, list) else [urls]
        found = [qdrant_address({**config, "url": url}) for url in nodes]
    else:
        found = [_postgres_address(config)] if provider == "pgvector" else []
    return [each for each in found if each]


def refusal(*nodes: Address) -> str:
    """Return why none of these addresses can be reached, or "" if one can or there are none."""
    problems = []
    for host, port in nodes:
        try:
            socket.create_connection((host, port), timeout=CONNECT_SECONDS).close()
        except OSError as error:
            problems.append(f"{host}:{port}: {error.strerror or error}")
        else:
            return ""
    return "; ".join(problems)


def qdrant_address(config: Mapping[str, Any]) -> Address | None:
    """Return where a Qdrant server listens, the first of several; None if none is named."""
    host, port = config.get("host"), config.get("port") or QDRANT_PORT
    if url := config.get("url"):
        parts = urlsplit(str(url[0] if isinstance(url, list) else url))
        with contextlib.suppress(ValueError):  # no such port: the client says so
            host, port = parts.hostname, parts.port or port
    if config.get("prefer_grpc"):
        port = config.get("grpc_port") or QDRANT_GRPC_PORT
    return (str(host), int(port)) if host else None


def _postgres_address(config: Mapping[str, Any]) -> Address | None:
    if config.get("connection_string"):
        from psycopg.conninfo import conninfo_to_dict

        config = conninfo_to_dict(config["connection_string"])
    host, port = config.get("host"), config.get("port")
    if not host or str(host).startswith("/") or "," in str(host):
        return None
    return str(host), int(port or POSTGRES_PORT)
