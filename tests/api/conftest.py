"""The API as a game includes it, clients of it, and an NPC to ask about."""

from __future__ import annotations

import pytest
from api_client import APIClient, make_account, says
from django.test import Client

from contrib_ai_memory import offload
from contrib_ai_memory.web.api import throttling


@pytest.fixture(autouse=True)
def api(settings, db, store_folder):
    """The API, included as a game includes it; nobody is throttled from an earlier test."""
    from django.core.cache import cache

    settings.ROOT_URLCONF = "contrib_ai_memory.web.urls"
    settings.ALLOWED_HOSTS = ["*"]
    cache.clear()
    throttling.PasswordThrottle.reset()


@pytest.fixture
def asked(tavern):
    """asked("Builder") is a client with that permission; asked(None) is nobody at all."""
    made = {}

    def as_one(permission):
        if permission not in made:
            made[permission] = APIClient(
                permission and make_account(f"the {permission}", permission)
            )
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
    """Mara, who has heard and slept a little."""
    says(mara, alice, "I keep the ferry at Millbrook.")
    says(mara, alice, "My brother Corin sailed for Port Vane in spring.")
    says(mara, bram, "The mill burned down last winter.")
    offload.wait(mara.memory.add("The cellar floods in spring."))
    while not offload.wait(mara.memory.work_through(until_silent=True)):
        pass
    offload.wait(mara.assistant.sleep_through())
    return mara


@pytest.fixture
def browser(tavern):
    client = Client(enforce_csrf_checks=True)
    client.force_login(make_account("the Builder", "Builder"))
    return client
