"""What a line of talk is found by: its own words and those around it, of one talk alone."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contrib_ai_memory import offload
from contrib_ai_memory.embedding import embedder
from contrib_ai_memory.ingest import index
from contrib_ai_memory.records import Entry
from contrib_ai_memory.store import lanes

YES = "Alice: Yes, since spring!"
WORDS = ["ferry", "wolves", "well", "sheep", "bridge", "Yes.", "When was it?", "In spring."]


def entry(number, content="Yes, since spring!", **more) -> Entry:
    made = {"timestamp": "2026-03-01T10:00:00+00:00", "kind": "say", "seen_as": "Alice"}
    return Entry(**{"id": number, "content": content, "session_id": "s"} | made | more)


def finds(key, *around):
    """Whether a key holds the words of these lines, (distance, words), and of no others."""
    return key.words == {name: lanes.bm25(around, lane) for name, lane in lanes.WORD_LANES.items()}


def found_by(new, before=()):
    return index._keys_of(list(new), list(before), lambda texts: {})


def test_a_line_is_found_by_the_lines_around_it(store_folder):
    talk = [entry(1, "Who keeps the ferry?"), entry(2), entry(3, "A long time.")]
    found = found_by(talk)
    before, own, after = "Alice: Who keeps the ferry?", YES, "Alice: A long time."
    assert finds(found[2], (1, before), (0, own), (1, after))
    vectors = embedder.shared().encode([line.content for line in talk])
    window = 0.6 * vectors[0] + vectors[1] + 0.6 * vectors[2]
    assert found[2].window == pytest.approx(window / np.linalg.norm(window), abs=1e-6)
    assert found[2].line == pytest.approx(vectors[1])


@pytest.mark.parametrize(
    "other",
    [
        {"private": True, "witnesses": ("#1",)},
        {"session_id": "another"},
        {"session_id": None},
    ],
)
def test_what_others_heard_or_another_talk_is_no_key_of_a_line(store_folder, other):
    secret = entry(2, "The key is under the third step.", **other)
    found = found_by([entry(1), secret, entry(3)])
    assert finds(found[1], (0, YES), (1, YES))
    assert finds(found[2], (0, "Alice: The key is under the third step."))


def test_two_whispers_to_different_ears_are_two_talks(store_folder):
    one = entry(1, private=True, witnesses=("#1",))
    two = entry(2, private=True, witnesses=("#1", "#2"))
    found = found_by([one, two])
    assert finds(found[1], (0, YES)) and finds(found[2], (0, YES))


def test_talk_that_lies_far_off_in_the_journal_is_not_around(store_folder):
    first, middle, last = found_by(
        [entry(1), entry(1 + lanes.REACH), entry(2 + lanes.REACH)]
    ).values()
    assert finds(first, (0, YES), (1, YES))
    assert finds(middle, (1, YES), (0, YES), (1, YES))
    assert finds(last, (1, YES), (0, YES))


def test_older_lines_get_new_keys_only_as_far_as_they_change(store_folder):
    talk = [entry(number) for number in range(1, 31)]
    found = found_by(talk[-1:], talk[:-1])
    assert sorted(found) == list(range(30 - lanes.SPAN, 31))


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines=st.lists(
        st.tuples(
            st.sampled_from(WORDS),
            st.sampled_from(["s", "t", None]),
            st.sampled_from([(), ("#1",), ("#1", "#2")]),
        ),
        min_size=1,
        max_size=60,
    ),
    batches=st.lists(st.integers(1, 20), min_size=60, max_size=60),
)
def test_however_it_is_cut_into_batches_the_keys_are_the_same(store_folder, lines, batches):
    journal = [
        entry(number, words, session_id=session, private=bool(heard), witnesses=heard)
        for number, (words, session, heard) in enumerate(lines, 1)
    ]
    at_once = found_by(journal)
    bit_by_bit = {}
    start = 0
    for size in batches:
        batch = journal[start : start + size]
        if batch:
            bit_by_bit |= found_by(batch, journal[max(0, start - index.LOOK_BACK) : start])
        start += size
    assert bit_by_bit.keys() == at_once.keys()
    for number, expected in at_once.items():
        assert bit_by_bit[number].words == expected.words
        assert np.allclose(bit_by_bit[number].window, expected.window, atol=1e-5)


def test_the_word_lanes_are_bm25_over_counts_weighted_by_distance():
    around = ((1, "ferry ferry"), (0, "ferry bridge"), (9, "wolves"))
    near = lanes.bm25(around, lanes.WORD_LANES["near"])
    ferry = 1 + 2 * 0.55
    norm = 1.2 * (1 - 0.75 + 0.75 * (ferry + 1) / 40.0)
    assert sorted(near.values()) == pytest.approx(
        sorted([ferry * 2.2 / (ferry + norm), 1 * 2.2 / (1 + norm)])
    )
    assert len(lanes.bm25(around, lanes.WORD_LANES["wide"])) == 3


def test_a_line_that_names_nothing_is_recalled_by_what_was_asked_before_it(mara, alice, bram):
    for number in range(30):
        bram.execute_cmd(f"say Crate {number} is full of turnips.")
    alice.execute_cmd("say How long have you kept the ferry?")
    bram.execute_cmd("say Eleven winters.")
    found = offload.wait(mara.memory.recall("how long has the ferry been kept?", top_k=2))
    assert "Eleven winters." in [item.memory.content for item in found.memories]
