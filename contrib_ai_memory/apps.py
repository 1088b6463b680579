"""The Django app: what is done once when a game starts, the check of the settings first of all."""

import sys
from pathlib import Path

from django.apps import AppConfig
from django.core.exceptions import ImproperlyConfigured


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
        from . import conf, startup
        from .store import game_database, opening

        game_database.overwrite_what_is_deleted()
        try:
            opening.settle_environment(conf.directory())
            faults = startup.faults()
        except ImproperlyConfigured as problem:
            faults = [str(problem)]
        if faults:
            told = "\n".join(faults)
            sys.stderr.write(f"\n{told}\n\nThe game does not start until that is mended.\n")
            raise SystemExit(1)
        if Path(sys.argv[0]).name != "twistd":  # the server says it in its log, when it opens them
            for doubt in startup.doubts():
                sys.stderr.write(f"\n{doubt}\n")
