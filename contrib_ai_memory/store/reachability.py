"""Where the server of a store listens, and whether it can be reached."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

CONNECT_SECONDS = 2.0
QDRANT_PORT, QDRANT_GRPC_PORT, POSTGRES_PORT = 6333, 6334, 5432

Address = tuple[str, int]


def address(provider: str, config: Mapping[str, Any]) -> Address | None:
    """Return where a store listens; None if it is files, a socket file, or several hosts.

    Args:
        config: With its secrets.
    """
    if provider == "qdrant":
        return qdrant_address(config)
    return _postgres_address(config) if provider == "pgvector" else None


def refusal(where: Address, seconds: float = CONNECT_SECONDS) -> str:
    """Return why nothing can be reached at an address, or "" if it can."""
    host, port = where
    try:
        socket.create_connection(where, timeout=seconds).close()
    except OSError as error:
        return f"{host}:{port}: {error.strerror or error}"
    return ""


def qdrant_address(config: Mapping[str, Any]) -> Address | None:
    """Return where a Qdrant server listens; None if none is named."""
    host, port = config.get("host"), config.get("port") or QDRANT_PORT
    if config.get("url"):
        parts = urlsplit(str(config["url"]))
        with contextlib.suppress(ValueError):  # no such port: the client says so
            host, port = parts.hostname, parts.port or port
    if config.get("prefer_grpc"):
        port = config.get("grpc_port") or QDRANT_GRPC_PORT
    return (str(host), int(port)) if host else None


def _postgres_address(config: Mapping[str, Any]) -> Address | None:
    host, port = config.get("host"), config.get("port")
    if config.get("connection_string"):
        from psycopg.conninfo import conninfo_to_dict

        parts = conninfo_to_dict(config["connection_string"])
        host, port = parts.get("host"), parts.get("port")
    if not host or str(host).startswith("/") or "," in str(host):
        return None
    return str(host), int(port or POSTGRES_PORT)
