"""Debts, promises, gifts and messages as players type them."""

import re

import pytest
from evennia.utils.create import create_object
from talk_scene import states, turn

from contrib_ai_memory.english import commitments

# --- debts ----------------------------------------------------------------------------------------


def test_a_debt_that_the_creditor_calls_paid_is_paid(says, alice, bram):
    says(alice, "hello")
    turn(alice, bram)
    says(bram, "alice borrowed seven shillings off me for a saddle, she still owes me")
    turn(bram, alice)
    says(alice, "aye i owe bram seven shillings, i'll pay him on friday")
    assert "You owe Bram" in says(alice, "do i owe anyone money?")
    turn(alice, bram)
    says(bram, "i've had my seven shillings off alice, so she's paid up")
    assert says(bram, "does alice still owe me?").startswith("No.")
    turn(bram, alice)
    assert says(alice, "do i owe anyone money?").startswith("No.")


def test_what_somebody_paid_for_is_still_owed_to_them(says, alice, bram):
    bram.location = alice.location
    says(bram, "good evening")
    says(alice, "i owe bram nine groats mara, he paid for me new coat")
    assert "You owe Bram nine groats" in says(alice, "how much do i owe bram?")
    assert "nine groats" in says(bram, "who's in my debt?")
    says(bram, "alice's settled up with me, the nine groats is square now")
    assert "You owe" not in says(alice, "do i owe bram owt?")


def test_a_correction_of_something_else_closes_no_debt(says, alice, bram):
    bram.location = alice.location
    says(bram, "good evening")
    says(alice, "i owe bram two crowns, he found my tortoise when it went missing")
    says(alice, "ive a tortoise by the name of Pebble")
    says(alice, "no no, its not Pebble, i misspoke. the tortoise is Boulder")
    assert "two crowns" in says(alice, "how much do i owe bram?")


def test_what_is_paid_where_it_is_named_and_an_apology_are_not_owed(says, mara, alice):
    says(alice, "Here, Mara, two coppers for the beers on my slate. We are even!")
    says(alice, "I owe you an apology for the two things I said about your fleas.")
    assert [item.state for item in mara.memory.agenda if item.kind == "debt"] == []


@pytest.mark.parametrize(
    "said",
    [
        "my men are paid well",
        "the smith is paid now",
        "it's settled, we wed in may",
        "i settled with the tailor",
        "that's not bram! that's Rolf over there",
    ],
)
def test_what_others_are_paid_closes_no_debt(says, alice, bram, said):
    bram.location = alice.location
    says(bram, "good evening")
    says(alice, "I owe Bram three marks.")
    says(alice, said)
    assert "You owe Bram three marks" in says(alice, "do i owe anybody?")


@pytest.mark.parametrize(
    "said", ["Bram lent me his mule for the week", "bram here owes me four crowns for a jug"]
)
def test_what_others_owe_one_another_is_heard_and_not_reckoned(says, alice, bram, said):
    answers = [says(alice, said) for _ in range(3)]
    assert not re.search("reckon|book|not forget", " ".join(answers)), answers


def test_what_is_owed_to_the_npc_is_reckoned(says, alice):
    assert "Five pips" in says(alice, "i owe you five pips")


@pytest.mark.parametrize(
    "question",
    [
        "my candle went green under the tannery once, what are you meant to do",
        "what have you promised to make me?",
    ],
)
def test_a_question_of_another_matter_is_not_answered_with_what_is_due(says, bram, alice, question):
    bram.location = alice.location
    says(bram, "remind me tomorrow to water the goats, mara")
    says(bram, "i'll bring you two of the goats tomorrow, mara")
    assert "goats" not in says(alice, question)


@pytest.mark.parametrize(
    "said",
    ["i owe nobody mara, i paid for everything", "i owe you nothing now, i've paid for the ale"],
)
def test_who_owes_nothing_has_no_debt(mara, says, alice, said):
    says(alice, said)
    assert not list(mara.memory.agenda)


def test_a_request_is_called_off_with_a_not(says, alice):
    says(alice, "mend my boots by friday please")
    says(alice, "never mind the boots mara, not now")
    assert "mend" not in says(alice, "what did i ask of you?")


def test_what_is_never_to_be_told_is_no_message(says, alice, bram):
    says(bram, "good evening")
    says(alice, "never tell Bram Nell kissed Rolf")
    turn(alice, bram)
    assert "kissed" not in says(bram, "any word for me?")
    assert "kissed" not in says(bram, "who did nell kiss?")


def test_what_is_borrowed_is_owed(says, alice, bram):
    bram.location = alice.location
    says(bram, "good evening")
    says(alice, "i borrowed six crowns from bram for ink and vellum")
    assert "You owe Bram six crowns" in says(alice, "do i owe anybody anything?")
    says(bram, "alice's paid me back the six crowns, we're square")
    assert "You owe" not in says(alice, "do i owe bram owt?")


def test_a_farewell_until_tomorrow_promises_nothing(mara, says, alice):
    says(alice, "i shall take my leave, mara. until tomorrow")
    assert not [item for item in mara.memory.agenda if item.kind == "promise"]


def test_what_another_promised_is_told(says, alice, bram):
    says(alice, "you'll have your barrel of cider by sunday mara, my word on it")
    turn(alice, bram)
    assert "barrel of cider" in says(bram, "what did alice promise you?")


def test_whether_another_promised_anything_is_told(says, alice, bram):
    says(alice, "you'll have your barrel of cider by sunday mara, my word on it")
    turn(alice, bram)
    assert "barrel of cider" in says(bram, "did alice promise you anything?")


@pytest.mark.parametrize("sum_owed", ["2.50", "2,50", "three coins"])
def test_a_sum_that_is_paid_whole_is_owed_no_more(says, alice, sum_owed):
    says(alice, f"i owe you {sum_owed} for the pie")
    assert f"You owe me {sum_owed}" in says(alice, "what do i owe you?")
    says(alice, "here is 1 of it, mara")
    assert f"You owe me {sum_owed}" in says(alice, "what do i owe you?")
    says(alice, f"here is {sum_owed}")
    assert says(alice, "what do i owe you?").startswith("Nothing is open that I know of")


def test_what_is_put_on_the_slate_is_owed(says, alice, bram):
    says(alice, "put two bowls of broth on my slate will you, i'll settle friday")
    assert says(alice, "when did i say i'd settle?").startswith("You owe me two bowls.")
    turn(alice, bram)
    assert "Alice owes me two bowls." in says(bram, "what do people owe you?")


def test_what_is_owed_to_somebody_named_is_not_told_by_what_others_are_owed(says, alice, bram):
    bram.location = alice.location
    says(bram, "good evening")
    says(alice, "you owe me three marks for the eels")
    says(alice, "could you keep this for me? my dads compass")
    says(alice, "i owe Bess Alder twelve shillings")
    assert says(alice, "what do you owe?").startswith("I owe you three marks.")
    for asked in ("how much do you owe Brannoch?", "do i owe bram?"):
        answer = says(alice, asked)
        assert not re.search("three marks for|compass|Bess", answer), (asked, answer)


# --- debts, gifts, messages and places in players' words ------------------------------------------


def test_gifts_are_told_however_they_are_asked_for(says, alice):
    create_object("typeclasses.objects.Object", key="velvet mask", location=alice)
    says(alice, "give velvet mask to Mara", "")
    for question in ("what've i given you so far?", "what presents have you had from me"):
        assert "velvet mask" in says(alice, question)


def test_gifts_of_others_are_told_too(says, alice, bram):
    create_object("typeclasses.objects.Object", key="velvet mask", location=alice)
    says(alice, "give velvet mask to Mara", "")
    turn(alice, bram)
    assert says(bram, "what did alice hand you earlier?").startswith("Alice gave me a velvet mask")


def test_who_is_mentioned_beside_is_no_giver(says, alice, bram):
    for who, thing in ((alice, "velvet mask"), (bram, "brass key")):
        turn(bram if who is alice else alice, who) if who.location is None else None
        create_object("typeclasses.objects.Object", key=thing, location=who)
        says(who, f"give {thing} to Mara", "")
    turn(bram, alice)
    assert "velvet mask" in says(alice, "what did i give you? bram says it was nothing")


def test_who_gave_nothing_is_not_told_to_have(says, alice, bram):
    says(alice, "i was out on the moor with the dogs all day")
    turn(alice, bram)
    assert says(bram, "what did alice give you?") == "Alice has given me nothing that I remember."


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("pass on to bram that the salve worked a treat", "The salve worked a treat"),
        ("would you let bram know i need him to hold the ladder?", "I need you to hold the ladder"),
        ("tell bram rowena had kittens", "Rowena had kittens"),
    ],
)
def test_a_message_is_passed_on_to_somebody(says, alice, bram, asked, told):
    bram.location = alice.location
    says(bram, "good evening")
    says(alice, asked)
    turn(alice, bram)
    assert f'"{told}."' in says(bram, "any messages?")


@pytest.mark.parametrize(
    "question",
    [
        "what do they call this place?",
        "where am i mara? had one too many",
        "remind me mara, which inn am i in?",
    ],
)
def test_the_place_is_told_in_the_middle_of_a_talk(says, alice, mara, question):
    says(alice, "my sister Nell is a midwife")
    says(alice, "what do you know of Nell?")
    assert mara.location.key in says(alice, question)


# --- what is kept, put off and stated in short ----------------------------------------------------


@pytest.mark.parametrize(
    ("owed", "given", "state"),
    [
        ("bram them 5 crowns from cards, i owe you them, u get em the 25th", "five", "done"),
        ("i owe bram nine crowns", "three", "open"),
    ],
)
def test_a_gift_that_is_seen_pays_what_was_owed(says, mara, alice, bram, owed, given, state):
    bram.location = alice.location
    says(bram, "good evening")
    says(alice, owed)
    says(alice, f"pose gives Bram {given} crowns.", "")
    assert set(states(mara).values()) == {state}


def test_what_is_put_off_is_due_on_the_new_day_alone(says, mara, alice, bram):
    bram.location = alice.location
    says(bram, "good evening")
    says(alice, "bram i'll pay you back the forty on friday, swear")
    says(alice, "ok so. payday got moved. wednesday. on my life")
    assert [item.due for item in mara.memory.agenda] == ["2026-11-25"]


def test_a_plan_is_called_off_by_what_somebody_will_not_do(says, mara, alice):
    says(alice, "i'm taking the vows at the chapel on friday")
    says(alice, "im not taking the vows at the chapel. i decided!!!")
    assert set(states(mara).values()) == {"done"}


@pytest.mark.parametrize(
    "said",
    [
        "Sorry I'm late, I will fix your roof on monday.",
        "I'm going to the fair tomorrow instead of working.",
        "My sister's wedding is moved to sunday.",
    ],
)
def test_what_is_late_of_itself_moves_no_debt(says, mara, alice, bram, said):
    bram.location = alice.location
    says(alice, "I'll pay you five coppers on friday.")
    says(alice, said)
    assert "2026-11-27" in [item.due for item in mara.memory.agenda]


@pytest.mark.parametrize(
    ("promise", "gift"),
    [
        ("I'll sing for you on friday, promise.", "an empty mug"),
        ("We leave for Wick on friday with three horses", "three apples"),
    ],
)
def test_another_gift_keeps_no_promise(says, mara, alice, promise, gift):
    says(alice, promise)
    create_object("typeclasses.objects.Object", key=gift, location=alice)
    says(alice, f"give {gift} to Mara", "")
    assert set(states(mara).values()) == {"open"}


@pytest.mark.parametrize(
    "pose", ["gives Bram a smile and a nod.", "gives up on the goat and sits by Mara."]
)
def test_a_gesture_pays_nothing(says, mara, alice, bram, pose):
    bram.location = alice.location
    says(bram, "good evening")
    says(alice, "I owe Bram three coins")
    says(alice, f"pose {pose}", "")
    assert set(states(mara).values()) == {"open"}


def test_a_message_that_was_told_is_no_news_to_whom_it_was_for(says, alice, bram):
    says(alice, "tell bram the boat is mended")
    says(alice, "the lower ford is flooded again")
    turn(alice, bram)
    assert "boat is mended" in says(bram, "how are you?")
    assert "boat" not in (told := says(bram, "what's new?"))
    assert "ford" in told


# --- what is owed and paid ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        "I think I owe you another penny for the second towel. Here it is.",
        "i still owe u 2 pence for the ale, here you go",
        "I owe you for the towel. Here's a penny.",
    ],
)
def test_what_is_owed_and_paid_in_one_breath_is_paid(says, mara, alice, said):
    assert "reckon" not in (answer := says(alice, said))
    assert re.search("paid|Thank you", answer)
    assert not list(mara.memory.agenda)


@pytest.mark.parametrize(
    "said",
    ["There you are, Mara! I owe you five marks.", "I owe you a mark, if you'll take it"],
)
def test_what_is_owed_and_not_handed_over_is_owed(says, mara, alice, said):
    says(alice, said)
    assert set(states(mara).values()) == {"open"}


@pytest.mark.parametrize(
    "said",
    ["I owe you five marks. Here are two.", "i owe you 5, here you go, 2, the rest on friday"],
)
def test_what_is_paid_in_part_in_one_breath_is_owed(says, mara, alice, said):
    says(alice, said)
    assert set(states(mara).values()) == {"open"}


@pytest.mark.parametrize(
    ("owed", "done", "state"),
    [
        ("I owe you a penny for the bun", "presses a penny into Mara's palm.", "done"),
        ("I owe you a penny for the bun", "slides one penny across the counter to Mara.", "done"),
        ("i owe you tuppence for the ale", "drops tuppence in Mara's hand.", "done"),
        ("I owe you three marks for the hay", "counts three marks into Mara's hand.", "done"),
        ("put it on me slate, i'll cough up friday", "drops three pence in Mara's palm.", "done"),
        ("I owe you three marks for the hay", "puts one mark on the counter for Mara.", "open"),
        ("I owe you a silver for the hay", "puts a silver ring before Mara.", "open"),
        ("I owe you three marks for the hay", "throws three marks at Mara.", "open"),
        ("I owe you three marks for the hay", "puts three marks in his purse by Mara.", "open"),
    ],
)
def test_a_pose_that_hands_over_what_is_owed_pays_it(says, mara, alice, owed, done, state):
    says(alice, owed)
    answer = says(alice, f"pose {done}", "")
    assert set(states(mara).values()) == {state}
    assert state == "open" or "paid" in answer


def test_what_is_handed_to_another_pays_no_debt_to_the_npc(says, mara, alice, bram):
    bram.location = alice.location
    says(bram, "good evening")
    says(alice, "I owe you three marks for the hay")
    says(alice, "pose slides three marks over to Bram with a nod to Mara.", "")
    assert set(states(mara).values()) == {"open"}


def test_one_coin_pays_one_debt(says, mara, alice):
    says(alice, "I owe you a penny for the towel.")
    says(alice, "I owe you a penny for the bun.")
    says(alice, "pose hands Mara a penny.", "")
    assert sorted(item.state for item in mara.memory.agenda) == ["done", "open"]


@pytest.mark.parametrize(
    "said",
    [
        "i only got 2 pence on me can i owe u the rest",
        "ive just 2 pence, put the rest on my slate",
        "I have only two pence with me. May I owe you the rest?",
    ],
)
def test_what_somebody_has_is_not_what_they_owe(says, mara, alice, said):
    assert not re.search("two pence|2 pence", says(alice, said).lower())
    create_object("typeclasses.objects.Object", key="pence", location=alice)
    says(alice, "give pence to Mara", "")
    says(alice, "pose gives Mara two pence.", "")
    assert set(states(mara).values()) == {"open"}
    assert "the rest" in (answer := says(alice, "what do i owe u")) and "owe me two" not in answer
    says(alice, "heres the rest")
    assert set(states(mara).values()) == {"done"}


def test_the_rest_of_a_debt_is_no_second_one(says, mara, alice):
    says(alice, "I owe you five pence for the soap.")
    says(alice, "here's two pence, I'll bring the rest on friday")
    [owed] = mara.memory.agenda
    assert (owed.state, owed.due) == ("open", "2026-11-27")


def test_who_is_told_to_pay_owes(says, mara, alice, bram):
    bram.location = alice.location
    says(bram, "good evening")
    says(alice, "say Bram, pay me the three marks on Friday.", "")
    [owed] = mara.memory.agenda
    name = mara.memory.people.name_of
    assert (name(owed.who), name(owed.to)) == ("Bram", "Alice")


@pytest.mark.parametrize("said", ["Rolf has to pay me five marks by Friday.", "They must pay me."])
def test_what_others_have_to_pay_is_not_the_listeners_debt(said):
    assert commitments.sides(said) != ("you", "me")


@pytest.mark.parametrize(
    "said",
    [
        "I'll shift yer coal for yer Thursday, missus, that's a promise.",
        "i'll mend your fence for you on thursday",
        "I shall bring you some pears on Thursday.",
    ],
)
def test_what_is_done_for_the_npc_on_a_day_is_promised(says, mara, alice, said):
    says(alice, "hello")
    answer = says(alice, said)
    assert "Thursday" in answer and "luck" not in answer and re.search("count on|kind of", answer)
    [promise] = mara.memory.agenda
    assert (promise.kind, promise.due) == ("promise", "2026-11-26")


@pytest.mark.parametrize(
    "said",
    [
        "I said Thursday, but it's Friday I'm goin'.",
        "i said thursday but i meant friday",
        "I told you Thursday but it will be Friday.",
    ],
)
def test_a_day_that_was_said_wrong_is_moved_and_said_back(says, mara, alice, said):
    says(alice, "I'm off up Saltby way on Thursday.")
    says(alice, "how is trade?")
    assert "Friday" in says(alice, said)
    [plan] = mara.memory.agenda
    assert plan.due == "2026-11-27"


# --- reminders and messages -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "parting"),
    [
        ("please remind me to take my bag when I leave.", "Goodbye. I am leaving now."),
        ("remind me about my bag when i go", "right im off, cya"),
        ("before i go, remind me to take my bag", "good night mara"),
    ],
)
def test_a_reminder_for_when_somebody_goes_is_due_as_they_go(says, mara, alice, asked, parting):
    says(alice, "hello")
    says(alice, asked)
    assert "bag" not in says(alice, "thank you")
    assert "bag" in says(alice, parting)
    assert set(states(mara).values()) == {"done"}
    assert "bag" not in says(alice, "bye")


def test_a_reminder_for_elsewhere_is_not_due_at_a_goodbye(says, mara, alice):
    says(alice, "remind me to buy candles when i go to market")
    assert "candles" not in says(alice, "bye mara")
    assert set(states(mara).values()) == {"open"}


def test_of_what_to_remind_is_told_without_when():
    assert commitments.reminder("remind me when i leave that i need eggs") == "i need eggs"


@pytest.mark.parametrize(
    ("asked", "said_back", "told"),
    [
        (
            "when Bram comes back, please tell him his mother wants the eggs by supper.",
            "His mother wants the eggs by supper: ",
            "Your mother wants the eggs by supper.",
        ),
        ("tell Bram I owe him nothing", "", "I owe you nothing."),
        ("tell Bram my sister has lost her ring", "", "My sister has lost her ring."),
    ],
)
def test_a_message_is_said_back_whole_and_told_to_whom_it_is_for(
    says, alice, bram, asked, said_back, told
):
    bram.location = alice.location
    says(bram, "good evening")
    bram.location = None
    answer = says(alice, asked)
    assert answer.startswith(said_back) and "His mother: " not in answer
    turn(alice, bram)
    assert told in says(bram, "any messages?")


@pytest.mark.parametrize(
    ("order", "said_back"),
    [
        ("ok gimme one soap and 2 towels", "one soap and 2 towels"),
        (
            "I'll have three ales, 2 pies and some bread, please",
            "three ales, 2 pies and some bread",
        ),
        ("gimme a room for 2 nights", "a room"),
    ],
)
def test_an_order_is_said_back_whole(says, alice, order, said_back):
    assert re.match(rf"{said_back}\b(?! and)", says(alice, order), re.IGNORECASE)


# --- what only sounds like it ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "day"),
    [
        ("nah sunday suits me better", "2026-11-29"),
        ("It will be Sunday, I am afraid.", "2026-11-29"),
        ("actually make that sunday not friday, gotta see my mum fri", "2026-11-29"),
        ("friday wont work. ill bring em sunday ok?", "2026-11-29"),
    ],
)
def test_a_promise_is_moved_in_a_line_of_nothing_else(says, mara, alice, said, day):
    says(alice, "i'll bring you eggs on friday")
    says(alice, said)
    assert [item.due[:10] for item in mara.memory.agenda if item.state == "open"] == [day]


@pytest.mark.parametrize(
    "question", ["are you open on sunday?", "what's on sunday?", "shall i come on sunday instead?"]
)
def test_a_question_moves_no_promise(says, mara, alice, question):
    says(alice, "i'll bring you eggs on friday")
    says(alice, question)
    assert [item.due[:10] for item in mara.memory.agenda] == ["2026-11-27"]


@pytest.mark.parametrize(
    "said",
    [
        "my wages are paid",
        "i have paid dearly for my sins",
        "my three brothers are back",
        "the roof is mended, it took two days",
    ],
)
def test_what_is_no_payment_settles_nothing(says, mara, alice, said):
    says(alice, "i owe you five silver")
    says(alice, said)
    assert [item.state for item in mara.memory.agenda if item.kind == "debt"] == ["open"]


def test_what_somebodys_kin_owes_is_not_their_own(says, mara, alice):
    says(alice, "i owe you five silver")
    says(alice, "my brother owes you six, not five")
    assert "five silver" in says(alice, "what do i owe you?")


@pytest.mark.parametrize(
    "said", ["if bram's wife comes by, tell her i took the ring", "tell bram's wife i love her"]
)
def test_a_message_to_somebodys_kin_is_not_theirs(says, alice, bram, said):
    says(alice, said)
    turn(alice, bram)
    heard = says(bram, "good evening") + says(bram, "any messages?")
    assert "ring" not in heard and "love" not in heard


def test_what_is_forbidden_is_not_promised_to_be_passed_on(says, alice):
    assert "pass it on" not in says(alice, "dont let bram open my chest")


def test_a_message_for_somebodys_return_does_not_ask_where_they_are(says, alice, bram):
    turn(alice, bram)
    says(bram, "good evening")
    turn(bram, alice)
    said = says(alice, "when Bram comes back, say to him the dice game is off till Monday")
    assert "pass it on to Bram" in said
