"""The model hub: whether it can be asked, before its library tries again and again for minutes."""

from __future__ import annotations

import os
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

SECONDS = 3.0  # that the hub may take for one short answer, the look-up of its name included
ASK_AGAIN = 30.0  # seconds for which an answer holds

_asked: dict[str, tuple[float, str]] = {}


def problem(model: str) -> str:
    """Why a model cannot be fetched from the hub, "" if it can, or needs not.

    Args:
        model: Its name there.
    """
    if cached(model):
        return ""
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        return (
            "is not on this machine, and HF_HUB_OFFLINE forbids to fetch it. Name the folder of a "
            "model, or unset that variable."
        )
    until, told = _asked.get(model, (0.0, ""))
    if time.monotonic() >= until:
        told = _ask(model)
        _asked[model] = time.monotonic() + ASK_AGAIN, told
    return told


def cached(model: str) -> bool:
    """Whether the hub's library has fetched a model before."""
    home = os.environ.get("HF_HOME") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "huggingface"
    )
    folder = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE")
    models = Path(folder or os.path.join(home, "hub"))
    names = (f"models--{name.replace('/', '--')}" for name in _names(model))
    return any(any((models / name / "snapshots").glob("*/config.json")) for name in names)


def reachable(model: str) -> bool:
    """Whether the hub answers now (the last answer holds for a while)."""
    until, told = _asked.get(model, (0.0, ""))
    if time.monotonic() >= until:
        told = _ask(model)
        _asked[model] = time.monotonic() + ASK_AGAIN, told
    return not told


def _names(model: str) -> tuple[str, ...]:
    """Under what a model may stand there; one without an owner is sentence-transformers' own."""
    return (model,) if "/" in model else (f"sentence-transformers/{model}", model)


def _ask(model: str) -> str:
    found: list[str] = []
    asking = threading.Thread(target=lambda: found.append(_answer(model)), daemon=True)
    asking.start()
    asking.join(SECONDS)  # the look-up of a name has no time-out of its own
    if not found:
        return _silent(f"no answer within {SECONDS:g} s")
    return found[0]


def _answer(model: str) -> str:
    endpoint = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
    for name in _names(model):
        request = urllib.request.Request(f"{endpoint}/api/models/{name}")
        if token := os.environ.get("HF_TOKEN"):
            request.add_header("Authorization", f"Bearer {token}")
        try:
            urllib.request.urlopen(request, timeout=SECONDS).close()
            return ""
        except urllib.error.HTTPError as refused:
            if refused.code not in (401, 403, 404):
                return _silent(f"it answers {refused.code}")
        except (OSError, ValueError) as error:
            return _silent(str(getattr(error, "reason", error)))
    return "the model hub has no such model, or shows it to nobody unknown (see HF_TOKEN)."


def _silent(why: str) -> str:
    return (
        f"is not on this machine, and the model hub does not answer: {why}. Name the folder of a "
        "model, or leave it out to use the bundled one. Until then NPCs hear and do not remember."
    )
