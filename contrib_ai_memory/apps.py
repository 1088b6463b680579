"""The Django app: checks the settings and connects its signals when a game starts."""

import sys
from pathlib import Path
from typing import Any

from django.apps import AppConfig
from django.core.exceptions import ImproperlyConfigured
from django.db.models.signals import post_delete, pre_delete


def _before_deletion(instance: Any, **_signal: Any) -> None:
    if _is_object(instance):
        from . import deletion

        deletion.before(instance)


def _after_deletion(instance: Any, **_signal: Any) -> None:
    if _is_object(instance):
        from . import deletion

        deletion.after(instance)


def _is_object(instance: Any) -> bool:
    from evennia.objects.models import ObjectDB

    return isinstance(instance, ObjectDB)


# Not in `ready`: for each typeclass that is defined, Evennia connects the deletion of Attributes to
# the same signal, and ours must come first. No typeclass is defined before all apps are imported.
pre_delete.connect(_before_deletion, dispatch_uid="contrib_ai_memory.before_deletion")
post_delete.connect(_after_deletion, dispatch_uid="contrib_ai_memory.after_deletion")


class AIMemoryConfig(AppConfig):
    """`INSTALLED_APPS += ["contrib_ai_memory"]`."""

    name = "contrib_ai_memory"
    verbose_name = "AI memory"

    def ready(self) -> None:
        """Stop the start with a sentence for each bad setting; report servers that do not answer.

        Raises:
            SystemExit: There is a bad setting. Evennia's launcher would turn any other exception
                into a page of guesses about the settings file and exit with status 0.
        """
        from . import conf, preflight
        from .memory_process import client
        from .store import game_database, memory_store

        game_database.enable_secure_delete()
        try:
            memory_store.settle_environment(conf.directory())
            faults = preflight.faults()
        except ImproperlyConfigured as problem:
            faults = [str(problem)]
        if faults:
            listed = "\n".join(faults)
            sys.stderr.write(f"\n{listed}\n\nThe game does not start until this is fixed.\n")
            raise SystemExit(1)
        if conf.get().MEMORY_PROCESS:
            client.install()
        # the server logs it when it opens them, and so does its memory process
        if Path(sys.argv[0]).name not in ("twistd", "__main__.py"):
            for doubt in preflight.doubts():
                sys.stderr.write(f"\n{doubt}\n")
        _when_the_server_runs()


def _when_the_server_runs() -> None:
    from twisted.internet import reactor

    reactor.callWhenRunning(_at_server_start)


def _at_server_start() -> None:
    from . import start

    start.at_server_start()
