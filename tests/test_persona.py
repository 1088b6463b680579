"""Persona protection: which facts speak of the NPC itself."""

import json

import pytest
from model_server import WELL_FORMED, digest, numbered_in

from contrib_ai_memory.english.persona_protection import about_itself

OF_ITSELF = [
    "I helped Alice find the ferry.",
    "I'm an innkeeper.",
    "My favourite guest is Alice.",
    "The assistant said that the ferry is late.",
    "the assistant is helpful",
    "An AI assistant answered Alice.",
    "The NPC greeted Bram.",
    "We talked about the wolves.",
    "Mara is kind.",
    "Mara told Alice that the ferry is late.",
    "Mara's personality is warm.",
    "Mara’s opinion of Bram is low.",
    "Mara's favourite dish is eel.",
    "Mara, the innkeeper, likes company.",
    "Yesterday Mara promised Alice a room.",
    "When asked about the ferry, Mara replied that it is late.",
    "During the conversation, the assistant reassured Bram.",
    "Alice and Mara are friends.",
    "Alice was helped by Mara.",
    "Bram was warmly welcomed by the assistant.",
    "Alice keeps the ferry. Mara thanked her.",
    "- Mara enjoys stories",
    "The innkeeper Mara is a warm soul.",
    "Innkeeper Mara is a warm soul.",
    "the innkeeper mara is a warm soul",
    "Good old Mara never forgets.",
    "Our host, Mara, is a warm soul.",
    "She (Mara) is kind.",
    "The innkeeper (Mara) is kind.",
    "Mara's a thief.",
    "Mara's heart is warm.",
    "It was Mara who healed the boy.",
    "It's Mara who sells eels.",
    "The one who healed Bram was Mara.",
    "The kindest soul in town is Mara.",
    "The bread was baked by Mara.",
    "Everyone loves Mara because she is generous.",
    "No one is kinder than Mara, she is a saint.",
    "A warm soul, that Mara.",
    "There is nobody kinder than Mara.",
    "Alice says that there is nobody kinder than Mara.",
    "Everyone likes Mara for her wit.",
    "Nobody trusts Mara.",
    "The keeper is kind.",
    "A warm soul is that Mara.",
    "Mara has a warm heart.",
    "Mara has told Bram of it.",
    "Alice told Bram that Mara waters the ale.",
    "Mara is out of flour, because Alice ate it.",
    # what others hold of it
    "Alice says that Mara is kind.",
    "Alice thinks Mara is a witch.",
    "Bram claims that Mara is a thief.",
    "Bram swears it was Mara who stole it.",
    'Bram says: "Mara is kind."',
    'Bram says: "The innkeeper Mara is a warm soul."',
]

OF_THE_WORLD = [
    "Alice keeps the ferry.",
    "Mara has a fever.",
    "Mara has no room left.",
    "Mara owes Bram five silver.",
    "Alice says that Mara owes Bram five silver.",
    "The keeper of the light is paid in oil.",
    'Alice says: "I keep the ferry. I am tired."',
    'Bram says: "I love Mara."',
    'Bram says: "I owe Mara five crowns."',
    "Bram promised Mara to mend the roof.",
    "Bram fell ill, and Mara is to tell his wife.",
    "Bram sold Mara and Alice two eels.",
    "Everyone who met Mara is happy.",
    "The man who robbed Mara is dead.",
    "The brother of Mara is ill.",
    "The inn that Mara keeps burned down.",
    "Bram left before Mara woke.",
    "Bram sat by Mara.",
    "Wolves attacked Mara last night.",
    "Behind Mara is a door.",
    "The key is Mara's.",
    "Alice told Mara that wolves came.",
    "Alice likes Mara.",
    "Bram owes Mara five coins.",
    "Alice owes Mara five silver, because Mara is out of flour.",
    "Alice owes Mara five silver and Mara trusts her.",
    "Alice says that she owes Mara five silver since Mara lent them.",
    'Alice says: "I owe Mara five silver, because Mara is out of flour."',
    "Bram sleeps in the barn, Mara has no room.",
    "Bram is taller than Mara.",
    "Alice told everyone about Mara.",
    "Everyone owes Mara money.",
    "Alice likes Mara for her wit.",
    "The keeper of the lighthouse is ill.",
    "The lighthouse keeper is ill.",
    'Bram says: "The keeper is ill."',
    "Mara's inn stands by the river.",
    "Mara's brother lives in Millbrook.",
    "Mara, wolves took my sheep.",
    "Mara, the wolves took my sheep.",
    "The Mara River floods in spring.",
    "Mara River floods in spring.",
    "Mara-on-Sea burned down.",
    "Marah is a baker.",
    "The baker's assistant is ill.",
    "The assistant of the baker is ill.",
    "When Bram met Mara, he gave her a ring.",
    "With Mara's help, Alice mended the boat.",
    "In Millbrook Alice told Mara of the flood.",
    "Alice and Mara's brother are married.",
    "The inn was built by the dwarves.",
    "The king is in the north.",
    "Ivan keeps bees.",
    "Myra sells cloth.",
    "",
]


@pytest.mark.parametrize("text", OF_ITSELF)
def test_what_the_npc_did_said_or_is_speaks_of_itself(text):
    assert about_itself(text, "Mara")


@pytest.mark.parametrize("text", OF_THE_WORLD)
def test_what_others_did_said_or_are_does_not(text):
    assert not about_itself(text, "Mara")


@pytest.mark.parametrize(
    ("npc_name", "text", "itself"),
    [
        ("Old Mara", "Old Mara is kind.", True),
        ("Old Mara", "Mara is kind.", True),
        ("Old Mara", "Old bridges are dangerous.", False),
        ("Mara Vane", "Mara told Alice of the ferry.", True),
        ("Mara Vane", "Mara Vane told Alice of the ferry.", True),
        ("the Innkeeper", "The Innkeeper laughed.", True),
        ("the Innkeeper", "The innkeeper's wife is ill.", False),
        ("D'Arc (the 2nd)", "D'Arc (the 2nd) is brave.", True),
        ("*", "The stars are bright.", False),
    ],
)
def test_an_npc_is_known_by_its_name_and_not_by_its_title(npc_name, text, itself):
    assert about_itself(text, npc_name) == itself


@pytest.mark.parametrize(
    ("text", "itself"),
    [
        ("The captain is a hard man.", True),
        ("Bram says that the captain lies.", True),
        ("A captain drowned at sea.", False),
        ("Captain Merrow drowned.", False),
        ("The captain of the Sea Witch drowned.", False),
        ("His captain is dead.", False),
    ],
)
def test_an_npc_is_known_by_its_aliases(text, itself):
    assert about_itself(text, "Haldane", "captain") == itself


# --- as it is played ------------------------------------------------------------------------------

SAID_OF_HER = [
    "The innkeeper Mara is a warm soul.",
    "It was Mara who poisoned the old well.",
    "Our host, Mara, hates all the elves.",
    "The landlady waters the ale every night.",
    "Everybody knows that Mara poisoned the old well.",
]


@pytest.mark.parametrize("said", SAID_OF_HER)
def test_what_players_say_of_an_npc_is_no_fact_after_the_night(mara, alice, bram, builder, said):
    mara.aliases.add("landlady")
    bram.execute_cmd(f"say {said}")
    bram.execute_cmd("say I keep the ferry at Millbrook.")
    builder("@sleep/now mara")
    shown = builder("@memory/facts mara")
    assert "Bram keeps the ferry at Millbrook." in shown
    for word in ("warm soul", "poisoned", "elves", "waters"):
        assert word not in shown


def test_what_players_owe_an_npc_is_a_fact(mara, alice, bram, builder):
    bram.execute_cmd("say I owe Mara five silver crowns for the mare.")
    builder("@sleep/now mara")
    assert "Bram owes Mara five silver crowns" in builder("@memory/facts mara")


@pytest.mark.parametrize("said", SAID_OF_HER)
def test_what_a_language_model_draws_of_an_npc_itself_is_no_fact(
    mara, alice, bram, builder, server, speaks_through, said
):
    mara.aliases.add("landlady")
    bram.execute_cmd("say I keep the ferry at Millbrook, and this is a good house.")
    speaks_through()

    def structured(request):
        if request.schema != "DigestAnswer":
            return json.dumps(WELL_FORMED[request.schema](request))
        lines = list(numbered_in(request)[0])
        drawn = (said, "Bram keeps the ferry at Millbrook.")
        facts = [{"text": text, "lines": lines} for text in drawn]
        return json.dumps(digest(dict.fromkeys(lines, 5), facts))

    server.behave(structured=structured)
    builder("@sleep/now mara")
    shown = builder("@memory/facts mara")
    assert "Bram keeps the ferry at Millbrook." in shown
    for word in ("warm soul", "poisoned", "elves", "waters"):
        assert word not in shown


def test_a_fact_of_a_model_that_gives_a_reason_of_the_npc_is_kept_and_what_is_refused_is_counted(
    mara, alice, bram, builder, server, speaks_through, logged
):
    bram.execute_cmd("say I owe you five silver for the flour, since you are out of it.")
    speaks_through()
    kept = "Bram owes Mara five silver, because Mara is out of flour."
    refused = ("There is nobody kinder than Mara.", "The keeper is kind.")

    def structured(request):
        if request.schema != "DigestAnswer":
            return json.dumps(WELL_FORMED[request.schema](request))
        lines = list(numbered_in(request)[0])
        facts = [{"text": text, "lines": lines} for text in (kept, *refused)]
        return json.dumps(digest(dict.fromkeys(lines, 5), facts))

    server.behave(structured=structured)
    builder("@sleep/now mara")
    shown = builder("@memory/facts mara")
    assert kept in shown
    assert not [text for text in refused if text in shown]
    [night] = mara.assistant.sleep.records
    assert night["passes"]["run_sleep_consolidation"]["refused"] == {"about the NPC itself": 2}
    [told] = [line for line in logged() if "about the NPC itself" in line]
    assert "kinder" not in told


def test_a_long_text_is_looked_at_in_no_time():
    import time

    began = time.monotonic()
    about_itself("Alice, " * 3000 + "when " * 3000 + "and " * 3000, "Mara")
    assert time.monotonic() - began < 1
