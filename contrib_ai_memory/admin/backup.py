"""Back up and restore the memories of a whole game: its database and its store at one moment.

The file is a `tar.gz`: `manifest.json` first, which lists every other file with its SHA-256, then
`database` (the SQLite file) and `ai_memory/…` (the store's folder).

The first copies of a running game block nobody, but may be inconsistent. The game then stops
writing to its store (`store.snapshot`), and only the differences are copied again, the database
under SQLite's read lock: a write of the game waits while it is compared, about 0.5 ms a megabyte.

A restore unpacks and checks everything next to what is there, then swaps folder and database by
renaming. The old ones are kept until both are in place; a restore that was killed is run again.
Not for the reactor thread.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import sqlite3
import tarfile
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connections

from .. import atomic_file, conf
from ..errors import InputError
from ..records import now_iso
from ..store import condition, memory_store, metadata, snapshot
from ..store.qdrant_edge import size_on_disk
from .archive import FOLDER as EXPORTS
from .archive import TRANSFERS
from .archive_format import open_private
from .jobs import Progress, silent

FORMAT, VERSION = "contrib_ai_memory backup", 1
MANIFEST, DATABASE, STORE, EDGE = "manifest.json", "database", "ai_memory", "qdrant_edge"
CHUNK = 1 << 20
FIRST_COPIES = 2  # before the store is held: each has less to write than the one before
NOT_COPIED = (snapshot.REQUEST, snapshot.STILL)
SQLITE_SIDES = ("-journal", "-wal", "-shm")
UNPACKED, ASIDE = ".restored", ".before-restore"


class BadBackup(InputError):
    """The backup cannot be made or restored. The message says why; nothing was changed."""


def create(file: Path, *, running: bool, progress: Progress = silent) -> dict[str, Any]:
    """Write a backup of this game to a file. Returns its manifest.

    Raises:
        NoAnswer: The game is `running` and did not hold still.
        BadBackup: There is no room for it, or the game's database is damaged.
    """
    trees = {name: folder for name, folder in _trees().items() if folder.is_dir()}
    database = database_file()
    needed = sum(size_on_disk(folder) for folder in trees.values())
    needed += database.stat().st_size if database else 0
    if lack := condition.lack_of_room(file.absolute().parent, 2 * needed):
        raise BadBackup(f"There is no room for a backup. {lack.partition(', and')[0]}.")
    staging = file.with_name(file.name + ".copying")
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(mode=0o700)
    try:
        rounds = FIRST_COPIES if running else 0
        for done in range(rounds):
            progress("copying", done, rounds + 1)
            _copy(trees, database, staging, locked=False)
        with snapshot.hold_still(conf.directory()) if running else nullcontext():
            _copy(trees, database, staging, locked=True)
        progress("copying", rounds + 1, rounds + 1)
        if database:
            _check_database(staging / DATABASE)
        return _pack(staging, file, database is not None, progress)
    except sqlite3.Error as error:
        raise BadBackup(f"The game's database cannot be copied: {error}") from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def restore(file: Path, progress: Progress = silent) -> dict[str, Any]:
    """Replace what is there with a backup. Returns its manifest.

    After being killed it is run again: what was there is kept until everything is in place.
    """
    manifest = read_manifest(file)
    targets = _targets(manifest)
    unpacked = {name: _beside(path, UNPACKED) for name, path in targets.items()}
    if not marker().exists():
        for path in targets.values():  # left by a finished restore
            _remove(_beside(path, ASIDE))
    for path in unpacked.values():
        _remove(path)
        path.parent.mkdir(parents=True, exist_ok=True)
    for name in manifest["folders"]:
        unpacked[name].mkdir()
    _unpack(file, manifest, unpacked, progress)
    for connection in connections.all():
        if connection.vendor == "sqlite":  # its file is about to be replaced
            connection.close()
    atomic_file.write(marker(), json.dumps({"file": str(file.absolute()), "begun": now_iso()}))
    for path in targets.values():
        _swap(path)
    exports = _beside(targets[STORE], ASIDE) / EXPORTS if STORE in targets else None
    if exports and exports.exists() and not (targets[STORE] / EXPORTS).exists():
        exports.rename(targets[STORE] / EXPORTS)
    marker().unlink()
    atomic_file.sync(marker().parent)
    for path in targets.values():
        _remove(_beside(path, ASIDE))
    return manifest


def read_manifest(file: Path) -> dict[str, Any]:
    """Read what a backup holds."""
    try:
        with tarfile.open(file, mode="r:gz") as tar:
            first = tar.next()
            found = tar.extractfile(first) if first and first.name == MANIFEST else None
            text = found.read() if found else b"{}"
        manifest = json.loads(text)
    except (OSError, EOFError, ValueError, tarfile.TarError) as error:
        raise BadBackup(f"{file} cannot be read: {error}") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise BadBackup(f"{file} was not made by `evennia ai_memory backup`.")
    if manifest.get("version") != VERSION:
        raise BadBackup(
            f"{file} has version {manifest.get('version')!r} of the format, and this contrib reads "
            f"version {VERSION}. Restore it with the version that wrote it."
        )
    return manifest


def marker() -> Path:
    """Return the file that exists while a restore runs, or after it broke off."""
    return memory_store.restore_marker(conf.directory())


def database_file() -> Path | None:
    """Return the game's database, if it is a SQLite file."""
    default = settings.DATABASES["default"]
    if default["ENGINE"] != "django.db.backends.sqlite3":
        return None
    path = Path(str(default["NAME"]))
    return path if path.is_file() else None


def database_kind() -> str:
    """Return the kind of the game's database: sqlite3, postgresql …"""
    return str(settings.DATABASES["default"]["ENGINE"]).rpartition(".")[2]


# --- what is copied -------------------------------------------------------------------------------


def _trees() -> dict[str, Path]:
    """Return the folders of the store, by their name in the backup."""
    trees = {STORE: conf.directory()}
    store = conf.get().VECTOR_STORE
    elsewhere = store.config.get("path") if store.is_own else None
    if elsewhere and not Path(elsewhere).absolute().is_relative_to(conf.directory().absolute()):
        trees[EDGE] = Path(elsewhere)
    return trees


def _files(folder: Path) -> dict[str, Path]:
    """Return the files of a store's folder that belong to it, by their path in it."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        ours = name.parts[0] not in (EXPORTS, TRANSFERS, *NOT_COPIED)
        if ours and not path.name.endswith(("-shm", ".new")) and path.is_file():
            found[str(name)] = path
    return found


# --- backing up -----------------------------------------------------------------------------------


def _copy(trees: dict[str, Path], database: Path | None, staging: Path, *, locked: bool) -> None:
    """Make `staging` equal to what is there now."""
    if database:
        _copy_database(database, staging / DATABASE, locked=locked)
    for name, folder in trees.items():
        wanted = _files(folder)
        for each, path in wanted.items():
            copy = staging / name / each
            copy.parent.mkdir(parents=True, exist_ok=True)
            try:
                _copy_changes(path, copy)
            except FileNotFoundError:
                if locked:
                    raise
                copy.unlink(missing_ok=True)
        for each, path in _files(staging / name).items() if (staging / name).exists() else ():
            if each not in wanted:
                path.unlink()


def _copy_database(database: Path, copy: Path, *, locked: bool) -> None:
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
        if mode != "wal":
            if locked:
                connection.execute("BEGIN")
                connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            _copy_changes(database, copy)  # it closes the file, which drops the lock
        elif locked:  # readers block nobody there
            with closing(sqlite3.connect(copy)) as target:
                connection.backup(target)


def _copy_changes(path: Path, copy: Path) -> None:
    """Make a file equal to another; only what differs is written, and holes stay holes."""
    with path.open("rb") as source, copy.open("r+b" if copy.exists() else "w+b") as target:
        size = os.fstat(source.fileno()).st_size
        target.truncate(size)
        for offset in range(0, size, CHUNK):
            length = min(CHUNK, size - offset)
            wanted = os.pread(source.fileno(), length, offset)
            if os.pread(target.fileno(), length, offset) != wanted:
                os.pwrite(target.fileno(), wanted, offset)


def _check_database(copy: Path) -> None:
    with closing(sqlite3.connect(copy)) as connection:
        (result,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    for side in SQLITE_SIDES:
        copy.with_name(copy.name + side).unlink(missing_ok=True)
    if result != "ok":
        raise BadBackup(f"The game's database is damaged ({result}): see SQLite's documentation.")


def _pack(staging: Path, file: Path, database: bool, progress: Progress) -> dict[str, Any]:
    names = sorted(str(p.relative_to(staging)) for p in staging.rglob("*") if p.is_file())
    stored = metadata.read(staging / STORE) if (staging / STORE).exists() else {}
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "made": now_iso(),
        "database": database_kind() if database else None,
        "store_id": stored.get("store_id"),
        "generation": stored.get("generation"),
        "folders": sorted(_trees()),
        "files": {name: {"sha256": _digest(staging / name)} for name in names},
    }
    beside = file.with_name(file.name + ".part")
    try:
        with os.fdopen(open_private(beside), "wb") as raw:
            with tarfile.open(fileobj=raw, mode="w:gz", compresslevel=6) as tar:
                text = json.dumps(manifest, indent=1).encode()
                head = tarfile.TarInfo(MANIFEST)
                head.size = len(text)
                tar.addfile(head, io.BytesIO(text))
                for done, name in enumerate(names):
                    progress("packing", done, len(names))
                    tar.add(staging / name, arcname=name, recursive=False)
            raw.flush()
            os.fsync(raw.fileno())
        os.replace(beside, file)
    finally:
        beside.unlink(missing_ok=True)
    atomic_file.sync(file.absolute().parent)
    progress("packing", len(names), len(names))
    return manifest


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# --- restoring ------------------------------------------------------------------------------------


def _targets(manifest: dict[str, Any]) -> dict[str, Path]:
    """Return where each part of a backup goes."""
    parts = {name.split("/")[0] for name in manifest["files"]} | set(manifest["folders"])
    targets = {name: path for name, path in _trees().items() if name in parts}
    if DATABASE in parts:
        default = settings.DATABASES["default"]
        if default["ENGINE"] != "django.db.backends.sqlite3":
            raise BadBackup(
                f"The backup holds a SQLite database, and this game's is {database_kind()}: "
                "restore it in a game with the same settings."
            )
        targets[DATABASE] = Path(str(default["NAME"]))
    if unknown := parts - set(targets):
        raise BadBackup(
            f"The backup holds {', '.join(sorted(unknown))}, for which the settings of this game "
            "have no place."
        )
    return targets


def _unpack(
    file: Path, manifest: dict[str, Any], into: dict[str, Path], progress: Progress
) -> None:
    wanted = dict(manifest["files"])
    total = len(wanted)
    try:
        with tarfile.open(file, mode="r:gz") as tar:
            for member in tar:
                if member.name == MANIFEST:
                    continue
                known = wanted.pop(member.name, None)
                part, _, rest = member.name.partition("/")
                path = into[part] / rest if rest else into[part]
                if known is None or ".." in Path(rest).parts or not member.isfile():
                    raise BadBackup(f"{file} holds {member.name!r}, which its manifest does not.")
                path.parent.mkdir(parents=True, exist_ok=True)
                if _write_sparse(tar.extractfile(member), path) != known["sha256"]:
                    raise BadBackup(f"{file} is damaged: {member.name} is not what was packed.")
                progress("unpacking", total - len(wanted), total)
        if wanted:
            raise BadBackup(
                f"{file} is cut off: {len(wanted)} files are missing. Nothing was changed."
            )
    except (EOFError, OSError, ValueError, tarfile.TarError) as error:
        for path in into.values():
            _remove(path)
        if isinstance(error, BadBackup):
            raise
        raise BadBackup(f"{file} cannot be unpacked: {error}. Nothing was changed.") from None


def _write_sparse(source: Any, path: Path) -> str:
    """Write a file, with holes for zeros. Returns its SHA-256."""
    digest = hashlib.sha256()
    with path.open("wb") as file:
        while chunk := source.read(CHUNK):
            digest.update(chunk)
            if chunk.count(0) == len(chunk):
                file.seek(len(chunk), os.SEEK_CUR)
            else:
                file.write(chunk)
        file.truncate(file.tell())
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest()


def _swap(path: Path) -> None:
    """Put what was unpacked in place of what is there, which is kept aside."""
    aside, unpacked = _beside(path, ASIDE), _beside(path, UNPACKED)
    if aside.exists():
        _remove(path)  # left by a restore that broke off
    elif path.exists():
        path.rename(aside)
    for side in SQLITE_SIDES:  # of a killed database: they would change the new one
        path.with_name(path.name + side).unlink(missing_ok=True)
    unpacked.rename(path)
    atomic_file.sync(path.parent)


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
