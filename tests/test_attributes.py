"""Plain data in Evennia's Attributes, written without Evennia's conversions."""

import pytest
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext
from evennia.typeclasses.attributes import Attribute

from contrib_ai_memory.store import attributes

VALUE = {"entries": [{"id": 1, "witnesses": ["#1@a"], "private": False, "weight": 0.5}], "n": None}


def test_a_text_is_read_back_from_the_database_and_is_none_to_evennia(mara):
    for value in (VALUE, VALUE | {"n": 2}):  # created, then changed
        attributes.write(mara, "working_memory", value)
        row = mara.db_attributes.get(db_key="working_memory")
        row.refresh_from_db()
        assert attributes.read(mara, "working_memory") == value
        assert mara.db.working_memory is None and row.value is None


def test_what_was_written_does_not_change_with_what_was_given(mara):
    given = {"entries": [1]}
    attributes.write(mara, "working_memory", given)
    given["entries"].append(2)
    assert attributes.read(mara, "working_memory") == {"entries": [1]}


def test_what_somebody_sets_beside_a_text_neither_counts_nor_stays(mara):
    attributes.write(mara, "working_memory", {})
    mara.db.working_memory = VALUE  # as an admin form writes back what it showed
    assert attributes.read(mara, "working_memory") == {}
    attributes.write(mara, "working_memory", {"a": 1})
    assert mara.db.working_memory is None
    assert attributes.read(mara, "working_memory") == {"a": 1}


def test_a_row_that_is_gone_is_an_error_and_not_a_lost_line(mara, alice):
    alice.execute_cmd("say The mill is broken.")
    mara.memory.flush()
    alice.execute_cmd("say The miller is gone.")
    Attribute.objects.filter(db_key="journal", objectdb=mara).delete()
    with pytest.raises(DatabaseError, match="journal"):
        mara.memory.journal.flush()
    mara.memory.flush()
    written = {each["content"] for each in attributes.read(mara, "journal")["entries"]}
    assert written >= {"The mill is broken.", "The miller is gone."}


def test_json_is_written_and_removed_by_exact_keys(mara):
    """A search without case would read every row of a long memory, on the reactor thread."""
    with CaptureQueriesContext(
        connection,
    ) as asked:
        attributes.write_json(mara, "Links_1", {"a": 1}, "memory_links")
        attributes.write_some_json(mara, {"links_1": {"a": 2}, "links_2": {}}, "memory_links")
        found = attributes.read_some_json(mara, ["links_1", "links_2"], "memory_links")
        attributes.remove_json(mara, "Links_1", "memory_links")
    assert found == {"links_1": {"a": 2}, "links_2": {}}
    assert attributes.keys_of(mara, "links_", "memory_links") == ["links_2"]
    assert asked and not [each["sql"] for each in asked if " LIKE " in each["sql"].upper()]


def test_evennia_reads_the_json_that_was_written_last(mara):
    for text in ('{"a":1}', '{"a":2}'):
        attributes.write_json(mara, "links_1", {"a": int(text[5])}, "memory_links")
        assert mara.attributes.get("links_1", category="memory_links", strattr=True) == text
    attributes.remove_json(mara, "links_1", "memory_links")
    assert mara.attributes.get("links_1", category="memory_links", strattr=True) is None
