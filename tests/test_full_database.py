"""A game database without room: what was heard stays in memory, and is written when there is."""

from __future__ import annotations

import pytest
from django.db import connection
from evennia.objects.models import ObjectDB

from contrib_ai_memory.store import condition
from contrib_ai_memory.store.journal import Journal


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
