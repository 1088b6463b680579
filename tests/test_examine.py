"""`examine` shows builders an NPC, and not what it remembers."""

from __future__ import annotations

import pytest
from evennia.typeclasses.attributes import Attribute

from contrib_ai_memory import offload
from contrib_ai_memory.store.links import Link


@pytest.fixture
def talked(mara, alice):
    mara.db.persona = "A warm soul."
    alice.execute_cmd("whisper Mara = I hide a silver key in Elmstead.")
    for number in range(40):
        alice.execute_cmd(f"say I prefer tea and keep the ferry number {number}.")
    offload.wait(mara.assistant.sleep.whole_night())
    mara.memory.links.add([Link(str(a), str(a + 1), 0.5, "similar", "") for a in range(1, 30)])
    mara.memory.flush()
    return mara


def hidden(shown):
    return not any(part in shown for part in ("silver key", "journal_page", "links_", "entity_pro"))


def test_examine_shows_an_npc_without_its_memory(talked, builder):
    shown = builder("examine Mara")
    assert "persona=A warm soul." in shown
    assert hidden(shown)
    assert len(shown.splitlines()) < 40
    rows = talked.db_attributes.exclude(db_key__in=("persona", "desc")).count()
    assert f"{rows} Attributes of its memory" in shown
    assert "@memory Mara" in shown


def test_examine_of_an_npc_from_before_shows_none_of_it_either(talked, builder):
    Attribute.objects.filter(objectdb=talked).update(db_lock_storage="")
    talked.attributes.remove("memory_owner")
    del talked.__dict__["memory"]
    assert talked.memory
    assert hidden(builder("examine Mara"))
    assert "silver key" not in builder("examine Mara/journal_page_0")


@pytest.mark.parametrize("key", ["journal", "journal_page_0", "memory_id", "working_memory"])
def test_examine_of_one_attribute_of_a_memory_is_refused(talked, builder, key):
    shown = builder(f"examine Mara/{key}")
    assert "silver key" not in shown
    assert talked.memory.id not in shown
    assert "@memory Mara" in shown


def test_examine_of_an_attribute_of_the_builders_own_is_shown(talked, builder):
    assert "A warm soul." in builder("examine Mara/persona")
    both = builder("examine Mara/persona/journal")
    assert "A warm soul." in both
    assert "silver key" not in both


def test_a_superuser_who_asks_for_one_attribute_is_shown_it(talked, types_as):
    types = types_as("Root", "Developer")
    from evennia.utils.create import create_account
    from evennia.utils.search import search_object

    account = create_account("root", "r@example.com", "a lantern by the door")
    account.is_superuser = True
    account.save()
    [root] = search_object("Root")
    root.account = account
    root.locks.cache_lock_bypass(root)
    assert hidden(types("examine Mara"))
    assert "ferry number" in types("examine Mara/journal_page_0")


def test_examine_of_anything_else_is_as_ever(talked, builder, alice):
    alice.db.trade = "ferrywoman"
    shown = builder("examine Alice")
    assert "trade=ferrywoman" in shown
    assert "memory" not in shown


def test_new_rows_cost_no_write_for_their_lock(mara, alice, django_assert_max_num_queries):
    alice.execute_cmd("say Good day.")
    mara.memory.flush()
    alice.execute_cmd("say I keep the ferry.")
    with django_assert_max_num_queries(3):
        mara.memory.journal.flush()
    locks = set(mara.db_attributes.values_list("db_lock_storage", flat=True))
    assert locks == {"attrread:false();attredit:false()"}
