"""`examine` shows builders an NPC, and not what it remembers."""

from __future__ import annotations

import json

import pytest
from evennia.typeclasses.attributes import Attribute

from contrib_ai_memory import offload
from contrib_ai_memory.records import Percept
from contrib_ai_memory.store import attributes
from contrib_ai_memory.store.links import Link


@pytest.fixture
def talked(mara, alice):
    mara.db.persona = "A warm soul."
    alice.execute_cmd("whisper Mara = I hide a silver key in Elmstead.")
    alice.execute_cmd("say I prefer tea and keep the ferry.")
    offload.wait(mara.assistant.sleep.whole_night())
    identity = mara.get_memory_identity(alice)
    for number in range(40):
        line = f"I prefer tea and keep the ferry number {number}."
        heard = {"seen_as": "Alice", "source": identity, "witnesses": (identity,)}
        mara.memory.perceive(Percept(content=line, kind="say", location="#2", **heard))
    offload.wait(mara.memory.work_through(until_silent=True))
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
    talked.db_attributes.get(db_key="memory_owner").delete()
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


# --- Evennia's commands on Attributes, which ask no lock of an Attribute --------------------------

KEYS = ("journal", "working_memory", "entity_profiles", "journal_page_0:ai_memory")


@pytest.fixture
def confided(mara, alice):
    """A sealed page and an open one, each with a whisper."""
    mara.db.persona = "A warm soul."
    alice.execute_cmd("whisper Mara = I hide a silver key in Elmstead.")
    for number in range(40):
        alice.execute_cmd(f"pose counts barrel {number}.")
    alice.execute_cmd("whisper Mara = I hide a golden ring in the mill.")
    mara.memory.flush()
    return mara


def restarted(npc):
    """The NPC as a new process finds it."""
    npc.attributes.reset_cache()
    for attribute in npc.db_attributes.all():
        attribute.flush_from_cache(force=True)
    del npc.__dict__["memory"]
    return npc


def rows_of(npc):
    rows = npc.db_attributes.values_list("db_key", "db_category", "db_value", "db_strvalue")
    return sorted(rows, key=str)


def test_set_and_cpattr_show_and_copy_nothing_of_a_memory(confided, builder):
    for key in KEYS:
        shown = builder(f"@set Mara/{key}") + builder(f"@cpattr Mara/{key} = me/loot")
        shown += builder("@set me/loot") + builder("examine me/loot")
        for secret in ("golden ring", "silver key", "barrel", "Alice"):
            assert secret not in shown, key


def test_no_command_on_attributes_takes_a_part_of_a_memory_away(confided, admin, builder):
    before, rows = list(confided.memory.journal.read()), rows_of(confided)
    for types in (builder, admin):
        for key in KEYS:
            types(f"@mvattr Mara/{key} = me/loot")
            types(f"@set Mara/{key} =")
            types(f"@set Mara/{key} = 7")
            types(f"@cpattr Mara/persona = Mara/{key}")
            types(f"@wipe Mara/{key}")
    assert rows_of(confided) == rows
    assert list(restarted(confided).memory.journal.read()) == before


def test_set_does_not_show_what_the_script_keeps_of_talk_and_nights(confided, builder):
    for key in attributes.HEARTBEAT_TEXTS:
        attributes.write(confided.assistant, key, [{"content": "I hide a silver key."}])
        shown = builder(f"@set/script {confided.assistant.dbref}/{key}")
        assert key in shown and "= None" in shown


def test_a_memory_that_an_earlier_version_stored_plainly_is_text_from_its_first_use(
    confided, alice
):
    before = list(confided.memory.journal.read())
    script = confided.assistant
    attributes.write(script, "conversation_history", [{"content": "I hide a silver key."}])
    texts = (*attributes.TEXTS, *attributes.HEARTBEAT_TEXTS)
    for obj in (confided, script):
        for row in obj.db_attributes.filter(db_category=None, db_key__in=texts):
            row.value, row.db_strvalue = json.loads(row.db_strvalue), None
            row.save()
    assert "golden ring" in str(confided.attributes.get("journal"))
    assert "golden" in str(confided.db.working_memory)
    assert list(restarted(confided).memory.journal.read()) == before
    script.at_server_start()
    for key in texts:
        assert confided.attributes.get(key) is None and script.attributes.get(key) is None, key
    assert attributes.read(script, "conversation_history")
    alice.execute_cmd("whisper Mara = The ring is gone.")
    confided.memory.flush()
    assert list(restarted(confided).memory.journal.read())[: len(before)] == before
    assert len(confided.memory.journal) > len(before)
