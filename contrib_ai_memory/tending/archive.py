"""The file that a memory travels in: JSON lines, one thing a line, the last line counts the others.

    {"format": "contrib_ai_memory", "version": 1, "mind": …, "identity": …, "key": …}
    {"kind": "entry", "value": {…}}
    …
    {"end": 1234}

Written under a temporary name and renamed when it is whole. Keys are sorted and nothing tells of
the time of writing, so that equal memories make equal files. Worker threads only.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

FORMAT = "contrib_ai_memory"
VERSION = 1
LONGEST_NAME = 1000
KINDS = frozenset(
    ("journal", "entry", "people", "conversations", "row", "link", "script", "memory", "centroid")
)
LONGEST_TOLD = 60  # characters of a bad line that an error shows
LONGEST_LINE = 32_000_000  # bytes; the lists of a very long memory are in one line
BYTES_AT_ONCE = 4_000_000  # of the lines that are held at one time

Line = dict[str, Any]


class BadArchive(ValueError):
    """The file cannot be read as a memory. The message says why; nothing was changed."""


@dataclass(frozen=True, slots=True)
class Header:
    """What the first line tells: whose memory it is.

    `mind` is the mind's UUID, `identity` the NPC's own memory identity, `key` its name.
    """

    mind: str
    identity: str
    key: str


class Writer:
    """Writes a file, a few lines at a time."""

    def __init__(self, path: Path, header: Header):
        self.path = path
        self.lines = 0
        self._beside = path.with_name(path.name + ".part")
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.fdopen(for_us_alone(self._beside), "w", encoding="utf-8", newline="\n")
        self._put({"format": FORMAT, "version": VERSION} | _plain(header))

    def add(self, lines: Iterable[Line]) -> int:
        """Write lines. Returns how many there are by now."""
        for line in lines:
            self._put(line)
            self.lines += 1
        return self.lines

    def finish(self) -> None:
        """The last line; whole and on the disk, it gets its name."""
        self._put({"end": self.lines})
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        os.replace(self._beside, self.path)

    def give_up(self) -> None:
        """Leave nothing behind."""
        self._file.close()
        self._beside.unlink(missing_ok=True)

    def _put(self, line: Line) -> None:
        text = json.dumps(line, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        self._file.write(text.encode("utf-8", "backslashreplace").decode("utf-8") + "\n")


def header_of(path: Path) -> Header:
    """Whose memory a file holds.

    Raises:
        BadArchive
    """
    return Reader(path).header


class Reader:
    """Reads a file, a few lines at a time, once to see that it is whole and once for what it holds.

    Attributes:
        lines: How many were read.
        number: Of the last line in the file, from 1.
        state: What changes with the file: its size, and when it was written.

    Raises:
        BadArchive: From each of its methods.
    """

    def __init__(self, path: Path):
        self.path = path
        self.lines = self.number = 0
        self.state: tuple[int, ...] = ()
        self._bytes = 0
        self._rows = self._read()
        self.header = self._header()

    def some(self, count: int) -> list[Line]:
        """The next lines, at most so many; none behind the last."""
        return [line for _number, line in self.numbered(count)]

    def numbered(self, count: int) -> list[tuple[int, Line]]:
        """The next lines with their numbers in the file; fewer where they are long."""
        found, begun = [], self._bytes
        for line in self._rows:
            found.append((self.number, line))
            if len(found) == count or self._bytes - begun > BYTES_AT_ONCE:
                break
        return found

    def _header(self) -> Header:
        first = next(self._rows, None)
        if not isinstance(first, dict) or first.get("format") != FORMAT:
            raise BadArchive(
                f"{self.path} is not an exported memory: its first line does not say so. "
                "Such a file is made by `evennia ai_memory export NPC FILE`."
            )
        if first.get("version") != VERSION:
            raise BadArchive(
                f"{self.path} has version {first.get('version')!r} of the format, and this "
                f"contrib reads version {VERSION}. Import it with the version that wrote it."
            )
        names = ("mind", "identity", "key")
        for name in names:
            if not isinstance(first.get(name), str) or len(first[name]) > LONGEST_NAME:
                raise BadArchive(f"{self.path}, line 1 has no {name}, or it is no short text.")
        return Header(*(first[name] for name in names))

    def _read(self) -> Iterator[Any]:
        number = 0
        try:
            with self.path.open("rb") as file:
                status = os.fstat(file.fileno())
                self.state = (status.st_ino, status.st_size, status.st_mtime_ns)
                for number, raw in enumerate(_lines_of(file), start=1):
                    self.number = number
                    self._bytes += len(raw)
                    line = self._parsed(number, raw)
                    if number == 1:
                        yield line
                    elif set(line) == {"end"}:
                        self._check_end(line["end"], file.read(1))
                        return
                    elif not isinstance(line.get("kind"), str) or line["kind"] not in KINDS:
                        raise BadArchive(
                            f"{self.path}, line {number}: {line.get('kind')!r} is nothing that a "
                            "memory holds. The file was changed, or is of another version."
                        )
                    else:
                        self.lines += 1
                        yield line
        except OSError as error:
            raise BadArchive(f"{self.path} cannot be read: {error.strerror}.") from None
        if number:
            raise BadArchive(
                f"{self.path} is cut off after line {number}: the last line, which counts the "
                "others, is missing. Export it again, or take another copy."
            )

    def _check_end(self, count: Any, behind: bytes) -> None:
        if count != self.lines or behind:
            raise BadArchive(
                f"{self.path} is not whole: its last line counts {count} lines, and it has "
                f"{self.lines}{' and more behind it' if behind else ''}. Take another copy."
            )

    def _parsed(self, number: int, raw: bytes) -> Line:
        if len(raw) > LONGEST_LINE:
            raise BadArchive(
                f"{self.path}, line {number} is longer than any of a memory: it has more than "
                f"{LONGEST_LINE // 1_000_000} million bytes."
            )
        try:
            line = json.loads(raw)
        except (ValueError, RecursionError):
            cut = not raw.endswith(b"\n") and number > 1
            shown = raw[:LONGEST_TOLD].decode("utf-8", "replace").strip()
            raise BadArchive(
                f"{self.path} is cut off in the middle of line {number}. Take another copy."
                if cut
                else f"{self.path}, line {number} is not JSON: {shown!r}"
            ) from None
        if not isinstance(line, dict):
            raise BadArchive(f"{self.path}, line {number} is no JSON object.")
        return line


def _lines_of(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file, none of them longer than a byte too long."""
    while raw := file.readline(LONGEST_LINE + 1):
        yield raw


def for_us_alone(path: Path) -> int:
    """A new file, open. Whispers will be in it: no other account of the machine reads it."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.fchmod(descriptor, 0o600)  # of one that was left behind
    return descriptor


def _plain(header: Header) -> Line:
    return {"mind": header.mind, "identity": header.identity, "key": header.key}
