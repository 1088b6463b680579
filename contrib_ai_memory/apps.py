"""The Django app: checks the settings and the Python packages when a game starts."""

from django.apps import AppConfig


class AIMemoryConfig(AppConfig):
    """`INSTALLED_APPS += ["contrib_ai_memory"]`."""

    name = "contrib_ai_memory"
    verbose_name = "AI memory"

    def ready(self) -> None:
        """A broken CONTRIB_AI_MEMORY stops the start with what is wrong, not later at 2 a.m."""
        from . import conf

        conf.get()
