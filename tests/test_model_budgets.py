"""The breaker, the limits and the budgets of the model server."""

import json
import logging
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from model_server import digest

from contrib_ai_memory import conf, offload
from contrib_ai_memory.llm import breaker, openai_compatible, prompts, router
from contrib_ai_memory.llm.provider import Passage, Unreachable
from contrib_ai_memory.llm.usage import Spent, Usage
from contrib_ai_memory.records import Entry, ReplyRequest

sys.path.insert(0, str(Path(__file__).resolve().parent))

WHEN = "2026-01-01T00:00:00+00:00"
ENTRY = Entry(4, WHEN, "I keep the ferry.", "say", seen_as="Alice", source_entity="#1")
REQUEST = ReplyRequest("Mara", "An innkeeper.", "Alice", "#1", "Who keeps the ferry?")


class Clock:
    """Seconds that pass when the test says so."""

    now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(router.breaker, "clock", made)
    return made


def fails(health, seconds=60.0):
    ticket = health.admit()
    health.fail(ticket, Unreachable("gone"), seconds)
    health.over(ticket)


def test_after_a_failure_nobody_asks_until_the_time_is_over_and_then_one_does():
    clock = Clock()
    health = breaker.Breaker(clock=clock)
    fails(health)
    clock.now += 59
    assert health.admit() is None
    clock.now += 2
    trial = health.admit()
    assert trial.trial
    assert health.admit() is None
    health.succeed("reply")
    health.over(trial)
    assert not health.admit().trial
    assert not health.admit().trial


def test_every_trial_that_fails_doubles_the_time_up_to_eight_times():
    clock = Clock()
    health = breaker.Breaker(clock=clock)
    waited = []
    for _ in range(6):
        fails(health)
        waited.append(health.pause)
        clock.now += health.pause
    assert waited == [60, 120, 240, 480, 480, 480]
    health.succeed("reply")
    fails(health)
    assert health.pause == 60


def test_calls_that_were_under_way_together_open_the_breaker_once():
    health = breaker.Breaker(clock=Clock())
    tickets = [health.admit() for _ in range(4)]
    for ticket in tickets:
        health.fail(ticket, Unreachable("gone"), 60)
        health.over(ticket)
    assert health.pause == 60


def test_a_trial_that_came_to_no_end_leaves_the_next_call_to_try():
    clock = Clock()
    health = breaker.Breaker(clock=clock)
    fails(health)
    clock.now += 61
    health.over(health.admit())
    assert health.admit().trial


@pytest.mark.parametrize(("wish", "pause"), [(10, 60), (200, 200), (86_400, 480), (None, 60)])
def test_a_server_is_left_alone_as_long_as_it_wishes_within_reason(wish, pause):
    health = breaker.Breaker(clock=Clock())
    health.fail(health.admit(), Unreachable("busy", wish), 60)
    assert health.pause == pause


def score(npc=None):
    """One operation through `ask`: the name of the provider that did it."""
    return offload.wait(router.ask("digest", Passage("Mara", (ENTRY,)), npc=npc))[0]


def test_a_server_that_is_there_but_answers_nonsense_closes_the_breaker(server, llm, clock, logged):
    server.behave(status=500)
    assert score() == "offline"
    clock.now += 61
    server.behave(structured="Sorry.")
    assert score() == "offline"
    assert router.breaker.problem == ""
    server.behave()
    assert score() == "openai"
    assert len(logged(logging.WARNING)) == 2


def test_answers_that_cannot_be_used_are_warned_of_once_until_they_can(server, llm, logged):
    server.behave(structured="Sorry.")
    for _ in range(3):
        score()
    assert len(logged(logging.WARNING)) == 1
    assert sum("offline provider did it" in line for line in logged()) == 3
    server.behave()
    score()
    server.behave(structured="Sorry.")
    score()
    assert len(logged(logging.WARNING)) == 2


AT_ONCE = """
import json, sys
import openai.resources.chat  # as a game does when it starts: it takes seconds on a busy machine
import django, evennia
django.setup()
evennia._init()
from django.conf import settings
from twisted.internet import defer, reactor
settings.CONTRIB_AI_MEMORY = json.loads(sys.argv[1])
from contrib_ai_memory import offload
from contrib_ai_memory.llm import router
from contrib_ai_memory.llm.provider import Passage
from contrib_ai_memory.records import Entry
ENTRY = Entry(4, "2026-01-01T00:00:00+00:00", "I keep the ferry.", "say", seen_as="Alice")
seen = []

def score(npc=None):
    return router.ask("digest", Passage("Mara", (ENTRY,)), npc=npc)

@defer.inlineCallbacks
def scene():
BODY

def done(result):
    print(json.dumps(seen if result is None else str(result)))
    sys.stdout.flush()
    reactor.stop()

reactor.callWhenRunning(lambda: scene().addBoth(done))
reactor.callLater(60, reactor.stop)
reactor.run()
"""


@pytest.fixture
def plays(settings, server, tmp_path):
    """Runs the body of a scene where a reactor runs, in a process of its own: what it `seen`."""

    def play(body, **more):
        llm = {"base_url": server.url, "model": "m", "retries": 0, "timeout": 20} | more
        chosen = {"DIR": str(tmp_path / "store"), "LLM": llm}
        program = AT_ONCE.replace("BODY", textwrap.indent(textwrap.dedent(body), "    "))
        run = subprocess.run(
            [sys.executable, "-c", program, json.dumps(chosen)],
            cwd=settings.GAME_DIR,
            env=os.environ | {"PYTHONPATH": settings.GAME_DIR},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert run.stdout.strip(), run.stderr
        return json.loads(run.stdout.splitlines()[-1])

    return play


def test_never_more_calls_at_the_same_time_than_there_are_threads(server, plays):
    server.behave(delay=0.4)
    body = """
    offload.THREADS[offload.BACKGROUND_MODEL] = 3
    answers = yield defer.gatherResults([score() for _ in range(7)])
    seen.extend(provider for provider, _ in answers)
    """
    assert plays(body) == ["openai"] * 7
    assert server.busiest == 3


def test_a_call_that_waited_behind_others_in_vain_does_not_count_against_the_server(server, plays):
    server.behave(delay=0.8)
    body = """
    offload.THREADS[offload.BACKGROUND_MODEL] = 1
    answers = yield defer.gatherResults([score() for _ in range(6)])
    seen.extend(sorted({provider for provider, _ in answers}))
    seen.append(router.breaker.problem)
    """
    assert plays(body, timeout=1.5) == ["offline", "openai", ""]


def test_only_one_call_tries_whether_the_server_is_back_while_the_others_do_without(server, plays):
    server.behave_once(status=500)
    server.behave(delay=0.5)
    body = """
    import time
    yield score()
    time.sleep(0.3)
    answers = yield defer.gatherResults([score() for _ in range(4)])
    seen.extend(sorted(provider for provider, _ in answers))
    answers = yield defer.gatherResults([score() for _ in range(4)])
    seen.extend({provider for provider, _ in answers})
    """
    assert plays(body, retry_after=0.2) == ["offline", "offline", "offline", "openai", "openai"]


# --- what it costs --------------------------------------------------------------------------------


COSTS = {"prompt_tokens": 30, "completion_tokens": 10, "total_tokens": 40}


def test_every_call_is_in_the_log_with_its_cost_and_without_a_word_of_anybody(server, llm, logged):
    server.behave(usage=COSTS, structured=json.dumps(digest({1: 5}, note="silver key")))
    llm().digest(Passage("Mara", (ENTRY,)))
    server.behave(status=500, body=b"you asked: I keep the ferry")
    with pytest.raises(Unreachable):
        llm().digest(Passage("Mara", (ENTRY,)))
    first, second = logged()
    assert first.startswith("digest: 30 tokens in, 10 out, 0.")
    assert first.endswith(" s, m")
    assert "HTTP 500" in second
    assert not any(word in line for line in logged() for word in ("ferry", "Alice", "silver"))


@pytest.mark.parametrize(
    "usage", [None, {}, {"prompt_tokens": -1, "completion_tokens": 2}, "much", COSTS | {"x": None}]
)
def test_where_a_server_does_not_say_what_it_cost_that_is_reckoned_from_the_text(
    server, llm, usage
):
    counted = []
    llm()

    provider = openai_compatible.OpenAIProvider(conf.get().LLM, lambda *call: counted.append(call))
    server.behave(usage=usage, text="Well met, dear Alice.")
    provider.converse(prompts.talk(REQUEST, []), ())
    [(purpose, tokens_in, tokens_out)] = counted
    told = usage if usage and "x" in usage else None
    assert purpose == "reply"
    assert tokens_out == (told["completion_tokens"] if told else 6)
    sent = len(server.requests[-1].text) / 4
    assert tokens_in == (told["prompt_tokens"] if told else pytest.approx(sent, abs=2))


def test_what_was_spent_is_counted_by_purpose_and_by_npc(server, llm):
    server.behave(usage=COSTS)
    for npc in ("mara-id", "mara-id", "finn-id", None):
        assert score(npc) == "openai"
    offload.wait(router.ask("converse", prompts.talk(REQUEST, []), (), npc="mara-id"))
    spent = router.usage()
    assert spent.whole == Spent(calls=5, tokens_in=150, tokens_out=50)
    assert spent.purposes["digest"].calls == 4
    assert spent.purposes["reply"].tokens_in == 30
    assert spent.npcs["mara-id"] == Spent(calls=3, tokens_in=90, tokens_out=30)
    assert set(spent.npcs) == {"mara-id", "finn-id"}


def test_an_npc_that_used_up_its_tokens_goes_without_and_the_others_do_not(server, llm, logged):
    llm(daily_tokens_per_npc=80)
    server.behave(usage=COSTS)
    assert [score("mara-id") for _ in range(4)] == ["openai", "openai", "offline", "offline"]
    assert score("finn-id") == "openai"
    [line] = logged(logging.WARNING)
    assert "the day's 80 tokens of NPC mara-id are used up" in line
    assert len(server.requests) == 3
    assert "m at http" in router.status()


def test_a_game_that_used_up_its_tokens_goes_without_and_says_so(server, llm, logged):
    llm(daily_tokens=80)
    server.behave(usage=COSTS)
    assert [score(npc) for npc in ("a", "b", "c", None)] == ["openai", "openai"] + ["offline"] * 2
    assert len(logged(logging.WARNING)) == 1
    assert "80 tokens of the game are used up" in router.status()


def test_what_was_spent_is_still_known_after_a_reload(server, llm, store_folder):
    llm(daily_tokens=40)
    server.behave(usage=COSTS)
    assert score("mara-id") == "openai"
    router._model_server_of.cache_clear()
    router._usage_in.cache_clear()
    assert router.usage().npcs["mara-id"].tokens_in == 30
    router._model_server_of.cache_clear()
    router._usage_in.cache_clear()
    assert score("mara-id") == "offline"
    assert [path.name for path in store_folder.glob("llm_usage*")] == ["llm_usage.json"]


def test_a_new_day_begins_at_nothing(tmp_path):
    day = ["2026-01-01"]
    counts = Usage(tmp_path / "usage.json", date=lambda: day[0])
    counts.count("reply", "mara-id", 30, 10)
    day[0] = "2026-01-02"
    assert counts.today().whole.calls == 0
    later = Usage(tmp_path / "usage.json", date=lambda: day[0])
    assert later.today().npcs == {}
    assert later.by_day("mara-id") == [("2026-01-01", 40), ("2026-01-02", 0)]


@pytest.mark.parametrize("content", [b"", b"{", b'{"day": 3}', b"\xff", b"[" * 100_000])
def test_a_broken_count_is_begun_anew(server, llm, store_folder, logged, content):
    store_folder.mkdir(exist_ok=True)
    (store_folder / "llm_usage.json").write_bytes(content)
    assert score() == "openai"
    assert router.usage().whole.calls == 1
    [line] = logged(logging.WARNING)
    assert "start from zero" in line


def test_a_count_that_cannot_be_written_costs_no_answer(server, llm, store_folder, logged):
    (store_folder / "llm_usage.json.new").mkdir(parents=True)
    assert [score(), score()] == ["openai", "openai"]
    [line] = logged(logging.WARNING)
    assert "cannot be written" in line


def test_the_count_is_never_written_on_the_reactor_thread(server, plays):
    body = """
    import threading
    main = threading.current_thread()
    writers = set()
    replace = __import__("os").replace
    def noted(*paths):
        writers.add(threading.current_thread() is main)
        replace(*paths)
    __import__("os").replace = noted
    yield score("mara-id")
    seen.extend(writers)
    seen.append(router.usage().npcs["mara-id"].calls)
    """
    assert plays(body) == [False, 1]
