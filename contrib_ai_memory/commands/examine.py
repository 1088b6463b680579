"""Evennia's `examine`, which does not show what an NPC remembers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evennia.commands.default import building

from ..store.attributes import LOCK


class CmdExamine(building.CmdExamine):
    __doc__ = building.CmdExamine.__doc__  # the help is Evennia's

    examine_objs: list[tuple[Any, Sequence[str]]]

    def format_attributes(self, obj: Any) -> str | None:
        """List the Attributes of an object except those of its memory, which are counted."""
        rows = obj.db_attributes.exclude(db_lock_storage=LOCK)
        lines = sorted(self.format_single_attribute(row) for row in rows)
        if hidden := obj.db_attributes.filter(db_lock_storage=LOCK).count():
            lines.append(f"({hidden} Attributes of its memory are not shown: @memory {obj.key})")
        return "\n  " + "\n  ".join(lines) if lines else None

    def func(self) -> None:
        """Refuse to show single Attributes of a memory to anybody but a superuser."""
        readable = []
        for obj, keys in self.examine_objs:
            hidden = self._hidden(obj, keys) if keys else []
            if hidden:
                self.msg(
                    f"{', '.join(hidden)}: part of the memory of {obj.key}, which examine does "
                    f"not show. See @memory {obj.key}"
                )
                keys = [key for key in keys if key not in hidden]
                if not keys:
                    continue
            readable.append((obj, keys))
        self.examine_objs = readable
        super().func()

    def _hidden(self, obj: Any, keys: Sequence[str]) -> list[str]:
        if self.caller.locks.check_lockstring(self.caller, LOCK, access_type="attrread"):
            return []
        rows = obj.db_attributes.filter(db_key__in=list(keys), db_lock_storage=LOCK)
        return sorted(set(rows.values_list("db_key", flat=True)))
