"""The sentence classifier: how much is worth remembering, and what kind of talk it is."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import sentences as benchmark
from contrib_ai_memory.embedding.model import BUNDLED_DIMENSIONS, NAME, open_model
from contrib_ai_memory.english import sentence_classifier
from contrib_ai_memory.english.sentence_classifier import KINDS, LABELS, Sentence, load, terms_of

SMALL_TALK = (
    "evening all",
    "How are you tonight?",
    "haha good one",
    "Yes, please.",
    "nice weather for ducks",
)
WORTH_KNOWING = (
    "My brother Tom moved to Millbrook in March, he works at the docks there now.",
    "I'll pay you back the twelve crowns I owe you on Friday, you have my word.",
    "The bridge at Elmstead fell on Tuesday night, and two of the carters drowned.",
)
PROMISE = "I promise I'll bring back your ladder by Sunday, I swear it on my mother."


@pytest.fixture(scope="module")
def model():
    return open_model(None)


@pytest.fixture(scope="module")
def judge(model):
    classifier = load(model.name, model.dimensions)
    assert classifier is not None

    def judge(*said, **known):
        sentences = [Sentence(text, **known) for text in said]
        return classifier.judge(model.encode(list(said)), sentences)

    return judge


def test_every_figure_is_a_probability_and_every_kind_has_one(judge):
    for each in judge(*SMALL_TALK, *WORTH_KNOWING, PROMISE, "", "🐟", "x " * 2000):
        assert set(each.kinds) == set(KINDS)
        assert all(0 <= value <= 1 for value in (*each.at_least, *each.kinds.values()))
        assert 0 <= each.worth <= 3


def test_nothing_to_judge_gives_nothing(judge):
    assert sentence_classifier.load(NAME, BUNDLED_DIMENSIONS).judge(np.empty((0, 384)), []) == []


def test_a_promise_is_a_promise(judge):
    (promised,) = judge(PROMISE)
    (told,) = judge("The ladder is behind the barn.")
    assert promised.any_of("promise", "debt", "request_npc", "plan") > sentence_classifier.AGENDA
    assert promised.kinds["promise"] > 3 * told.kinds["promise"]


def test_small_talk_is_worth_little_and_news_much(judge):
    assert all(each.worth_keeping < 0.2 for each in judge(*SMALL_TALK))
    assert all(each.worth_keeping >= sentence_classifier.KEEP for each in judge(*WORTH_KNOWING))


def test_a_question_is_a_question_without_its_mark(judge):
    asked, told = judge("where did you put my key", "I put your key on the shelf")
    assert asked.kinds["question"] > 0.5 > told.kinds["question"]


def test_what_is_said_again_differently_is_rather_a_correction(judge):
    said = "no, not Thunder, the horse is called Lightning"
    (alone,), (again,) = judge(said), judge(said, said_before=0.8)
    assert again.kinds["correction"] > alone.kinds["correction"]


def test_the_kind_of_line_counts(judge):
    (left,) = judge("Rurik leaves for the yard.", kind="leave")
    assert left.kinds["move"] > 0.5
    assert left.worth < 0.5


@pytest.mark.parametrize(("name", "dimensions"), [("another", 384), (NAME, 768)])
def test_with_another_embedding_model_there_is_no_classifier(name, dimensions):
    assert load(name, dimensions) is None


def test_the_file_is_small_and_says_how_it_was_made():
    assert sentence_classifier.FILE.stat().st_size < 100_000
    about = load(NAME, BUNDLED_DIMENSIONS).about
    assert about["lines"] > 3000
    assert about["left_out"]["Spearman"] > 0.8


def test_a_file_of_other_labels_is_refused(tmp_path, monkeypatch):
    shipped = load(NAME, BUNDLED_DIMENSIONS)
    monkeypatch.setattr(sentence_classifier, "LABELS", ("greeting",))
    shipped.save(tmp_path / "other.npz")
    monkeypatch.undo()
    with pytest.raises(ValueError, match=r"benchmarks\.sentences --train"):
        load(NAME, BUNDLED_DIMENSIONS, tmp_path / "other.npz")


def test_numbers_and_the_beginning_are_terms():
    assert terms_of("No! 12 of them") == {
        *("no", "!", "#", "of", "them"),
        *("^ no", "no !", "! #", "# of", "of them"),
    }


# --- training -------------------------------------------------------------------------------------


def evening(number: int) -> dict:
    """An evening of four kinds of lines, in the form of benchmarks/data/evenings."""
    said = [
        ("good evening Mara", 0, ["greeting"]),
        (f"My sister keeps {number + 2} goats at Elmstead", 2, ["relationship"]),
        (f"Lovely. I owe you {number + 3} crowns. It is late.", 3, ["debt"]),
        ("where is the cellar", 0, ["question"]),
    ]
    lines = [
        {
            "id": f"s1.{at}",
            "session": "s1",
            "speaker": ("Alice", "Bram")[at % 2],
            "kind": "say",
            "to": None,
            "text": text,
            "worth": worth,
            "kinds": kinds,
        }
        for at, (text, worth, kinds) in enumerate(said * 3)
    ]
    npc = {"name": "Mara", "aliases": ["innkeeper"]}
    facts = [{"evidence": ["s1.2"], "keys": [["owe"], ["crown"]]}]
    return {"npc": npc, "people": [], "facts": facts, "lines": lines}


@pytest.fixture(scope="module")
def data(model, tmp_path_factory):
    files = []
    for number in range(4):
        files.append(tmp_path_factory.mktemp("evenings") / f"inn-{number}.json")
        files[-1].write_text(json.dumps(evening(number)))
    return benchmark.read(files, model)


def test_training_twice_gives_the_same_file(data, model, tmp_path):
    made: list[Path] = [tmp_path / "first.npz", tmp_path / "second.npz"]
    for file in made:
        benchmark.fit(data, model, evenings=data.names).save(file)
    assert made[0].read_bytes() == made[1].read_bytes()


def test_what_was_trained_is_what_is_loaded(data, model, tmp_path):
    trained = benchmark.fit(data, model)
    trained.save(tmp_path / "own.npz")
    loaded = load(model.name, model.dimensions, tmp_path / "own.npz")
    before, after = (each.probabilities(data.vectors, data.sentences) for each in (trained, loaded))
    np.testing.assert_allclose(before, after, atol=1e-6)


def test_evenings_are_judged_by_a_fit_on_others(data, model):
    found = benchmark.left_out(data, model)
    debt = found[:, LABELS.index("debt")]
    owed = np.array(["owe" in each.text for each in data.sentences])
    lines = np.array([not each.part for each in data.sentences])
    debt, owed = debt[lines], owed[lines]
    assert debt[owed].min() > debt[~owed].max()


def test_a_line_knows_its_talk(data):
    first, second, *_ = data.sentences
    assert first.named
    assert (first.before, second.before) == ("", "good evening Mara")
    assert data.sentences[4].said_before == pytest.approx(1, abs=1e-5)


def test_of_a_line_the_sentence_that_holds_its_fact_is_worth_what_the_line_is(data):
    parts = [line for line in data.lines if line.sentence.part][:3]
    assert [(line.sentence.text, line.worth) for line in parts] == [
        ("Lovely.", 0),
        ("I owe you 3 crowns.", 3),
        ("It is late.", 0),
    ]
    assert all(line.kinds is None for line in parts)


def test_a_broken_evening_is_named(model, tmp_path):
    (tmp_path / "broken-1.json").write_text("{}")
    with pytest.raises(SystemExit, match=r"broken-1\.json is no evening"):
        benchmark.read([tmp_path / "broken-1.json"], model)
