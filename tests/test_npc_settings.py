"""Kinds of NPCs: settings of a typeclass, a prototype or one NPC, and what they change."""

import ast
from pathlib import Path

import pytest
from evennia.prototypes.prototypes import save_prototype
from evennia.utils.create import create_object
from evennia.utils.idmapper.models import flush_cache

from contrib_ai_memory import conf, offload, preflight
from contrib_ai_memory.admin import prompt_preview
from contrib_ai_memory.npc import MemoryMixin
from contrib_ai_memory.store import npc_settings
from typeclasses.npcs import AssistantNPC

PACKAGE = Path(conf.__file__).parent


@pytest.fixture
def guard(tavern):
    """Rook, a guard: see `typeclasses.npcs.GuardNPC`."""
    return create_object("typeclasses.npcs.GuardNPC", key="Rook", location=tavern)


@pytest.fixture
def companion(tavern):
    return create_object("typeclasses.npcs.CompanionNPC", key="Lark", location=tavern)


@pytest.fixture
def broken(tavern, monkeypatch):
    """An NPC whose typeclass has settings that cannot be used."""
    npc_settings._log_once.cache_clear()
    wrong = {"RECALL_TOKENS": 3, "DIR": "/tmp", "RECAL_TOP_K": 5, "TICK_RATE": 9}
    monkeypatch.setattr(AssistantNPC, "memory_settings", wrong, raising=False)
    return create_object("typeclasses.npcs.AssistantNPC", key="Moss", location=tavern)


def rows_of(shown):
    """The value and source of each setting in the table of @memory/settings."""
    rows = [line.split() for line in shown.splitlines() if line.strip()]
    return {name: " ".join(rest) for name, *rest in rows}


def own_words(npc, since=0):
    return [e.content for e in npc.memory.journal.read(since + 1) if e.origin == "self"]


# --- where a value comes from ---------------------------------------------------------------------


def test_each_value_is_shown_with_its_source(guard, builder, settings):
    settings.CONTRIB_AI_MEMORY = {**settings.CONTRIB_AI_MEMORY, "REPLY_COOLDOWN": 0}
    builder("@memory/set rook = RECALL_TOP_K: 7")
    rows = rows_of(builder("@memory/settings rook"))
    assert rows["RECALL_TOKENS"] == "150 typeclass GuardNPC"
    assert rows["RECALL_TOP_K"] == "7 this NPC"
    assert rows["REPLY_COOLDOWN"] == "0.0 game"
    assert rows["TICK_RATE"] == "5 default"
    assert "DIR" not in rows and "VECTOR_STORE" not in rows


def test_the_overview_names_only_what_differs(guard, mara, builder):
    shown = " ".join(builder("@memory rook").split())
    assert "RECALL_TOKENS 150 (typeclass GuardNPC)" in shown and "TICK_RATE" not in shown
    assert "settings:" not in builder("@memory mara")


def test_a_class_inherits_what_it_does_not_set(guard, monkeypatch):
    monkeypatch.setattr(
        AssistantNPC, "memory_settings", {"TICK_RATE": 9, "RECALL_TOKENS": 900}, raising=False
    )
    assert (guard.memory.settings.TICK_RATE, guard.memory.settings.RECALL_TOKENS) == (9, 150)
    assert guard.memory.own_settings.sources()["TICK_RATE"] == "typeclass AssistantNPC"


def test_a_setting_is_set_and_cleared_by_command(mara, builder):
    shown = builder("@memory/set mara = recall_tokens: 300")
    assert "RECALL_TOKENS is 300 (this NPC). It was 600 (default)." in shown
    assert mara.memory.settings.RECALL_TOKENS == 300
    shown = builder("@memory/set mara = RECALL_TOKENS:")
    assert "RECALL_TOKENS is 600 (default). It was 300 (this NPC)." in shown
    assert not mara.attributes.has("memory_settings")
    assert "not set for this NPC alone" in builder("@memory/set mara = RECALL_TOKENS:")
    assert "Usage: @memory/set" in builder("@memory/set mara = RECALL_TOKENS")


def test_words_and_numbers_are_typed_as_they_come(mara, builder):
    builder("@memory/set mara = KEYWORDS: ferry, mill")
    builder("@memory/set mara = PRUNE_AFTER_DAYS: 2.5")
    builder('@memory/set mara = PHRASES: {"thanks": "No need, {name}."}')
    now = mara.memory.settings
    assert (now.KEYWORDS, now.PRUNE_AFTER_DAYS) == (("ferry", "mill"), 2.5)
    assert now.PHRASES == {"thanks": ("No need, {name}.",)}


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("RECALL_TOKENS: 3", "RECALL_TOKENS = 3: must be greater than or equal to 50"),
        ("RECALL_TOKENS: many", "RECALL_TOKENS = 'many': must be a valid integer"),
        ("RECALL_TOKEN: 300", "RECALL_TOKEN is no setting. Those of an NPC are:"),
        ("VECTOR_STORE: qdrant", "a setting of the whole game: all NPCs share one store"),
        ("ENABLED: false", "to switch one NPC off, use @memory/pause"),
        ("RECALL_PROFILE: os.remove", "a path to code is a setting of the whole game"),
        ("LLM: {'base_url': 'http://x'}", "the server is a setting of the whole game"),
        ("LLM: {'model': 'small'}", "the game's settings name no server"),
        ('PHRASES: {"greting": "Hm."}', "PHRASES: greting: no such kind; the kinds are greeting,"),
        ("SLEEP_SCHEDULE: none", "set with @sleep/schedule Mara"),
        ("RECALL_TOKENS: " + "[" * 500, "must be a valid integer"),
    ],
)
def test_a_bad_value_is_told_and_not_stored(mara, builder, typed, told):
    assert told in " ".join(builder(f"@memory/set mara = {typed}").split())
    assert not mara.attributes.has("memory_settings")


def test_bad_values_of_a_typeclass_are_left_out_logged_once_and_shown(
    broken, tavern, builder, logged
):
    assert (broken.memory.settings.RECALL_TOKENS, broken.memory.settings.TICK_RATE) == (600, 9)
    another = create_object("typeclasses.npcs.AssistantNPC", key="Fern", location=tavern)
    assert another.memory.settings.TICK_RATE == 9
    assert sum("RECALL_TOKENS = 3" in line for line in logged()) == 1
    for shown in (builder("@memory moss"), builder("@memory/settings moss")):
        told = " ".join(shown.split())
        assert "typeclass AssistantNPC: RECALL_TOKENS = 3: must be greater" in told
        assert "DIR is a setting of the whole game" in told and "RECAL_TOP_K is no setting" in told


def test_a_bad_attribute_of_one_npc_leaves_it_the_settings_of_its_kind(guard, builder, logged):
    guard.db.memory_settings = {"RECALL_TOKENS": "many", "RECALL_TOP_K": 9}
    now = guard.memory.settings
    assert (now.RECALL_TOKENS, now.RECALL_TOP_K) == (150, 9)
    assert "of this NPC: RECALL_TOKENS = 'many'" in " ".join(builder("@memory rook").split())
    guard.db.memory_settings["RECALL_TOP_K"] = 11  # a change inside the stored dict
    assert guard.memory.settings.RECALL_TOP_K == 11
    guard.db.memory_settings = "quiet"
    assert "must be a dict" in builder("@memory rook")
    assert any(f"memory_settings of {guard.dbref}: RECALL_TOKENS" in line for line in logged())


def test_only_who_may_edit_a_memory_may_set_it(mara, builder):
    mara.locks.add("memory_edit:perm(Admin)")
    assert "does not let you change" in builder("@memory/set mara = RECALL_TOKENS: 300")
    assert "RECALL_TOKENS" in builder("@memory/settings mara")


def test_the_settings_outlast_a_restart(mara, builder):
    builder("@memory/set mara = RECALL_TOKENS: 300")
    number = mara.id
    mara.assistant.delete()
    del mara
    flush_cache()
    again = AssistantNPC.objects.get(id=number)
    assert again.memory.settings.RECALL_TOKENS == 300


# --- copies and prototypes ------------------------------------------------------------------------


def test_a_copy_keeps_the_settings_and_no_memories(mara, alice, builder):
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    builder("@memory/set mara = RECALL_TOKENS: 300")
    builder("@copy mara = Odo")
    [odo] = AssistantNPC.objects.filter(db_key="Odo")
    assert odo.memory.settings.RECALL_TOKENS == 300
    assert odo.memory.id != mara.memory.id and not own_words(odo)
    builder("@memory/set odo = RECALL_TOKENS: 200")
    assert mara.memory.settings.RECALL_TOKENS == 300


def test_a_prototype_sets_them_and_is_named_as_their_source(tavern, builder):
    save_prototype(
        {
            "prototype_key": "gate_guard",
            "typeclass": "typeclasses.npcs.AssistantNPC",
            "key": "Holt",
            "attrs": [("memory_settings", {"RECALL_TOKENS": 250, "MIN_IMPORTANCE": 7})],
        }
    )
    builder("@spawn gate_guard")
    builder("@memory/set holt = MIN_IMPORTANCE: 2")
    rows = rows_of(builder("@memory/settings holt"))
    assert rows["RECALL_TOKENS"] == "250 prototype gate_guard"
    assert rows["MIN_IMPORTANCE"] == "2 this NPC"
    [holt] = AssistantNPC.objects.filter(db_key="Holt")
    assert holt.memory.settings.MIN_IMPORTANCE == 2


# --- what they change -----------------------------------------------------------------------------


def test_two_npcs_in_one_room_recall_as_much_as_they_are_set_to(guard, companion, alice):
    for number in range(40):
        alice.execute_cmd(
            f"say The ferry at Millbrook brought {number} barrels of salted herring and a letter "
            f"for the miller of house {number}, who was not at home when it came."
        )
    tokens = {}
    for npc in (guard, companion):
        asked = "What did the ferry at Millbrook bring?"
        tokens[npc.key] = offload.wait(prompt_preview.preview(npc, "Alice", asked)).tokens
    budgets = {}
    for npc in (guard, companion):
        found = offload.wait(npc.memory.recall("What did the ferry at Millbrook bring?"))
        budgets[npc.key] = found.total_tokens
    assert budgets["Rook"] <= 150 < 600 < budgets["Lark"] <= 1500
    assert tokens["Lark"] - tokens["Rook"] > 400


def test_a_guard_answers_only_to_its_name_and_a_companion_goes_on(guard, companion, alice):
    alice.execute_cmd("say Rook, good day.")
    alice.execute_cmd("say Does it rain much here?")
    assert len(own_words(guard)) == 1
    alice.execute_cmd("say Lark, good day.")
    for weather in ("rain", "fog", "snow", "wind"):
        alice.execute_cmd(f"say Do you like the {weather}?")
    assert len(own_words(guard)) == 1
    assert len(own_words(companion)) == 5  # two unasked ones are the default


def test_a_kind_has_its_own_stock_phrases(guard, alice):
    alice.execute_cmd("say Good day, Rook.")
    assert own_words(guard) == ["State your business, Alice."]
    guard.memory.own_settings.set("PHRASES", {"parting": "Move on, {name}."})
    assert guard.memory.phrases["parting"] == ("Move on, {name}.",)
    assert guard.memory.phrases["greeting"] == ("State your business, {name}.",)


def test_the_game_has_stock_phrases_of_known_kinds(settings, mara, alice):
    phrases = {"greeting": "Ahoy, {name}."}
    settings.CONTRIB_AI_MEMORY = {**settings.CONTRIB_AI_MEMORY, "PHRASES": phrases}
    alice.execute_cmd("say Good day, Mara.")
    assert own_words(mara) == ["Ahoy, Alice."] and preflight.faults() == []
    settings.CONTRIB_AI_MEMORY = {**settings.CONTRIB_AI_MEMORY, "PHRASES": {"greting": "Hm."}}
    [fault] = preflight.faults()
    assert "['PHRASES'] = 'greting': there is no such kind; the kinds are greeting," in fault


def test_only_the_npc_with_a_model_asks_it(
    guard, companion, alice, builder, server, speaks_through
):
    speaks_through()
    server.behave(text="The stars are bright.")
    alice.execute_cmd("say Rook, do you keep the gate?")
    assert own_words(guard) and not server.requests
    alice.execute_cmd("say Lark, what do you see?")
    assert own_words(companion) == ["The stars are bright."]
    assert server.requests[-1].body["model"] == "m"
    assert "set to do without a language model" in " ".join(builder("@memory rook").split())
    assert "m at http" in builder("@memory lark")
    assert "Rook says: I am Rook" in builder("@memory/preview rook = Alice: Who are you?")


def test_one_npc_has_another_model_and_budget_of_tokens(
    mara, companion, alice, builder, server, speaks_through
):
    speaks_through(daily_tokens_per_npc=5000)
    server.behave(text="The stars are bright.")
    builder('@memory/set lark = LLM: {"model": "small", "daily_tokens_per_npc": 900}')
    alice.execute_cmd("say Lark, what do you see?")
    assert server.requests[-1].body["model"] == "small"
    alice.execute_cmd("say Mara, what do you see?")
    assert server.requests[-1].body["model"] == "m"
    assert "npc limit: 900" in builder("@memory/cost lark")
    assert "npc limit: 5,000" in builder("@memory/cost mara")
    shown = " ".join(builder("@memory lark").split())
    assert "LLM small (daily_tokens_per_npc 900) (this NPC)" in shown
    builder('@memory/set lark = LLM: {"daily_tokens_per_npc": 1}')
    assert "offline provider until midnight" in " ".join(builder("@memory lark").split())
    assert "m at http" in builder("@memory mara")


def test_a_wrong_model_of_one_npc_silences_no_other(
    mara, companion, alice, builder, server, speaks_through
):
    speaks_through()
    builder('@memory/set lark = LLM: {"model": "smal"}')
    server.behave(status=404)
    alice.execute_cmd("say Lark, what do you see?")
    assert "does not answer" in " ".join(builder("@memory lark").split())
    server.behave(text="The stars are bright.")
    alice.execute_cmd("say Mara, what do you see?")
    assert own_words(mara) == ["The stars are bright."]


def test_one_npc_adds_to_what_its_kind_sets_of_the_model(
    companion, builder, speaks_through, monkeypatch
):
    speaks_through()
    settings = {"LLM": {"model": "small"}}
    monkeypatch.setattr(AssistantNPC, "memory_settings", settings, raising=False)
    builder('@memory/set lark = LLM: {"temperature": 0}')
    llm = companion.memory.settings.LLM
    assert (llm.model, llm.temperature, llm.base_url) == ("small", 0, conf.get().LLM.base_url)


def test_one_guard_has_the_games_model_again(guard, alice, builder, server, speaks_through):
    speaks_through()
    server.behave(text="The stars are bright.")
    builder("@memory/set rook = LLM: {}")
    alice.execute_cmd("say Rook, what do you see?")
    assert own_words(guard) == ["The stars are bright."]


def test_a_night_keeps_what_the_kind_of_npc_keeps(guard, companion, alice):
    alice.execute_cmd("say The bridge at Elmstead has 12 arches.")
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    for npc in (guard, companion):
        npc.memory.journal.update(
            {n: {"importance": 5, "scoring_method": "manual"} for n in (1, 2)}
        )
        offload.wait(npc.assistant.sleep.whole_night())
    assert not offload.wait(guard.memory.facts())
    assert len(offload.wait(companion.memory.facts())) == 2


def test_a_night_of_an_npc_without_a_model_asks_none(
    guard, companion, alice, server, speaks_through
):
    speaks_through()
    alice.execute_cmd("say The bridge at Elmstead has 12 arches.")
    offload.wait(guard.assistant.sleep.whole_night())
    assert not server.requests
    offload.wait(companion.assistant.sleep.whole_night())
    assert server.requests


def test_a_typeclass_has_a_sleep_schedule_that_one_npc_may_leave(guard, mara, builder, monkeypatch):
    schedule = {"SLEEP_SCHEDULE": {"enabled": True, "sleep_start_hour": 22}}
    monkeypatch.setattr(AssistantNPC, "memory_settings", schedule, raising=False)
    assert "every day at 22:00" in builder("@sleep/schedule mara")
    assert "SLEEP_SCHEDULE" in builder("@memory rook")
    assert "no sleep schedule" in builder("@sleep/schedule mara = off")
    assert "every day at 22:00" in builder("@sleep/schedule rook")
    assert "SLEEP_SCHEDULE none (this NPC)" in " ".join(builder("@memory mara").split())
    assert "every day at 22:00" in builder("@sleep/schedule mara = default")


def test_the_heartbeat_takes_up_its_rate_at_once(mara, builder):
    builder("@memory/set mara = TICK_RATE: 30")
    assert mara.assistant.interval == 30
    builder("@memory/set mara = TICK_RATE:")
    assert mara.assistant.interval == 5 and mara.assistant.is_active


# --- every reader ---------------------------------------------------------------------------------


def test_every_setting_of_an_npc_is_read_from_its_own_settings():
    of_npc = set(conf.Settings.model_fields) - set(conf.GAME_ONLY)
    whole_game = {
        ("offload", "LLM"),  # the threads of the one server
        ("store_opening", "LLM"),  # loads its client at start
        ("start", "LLM"),  # serves the one model
        ("start", "CONTEXT_TOKENS"),
        ("script", "TICK_RATE"),  # before the heartbeat knows its NPC
        ("admin.inspect", "LLM"),  # compared with the NPC's
        ("preflight", "PHRASES"),
        ("preflight", "LLM"),
        ("preflight", "CONTEXT_TOKENS"),
        ("management.commands.ai_memory", "LLM"),  # tries the one server
        ("management.commands.ai_memory", "CONTEXT_TOKENS"),
        ("conf", "LLM"),
        ("conf", "RECALL_PROFILE"),
        ("llm.router", "LLM"),
    }
    found = set()
    for path in PACKAGE.rglob("*.py"):
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text())):
            reads = isinstance(node, ast.Attribute) and node.attr in of_npc
            if reads and ast.unparse(node.value) in ("conf.get()", "get()"):
                found.add((module, node.attr))
    assert found <= whole_game


def test_what_is_for_the_whole_game_is_a_setting():
    assert set(conf.GAME_ONLY) < set(conf.Settings.model_fields)
    assert not hasattr(MemoryMixin, npc_settings.KEY)
