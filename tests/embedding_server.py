"""An embedding server for tests: OpenAI-compatible, on 127.0.0.1, as broken as asked.

It embeds with the bundled model, as one of the sort would, and keeps what it was asked.
"""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from contrib_ai_memory.embedding.model import EmbeddingModel, open_model


@dataclass
class EmbeddingServer:
    """The server in a thread of its own.

    Attributes:
        statuses: Answered first, one a request; then all is well.
        body: Answered in place of vectors.
        delay: Seconds before an answer.
        asked: The requests, oldest first.
    """

    statuses: list[int] = field(default_factory=list)
    body: Any = None
    delay: float = 0.0
    asked: list[dict[str, Any]] = field(default_factory=list)
    authorization: str = ""

    def __enter__(self) -> EmbeddingServer:
        self._model: EmbeddingModel = open_model(None)
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    def answer(self, asked: dict[str, Any]) -> tuple[int, bytes]:
        self.asked.append(asked)
        time.sleep(self.delay)
        if self.statuses:
            return self.statuses.pop(0), b"{}"
        if self.body is not None:
            raw = isinstance(self.body, bytes)
            return 200, self.body if raw else json.dumps(self.body).encode()
        vectors = self._model.encode(asked["input"]) * 3  # not every server gives unit vectors
        data = [
            {"object": "embedding", "index": place, "embedding": vector.tolist()}
            for place, vector in enumerate(vectors)
        ]
        return 200, json.dumps({"object": "list", "data": data[::-1]}).encode()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                asked = json.loads(self.rfile.read(length))
                server.authorization = self.headers.get("Authorization", "")
                status, body = (
                    server.answer(asked) if self.path == "/v1/embeddings" else (404, b"{}")
                )
                try:
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except ConnectionError:
                    pass  # the client had no more patience

            def log_message(self, *_: object) -> None:
                pass

        return Handler
