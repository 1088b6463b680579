"""A game database without room: what was heard stays in memory, and is written when there is.

And one that is written anew after an erasure.
"""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest
from django.db import OperationalError, connection
from evennia.objects.models import ObjectDB
from evennia.utils.create import create_object

from contrib_ai_memory import offload, start
from contrib_ai_memory.store import attributes, condition, game_database
from contrib_ai_memory.store.journal import Journal

pytestmark = pytest.mark.skipif(
    os.environ.get("AI_MEMORY_TEST_DATABASE") == "postgresql",
    reason="SQLite's own: its limit of a file's size, and its VACUUM",
)


@pytest.fixture
def no_room(transactional_db):
    """SQLite's own limit of a file's size, set to what the database has now."""

    def limit(pages: int | None = None) -> None:
        with connection.cursor() as cursor:
            if pages is None:
                cursor.execute("PRAGMA page_count")
                pages = cursor.fetchone()[0]
            cursor.execute(f"PRAGMA max_page_count = {pages}")

    ObjectDB.flush_instance_cache(force=True)  # objects of other tests, whose rows are gone
    yield limit
    limit(1_000_000_000)
    ObjectDB.flush_instance_cache(force=True)


def test_lines_that_find_no_room_are_written_later_each_once(no_room, mara, alice, builder):
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    mara.memory.flush()
    no_room()
    for number in range(80):  # more than two pages of the journal
        alice.execute_cmd(f"say Barrel {number} holds {number * 7} apples. {'x' * 500}")
        mara.memory.flush()
    assert mara.memory.unwritten
    assert "no room" in " ".join(builder("@memory mara").split())
    no_room(1_000_000_000)
    mara.memory.flush()
    assert not mara.memory.unwritten
    assert condition.troubles() == []
    alice.execute_cmd("say The last line.")
    mara.memory.flush()
    mara.attributes.reset_cache()
    stored = [entry.content for entry in Journal(mara).read()]
    assert stored == [entry.content for entry in mara.memory.journal.read()]
    assert sum("Barrel" in line for line in stored if "holds" in line) >= 80


# --- written anew after an erasure ----------------------------------------------------------------


@pytest.fixture
def in_game(no_room, monkeypatch):
    """As in a running game, on a connection that is within no transaction."""
    monkeypatch.setattr(offload, "in_game", lambda: True)


@pytest.fixture
def vacuums(monkeypatch):
    """How often the database was written anew; `fails` is what it fails with."""
    seen = SimpleNamespace(count=0, fails=None)
    vacuum = game_database.vacuum

    def counted():
        seen.count += 1
        if seen.fails:
            raise seen.fails
        vacuum()

    monkeypatch.setattr(game_database, "vacuum", counted)
    return seen


def forgets_alice(mara, alice, types_as):
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    mara.memory.flush()
    admin = types_as("Chief", "Admin")
    admin("@memory/forget mara = about Alice")
    return " ".join(admin("yes").split())


def test_an_erasure_in_a_running_game_writes_the_database_anew_at_the_next_start(
    in_game, vacuums, mara, alice, types_as
):
    assert "The next reload clears what SQLite keeps" in forgets_alice(mara, alice, types_as)
    assert vacuums.count == 0
    start.at_server_start()
    assert vacuums.count == 1
    start.at_server_start()
    assert vacuums.count == 1


def test_an_emptied_memory_is_told_of_in_the_same_way(in_game, vacuums, mara, types_as):
    admin = types_as("Chief", "Admin")
    admin("@memory/wipe mara")
    assert "The next reload clears" in " ".join(admin("yes").split())
    start.at_server_start()
    assert vacuums.count == 1


def test_without_a_running_game_the_database_is_written_anew_at_once_and_once(
    no_room, vacuums, mara, alice, types_as
):
    assert "next reload" not in forgets_alice(mara, alice, types_as)
    assert vacuums.count == 1
    start.at_server_start()
    assert vacuums.count == 1


def test_a_database_that_cannot_be_written_anew_is_told_of_once_and_tried_again(
    in_game, vacuums, mara, alice, types_as, caplog
):
    forgets_alice(mara, alice, types_as)
    vacuums.fails = OperationalError("database or disk is full")
    start.at_server_start()
    [told] = [each.getMessage() for each in caplog.records if "written anew" in each.getMessage()]
    assert "database or disk is full" in told and "tries it again" in told
    assert game_database.is_vacuum_due()
    vacuums.fails = None
    start.at_server_start()
    assert vacuums.count == 2
    assert not game_database.is_vacuum_due()


def test_a_deleted_npc_has_the_database_written_anew_at_the_next_start(
    in_game, vacuums, mara, alice
):
    alice.execute_cmd("say I hide a silver key in Elmstead.")
    mara.memory.flush()
    mara.delete()
    assert vacuums.count == 0
    start.at_server_start()
    assert vacuums.count == 1
    assert not game_database.is_vacuum_due()


def test_an_import_does_so_where_it_replaces_a_memory(in_game, vacuums, tavern, mara, alice, admin):
    alice.execute_cmd("say I hide a silver key in Elmstead.")
    offload.wait(mara.memory.index_pending())
    admin("@memory/export mara = the key")
    odo = create_object("typeclasses.npcs.AssistantNPC", key="Odo", location=tavern)
    admin("@memory/import odo = the key")
    assert len(odo.memory.journal) and not game_database.is_vacuum_due()
    assert "would be lost" in " ".join(admin("@memory/import mara = the key").split())
    assert "remembers" in " ".join(admin("yes").split())
    assert game_database.is_vacuum_due() and vacuums.count == 0
    start.at_server_start()
    assert vacuums.count == 1


# --- statistics -----------------------------------------------------------------------------------


def plan_of_links(npc):
    rows = npc.db_attributes.filter(db_category="memory_links", db_key__in=["links_1", "links_2"])
    return rows.explain()


def test_a_row_of_a_long_memory_is_found_by_its_key_from_the_next_start_on(
    no_room, mara, monkeypatch
):
    monkeypatch.setattr(game_database, "_counted", -game_database.STATISTICS_SECONDS)
    for number in range(300):
        attributes.write_json(mara, f"links_{number}", {}, "memory_links")
    start.at_server_start()
    assert "(db_key=?)" in plan_of_links(mara)


def test_statistics_name_nobody(no_room, mara, alice, monkeypatch):
    alice.execute_cmd("say I prefer elderflower wine.")
    mara.memory.flush()
    monkeypatch.setattr(game_database, "_counted", -game_database.STATISTICS_SECONDS)
    game_database.keep_statistics()
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM sqlite_master WHERE name LIKE 'sqlite_stat%'")
        assert [name for (name,) in cursor.fetchall()] == ["sqlite_stat1"]  # numbers alone
