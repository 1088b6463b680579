"""Acts: what is done with the words of a line, how the NPC reacts to it, and whom it answers."""

from dataclasses import replace

import pytest

from benchmarks import talks
from contrib_ai_memory.attention import Floor, HeardLine, judged
from contrib_ai_memory.embedding.model import not_installed
from contrib_ai_memory.offline import acts, offline_reply, reactions
from contrib_ai_memory.offline.matter import matter_of
from contrib_ai_memory.offline.phrases import TONES
from contrib_ai_memory.records import (
    LineInTalk,
    LineReading,
    MemoryRecord,
    Recalled,
    Reply,
    ReplyRequest,
    ScoreParts,
    SpeechAct,
    TalkLine,
)

MARA = ("Mara", "innkeeper")
needs_model = pytest.mark.skipif(bool(not_installed()), reason="the local model is not installed")


def heard(said, *before, speaker="Alice", others=("Bram",), kind="say"):
    return LineInTalk(
        TalkLine(speaker, said, kind), MARA, others, tuple(TalkLine(*each) for each in before)
    )


def request(said, *done, **more):
    given = ReplyRequest(
        npc_name="Mara",
        persona="",
        speaker="Alice",
        speaker_id="#7",
        utterance=said,
        now="2026-11-26T12:00:00+00:00",
        npc_names=MARA,
        acts=tuple(SpeechAct(kind, words) for kind, words in done),
    )
    return replace(given, **more)


# --- how a line is written ------------------------------------------------------------------------


def test_everybody_has_the_same_names_in_every_line():
    before, line = acts.as_read(
        heard("Bram owes mara six pence", ("Bram", "i paid it, alice"), ("", "Cora leaves."))
    )
    assert before == "here: anna. anna: i paid it, tom : Cora leaves."
    assert line.text == "tom: anna owes martha six pence"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("Old Bram, you owe me", "owe me"),
        ("tell Bram i'm off", "tell Bram"),
        ("BRAM", "BRAM"),
        ("a mug for innkeeper's cat", "innkeeper's cat"),
    ],
)
def test_the_words_of_an_act_are_those_that_were_said(said, words):
    line = acts.masked(said, (("Mara", "martha"), ("innkeeper", "martha"), ("Bram", "anna")))
    start = next(
        place
        for place in range(len(line.text))
        if line.original(place, len(line.text)).startswith(words)
    )
    stop = next(
        place
        for place in range(start + 1, len(line.text) + 1)
        if line.original(start, place) == words
    )
    assert line.original(start, stop) == words


@needs_model
@pytest.mark.parametrize(
    "said", ["word " * 500, "!" * 300, "你好" * 150, "1 2 3 4 5 " * 40, "?!" * 90]
)
def test_a_long_line_is_read_as_far_as_there_is_room(said):
    assert acts.read(heard(said, ("Bram", "and then?"))) is not None


@pytest.mark.parametrize(("name", "said"), [("Kim", "hello Kım"), ("Yıldız", "hello Yildiz")])
def test_a_letter_that_only_looks_the_same_does_no_harm(name, said):
    acts.masked(said, ((name, "martha"),))


def test_a_name_with_an_accent_is_known():
    assert acts.masked("hello Zoë", (("Zoë", "martha"),)).text == "hello martha"


def test_a_question_that_is_taken_for_a_correction_too_is_only_answered():
    said = "so what do snails eat?"
    asks = request(said, ("correction", "snails"), ("question", said))
    assert reactions.with_answer(Reply("Leaves."), said, asks).text == "Leaves."
    alarm = request(
        "fire! where is the well?", ("alarm", "fire"), ("question", "where is the well")
    )
    assert reactions.with_answer(Reply("Behind."), alarm.utterance, alarm).text.endswith(" Behind.")


def test_a_promise_to_keep_quiet_is_made_where_the_line_is_kept_so():
    said = "its between the wall and me, the cup is mine"
    done = [("secret", said)]
    kept = {"It stays with me, Alice.", "Nobody will hear it from me, Alice."}
    assert reactions.react(said, request(said, *done, kind="whisper")).text in kept
    assert reactions.react(said, request(said, *done, confided=True)).text in kept
    assert reactions.react(said, request(said, *done)).text not in kept


@pytest.mark.parametrize(
    ("said", "done", "lacks"),
    [
        ("dont let Bram in again", "order", "passed on"),
        ("bram paid cora back the 6", "settle", "Thank you"),
    ],
)
def test_nothing_is_promised_that_nobody_asked_for(said, done, lacks):
    assert lacks not in reactions.react(said, request(said, (done, said))).text


@pytest.mark.parametrize(
    ("said", "kind", "sure", "lacks"),
    [
        ("bram lent me his boat", "request", 1.0, "see to it"),
        ("a mill up in Harl is looking for a hand", "request", 0.3, "see to it"),
        ("the weir broke on sunday", "alarm", 3.0, "coming"),
        ("my gloves are gone", "alarm", 0.4, "coming"),
        ("the race is off", "parting", 0.3, "Farewell"),
        ("he is a good old mule", "praise", 2.5, "hank you"),
        ("he is a fat old liar", "insult", 2.5, "tongue"),
        ("the mayor pays one Hubert for it", "debt", 0.3, "reckon"),
        ("what is the lad's name again, it's gone clean out of my head!", "alarm", 3.0, "coming"),
        ("your stable roof is mended!", "alarm", 2.5, "coming"),
        ("what is it that frightens me at night, goose that I am?", "feeling", 0.8, "sorry"),
    ],
)
def test_a_statement_is_not_taken_for_what_it_only_resembles(said, kind, sure, lacks):
    made = reactions.react(said, request(said, acts=(SpeechAct(kind, said, sure),)))
    assert lacks not in made.text and made.row == "claim_self: heard"


def test_who_wishes_a_good_morning_is_not_bidden_farewell():
    said = "Good morning, Mara."
    greets = request(said, acts=(SpeechAct("parting", said, 1.8),))
    assert "parting" not in offline_reply.reply(greets).row


@pytest.mark.parametrize(
    ("said", "done", "row"),
    [
        (
            "I am going to buy his sloop. Ninety gold he wants.",
            [("plan", "I am going to buy his sloop", 2.5), ("request", "wants", 0.1)],
            "plan: heard",
        ),
        ("sry mara wont happen again", [("claim_other", "wont", 1.0)], "apology: apology"),
        ("Good morning, Mara. I trust you slept well.", [("greeting", "Good", 2.8)], "greeting"),
        (
            "Would you be so kind as to wake me at dawn?",
            [("question", "Would you be so kind as to", 2.9)],
            "request: asked for a day",
        ),
        ("I am in great pain.", [("feeling", "I am in great pain", 2.0)], "feeling: sorry"),
        ("Old goat!", [("insult", "Old goat", 2.0)], "insult: insulted"),
        ("Help! Bram has fallen!", [("alarm", "Help! Bram", 1.2)], "alarm: alarm"),
        ("Help, a stranger lies outside!", [("request", "Help, a stranger", 0.9)], "alarm: alarm"),
    ],
)
def test_a_line_is_reacted_to_by_what_is_done_with_its_words(said, done, row):
    acts_of_line = tuple(SpeechAct(*each) for each in done)
    assert offline_reply.reply(request(said, acts=acts_of_line)).row == row


def test_who_introduces_themselves_is_not_bid_farewell():
    said = "hey im dagg, i fish off the point w my boat"
    reply = offline_reply.reply(
        request(said, acts=(SpeechAct("greeting", "hey", 1.6), SpeechAct("parting", said, 1.2)))
    )
    assert reply.row == "greeting" and "arewell" not in reply.text


def test_a_message_that_is_whispered_is_one_however_secretive_it_sounds():
    said = "Please tell Bram, when I am not by, that I can pay him only three silver."
    done = ("request", "tell Bram"), ("secret", said)
    reply = offline_reply.reply(request(said, *done, kind="whisper"))
    assert reply.text == "You can pay him only three silver: I will pass it on to Bram."


def test_a_message_for_a_relation_of_the_speaker_is_passed_on():
    said = "please tell my partner Dorrit, when he comes, that I've gone to Merrow on Wednesday"
    reply = offline_reply.reply(request(said, ("request", said), ("plan", "gone to Merrow")))
    assert reply.row == "request: passes on" and "your partner Dorrit" in reply.text


@pytest.mark.parametrize(
    ("said", "words", "sure"),
    [
        ("fetch me the ladder", "me", 0.3),
        ("could you mend it", "could you mend it", 0.1),
        ("two ales", "two ales", -0.3),
    ],
)
def test_an_order_is_one_however_faintly_it_is_read(said, words, sure):
    faint = request(said, acts=(SpeechAct("request", words, sure),))
    assert reactions.react(said, faint).row == "request: asked for"


@needs_model
@pytest.mark.parametrize(
    ("does", "row"),
    [
        ("tosses two pennies to mara", "settled of"),
        ("counts six pennies onto the bar in front of Mara.", "settled of"),
        ("holds up two fingers to Mara", "shown"),
        ("hugs Mara.", "touched"),
        ("bows to Mara.", "touched"),
        ("winks at mara", "touched"),
        ("throws a crust at mara", "provoked"),
        ("spits at Mara's feet", "provoked"),
        ("throws two stones at Mara", "provoked"),
        ("turns to Mara", "called"),
        ("leans over to Mara", "called"),
    ],
)
def test_a_pose_is_answered_by_what_is_done_with_it(does, row):
    reply = offline_reply.reply(request(f"Alice {does}", ("move", does), kind="pose"))
    assert reply.row == f"move: {row}"


def test_what_is_shown_in_a_pose_is_the_speakers():
    does = "slides her broken wheel across the table to Mara"
    reply = offline_reply.reply(request(f"Alice {does}", ("move", does), kind="pose"))
    assert reply.text == "Your broken wheel, Alice?"


PRICE = "A mug of dark ale costs two pennies, and a bowl of barley stew costs three pennies."


@needs_model
@pytest.mark.parametrize(
    ("said", "done", "holds"),
    [
        (
            "Then I shall have one mug of the dark ale and a bowl of the stew, please.",
            [("request", "please", 1.4)],
            "One mug of the dark ale and a bowl of the stew",
        ),
        ("one ale for me pls, im parched", [("request", "one ale for me pls", 2.6)], "One ale"),
        (
            "may I have a bowl of stew to break my fast?",
            [("request", "may I have a bowl", 1.5), ("question", "stew to break my fast", 2.3)],
            "A bowl of stew",
        ),
        (
            "I'd love a cup of tea with honey, if it isn't too much trouble.",
            [("preference", "I'd love a cup of tea", 2.2)],
            "A cup of tea",
        ),
        (
            "I would like to borrow your brass funnel until Friday",
            [("request", "I would like to borrow your brass funnel until Friday", 2.9)],
            "My brass funnel, Friday",
        ),
        ("lend me 2 pennies? pay u back nxt week", [("request", "lend me", 2.7)], ""),
    ],
)
def test_an_order_is_taken_before_a_price_is_told_and_older_orders_are_not(said, done, holds):
    priced = MemoryRecord(id="1", content=PRICE, record="taught")
    shut = MemoryRecord(id="2", content="On Friday the hall stays closed.", record="taught")
    older = MemoryRecord(
        id="3", content="I'll have 2 bowls of stew.", record="entry", speaker="Alice", about="#7"
    )
    recalled = tuple(Recalled(each, ScoreParts(1.0, 1.0), 9) for each in (priced, shut, older))
    done = tuple(SpeechAct(*each) for each in done)
    order = request(said, acts=done, recalled=recalled, given=(priced, shut), intent="SERVICE")
    order = replace(order, wanted=acts.read(heard(said)).wanted)
    for asked in (order, replace(order, surely_meant=True), replace(order, intent="")):
        reply = offline_reply.reply(asked)
        assert reply.text.startswith(holds) and {*(reply.told or ())} <= {priced.id}


@needs_model
def test_an_insult_of_what_has_a_price_is_not_answered_with_it():
    said = "you are an old skinflint and your stew is mostly water."
    priced = MemoryRecord(id="1", content=PRICE, record="taught")
    reply = offline_reply.reply(request(said, ("insult", said), given=(priced,)))
    assert reply.row == "insult: insulted"


def test_whoever_asks_for_the_price_is_told_it():
    priced = MemoryRecord(id="1", content=PRICE, record="taught")
    asks = request("what does a mug of ale cost?", ("question", "what"), given=(priced,))
    assert offline_reply.reply(asks).text == PRICE


@pytest.mark.parametrize("said", ["can i bring my goat in", "Mara, may I leave my axe here?"])
def test_who_asks_leave_is_answered_from_memory_and_promised_nothing(said):
    asks = request(said, ("request", said))
    assert "see what can be done" in offline_reply.reply(asks).text
    assert {act.kind for act in reactions.with_rules(said, asks).acts} == {"question"}


def test_a_debt_that_is_paid_in_the_same_breath_is_settled():
    said = "i bring you the two coppers i owed you. we are even now"
    owed = request(said, ("debt", "the two coppers i owed you"))
    assert reactions.react(said, reactions.with_rules(said, owed)).row == "settle: settled of"


def test_a_question_that_is_taken_for_an_alarm_alone_is_answered():
    said = "Is Bram hiding brandy somewhere, he smells of it!"
    reply = offline_reply.reply(request(said, ("alarm", "he smells of it")))
    assert reply.row == "nothing"


def test_an_alarm_is_not_followed_by_knowing_nothing():
    said = "help! cant you see hes bleeding?"
    reply = offline_reply.reply(request(said, ("alarm", "help"), ("question", said[6:])))
    assert "nothing" not in reply.text


def test_a_request_is_not_answered_with_what_somebody_said():
    said = "can i have an egg in mine, a leech fell in my boot"
    told = MemoryRecord(
        id="1", content="A leech fell in my boot.", record="entry", speaker="Alice", about="#7"
    )
    recalled = (Recalled(told, ScoreParts(1.0, 1.0), 9),)
    asks = request(said, ("request", said), recalled=recalled)
    assert "You told me" not in offline_reply.reply(asks).text


def test_what_is_asked_beside_an_order_is_answered():
    line = "put 3 pence on my slate, and who are you?"
    done = [("debt", "put 3 pence on my slate"), ("question", "and who are you?")]
    reply = offline_reply.reply(request(line, *done, intent="NAME")).text
    assert "Three pence" in reply and "Mara" in reply


@needs_model
def test_what_a_line_wants_beside_an_order_is_read(mara, alice):
    alice.execute_cmd("say Mara, put 3 pence on my slate, and who are you?")
    [reply] = own_words(mara)
    assert "Mara" in reply


@pytest.mark.parametrize(
    ("said", "done", "holds"),
    [
        ("oh n remind me its my mums nameday monday", "question", "Monday"),
        ("Remind me on Sunday to wind it? I forget.", "question", "Wind it, Sunday."),
        ("if Hob Lum looks in, would you tell him the soup is cold?", "question", "to Hob Lum"),
        ("did i say? im so proud i cried on a monk", "feeling", "Alice"),
        ("ill bring it back monday", "promise", "Monday"),
        ("platforms done, every last one", "settle", "Alice"),
        ("im off, night mara", "parting", "Alice"),
    ],
)
def test_what_is_said_first_takes_up_what_is_said(said, done, holds):
    reply = offline_reply.reply(request(said, (done, said))).text
    assert holds in reply and "nothing" not in reply and "sorry" not in reply


def test_a_question_about_a_reminder_is_no_errand():
    said = "What were you to remind me of tomorrow?"
    assert "I will remind you" not in offline_reply.reply(request(said, ("question", said))).text


@pytest.mark.parametrize(
    ("said", "wants"),
    [
        ("remind me of it on friday", True),
        ("remind me who owes me on friday", False),
    ],
)
def test_a_reminder_is_an_errand_however_it_is_asked_for(said, wants):
    assert reactions.is_kept(said) is wants


def test_what_is_to_be_asked_is_not_passed_on_as_a_message():
    said = "ask bram if he has my knife"
    assert "pass it on" not in reactions.react(said, request(said, ("request", said))).text


def test_who_thanks_and_parts_is_named_once():
    said = "thanks for the soup, mara, good night"
    done = [("thanks", "thanks for the soup"), ("parting", "good night")]
    reply = reactions.react(said, request(said, *done)).text
    assert reply.count("Alice") == 1 and reply.endswith("Alice.")


def test_a_thing_is_never_named_alone_however_often_it_thanked():
    thanked = ()
    for thing in ("mug", "spoon", "pipe", "loaf", "candle", "rope"):
        said = f"Alice gives Mara a {thing}."
        given = request(said, kind="give", phrases=TONES["gruff"], said_lately=thanked)
        thanked = (*thanked, reactions.thank_for_gift(given).text)
    assert all(len(each.split()) > len("A mug.".split()) for each in thanked)


def test_who_plans_and_parts_is_bidden_farewell_once():
    said = "Goodbye, Mara, I'll be back on Wednesday with the ribbons!"
    done = [("parting", "Goodbye"), ("plan", "I'll be back on Wednesday")]
    goes = request(said, *done, phrases=TONES["gruff"])
    assert offline_reply.reply(goes).text == "Wednesday. Right, Alice. Off with you, then."


def test_what_is_given_is_named_in_whole():
    looks = request("Alice gives Mara a tin button shaped like a boot, a bit melted.", kind="give")
    assert reactions.thank_for_gift(looks).text.startswith("A tin button!")
    given = request("Alice gives Mara Potion of Healing.", kind="give")
    assert reactions.thank_for_gift(given).text.startswith("Potion of Healing")


# --- what is read ---------------------------------------------------------------------------------


@needs_model
@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("what does a bunk cost", "question"),
        ("im so sorry about the jug", "apology"),
        ("heres the six pence i owed", "settle"),
        ("i owe you six pence, i know", "debt"),
        ("dont tell a soul but i broke it", "secret"),
        ("scratch that, i meant tuesday", "correction"),
        ("ill bring you the rope on friday", "promise"),
        ("tell bram his boat is mended", "request"),
        ("youre the best cook on the coast", "praise"),
        ("my hands wont stop shaking", "feeling"),
        ("right im off, night all", "parting"),
    ],
)
def test_what_is_done_with_a_line(said, kind):
    assert kind in {act.kind for act in acts.read(heard(said, others=())).acts}


@needs_model
def test_a_line_that_does_two_things_is_both():
    read = acts.read(heard("thanks for the soup. what do i owe", others=()))
    assert {"thanks", "question"} <= {act.kind for act in read.acts}
    [asked] = [act.text for act in read.acts if act.kind == "question"]
    assert "owe" in asked and "thanks" not in asked


@needs_model
def test_nothing_is_read_in_nothing():
    assert acts.read(heard("  ")) is None


@needs_model
def test_an_alarm_is_answered_and_teasing_among_friends_is_not():
    fire = acts.read(heard("FIRE the stable is burning, do something"))
    teased = acts.read(
        heard("lol you say that every time bram", ("Bram", "i will win this time, alice"))
    )
    assert fire.answer > 0 > teased.answer


# --- the matter -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "said", "matter"),
    [
        ("debt", "still owe you 12 pence for the rope", "twelve pence"),
        ("debt", "i owe you 2.50 for the pie", "2.50"),
        ("settle", "heres 4, rest on fri", "four"),
        ("correction", "scratch that, tuesday", "Tuesday"),
        ("request", "remind me weds the trapdoor wants oil", "the trapdoor, Wednesday"),
        ("promise", "ill bring my lute tmrw", "tomorrow"),
        ("plan", "we ride for the capital at dawn", "dawn"),
        ("debt", "ill pay 4 the stool", "the stool"),
        ("settle", "heres 4 pennies 4 the stool", "four pennies"),
        ("plan", "the hunt is off tuesday, it snows. we ride on friday instead", "Friday"),
        ("plan", "bad news, the hunt is off tuesday", ""),
        ("request", "give me two ales", ""),
        ("debt", "they'll hang me", ""),
        ("feeling", "so tired i could die", ""),
        ("feeling", "a night alone gives me a headache", ""),
        ("correction", "im not from the mill, im from under the weir", "the weir"),
        ("correction", "thats not true", ""),
        ("correction", "forgive me, not Ilvo. Ilvo resigned, this one is Pell", "Pell"),
        ("debt", "ill pay you five pence saturday, no, sunday", "five pence, Sunday"),
        ("correction", "scratch that, tuesday, i wont have money friday", "Tuesday"),
        ("correction", "News: i lodge at Pruett no longer. It is the Blue Hen now.", "Blue Hen"),
        ("correction", "i dont lodge with Pruett any more, i have a room at Odd Hall", "Odd Hall"),
    ],
)
def test_the_matter_of_what_is_said(kind, said, matter):
    assert matter_of(said, kind, {"mara"}) == matter


# --- reactions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "done", "holds"),
    [
        ("it burns! and thanks", [("thanks", "thanks"), ("alarm", "it burns")], "Show me where"),
        ("sorry, i owe 3 pence", [("apology", "sorry"), ("debt", "i owe 3 pence")], "Three pence"),
        ("keep my lute till friday", [("request", "keep my lute till friday")], "lute, Friday"),
        (
            "ta mara, night",
            [("thanks", "ta"), ("parting", "night")],
            "Good night, and sleep well, Alice",
        ),
        ("help, hes bleeding", [("alarm", "help, hes bleeding")], "Show me where"),
        ("done! i owe 3 pence", [("settle", "done"), ("debt", "i owe 3 pence")], "Three pence"),
        ("shes proud, four steps", [("feeling", "shes proud, four steps")], "I am glad"),
    ],
)
def test_the_most_pressing_act_is_answered_in_words_of_its_matter(said, done, holds):
    assert holds in reactions.react(said, request(said, *done)).text


def test_a_stock_phrase_is_not_said_twice_within_ten_turns():
    said = ()
    for number in range(3):
        line = f"right you are {number}"
        done = request(line, ("thanks", "right you are"), said_lately=said)
        said = (*said, reactions.react(line, done).text)
    assert len(set(said)) == 3


@pytest.mark.parametrize(
    ("said", "done", "reply"),
    [
        ("carry this *nods*", ("request", "move"), "I will see to it, Alice."),
        ("might i have the skull", ("question",), "I will see what can be done, Alice."),
    ],
)
def test_what_is_asked_for_is_neither_passed_over_nor_repeated(said, done, reply):
    made = reactions.react(said, request(said, *((each, said) for each in done)))
    assert made.text == reply


def test_a_debt_beside_a_question_is_said_back_before_the_answer():
    line = "put 3 pence on my slate, and who are you?"
    done = [("debt", "put 3 pence on my slate"), ("question", "who are you")]
    answer = reactions.with_answer(Reply("I am Mara."), line, request(line, *done)).text
    assert answer.startswith("Three pence") and answer.endswith("I am Mara.")


def test_what_its_builder_would_have_it_say_is_said():
    line = "im off, night"
    own = request(line, ("parting", "night"), phrases={"parting at night": ("Doors at ten.",)})
    assert offline_reply.reply(own).text == "Doors at ten."


# --- in company -----------------------------------------------------------------------------------


def own_words(npc):
    return [each.content for each in npc.memory.journal.tail(50) if each.origin == "self"]


@needs_model
def test_an_alarm_in_company_is_answered_though_it_names_nobody(mara, alice, bram):
    alice.execute_cmd("say HELP the stove has caught fire, somebody do something!!")
    assert own_words(mara)


@needs_model
def test_an_alarm_amid_the_talk_of_others_is_answered_too(mara, alice, bram):
    alice.execute_cmd("say bram did you bring the net?")
    bram.execute_cmd("say course i did, its in the boat")
    assert not own_words(mara)
    alice.execute_cmd("say HELP the stove has caught fire, water, quick!")
    assert own_words(mara)


def test_what_it_knows_and_an_errand_are_its_to_answer_amid_the_talk_of_others():
    said = HeardLine("#2", "did you bring the net", 90.0, own_names=("mara",), others=(("bram",),))
    floor = Floor().heard(said).heard(replace(said, speaker="#3", at=95.0))
    line = replace(said, text="nine coppers is too much", at=100.0)

    def answered(**more):
        read = LineReading((SpeechAct("world", line.text),), 4.0, **more)
        return judged(read, line, floor, spent=False)

    assert not answered()
    assert answered(known=0.8, lead=4.0, errand=True)
    assert not answered(lead=-4.0, errand=True)


@needs_model
def test_friends_who_talk_with_each_other_are_left_alone(mara, alice, bram):
    alice.execute_cmd("say bram did you bring the net")
    bram.execute_cmd("say course i did, its in the boat")
    alice.execute_cmd("say good lad, then we go at dawn")
    assert not own_words(mara)


# --- the data -------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", talks.files(), ids=lambda file: file.stem)
def test_every_talk_can_be_read(file):
    lines = list(talks.read(file))
    assert len(lines) > 100
    assert all(each.acts for each in lines)


def test_a_talk_that_is_none_is_refused_by_name(tmp_path):
    file = tmp_path / "z.txt"
    file.write_text("TALK z-1 | Mara | a keeper | Nell\nNell> hi || + || howl: hi\n")
    with pytest.raises(ValueError, match="howl"):
        list(talks.read(file))


def test_a_wave_good_bye_is_answered_with_one():
    done = "Alice waves goodbye to Mara and yawns."
    reply = offline_reply.reply(request(done, ("move", done), kind="pose"))
    assert reply.row.endswith("parting")
