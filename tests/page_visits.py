"""Helpers of the tests of the staff pages: logging in, URLs, what a page says."""

from __future__ import annotations

import html
import re

from django.urls import reverse
from evennia.utils.create import create_account

from contrib_ai_memory import offload
from contrib_ai_memory.records import Entry, Percept

PASSWORD = "a lantern by the door"

PAGES = (
    "overview",
    "journal",
    "facts",
    "search",
    "people",
    "graph",
    "nights",
    "charts",
    "prompt",
)


def logged_in(client, name, *, builder=False, is_staff=False, is_superuser=False):
    account = create_account(name, email="", password=PASSWORD, is_superuser=is_superuser)
    account.is_staff = is_staff
    account.save()
    if builder:
        account.permissions.add("Builder")
    client.force_login(account)
    return client


def url(name, npc, *args):
    return reverse(f"ai_memory:{name}", args=[npc.id, *args])


def told(npc, speaker, *lines, kind="say"):
    """The NPC hears lines, and indexes them."""
    who = npc.get_memory_identity(speaker)
    entries = [
        npc.memory.perceive(
            Percept(content=line, kind=kind, seen_as=speaker.key, source=who, witnesses=(who,),
                    entities=(who,), private=kind == "whisper", location="#2")
        )
        for line in lines
    ]  # fmt: skip
    npc.memory.flush()
    while not offload.wait(npc.memory.index_pending()):
        pass
    return entries


def raw_entry(npc, content, seen_as="Alice"):
    """An entry as an old version, an import or an admin form may have left it: not sanitised."""
    entry = npc.memory.journal.append(
        lambda number: Entry(number, "2026-03-02T10:00:00+00:00", content, "say", seen_as=seen_as)
    )
    npc.memory.flush()
    return entry


def main_of(response):
    """The page without Evennia's frame, as text."""
    return re.search(r"<main.*</main>", response.content.decode(), re.S)[0]


def words(response):
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", main_of(response))))
