"""A day at the tavern, for the tests of what staff do to a memory (fixtures `day`, `night`)."""

from contrib_ai_memory import offload
from contrib_ai_memory.admin import inspect
from contrib_ai_memory.records import Entry, Percept
from contrib_ai_memory.store import memory_store
from contrib_ai_memory.store.links import Link

wait = offload.wait


def spend_day(mara, alice, bram):
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    alice.execute_cmd("whisper Mara = I hide a silver key in Elmstead.")
    bram.execute_cmd("say The bridge at Elmstead has 12 arches.")
    wait(mara.memory.work_through(until_silent=True))
    return mara


def fact_of(npc, words):
    [found] = wait(inspect.memories(npc, text=words)).results
    return found


def entry_of(npc, words):
    return wait(inspect.journal(npc, text=words)).entries[0]


def everything(npc):
    """All that the store holds of a memory and the whole journal, for comparing."""
    memory = npc.memory
    stored = memory_store.shared().list(memory.id, limit=None)
    return (
        {
            m.id: (m, [round(float(x), 4) for x in v])
            for m, v in zip(stored, memory_store.shared().vectors_of(stored), strict=True)
        },
        list(memory.journal.read()),
        {each: memory.links.of(each) for each in memory.links.ids_in(range(2048))},
        memory.links.count,
    )


def line(entry_id, content):
    return Entry(
        entry_id,
        f"2026-01-01T{entry_id // 60:02}:{entry_id % 60:02}:00+00:00",
        content,
        "say",
        seen_as="Alice",
    )


def add_insight(npc, *cited):
    """An insight in the journal, linked and indexed, as a reflection leaves it."""
    memory = npc.memory
    entry = memory.perceive(
        Percept(
            content="Alice is bound to the river.",
            kind="insight",
            origin="sleep",
            source_type="inference",
            evidence=cited,
        )
    )
    memory.links.add(
        [Link(str(entry.id), each, 1.0, "evidence", entry.timestamp) for each in cited]
    )
    wait(memory.index_pending())
    return entry
