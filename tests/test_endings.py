"""A new line ends at once what it says is over."""

import pytest
import talk_scene
from django.test import override_settings

from contrib_ai_memory import offload
from contrib_ai_memory.admin import forget
from contrib_ai_memory.records import Percept
from contrib_ai_memory.store import memory_store
from contrib_ai_memory.store.payload import entry_memory_id

pytestmark = pytest.mark.django_db
ALL = ("#Alice", "#Bram")


@pytest.fixture
def say(mara):
    """say(day, text): Alice says it aloud on that day, and Mara works through it awake."""

    def perceive(day, text, *, who="Alice", night=False, **more):
        made = {
            "content": text,
            "kind": "say",
            "seen_as": who,
            "source": f"#{who}",
            "witnesses": ALL,
            "location": "#1",
            "timestamp": f"2026-03-{day:02d}T19:00:00+00:00",
        }
        entry = mara.memory.perceive(Percept(**made | more))
        mara.memory.clock = lambda: f"2026-03-{day:02d}T23:00:00+00:00"
        work_through(mara)
        if night:
            offload.wait(mara.assistant.sleep.whole_night())
        return entry

    return perceive


def work_through(mara):
    while not offload.wait(mara.memory.work_through(until_silent=True)):
        pass


def memory_of(mara, entry):
    [memory] = memory_store.shared().get([entry_memory_id(mara.memory.id, entry.id)])
    return memory


def facts(mara, entry):
    found = memory_store.shared().list(mara.memory.id, limit=None, record="fact")
    return [fact for fact in found if fact.journal_ids == (entry.id,)]


def told(mara, question, listener="#Bram"):
    found = offload.wait(mara.memory.recall(question, speaker=listener, top_k=20))
    return [item.memory.content for item in found.memories]


DENIALS = [
    ("My horse is called Thunder.", "Not Thunder, my horse is called Lightning."),
    ("I sold the grey mare to the miller.", "I did not sell the grey mare to the miller."),
]
CHANGES = [
    ("I live in Wick, in the house of my mother.", "I live in Harbourtown now."),
    ("I owe Bram twelve marks for the boots.", "I paid Bram the twelve marks for the boots."),
    ("The north bridge is down, nobody can cross.", "The north bridge is open again."),
    ("The road to Wick is cut off, not a cart gets through.", "The road to Wick is passable."),
]


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (
            "I'm passionate about dancing, and I'm starting a dance studio to share it.",
            "I've been into dancing since I was a kid, it's been my passion, and now my escape.",
        ),
        (
            "Unfortunately I lost my job at the mill this month.",
            "Things have been hectic. I just opened my own stall, in the hope of new customers.",
        ),
        ("The market is down Mill Street.", "The market is open again."),
        ("The flag on the bridge is down.", "The bridge is open."),
        ("The old bridge was washed away in the great flood.", "The bridge is open again."),
    ],
)
def test_a_line_does_not_end_on_a_guess(mara, say, before, now):
    old = say(1, before)
    say(4, now)
    assert not memory_of(mara, old).superseded_by


@pytest.mark.parametrize(("before", "now"), CHANGES + DENIALS)
def test_a_fact_is_over_as_soon_as_its_speaker_says_so(mara, say, before, now):
    old = say(1, before, night=True)
    known = facts(mara, old) or [memory_of(mara, old)]  # a line of little weight makes no fact
    assert not any(each.superseded_by for each in known)
    new = say(4, now)
    for each in memory_store.shared().get([each.id for each in known]):
        assert each.superseded_by == memory_of(mara, new).id
        # what never held has no time until which it held
        assert each.invalid_at == (None if (before, now) in DENIALS else new.timestamp)
    offload.wait(mara.assistant.sleep.whole_night())
    assert all(fact.superseded_by for fact in facts(mara, old))
    assert not any(fact.superseded_by for fact in facts(mara, new))


@pytest.mark.parametrize("night", [False, True])
def test_what_was_before_is_told_as_past_and_only_when_the_past_is_asked_for(
    mara, alice, bram, says, night
):
    says(alice, "I live in Wick, in the house of my mother.")
    if night:
        offload.wait(mara.assistant.sleep.whole_night())
    mara.memory.clock = lambda: "2026-11-25T12:00:00+00:00"
    says(alice, "I live in Harbourtown now.")
    if night:
        offload.wait(mara.assistant.sleep.whole_night())
    mara.memory.clock = lambda: "2026-11-27T12:00:00+00:00"
    was, now = says(alice, "where did I live before?"), says(alice, "where do I live?")
    assert "you live in Wick" in was and "until Wednesday, 25 November" in was
    assert "Harbourtown" in now and "Wick" not in now and "until" not in now
    talk_scene.turn(alice, bram)
    was, now = says(bram, "where did Alice live before?"), says(bram, "where does Alice live?")
    assert "Wick" in was and "until Wednesday, 25 November" in was
    assert "Harbourtown" in now and "Wick" not in now


def test_a_paid_debt_is_told_where_it_is_asked_what_was_owed(mara, alice, bram, says):
    says(alice, "I owe Bram twelve marks for the boots.")
    mara.memory.clock = lambda: "2026-11-25T12:00:00+00:00"
    says(alice, "I paid Bram the twelve marks for the boots.")
    offload.wait(mara.assistant.sleep.whole_night())
    assert "twelve marks" in says(alice, "what did I owe Bram?")
    assert "you paid Bram the twelve marks" in says(alice, "did I pay Bram?")
    assert "twelve marks" not in says(alice, "what do I owe Bram?")


def test_a_prompt_says_until_when_something_held(mara, say):
    say(1, "I live in Wick, in the house of my mother.", night=True)
    say(4, "I live in Harbourtown now.", night=True)
    asked = mara.memory.recall("Where did Alice live before?", speaker="#Bram", top_k=20)
    block = offload.wait(asked).prompt_block
    [then] = [line for line in block.splitlines() if "I live in Wick" in line]
    [now] = [line for line in block.splitlines() if "I live in Harbourtown" in line]
    assert then.endswith("(until 2026-03-04)") and "until" not in now


@pytest.mark.parametrize(("before", "now"), DENIALS)
def test_what_never_held_is_not_told_as_past(mara, say, before, now):
    say(1, before, night=True)
    say(4, now, night=True)
    for question in ("What was the horse of Alice called?", "Did Alice sell the grey mare?"):
        assert before not in told(mara, question)


def test_before_any_night_the_old_line_is_told_no_longer(mara, say):
    old = say(1, "My horse is called Thunder.")
    new = say(1, "Not Thunder, my horse is called Lightning.")
    assert memory_of(mara, old).superseded_by == memory_of(mara, new).id
    heard = told(mara, "What is the horse of Alice called?")
    assert "Not Thunder, my horse is called Lightning." in heard
    assert "My horse is called Thunder." not in heard
    assert mara.memory.journal.get(old.id).content == "My horse is called Thunder."


def test_a_fact_drawn_at_night_from_a_line_that_was_over_is_history_from_the_start(mara, say):
    old = say(1, "I live in Wick, in the house of my mother.")
    say(1, "I live in Harbourtown now.", night=True)
    assert facts(mara, old) and all(fact.invalid_at for fact in facts(mara, old))


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("My brother Jory guards the north gate.", "My brother Jory was hurt at the north gate."),
        ("My sister works at the customs house.", "My sister fears the smugglers of the cove."),
        ("My father loves the lighthouse.", "My father saw a ship near the lighthouse."),
        ("I keep the ferry at Millbrook.", "I still keep the ferry at Millbrook."),
        ("My cousin Rolf is down at the mill door.", "The mill door is open."),
        (
            "My father no longer keeps the lighthouse at Ravenscar.",
            "I will keep the lighthouse at Ravenscar for my father.",
        ),
    ],
)
def test_more_of_the_same_matter_ends_nothing(mara, say, before, now):
    old = say(1, before, night=True)
    say(4, now, night=True)
    assert not memory_of(mara, old).superseded_by
    assert not any(fact.superseded_by for fact in facts(mara, old))


def test_the_attribute_of_what_is_over_leaves_the_profile_at_once(mara, say):
    settings = {"MIN_OBSERVATIONS": 1}
    with override_settings(CONTRIB_AI_MEMORY={**memory_settings(), **settings}):
        say(1, "I live in Wick, in the house of my mother.", night=True)
        assert any("Wick" in known.value for known in attributes(mara))
        say(4, "I live in Harbourtown now.")
        assert not any("Wick" in known.value for known in attributes(mara))


def memory_settings():
    from django.conf import settings

    return settings.CONTRIB_AI_MEMORY


def attributes(mara):
    return mara.memory.profiles.get("#Alice").attributes


def test_a_whisper_ends_nothing_that_was_said_aloud(mara, say):
    old = say(1, "My horse is called Thunder.", night=True)
    whispered = {"kind": "whisper", "private": True, "witnesses": ("#Alice",)}
    say(4, "Not Thunder, my horse is called Lightning.", **whispered)
    assert not memory_of(mara, old).superseded_by
    assert not any(fact.superseded_by for fact in facts(mara, old))


def test_somebody_elses_word_is_a_claim_and_ends_nothing(mara, say):
    old = say(1, "I live in Wick, in the house of my mother.", night=True)
    say(4, "I live in Harbourtown now.", who="Bram")
    assert not memory_of(mara, old).superseded_by
    assert not any(fact.superseded_by for fact in facts(mara, old))


@pytest.mark.parametrize("tag", ["pinned", "locked"])
def test_what_a_builder_pinned_or_locked_never_ends(mara, say, tag):
    old = say(1, "My horse is called Thunder.", tags=(tag,))
    say(4, "Not Thunder, my horse is called Lightning.")
    assert not memory_of(mara, old).superseded_by


def test_indexed_again_nothing_changes(mara, say):
    say(1, "My horse is called Thunder.", night=True)
    say(4, "Not Thunder, my horse is called Lightning.")
    before = {m.id: m for m in memory_store.shared().list(mara.memory.id, limit=None)}
    mara.memory.journal.set_cursor("indexed", 0)
    work_through(mara)
    assert {m.id: m for m in memory_store.shared().list(mara.memory.id, limit=None)} == before


@pytest.mark.parametrize("at", range(2))
def test_killed_while_it_ends_something_it_is_finished_after_the_restart(
    mara, say, monkeypatch, at
):
    old = say(1, "I live in Wick, in the house of my mother.", night=True)
    change, done = type(memory_store.shared()).change, []

    def dying(self, memory_id, **payload):
        change(self, memory_id, **payload)
        if "superseded_by" in payload:
            done.append(memory_id)
            if len(done) == at + 1:
                raise KeyboardInterrupt

    with monkeypatch.context() as killed:
        killed.setattr(type(memory_store.shared()), "change", dying)
        with pytest.raises(KeyboardInterrupt):
            say(4, "I live in Harbourtown now.")
    work_through(mara)
    [new] = [e for e in mara.memory.journal.read() if "Harbourtown" in e.content]
    every = [memory_of(mara, old), *facts(mara, old)]
    assert {m.superseded_by for m in every} == {memory_of(mara, new).id}


def test_when_the_newer_line_is_forgotten_the_older_holds_again(mara, say, alice):
    old = say(1, "My horse is called Thunder.", night=True)
    new = say(4, "Not Thunder, my horse is called Lightning.")
    assert memory_of(mara, old).superseded_by
    offload.wait(forget.forget(mara, alice, str(new.id)))
    every = [memory_of(mara, old), *facts(mara, old)]
    assert {(m.superseded_by, m.invalid_at) for m in every} == {(None, None)}
    assert "My horse is called Thunder." in told(mara, "What is the horse of Alice called?")


def test_what_is_said_of_another_thing_of_its_sort_ends_nothing(mara, alice):
    for number in range(1, 9):
        alice.execute_cmd(f"say Barrel {number} holds {number * 7} red apples.")
    alice.execute_cmd("say The cellar is full.")
    offload.wait(mara.assistant.sleep.whole_night())
    stored = memory_store.shared().list(mara.memory.id, limit=None)
    assert not any(memory.superseded_by for memory in stored)
    assert sum("Barrel" in memory.content for memory in stored if memory.record == "entry") == 8


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        (
            "I'll take it then, and put it on my slate, I promise I'll pay you the six pennies"
            " tomorrow morning before I leave, cross my heart.",
            "Forty pennies, but she'd take thirty-five from somebody with honest eyes.",
        ),
        (
            "Mara, would you hold on to my spare key until I get back from Teal Reach?",
            "Mara, I've had second thoughts about Calla. She isn't going to Cold Anchor after all,"
            " the sailmaker has gone bankrupt, so she's staying in Teal Reach.",
        ),
    ],
)
@pytest.mark.parametrize("night", [False, True])
def test_what_tells_of_another_matter_closes_nothing_on_the_agenda(mara, say, stated, said, night):
    say(1, stated, night=not night)
    say(1, said, night=night)
    assert [item.state for item in mara.memory.agenda] == ["open"]


@pytest.mark.parametrize("nights", ["between", "after"])
def test_a_fact_that_states_a_debt_is_over_when_its_creditor_says_so(mara, say, nights):
    say(1, "Good evening, all.", who="Bram")
    owed = say(1, "I owe Bram a jar of beeswax by sunday.", night=nights == "between")
    even = say(4, "Alice, yay, ok, we are even.", who="Bram", night=nights == "after")
    [fact] = facts(mara, owed)
    assert fact.superseded_by == memory_of(mara, even).id
    assert not memory_of(mara, owed).superseded_by  # it was owed


def test_a_fact_that_states_a_debt_is_over_when_a_gift_pays_it_and_the_rest_holds(mara, say):
    say(1, "Good evening, all.", who="Bram")
    owed = say(
        1, "I owe Bram eleven crowns for the watch. My sister Nell lives in Wick.", night=True
    )
    say(4, "Alice gives Bram eleven crowns.", kind="give")
    over = {("watch" in fact.content): bool(fact.superseded_by) for fact in facts(mara, owed)}
    assert over == {True: True, False: False}


def test_a_part_that_is_paid_ends_no_debt(mara, say):
    owed = say(1, "I owe Bram five marks.", night=True)
    say(4, "I paid Bram two marks of it.")
    assert not any(fact.superseded_by for fact in facts(mara, owed))


def test_a_debt_holds_again_when_the_line_that_closed_it_is_forgotten(mara, say, alice):
    say(1, "Good evening, all.", who="Bram")
    owed = say(1, "I owe Bram a jar of beeswax by sunday.", night=True)
    even = say(4, "Alice, yay, ok, we are even.", who="Bram")
    offload.wait(forget.forget(mara, alice, str(even.id)))
    assert [fact.superseded_by for fact in facts(mara, owed)] == [None]


def test_a_correction_ends_what_was_said_long_ago_and_before_a_night(mara, say):
    old = say(1, "I've got a brother Lucan who teaches swordplay over in Harrowgate.")
    for number in range(45):  # more than a talk has lines
        say(2, f"The {number}th barrel of salted herring came in from the harbour.", who="Bram")
    say(2, "Good night.", night=True)
    new = say(5, "No wait, Lucan's in Sallowby these days, not Harrowgate.")
    over = [memory_of(mara, old), *facts(mara, old)]
    assert {memory.superseded_by for memory in over} == {memory_of(mara, new).id}


@pytest.mark.parametrize("night", [False, True])
def test_a_line_whose_fact_is_over_is_told_as_over_or_what_ended_it_in_its_place(
    mara, alice, bram, says, night
):
    says(alice, "Im getting married in may Mara! to Wim, he's the tanner's nephew")
    says(alice, "My mule is called Bluebell, Mara. fourteen hands, took me a year to break in")
    offload.wait(mara.assistant.sleep.whole_night())
    mara.memory.clock = lambda: "2026-11-25T12:00:00+00:00"
    says(alice, "weddings off Mara. we postponed it to july, Wim broke his arm")
    says(alice, "Mara, guess what i sold Bluebell. got ninety silver for her")
    if night:
        offload.wait(mara.assistant.sleep.whole_night())
    assert "july" in says(alice, "is the wedding in may, Mara?")
    still = says(alice, "have i still got a mule, Mara?")
    assert "sold Bluebell" in still or "until today" in still
    assert "Bluebell" in says(alice, "what did i call my mule, Mara?")
    talk_scene.turn(alice, bram)
    who = says(bram, "who's Wim, Mara?")
    assert "tanner's nephew" in who and "until today" in who


@pytest.fixture
def mara_says(mara, say):
    """mara_says(day, text): Mara herself says it aloud on that day."""

    def own(day, text, **more):
        return say(day, text, who=mara.key, source=None, origin="self", **more)

    return own


OWN_CHANGES = [
    ("I close the house at nine.", "From tomorrow on I close the house at ten."),
    ("I close at nine.", "Starting tomorrow I close at ten."),
    ("I close at nine.", "I close at ten now."),
    ("The attic costs nine crowns a week.", "The attic costs eleven crowns a week now."),
    ("Evening, Alice. I close at nine.", "Aye. I close at ten now. Come when you like."),
    ("I have no room free.", "I have a room free again."),
    ("My brother lives in Wick.", "My brother lives in Harbourtown now."),
]


@pytest.mark.parametrize(("before", "now"), OWN_CHANGES)
def test_what_the_npc_says_of_itself_is_over_when_it_says_otherwise(mara, mara_says, before, now):
    old = mara_says(1, before)
    assert before in told(mara, before)
    new = mara_says(4, now)
    assert memory_of(mara, old).superseded_by == memory_of(mara, new).id
    assert before not in told(mara, now)
    offload.wait(mara.assistant.sleep.whole_night())
    assert memory_of(mara, old).superseded_by == memory_of(mara, new).id
    assert not memory_of(mara, new).superseded_by


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("I close at nine.", "I open at six now."),
        ("I close at nine.", "Tomorrow I close at ten."),
        ("I like rye bread.", "I like a dark ale."),
        ("I grew up in Wick.", "I have kept this inn for eleven years."),
        ("I close at nine. The attic is nine crowns a week.", "I close at ten now."),
        ("I am glad that you are here, Alice.", "I am sorry about the mare, Alice."),
        ("I sell the mare for forty marks.", "I sell the dun pony for thirty marks now."),
    ],
)
def test_what_the_npc_says_of_something_else_ends_none_of_its_words(mara, mara_says, before, now):
    old = mara_says(1, before)
    mara_says(4, now)
    assert not memory_of(mara, old).superseded_by


def test_own_words_end_nothing_of_others_and_others_end_none_of_them(mara, say, mara_says):
    of_alice = say(1, "I live in Wick, in the house of my mother.", night=True)
    own = mara_says(2, "I close at nine.")
    mara_says(4, "Alice lives in Harbourtown now.")
    mara_says(4, "I live in Harbourtown now.")
    say(5, "You close at ten now.")
    say(5, "I close at ten now.")
    assert not memory_of(mara, own).superseded_by
    assert not any(fact.superseded_by for fact in facts(mara, of_alice))
    assert not memory_of(mara, of_alice).superseded_by


def test_what_the_npc_whispers_ends_nothing_that_it_said_aloud(mara, mara_says):
    old = mara_says(1, "I close at nine.")
    mara_says(4, "I close at ten now.", kind="whisper", witnesses=("#Alice",), private=True)
    assert not memory_of(mara, old).superseded_by
    assert "I close at nine." in told(mara, "when do you close?")


def test_with_a_model_own_words_end_too(mara, mara_says, server, speaks_through):
    speaks_through()
    old = mara_says(1, "I close the house at nine.")
    new = mara_says(4, "From tomorrow on I close the house at ten.")
    assert memory_of(mara, old).superseded_by == memory_of(mara, new).id
    assert not server.requests


def test_own_words_hold_again_when_those_that_ended_them_are_forgotten(mara, mara_says, alice):
    old = mara_says(1, "I close at nine.")
    new = mara_says(4, "I close at ten now.")
    assert memory_of(mara, old).superseded_by
    offload.wait(forget.forget(mara, alice, str(new.id)))
    assert not memory_of(mara, old).superseded_by
