"""A game folder of the tests' own, Django set up in it: real Attributes, real Edge, real MiniLM.

The folder is made by the same code that makes the demo's; nothing of it is left behind.
"""

from __future__ import annotations

import gc
import logging
import os
import shutil
import sqlite3
import sys
import tempfile
import threading
from pathlib import Path

import hypothesis
import pytest
from pytest_django.plugin import blocking_manager_key

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import plain_data  # noqa: E402
import progress_bar  # noqa: E402
import real_stores  # noqa: E402
import talk_scene  # noqa: E402

from world.game import Game  # noqa: E402

# examples of a property that says no number of its own: few, or as `make test-all` has them
hypothesis.settings.register_profile("few", max_examples=20)
hypothesis.settings.register_profile("many", max_examples=100)
hypothesis.settings.load_profile("few")

_workdir = Path(tempfile.mkdtemp(prefix="ai-memory-tests-"))

_SETTINGS = """
TEST_ENVIRONMENT = True
DATABASES = {{"default": {database!r}}}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
CONTRIB_AI_MEMORY = {memory!r}
"""


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):
        # this process only hands out tests; each worker has a game of its own
        config.pluginmanager.register(progress_bar.ProgressBar())
        return
    extra = _SETTINGS.format(memory={}, database=_database())
    game = Game(_workdir / "game", extra_settings=extra)
    game.build()
    with config.stash[blocking_manager_key].unblock():
        game.enter()


def pytest_collection_finish() -> None:
    gc.freeze()  # before the tables are made: `nothing_old_is_searched_for_garbage`


def _database() -> dict[str, str]:
    """The game's database: SQLite in memory, or PostgreSQL with AI_MEMORY_TEST_DATABASE."""
    kind = os.environ.get("AI_MEMORY_TEST_DATABASE", "sqlite")
    if kind == "postgresql":
        return real_stores.game_database("evennia")
    if kind != "sqlite":
        raise pytest.UsageError(f"AI_MEMORY_TEST_DATABASE={kind}: it is sqlite or postgresql")
    return {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}


def pytest_unconfigure() -> None:
    shutil.rmtree(_workdir, ignore_errors=True)
    left = [each for each in threading.enumerate() if not each.daemon]
    left.remove(threading.main_thread())
    if left:  # Python would wait for them for ever
        sys.stderr.write(f"Threads that no test ended: {', '.join(each.name for each in left)}")
        os._exit(1)


@pytest.fixture(scope="session")
def django_db_use_migrations():
    """Tables are made from the models: a hundred migrations end in the same after ten seconds."""
    return False


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, django_db_blocker):
    """On PostgreSQL, which checks foreign keys, the two objects that each real game begins with.

    Evennia makes #2 the home of everybody.
    """
    with django_db_blocker.unblock():
        from django.db import connection
        from evennia.utils.create import create_object

        if connection.vendor == "postgresql":
            for key in ("Keeper", "Limbo"):
                create_object("typeclasses.rooms.Room", key=key, nohome=True)


@pytest.fixture
def store_folder(settings, tmp_path):
    """A memory store of this test's own, closed when the test is over."""
    from contrib_ai_memory.store import memory_store

    settings.CONTRIB_AI_MEMORY = {"DIR": str(tmp_path / "store")}
    yield tmp_path / "store"
    memory_store.close_shared(for_good=False)


@pytest.fixture
def database_file(transactional_db, tmp_path):
    """The path of the game's database, which is a file for this test, without much patience."""
    from django.db import connection
    from evennia.objects.models import ObjectDB

    if connection.vendor != "sqlite":
        pytest.skip("SQLite's own: one lock for the whole file")
    ObjectDB.flush_instance_cache(force=True)  # objects of other tests, whose rows are gone
    connection.ensure_connection()
    in_memory, path = connection.connection, tmp_path / "game.db3"
    with sqlite3.connect(path) as file:
        in_memory.backup(file)
    params = {**connection.get_connection_params(), "database": str(path), "timeout": 0.05}
    connection.connection = connection.get_new_connection(params)
    yield path
    connection.connection.close()
    connection.connection = in_memory
    ObjectDB.flush_instance_cache(force=True)


@pytest.fixture(autouse=True, scope="module")
def nothing_old_is_searched_for_garbage():
    """Keep all that a file's tests find out of Python's collections of garbage.

    Evennia collects fifteen times where tables are made or emptied, each up to a quarter of a
    second.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def nothing_stays_in_the_process():
    """Drop what the process keeps of a database: the next test's ids are those of this one's."""
    from contrib_ai_memory.admin import audit
    from contrib_ai_memory.store import pause

    yield
    pause._all_paused = None
    audit._looks.clear()


@pytest.fixture
def tavern(db, store_folder):
    """An empty room in a fresh game database, with a store of its own."""
    from evennia.utils.create import create_object

    return create_object("typeclasses.rooms.Room", key="The Drowned Lantern")


@pytest.fixture
def mara(tavern):
    """An NPC with a memory, in the tavern."""
    return _someone("typeclasses.npcs.AssistantNPC", "Mara", tavern)


@pytest.fixture
def alice(tavern):
    return _someone("typeclasses.characters.Character", "Alice", tavern)


@pytest.fixture
def bram(tavern):
    return _someone("typeclasses.characters.Character", "Bram", tavern)


@pytest.fixture
def day(mara, alice, bram):
    """Mara after a day at the tavern (`spent_day`), with experiences of it."""
    from spent_day import spend_day

    return spend_day(mara, alice, bram)


@pytest.fixture
def night(day):
    """Mara after that day and a night: facts with their evidence, and links."""
    from contrib_ai_memory import offload

    offload.wait(day.assistant.sleep.whole_night())
    return day


def _someone(typeclass, key, room):
    from evennia.utils.create import create_object

    return create_object(typeclass, key=key, location=room, home=room)


@pytest.fixture(autouse=True)
def jobs_could_be_given_to_another_process(monkeypatch):
    """Jobs of the memory lane take and return plain data (`plain_data`)."""
    from contrib_ai_memory import offload

    monkeypatch.setattr(offload, "run", plain_data.checking(offload.run))


@pytest.fixture
def at_turn(monkeypatch):
    """at_turn(n, act): `act` happens at the n-th turn that is given to the reactor from now on.

    Returns a function that tells whether it has happened.
    """
    from contrib_ai_memory import offload

    given = {name: getattr(offload, name) for name in ("breathe", "run")}

    def at(number, act):
        left = [number]

        def give(name):
            def give_and_act(*args, **options):
                left[0] -= 1
                if left[0] == 0:
                    act()
                return given[name](*args, **options)

            return give_and_act

        for name in given:
            monkeypatch.setattr(offload, name, give(name))
        return lambda: left[0] <= 0

    return at


@pytest.fixture
def server():
    """A model server of the test's own, over real HTTP."""
    from model_server import ModelServer

    with ModelServer() as running:
        yield running


@pytest.fixture
def speaks_through(settings, server, store_folder):
    """Puts that server into the settings; speaks_through(timeout=1) changes more of them."""
    from contrib_ai_memory.llm import router

    def use(**more):
        chosen = {"base_url": server.url, "model": "m", "timeout": 5, "retries": 0} | more
        settings.CONTRIB_AI_MEMORY = {**settings.CONTRIB_AI_MEMORY, "LLM": chosen}
        router.breaker.reset()
        router.reply_breaker.reset()

    yield use
    router.breaker.reset()
    router.reply_breaker.reset()


@pytest.fixture
def llm(speaks_through):
    """The provider of that server; llm(timeout=1) changes more of its settings."""
    from contrib_ai_memory import conf
    from contrib_ai_memory.llm import prompts
    from contrib_ai_memory.llm.openai_compatible import OpenAIProvider
    from contrib_ai_memory.llm.spoken import voice_of

    class Provider(OpenAIProvider):
        def reply(self, request):
            """Answer without tools."""
            messages = prompts.talk(request, [])
            return self.converse(messages, (), voice_of(request, messages[0]["content"]))

    def use(**more):
        speaks_through(**more)
        return Provider(conf.get().LLM)

    use()
    return use


@pytest.fixture
def logged(caplog):
    """The lines of the contrib's log; logged(logging.WARNING) leaves out what is less."""
    from contrib_ai_memory.log import logger

    def lines(level=logging.INFO):
        ours = [each for each in caplog.records if each.name == logger().name]
        return [each.getMessage() for each in ours if each.levelno >= level]

    logger().addHandler(caplog.handler)  # its records do not propagate
    yield lines
    logger().removeHandler(caplog.handler)


@pytest.fixture
def hears():
    """Makes a list of all that an object is sent from now on, as plain text."""

    def listen(obj):
        heard = []
        deliver = obj.msg

        def msg(text=None, **kwargs):
            line = text[0] if isinstance(text, tuple) else text
            heard.append(str(line))
            return deliver(text=text, **kwargs)

        obj.msg = msg
        return heard

    return listen


@pytest.fixture
def types_as(tavern, hears):
    """Makes somebody with a permission; types(line) gives all that comes back, as plain text."""
    from evennia.utils.ansi import strip_ansi
    from evennia.utils.create import create_object

    from contrib_ai_memory import AIMemoryCmdSet

    def make(key, permission):
        made = create_object("typeclasses.characters.Character", key=key, location=tavern)
        made.permissions.add(permission)
        made.cmdset.add(AIMemoryCmdSet)
        heard = hears(made)

        def types(line: str) -> str:
            heard.clear()
            made.execute_cmd(line)
            return strip_ansi("\n".join(heard))

        made.ndb.types = types
        return types

    return make


@pytest.fixture
def builder(types_as):
    """A builder in the tavern; builder(line) gives all that comes back, as plain text."""
    return types_as("Builder", "Builder")


@pytest.fixture
def admin(types_as):
    """An admin in the tavern; admin(line) gives all that comes back, as plain text."""
    return types_as("Chief", "Admin")


@pytest.fixture
def says(mara, alice, bram):
    """says(alice, "who is here?") gives what Mara answers, "" for nothing; Bram is elsewhere."""
    from contrib_ai_memory import offload

    mara.memory.clock = lambda: talk_scene.MONDAY
    bram.location = None

    def say(who, words, command="say "):
        before = len(mara.memory.journal)
        who.execute_cmd(f"{command}mara, {words}" if command == "say " else f"{command}{words}")
        offload.wait(mara.assistant.at_tick())
        own = [each for each in mara.memory.journal.read(before + 1) if each.origin == "self"]
        mara.assistant.nattributes.clear()  # whoever asks is answered at once
        return own[-1].content if own else ""

    return say
