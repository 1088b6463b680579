"""MemoryMixin: what an NPC perceives becomes journal entries."""

import pytest
from evennia.utils.create import create_object
from hypothesis import given
from hypothesis import strategies as st

from contrib_ai_memory.npc import CATEGORY, OFF_TAG
from contrib_ai_memory.text.sanitising import sanitise, speech_in


def entries(npc, *kinds):
    return [e for e in npc.memory.journal.read() if not kinds or e.kind in kinds]


def heard_from(npc, person):
    return [e for e in entries(npc, "say", "whisper") if e.seen_as == person.key]


def test_speech_is_drawn_from_its_dressing(mara, alice, bram):
    alice.execute_cmd("say I keep the ferry, at Millbrook.")
    entry = entries(mara)[0]
    assert entry.content == "I keep the ferry, at Millbrook."
    assert (entry.kind, entry.seen_as) == ("say", "Alice")
    assert entry.source_entity == mara.get_memory_identity(alice)


@pytest.mark.parametrize(
    ("line", "speech"),
    [
        ('Alice says, "Hello."', "Hello."),
        ('Alice whispers: "Psst, "quoted" words"', 'Psst, "quoted" words'),
        ('You say, "Mine."', "Mine."),
        ("Alice smiles.", "Alice smiles."),
        ('Alice says, ""', 'Alice says, ""'),
        ('Alice says, in Elvish, "mae govannen"', "mae govannen"),
    ],
)
def test_undress_takes_the_words_and_else_keeps_the_line(line, speech):
    assert speech_in(line) == speech


def test_a_line_that_says_more_than_the_words_is_kept_beside_them(mara, alice):
    mara.at_msg_receive(('Alice says, slurring, "Hic."', {"type": "say"}), from_obj=alice)
    entry = entries(mara)[0]
    assert (entry.content, entry.line) == ("Hic.", 'Alice says, slurring, "Hic."')


def test_a_whisper_is_private_to_whoever_whispered(mara, alice, bram):
    alice.execute_cmd("whisper Mara = I hide a silver key.")
    entry = heard_from(mara, alice)[0]
    assert entry.private
    assert entry.witnesses == (mara.get_memory_identity(alice),)


def test_what_is_said_aloud_has_everyone_present_as_witness(mara, alice, bram):
    alice.execute_cmd("say Fine weather.")
    entry = heard_from(mara, alice)[0]
    assert not entry.private
    assert set(entry.witnesses) == {mara.get_memory_identity(who) for who in (alice, bram)}


def test_alone_with_someone_the_npc_answers_everything(mara, alice):
    alice.execute_cmd("say I keep the ferry.")
    assert entries(mara)[-1].origin == "self"


def test_room_talk_among_others_is_heard_but_not_answered(mara, alice, bram):
    alice.execute_cmd("say I keep the ferry.")
    assert [entry.origin for entry in entries(mara)] == ["perceived"]


@pytest.mark.parametrize("call", ["Mara, I keep the ferry.", "Hey @mara!", "Innkeeper? A beer."])
def test_a_name_an_alias_or_a_mention_is_answered_in_company_too(mara, alice, bram, call):
    mara.aliases.add("innkeeper")
    alice.execute_cmd(f"say {call}")
    assert entries(mara)[-1].origin == "self"


def test_part_of_another_word_is_not_its_name(mara, alice, bram):
    alice.execute_cmd("say Bram, Samaranth is far.")
    assert len(entries(mara)) == 1


def test_within_a_minute_of_an_exchange_the_name_is_not_needed(mara, alice, bram):
    alice.execute_cmd("say Mara, good day.")
    before = len(entries(mara))
    alice.execute_cmd("say I keep the ferry.")
    assert len(entries(mara)) == before + 2


def test_after_a_long_silence_it_is_needed_again(mara, alice, bram):
    mara.memory.clock = lambda: "2026-01-01T10:00:00+00:00"
    alice.execute_cmd("say Mara, good day.")
    mara.memory.clock = lambda: "2026-01-01T12:00:00+00:00"
    before = len(entries(mara))
    alice.execute_cmd("say I keep the ferry.")
    assert len(entries(mara)) == before + 1


def test_two_npcs_do_not_talk_to_each_other_for_ever(mara, tavern):
    other = create_object("typeclasses.npcs.AssistantNPC", key="Odo", location=tavern)
    other.execute_cmd("say Mara, good day.")
    assert [entry.origin for entry in entries(mara)] == ["perceived", "self"]
    assert [entry.origin for entry in entries(other)] == ["self", "perceived"]


def test_a_character_that_somebody_plays_does_not_answer_by_itself(mara, alice, monkeypatch):
    monkeypatch.setattr(type(mara.sessions), "count", lambda handler: handler.obj == mara)
    alice.execute_cmd("say Good day, Mara.")
    assert [entry.origin for entry in entries(mara)] == ["perceived"]


def test_people_whom_the_npc_knows_are_noticed_when_they_are_named(mara, alice, bram):
    bram.execute_cmd("say I keep sheep.")
    alice.execute_cmd("say I saw bram, and a man called Alicent.")
    named = set(entries(mara)[-1].entities)
    assert named == {mara.get_memory_identity(who) for who in (alice, bram)}


def test_someone_locked_out_of_talk_is_heard_but_not_answered(mara, alice):
    mara.locks.add("memory_talk:false()")
    alice.execute_cmd("say Good day, Mara.")
    assert [entry.origin for entry in entries(mara)] == ["perceived"]


def test_its_own_words_are_journalled_as_its_own_and_never_learned(mara, alice):
    mara.execute_cmd("say The beer is fresh.")
    entry = entries(mara)[0]
    assert (entry.origin, entry.content) == ("self", "The beer is fresh.")
    assert not entry.learnable


@pytest.mark.parametrize("switch", ["npc", "room", "player", "game"])
def test_switched_off_nothing_is_perceived(mara, alice, tavern, settings, switch):
    if switch == "game":
        settings.CONTRIB_AI_MEMORY = {**settings.CONTRIB_AI_MEMORY, "ENABLED": False}
    else:
        off = {"npc": mara, "room": tavern, "player": alice}[switch]
        off.tags.add(OFF_TAG, category=CATEGORY)
    alice.execute_cmd("say I keep the ferry.")
    alice.execute_cmd("whisper Mara = A secret.")
    alice.execute_cmd("pose smiles.")
    assert entries(mara) == []


def test_one_players_opt_out_leaves_the_others_heard(mara, alice, bram):
    alice.tags.add(OFF_TAG, category=CATEGORY)
    alice.execute_cmd("say I keep the ferry.")
    bram.execute_cmd("say I keep sheep.")
    assert [entry.seen_as for entry in entries(mara, "say")] == ["Bram"]


def test_comings_and_goings_and_poses_are_perceived(mara, alice, tavern):
    green = create_object("typeclasses.rooms.Room", key="Green")
    create_object("typeclasses.exits.Exit", key="out", location=tavern, destination=green)
    create_object("typeclasses.exits.Exit", key="in", location=green, destination=tavern)
    alice.execute_cmd("pose stretches.")
    alice.execute_cmd("out")
    alice.execute_cmd("in")
    kinds = [entry.kind for entry in entries(mara) if entry.origin == "perceived"]
    assert kinds == ["pose", "leave", "arrive"]


def test_a_gift_is_perceived_with_its_giver(mara, alice):
    ring = create_object("typeclasses.objects.Object", key="silver ring", location=alice)
    alice.execute_cmd("give silver ring to Mara")
    [entry] = entries(mara, "give")
    assert "silver ring" in entry.content
    assert entry.source_entity == mara.get_memory_identity(alice)
    assert ring.location == mara


def test_heuristic_importance_follows_the_rules_of_the_source(mara, alice, bram):
    alice.execute_cmd("say Fine weather.")
    alice.execute_cmd("say My quest has a name.")
    alice.execute_cmd("whisper Mara = Psst.")
    bram.execute_cmd("say Hear me, @Mara.")
    ratings = [
        entry.importance for entry in entries(mara, "say", "whisper") if entry.origin != "self"
    ]
    assert ratings == [2, 2 + 1 + 1, 2 + 3, 2 + 3 + 2]


def test_a_reused_name_is_not_the_same_person(mara, alice, tavern):
    first = mara.get_memory_identity(alice)
    alice.delete()
    again = create_object("typeclasses.characters.Character", key="Alice", location=tavern)
    assert mara.get_memory_identity(again) != first


def test_a_copy_of_an_npc_starts_with_an_empty_memory(mara, alice):
    alice.execute_cmd("say I keep the ferry.")
    mara.memory.flush()
    twin = mara.copy(new_key="Twin")
    assert len(twin.memory.journal) == 0
    assert twin.memory.id != mara.memory.id


def test_a_line_of_any_length_is_kept_within_its_bound(mara, alice, settings):
    alice.execute_cmd("say " + "word " * 20_000)
    assert len(entries(mara)[0].content) <= 4000


@given(st.text(max_size=300) | st.text(alphabet="|rRn\x1f\u200b ab\n", max_size=40))
def test_sanitised_text_is_plain_whatever_comes_in(text):
    clean = sanitise(text, limit=100)
    assert len(clean) <= 100
    assert all(char.isprintable() or char == "\n" for char in clean)
    assert "\n\n\n" not in clean
    assert sanitise(clean, limit=100) == clean


@pytest.mark.parametrize("hidden", ["|\x1fR", "|\u200br", "||||r", "|\u202er|n"])
def test_no_colour_code_is_put_together_by_taking_something_out(hidden):
    assert "|" not in sanitise(f"a {hidden} b")


def test_zero_width_bidi_and_colour_marks_do_not_survive():
    assert sanitise("|rred|n \u202eevil\u202c z\u200be\u200bro \x07") == "red evil zero"


def test_perceiving_a_line_asks_the_database_nothing(mara, alice, bram, django_assert_num_queries):
    alice.execute_cmd("say Good day.")
    line = ('Alice says, "Bram, fine weather."', {"type": "say"})
    with django_assert_num_queries(0):
        mara.at_msg_receive(line, from_obj=alice)


def test_a_player_who_is_called_you_is_not_named_by_the_word(mara, alice, bram):
    alice.key = "You"
    alice.execute_cmd("say I keep the ferry.")
    heard = entries(mara, "say")[-1]
    assert heard.seen_as == '"You"'
    assert mara.memory.people.mentioned("Mara, do you like eels?") == ()
    assert mara.memory.people.mentioned('Mara, where is "You"?') == (heard.source_entity,)


def test_an_object_that_a_builder_gives_a_memory_is_a_character_to_others(mara, alice, bram):
    alice.permissions.add("Builder")
    alice.execute_cmd("@create/drop Orla")
    alice.execute_cmd("@typeclass Orla = typeclasses.npcs.AssistantNPC")
    [orla] = [each for each in alice.location.contents if each.key == "Orla"]
    bram.execute_cmd("say Orla, I keep the ferry at Millbrook.")
    spoke = [any(e.origin == "self" for e in npc.memory.journal.read()) for npc in (orla, mara)]
    assert spoke == [True, False]
