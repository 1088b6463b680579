"""The Django app: what is done once when a game starts, the check of the settings first of all."""

import sys

from django.apps import AppConfig
from django.core.exceptions import ImproperlyConfigured


class AIMemoryConfig(AppConfig):
    """`INSTALLED_APPS += ["contrib_ai_memory"]`."""

    name = "contrib_ai_memory"
    verbose_name = "AI memory"

    def ready(self) -> None:
        """A broken CONTRIB_AI_MEMORY stops the start, with one sentence for each bad key.

        SystemExit, not the exception: Evennia's launcher wraps every exception of a start into
        a page of guesses about the settings file, and then exits with status 0.
        """
        from . import conf
        from .store import game_database

        game_database.overwrite_what_is_deleted()
        try:
            conf.get()
        except ImproperlyConfigured as problem:
            sys.stderr.write(f"\n{problem}\n\nThe game does not start until that is mended.\n")
            raise SystemExit(1) from None
