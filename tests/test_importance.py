"""How much a thing matters: how it was said, and what was said."""

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import importance as benchmark
from contrib_ai_memory import conf
from contrib_ai_memory.english import salience, tokens
from contrib_ai_memory.english.salience import LEAST, MOST, content_importance, signals_of
from contrib_ai_memory.ingest.importance import clamp, heuristic_importance
from contrib_ai_memory.offline.offline_provider import OfflineProvider
from contrib_ai_memory.records import Entry, Percept

DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
KEYWORDS = ("goal", "quest", "name")


def heard(text, **how):
    return heuristic_importance(Percept(text, "say", **how), KEYWORDS, 0)


# --- what was said ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("less", "more"),
    [
        ("The oven is being used.", "Odo is mending a net."),
        ("Odo is mending a net.", "Odo is a smith."),
        ("I had soup.", "I had a son."),
        ("The road is long.", "The road is dangerous."),
        ("Fine weather.", "Fine weather on Friday."),
        ("They came to the house.", "They came to rob the house."),
        ("We sat by the river.", "We quarrelled by the river, and she wept."),
        ("There is a bird.", "There is a wedding."),
        ("I saw a boat.", "I promise you a boat."),
        ("Good, good.", "The bread is good."),
        ("I drink ale.", "I love ale."),
    ],
)
def test_what_lasts_or_touches_somebody_matters_more_than_what_passes(less, more):
    assert content_importance(less) < content_importance(more)


@pytest.mark.parametrize(
    ("text", "signal"),
    [
        ("My brothers left.", "ties"),
        ("He drowned.", "life and death"),
        ("They were married.", "ties"),
        ("She is worrying.", "feelings"),
        ("It was stolen.", "secrets and crimes"),
        ("You owe him.", "money"),
        ("He planned it.", "plans and promises"),
        ("We celebrated.", "events"),
        ("She studies.", "mind and talk"),
        ("He was fleeing.", "danger and conflict"),
        ("Odo used to fish.", "lasting"),
        ("On monday’s boat.", "number or date"),
        ("Paid 7 for it.", "number or date"),
        ("Ask old Cora.", "named entity"),
        ("I never drink.", "preference"),
    ],
)
def test_a_signal_is_found_in_any_form_of_its_words(text, signal):
    assert signal in signals_of(text)


@pytest.mark.parametrize(
    ("text", "signal"),
    [
        ("The robes are blue.", "secrets and crimes"),  # not from `rob`
        ("Nothing is missing.", "in passing"),
        ("Mara is going to the king.", "in passing"),
        ("There is a fire.", "lasting"),
    ],
)
def test_a_signal_is_not_found_where_it_only_seems_to_be(text, signal):
    assert signal not in signals_of(text)


def test_a_signal_counts_once_however_often_it_is_given():
    assert content_importance("A friend.") == content_importance("A friend, a friend, a cousin.")


@pytest.mark.parametrize("text", ["Yeah.", "Oh, okay!", "Hello, hello.", "Thank you. Perfect."])
def test_a_line_of_nothing_but_filler_is_worth_the_least(text):
    assert content_importance(text) == LEAST


@pytest.mark.parametrize("text", ["", "...", "!?", "\n"])
def test_a_line_without_words_says_nothing_either_way(text):
    assert content_importance(text) == 0


@given(st.text())
def test_what_was_said_stays_in_its_bounds_and_is_the_same_each_time(text):
    value = content_importance(text)
    assert LEAST <= value <= MOST
    assert content_importance(text) == value


# --- at the moment it is heard [A] ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "adds"),
    [
        ({}, 0),
        ({"addressed": True}, 3),
        ({"mentioned": True}, 2),
        ({"addressed": True, "mentioned": True}, 5),
        ({"source_type": "environmental"}, -1),
    ],
)
def test_how_it_was_said_counts_as_in_the_source(how, adds):
    assert heard("Fine weather.", **how) == 2 + adds
    dead = "My brother is dead."
    assert heard(dead, **how) == heard(dead) + adds


def test_a_keyword_counts_as_a_word_of_its_own():
    assert heard("A name and a quest.") - heard("A fame and a request.") >= 2
    assert heard("Rename it.") == heard("Repaint it.")


def test_a_sender_bonus_is_added():
    assert heuristic_importance(Percept("Fine weather.", "say"), (), 2) == 4


@pytest.mark.parametrize(
    "text", ["Odo keeps bees.", "I ate some bread.", "My bed is clean.", "We sat in the yard."]
)
def test_what_somebody_tells_can_always_be_recalled(text):
    assert heard(text) / 10 >= conf.FORGOTTEN_BELOW


@given(
    st.text(),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["direct", "observation", "environmental"]),
    st.integers(0, 2),
    st.lists(st.text(max_size=8), max_size=5),
)
def test_it_is_a_whole_number_from_one_to_ten(text, addressed, mentioned, kind, bonus, keywords):
    percept = Percept(text, "say", addressed=addressed, mentioned=mentioned, source_type=kind)
    value = heuristic_importance(percept, tuple(keywords), bonus)
    assert value in range(1, 11)
    assert heuristic_importance(percept, tuple(keywords), bonus) == value


@pytest.mark.parametrize(
    ("score", "whole"), [(-3, 1), (1.5, 2), (2.49, 2), (2.5, 3), (3.5, 4), (99, 10)]
)
def test_halves_are_rounded_upwards(score, whole):
    assert clamp(score) == whole


def test_no_more_of_a_line_is_read_than_the_reactor_has_time_for():
    tale = "I told my brother that Mara hides gold, perhaps the smith knows of it. "
    idle = ("and so on " * 400)[: salience.CHARACTERS_READ]
    assert signals_of(idle[: -len(tale)] + tale) != signals_of(idle)
    assert signals_of(idle + " " + tale * 60) == signals_of(idle)
    assert len(idle) <= 300


def test_the_word_list_is_not_needed_where_the_reactor_waits(monkeypatch):
    monkeypatch.setitem(sys.modules, "wordfreq", None)  # to import it would raise
    tokens.zipf.cache_clear()
    assert heard("The basilisk gland needs aqua regia and powdered wolfsbane.") >= 1


# --- in the night -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "rare"),
    [
        ("A basilisk gland wants aqua regia and powdered wolfsbane.", True),
        ("Nice weather that we have today, with many people around.", False),
        ("I met Thaumaturge Xyloth and Warden Qirrel over there.", False),  # names are not terms
        ("Wolfsbane!", False),
        ("", False),
    ],
)
def test_terms_are_rare_by_how_often_their_words_are_used(text, rare):
    assert salience.has_rare_terms(text) is rare


def tonight(text, **more):
    entry = Entry(1, "2026-01-01T10:00:00+00:00", text, "say", importance=heard(text), **more)
    return OfflineProvider().score_importance([entry], goals="")[0]


@pytest.mark.parametrize(
    "text",
    [
        "I keep the ferry at Millbrook.",
        "My brother Tom drowned in the flood.",
        "Bram owes Cora nine silver pieces.",
        "I promised the widow that I would find her son.",
    ],
)
def test_what_is_worth_a_fact_reaches_consolidation_without_being_addressed(text):
    assert tonight(text) >= conf.Settings.model_fields["MIN_IMPORTANCE"].default


@pytest.mark.parametrize(
    "text", ["Yeah, okay.", "Is it far?", "Over there.", "Odo is eating.", "It looks like rain."]
)
def test_small_talk_does_not(text):
    assert tonight(text) < conf.Settings.model_fields["MIN_IMPORTANCE"].default


# --- beside a language model ----------------------------------------------------------------------


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["importance", *map(str, arguments)])
    return benchmark.main()


def ratings(path, *lines):
    path.write_text("# made up\n" + "".join(f"Ann\tevent\t{text}\t{of}\n" for text, of in lines))
    return path


def test_the_benchmark_holds_where_the_ranking_agrees(monkeypatch, tmp_path, capsys):
    file = ratings(
        tmp_path / "r.tsv",
        ("The oven is being used", "1,2"),
        ("Odo is eating", "2,2,3"),
        ("Odo is a smith", "5"),
        ("Odo is the killer of Cora's father", "8,9"),
    )
    out = tmp_path / "out.json"
    assert run(monkeypatch, file, "--json", out) == 0
    assert '"held": true' in out.read_text()
    assert "the language model, asked again" in capsys.readouterr().out


def test_the_benchmark_fails_where_it_does_not(monkeypatch, tmp_path):
    file = ratings(
        tmp_path / "r.tsv", ("My wife died", "1"), ("Odo is a smith", "5"), ("Yeah", "9")
    )
    assert run(monkeypatch, file) == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [("", "0 observations"), ("no tabs\n", "line 1"), ("a\tb\tc\thigh\n", "line 1")],
)
def test_a_file_of_another_format_is_told(monkeypatch, tmp_path, content, said):
    file = tmp_path / "r.tsv"
    file.write_text(content)
    with pytest.raises(SystemExit, match=said):
        run(monkeypatch, file)


@pytest.mark.skipif(not DATA.exists(), reason="the development data is not beside the checkout")
def test_the_recorded_ratings_of_a_language_model_are_met(monkeypatch):
    assert run(monkeypatch, DATA / "poignancy.tsv") == 0
