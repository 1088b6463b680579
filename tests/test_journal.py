"""The paged journal: one sequence over its pages, O(1) to write, nothing lost between them."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contrib_ai_memory.conf import PAGE_SIZE
from contrib_ai_memory.records import Entry
from contrib_ai_memory.store import attributes
from contrib_ai_memory.store.journal import Journal

pytestmark = pytest.mark.django_db


def write(journal: Journal, count: int) -> list[Entry]:
    return [
        journal.append(
            lambda entry_id: Entry(
                entry_id, "2026-01-01T00:00:00+00:00", f"line {entry_id}", "say", seen_as="Alice"
            )
        )
        for _ in range(count)
    ]


@pytest.mark.parametrize("count", [1, PAGE_SIZE - 1, PAGE_SIZE, PAGE_SIZE + 1, 3 * PAGE_SIZE + 5])
def test_what_was_written_is_read_back_by_a_new_process(mara, count):
    written = write(mara.memory.journal, count)
    mara.memory.flush()
    again = Journal(mara)
    assert list(again.read()) == written
    assert [entry.id for entry in again.read()] == list(range(1, count + 1))
    assert len(again) == count


def test_the_open_page_never_holds_more_than_a_page(mara):
    write(mara.memory.journal, 5 * PAGE_SIZE + 3)
    mara.memory.flush()
    stored = attributes.read(mara, "journal")
    assert len(stored["entries"]) == 3
    assert stored["entry_count"] == 5 * PAGE_SIZE + 3
    assert mara.attributes.get("journal_page_4", category="ai_memory", strattr=True)


def test_an_entry_is_found_from_its_id_in_one_page(mara, django_assert_max_num_queries):
    write(mara.memory.journal, 10 * PAGE_SIZE)
    mara.memory.flush()
    journal = Journal(mara)
    with django_assert_max_num_queries(1):
        assert journal.get(100).content == "line 100"
    assert journal.get(0) is None
    assert journal.get(10 * PAGE_SIZE + 1) is None


def test_an_entry_on_a_sealed_page_can_be_changed_and_removed(mara):
    journal = mara.memory.journal
    write(journal, 2 * PAGE_SIZE)
    journal.flush()
    journal.update({3: {"importance": 9}, 40: {"consolidated": True}, 999: {"importance": 1}})
    assert journal.remove([5, 5, 999]) == 1
    journal.flush()
    again = Journal(mara)
    assert again.get(3).importance == 9
    assert again.get(40).consolidated
    assert again.get(5) is None
    assert again.get(6).id == 6


def test_ids_are_never_given_twice_after_entries_were_removed(mara):
    journal = mara.memory.journal
    write(journal, 3)
    journal.remove([3])
    journal.flush()
    assert write(Journal(mara), 1)[0].id == 4


def test_the_consolidated_ids_kept_beside_the_entries_stay_few(mara):
    journal = mara.memory.journal
    write(journal, 4 * PAGE_SIZE + 2)
    journal.update({entry.id: {"consolidated": True} for entry in journal.read()})
    journal.flush()
    assert attributes.read(mara, "journal")["consolidated_entry_ids"] == [129, 130]


def test_an_old_open_page_written_back_by_an_admin_form_does_not_win(mara):
    journal = mara.memory.journal
    write(journal, 2)
    journal.flush()
    old = attributes.read(mara, "journal")
    write(journal, 2)
    mara.attributes.add("journal", old)
    write(journal, 1)
    journal.flush()
    assert [entry.id for entry in Journal(mara).read()] == [1, 2, 3, 4, 5]


def test_a_perceived_line_costs_the_same_number_of_queries_at_any_length(
    mara, django_assert_max_num_queries
):
    journal = mara.memory.journal
    write(journal, 100 * PAGE_SIZE)
    journal.flush()
    with django_assert_max_num_queries(3):  # a savepoint around one UPDATE
        write(journal, 1)
        journal.flush()


ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 40)),
        st.tuples(st.just("update"), st.integers(1, 200)),
        st.tuples(st.just("remove"), st.integers(1, 200)),
        st.tuples(st.just("reopen"), st.just(0)),
    ),
    max_size=25,
)


@given(actions=ACTIONS)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_it_behaves_like_one_list_whatever_is_done_to_it(mara, actions):
    journal = mara.memory.journal
    journal.clear()
    model: dict[int, int] = {}
    for action, number in actions:
        if action == "append":
            model |= {entry.id: entry.importance for entry in write(journal, number)}
        elif action == "update":
            journal.update({number: {"importance": number % 10 + 1}})
            if number in model:
                model[number] = number % 10 + 1
        elif action == "remove":
            assert journal.remove([number]) == (model.pop(number, None) is not None)
        else:
            journal.flush()
            journal = Journal(mara)
    assert {entry.id: entry.importance for entry in journal.read()} == model
    assert [entry.id for entry in journal.tail(10)] == [
        i for i in sorted(model) if i > journal.last_id - 10
    ]
