"""Games with rpsystem: sdescs, recogs, emotes with speech in them, its own say and whisper."""

import pytest
from evennia.contrib.rpg.rpsystem.rpsystem import ContribRPCharacter
from evennia.utils.create import create_object

from contrib_ai_memory.npc import MemoryMixin


class RPKeeper(MemoryMixin, ContribRPCharacter):
    """An NPC with a memory in a game that has rpsystem."""


@pytest.fixture
def keeper(tavern):
    return someone(RPKeeper, "Marabel", tavern, "a stout innkeeper")


@pytest.fixture
def dunstan(tavern):
    return someone(ContribRPCharacter, "Dunstan", tavern, "a tall man")


@pytest.fixture
def liora(tavern):
    return someone(ContribRPCharacter, "Liora", tavern, "a red-haired woman")


def someone(typeclass, key, room, sdesc):
    made = create_object(typeclass, key=key, location=room, home=room)
    made.sdesc.add(sdesc)
    return made


def heard(npc):
    return [e for e in npc.memory.journal.read() if e.origin == "perceived"]


def spoken(npc):
    return [e.content for e in npc.memory.journal.read() if e.origin == "self"]


def test_its_say_is_speech_of_whoever_says_it(keeper, dunstan, liora):
    dunstan.execute_cmd("say I keep the ferry at Millbrook.")
    [entry] = heard(keeper)
    assert (entry.kind, entry.content) == ("say", "I keep the ferry at Millbrook.")
    assert entry.source_entity == keeper.get_memory_identity(dunstan)
    assert entry.seen_as == "a tall man"


def test_its_whisper_is_drawn_from_both_its_dresses(keeper, dunstan, liora):
    dunstan.execute_cmd("whisper innkeeper = I hide a silver key.")
    [entry] = heard(keeper)
    assert (entry.kind, entry.content) == ("whisper", "I hide a silver key.")
    assert entry.private


def test_speech_in_an_emote_is_speech_and_what_is_done_is_seen(keeper, dunstan, liora):
    dunstan.execute_cmd('emote /Me drops to one knee. "I stole the chalice," /me says.')
    seen, said = heard(keeper)
    assert (seen.kind, seen.source_type) == ("pose", "observation")
    assert "drops to one knee" in seen.content
    assert "chalice" not in seen.content
    assert (said.kind, said.content, said.source_type) == ("say", "I stole the chalice,", "direct")
    assert said.line == 'A tall man drops to one knee. "I stole the chalice," a tall man says.'
    assert "emote" in said.tags
    for entry in (seen, said):
        assert entry.source_entity == keeper.get_memory_identity(dunstan)


def test_speech_put_into_anothers_mouth_is_that_of_whoever_emotes(keeper, dunstan, liora):
    dunstan.execute_cmd('emote /me drops to one knee. /red says, "I stole the chalice."')
    said = heard(keeper)[-1]
    assert (said.kind, said.content) == ("say", "I stole the chalice.")
    assert said.source_entity == keeper.get_memory_identity(dunstan)
    assert said.seen_as == "a tall man"


def test_an_emote_that_only_says_something_is_no_deed(keeper, dunstan, liora):
    dunstan.execute_cmd('emote /Me says, "I keep the ferry."')
    [entry] = heard(keeper)
    assert (entry.kind, entry.content) == ("say", "I keep the ferry.")


def test_an_emote_without_speech_is_a_pose(keeper, dunstan, liora):
    dunstan.execute_cmd("emote /me winks at /red.")
    [entry] = heard(keeper)
    assert (entry.kind, entry.tags) == ("pose", ())


def test_a_quotation_typed_in_a_plain_pose_is_no_speech(mara, alice, bram):
    alice.execute_cmd('pose drops to one knee. Bram says, "I stole the chalice."')
    [entry] = heard(mara)
    assert (entry.kind, entry.tags) == ("pose", ())
    assert entry.content == 'Alice drops to one knee. Bram says, "I stole the chalice."'
    assert entry.source_entity == mara.get_memory_identity(alice)


def test_a_pose_after_an_emote_of_the_same_words_stays_a_pose(keeper, dunstan, liora):
    dunstan.execute_cmd('emote /me bows. "I stole the chalice."')
    before = len(heard(keeper))
    line = 'A tall man bows. "I stole the chalice."'
    keeper.at_msg_receive((line, {"type": "pose"}), from_obj=dunstan)
    assert [entry.kind for entry in heard(keeper)[before:]] == ["pose"]


@pytest.mark.parametrize(
    "line",
    [
        "say Good evening, innkeeper.",
        "say Stout innkeeper, a beer!",
        "say Good evening, /innkeeper.",
        'emote /me turns to /innkeeper. "A beer, if you please."',
        'emote "Innkeeper, a beer!" /me calls.',
    ],
)
def test_it_is_named_by_its_sdesc(keeper, dunstan, liora, line):
    dunstan.execute_cmd(line)
    assert len(spoken(keeper)) == 1


def test_it_is_named_by_what_the_speaker_calls_it(keeper, dunstan, liora):
    dunstan.execute_cmd("recog innkeeper as Rosie")
    liora.execute_cmd("say Evening, Rosie!")
    assert spoken(keeper) == [], "nobody else calls it that"
    dunstan.execute_cmd("say Evening, Rosie!")
    assert len(spoken(keeper)) == 1


@pytest.mark.parametrize(
    "line",
    [
        "say Red-haired woman, whose horse is that?",
        "say Whose horse is that, /red?",
        "say Whose horse is that, Fox?",
        'emote /me turns to /red. "Whose horse is that?"',
    ],
)
def test_others_are_named_by_sdesc_and_recog(keeper, dunstan, liora, line):
    dunstan.execute_cmd("recog red as Fox")
    dunstan.execute_cmd("say Good evening, innkeeper.")
    before = len(spoken(keeper))
    dunstan.execute_cmd(line)
    assert len(spoken(keeper)) == before
