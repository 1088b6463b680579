"""A real Evennia game in a folder: built from this repository, started, reloaded, killed, stopped.

Used by the demo and by the tests that boot a server. Plain Python: it talks to the game through the
`evennia` program and a telnet socket, as a person would.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OVERLAY = ("typeclasses", "commands", "world")
CONF = "server_conf_example"
PROCESSES = ("server", "portal")
SUPERUSER = "keeper"
PORT_STEP = 10  # the next block of ports where the usual are taken
BLOCKS = 200
START_TIMEOUT = 120
# seconds on an idle machine: for `evennia stop`, until its processes are gone, and after a signal
STOP_TIMEOUT, END_SECONDS, TERM_SECONDS = 60, 15, 30
LONGEST_PATIENCE = 5  # times these, on a busy machine
START_ATTEMPTS = 5
PORTAL_SECONDS = 30  # that a portal may still take after `evennia start` has given up
GAVE_UP = "Connection to Evennia timed out"

SECRET_SETTINGS = """\
SECRET_KEY = {secret!r}
TELNET_PORTS = [{telnet}]
TELNET_INTERFACES = ["127.0.0.1"]
WEBSERVER_PORTS = [({web}, {web_internal})]
WEBSERVER_INTERFACES = ["127.0.0.1"]
WEBSOCKET_CLIENT_PORT = {websocket}
WEBSOCKET_CLIENT_INTERFACE = "127.0.0.1"
AMP_PORT = {amp}
{extra}
"""


class GameError(RuntimeError):
    """The game did not do what it was told. The message ends with what it printed."""


class TooSlow(GameError):
    """A command of Evennia's did not end in its time."""


@dataclass(frozen=True)
class Ports:
    """The ports of one game, Evennia's usual ones moved by a whole block."""

    telnet: int = 4000
    web: int = 4001
    websocket: int = 4002
    web_internal: int = 4005
    amp: int = 4006

    @classmethod
    def free(cls, first_block: int = 0) -> tuple[Ports, socket.socket]:
        """Return free ports, and what keeps their block from other games until it is closed."""
        usual = cls()
        for block in range(first_block, BLOCKS):
            step = block * PORT_STEP
            ports = cls(**{name: port + step for name, port in vars(usual).items()})
            claim = socket.socket()
            try:
                claim.bind(("127.0.0.1", ports.telnet + PORT_STEP - 1))
            except OSError:
                pass  # another game takes this block just now
            else:
                if all(_is_free(port) for port in vars(ports).values()):
                    return ports, claim
            claim.close()
        raise GameError(f"None of {BLOCKS} blocks of ports from {usual.telnet} on is free.")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


class Game:
    """One game folder and the server that runs in it.

    Args:
        folder: The game folder; made by `build`.
        extra_settings: Python source, put at the end of the secret settings.
        repository: Where the game's code is copied from.
        python: The interpreter of the virtual environment that the game runs in.
    """

    def __init__(
        self,
        folder: Path,
        extra_settings: str = "",
        repository: Path = ROOT,
        python: Path = Path(sys.executable),
    ):
        self.folder = folder
        self.extra_settings = extra_settings
        self.repository = repository
        self.python = python
        self.password = "lantern-" + secrets.token_hex(4)
        self.ports = Ports()
        self._claim: socket.socket | None = None  # on the ports, until the portal listens on them

    # --- making it ----------------------------------------------------------------------------

    def build(self, first_block: int = 0) -> None:
        """Make the game folder, or renew its code; the database of an old one stays."""
        self.init()
        for name in OVERLAY:
            self._renew(name, name)
        self._renew(f"{CONF}/web", "web")
        self._renew(CONF, "server/conf", "web")
        self.write_secret_settings(first_block)

    def init(self) -> None:
        """Make the game folder as Evennia makes it, where there is none."""
        if not (self.folder / "server").exists():
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            self.evennia("--init", self.folder.name, cwd=self.folder.parent)

    def write_secret_settings(self, first_block: int = 0) -> None:
        """Write ports, a key and the extra settings into `secret_settings.py`."""
        self._release_ports()
        self.ports, self._claim = Ports.free(first_block)
        self._keep_password()
        text = SECRET_SETTINGS.format(
            secret=secrets.token_hex(24), extra=self.extra_settings, **vars(self.ports)
        )
        (self.folder / "server" / "conf" / "secret_settings.py").write_text(text)

    def _release_ports(self) -> None:
        if self._claim:
            self._claim.close()
            self._claim = None

    def _keep_password(self) -> None:
        kept = self.folder / "server" / "demo_password.txt"
        if kept.exists():
            self.password = kept.read_text().strip()
        else:
            kept.write_text(self.password + "\n")
            kept.chmod(0o600)

    def _renew(self, source: str, target: str, *left_out: str) -> None:
        shutil.copytree(
            self.repository / source,
            self.folder / target,
            dirs_exist_ok=True,
            ignore=shutil.ignore_patterns("__pycache__", *left_out),
        )

    def migrate(self) -> None:
        self.evennia("migrate")

    def enter(self) -> None:
        """Set Django and Evennia up in this process, inside the game; no server is started.

        The game's own `world`, `typeclasses` and `commands` come before those of the repository.
        """
        start = Path.cwd()
        sys.path.insert(0, str(self.folder))
        for name in [name for name in sys.modules if name.split(".")[0] in (*OVERLAY, "web")]:
            del sys.modules[name]
        os.environ["DJANGO_SETTINGS_MODULE"] = "server.conf.settings"
        os.chdir(self.folder)  # Evennia looks for its game folder here, once
        import django
        import evennia

        django.setup()
        evennia._init()
        os.chdir(start)

    # --- running it ---------------------------------------------------------------------------

    def start(self) -> None:
        """Start portal and server, or the server alone where the portal still runs.

        On a busy machine `evennia start` gives up after ten seconds, says that the connection timed
        out, and leaves a portal that comes up later, without a server: then it is started again.

        Raises:
            GameError: It does not start; the message says what was tried and what was printed.
        """
        for attempt in range(1, START_ATTEMPTS + 1):
            self._sweep_pids()
            try:
                printed = self.evennia("start", timeout=START_TIMEOUT)
            except TooSlow as slow:
                printed = f"{GAVE_UP}\n{slow}"
            if GAVE_UP not in printed:
                break
            print(f" (too slow, try {attempt} of {START_ATTEMPTS})", end="", flush=True)  # noqa: T201
            self._wait_for_portal()
        else:
            raise GameError(
                f"evennia start gave up {START_ATTEMPTS} times: this machine is too busy just now. "
                f"Try again when less is going on. The last time it printed:\n{printed}"
            )
        if "rror" in printed:
            raise GameError(f"evennia start failed:\n{printed}")
        self.wait_until_up()
        self._release_ports()

    def _wait_for_portal(self) -> None:
        """Wait for a portal that is still starting: a second one beside it would not run."""
        deadline = time.monotonic() + PORTAL_SECONDS
        while time.monotonic() < deadline:
            with (
                contextlib.suppress(OSError),
                socket.create_connection(("127.0.0.1", self.ports.amp), timeout=1),
            ):
                return
            time.sleep(0.5)

    def reload(self) -> None:
        self.evennia("reload", timeout=START_TIMEOUT)
        self.wait_until_up()

    def stop(self) -> None:
        """Stop server and portal; what does not stop when asked gets signals, which is printed.

        SIGTERM lets a server save, SIGKILL does not.
        """
        if self._running():
            with contextlib.suppress(GameError):
                self.evennia("stop", timeout=_patience(STOP_TIMEOUT))
        self._wait_for_end(END_SECONDS)
        for number, problem in (
            (signal.SIGTERM, "did not stop when asked"),
            (signal.SIGKILL, "did not end either, and what was not saved is lost"),
        ):
            if left := self._running():
                print(f" ({' and '.join(left)} {problem}: {number.name})", end="", flush=True)  # noqa: T201
                for pid in left.values():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, number)
                self._wait_for_end(TERM_SECONDS)
        self._sweep_pids()

    def _running(self) -> dict[str, int]:
        """Return the pids of the living processes, by name."""
        return {name: pid for name in PROCESSES if (pid := self._pid(name))}

    def _wait_for_end(self, seconds: float) -> None:
        deadline = time.monotonic() + _patience(seconds)
        while self._running() and time.monotonic() < deadline:
            time.sleep(0.1)

    def kill_server(self) -> None:
        """`kill -9` of the Server process; the Portal stays."""
        pid = self._pid("server")
        if not pid:
            raise GameError("There is no server process to kill.")
        os.kill(pid, signal.SIGKILL)
        while _alive(pid):
            time.sleep(0.05)

    @property
    def database(self) -> Path:
        """The file of the game's database, unless the settings name another one."""
        return self.folder / "server" / "evennia.db3"

    def memory_processes(self) -> list[int]:
        """Return the numbers of this game's memory processes (MEMORY_PROCESS)."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                line = (process / "cmdline").read_bytes()
                inside = (process / "cwd").resolve(strict=True).is_relative_to(self.folder)
            except OSError:
                continue  # it ended meanwhile, or belongs to somebody else
            if inside and b"contrib_ai_memory.memory_process" in line:
                found.append(int(process.name))
        return found

    def wait_until_up(self, timeout: float = START_TIMEOUT) -> None:
        """Wait until a telnet connection meets the game itself, not the portal alone.

        A new game restarts itself once when its first objects are made: that is waited for.
        """
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            try:
                with Telnet(self.ports.telnet) as line:
                    line.expect("connect <username>", timeout=3)
                    if not self._is_restarting():
                        return
            except (OSError, TimeoutError):
                time.sleep(0.2)
        raise GameError(f"The game is not up after {timeout:g} s.\n{self.log_tail()}")

    def _is_restarting(self) -> bool:
        _, setup, since = self._log().rpartition("Restarting Server once")
        return bool(setup) and "successfully restarted" not in since

    def _log(self) -> str:
        log = self.folder / "server" / "logs" / "server.log"
        return log.read_text() if log.exists() else ""

    def log_tail(self, lines: int = 30) -> str:
        return "\n".join(self._log().splitlines()[-lines:])

    @property
    def is_running(self) -> bool:
        return bool(self._pid("server"))

    def evennia(self, *arguments: str, cwd: Path | None = None, timeout: float = 600) -> str:
        """Run `evennia <arguments>` in the game folder and return what it printed."""
        environment = os.environ | {
            "EVENNIA_SUPERUSER_USERNAME": SUPERUSER,
            "EVENNIA_SUPERUSER_PASSWORD": self.password,
            "EVENNIA_SUPERUSER_EMAIL": "",
            "PYTHONUNBUFFERED": "1",
            # evennia looks for twistd on the PATH, also where no virtual environment is active
            "PATH": f"{self.python.parent}{os.pathsep}{os.environ.get('PATH', '')}",
        }
        environment.pop("DJANGO_SETTINGS_MODULE", None)
        program = self.python.with_name("evennia")
        with (self.folder.parent / "evennia-output.txt").open("w+") as output:
            # a file, not a pipe: the server inherits it and would keep a pipe open for ever
            try:
                status = subprocess.run(
                    [str(program), *arguments],
                    cwd=cwd or self.folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    timeout=timeout,
                    check=False,
                ).returncode
                problem = "failed" if status else ""
                kind = GameError
            except subprocess.TimeoutExpired:
                problem, kind = f"did not end in {timeout:g} s", TooSlow
            output.seek(0)
            printed = output.read()
        if problem:
            raise kind(f"evennia {' '.join(arguments)} {problem}:\n{printed}")
        return printed

    def _pid(self, name: str) -> int | None:
        file = self.folder / "server" / f"{name}.pid"
        try:
            pid = int(file.read_text())
        except (FileNotFoundError, ValueError):
            return None
        return pid if _alive(pid) else None

    def _sweep_pids(self) -> None:
        """A stale pid file makes `evennia start` wait for ever."""
        for name in PROCESSES:
            file = self.folder / "server" / f"{name}.pid"
            if file.exists() and self._pid(name) is None:
                file.unlink()


def _patience(seconds: float) -> float:
    """Return how long to wait now for what takes so many seconds on an idle machine."""
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    return seconds * min(max(load, 1), LONGEST_PATIENCE)


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        pass
    else:
        return state != "Z"
    if Path("/proc/self").exists():
        return False
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


_HOLD = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
database.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def locked(database: Path) -> Iterator[None]:
    """Hold the lock of an SQLite file in another process, as a backup or a shell may."""
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(database)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout
        holder.stdout.readline()
        yield
    finally:
        holder.communicate()


class Telnet:
    """A plain telnet client: sends lines, reads text, refuses every negotiation by silence."""

    def __init__(self, port: int, host: str = "127.0.0.1"):
        self._socket = socket.create_connection((host, port), timeout=10)
        self._raw = b""
        self.heard = ""

    def __enter__(self) -> Telnet:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def send(self, line: str) -> None:
        self._socket.sendall(line.encode() + b"\r\n")

    def expect(self, *wanted: str, timeout: float = 30) -> str:
        """Read until one of `wanted` is there; returns the text up to its line's end.

        Raises:
            TimeoutError: With what came instead.
        """
        deadline = time.monotonic() + timeout
        while True:
            ends = [
                self.heard.index("\n", self.heard.index(word))
                for word in wanted
                if word in self.heard and "\n" in self.heard[self.heard.index(word) :]
            ]
            if ends:
                text, self.heard = self.heard[: min(ends)], self.heard[min(ends) :]
                return text
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"{wanted!r} did not come. What came: {self.heard[-2000:]!r}")
            self.read(left)

    def read(self, seconds: float) -> str:
        """Read what comes within `seconds`, returning as soon as anything does."""
        self._socket.settimeout(max(seconds, 0.01))
        try:
            received = self._socket.recv(65536)
        except TimeoutError:
            return ""
        if not received:
            raise ConnectionError("The game closed the connection.")
        text, self._raw = _without_negotiation(self._raw + received)
        self.heard += text
        return text

    def drain(self, seconds: float = 0.5) -> str:
        """Everything that comes until it is quiet for `seconds`."""
        while self.read(seconds):
            pass
        text, self.heard = self.heard, ""
        return text


_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|\r")
# telnet commands: a subnegotiation up to its end, one about an option, any other
_NEGOTIATION = re.compile(rb"\xff(?:\xfa.*?\xff\xf0|[\xfb-\xfe].|[^\xfa-\xfe])", re.DOTALL)


def _without_negotiation(data: bytes) -> tuple[str, bytes]:
    """The text in `data`, and the bytes of a telnet command that is not complete yet."""
    text, begin, rest = _NEGOTIATION.sub(b"", data).partition(b"\xff")
    return _ANSI.sub("", text.decode("utf-8", "replace")), begin + rest
