"""Working memory and the index of people: small, bounded, and proof against a builder's hand."""

import pytest

from contrib_ai_memory import offload
from contrib_ai_memory.records import Message
from contrib_ai_memory.store import attributes, people
from contrib_ai_memory.store.conversations import CONVERSATIONS_KEPT, Conversations
from contrib_ai_memory.store.people import People

pytestmark = pytest.mark.django_db


def at(minute: int) -> str:
    return f"2026-01-01T{10 + minute // 60:02d}:{minute % 60:02d}:00+00:00"


ATTRIBUTES = ("working_memory", "entity_profiles", "memory_links")


@pytest.fixture
def talks(mara):
    return Conversations(mara)


def test_talk_at_one_place_is_one_conversation_until_an_hour_of_silence(talks):
    first = talks.join("room:#1", at(0))
    first.take_part("#a", at(0))
    assert talks.join("room:#1", at(59)) is first
    assert talks.join("room:#1", at(61)) is not first
    assert talks.join("room:#2", at(1)) is not first


def test_an_older_conversation_than_all_that_are_kept_can_begin(talks):
    for number in range(CONVERSATIONS_KEPT):
        talks.join(f"room:#{number}", at(100 + number))
    assert talks.join("room:#old", at(0), "an-old-log").session_id == "an-old-log"


def test_only_so_many_conversations_and_messages_are_kept(talks, mara):
    for number in range(3 * CONVERSATIONS_KEPT):
        talk = talks.join(f"room:#{number}", at(number))
        for line in range(50):
            talk.say(Message(line, "user", "Alice", "x"))
    talks.flush()
    stored = attributes.read(mara, "working_memory")
    assert len(stored) == CONVERSATIONS_KEPT
    assert all(len(talk["messages"]) <= 20 for talk in stored.values())


def test_a_conversation_is_there_again_after_a_restart(talks, mara):
    talk = talks.join("room:#1", at(0))
    talk.say(Message(1, "user", "Alice", "Hello", private=True, witnesses=("#a",)))
    talks.flush()
    assert Conversations(mara).join("room:#1", at(5)) == talk


def test_stale_conversations_are_cleared(talks):
    talks.join("room:#1", at(0))
    talks.join("room:#2", at(50))
    assert talks.clear_stale(at(70)) == 1


@pytest.mark.parametrize("listeners", [(), ("#b",), ("#a", "#b")])
def test_a_private_message_is_heard_again_only_by_its_witnesses(talks, listeners):
    talk = talks.join("room:#1", at(0))
    talk.say(Message(1, "assistant", "Mara", "secret", private=True, witnesses=("#a",)))
    assert talk.heard_by(listeners) == ()
    assert len(talk.heard_by(("#a",))) == 1


def test_what_a_builders_hand_broke_is_passed_over(mara):
    broken = {"room:#1@x": {"unknown": 1, "messages": [{"half": "a message"}]}}
    attributes.write(mara, "working_memory", broken)
    attributes.write(mara, "entity_profiles", {"#a": {"unknown": 1}, "#b": {"name": "Bram"}})
    assert Conversations(mara).get("room:#1@x") is None
    assert People(mara).name_of("#b") == "Bram"


@pytest.mark.parametrize("text", ['{"#a": {"na', "[]", '"x"', "7"])
def test_an_npc_goes_on_where_a_text_of_its_memory_is_damaged(mara, alice, logged, text):
    mara.memory.flush()
    script = mara.assistant
    for obj, keys in ((mara, ATTRIBUTES), (script, attributes.HEARTBEAT_TEXTS)):
        for key in keys:
            attributes.write(obj, key, {})
            row = obj.attributes.get(key, return_obj=True)
            row.db_strvalue = text
            row.save()
    mara.__dict__.pop("memory")
    alice.execute_cmd("say Mara, I keep the ferry at Millbrook.")
    offload.wait(script.sleep.whole_night())
    assert People(mara).names() == ("Alice",) and script.sleep.records
    assert any("entity_profiles is damaged" in line for line in logged())


def test_the_index_of_people_forgets_whoever_was_seen_longest_ago(mara, monkeypatch):
    monkeypatch.setattr(people, "PEOPLE_KEPT", 3)
    index = People(mara)
    for number in range(5):
        index.meet(f"#{number}", f"Guest{number}", at(number))
    assert [person.identity for person in index] == ["#2", "#3", "#4"]
    assert index.mentioned("guest0 and guest4") == ("#4",)
