"""The OpenAPI schema, and requests generated from it."""

from __future__ import annotations

import os
from itertools import product

import pytest
from api_client import (
    api_urls,
)
from django.urls import NoReverseMatch, reverse


def test_without_the_urls_there_is_no_api(settings, mara):
    settings.ROOT_URLCONF = "evennia.web.urls"
    with pytest.raises(NoReverseMatch):
        reverse("ai_memory_api:npcs")


@pytest.fixture
def schema(admin_api, mara):
    status, found = admin_api("GET", "/openapi.json")
    assert status == 200
    return found


def test_the_schema_lists_every_url(schema):
    told = {each.replace("{npc_id}", "{npc}") for each in schema["paths"]}
    told = {each.replace("{memory_id}", "{id}").replace("{person}", "{id}") for each in told}
    assert told == {f"/{each}" for each in api_urls()} - {"/openapi.json", "/"}
    assert schema["servers"] == [{"url": "/api/memory"}]


def test_every_operation_has_a_description_and_an_id_of_its_own(schema):
    operations = [each for path in schema["paths"].values() for each in path.values()]
    assert all(each.get("description") for each in operations)
    names = [each["operationId"] for each in operations]
    assert len(names) == len(set(names))


EXAMPLES = int(os.environ.get("API_EXAMPLES", "3"))  # of each operation, well formed and not


@pytest.fixture
def connection_kept_open():
    """Let requests that go past Django's test client keep the connection of the test's own."""
    from django.core.signals import request_finished, request_started
    from django.db import close_old_connections

    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


def test_no_generated_input_causes_a_server_error(admin_api, lived, settings, connection_kept_open):
    import schemathesis
    from django.core.wsgi import get_wsgi_application
    from hypothesis import HealthCheck, given
    from hypothesis import settings as bounded
    from schemathesis import GenerationMode
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    settings.REST_FRAMEWORK = settings.REST_FRAMEWORK | {
        "DEFAULT_THROTTLE_RATES": dict.fromkeys(
            ("ai_memory_read", "ai_memory_work", "ai_memory_write"), None
        )
    }
    headers = {"Authorization": admin_api.headers["HTTP_AUTHORIZATION"]}
    schema = schemathesis.openapi.from_wsgi(
        "/api/memory/openapi.json", get_wsgi_application(), headers=headers
    )
    checks = [
        not_a_server_error,
        content_type_conformance,
        status_code_conformance,
        response_schema_conformance,
    ]
    asked = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        here = {"npc_id": lived.id, "memory_id": "1", "person": "Alice"}
        for mode, known in product(GenerationMode, (here, {"npc_id": lived.id}, None)):
            strategy = operation.as_strategy(generation_mode=mode, path_parameters=known)

            @bounded(
                max_examples=EXAMPLES,
                deadline=None,
                database=None,
                derandomize=EXAMPLES < 10,
                suppress_health_check=list(HealthCheck),
            )
            @given(case=strategy)
            def holds(case):
                nonlocal asked
                asked += 1
                case.call_and_validate(headers=headers, checks=checks)

            holds()
    assert asked > 100
