"""Alarms: what an NPC says at once where something happens."""

from dataclasses import replace

import pytest

from contrib_ai_memory import offload
from contrib_ai_memory.embedding.model import not_installed
from contrib_ai_memory.offline import acts, offline_reply
from contrib_ai_memory.records import (
    LineInTalk,
    MemoryRecord,
    Message,
    ReplyRequest,
    SpeechAct,
    TalkLine,
)

pytestmark = pytest.mark.skipif(bool(not_installed()), reason="the local model is not installed")

RULES = (
    "A mug of dark ale costs two pennies.",
    "If there is a fire, everybody goes out by the yard door and fills buckets at the trough.",
    "Whoever starts a brawl in the house is thrown out and pays for what is broken.",
    "When somebody is hurt, send for Sister Amabel at the chapel.",
    "If wolves come into the yard, bar the stable and put a torch on the gatepost.",
)


def request(said, *done, rules=RULES):
    given = tuple(
        MemoryRecord(id=str(n), content=each, record="taught") for n, each in enumerate(rules)
    )
    return ReplyRequest(
        npc_name="Mara",
        persona="",
        speaker="Alice",
        speaker_id="#7",
        utterance=said,
        now="2026-11-26T12:00:00+00:00",
        npc_names=("Mara",),
        given=given,
        acts=tuple(SpeechAct(*each) for each in done),
        wanted=read_of(said).wanted,
    )


def read_of(said):
    return acts.read(LineInTalk(TalkLine("Alice", said, "say"), ("Mara",), ("Alice", "Bram"), ()))


@pytest.mark.parametrize(
    ("said", "done", "holds"),
    [
        ("help theres a wolf in the yard!!!", ("request", "help", 1.0), "Bar the stable"),
        ("they're going to fight, really!", ("alarm", "fight", 1.5), "thrown out"),
        (
            "Bram, put that stool down! Mara, they're going to fight, they're going to fight!",
            ("alarm", "they're going to fight", 1.8),
            "thrown out",
        ),
        ("FIRE! the curtain is burning", ("alarm", "FIRE", 4.0), "Everybody goes out by the yard"),
        ("Bram has fainted! He is white as chalk!", ("claim_other", "He", 0.2), "Sister Amabel"),
        ("ow ow i burnt my hand mara its bad", ("alarm", "my", 0.8), "Sister Amabel"),
    ],
)
def test_what_was_taught_is_ordered_where_it_happens(said, done, holds):
    reply = offline_reply.reply(request(said, done))
    assert holds in reply.text and reply.text.endswith("!") and reply.told


FAINTING = "If somebody faints in the heat, lay them on their side and send for Doctor Pell."


@pytest.mark.parametrize(
    ("said", "done", "kind"),
    [
        ("Alice has fainted!", ("claim_other", "Alice", 0.6), "say"),
        ("Alice has fainted! Somebody do something!", ("order", "do summat", -0.1), "say"),
        ("bram fainted, quick, somebody help", ("request", "get help", -0.1), "say"),
        ("bram fainted, quick get help", ("request", "get help", -0.1), "say"),
        ("Alice crumples to the floor.", ("move", "crumples", 4.0), "pose"),
    ],
)
def test_a_drill_for_somebody_is_ordered(said, done, kind):
    asked = request(said, done, rules=(RULES[0], FAINTING))
    reply = offline_reply.reply(replace(asked, kind=kind))
    assert reply.text == "Lay them on their side and send for Doctor Pell!"


@pytest.mark.parametrize(
    ("said", "done"),
    [
        ("I have had a long day, what a day!", ("claim_self", "I", 1.0)),
        ("my gloves are gone", ("alarm", "my gloves", 0.4)),
        ("I won the race by a nose! Ha!", ("claim_self", "I won", 2.0)),
    ],
)
def test_what_is_no_alarm_is_none_though_rules_were_taught(said, done):
    assert "alarm" not in offline_reply.reply(request(said, done)).row


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("help, hes bleeding!", "alarm of a wound"),
        ("the knife has gone into my hand, deep", "alarm of a wound"),
        ("MO UR AWNING UR AWNING IS ON FIRE", "alarm of fire"),
        ("its burning, the straw is burning!!", "alarm of fire"),
        ("the chalk wall is moving!", "alarm"),
        ("GUYS somebodys in the dock. in the WATER", "alarm"),
        ("hey theres a kid on the baggage belt, STOP IT", "alarm"),
        ("gas, number four bag, i can smell it!!", "alarm"),
    ],
)
def test_cloths_and_water_are_called_for_where_they_help(said, kind):
    asked = request(said, ("alarm", said, 3.0), rules=())
    assert offline_reply.reply(asked).row == f"alarm: {kind}"


def test_a_drill_for_another_kind_of_alarm_is_not_ordered():
    fire = "If it burns, drag the bales out into the yard and let me carry the ledger."
    said = "Ouch! Oh, that is bleeding rather badly."
    reply = offline_reply.reply(request(said, ("alarm", said, 3.0), rules=(fire,)))
    assert reply.row == "alarm: alarm of a wound"


def test_a_rule_that_a_builder_gave_is_called_out(mara, alice):
    from evennia.utils.create import create_object

    keeper = create_object("typeclasses.characters.Character", key="keeper", location=mara.location)
    keeper.permissions.add("Developer")
    keeper.execute_cmd(f"@memory/add Mara = {RULES[-1]}")
    keeper.location = None
    before = len(mara.memory.journal)
    alice.execute_cmd("say Mara, help, theres a wolf in the yard!!!")
    offload.wait(mara.assistant.at_tick())
    own = [each for each in mara.memory.journal.read(before + 1) if each.origin == "self"]
    assert own[-1].content == "Bar the stable and put a torch on the gatepost!"


@pytest.mark.parametrize("ends", ["Mara tells nobody of it.", "Mara keeps it secret."])
def test_a_rule_that_it_tells_nobody_is_not_cried(ends):
    secret = f"If thieves break in, take the gold from behind the stuffed pike. {ends}"
    asked = request("thieves! thieves are breaking in!", ("alarm", "thieves", 4.0), rules=(secret,))
    assert "pike" not in offline_reply.reply(asked).text


@pytest.mark.parametrize(
    ("said", "act"),
    [
        ("its out, fires out", "settle"),
        ("all clear, the fire is out", "claim_other"),
        ("It is back under the mark. The danger is over.", "world"),
        ("I am all right now. It was only the heat.", "claim_self"),
        ("The fire is out! The worst is past!", "world"),
        ("The fire is out, Mara, the fire is out!", "alarm"),
    ],
)
def test_what_is_over_is_a_relief_and_no_alarm(said, act):
    reply = offline_reply.reply(request(said, (act, said, 1.5)))
    assert reply.row.endswith("relieved") and not reply.told


@pytest.mark.parametrize(
    "said",
    [
        "The wolves are out there in the yard!",
        "the fire is over by the stable!",
        "wolves are out tonight, bar the door!",
        "I have been stabbed by Corvin!",
        "Somebody is bleeding in the Cellar!",
    ],
)
def test_what_is_out_there_or_in_the_house_is_an_alarm(said):
    assert offline_reply.reply(request(said, ("alarm", said, 4.0))).row.startswith(
        ("alarm", "to do")
    )


def test_of_a_note_only_what_is_told_of_it_is_cried():
    note = (
        "If there is a fire, Mara saves the gold under the altar. Mara tells nobody of it.\n"
        "The altar has gold on it, and Mara saves candles. In a fire everybody runs."
    )
    asked = request("FIRE! the curtain is burning", ("alarm", "FIRE", 4.0), rules=(note,))
    assert "gold" not in offline_reply.reply(asked).text


def test_a_condition_of_two_parts_is_left_out_whole():
    rule = "If wolves come, or bandits, bar the gate."
    asked = request("wolves! the wolves are here!", ("alarm", "wolves", 4.0), rules=(rule,))
    assert offline_reply.reply(asked).text == "Bar the gate!"


@pytest.mark.parametrize(
    ("said", "act", "lacks"),
    [
        ("I hope you rot in hell.", "insult", "kind"),
        ("I brought you some bad news.", "claim_self", "hank"),
        ("I'll have the guards throw you out", "order", "coming"),
    ],
)
def test_a_curse_a_word_and_a_threat_are_no_praise_gift_or_order(said, act, lacks):
    assert lacks not in offline_reply.reply(request(said, (act, said, 4.0))).text


def test_a_question_with_its_reason_is_answered():
    asked = request(
        "What does a mug of dark ale cost? Because I am thirsty.", ("question", "What", 3.0)
    )
    assert "two pennies" in offline_reply.reply(asked).text


def test_what_is_handed_over_is_money_only_if_it_is_called_so():
    posed = request("Alice hands Mara two letters.", ("move", "hands", 2.0))
    assert "paid" not in offline_reply.reply(replace(posed, kind="pose")).text


def test_what_the_npc_does_itself_is_ordered():
    rule = "If someone is hurt, I lay them on the bench and send for Sister Amabel."
    said = "She's cut her foot, it's bleeding!"
    reply = offline_reply.reply(request(said, ("alarm", said, 3.0), rules=(rule,)))
    assert reply.text == "Lay them on the bench and send for Sister Amabel!"


@pytest.mark.parametrize("question", ["Good heavens, what must we do?", "omg which way out"])
def test_what_was_just_ordered_is_said_again_to_who_asks_what_to_do(question):
    order = offline_reply.reply(request("fire! fire in the kitchen!!"))
    asked = request(question, ("question", question, 3.0))
    after = replace(asked, conversation=(Message(1, "assistant", "Mara", order.text),))
    assert offline_reply.reply(after).text == order.text
    calm = replace(asked, conversation=(Message(1, "assistant", "Mara", "Well met, Alice."),))
    assert offline_reply.reply(calm).text != order.text
