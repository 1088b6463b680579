"""Preferences: one value a slot, the old ones in its history, each for those who heard it."""

from functools import wraps

import pytest

from contrib_ai_memory import conf, offload
from contrib_ai_memory.english.stated_preferences import labelled, stated
from contrib_ai_memory.ingest import index, preference_slots
from contrib_ai_memory.store import attributes, memory_store
from contrib_ai_memory.store.payload import entry_memory_id
from contrib_ai_memory.store.preferences import CATEGORY, Preferences
from contrib_ai_memory.store.removal import DataSubject, Removal

FIRST, SECOND = "2026-03-01T12:00:00.000+00:00", "2026-03-02T12:00:00.000+00:00"
THIRD = "2026-03-03T12:00:00.000+00:00"


@pytest.fixture
def preferences(mara):
    return mara.memory.preferences


def tell(npc, text, when=None, **more):
    if when:
        npc.memory.clock = lambda: when
    return offload.wait(npc.memory.ingest(text, user_id="alice", **more))


# --- slots ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sentence", "slot"),
    [
        ("I love tea.", "tea"),
        ("I really hate tea!", "tea"),
        ("I don't like tea", "tea"),
        ("I cannot stand a cup of tea.", "tea"),
        ("At home I always enjoy tea, because it is warm.", "tea"),
        ("I no longer like tea but I like rain", "tea"),
        ("I would like some tea", "tea"),
        ("I like dogs", "dog"),
        ("I hate the dog", "dog"),
        ("I like swimming more than running", "swim"),
        ("I like to swim", "swim"),
        ("My favourite colour is red.", "favourite color"),
        ("Red is my favorite color!", "favourite color"),
        ("My favourite is red", "favourite"),
        ("I always lock the door", "lock door"),
        ("I never lock the doors when I am in.", "lock door"),
        ("I'd rather drink ale than wine", "drink ale"),
        ("I love you", "you"),
    ],
)
def test_sentences_about_one_thing_fill_one_slot(sentence, slot):
    assert stated(sentence).slot == slot
    assert stated(sentence).subject == ""


@pytest.mark.parametrize(
    ("sentence", "mentions"),
    [
        ("I prefer tea to coffee", ("coffee",)),
        ("I prefer tea over coffee", ("coffee",)),
        ("I like tea more than coffee", ("coffee",)),
        ("I'd rather have tea than coffee", ("coffee",)),
        ("I prefer to drink tea", ()),
        ("I love tea", ()),
    ],
)
def test_what_it_is_compared_with_is_mentioned(sentence, mentions):
    assert stated(sentence).mentions == mentions


@pytest.mark.parametrize(
    ("sentence", "subject"),
    [("My brother hates fish", "brother"), ("Bram's favourite fish is eel", "bram")],
)
def test_somebody_elses_preference_names_whose_it_is(sentence, subject):
    assert stated(sentence).subject == subject


def test_where_no_rule_fits_a_label_or_the_words_are_the_slot():
    assert stated("I love it") is None
    assert stated("I like three sugars in my tea.").slot
    assert labelled("Communication style: direct, no preamble").slot == "communication style"
    assert labelled("Answer briefly.").slot == "answer briefly"


# --- values ---------------------------------------------------------------------------------------


def test_a_changed_preference_takes_the_place_of_the_old_and_keeps_it(preferences):
    preferences.set("alice", "tea", "I love tea.", FIRST, 7)
    preferences.set("alice", "tea", "I hate tea.", SECOND, 9)
    now = preferences.get("alice", "tea")
    assert (now.text, now.since, now.journal_id) == ("I hate tea.", SECOND, 9)
    [held] = preferences.get("alice", "tea").history
    assert (held.text, held.since, held.until, held.journal_id) == (
        "I love tea.",
        FIRST,
        SECOND,
        7,
    )


def test_said_again_only_the_time_it_was_last_said_changes(preferences):
    before = preferences.set("alice", "tea", "I love tea.", FIRST)
    after = preferences.set("alice", "tea", "i love  tea", SECOND)
    assert after == preferences.get("alice", "tea")
    assert (after.text, after.since, after.history) == (before.text, before.since, ())
    assert after.seen == SECOND


def test_the_history_is_bounded_and_keeps_the_newest(preferences):
    for number in range(conf.PREFERENCE_HISTORY + 5):
        preferences.set("alice", "color", f"I love colour {number}.", FIRST)
    history = preferences.get("alice", "color").history
    assert len(history) == conf.PREFERENCE_HISTORY
    assert history[-1].text == f"I love colour {conf.PREFERENCE_HISTORY + 3}."


def test_each_is_one_attribute_of_its_own_that_survives_a_restart(mara, preferences):
    preferences.set("alice", "tea", "I love tea.", FIRST)
    preferences.set("alice", "rain", "I hate rain.", SECOND)
    preferences.set("bram", "tea", "I hate tea.", FIRST)
    assert mara.db_attributes.filter(db_category=CATEGORY).count() == 3
    again = Preferences(mara)
    assert [p.slot for p in again.of("alice")] == ["rain", "tea"]
    assert [p.text for p in again.of("bram")] == ["I hate tea."]


def test_what_was_whispered_has_a_slot_of_its_own_and_is_told_to_no_one_else(preferences):
    preferences.set("alice", "tea", "I love tea.", FIRST)
    preferences.set("alice", "tea", "I hate tea.", SECOND, private=True, witnesses=["alice"])
    assert preferences.get("alice", "tea").text == "I love tea."
    assert preferences.get("alice", "tea", ("alice",)).text == "I hate tea."
    assert [p.text for p in preferences.of("alice", ["bram"])] == ["I love tea."]
    assert [p.text for p in preferences.of("alice", ["alice", "bram"])] == ["I love tea."]
    assert [p.text for p in preferences.of("alice", ["alice"])] == ["I hate tea.", "I love tea."]
    assert len(preferences.of("alice")) == 2


@pytest.mark.parametrize("slot", ["tea", "x" * 300, "naïve / café %_"])
def test_identities_and_slots_of_any_kind_are_told_apart(preferences, slot):
    preferences.set("log:Alice", slot, "one", FIRST)
    preferences.set("log:alice", slot, "two", FIRST)
    preferences.set("", slot, "three", FIRST)
    assert preferences.get("log:Alice", slot).text == "one"
    assert preferences.get("log:alice", slot).text == "two"
    assert [p.text for p in preferences.of("")] == ["three"]


def test_a_forgotten_person_leaves_no_preference(mara, preferences):
    preferences.set("alice", "tea", "I love tea.", FIRST)
    preferences.set("alice", "tea", "I hate tea.", FIRST, private=True, witnesses=["alice"])
    preferences.set("bram", "tea", "I hate tea.", FIRST)
    removal = Removal(subject=DataSubject("alice"), shown=True)
    assert offload.wait(preferences.take_out(removal)) == 2
    assert [p.identity for p in preferences] == ["bram"]


def test_a_copy_of_an_npc_has_no_preferences(mara, preferences):
    preferences.set("alice", "tea", "I love tea.", FIRST)
    copy = mara.copy(new_key="Mirror")
    assert not copy.db_attributes.filter(db_category=CATEGORY).exists()


# --- out of what is taught ------------------------------------------------------------------------


def contents(result):
    return [recalled.memory.key for recalled in result.memories]


def recall(npc, query="tea", **more):
    return contents(offload.wait(npc.memory.recall(query, **more)))


def test_a_stated_preference_is_a_procedural_memory_and_a_value(mara, preferences):
    [memory] = tell(mara, "I love tea.")
    held = preferences.get("alice", "tea")
    assert memory.memory_type == "procedural"
    assert (held.text, held.memory_id) == ("I love tea.", memory.id)


def test_it_is_told_in_the_third_person_where_its_owner_has_a_name(mara, alice):
    alice.execute_cmd("say Hello there.")
    who = mara.get_memory_identity(alice)
    [memory] = offload.wait(mara.memory.ingest("I love tea.", user_id=who))
    assert (memory.content, memory.quote) == ("Alice loves tea.", "I love tea.")


def test_a_changed_preference_retires_the_memory_of_the_old(mara):
    [old] = tell(mara, "I love tea.", FIRST)
    assert recall(mara) == ["I love tea."]
    [new] = tell(mara, "I hate tea.", SECOND)
    retired = memory_store.shared().get([old.id])[0]
    assert (retired.superseded_by, retired.invalid_at) == (new.id, SECOND)
    assert recall(mara) == ["I hate tea."]


def test_a_change_is_kept_however_little_is_new_in_it(mara, preferences):
    tell(mara, "I really love black tea in the morning.", FIRST)
    for _ in range(3):
        tell(mara, "i like black tea in the mornings", SECOND)
    assert preferences.get("alice", "black tea in morning").text.startswith("i like")
    assert recall(mara, "black tea") == ["i like black tea in the mornings"]


def test_what_is_preferred_again_is_remembered_again(mara, preferences):
    [first] = tell(mara, "I love tea.", FIRST)
    tell(mara, "I hate tea.", SECOND)
    [again] = tell(mara, "I love tea.", THIRD)
    assert again.id != first.id
    assert recall(mara) == ["I love tea."]
    held = preferences.get("alice", "tea").history
    assert [past.text for past in held] == ["I love tea.", "I hate tea."]
    assert tell(mara, "I love tea.", THIRD) == [again]


def test_what_a_text_says_last_holds_and_said_again_nothing_changes(mara, preferences):
    text = "I love tea. I hate rain. I hate tea."
    tell(mara, text, FIRST)
    before = preferences.get("alice", "tea")
    tell(mara, text, FIRST)
    assert preferences.get("alice", "tea") == before
    assert before.text == "I hate tea."
    assert [h.text for h in before.history] == ["I love tea."]
    assert memory_store.shared().count(mara.memory.id) == 3
    assert "I love tea." not in recall(mara)


def test_a_comparison_turned_round_takes_the_place_of_the_first(mara, preferences):
    for when in (FIRST, FIRST):
        tell(mara, "I prefer tea to coffee.", when)
    for when in (SECOND, THIRD):
        tell(mara, "I prefer coffee to tea.", when)
    [held] = preferences.of("alice")
    assert (held.slot, held.text, held.since) == ("tea", "I prefer coffee to tea.", SECOND)
    assert recall(mara) == ["I prefer coffee to tea."]


def test_a_whispered_change_leaves_what_was_said_aloud(mara):
    tell(mara, "I love tea.", FIRST)
    tell(mara, "I hate tea.", SECOND, private=True, witnesses=["alice"])
    assert recall(mara, speaker="bram") == ["I love tea."]
    assert "I hate tea." in recall(mara, speaker="alice")


def test_two_persons_taught_of_by_a_builder_do_not_contend(mara, preferences):
    for text in ("Alice loves tea.", "Bram hates tea."):
        offload.wait(mara.memory.ingest(text, memory_type_hint="procedural"))
    assert {p.slot for p in preferences.of("")} == {"alice tea", "bram tea"}


def test_a_value_whose_memory_was_never_written_is_mended_when_it_is_told_again(
    mara, preferences, monkeypatch
):
    from contrib_ai_memory.ingest import pipeline

    [old] = tell(mara, "I love tea.", FIRST)
    with monkeypatch.context() as killed:
        killed.setattr(pipeline, "finish", wraps(pipeline.finish)(lambda *args: 1 / 0))
        with pytest.raises(ZeroDivisionError):
            tell(mara, "I hate tea.", SECOND)
    assert preferences.get("alice", "tea").text == "I hate tea."
    [new] = tell(mara, "I hate tea.", THIRD)
    assert recall(mara) == ["I hate tea."]
    retired = memory_store.shared().get([old.id])[0]
    assert (retired.superseded_by, retired.invalid_at) == (new.id, SECOND)


def test_a_damaged_row_is_left_out(mara, preferences):
    tell(mara, "I love tea.", FIRST)
    attributes.write_json(mara, "alice/bread", {"slot": "bread"}, CATEGORY)
    assert [each.slot for each in preferences] == ["tea"]
    assert [each.slot for each in preferences.of("alice")] == ["tea"]
    assert preferences.get("alice", "bread") is None


# --- out of what is heard -------------------------------------------------------------------------


def say(npc, speaker, *lines, when=None, command="say "):
    """Lines heard by `npc`, and indexed; the memory identity of the speaker."""
    if when:
        npc.memory.clock = lambda: when
    for line in lines:
        speaker.execute_cmd(command + line)
    offload.wait(npc.memory.index_pending())
    return npc.get_memory_identity(speaker)


def whisper(npc, speaker, line):
    return say(npc, speaker, line, command=f"whisper {npc.key} = ")


def told(npc, query="tea", by=None, **more):
    speaker = npc.get_memory_identity(by) if by else None
    result = offload.wait(npc.memory.recall(query, speaker=speaker, **more))
    return {recalled.memory.content for recalled in result.memories}


def memory_of(npc, said):
    """The memory of the line of talk that says it."""
    [entry] = [entry for entry in npc.memory.journal.read() if entry.content == said]
    return memory_store.shared().get([entry_memory_id(npc.memory.id, entry.id)])[0]


def everything(npc):
    """All that is remembered: what is in the store, and in the slots."""
    stored = memory_store.shared().list(npc.memory.id, limit=None)
    return sorted(stored, key=lambda memory: memory.id), list(npc.memory.preferences)


def index_again(npc):
    """What a server does that was killed before it noted how far the index had come."""
    npc.memory.journal.set_cursor(index.CURSOR, 0)
    while not offload.wait(npc.memory.index_pending()):
        pass


@pytest.mark.parametrize(
    ("line", "slot"),
    [
        ("I prefer tea.", "tea"),
        ("I hate the ferry!", "ferry"),
        ("I never drink mead any more", "drink mead"),
        ("I no longer like rain", "rain"),
        ("Good evening, Mara. My favourite colour is red.", "favourite color"),
        ("I love tea. No, I hate tea.", "tea"),
    ],
)
def test_a_preference_heard_in_talk_fills_the_slot_of_its_speaker(
    mara, alice, preferences, line, slot
):
    who = say(mara, alice, "Hello there.", line)
    [held] = preferences
    assert (held.identity, held.slot) == (who, slot)
    assert line.endswith(held.text)
    assert (held.memory_id, held.journal_id) == (
        memory_of(mara, line).id,
        memory_of(mara, line).journal_ids[0],
    )


def test_a_change_heard_in_talk_is_what_is_told_and_the_old_is_kept(mara, alice, preferences):
    who = say(mara, alice, "I love tea.", when=FIRST)
    assert told(mara) == {"I love tea."}
    say(mara, alice, "I hate tea.", when=SECOND)
    assert told(mara) == {"I hate tea."}
    old, new = memory_of(mara, "I love tea."), memory_of(mara, "I hate tea.")
    assert (old.superseded_by, old.invalid_at) == (new.id, SECOND)
    [held] = preferences.get(who, "tea").history
    assert (held.text, held.since, held.until) == ("I love tea.", FIRST, SECOND)
    assert held.journal_id == old.journal_ids[0]


def test_a_change_within_one_batch_is_told_by_its_end(mara, alice):
    say(mara, alice, "I love tea.", "I hate tea.", "I can't stand tea.")
    assert told(mara) == {"I can't stand tea."}


def test_a_taught_preference_is_changed_by_what_is_heard(mara, alice, preferences):
    who = mara.get_memory_identity(alice)
    mara.memory.clock = lambda: FIRST
    [taught] = offload.wait(mara.memory.ingest("I love tea.", user_id=who))
    say(mara, alice, "I hate tea.", when=SECOND)
    assert told(mara) == {"I hate tea."}
    retired = memory_store.shared().get([taught.id])[0]
    heard = memory_of(mara, "I hate tea.")
    assert (retired.superseded_by, retired.invalid_at) == (heard.id, SECOND)
    assert [held.text for held in preferences.get(who, "tea").history] == ["I love tea."]


def test_a_heard_preference_is_changed_by_what_is_taught(mara, alice, preferences):
    who = say(mara, alice, "I love tea.", when=FIRST)
    mara.memory.clock = lambda: SECOND
    [taught] = offload.wait(mara.memory.ingest("I hate tea.", user_id=who))
    assert told(mara) == {taught.content}
    retired = memory_of(mara, "I love tea.")
    assert (retired.superseded_by, retired.invalid_at) == (taught.id, SECOND)
    assert [held.text for held in preferences.get(who, "tea").history] == ["I love tea."]


def test_what_was_heard_already_is_not_doubled_when_it_is_taught(mara, alice):
    who = say(mara, alice, "I love tea.", when=FIRST)
    before = everything(mara)
    [memory] = offload.wait(mara.memory.ingest("I love tea.", user_id=who))
    assert memory == memory_of(mara, "I love tea.")
    assert everything(mara) == before


def test_what_was_said_before_it_was_taught_otherwise_does_not_hold(mara, alice, preferences):
    mara.memory.clock = lambda: FIRST
    alice.execute_cmd("say I love tea.")  # perceived, and not indexed yet
    who = mara.get_memory_identity(alice)
    mara.memory.clock = lambda: SECOND
    [taught] = offload.wait(mara.memory.ingest("I hate tea.", user_id=who))
    assert told(mara) == {taught.content}
    assert preferences.get(who, "tea").text == "I hate tea."
    assert memory_of(mara, "I love tea.").superseded_by == taught.id


def test_a_whisper_changes_nothing_that_was_said_aloud(mara, alice, bram, preferences):
    who = say(mara, alice, "I love tea.")
    whisper(mara, alice, "I hate tea.")
    assert told(mara, by=bram) == {"I love tea."}
    assert "I hate tea." in told(mara, by=alice)
    assert preferences.get(who, "tea").text == "I love tea."
    assert preferences.get(who, "tea", (who,)).text == "I hate tea."
    whisper(mara, alice, "I detest rain, and I dislike tea.")
    assert told(mara, by=bram) == {"I love tea."}


def test_a_whisper_is_changed_by_a_whisper(mara, alice, bram):
    whisper(mara, alice, "I love tea.")
    whisper(mara, alice, "I hate tea.")
    assert told(mara, by=alice) == {"I hate tea."}
    assert told(mara, by=bram) == set()


def test_two_people_do_not_contend_for_a_slot(mara, alice, bram):
    say(mara, alice, "I love tea.")
    say(mara, bram, "I hate tea.")
    assert told(mara) == {"I love tea.", "I hate tea."}


def test_said_again_it_is_told_once_and_a_change_leaves_none_of_it(mara, alice, preferences):
    who = say(mara, alice, "I love tea.", when=FIRST)
    say(mara, alice, "I love tea!", when=SECOND)
    assert told(mara) == {"I love tea."}
    assert memory_of(mara, "I love tea!").invalid_at is None  # it holds: the other says so
    assert preferences.get(who, "tea").seen == SECOND
    say(mara, alice, "I hate tea.", when=THIRD)
    assert told(mara) == {"I hate tea."}


def test_what_is_said_again_is_told_where_the_first_memory_of_it_is_gone(mara, alice):
    say(mara, alice, "I love tea.")
    memory_store.shared().delete([memory_of(mara, "I love tea.").id])
    say(mara, alice, "I love tea!")
    assert told(mara) == {"I love tea!"}


def test_what_is_preferred_once_more_is_told_once_more(mara, alice, preferences):
    who = say(mara, alice, "I love tea.", "I hate tea.", "I love tea!")
    assert told(mara) == {"I love tea!"}
    assert [h.text for h in preferences.get(who, "tea").history] == ["I love tea.", "I hate tea."]


@pytest.mark.parametrize("batch", [1, 2, 64])
def test_indexed_again_in_any_batches_nothing_changes(mara, alice, monkeypatch, batch):
    who = say(mara, alice, "I love tea.", "I love tea, I do.", "I hate rain.", when=FIRST)
    say(mara, alice, "I hate tea.", "I hate tea!", "I love rain.", "I hate rain!", when=SECOND)
    mara.memory.clock = lambda: THIRD
    offload.wait(mara.memory.ingest("I love tea again.", user_id=who))
    for line in ("I hate rain.", "I love rain."):
        whisper(mara, alice, line)
    before = everything(mara)
    monkeypatch.setattr(index, "BATCH", batch)
    index_again(mara)
    assert everything(mara) == before


def test_a_retired_line_of_talk_stays_retired_when_it_is_indexed_again(mara, alice):
    say(mara, alice, "I love tea.", "I hate tea.")
    retired = memory_of(mara, "I love tea.")
    assert retired.superseded_by
    entries = list(mara.memory.journal.read())
    index.index_entries(mara.memory.id, entries)
    assert memory_of(mara, "I love tea.") == retired


def test_killed_before_the_old_is_retired_it_is_retired_at_the_next_start(mara, alice, monkeypatch):
    say(mara, alice, "I love tea.")
    with monkeypatch.context() as killed:
        retire = wraps(preference_slots.retire)(lambda *args: 1 / 0)
        killed.setattr(preference_slots, "retire", retire)
        with pytest.raises(ZeroDivisionError):
            say(mara, alice, "I hate tea.")
    assert told(mara) == {"I hate tea."}
    assert memory_of(mara, "I love tea.").superseded_by == memory_of(mara, "I hate tea.").id


@pytest.mark.parametrize(
    "line",
    [
        "Do you prefer tea?",
        "Should I prefer tea?",
        "I love it!",
        "Bram loves tea.",
        "Could I like tea? Well.",
        "I love tea. Have you any?",
    ],
)
def test_what_states_no_preference_of_the_speaker_fills_nothing(mara, alice, preferences, line):
    say(mara, alice, line)
    assert list(preferences) == []


def test_what_the_npc_says_itself_or_a_builder_notes_fills_nothing(mara, alice, preferences):
    mara.execute_cmd("say I love tea.")
    offload.wait(mara.memory.add("I love tea."))
    say(mara, alice, "Good.")
    assert list(preferences) == []


@pytest.mark.parametrize(
    ("line", "stays"),
    [
        ("Good evening, Mara! I love tea.", False),
        ("I love tea. Thank you!", False),
        ("I love tea. My brother Tom is ill.", True),
        ("The mill is old. I love tea.", True),
        ("I love tea, and I love rain.", True),
    ],
)
def test_a_line_that_tells_other_things_too_is_not_retired_with_its_preference(
    mara, alice, preferences, line, stays
):
    who = say(mara, alice, line, "I hate tea.")
    assert told(mara) == ({line, "I hate tea."} if stays else {"I hate tea."})
    assert preferences.get(who, "tea").text == "I hate tea."


def test_one_line_fills_a_few_slots_at_most(mara, alice, preferences):
    say(mara, alice, " ".join(f"I love number{n}." for n in range(50)))
    assert len(list(preferences)) == preference_slots.SLOTS_A_LINE


def test_what_was_drawn_from_a_retired_line_is_not_told_again(mara, alice):
    alice.execute_cmd("say I love tea with honey.")
    offload.wait(mara.memory.work_through(until_silent=True))
    offload.wait(mara.assistant.sleep.whole_night())
    alice.execute_cmd("say I hate tea with honey.")
    for _ in range(2):
        offload.wait(mara.assistant.sleep.whole_night())
    found = offload.wait(mara.memory.recall("What does Alice think of tea with honey?", top_k=20))
    told = [item.memory.content for item in found.memories]
    assert any("hate" in text for text in told)
    assert not any("love" in text for text in told)
