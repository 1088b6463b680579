"""The default memory store: Qdrant Edge, the real Qdrant engine in process, with a write-ahead log.

What was acknowledged survives `kill -9`. One process at a time: the write-ahead log is locked.
Worker thread only.

Qdrant marks what is deleted and keeps its bytes: in the write-ahead log, in the pages of payloads
and of keyword indexes. `Rewriting` copies what is left, a part at a time, into a new folder that
then takes the place of the old one: `memories`, `memories.1`, `memories.2` … A file beside them,
`current`, names the one in use. An interrupted rewriting is begun again at the next opening.
"""

from __future__ import annotations

import json
import shutil
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import qdrant_edge as edge

from .. import atomic_file, conf, offload
from ..log import logger
from . import condition
from .condition import StoreDamaged, StoreFull, StoreInUse
from .lanes import FILE as VOCABULARY
from .lanes import LANES, LINE, WIDE, WINDOW, WORD_LANES, Keys
from .payload import INDEXED_FIELDS, KEYWORD, TIME, Candidate, PointId, Row, to_candidate
from .protocol import PAGE, VALUES_AT_MOST, Filters, LaneSearch, Remake
from .qdrant import QdrantStore, as_uuid

UNNAMED_VECTOR = ""  # of the lane `line`; the others have names

_SCHEMAS = {KEYWORD: edge.PayloadSchemaType.Keyword, TIME: edge.PayloadSchemaType.Datetime}


class EdgeStore(QdrantStore):
    """A memory store in files of the game's own: one shard of Qdrant Edge."""

    provider = "qdrant_edge"
    line_vector = UNNAMED_VECTOR
    kinds = edge
    point = edge.Point
    newest_first = edge.OrderBy("created_at", edge.Direction.Desc)

    def __init__(
        self,
        path: str,
        collection_name: str = "memories",
        embedding_model_dims: int = 384,
        lock_wait: float = 20.0,
    ):
        self.embedding_model_dims = embedding_model_dims
        self.path = current(Path(path), collection_name)
        self._rewriting: Rewriting | None = None
        self._recent = RecentCandidates(self._read)
        self._shard = self._open(lock_wait)
        note_current(self.path)
        self._finish_rewriting()
        former = [*Path(path).glob(f"{VOCABULARY}*")]  # where an earlier version had it
        if former and not (conf.directory() / VOCABULARY).exists():
            for each in former:
                shutil.move(each, conf.directory() / each.name)

    # --- life of the collection -------------------------------------------------------------

    def _open(self, lock_wait: float) -> edge.EdgeShard:
        new = not any(self.path.glob("segments/*"))
        condition.check_room(self.path.parent)
        if new:
            condition.check_room(self.path.parent, conf.NEW_SHARD_BYTES)
            return self._create(self.path)
        deadline = time.monotonic() + lock_wait
        while True:
            try:
                shard = _load(self.path)
                # whatever a search reads must be there
                shard.query(edge.QueryRequest(limit=1, query=self.words_query({1: 1.0}, WIDE)))
                for name in INDEXED_FIELDS.keys() - shard.info().payload_schema.keys():
                    add_index(shard, name)
                return shard
            except StoreDamaged:
                raise
            except Exception as error:
                if _HELD not in str(error):
                    raise StoreDamaged(self.path.parent, error) from error
                if time.monotonic() >= deadline:
                    raise StoreInUse(
                        f"Another process holds the memory store in {self.path}: most likely the "
                        "running game server. Stop it first (evennia stop), or work through it "
                        "from inside the game."
                    ) from None
                time.sleep(0.1)

    def _create(self, path: Path) -> edge.EdgeShard:
        shard = self.create_bare(path)
        for name in INDEXED_FIELDS:
            add_index(shard, name)
        return shard

    def create_bare(self, path: Path) -> edge.EdgeShard:
        path.mkdir(parents=True, exist_ok=True)
        dense = edge.EdgeVectorParams(
            size=self.embedding_model_dims,
            distance=edge.Distance.Cosine,
            datatype=edge.VectorStorageDatatype.Turbo8,  # a third of the time, a quarter of the
            # memory, and cosines right to 0.002 (docs/adr/012)
        )
        sparse = edge.EdgeSparseVectorParams()  # rarity is counted per NPC and comes with the query
        config = edge.EdgeConfig(
            vectors={UNNAMED_VECTOR: dense, WINDOW: dense},
            sparse_vectors=dict.fromkeys(WORD_LANES, sparse),
        )
        create = partial(edge.EdgeShard.create, str(path), config)
        return cast("edge.EdgeShard", _Guard(path, create))

    def _change(self, ids: Collection[str], operation: edge.UpdateOperation) -> None:
        """Write into the shard, if there is room; every change comes this way."""
        self._recent.forget(ids)
        if self._rewriting is not None:
            self._rewriting.note(ids)
        condition.check(self.path)
        self._free.update(operation)

    @property
    def _free(self) -> edge.EdgeShard:
        """The shard, for a call that holds the GIL; the reactor gets its turn first."""
        offload.give_way()
        return self._shard

    def optimize(self) -> None:
        self._shard.optimize()  # holds the GIL for seconds

    def total(self) -> int:
        return self.count_rows()

    def disconnect(self) -> None:
        self._stop_rewriting()
        self._shard.close()

    def reset(self) -> None:
        self._shard.close()
        shutil.rmtree(self.path)
        self._recent.clear()
        self._shard = self._create(self.path)

    # --- writing ----------------------------------------------------------------------------

    def upsert_rows(self, rows: Sequence[Row], keys: Sequence[Keys]) -> None:
        """Insert or overwrite memories, in one acknowledged write."""
        if points := self.points(rows, keys):
            self._change([each for each, _ in rows], edge.UpdateOperation.upsert_points(points))
            self._recent.keep(rows)

    def change_each(self, changes: Mapping[str, Mapping[str, Any]]) -> None:
        for point_id in self.existing(changes.keys()):
            change = edge.UpdateOperation.set_payload([point_id], dict(changes[point_id]))
            self._change([point_id], change)

    def move(self, points: Sequence[edge.PointVectors]) -> None:
        ids = [str(each.id) for each in points]
        self._change(ids, edge.UpdateOperation.update_vectors([*points]))

    def delete_points(self, ids: Sequence[str]) -> None:
        if ids:
            self._change(ids, edge.UpdateOperation.delete_points([*ids]))

    # --- reading ----------------------------------------------------------------------------

    def retrieve(
        self, ids: Collection[PointId], with_payload: bool, with_vectors: bool | list[str]
    ) -> Sequence[edge.Record]:
        return self._free.retrieve([*ids], with_payload, with_vectors)

    def query(self, nearest_to: Any, lane: str) -> edge.Query:
        return edge.Query.Nearest(nearest_to, using=UNNAMED_VECTOR if lane == LINE else lane)

    def query_all(
        self, queries: Iterable[edge.Query], limit: int, where: Any, with_payload: bool = False
    ) -> Any:
        # in one batch, which reads the vectors of the shard once for all of them
        requests = [
            edge.QueryRequest(limit=limit, query=each, filter=where, with_payload=with_payload)
            for each in queries
        ]
        return self._free.query_batch(edge.QueryBatchRequest(requests))

    def scores_in_lanes(self, search: LaneSearch, ids: Collection[PointId]) -> Sequence[Candidate]:
        queries = search.queries
        only = edge.Filter(must=[edge.HasIdCondition(set(ids))])
        found = self.query_all(queries.values(), len(ids), only)
        scores = {
            name: {number_of(hit.id): hit.score for hit in hits}
            for name, hits in zip(queries, found, strict=True)
        }
        rows = [scores.get(name, {}) for name in LANES]
        return [
            candidate.scored(row.get(number, 0.0) for row in rows)
            for number, candidate in self._recent.of(ids).items()
        ]

    def _read(self, ids: Sequence[PointId]) -> Sequence[Read]:
        # apart from the query, because a query is slow to bring payloads
        return [(each.id, each.payload or {}) for each in self.retrieve(ids, True, False)]

    def scroll_points(self, where: Any, limit: int, **more: Any) -> tuple[Sequence[Any], Any]:
        request = edge.ScrollRequest(limit=limit, filter=where, with_payload=True, **more)
        return self._free.scroll(request)

    def count_rows(self, filters: Filters = None) -> int:
        return self._free.count(edge.CountRequest(filter=self.where(filters), exact=True))

    def facet(self, field: str, filters: Filters = None) -> dict[str, int]:
        where = self.where(filters)
        request = edge.FacetRequest(field, limit=VALUES_AT_MOST, exact=True, filter=where)
        return {str(hit.value): hit.count for hit in self._free.facet(request).hits if hit.count}

    # --- rewriting --------------------------------------------------------------------------

    def begin_rewriting(self, remake: Remake | None = None) -> bool:
        """See `MemoryStore`. Without room for both (StoreFull) the next opening tries it again."""
        self._stop_rewriting()
        (self.path.parent / WANTED).touch()
        condition.check_room(self.path.parent, size_on_disk(self.path) + conf.NEW_SHARD_BYTES)
        self._rewriting = Rewriting(self, remake)
        return True

    def rewrite_some(self, points: int = PAGE) -> bool:
        """Copy points into the new shard. A StoreFull abandons it until the next opening."""
        try:
            condition.check_room(self.path.parent)
        except StoreFull:
            self._stop_rewriting()
            raise
        if self._rewriting is not None and self._rewriting.copy(points):
            self._shard, self.path = self._rewriting.finish()
            self._rewriting = None  # and with it the old shard: to close it stops the process
            note_current(self.path)
            _sweep(self.path)
            (self.path.parent / WANTED).unlink(missing_ok=True)
        return self._rewriting is None

    def _finish_rewriting(self) -> None:
        _sweep(self.path)
        if not (self.path.parent / WANTED).exists():
            return
        config = json.loads((self.path / "edge_config.json").read_text())
        if config["vectors"][UNNAMED_VECTOR]["size"] != self.embedding_model_dims:
            return  # of another model: a reindex is due
        try:
            self.begin_rewriting()
            while not self.rewrite_some(1000):
                pass
        except StoreFull as full:
            logger().warning("Deleted memories stay on the disk for now. %s", full)

    def _stop_rewriting(self) -> None:
        if self._rewriting is not None:
            self._rewriting.new.close()
            shutil.rmtree(self._rewriting.path, ignore_errors=True)
            self._rewriting = None


# --- damage ---------------------------------------------------------------------------------------


class _Guard:
    """A shard whose internal errors, which damaged files cause, are a StoreDamaged."""

    def __init__(self, path: Path, make: Callable[[], edge.EdgeShard]):
        self._path = path
        self._shard = self._guarded(make)

    def __getattr__(self, name: str) -> Any:
        return partial(self._guarded, getattr(self._shard, name))

    def _guarded(self, call: Callable[..., Any], *args: Any, **options: Any) -> Any:
        try:
            return call(*args, **options)
        except BaseException as error:
            told, kind = str(error), type(error).__name__
            if kind == _PANIC or (_INTERNAL in told and _HELD not in told):
                raise StoreDamaged(self._path.parent, error) from error
            raise


_INTERNAL, _PANIC = "Service runtime error", "PanicException"
_HELD = "WouldBlock"  # another process holds the write-ahead log


def _load(path: Path) -> edge.EdgeShard:
    return cast("edge.EdgeShard", _Guard(path, partial(edge.EdgeShard.load, str(path))))


def readable_rows(folder: Path, name: str) -> Iterator[tuple[list[Row], int]]:
    """Yield the points of a damaged store that can be read, and how many cannot, by pages."""
    try:
        shard, offset = _load(current(folder, name)), None
    except StoreDamaged:
        raise
    except Exception as error:  # whatever the engine makes of its files
        raise StoreDamaged(folder, error) from error
    while True:
        request = edge.ScrollRequest(offset=offset, limit=PAGE, with_payload=False)
        records, offset = shard.scroll(request)
        rows = [row for each in records if (row := _row(shard, each.id))]
        yield rows, len(records) - len(rows)
        if offset is None:
            shard.close()
            return


def _row(shard: edge.EdgeShard, point_id: PointId) -> Row | None:
    try:
        [record] = shard.retrieve([point_id], with_payload=True, with_vector=False)
    except (StoreDamaged, ValueError):
        return None
    payload = record.payload or {}
    return (str(point_id), payload) if payload.get("agent_id") else None


# --- recent candidates ----------------------------------------------------------------------------

KEPT = 8192  # candidates, some 4 kB each with their payloads

Read = tuple[PointId, dict[str, Any]]


class RecentCandidates:
    """The memories that were written or read last, as candidates without scores."""

    def __init__(self, read: Callable[[Sequence[PointId]], Iterable[Read]]):
        self._read = read  # returns (id, payload) of the points that exist
        self._kept: OrderedDict[int, Candidate] = OrderedDict()

    def of(self, ids: Collection[PointId]) -> dict[int, Candidate]:
        """Return those of `ids` that exist, by number; callers must not change their payloads."""
        found: dict[int, Candidate] = {}
        unread = []
        for point_id in ids:
            number = number_of(point_id)
            if kept := self._kept.get(number):
                self._kept.move_to_end(number)
                found[number] = kept
            else:
                unread.append(point_id)
        if unread:
            new = {number_of(each): to_candidate(each, read) for each, read in self._read(unread)}
            self._kept |= new
            found |= new
            self._bound()
        return found

    def keep(self, rows: Iterable[Row]) -> None:
        """Keep memories that were just written, as they are read soon."""
        for point_id, payload in rows:
            self._kept[number_of(point_id)] = to_candidate(point_id, dict(payload))
        self._bound()

    def forget(self, ids: Iterable[PointId]) -> None:
        for point_id in ids:
            self._kept.pop(number_of(point_id), None)

    def clear(self) -> None:
        self._kept.clear()

    def _bound(self) -> None:
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)


def number_of(point_id: PointId) -> int:
    """Return a point's id as an int: comparing Edge's own ids takes longer than a search."""
    return as_uuid(point_id).int


# --- rewriting ------------------------------------------------------------------------------------

CURRENT = "current"  # a file beside the folders: the name of the one in use
WANTED = "rewriting"  # a file beside the folders, while the old one still has to go


class Rewriting:
    """A shard copied into a new folder, without what was deleted."""

    def __init__(self, store: EdgeStore, remake: Remake | None = None):
        self._remake, self._points = remake, store.points
        self._old, self._old_path = store._shard, store.path
        path = store.path
        name = path.name.split(".")[0]
        self.path = path.with_name(f"{name}.{_number(path) + 1}")
        shutil.rmtree(self.path, ignore_errors=True)
        self.new = store.create_bare(self.path)
        self._to_index = list(INDEXED_FIELDS)
        self._offset: Any = None
        self._over = False
        self._touched: set[str] = set()

    def note(self, ids: Iterable[str]) -> None:
        """Note points that change in the old shard meanwhile; `finish` copies them again."""
        self._touched.update(map(str, ids))

    def copy(self, points: int) -> bool:
        """Copy up to `points` points, or make one index. Returns whether all are copied."""
        if self._to_index:  # one at a time: making one holds the GIL
            add_index(self.new, self._to_index.pop())
        elif not self._over:
            request = edge.ScrollRequest(
                offset=self._offset, limit=points, with_payload=True, with_vector=True
            )
            records, self._offset = self._old.scroll(request)
            self._write(records)
            self._over = self._offset is None
        return self._over

    def finish(self) -> tuple[edge.EdgeShard, Path]:
        """Complete the new shard, which replaces the old one. Returns it with its folder."""
        if self._touched:
            self.new.update(edge.UpdateOperation.delete_points([*self._touched]))
            self._write(self._old.retrieve([*self._touched], True, True))
        # not by its own flush, which holds the GIL; the old one's has nothing left to do then
        for folder in (self.path, self._old_path):
            for file in folder.rglob("*"):
                if file.is_file():
                    atomic_file.sync(file)
        atomic_file.sync(self.path)
        return self.new, self.path

    def _write(self, records: Sequence[edge.Record]) -> None:
        if not records:
            return
        if self._remake is None:
            points = [edge.Point(each.id, each.vector or {}, each.payload) for each in records]
        else:
            rows = [(str(each.id), each.payload or {}) for each in records]
            points = self._points(rows, self._remake(rows))
        self.new.update(edge.UpdateOperation.upsert_points(points))


def add_index(shard: edge.EdgeShard, name: str) -> None:
    shard.update(edge.UpdateOperation.create_field_index(name, _SCHEMAS[INDEXED_FIELDS[name]]))


def current(folder: Path, name: str) -> Path:
    """Return the folder in use of the shard `name`. Where none is named, it is the oldest."""
    there = [each for each in _folders(folder, name) if each.exists()]
    named = (folder / CURRENT).read_text() if (folder / CURRENT).exists() else ""
    oldest = min(there, key=_number, default=folder / name)
    return next((each for each in there if each.name == named), oldest)


def note_current(path: Path) -> None:
    """Record which folder is in use from now on."""
    named = path.parent / CURRENT
    if not named.exists() or named.read_text() != path.name:
        atomic_file.write(named, path.name)


def size_on_disk(folder: Path) -> int:
    # files with holes take less than their length
    return sum(each.stat().st_blocks * 512 for each in folder.rglob("*") if each.is_file())


def _folders(folder: Path, name: str) -> Sequence[Path]:
    return [folder / name, *folder.glob(f"{name}.[0-9]*")]


def _number(path: Path) -> int:
    return int(path.suffix[1:] or 0)


def _sweep(path: Path) -> None:
    """Remove the shard's other folders. Only the holder of its lock may call this."""
    for other in _folders(path.parent, path.name.split(".")[0]):
        if other != path:
            shutil.rmtree(other, ignore_errors=True)
