"""Taking back the newest of the acts that `undo` keeps: everything it changed, as it was.

Done again after a crash, it ends in the same. Reactor thread; the store's part is done on the
worker thread.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

from twisted.internet import defer

from .. import offload
from ..ingest import rewriting
from ..records import Entry, MemoryRecord
from ..store import facts, versions
from ..store.links import Link
from ..store.preferences import from_plain
from ..store.profiles import Noted, Profile, ProfileAttribute
from . import forgetting, tracing, undo
from .undo import Act, Before


@defer.inlineCallbacks
def take_back(npc: Any) -> Generator[Any, Any, Act]:
    """Undo the newest act, as a Deferred `Act`.

    Raises (in the Deferred):
        undo.NothingToUndo
    """
    kept = undo.acts(npc)
    if not kept:
        raise undo.NothingToUndo(
            f"Nothing was done to the memory of {npc.key} that can be undone: the last "
            f"{undo.ACTS_KEPT} acts are kept, as far as {undo.LARGEST // 1000} kB hold them."
        )
    mind, before = npc.memory, kept[-1].before
    if before.made:
        made = yield tracing.of_links(mind, before.made)
        yield forgetting.take_out(npc, forgetting.Doomed(tuple(made.values())), cascade=False)
    mind.journal.put_back(map(Entry.from_dict, before.entries))
    around = {plain["id"]: _around(mind, plain["id"]) for plain in before.entries}
    yield offload.run(offload.MEMORY, put_back, mind.id, before, around, priority=offload.REPLY)
    yield mind.links.add_gently(Link(*each) for each in before.links)
    for identity, name, noted, known in before.profiles:
        _restore_profile(mind, identity, name, noted, known)
    for plain in before.preferences:
        mind.preferences.put(from_plain(plain))
    mind.flush()
    undo.drop_newest(npc)
    return kept[-1]


def put_back(mind: str, before: Before, around: dict[int, list[Entry]]) -> None:
    """The store's part of it (worker thread)."""
    store = facts.shared()
    for plain in before.memories:
        memory = MemoryRecord.from_dict(plain)
        own = memory.journal_ids[0] if memory.record == "entry" else 0
        rewriting.rewrite(mind, memory, around.get(own, ()))
        versions.replace(memory.id, before.history.get(memory.id, []))
    for memory_id, payload in before.payload:
        if store.get([memory_id]):
            store.change(memory_id, **payload)


def _around(mind: Any, entry_id: int) -> list[Entry]:
    return list(mind.journal.read(entry_id - rewriting.AROUND, entry_id + rewriting.AROUND))


def _restore_profile(
    mind: Any, identity: str, name: str, noted: list[dict], known: list[dict]
) -> None:
    profile = mind.profiles.get(identity) or Profile(identity, name=name)
    profile = profile.noting(Noted(**_tuples(each)) for each in noted)
    attributes_ = [ProfileAttribute(**_tuples(each)) for each in known]
    missing = [each for each in attributes_ if each not in profile.attributes]
    mind.profiles.put(replace(profile, attributes=(*profile.attributes, *missing)))


def _tuples(plain: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(v) if isinstance(v, list) else v for key, v in plain.items()}
