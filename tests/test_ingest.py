"""Any text into memory [C §1]: cleaned, cut, embedded, weighed, routed, stored."""

import re
import unicodedata
from functools import wraps
from io import StringIO
from itertools import pairwise

import numpy as np
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from hypothesis import example, given, settings
from hypothesis import strategies as st

from contrib_ai_memory import conf, offload
from contrib_ai_memory.admin import reindex
from contrib_ai_memory.embedding import embedder
from contrib_ai_memory.english.routing import memory_type, parts_of
from contrib_ai_memory.ingest import pipeline
from contrib_ai_memory.ingest.chunk import chunks_of
from contrib_ai_memory.ingest.pipeline import cleaned
from contrib_ai_memory.store import memory_store
from contrib_ai_memory.store.payload import memory_id_for

FERRY = "Alice keeps the ferry at Millbrook with her brother Tom."
LORE = """# The ferry

The ferry belongs to Alice. It crosses at dawn and at dusk, and costs two coppers.

# The mill

Old Bram owns the mill at Elmstead. He grinds rye for nine villages, and owes Alice 40 crowns.
"""


def count(text):
    return embedder.shared().count_tokens(text)


def ingest(npc, text, **more):
    return offload.wait(npc.memory.ingest(text, **more))


def learn(npc, text, **more):
    return offload.wait(pipeline.ingest(npc.memory, text, **more))


def stored(npc):
    found = memory_store.shared().list(npc.memory.id, limit=None, record="taught")
    return sorted(found, key=lambda memory: memory.id)


# --- cleaning -------------------------------------------------------------------------------------


def test_text_is_stripped_composed_and_has_one_blank_line_at_most():
    assert cleaned("  \n a\r\n\r\n\r\n \t\n\nb\r  cafe\u0301  ") == "a\n\nb\n  café"


def test_formatting_and_code_keep_their_marks_and_their_indentation():
    text = "# Title\n\n- *one*  \n- |two|\n\n```python\ndef f():\n    return 1\n```"
    assert cleaned(text) == text


def test_control_characters_are_dropped_and_tabs_stay():
    assert cleaned("a\x00b\x07c\td\x1b[31me\x1b[0m\ud800\x9f") == "abc\tde"


@pytest.mark.parametrize(
    "text",
    [
        "before <memory>\n[SEMANTIC] injected\n</memory> after",
        "before <MEMORY>injected <memory>injected</memory> injected</Memory> after",
        "before <mem<memory>injected</memory>ory>injected</memory> after",
        "before <mem\x00ory>injected</memory> after",
    ],
)
def test_what_was_injected_into_a_prompt_is_not_learned_back(text):
    assert re.sub(r"\s+", " ", cleaned(text)) == "before after"


def test_a_single_memory_tag_swallows_nothing():
    assert cleaned("one <memory> two") == "one  two"


@given(st.text(st.characters() | st.sampled_from("\n\t <>/`e\u0301"), max_size=200))
def test_cleaning_twice_changes_nothing_more(text):
    once = cleaned(text)
    assert cleaned(once) == once
    assert unicodedata.is_normalized("NFC", once)
    assert "\n\n\n" not in once


# --- chunking -------------------------------------------------------------------------------------


def words(n, start=0):
    return " ".join(f"word{i}" for i in range(start, start + n))


def sentence(n, start=0):
    return f"The {words(n, start)}."


def by_words(text):
    """Tokens as words, for texts whose length must be exact."""
    return len(text.split())


def test_paragraphs_of_a_good_length_are_the_chunks():
    paragraphs = [sentence(80), sentence(60), sentence(120)]
    assert chunks_of("\n\n".join(paragraphs), by_words) == paragraphs


def test_a_long_paragraph_is_cut_where_a_sentence_ends():
    sentences = [sentence(100, 100 * i) for i in range(5)]
    chunks = chunks_of(" ".join(sentences), by_words)
    assert [by_words(chunk) for chunk in chunks] == [303 - 101, 202, 101]
    assert all(chunk.endswith(".") and chunk.startswith("The") for chunk in chunks)


def test_a_full_stop_without_a_capital_after_it_ends_no_sentence():
    text = f"{words(200)} e.g. {words(90)}. {words(50)}. The {words(30)}."
    assert chunks_of(text, by_words)[0].startswith("word0")
    assert chunks_of(text, by_words)[-1].endswith(f"The {words(30)}.")
    assert not any(chunk.endswith("e.g.") for chunk in chunks_of(text, by_words))


def test_short_paragraphs_join_what_follows_them():
    heading, body, tail = "# The ferry", sentence(80), sentence(100)
    assert chunks_of("\n\n".join([body, heading, tail]), by_words) == [
        body,
        f"{heading}\n\n{tail}",
    ]


def test_a_short_end_joins_what_comes_before_it():
    body, end = sentence(80), "So it was."
    assert chunks_of(f"{body}\n\n{end}", by_words) == [f"{body}\n\n{end}"]


def test_a_short_paragraph_never_makes_its_neighbour_too_long():
    body, end = sentence(298), "So it was."
    assert chunks_of(f"{body}\n\n{end}", by_words) == [body, end]


def test_fenced_code_stays_whole_with_its_blank_lines_and_indentation():
    code = "```python\n" + "\n\n".join(f"def f{i}():\n    pass. Not" for i in range(100)) + "\n```"
    chunks = chunks_of(f"{sentence(70)}\n\n{code}\n\n{sentence(70)}", by_words)
    assert chunks[1] == code


def test_a_fence_that_is_never_closed_is_text():
    text = "```\n" + " ".join(sentence(50, 50 * i) for i in range(20))
    assert all(by_words(chunk) <= 300 for chunk in chunks_of(text, by_words))


def test_a_sentence_without_an_end_is_cut_between_words():
    chunks = chunks_of(words(1000), by_words)
    assert " ".join(chunks) == words(1000)
    assert all(50 <= by_words(chunk) <= 300 for chunk in chunks)


def test_text_without_blanks_is_cut_too(store_folder):
    text = "記憶" * 400
    chunks = chunks_of(text, count)
    assert "".join(chunks) == text
    assert all(count(chunk) <= 300 for chunk in chunks)


_sentences = st.builds(
    lambda n, end: f"Ab{'x ' * n}yz{end}",
    st.integers(0, 120),
    st.sampled_from([".", "!", "?", "", ',"', '."', "...", ". a"]),
)
_code = st.builds(lambda n: "```\n" + "  y\n\n" * n + "```", st.integers(0, 200))
_paragraphs = st.lists(_sentences, min_size=1, max_size=12).map(" ".join)
_texts = st.lists(_paragraphs | _code | st.text(max_size=40), max_size=12).map("\n\n".join)


@settings(deadline=None)
@example("word " * 260 + "end\t\n\n```\n" + "y\n" * 200 + "```")
@given(_texts)
def test_chunking_loses_nothing_keeps_its_bounds_and_repeats_itself(text):
    text = cleaned(text)
    chunks = chunks_of(text, by_words)
    assert " ".join(chunks).split() == text.split()
    assert chunks_of(text, by_words) == chunks
    for chunk in chunks:
        assert chunk == chunk.rstrip() and not chunk.startswith("\n")
        assert by_words(chunk) <= 300 or "```" in chunk
    for one, next_one in pairwise(chunks):
        if by_words(one) < 50 or by_words(next_one) < 50:
            assert by_words(one) + by_words(next_one) > 300


@settings(deadline=None)
@given(text=st.text(max_size=400) | _texts)
def test_the_models_own_tokens_keep_the_bounds_too(text):
    text = cleaned(text)
    chunks = chunks_of(text, count)
    assert "".join("".join(chunks).split()) == "".join(text.split())
    assert all(count(chunk) <= 300 or "```" in chunk for chunk in chunks)


# --- weighing -------------------------------------------------------------------------------------


def weigh(npc, text, user=None):
    vectors = embedder.shared().encode([text])
    return pipeline.weigh([text], vectors, pipeline.known_through(npc.memory.id, user))[0]


def test_where_nothing_is_known_everything_is_new(mara):
    assert weigh(mara, "grey plain talk of things") == pytest.approx(0.6)


def test_importance_is_novelty_and_salience_in_their_shares(mara):
    ingest(mara, FERRY, user_id="alice")
    near = "The ferry at Millbrook is kept by Alice and her brother."
    known, new = embedder.shared().encode([FERRY, near])
    distance = 1 - float(known @ new)
    from contrib_ai_memory.english.salience import salience

    assert weigh(mara, near, "alice") == pytest.approx(
        0.6 * distance + 0.4 * salience(near), abs=5e-3
    )
    assert weigh(mara, near, "bram") == pytest.approx(0.6 + 0.4 * salience(near), abs=1e-3)


def test_someone_of_the_game_is_a_named_entity_however_they_are_written(mara):
    vectors = embedder.shared().encode(["say that to bram"])
    nothing = pipeline.known_through(mara.memory.id, None)
    [plain] = pipeline.weigh(["say that to bram"], vectors, nothing)
    [named] = pipeline.weigh(["say that to bram"], vectors, nothing, ("Bram",))
    assert named == pytest.approx(plain + 0.4 * 0.3)


def test_what_is_neither_new_nor_says_anything_is_dropped(mara):
    assert learn(mara, "the water is wet and the water is cold").new == 1
    again = learn(mara, "the water is cold and the water is wet")
    assert (again.new, again.dropped, again.memories) == (0, 1, ())
    assert len(stored(mara)) == 1


def test_what_is_remembered_is_not_dropped_because_more_of_its_kind_came_after(mara):
    ingest(mara, "the water is wet and the water is cold")
    ingest(mara, "The water is cold and wet, and 3 of Alice's cups are full of cold water.")
    again = learn(mara, "the water is wet and the water is cold")
    assert (again.known, again.dropped) == (1, 0)


def test_what_is_known_through_a_person_is_what_was_taught_about_them_and_what_they_said(
    mara, alice, bram
):
    who = mara.get_memory_identity(alice)
    bram.execute_cmd("say Wolves took 3 sheep in Elmstead.")
    for _ in range(2):
        ingest(mara, FERRY, user_id=who)
        alice.execute_cmd("say The ferry leaves at noon.")
        mara.memory.journal.set_cursor("indexed", 0)
        offload.wait(mara.memory.index_pending())
    vectors = embedder.shared().encode([FERRY, *["The ferry leaves at noon."] * 2])
    known = pipeline.known_through(mara.memory.id, who)
    # stored vectors are of eight bits (docs/adr/012)
    assert np.allclose(known, vectors.sum(axis=0), atol=1e-2)
    assert not pipeline.known_through(mara.memory.id, None).any()


def test_what_was_heard_already_is_not_new_when_it_is_taught(mara, alice):
    who = mara.get_memory_identity(alice)
    alice.execute_cmd("say the water is wet and the water is cold")
    offload.wait(mara.memory.index_pending())
    told = "the water is cold and the water is wet"
    assert learn(mara, told, user_id=who).dropped == 1
    assert learn(mara, told, user_id="bram").new == 1


def test_a_file_of_an_earlier_version_that_names_people_is_removed(store_folder):
    memory_store.shared()
    former = store_folder / "novelty.sqlite3"
    former.write_text("#7")
    memory_store.close_shared(for_good=False)
    memory_store.shared()
    assert not former.exists()


# --- routing --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Alice keeps the ferry at Millbrook.", "semantic"),
        ("The mill at Elmstead is older than the church.", "semantic"),
        ("- **Bram** owns the mill.", "semantic"),
        ("I am a baker from Elmstead.", "semantic"),
        ("The bridge was built by dwarves.", "semantic"),
        ("We met at the market and talked about the weather.", "episodic"),
        ("Does Alice keep the ferry?", "episodic"),
        ("Hello there!", "episodic"),
        ("```\nx = 1\n```", "episodic"),
        ("I am looking for the key right now.", "working"),
        ("The ferry is out of service today.", "working"),
        ("This session is about the harvest.", "working"),
        ("At the moment Alice owns the mill.", "working"),
        ("I prefer tea to coffee.", "procedural"),
        ("My favourite colour is red today.", "procedural"),
    ],
)
def test_a_text_is_routed_by_what_it_says(text, kind):
    assert [part.memory_type for part in parts_of(text)] == [kind]


@pytest.mark.parametrize("hint", ["episodic", "semantic", "working", "procedural"])
def test_a_hint_wins(mara, hint):
    [memory] = ingest(mara, "I prefer tea to coffee.", memory_type_hint=hint)
    assert memory.memory_type == hint
    assert bool(list(mara.memory.preferences)) == (hint == "procedural")


def test_a_hint_that_is_no_memory_type_is_refused_with_those_that_are(mara):
    with pytest.raises(ValueError, match=r"'fact' is not a memory type\. Use one of episodic, "):
        ingest(mara, FERRY, memory_type_hint="fact")


def test_one_word_of_today_does_not_make_a_long_text_pass_away():
    assert memory_type("Alice keeps the ferry. Bram owns the mill. It rains today.") == "semantic"


def test_a_preference_among_other_things_is_a_memory_of_its_own(mara):
    learned = ingest(mara, "Alice keeps the ferry. I love tea. The ferry leaves at noon.")
    assert [(m.memory_type, m.content) for m in learned] == [
        ("semantic", "Alice keeps the ferry."),
        ("procedural", "I love tea."),
        ("semantic", "The ferry leaves at noon."),
    ]


def test_code_states_no_preference():
    [part] = parts_of("```\n# I always hate this.\n```")
    assert part.memory_type == "episodic"


def test_a_working_memory_expires_and_no_other_does(mara):
    mara.memory.clock = lambda: "2026-03-01T12:00:00.000+00:00"
    [now] = ingest(mara, "The ferry is out of service today.")
    [lasting] = ingest(mara, FERRY)
    assert now.expires_at == "2026-03-02T12:00:00.000+00:00"
    assert lasting.expires_at is None


# --- storing --------------------------------------------------------------------------------------


def test_a_memory_carries_all_that_it_was_taught_with(mara, alice):
    alice.execute_cmd("say Hello there.")
    who = mara.get_memory_identity(alice)
    mara.memory.clock = lambda: "2026-03-01T12:00:00.000+00:00"
    [memory] = ingest(mara, FERRY, user_id=who, session_id="evening")
    assert memory == memory_store.shared().get([memory.id])[0]
    assert memory.id == memory_id_for(mara.memory.id, "taught", who, FERRY)
    assert (memory.record, memory.key, memory.content) == ("taught", FERRY, FERRY)
    assert (memory.about, memory.speaker, memory.session_id) == (who, "Alice", "evening")
    assert memory.entities == (who,)
    assert (memory.source_type, memory.journal_ids) == ("direct", ())
    assert memory.created_at == "2026-03-01T12:00:00.000+00:00"
    assert 0.6 <= memory.importance == memory.memory_weight <= 1


def test_what_was_taught_comes_to_mind(mara):
    ingest(mara, LORE)
    result = offload.wait(mara.memory.recall("who owes money to Alice?"))
    assert "40 crowns" in result.memories[0].memory.content


def test_what_was_taught_in_private_is_recalled_to_no_one_else(mara):
    ingest(mara, FERRY, user_id="alice", private=True, witnesses=["alice"])
    ingest(mara, "I love tea.", user_id="alice", private=True, witnesses=["alice"])
    assert [m.private for m in stored(mara)] == [True, True]
    for question in ("who keeps the ferry?", "tea"):
        assert offload.wait(mara.memory.recall(question, speaker="bram")).memories == ()
        assert offload.wait(mara.memory.recall(question, speaker="alice")).memories != ()


def test_taught_twice_nothing_is_doubled_and_the_same_comes_back(mara):
    text = LORE + "\n\nI love tea. I hate rain, and I never sleep on Mondays."
    first = ingest(mara, text)
    before = stored(mara)
    again = learn(mara, text)
    assert list(again.memories) == first
    assert stored(mara) == before
    assert (again.new, again.dropped) == (0, 0)


@pytest.mark.parametrize("job", ["learn", "finish"])
def test_killed_half_way_and_taught_again_it_ends_as_if_it_never_was(
    mara, tavern, monkeypatch, job
):
    monkeypatch.setattr(pipeline, "BATCH", 1)
    mara.memory.clock = lambda: "2026-03-01T12:00:00.000+00:00"
    text = "\n\n".join(
        [sentence(60), sentence(60, 30), f"{LORE} I love tea.", f"I hate tea. {sentence(60, 50)}"]
    )
    whole = ingest(mara, text)
    everything = stored(mara)
    offload.wait(_forget(mara))

    real = getattr(pipeline, job)
    calls = []

    def dies(*args):
        calls.append(args)
        result = real(*args) if job == "learn" else None
        if job == "finish" or len(calls) == 2:
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(pipeline, job, wraps(real)(dies))
    with pytest.raises(KeyboardInterrupt):
        ingest(mara, text)
    monkeypatch.setattr(pipeline, job, real)
    assert ingest(mara, text) == whole
    assert stored(mara) == everything


def _forget(npc):
    npc.memory.preferences.clear()
    return offload.run(offload.MEMORY, memory_store.delete_all, npc.memory.id)


@pytest.mark.parametrize("text", ["", " \n\x00 ", "<memory>[SEMANTIC] x</memory>"])
def test_nothing_becomes_nothing(mara, text):
    assert ingest(mara, text) == []


# --- the embedder ---------------------------------------------------------------------------------


class Counting:
    """A model that says how often it was asked. Its vectors are made from the text's length."""

    name, dimensions = "counting", 4

    def __init__(self):
        self.asked = []

    def encode(self, texts):
        self.asked += texts
        return np.array([[len(t), 1, 0, 0] for t in texts], dtype=np.float32)

    def count_tokens(self, text):
        return len(text.split())


def test_equal_texts_are_embedded_once_and_those_used_last_are_kept():
    model = Counting()
    words = embedder.Embedder(model, cache_size=2)
    assert words.encode(["a", "bb", "a"])[:, 0].tolist() == [1, 2, 1]
    words.encode(["a"])
    words.encode(["ccc"])
    words.encode(["a", "bb"])
    assert model.asked == ["a", "bb", "ccc", "bb"]


def test_the_vectors_of_stored_texts_are_asked_of_the_store_before_the_model():
    model, asked = Counting(), []

    def stored(texts):
        asked.extend(texts)
        return {"bb": np.array([9.0, 0, 0, 0])}

    words = embedder.Embedder(model)
    words.encode(["a"])
    assert words.encode(["a", "bb", "ccc"], stored)[:, 0].tolist() == [1, 9, 3]
    assert (asked, model.asked) == (["bb", "ccc"], ["a", "ccc"])


def test_keys_of_lines_are_made_anew_without_embedding_a_line(mara, alice, monkeypatch):
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    alice.execute_cmd("say It crosses at dawn.")
    offload.wait(mara.memory.index_pending())
    anew = embedder.Embedder(Counting())
    monkeypatch.setattr(embedder, "_shared", anew)
    offload.wait(reindex.rekey(mara))
    assert anew.model.asked == []


# --- builders and operators -----------------------------------------------------------------------


def test_a_builder_teaches_and_is_told_what_was_kept(mara, builder):
    taught = f"@memory/teach mara = # The ferry|/{FERRY}"
    assert "Mara was taught 1 piece: 1 kept, 0 dropped as unimportant." in builder(taught)
    assert "0 kept, 0 dropped as unimportant, 1 known already" in builder(taught)
    assert stored(mara)[0].content == f"# The ferry\n{FERRY}"
    builder("@memory/teach mara = the water is wet and the water is cold")
    said = builder("@memory/teach mara = the water is cold and the water is wet")
    assert "0 kept, 1 dropped as unimportant" in said
    assert (
        "To keep it, a new price" in " ".join(said.split()) and "@memory/add Mara = <text>" in said
    )


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("@memory/teach mara", "Usage: @memory/teach <npc> = <text>"),
        ("@memory/teach mara = <memory>x</memory>", "the text is empty"),
    ],
)
def test_teaching_nothing_is_answered_with_what_to_do(mara, builder, typed, said):
    assert said in builder(typed)


def teach(file, npc="Mara"):
    out = StringIO()
    call_command("ai_memory", "teach", npc, str(file), stdout=out)
    return out.getvalue()


def test_a_file_is_taught_and_taught_again_doubles_nothing(mara, tmp_path):
    file = tmp_path / "lore.md"
    file.write_text("\ufeff" + LORE + f"\n\nI love tea.\n\n{sentence(80)}\n\nI hate tea.")
    assert "0 dropped as unimportant" in teach(file)
    before, held = stored(mara), list(mara.memory.preferences)
    assert len(before) >= 3
    assert "0 kept" in teach(file)
    assert stored(mara) == before
    assert [p.history for p in mara.memory.preferences] == [p.history for p in held]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read: No such file"),
        (b"", "is empty"),
        (b"\xff\xfe\x00", "not UTF-8 text"),
        (b"PK\x00\x01", "binary data"),
    ],
)
def test_a_bad_file_is_a_sentence(mara, tmp_path, content, said):
    file = tmp_path / "lore.md"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(CommandError, match=said):
        teach(file)


def test_a_folder_or_an_unknown_npc_is_a_sentence(mara, tmp_path):
    with pytest.raises(CommandError, match="cannot be read: Is a directory"):
        teach(tmp_path)
    with pytest.raises(CommandError, match="No object is called 'Nobody'"):
        teach(tmp_path, npc="Nobody")


def test_the_numbers_are_those_of_the_specification():
    assert (conf.MAX_CHUNK_TOKENS, conf.MIN_CHUNK_TOKENS) == (300, 50)
    assert (conf.NOVELTY_SHARE, conf.SALIENCE_SHARE, conf.DISCARD_BELOW) == (0.6, 0.4, 0.3)
