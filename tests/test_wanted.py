"""Which reaction a line wants: what is read of it, and what is said then."""

from dataclasses import replace

import pytest

from benchmarks import wanted
from contrib_ai_memory.embedding.model import not_installed
from contrib_ai_memory.offline import acts, offline_reply, reactions
from contrib_ai_memory.offline.phrases import PHRASES, TONES
from contrib_ai_memory.offline.reactions import WANTED
from contrib_ai_memory.records import (
    BUILDER,
    LineInTalk,
    LineReading,
    MemoryRecord,
    Message,
    Recalled,
    ReplyRequest,
    ScoreParts,
    SpeechAct,
    TalkLine,
)

needs_model = pytest.mark.skipif(bool(not_installed()), reason="the local model is not installed")


def request(said, kind, share, *done, **more):
    given = ReplyRequest(
        npc_name="Mara",
        persona="",
        speaker="Alice",
        speaker_id="#7",
        utterance=said,
        now="2026-11-26T12:00:00+00:00",
        npc_names=("Mara",),
        acts=tuple(SpeechAct(*each) for each in done),
        wanted=((kind, share),),
    )
    return replace(given, **more)


def bram_said(content):
    line = MemoryRecord(
        id="1",
        content=content,
        speaker="Bram",
        record="entry",
        journal_ids=(1,),
        created_at="2026-11-25T12:00:00+00:00",
    )
    return (Recalled(line, ScoreParts(1.0, 1.0), 9),)


@needs_model
@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("My sister had her baby last night! A girl!", "glad"),
        ("I'm going to marry Cora's sister, Mara! She said yes!", "glad"),
        ("I once wrestled a pike as long as this bar, barehanded.", "boast"),
        ("He's fine everybody, no harm done.", "relief"),
        ("I take it all back, you are no thief.", "retract"),
        ("Mara, help me lift it!", "help"),
        ("Mara, I'm scared of going on that boat tommorow.", "fear"),
        ("Mara, sing us something!", "perform"),
        ("sorry Mara, that was mean. I didn't mean it", "sorry"),
        ("how much is a mug of ale", "know"),
    ],
)
def test_which_reaction_a_line_wants_is_read(said, kind):
    heard = LineInTalk(TalkLine("Alice", said, "say"), ("Mara",), ("Alice", "Bram"), ())
    best, share = acts.read(heard).wanted[0]
    assert (best, share > 0.5) == (kind, True)


def test_every_kind_has_a_phrase_in_every_tone_that_has_any():
    assert set(WANTED) <= {*acts.WANTED}
    assert set(WANTED.values()) <= {*PHRASES}
    for phrases in TONES.values():
        assert set(phrases) <= {*PHRASES}


@pytest.mark.parametrize(
    ("said", "kind", "done", "row"),
    [
        ("Thief!", "danger", ("claim_self", "Thief", 1.0), "alarm: alarm"),
        ("I've been made mate.", "glad", ("boast", "mate", 1.0), "glad: glad"),
        ("knock knock", "riddle", ("claim_self", "knock", 1.0), "riddle: riddle"),
        ("I got the sack.", "hardship", ("claim_self", "I got", 1.0), "hardship: sorry"),
    ],
)
def test_what_the_acts_take_up_with_nothing_is_reacted_to(said, kind, done, row):
    assert offline_reply.reply(request(said, kind, 0.9, done)).row == row


def test_a_reaction_that_is_not_sure_leaves_it_to_the_acts():
    said = request("I've been made mate.", "glad", 0.3, ("boast", "mate", 1.0))
    assert offline_reply.reply(said).row == "boast: heard"


@pytest.mark.parametrize(
    ("said", "kind", "done", "holds"),
    [
        ("Here's your six coppers, bless you.", "thanked", "settle", "Six coppers"),
        ("A pie and an ale, here's three coppers.", "order", "settle", "Three coppers"),
        ("I start my new job on Monday!", "glad", "plan", "Monday"),
        ("Tell Bram the stable is on fire!", "fire", "request", "pass it on to Bram"),
        ("No no, I said two crowns, not ten.", "corrects", "correction", "Two crowns"),
        ("ur bells sound like wet buckets lol", "praised", "insult", "called worse"),
    ],
)
def test_what_is_said_back_or_kept_is_so_whatever_is_wanted(said, kind, done, holds):
    assert holds in offline_reply.reply(request(said, kind, 0.95, (done, said, 3.0))).text


@pytest.mark.parametrize(
    ("said", "kind", "share"),
    [
        ("My sister lives in Oldford.", "loss", 0.6),
        ("We lost everything!", "glad", 0.55),
        ("forgot my crate lol", "corrects", 0.6),
        ("you have soot on your nose", "insult", 0.6),
    ],
)
def test_what_jars_where_it_is_wrong_is_said_where_it_is_sure_alone(said, kind, share):
    def row(sure):
        return offline_reply.reply(request(said, kind, sure, ("claim_self", said, 1.0))).row

    assert row(share) == "claim_self: heard"
    assert row(0.9).startswith(kind)


def test_thanks_do_not_keep_a_question_from_being_answered():
    known = bram_said("I live behind the smithy.")
    said = "Thank you. Where does Bram live?"
    act = ("question", "Where does Bram live?", 3.0)
    asked = request(said, "thanked", 0.8, act, recalled=known)
    assert "smithy" in offline_reply.reply(asked).text


@pytest.mark.parametrize("said", ["gives Cora a silver coin", "puts five coppers in her purse"])
def test_what_is_given_to_somebody_else_is_no_payment(said):
    posed = replace(request(f"Alice {said}", "pay", 0.9, ("move", said, 2.0)), kind="pose")
    assert offline_reply.reply(posed).row != "pay: settled"


def test_troubles_that_are_not_told_apart_get_sympathy():
    said = request("it got away from me again", "low", 0.4, ("claim_self", "it", 1.0))
    troubled = replace(said, wanted=(("low", 0.4), ("fear", 0.38)))
    assert offline_reply.reply(said).row == "claim_self: heard"
    assert offline_reply.reply(troubled).row == "hardship: sorry"


def test_a_deed_is_not_answered_as_words_are():
    posed = request("Alice sits down on the tiles.", "agree", 0.9, ("move", "sits down", 2.0))
    assert offline_reply.reply(replace(posed, kind="pose")).row != "agree: answered"


@pytest.mark.parametrize(("share", "row"), [(0.05, "claim_self: heard"), (0.2, "parting: parting")])
def test_an_act_is_done_that_is_read_less_surely_where_its_reaction_bears_it_out(share, row):
    acts_read = ("parting", "back to the boats", 0.5), ("claim_self", "then", 0.5)
    said = request("back to the boats then", "other", 0.3, *acts_read)
    said = replace(said, wanted=(("other", 0.3), ("part", share)))
    assert offline_reply.reply(said).row == row


@pytest.mark.parametrize(("kind", "row"), [("glad", "feeling: glad"), ("low", "feeling: sorry")])
def test_what_is_felt_is_a_joy_or_a_trouble_by_its_reaction(kind, row):
    felt = request("i cannot believe it", kind, 0.4, ("feeling", "i cannot believe it", 3.0))
    assert offline_reply.reply(felt).row == row


@pytest.mark.parametrize(
    ("said", "wanted", "alarmed"),
    [
        ("Me arm! It bleeds!", {"wound": 0.6, "help": 0.3}, True),
        ("Help me lift it!", {"help": 0.7, "wound": 0.2}, False),
        ("It smokes.", {"fire": 0.9}, False),
        ("They caught the thief!", {"danger": 0.9}, False),
    ],
)
def test_a_cry_is_an_alarm_and_a_report_or_a_call_for_a_hand_is_none(said, wanted, alarmed):
    assert reactions.is_alarm(said, LineReading((), 0.0, (), tuple(wanted.items()))) == alarmed


def test_news_that_are_read_as_a_question_are_not_unknown():
    said = "you will never believe it, my little girl walked"
    news = request(said, "glad", 0.9, ("question", said, 3.0))
    assert offline_reply.reply(news).row == "glad: glad"


def test_what_is_kept_to_itself_is_promised_whatever_is_wanted():
    done = ("secret", "between us", 3.0)
    said = request("between us, my eyes are going", "fear", 0.99, done, confided=True)
    assert offline_reply.reply(said).row == "secret: confided"


def test_a_joke_is_not_looked_up_and_a_question_is():
    known = bram_said("The eel crossed the weir to get to the other slide.")
    said = "Why did the eel cross the weir?"
    act = ("question", said, 3.0)
    joke = offline_reply.reply(request(said, "joke", 0.9, act, recalled=known))
    assert joke.row == "joke: joked" and not joke.told
    asked = offline_reply.reply(request(said, "know", 0.9, act, recalled=known))
    assert asked.row != "joke: joked"


@pytest.mark.parametrize(
    ("said", "others", "row"),
    [
        ("Do you believe me?", (), "view: own view"),
        ("What did Bram say of it?", (("know", 0.3),), "nothing"),
        ("What did Bram say of it?", (), "view: own view"),  # hardly to be known
    ],
)
def test_what_is_asked_of_its_feelings_is_not_unknown_to_it(said, others, row):
    asked = request(said, "view", 0.6, ("question", said, 3.0))
    asked = replace(asked, wanted=(*asked.wanted, *others))
    assert offline_reply.reply(asked).row == row


def test_who_asks_leave_is_answered_by_the_rule_of_the_house():
    rule = MemoryRecord(id="1", content="Dogs stay out of the snug.", record="taught")
    asked = request("can i bring my dog into the snug", "favour", 0.9, given=(rule,))
    assert "Dogs stay out" in offline_reply.reply(asked).text
    other = replace(asked, utterance="can i borrow your ladder")
    assert "Dogs" not in offline_reply.reply(other).text


def test_a_line_of_no_clear_kind_that_asks_is_looked_up():
    said = "Have you seen my brother?"
    act = ("question", said, 3.0)
    unclear = request(said, "fear", 0.4, act)
    assert offline_reply.reply(unclear).row == "nothing"
    assert offline_reply.reply(replace(unclear, wanted=(("fear", 0.8),))).row != "nothing"


def test_news_are_not_looked_up_though_they_ask_whether_one_heard():
    said = "did you hear? Alice is a grandmother!"
    news = request(said, "news", 0.4, ("question", "did you hear", 3.0), ("claim_other", said, 1.0))
    assert "see what" not in offline_reply.reply(news).text


@pytest.mark.parametrize(
    ("said", "row"),
    [("off i pop, Mara", "part: parting"), ("me for my bed, Mara", "part: parting at night")],
)
def test_who_takes_leave_is_bidden_farewell_though_it_reads_as_an_order(said, row):
    assert offline_reply.reply(request(said, "part", 0.9, ("order", said, 0.5))).row == row


# --- the data -------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", sorted(wanted.FOLDER.glob("*.txt")), ids=lambda file: file.stem)
def test_every_file_of_lines_can_be_read(file):
    assert len(list(wanted.written(file))) > 300


def test_the_labels_of_talks_and_stays_are_as_many_as_their_lines():
    assert sum(bool(each.wanted) for each in wanted.of_talks()) > 5000
    assert sum(bool(each.wanted) for each in wanted.of_stays()) == 276


def test_a_kind_that_is_none_is_refused_by_name(tmp_path):
    file = tmp_path / "z.txt"
    file.write_text("greet | hello\nhowl | aroo\n")
    with pytest.raises(ValueError, match=r"z.txt, line 2: .*howl"):
        list(wanted.written(file))


@pytest.mark.parametrize(
    ("said", "kind", "share", "done", "row"),
    [
        ("Madam, a very good day to you.", "greet", 0.45, ("greeting", 1.1), "greeting"),
        ("alrite mara me ansum", "greet", 0.44, ("request", 1.8), "greeting"),
        ("ok ok im not gonna", "agree", 0.55, ("correction", 0.0), "agree: answered"),
        ("fine. flippin eck", "agree", 0.71, ("order", 0.8), "agree: answered"),
        ("bet thee a herrin he falls in by sunday", "wager", 0.8, ("request", 0.1), "wager: wager"),
        ("oh no he is not moving", "wound", 0.5, ("correction", -0.2), "claim_self: heard"),
        ("It's gone quiet. He waves.", "relief", 0.79, ("alarm", 2.9), "relief: relieved"),
        ("I remember when it had horses.", "self", 0.6, ("feeling", 1.1), "feeling: heard"),
        ("Ta-ra, missus. Sleep well.", "part", 0.43, ("greeting", 2.8), "part: parting at night"),
        ("Phew, thank t'Lord.", "relief", 0.5, ("thanks", 0.7), "relief: relieved"),
        ("Cold night, people!", "greet", 0.33, ("parting", 1.2), "claim_self: heard"),
        ("What's black and white all over?", "riddle", 0.61, ("question", 4.0), "riddle: riddle"),
        ("what do u think, grey or white", "view", 0.47, ("question", 4.3), "own view"),
        ("You play with me one game, yes?", "wager", 0.55, ("question", 2.4), "wager: wager"),
    ],
)
def test_a_kind_that_is_clear_goes_before_an_act_that_is_not(said, kind, share, done, row):
    act, sure = done
    asked = request(said, kind, share, (act, said, sure))
    if act == "question":  # which memory is asked first
        asked = replace(asked, wanted=(*asked.wanted, ("know", 0.15)))
    assert offline_reply.reply(asked).row == row


def test_what_is_told_in_confidence_is_no_message():
    said = "tell nob'dy, i still love the daft get"
    done = ("request", "tell nob'dy", 1.0), ("secret", said, 2.0)
    told = replace(request(said, "secret", 0.81, *done), kind="whisper", confided=True)
    assert offline_reply.reply(told).row == "secret: confided"


@pytest.mark.parametrize(
    ("said", "row"),
    [
        ("puts three pounds forty in the saucer", "settle: settled of"),
        ("taps her card on the reader", "pay: settled"),
    ],
)
def test_who_pays_in_a_pose_need_not_name_whom(said, row):
    posed = request(f"Alice {said}", "pay", 0.92, ("move", said, 4.0))
    assert offline_reply.reply(replace(posed, kind="pose")).row == row


def test_only_what_is_the_speakers_is_named_where_they_are_pitied():
    said = "I feel a little faint, to tell the truth."
    asked = request(said, "hardship", 0.4, ("feeling", said, 3.1))
    assert "truth" not in offline_reply.reply(asked).text


TAUGHT = (
    "A hot bath costs four coppers, and a cold plunge costs one copper.",
    "My cat is called Soot; she sleeps on the boiler.",
)


def asked_of_what_was_taught(said, *heard, said_lately=()):
    given = tuple(
        MemoryRecord(id=str(n), content=each, record="entry", provider=BUILDER)
        for n, each in enumerate(TAUGHT)
    )
    line = LineInTalk(TalkLine("Alice", said, "say"), ("Mara",), ("Alice", "Bram"), ())
    read = acts.read(line)
    asked = replace(request(said, "know", 0.9), acts=read.acts, wanted=read.wanted)
    talk = tuple(Message(n, "assistant", "Mara", each) for n, each in enumerate(heard))
    asked = replace(asked, given=given, conversation=talk, said_lately=said_lately)
    return offline_reply.reply(asked).text


@needs_model
def test_an_order_is_taken_and_its_price_told():
    reply = asked_of_what_was_taught("gimme a cold plunge pls")
    assert reply.startswith("A cold plunge: coming") and "costs one copper" in reply


@needs_model
def test_an_order_is_not_answered_with_what_the_npc_is():
    said = "gimme a mug of dark ale pls"
    order = request(said, "order", 0.9, ("request", said, 3.0), persona="Mara wipes the same mug.")
    assert offline_reply.reply(order).text == "A mug of dark ale: coming, Alice."


@needs_model
def test_what_was_taught_is_not_told_whole_twice():
    assert asked_of_what_was_taught("where does your cat sleep?") == TAUGHT[1]
    again = asked_of_what_was_taught("where does your cat sleep?", TAUGHT[1])
    assert again == "She sleeps on the boiler."
    # it was whispered to somebody else
    told = asked_of_what_was_taught("where does your cat sleep?", said_lately=TAUGHT[1:])
    assert told == TAUGHT[1]


def test_a_day_that_is_given_up_is_not_the_new_one():
    said = "Nay, I'll not manage Monday. Wednesday it is."
    done = ("correction", "I'll not manage Monday", 0.9)
    assert offline_reply.reply(request(said, "corrects", 0.3, done)).text.startswith("Wednesday")


def test_who_brings_money_back_and_is_square_has_settled():
    said = "There's thy two coppers back, missus. We're square."
    done = ("settle", "There's thy two coppers back", 0.2)
    assert offline_reply.reply(request(said, "corrects", 0.6, done)).row.startswith("settle: ")
