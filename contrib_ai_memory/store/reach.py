"""Whether the server of a store can be reached at all: asked before a client waits for it."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

SECONDS = 2.0
QDRANT_PORT, POSTGRES_PORT = 6333, 5432

Address = tuple[str, int]


def address(provider: str, config: Mapping[str, Any]) -> Address | None:
    """Where a store listens; None where it is files, a socket file, or several hosts.

    Args:
        config: With its secrets.
    """
    if provider == "qdrant":
        return _qdrant(config)
    if provider == "pgvector":
        return _postgres(config)
    return None


def refusal(where: Address, seconds: float = SECONDS) -> str:
    """Why nothing can be reached there, "" if it can."""
    host, port = where
    try:
        socket.create_connection(where, timeout=seconds).close()
    except OSError as error:
        return f"{host}:{port}: {error.strerror or error}"
    return ""


def _qdrant(config: Mapping[str, Any]) -> Address | None:
    if config.get("url"):
        parts = urlsplit(str(config["url"]))
        with contextlib.suppress(ValueError):  # no such port: the client says so
            return (parts.hostname, parts.port or QDRANT_PORT) if parts.hostname else None
    elif config.get("host") and config.get("port"):
        return str(config["host"]), int(config["port"])
    return None


def _postgres(config: Mapping[str, Any]) -> Address | None:
    host, port = config.get("host"), config.get("port")
    if config.get("connection_string"):
        from psycopg.conninfo import conninfo_to_dict

        parts = conninfo_to_dict(config["connection_string"])
        host, port = parts.get("host"), parts.get("port")
    if not host or str(host).startswith("/") or "," in str(host):
        return None
    return str(host), int(port or POSTGRES_PORT)
