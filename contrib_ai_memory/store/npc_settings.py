"""The settings of one NPC: those of the game, of its typeclass, and its own.

Each layer is a dict {name: value} that changes those before it: `CONTRIB_AI_MEMORY`, the class
attribute `memory_settings` of each class of the typeclass, base classes first, and the Attribute
`memory_settings`, which a prototype or `@memory/set` writes. A bad value in a layer is left out,
logged once, and shown by `@memory`. Reactor thread; workers get single values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from evennia.prototypes import prototypes, spawner

from .. import conf, language
from ..log import logger
from ..text.redaction import redact
from . import attributes

KEY = "memory_settings"  # the class attribute and the Attribute
OWN = "this NPC"


class _Layered(NamedTuple):
    settings: conf.Settings
    sources: dict[str, str]  # of each value that is not the game's
    problems: tuple[str, ...]


class NPCSettings:
    """The settings of one NPC; `get` is what `conf.get` is for the game."""

    def __init__(self, npc: Any):
        self._npc = npc
        self._game: conf.Settings | None = None
        self._typeclass: type | None = None
        self._value: Any = None  # of the Attribute
        self._layered: _Layered

    def get(self) -> conf.Settings:
        return self._current().settings

    @property
    def problems(self) -> tuple[str, ...]:
        return self._current().problems

    def sources(self) -> dict[str, str]:
        """Return where each value comes from: "default", "game", "typeclass Guard", "prototype
        guard" or "this NPC"."""
        layered, by_game = self._current(), conf.get().model_fields_set
        ours = {
            name: layered.sources.get(name, "game" if name in by_game else "default")
            for name in conf.Settings.model_fields
            if name not in conf.GAME_ONLY
        }
        if OWN in ours.values():
            key, spawned = _prototype_of(self._npc)
            for name, value in self._own().items():
                if ours.get(name) == OWN and name in spawned and spawned[name] == value:
                    ours[name] = f"prototype {key}"
        return ours

    def set(self, name: str, value: Any) -> None:
        """Set a value for this NPC alone, unless it is a `conf.InvalidSetting`."""
        _validated(name, value)
        self._npc.attributes.add(KEY, {**self._own(), name: value})

    def clear(self, name: str) -> bool:
        """Remove the NPC's own value. Returns whether it had one."""
        own = self._own()
        if name not in own:
            return False
        del own[name]
        if own:
            self._npc.attributes.add(KEY, own)
        else:
            self._npc.attributes.remove(KEY)
        return True

    def _own(self) -> dict[str, Any]:
        own = attributes.read(self._npc, KEY)
        return dict(own) if isinstance(own, Mapping) else {}

    def _current(self) -> _Layered:
        game, typeclass = conf.get(), type(self._npc)
        stored = self._npc.attributes.get(KEY, return_obj=True)
        value = stored.db_value if stored else None  # each write of an Attribute makes a new one
        known = game is self._game and typeclass is self._typeclass and value is self._value
        if not known:
            self._layered = _layered(game, list(self._layers()), self._npc.dbref)
            self._game, self._typeclass, self._value = game, typeclass, value
        return self._layered

    def _layers(self) -> Iterator[tuple[str, Any]]:
        for cls in reversed(type(self._npc).__mro__):
            if KEY in vars(cls):
                yield f"typeclass {cls.__name__}", vars(cls)[KEY]
        if self._npc.attributes.has(KEY):
            yield OWN, attributes.read(self._npc, KEY)


def _layered(game: conf.Settings, layers: list[tuple[str, Any]], dbref: str) -> _Layered:
    own: dict[str, Any] = {}
    sources: dict[str, str] = {}
    problems: list[tuple[str, str]] = []  # (source, what is wrong)
    for source, layer in layers:
        if not isinstance(layer, Mapping):
            problems.append((source, "it must be a dict, for example {}."))
            continue
        for name, raw in layer.items():
            try:
                value = _validated(name, raw)
            except conf.InvalidSetting as error:
                problems.append((source, str(error)))
                continue
            if name == "PHRASES":  # by kind
                value = {**own.get(name, game.PHRASES), **value}
            if name == "LLM" and value:
                value = {**(own.get(name) or {}), **value}
            own[name], sources[name] = value, source
    for source, problem in problems:
        _log_once(f"{KEY} of {dbref if source == OWN else source}: {problem}")
    told = tuple(f"{KEY} of {source}: {problem}" for source, problem in problems)
    return _Layered(conf.with_own(game, own), sources, told)


def _validated(name: str, raw: Any) -> Any:
    value = conf.validated(name, raw)
    phrases = language.get().phrases
    if name == "PHRASES" and (unknown := phrases.unknown(value)):
        raise conf.InvalidSetting(
            f"PHRASES: {redact(', '.join(unknown)[:60])}: no such kind; the kinds are "
            f"{', '.join(phrases.texts)}."
        )
    return value


@lru_cache(maxsize=1000)
def _log_once(problem: str) -> None:
    logger().error("%s", problem)


def _prototype_of(npc: Any) -> tuple[str, Mapping[str, Any]]:
    """Return the key and the `memory_settings` of the prototype that an NPC was spawned from."""
    tags = npc.tags.get(category=prototypes.PROTOTYPE_TAG_CATEGORY, return_list=True)
    for key in filter(None, tags):
        found = [each for each in prototypes.search_prototype(key) if each["prototype_key"] == key]
        for name, value, *_rest in spawner.flatten_prototype(found[0])["attrs"] if found else ():
            if name == KEY and isinstance(value, Mapping):
                return key, value
    return "", {}
