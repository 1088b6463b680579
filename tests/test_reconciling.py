"""A new fact beside what is known: the same again, a change, or news."""

import itertools

import pytest

from contrib_ai_memory import offload
from contrib_ai_memory.embedding import embedder
from contrib_ai_memory.records import MemoryRecord
from contrib_ai_memory.sleep.reconciling import Relation, reconcile, relation
from contrib_ai_memory.store import facts
from contrib_ai_memory.store.payload import memory_id_for

MIND = "5f1f3c1e-8a0b-4c57-9d0e-6a1c2b3d4e5f"
_entries = itertools.count(1)


def fact(text, day=1, **more) -> MemoryRecord:
    when = f"2026-03-{day:02d}T19:00:00+00:00"
    circle = more.get("witnesses", ()) if more.get("private") else ("*",)
    made = {
        "id": memory_id_for(MIND, "fact", text.lower(), *circle),
        "content": text,
        "key": text,
        "record": "fact",
        "about": "#1",
        "journal_ids": (next(_entries),),
        "valid_from": when,
        "created_at": when,
        "last_accessed": when,
    }
    return MemoryRecord(**made | more)


def learn(record):
    return reconcile(MIND, record, embedder.shared().encode([record.content])[0])


def known():
    return {m.content: m for m in facts.shared().list(MIND, limit=None)}


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ("The toll is nine crowns.", "The toll is seven crowns.", Relation.CHANGE),
        ("The toll is 9 crowns.", "The toll is 7 crowns.", Relation.CHANGE),
        ("Alice no longer keeps the ferry.", "Alice keeps the ferry.", Relation.CHANGE),
        ("Alice keeps the ferry.", "Alice never keeps the ferry.", Relation.CHANGE),
        ("Alice keeps the ferry!", "Alice keeps the ferry.", Relation.SAME),
        ("Alice has a dog called Rex.", "Alice has a dog called Max.", Relation.OTHER),
        ("Alice sold 3 oxen.", "Alice bought 5 sheep.", Relation.OTHER),
        ("Alice keeps the ferry.", "Alice keeps bees.", Relation.OTHER),
    ],
)
def test_numbers_negations_and_names_decide(store_folder, new, old, expected):
    vectors = embedder.shared().encode([new, old])
    assert relation(fact(new), fact(old), float(vectors[0] @ vectors[1])) is expected


def test_what_two_people_say_is_two_claims(store_folder):
    assert relation(fact("The toll is nine."), fact("The toll is nine.", about="#2"), 1.0) is (
        Relation.OTHER
    )


def test_the_same_again_is_evidence_and_doubles_nothing(store_folder):
    first = learn(fact("Alice keeps the ferry at Millbrook."))
    again = fact("Alice keeps the ferry at Millbrook!", 2)
    assert learn(again) == learn(again) == first
    [held] = known().values()
    assert len(held.journal_ids) == 2
    assert held.access_count == 2


def test_a_change_ends_the_old_and_recall_tells_the_new_while_both_are_kept(store_folder):
    from contrib_ai_memory.recall.recall import Question, recall

    learn(fact("The ferry toll at Millbrook is seven crowns.", 1))
    new = fact("The ferry toll at Millbrook is nine crowns.", 5)
    learn(new)
    learn(new)
    held = known()
    old = held["The ferry toll at Millbrook is seven crowns."]
    assert (old.invalid_at, old.superseded_by) == (new.valid_from, new.id)
    asked = Question(MIND, "how much is the ferry toll?", "2026-03-09T00:00:00+00:00")
    assert [item.memory.content for item in recall(asked).memories] == [new.content]


def test_what_was_so_before_and_is_learned_late_is_history_from_the_start(store_folder):
    learn(fact("The ferry toll at Millbrook is nine crowns.", 5))
    learn(fact("The ferry toll at Millbrook is seven crowns.", 1))
    held = known()
    assert not held["The ferry toll at Millbrook is nine crowns."].superseded_by
    assert held["The ferry toll at Millbrook is seven crowns."].superseded_by


def test_what_holds_again_is_told_again(store_folder):
    learn(fact("The ferry toll at Millbrook is seven crowns.", 1))
    learn(fact("The ferry toll at Millbrook is nine crowns.", 5))
    learn(fact("The ferry toll at Millbrook is seven crowns.", 8))
    held = known()
    assert not held["The ferry toll at Millbrook is seven crowns."].superseded_by
    assert held["The ferry toll at Millbrook is nine crowns."].superseded_by
    assert len(held) == 2


def test_a_whisper_ends_nothing_that_was_said_aloud(store_folder):
    learn(fact("The ferry toll at Millbrook is seven crowns.", 1))
    learn(fact("The ferry toll at Millbrook is nine crowns.", 5, private=True, witnesses=("#1",)))
    assert not any(held.superseded_by for held in known().values())


def test_killed_between_its_two_writes_it_is_finished_by_the_next_night(store_folder, monkeypatch):
    learn(fact("The ferry toll at Millbrook is seven crowns.", 1))
    new = fact("The ferry toll at Millbrook is nine crowns.", 5)
    with monkeypatch.context() as killed:
        killed.setattr(
            facts.FactStore, "add", lambda *args: (_ for _ in ()).throw(KeyboardInterrupt)
        )
        with pytest.raises(KeyboardInterrupt):
            learn(new)
    learn(new)
    held = known()
    assert held["The ferry toll at Millbrook is seven crowns."].superseded_by == new.id
    assert not held[new.content].superseded_by


def test_a_changed_claim_changes_what_a_night_of_talk_leaves(mara, alice):
    alice.execute_cmd("say I have seven sheep in the north field.")
    offload.wait(mara.assistant.sleep_through())
    alice.execute_cmd("say I have nine sheep in the north field.")
    offload.wait(mara.assistant.sleep_through())
    held = facts.shared().list(mara.memory.id, record="fact")
    assert {m.content: bool(m.superseded_by) for m in held} == {
        "Alice has seven sheep in the north field.": True,
        "Alice has nine sheep in the north field.": False,
    }
