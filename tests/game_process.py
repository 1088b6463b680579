"""Processes that run in the tests' game folder, with a database and a store of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

DATABASE = "evennia.db3"  # in their folder
STORE = "ai_memory"

_SETTINGS = """
from server.conf.settings import *
CONTRIB_AI_MEMORY = {memory!r}
LOG_DIR = {folder!r}
DATABASES = {{"default": {{"ENGINE": "django.db.backends.sqlite3", "NAME": {database!r}}}}}
"""
_SET_UP = """
import sys
sys.argv = {argv!r}
import django, evennia
from twisted.internet import reactor
import evennia.server.evennia_launcher
django.setup()
"""


def run(folder: Path, program: str, *argv: str, fails: bool = False) -> str:
    """Run a program in a game whose database and store are in `folder`.

    Args:
        argv: Its `sys.argv`, by which Evennia's launcher, Portal and Server are told apart.
        fails: Whether it ends with another status than 0.

    Returns:
        What it printed.
    """
    from django.conf import settings

    own = _SETTINGS.format(
        memory={"DIR": str(folder / STORE)},
        folder=str(folder),
        database=str(folder / DATABASE),
    )
    (folder / "process_settings.py").write_text(own)
    done = subprocess.run(
        [sys.executable, "-c", _SET_UP.format(argv=[*argv]) + program],
        cwd=settings.GAME_DIR,
        env=_environment(settings.GAME_DIR, folder),
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    printed = done.stdout + done.stderr
    assert bool(done.returncode) == fails, printed
    return printed


def ai_memory(folder: Path, *arguments: str, fails: bool = False) -> str:
    """Run `evennia ai_memory …` as the launcher does; returns what it printed."""
    program = f"""
from django.core.management import CommandError, call_command
try:
    call_command(*{["ai_memory", *arguments]!r})
except CommandError as problem:
    sys.exit(str(problem))
"""
    return run(folder, program, "evennia", "ai_memory", *arguments, fails=fails)


def _environment(*folders: Any) -> dict[str, str]:
    path = os.pathsep.join(map(str, (*folders, *filter(None, sys.path))))
    return os.environ | {"DJANGO_SETTINGS_MODULE": "process_settings", "PYTHONPATH": path}
