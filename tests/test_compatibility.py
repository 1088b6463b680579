"""Games that are not stock: contribs of Evennia's beside ours, other clocks, other languages.

docs/guides/compatibility.md says what was tried; rpsystem has `test_rpsystem`, session modes and
translations `live/test_session_modes`.
"""

import re
from datetime import datetime
from importlib.util import find_spec

import pytest
from evennia.contrib.game_systems.clothing import ClothedCharacter
from evennia.contrib.game_systems.clothing.clothing import ClothedCharacterCmdSet, ContribClothing
from evennia.contrib.grid.extended_room.extended_room import ExtendedRoom, ExtendedRoomCmdSet
from evennia.utils.create import create_object
from page_visits import logged_in, url

from contrib_ai_memory import offload
from contrib_ai_memory.npc import MemoryMixin
from contrib_ai_memory.records import Entry

FERRY = "I keep the ferry at Millbrook."


class ClothedKeeper(MemoryMixin, ClothedCharacter):
    """An NPC with a memory in a game that has the clothing contrib."""


def heard(npc):
    return [(e.kind, e.content) for e in npc.memory.journal.read() if e.origin == "perceived"]


def recalled(npc, question):
    found = offload.wait(npc.memory.recall(question))
    return found.prompt_block


def make(typeclass, key, room):
    return create_object(typeclass, key=key, location=room, home=room)


# --- contribs -------------------------------------------------------------------------------------


def test_clothes_are_seen_and_given_and_talk_goes_on(tavern):
    keeper = make(ClothedKeeper, "Mara", tavern)
    alice = make(ClothedCharacter, "Alice", tavern)
    alice.cmdset.add(ClothedCharacterCmdSet)
    cloak = make(ContribClothing, "cloak", alice)
    alice.execute_cmd("wear cloak")
    alice.execute_cmd(f"say {FERRY}")
    alice.execute_cmd("remove cloak")
    alice.execute_cmd("give cloak to Mara")
    kinds = [kind for kind, _ in heard(keeper)]
    assert kinds == ["event", "say", "event", "give"]
    assert [text for _, text in heard(keeper)][1:] == [
        FERRY,
        "Alice removes cloak.",
        "Alice gives Mara cloak.",
    ]
    assert cloak.location is keeper
    assert "ferry" in recalled(keeper, "What does Alice keep?")


def test_an_extended_room_and_its_echoes_are_nobodys_words(tavern):
    hall = make(ExtendedRoom, "Hall", None)
    keeper = make("typeclasses.npcs.AssistantNPC", "Mara", hall)
    alice = make("typeclasses.characters.Character", "Alice", hall)
    alice.cmdset.add(ExtendedRoomCmdSet)
    alice.permissions.add("Builder")
    alice.execute_cmd("detail hearth = A fire burns low.")
    alice.execute_cmd("look hearth")
    hall.room_messages = ["A log cracks in the hearth."]
    hall.repeat_broadcast_message_to_room()
    alice.execute_cmd(f"say {FERRY}")
    assert ("say", FERRY) in heard(keeper)
    assert [text for _, text in heard(keeper) if "log cracks" in text] == []
    assert "ferry" in recalled(keeper, "What does Alice keep?")


MAP = """
+ 0 1

0 #-#

+ 0 1
"""
PLACES = {(0, 0): "The Drowned Lantern", (1, 0): "Departure Quay"}


@pytest.fixture
def grid(tavern):
    from evennia.contrib.grid.xyzgrid.xyzgrid import XYZGrid

    path, home = "evennia.contrib.grid.xyzgrid.xyzroom", f"#{tavern.id}"
    made, errors = XYZGrid.create("testgrid")
    assert not errors
    made.add_maps(
        {
            "map": MAP,
            "zcoord": "town",
            "prototypes": {
                place: {"typeclass": f"{path}.XYZRoom", "key": key, "home": home}
                for place, key in PLACES.items()
            }
            | {("*", "*", "*"): {"typeclass": f"{path}.XYZExit", "home": home}},
        }
    )
    made.spawn()
    yield made
    made.delete()


@pytest.mark.skipif(find_spec("scipy") is None, reason="xyzgrid needs scipy (evennia[extra])")
def test_on_an_xyzgrid_comings_and_goings_are_told_apart(grid):
    from evennia.contrib.grid.xyzgrid.xyzroom import XYZRoom

    inn = XYZRoom.objects.get_xyz(xyz=(0, 0, "town"))
    keeper = make("typeclasses.npcs.AssistantNPC", "Mara", inn)
    alice = make("typeclasses.characters.Character", "Alice", inn)
    alice.execute_cmd(f"say {FERRY}")
    alice.execute_cmd("east")
    assert alice.location.key == "Departure Quay"
    alice.execute_cmd("west")
    assert [kind for kind, _ in heard(keeper)] == ["say", "leave", "arrive"]
    assert "ferry" in recalled(keeper, "What does Alice keep?")


# --- places, words, clocks ------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["Departure Hall", "the Leaving Stone", "Where All Is Gone"])
def test_the_name_of_a_place_makes_no_arrival_a_departure(mara, alice, place):
    there = make("typeclasses.rooms.Room", place, None)
    inn = alice.location
    alice.move_to(there, move_type="traverse")
    alice.move_to(inn, move_type="traverse")
    assert [kind for kind, _ in heard(mara)] == ["leave", "arrive"]


@pytest.mark.parametrize(
    "line", ["{speaker} sagt: „{said}“", "{speaker} dit : « {said} »", "{speaker} dice: «{said}»"]
)
def test_speech_is_drawn_from_the_quotation_marks_of_other_languages(mara, alice, line):
    alice.location.msg_contents(
        (line, {"type": "say"}), mapping={"speaker": alice, "said": FERRY}, from_obj=alice
    )
    assert heard(mara) == [("say", FERRY)]


@pytest.mark.parametrize(
    ("zone", "told"),
    [
        ("UTC", "Saturday, 9 May, in the evening"),
        ("Asia/Kolkata", "Sunday, 10 May, at night"),
        ("America/New_York", "Saturday, 9 May, in the afternoon"),
    ],
)
def test_an_npc_tells_day_and_time_by_the_games_own_clock(mara, settings, zone, told):
    settings.TIME_ZONE = zone
    mara.memory.clock = lambda: "2026-05-09T20:30:00.000+00:00"
    assert mara.get_memory_moment() == told


EVENING, NOON = "2026-05-05T04:00:00.000+00:00", "2026-05-05T19:00:00.000+00:00"


@pytest.mark.parametrize(
    ("zone", "due", "said", "told", "talked"),
    [
        # Monday evening there, and Tuesday noon
        ("America/Los_Angeles", "2026-05-05", "yesterday", "today", "We talked yesterday."),
        ("UTC", "2026-05-06", "earlier today", "tomorrow", "We did not talk yesterday"),
    ],
)
def test_days_are_those_of_the_games_own_clock(
    says, alice, mara, settings, zone, due, said, told, talked
):
    settings.TIME_ZONE = zone
    mara.memory.clock = lambda: EVENING
    says(alice, "I will pay you nine crowns tomorrow.")
    says(alice, "the old mill has a new wheel of oak")
    assert [item.due for item in mara.memory.agenda] == [due]
    mara.memory.clock = lambda: NOON
    owed = says(alice, "what do I owe you?")
    assert owed.startswith(
        f"You said {said} that you will pay me nine crowns tomorrow. That is due {told},"
    )
    assert "old mill has a new wheel" in says(alice, "what do you know about the mill?")
    assert says(alice, "what did we talk about yesterday?").startswith(talked)


@pytest.mark.parametrize("zone", ["Asia/Kolkata", "America/New_York"])
def test_a_sleep_schedule_goes_by_the_games_own_clock(mara, alice, builder, settings, zone):
    settings.TIME_ZONE = zone
    hour = datetime.now().hour  # Django sets the process's clock to TIME_ZONE
    builder(f"@sleep/schedule Mara = {hour} 1")
    mara.assistant.sleep.begin_on_schedule()
    assert mara.assistant.asleep


def test_ids_in_pages_have_no_thousands_separator(mara, client, settings):
    """A link to entry 1.234 would lead nowhere."""
    settings.USE_THOUSAND_SEPARATOR = True
    settings.LANGUAGE_CODE = "de"
    for _ in range(1234):
        mara.memory.journal.append(
            lambda number: Entry(number, "2026-03-02T10:00:00+00:00", FERRY, "say", seen_as="Alice")
        )
    mara.memory.flush()
    staff = logged_in(client, "Chief", is_staff=True, is_superuser=True)
    for name in ("journal", "graph"):
        page = staff.get(url(name, mara)).content.decode()
        assert re.search(r"e1\.234|size=\d\.\d", page) is None, name
    assert 'id="e1234"' in staff.get(url("journal", mara)).content.decode()
