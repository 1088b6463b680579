"""The server that LLMNPC talks to, for tests: on 127.0.0.1, as slow or broken as asked."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class LLMServer:
    """text-generation-webui, as far as LLMNPC knows it: {"prompt"} in, {"results"} out."""

    def __init__(self):
        self.prompts: list[str] = []
        self.text, self.status, self.delay = "I am listening.", 200, 0.0
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                server.prompts.append(json.loads(body)["prompt"])
                time.sleep(server.delay)
                answer = json.dumps({"results": [{"text": server.text}]}).encode()
                self.send_response(server.status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *args):
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._http.shutdown()
        self._http.server_close()
