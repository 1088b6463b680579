"""A language model's server for tests: OpenAI-compatible, on 127.0.0.1, as slow or broken as asked.

    with ModelServer() as server:
        server.behave(text="Well met.")     # or delay=30, status=503, hangs_up=True
        ...                                 # something talks to server.url
        server.wait_for_request()

It stands where a real one would stand, at the other end of a socket, and keeps what it was asked.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

HOST = "127.0.0.1"
MODEL = "model-of-the-tests"


@dataclass(frozen=True)
class Request:
    """One Chat Completions request, as it came in."""

    path: str
    body: dict[str, Any]

    @property
    def messages(self) -> list[dict[str, str]]:
        return self.body["messages"]

    @property
    def text(self) -> str:
        """Everything that the model would read."""
        return "\n".join(message["content"] for message in self.messages)

    @property
    def last(self) -> str:
        """The last message: in talk, what is being answered."""
        return self.messages[-1]["content"]

    @property
    def schema(self) -> str | None:
        """The name of the JSON Schema that the answer must fit, None where it is talk."""
        return self.body.get("response_format", {}).get("json_schema", {}).get("name")


@dataclass(frozen=True)
class Behaviour:
    """What the server does with a request.

    Args:
        text: What it says in talk.
        structured: What it says where JSON is asked for; None is a small answer that fits.
        delay: Seconds from the request to the answer.
        status: HTTP status; above 399 there is an error instead of an answer.
        hangs_up: Close the connection (after `delay`) without a word.
    """

    text: str = "I am listening."
    structured: str | None = None
    delay: float = 0.0
    status: int = 200
    hangs_up: bool = False


class ModelServer:
    """The server in a thread of its own. `behave` holds for every request that comes after it."""

    def __init__(self) -> None:
        self.behaviour = Behaviour()
        self._requests: list[Request] = []
        self._arrived = threading.Condition()
        self._stopping = threading.Event()
        self._http = _Http((HOST, 0), _Handler)
        self._http.model_server = self
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stopping.set()
        self._http.shutdown()
        self._http.server_close()

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self._http.server_address[1]}/v1"

    def behave(self, **behaviour: Any) -> None:
        """From now on do this; the arguments are those of `Behaviour`."""
        self.behaviour = Behaviour(**behaviour)

    @property
    def requests(self) -> list[Request]:
        """What came in so far, oldest first."""
        with self._arrived:
            return list(self._requests)

    def wait_for_request(
        self, wanted: Callable[[Request], bool] = lambda request: True, timeout: float = 60
    ) -> Request:
        """The newest request that is `wanted`, as soon as there is one; its answer may be due.

        Raises:
            TimeoutError: With what came instead.
        """
        deadline = time.monotonic() + timeout
        with self._arrived:
            while True:
                for request in reversed(self._requests):
                    if wanted(request):
                        return request
                if not self._arrived.wait(deadline - time.monotonic()):
                    came = [request.last for request in self._requests]
                    raise TimeoutError(f"No such request in {timeout:g} s. What came: {came}")

    def _take(self, request: Request) -> Behaviour:
        with self._arrived:
            self._requests.append(request)
            self._arrived.notify_all()
        return self.behaviour

    def _wait(self, seconds: float) -> None:
        self._stopping.wait(seconds)


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # a request that is kept waiting is not waited for
    model_server: ModelServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away, as at a reload, is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        request = Request(self.path, body)
        behaviour = self.server.model_server._take(request)
        self.server.model_server._wait(behaviour.delay)
        if behaviour.hangs_up:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        elif behaviour.status >= 400:
            self._send(behaviour.status, {"error": {"message": "as the test wants it"}})
        elif not request.path.endswith("/chat/completions"):
            self._send(404, {"error": {"message": f"there is no {request.path}"}})
        else:
            self._send(behaviour.status, _completion(_answer(request, behaviour)))

    def _send(self, status: int, answer: dict[str, Any]) -> None:
        payload = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing to the terminal: the requests are kept."""


def _completion(text: str) -> dict[str, Any]:
    return {
        "id": "chatcmpl-test",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": MODEL,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def _answer(request: Request, behaviour: Behaviour) -> str:
    if request.schema is None:
        return behaviour.text
    if behaviour.structured is not None:
        return behaviour.structured
    return json.dumps(_WELL_FORMED[request.schema](request))


_WELL_FORMED: dict[str, Callable[[Request], dict[str, Any]]] = {
    "ExperienceAnswer": lambda request: {
        "essence": "Somebody talked.",
        "dominant_emotions": ["interest", "trust", "serenity"],
        "memory_weight": 0.1,
        "the_lesson": "Listen.",
    },
    "ScoresAnswer": lambda request: {"scores": [5] * len(request.last.splitlines())},
    "FactsAnswer": lambda request: {"facts": []},
}
