"""The Django app: what is done once when a game starts, the check of the settings first of all."""

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


# Here, and not in `ready`: Evennia connects the deletion of Attributes to the same signal for each
# typeclass that is made, and none is made before the modules of all apps are imported.
pre_delete.connect(_before_deletion, dispatch_uid="contrib_ai_memory.before_deletion")
post_delete.connect(_after_deletion, dispatch_uid="contrib_ai_memory.after_deletion")


class AIMemoryConfig(AppConfig):
    """`INSTALLED_APPS += ["contrib_ai_memory"]`."""

    name = "contrib_ai_memory"
    verbose_name = "AI memory"

    def ready(self) -> None:
        """A broken CONTRIB_AI_MEMORY stops the start, with one sentence for each bad key; a server
        that gives no answer now is told of.

        SystemExit, not the exception: Evennia's launcher wraps every exception of a start into
        a page of guesses about the settings file, and then exits with status 0.
        """
        from . import conf, preflight
        from .store import connection, game_database

        game_database.overwrite_what_is_deleted()
        try:
            connection.settle_environment(conf.directory())
            faults = preflight.faults()
        except ImproperlyConfigured as problem:
            faults = [str(problem)]
        if faults:
            told = "\n".join(faults)
            sys.stderr.write(f"\n{told}\n\nThe game does not start until that is mended.\n")
            raise SystemExit(1)
        if Path(sys.argv[0]).name != "twistd":  # the server says it in its log, when it opens them
            for doubt in preflight.doubts():
                sys.stderr.write(f"\n{doubt}\n")
        _when_the_server_runs()


def _when_the_server_runs() -> None:
    from twisted.internet import reactor

    reactor.callWhenRunning(_at_server_start)


def _at_server_start() -> None:
    from . import start

    start.at_server_start()
