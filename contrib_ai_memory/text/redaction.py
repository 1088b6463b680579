"""Redaction of secrets: keys, passwords and URLs with a login.

They become secret types when the settings are read, so that no `repr` or message shows them. Texts
from elsewhere (errors of clients, tracebacks in the log) go through `redact`, which also knows the
values themselves.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import unquote

from pydantic import BeforeValidator, GetCoreSchemaHandler, Secret, SecretStr
from pydantic_core import CoreSchema, core_schema

MASK = "••••••••"
SHORTEST = 4  # characters; a shorter value would be found in any text

_NAMES = re.compile(
    r"key(?!word)|pass|pwd|secret|token|bearer|credential|auth|cookie|header|dsn|connection|conninfo",
    re.IGNORECASE,
)
_LOGIN = re.compile(r"(?P<scheme>\b[a-z][a-z0-9+.-]*://)[^/\s@'\"<>]+@", re.IGNORECASE)
_BARE_LOGIN = re.compile(r"(?<![^\s'\"])[^\s/:@'\"]*:[^\s/@'\"]+@(?=[\w.\[-])")
_ASKED = re.compile(r"(?P<before>\b[a-z][a-z0-9+.-]*://[^\s?'\"<>]*\?)[^\s'\"<>]+", re.IGNORECASE)
_NAMED = re.compile(
    r"(?P<name>(?:\b|_)(?:api[-_ ]?key|password|passwd|pwd|secret|token)\b['\"]?\s*[=:]\s*)"
    r"(?P<value>'[^']*'|\"[^\"]*\"|[^\s,;&'\")\]}]+)",
    re.IGNORECASE,
)
_BEARER = re.compile(r"(?P<name>\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE)

_lock = threading.Lock()
_known: set[str] = set()


def is_secret_name(name: str) -> bool:
    """Return whether a setting of this name holds a secret."""
    return bool(_NAMES.search(name))


def redact(text: str) -> str:
    """Return a text with the secrets of the settings and logins in URLs masked."""
    with _lock:
        known = sorted(_known, key=len, reverse=True)
    for secret in known:
        text = text.replace(secret, MASK)
    text = _LOGIN.sub(rf"\g<scheme>{MASK}@", text)
    text = _NAMED.sub(rf"\g<name>{MASK}", text)
    return _BEARER.sub(rf"\g<name>{MASK}", text)


def shown_url(url: str) -> str:
    """Return a URL with its login and query masked, either of which may hold a password."""
    return _ASKED.sub(rf"\g<before>{MASK}", _LOGIN.sub(rf"\g<scheme>{MASK}@", url))


def shown(name: str, value: Any) -> str:
    """Return the `repr` of a setting's value with every secret in it masked."""
    if isinstance(value, Secret | SecretStr):
        return repr(str(value))
    if is_secret_name(name) and value not in (None, ""):
        return repr(MASK)
    if isinstance(value, Mapping):
        items = (f"{key!r}: {shown(str(key), each)}" for key, each in value.items())
        return "{" + ", ".join(items) + "}"
    if isinstance(value, list | tuple):
        inside = ", ".join(shown(name, each) for each in value)
        return f"[{inside}]" if isinstance(value, list) else f"({inside})"
    if isinstance(value, str):
        return repr(redact(_BARE_LOGIN.sub(f"{MASK}@", shown_url(value))))
    return redact(repr(value))


class SecretUrl(SecretStr):
    """A URL that may hold a login, shown without it; `get_secret_value` returns it complete."""

    def _display(self) -> str:
        return shown_url(self._secret_value)

    def __str__(self) -> str:
        return self._display()

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: type[Any], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        made = core_schema.no_info_plain_validator_function(cls._from)
        return core_schema.json_or_python_schema(core_schema.str_schema(), made)

    @classmethod
    def _from(cls, value: Any) -> SecretUrl:
        url = plain(value)
        if not isinstance(url, str) or not re.fullmatch(r"https?://\S+", url):
            raise ValueError("a URL that matches '^https?://\\S+$'")
        remember_url(url)
        return cls(url)


def remember(secret: Any) -> None:
    """Register a secret's value for `redact`."""
    text = secret if isinstance(secret, str) else ""
    if len(text) >= SHORTEST and text.lower() != "none":
        with _lock:
            _known.update({text, unquote(text)})


def remember_url(url: str) -> None:
    if login := re.match(r"[a-z][a-z0-9+.-]*://([^/\s@]*(?:@[^/\s@]*)*)@", url, re.IGNORECASE):
        _user, _, password = login.group(1).partition(":")
        remember(password)


def _known_secret(value: Any) -> Any:
    remember(plain(value))
    return value


KeptSecret = Annotated[SecretStr, BeforeValidator(_known_secret)]


def sealed(config: Any, name: str = "") -> Any:
    """Return configuration with every secret in it as a secret type, at any depth."""
    if isinstance(config, Secret | SecretStr):
        remember(plain(config))
        return config
    if name and is_secret_name(name) and config is not None:
        for each in _texts(config):
            remember(each)
            remember_url(each)
        return Secret[Any](config)
    if isinstance(config, Mapping):
        return {key: sealed(each, str(key)) for key, each in config.items()}
    if isinstance(config, list | tuple):
        return type(config)(sealed(each, name) for each in config)
    if isinstance(config, str) and shown_url(config) != config:
        remember_url(config)
        return SecretUrl(config)
    return config


def plain(config: Any) -> Any:
    """Return configuration with the secrets in plain text, for the client that needs them."""
    if isinstance(config, Secret | SecretStr):
        return plain(config.get_secret_value())
    if isinstance(config, Mapping):
        return {key: plain(each) for key, each in config.items()}
    if isinstance(config, list | tuple):
        return type(config)(plain(each) for each in config)
    return config


def _texts(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [text for each in value.values() for text in _texts(each)]
    if isinstance(value, list | tuple | set):
        return [text for each in value for text in _texts(each)]
    return [value] if isinstance(value, str) else []
