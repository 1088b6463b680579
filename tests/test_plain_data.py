"""What a job of the memory lane may be, take and return, with a memory process and without."""

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plain_data import NotPlain

from contrib_ai_memory import offload
from contrib_ai_memory.records import Entry, Recalled, RecallRequest


@dataclass(frozen=True)
class Loose:
    payload: Mapping[str, Any] = field(default_factory=dict)
    extra: Any = None


@dataclass(frozen=True)
class Locked:
    lock: threading.Lock = field(default_factory=threading.Lock)


def same(value):
    return value


def made(kind):
    return {"a lock": threading.Lock, "a generator": lambda: iter([])}[kind]()


class Worker:
    def work(self):
        """A method needs its object."""


def run(job, *args, **options):
    return offload.wait(offload.run(offload.MEMORY, job, *args, **options))


@pytest.mark.parametrize(
    "value",
    [
        None,
        ["a", 1, 0.5, b"x", {"a": (1, {2})}],
        Entry(1, "", "words", "say", witnesses=("#1",)),
        RecallRequest("who?", emotions=("joy",)),
        Loose({"a": [1, Path("b")]}, Counter("ab")),
        {"keys": np.zeros(3)},
        same,
    ],
    ids=lambda value: type(value).__name__,
)
def test_plain_data_is_taken_and_returned(value):
    assert run(same, value) is value


@pytest.mark.parametrize(
    "value",
    [
        threading.Lock(),
        [{"a": {"b": threading.Lock()}}],
        (each for each in "ab"),
        Loose(extra=object()),
        Loose({"a": Worker()}),
        Locked(),
        lambda: None,
        Worker().work,
        Recalled,
    ],
    ids=lambda value: type(value).__name__,
)
def test_anything_else_is_refused_before_the_job_is_queued(value):
    with pytest.raises(NotPlain, match=r"same: .*no plain data"):
        offload.run(offload.MEMORY, same, value)


@pytest.mark.parametrize("job", [lambda: None, Worker().work, Worker, "text".upper])
def test_a_job_is_a_function_of_a_module(job):
    with pytest.raises(NotPlain, match="no function of a module"):
        offload.run(offload.MEMORY, job)


@pytest.mark.parametrize("kind", ["a lock", "a generator"])
def test_what_a_job_returns_is_plain_data_too(kind):
    with pytest.raises(NotPlain):
        run(made, kind)


def test_a_job_that_stays_in_this_process_may_take_anything():
    lock = threading.Lock()
    assert run(lambda: lock, here=True) is lock
