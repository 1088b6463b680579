"""A shard written anew beside the old one, so that what was deleted is gone from the disk as well.

Qdrant marks what is deleted and keeps its bytes: in the write-ahead log, in the pages of payloads
and of keyword indexes. Here what is left is copied, a part at a time, into a new folder, which then
takes the place of the old one: `memories`, `memories.1`, `memories.2` … of which the last that is
whole counts. A file beside them, `current`, names it: where newer folders lie beside files that
were put back from a backup, those that were put back count. Broken off, a rewriting is begun again
when the store is opened next. Worker threads only.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import qdrant_edge as edge

from .. import conf, small_file
from ..log import logger
from . import condition, edge_keys
from .errors import StoreFull
from .keys import Keys

WHOLE = "whole"  # a file in the new folder: everything is in it
CURRENT = "current"  # a file beside the folders: the name of the one that counts
WANTED = "rewriting"  # a file beside the folders, while the old one still has to go
MINDS_AT_MOST = 100_000
Remake = Callable[[list[tuple[str, dict[str, Any]]]], list[Keys]]  # ids and payloads → keys


def current(folder: Path, name: str) -> Path:
    """The folder of the shard `name` that counts."""
    whole = [each for each in _folders(folder, name) if _is_whole(each)]
    named = folder / CURRENT
    if named.exists() and not (folder / WANTED).exists():
        for each in whole:
            if each.name == named.read_text() and each.exists():
                return each
    return max(whole, key=_number)


def note_current(path: Path) -> None:
    """Name the folder that counts from now on."""
    named = path.parent / CURRENT
    if not named.exists() or named.read_text() != path.name:
        small_file.write(named, path.name)


class Rewritable:
    """What a store over a shard needs to be written anew: `_shard`, `path`, `_create_bare`."""

    path: Path
    embedding_model_dims: int
    _shard: edge.EdgeShard
    _create_bare: Any
    _rewriting: Rewriting | None = None

    def minds(self) -> dict[str, int]:
        """How many points each mind has."""
        request = edge.FacetRequest("agent_id", limit=MINDS_AT_MOST, exact=True)
        return {str(hit.value): hit.count for hit in self._shard.facet(request).hits if hit.count}

    def optimize(self) -> bool:
        """Index what is not indexed; nothing else of the process runs for seconds."""
        return self._shard.optimize()

    def begin_rewriting(self, remake: Remake | None = None) -> None:
        """Write the shard anew, a part at each `rewrite_some`: what is deleted leaves the disk.

        Args:
            remake: Makes what points are found by; without it that is copied.

        Raises:
            StoreFull: There is no room for both. It is done when the store is opened with room.
        """
        self.stop_rewriting()
        (self.path.parent / WANTED).touch()
        condition.check_room(self.path.parent, size_on_disk(self.path) + conf.NEW_SHARD_BYTES)
        self._rewriting = Rewriting(self._shard, self.path, self._create_bare, remake)

    def rewrite_some(self, points: int = 64) -> bool:
        """Copy up to so many points into the new shard. Returns whether it is in place.

        Raises:
            StoreFull: It is given up, and done when the store is opened with room.
        """
        try:
            condition.check_room(self.path.parent)
        except StoreFull:
            self.stop_rewriting()
            raise
        if self._rewriting is not None and self._rewriting.copy(points):
            self._shard, self.path = self._rewriting.finish()
            self._rewriting = None  # and with it the old shard: to close it stops the process
            note_current(self.path)
            _sweep(self.path)
            (self.path.parent / WANTED).unlink(missing_ok=True)
        return self._rewriting is None

    def finish_rewriting(self) -> None:
        """At the opening: what was begun and broken off, whole, if there is room; nothing else."""
        _sweep(self.path)
        if (self.path.parent / WANTED).exists() and self._has_own_size():
            try:
                self.begin_rewriting()
                while not self.rewrite_some(1000):
                    pass
            except StoreFull as full:
                logger().warning("Deleted memories stay on the disk for now. %s", full)

    def _has_own_size(self) -> bool:
        """Whether the vectors in the shard are as long as those that are to come."""
        config = json.loads((self.path / "edge_config.json").read_text())
        return config["vectors"][""]["size"] == self.embedding_model_dims

    def stop_rewriting(self) -> None:
        """Give up what is under way; it is begun again when the store is opened next."""
        if self._rewriting is not None:
            self._rewriting.abandon()
            self._rewriting = None

    def _note(self, ids: Iterable[str]) -> None:
        """Points that change: all that writes tells of them."""
        if self._rewriting is not None:
            self._rewriting.note(ids)


class Rewriting:
    """One rewriting.

    Args:
        shard, path: The old shard and its folder.
        create: Makes an empty shard of the same kind in a folder, without indexes.
        remake: See `begin_rewriting`.
    """

    def __init__(
        self,
        shard: edge.EdgeShard,
        path: Path,
        create: Callable[[Path], edge.EdgeShard],
        remake: Remake | None = None,
    ):
        self._remake = remake
        self._old, self._old_path = shard, path
        name = path.name.split(".")[0]
        self._path = path.with_name(f"{name}.{_number(path) + 1}")
        shutil.rmtree(self._path, ignore_errors=True)
        self._new = create(self._path)
        self._to_index = list(edge_keys.INDEXED)
        self._offset = None
        self._over = False
        self._touched: set[str] = set()

    def note(self, ids: Iterable[str]) -> None:
        """Points that are changed in the old shard meanwhile: copied once more in the end."""
        self._touched.update(map(str, ids))

    def copy(self, points: int) -> bool:
        """Copy up to so many points, or make one index. Returns whether all are there."""
        if self._to_index:  # one at a time: while one is made nothing else of the process runs
            edge_keys.add_index(self._new, self._to_index.pop())
        elif not self._over:
            request = edge.ScrollRequest(
                offset=self._offset, limit=points, with_payload=True, with_vector=True
            )
            records, self._offset = self._old.scroll(request)
            self._write(records)
            self._over = self._offset is None
        return self._over

    def finish(self) -> tuple[edge.EdgeShard, Path]:
        """Make the new shard whole: from now on it counts. Gives it with its folder."""
        if self._touched:
            ids = list(self._touched)
            self._new.update(edge.UpdateOperation.delete_points(ids))
            self._write(self._old.retrieve(ids, True, True))
        # not by its own flush, in which nothing else of the process runs; and the old one's has
        # nothing left to do then
        for folder in (self._path, self._old_path):
            for file in folder.rglob("*"):
                if file.is_file():
                    small_file.sync(file)
        (self._path / WHOLE).touch()
        small_file.sync(self._path)
        return self._new, self._path

    def abandon(self) -> None:
        """Give it up; it stays wanted."""
        self._new.close()
        shutil.rmtree(self._path, ignore_errors=True)

    def _write(self, records: list[edge.Record]) -> None:
        if not records:
            return
        rows = [(str(each.id), each.payload or {}) for each in records]
        if self._remake is None:
            vectors = [each.vector for each in records]
        else:
            vectors = list(map(edge_keys.vectors_of, self._remake(rows)))
        points = [
            edge.Point(id=point_id, vector=vector, payload=payload)
            for (point_id, payload), vector in zip(rows, vectors, strict=True)
        ]
        self._new.update(edge.UpdateOperation.upsert_points(points))


def size_on_disk(folder: Path) -> int:
    """Bytes that the files of a folder take; files with holes take less than their length."""
    return sum(each.stat().st_blocks * 512 for each in folder.rglob("*") if each.is_file())


def _folders(folder: Path, name: str) -> list[Path]:
    return [folder / name, *folder.glob(f"{name}.[0-9]*")]


def _number(path: Path) -> int:
    return int(path.suffix[1:] or 0)


def _is_whole(path: Path) -> bool:
    return not path.suffix or (path / WHOLE).exists()


def _sweep(path: Path) -> None:
    """Remove what lies beside the shard that counts. Only who holds its lock may."""
    for other in _folders(path.parent, path.name.split(".")[0]):
        if other != path:
            shutil.rmtree(other, ignore_errors=True)
