"""Fixtures of the tests of the API: its URLs, clients, and an NPC with memories.

Nothing of Django or Evennia is imported above the fixtures: pytest may load this file before
`tests/conftest.py` has set up the game.
"""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def api(settings, db, store_folder):
    """The API as a game includes it, without counts of earlier tests in its throttles."""
    from django.core.cache import cache

    settings.ROOT_URLCONF = "contrib_ai_memory.web.urls"
    settings.ALLOWED_HOSTS = ["*"]
    cache.clear()


@pytest.fixture
def asked(tavern):
    """asked("Builder") is a client with that permission; asked(None) is nobody at all."""
    from api_client import APIClient, make_account

    made: dict = {}

    def as_one(permission):
        if permission not in made:
            account = make_account(f"the {permission}", permission) if permission else None
            made[permission] = APIClient(account)
        return made[permission]

    return as_one


@pytest.fixture
def builder_api(asked):
    return asked("Builder")


@pytest.fixture
def admin_api(asked):
    return asked("Admin")


@pytest.fixture
def lived(mara, alice, bram):
    """Mara, with some lines heard, a memory given to her, and a night."""
    from api_client import says

    from contrib_ai_memory import offload

    says(mara, alice, "I keep the ferry at Millbrook.")
    says(mara, alice, "My brother Corin sailed for Port Vane in spring.")
    says(mara, bram, "The mill burned down last winter.")
    offload.wait(mara.memory.add("The cellar floods in spring."))
    while not offload.wait(mara.memory.work_through(until_silent=True)):
        pass
    offload.wait(mara.assistant.sleep.whole_night())
    return mara


@pytest.fixture
def browser(tavern):
    """A browser with a Builder's session on the website."""
    from api_client import make_account
    from django.test import Client

    client = Client(enforce_csrf_checks=True)
    client.force_login(make_account("the Builder", "Builder"))
    return client
