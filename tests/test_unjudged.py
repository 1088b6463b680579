"""A line that no language has judged is told to those who were there, until a model has read it."""

import json
from dataclasses import replace

import pytest
from evennia.utils.create import create_object
from model_server import digest, numbered_in

from contrib_ai_memory import offload
from contrib_ai_memory.admin import edit, erase, forget
from contrib_ai_memory.ingest import index
from contrib_ai_memory.llm import router
from contrib_ai_memory.store import memory_store

FERRY = "Mara, ich hüte die Fähre in Mühlbach."
TILL = "Mara, sag's keinem, aber ich habe die Kasse im Brunnen versteckt."
ASKS_FERRY, ASKS_TILL = "Mara, wer hütet die Fähre?", "Mara, wo ist die Kasse?"
DRAWN = {
    "Fähre": {"text": "Alice hütet die Fähre in Mühlbach.", "kind": "occupation"},
    "Kasse": {"text": "Alice hat die Kasse im Brunnen versteckt.", "kind": "secret"},
}


def talk(request):
    """Answers with what the prompt tells besides the line that is answered."""
    known, _, asked = request.text.rpartition("</memory>")
    for word, tells, answer in (
        ("Fähre", "hüte", "Alice hütet die Fähre."),
        ("Kasse", "versteckt", "Die Kasse ist im Brunnen versteckt."),
    ):
        if word in asked and tells in known:
            return answer
    return "Davon weiß ich nichts."


def night(request):
    """Draws a fact of each line of `DRAWN`, and says that the one of "sag's keinem" is confided."""
    new, _known = numbered_in(request)
    told = {n: line for n, line in new.items() if "?" not in line}
    facts = [
        {"about": "Alice", "lines": [number]} | fact
        for number, line in told.items()
        for word, fact in DRAWN.items()
        if word in line
    ]
    answer = digest(dict.fromkeys(new, 6), facts)
    if request.schema == "JudgingDigestAnswer":
        answer["confided"] = [number for number, line in new.items() if "sag's keinem" in line]
    return json.dumps(answer)


@pytest.fixture
def cerys(tavern):
    return create_object("typeclasses.characters.Character", key="Cerys", location=tavern)


@pytest.fixture
def evening(settings, speaks_through, server, mara, alice, bram, cerys):
    """Alice has told Mara two things in German before Cerys; all but Mara have left."""
    settings.CONTRIB_AI_MEMORY = {**settings.CONTRIB_AI_MEMORY, "LANGUAGE": None}
    speaks_through(timeout=30)
    server.behave(text="So, so.", structured=night)
    bram.location = None
    alice.execute_cmd(f"say {FERRY}")
    alice.execute_cmd(f"say {TILL}")
    alice.location = cerys.location = None
    server.behave(text=talk, structured=night)
    return mara


@pytest.fixture
def asks(evening, server, hears):
    """asks(bram, line): what he hears of Mara, asking her alone."""

    def ask(who, line, place=evening.location):
        who.move_to(place, quiet=True)
        heard = hears(who)
        who.execute_cmd(f"say {line}")
        who.location = None
        return "\n".join(each for each in heard if each.startswith(("Mara", "Otto")))

    return ask


def sleep(mara):
    return offload.wait(mara.assistant.sleep.whole_night())


def facts(mara):
    found = memory_store.shared().list(mara.memory.id, record="fact")
    return {fact.content: fact for fact in found}


def test_by_day_it_is_told_aloud_to_those_who_were_there_alone(evening, asks, bram, cerys, server):
    for line in (ASKS_TILL, ASKS_FERRY):
        assert "Davon weiß ich nichts." in asks(bram, line)
        assert "versteckt" not in server.requests[-1].text
        assert "ich hüte" not in server.requests[-1].text
    assert 'Mara says, "Die Kasse ist im Brunnen versteckt."' in asks(cerys, ASKS_TILL)
    assert "in confidence) " not in server.requests[-1].text
    # nor is he told what Mara has said to Cerys
    assert "Davon weiß ich nichts." in asks(bram, ASKS_TILL)
    assert "versteckt" not in server.requests[-1].text


def test_what_is_noted_of_it_is_kept_to_those_who_were_there(evening, cerys, server):
    cerys.move_to(evening.location, quiet=True)
    create_object("typeclasses.objects.Object", key="Apfel", location=cerys)
    note = {"essence": "Die Kasse ist im Brunnen.", "lesson": "", "emotions": ["trust"]}
    server.behave_once(calls=[("recall", {"query": "Kasse im Brunnen versteckt"})])
    server.behave_once(calls=[("memorize", note)])
    cerys.execute_cmd("give Apfel to Mara")
    [noted] = [each for each in evening.memory.journal.read() if each.kind == "note"]
    assert noted.audience is not None


def test_by_day_it_is_whispered_where_somebody_is_here_who_was_not_there(
    evening, asks, bram, cerys, hears
):
    bram.move_to(evening.location, quiet=True)
    brams = hears(bram)
    told = asks(cerys, ASKS_TILL)
    assert "Mara whispers" in told and "Die Kasse ist im Brunnen versteckt." in told
    assert not any("Brunnen" in line for line in brams)


def test_another_npc_who_was_not_there_is_told_nothing_on(evening, asks, cerys):
    otto = create_object("typeclasses.npcs.AssistantNPC", key="Otto", location=evening.location)
    asks(cerys, ASKS_TILL)
    assert not any("Brunnen" in entry.content for entry in otto.memory.journal.read())


def test_an_npc_does_not_tell_on_what_another_one_said_before_a_few(
    evening, asks, bram, cerys, server
):
    otto = create_object("typeclasses.npcs.AssistantNPC", key="Otto")
    otto.location = evening.location
    evening.execute_cmd("say Die Kasse ist im Brunnen versteckt.")
    evening.location, place = None, evening.location
    assert "Davon weiß ich nichts." in asks(bram, "Otto, wo ist die Kasse?", place)
    assert "versteckt" not in server.requests[-1].text


def test_after_the_night_all_but_what_was_confided_is_told(evening, asks, bram, cerys, server):
    asks(cerys, ASKS_TILL)
    sleep(evening)
    assert {text: fact.private for text, fact in facts(evening).items()} == {
        DRAWN["Fähre"]["text"]: False,
        DRAWN["Kasse"]["text"]: True,
    }
    assert "Alice hütet die Fähre." in asks(bram, ASKS_FERRY)
    assert "Davon weiß ich nichts." in asks(bram, ASKS_TILL)
    assert "versteckt" not in server.requests[-1].text
    assert "Die Kasse ist im Brunnen versteckt." in asks(cerys, ASKS_TILL)
    said = {entry.content: entry for entry in evening.memory.journal.read()}
    assert said[TILL].private and not said[FERRY].private
    assert not said[TILL].unjudged and not said[FERRY].unjudged
    own = [entry for entry in evening.memory.journal.read() if entry.content == "So, so."]
    assert [each.audience is None for each in own] == [True, False]  # the till was told by then
    stored = memory_store.shared().list(evening.memory.id, record="entry")
    kept = {memory.content: memory.private for memory in stored}
    assert kept[TILL] and not kept[FERRY]
    assert said["Die Kasse ist im Brunnen versteckt."].audience is not None


def test_the_night_looks_again_once_it_is_known_what_was_confided(evening, server):
    sleep(evening)
    judging, again = [each for each in server.requests if each.schema]
    assert (judging.schema, again.schema) == ("JudgingDigestAnswer", "DigestAnswer")
    assert f"1 Alice says: {FERRY}" in again.last
    assert f"2 [A] Alice says: {TILL}" in again.last


@pytest.mark.parametrize("answer", ["no idea", json.dumps(digest({1: 6, 2: 6}))])
def test_after_a_night_without_a_usable_answer_it_stays_with_those_who_were_there(
    evening, asks, bram, cerys, server, answer
):
    server.behave(text=talk, structured=answer)
    sleep(evening)
    for line in (ASKS_TILL, ASKS_FERRY):
        assert "Davon weiß ich nichts." in asks(bram, line)
    assert "Brunnen" in asks(cerys, ASKS_TILL)


def test_a_night_without_the_server_is_made_up_for(evening, asks, bram, server):
    server.behave(status=503)
    sleep(evening)
    server.behave(text=talk, structured=night)
    router.breaker.reset()
    sleep(evening)
    assert "Alice hütet die Fähre." in asks(bram, ASKS_FERRY)
    assert "Davon weiß ich nichts." in asks(bram, ASKS_TILL)


def test_a_night_killed_as_it_began_to_write_ends_like_any_other(evening, asks, bram, cerys):
    lines = [each for each in evening.memory.journal.read() if each.content in (FERRY, TILL)]
    judged = [replace(each, tags=()) for each in lines]
    index.rewrite_fields(evening.memory.id, judged, "private", "audience", "tags")
    sleep(evening)
    assert sorted(fact.private for fact in facts(evening).values()) == [False, True]
    assert "Davon weiß ich nichts." in asks(bram, ASKS_TILL)
    assert "Brunnen" in asks(cerys, ASKS_TILL)


def test_the_preview_shows_what_each_would_be_told(evening, builder):
    assert "versteckt" not in builder(f"@memory/preview mara = Bram: {ASKS_TILL}")
    assert "versteckt" in builder(f"@memory/preview mara = Cerys: {ASKS_TILL}")


def test_it_is_forgotten_by_day_and_kept_where_that_is_undone_after_a_night(
    evening, asks, alice, bram, cerys
):
    [line] = [each for each in evening.memory.journal.read() if each.content == TILL]
    offload.wait(forget.forget(evening, alice, str(line.id)))
    assert "Davon weiß ich nichts." in asks(cerys, ASKS_TILL)
    sleep(evening)
    offload.wait(edit.undo(evening, alice))
    assert "Davon weiß ich nichts." in asks(bram, ASKS_TILL)
    assert "Brunnen" in asks(cerys, ASKS_TILL)


def test_who_only_heard_it_and_is_erased_takes_none_of_it_along(evening, cerys):
    offload.wait(evening.memory.index_pending())
    offload.wait(erase.erase_person(evening, evening.get_memory_identity(cerys), ["Cerys"]))
    said = {entry.content: entry for entry in evening.memory.journal.read()}
    stored = memory_store.shared().list(evening.memory.id, record="entry")
    kept = {memory.content: memory for memory in stored}
    for line in (FERRY, TILL):
        assert said[line].witnesses == kept[line].witnesses
        assert evening.get_memory_identity(cerys) not in said[line].witnesses


@pytest.mark.parametrize(
    ("chosen", "kept"), [(None, True), ("german.German", False), ("default", False)]
)
def test_a_language_that_judges_keeps_only_what_is_confided(
    settings, speaks_through, mara, alice, chosen, kept
):
    if chosen != "default":
        settings.CONTRIB_AI_MEMORY = {**settings.CONTRIB_AI_MEMORY, "LANGUAGE": chosen}
    speaks_through(timeout=30)
    alice.execute_cmd(f"say {FERRY}")
    first = next(each for each in mara.memory.journal.read() if each.kind == "say")
    assert first.unjudged is kept


@pytest.mark.parametrize("llm", [None, "offline"])
def test_without_a_model_to_judge_all_is_public_as_before(
    settings, speaks_through, mara, alice, llm
):
    if llm:
        speaks_through(timeout=30)
    more = {"LANGUAGE": None} | ({"LLM_NIGHT": llm} if llm else {})
    settings.CONTRIB_AI_MEMORY = {**settings.CONTRIB_AI_MEMORY, **more}
    alice.execute_cmd(f"say {FERRY}")
    [entry, *_] = mara.memory.journal.read()
    assert entry.audience is None
