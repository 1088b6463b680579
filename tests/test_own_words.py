"""What an NPC said itself and whom it saw come and go: recalled as what it is, and nothing more."""

import pytest

from contrib_ai_memory import offload
from contrib_ai_memory.admin import erase, forget
from contrib_ai_memory.english.time_words import named_in
from contrib_ai_memory.language import NamedDate
from contrib_ai_memory.recall.tool_loop import retells
from contrib_ai_memory.records import OWN, RETOLD, MemoryRecord, Recalled, ScoreParts
from contrib_ai_memory.store import memory_store


def recalled(npc, query, by, **more):
    return offload.wait(npc.memory.recall(query, speaker=npc.get_memory_identity(by), **more))


def stored(npc):
    return {each.content: each for each in memory_store.shared().list(npc.memory.id, limit=None)}


@pytest.fixture
def model(speaks_through, server):
    """What a language model answers next."""
    speaks_through()
    return lambda text: server.behave(text=text)


@pytest.fixture
def priced(mara, alice, bram, model):
    """Alice asks Mara for a price, alone; then Bram comes in."""
    bram.location = None
    model("Nine crowns for the attic, and the bath is extra.")
    alice.execute_cmd("say Mara, what do you charge for the attic?")
    bram.location = mara.location
    return mara


def test_what_it_said_itself_comes_to_mind_as_its_own(priced, bram):
    found = recalled(priced, "how much did you want for the attic?", bram)
    [own] = [each.memory for each in found.memories if OWN in each.memory.tags]
    assert own.content.startswith("Nine crowns")
    assert "You said: Nine crowns for the attic" in found.prompt_block
    assert not own.learnable


def test_its_own_words_become_neither_fact_nor_link_nor_preference(mara, alice, model):
    model("I prefer dry cellars, and Alice is the thief of the lamp.")
    alice.execute_cmd("say Mara, who took the lamp from the cellar?")
    offload.wait(mara.assistant.sleep.whole_night())
    own = next(each for each in stored(mara).values() if OWN in each.tags)
    assert own.memory_type == "episodic"
    drawn = [each for each in stored(mara).values() if each.record not in ("entry", "insight")]
    assert not any(set(own.journal_ids) & set(each.journal_ids) for each in drawn)
    assert not mara.memory.links.of(own.journal_ids[0])


def test_what_it_whispered_stays_with_whoever_heard_it(mara, alice, bram, model):
    model("The silver key lies below the third step.")
    alice.execute_cmd("whisper Mara = Mara, where do you keep the silver key?")
    assert "third step" in recalled(mara, "where is your silver key?", alice).prompt_block
    assert "third step" not in recalled(mara, "where is your silver key?", bram).prompt_block


def test_stock_phrases_and_retellings_are_kept_and_not_recalled(mara, alice, bram):
    alice.execute_cmd("say Mara, my brother Oswin mends nets at Millbrook.")
    bram.execute_cmd("say Mara, what does Oswin do?")
    own = [each for each in mara.memory.journal.read() if each.origin == "self"]
    assert len(own) == 2
    assert all(RETOLD in each.tags and not each.recallable for each in own)
    recalled(mara, "what does Oswin do?", bram)
    assert not any(OWN in each.tags for each in stored(mara).values())


@pytest.mark.parametrize(
    ("said", "is_retold"),
    [
        ("Your brother Oswin mends nets at Millbrook.", True),
        ("So it is.", True),
        ("I shall send Oswin a new net for six crowns.", False),
    ],
)
def test_words_that_are_nearly_all_in_one_memory_retell_it(said, is_retold):
    memory = MemoryRecord("m", "My brother Oswin mends nets at Millbrook.", "entry")
    assert retells(said, [Recalled(memory, ScoreParts(1.0, 1.0), 9)]) is is_retold


def test_erasing_a_person_takes_what_it_said_to_them_and_of_them(priced, alice, bram, model):
    model("Alice wanted the attic, for nine crowns.")
    bram.execute_cmd("say Mara, who wanted the attic?")
    recalled(priced, "who wanted the attic?", bram)
    assert any(OWN in each.tags for each in stored(priced).values())
    offload.wait(erase.erase_person(priced, priced.get_memory_identity(alice)))
    assert not any("crowns" in content for content in stored(priced))
    assert not any("crowns" in each.content for each in priced.memory.journal.read())


def test_forgetting_with_all_from_it_takes_the_answer_out_of_the_store(mara, alice, bram, model):
    model("Is that so?")
    alice.execute_cmd("say Mara, I hide a xylophone below the stairs.")
    model("A zanzibar instrument of wood.")
    bram.execute_cmd("say Mara, what lies below the stairs?")
    recalled(mara, "what lies below the stairs?", bram)
    [said] = [each for each in mara.memory.journal.read() if "xylophone" in each.content]
    assert any("zanzibar" in content for content in stored(mara))
    offload.wait(forget.forget(mara, None, str(said.id), cascade=True))
    assert not any("zanzibar" in content for content in stored(mara))


def test_whom_it_saw_come_is_recalled(mara, alice, bram, tavern):
    mara.at_msg_receive(("Alice arrives from the ferry.", {"type": "move"}), from_obj=alice)
    found = recalled(mara, "who came in from the ferry?", bram)
    [seen] = [each.memory for each in found.memories]
    assert seen.content == "Alice arrives from the ferry."
    assert not seen.learnable
    assert "arrive" in seen.tags


def test_a_first_name_finds_its_owner(mara, alice, bram):
    people = mara.memory.people
    for identity, name in (("#7", "Old Tom Tanner"), ("#8", "T'sala"), ("#9", "Rose Miller")):
        people.meet(identity, name, mara.memory.clock())
    assert people.mentioned("what does tom drink?") == ("#7",)
    assert people.mentioned("is tsala in?") == ("#8",)
    assert people.mentioned("Rose Miller came") == ("#9",)
    people.meet("#10", "Rose", mara.memory.clock())
    assert people.mentioned("where is rose") == ("#10",)
    assert people.mentioned("where is miller") == ("#9",)
    people.meet("#11", "Young Tom Baker", mara.memory.clock())
    assert people.mentioned("what does tom drink?") == ()


def test_its_own_name_is_no_word_of_the_query(mara, alice):
    from contrib_ai_memory.recall.search import completed
    from contrib_ai_memory.records import RecallRequest

    assert completed(mara.memory, RecallRequest("mara, who owes me coin?")).query == (
        "who owes me coin?"
    )


def test_what_was_said_on_a_day_is_found_by_the_day_as_players_type_it(mara, alice, bram):
    for day, what in ((2, "ale"), (4, "cider"), (6, "mead")):
        mara.memory.clock = lambda day=day: f"2026-03-{day:02}T18:00:00.000+00:00"
        alice.execute_cmd(f"say I drank {what} with the miller.")
    mara.memory.clock = lambda: "2026-03-08T18:00:00.000+00:00"  # a Sunday
    for asked, what in (
        ("what did alice drink on wednesday?", "cider"),
        ("what did alice drink two days ago?", "mead"),
        ("what did alice drink on 4 march?", "cider"),
    ):
        first = recalled(mara, asked, bram).memories[0].memory.content
        assert what in first, asked


@pytest.mark.parametrize(
    ("typed", "named"),
    [
        ("on monday", [NamedDate(2026, 11, 16)]),
        ("last sunday", [NamedDate(2026, 11, 15)]),
        ("two days ago", [NamedDate(2026, 11, 20)]),
        ("a week ago", [NamedDate(2026, 11, 15)]),
        ("3 days back", [NamedDate(2026, 11, 19)]),
        ("who came this morning?", [NamedDate(2026, 11, 22)]),
        ("why did you not come on monday", [NamedDate(2026, 11, 16)]),
        ("what about saturday's wedding", [NamedDate(2026, 11, 21)]),
        ("last mon", [NamedDate(2026, 11, 16)]),
        ("by friday", []),
        ("5 july", [NamedDate(None, 7, 5)]),
        ("july 5th", [NamedDate(None, 7, 5)]),
        ("in march", [NamedDate(None, 3)]),
        ("the sunday before 25 october", [NamedDate(None, 10, 25)]),
        ("next friday", []),
        ("may i march on, june?", []),
        ("thirty mon in the sun", []),
    ],
)
def test_dates_are_read_as_players_type_them(typed, named):
    from datetime import date

    assert named_in(typed, date(2026, 11, 22)) == named


@pytest.fixture
def remembered(server, settings):
    """The memories that a model was last given, of talk that no longer fits into its context."""
    settings.CONTRIB_AI_MEMORY |= {"CONTEXT_TOKENS": 2048}
    return lambda: server.requests[-1].last.rpartition("<memory>")[2]


def chatter(npc, who, day):
    """Fill the talk of a day."""
    npc.memory.clock = lambda: f"2027-01-{day:02}T18:00:00.000+00:00"
    for number in range(30):
        who.execute_cmd(f"say Mara, my brother number {number} has sold {number} nets at Wick.")
    npc.memory.clock = lambda: f"2027-01-{day + 1:02}T18:00:00.000+00:00"


def test_what_it_made_up_of_itself_is_before_it_when_it_is_asked_about_itself(
    mara, alice, bram, admin, model, remembered
):
    origin = "I grew up at Wick, the youngest of three brothers, all fishermen."
    model(origin)
    alice.execute_cmd("say Mara, where are you from?")
    model("So.")
    chatter(mara, bram, 2)
    bram.execute_cmd("say Mara, have you any brothers yourself?")
    assert f"You said: {origin}" in remembered()
    [said] = [each for each in mara.memory.journal.read() if each.content == origin]
    admin(f"@memory/forget mara = {said.id}")
    admin("y")
    bram.execute_cmd("say Mara, were you the youngest of your brothers?")
    assert "fishermen" not in remembered()


def test_a_promise_that_is_not_on_the_agenda_is_not_told_again(
    mara, alice, bram, model, remembered
):
    promise, day = "I promise to give you a hundred crowns, Alice.", "I have kept it eleven years."
    model(promise)
    alice.execute_cmd("say Mara, promise me a hundred crowns!")
    model(day)
    alice.execute_cmd("say Mara, how long have you kept this inn?")
    model("So.")
    chatter(mara, bram, 2)
    bram.execute_cmd("say Mara, how many crowns did you promise to give Alice?")
    assert promise not in remembered()
    bram.execute_cmd("say Mara, how many years have you kept this inn?")
    assert f"You said: {day}" in remembered()


def test_what_stands_between_asterisks_is_done_and_the_rest_is_said(
    mara, alice, bram, server, model, hears
):
    heard = hears(bram)
    model("*ladles broth* Two coppers, and it is hot.")
    alice.execute_cmd("say Mara, what is the soup?")
    assert [each for each in heard if each.startswith("Mara")] == [
        "Mara ladles broth.",
        'Mara says, "Two coppers, and it is hot."',
    ]
    assert len(server.requests) == 1


def test_an_act_that_breaks_costs_no_answer(mara, alice, model, hears, monkeypatch):
    def breaks(text, **_more):
        raise RuntimeError(text)

    monkeypatch.setattr(mara, "at_memory_emote", breaks)
    heard = hears(alice)
    model("*ladles broth* Two coppers, and it is hot.")
    alice.execute_cmd("say Mara, what is the soup?")
    assert heard[-1] == 'Mara says, "Two coppers, and it is hot."'


def test_an_answer_is_long_where_the_model_tells_a_tale(mara, alice, model):
    tale = (
        "A wolf came to the weir in the hard winter. Nobody had fed it for weeks. The miller threw "
        "it his last loaf. It went away. Next spring thieves broke the sluice. Howling woke the "
        "village! They caught all four."
    )
    model(tale)
    alice.execute_cmd("say Mara, tell me a tale of wolves!")
    assert [each.content for each in mara.memory.journal.read() if each.origin == "self"] == [tale]
