"""Whom an NPC answers in company: what players type, and who is meant by it."""

import time
from dataclasses import replace

import pytest
from evennia.utils.create import create_object

from contrib_ai_memory import attention
from contrib_ai_memory.attention import HeardLine
from contrib_ai_memory.english.addressing import named
from contrib_ai_memory.language import Named
from contrib_ai_memory.offline.phrases import PHRASES
from contrib_ai_memory.records import LineReading
from contrib_ai_memory.text.names import forms


def spoken(npc):
    """What the NPC has said of itself so far."""
    return [entry.content for entry in npc.memory.journal.read() if entry.origin == "self"]


@pytest.fixture
def odo(tavern):
    """A second NPC with a memory, in the same room."""
    return create_object("typeclasses.npcs.AssistantNPC", key="Odo", location=tavern, home=tavern)


@pytest.fixture
def at(mara, monkeypatch):
    """at(seconds) sets Mara's clock."""

    def set_clock(seconds):
        minutes, rest = divmod(seconds, 60)
        mara.memory.clock = lambda: f"2026-01-01T10:{minutes:02d}:{rest:02d}+00:00"

    set_clock(0)
    return set_clock


def test_what_is_said_to_another_player_by_name_is_not_answered(mara, alice, bram):
    alice.execute_cmd("say Mara, good day.")
    before = len(spoken(mara))
    alice.execute_cmd("say Bram, did you mend the net?")
    alice.execute_cmd("say It leaks, bram.")
    assert len(spoken(mara)) == before


def test_two_players_who_talk_with_each_other_are_left_alone(mara, alice, bram):
    alice.execute_cmd("say Mara, good day.")
    before = len(spoken(mara))
    for who, line in [
        (alice, "Bram, did you mend the net?"),
        (bram, "Not yet."),
        (alice, "You promised me."),
        (bram, "Tomorrow."),
        (alice, "That is what you said on Monday."),
    ]:
        who.execute_cmd(f"say {line}")
    assert len(spoken(mara)) == before


def test_an_exchange_goes_on_without_the_name_twice_and_no_more(mara, alice, bram, at):
    alice.execute_cmd("say Mara, good day.")
    answers = []
    for second in (10, 20, 30, 40):
        at(second)
        before = len(spoken(mara))
        alice.execute_cmd(f"say {second} barges went by.")
        answers.append(len(spoken(mara)) - before)
    assert answers == [1, 1, 0, 0]
    alice.execute_cmd("say Mara, and a dog.")
    before = len(spoken(mara))
    alice.execute_cmd("say He is called Rufus.")
    assert len(spoken(mara)) == before + 1, "its name begins a new exchange"


def test_a_question_goes_on_with_an_exchange_beside_a_silent_third(mara, alice, bram, at):
    alice.execute_cmd("say Mara, good day.")
    for second in (10, 20, 30):
        at(second)
        alice.execute_cmd(f"say {second} barges went by.")
    before = len(spoken(mara))
    at(40)
    alice.execute_cmd("say Do you have any salt?")
    assert len(spoken(mara)) == before + 1


@pytest.mark.parametrize(
    ("line", "answered"),
    [
        ("And how is she related to Bram?", True),
        ("And how much was it?", True),
        ("n when did she die", True),
        ("And what do you say, Bram?", False),
    ],
)
def test_who_asks_on_is_answered_unless_they_call_somebody_else(mara, alice, bram, line, answered):
    bram.execute_cmd("say Greta is my second cousin, and she has a glass eye.")
    alice.execute_cmd("say Who is Greta, Mara?")
    before = len(spoken(mara))
    alice.execute_cmd(f"say {line}")
    assert len(spoken(mara)) - before == answered


def test_a_cry_for_help_is_answered_whomever_its_speaker_talked_with(mara, alice, bram):
    alice.execute_cmd("say Bram, did you sell the mule?")
    bram.execute_cmd("say For ten silver, Alice.")
    alice.execute_cmd("say Help, a stranger lies in the snow outside and bleeds!")
    assert [each for each in spoken(mara) if "water" in each.lower()]


@pytest.mark.parametrize(
    "line", ["Alice has fainted! Somebody do something!", "Alice, yer sleeve is on fire!"]
)
def test_a_cry_is_answered_whomever_it_names(mara, alice, bram, line):
    alice.execute_cmd("say Bram, did you sell the mule?")
    bram.execute_cmd(f"say {line}")
    assert len(spoken(mara)) == 1


@pytest.mark.parametrize(
    "line",
    [
        "Alice, you beauty! You won!",
        "OMG!!",
        "Alice! Over here!",
        "Put another log on the fire, Alice!",
        "sit by the fire alice",
    ],
)
def test_what_is_only_said_loudly_to_another_is_not_answered(mara, alice, bram, line):
    bram.execute_cmd(f"say {line}")
    assert not spoken(mara)


def test_reports_and_the_all_clear_are_answered_soon_after_an_alarm(mara, alice, bram, at):
    lines = [
        (bram, "omg what do we do", 1),
        (alice, "I've thrown a wet blanket on it and the flames are dropping.", 1),
        (bram, "The fire is out. The danger is over.", 1),
        (alice, "Are you hurt, Bram?", 0),
        (bram, "Nah. Lost me eyebrows.", 0),
    ]
    alice.execute_cmd("say Mara! The curtain is on fire!")
    for second, (who, line, answers) in enumerate(lines, 1):
        at(10 * second)
        before = len(spoken(mara))
        who.execute_cmd(f"say {line}")
        assert len(spoken(mara)) - before == answers, line


def test_the_same_report_is_nobodys_without_an_alarm(mara, alice, bram):
    alice.execute_cmd("say Bram, how does the stove do?")
    bram.execute_cmd("say It smokes.")
    alice.execute_cmd("say I've turned the damper left and it's dropping.")
    assert not spoken(mara)


@pytest.mark.parametrize("line", ["Who's mending it, then?", "An' when's 'e comin'?"])
def test_another_than_the_asker_may_ask_on(mara, alice, bram, line):
    alice.execute_cmd("say Mara, is the old well free?")
    before = len(spoken(mara))
    bram.execute_cmd(f"say {line}")
    assert len(spoken(mara)) == before + 1


def test_an_exchange_is_over_when_somebody_else_has_spoken(mara, alice, bram):
    alice.execute_cmd("say Mara, good day.")
    bram.execute_cmd("say What a storm.")
    before = len(spoken(mara))
    alice.execute_cmd("say I keep the ferry.")
    assert len(spoken(mara)) == before


def test_a_whisper_ends_nobodys_exchange_and_begins_none_aloud(mara, alice, bram):
    alice.execute_cmd("say Mara, good day.")
    bram.execute_cmd("whisper Mara = I hide a key.")
    before = len(spoken(mara))
    bram.execute_cmd("say Nothing, nothing.")
    assert len(spoken(mara)) == before
    alice.execute_cmd("say Mara, good day again.")
    bram.execute_cmd("whisper Mara = Under the step.")
    before = len(spoken(mara))
    alice.execute_cmd("say I keep the ferry.")
    assert len(spoken(mara)) == before + 1


@pytest.mark.parametrize(
    "line", ["Good evening. Could I have a bed for the night, please?", "evening. any soup left?"]
)
def test_a_newcomers_request_to_nobody_is_answered(mara, alice, bram, line):
    bram.execute_cmd(f"say {line}")
    assert len(spoken(mara)) == 1


def test_it_answers_each_of_two_who_talk_with_it_in_turn(mara, alice, bram, at):
    alice.execute_cmd("say Mara, good day.")
    at(10)
    bram.execute_cmd("say Mara, good evening.")
    at(20)
    before = len(spoken(mara))
    alice.execute_cmd("say Could I have some soup, please?")
    assert len(spoken(mara)) == before + 1


def test_who_asks_to_be_woken_after_its_answer_to_somebody_else_is_answered(mara, alice, bram, at):
    bram.execute_cmd("say Good night all. Thanks for the cider, Mara.")
    at(20)
    before = len(spoken(mara))
    alice.execute_cmd("say night. wake me at six will you")
    assert len(spoken(mara)) == before + 1
    assert [item.kind for item in mara.memory.agenda] == ["request"]


def test_another_npc_that_calls_it_is_answered_and_does_not_answer_back(mara, odo, alice):
    odo.execute_cmd("say Evening, Mara. The usual.")
    assert (len(spoken(mara)), len(spoken(odo))) == (1, 1), "what it was made to say"
    odo.execute_cmd("say I sleep in the loft now.")
    assert len(spoken(mara)) == 1, "in company it is called by name"


def test_alone_with_another_npc_it_answers_twice_and_is_called_again(mara, odo):
    for number in range(5):
        odo.execute_cmd(f"say I have carried {number} barrels.")
    assert len(spoken(mara)) == 2
    odo.execute_cmd("say Mara, that was all.")
    assert len(spoken(mara)) == 3


@pytest.mark.parametrize(
    "line",
    [
        "Mara's stew is good, Bram.",
        "Bram, Mara knows a song about it.",
        "Mara says it will rain.",
        "The innkeeper has a cellar, I heard.",
    ],
)
def test_a_line_about_it_to_somebody_else_is_not_answered(mara, alice, bram, line):
    mara.aliases.add("innkeeper")
    alice.execute_cmd(f"say {line}")
    assert spoken(mara) == []


@pytest.mark.parametrize(
    "line",
    [
        "Good evening, Mara!",
        "evening mara",
        "Where is Bram, Mara?",
        "mara where is bram",
        "Bram owes me a coin. Mara, you heard it.",
        "thanks mara",
        "Mara, tell Bram that I wait.",
    ],
)
def test_a_line_to_it_is_answered_whoever_else_is_named_in_it(mara, alice, bram, line):
    alice.execute_cmd(f"say {line}")
    assert len(spoken(mara)) == 1


@pytest.mark.parametrize(
    "line", ["Hello, Mara!", "Hello Mara", "Good evening Mara.", "evening mara", "Mara, hullo!"]
)
def test_a_greeting_by_name_is_greeted_back(mara, alice, bram, line):
    alice.execute_cmd(f"say {line}")
    [answer] = spoken(mara)
    assert answer in [phrase.format(name="Alice") for phrase in PHRASES["greeting"]]


def test_two_npcs_do_not_answer_in_chorus(mara, odo, alice):
    alice.execute_cmd("say Fine weather.")
    assert (spoken(mara), spoken(odo)) == ([], []), "alone with two is company"
    alice.execute_cmd("say Odo, good day.")
    assert (len(spoken(mara)), len(spoken(odo))) == (0, 1)
    alice.execute_cmd("say I keep the ferry.")
    assert (len(spoken(mara)), len(spoken(odo))) == (0, 2), "it goes on with Odo"
    alice.execute_cmd("say Mara, good day.")
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    assert (len(spoken(mara)), len(spoken(odo))) == (2, 2)


def test_a_greeting_to_both_npcs_is_answered_by_both_and_what_follows_by_one(mara, odo, alice):
    alice.execute_cmd("say Good evening, Mara and Odo.")
    assert (len(spoken(mara)), len(spoken(odo))) == (1, 1)
    alice.execute_cmd("say And how are you tonight?")
    assert len(spoken(mara)) + len(spoken(odo)) == 3, "two are a chorus"


def test_a_gift_is_thanked_for_and_what_is_said_of_it_is_answered(mara, alice, bram):
    create_object("typeclasses.objects.Object", key="silver ring", location=alice)
    alice.execute_cmd("give silver ring to Mara")
    assert "silver ring" in spoken(mara)[0]
    alice.execute_cmd("say It was my mother's.")
    assert len(spoken(mara)) == 2


def test_a_gift_to_somebody_else_is_none_of_its_business(mara, alice, bram):
    create_object("typeclasses.objects.Object", key="silver ring", location=alice)
    alice.execute_cmd("give silver ring to Bram")
    assert spoken(mara) == []


def test_somebody_known_by_an_alias_is_named_by_it(mara, alice, bram):
    bram.aliases.add("smith")
    alice.execute_cmd("say Mara, good day.")
    before = len(spoken(mara))
    alice.execute_cmd("say Smith, is my knife done?")
    assert len(spoken(mara)) == before


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("Mara, a beer.", Named.CALLED),
        ("a beer, mara", Named.CALLED),
        ("hey @mara!", Named.CALLED),
        ("Yes. Mara. Now.", Named.CALLED),
        ("mara did they mend it", Named.CALLED),
        ("mara is she in??", Named.CALLED),
        ("mara got any soap", Named.CALLED),
        ("mara heard about the fire?", Named.CALLED),
        ("mara got a new cat", Named.TOLD_OF),
        ("write it down mara", Named.NAMED),
        ("Mara is out.", Named.TOLD_OF),
        ("I like Mara’s stew.", Named.TOLD_OF),
        ("do u like mara? honest", Named.TOLD_OF),
        ("have you seen mara", Named.TOLD_OF),
        ("whats it like mara", Named.NAMED),
        ("Samaranth is far.", Named.NOT),
    ],
)
def test_how_a_line_names_somebody(text, how):
    assert named(text, forms(["Mara"])) is how


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Inés", "say ines, come"),
        ("T'sala", "hi tsala"),
        ("Old Tom Tanner", "morning tom"),
        ("a stout innkeeper", "Innkeeper, a beer!"),
        ("a stout innkeeper", "Stout innkeeper, a beer!"),
        ("D’Arcy", "D'Arcy, your turn"),
    ],
)
def test_a_name_is_known_as_players_type_it(name, text):
    assert named(text, forms([name])) >= Named.NAMED


def test_a_line_of_nothing_but_quotation_marks_is_read_quickly():
    began = time.process_time()
    named('"' * 3990 + "so mara", forms(["Mara"]))
    assert time.process_time() - began < 0.05


def test_nobody_is_called_by_what_everybody_is():
    assert named("Hey man, look.", forms(["a tall man"])) is Named.NOT
    assert named("Good old days.", forms(["Old Tom"])) is Named.NOT


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("mara does bram have any secrets", Named.CALLED),
        ("mara will bram come friday?", Named.CALLED),
        ("mara did alice promise anything", Named.CALLED),
        ("mara is a liar, isn't she?", Named.TOLD_OF),
        ("mara did well yesterday", Named.TOLD_OF),
        ("mara will come tomorrow", Named.TOLD_OF),
    ],
)
def test_a_question_behind_a_name_without_a_comma_is_for_its_bearer(text, how):
    assert named(text, forms(["Mara"])) is how


# --- poses ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pose",
    [
        "turns to the smith and holds out a broken blade.",
        "lays six silver on the counter in front of Mara.",
        'turns to Mara and asks, "Could you mend this?"',
    ],
)
def test_what_is_done_to_it_is_answered(mara, alice, bram, pose):
    mara.aliases.add("smith")
    alice.execute_cmd(f"pose {pose}")
    [reply] = spoken(mara)
    assert "remember" not in reply


@pytest.mark.parametrize(
    "pose", ["nods to Bram.", "takes a broken blade from Bram, in front of Mara.", "stretches."]
)
def test_what_is_done_to_somebody_else_or_to_nobody_is_not_answered(mara, alice, bram, pose):
    alice.execute_cmd(f"pose {pose}")
    assert not spoken(mara)


@pytest.mark.parametrize(
    "pose", ["sways and sinks to the floor.", "clutches her chest and falls to the ground."]
)
def test_who_collapses_is_seen_to(mara, alice, bram, pose):
    alice.execute_cmd(f"pose {pose}")
    assert [each for each in spoken(mara) if "water" in each.lower()]


@pytest.mark.parametrize(
    "pose",
    [
        "collapses into a chair, laughing.",
        "takes off her coat and a coin drops to the floor.",
        "passes out the mugs.",
        "falls to the floor laughing.",
        "sinks to the grass beside her dog.",
        "drops to the ground to look for her coin.",
        "chokes back a laugh.",
    ],
)
def test_who_does_not_collapse_is_left_alone(mara, alice, bram, pose):
    alice.execute_cmd(f"pose {pose}")
    assert not spoken(mara)


def test_two_npcs_who_see_somebody_collapse_wait_which_of_them_answers():
    pose = HeardLine("#2", "Alice keels over.", 0.0, "pose", ("mara",), (("odo",),), shared=True)
    assert attention.is_undecided(pose, 3) and attention.may_be_anothers(pose, attention.Floor())
    assert attention.judged(LineReading((), 0.0), pose, attention.Floor(), spent=False)
    waves = replace(pose, text="Alice waves.")
    assert not attention.judged(LineReading((), 0.0), waves, attention.Floor(), spent=False)


def test_a_pose_to_it_is_not_answered_where_its_poser_never_is(mara, alice, bram):
    mara.locks.add("memory_talk:false()")
    alice.execute_cmd("pose turns to Mara and holds out a broken blade.")
    assert not spoken(mara)


def test_who_tells_on_and_on_is_not_answered_for_ever(mara, alice, bram, at):
    answers = []
    for second in range(0, 150, 10):
        at(second)
        before = len(spoken(mara))
        bram.execute_cmd(f"say Barrel {second} is full of salted herring.")
        answers.append(len(spoken(mara)) - before)
    assert sum(answers) <= attention.MOST_UNASKED
    at(160)
    before = len(spoken(mara))
    bram.execute_cmd("say Have you a bed for me tonight?")
    assert len(spoken(mara)) == before + 1


def test_who_was_served_pays_in_a_pose_that_names_nobody(mara, alice, bram):
    alice.execute_cmd("say Mara, good day.")
    before = len(spoken(mara))
    bram.execute_cmd("pose lays ten coppers on the counter.")
    assert len(spoken(mara)) == before
    alice.execute_cmd("pose lays ten coppers on the counter.")
    assert "Ten coppers" in spoken(mara)[-1]


def test_a_message_that_is_left_with_nobody_by_name_is_taken():
    line = HeardLine("#1", "Kindly tell Dorrit that it is mended.", 9.0, others=(("bram",),))
    quiet = attention.Floor(lines=3, partner="#2")
    message = LineReading((), 1.0, errand=True)
    assert attention.judged(message, line, quiet, spent=False)
    assert not attention.judged(replace(message, errand=False), line, quiet, spent=False)
