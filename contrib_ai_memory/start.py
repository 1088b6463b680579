"""Work at the start of the server."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from evennia.objects.models import ObjectDB
from evennia.scripts.models import ScriptDB
from evennia.utils.utils import class_from_module
from twisted.internet import defer

from . import conf, deletion, offload
from .handler import forget_memories
from .llm import findings, local_server, model_server_info
from .log import logger
from .script import KEY, AssistantScript, give_present_class
from .store import game_database, generations, owner

LOADS_WITHIN = 120.0  # seconds, from the start of llama.cpp's server


def at_server_start() -> None:
    """Do it, in the Server, when its reactor runs."""
    # a VACUUM blocks, so it comes first, before any player is served
    works = (
        game_database.run_due_vacuum,
        game_database.keep_statistics,
        check_typeclasses,
        renew_heartbeats,
        forget_the_deleted,
        serve_model,
    )
    for work in works:
        defer.maybeDeferred(work).addErrback(offload.log_failure, f"{work.__name__} at the start")


def check_typeclasses() -> None:
    """Load the typeclasses of all objects, so that `MemoryMixin` reports the bad ones."""
    paths = ObjectDB.objects.order_by().values_list("db_typeclass_path", flat=True).distinct()
    for path in paths:
        loading = defer.execute(class_from_module, path)
        # Evennia itself reports a typeclass that is missing
        loading.addErrback(lambda reason: reason.trap(ImportError))
        loading.addErrback(offload.log_failure, f"loading {path}")


def renew_heartbeats() -> None:
    """Give heartbeats that an older version made the present class, and start those without one."""
    for script in ScriptDB.objects.filter(db_key=KEY).exclude(
        db_typeclass_path=AssistantScript.path
    ):
        if give_present_class(script):
            script.at_server_start()


@defer.inlineCallbacks
def forget_the_deleted() -> Generator[Any, Any, None]:
    """Finish deletions that were cut short when the last server was killed."""
    noted = deletion.noted_deletions()
    if not noted or not conf.get().ENABLED:
        return
    stored = yield offload.run(offload.MEMORY, generations.of_store, priority=offload.NIGHT)
    if generations.pair(stored):
        return  # store and database do not match, which is reported where the store is opened
    for memory_id in noted:
        if memory_id not in owner.owned():
            yield forget_memories(memory_id)
        deletion.drop_note(memory_id)


@defer.inlineCallbacks
def serve_model() -> Generator[Any, Any, None]:
    """Have the model of `LLM.serve` served, or none, and find out whether it is small."""
    yield offload.run(offload.MODEL, serve, Path(settings.GAME_DIR), priority=offload.AWAKE)
    llm = conf.get().LLM
    if llm is not None and llm.serve is not None:
        # replies take no thread of that lane, and go on
        yield offload.run(offload.BACKGROUND_MODEL, _look_at, llm, priority=offload.AWAKE)


def _look_at(llm: conf.LLMSettings) -> None:
    """Wait until a model is served, and keep its size, which a file's name may not tell. Blocks."""
    if model_server_info.is_ready(llm, LOADS_WITHIN) and (size := findings.size_of(llm)):
        manner = conf.manner_of(size)
        logger().info("%s has %.2g B parameters: style %s.", llm.name, size, manner)


def serve(game: Path, llm: conf.LLMSettings | None = None) -> None:
    """Have a model (of the settings) served where its `serve` names a file, else none. Blocks."""
    llm, folder = llm or conf.get().LLM, conf.directory()
    if llm is None or llm.serve is None:
        local_server.stop(folder)
        return
    port = urlsplit(llm.base_url.get_secret_value()).port or 80
    local_server.start(llm.serve, port, conf.get().CONTEXT_TOKENS, folder, game)
