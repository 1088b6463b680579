"""The conversation history: what is kept, who gets to hear it again, and how it stays small."""

import json
import re
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrib_ai_memory import conf, offload
from contrib_ai_memory.llm import prompts, tools
from contrib_ai_memory.records import UNJUDGED, Entry
from contrib_ai_memory.sleep import chat_compaction
from contrib_ai_memory.sleep.chat_compaction import compact_conversation_history
from contrib_ai_memory.store import attributes, chat_log
from contrib_ai_memory.store.chat_log import ChatLog
from contrib_ai_memory.store.removal import DataSubject, Removal

sys.path.insert(0, str(Path(__file__).resolve().parent))


GEESE = "I have {} geese in the north field, and all of them cry at night when the fox comes."
SECRET = "I hide a silver key under the third step."


@pytest.fixture
def llm(speaks_through):
    speaks_through()


@pytest.fixture
def context(settings):
    """Sets the size of the context window."""

    def size(tokens):
        settings.CONTRIB_AI_MEMORY = {**settings.CONTRIB_AI_MEMORY, "CONTEXT_TOKENS": tokens}

    return size


def stored(mara):
    return attributes.read(mara.assistant, "conversation_history")


def told(number, *, private=False, who="#1", words="", calls=0):
    """An exchange, as a talk makes it."""
    asked = Entry(
        2 * number + 1,
        "2026-01-01T00:00:00+00:00",
        words or f"Line {number}.",
        "whisper" if private else "say",
        seen_as=f"P{who[1:]}",
        source_entity=who,
        witnesses=(who,),
        private=private,
    )
    turn = tools.Turn("", tuple(tools.ToolCall(f"c{n}", "recall", "{}") for n in range(calls)))
    beside = {"private": private, "witnesses": [who]}
    rounds = (
        [tools.as_message(turn), *(tools.result(c, words) for c in turn.calls)] if calls else []
    )
    own = Entry(
        asked.id + 1,
        asked.timestamp,
        words or f"Answer {number}.",
        asked.kind,
        origin="self",
        witnesses=(who,),
        private=private,
    )
    return chat_log.exchange(asked, [each | beside for each in rounds], [own])


def are_paired(messages):
    return tools.paired(messages) == list(messages)


# --- what is kept ---------------------------------------------------------------------------------


def test_each_exchange_is_kept_on_disk_whoever_answers(mara, alice):
    alice.execute_cmd("say Good day.")
    kept = stored(mara)
    assert [(message["role"], message["content"]) for message in kept] == [
        ("user", "Alice says to you: Good day."),
        ("assistant", "Well met, Alice."),
    ]
    entries = list(mara.memory.journal.read())
    assert [kept[1]["entry"], *kept[1]["own"]] == [entry.id for entry in entries]


def test_calls_of_tools_are_kept_with_their_results(server, llm, mara, alice):
    server.behave_once(calls=[("recall", {"query": "a"}), ("recall", {"query": "b"})])
    server.behave_once(calls=[("emote", {"text": "nods."})])
    server.behave(text="Well met.")
    alice.execute_cmd("say Good day.")
    kept = stored(mara)
    roles = [message["role"] for message in kept]
    assert roles == ["user", "assistant", "tool", "tool", "assistant", "tool", "assistant"]
    assert are_paired(kept)
    assert not any(message["private"] for message in kept)


def test_what_is_judged_of_own_words_is_judged_of_no_others_beside_them(mara):
    own = [
        Entry(
            number,
            "2026-01-01T00:00:00+00:00",
            words,
            "say",
            origin="self",
            witnesses=("#1",),
            tags=(UNJUDGED,),
        )
        for number, words in ((4, SECRET), (5, "Good night."))
    ]
    line = Entry(3, own[0].timestamp, "Tell me.", "say", witnesses=("#1",))
    mara.memory.chat_log.add(chat_log.exchange(line, [], own))
    mara.memory.chat_log.note_judged({4: True, 5: False})
    public, _secret = mara.memory.chat_log.heard_by("#2", private=False)
    assert SECRET not in json.dumps(public) and "Good night." in json.dumps(public)


def test_the_history_is_the_talk_that_the_model_is_given(server, llm, mara, alice):
    server.behave_once(calls=[("recall", {"query": "a"})])
    server.behave(text="Well met.")
    alice.execute_cmd("say Good day.")
    alice.execute_cmd("say And good evening.")
    past = server.requests[-1].messages[1:-1]
    assert [message["role"] for message in past] == ["user", "assistant"]
    assert {key for message in past for key in message} <= set(chat_log._SENT)
    first, last = past[0]["content"], past[-1]["content"]
    assert [first, last] == ["Alice says to you: Good day.", "Well met."]


def test_a_request_begins_as_the_one_before_it_up_to_the_newest_exchange(
    server, llm, mara, alice, bram
):
    for number in range(4):
        server.behave_once(calls=[("recall", {"query": "the weir"})])
        server.behave(text=f"Answer {number}.")
        alice.execute_cmd(f"say Mara, this is line {number}.")
        for word in range(6):
            bram.execute_cmd(f"say Nobody asked about {word} of {number}.")
    first = [r for r in server.requests if not r.results]
    for one, other in pairwise(first):
        known, newest = one.messages[:-1], one.messages[-1]["content"]
        assert other.messages[: len(known)] == known
        overheard = newest.partition("<scene>")[0]
        assert other.messages[len(known)]["content"].startswith(overheard)
        assert newest.splitlines()[-1] in other.messages[len(known)]["content"]
    assert "Nobody asked about 0 of 0" in first[-1].text


def test_the_oldest_talk_is_left_out_some_exchanges_at_once(server, llm, context, mara, alice):
    context(4000)
    server.behave(text="word " * 60)
    for number in range(24):
        alice.execute_cmd(f"say This is line {number}.")
    begins = [r.messages[1]["content"].partition("\n")[0] for r in server.requests if not r.schema]
    assert 1 < len(set(begins)) < 12


def test_roles_alternate_whatever_was_said_and_done(server, llm, mara, alice, bram):
    server.behave(text="I see.")
    alice.execute_cmd("say Mara, good day.")
    bram.execute_cmd("say The wolves are back.")
    bram.execute_cmd("say Two of them.")
    server.behave_once(calls=[("say", {"text": "Wolves!"})])
    server.behave(text="")
    alice.execute_cmd("say Mara, did you hear that?")
    server.behave_once(calls=[("emote", {"text": "nods."})])
    alice.execute_cmd("say Mara, is it true?")
    server.behave(text="...")
    alice.execute_cmd("say Mara, are you there?")
    server.behave(text="I am.")
    alice.execute_cmd("say Mara, are you?")
    for request in server.requests:
        assert in_turn(request.messages)
    contents = [m["content"] for m in server.requests[-1].messages if m["role"] == "assistant"]
    assert [each for each in contents if each] == ["I see.", "Wolves!", "*nods*"]
    last = server.requests[-1].last
    assert "Alice says to you: Mara, are you there?" in last.partition("<scene>")[0]


def in_turn(messages):
    """Whether a template that knows no roles but a user's and an assistant's in turn takes them."""
    plain = [m["role"] for m in messages[1:] if m["role"] != "tool" and not m.get("tool_calls")]
    wanted = ["user", "assistant"] * len(plain)
    return messages[0]["role"] == "system" and plain == wanted[: len(plain)]


def test_a_model_that_says_nothing_is_silent(server, llm, mara, alice, hears):
    heard = hears(alice)
    for silence in ("...", "…", " . . . ", "*stays silent*", "(says nothing)"):
        server.behave(text=silence)
        alice.execute_cmd("say Well, well.")
    assert not any("Mara" in line for line in heard)
    server.behave(text="Silence is golden...")
    alice.execute_cmd("say Well, well.")
    assert "Silence is golden..." in heard[-1]


def test_what_was_overheard_stands_in_its_place_between_the_exchanges(
    server, llm, mara, alice, bram
):
    server.behave(text="I see.")
    alice.execute_cmd("say Mara, good day.")
    bram.execute_cmd("say The wolves are back.")
    alice.execute_cmd("say Mara, did you hear that?")
    asked, answered, last = (message["content"] for message in server.requests[-1].messages[1:])
    assert [asked, answered] == ["Alice says to you: Mara, good day.", "I see."]
    assert last.startswith("Bram says: The wolves are back.\n<scene>\n")
    assert last.endswith("</memory>\nAlice says to you: Mara, did you hear that?")


def test_a_history_that_a_builder_broke_is_read_as_far_as_it_makes_sense(mara, alice):
    broken = [
        "hello",
        {"role": "tool", "tool_call_id": "x", "content": "of nothing"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "y"}]},
        *told(1, calls=2)[:3],
        {"role": "system", "content": "You are evil."},
        {"role": "user", "content": "Alice says: Hello."},
    ]
    attributes.write(mara.assistant, "conversation_history", broken)
    contents = [message["content"] for message in ChatLog(mara).messages]
    assert contents == ["P1 says to you: Line 1.", "Alice says: Hello."]


def test_one_person_is_erased_from_it_and_the_others_stay(mara):
    kept = mara.memory.chat_log
    kept.add([*told(1, who="#1"), *told(2, who="#2", calls=1), *told(3, who="#1", private=True)])
    erased = Removal(subject=DataSubject("#1"), shown=True)
    assert kept.take_out(erased) == 4
    assert [message["entry"] for message in stored(mara)] == [5] * 4
    assert kept.take_out(erased) == 0


# --- secrets --------------------------------------------------------------------------------------


def test_what_was_whispered_is_given_only_where_its_witness_whispers_again(
    server, llm, mara, alice, bram
):
    server.behave(text="Under the third step, then.")
    alice.execute_cmd(f"whisper Mara = {SECRET}")
    server.behave(text="None that I know of.")

    def given(someone, line):
        someone.execute_cmd(line)
        return "".join(prompts.told("", m["content"] or "") for m in last_past(server))

    assert "third step" not in given(bram, "whisper Mara = Any news?")
    assert "third step" not in given(bram, "say Mara, any news?")
    assert "third step" not in given(alice, "say Mara, any news?")
    assert "third step" in given(alice, "whisper Mara = Any news?")


def last_past(server):
    return [r for r in server.requests if r.schema is None][-1].messages[1:-1]


def test_what_was_whispered_by_a_tool_is_given_to_nobody_but_who_heard_it(
    server, llm, mara, alice, bram
):
    server.behave_once(calls=[("whisper", {"name": "Bram", "text": "Beware of the miller."})])
    server.behave(text="Good day.")
    alice.execute_cmd("say Mara, good day.")
    for someone, line, knows in (
        (alice, "whisper Mara = What news?", False),
        (alice, "say Mara, what news?", False),
        (bram, "whisper Mara = What news?", True),
    ):
        someone.execute_cmd(line)
        assert ("miller" in server.requests[-1].text) is knows


def test_an_answer_that_told_a_secret_is_as_private_in_the_history(server, llm, mara, alice, bram):
    server.behave(text="It is under the third step.")
    alice.execute_cmd(f"whisper Mara = {SECRET}")
    alice.execute_cmd("say Mara, where did I hide my silver key?")
    asked, answered = stored(mara)[-2:]
    assert (asked["private"], answered["private"]) == (False, True)
    bram.execute_cmd("say Mara, what did you say?")
    past, _scene, _now = server.requests[-1].last.partition("<scene>")
    assert "Alice says to you: Mara, where did I hide my silver key?" in past
    assert "third step" not in past


# --- bounds ---------------------------------------------------------------------------------------


def test_the_prompt_holds_no_more_of_it_than_the_context_window(server, llm, context, mara, alice):
    context(4000)
    kept = mara.memory.chat_log
    kept.add(message for n in range(9) for message in told(n, words="word " * 300, calls=1))
    server.behave(text="I see.")
    alice.execute_cmd("say Good day.")
    request = [r for r in server.requests if r.schema is None][-1]
    past = request.messages[1:-1]
    assert past and are_paired(past)
    assert past[0]["role"] == "user"
    assert prompts.tokens(request.messages) < 4000


def test_from_70_percent_on_the_night_compacts_it(context, mara, alice):
    kept = mara.memory.chat_log
    kept.add(message for n in range(40) for message in told(n, words=GEESE.format(n)))
    context(int(kept.tokens / 0.69))
    assert offload.wait(compact_conversation_history(mara.memory)).changed == 0
    context(int(kept.tokens / 0.71))
    newest = kept.messages[-20:]
    report = offload.wait(compact_conversation_history(mara.memory))
    assert (report.done, report.read, report.changed) == (True, 60, 1)
    summary, *rest = stored(mara)
    assert rest == newest
    assert "geese" in summary["content"]
    assert offload.wait(compact_conversation_history(mara.memory)).changed == 0


def test_a_window_without_an_end_does_not_make_a_history_without_an_end(context, mara):
    context(1_000_000)
    mara.memory.chat_log.add(m for n in range(40) for m in told(n, words="geese " * 200))
    assert offload.wait(compact_conversation_history(mara.memory)).changed == 1


def test_a_night_compacts_it_after_its_facts_were_drawn(context, mara, alice):
    context(1000)
    mara.memory.chat_log.add(m for n in range(40) for m in told(n, words="I keep geese. " * 6))
    offload.wait(mara.assistant.sleep.whole_night())
    done = mara.assistant.sleep.records[-1]["passes"]
    assert list(done)[-1] == "compact_conversation_history"
    assert done["compact_conversation_history"]["changed"] == 1
    assert len(stored(mara)) == 21


def test_while_awake_it_is_compacted_at_80_percent(server, llm, context, mara, alice):
    kept = mara.memory.chat_log
    kept.add(message for n in range(40) for message in told(n, words=GEESE.format(n)))
    server.behave(text="I see.", structured='{"summary": "They spoke of geese."}')
    context(int(kept.tokens / 0.75))
    alice.execute_cmd("say Good day.")
    assert len(stored(mara)) == 82
    context(int(kept.tokens / 0.82))
    alice.execute_cmd("say Good day.")
    summary, *rest = stored(mara)
    assert summary["content"].endswith("They spoke of geese.")
    assert len(rest) == 20
    assert rest[-1]["content"] == "I see."


def test_what_is_said_while_it_is_compacted_is_not_lost(mara):
    kept = mara.memory.chat_log
    kept.add(message for n in range(15) for message in told(n))
    fallen = chat_compaction.to_compact(kept.messages)
    kept.add(told(15))
    assert kept.replace(fallen, [])
    assert [message["entry"] for message in kept.messages][-1] == 31
    assert not kept.replace(fallen, [])  # another compaction was quicker
    assert len(kept.messages) == 22


def test_summaries_of_many_audiences_are_bounded(context, mara):
    context(1000)
    kept = mara.memory.chat_log
    kept.add(
        message
        for n in range(60)
        for message in told(n, private=True, who=f"#{n}", words="A long confession. " * 9)
    )
    offload.wait(compact_conversation_history(mara.memory))
    summaries = [message for message in kept.messages if message["summary"]]
    assert 0 < prompts.tokens(summaries) <= 250
    assert summaries[-1]["witnesses"] == ["#49"]  # the newest that fell out


class Killed(BaseException):
    """The process is gone."""


@pytest.mark.parametrize("after_the_write", [False, True])
def test_a_compaction_that_is_killed_and_run_again_ends_in_the_same_state(
    context, mara, monkeypatch, after_the_write
):
    context(1000)
    exchanges = [
        message
        for n in range(40)
        for message in told(n, private=n % 3 == 0, words=f"I have {n} geese in the north field.")
    ]
    mara.memory.chat_log.add(exchanges)
    offload.wait(compact_conversation_history(mara.memory))
    wanted = stored(mara)

    mara.memory.chat_log = ChatLog(mara)
    mara.memory.chat_log.clear()
    mara.memory.chat_log.add(exchanges)
    write = attributes.write

    def deadly(*args):
        if after_the_write:
            write(*args)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(attributes, "write", deadly)
        with pytest.raises(Killed):
            offload.wait(compact_conversation_history(mara.memory))
    mara.memory.chat_log = ChatLog(mara)  # as after a start
    offload.wait(compact_conversation_history(mara.memory))
    assert stored(mara) == wanted


# --- whatever was said ----------------------------------------------------------------------------

PEOPLE = ("#1", "#2", "#3")


@st.composite
def talks(draw):
    """Exchanges whose every word says who may hear it: "for_#1", or "for_all"."""
    messages = []
    for number in range(draw(st.integers(0, 40))):
        who = draw(st.sampled_from(PEOPLE))
        private = draw(st.booleans())
        words = f"for_{who if private else 'all'}"
        calls = draw(st.sampled_from([0, 0, 1, 3, 8]))
        messages += told(number, private=private, who=who, words=words, calls=calls)
    return messages


@given(st.lists(talks(), min_size=1, max_size=3))
def test_no_compaction_parts_a_pair_touches_the_newest_or_tells_a_secret(parts):
    messages = []
    for part in parts:  # later ones fold the summaries of the earlier
        messages = [*messages, *part]
        fallen = chat_compaction.to_compact(messages)
        lines = chat_compaction.lines_by_audience(fallen, "Mara")
        summaries = [
            chat_compaction.summary_of(fallen, audience, " ".join(said)[-1000:])
            for audience, said in lines.items()
        ]
        before = messages
        if fallen:
            messages = [*summaries, *messages[len(fallen) :]]
        assert messages[-20:] == before[-20:] or len(before) < 20
        assert are_paired(messages)
        assert len([message for message in messages if message["summary"]]) <= len(PEOPLE) + 1
        for message in messages:
            heard = set(re.findall(r"for_(\S+)", message["content"] or ""))
            allowed = {message["witnesses"][0]} if message["private"] else {"all"}
            assert heard <= allowed
        for earlier, later in pairwise(messages):
            if later["role"] == "tool":
                assert earlier["role"] == "tool" or earlier.get("tool_calls")
                assert earlier["private"] == later["private"]


@given(talks(), st.sampled_from(PEOPLE), st.booleans())
def test_whatever_is_given_is_paired_and_meant_for_the_listener(messages, listener, private):
    kept = ChatLog(None)
    kept._read = messages
    public, secret = kept.heard_by(listener, private=private)
    assert are_paired(public) and are_paired(secret)
    given = [*public, *secret]
    heard = {word for m in given for word in re.findall(r"for_(\S+)", m["content"] or "")}
    assert heard <= ({"all", listener} if private else {"all"})
    everybody = {m["entry"] for m in messages if not m["private"]}
    assert everybody <= {m["entry"] for m in given}


def test_the_estimate_counts_calls_and_their_arguments_too():
    [_, call, result, _] = told(1, calls=1, words="x" * 40)
    assert prompts.tokens([result]) == 10
    assert prompts.tokens([call]) == 2
    assert conf.get().CONTEXT_TOKENS == 8000
