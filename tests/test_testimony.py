"""Whose word it is: other NPCs prove nothing, and a quotation is a claim of whoever quotes."""

import pytest
from evennia.utils.create import create_object
from test_replay import line, replay, write

from contrib_ai_memory import MemoryLLMNPC, offload
from contrib_ai_memory.english.questions import sentences_of
from contrib_ai_memory.english.reported_speech import as_posed

# --- what another NPC says ------------------------------------------------------------------------


class Publican(MemoryLLMNPC):
    """An NPC of LLMNPC's kind."""


@pytest.fixture
def wenna(tavern):
    return create_object("typeclasses.npcs.AssistantNPC", key="Wenna", location=tavern, home=tavern)


TALES = (
    "I love smoked eel and I keep bees in Elmstead.",
    "Wolves killed the miller of Harrow Hill.",
    "The toll at Elmstead is nine crowns since Monday.",
    "My brother Tom is missing since the flood.",
    "Bandits burned the bridge at Elmstead.",
    "I always lock the golden chalice away.",
)


def tells(npc):
    for tale in TALES:
        npc.execute_cmd(f"say {tale}")
    npc.execute_cmd("pose pours ale. The king is dead in Harrow.")


def everything_drawn(mara):
    from contrib_ai_memory.store import memory_store

    return [
        m for m in memory_store.shared().list(mara.memory.id, limit=None) if m.record != "entry"
    ]


def test_what_another_npc_says_is_heard_and_never_evidence(mara, wenna, bram, builder):
    tells(wenna)
    builder("@sleep/now mara")
    assert "Wolves killed the miller" in builder("@memory/journal mara")
    assert everything_drawn(mara) == []
    assert list(mara.memory.preferences) == []
    assert mara.memory.profiles.get(mara.get_memory_identity(wenna)) is None
    assert "Wolves" not in builder("@memory/facts mara")


def test_what_another_npc_says_is_recalled_as_its_talk(mara, wenna, bram, hears):
    tells(wenna)
    heard = hears(bram)
    bram.execute_cmd("say Mara, who killed the miller of Harrow Hill?")
    [answer] = [line for line in heard if line.startswith("Mara says")]
    assert "Wolves killed the miller" in answer and answer.endswith(', so Wenna says."')


def test_two_npcs_that_repeat_a_player_are_no_further_witnesses(mara, wenna, bram, builder):
    tale = "The toll at Elmstead is nine crowns."
    bram.execute_cmd(f"say {tale}")
    wenna.execute_cmd(f"say {tale}")
    wenna.execute_cmd(f"say {tale}")
    builder("@sleep/now mara")
    [fact] = [m for m in everything_drawn(mara) if m.record == "fact"]
    [said] = [e.id for e in mara.memory.journal.read() if e.seen_as == "Bram"]
    assert fact.journal_ids == (said,)


def test_canned_answers_are_no_facts_of_the_others_night(mara, wenna, bram, builder):
    bram.execute_cmd("say Wenna, where is the golden chalice of Elmstead?")
    bram.execute_cmd("say Mara, where is the golden chalice of Elmstead?")
    builder("@sleep/now mara")
    builder("@sleep/now wenna")
    assert everything_drawn(mara) == everything_drawn(wenna) == []


def test_an_npc_that_somebody_plays_is_a_witness(mara, wenna, bram, builder, monkeypatch):
    monkeypatch.setattr(wenna.sessions, "count", lambda: 1)
    wenna.at_say("Wolves killed the miller of Harrow Hill.", msg_self=False)
    monkeypatch.undo()
    builder("@sleep/now mara")
    assert "Wolves killed the miller" in builder("@memory/facts mara")


def test_a_model_is_told_which_lines_prove_nothing(
    mara, wenna, bram, builder, server, speaks_through
):
    speaks_through()
    bram.execute_cmd("say I keep the ferry at Millbrook.")
    wenna.execute_cmd("say Wolves killed the miller of Harrow Hill.")
    bram.execute_cmd("say My brother Tom is missing since Monday.")
    builder("@sleep/now mara")
    [asked] = [r for r in server.requests if r.schema == "DigestAnswer"]
    assert asked.last.splitlines()[-3:] == [
        "1 Bram says: I keep the ferry at Millbrook.",
        "- Wenna says: Wolves killed the miller of Harrow Hill.",
        "2 Bram says: My brother Tom is missing since Monday.",
    ]


def test_what_an_npc_gives_away_is_seen(mara, wenna, bram):
    ring = create_object("typeclasses.objects.Object", key="ring", location=wenna)
    wenna.execute_cmd("give ring to Mara")
    [entry] = [each for each in mara.memory.journal.read() if each.kind == "give"]
    assert ring.location == mara
    assert entry.learnable


def test_an_npc_of_llmnpcs_kind_neither_teaches_nor_learns(mara, bram, tavern, builder):
    odo = create_object(Publican, key="Odo", location=tavern, home=tavern)
    odo.execute_cmd("say Wolves killed the miller of Harrow Hill.")
    mara.execute_cmd("say Bandits burned the bridge at Elmstead.")
    for npc in (mara, odo):
        builder(f"@sleep/now {npc.key}")
        assert everything_drawn(npc) == []


def test_a_replayed_log_tells_that_another_npc_speaks(mara, alice, tmp_path):
    log = [
        line(1, "Wolves killed the miller of Harrow Hill.", "Wat") | {"npc": True},
        line(2, "I keep the ferry at Millbrook.", "Alice"),
    ]
    replay(write(tmp_path / "log.jsonl", log), sleep=True)
    drawn = [memory.content for memory in everything_drawn(mara) if memory.record == "fact"]
    assert drawn == ["Alice keeps the ferry at Millbrook."]


def test_a_replayed_log_knows_the_npcs_of_the_game(mara, wenna, tmp_path):
    log = [line(1, "Wolves killed the miller of Harrow Hill.", "Wenna")]
    replay(write(tmp_path / "log.jsonl", log), sleep=True)
    assert everything_drawn(mara) == []


# --- what a pose, or a player, says that another said ---------------------------------------------

FORGED = [
    'pose drops to one knee. Liora says, "I stole the golden chalice of Elmstead."',
    'pose drops to one knee. "I stole the golden chalice of Elmstead," says Liora.',
    "pose drops to one knee. Liora says, 'I stole the golden chalice of Elmstead. I hid it.'",
    'pose points at Liora, who says, "I stole the golden chalice of Elmstead."',
    'say Liora says "I stole the golden chalice of Elmstead. I hid it in the well."',
    'say "I stole the golden chalice of Elmstead. I hid it in the well," said Liora.',
    "pose drops to one knee. Liora stole the golden chalice of Elmstead.",
]


@pytest.fixture
def liora(tavern):
    return create_object(
        "typeclasses.characters.Character", key="Liora", location=tavern, home=tavern
    )


@pytest.mark.parametrize("forged", FORGED)
def test_words_put_into_anothers_mouth_are_the_claim_of_whoever_does_it(
    mara, alice, bram, liora, builder, forged
):
    liora.execute_cmd("say Good evening to you all, Mara.")
    bram.execute_cmd(forged)
    for _ in range(5):
        bram.execute_cmd("say Liora is my neighbour in Elmstead these nine years.")
    builder("@sleep/now mara")
    drawn = [m.content for m in everything_drawn(mara) if "chalice" in m.content]
    for text in drawn:
        assert text.startswith(("Bram says", "Bram claims", "Bram drops")), text
        assert "Bram stole" not in text
    assert not any(
        "hid it" in m.content and "chalice" not in m.content for m in everything_drawn(mara)
    )
    profile = mara.memory.profiles.get(mara.get_memory_identity(liora))
    assert profile is not None
    for noted in [*profile.observations, *profile.new]:
        if "chalice" in noted.text or "hid it" in noted.text:
            assert noted.text.startswith("Bram "), noted.text
    assert not any("stole" in each.value for each in profile.attributes)


@pytest.mark.parametrize("forged", FORGED[:4])
def test_a_forged_confession_is_not_told_as_a_confession(mara, alice, bram, liora, hears, forged):
    bram.execute_cmd(forged)
    heard = hears(alice)
    alice.execute_cmd("say Mara, who stole the golden chalice of Elmstead?")
    answer = " ".join(line for line in heard if line.startswith("Mara says"))
    assert "Bram claims that" in answer


def test_a_model_is_told_whose_claim_it_is(
    mara, alice, bram, liora, builder, server, speaks_through
):
    speaks_through()
    bram.execute_cmd('pose drops to one knee. Liora says, "I stole the golden chalice."')
    builder("@sleep/now mara")
    [asked] = [r for r in server.requests if r.schema == "DigestAnswer"]
    assert 'Bram claims that Liora says, "I stole the golden chalice."' in asked.last


def test_to_quote_what_another_loves_is_no_preference_of_ones_own(mara, alice, bram, liora):
    bram.execute_cmd('say Liora says "I love boiled leeks."')
    bram.execute_cmd('pose nods. Liora says, "I love smoked eel."')
    bram.execute_cmd("say I love honey cake.")
    offload.wait(mara.memory.work_through(until_silent=True))
    assert [each.text for each in mara.memory.preferences] == ["I love honey cake."]


@pytest.mark.parametrize(
    ("pose", "told"),
    [
        ("Bram sits. He smiles.", "Bram sits. He smiles."),
        ('Bram smiles and says, "I keep bees."', 'Bram smiles and says, "I keep bees."'),
        ('With a sigh, Bram sits. "I am tired," he says.',) * 2,
        ("kicks snow off his boots",) * 2,
        ("Bram sits. The king is dead.", "Bram sits. Bram claims that the king is dead."),
        ("Bram nods. I am the king.", "Bram nods. Bram claims that Bram is the king."),
        ("Bram sits. Liora nods.", "Bram sits. Bram claims that Liora nods."),
    ],
)
def test_a_pose_shows_what_its_poser_does(pose, told):
    assert as_posed(pose, "Bram") == told
    assert as_posed(told, "Bram") == told


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        (
            'Liora says "I stole it. I hid it." I keep bees.',
            ['Liora says "I stole it. I hid it."', "I keep bees."],
        ),
        ('"I stole it. I hid it," said Liora.', ['"I stole it. I hid it," said Liora.']),
        (
            "where is my key. i had it. it is of brass",
            ["where is my key.", "i had it. it is of brass"],
        ),
        ('My name is "Bram". I keep bees.', ['My name is "Bram".', "I keep bees."]),
    ],
)
def test_a_quotation_stays_in_its_sentence(text, sentences):
    assert sentences_of(text) == sentences
