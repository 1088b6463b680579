"""A journal that was damaged: the NPC goes on with what it has, and `doctor --mend` rebuilds it.

The damage is what a crash, a full disk or an edit by hand leave in the game's database.
"""

from __future__ import annotations

import json
import logging

import numpy as np
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.urls import reverse
from evennia.typeclasses.attributes import Attribute
from evennia.utils.create import create_account

from contrib_ai_memory import offload
from contrib_ai_memory.admin import erase
from contrib_ai_memory.conf import PAGE_SIZE
from contrib_ai_memory.records import MemoryRecord, Percept
from contrib_ai_memory.store import memory_store
from contrib_ai_memory.store.payload import entry_memory_id

LINES = (
    "I keep the ferry at Millbrook.",
    "I sold {n} oxen in Elmstead.",
    "My brother Tom paid {n} crowns for it.",
    "The bridge has {n} arches.",
)


def page(npc, number=0):
    return Attribute.objects.filter(
        objectdb=npc, db_key=f"journal_page_{number}", db_category="ai_memory"
    )


def first_entries(text, count):
    """The page, cut off in the middle of an entry."""
    end = 0
    for _ in range(count):
        end = text.index('{"', end + 1)
    return text[: end + 20]


DAMAGES = {
    "cut off": lambda text: first_entries(text, 10),
    "cut off at once": lambda text: text[:7],
    "empty": lambda text: "",
    "an empty list": lambda text: "[]",
    "a number": lambda text: "7",
    "another type": lambda text: '{"id":1}',
    "words": lambda text: "the ferry, the ferry, the ferry",
    "wrong types": lambda text: json.dumps(
        [{"id": e["id"], "timestamp": 7, "content": None, "kind": []} for e in json.loads(text)]
    ),
    "nothing in the entries": lambda text: json.dumps([{}, None, 3, "x"]),
    "deep": lambda text: "[" * 100_000,
    "no text": lambda text: None,
    "missing": None,
}


FEW = ("cut off", "empty", "wrong types", "missing")  # the others end in one of these ways


@pytest.fixture(
    params=[each if each in FEW else pytest.param(each, marks=pytest.mark.slow) for each in DAMAGES]
)
def damage(request):
    """Damages a page, as the next start of the server finds it."""
    change = DAMAGES[request.param]

    def do(npc, number=0):
        npc.memory.flush()
        [row] = page(npc, number)
        if change is None:
            row.delete()
        else:
            page(npc, number).update(db_strvalue=change(row.db_strvalue))
        restart(npc)

    return do


def restart(npc):
    """What a new process knows: the rows of the database."""
    npc.memory.flush()
    npc.attributes.reset_cache()
    for attribute in npc.db_attributes.all():
        attribute.flush_from_cache(force=True)
    del npc.__dict__["memory"]


@pytest.fixture
def talked(mara, alice, bram):
    """Two pages and a half of talk, slept over."""
    for number in range(80):
        who, line = (alice, bram)[number % 2], LINES[number % len(LINES)].format(n=number)
        identity = mara.get_memory_identity(who)
        mara.memory.perceive(
            Percept(
                content=line,
                kind="whisper" if number == 5 else "pose" if number == 6 else "say",
                seen_as=who.key,
                source=identity,
                witnesses=(identity,),
                private=number == 5,
                location="#2",
            )
        )
    offload.wait(mara.assistant.sleep.whole_night())
    assert len(mara.memory.journal) > 2 * PAGE_SIZE
    return mara


@pytest.fixture
def log(caplog):
    logger = logging.getLogger("contrib_ai_memory")
    logger.propagate = True
    with caplog.at_level(logging.INFO, logger="contrib_ai_memory"):
        yield caplog
    logger.propagate = False


@pytest.fixture
def doctor(capsys):
    """`evennia ai_memory doctor`, as an operator types it; gives all that it says."""

    def run(*words):
        try:
            call_command("ai_memory", "doctor", *words)
            problem = ""
        except CommandError as error:
            problem = str(error)
        return capsys.readouterr().out + problem

    return run


def contents(npc):
    return {entry.id: entry.content for entry in npc.memory.journal.read()}


def stored(npc):
    return {m.id: m.content for m in memory_store.shared().list(npc.memory.id, limit=None)}


def test_the_npc_goes_on_with_what_it_has(talked, damage, alice, builder, hears):
    damage(talked, 1)
    offload.wait(talked.assistant.at_tick())
    said = hears(alice)
    alice.execute_cmd("say Mara, who keeps the ferry at Millbrook?")
    assert any("ferry" in line for line in said), "it does not answer"
    assert "wakes up rested" in (night := builder("@sleep/now mara")) and "Failed:" not in night
    assert "The memory of Mara" in builder("@memory mara")
    assert "The journal of Mara" in builder("@memory/journal mara = before 70")
    assert "ferry" in builder("@memory/search mara = ferry")
    end = len(talked.memory.journal)
    cursors = talked.memory.journal.cursors
    for name in ("indexed", "extracted", "scored", "consolidated", "linked", "observed"):
        assert cursors[name] == end, name


def test_what_cannot_be_read_is_told_to_builders_staff_and_the_log(
    talked, damage, builder, client, log
):
    damage(talked, 1)
    told = " ".join(builder("@memory mara").split())
    assert "entries 33 to 64" in told and "doctor --mend" in told
    account = create_account("Keeper", email="", password="a lantern", is_superuser=True)
    client.force_login(account)
    shown = client.get(reverse("ai_memory:overview", args=[talked.id])).content.decode()
    assert "entries 33 to 64" in shown and "doctor --mend" in shown
    for _ in range(3):
        builder("@memory/journal mara = before 65")
        offload.wait(talked.assistant.at_tick())
    assert len([r for r in log.records if "entries 33 to 64" in r.getMessage()]) <= 1


def test_nothing_is_told_of_a_sound_journal(talked, builder):
    talked.memory.journal.remove(range(33, 65))
    restart(talked)
    assert "doctor" not in builder("@memory mara")


def test_doctor_rebuilds_the_page_from_the_store(talked, damage, alice, bram, doctor):
    before = {entry.id: entry for entry in talked.memory.journal.read()}
    memories, links = stored(talked), talked.memory.links.count
    damage(talked)
    found = doctor()
    assert "entries 1 to 32" in found and "--mend" in found
    assert stored(talked) == memories
    assert "mended" in doctor("--mend")
    assert stored(talked) == memories, "the last copy was deleted"
    assert talked.memory.links.count == links
    restart(talked)
    after = {entry.id: entry for entry in talked.memory.journal.read()}
    assert {n: e.content for n, e in after.items()} == {n: e.content for n, e in before.items()}
    for number in range(1, PAGE_SIZE + 1):
        for name in ("timestamp", "seen_as", "source_entity", "witnesses", "private", "kind"):
            assert getattr(after[number], name) == getattr(before[number], name), name
        assert after[number].session_id == before[number].session_id
        assert after[number].importance == before[number].importance
    assert "No problems found." in doctor()
    alice.execute_cmd("say The ferry has a new rope.")
    offload.wait(talked.assistant.sleep.whole_night())
    assert stored(talked).items() >= memories.items()


def test_the_damaged_text_is_kept_aside(talked, doctor):
    talked.memory.flush()
    [row] = page(talked)
    broken = row.db_strvalue[:3000]
    page(talked).update(db_strvalue=broken)
    restart(talked)
    doctor("--mend")
    kept = Attribute.objects.filter(objectdb=talked, db_key__startswith="journal_page_0_damaged")
    assert [json.loads(each.db_strvalue)["text"] for each in kept] == [broken]


def test_a_change_of_what_is_left_of_a_page_keeps_the_damaged_text(talked, builder):
    talked.memory.flush()
    [row] = page(talked)
    broken = first_entries(row.db_strvalue, 10)
    page(talked).update(db_strvalue=broken)
    restart(talked)
    assert "is changed" in builder("@memory/edit mara = 3 I sold no oxen.")
    restart(talked)
    assert talked.memory.journal.get(3).content == "I sold no oxen."
    assert talked.memory.journal.get(4)
    kept = Attribute.objects.filter(objectdb=talked, db_key__startswith="journal_page_0_damaged")
    assert [json.loads(each.db_strvalue)["text"] for each in kept] == [broken]
    assert "entries 1 to 32" in " ".join(builder("@memory mara").split())


def test_an_erasure_takes_the_words_out_of_damaged_text_too(talked, alice, doctor):
    talked.memory.flush()
    [row] = page(talked)
    page(talked).update(db_strvalue=row.db_strvalue[:3000])
    restart(talked)
    doctor("--mend")
    page(talked, 1).update(db_strvalue=page(talked, 1)[0].db_strvalue[:500])
    restart(talked)
    offload.wait(erase.erase_person(talked, talked.get_memory_identity(alice), ["Alice"]))
    texts = Attribute.objects.filter(objectdb=talked).values_list("db_strvalue", flat=True)
    assert not [text for text in texts if text and ("Millbrook" in text or "Alice" in text)]


def test_what_was_forgotten_is_not_rebuilt(talked, builder, doctor):
    builder("@memory/forget mara = 3")
    builder("yes")
    assert talked.memory.journal.get(3) is None
    # a job that was on its way puts it back into the store
    gone = entry_memory_id(talked.memory.id, 3)
    [other] = memory_store.shared().get([entry_memory_id(talked.memory.id, 4)])
    again = MemoryRecord.from_dict(other.to_dict() | {"id": gone, "journal_ids": [3]})
    memory_store.shared().upsert(talked.memory.id, [again], np.eye(1, 384, dtype=np.float32))
    assert "memories of removed journal entries" in doctor("--mend")
    assert memory_store.shared().get([gone]) == []
    assert talked.memory.journal.get(3) is None


def open_page(npc):
    return Attribute.objects.filter(objectdb=npc, db_key="journal", db_category=None)


@pytest.mark.parametrize(
    "left",
    [
        None,
        '{"entries":[{"id":65,"timest',
        *(
            pytest.param(each, marks=pytest.mark.slow)
            for each in (
                '"x"',
                "7",
                "[]",
                '{"entries":"x","entry_count":"y","cursors":3}',
                '{"entries":[1,{}]}',
            )
        ),
    ],
)
def test_without_its_open_page_it_goes_on_behind_what_the_store_holds(
    talked, alice, builder, doctor, left
):
    talked.memory.flush()
    memories, last = stored(talked), len(talked.memory.journal)
    if left is None:
        open_page(talked).delete()
    else:
        open_page(talked).update(db_strvalue=left)
    restart(talked)
    assert len(talked.memory.journal) >= last
    alice.execute_cmd("say The ferry has a new rope.")
    offload.wait(talked.assistant.at_tick())
    assert "doctor --mend" in " ".join(builder("@memory mara").split())
    assert stored(talked).items() >= memories.items(), "a new line took the place of an old one"
    doctor("--mend")
    said = contents(talked)
    there = {said.get(number) for number in range(65, last + 1)}
    assert there >= {LINES[number % 4].format(n=number) for number in range(64, 80)}
    assert "Failed:" not in builder("@sleep/now mara")
    assert "No problems found." in doctor()


def test_an_old_open_page_does_not_take_ids_that_pages_have(talked, builder):
    talked.memory.flush()
    open_page(talked).update(db_strvalue='{"entries":[],"entry_count":0,"cursors":{}}')
    restart(talked)
    assert talked.memory.journal.get(1).content == LINES[0]
    assert len(talked.memory.journal) >= 2 * PAGE_SIZE
