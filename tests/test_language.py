"""The language of a game: English by default, another one by a setting, or none beside a model."""

import doctest
import json
import re

import pytest
from model_server import digest, numbered_in

from contrib_ai_memory import language, offload, preflight
from contrib_ai_memory.english.english import English
from contrib_ai_memory.language import Language, Named
from contrib_ai_memory.store import memory_store
from contrib_ai_memory.text import names

# words of stock phrases, dates and reports that only English judgement would bring in
ENGLISH = re.compile(
    r"\b(?:the|says?|said|claims?|that|know|nothing|yesterday|Saturday|Sunday|Monday|bear|mind)\b"
)


@pytest.fixture
def speaks(settings, store_folder):
    """speaks(name): what the setting LANGUAGE names."""

    def choose(name):
        settings.CONTRIB_AI_MEMORY = {**settings.CONTRIB_AI_MEMORY, "LANGUAGE": name}

    return choose


def test_the_language_is_english_unless_the_settings_say_otherwise(speaks):
    assert type(language.get()) is English
    speaks("german.German")
    assert type(language.get()).__name__ == "German"
    speaks(None)
    assert type(language.get()) is Language


def test_an_installed_language_is_found_by_its_entry_point(speaks, tmp_path, monkeypatch):
    installed = tmp_path / "german-1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Name: german\nVersion: 1\n")
    points = "[contrib_ai_memory.languages]\ngerman = german:German\n"
    (installed / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(tmp_path)
    speaks("german")
    assert type(language.get()).__name__ == "German"


@pytest.mark.parametrize("name", ["german.French", "german.GermanProvider", "klingon"])
def test_a_language_that_does_not_exist_stops_the_start_with_a_sentence(speaks, name):
    speaks(name)
    [fault] = preflight.faults()
    assert "LANGUAGE" in fault and name in fault


# --- another language -----------------------------------------------------------------------------


def test_a_second_language_hears_and_answers_without_a_change_of_the_core(
    speaks, mara, alice, bram, hears
):
    speaks("german.German")
    alice.execute_cmd("say Mara, ich hüte die Fähre in Mühlbach.")
    spoken = hears(bram)
    bram.execute_cmd("say Mara, wer hütet die Fähre")
    answer = next(line for line in spoken if line.startswith("Mara"))
    assert "Alice sagte: „Mara, ich hüte die Fähre in Mühlbach.“" in answer
    asked = mara.memory.journal.tail(5)
    assert [e.content for e in asked if e.is_question] == ["Mara, wer hütet die Fähre"]


def test_what_is_confided_in_it_is_kept_from_the_others(speaks, mara, alice, bram, hears):
    speaks("german.German")
    alice.execute_cmd("say Mara, das bleibt unter uns: der Schlüssel liegt im Brunnen.")
    [told] = [entry for entry in mara.memory.journal.tail(3) if entry.origin == "perceived"]
    assert told.private and set(told.witnesses) == {
        mara.get_memory_identity(each) for each in (alice, bram)
    }
    carl = alice.copy("Carl")
    spoken = hears(carl)
    alice.location = bram.location = None
    carl.execute_cmd("say Mara, wo liegt der Schlüssel?")
    assert "Davon weiß ich nichts." in "\n".join(spoken)


def test_lines_in_company_are_attended_to_by_its_manner(speaks, mara, alice, bram, hears):
    speaks("german.German")
    spoken = hears(alice)
    alice.execute_cmd("say Guten Abend, wo bekomme ich bitte ein Bett?")
    assert any(line.startswith("Mara") for line in spoken)


# --- no language, a model alone -------------------------------------------------------------------


def german_night(request):
    """Draws the fact of the line about the ferry, in German."""
    new, _known = numbered_in(request)
    [number] = [n for n, line in new.items() if "Fähre" in line and "?" not in line]
    fact = {"text": "Alice hütet die Fähre.", "lines": [number], "kind": "occupation"}
    fact |= {"about": "Alice", "ends": []}
    return json.dumps(digest(dict.fromkeys(new, 5), [fact], confided=[]))


@pytest.mark.parametrize("style", ["full", "plain"])
def test_without_a_language_a_model_keeps_a_german_memory(
    speaks, speaks_through, server, mara, alice, bram, hears, style
):
    speaks(None)
    speaks_through(timeout=30, style=style)
    server.behave(text="Guten Abend, Alice.", structured=german_night)
    alice.execute_cmd("say Mara, ich hüte die Fähre in Mühlbach, bis Freitag.")
    server.behave(text="Alice hütet sie.", structured=german_night)
    spoken = hears(bram)
    bram.execute_cmd("say Mara, wer hütet die Fähre?")
    assert any("Alice hütet sie." in line for line in spoken)
    request = server.requests[-1]
    assert "ich hüte die Fähre in Mühlbach" in request.text  # recalled
    offload.wait(mara.assistant.sleep.whole_night())
    store = memory_store.shared()
    [fact] = store.list(mara.memory.id, record="fact")
    assert fact.content == "Alice hütet die Fähre."
    assert not list(mara.memory.agenda)
    kept = [
        m for record in ("entry", "experience") for m in store.list(mara.memory.id, record=record)
    ]
    words = "\n".join(text for memory in kept for text in (memory.content, memory.the_lesson))
    assert not ENGLISH.search(words), words


def test_without_a_language_and_a_model_it_keeps_quiet(speaks, mara, alice, hears):
    speaks(None)
    spoken = hears(alice)
    alice.execute_cmd("say Mara, wer hütet die Fähre?")
    assert not [line for line in spoken if line.startswith("Mara")]
    assert mara.memory.journal.tail(1)[0].is_question
    offload.wait(mara.assistant.sleep.whole_night())


@pytest.mark.parametrize(
    ("said", "english"),
    [
        ("i owe you 7 crowns, i pay on friday", True),
        ("Ich schulde dir 7 Kronen, am Freitag zahle ich.", False),
    ],
)
def test_beside_a_model_rules_read_the_lines_of_their_language_alone(
    speaks_through, server, mara, alice, said, english
):
    speaks_through(timeout=30)
    server.behave(text="Hm.")
    alice.execute_cmd(f"say Mara, {said}")
    assert [item.kind for item in mara.memory.agenda] == ["debt"] * english
    assert English().reads(said) is english and not Language().reads(said)


@pytest.mark.parametrize(
    ("said", "how"),
    [
        ("Mara, ein Bier!", Named.CALLED),
        ("Danke, Mara.", Named.CALLED),
        ("@mara", Named.CALLED),
        ("Ich kenne Mara gut.", Named.NAMED),
        ("Im Sommer war ich dort.", Named.NOT),
        ("Der Amarant blüht.", Named.NOT),
    ],
)
def test_names_need_no_language(said, how):
    assert Language().named(said, ("mara",)) is how


def test_marks_and_numbers_need_no_language():
    none = Language()
    assert none.sentences("Wo? Dort. 3 Äxte…") == ["Wo?", "Dort.", "3 Äxte…"]
    assert none.asks("Wer ist das?") and not none.asks("Das ist er.")
    assert none.says_the_same("7 Kronen", "7 Kronen!")
    assert not none.says_the_same("7 Kronen", "9 Kronen")
    assert none.importance("…") < 0 < none.importance("Der Fluss steigt seit Tagen.")
    assert none.moment("2026-05-09T21:00:00+00:00") == "2026-05-09 21:00"


@pytest.mark.parametrize("module", [language, names])
def test_the_examples_in_the_docstrings_run(module):
    examples = doctest.testmod(module)
    assert examples.attempted and not examples.failed
