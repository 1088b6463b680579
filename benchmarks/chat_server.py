"""A chat completions server on 127.0.0.1, whose answers a function gives."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HOST = "127.0.0.1"
REFUSED = 413  # this request alone: with a 500 the server would be left alone for all others too

Message = dict[str, Any]


class ChatServer:
    """The server in a thread of its own, while it is entered.

    Args:
        model: The name it goes by.
        answer: The assistant's message to the body of a request; None refuses the request.
    """

    def __init__(self, model: str, answer: Callable[[dict[str, Any]], Message | None]):
        self.model = model
        self._http = _Http((HOST, 0), _Handler)
        self._http.model, self._http.answer = model, answer
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)

    def __enter__(self) -> ChatServer:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self._http.server_address[1]}/v1"


def said(plain: Any) -> Message:
    """Make a message of an answer in a form, or of a text."""
    content = plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)
    return {"role": "assistant", "content": content}


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    model: str
    answer: Callable[[dict[str, Any]], Message | None]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """After a refusal the client hangs up: nothing to tell of."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def do_POST(self) -> None:
        message = self.server.answer(
            json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        )
        if message is None:
            self._send(REFUSED, {"error": {"message": "there is no answer to that"}})
            return
        finish = "tool_calls" if message.get("tool_calls") else "stop"
        choice = {"index": 0, "message": message, "finish_reason": finish}
        body = {"object": "chat.completion", "model": self.server.model, "choices": [choice]}
        self._send(200, body)

    def _send(self, status: int, plain: dict[str, Any]) -> None:
        payload = json.dumps(plain, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing to the terminal."""
