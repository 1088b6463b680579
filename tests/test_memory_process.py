"""A real memory process over its real socket, used by a process with a running reactor."""

import json
import os
import subprocess
import sys
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client
from pathlib import Path

import pytest

from contrib_ai_memory.memory_process import server

pytestmark = pytest.mark.slow  # games and memory processes of their own

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent

SETTINGS = """
from server.conf.settings import *
CONTRIB_AI_MEMORY = {memory!r}
LOG_DIR = {logs!r}
"""

GAME = """
import json, os, signal, sys, threading, time
import django, evennia
django.setup()
evennia._init()
from twisted.internet import defer, reactor, task
from contrib_ai_memory import offload
from contrib_ai_memory.memory_process import client
from contrib_ai_memory.store import condition, memory_store
import process_jobs as jobs
seen = {}

def run(job, *args, **options):
    return offload.run(offload.MEMORY, job, *args, timeout=90, **options)

@defer.inlineCallbacks
def failing(job, *args, **options):
    try:
        yield run(job, *args, **options)
    except Exception as error:
        return error

@defer.inlineCallbacks
def scene():
BODY

def over(failure):
    seen["broken"] = failure.getTraceback()

def end(_):
    print(json.dumps(seen))
    sys.stdout.flush()
    reactor.stop()

reactor.callWhenRunning(lambda: scene().addErrback(over).addBoth(end))
reactor.callLater(150, reactor.stop)
reactor.run()
"""

SCENE = """
    seen["mine"] = os.getpid()
    seen["first"] = yield run(jobs.who)
    seen["here"] = yield run(jobs.who, here=True)
    seen["nice"] = os.getpriority(os.PRIO_PROCESS, seen["first"])

    odd = yield failing(jobs.fail_oddly)
    noted = "fail_oddly" in odd.__notes__[0]
    seen["odd"] = [type(odd) is jobs.OddError, str(odd), odd.second, noted]
    away = yield failing(jobs.fail_of_store)
    seen["store error"] = [type(away) is condition.StoreUnreachable, "no route" in str(away)]
    seen["not sent"] = str((yield failing(lambda: None)))
    seen["not sent back"] = str((yield failing(jobs.lock_returned)))

    yield run(jobs.fill_the_disk)
    seen["held"] = [condition.held(), condition.troubles()]
    condition.end(f"{condition.ROOM} 1", "Freed by the game.")
    seen["ended by the game"] = yield run(jobs.troubles)
    yield run(jobs.fill_the_disk)
    yield run(jobs.free_the_disk)
    seen["held no more"] = condition.held()

    def void():
        raise KeyError("void")
    seen["void"] = repr((yield failing(jobs.die, check=void)))
    queued = [run(jobs.wait, 0.3)] + [
        run(jobs.moment, priority=each) for each in (offload.NIGHT, offload.AWAKE, offload.REPLY)
    ]
    _, night, awake, reply = yield defer.gatherResults(queued)
    seen["in order"] = reply < awake < night

    seen["written"] = yield run(jobs.remember, "The mill wheel is broken.")
    before = condition.writes()
    seen["writes counted"] = before > 0
    gone = yield failing(jobs.die)
    seen["killed at work"] = [type(gone).__name__, isinstance(gone, condition.HELD)]
    seen["second"] = yield run(jobs.who)
    seen["kept"] = yield run(jobs.remembered)

    os.kill(seen["second"], signal.SIGKILL)
    yield task.deferLater(reactor, 2, lambda: None)
    seen["third"] = yield run(jobs.who)
    seen["kept again"] = yield run(jobs.remembered)

    reading = run(jobs.wait, 5, reads=True)
    yield task.deferLater(reactor, 1, os.kill, seen["third"], signal.SIGKILL)
    seen["fourth"] = yield reading
"""

AFTER_A_RELOAD = """
    began = time.monotonic()
    seen["met"] = yield run(jobs.who)
    seen["seconds"] = time.monotonic() - began
    seen["here too"] = yield run(jobs.remembered)
    client.end(30)
    seen["ended"] = not client.lives()
"""

STARTING = """
import os, sys
sys.argv = ["twistd", "--python=evennia/server/server.py"]
import django, evennia
django.setup()
evennia._init()
from contrib_ai_memory import offload
import process_jobs as jobs
print(os.getpid(), offload.wait(offload.run(offload.MEMORY, jobs.who)))
"""

SHELL = """
import django, evennia
django.setup()
evennia._init()
from contrib_ai_memory import offload
from contrib_ai_memory.memory_process import channel
from contrib_ai_memory.store import memory_store
import process_jobs as jobs
print(channel.folder())
print(offload.wait(offload.run(offload.MEMORY, jobs.who)))
print(offload.wait(offload.run(offload.MEMORY, memory_store.agents)))
"""


@pytest.fixture(scope="module")
def game(tmp_path_factory):
    """`game(program)`: what a process of a game with a memory process of its own prints."""
    from django.conf import settings

    folder = tmp_path_factory.mktemp("apart")
    memory = {"DIR": str(folder / "store"), "MEMORY_PROCESS": True}
    own = SETTINGS.format(memory=memory, logs=str(folder))
    (folder / "process_settings.py").write_text(own)

    def play(program: str) -> str:
        run = subprocess.run(
            [sys.executable, "-c", program],
            cwd=settings.GAME_DIR,
            env=os.environ
            | {
                "DJANGO_SETTINGS_MODULE": "process_settings",
                "PYTHONPATH": os.pathsep.join(map(str, (settings.GAME_DIR, folder, ROOT, TESTS))),
            },
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        assert run.returncode == 0 and run.stdout.strip(), run.stderr
        return run.stdout

    play.folder = folder
    play.settings_file = Path(settings.GAME_DIR) / "server" / "conf" / "settings.py"
    return play


@pytest.fixture(scope="module")
def seen(game):
    told = json.loads(game(GAME.replace("BODY", SCENE)).splitlines()[-1])
    assert "broken" not in told, told["broken"]
    return told


def test_a_job_is_done_in_another_process_unless_it_says_here(seen):
    assert seen["first"] != seen["mine"] == seen["here"]


def test_the_game_gets_a_processor_before_its_memory(seen):
    assert seen["nice"] > os.getpriority(os.PRIO_PROCESS, 0)


def test_an_error_comes_home_as_from_the_thread(seen):
    assert seen["odd"] == [True, "1 and 2", 2, True]
    assert seen["store error"] == [True, True]


def test_what_is_no_plain_data_is_refused_by_name(seen):
    assert "lambda" in seen["not sent"]
    assert "cannot pickle '_thread.lock'" in seen["not sent back"]


def test_troubles_of_the_store_are_known_on_both_sides(seen):
    assert seen["held"] == [True, ["There is no room."]]
    assert seen["ended by the game"] == []
    assert seen["held no more"] is False
    assert seen["writes counted"]


def test_lines_that_a_job_logs_stand_in_the_games_log(seen, game):
    assert "WARNING written by a job" in (game.folder / "ai_memory.log").read_text()


def test_void_work_is_not_sent(seen):
    assert seen["void"] == "KeyError('void')"


def test_answers_go_before_housekeeping(seen):
    assert seen["in order"]


def test_a_job_whose_process_is_killed_fails_as_held_and_what_was_acknowledged_is_there(seen):
    assert seen["killed at work"] == ["MemoryProcessAway", True]
    assert seen["second"] not in (seen["first"], seen["mine"])
    assert seen["written"] and seen["kept"] == ["The mill wheel is broken."]


def test_a_process_that_is_killed_while_idle_costs_no_job(seen):
    assert seen["third"] not in (seen["first"], seen["second"], seen["mine"])
    assert seen["kept again"] == ["The mill wheel is broken."]


def test_a_job_that_only_reads_is_done_again_by_the_next_process(seen):
    assert seen["fourth"] not in (seen["first"], seen["second"], seen["third"], seen["mine"])


def test_the_next_server_and_the_shell_meet_the_living_process_and_a_stranger_is_refused(
    seen, game
):
    meeting_place, shell, agents = game(SHELL).splitlines()[-3:]
    assert int(shell) == seen["fourth"] and "': 1}" in agents
    assert Path(meeting_place).stat().st_mode & 0o077 == 0
    peer = json.loads((Path(meeting_place) / "peer.json").read_text())
    with pytest.raises(AuthenticationError):
        Client(peer["address"], authkey=b"guessed")

    after = json.loads(game(GAME.replace("BODY", AFTER_A_RELOAD)).splitlines()[-1])

    assert after["met"] == seen["fourth"]
    assert after["here too"] == ["The mill wheel is broken."]
    assert after["ended"]
    assert not (Path(meeting_place) / "peer.json").exists()


def test_changed_settings_or_code_get_a_process_of_their_own(game):
    scene = GAME.replace("BODY", '    seen["who"] = yield run(jobs.who)\n')
    file = game.folder / "process_settings.py"
    first = json.loads(game(scene).splitlines()[-1])["who"]
    file.write_text(
        file.read_text().replace("'MEMORY_PROCESS'", "'REFLECT_AT': 900, 'MEMORY_PROCESS'")
    )
    second = json.loads(game(scene).splitlines()[-1])["who"]
    os.utime(Path(game.settings_file))
    third = json.loads(game(scene).splitlines()[-1])["who"]
    assert len({first, second, third}) == 3


FORMER = """
import fcntl, json, pathlib, sys
from multiprocessing.connection import Listener
folder = pathlib.Path(sys.argv[1])
folder.mkdir(mode=0o700, parents=True, exist_ok=True)
with (folder / "lock").open("w") as held, Listener(family="AF_UNIX", authkey=b"key") as listener:
    fcntl.flock(held, fcntl.LOCK_EX)
    peer = {"address": listener.address, "key": b"key".hex()}
    (folder / "peer.json").write_text(json.dumps(peer))
    print("listens", flush=True)
    message, left_open = b"", []
    while message[:1] != b"E":
        left_open.append(listener.accept())
        message = left_open[-1].recv_bytes()
    (folder / "peer.json").unlink()
"""


def test_a_process_of_a_version_that_cannot_read_the_greeting_makes_room(game):
    game("from contrib_ai_memory.memory_process import client; client.end(30); print('ended')")
    program = [sys.executable, "-c", FORMER, str(game.folder / "store.process")]
    with subprocess.Popen(program, stdout=subprocess.PIPE) as former:
        try:
            former.stdout.readline()
            scene = GAME.replace("BODY", '    seen["who"] = yield run(jobs.who)\n')
            told = json.loads(game(scene).splitlines()[-1])
            assert "broken" not in told, told["broken"]
            assert former.wait(10) == 0
        finally:
            former.kill()


def test_a_server_whose_reactor_does_not_run_yet_has_its_jobs_done_there_too(game):
    mine, where = game(STARTING).split()[-2:]
    assert mine != where


def test_a_process_whose_store_was_replaced_ends_and_writes_nothing(game):
    """A killed server leaves it running; then somebody puts a backup back by hand."""
    scene = """
    seen["first"] = yield run(jobs.who)
    yield run(jobs.remember, "The ferry is late.")
    store = conf.directory()
    shutil.copytree(store, f"{store}.copy")
    shutil.rmtree(store)
    shutil.copytree(f"{store}.copy", store)
    yield task.deferLater(reactor, 2, lambda: None)
    seen["lives"] = os.path.exists(f"/proc/{seen['first']}/exe")
    seen["second"] = yield run(jobs.who)
    seen["kept"] = "The ferry is late." in (yield run(jobs.remembered))
"""
    imports = "import shutil\nfrom contrib_ai_memory import conf\n"
    told = json.loads(game(imports + GAME.replace("BODY", scene)).splitlines()[-1])
    assert "broken" not in told, told["broken"]
    assert not told["lives"] and told["second"] != told["first"] and told["kept"]


def test_a_process_that_nobody_needs_ends_by_itself(game):
    alone = """
from contrib_ai_memory.memory_process import server
server.LINGER_SECONDS = 0.0
print(server.main())
"""
    game("from contrib_ai_memory.memory_process import client; client.end(30); print('ended')")
    before = server.AUTOGROUP.exists() and server.AUTOGROUP.read_text()
    assert game(alone).splitlines()[-1] == "0"
    # it has no session of its own here: what started it goes on as fast as before
    assert (server.AUTOGROUP.exists() and server.AUTOGROUP.read_text()) == before
