"""`memories` and `forgetme` as players type them, and the requests that staff get."""

import pytest
from evennia.utils.ansi import strip_ansi
from evennia.utils.create import create_object

from contrib_ai_memory import AIMemoryCmdSet, offload
from contrib_ai_memory.admin import inspect, requests
from contrib_ai_memory.store import memory_store

wait = offload.wait


@pytest.fixture
def night(mara, alice, bram):
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    alice.execute_cmd("whisper Mara = I hide a silver key in Elmstead.")
    bram.execute_cmd("say The bridge at Elmstead has 12 arches.")
    wait(mara.memory.work_through(until_silent=True))
    wait(mara.assistant.sleep.whole_night())
    return mara


@pytest.fixture
def admin(types_as):
    """An admin in the tavern; admin(line) gives all that comes back, as plain text."""
    return types_as("Chief", "Admin")


def one_line(shown):
    return " ".join(shown.split())


@pytest.fixture
def player(night, alice, hears):
    """Alice types; all that comes back, as plain text."""
    alice.cmdset.add(AIMemoryCmdSet)
    heard = hears(alice)

    def types_(line):
        heard.clear()
        alice.execute_cmd(line)
        return strip_ansi("\n".join(heard))

    types_.who = alice
    return types_


def test_players_see_who_remembers_them_and_nothing_of_what(player, night, tavern):
    create_object("typeclasses.npcs.AssistantNPC", key="Odo", location=tavern)
    shown = player("memories")
    assert "Mara" in shown and "a stranger" in shown
    assert "Odo" not in shown and "Bram" not in shown
    assert "ferry" not in shown and "silver" not in shown
    assert "you ask the staff" in shown


def test_a_player_whom_nobody_knows_is_told_so(mara, tavern, hears):
    cleo = create_object("typeclasses.characters.Character", key="Cleo", location=tavern)
    cleo.cmdset.add(AIMemoryCmdSet)
    heard = hears(cleo)
    for typed in ("memories", "forgetme"):
        cleo.execute_cmd(typed)
    assert heard[-2:] == ["Nobody here remembers you."] * 2


def test_forgetme_asks_staff_who_see_the_request_and_grant_it(player, night, alice, builder, admin):
    assert "staff will be asked" in one_line(player("forgetme"))
    assert "staff will see your request" in one_line(player("yes"))
    assert "the staff has your request" in one_line(player("memories"))
    player("forgetme mara")
    assert "asked for that already" in one_line(player("yes"))
    shown = builder("@memory/requests")
    assert "Alice" in shown and f"Mara ({night.dbref})" in shown
    [grant] = [line for line in shown.splitlines() if line.startswith("To grant one: ")]
    assert night.memory.people.get(night.get_memory_identity(alice))
    admin(grant.removeprefix("To grant one: "))
    admin("yes")
    assert "No player has asked to be forgotten" in builder("@memory/requests")
    assert player("memories") == "Nobody here remembers you."


def test_forgetme_does_nothing_without_a_yes_or_for_a_stranger(player):
    player("forgetme")
    assert "They still remember you" in player("no")
    assert "Nobody called 'zebra'" in player("forgetme zebra")
    assert wait(requests.waiting()) == []


def test_forgetme_erases_at_once_where_the_game_lets_it(player, night, alice, settings):
    settings.CONTRIB_AI_MEMORY = settings.CONTRIB_AI_MEMORY | {"PLAYER_ERASURE": "self"}
    assert "you let them forget you" in player("memories")
    assert "erased for good" in one_line(player("forgetme mara"))
    assert "You are forgotten by Mara." in one_line(player("yes"))
    assert night.memory.people.get(night.get_memory_identity(alice)) is None
    assert wait(inspect.journal(night, text="silver key in")).entries == ()


@pytest.fixture
def listener(tavern, alice):
    """An NPC that nobody sees, and that has met Alice."""
    odo = create_object("typeclasses.npcs.AssistantNPC", key="Odo", location=tavern)
    odo.memory.people.meet(odo.get_memory_identity(alice), "Alice", "2026-01-01", talk=True)
    odo.locks.add("view:perm(Builder)")
    return odo


def test_a_player_is_told_of_no_npc_that_they_cannot_see(player, night, listener, settings):
    assert "Mara" in player("memories") and "Odo" not in player("memories")
    assert "Nobody called 'odo'" in player("forgetme odo")
    assert "Odo" not in player("forgetme")
    player("no")
    listener.locks.add("view:all()")
    assert "Odo" in player("memories")
    listener.get_display_name = lambda looker=None, **kwargs: "|ra cloaked man|n"
    shown = player("memories")
    assert "a cloaked man" in shown and "Odo" not in shown
    assert "let a cloaked man forget" in one_line(player("forgetme cloaked"))
    player("no")


def test_who_is_only_known_to_the_unseen_is_known_to_nobody(alice, listener, hears):
    alice.cmdset.add(AIMemoryCmdSet)
    heard = hears(alice)
    for typed in ("memories", "forgetme"):
        alice.execute_cmd(typed)
    assert heard[-2:] == ["Nobody here remembers you."] * 2


def test_without_a_name_those_unseen_forget_a_player_too(player, alice, night, listener, settings):
    settings.CONTRIB_AI_MEMORY = settings.CONTRIB_AI_MEMORY | {"PLAYER_ERASURE": "self"}
    player("forgetme")
    said = one_line(player("yes"))
    assert "You are forgotten by Mara." in said and "Odo" not in said
    assert listener.memory.people.get(listener.get_memory_identity(alice)) is None
    assert night.memory.people.get(night.get_memory_identity(alice)) is None


@pytest.fixture
def begun(night, monkeypatch):
    """The rewritings of the store that began."""
    begun = []
    begin = type(memory_store.shared()).begin_rewriting

    def counted(store, *args):
        begun.append(store)
        return begin(store, *args)

    monkeypatch.setattr(type(memory_store.shared()), "begin_rewriting", counted)
    return begun


def test_all_forget_a_player_with_one_rewriting_of_the_store_and_not_again_at_once(
    player, night, listener, settings, begun
):
    settings.CONTRIB_AI_MEMORY = settings.CONTRIB_AI_MEMORY | {"PLAYER_ERASURE": "self"}
    listener.locks.add("view:all()")
    player("forgetme")
    player("yes")
    assert len(begun) == 1
    listener.memory.people.meet(
        listener.get_memory_identity(player.who), "Alice", "2026-01-01", talk=True
    )
    player("forgetme")
    assert "Try again in 5 minutes" in one_line(player("yes"))
    assert len(begun) == 1


def test_a_name_that_means_many_is_no_way_to_rewrite_the_store_many_times(
    player, night, alice, tavern, settings, begun
):
    settings.CONTRIB_AI_MEMORY = settings.CONTRIB_AI_MEMORY | {"PLAYER_ERASURE": "self"}
    for number in range(4):
        guard = create_object("typeclasses.npcs.AssistantNPC", key=f"Guard {number}")
        guard.memory.people.meet(guard.get_memory_identity(alice), "Alice", "2026-01-01")
    assert "in the memory of Guard 2 will be erased" in one_line(player("forgetme guard 2"))
    player("no")
    player("forgetme guard")
    said = one_line(player("yes"))
    assert "forgotten by Guard 0, Guard 1, Guard 2, Guard 3" in said and len(begun) == 1
    assert night.memory.people.get(night.get_memory_identity(alice)), "Mara is no guard"


def test_a_list_of_requests_leaves_out_npcs_that_the_builder_may_not_look_into(
    player, night, listener, builder, admin
):
    listener.locks.add("view:all()")
    player("forgetme")
    player("yes")
    assert "Odo" in builder("@memory/requests") and "Mara" in builder("@memory/requests")
    night.locks.add("memory_look:perm(Admin)")
    shown = builder("@memory/requests")
    assert "Odo" in shown and "Mara" not in shown and night.dbref not in shown


def test_an_admin_drops_a_request_and_nothing_is_erased(player, night, builder, admin):
    player("forgetme mara")
    player("yes")
    assert "Usage: @memory/requests [= drop" in one_line(builder("@memory/requests = 1"))
    assert "Usage: @memory/requests [= drop" in one_line(builder("@memory/requests mara"))
    assert "permission Admin" in builder("@memory/requests = drop 1")
    assert "There is no request 2" in admin("@memory/requests = drop 2")
    assert "still known to Mara" in one_line(admin("@memory/requests = drop 1"))
    assert "No player has asked" in admin("@memory/requests")
    assert "Mara" in player("memories")


def test_what_one_npc_forgot_loads_no_other_that_is_asked_to_forget(player, night, alice, listener):
    player("forgetme")
    player("yes")
    assert len(wait(requests.waiting())) == 2
    listener.memory.flush()
    del vars(listener)["memory"]
    night.memory.people.forget(night.get_memory_identity(alice))
    night.memory.profiles.forget(night.get_memory_identity(alice))
    requests.drop_granted(night)
    assert "memory" not in vars(listener), "it was not asked"
    [left] = wait(requests.waiting())
    assert left.npc == "Odo"


def test_forgetme_sends_to_the_staff_where_the_game_has_it_off(player, settings):
    settings.CONTRIB_AI_MEMORY = settings.CONTRIB_AI_MEMORY | {"PLAYER_ERASURE": "off"}
    assert "only the staff" in one_line(player("forgetme"))
    assert wait(requests.waiting()) == []
