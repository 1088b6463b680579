"""A Qdrant server at the network's edge: its HTTP interface over the client's own local engine.

It notes each request and what is asked of a new collection, and is as strict as a cluster. Where
QDRANT_URL names a real server, the contract is tested over that one as well (real_stores.py).
"""

from __future__ import annotations

import json
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from qdrant_client import QdrantClient, models

NOT_FOUND, CONFLICT, UNAUTHORIZED = 404, 409, 401


class Refusal(Exception):
    def __init__(self, status: int, why: str):
        super().__init__(why)
        self.status = status


class QdrantHTTP:
    """A server on a port of its own, as a context.

    Attributes:
        requests: Method and path of each, without the collection: "POST points/query/batch".
        created: The body with which each collection was made.
        indexes: The payload indexes of each, by field.
        api_key: Asked for, if it is set.
    """

    def __init__(self) -> None:
        self.engine = QdrantClient(":memory:")
        self.requests: list[str] = []
        self.created: dict[str, dict[str, Any]] = {}
        self.indexes: dict[str, dict[str, Any]] = {}
        self.api_key = ""
        self.lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length) or "{}")
                try:
                    if server.api_key and self.headers.get("api-key") != server.api_key:
                        raise Refusal(UNAUTHORIZED, "Invalid API key")
                    with server.lock:
                        result = server.answer(self.command, urlsplit(self.path).path, body)
                    status, said = 200, {"result": result, "status": "ok", "time": 0.0}
                except Refusal as refused:
                    status, said = refused.status, {"status": {"error": str(refused)}}
                written = json.dumps(said).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(written)))
                self.end_headers()
                self.wfile.write(written)

            do_GET = do_PUT = do_POST = do_DELETE = answer

            def log_message(self, *_args: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def __enter__(self) -> QdrantHTTP:
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def answer(self, method: str, path: str, body: dict[str, Any]) -> Any:
        name, _, rest = path.removeprefix("/collections/").partition("/")
        self.requests.append(f"{method} {rest}".strip())
        known = self.engine.collection_exists(name)
        if rest != "exists" and (method, rest) != ("PUT", "") and not known:
            raise Refusal(NOT_FOUND, f"Collection `{name}` doesn't exist!")
        if rest not in ("", "exists", "index"):
            self._require_indexes(name, body)
        verb = re.sub(r"\W", "_", f"{method} {rest}".strip().lower())
        run: Callable[..., Any] = getattr(self, f"_{verb}")
        return run(name, body)

    def _require_indexes(self, name: str, body: Any) -> None:
        """Refuse to filter, order or count by a field without an index, as a cluster may."""
        for field in _filtered_by(body):
            if field not in self.indexes[name]:
                raise Refusal(400, f'Bad request: Index required but not found for "{field}"')

    # --- collections ----------------------------------------------------------------------------

    def _get_exists(self, name: str, _body: Any) -> Any:
        return {"exists": self.engine.collection_exists(name)}

    def _put(self, name: str, body: dict[str, Any]) -> Any:
        if self.engine.collection_exists(name):
            raise Refusal(CONFLICT, f"Collection `{name}` already exists!")
        asked = models.CreateCollection(**body)
        self.engine.create_collection(
            name, vectors_config=asked.vectors, sparse_vectors_config=asked.sparse_vectors
        )
        self.created[name] = body
        self.indexes[name] = {}
        return True

    def _get(self, name: str, _body: Any) -> Any:
        info = _plain(self.engine.get_collection(name))
        schema = {
            field: {"data_type": kind if isinstance(kind, str) else kind["type"], "points": 0}
            for field, kind in self.indexes[name].items()
        }
        return info | {"payload_schema": schema}

    def _delete(self, name: str, _body: Any) -> Any:
        return self.engine.delete_collection(name)

    def _put_index(self, name: str, body: dict[str, Any]) -> Any:
        self.indexes[name][body["field_name"]] = body["field_schema"]
        return _DONE

    # --- points ---------------------------------------------------------------------------------

    def _put_points(self, name: str, body: dict[str, Any]) -> Any:
        self.engine.upsert(name, models.PointsList(**body).points)
        return _DONE

    def _post_points(self, name: str, body: dict[str, Any]) -> Any:
        return _plain(
            self.engine.retrieve(
                name, body["ids"], body.get("with_payload", True), body.get("with_vector", False)
            )
        )

    def _post_points_delete(self, name: str, body: dict[str, Any]) -> Any:
        wanted = models.FilterSelector if "filter" in body else models.PointIdsList
        self.engine.delete(name, wanted(**body))
        return _DONE

    def _post_points_batch(self, name: str, body: dict[str, Any]) -> Any:
        for each in body["operations"]:
            asked = models.SetPayload(**each["set_payload"])
            self.engine.set_payload(name, asked.payload, asked.filter or asked.points)
        return [_DONE for _ in body["operations"]]

    def _put_points_vectors(self, name: str, body: dict[str, Any]) -> Any:
        there = {str(e.id) for e in self.engine.retrieve(name, [e["id"] for e in body["points"]])}
        if missing := [each["id"] for each in body["points"] if each["id"] not in there]:
            raise Refusal(NOT_FOUND, f"No point with id {missing[0]} found")
        self.engine.update_vectors(name, [models.PointVectors(**each) for each in body["points"]])
        return _DONE

    def _post_points_query_batch(self, name: str, body: dict[str, Any]) -> Any:
        asked = [models.QueryRequest(**each) for each in body["searches"]]
        return _plain(self.engine.query_batch_points(name, asked))

    def _post_points_scroll(self, name: str, body: dict[str, Any]) -> Any:
        asked = models.ScrollRequest(**body)
        records, offset = self.engine.scroll(
            name,
            asked.filter,
            limit=asked.limit or 10,
            order_by=asked.order_by,
            offset=asked.offset,
            with_payload=asked.with_payload,
        )
        return {"points": _plain(records), "next_page_offset": offset}

    def _post_points_count(self, name: str, body: dict[str, Any]) -> Any:
        return _plain(self.engine.count(name, models.CountRequest(**body).filter))

    def _post_facet(self, name: str, body: dict[str, Any]) -> Any:
        asked = models.FacetRequest(**body)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a local engine has no index
            return _plain(self.engine.facet(name, asked.key, asked.filter, asked.limit or 10))


_DONE = {"operation_id": 1, "status": "completed"}


def _filtered_by(body: Any) -> Iterator[str]:
    for name, value in body.items() if isinstance(body, dict) else ():
        if name in ("payload", "vector", "vectors"):
            continue
        if name == "key" and isinstance(value, str):
            yield value
        yield from _filtered_by(value)
    for each in body if isinstance(body, list) else ():
        yield from _filtered_by(each)


def _plain(found: Any) -> Any:
    if isinstance(found, list):
        return [_plain(each) for each in found]
    return found.model_dump(mode="json", by_alias=True)
