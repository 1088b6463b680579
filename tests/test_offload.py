"""The worker threads, over a real reactor in a process of its own."""

import json
import subprocess
import sys
import textwrap

import pytest

PRELUDE = """
import json, sys, tempfile, threading, time
from functools import partial
from django.conf import settings
settings.configure(CONTRIB_AI_MEMORY={}, LOG_DIR=tempfile.mkdtemp())
from twisted.internet import defer, reactor, task
from contrib_ai_memory import offload
here = partial(offload.run, offload.MEMORY, here=True)  # any job, in this process
seen = []
main = threading.current_thread()

def done(_=None):
    print(json.dumps(seen))
    sys.stdout.flush()
    reactor.stop()

@defer.inlineCallbacks
def scene():
BODY

def start():
    scene().addErrback(lambda f: seen.append(str(f))).addBoth(done)

reactor.callWhenRunning(start)
reactor.callLater(20, reactor.stop)
reactor.run()
"""


def play(body: str) -> list:
    program = PRELUDE.replace("BODY", textwrap.indent(textwrap.dedent(body), "    "))
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert run.stdout.strip(), run.stderr
    return json.loads(run.stdout.splitlines()[-1])


def test_a_job_runs_elsewhere_and_its_result_comes_home():
    assert play(
        """
        where = yield here(lambda: threading.current_thread() is main)
        seen.append(where)
        seen.append(threading.current_thread() is main)
        """
    ) == [False, True]


def test_an_error_comes_home_too():
    assert play(
        """
        try:
            yield here(lambda: 1 / 0)
        except ZeroDivisionError as error:
            seen.append(str(error))
        """
    ) == ["division by zero"]


def test_answers_go_before_housekeeping():
    assert play(
        """
        gate = threading.Event()
        first = here(gate.wait)
        jobs = [
            here(seen.append, name, priority=priority)
            for name, priority in [
                ("night", offload.NIGHT), ("awake", offload.AWAKE), ("reply", offload.REPLY)
            ]
        ]
        gate.set()
        yield defer.DeferredList(jobs)
        """
    ) == ["reply", "awake", "night"]


def test_a_full_queue_refuses_at_once():
    assert play(
        """
        gate = threading.Event()
        jobs = [here(gate.wait) for _ in range(offload.QUEUE_LENGTH + 5)]
        refused = []
        for job in jobs:
            job.addErrback(lambda f: refused.append(f.check(offload.Busy) is not None))
        seen.append(len(refused) >= 4 and all(refused))
        gate.set()
        yield defer.DeferredList(jobs)
        """
    ) == [True]


def test_a_job_that_takes_too_long_is_given_up_and_its_result_dropped():
    assert play(
        """
        try:
            yield here(time.sleep, 0.5, timeout=0.1)
        except offload.TimedOut as error:
            seen.append("0.1 s" in str(error))
        yield task.deferLater(reactor, 0.6, lambda: None)
        after = yield here(lambda: "next")
        seen.append(after)
        """
    ) == [True, "next"]


def test_work_that_took_too_long_is_one_line_of_the_log_and_an_error_has_its_traceback():
    late, wrong = play(
        """
        slow = here(time.sleep, 0.5, timeout=0.1)
        yield slow.addErrback(offload.log_failure, "the tick of #7")
        yield here(lambda: 1 / 0).addErrback(offload.log_failure, "the tick of #8")
        from pathlib import Path
        for name in ("#7", "#8"):
            text = ""
            while name not in text:
                yield task.deferLater(reactor, 0.05, lambda: None)
                text = Path(settings.LOG_DIR, "ai_memory.log").read_text()
            seen.append(text.split(name)[1])
        """
    )
    assert late.startswith(": the memory worker gave no answer in 0.1 s")
    assert "Traceback" not in late.split("#8")[0] and "ZeroDivisionError" in wrong


def test_a_job_whose_time_ran_out_in_the_queue_is_never_started():
    assert play(
        """
        slow = here(time.sleep, 0.4)
        late = here(seen.append, "started", timeout=0.1)
        late.addErrback(lambda f: seen.append("given up"))
        yield slow
        yield here(lambda: None)
        """
    ) == ["given up"]


def test_a_busy_worker_does_not_keep_the_process_alive():
    program = PRELUDE.replace(
        "BODY",
        "    offload.run(offload.MODEL, time.sleep, 60).addErrback(lambda f: None)\n"
        "    yield task.deferLater(reactor, 0.2, lambda: None)",
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=20, check=False
    )
    assert run.returncode == 0


def test_of_many_who_breathe_a_turn_goes_to_no_more_than_fit():
    [turns] = play(
        """
        turns = [0]

        def count():
            turns[0] += 1
            reactor.callLater(0, count)

        def piece():
            until = time.perf_counter() + 2 * offload.TURN_SECONDS
            while time.perf_counter() < until:
                pass

        count()
        before = turns[0]
        yield defer.gatherResults([offload.breathe().addCallback(lambda _: piece())
                                   for _ in range(20)])
        seen.append(turns[0] - before)
        """
    )
    assert turns >= 18


def test_housekeeping_rests_after_each_piece_while_people_are_served():
    assert play(
        """
        def piece(name):
            until = time.perf_counter() + 20 * offload.TURN_SECONDS
            while name == "night" and time.perf_counter() < until:
                pass
            seen.append(name)

        @defer.inlineCallbacks
        def people():
            for _ in range(5):
                yield offload.breathe()
                piece("people")

        nights = [offload.breathe(offload.NIGHT).addCallback(lambda _: piece("night"))
                  for _ in range(2)]
        yield nights[0]
        yield people()
        yield nights[1]
        """
    ) == ["night", *["people"] * 5, "night"]


def test_what_a_job_of_the_night_found_waits_its_turn():
    assert play(
        """
        done = [here(seen.append, "worker", priority=offload.NIGHT)
                for _ in range(2)]
        for each in done:
            each.addCallback(lambda _: (time.sleep(0.05), seen.append("reactor")))
        yield done[0]
        looked = here(seen.append, "look", priority=offload.LOOK)
        yield looked
        yield done[1]
        """
    ) == ["worker", "worker", "reactor", "look", "reactor"]


def test_a_job_that_is_done_is_not_timed_out_while_its_result_waits_for_a_turn():
    assert play(
        """
        rests = offload.breathe(offload.NIGHT).addCallback(lambda _: time.sleep(0.3))
        yield rests
        done = here(lambda: "done", priority=offload.NIGHT, timeout=0.2)
        looked = yield here(lambda: "look", priority=offload.LOOK)
        result = yield done
        seen.extend([looked, result])
        """
    ) == ["look", "done"]


def test_housekeeping_goes_on_while_people_keep_every_turn_busy():
    assert play(
        """
        def piece():
            until = time.perf_counter() + 2 * offload.TURN_SECONDS
            while time.perf_counter() < until:
                pass

        @defer.inlineCallbacks
        def people():
            while not seen:
                yield offload.breathe()
                piece()

        def night(_):
            piece()
            seen.append("night")

        crowd = people()
        yield offload.breathe(offload.NIGHT).addCallback(night)
        yield crowd
        """
    ) == ["night"]


def test_work_awake_goes_before_that_of_the_night_and_no_rest_is_long():
    assert play(
        """
        def piece(name):
            seen.append(name)
            if name == "long":
                time.sleep(1.5 * offload.LONGEST_REST)

        yield offload.breathe(offload.NIGHT).addCallback(lambda _: piece("long"))
        ended = time.perf_counter()
        yield defer.gatherResults([
            offload.breathe(priority).addCallback(lambda _, name=name: piece(name))
            for name, priority in [("night", offload.NIGHT), ("awake", offload.AWAKE)]
        ])
        seen.append(time.perf_counter() - ended < 2 * offload.LONGEST_REST)
        """
    ) == ["long", "awake", "night", True]


def test_nights_go_on_while_background_work_never_ends():
    assert play(
        """
        offload.NIGHT_WAITS = 0.3

        @defer.inlineCallbacks
        def talk(job):
            while len(seen) < 2:
                yield job()

        def worked():
            return here(time.sleep, 0.01, priority=offload.AWAKE)

        crowd = [talk(job) for job in (worked, lambda: offload.breathe(offload.AWAKE)) * 3]
        here(lambda: "worker", priority=offload.NIGHT).addCallback(seen.append)
        offload.breathe(offload.NIGHT).addCallback(lambda _: seen.append("reactor"))
        yield defer.gatherResults(crowd)
        seen.sort()
        """
    ) == ["reactor", "worker"]


def test_what_was_said_is_sent_before_work_takes_its_turn():
    assert play(
        """
        import socket
        from twisted.internet import protocol

        class Game(protocol.Protocol):
            def dataReceived(self, data):
                self.transport.write(b"echo")
                worked = offload.breathe()
                worked.addCallback(lambda _: (time.sleep(0.1), seen.append("work")))
                works.append(worked)

        port = reactor.listenTCP(0, protocol.Factory.forProtocol(Game), interface="127.0.0.1")

        works = []

        def play():
            with socket.create_connection(("127.0.0.1", port.getHost().port)) as player:
                begun = time.perf_counter()
                player.sendall(b"say")
                player.recv(4)
                return time.perf_counter() - begun < 0.1

        prompt = yield offload.run(offload.MODEL, play, priority=offload.LOOK)
        yield works[0]
        seen.append(prompt)
        """
    ) == ["work", True]


def test_a_job_of_the_night_gives_way_while_the_reactor_is_at_a_piece_of_work_and_no_longer():
    assert play(
        """
        def work():
            asked.set()
            go.wait(5)
            offload.give_way()
            seen.append("worker")

        asked, go = threading.Event(), threading.Event()
        worked = here(work, priority=offload.NIGHT)
        yield offload.breathe()
        asked.wait(5)
        go.set()
        time.sleep(offload.GIVE_WAY_SECONDS / 2)
        seen.append("reactor")
        yield worked
        """
    ) == ["reactor", "worker"]


def test_without_a_reactor_the_work_is_done_at_once():
    from contrib_ai_memory import offload

    assert offload.wait(offload.run(offload.MEMORY, lambda: "now", here=True)) == "now"
    with pytest.raises(ZeroDivisionError):
        offload.wait(offload.run(offload.MEMORY, lambda: 1 / 0, here=True))
