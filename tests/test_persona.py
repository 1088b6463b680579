"""Persona protection: which facts speak of the NPC itself."""

import pytest

from contrib_ai_memory.llm.persona import about_itself

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
    "According to Mara, wolves came.",
    "Alice and Mara are friends.",
    "Alice, Bram and Mara spoke of wolves.",
    "Alice was helped by Mara.",
    "Bram was warmly welcomed by the assistant.",
    "Alice keeps the ferry. Mara thanked her.",
    "- Mara enjoys stories",
]

OF_THE_WORLD = [
    "Alice keeps the ferry.",
    "Alice says that Mara is kind.",
    'Alice says: "I keep the ferry. I am tired."',
    'Bram says: "Mara is kind."',
    "Alice told Mara that wolves came.",
    "Alice likes Mara.",
    "Bram owes Mara five coins.",
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


def test_a_long_text_is_looked_at_in_no_time():
    import time

    began = time.monotonic()
    about_itself("Alice, " * 3000 + "when " * 3000 + "and " * 3000, "Mara")
    assert time.monotonic() - began < 1
