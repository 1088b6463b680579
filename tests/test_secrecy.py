"""A model's answer is whispered where it tells a secret, and said aloud where it tells none."""

import pytest

from contrib_ai_memory import offload
from contrib_ai_memory.llm.spoken import utterance
from contrib_ai_memory.recall.told_secrets import Secret, tells_secret

SECRET = "I hide a silver key under the third step."


def tells(text, asked="", *, secrets=(SECRET,), public=(), marked=False, own=False):
    hidden = [Secret(each, ("#1",), own=own) for each in secrets]
    return offload.wait(tells_secret(text, asked, hidden, public, marked=marked))


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("It lies under the third step.", "Where is it?"),
        ("Silver, was it not?", "What did I tell you?"),
        ("Yes.", "Do I hide a silver key under the third step?"),
        ("You concealed it beneath the stairs.", "Where did I put my key?"),
    ],
)
def test_what_shares_words_or_meaning_with_a_secret_tells_it(text, asked):
    assert tells(text, asked)


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Good evening to you, Alice!", "Good evening, Mara."),
        ("The soup is barley today, with a little bacon.", "What is for dinner?"),
        ("The ferry leaves at noon.", "When does the ferry leave?"),
    ],
)
def test_what_has_nothing_of_a_secret_tells_none(text, asked):
    assert not tells(text, asked)


def test_a_number_alone_tells_a_secret():
    assert tells("14.", "How old am I?", secrets=("dont write this down but im 14, not 17",))


def test_a_word_that_everybody_knows_tells_nothing():
    bells = "The silver bells of the tower ring at noon."
    assert tells("Silver, I think.", "What are the bells made of?")
    assert not tells("Silver, I think.", "What are the bells made of?", public=(bells,))


def test_what_the_model_holds_for_a_secret_needs_less_to_be_one():
    hint, asked = "Mind the stairs.", "Give me a hint."
    assert tells(hint, asked, marked=True)
    assert not tells(hint, asked)
    assert not tells("Good evening to you, Alice!", "Good evening.", marked=True)


def test_a_whispered_remark_of_its_own_is_no_secret_but_for_what_it_repeats():
    remark = ("Then between us it stays, Alice, and I am glad of it, with Tom just found.",)
    known = ("Alice", "I found my brother Tom alive.")
    told, asked = "You told me that he is alive, Alice.", "What is Tom doing these days?"
    assert tells(told, asked, secrets=remark, public=known)
    assert not tells(told, asked, secrets=remark, public=known, own=True)
    repeated = ("Under the third step it is safe, Alice.",)
    assert tells("Look under the third step.", "Where is it?", secrets=repeated, own=True)


@pytest.mark.parametrize("mark", ["*whispers* ", "(whispers) ", "*lowers her voice* "])
def test_a_models_mark_is_read_and_not_spoken(mark):
    told = utterance(f"{mark}Under the step.")
    assert (told.text, told.whispered) == ("Under the step.", True)


def test_what_is_said_aloud_has_no_mark():
    assert not utterance("*smiles* People whisper of it.").whispered


# --- in play --------------------------------------------------------------------------------------


@pytest.fixture
def answered(server, llm, mara, alice, hears):
    """What everybody hears when Alice, who has whispered a secret, is answered with a text."""

    def answer(text, line):
        server.behave(text="Very well.")
        alice.execute_cmd(f"whisper Mara = {SECRET}")
        server.behave(text=text)
        heard = hears(alice)
        alice.execute_cmd(f"say {line}")
        assert "third step" in server.requests[-1].text, "the secret did not come to mind"
        return heard[-1]

    return answer


def test_an_answer_that_tells_none_is_given_aloud_beside_a_secret(answered, bram):
    assert "says" in answered("Good evening, Alice. What a storm!", "Mara, good evening!")


def test_an_answer_that_tells_the_secret_is_whispered(answered, bram, hears):
    brams = hears(bram)
    assert "whispers" in answered("Under the third step.", "Mara, where is my key?")
    assert not any("third step" in line for line in brams)


def test_after_an_answer_about_a_secret_the_next_is_given_aloud(answered, server, alice, hears):
    answered("Under the third step.", "Mara, where is my key?")
    server.behave(text="Barley soup, as ever.")
    heard = hears(alice)
    alice.execute_cmd("say Mara, what is for dinner?")
    assert 'says, "Barley soup, as ever."' in heard[-1]


def test_the_prompt_says_what_was_said_in_confidence(answered, server, bram):
    answered("Good evening.", "Mara, good evening!")
    assert f"Alice said in confidence: {SECRET}" in server.requests[-1].text
