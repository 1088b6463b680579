"""The background loop: snippets, experiences, reinforcement."""

import pytest
from model_server import numbered_in

from contrib_ai_memory import conf, offload
from contrib_ai_memory.embedding import emotions
from contrib_ai_memory.ingest import experiences as background
from contrib_ai_memory.records import Entry, ExperienceDraft, Percept
from contrib_ai_memory.store import memory_store


@pytest.fixture
def talk(mara):
    """Says lines at given seconds of one evening: talk(second, speaker, text, private=False)."""

    def say(second, speaker, text, private=False):
        when = f"2026-01-01T20:{second // 60:02d}:{second % 60:02d}.000+00:00"
        mara.memory.clock = lambda: when
        return mara.memory.perceive(
            Percept(
                content=text,
                kind="whisper" if private else "say",
                seen_as=speaker,
                source=f"#{speaker}",
                witnesses=(f"#{speaker}",) if private else ("#Alice", "#Bram"),
                private=private,
                location="#1",
                timestamp=when,
            )
        )

    return say


def learn(mara, **more):
    return offload.wait(mara.memory.work_through(**more))


def experiences(mara):
    return memory_store.shared().list(mara.memory.id, record="experience")


LINES = [
    "I lost my brother Tom in the flood.",
    "The mayor raised the toll to nine crowns.",
    "Wolves came down from Harrow Hill.",
    "I sold two oxen in Millbrook yesterday.",
    "My daughter Ann marries on Friday.",
    "The bridge at Elmstead is broken.",
]


def test_six_messages_make_one_experience_with_all_four_dimensions(mara, talk):
    for number, line in enumerate(LINES):
        talk(number, "Alice", line)
    learn(mara)
    [experience] = experiences(mara)
    assert experience.content
    assert 0.2 < experience.memory_weight <= 1
    assert len(set(experience.dominant_emotions)) == 3
    assert set(experience.dominant_emotions) <= emotions.EMOTIONS
    assert experience.the_lesson.endswith(".")
    assert set(experience.journal_ids) < {1, 2, 3, 4, 5, 6}  # what the essence rests on


def test_a_snippet_waits_for_six_messages_or_for_silence(mara, talk):
    talk(0, "Alice", LINES[0])
    learn(mara)
    assert experiences(mara) == []
    mara.memory.clock = lambda: "2026-01-01T20:02:01+00:00"
    learn(mara)
    assert len(experiences(mara)) == 1


def test_no_message_is_extracted_twice_also_not_after_a_restart(mara, talk):
    for number, line in enumerate(LINES):
        talk(number, "Alice", line)
    learn(mara, until_silent=True)
    mara.memory.flush()
    before = experiences(mara)
    del mara.__dict__["memory"]  # what a restart does
    learn(mara, until_silent=True)
    assert experiences(mara) == before


def test_a_snippet_never_mixes_a_whisper_with_what_all_may_know(mara, talk):
    talk(0, "Alice", LINES[0])
    talk(1, "Alice", "I buried nine crowns in Elmstead, tell nobody.", private=True)
    talk(2, "Alice", LINES[2])
    learn(mara, until_silent=True)
    found = experiences(mara)
    assert len(found) == 3
    secret = [e for e in found if "Elmstead" in e.content]
    assert [e.private for e in secret] == [True]
    assert [e.witnesses for e in secret] == [("#Alice",)]


def test_what_the_npc_itself_said_makes_no_experience(mara, alice, bram):
    mara.execute_cmd("say I am the best innkeeper on the river, by Saint Osric!")
    learn(mara, until_silent=True)
    assert experiences(mara) == []


def test_small_talk_is_noise(mara, talk):
    talk(0, "Alice", "Well, well.")
    talk(1, "Bram", "Is it?")
    learn(mara, until_silent=True)
    assert experiences(mara) == []


def entry(entry_id, **more):
    plain = {"timestamp": f"2026-01-0{entry_id}T00:00:00+00:00", "content": "x", "kind": "say"}
    return Entry(id=entry_id, **plain | {"witnesses": ("#Alice",)} | more)


def keep(mara, entries, essence="Alice keeps the ferry at Millbrook.", weight=0.5, lesson="Old."):
    draft = ExperienceDraft(essence, weight, lesson)
    return background.keep(mara.memory.id, draft, tuple(entries), "offline")


def test_the_same_experience_again_is_reinforced_not_doubled(mara):
    first = keep(mara, [entry(1)])
    again = keep(mara, [entry(2)], "Alice keeps the ferry at Millbrook!", weight=0.9, lesson="New.")
    assert again == first
    [experience] = experiences(mara)
    assert experience.access_count == 2
    assert experience.memory_weight == 0.9
    assert experience.the_lesson == "New."
    assert set(experience.journal_ids) == {1, 2}
    assert experience.last_accessed.startswith("2026-01-02")


def test_reinforcing_with_the_same_evidence_twice_counts_once(mara):
    keep(mara, [entry(1)])
    keep(mara, [entry(2)])
    keep(mara, [entry(2)])
    [experience] = experiences(mara)
    assert experience.access_count == 2


def test_a_secret_is_not_joined_with_the_same_thing_said_openly(mara):
    keep(mara, [entry(1)])
    keep(mara, [entry(2, private=True)])
    assert sorted(e.private for e in experiences(mara)) == [False, True]


def test_just_below_the_threshold_is_another_experience(mara):
    keep(mara, [entry(1)], "Alice keeps the ferry at Millbrook.")
    keep(mara, [entry(2)], "Bram lost two sheep to the wolves.")
    assert len(experiences(mara)) == 2
    assert conf.DEDUP_COSINE == 0.92


def test_an_experience_is_as_private_as_the_most_private_of_its_entries(mara):
    keep(mara, [entry(1, witnesses=("#Alice", "#Bram")), entry(2, private=True)])
    [experience] = experiences(mara)
    assert (experience.private, experience.witnesses) == (True, ("#Alice",))


def test_nothing_new_is_left_out_where_the_npc_answers_every_line(
    mara, alice, server, speaks_through
):
    speaks_through()
    server.behave(text="Is that so?")
    said = [
        f"Mara, I met {name} at the ferry of Millbrook." for name in ("Ann", "Ben", "Cid", "Dan")
    ]
    said += [
        f"Mara, I sold {number} oxen in Elmstead." for number in ("nine", "ten", "twelve", "six")
    ]
    for line in said:
        alice.execute_cmd(f"say {line}")
    offload.wait(mara.assistant.sleep.whole_night())
    [asked] = [r for r in server.requests if r.schema == "DigestAnswer"]
    assert [f"Alice says: {line}" for line in said] == list(numbered_in(asked)[0].values())
    assert "- Mara says: Is that so?" in asked.last.splitlines()
