"""llama.cpp's server on this machine, with models from a folder, for tests and benchmarks.

The environment variable `AI_MEMORY_LLM` is the URL of a running server (".../v1"), or a folder with
GGUF files and, somewhere in it or on the path, `llama-server`.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PLACE = "AI_MEMORY_LLM"
CONTEXT = 8192  # tokens
THREADS = max(1, (os.cpu_count() or 2) - 1)  # as the game starts one: one core is the game's
STARTS_WITHIN = 120  # seconds


class NoServer(RuntimeError):
    """There is no model to be used; the message says what is missing."""


def models(place: str) -> list[str]:
    """Return the names of the models that can be served.

    Raises:
        NoServer: There is none, or no server.
    """
    if not place:
        raise NoServer(f"{PLACE} names no server and no folder with models")
    if place.startswith("http"):
        return [each["id"] for each in _get(f"{place}/models")["data"]]
    found = sorted(each.stem for each in Path(place).expanduser().glob("*.gguf"))
    if not found:
        raise NoServer(f"{place} has no .gguf files")
    binary(place)
    return found


def binary(place: str) -> Path:
    """Return llama.cpp's server."""
    inside = sorted(Path(place).expanduser().rglob("llama-server"))
    found = [each for each in inside if each.is_file()] or [shutil.which("llama-server")]
    if not found[0]:
        raise NoServer(f"llama-server is neither in {place} nor on the path")
    return Path(found[0]).resolve()  # its libraries are beside it


@contextmanager
def served(place: str, model: str, *options: str) -> Iterator[str]:
    """Serve a model of `models`. Yields the URL.

    Args:
        options: More arguments of llama-server.
    """
    if place.startswith("http"):
        yield place
        return
    file, program = Path(place).expanduser() / f"{model}.gguf", binary(place)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    run = [
        str(program),
        "--model",
        str(file),
        "--alias",
        model,
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    run += ["--jinja", "-c", str(CONTEXT), "-np", "1", "-t", str(THREADS), *options]
    server = subprocess.Popen(
        ["nice", "-n", "5", *run],
        env=os.environ | {"LD_LIBRARY_PATH": str(program.parent)},
        cwd=program.parent,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait(f"http://127.0.0.1:{port}/health", server)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.kill()
        server.wait()


def _wait(url: str, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + STARTS_WITHIN
    while time.monotonic() < until and server.poll() is None:
        try:
            _get(url)
        except OSError:  # not yet listening, or loading
            time.sleep(0.5)
        else:
            return
    raise NoServer(f"llama-server did not start (exit status {server.poll()})")


def _get(url: str) -> dict:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.load(answer)
