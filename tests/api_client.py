"""Helpers of the tests of the API: accounts, a client, and a table of all requests."""

from __future__ import annotations

import base64
import json
import re

from django.test import Client
from evennia.utils.create import create_account

from contrib_ai_memory.records import Percept

PASSWORD = "lantern-and-oar"

OF_THE_GAME = ("/npcs/", "/log/", "/requests/")
READS = (
    "/npcs/{npc}/",
    "/npcs/{npc}/journal/",
    "/npcs/{npc}/memories/",
    "/npcs/{npc}/memories/1/",
    "/npcs/{npc}/memories/1/trace/",
    "/npcs/{npc}/search/?q=ferry",
    "/npcs/{npc}/people/",
    "/npcs/{npc}/people/Alice/",
    "/npcs/{npc}/links/",
    "/npcs/{npc}/status/",
    "/npcs/{npc}/nights/",
    "/npcs/{npc}/cost/",
    "/npcs/{npc}/settings/",
    "/npcs/{npc}/stats/",
    "/npcs/{npc}/acts/",
    "/npcs/{npc}/agenda/",
    "/npcs/{npc}/schedule/",
    "/npcs/{npc}/persona/",
)
WRITES = (
    ("POST", "/npcs/{npc}/memories/", {"text": "The moon is full."}),
    ("PATCH", "/npcs/{npc}/memories/1/", {"importance": 9}),
    ("POST", "/npcs/{npc}/memories/1/pin/", {}),
    ("POST", "/npcs/{npc}/memories/1/unpin/", {}),
    ("POST", "/npcs/{npc}/memories/1/lock/", {}),
    ("POST", "/npcs/{npc}/memories/1/unlock/", {}),
    ("POST", "/npcs/{npc}/undo/", {}),
    ("DELETE", "/npcs/{npc}/memories/1/", {}),
    ("POST", "/npcs/{npc}/pause/", {}),
    ("POST", "/npcs/{npc}/resume/", {}),
    ("POST", "/npcs/{npc}/nights/", {}),
    ("POST", "/npcs/{npc}/wake/", {}),
    ("POST", "/npcs/{npc}/texts/", {"text": "The ferry crosses at dawn."}),
    ("PUT", "/npcs/{npc}/schedule/", {"plan": "off"}),
    ("PUT", "/npcs/{npc}/persona/", {"field": "goals", "text": "Keep the house dry."}),
)
PREVIEW = ("POST", "/npcs/{npc}/preview/", {"player": "Alice", "text": "What do I keep?"})
ERASE = ("DELETE", "/npcs/{npc}/people/Alice/", {})


class APIClient:
    """A client of the API as one account, by password; what it gets is (status, JSON)."""

    def __init__(self, account=None):
        self.client = Client(raise_request_exception=False)
        self.headers = basic_auth(account.username, PASSWORD) if account else {}

    def __call__(self, method, address, body=None, **query):
        made = getattr(self.client, method.lower())(
            "/api/memory" + address,
            **({"query_params": query} if method == "DELETE" else {}),
            **({"data": query} if method == "GET" else {}),
            **(
                {"data": json.dumps(body or {}), "content_type": "application/json"}
                if method in ("POST", "PATCH", "PUT")
                else {}
            ),
            **self.headers,
        )
        return made.status_code, json.loads(made.content)


def basic_auth(name, password):
    word = base64.b64encode(f"{name}:{password}".encode()).decode()
    return {"HTTP_AUTHORIZATION": f"Basic {word}"}


def make_account(name, *permissions):
    made = create_account(name, None, PASSWORD, typeclass="typeclasses.accounts.Account")
    made.permissions.clear()
    for each in permissions:
        made.permissions.add(each)
    return made


def says(npc, who, text, **more):
    identity = npc.get_memory_identity(who)
    return npc.memory.perceive(
        Percept(
            content=text,
            kind="say",
            seen_as=who.key,
            source=identity,
            witnesses=(identity,),
            entities=(identity,),
            location="#1",
            **more,
        )
    )


def fact_of(ask, npc):
    status, page = ask("GET", f"/npcs/{npc.id}/memories/", record="fact")
    assert status == 200 and page["count"]
    return page["results"][0]["id"]


def api_urls():
    def walk(patterns, before=""):
        for each in patterns:
            here = before + str(each.pattern)
            if hasattr(each, "url_patterns"):
                yield from walk(each.url_patterns, here)
            else:
                yield here

    from contrib_ai_memory.web import api

    for address in walk(api.urlpatterns):
        address = address.replace("<int:npc_id>", "{npc}")
        yield re.sub(r"<\w+:\w+>", "{id}", address)
