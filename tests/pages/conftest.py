"""Somebody at the staff pages, through Django's own client; no reactor runs."""

from __future__ import annotations

import pytest
from evennia.utils import logger as evennia_logger
from page_visits import logged_in


@pytest.fixture
def keeper(tavern, client):
    """A client that is logged in as superuser."""
    return logged_in(client, "Keeper", is_superuser=True)


@pytest.fixture
def log(monkeypatch):
    """All that goes to the game's security log."""
    lines = []
    monkeypatch.setattr(evennia_logger, "log_sec", lines.append)
    return lines
