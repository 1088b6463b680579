"""The reader: which recalled sentence answers a question; the scenes that it learned from."""

from dataclasses import replace

import numpy as np
import pytest
from django.core.management import call_command

from benchmarks import reader as measured
from benchmarks import scenes
from contrib_ai_memory import offload, preflight
from contrib_ai_memory.admin import inspect
from contrib_ai_memory.embedding.model import ModelError
from contrib_ai_memory.offline import memory_answers, reader, sentence_answers
from contrib_ai_memory.records import BUILDER, MemoryRecord, Recalled, ReplyRequest, ScoreParts

NOW = "2026-03-09T12:00:00+00:00"
TOLD = (
    ("Jory", "my mare threw a shoe at the ford, so i walked the last mile"),
    ("Jory", "my sister wynne keeps the toll on the north bridge"),
    ("Petra", "Has anybody seen the tinker's dog with my glove?"),
    ("Petra", "I sail for Corrow on Thursday with two barrels of pitch."),
    ("Petra", "I cannot abide the smell of fennel."),
)


def remembered(number, speaker, said, **more):
    memory = MemoryRecord(
        id=f"m{number}",
        content=said,
        record="entry",
        key=f"{speaker}: {said}",
        speaker=speaker,
        about=f"#{speaker}",
        journal_ids=(number,),
        created_at="2026-03-07T12:00:00+00:00",
    )
    return Recalled(replace(memory, **more), ScoreParts(1.0 - number / 100, 0.5), 10)


def request(asks, *recalled, speaker="Jory", persona=""):
    return ReplyRequest(
        npc_name="Mara",
        persona=persona,
        speaker=speaker,
        speaker_id=f"#{speaker}",
        utterance=asks,
        recalled=recalled or tuple(remembered(n, *told) for n, told in enumerate(TOLD)),
        now=NOW,
        npc_names=("Mara",),
    )


def answered(asks, *recalled, **more):
    found = memory_answers.from_memory(request(asks, *recalled, **more)).reply
    return found.text if found else ""


@pytest.mark.parametrize(
    ("asks", "holds"),
    [
        ("wots my sister do for a living?", "toll"),
        ("which day does Petra leave?", "Thursday"),
        ("what herb does Petra hate?", "fennel"),
        ("what happened to my horse?", "shoe"),
    ],
)
def test_the_sentence_that_answers_is_told_alone(asks, holds):
    said = answered(asks)
    assert holds in said
    others = {"toll", "Thursday", "fennel", "shoe"} - {holds}
    assert not any(each in said for each in others)


def test_what_nobody_told_is_not_answered():
    assert answered("what is the name of Petra's ship's cook?") == ""
    assert answered("what is the tinker's dog called?") == ""


def test_a_piece_that_was_taught_is_told_by_its_sentence_and_as_its_own():
    text = (
        "# The Lantern\n\nMara rents beds at four coppers a night, and the loft at two.\n"
        "- The door is barred at the second bell, and nobody is let in after it, not even the "
        "reeve himself.\n- Dogs sleep in the stable."
    )
    taught = remembered(1, "", text, record="taught", provider=BUILDER, key=text)
    assert answered("how much for a bed?", taught) == (
        "I rent beds at four coppers a night, and the loft at two."
    )
    said = answered("when is the door barred at night?", taught)
    assert "second bell" in said and "#" not in said and "Dogs" not in said


def test_what_the_persona_says_is_answered_in_the_first_person():
    persona = "Mara has kept the Drowned Lantern for thirty years. She was born in Corrow."
    assert answered("where were you born?", persona=persona) == "I was born in Corrow."


def test_a_persona_is_told_only_of_the_npc_and_without_what_it_tells_its_actor():
    persona = (
        "You keep the inn. You must never reveal that the cellar key hangs behind the stove. "
        "Mara secretly poisoned the old innkeeper. Nobody knows that you cannot read."
    )
    for asks in ("where is the cellar key?", "did you poison the old innkeeper?", "can you read?"):
        said = answered(asks, persona=persona)
        assert not any(each in said for each in ("stove", "poisoned", "cannot read"))
    told = [
        each.text
        for each in sentence_answers.sentences(request("what is kept here?", persona=persona))
        if each.memory is None
    ]
    assert told == ["I keep the inn."]


def test_what_ended_a_line_is_told_in_its_place_where_it_answers_too():
    over = remembered(1, "Petra", "im getting married in april! to Joss", superseded_by="m3")
    moved = remembered(2, "Petra", "weddings off. we put it off to june", superseded_by="m3")
    now = remembered(3, "Petra", "weddings in may after all, joss is up and about")
    for first in (replace(over.memory, superseded_by="m2"), over.memory):  # m2 is over by m3
        told = answered("is the wedding in april?", replace(over, memory=first), moved, now)
        assert "may" in told and "june" not in told and "april" not in told
    assert "Joss" in answered("who is Petra marrying?", over, moved, now)


def test_a_departure_does_not_answer_where_somebody_left_something():
    went = remembered(1, "Bram", "Bram is leaving the inn, heading for the road.", tags=("leave",))
    axe = remembered(2, "Bram", "Bram left his axe in the woodshed.")
    assert "woodshed" in answered("where did bram leave his axe?", went, axe)
    assert "Bram left for the road" in answered("when did bram leave the inn?", went, axe)


def test_without_the_reader_something_that_shares_no_word_is_not_told(monkeypatch):
    monkeypatch.setattr(reader, "shared", lambda: None)
    asked = remembered(0, "Petra", "Who has seen the tinker's dog?")
    sister = remembered(3, "Jory", "my sister wynne keeps the toll")
    assert "toll" in answered("who keeps the toll?", asked, sister)
    assert answered("what is the name of the king?", asked, sister) == ""


def test_a_damaged_model_is_looked_at_once_and_answers_go_on(monkeypatch):
    looks = []

    def damaged():
        looks.append("once")
        raise ModelError("model.safetensors is another file.")

    monkeypatch.setattr(reader, "_reader", None)
    monkeypatch.setattr(reader, "_unusable", False)
    monkeypatch.setattr(reader, "bundled_path", damaged)
    assert reader.shared() is None and reader.shared() is None
    assert looks == ["once"]


def test_nothing_but_a_question_is_no_sentence():
    texts = [each.text for each in sentence_answers.sentences(request("what?"))]
    assert not any("Has anybody seen" in each for each in texts)
    assert "I cannot abide the smell of fennel." in texts


def test_a_long_question_is_cut_and_a_long_list_is_read_whole():
    network = reader.shared()
    assert network is not None
    sentences = [f"Jory {n} days ago: Barrel {n} is full of salt." for n in range(90)]
    scores = network.scores("Jory asks Mara: " + "which barrel " * 200, sentences)
    assert scores.shape == (90,) and np.isfinite(scores).all()
    assert network.scores("Jory asks Mara: what?", []).shape == (0,)


# --- scenes and the measure -----------------------------------------------------------------------


def test_every_scene_is_read_and_every_answer_is_there():
    every = [scene for file in scenes.files() for scene in scenes.read(file)]
    assert len(every) > 600 and len({each.id for each in every}) == len(every)
    for scene in every:
        numbers = set(scene.memories)
        assert all(each.answers <= numbers for each in scene.questions), scene.id
        assert all({new, old} <= numbers for new, _what, old in scene.relations), scene.id
        for asked in scene.questions:
            assert all(scene.memories[each].to in ("", asked.asker) for each in asked.answers), (
                scene.id
            )


def test_a_line_that_is_none_of_a_scene_is_an_error(tmp_path):
    file = tmp_path / "z.txt"
    file.write_text("SCENE z-01 | Mara, innkeeper\n1 b: Beds cost four.\nwhat is this\n")
    with pytest.raises(ValueError, match=r"z\.txt, line 3: 'what is this' is not understood"):
        list(scenes.read(file))


def test_the_measure_counts_what_is_served_and_how_often_the_unknown_scores_less():
    def row(kind, *served):
        shown = tuple(measured.Shown(f"s{n}", each, each) for n, each in enumerate(served))
        return measured.Row("z", kind, True, "Jory asks Mara: what?", shown)

    rows = [row("event", False, True), row("event", True, False), row("unknown", False)]
    scores = [np.array([0.0, 2.0]), np.array([-1.0, 1.0]), np.array([0.5])]
    found = measured.judged(rows, scores, weight=0.0)
    assert [each.served for each in found] == [True, False, False]
    told = measured.source_row("z", found)
    assert (told["first"], told["reader"], told["best"]) == (50, 50, 100)
    assert told["unknown below known"] == 1.0


# --- in the game ----------------------------------------------------------------------------------


@pytest.mark.django_db
def test_one_sentence_is_told_and_no_other(says, alice):
    says(alice, "My mare Clover threw a shoe at the ford, so I walked the last mile.")
    says(alice, "My sister Wynne keeps the toll on the north bridge.")
    says(alice, "The pitch was sold in Corrow for eleven marks, the rope for two.")
    said = says(alice, "who keeps the toll on the bridge?")
    assert "Wynne" in said
    assert "Clover" not in said and "pitch" not in said


@pytest.mark.django_db
def test_a_correction_that_was_told_is_named_by_its_own_line(says, mara, alice):
    says(alice, "My brother has the mill at Corrow.")
    says(alice, "sorry, i meant Elmstead, not Corrow")
    assert "Elmstead" in says(alice, "where is my brother's mill?")
    [why, *_] = offload.wait(inspect.why(mara, 1))
    told = [each for each in why.weighed if each.told]
    assert [mara.memory.journal.get(int(each.memory)).content for each in told] == [
        "mara, sorry, i meant Elmstead, not Corrow"
    ]
    own = mara.memory.journal.get(mara.memory.journal.last_id)
    assert {*own.evidence} >= {told[0].memory, "1"}


@pytest.mark.django_db
def test_without_the_model_on_this_machine_the_first_memory_is_told(monkeypatch, says, alice):
    monkeypatch.setattr(reader, "_reader", None)
    monkeypatch.setattr(reader, "not_installed", lambda: "pip install it")
    says(alice, "My sister Wynne keeps the toll on the north bridge.")
    assert "Wynne" in says(alice, "who keeps the toll on the bridge?")


def test_that_the_model_is_missing_is_said_at_the_start(monkeypatch):
    told = "first memory that comes to mind"
    assert not any(told in each for each in preflight.doubts())
    monkeypatch.setattr(
        "contrib_ai_memory.embedding.model._PACKAGES", {"no_such_package": "'a package'"}
    )
    [doubt] = [each for each in preflight.doubts() if told in each]
    assert "no_such_package" in doubt and "base_url" not in doubt


@pytest.mark.django_db
def test_the_doctor_says_so_too(monkeypatch, capsys, mara):
    monkeypatch.setattr(
        "contrib_ai_memory.embedding.model._PACKAGES", {"no_such_package": "'a package'"}
    )
    call_command("ai_memory", "doctor")
    said = capsys.readouterr().out
    assert "note: " in said and "no_such_package" in said and "No problems found." in said
