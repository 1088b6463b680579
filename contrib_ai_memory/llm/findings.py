"""What was found out of language models: whether one is small, and whether it can keep a memory.

`evennia ai_memory model` finds it out, and answers at night that cannot be used. It is kept in a
small file (`conf.found_of`) by model and server, until the command finds otherwise.
"""

from __future__ import annotations

import json

from .. import atomic_file, conf
from ..log import logger
from .model_server_info import parameters

UNUSABLE = 12  # answers at night in a row, after which rules keep it


def note(model: str, **found: str) -> None:
    """Keep what was found out (`conf.found_of`) of a model by name, not on the reactor thread."""
    path = conf.directory() / conf.FINDINGS
    conf.findings.cache_clear()  # another process may have written it
    known = conf.findings(path)
    if known.get(model, {}) | found != known.get(model, {}):
        path.parent.mkdir(parents=True, exist_ok=True)
        changed = known | {model: known.get(model, {}) | found}
        atomic_file.write(path, json.dumps(changed, indent=1))
        conf.findings.cache_clear()


def size_of(llm: conf.LLMSettings) -> float | None:
    """Ask a server for the size of a model whose name does not tell it, and keep it; blocks.

    Returns:
        Billions of parameters; None if they were known already or the server does not tell.
    """
    if llm.style or conf.billions(llm.model) or conf.found_of(llm).get("style"):
        return None
    if size := parameters(llm):
        note(llm.name, style=conf.manner_of(size))
    return size


def give_up(model: str) -> None:
    """Let rules keep the nights from now on (worker thread)."""
    why = f"{UNUSABLE} answers in a row could not be used"
    logger().warning("nights are kept by rules from now on: %s of %s.", why, model)
    try:
        note(model, nights=why)
    except OSError as problem:
        logger().error("%s cannot be written: %s", conf.FINDINGS, problem)
