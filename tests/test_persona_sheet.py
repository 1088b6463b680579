"""The persona sheet: what builders gave an NPC, in its own words, before any stock phrase."""

from datetime import timedelta

import pytest

from contrib_ai_memory import offload
from contrib_ai_memory.admin import persona
from contrib_ai_memory.english.own_words import own_sentences, own_wish, pronoun_of
from contrib_ai_memory.store.reply_reasons import ReplyReasons


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["Mara Fisk keeps the inn and locks it at ten."], ["I keep the inn and lock it at ten."]),
        (
            ["Mara was born in Corrow.", "She has a dog, and it follows her everywhere."],
            ["I was born in Corrow.", "I have a dog, and it follows me everywhere."],
        ),
        (
            ["Mara dislikes braggarts, loves gossip, is afraid of the river."],
            ["I dislike braggarts, love gossip, am afraid of the river."],
        ),
        (["Mara sells nets, hooks and lines."], ["I sell nets, hooks and lines."]),
        (["Mara's younger brother Tam owns the mill."], ["My younger brother Tam owns the mill."]),
        (["A bed at Mara's is two coppers."], ["A bed at mine is two coppers."]),
        (
            ["The tree killed Sorrin, the cook before Mara."],
            ["The tree killed Sorrin, the cook before me."],
        ),
        (
            ["Old Wynne is dead.", "She left the ferry."],
            ["Old Wynne is dead.", "She left the ferry."],
        ),
        (
            ["I was taught by Annot.", "She was blind."],
            ["I was taught by Annot.", "She was blind."],
        ),
        (["A cook is wanted."], ["A cook is wanted."]),
        (["Cook to a count, who eats and is fat."], ["I am cook to a count, who eats and is fat."]),
        (
            ["Mara was born in Vail and is sixty-one."],
            ["I was born in Vail and am sixty-one."],
        ),
        (["Mara wed Tam, who fishes and is old."], ["I wed Tam, who fishes and is old."]),
        (
            ["Odile runs the mill.", "Perrin loves her."],
            ["Odile runs the mill.", "Perrin loves her."],
        ),
        (
            ["Odile lost her husband.", "Bram comforts her."],
            ["Odile lost her husband.", "Bram comforts her."],
        ),
        (["Maud's mare threw her."], ["Maud's mare threw her."]),
        (
            ["I have a sister Odile.", "Perrin loves her."],
            ["I have a sister Odile.", "Perrin loves her."],
        ),
        (["Perrin keeps a mare and rides her."], ["Perrin keeps a mare and rides her."]),
    ],
)
def test_what_is_about_the_npc_is_told_in_the_first_person(given, told):
    names = ["Mara", "cook"]
    assert [each.text for each in own_sentences(given, names, "she")] == told


def test_a_sentence_that_begins_with_a_pronoun_for_another_leans_on_the_one_before():
    told = own_sentences(["Sorrin was the cook.", "His ladle hangs here."], ["Mara"], "she")
    assert [each.leans for each in told] == [False, True]


def test_the_pronoun_of_an_npc_is_read_from_what_is_written_of_it():
    assert pronoun_of(["He weighs letters. His hand is of wood."]) == "he"
    assert pronoun_of(["You keep the inn."]) == "you"
    assert pronoun_of([""]) == "they"


@pytest.fixture
def told_much(mara, alice, says):
    """Mara with prices by a builder, and much talk that is nearer to most questions."""
    mara.db.persona = "Mara Fisk is fifty-one and keeps the inn. She cannot swim."
    for text in (
        "A hot bath is four coppers, and a towel is one more.",
        "Nobody whistles in the taproom, and whoever does washes the mugs.",
        "Mara's only brother, Tam, owns the mill at Corrow.",
    ):
        offload.wait(mara.memory.add(text))
    for word in ("mare", "boat", "cart", "goose", "saddle", "kettle"):
        says(alice, f"My {word} was sold at the fair for nine marks.")
    return mara


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("asks", "holds"),
    [
        ("how much for a hot bath?", "four coppers"),
        ("hw much 4 a hot bath", "four coppers"),
        ("what happens if i whistle in here?", "washes the mugs"),
        ("have you got any brothers?", "My only brother, Tam"),
        ("how old are you?", "I am fifty-one"),
        ("can you swim?", "I cannot swim"),
    ],
)
def test_what_builders_gave_is_looked_up_before_any_stock_phrase(
    told_much, alice, says, asks, holds
):
    assert holds in says(alice, asks)


@pytest.mark.django_db
def test_builders_read_and_write_the_sheet_and_are_shown_what_would_be_said(mara, builder):
    assert "direction" in builder("@memory/persona mara")
    shown = builder("@memory/persona mara = persona: Mara Fisk was born in Corrow.")
    assert "Mara Fisk was born in Corrow." in shown
    assert mara.get_persona() == "Mara Fisk was born in Corrow."
    assert "no field 'colour'" in builder("@memory/persona mara = colour: red")
    builder("@memory/persona mara = persona:")
    assert not mara.attributes.has("persona")
    shown = builder("@memory/add mara = Mara sells candles at two coppers.")
    assert "Asked for it, Mara says: I sell candles at two coppers." in " ".join(shown.split())
    shown = builder("@memory/teach mara = # Life|/Mara was born in Corrow. She has two sisters.")
    assert "I was born in Corrow. I have two sisters." in shown


@pytest.mark.django_db
@pytest.mark.parametrize(
    "ends",
    [
        "Mara tells nobody of it.",
        "Mara does not tell anyone.",
        "Mara keeps it secret.",
        "She tells nobody of it.",
    ],
)
@pytest.mark.parametrize("given", ["add", "teach"])
def test_what_it_tells_nobody_is_not_said(mara, alice, says, builder, given, ends):
    mara.db.persona = "Mara keeps the inn. She is fifty."
    kept = f"The key to the cellar hangs behind the stuffed pike. {ends}"
    assert "Asked for it, Mara says nothing of it." in builder(f"@memory/{given} mara = {kept}")
    assert "pike" not in says(alice, "where does the key to the cellar hang?")
    offload.wait(mara.assistant.sleep.whole_night())
    assert "pike" not in says(alice, "where does the key to the cellar hang?")


@pytest.mark.django_db
def test_a_note_of_several_lines_is_kept_as_a_whole(mara, alice, says, builder):
    kept = "The crown lies beneath the elm.|/Mara tells nobody of it."
    assert "Asked for it, Mara says nothing of it." in builder(f"@memory/add mara = {kept}")
    assert "crown" not in says(alice, "what lies beneath the elm?")


@pytest.mark.django_db
def test_what_somebody_else_tells_nobody_is_said(mara, alice, says, builder):
    builder("@memory/add mara = The cellar key is of brass. Bram tells nobody of his wound.")
    assert "of brass" in says(alice, "what is the cellar key made of?")


@pytest.mark.django_db
def test_direction_is_for_a_model_alone_and_is_never_said(mara, alice, says, builder, settings):
    persona.write(mara, None, "direction", "The cellar key hangs behind the stove. Hide it.")
    assert "stove" not in says(alice, "where is the cellar key?")
    settings.CONTRIB_AI_MEMORY |= {"LLM": {"base_url": "http://127.0.0.1:9/v1", "model": "m"}}
    assert "behind the stove" in builder("@memory/preview mara = Alice: Good day")


@pytest.mark.django_db
def test_an_example_line_of_its_voice_is_said_once_to_who_comes(mara, alice, says):
    persona.write(mara, None, "voice", "Short and dry.\nSit. Wet boots off.")
    assert says(alice, "good evening mara").endswith("Sit. Wet boots off.")
    assert "Wet boots" not in says(alice, "good evening again mara")


@pytest.mark.django_db
def test_why_something_was_said_is_kept_for_days_by_a_setting(mara):
    day = timedelta(days=1).days
    old, new = (
        ReplyReasons(number, number, (("1", 1.0, True),), when=f"2026-03-0{number}T12:00:00+00:00")
        for number in (2, 4)
    )
    mara.memory.reasons.note(old, day)
    mara.memory.reasons.note(new, 3 * day)
    assert [each.said for each in mara.memory.reasons] == [4, 2]
    mara.memory.reasons.note(new, day)
    assert [each.said for each in mara.memory.reasons] == [4]


@pytest.mark.parametrize(
    "goals",
    [
        "to buy back the mill",
        "She wants to buy back the mill",
        "She wants to buy back the mill before she retires. She is looking for a miller.",
    ],
)
def test_what_it_wants_is_told_in_its_own_words(mara, alice, says, goals):
    mara.db.goals = goals
    assert "I want to buy back the mill" in says(alice, "what do you want out of life, mara?")


def test_what_is_its_own_is_its_own_in_what_it_wants(mara, alice, says):
    mara.db.persona = "Mara keeps the inn. She is fifty."
    mara.db.goals = "To buy back her father's boat, the Gannet's skiff."
    assert "buy back my father's boat" in says(alice, "what do you want out of life, mara?")


@pytest.mark.parametrize(
    ("wish", "told"),
    [
        ("Win back her inn", "win back my inn"),
        ("clear her name and see her sister", "clear my name and see my sister"),
        ("help Odile find her brother", "help Odile find her brother"),
        ("see Tam and dance with her", "see Tam and dance with her"),
    ],
)
def test_a_wish_is_put_in_the_first_person_as_far_as_it_is_clear(wish, told):
    assert own_wish(wish, "she") == told


@pytest.mark.django_db
def test_what_is_taught_later_of_something_else_changes_no_price(mara, alice, says, builder):
    builder("@memory/add mara = A hand bell costs three silver.")
    mara.memory.clock = lambda: "2026-11-24T12:00:00+00:00"
    builder("@memory/add mara = A ship's bell costs twenty silver, half of it paid in advance.")
    builder("@memory/add mara = Recasting a cracked bell costs eight silver.")
    assert "three silver" in says(alice, "Mara, what would a hand bell cost me?")
    assert "twenty silver" in says(alice, "And what would a ship's bell cost, Mara?")


def test_what_was_taught_later_is_told_of_what_was_taught_before(mara, alice, says, builder):
    builder("@memory/teach mara = A breeze costs three stars, and a jar of gale two crowns.")
    mara.memory.clock = lambda: "2026-11-24T12:00:00+00:00"
    builder("@memory/add mara = A jar of gale costs three crowns.")
    builder("@memory/teach mara = The bathhouse opens at six.")
    answer = says(alice, "What do two jars of gale and one breeze cost, Mara?")
    assert "gale costs three crowns" in answer and "two crowns" not in answer
