"""A streamed answer: server-sent events become one Chat Completions response.

Reading ends as soon as enough was written to be spoken: nobody waits for a long tail.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

CHECKED_EVERY = 24  # characters between two looks at the text so far
CALLS_KEPT = 64
LONGEST = 4  # times `LLM.timeout`: an answer that goes on being written

Enough = Callable[[str], bool]  # whether a text that is not finished holds all that is needed


def mapping(value: object) -> dict[str, Any]:
    """Return an object of what a server sent, which may be anything; else an empty one."""
    return value if isinstance(value, dict) else {}


def listed(value: object) -> list[Any]:
    """Return a list of what a server sent; else an empty one."""
    return value if isinstance(value, list) else []


class Stream:
    """The answer so far; `enough` ends the reading when it is true of the text."""

    def __init__(self, enough: Enough | None):
        self._enough = enough
        self._rest = b""
        self._text: list[str] = []
        self.length = self._checked = 0  # characters
        self._calls: dict[int, dict[str, Any]] = {}
        self._finish: str | None = None
        self._usage: Any = None
        self._done = False
        self.error = ""

    def feed(self, part: bytes) -> bool:
        """Take a piece of the body. Returns whether no more is needed."""
        *lines, self._rest = (self._rest + part).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                self._event(line[5:].strip())
        if self._enough and self.length - self._checked >= CHECKED_EVERY and not self._done:
            self._checked = self.length
            self._done = self._enough("".join(self._text))
        return self._done

    def body(self) -> bytes:
        """Return it as the body of a response that was not streamed."""
        message = {"content": "".join(self._text), "tool_calls": list(self._calls.values())}
        broken_off = self._finish is None and not self._done
        choice = {"message": message, "finish_reason": "length" if broken_off else self._finish}
        return json.dumps({"choices": [choice], "usage": self._usage}).encode()

    def _event(self, data: bytes) -> None:
        if data == b"[DONE]":
            self._done = True
            return
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            self.error = "a streamed answer that is not JSON"
            return
        event = mapping(event)
        if event.get("error"):
            self.error = "an error in the middle of its answer"
        self._usage = event.get("usage") or self._usage
        for choice in map(mapping, listed(event.get("choices"))[:1]):
            finish = choice.get("finish_reason")
            self._finish = finish if isinstance(finish, str) else self._finish
            self._add(mapping(choice.get("delta")))

    def _add(self, delta: dict[str, Any]) -> None:
        content = delta.get("content")
        if isinstance(content, str):
            self._text.append(content)
            self.length += len(content)
        for place, piece in enumerate(map(mapping, listed(delta.get("tool_calls")))):
            number = piece.get("index")
            number = number if isinstance(number, int) else len(self._calls) + place
            if number not in self._calls and len(self._calls) >= CALLS_KEPT:
                continue
            call = self._calls.setdefault(
                number, {"id": None, "function": {"name": "", "arguments": ""}}
            )
            call["id"] = call["id"] or piece.get("id")
            for key in ("name", "arguments"):
                given = mapping(piece.get("function")).get(key)
                if isinstance(given, dict):
                    given = json.dumps(given)  # some servers send the object itself
                if isinstance(given, str):
                    call["function"][key] += given
