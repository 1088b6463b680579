"""The Django app: connects its signals, checks the settings, and has the Server do its work.

`ready` runs in each process of the game (Server, Portal, Evennia's launcher, every `evennia`
command), so it imports what takes long only where it is needed.
"""

import os
import sys
from collections.abc import Callable
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db.backends.signals import connection_created
from django.db.models.signals import post_delete, pre_delete

from . import mem0_environment, offload

# commands of Evennia's launcher that start the game, or work on its database or its memories: they
# check the settings, since what the Server says of them stands only in its log
CHECKING = frozenset(
    "start istart ipstart sstart reload restart reboot reset check migrate ai_memory".split()
)


def _at_deletion(instance: Any, signal: Any, **_more: Any) -> None:
    from evennia.objects.models import ObjectDB

    if isinstance(instance, ObjectDB):
        from . import deletion

        (deletion.before if signal is pre_delete else deletion.after)(instance)


# Not in `ready`: for each typeclass that is defined, Evennia connects the deletion of Attributes to
# the same signal, and ours must come first. No typeclass is defined before all apps are imported.
pre_delete.connect(_at_deletion, dispatch_uid="contrib_ai_memory.before_deletion")
post_delete.connect(_at_deletion, dispatch_uid="contrib_ai_memory.after_deletion")


class AIMemoryConfig(AppConfig):
    """`INSTALLED_APPS += ["contrib_ai_memory"]`."""

    name = "contrib_ai_memory"
    verbose_name = "AI memory"

    def ready(self) -> None:
        """Connect what each process needs; where the game starts, check the settings."""
        connection_created.connect(_delete_securely, dispatch_uid=f"{self.name}.secure_delete")
        own = getattr(settings, "CONTRIB_AI_MEMORY", None)
        own = own if isinstance(own, dict) else {}
        folder = own.get("DIR") or os.path.join(settings.GAME_DIR, "server", "ai_memory")
        mem0_environment.settle(str(folder))
        if own.get("MEMORY_PROCESS"):
            offload.run_apart(_in_memory_process)
        if offload.is_server():
            check_settings()
            from twisted.internet import reactor

            reactor.callWhenRunning(_at_server_start)
        elif CHECKING.intersection(sys.argv[1:]):
            check_settings()
            tell_doubts()


def check_settings() -> None:
    """Stop the start with a sentence for each bad setting.

    Raises:
        SystemExit: There is one. Evennia's launcher would turn any other exception into a page of
            guesses about the settings file and exit with status 0.
    """
    from . import preflight

    try:
        faults = preflight.faults()
    except ImproperlyConfigured as problem:
        faults = [str(problem)]
    if faults:
        listed = "\n".join(faults)
        sys.stderr.write(f"\n{listed}\n\nThe game does not start until this is fixed.\n")
        raise SystemExit(1)


def tell_doubts() -> None:
    """Report what works less well and stops nothing, as a server that does not answer."""
    from . import preflight

    for doubt in preflight.doubts():
        sys.stderr.write(f"\n{doubt}\n")


def _delete_securely(connection: Any, **_signal: Any) -> None:
    """Have SQLite overwrite what is deleted: rows hold what people said (`store.game_database`)."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA secure_delete = ON")


def _in_memory_process(job: Callable[..., Any], args: tuple[Any, ...], reads: bool) -> Any:
    from .memory_process import client

    return client.do(job, args, reads)


def _at_server_start() -> None:
    from . import start

    start.at_server_start()
