"""Evennia's `examine`, which does not show what an NPC remembers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evennia.commands.default import building

from ..store.attributes import LOCK


class CmdExamine(building.CmdExamine):
    # Evennia's help text, whose command this is
    __doc__ = building.CmdExamine.__doc__

    def format_attributes(self, obj: Any) -> str | None:
        """The Attributes of an object, and how many of a memory are left out."""
        rows = obj.db_attributes.exclude(db_lock_storage=LOCK)
        lines = sorted(self.format_single_attribute(row) for row in rows)
        if hidden := obj.db_attributes.filter(db_lock_storage=LOCK).count():
            lines.append(f"({hidden} Attributes of its memory are not shown: @memory {obj.key})")
        return "\n  " + "\n  ".join(lines) if lines else None

    def func(self) -> None:
        """Refuse single Attributes of a memory, but to a superuser, and show the rest."""
        readable = []
        for obj, keys in self.examine_objs:
            locked = self._locked(obj, keys) if keys else []
            if locked:
                self.msg(
                    f"{', '.join(locked)}: of the memory of {obj.key}, which examine does not "
                    f"show. See @memory {obj.key}"
                )
                keys = [key for key in keys if key not in locked]
                if not keys:
                    continue
            readable.append((obj, keys))
        self.examine_objs = readable
        super().func()

    def _locked(self, obj: Any, keys: Sequence[str]) -> list[str]:
        if self.caller.locks.check_lockstring(self.caller, LOCK, access_type="attrread"):
            return []
        rows = obj.db_attributes.filter(db_key__in=list(keys), db_lock_storage=LOCK)
        return sorted(set(rows.values_list("db_key", flat=True)))
