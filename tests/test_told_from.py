"""Erasing follows what an NPC said: its answers to others, and what other NPCs heard of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from model_server import WELL_FORMED, digest, numbered_in
from test_erasing import everything

from contrib_ai_memory import offload
from contrib_ai_memory.admin import erase, undo_log

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def gustav(tavern):
    from evennia.utils.create import create_object

    return create_object("typeclasses.npcs.AssistantNPC", key="Gustav", location=tavern)


@pytest.fixture
def admin(types_as):
    return types_as("Admin", "Admin")


@pytest.fixture
def model(speaks_through, server):
    """Says a text, after calls of tools where there are any."""
    speaks_through()

    def says(text, *calls):
        server.behave(text=text, calls=lambda request: [] if request.results else list(calls))

    return says


def talk(model, who, line, text, *calls):
    model(text, *calls)
    who.execute_cmd(line)


def kept(npc) -> str:
    npc.memory.flush()
    return everything(npc)


@pytest.fixture
def told(mara, gustav, alice, bram, model):
    """Alice has told Mara of a xylophone, alone; Mara tells Bram, with Gustav beside them."""
    gustav.location = bram.location = None
    talk(model, alice, "say Mara, I hide a xylophone below the stairs.", "Is that so?")
    alice.location = None
    bram.location = gustav.location = mara.location
    talk(model, bram, "say Mara, what lies below the stairs?", "A zanzibar instrument.")
    return mara


def erase_by_command(admin, npc, who):
    admin(f"@memory/forget {npc.key} = about {npc.get_memory_identity(who)}")
    return admin("yes")


def test_an_answer_to_another_goes_with_what_it_was_told_from(told, alice, bram, admin):
    assert "zanzibar" in kept(told)
    said = erase_by_command(admin, told, alice)
    assert "no longer knows Alice" in said
    assert "zanzibar" not in kept(told)
    assert "what lies below the stairs?" in kept(told), "Bram's own words stay"


def test_another_npc_that_heard_the_answer_forgets_it(told, gustav, alice, admin):
    offload.wait(gustav.memory.index_pending())
    assert "zanzibar" in kept(gustav)
    erase_by_command(admin, told, alice)
    assert "zanzibar" not in kept(gustav)


def test_what_another_npc_forgot_of_the_answer_does_not_come_back_by_undo(
    told, gustav, alice, admin, builder
):
    offload.wait(gustav.memory.index_pending())
    [heard] = [each.id for each in gustav.memory.journal.read() if "zanzibar" in each.content]
    builder(f"@memory/forget Gustav = {heard}")
    builder("yes")
    erase_by_command(admin, told, alice)
    assert "nothing to undo" in builder("@memory/undo Gustav")
    assert "zanzibar" not in kept(gustav)


def test_an_undo_of_another_npc_that_has_nothing_to_do_with_the_erased_stays(
    told, gustav, alice, bram, admin, builder
):
    bram.execute_cmd("say My sheep graze in the north field.")
    offload.wait(gustav.memory.index_pending())
    sheep = next(each.id for each in gustav.memory.journal.read() if "sheep" in each.content)
    heard = [each.id for each in gustav.memory.journal.read() if "zanzibar" in each.content]
    for number in heard:
        builder(f"@memory/forget Gustav = {number}")
        builder("yes")
    undo_log.clear(gustav)
    builder(f"@memory/forget Gustav = {sheep}")
    builder("yes")
    erase_by_command(admin, told, alice)
    builder("@memory/undo Gustav")
    assert "north field" in kept(gustav)


def test_what_it_told_on_from_there_goes_wherever_it_went(told, gustav, alice, bram, model, admin):
    talk(model, bram, "say Gustav, what did she tell me?", "Of a quixotic thing, far from here.")
    talk(model, bram, "say Mara, is he right?", "He is: it is the marzipan one.")
    for npc in (told, gustav):
        offload.wait(npc.memory.index_pending())
        assert "quixotic" in kept(npc)
        assert "marzipan" in kept(npc)
    erase_by_command(admin, told, alice)
    for npc in (told, gustav):
        for word in ("zanzibar", "quixotic", "marzipan"):
            assert word not in kept(npc), (npc.key, word)
    assert "what did she tell me?" in kept(gustav)


def test_what_its_tools_did_with_it_goes_too(mara, gustav, alice, bram, model, admin):
    gustav.location = None
    talk(model, alice, "say Mara, I hide a xylophone below the stairs.", "Is that so?")
    gustav.location, alice.location = mara.location, None
    talk(
        model,
        bram,
        "say Mara, what lies below the stairs?",
        "",
        ("say", {"text": "There is a zanzibar there."}),
        ("emote", {"text": "points at a quixotic step."}),
        ("whisper", {"name": "Bram", "text": "It is full of marzipan."}),
        (
            "memorize",
            {"essence": "It rests on a wombat.", "lesson": "l", "emotions": [], "weight": 0.9},
        ),
        ("note_about", {"name": "Bram", "text": "He wants the theremin."}),
    )
    words = ("zanzibar", "quixotic", "marzipan", "wombat", "theremin")
    for word in words:
        assert word in kept(mara), word
    erase_by_command(admin, mara, alice)
    for npc in (mara, gustav):
        for word in words:
            assert word not in kept(npc), (npc.key, word)


def test_what_a_tool_brought_up_goes_though_nothing_was_said_of_it(mara, alice, bram, model, admin):
    talk(model, alice, "say Mara, I hide a xylophone below the stairs.", "Is that so?")
    alice.location = None
    talk(
        model,
        bram,
        "say Mara, what lies below the stairs?",
        "",
        ("recall", {"query": "What lies below the stairs?"}),
        ("memorize", {"essence": "A wombat.", "lesson": "l", "emotions": [], "weight": 0.9}),
    )
    erase_by_command(admin, mara, alice)
    assert "xylophone" not in kept(mara)
    assert "wombat" not in kept(mara)


def test_the_offline_answer_goes_and_one_from_others_words_stays(
    mara, gustav, alice, bram, admin, hears
):
    alice.execute_cmd("say Mara, the zanzibar chest lies below the stairs.")
    alice.location = None
    bram.execute_cmd("say Mara, wolves took two sheep near Harrow Hill.")
    offload.wait(mara.assistant.sleep.whole_night())
    heard = hears(bram)
    bram.execute_cmd("say Mara, where is the chest?")
    bram.execute_cmd("say Mara, who took the sheep?")
    mine = [e for e in mara.memory.journal.read() if e.origin == "self"]
    assert any("chest" in line and "Mara says" in line for line in heard), heard
    of_sheep = [e for e in mine if "olves" in e.content and "chest" not in e.content]
    assert of_sheep, [e.content for e in mine]
    erase_by_command(admin, mara, alice)
    assert "zanzibar" not in kept(mara)
    assert all(mara.memory.journal.get(e.id) for e in of_sheep)
    heard_by_gustav = [each.content for each in gustav.memory.journal.read()]
    assert all(e.content in heard_by_gustav for e in of_sheep)


def test_an_answer_given_before_they_came_stays(mara, alice, bram, model, admin):
    talk(model, bram, "say Mara, who are you?", "I keep this tavern.")
    talk(model, alice, "say Mara, I hide a xylophone below the stairs.", "Is that so?")
    erase_by_command(admin, mara, alice)
    assert "I keep this tavern." in kept(mara)


def test_an_erasure_killed_before_other_npcs_were_reached_is_finished_when_run_again(
    told, gustav, alice, monkeypatch
):
    def killed(*_args):
        raise KeyboardInterrupt

    for step in ("_clear_references", "_erase_from_journal"):
        with monkeypatch.context() as broken:
            broken.setattr(erase, step, killed)
            with pytest.raises(KeyboardInterrupt):
                offload.wait(erase.erase_person(told, told.get_memory_identity(alice)))
    offload.wait(erase.erase_person(told, told.get_memory_identity(alice)))
    for npc in (told, gustav):
        assert "zanzibar" not in kept(npc)


def test_forgetting_one_memory_leaves_what_was_said_and_all_from_it_takes_it(told, gustav, builder):
    memory = told.memory
    offload.wait(memory.index_pending())
    [line] = [e for e in memory.journal.read() if "xylophone" in e.content]
    builder(f"@memory/forget Mara = {line.id}")
    builder("yes")
    assert "zanzibar" in kept(told)
    builder("@memory/undo Mara")
    builder(f"@memory/forget Mara = {line.id} all")
    builder("yes")
    said = [e.content for e in memory.journal.read()]
    assert "A zanzibar instrument." not in said
    assert "A zanzibar instrument." not in [e.content for e in gustav.memory.journal.read()]
    builder("@memory/undo Mara")
    assert "A zanzibar instrument." in [e.content for e in memory.journal.read()]


@pytest.mark.slow
def test_on_the_disk_is_nothing_left_of_what_was_told_on(tmp_path):
    """Two NPCs, a model that repeats what it is shown: every byte of the game is looked at."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "erased_game.py"), str(tmp_path), "told on"],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    seen = json.loads(done.stdout.splitlines()[-1])
    words = {word for held in seen["before"].values() for word in held}
    assert {"zanzibar", "quixotic", "xylophone", "marzipan"} <= words, "the model said nothing"
    assert seen["after"] == {}
    assert seen["recalled"] == ["Wolves took two of my sheep near Harrow Hill."]


# --- two of one name ------------------------------------------------------------------------------


@pytest.fixture
def roses(tavern, mara, bram, admin):
    """Two people called Rose have talked with Mara, and Bram of one of them."""
    from evennia.utils.create import create_object

    path = "typeclasses.characters.Character"
    first, second = (create_object(path, key="Rose", location=tavern) for _ in range(2))
    first.execute_cmd("say My name is Rose and I sail to Zanzibar.")
    second.execute_cmd("say My name is Rose and I bake marzipan for Bram.")
    second.execute_cmd("say I love barley bread.")
    bram.execute_cmd("say Rose has a good oven.")
    first.execute_cmd("whisper Mara = Rose the baker owes me a wombat.")
    offload.wait(mara.assistant.sleep.whole_night())
    return first, second


def test_erasing_one_of_two_of_one_name_leaves_the_other(mara, roses, bram, admin):
    first, second = roses
    assert "knows 2 people called 'Rose'" in admin("@memory/forget Mara = about Rose")
    erase_by_command(admin, mara, first)
    after = kept(mara)
    assert "Zanzibar" not in after
    assert "wombat" not in after
    assert "marzipan" in after
    assert "barley bread" in after
    assert "good oven" in after
    hers = mara.get_memory_identity(second)
    assert mara.memory.people.name_of(hers) == "Rose"
    assert [each.text for each in mara.memory.preferences.of(hers)]
    assert mara.get_memory_identity(first) not in after


def test_when_both_are_erased_nothing_with_their_name_is_left(mara, roses, admin):
    for rose in roses:
        erase_by_command(admin, mara, rose)
    after = kept(mara)
    for word in ("Rose", "Zanzibar", "marzipan", "oven", "wombat"):
        assert word not in after, word


def test_a_name_within_the_longer_name_of_another_is_not_theirs(mara, tavern, bram, admin):
    from evennia.utils.create import create_object

    path = "typeclasses.characters.Character"
    rose, miller = (
        create_object(path, key=key, location=tavern) for key in ("Rose", "Rose Miller")
    )
    rose.execute_cmd("say I sail to Zanzibar.")
    miller.execute_cmd("say I bake marzipan.")
    bram.execute_cmd("say Rose Miller has a good oven.")
    bram.execute_cmd("say Rose has a bad boat.")
    erase_by_command(admin, mara, rose)
    after = kept(mara)
    assert "good oven" in after
    assert "marzipan" in after
    assert "Zanzibar" not in after
    assert "bad boat" not in after


# --- what a model drew beside the words of the erased ---------------------------------------------


def facts_of_all(request):
    new, _known = numbered_in(request)
    shown = "the zanzibar" if "zanzibar" in request.text else "nothing"
    facts = [
        {
            "text": f"Somebody knows that wolves took two of Bram's sheep, and {shown}.",
            "lines": [number],
        }
        for number, line in new.items()
        if "Wolves" in line
    ]
    return digest(dict.fromkeys(new, 8), facts)


def attributes_of_all(request):
    shown = "likes the zanzibar" if "zanzibar" in request.text else "is plain"
    ids = list(numbered_in(request)[0])[-1:]
    value = {"type": "trait", "value": shown, "evidence": ids, "confidence": 0.9, "replaces": []}
    return {"attributes": [value]}


def insights_of_all(request):
    shown = "zanzibar" if "zanzibar" in request.text else "nothing"
    because = [n for n, text in numbered_in(request)[0].items() if "sheep" in text][:1]
    return {"insights": [{"insight": f"It is all about {shown}.", "because_of": because}]}


@pytest.mark.parametrize(
    ("schema", "drawn"),
    [
        ("DigestAnswer", facts_of_all),
        ("AttributesAnswer", attributes_of_all),
        ("InsightsAnswer", insights_of_all),
    ],
)
def test_what_a_model_drew_from_another_beside_it_goes_too(
    mara, alice, bram, admin, settings, server, speaks_through, schema, drawn
):
    settings.CONTRIB_AI_MEMORY |= {"REFLECT_AT": 1, "MIN_OBSERVATIONS": 1}
    speaks_through()
    weigh = lambda request: digest(dict.fromkeys(numbered_in(request)[0], 8))  # noqa: E731
    answers = WELL_FORMED | {"DigestAnswer": weigh, schema: drawn}
    server.behave(structured=lambda request: json.dumps(answers[request.schema](request)))
    bram.execute_cmd("say My sheep graze in the north field, Alice.")
    alice.execute_cmd("say Bram sailed with me on the zanzibar.")
    bram.execute_cmd("say Wolves took two of my sheep.")
    bram.execute_cmd("say I sold the other sheep.")
    admin("@sleep/now mara")
    others = [line for line in kept(mara).splitlines() if "zanzibar" in line]
    assert any("Somebody" in o or "likes" in o or "all about" in o for o in others), others
    erase_by_command(admin, mara, alice)
    assert "zanzibar" not in kept(mara)
    assert "Wolves took two" in kept(mara)


def test_a_promise_loses_the_words_that_a_model_drew_from_another_beside_it(
    mara, alice, bram, admin, server, speaks_through
):
    def promises_of_all(request):
        of_bram = [n for n, line in numbered_in(request)[0].items() if "net" in line]
        text = "Bram will mend the net, and somebody sailed on the zanzibar."
        facts = [{"text": text, "lines": of_bram, "kind": "promise", "date": "2027-01-01"}]
        return digest(dict.fromkeys(numbered_in(request)[0], 8), facts if of_bram else [])

    speaks_through()
    answers = WELL_FORMED | {"DigestAnswer": promises_of_all}
    server.behave(structured=lambda request: json.dumps(answers[request.schema](request)))
    alice.execute_cmd("say I sailed on the zanzibar, Bram.")
    bram.execute_cmd("say I promise to mend the net, Mara.")
    admin("@sleep/now mara")
    assert "zanzibar" in str(list(mara.memory.agenda))
    erase_by_command(admin, mara, alice)
    (item,) = mara.memory.agenda
    assert "mend the net" in item.text
    assert item.told == ""
    assert "zanzibar" not in kept(mara)
