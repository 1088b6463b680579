"""Jobs that the tests have done by a memory process, which imports them from here."""

import os
import signal
import threading
import time

from contrib_ai_memory.embedding import embedder
from contrib_ai_memory.log import logger
from contrib_ai_memory.store import condition, memory_store

AGENT = "5d0b5e5c-0000-4000-8000-000000000001"
LONG_AGO = "2026-01-01T12:00:00.000+00:00"


class OddError(ValueError):
    """An exception whose `__init__` takes other arguments than it passes on."""

    def __init__(self, first: int, *, second: int):
        super().__init__(f"{first} and {second}")
        self.second = second


def who() -> int:
    return os.getpid()


def moment() -> float:
    threading.Event().wait(0.05)
    return time.monotonic()


def wait(seconds: float) -> int:
    threading.Event().wait(seconds)
    return os.getpid()


def fail_oddly() -> None:
    raise OddError(1, second=2)


def fail_of_store() -> None:
    raise condition.StoreUnreachable("qdrant", "no route")


def lock_returned() -> object:
    return threading.Lock()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def fill_the_disk() -> None:
    condition.begin(f"{condition.ROOM} 1", "There is no room.")
    logger().warning("written by a job")


def free_the_disk() -> None:
    condition.end(f"{condition.ROOM} 1", "There is room.")


def troubles() -> list[str]:
    return condition.troubles()


def remembered() -> list[str]:
    return [memory.content for memory in memory_store.newest(AGENT, "fact", 9)]


def remember(text: str) -> list[str]:
    """Write one memory and end at once, as by a kill right after the acknowledgement."""
    from contrib_ai_memory.records import MemoryRecord
    from contrib_ai_memory.store.payload import memory_id_for

    memory = MemoryRecord(
        id=memory_id_for(AGENT, "fact", text),
        content=text,
        record="fact",
        memory_type="semantic",
        importance=0.5,
        created_at=LONG_AGO,
        last_accessed=LONG_AGO,
    )
    return list(memory_store.shared().insert_new(AGENT, [memory], embedder.shared().encode([text])))
