"""Games with rpsystem: sdescs, recogs, emotes with speech in them, its own say and whisper."""

import re

import pytest
from evennia.contrib.rpg.rpsystem.rpsystem import ContribRPCharacter
from evennia.utils.create import create_object

from contrib_ai_memory import offload
from contrib_ai_memory.admin import erase, ids, requests
from contrib_ai_memory.answer_queue import AnswerQueue, PendingLine, Verdict
from contrib_ai_memory.npc import MemoryMixin
from contrib_ai_memory.privacy import masked
from contrib_ai_memory.records import Entry


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


@pytest.mark.parametrize(
    "emote",
    [
        "emote /me turns to /innkeeper and holds out a broken mug.",
        'emote /me turns to /innkeeper and holds out a mug. "Could you fill it?"',
    ],
)
def test_an_emote_to_it_is_answered_once(keeper, dunstan, liora, emote):
    dunstan.execute_cmd(emote)
    assert len(spoken(keeper)) == 1


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
    liora.execute_cmd("say Rosie lives at the mill.")
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


# --- masks ----------------------------------------------------------------------------------------


def asked(keeper, who, question):
    """What the keeper says and whispers to a question."""
    before = len(keeper.memory.journal)
    who.execute_cmd(question)
    offload.wait(keeper.assistant.at_tick())
    keeper.assistant.nattributes.clear()  # whoever asks is answered at once
    own = [each for each in keeper.memory.journal.read(before + 1) if each.origin == "self"]
    return " ".join(each.content for each in own)


SECRET = "whisper innkeeper = I hide a silver key under the mill."
ASKED = "whisper innkeeper = Where do I hide my silver key?"


def test_whoever_wears_a_mask_is_somebody_else_until_it_falls(keeper, dunstan):
    asked(keeper, dunstan, SECRET)
    assert "mill" in asked(keeper, dunstan, ASKED)
    dunstan.execute_cmd("mask a hooded figure")
    assert "mill" not in asked(keeper, dunstan, ASKED)
    masked = heard(keeper)[-1]
    assert masked.seen_as == "a hooded figure [masked]"
    assert masked.source_entity == keeper.get_memory_guise(dunstan)
    assert keeper.memory.people.get(masked.source_entity).interactions == 1
    dunstan.execute_cmd("unmask")
    assert "mill" in asked(keeper, dunstan, ASKED)


def test_two_players_behind_one_mask_are_two(keeper, dunstan, liora):
    for who in (dunstan, liora):
        who.execute_cmd("mask a hooded figure")
    asked(keeper, dunstan, SECRET)
    assert "mill" not in asked(keeper, liora, ASKED)
    assert "mill" in asked(keeper, dunstan, ASKED)


def test_what_was_confided_behind_a_mask_is_not_told_to_the_face(keeper, dunstan):
    dunstan.execute_cmd("mask a hooded figure")
    asked(keeper, dunstan, SECRET)
    dunstan.execute_cmd("unmask")
    assert "mill" not in asked(keeper, dunstan, ASKED)


def test_an_npc_does_not_name_who_is_behind_a_mask(keeper, dunstan, liora):
    dunstan.execute_cmd("say I keep the ferry at Millbrook.")
    dunstan.execute_cmd("mask a hooded figure")
    said = asked(keeper, liora, "say Marabel, who is here?")
    assert "hooded figure" in said
    assert "tall man" not in said and "Dunstan" not in said


@pytest.mark.parametrize("by", ["the person", "the guise"])
def test_an_erasure_takes_what_somebody_said_with_and_without_a_mask(keeper, dunstan, liora, by):
    dunstan.execute_cmd("say I keep the ferry at Millbrook.")
    dunstan.execute_cmd("mask a hooded figure")
    dunstan.execute_cmd(SECRET)
    liora.execute_cmd("say The weir is broken.")
    guise = keeper.get_memory_guise(dunstan)
    offload.wait(keeper.assistant.at_tick())
    identity = keeper.get_memory_identity(dunstan)
    whom = identity if by == "the person" else guise
    previewed = offload.wait(erase.preview_person(keeper, whom))
    erased = offload.wait(erase.erase_person(keeper, whom))
    assert erased.entries == previewed.entries == 3, "two lines and an answer"
    assert [each.content for each in heard(keeper)] == ["The weir is broken."]
    left = (*(each.identity for each in keeper.memory.people), *heard(keeper)[-1].witnesses)
    assert not [each for each in left if each.startswith(identity)]
    assert not offload.wait(requests.who_remembers(dunstan))


def test_an_erasure_of_a_guise_that_broke_off_is_finished_by_that_of_the_person(
    keeper, dunstan, monkeypatch
):
    dunstan.execute_cmd("mask a hooded figure")
    dunstan.execute_cmd(SECRET)
    identity = keeper.get_memory_identity(dunstan)
    with monkeypatch.context() as patch:
        patch.setattr(requests, "drop_granted", None)  # killed after the register was written
        with pytest.raises(TypeError):
            offload.wait(erase.erase_person(keeper, identity))
    assert erase.unfinished(keeper) and not ids.guises_of(keeper.memory, identity)
    offload.wait(erase.erase_person(keeper, identity))
    assert erase.unfinished(keeper) == [] and heard(keeper) == []


def test_a_player_known_only_behind_a_mask_can_have_themselves_forgotten(keeper, dunstan):
    dunstan.execute_cmd("mask a hooded figure")
    dunstan.execute_cmd("say I keep the ferry at Millbrook.")
    dunstan.execute_cmd("unmask")
    [remembered] = offload.wait(requests.who_remembers(dunstan))
    assert requests.submit(dunstan, [remembered]) == 1
    [request] = offload.wait(requests.waiting())
    offload.wait(erase.erase_person(keeper, request.identity))
    assert heard(keeper) == [] and offload.wait(requests.waiting()) == []


def test_staff_grants_the_request_of_a_masked_player_with_the_command_that_they_are_told(
    keeper, dunstan, admin
):
    dunstan.execute_cmd("mask a hooded figure")
    dunstan.execute_cmd("say I keep the ferry at Millbrook.")
    dunstan.execute_cmd("unmask")
    requests.submit(dunstan, offload.wait(requests.who_remembers(dunstan)))
    [told] = re.findall(r"To grant one: (.*)", admin("@memory/requests"))
    assert "Erase a hooded figure" in admin(told)
    assert ids.person(keeper, dunstan.dbref) == heard(keeper)[0].source_entity
    dunstan.execute_cmd("say I keep it without a mask, too.")
    assert ids.person(keeper, dunstan.dbref) == keeper.get_memory_identity(dunstan)


def test_a_mask_gives_no_second_place_in_the_queue(keeper, dunstan):
    queue = AnswerQueue()
    identity = keeper.get_memory_identity(dunstan)
    guises = [identity, *(masked(identity, f"mask {number}") for number in range(3))]
    verdicts = [
        queue.add(PendingLine(Entry(number, "", "Hello?", "say", source_entity=guise), dunstan))
        for number, guise in enumerate(guises, start=1)
    ]
    assert verdicts == [Verdict.QUEUED] * 3 + [Verdict.TOO_FAST]
    queue.drop(identity)
    assert not queue
