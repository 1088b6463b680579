"""A Qdrant server at the network's edge: its HTTP interface over the client's own local engine.

It notes each request and what is asked of a new collection, and is as strict as a cluster: by an
index for each field always, by the other limits of strict mode where a test sets them. Where
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
from urllib.parse import parse_qs, urlsplit

import numpy as np
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
        version: That it tells.
        strict: The strict mode of its collections.
        replicas: That each shard has, as it tells.
        busy: How many requests it refuses first, each for a second.
        failing: How many it fails first.
        sent: Bytes of its answers.
        asked: The parameters behind the question mark of each request, and its body.
    """

    def __init__(self) -> None:
        self.engine = QdrantClient(":memory:")
        self.requests: list[str] = []
        self.created: dict[str, dict[str, Any]] = {}
        self.indexes: dict[str, dict[str, Any]] = {}
        self.api_key = ""
        self.version = "1.18.3"
        self.strict: dict[str, Any] = {}
        self.replicas = 1
        self.busy = self.failing = self.sent = 0
        self.asked: list[tuple[dict[str, list[str]], Any]] = []
        self.port = 0
        self.lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length) or "{}")
                retry: dict[str, str] = {}
                try:
                    server.asked.append((parse_qs(urlsplit(self.path).query), body))
                    if server.busy:
                        server.busy -= 1
                        retry = {"Retry-After": "1"}
                        raise Refusal(429, "Rate limiting exceeded: Write rate limit exceeded")
                    if server.failing:
                        server.failing -= 1
                        raise Refusal(500, "Service internal error: leader peer is gone")
                    if server.api_key and self.headers.get("api-key") != server.api_key:
                        raise Refusal(UNAUTHORIZED, "Invalid API key")
                    with server.lock:
                        result = server.answer(self.command, urlsplit(self.path).path, body)
                    status, said = 200, {"result": result, "status": "ok", "time": 0.0}
                    if result is None:
                        said = {"title": "qdrant", "version": server.version}
                except Refusal as refused:
                    status, said = refused.status, {"status": {"error": str(refused)}}
                written = json.dumps(_as_floats32(said), separators=(",", ":")).encode()
                server.sent += len(written)
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(written)))
                for name, value in retry.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(written)

            do_GET = do_PUT = do_POST = do_DELETE = do_PATCH = answer

            def log_message(self, *_args: Any) -> None:
                pass

        self._handler = Handler

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> QdrantHTTP:
        """Start it: where it was before, if it was stopped."""
        self._http = ThreadingHTTPServer(("127.0.0.1", self.port), self._handler)
        self._http.daemon_threads = True
        self.port = self._http.server_port
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def answer(self, method: str, path: str, body: dict[str, Any]) -> Any:
        if path == "/":  # told outside the usual envelope
            self.requests.append("GET /")
            return None
        name, _, rest = path.removeprefix("/collections/").partition("/")
        self.requests.append(f"{method} {rest}".strip())
        known = self.engine.collection_exists(name)
        if rest != "exists" and (method, rest) != ("PUT", "") and not known:
            raise Refusal(NOT_FOUND, f"Collection `{name}` doesn't exist!")
        if rest not in ("", "exists", "index"):
            self._require_indexes(name, body)
        for refusal in self._beyond_limits(name, rest, body):
            raise Refusal(403, f"Forbidden: {refusal}")
        verb = re.sub(r"\W", "_", f"{method} {rest}".strip().lower())
        run: Callable[..., Any] = getattr(self, f"_{verb}")
        return run(name, body)

    def _require_indexes(self, name: str, body: Any) -> None:
        """Refuse to filter, order or count by a field without an index, as a cluster may."""
        for field in _filtered_by(body):
            if field not in self.indexes[name]:
                raise Refusal(400, f'Bad request: Index required but not found for "{field}"')

    def _beyond_limits(self, name: str, rest: str, body: Any) -> Iterator[str]:
        """What a strict cluster says of a request beyond its limits."""
        limits = self.strict if self.strict.get("enabled") else {}

        def over(value: int, limit: str, what: str) -> Iterator[str]:
            if value > (most := limits.get(limit, value)):
                help_ = f'Help: Reduce the "{what}" parameter to or below {most}.'
                yield f'Limit exceeded {value} > {most} for "{what}". {help_}'

        searches = body.get("searches", [])
        yield from over(len(searches), "search_max_batchsize", "search batch size")
        if rest in ("points", "points/vectors"):
            what = "upsert limit" if rest == "points" else "update limit"
            yield from over(len(body.get("points", [])), "upsert_max_batchsize", what)
            full = rest == "points" and "points" in body and limits.get("max_points_count")
            if full and self.engine.count(name).count >= full:
                raise Refusal(400, f"Bad request: Max points count limit of {full} reached!")
        if rest == "index":
            known = len({*self.indexes[name], body["field_name"]})
            yield from over(known, "max_payload_index_count", "payload index count")
        if limits.get("search_allow_exact") is False:
            for each in _every(body):
                if each.get("exact"):
                    yield "Exact search disabled!. Help: Set exact=false."
            for each in [*searches, *(p for s in searches for p in s.get("prefetch") or ())]:
                dense = isinstance(each.get("query"), list) and not each.get("prefetch")
                if dense and "agent_id" not in _filtered_by(each.get("filter")):
                    yield "Request is forbidden because global vector indexing is disabled "
                    "(hnsw_config.m = 0). Help: Use tenant-specific filter"
        for each in _every(body):
            if "limit" in each:
                yield from over(each["limit"], "max_query_limit", "limit")
            for lane, of in (limits.get("sparse_config") or {}).items():
                terms = each.get(lane)
                if isinstance(terms, dict) and len(terms["indices"]) > of["max_length"]:
                    yield f"Sparse vector '{lane}' has a limit of {of['max_length']} values"
            for of in (each.get("filter"), each.get("facet_filter")):
                conditions = [c for part in (of or {}).values() for c in part or ()]
                if len(conditions) > (most := limits.get("filter_max_conditions", 1000)):
                    yield f"Filter condition limit reached ({len(conditions)} > {most}). Help: …"
                sizes = [
                    len(c.get("has_id") or c.get("match", {}).get("any") or "-") for c in conditions
                ]
                if max(sizes, default=0) > (most := limits.get("condition_max_size", 10**6)):
                    yield f"Condition size limit reached ({max(sizes)} > {most}). Help: …"

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
            field: {"data_type": kind, "points": 0}
            if isinstance(kind, str)
            else {"data_type": kind["type"], "params": kind, "points": 0}
            for field, kind in self.indexes[name].items()
        }
        info["config"]["params"]["replication_factor"] = self.replicas
        info["config"]["strict_mode_config"] = self.strict
        return info | {"payload_schema": schema}

    def _patch(self, _name: str, body: dict[str, Any]) -> Any:
        self.strict = body["strict_mode_config"]
        return True

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


def _every(body: Any) -> Iterator[dict[str, Any]]:
    """Every mapping in a body, at any depth, other than payloads."""
    if isinstance(body, dict):
        yield body
    for name, each in body.items() if isinstance(body, dict) else enumerate(body):
        if name != "payload" and isinstance(each, (dict, list)):
            yield from _every(each)


def _as_floats32(said: Any) -> Any:
    """What a server writes of an answer: its scores have four bytes."""
    if isinstance(said, dict):
        scored = {"score": float(str(np.float32(said["score"])))} if "score" in said else {}
        return {name: _as_floats32(each) for name, each in said.items()} | scored
    return [_as_floats32(each) for each in said] if isinstance(said, list) else said


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
    return found.model_dump(mode="json", by_alias=True, exclude_none=True)
