"""A new fact beside what is known: the same again, a change, or news."""

import contextlib
import itertools

import pytest

from contrib_ai_memory import offload
from contrib_ai_memory.embedding import embedder
from contrib_ai_memory.english.contradiction import contradicts, replaces
from contrib_ai_memory.llm.provider import Pair, Relation, Statement
from contrib_ai_memory.offline.offline_provider import OfflineProvider
from contrib_ai_memory.records import MemoryRecord, Percept
from contrib_ai_memory.sleep.reconciliation import reconcile
from contrib_ai_memory.store import memory_store
from contrib_ai_memory.store.payload import entry_memory_id, memory_id_for

NPC = "5f1f3c1e-8a0b-4c57-9d0e-6a1c2b3d4e5f"
_entries = itertools.count(1)


def fact(text, day=1, **more) -> MemoryRecord:
    when = f"2026-03-{day:02d}T19:00:00+00:00"
    circle = more.get("witnesses", ()) if more.get("private") else ("*",)
    made = {
        "id": memory_id_for(NPC, "fact", text.lower(), *circle),
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


@pytest.fixture
def learn(mara):
    """learn(fact, …): Mara reconciles facts of one audience with what she knows."""

    def reconciled(*facts):
        with mara.memory.evidence.work_on() as work:
            return offload.wait(reconcile(mara.memory, facts, work))

    return reconciled


@pytest.fixture
def known(mara):
    return lambda: {m.content: m for m in memory_store.shared().list(mara.memory.id, limit=None)}


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ("The toll is nine crowns.", "The toll is seven crowns.", Relation.CHANGES),
        ("The toll is 9 crowns.", "The toll is 7 crowns.", Relation.CHANGES),
        ("Alice no longer keeps the ferry.", "Alice keeps the ferry.", Relation.CHANGES),
        ("Alice keeps the ferry.", "Alice never keeps the ferry.", Relation.CHANGES),
        ("Alice keeps the ferry!", "Alice keeps the ferry.", Relation.SAME),
        ("Alice has a dog called Rex.", "Alice has a dog called Max.", Relation.UNRELATED),
        ("Alice lives in Harbourtown now.", "Alice lives in Wick.", Relation.CHANGES),
        ("Alice lives in Harbourtown.", "Alice lives in Wick now.", Relation.UNRELATED),
        ("Alice sold 3 oxen.", "Alice bought 5 sheep.", Relation.UNRELATED),
        ("Alice keeps the ferry.", "Alice keeps bees.", Relation.UNRELATED),
    ],
)
def test_numbers_negations_and_names_decide(store_folder, new, old, expected):
    vectors = embedder.shared().encode([new, old])
    pair = Pair(Statement(new), Statement(old), float(vectors[0] @ vectors[1]))
    assert OfflineProvider().compare([pair]) == [expected]


def test_what_two_people_say_is_two_claims(learn, known):
    learn(fact("The toll is nine crowns."))
    learn(fact("The toll is seven crowns.", 2, about="#2"))
    assert not any(held.superseded_by for held in known().values())


def test_the_same_again_is_evidence_and_doubles_nothing(learn, known):
    first = learn(fact("Alice keeps the ferry at Millbrook."))
    again = fact("Alice keeps the ferry at Millbrook!", 2)
    assert learn(again) == learn(again) == first
    [held] = known().values()
    assert len(held.journal_ids) == 2
    assert held.access_count == 2


def test_a_change_ends_the_old_and_recall_tells_the_new_while_both_are_kept(mara, learn, known):
    from contrib_ai_memory.recall.search import choose, find
    from contrib_ai_memory.records import RecallRequest

    learn(fact("The ferry toll at Millbrook is seven crowns.", 1))
    new = fact("The ferry toll at Millbrook is nine crowns.", 5)
    assert learn(new) == learn(new) == [new.id]
    held = known()
    old = held["The ferry toll at Millbrook is seven crowns."]
    assert (old.invalid_at, old.superseded_by) == (new.valid_from, new.id)
    asked = RecallRequest(
        "how much is the ferry toll?",
        agent_id=mara.memory.id,
        now="2026-03-09T00:00:00+00:00",
        top_k=5,
        token_budget=2000,
        score_profile="relevance",
    )
    assert [item.memory.content for item in choose(find(asked)).memories] == [new.content]


def test_what_was_so_before_and_is_learned_late_is_history_from_the_start(learn, known):
    learn(fact("The ferry toll at Millbrook is nine crowns.", 5))
    learn(fact("The ferry toll at Millbrook is seven crowns.", 1))
    held = known()
    assert not held["The ferry toll at Millbrook is nine crowns."].superseded_by
    assert held["The ferry toll at Millbrook is seven crowns."].superseded_by


def test_what_holds_again_is_told_again(learn, known):
    learn(fact("The ferry toll at Millbrook is seven crowns.", 1))
    learn(fact("The ferry toll at Millbrook is nine crowns.", 5))
    learn(fact("The ferry toll at Millbrook is seven crowns.", 8))
    held = known()
    assert not held["The ferry toll at Millbrook is seven crowns."].superseded_by
    assert held["The ferry toll at Millbrook is nine crowns."].superseded_by
    assert len(held) == 2


def test_a_whisper_ends_nothing_that_was_said_aloud(learn, known):
    learn(fact("The ferry toll at Millbrook is seven crowns.", 1))
    learn(fact("The ferry toll at Millbrook is nine crowns.", 5, private=True, witnesses=("#1",)))
    assert not any(held.superseded_by for held in known().values())


def test_killed_between_its_two_writes_it_is_finished_by_the_next_night(learn, known, monkeypatch):
    learn(fact("The ferry toll at Millbrook is seven crowns.", 1))
    new = fact("The ferry toll at Millbrook is nine crowns.", 5)
    with monkeypatch.context() as killed:
        killed.setattr(
            type(memory_store.shared()),
            "insert_new",
            lambda *args: (_ for _ in ()).throw(KeyboardInterrupt),
        )
        with pytest.raises(KeyboardInterrupt):
            learn(new)
    learn(new)
    held = known()
    assert held["The ferry toll at Millbrook is seven crowns."].superseded_by == new.id
    assert not held[new.content].superseded_by


def test_a_fact_is_compared_with_those_that_are_learned_with_it(learn, known):
    learn(
        fact("The ferry toll at Millbrook is seven crowns.", 1),
        fact("The ferry toll at Millbrook is nine crowns.", 5),
        fact("The ferry toll at Millbrook is nine crowns!", 6),
    )
    held = known()
    assert len(held) == 2
    assert held["The ferry toll at Millbrook is seven crowns."].superseded_by
    assert len(held["The ferry toll at Millbrook is nine crowns."].journal_ids) == 2


def test_a_changed_claim_changes_what_a_night_of_talk_leaves(mara, alice):
    alice.execute_cmd("say I have seven sheep in the north field.")
    offload.wait(mara.assistant.sleep.whole_night())
    alice.execute_cmd("say I have nine sheep in the north field.")
    offload.wait(mara.assistant.sleep.whole_night())
    held = memory_store.shared().list(mara.memory.id, record="fact")
    assert {m.content: bool(m.superseded_by) for m in held} == {
        "Alice has seven sheep in the north field.": True,
        "Alice has nine sheep in the north field.": False,
    }


# --- what contradicts, and what only looks like it ------------------------------------------------


@pytest.mark.parametrize(
    ("new", "known"),
    [
        ("I did not steal the chalice.", "I stole the chalice from the abbey."),
        ("My brother Tom isn't a thief.", "My brother Tom is a thief."),
        ("The mayor is not dead.", "The mayor is dead."),
        ("I don't keep the ferry at Millbrook any more.", "I keep the ferry at Millbrook."),
        ("I paid three crowns for the silver locket.", "I paid 9 crowns for the silver locket."),
        ("The toll is 1,200 crowns.", "The toll is 900 crowns."),
        ('Sam says: "The bridge is not safe."', 'Sam says: "The bridge is safe."'),
    ],
)
def test_a_denial_and_another_number_contradict(new, known):
    assert contradicts(new, known)


@pytest.mark.parametrize(
    ("new", "known"),
    [
        ("The toll is 9 crowns.", "The toll is nine crowns."),
        ("The toll is 1,200 crowns.", "The toll is 1200 crowns."),
        ("I sold five boats to Bram.", "I sold two boats to Bram."),  # on another day
        ("12 points of damage to the naga.", "14 points of lightning damage."),
        ("I did not visit the mill yesterday.", "I visited the mill today."),
        ("I will not sell the grey mare.", "I sold the grey mare."),
        ("I was not a spy of the king.", "I am a spy of the king."),
        ("If I do not pay the toll, they sink the ferry.", "I pay the toll for the ferry."),
        ("I don't like the inn at Elmstead.", "I live at the inn at Elmstead."),
        ("Wolves did not kill my sheep in Elmstead.", "Wolves killed my sheep."),
        ("I don't keep the ferry at Millbrook.", "My brother keeps the ferry at Millbrook."),
        (
            "My uncle did not sell the mare of the miller.",
            "I sold the mare of my uncle to a miller.",
        ),
        ("The bridge is not safe at night.", "The bridge at the mill is safe."),
        ("I can't wait for the harvest fair.", "I wait for the harvest fair."),
        ('Sam says: "Let\'s not do that then."', 'Sam says: "Let\'s go down there."'),
    ],
)
def test_what_may_both_be_true_does_not_contradict(new, known):
    assert not contradicts(new, known) and not contradicts(known, new)


@pytest.mark.parametrize(
    ("new", "known"),
    [
        ("I live in Harbourtown now.", "I live in Wick."),
        ("I have moved to Harbourtown.", "I live in Wick."),
        ("I work at the mill now.", "I work at the smithy."),
        ("The reeve is Bram now.", "The reeve is old Hob."),
        ("My sister now lives in Elmstead.", "My sister lives in Wick."),
    ],
)
def test_what_is_one_thing_at_a_time_is_what_it_is_now(new, known):
    assert contradicts(new, known) and not contradicts(known, new)


@pytest.mark.parametrize(
    ("new", "known"),
    [
        ("I live in Harbourtown.", "I live in Wick."),  # a house in each
        ("I also live in Harbourtown now.", "I live in Wick."),
        ("I don't live in Harbourtown now.", "I live in Wick."),
        ("I live in a cottage now.", "I live in Wick."),
        ("I live in Wick now, by the mill.", "I live in Wick."),
        ("I live in Upper Wick now.", "I live in a valley, in Upper Wick."),
        ("I live in Harbourtown now.", "I work in Wick."),
        ("I live in Harbourtown now.", "My brother lives in Wick."),
        ("I live in Harbourtown now.", "I lived in Wick last year."),
        ("My brother is in Wick now.", "My brother is Tom."),
        ("I have a dog called Rex now.", "I have a dog called Max."),
        ("I am tired now.", "I am Tom."),
    ],
)
def test_what_may_be_twice_is_not_replaced(new, known):
    assert not replaces(new, known) and not replaces(known, new)


# --- the lines behind it --------------------------------------------------------------------------


@pytest.fixture
def hear(mara):
    """hear(day, text): Alice says it aloud on that day, and a night follows."""

    def perceive(day, text, **more):
        entry = mara.memory.perceive(
            Percept(
                **{
                    "content": text,
                    "kind": "say",
                    "seen_as": "Alice",
                    "source": "#Alice",
                    "witnesses": ("#Alice", "#Bram"),
                    "location": "#1",
                    "timestamp": f"2026-03-{day:02d}T19:00:00+00:00",
                }
                | more
            )
        )
        mara.memory.clock = lambda: f"2026-03-{day:02d}T23:00:00+00:00"
        offload.wait(mara.assistant.sleep.whole_night())
        return entry

    return perceive


def line_of(mara, entry):
    [memory] = memory_store.shared().get([entry_memory_id(mara.memory.id, entry.id)])
    return memory


def drawn(mara, entry):
    found = memory_store.shared().list(mara.memory.id, limit=None)
    return [m for m in found if m.record != "entry" and m.journal_ids == (entry.id,)]


def told(mara, question):
    found = offload.wait(mara.memory.recall(question, speaker="#Bram", top_k=20))
    return [item.memory.content for item in found.memories]


def test_the_line_of_an_ended_fact_and_what_was_drawn_from_it_come_to_mind_no_longer(mara, hear):
    lie = hear(1, "Mara, I sold the grey mare of my uncle to the miller.")
    assert {m.record for m in drawn(mara, lie)} == {"fact", "experience"}
    truth = hear(4, "I did not sell the grey mare of my uncle to the miller.")
    line = line_of(mara, lie)
    assert line.invalid_at is None  # it never was so
    ending = line_of(mara, truth)
    assert {m.superseded_by for m in [line, *drawn(mara, lie)]} == {ending.id}
    assert mara.memory.journal.get(lie.id).content == lie.content
    heard = told(mara, "Did Alice sell the grey mare to the miller?")
    assert heard and not any("I sold" in text or "Alice sold" in text for text in heard)


def test_who_has_moved_lives_where_she_lives_now(mara, hear):
    hear(1, "I live in Wick, in the house of my mother.")
    moved = hear(4, "I live in Harbourtown now, above the sail loft.")
    heard = told(mara, "Where does Alice live?")
    assert any("Harbourtown" in text for text in heard)
    assert not any("Wick" in text for text in heard)
    profile = mara.memory.profiles.get("#Alice")
    assert not any("Wick" in known.value for known in profile.attributes)
    every = memory_store.shared().list(mara.memory.id, limit=None)
    ending = line_of(mara, moved)
    assert {m.superseded_by for m in every if "Wick" in m.content} == {ending.id}


def test_a_line_that_tells_something_besides_stays(mara, hear):
    lie = hear(1, "I sold the grey mare to the miller. My brother Tom drowned in the flood.")
    hear(4, "I did not sell the grey mare to the miller.")
    assert not line_of(mara, lie).superseded_by
    ended = {m.content for m in drawn(mara, lie) if m.superseded_by and m.record == "fact"}
    assert ended == {"Alice sold the grey mare to the miller."}
    assert "Alice's brother Tom drowned in the flood." in {
        m.content for m in drawn(mara, lie) if not m.superseded_by
    }


def test_what_is_pinned_is_not_retired(mara, hear):
    pinned = hear(1, "I sold the grey mare to the miller.", tags=("pinned",))
    hear(4, "I did not sell the grey mare to the miller.")
    assert not line_of(mara, pinned).superseded_by


def test_what_is_only_like_it_is_left_alone(mara, hear):
    others = [
        hear(1, "I sold the brown mare to the smith."),
        hear(2, "My uncle sold the grey mare of the miller."),
        hear(3, "I sold two boats to Bram."),
    ]
    hear(5, "I did not sell the grey mare of my uncle to the miller.")
    hear(6, "I sold five boats to Bram.")
    assert not any(line_of(mara, entry).superseded_by for entry in others)


@pytest.mark.parametrize("at", range(4))
def test_killed_while_it_retires_the_next_night_finishes(mara, hear, monkeypatch, at):
    lie = hear(1, "I sold the grey mare of my uncle to the miller.")
    change, changed = type(memory_store.shared()).change, []

    def dying(self, memory_id, **payload):
        change(self, memory_id, **payload)
        if "superseded_by" in payload:
            changed.append(memory_id)
            if len(changed) == at + 1:
                raise KeyboardInterrupt

    with monkeypatch.context() as killed:
        killed.setattr(type(memory_store.shared()), "change", dying)
        with contextlib.suppress(KeyboardInterrupt):
            hear(4, "I did not sell the grey mare of my uncle to the miller.")
    mara.memory.journal.set_cursor("consolidated", 1)
    mara.memory.journal.update({2: {"consolidated": False}})
    offload.wait(mara.assistant.sleep.whole_night())
    assert len({m.superseded_by for m in [line_of(mara, lie), *drawn(mara, lie)]}) == 1
    assert line_of(mara, lie).superseded_by
    assert len(changed) == min(at + 1, 3)  # an experience, the line, the fact
