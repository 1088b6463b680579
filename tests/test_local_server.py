"""llama.cpp's server as a process of the game: a script stands for its program."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
import urllib.request
from http.client import HTTPException
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from contrib_ai_memory import conf, offload
from contrib_ai_memory import start as start_of_server
from contrib_ai_memory.llm import local_server

PROGRAM = """#!{python}
import http.server, json, os, sys
given = dict(zip(sys.argv[1::1], sys.argv[2::1]))
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        told = {{"status": "ok", "pid": os.getpid(), "arguments": sys.argv[1:]}}
        told["data"] = [{{"id": given["--alias"], "meta": {{"n_params": 1_777_088_000}}}}]
        body = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
http.server.HTTPServer((given["--host"], int(given["--port"])), Handler).serve_forever()
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A game with a living portal, and llama-server on the path."""
    program = tmp_path / "bin" / local_server.PROGRAM
    program.parent.mkdir()
    program.write_text(PROGRAM.format(python=sys.executable))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    (tmp_path / "server").mkdir()
    yield tmp_path
    local_server.stop(tmp_path)
    wait(lambda: not is_locked(tmp_path))


@pytest.fixture
def portal(place):
    """The portal of the game, which may be killed."""
    with subprocess.Popen(["sleep", "600"]) as running:
        (place / "server" / "portal.pid").write_text(str(running.pid))
        yield running
        running.kill()


def wait(until, seconds=10.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := until():
            return found
        time.sleep(0.1)
    raise AssertionError("it did not come about")


def is_locked(folder):
    import fcntl

    with (folder / local_server.LOCK).open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def free_port():
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def asked(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=2) as answer:
            return json.load(answer)
    except (OSError, HTTPException):  # the second: it died while it answered
        return None


def start(place, port, name="small.gguf", context=4096):
    local_server.start(place / name, port, context, place, place)


def test_a_model_is_served_on_this_machine_alone_and_again_when_it_dies(place, portal):
    port = free_port()
    start(place, port)
    first = wait(lambda: asked(port))
    told = " ".join(first["arguments"])
    assert "--host 127.0.0.1" in told and "--jinja" in told and "-c 4096" in told
    start(place, port)  # as after a reload
    time.sleep(1)
    assert asked(port)["pid"] == first["pid"]
    os.kill(first["pid"], signal.SIGKILL)
    assert wait(lambda: asked(port))["pid"] != first["pid"]
    start(place, port, name="other.gguf")
    wait(lambda: "other.gguf" in " ".join((asked(port) or {}).get("arguments", ())))
    local_server.stop(place)
    wait(lambda: asked(port) is None)


def test_one_core_is_left_to_the_game(place, portal, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    port = free_port()
    start(place, port)
    assert "-t 1" in " ".join(wait(lambda: asked(port))["arguments"])


def test_it_ends_with_the_game(place, portal, monkeypatch):
    port = free_port()
    code = f"""
from pathlib import Path
import sys; sys.path.insert(0, {str(local_server.Path(local_server.__file__).parents[2])!r})
import importlib.util
spec = importlib.util.spec_from_file_location("local_server", {local_server.__file__!r})
module = importlib.util.module_from_spec(spec); spec.loader.exec_module(module)
place = Path({str(place)!r})
module.start(place / "small.gguf", {port}, 4096, place, place)
"""
    subprocess.run([sys.executable, "-c", code], check=True)  # whoever started it is gone
    wait(lambda: asked(port))
    time.sleep(1)
    assert asked(port)
    portal.kill()
    portal.wait()
    wait(lambda: asked(port) is None, seconds=local_server.GONE_SECONDS + 10)


def test_without_the_program_it_is_said_what_to_install(place, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(local_server.NoProgram, match="not on the path"):
        start(place, 1)


def test_a_file_alone_is_a_whole_setting():
    chosen = conf.LLMSettings(serve="/models/qwen-1.5b.gguf")
    assert (chosen.model, str(chosen.base_url)) == ("qwen-1.5b", conf.SERVED_AT)
    assert chosen.plain


def test_a_command_serves_a_file_tries_it_and_says_what_to_set(place, portal, settings):
    settings.CONTRIB_AI_MEMORY = {"DIR": str(place)}
    with pytest.raises(CommandError, match="There is no file"):
        call_command("ai_memory", "model", "--serve", str(place / "none.gguf"))
    (place / "small.gguf").touch()
    out = StringIO()
    with pytest.raises(CommandError, match="cannot be used"):  # the script gives no replies
        call_command("ai_memory", "model", "--serve", str(place / "small.gguf"), stdout=out)
    assert f"small at {conf.SERVED_AT}" in out.getvalue()
    assert asked(8187)


def test_the_start_of_the_game_finds_out_whether_the_file_that_it_serves_is_small(
    place, portal, settings
):
    llm = {"serve": str(place / "qwen.gguf"), "base_url": f"http://127.0.0.1:{free_port()}/v1"}
    settings.CONTRIB_AI_MEMORY = {"DIR": str(place), "LLM": llm}
    settings.GAME_DIR = str(place)
    assert not conf.get().LLM.plain  # its name does not tell
    offload.wait(start_of_server.serve_model())
    assert conf.get().LLM.plain
