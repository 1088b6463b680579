"""What people read of a memory, and what they may say twice: counts, dates, pins, undo."""

from __future__ import annotations

import io

import pytest
from api_client import APIClient, make_account
from django.core.management import call_command
from page_visits import logged_in, url

from contrib_ai_memory import offload
from contrib_ai_memory.store import attributes


@pytest.fixture(autouse=True)
def web(settings):
    """Nobody is throttled from an earlier test."""
    from django.core.cache import cache

    settings.ALLOWED_HOSTS = ["*"]
    cache.clear()


@pytest.fixture
def keeper(tavern, client):
    """A client of the pages that is logged in as superuser."""
    return logged_in(client, "Keeper", is_superuser=True)


@pytest.fixture
def builder_api(tavern):
    """A client of the API with a Builder's permission."""
    return APIClient(make_account("the Builder", "Builder"))


@pytest.fixture
def heard(mara, alice):
    """Mara has heard three lines of Alice's, and answered them."""
    for line in ("I keep the ferry.", "I love tea.", "My oar is broken."):
        alice.execute_cmd(f"say {line}")
    offload.wait(mara.memory.index_pending())
    mara.memory.flush()
    return mara


def page_of(keeper, name, npc, *args, **query):
    return " ".join(keeper.get(url(name, npc, *args), query).content.decode().split())


# --- the journal's length -------------------------------------------------------------------------


def counts(builder, keeper, builder_api, npc):
    """How many journal entries the command, the page, the API and the shell tell of."""
    [line] = [each for each in builder(f"@memory {npc.key}").splitlines() if "journal:" in each]
    npc.memory.flush()
    shell = io.StringIO()
    call_command("ai_memory", "status", stdout=shell)
    [row] = [each for each in shell.getvalue().splitlines() if each.strip().startswith(npc.key)]
    page = page_of(keeper, "overview", npc).split("<dt>Journal entries</dt><dd>")[1]
    return (
        int(line.split()[1]),
        int(page.split("<")[0]),
        builder_api("GET", f"/npcs/{npc.id}/")[1]["entries"],
        int(row.split()[3]),
    )


def test_the_journal_is_as_long_as_it_is(heard, builder, keeper, builder_api):
    assert counts(builder, keeper, builder_api, heard) == (6, 6, 6, 6)
    builder("@memory/forget Mara = 1")
    builder("yes")
    assert counts(builder, keeper, builder_api, heard) == (5, 5, 5, 5)
    builder("@memory/undo Mara")
    assert counts(builder, keeper, builder_api, heard) == (6, 6, 6, 6)


def test_a_journal_that_was_shortened_before_it_was_counted_is_counted_now(
    heard,
    builder,
    keeper,
    builder_api,
):
    heard.memory.journal.remove([1, 2])
    heard.memory.flush()
    stored = attributes.read(heard, "journal")
    del stored["removed"]
    attributes.write(heard, "journal", stored)
    del heard.__dict__["memory"]
    assert counts(builder, keeper, builder_api, heard) == (4, 4, 4, 4)


# --- how often something was told -----------------------------------------------------------------


def test_pages_and_api_count_the_times_that_a_memory_was_told(
    heard,
    alice,
    keeper,
    builder_api,
):
    entry = next(e for e in heard.memory.journal.read() if "ferry" in e.content)

    def told():
        page = page_of(keeper, "memory", heard, entry.id)
        shown = builder_api("GET", f"/npcs/{heard.id}/memories/{entry.id}/")[1]
        recalled = int(page.split("<dt>Recalled</dt><dd>")[1].split()[0])
        return recalled, shown["memory"]["access_count"]

    assert told() == (0, 0)
    alice.execute_cmd("say Mara, who keeps the ferry?")
    assert told() == (1, 1)


# --- pinning twice --------------------------------------------------------------------------------


@pytest.mark.parametrize("deed", ["pin", "unpin", "lock", "unlock"])
def test_what_is_done_twice_is_done_once(heard, keeper, builder_api, deed):
    first = [builder_api("POST", f"/npcs/{heard.id}/memories/1/{deed}/") for _ in range(2)]
    assert [status for status, _ in first] == [200, 200]
    assert first[0][1]["tags"] == first[1][1]["tags"]
    for _ in range(2):
        page = keeper.post(url("do_memory", heard, 1, deed), follow=True).content.decode()
        assert "is already" not in page
        assert "is not pinned" not in page
    acts = builder_api("GET", f"/npcs/{heard.id}/acts/")[1]
    assert len(acts) <= 1, "what changed nothing cannot be taken back"


# --- days -----------------------------------------------------------------------------------------

NO_DAYS = ("2026-13-45", "20.11.2026", "2026/11/20", "2026-1-2", "11-2026", "2026-02-30")


@pytest.mark.parametrize("day", NO_DAYS)
def test_a_day_that_is_none_is_told_what_a_day_looks_like(
    heard,
    builder,
    keeper,
    builder_api,
    day,
):
    said = builder(f"@memory/journal Mara = {day}")
    assert "2026-11-20" in said, said
    assert "No entry" not in said
    page = page_of(keeper, "journal", heard, day=day)
    assert "2026-11-20" in page
    assert "I keep the ferry." not in page
    status, told = builder_api("GET", f"/npcs/{heard.id}/journal/", day=day)
    assert status == 400
    assert "2026-11-20" in str(told)


def test_a_day_and_the_beginning_of_one_are_found(heard, builder, keeper):
    today = heard.memory.journal.get(1).timestamp[:10]
    for day in (today, today[:7]):
        assert "I keep the ferry." in builder(f"@memory/journal Mara = {day}")
    for day in (today, today[:7], today[:4]):
        assert "I keep the ferry." in page_of(keeper, "journal", heard, day=day)


def test_numbers_that_are_no_day_are_words(heard, alice, builder):
    alice.execute_cmd("say I owe 12 crowns and 3.5 ells.")
    assert "I owe 12 crowns" in builder("@memory/journal Mara = 3.5 ells")


# --- undo of a forgotten preference ---------------------------------------------------------------


def likes(npc, who):
    held = npc.memory.preferences.of(npc.get_memory_identity(who))
    return [(each.text, [old.text for old in each.history]) for each in held]


def test_a_preference_that_was_forgotten_at_once_comes_back(mara, alice, builder):
    alice.execute_cmd("say I love tea with honey.")
    builder("@memory/forget Mara = 1")
    builder("yes")
    offload.wait(mara.memory.index_pending())  # the next tick
    assert likes(mara, alice) == []
    builder("@memory/undo Mara")
    offload.wait(mara.memory.index_pending())
    assert likes(mara, alice) == [("I love tea with honey.", [])]
    found = builder("@memory/search Mara = tea with honey")
    assert "I love tea with honey." in found


def test_a_preference_that_comes_back_takes_nothing_from_what_was_said_since(mara, alice, builder):
    alice.execute_cmd("say I love tea with honey.")
    offload.wait(mara.memory.index_pending())
    builder("@memory/forget Mara = 1")
    builder("yes")
    alice.execute_cmd("say I hate tea with honey.")
    offload.wait(mara.memory.index_pending())
    builder("@memory/undo Mara")
    assert likes(mara, alice) == [("I hate tea with honey.", ["I love tea with honey."])]
