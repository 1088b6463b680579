"""A language model's server for tests: OpenAI-compatible, on 127.0.0.1, as slow or broken as asked.

    with ModelServer() as server:
        server.behave(text="Well met.")     # or delay=30, status=503, hangs_up=True
        server.behave_once(status=429)      # before that, for one request
        ...                                 # something talks to server.url
        server.wait_for_request()

It stands where a real one would stand, at the other end of a socket, and keeps what it was asked.
"""

from __future__ import annotations

import json
import re
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

HOST = "127.0.0.1"
MODEL = "model-of-the-tests"

Call = tuple[str, Any]


@dataclass(frozen=True)
class Request:
    """One Chat Completions request, as it came in."""

    path: str
    body: dict[str, Any]

    @property
    def messages(self) -> list[dict[str, Any]]:
        return self.body["messages"]

    @property
    def text(self) -> str:
        """Everything that the model would read."""
        return "\n".join(_words(message) for message in self.messages)

    @property
    def last(self) -> str:
        """The last message: in talk, what is being answered."""
        return self.messages[-1]["content"]

    @property
    def schema(self) -> str | None:
        """The name of the JSON Schema that the answer must fit, None where it is talk."""
        named = self.body.get("response_format", {}).get("json_schema", {}).get("name")
        told = re.search(r'"title": "(\w+Answer)"', self.messages[0]["content"])
        return named or (told[1] if told else None)

    @property
    def tools(self) -> list[str]:
        """The names of the tools that may be called."""
        return [tool["function"]["name"] for tool in self.body.get("tools", [])]

    @property
    def results(self) -> list[str]:
        """What the calls since the last line of talk came to."""
        results = []
        for message in reversed(self.messages):
            if message["role"] == "user":
                break
            if message["role"] == "tool":
                results.insert(0, message["content"])
        return results

    @property
    def streamed(self) -> bool:
        """Whether the answer may come in pieces."""
        return bool(self.body.get("stream"))

    @property
    def form(self) -> str:
        """How JSON is asked for: json_schema, json_object, or text alone; tools are a form too."""
        if self.tools:
            return "tools"
        return self.body.get("response_format", {}).get("type", "text")

    def is_refused(self, forms):
        return self.form in forms or ("bounds" in forms and "minItems" in json.dumps(self.body))


@dataclass(frozen=True)
class Behaviour:
    """What the server does with a request.

    Args:
        text: What it says in talk.
        calls: The tools that it calls where it may: (name, arguments) each, the arguments as an
            object or as text. They may be a function of the request.
        structured: What it says where JSON is asked for; None is a small answer that fits. May
            be a function of the request.
        delay: Seconds from the request to the answer.
        status: HTTP status; above 399 there is an error instead of an answer.
        headers: Sent with it.
        refuses: Values of `Request.form` that are answered by 400; "bounds" is any bound of a list.
        forbids: Parameters of a request that are refused, with the message of each.
        forbids_with: HTTP status of that refusal.
        streams: Whether it answers in pieces where it is asked to.
        pace: Seconds between the words of an answer in pieces.
        get: What it answers to GET, by path; anything else is 404.
        usage: What it says that the answer cost.
        finish: Its finish_reason.
        body: The HTTP body as it is, in place of a Chat Completions answer.
        cut: Send only that share of the body, and then hang up.
        drip: Seconds between the hundredths of the body.
        hangs_up: Close the connection (after `delay`) without a word.
        resets: Reset it.
    """

    text: str | Callable[[Request], str] = "I am listening."
    calls: Sequence[Call] | Callable[[Request], Sequence[Call]] = ()
    structured: str | Callable[[Request], str] | None = None
    delay: float = 0.0
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    refuses: tuple[str, ...] = ()
    forbids: Mapping[str, str] = field(default_factory=dict)
    forbids_with: int = 400
    streams: bool = True
    pace: float = 0.0
    get: Mapping[str, Any] = field(default_factory=dict)
    usage: Any = field(default_factory=lambda: {"prompt_tokens": 1, "completion_tokens": 1})
    finish: str = "stop"
    body: bytes | None = None
    cut: float = 1.0
    drip: float = 0.0
    hangs_up: bool = False
    resets: bool = False


class ModelServer:
    """The server in a thread of its own. `behave` holds for every request that comes after it."""

    def __init__(self) -> None:
        self.behaviour = Behaviour()
        self.events_sent = 0  # of answers in pieces
        self.busiest = 0  # most requests that were in hand at the same time
        self._in_hand = 0
        self._once: deque[Behaviour] = deque()
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

    def behave_once(self, **behaviour: Any) -> None:
        """Do this at the next request that nothing was said of yet."""
        self._once.append(Behaviour(**behaviour))

    @property
    def requests(self) -> list[Request]:
        """What came in so far, oldest first."""
        with self._arrived:
            return list(self._requests)

    def take_requests(self) -> list[Request]:
        """What came in since the last call, oldest first; it is not kept."""
        with self._arrived:
            taken, self._requests = self._requests, []
            return taken

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
            self._in_hand += 1
            self.busiest = max(self.busiest, self._in_hand)
            self._arrived.notify_all()
            return self._once.popleft() if self._once else self.behaviour

    def _done(self) -> None:
        with self._arrived:
            self._in_hand -= 1

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
        try:
            self._answer(request, behaviour)
        finally:
            self.server.model_server._done()

    def _answer(self, request: Request, behaviour: Behaviour) -> None:
        self.server.model_server._wait(behaviour.delay)
        if behaviour.hangs_up or behaviour.resets:
            self.close_connection = True
            if behaviour.resets:  # no time to linger: the rest is thrown away, the peer told so
                linger = struct.pack("ii", 1, 0)
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                self.connection.close()
            else:
                self.connection.shutdown(socket.SHUT_RDWR)
        elif behaviour.status >= 400 or request.is_refused(behaviour.refuses):
            status = max(behaviour.status, 400)
            body = behaviour.body or json.dumps({"error": {"message": "as it is wanted"}}).encode()
            self._send(status, body, behaviour)
        elif named := next(filter(request.body.__contains__, behaviour.forbids), None):
            message = {"error": {"message": behaviour.forbids[named], "param": named}}
            self._send(behaviour.forbids_with, json.dumps(message).encode(), behaviour)
        elif not request.path.endswith("/chat/completions"):
            self._send(404, b'{"error": {"message": "there is no such path"}}', behaviour)
        elif behaviour.body is not None:
            self._send(behaviour.status, behaviour.body, behaviour)
        else:
            answer = _completion(_message(request, behaviour), behaviour)
            in_one = behaviour.cut < 1 or behaviour.drip or not behaviour.streams
            if request.streamed and not in_one:
                self._stream(answer, request, behaviour)
                return
            self._send(behaviour.status, json.dumps(answer).encode(), behaviour)

    def _stream(self, answer: dict[str, Any], request: Request, behaviour: Behaviour) -> None:
        """Send an answer word by word, as server-sent events; a call in two pieces."""
        self.send_response(behaviour.status)
        for name, value in {"Content-Type": "text/event-stream", **behaviour.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True
        server, message = self.server.model_server, answer["choices"][0]["message"]
        deltas = [{"content": word} for word in re.findall(r"\s*\S+\s*", message["content"] or "")]
        for number, call in enumerate(message.get("tool_calls") or ()):
            function, half = call["function"], len(call["function"]["arguments"]) // 2
            for piece in (function["arguments"][:half], function["arguments"][half:]):
                deltas.append({"tool_calls": [{"index": number, "function": {"arguments": piece}}]})
            deltas[-2]["tool_calls"][0] |= {"id": call["id"]}
            deltas[-2]["tool_calls"][0]["function"]["name"] = function["name"]
        events = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
        events.append({"choices": [{"delta": {}, "finish_reason": behaviour.finish}]})
        if request.body.get("stream_options"):
            events.append({"choices": [], "usage": behaviour.usage})
        for event in [*map(json.dumps, events), "[DONE]"]:
            server._wait(behaviour.pace)
            try:
                self.wfile.write(f"data: {event}\n\n".encode())
                self.wfile.flush()
            except OSError:  # it has heard enough
                break
            server.events_sent += 1

    def do_GET(self) -> None:
        behaviour = self.server.model_server.behaviour
        found = behaviour.get.get(self.path)
        body = json.dumps(found if found is not None else {"error": "no such path"}).encode()
        self._send(404 if found is None else 200, body, behaviour)

    def _send(self, status: int, payload: bytes, behaviour: Behaviour) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **behaviour.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        if behaviour.cut < 1:
            payload = payload[: int(len(payload) * behaviour.cut)]
            self.close_connection = True
        step = max(1, len(payload) // 100) if behaviour.drip else len(payload) or 1
        for start in range(0, len(payload), step):
            self.server.model_server._wait(behaviour.drip)
            self.wfile.write(payload[start : start + step])

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing to the terminal: the requests are kept."""


def _words(message: dict[str, Any]) -> str:
    calls = [call["function"]["arguments"] for call in message.get("tool_calls") or ()]
    return "\n".join([message["content"] or "", *calls])


def _completion(message: dict[str, Any], behaviour: Behaviour) -> dict[str, Any]:
    return {
        "id": "chatcmpl-test",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": MODEL,
        "choices": [
            {
                "index": 0,
                "message": message,
                "finish_reason": behaviour.finish,
            }
        ],
        "usage": behaviour.usage,
    }


def _message(request: Request, behaviour: Behaviour) -> dict[str, Any]:
    calls = behaviour.calls(request) if callable(behaviour.calls) else behaviour.calls
    if not calls or not request.tools:
        return {"role": "assistant", "content": _answer(request, behaviour)}
    made = [
        {
            "id": f"call{number}",
            "type": "function",
            "function": {
                "name": name,
                "arguments": given if isinstance(given, str) else json.dumps(given),
            },
        }
        for number, (name, given) in enumerate(calls)
    ]
    return {"role": "assistant", "content": None, "tool_calls": made}


def _answer(request: Request, behaviour: Behaviour) -> str:
    if request.schema is None:
        return behaviour.text(request) if callable(behaviour.text) else behaviour.text
    if callable(behaviour.structured):
        return behaviour.structured(request)
    if behaviour.structured is not None:
        return behaviour.structured
    return json.dumps(WELL_FORMED[request.schema](request))


FIRST_KNOWN = 101


def numbered_in(request: Request) -> tuple[dict[int, str], dict[int, str]]:
    """The new lines and the known facts of a request for a digest, by their numbers."""
    given = re.findall(r"^(\d+) (?:\[[A-Z]\] )?(.*)$", request.messages[1]["content"], re.MULTILINE)
    found = {int(number): text for number, text in given}
    new = {number: text for number, text in found.items() if number < FIRST_KNOWN}
    return new, {number: text for number, text in found.items() if number >= FIRST_KNOWN}


def digest(
    importance: dict[int, int],
    facts: Sequence[dict[str, Any]] = (),
    experience: str = "",
    **more: Any,
) -> dict[str, Any]:
    """A whole answer to a request for a digest; `more` is of its experience, or beside it."""
    empty = {"kind": "other", "about": "", "to": "", "date": "", "same_as": 0, "ends": []}
    felt = {"lines": [*importance], "emotions": [], "weight": 0.0, "lesson": ""}
    felt |= {name: more.pop(name) for name in felt if name in more}
    return {
        "importance": [{"line": line, "importance": score} for line, score in importance.items()],
        "facts": [empty | fact for fact in facts],
        "experiences": [{"text": experience} | felt] if experience else [],
        **more,
    }


WELL_FORMED: dict[str, Callable[[Request], dict[str, Any]]] = {
    "DigestAnswer": lambda request: digest(dict.fromkeys(numbered_in(request)[0], 5)),
    "JudgingDigestAnswer": lambda request: digest(
        dict.fromkeys(numbered_in(request)[0], 5), confided=[]
    ),
    "SummaryAnswer": lambda request: {"summary": "Somebody talked."},
    "AttributesAnswer": lambda request: {"attributes": []},
    "QuestionsAnswer": lambda request: {"questions": ["What is going on?"]},
    "InsightsAnswer": lambda request: {"insights": []},
    "ComparisonAnswer": lambda request: {"relations": []},
}
