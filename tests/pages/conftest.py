"""Fixtures of the tests of the staff pages: Django's own client, and no running reactor.

Nothing of Django or Evennia is imported above the fixtures: pytest may load this file before
`tests/conftest.py` has set up the game.
"""

from __future__ import annotations

import pytest


@pytest.fixture
def keeper(tavern, client):
    """A client that is logged in as superuser."""
    from page_visits import logged_in

    return logged_in(client, "Keeper", is_superuser=True)


@pytest.fixture
def log(monkeypatch):
    """All lines of the game's security log."""
    from evennia.utils import logger

    lines: list[str] = []
    monkeypatch.setattr(logger, "log_sec", lines.append)
    return lines
